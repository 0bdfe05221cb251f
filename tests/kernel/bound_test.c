// Conditions on global ids at the top of a kernel decide which work-items go
// on, whether the compiler makes bounds of loops of them or not.
#include <stdio.h>

#include "tests/kernel/try.h"

// Of the ids i, j (int), u (uint), s (ulong) and the arguments n, m (int), v
// (uint) and w (ulong): the same text for the kernel and for C.
#define CONDITIONS(X)                                    \
    X(i < n)                                             \
    X(i <= n)                                            \
    X(i > n)                                             \
    X(i >= n)                                            \
    X(n > i)                                             \
    X(i == n)                                            \
    X(i != n)                                            \
    X(i != 0)                                            \
    X(u != 0)                                            \
    X(u < v)                                             \
    X(u <= v)                                            \
    X(u > v)                                             \
    X(u >= v)                                            \
    X(s < w)                                             \
    X(s <= w)                                            \
    X(s > w)                                             \
    X(s >= w)                                            \
    X((long)s < (long)w)                                 \
    X((long)s <= (long)w)                                \
    X((long)s > (long)w)                                 \
    X(s < v)                                             \
    X((long)s < n)                                       \
    X(i < n && j < m)                                    \
    X(i < n || j < m)                                    \
    X(!(i < n && j < m))                                 \
    X(!(i < n || j < m))                                 \
    X(i < n && (j < m || i == j))                        \
    X(i >= 1 && j >= 1 && i < (n >> 1) - 1 && j < m - 1) \
    X(u != 0 && u < v - 1)                               \
    X(u - 1 < v)                                         \
    X(u - 2 < v)                                         \
    X(i + 1 < n)                                         \
    X(i - 1 < n)                                         \
    X(2 * i < n)                                         \
    X(i < (n >> 3) * m + 2)                              \
    X(i < (n > m ? n : m))                               \
    X(i < n / 3 && u < v / 5)                            \
    X((i ^ j) < n)                                       \
    X(i < j)

enum {
    WIDE = 37,
    HIGH = 5,
    LEFT = 0, // offsets of the ids: 0 is where bounds end first
    ABOVE = 2
};

#define KERNEL(i, text)                                                       \
    "__kernel void only_" i "(__global int *to, int n, int m, uint v, ulong " \
    "w) {\n"                                                                  \
    "    HEAD\n"                                                              \
    "    if (" text ") to[at] += 1;\n"                                        \
    "}\n"                                                                     \
    "__kernel void leave_" i                                                  \
    "(__global int *to, int n, int m, uint v, ulong w) {\n"                   \
    "    HEAD\n"                                                              \
    "    if (!(" text ")) return;\n"                                          \
    "    int before = to[at];\n"                                              \
    "    if (j > 4) return;\n"                                                \
    "    to[at] = before + 1;\n"                                              \
    "}\n"                                                                     \
    "__kernel void mark_" i                                                   \
    "(__global int *to, int n, int m, uint v, ulong w) {\n"                   \
    "    HEAD\n"                                                              \
    "    to[at] += 2;\n"                                                      \
    "    if (" text ") to[at] += 1;\n"                                        \
    "}\n"

static char source[64 << 10];

static void write_source(void)
{
    size_t at = 0;
    int number = 0;

    at += (size_t)snprintf(
        source, sizeof(source),
        "#define HEAD int i = get_global_id(0), j = get_global_id(1); \\\n"
        "    uint u = get_global_id(0); ulong s = get_global_id(0); \\\n"
        "    size_t at = (get_global_id(1) - %d) * %d + get_global_id(0) - "
        "%d;\n",
        ABOVE, WIDE, LEFT);
#define X(condition)                                                          \
    at += (size_t)snprintf(source + at, sizeof(source) - at,                  \
                           KERNEL("%d", #condition), number, number, number); \
    CHECK(at < sizeof(source));                                               \
    number++;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    CONDITIONS(X)
#pragma GCC diagnostic pop
#undef X
}

static bool holds(int number, int i, int j, int n, int m, uint32_t v,
                  uint64_t w)
{
    uint32_t u = (uint32_t)i;
    uint64_t s = (uint64_t)i;
    int k = 0;
#define X(condition)   \
    if (number == k++) \
        return (condition);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
    CONDITIONS(X)
#pragma GCC diagnostic pop
#undef X
    return false;
}

static int count_conditions(void)
{
    int count = 0;
#define X(condition) count++;
    CONDITIONS(X)
#undef X
    return count;
}

static void check_one(struct try *t, const struct hd_program *p, int number,
                      int n, int m, struct try_range range)
{
    static const char *const forms[] = {"only", "leave", "mark"};
    uint32_t v = (uint32_t)n;
    uint64_t w = (uint64_t)(int64_t)n;
    int cells[HIGH * WIDE], *to = cells;
    char name[32];

    for (int form = 0; form < 3; form++) {
        memset(cells, 0, sizeof(cells));
        snprintf(name, sizeof(name), "%s_%d", forms[form], number);
        TRY_RUN(t, p, name, range, TRY_VALUE(to), TRY_VALUE(n), TRY_VALUE(m),
                TRY_VALUE(v), TRY_VALUE(w));
        for (int y = 0; y < HIGH; y++)
            for (int x = 0; x < WIDE; x++) {
                int j = y + ABOVE;
                int yes = holds(number, x + LEFT, j, n, m, v, w);
                if (form == 1)
                    yes = yes && j <= 4;
                int wanted = form == 2 ? 2 + yes : yes;
                if (cells[y * WIDE + x] != wanted)
                    fprintf(stderr, "%s n %d m %d at %d %d\n", name, n, m,
                            x + LEFT, j);
                CHECK(cells[y * WIDE + x] == wanted);
            }
    }
}

static void conditions_on_ids_decide(struct try *t)
{
    static const int values[] = {0,          1,
                                 -1,         2,
                                 4,          LEFT,
                                 20,         WIDE + LEFT - 1,
                                 39,         WIDE + LEFT + 1,
                                 2147483647, -2147483647 - 1};
    write_source();
    struct hd_program *p = try_build(t, source, NULL);

    for (int number = 0; number < count_conditions(); number++)
        for (size_t a = 0; a < sizeof(values) / sizeof(values[0]); a++) {
            int n = values[a], m = a % 3 ? 4 : 6;
            const struct try_range range = {
                2, {WIDE, HIGH}, {a % 2 ? 8 : 5, 2}, {LEFT, ABOVE}};
            t->split[0] = a % 3 ? 2 : 0;
            t->split[1] = a % 4 ? 0 : 1;
            check_one(t, p, number, n, m, range);
        }
    t->split[0] = t->split[1] = 0;
    hd_program_destroy(p);
}

// Rows longer than a part, and more dimensions than the kernel looks at.
static void long_rows_and_unused_dimensions(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "__kernel void count(__global int *to, int n) {\n"
                  "    int i = get_global_id(0);\n"
                  "    if (i < n) atomic_inc(&to[i]);\n"
                  "}\n"
                  "__kernel void count_z(__global int *to, int n) {\n"
                  "    int z = get_global_id(2);\n"
                  "    if (z >= n) return;\n"
                  "    atomic_inc(&to[z]);\n"
                  "}\n"
                  "__kernel void none(__global int *to, int n) {\n"
                  "    if (get_global_size(0) < (size_t)n) return;\n"
                  "    atomic_inc(to);\n"
                  "}\n",
                  NULL);
    static int to[10000], *cells = to;
    const int sizes[] = {1, 2047, 2048, 2049, 4096, 9999};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        int n = sizes[s] - 1, m = 3;
        const struct try_range range = {
            3, {(uint64_t)sizes[s], 3, 4}, {64, 2, 3}, {0}};
        t->split[0] = s % 2 ? 7 : 0;
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "count", range, TRY_VALUE(cells), TRY_VALUE(n));
        for (int i = 0; i < 10000; i++)
            CHECK(to[i] == (i < n ? 12 : 0));
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "count_z", range, TRY_VALUE(cells), TRY_VALUE(m));
        for (int i = 0; i < 5; i++)
            CHECK(to[i] == (i < m ? 3 * sizes[s] : 0));
        for (int more = 0; more < 2; more++) {
            int least = sizes[s] + more;
            to[0] = 0;
            TRY_RUN(t, p, "none", range, TRY_VALUE(cells), TRY_VALUE(least));
            CHECK(to[0] == (more ? 0 : 12 * sizes[s]));
        }
    }
    hd_program_destroy(p);
}

// Loops over a longer range than there are work-items, straightened or not.
static void strides_reach_everything_once(struct try *t)
{
    static const char *const names[] = {"signed_", "unsigned_", "wide",
                                        "mixed",   "inner",     "chain",
                                        "stops",   "leaves",    "sums"};
    struct hd_program *p = try_build(
        t,
        "#define ALL(type) for (type i = get_global_id(0); i < n; \\\n"
        "                       i += get_global_size(0))\n"
        "__kernel void signed_(__global int *to, int n) {\n"
        "    ALL(int) to[i] += i + 1;\n"
        "}\n"
        "__kernel void unsigned_(__global int *to, uint n) {\n"
        "    ALL(uint) to[i] += i + 1;\n"
        "}\n"
        "__kernel void wide(__global int *to, int n) {\n"
        "    ALL(long) to[i] += i + 1;\n"
        "}\n"
        "__kernel void mixed(__global int *to, int n) {\n"
        "    for (int i = get_global_id(0); i < n - 2;\n"
        "         i += (int)get_global_size(0))\n"
        "        if (i % 3) to[i + 2] += i + 3;\n"
        "}\n"
        "__kernel void inner(__global int *to, int n) {\n"
        "    ALL(int) for (int k = 0; k <= i % 5; k++) to[i] += k;\n"
        "}\n"
        "__kernel void chain(__global int *to, int n) {\n"
        "    int step = get_global_size(0);\n"
        "    ALL(int) to[i] = i < step ? 1 : to[i - step] + 1;\n"
        "}\n"
        "__kernel void stops(__global int *to, int n) {\n"
        "    ALL(int) { if (i % 7 == 3) break; to[i] += 1; }\n"
        "}\n"
        "__kernel void leaves(__global int *to, int n) {\n"
        "    ALL(int) { if (i % 7 == 3) return; to[i] += 1; }\n"
        "}\n"
        "__kernel void sums(__global int *to, int n) {\n"
        "    int sum = 0;\n"
        "    ALL(int) { sum += i; to[i] = sum; }\n"
        "}\n",
        NULL);
    enum {
        MAX = 5000
    };
    static int to[MAX], wanted[MAX], *cells = to;
    const int items[] = {1, 40, 64, 1000, 3000},
              sizes[] = {-3, 0, 1, 39, 41, 2999, 4097};

    for (int k = 0; k < 9; k++)
        for (int c = 0; c < 5; c++)
            for (int s = 0; s < 7; s++) {
                int n = sizes[s], step = items[c], given = n;
                const struct try_range range = {1, {(uint64_t)step}, {16}, {0}};
                if (k == 1 && n < 0)
                    continue;
                t->split[0] = s % 2 ? 3 : 0;
                memset(to, 0, sizeof(to));
                memset(wanted, 0, sizeof(wanted));
                for (int id = 0; id < step; id++) {
                    int sum = 0;
                    for (int i = id; i < n; i += step) {
                        if ((k == 6 || k == 7) && i % 7 == 3)
                            break;
                        if (k == 3 && i < n - 2 && i % 3)
                            wanted[i + 2] = i + 3;
                        else if (k == 4)
                            wanted[i] = (i % 5) * (i % 5 + 1) / 2;
                        else if (k == 5)
                            wanted[i] = i / step + 1;
                        else if (k == 6 || k == 7)
                            wanted[i] = 1;
                        else if (k == 8)
                            wanted[i] = sum += i;
                        else if (k < 3)
                            wanted[i] = i + 1;
                    }
                }
                TRY_RUN(t, p, names[k], range, TRY_VALUE(cells),
                        TRY_VALUE(given));
                if (memcmp(to, wanted, sizeof(to)) != 0)
                    fprintf(stderr, "%s: %d items, n %d\n", names[k], step, n);
                CHECK(memcmp(to, wanted, sizeof(to)) == 0);
            }
    t->split[0] = 0;
    hd_program_destroy(p);
}

// A loop over a longer range is shared out as memory lies, but not where a
// work-item reads in one turn what it wrote in another through another pointer.
static void strides_keep_what_turns_pass_on(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void next(__global const int *from, __global int *to, int n)"
        "{\n"
        "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
        "        to[i] = from[i] + 1;\n"
        "}\n",
        NULL);
    enum {
        MAX = 5000
    };
    static int cells[2 * MAX];
    const int shifts[] = {0, 64, 640, MAX};

    // In their order the work-items would do right by chance.
    t->split[0] = 1;
    t->backwards = true;
    for (int s = 0; s < 4; s++)
        for (int back = 0; back < 2; back++) {
            // From a shift behind to one before, or the other way round.
            int *from = cells + (back ? shifts[s] : 0), n = MAX;
            int *to = cells + (back ? 0 : shifts[s]), wanted[2 * MAX];
            const struct try_range range = {1, {64}, {16}, {0}};
            for (int i = 0; i < 2 * MAX; i++)
                cells[i] = wanted[i] = i % 7;
            for (int id = 0; id < 64; id++)
                for (int i = id; i < n; i += 64)
                    wanted[to - cells + i] = wanted[from - cells + i] + 1;
            TRY_RUN(t, p, "next", range, TRY_VALUE(from), TRY_VALUE(to),
                    TRY_VALUE(n));
            CHECK(memcmp(cells, wanted, sizeof(wanted)) == 0);
        }
    t->split[0] = 0;
    t->backwards = false;
    hd_program_destroy(p);
}

// Loops that the group takes alike go round its work-items.
static void loops_taken_alike_end_alike(struct try *t)
{
    static const char *const names[] = {"plain",  "nested", "chosen", "guarded",
                                        "groups", "ended",  "double_"};
    struct hd_program *p = try_build(
        t,
        "__kernel void plain(__global int *to, __global const int *x, int n) "
        "{\n"
        "    int i = get_global_id(0), s = 0;\n"
        "    for (int k = 0; k < n; k++) s = s * 3 + x[k] + i;\n"
        "    to[i] = s;\n"
        "}\n"
        "__kernel void nested(__global int *to, __global const int *x, int n) "
        "{\n"
        "    int i = get_global_id(0), s = 0;\n"
        "    for (int j = 0; j < 3; j++) {\n"
        "        s ^= j;\n"
        "        for (int k = j; k < n; k++) s = s * 3 + x[k] + i;\n"
        "    }\n"
        "    to[i] = s;\n"
        "}\n"
        "__kernel void chosen(__global int *to, __global const int *x, int n) "
        "{\n"
        "    int i = get_global_id(0), s = 0;\n"
        "    if (i % 3 == 0)\n"
        "        for (int k = 0; k < n; k++) s = s * 3 + x[k] + i;\n"
        "    else\n"
        "        for (int k = 0; k < i % 11; k++) s += x[k];\n"
        "    to[i] = s;\n"
        "}\n"
        "__kernel void guarded(__global int *to, __global const int *x, int n) "
        "{\n"
        "    int i = get_global_id(0), s = 0;\n"
        "    if (i % 5 == 1) return;\n"
        "    for (int k = 0; k < n; k++)\n"
        "        if ((i ^ k) & 1) s = s * 3 + x[k] + i; else s += 2;\n"
        "    to[i] = s;\n"
        "}\n"
        "__kernel void groups(__global int *to, __global const int *x, int n) "
        "{\n"
        "    __local int part[8];\n"
        "    int i = get_global_id(0), l = get_local_id(0), s = 0;\n"
        "    for (int from = 0; from < n; from += 8) {\n"
        "        if (l < 8) part[l] = from + l < n ? x[from + l] : 0;\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        for (int k = 0; k < 8 && from + k < n; k++)\n"
        "            s = s * 3 + part[k] + i;\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    to[i] = s;\n"
        "}\n"
        "__kernel void ended(__global int *to, __global const int *x, int n) "
        "{\n"
        "    int i = get_global_id(0), s = 0;\n"
        "    for (int k = 0; k < n; k++) {\n"
        "        if (x[k] == 77) break;\n"
        "        s = s * 3 + x[k] + i;\n"
        "        if (x[k] % 5 == 4) continue;\n"
        "        s -= k;\n"
        "    }\n"
        "    to[i] = s;\n"
        "}\n"
        "__kernel void double_(__global int *to, __global const int *x, int n) "
        "{\n"
        "    int i = get_global_id(0), s = 0;\n"
        "    double d = 0.5;\n"
        "    for (int k = 0; k < n; k++) { d += x[k] * i; s += i; }\n"
        "    for (int k = n; k-- > 0;) s ^= x[k] * i;\n"
        "    to[i] = s + (int)d;\n"
        "}\n",
        NULL);
    enum {
        ITEMS = 200
    };
    static int to[ITEMS], x[100], *cells = to, *px = x;
    const int counts[] = {0, 1, 2, 7, 8, 100}, sizes[] = {8, 33, 64, 200};

    for (int i = 0; i < 100; i++)
        x[i] = i * 7 % 90;
    for (int k = 0; k < 7; k++)
        for (int c = 0; c < 6; c++)
            for (int g = 0; g < 4; g++) {
                int n = counts[c];
                uint64_t all = k == 4 ? 200 : (uint64_t)(ITEMS - g * 3);
                // Every group must have the work-items that load a tile.
                int local = k == 4 && g == 1 ? 25 : sizes[g];
                const struct try_range range = {
                    1, {all}, {(uint32_t)local}, {0}};
                memset(to, 0, sizeof(to));
                TRY_RUN(t, p, names[k], range, TRY_VALUE(cells), TRY_VALUE(px),
                        TRY_VALUE(n));
                for (int i = 0; i < (int)all; i++) {
                    uint32_t s = 0;
                    double d = 0.5;
                    for (int j = 0; j < (k == 1 ? 3 : 1); j++) {
                        s ^= (uint32_t)j;
                        for (int m = j; m < n; m++) {
                            uint32_t next = s * 3 + (uint32_t)(x[m] + i);
                            if (k == 2 && i % 3)
                                s += m < i % 11 ? (uint32_t)x[m] : 0;
                            else if (k == 3)
                                s = (i ^ m) & 1 ? next : s + 2;
                            else if (k == 5 && x[m] == 77)
                                break;
                            else if (k == 5)
                                s = next - (x[m] % 5 == 4 ? 0 : (uint32_t)m);
                            else if (k == 6)
                                d += x[m] * i, s += (uint32_t)i;
                            else
                                s = next;
                        }
                    }
                    // Whatever n is, these go to their own end.
                    if (k == 2 && i % 3)
                        for (int m = n; m < i % 11; m++)
                            s += (uint32_t)x[m];
                    if (k == 6) {
                        for (int m = n; m-- > 0;)
                            s ^= (uint32_t)(x[m] * i);
                        s += (uint32_t)(int)d;
                    }
                    if (k == 3 && i % 5 == 1)
                        s = 0;
                    if (to[i] != (int)s)
                        fprintf(stderr, "%s: n %d, item %d of %d\n", names[k],
                                n, i, (int)all);
                    CHECK(to[i] == (int)s);
                }
            }
    hd_program_destroy(p);
}

// A quotient that may be a fault is none: it is not taken out of a branch.
static void quotients_by_constants_are_bounds(struct try *t)
{
    static const struct {
        const char *condition, *told;
    } kernels[] = {{"i < n / 3 && j < n % 50", "became their bounds: 2"},
                   {"i < n / m", "became their bounds: 0"}};
    char text[256];

    for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        snprintf(text, sizeof(text),
                 "kernel void k(global int *to, int n, int m) {\n"
                 "    int i = get_global_id(0), j = get_global_id(1);\n"
                 "    if (%s) to[j * 64 + i] = 1;\n"
                 "}\n",
                 kernels[k].condition);
        struct hd_program *p = try_build(t, text, NULL);
        CHECK(strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                     kernels[k].told));
        hd_program_destroy(p);
    }
}

int main(void)
{
    struct try t = try_open();

    quotients_by_constants_are_bounds(&t);
    conditions_on_ids_decide(&t);
    long_rows_and_unused_dimensions(&t);
    strides_reach_everything_once(&t);
    strides_keep_what_turns_pass_on(&t);
    loops_taken_alike_end_alike(&t);
    try_close(&t);
    return 0;
}
