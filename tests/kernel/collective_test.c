// Functions that the work-items of a group, or of a sub-group, call together,
// against plain loops over the same items.
#include <stdlib.h>

#include "tests/kernel/try.h"

enum {
    N = 1000
};

// Of a sub-group, on processors and on GPUs.
#define SIZE (getenv("HEDDLE_TRY") ? 32 : 16)

#define RANGE_1(local) ((struct try_range){1, {N}, {(uint32_t)(local)}, {0}})

// Call body with work-group sizes from 1 to more than the range.
#define FOR_LOCAL(local) \
    for (int local = 1; local <= TRY_MAX_ITEMS; local = local * 3 + 1)

static int least(int a, int b)
{
    return a < b ? a : b;
}

// The items that item i meets: those of its group, in parts of `size`.
struct part {
    int first, end;
};

static struct part part_of(int i, int local, int size)
{
    int group = i / local * local;
    int first = group + (i - group) / size * size;
    return (struct part){first, least(least(first + size, group + local), N)};
}

static int value_of(int i)
{
    return (int)((unsigned)i * 2654435761u >> 20) % 100 - 50;
}

// Two kernels for each type: compiling takes longer than twice for one.
enum {
    RESULTS = 10
};

// SET is what the functions' names begin with.
#define DEFINITIONS                                                        \
    "#define JOIN(a, b) a##b\n"                                            \
    "#define JOINED(a, b) JOIN(a, b)\n"                                    \
    "#define OF(f) JOINED(SET, f)\n"                                       \
    "#define RESULTS(T) \\\n"                                              \
    "kernel void T##s(global const int *x, global T *r, uint from) { \\\n" \
    "    size_t i = get_global_id(0), n = get_global_size(0); \\\n"        \
    "    T v = (T)x[i]; \\\n"                                              \
    "    r[i] = OF(reduce_add)(v); \\\n"                                   \
    "    r[n + i] = OF(reduce_min)(v); \\\n"                               \
    "    r[2 * n + i] = OF(reduce_max)(v); \\\n"                           \
    "    r[3 * n + i] = OF(scan_exclusive_add)(v); \\\n"                   \
    "    r[4 * n + i] = OF(scan_inclusive_add)(v); \\\n"                   \
    "} \\\n"                                                               \
    "kernel void T##s_more(global const int *x, global T *r, uint from) "  \
    "{ \\\n"                                                               \
    "    size_t i = get_global_id(0), n = get_global_size(0); \\\n"        \
    "    T v = (T)x[i]; \\\n"                                              \
    "    r[5 * n + i] = OF(scan_inclusive_min)(v); \\\n"                   \
    "    r[6 * n + i] = OF(scan_inclusive_max)(v); \\\n"                   \
    "    r[7 * n + i] = OF(broadcast)(v, from); \\\n"                      \
    "    r[8 * n + i] = OF(any)(v == (T)3); \\\n"                          \
    "    r[9 * n + i] = OF(all)(v != (T)3); \\\n"                          \
    "}\n"

static int x[N];

#define CHECK_TYPE(name, T)                                                \
    static void check_##name(struct try *t, const struct hd_program *p,    \
                             int size)                                     \
    {                                                                      \
        static T r[RESULTS][N];                                            \
        T *pr = r[0];                                                      \
        int *px = x;                                                       \
        uint32_t from = 0;                                                 \
        FOR_LOCAL(local)                                                   \
        {                                                                  \
            int parts = size < local ? size : local;                       \
            from = (uint32_t)(N % parts ? 0 : parts - 1);                  \
            if (local % parts || N % local)                                \
                from = 0;                                                  \
            memset(r, 1, sizeof(r));                                       \
            TRY_RUN(t, p, #name "s", RANGE_1(local), TRY_VALUE(px),        \
                    TRY_VALUE(pr), TRY_VALUE(from));                       \
            TRY_RUN(t, p, #name "s_more", RANGE_1(local), TRY_VALUE(px),   \
                    TRY_VALUE(pr), TRY_VALUE(from));                       \
            for (int i = 0; i < N; i++) {                                  \
                struct part part = part_of(i, local, size);                \
                T sum = 0, low = (T)x[part.first], high = low, before = 0; \
                T low_here = low, high_here = low;                         \
                int any = 0, all = 1;                                      \
                for (int k = part.first; k < part.end; k++) {              \
                    T v = (T)x[k];                                         \
                    before = k < i ? (T)(before + v) : before;             \
                    low_here = k <= i && v < low_here ? v : low_here;      \
                    high_here = k <= i && v > high_here ? v : high_here;   \
                    sum = (T)(sum + v);                                    \
                    low = v < low ? v : low;                               \
                    high = v > high ? v : high;                            \
                    any |= v == (T)3;                                      \
                    all &= v != (T)3;                                      \
                }                                                          \
                CHECK(r[0][i] == sum);                                     \
                CHECK(r[1][i] == low);                                     \
                CHECK(r[2][i] == high);                                    \
                CHECK(r[3][i] == before);                                  \
                CHECK(r[4][i] == (T)(before + (T)x[i]));                   \
                CHECK(r[5][i] == low_here);                                \
                CHECK(r[6][i] == high_here);                               \
                CHECK(r[7][i] == (T)x[part.first + (int)from]);            \
                CHECK(r[8][i] == (T)any);                                  \
                CHECK(r[9][i] == (T)all);                                  \
            }                                                              \
        }                                                                  \
    }
CHECK_TYPE(char, int8_t)
CHECK_TYPE(ushort, uint16_t)
CHECK_TYPE(int, int32_t)
CHECK_TYPE(uint, uint32_t)
CHECK_TYPE(long, int64_t)
CHECK_TYPE(ulong, uint64_t)
CHECK_TYPE(float, float)
CHECK_TYPE(double, double)

static void a_group_folds_the_values_of_all(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        DEFINITIONS "RESULTS(int) RESULTS(uint) RESULTS(long) RESULTS(ulong)\n"
                    "RESULTS(float) RESULTS(double)\n",
        "-cl-std=CL3.0 -DSET=work_group_");

    check_int(t, p, N);
    check_uint(t, p, N);
    check_long(t, p, N);
    check_ulong(t, p, N);
    check_float(t, p, N);
    check_double(t, p, N);
    hd_program_destroy(p);
}

static void a_sub_group_folds_the_values_of_its_own(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  DEFINITIONS "RESULTS(char) RESULTS(ushort) RESULTS(int)\n"
                              "RESULTS(ulong) RESULTS(double)\n",
                  "-cl-std=CL3.0 -DSET=sub_group_");

    check_char(t, p, SIZE);
    check_ushort(t, p, SIZE);
    check_int(t, p, SIZE);
    check_ulong(t, p, SIZE);
    check_double(t, p, SIZE);
    hd_program_destroy(p);
}

// In the other form the functions are the same: one type of each size.
static void threads_fold_too(struct try *t)
{
    struct hd_program *group =
        try_build(t, DEFINITIONS "RESULTS(int) RESULTS(double)\n",
                  "-cl-std=CL3.0 -DSET=work_group_");
    struct hd_program *sub_group =
        try_build(t, DEFINITIONS "RESULTS(char) RESULTS(ulong)\n",
                  "-cl-std=CL3.0 -DSET=sub_group_");

    check_int(t, group, N);
    check_double(t, group, N);
    check_char(t, sub_group, SIZE);
    check_ulong(t, sub_group, SIZE);
    hd_program_destroy(group);
    hd_program_destroy(sub_group);
}

static void a_group_of_three_dimensions_scans_in_linear_order(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void scan(global int *r, global int *chosen) {\n"
        "    size_t i = (get_global_id(2) * get_global_size(1) +\n"
        "        get_global_id(1)) * get_global_size(0) + get_global_id(0);\n"
        "    r[i] = work_group_scan_exclusive_add(1);\n"
        "    chosen[i] = work_group_broadcast((int)i, 1, 2, 1);\n"
        "}\n",
        "-cl-std=CL3.0");
    enum {
        X = 42,
        Y = 6,
        Z = 4
    };
    static const struct {
        uint32_t x, y, z;
    } shapes[] = {{2, 3, 2}, {42, 3, 2}, {21, 6, 2}, {14, 3, 4}};
    static int r[X * Y * Z], chosen[X * Y * Z], *pr = r, *pc = chosen;

    for (unsigned s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        const uint32_t w = shapes[s].x, h = shapes[s].y, d = shapes[s].z;
        TRY_RUN(t, p, "scan",
                ((struct try_range){3, {X, Y, Z}, {w, h, d}, {0}}),
                TRY_VALUE(pr), TRY_VALUE(pc));
        for (uint32_t i = 0; i < X * Y * Z; i++) {
            uint32_t a = i % X, b = i / X % Y, c = i / (X * Y);
            CHECK((uint32_t)r[i] == (c % d * h + b % h) * w + a % w);
            uint32_t group = (c / d * d * Y + b / h * h) * X + a / w * w;
            CHECK((uint32_t)chosen[i] == group + (Y + 2) * X + 1);
        }
    }
    hd_program_destroy(p);
}

static void collectives_stand_in_loops_and_branches_of_the_group(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "kernel void turns(global int *r, int n) {\n"
                  "    int i = get_global_id(0), mine = i, sum = 0;\n"
                  "    for (int k = 0; k < n; k++) {\n"
                  "        if (k % 2)\n"
                  "            sum += sub_group_shuffle_xor(mine, 1u);\n"
                  "        else\n"
                  "            sum += work_group_reduce_max(mine);\n"
                  "        mine++;\n"
                  "    }\n"
                  "    r[i] = sum;\n"
                  "}\n",
                  "-cl-std=CL3.0");
    static int r[960], *pr = r;
    int n = 5;

    for (int local = 16; local <= 960; local += 16) {
        if (960 % local != 0)
            continue;
        TRY_RUN(t, p, "turns",
                ((struct try_range){1, {960}, {(uint32_t)local}, {0}}),
                TRY_VALUE(pr), TRY_VALUE(n));
        for (int i = 0; i < 960; i++) {
            int last = i / local * local + local - 1;
            CHECK(r[i] == 3 * last + 0 + 2 + 4 + 2 * (i ^ 1) + 1 + 3);
        }
    }
    hd_program_destroy(p);
}

// Loops cannot do that.
static void a_sub_group_may_come_alone(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "kernel void k(global uint *r) {\n"
                  "    uint i = get_global_id(0), s = get_sub_group_id();\n"
                  "    r[i] = 0;\n"
                  "    if (s % 2)\n"
                  "        r[i] = sub_group_reduce_add(get_local_id(0));\n"
                  "    work_group_barrier(CLK_GLOBAL_MEM_FENCE);\n"
                  "    if (s % 2 == 0)\n"
                  "        r[i] = r[i + get_max_sub_group_size()];\n"
                  "}\n",
                  "-cl-std=CL3.0");
    uint32_t r[128], *pr = r;

    CHECK(hd_kernel_info(hd_program_find(p, "k"))->form == HD_FORM_THREADS);
    TRY_RUN(t, p, "k", ((struct try_range){1, {128}, {64}, {0}}),
            TRY_VALUE(pr));
    for (uint32_t i = 0; i < 128; i++) {
        uint32_t size = (uint32_t)SIZE;
        uint32_t first = i % 64 / (2 * size) * 2 * size + size;
        CHECK(r[i] == size * first + size * (size - 1) / 2);
    }
    hd_program_destroy(p);
}

static void everything(struct try *t)
{
    a_group_of_three_dimensions_scans_in_linear_order(t);
    collectives_stand_in_loops_and_branches_of_the_group(t);
}

int main(void)
{
    struct try t = try_open();

    for (int i = 0; i < N; i++)
        x[i] = value_of(i);
    t.form = "-heddle-form=loops";
    a_group_folds_the_values_of_all(&t);
    a_sub_group_folds_the_values_of_its_own(&t);
    everything(&t);
    t.form = "-heddle-form=thread";
    threads_fold_too(&t);
    everything(&t);
    t.form = "-heddle-form=coroutine";
    threads_fold_too(&t);
    everything(&t);
    t.form = NULL;
    a_sub_group_may_come_alone(&t);
    try_close(&t);
    return 0;
}
