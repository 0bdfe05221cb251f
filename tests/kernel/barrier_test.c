// What work-items of a group bring about together, with barriers in loops and
// branches, is what the same text does in C.
#include "tests/kernel/forms.h"

static void items_meet_at_barriers_in_loops(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "void turn(__global int *x, __local int *copy, int k) {\n"
        "    int l = get_local_id(0), n = get_local_size(0);\n"
        "    copy[l] = x[get_global_id(0)] + k;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    x[get_global_id(0)] = copy[n - 1 - l];\n"
        "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "}\n"
        "__kernel void constant_trips(__global int *x, __local int *copy) {\n"
        "    for (int k = 0; k < 3; k++) turn(x, copy, k);\n"
        "}\n"
        "__kernel void given_trips(__global int *x, __local int *copy, int n) "
        "{\n"
        "    int mine = get_global_id(0) * 7;\n"
        "    for (int k = 0; k < n; k++) {\n"
        "        if (k % 2) turn(x, copy, k); else { turn(x, copy, 0); mine += "
        "k; }\n"
        "    }\n"
        "    x[get_global_id(0)] += mine;\n"
        "}\n",
        NULL);
    static int x[N], *px = x;

    FOR_LOCAL(local)
    {
        for (int i = 0; i < N; i++)
            x[i] = i;
        TRY_RUN(t, p, "constant_trips", RANGE_1(local), TRY_VALUE(px),
                TRY_LOCAL((size_t)local * sizeof(int)));
        for (int i = 0; i < N; i++) {
            int first = i / local * local;
            CHECK(x[i] == group_end(i, local) - 1 - (i - first) + 3);
        }
        for (int n = 0; n < 5; n++) {
            int odd = 0, even = 0;
            for (int k = 0; k < n; k++)
                k % 2 ? (odd += k) : (even += k);
            for (int i = 0; i < N; i++)
                x[i] = i;
            TRY_RUN(t, p, "given_trips", RANGE_1(local), TRY_VALUE(px),
                    TRY_LOCAL((size_t)local * sizeof(int)), TRY_VALUE(n));
            for (int i = 0; i < N; i++) {
                int first = i / local * local;
                int other = group_end(i, local) - 1 - (i - first);
                CHECK(x[i] == (n % 2 ? other : i) + odd + 7 * i + even);
            }
        }
    }
    hd_program_destroy(p);
}

static void a_tree_of_barriers_sums_a_group(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void sum(__global const int *x, __global int *sums,\n"
        "                  __local int *part) {\n"
        "    size_t l = get_local_id(0);\n"
        "    part[l] = x[get_global_id(0)];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (size_t n = get_local_size(0); n > 1;) {\n"
        "        size_t half_n = (n + 1) / 2;\n"
        "        if (l < n / 2) part[l] += part[l + half_n];\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        n = half_n;\n"
        "    }\n"
        "    if (l == 0) sums[get_group_id(0)] = part[0];\n"
        "}\n",
        NULL);
    static int x[N], sums[N], *px = x, *ps = sums;

    for (int i = 0; i < N; i++)
        x[i] = i * i % 1001;
    FOR_LOCAL(local)
    {
        TRY_RUN(t, p, "sum", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(ps),
                TRY_LOCAL((size_t)local * sizeof(int)));
        for (int first = 0; first < N; first += local) {
            int sum = 0;
            for (int i = first; i < group_end(first, local); i++)
                sum += x[i];
            CHECK(sums[first / local] == sum);
        }
    }
    hd_program_destroy(p);
}

static void one_item_fills_an_array_for_all(struct try *t)
{
    // Unrolled, the loop stores to constant addresses within the array.
    struct hd_program *p =
        try_build(t,
                  "__kernel void fill(__global int *x, int n) {\n"
                  "    __local int first[6];\n"
                  "    if (get_local_id(0) == 0)\n"
                  "        for (int i = 0; i < 6; i++) first[i] = n * i;\n"
                  "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "    x[get_global_id(0)] += first[get_global_id(0) % 6];\n"
                  "}\n",
                  NULL);
    static int x[N], *px = x;
    int n = 7;

    FOR_LOCAL(local)
    {
        for (int i = 0; i < N; i++)
            x[i] = i;
        TRY_RUN(t, p, "fill", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(n));
        for (int i = 0; i < N; i++)
            CHECK(x[i] == i + i % 6 * n);
    }
    hd_program_destroy(p);
}

static void items_that_returned_stay_away(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "__kernel void k(__global int *x, int n, int rounds) {\n"
                  "    __local int best[1];\n"
                  "    int i = get_global_id(0);\n"
                  "    if (i >= n) return;\n"
                  "    if (get_local_id(0) == 0) best[0] = 0;\n"
                  "    for (int r = 0; r < rounds; r++) {\n"
                  "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "        atomic_add(best, 1 + r);\n"
                  "    }\n"
                  "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "    x[i] = best[0];\n"
                  "}\n",
                  NULL);
    static int x[N], *px = x;

    FOR_LOCAL(local)
    for (int n = 0; n <= N; n += 333)
        for (int rounds = 0; rounds < 3; rounds++) {
            for (int i = 0; i < N; i++)
                x[i] = -1;
            TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(n),
                    TRY_VALUE(rounds));
            for (int i = 0; i < N; i++) {
                int end = group_end(i, local), first = i / local * local;
                int here = (end < n ? end : n) - first;
                CHECK(x[i] == (i < n ? here * rounds * (rounds + 1) / 2 : -1));
            }
        }
    hd_program_destroy(p);
}

static void what_some_items_change_is_kept_per_item(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "__kernel void k(__global int *x, int n) {\n"
                  "    int i = get_global_id(0), r = 1, s = 0;\n"
                  "    if (i % 3) { r = n; x[i] = 7; } else x[i] = 9;\n"
                  "    for (int k = 0; k < i % 5; k++) s = k;\n"
                  "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
                  "    x[i] += r * 100 + s * 1000;\n"
                  "}\n",
                  NULL);
    static int x[N], *px = x;
    int n = 4;

    FOR_LOCAL(local)
    {
        TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(n));
        for (int i = 0; i < N; i++) {
            int s = i % 5 ? i % 5 - 1 : 0;
            CHECK(x[i] == (i % 3 ? 7 + 400 : 9 + 100) + s * 1000);
        }
    }
    hd_program_destroy(p);
}

// LLVM counts turns & 3 in two bits.
static void few_bits_are_kept_per_item(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "__kernel void k(__global uint *to, uint n) {\n"
                  "    uint own[4], sum = 1, l = get_local_id(0);\n"
                  "    for (uint i = 0; i < 4; i++) own[i] = n * i;\n"
                  "    uint turns = own[n & 3] & 7;\n"
                  "    for (uint turn = 0; turn < turns; turn++) {\n"
                  "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "        for (uint i = 0; i < (l & 3); i++)\n"
                  "            for (uint k = 0; k < (3 & (turn * i)); k++)\n"
                  "                sum = sum * 31 + 77;\n"
                  "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "    }\n"
                  "    to[get_global_id(0)] = sum;\n"
                  "}\n",
                  NULL);
    static uint32_t to[N], *pto = to;
    uint32_t n = 7;

    for (uint32_t local = 1; local <= N; local++) {
        if (N % local)
            continue;
        TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {local}, {0}}),
                TRY_VALUE(pto), TRY_VALUE(n));
        for (uint32_t id = 0; id < N; id++) {
            uint32_t sum = 1;
            for (uint32_t turn = 0; turn < (n * (n & 3) & 7); turn++)
                for (uint32_t i = 0; i < (id % local & 3); i++)
                    for (uint32_t k = 0; k < (3 & (turn * i)); k++)
                        sum = sum * 31 + 77;
            CHECK(to[id] == sum);
        }
    }
    hd_program_destroy(p);
}

static void atomics_count_right(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *out, __global uint *histogram,\n"
        "                __global int *each) {\n"
        "    __local int count, least; __local uint bins[10];\n"
        "    int i = get_global_id(0), l = get_local_id(0);\n"
        "    if (l == 0) { count = 0; least = 1 << 30; }\n"
        "    for (int b = l; b < 10; b += get_local_size(0)) bins[b] = 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    int before = atomic_inc(&count);\n"
        "    atomic_min(&least, i * 7 % 100);\n"
        "    atomic_inc(&bins[i * i % 10]);\n"
        "    atomic_cmpxchg(&each[i], i, -i);\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    each[i] += before < count && before >= 0 ? 0 : 1;\n"
        "    for (int b = l; b < 10; b += get_local_size(0))\n"
        "        atomic_add(&histogram[b], bins[b]);\n"
        "    if (l == 0) { atomic_add(out, count); atomic_min(out + 1, least); "
        "atomic_max(out + 2, least); }\n"
        "}\n",
        NULL);
    static int each[N];

    FOR_LOCAL(local)
    {
        int out[3] = {0, 1 << 30, -1}, *po = out, *pe = each, low = 1 << 30;
        int high = -1;
        unsigned bins[10] = {0}, wanted[10] = {0}, *pb = bins;
        for (int i = 0; i < N; i++) {
            each[i] = i % 2 ? i : 5;
            wanted[i * i % 10]++;
        }
        for (int first = 0; first < N; first += local) {
            int least = 1 << 30;
            for (int i = first; i < group_end(first, local); i++)
                least = i * 7 % 100 < least ? i * 7 % 100 : least;
            low = least < low ? least : low;
            high = least > high ? least : high;
        }
        TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(po), TRY_VALUE(pb),
                TRY_VALUE(pe));
        CHECK(out[0] == N && out[1] == low && out[2] == high);
        CHECK(memcmp(bins, wanted, sizeof(bins)) == 0);
        for (int i = 0; i < N; i++)
            CHECK(each[i] == (i % 2 || i == 5 ? -i : 5));
    }
    hd_program_destroy(p);
}

static void tiles_in_two_dimensions_multiply_matrices(struct try *t)
{
    enum {
        M = 48
    };
    struct hd_program *p = try_build(
        t,
        "#define B 8\n"
        "__kernel __attribute__((reqd_work_group_size(B, B, 1)))\n"
        "void matmul(__global const float *a, __global const float *b,\n"
        "            __global float *c, int n) {\n"
        "    __local float ta[B][B], tb[B][B];\n"
        "    int x = get_local_id(0), y = get_local_id(1);\n"
        "    int col = get_global_id(0), row = get_global_id(1);\n"
        "    float sum = 0;\n"
        "    for (int t = 0; t < n / B; t++) {\n"
        "        ta[y][x] = a[row * n + t * B + x];\n"
        "        tb[y][x] = b[(t * B + y) * n + col];\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        for (int k = 0; k < B; k++) sum += ta[y][k] * tb[k][x];\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    c[row * n + col] = sum;\n"
        "}\n",
        NULL);
    static float a[M * M], b[M * M], c[M * M], *pa = a, *pb = b, *pc = c;
    int n = M;

    for (int i = 0; i < M * M; i++) {
        a[i] = (float)(i * 7 % 13);
        b[i] = (float)(i * 5 % 11);
    }
    TRY_RUN(t, p, "matmul", ((struct try_range){2, {M, M}, {8, 8}, {0}}),
            TRY_VALUE(pa), TRY_VALUE(pb), TRY_VALUE(pc), TRY_VALUE(n));
    for (int y = 0; y < M; y++)
        for (int x = 0; x < M; x++) {
            float sum = 0;
            for (int k = 0; k < M; k++)
                sum += a[y * M + k] * b[k * M + x];
            CHECK(c[y * M + x] == sum);
        }
    const struct hd_kernel_info *info =
        hd_kernel_info(hd_program_find(p, "matmul"));
    CHECK(info->required_local[0] == 8 && info->required_local[2] == 1);
    CHECK(info->local_bytes == 512);
    hd_program_destroy(p);
}

static void uniform_branches_choose_barriers(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, __global const int *flags, int n) "
        "{\n"
        "    __local int s[1];\n"
        "    int i = get_global_id(0), l = get_local_id(0), r = i;\n"
        "    for (int k = 0; k < n; k++) {\n"
        "        if (flags[k] == 1) {\n"
        "            if (l == 0) s[0] = k;\n"
        "            barrier(CLK_LOCAL_MEM_FENCE);\n"
        "            r += s[0];\n"
        "            barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        } else if (flags[k] == 2) {\n"
        "            continue;\n"
        "        } else if (flags[k] == 3) {\n"
        "            break;\n"
        "        } else if (flags[k] == 4) {\n"
        "            x[i] = -r;\n"
        "            return;\n"
        "        }\n"
        "        for (int m = 0; m < l % 3; m++) r += 100;\n"
        "    }\n"
        "    x[i] = r;\n"
        "}\n",
        NULL);
    static const int flags[][6] = {{0, 0, 0, 0, 0, 0}, {1, 2, 0, 1, 1, 0},
                                   {1, 2, 1, 3, 1, 1}, {0, 1, 1, 4, 1, 1},
                                   {4, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 1}};
    static int x[N], *px = x;

    FOR_LOCAL(local)
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        const int *pf = flags[f];
        int n = 6;
        TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(pf),
                TRY_VALUE(n));
        for (int i = 0; i < N; i++) {
            int r = i;
            for (int k = 0; k < n; k++) {
                if (pf[k] == 2)
                    continue;
                if (pf[k] == 3)
                    break;
                if (pf[k] == 4) {
                    r = -r;
                    break;
                }
                r += (pf[k] == 1 ? k : 0) + i % local % 3 * 100;
            }
            CHECK(x[i] == r);
        }
    }
    hd_program_destroy(p);
}

// Loops that are entered in two places, which no structured program has: each
// work-item where it wants to, or all together past a barrier.
static const char entered_twice[] =
    "kernel void own(global const int *from, global int *to) {\n"
    "    int n = from[get_global_id(0)], steps = 0;\n"
    "    if (n & 1) goto second;\n"
    "first:\n"
    "    n += 3;\n"
    "second:\n"
    "    n = n / 2 + n % 5;\n"
    "    steps++;\n"
    "    if (steps < 20 && n > 4) goto first;\n"
    "    to[get_global_id(0)] = n * 100 + steps;\n"
    "}\n"
    "kernel void past(global const int *from, global int *to,\n"
    "                 local int *part) {\n"
    "    int l = get_local_id(0), n = from[get_global_id(0)], steps = 0;\n"
    "    if (n & 1) goto second;\n"
    "first:\n"
    "    n += 3;\n"
    "second:\n"
    "    n = n / 2 + n % 5;\n"
    "    steps++;\n"
    "    if (steps < 20 && n > 4) goto first;\n"
    "    part[l] = n * 100 + steps;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = part[l ^ 1];\n"
    "}\n"
    "kernel void together(global const int *from, global int *to,\n"
    "                     local int *part, int begin) {\n"
    "    int l = get_local_id(0), s = get_local_size(0);\n"
    "    int n = from[get_global_id(0)], k = begin;\n"
    "    if (begin & 1) goto second;\n"
    "first:\n"
    "    part[l] = n;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    n += part[(l + 1) % s];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "second:\n"
    "    n = n % 1000 * 2 + 1;\n"
    "    if (++k < 9) goto first;\n"
    "    to[get_global_id(0)] = n;\n"
    "}\n";

static int walk(int n)
{
    int steps = 0;
    bool late = n & 1;

    do {
        if (!late)
            n += 3;
        late = false;
        n = n / 2 + n % 5;
        steps++;
    } while (steps < 20 && n > 4);
    return n * 100 + steps;
}

static void walk_together(int *n, int size, int begin)
{
    int next[64];

    for (int k = begin; k == begin || k < 9; k++) {
        for (int i = 0; i < size; i++)
            next[i] =
                n[i] + (k > begin || begin % 2 == 0 ? n[(i + 1) % size] : 0);
        for (int i = 0; i < size; i++)
            n[i] = next[i] % 1000 * 2 + 1;
    }
}

static void loops_may_have_two_entries(struct try *t)
{
    enum {
        COUNT = 192,
        SIZE = 48
    };
    static int from[COUNT], to[COUNT], right[COUNT], *pf = from, *pt = to;
    const struct try_range range = {1, {COUNT}, {SIZE}, {0}};
    struct hd_program *p = try_build(t, entered_twice, NULL);

    for (int i = 0; i < COUNT; i++)
        from[i] = i * i * 37 % 1009 - i % 3;
    TRY_RUN(t, p, "own", range, TRY_VALUE(pf), TRY_VALUE(pt));
    for (int i = 0; i < COUNT; i++)
        CHECK(to[i] == walk(from[i]));
    memset(to, 0, sizeof(to));
    TRY_RUN(t, p, "past", range, TRY_VALUE(pf), TRY_VALUE(pt),
            TRY_LOCAL(SIZE * sizeof(int)));
    for (int i = 0; i < COUNT; i++)
        CHECK(to[i] == walk(from[i ^ 1]));
    for (int begin = 0; begin < 10; begin++) {
        memcpy(right, from, sizeof(from));
        for (int g = 0; g < COUNT; g += SIZE)
            walk_together(right + g, SIZE, begin);
        TRY_RUN(t, p, "together", range, TRY_VALUE(pf), TRY_VALUE(pt),
                TRY_LOCAL(SIZE * sizeof(int)), TRY_VALUE(begin));
        CHECK(memcmp(to, right, sizeof(to)) == 0);
    }
    hd_program_destroy(p);
}

static void test(struct try *t)
{
    items_meet_at_barriers_in_loops(t);
    a_tree_of_barriers_sums_a_group(t);
    one_item_fills_an_array_for_all(t);
    items_that_returned_stay_away(t);
    what_some_items_change_is_kept_per_item(t);
    few_bits_are_kept_per_item(t);
    atomics_count_right(t);
    tiles_in_two_dimensions_multiply_matrices(t);
    uniform_branches_choose_barriers(t);
    loops_may_have_two_entries(t);
}

int main(void)
{
    in_every_form(test);
    return 0;
}
