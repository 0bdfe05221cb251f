// Kernels of all kinds do what the same text does in C, over work-group sizes
// that divide the range and such that do not.
#include "kernel/try.h"

enum {
    N = 1000
};

#define RANGE_1(local) ((struct try_range){1, {N}, {(uint32_t)(local)}, {0}})

// Call body with work-group sizes from 1 to more than the range.
#define FOR_LOCAL(local) \
    for (int local = 1; local <= 1200; local = local * 3 + 1)

static int group_end(int i, int local) // first item after the group of item i
{
    int end = (i / local + 1) * local;
    return end < N ? end : N;
}

static void a_guard_keeps_items_out(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void saxpy(__global float *y, __global const float *x,\n"
        "                    float a, int n) {\n"
        "    int i = get_global_id(0);\n"
        "    if (i < n) y[i] = a * x[i] + y[i];\n"
        "}\n",
        NULL);
    static float x[N], y[N], *px = x, *py = y;
    float a = 3;
    int n = N - 3;

    FOR_LOCAL(local)
    {
        for (int i = 0; i < N; i++) {
            x[i] = (float)i;
            y[i] = 1;
        }
        TRY_RUN(t, p, "saxpy", RANGE_1(local), TRY_VALUE(py), TRY_VALUE(px),
                TRY_VALUE(a), TRY_VALUE(n));
        for (int i = 0; i < N; i++)
            CHECK(y[i] == (i < n ? 3 * (float)i + 1 : 1));
    }
    hd_program_destroy(p);
}

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

static void private_arrays_are_private(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, __global const int *order) {\n"
        "    int a[40];\n"
        "    int i = get_global_id(0);\n"
        "    for (int k = 0; k < 40; k++) a[k] = i + k;\n"
        "    a[order[i] % 40] = 1000;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    int sum = 0;\n"
        "    for (int k = 0; k < 40; k++) sum += a[order[k] % 40];\n"
        "    x[i] = sum;\n"
        "}\n"
        "__kernel void without(__global int *x, __global const int *order, int "
        "n) {\n"
        "    short a[16];\n"
        "    int i = get_global_id(0);\n"
        "    for (int k = 0; k < 16; k++) a[k] = k;\n"
        "    for (int k = 0; k < n; k++) {\n"
        "        int from = order[k] % 16, to = (order[k + 1] + i) % 16;\n"
        "        short s = a[from]; a[from] = a[to]; a[to] = s;\n"
        "    }\n"
        "    x[i] = a[i % 16];\n"
        "}\n",
        NULL);
    static int x[N], order[N], *px = x, *po = order;

    for (int i = 0; i < N; i++)
        order[i] = i * 7919 % 4001;
    FOR_LOCAL(local)
    {
        TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(po));
        for (int i = 0; i < N; i++) {
            int a[40], sum = 0;
            for (int k = 0; k < 40; k++)
                a[k] = i + k;
            a[order[i] % 40] = 1000;
            for (int k = 0; k < 40; k++)
                sum += a[order[k] % 40];
            CHECK(x[i] == sum);
        }
        int n = 50;
        TRY_RUN(t, p, "without", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(po),
                TRY_VALUE(n));
        for (int i = 0; i < N; i++) {
            int a[16];
            for (int k = 0; k < 16; k++)
                a[k] = k;
            for (int k = 0; k < n; k++) {
                int from = order[k] % 16, to = (order[k + 1] + i) % 16;
                int s = a[from];
                a[from] = a[to];
                a[to] = s;
            }
            CHECK(x[i] == a[i % 16]);
        }
    }
    hd_program_destroy(p);
}

static void every_id_is_right(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "__kernel void k(__global ulong *x) {\n"
                  "    size_t i = get_global_linear_id();\n"
                  "    ulong h = 0;\n"
                  "    for (uint d = 0; d < 4; d++) {\n"
                  "        h = h * 31 + get_global_id(d);\n"
                  "        h = h * 31 + get_local_id(d);\n"
                  "        h = h * 31 + get_group_id(d);\n"
                  "        h = h * 31 + get_local_size(d);\n"
                  "        h = h * 31 + get_enqueued_local_size(d);\n"
                  "        h = h * 31 + get_global_size(d);\n"
                  "        h = h * 31 + get_num_groups(d);\n"
                  "        h = h * 31 + get_global_offset(d);\n"
                  "    }\n"
                  "    h = h * 31 + get_work_dim();\n"
                  "    h = h * 31 + get_local_linear_id();\n"
                  "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "    x[i] = h;\n"
                  "}\n"
                  "__kernel void any(__global ulong *x, uint d) {\n"
                  "    x[get_global_linear_id()] = get_global_id(d) * 100 + "
                  "get_local_size(d);\n"
                  "}\n",
                  "-cl-std=CL3.0");
    static const struct try_range ranges[] = {
        {1, {37}, {5}, {3}},
        {2, {19, 7}, {8, 3}, {0, 1000000007}},
        {3, {5, 6, 7}, {2, 4, 3}, {1, 2, 5000000000}},
        {3, {33, 2, 2}, {64, 1, 2}, {0}},
    };
    static uint64_t x[300], *px = x;

    for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
        struct try_range range = ranges[r];
        uint64_t g[3], l[3], o[3], count = 0;
        for (int d = 0; d < 3; d++) {
            g[d] = range.global[d] ? range.global[d] : 1;
            l[d] = range.local[d] ? range.local[d] : 1;
            o[d] = range.offset[d];
        }
        for (unsigned any = 0; any < 5; any++) {
            if (any == 0)
                TRY_RUN(t, p, "k", range, TRY_VALUE(px));
            unsigned dimension = any - 1;
            if (any > 0)
                TRY_RUN(t, p, "any", range, TRY_VALUE(px),
                        TRY_VALUE(dimension));
            count = 0;
            for (uint64_t c = 0; c < g[2]; c++)
                for (uint64_t b = 0; b < g[1]; b++)
                    for (uint64_t a = 0; a < g[0]; a++) {
                        uint64_t at[3] = {a, b, c}, size[3], h = 0;
                        for (int d = 0; d < 3; d++) {
                            uint64_t first = at[d] / l[d] * l[d];
                            size[d] = first + l[d] < g[d] ? l[d] : g[d] - first;
                            h = h * 31 + at[d] + o[d];
                            h = h * 31 + at[d] % l[d];
                            h = h * 31 + at[d] / l[d];
                            h = h * 31 + size[d];
                            h = h * 31 + l[d];
                            h = h * 31 + g[d];
                            h = h * 31 + (g[d] + l[d] - 1) / l[d];
                            h = h * 31 + o[d];
                        }
                        h = h * 31 * 31 * 31 * 31 + 1;
                        h = ((h * 31 + 1) * 31 + 1) * 31 + 1;
                        h = h * 31;
                        h = h * 31 + range.dims;
                        h = h * 31 +
                            ((c % l[2]) * size[1] + b % l[1]) * size[0] +
                            a % l[0];
                        uint64_t other =
                            dimension < 3
                                ? (at[dimension] + o[dimension]) * 100 +
                                      size[dimension]
                                : 1;
                        CHECK(x[count] == (any ? other : h));
                        count++;
                    }
        }
    }
    hd_program_destroy(p);
}

static void arguments_of_every_kind_arrive(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "struct S { char c; double d; int v[3]; };\n"
        "typedef struct { float4 a; short s; } T;\n"
        "__kernel void k(__global float *out, char c, struct S s, float3 v,\n"
        "                T t, __constant float *w, __local int *one,\n"
        "                __local double *two, ulong8 u, __global T *in) {\n"
        "    int i = get_global_id(0), l = get_local_id(0);\n"
        "    one[l] = l; two[l] = -l;\n"
        "    s.v[1] += i;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    int m = get_local_size(0) - 1;\n"
        "    out[i] = c + s.c + (float)s.d + s.v[i % 3] + v.x + v.z + t.a.w +\n"
        "             t.s + w[1] + one[m - l] + (float)two[m - l] + u.s7 +\n"
        "             in[1].a.y + in[1].s;\n"
        "}\n",
        NULL);
    struct {
        char c;
        double d;
        int v[3];
    } s = {1, 2.5, {10, 20, 30}};
    struct {
        _Alignas(16) float a[4];
        short s;
    } v3 = {{1, 2, 4, 0}, 0}, st = {{0, 0, 0, 8}, 16},
      in[2] = {{{0}, 0}, {{0, 32, 0, 0}, 64}};
    _Alignas(64) uint64_t u[8] = {0, 0, 0, 0, 0, 0, 0, 128};
    float w[2] = {0, 256}, *pw = w;
    static float out[N], *po = out;
    char c = 3;
    void *pi = in;

    FOR_LOCAL(local)
    {
        const struct try_arg args[] = {
            TRY_VALUE(po),
            TRY_VALUE(c),
            TRY_VALUE(s),
            {v3.a, 16},
            TRY_VALUE(st),
            TRY_VALUE(pw),
            TRY_LOCAL((size_t)local * sizeof(int)),
            TRY_LOCAL((size_t)local * sizeof(double)),
            TRY_VALUE(u),
            TRY_VALUE(pi)};
        try_run(t, p, "k", RANGE_1(local), args, 10);
        for (int i = 0; i < N; i++)
            CHECK(out[i] == 3 + 1 + 2.5f + (float)s.v[i % 3] +
                                (i % 3 == 1 ? (float)i : 0) + 5 + 8 + 16 + 256 +
                                128 + 32 + 64);
    }

    const struct hd_kernel *k = hd_program_find(p, "k");
    CHECK(strcmp(hd_kernel_arg(k, 0)->type, "float*") == 0);
    CHECK(hd_kernel_arg(k, 0)->kind == HD_ARG_GLOBAL);
    CHECK(hd_kernel_arg(k, 0)->size == 4);
    CHECK(!hd_kernel_arg(k, 0)->pointee_const);
    CHECK(strcmp(hd_kernel_arg(k, 2)->name, "s") == 0);
    CHECK(hd_kernel_arg(k, 2)->size == sizeof(s));
    CHECK(hd_kernel_arg(k, 3)->size == 16);
    CHECK(hd_kernel_arg(k, 5)->kind == HD_ARG_CONSTANT);
    CHECK(hd_kernel_arg(k, 6)->kind == HD_ARG_LOCAL);
    CHECK(hd_kernel_arg(k, 7)->size == 8);
    CHECK(hd_kernel_arg(k, 9)->size == 32);
    CHECK(!hd_kernel_arg(k, 10));
    CHECK(hd_kernel_info(k)->line == 3);
    CHECK(strcmp(hd_kernel_info(k)->file, "test.cl") == 0);
    CHECK(hd_kernel_info(k)->barriers == 1);
    hd_program_destroy(p);
}

static void items_may_go_different_ways(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__constant int table[5] = {3, 1, 4, 1, 5};\n"
        "int f(int i) { return i % 2 ? i * 3 : i / 2; }\n"
        "__kernel void k(__global int *x, int n) {\n"
        "    __local int shared_value;\n"
        "    int i = get_global_id(0), r = 0;\n"
        "    switch (i % 7) {\n"
        "    case 0: r = f(i); break;\n"
        "    case 1: case 2: r = table[i % 5]; break;\n"
        "    case 5: for (int k = 0; k < i % 13; k++) { if (k == 9) break; r "
        "+= "
        "f(k); }\n"
        "    case 6: r -= 1; break;\n"
        "    default: r = 42;\n"
        "    }\n"
        "    if (n > 2) {\n"
        "        if (get_local_id(0) == 0) shared_value = get_group_id(0);\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        r += shared_value;\n"
        "    } else if (n > 1) {\n"
        "        int k = i;\n"
        "        while (k > 1) { r++; k = k % 2 ? 3 * k + 1 : k / 2; }\n"
        "    }\n"
        "    x[i] = r;\n"
        "}\n",
        NULL);
    static const int table[5] = {3, 1, 4, 1, 5};
    static int x[N], *px = x;

    FOR_LOCAL(local)
    for (int n = 1; n < 4; n++) {
        TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(n));
        for (int i = 0; i < N; i++) {
            int r = 0;
#define F(i) ((i) % 2 ? (i) * 3 : (i) / 2)
            switch (i % 7) {
            case 0:
                r = F(i);
                break;
            case 1:
            case 2:
                r = table[i % 5];
                break;
            case 5:
                for (int k = 0; k < i % 13 && k != 9; k++)
                    r += F(k);
                r -= 1;
                break;
            case 6:
                r -= 1;
                break;
            default:
                r = 42;
            }
            if (n > 2)
                r += i / local;
            else if (n > 1)
                for (int k = i; k > 1; k = k % 2 ? 3 * k + 1 : k / 2)
                    r++;
            CHECK(x[i] == r);
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

static void vectors_stay_together(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global uchar4 *x, __global float4 *y,\n"
        "                __global const uchar *raw, __global float *flat) {\n"
        "    int i = get_global_id(0);\n"
        "    float4 f = convert_float4(x[i]) * 2.0f + y[i].wzyx;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    y[i] = f;\n"
        "    x[i] = convert_uchar4_sat(f) + vload4(i, raw).s3012;\n"
        "    vstore3(f.xyz, i, flat);\n"
        "}\n"
        "__kernel void calls(__global int4 *x) { x[get_global_id(0)].y++; }\n"
        "__kernel void twice(__global int4 *x) { calls(x); calls(x); }\n",
        NULL);
    static unsigned char x[4 * N], raw[4 * N];
    static _Alignas(16) float y[4 * N];
    static float flat[3 * N];
    void *px = x, *py = y, *pr = raw, *pf = flat;

    FOR_LOCAL(local)
    {
        for (int i = 0; i < 4 * N; i++) {
            x[i] = (unsigned char)(i * 37);
            raw[i] = (unsigned char)(i * 3);
            y[i] = (float)(i % 50) - 20;
        }
        TRY_RUN(t, p, "k", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(py),
                TRY_VALUE(pr), TRY_VALUE(pf));
        for (int i = 0; i < 4 * N; i++) {
            int c = i % 4;
            float f = (float)(unsigned char)(i * 37) * 2 +
                      (float)((i - c + 3 - c) % 50) - 20;
            float limited = f < 0 ? 0 : f > 255 ? 255 : f;
            CHECK(y[i] == f);
            CHECK(x[i] ==
                  (unsigned char)((int)limited + raw[i - c + (c + 3) % 4]));
            if (c < 3)
                CHECK(flat[i / 4 * 3 + c] == f);
        }
    }
    static _Alignas(16) int v[4 * N];
    void *pv = v;
    memset(v, 0, sizeof(v));
    TRY_RUN(t, p, "twice", RANGE_1(64), TRY_VALUE(pv));
    for (int i = 0; i < 4 * N; i++)
        CHECK(v[i] == (i % 4 == 1 ? 2 : 0));
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

// What only the thread form promises, or says.
static void each_item_is_a_thread(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void order(global uint *count, global uint *trace) {\n"
        "    trace[(*count)++] = get_global_id(0);\n"
        "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    trace[(*count)++] = get_global_id(0) + 100;\n"
        "}\n"
        "kernel void straight(global uint *count, global uint *trace) {\n"
        "    trace[(*count)++] = get_global_id(0);\n"
        "    trace[(*count)++] = get_global_id(0) + 100;\n"
        "}\n"
        "kernel void big(global uchar *x) {\n"
        "    uchar a[16 << 20];\n"
        "    for (int i = 0; i < 16 << 20; i += 1000) a[i] = x[i % 64];\n"
        "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    x[get_local_id(0)] += a[get_local_id(0) * 1000];\n"
        "}\n",
        NULL);
    uint32_t count = 0, trace[20];
    unsigned char x[64];
    const struct try_range range = {1, {10}, {10}, {0}};
    void *pcount = &count, *ptrace = trace, *px = x;

    CHECK(hd_kernel_info(hd_program_find(p, "order"))->form == HD_FORM_THREADS);
    TRY_RUN(t, p, "order", range, TRY_VALUE(pcount), TRY_VALUE(ptrace));
    for (uint32_t i = 0; i < 20; i++)
        CHECK(trace[i] == i % 10 + i / 10 * 100);
    count = 0;
    TRY_RUN(t, p, "straight", range, TRY_VALUE(pcount), TRY_VALUE(ptrace));
    for (uint32_t i = 0; i < 20; i++)
        CHECK(trace[i] == i / 2 + i % 2 * 100);
    for (int i = 0; i < 64; i++)
        x[i] = (unsigned char)i;
    TRY_RUN(t, p, "big", range, TRY_VALUE(px));
    for (int i = 0; i < 10; i++)
        CHECK(x[i] == i + i * 1000 % 64);
    hd_program_destroy(p);
}

// Aligned values, arrays and pointers to them, in loops.
static void what_is_alive_across_a_wait_is_kept(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void k(global uint *x, global uint *y) {\n"
        "    uint i = get_global_id(0), a[9];\n"
        "    long16 wide = (long16)(i);\n"
        "    uint *part = i & 1 ? a + 4 : a;\n"
        "    wide.s7 = 3;\n"
        "    for (int k = 0; k < 9; k++) a[k] = i + k;\n"
        "    for (int k = 0; k < 4; k++) {\n"
        "        part[k] += k;\n"
        "        if (i % 5 == 0) x[i] = k;\n"
        "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "        wide = wide.s123456789abcdef0 + 1;\n"
        "        a[8] += x[i ^ 1];\n"
        "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    }\n"
        "    y[i] = a[x[i] & 7] + a[8] * 100 + (uint)wide.s3 * 10000;\n"
        "}\n",
        NULL);
    uint32_t x[64], y[64];
    void *px = x, *py = y;

    CHECK(strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                 "one coroutine per work-item"));
    for (uint32_t i = 0; i < 64; i++)
        x[i] = i;
    TRY_RUN(t, p, "k", ((struct try_range){1, {64}, {16}, {0}}), TRY_VALUE(px),
            TRY_VALUE(py));
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t at = i % 5 == 0 ? 3 : i & 7, half = i & 1 ? 4 : 0, last = 0;
        for (uint32_t k = 0; k < 4; k++)
            last += (i ^ 1) % 5 == 0 ? k : i ^ 1;
        uint32_t value = i + at;
        if (at >= half && at < half + 4)
            value += at - half;
        CHECK(y[i] == value + (i + 8 + last) * 100 + (3 + 4) * 10000);
    }
    hd_program_destroy(p);
}

// Two sums, one cut to 8 bits with its sign and one without, beside each other.
static void cut_sums_are_right(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void k(global uint *all, global const uint *from, uint n,\n"
        "              uint a) {\n"
        "    local uint kept[64];\n"
        "    size_t i = get_global_id(0);\n"
        "    global uint *out = all + 5 * i;\n"
        "    uint v = from[i], w = 1;\n"
        "    kept[get_local_id(0)] = v;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (uint j = 0; j < n + (v & 1); j++) {\n"
        "        v = from[v & 63];\n"
        "        w ^= from[w & 63] + kept[v % get_local_size(0)];\n"
        "    }\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    out[0] = v ^ w;\n"
        "    out[1] = v ^ (uint)(char)(a + 1866966612u);\n"
        "    out[2] = (uint)(uchar)(a + 1540483477u) ^ v;\n"
        "    out[3] = v;\n"
        "    out[4] = w * 31u + a;\n"
        "}\n",
        NULL);
    static uint32_t out[5 * 35], from[64], *po = out, *pf = from;
    uint32_t n = 3, a = 0x9e3779b9;

    for (uint32_t i = 0; i < 64; i++)
        from[i] = i * 0x01000193u ^ 53035;
    for (uint32_t local = 1; local <= 64; local *= 2) {
        TRY_RUN(t, p, "k", ((struct try_range){1, {35}, {local}, {0}}),
                TRY_VALUE(po), TRY_VALUE(pf), TRY_VALUE(n), TRY_VALUE(a));
        for (unsigned i = 0; i < 35; i++) {
            CHECK(out[5 * i + 1] ==
                  (out[5 * i + 3] ^ (uint32_t)(int8_t)(a + 1866966612)));
            CHECK(out[5 * i + 2] ==
                  (out[5 * i + 3] ^ (uint8_t)(a + 1540483477)));
        }
    }
    hd_program_destroy(p);
}

// Many loads between two stores that may be to the same memory.
static void many_checks_are_made(struct try *t)
{
    enum {
        W = 16,
        TERMS = 33
    };
    static const char text[] =
        "kernel void k(global const int *restrict a, global int *o,\n"
        "              global int *p, int h) {\n"
        "    int x = get_global_id(0), y = get_global_id(1), sum = 0;\n"
        "    for (int k = 0; k < 33; k++)\n"
        "        sum += a[(x + k) & 4095] * a[(k + y) & 4095];\n"
        "    p[x * h + y] = sum;\n"
        "    o[x * h + y] = sum;\n"
        "}\n";
    struct hd_program *p = try_build(t, text, NULL);
    static int a[4096], o[W * W], q[W * W], *po = o, *pq = q;
    const int *pa = a;
    int h = W;

    for (int i = 0; i < 64; i++)
        a[i] = i * 31 % 64 - 16;
    TRY_RUN(t, p, "k", ((struct try_range){2, {W, W}, {W, W}, {0}}),
            TRY_VALUE(pa), TRY_VALUE(po), TRY_VALUE(pq), TRY_VALUE(h));
    for (int i = 0; i < W * W; i++) {
        int sum = 0;
        for (int k = 0; k < TERMS; k++)
            sum += a[i / W + k] * a[k + i % W];
        CHECK(o[i] == sum && q[i] == sum);
    }
    hd_program_destroy(p);
}

#define PLACE(name, declaration)                \
    "kernel void " name "(global ulong *x) {\n" \
    "    size_t i = get_global_id(0);\n"        \
    "    " declaration "\n"                     \
    "    x[i] = (ulong)&v;\n"                   \
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"      \
    "    x[i] += *(volatile uint *)&v & 0;\n"   \
    "}\n"

// Whatever ran there before. A compiler believes what it has declared, so the
// host looks.
static void private_memory_is_aligned(struct try *t)
{
    static const struct {
        const char *name, *form;
        uint64_t alignment;
    } kernels[] = {
        {"array", "one coroutine", 4},    {"vector", "one coroutine", 128},
        {"page", "one coroutine", 4096},  {"vector", "one coroutine", 128},
        {"pages", "one thread", 1 << 15}, {"vector", "one coroutine", 128}};
    struct hd_program *p = try_build(
        t,
        PLACE("array", "uint v[66]; for (size_t k = 0; k < 66; k++) v[k] = k;")
            PLACE("vector", "ulong16 v = i;") PLACE(
                "page", "uint v __attribute__((aligned(4096))) = i;")
                PLACE("pages", "uint v __attribute__((aligned(32768))) = i;"),
        NULL);
    uint64_t x[8];
    void *px = x;

    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        const struct hd_kernel *kernel = hd_program_find(p, kernels[k].name);
        CHECK(kernel && strstr(kernel->info.explanation, kernels[k].form));
        TRY_RUN(t, p, kernels[k].name, ((struct try_range){1, {8}, {4}, {0}}),
                TRY_VALUE(px));
        for (size_t i = 0; i < 8; i++)
            CHECK(x[i] % kernels[k].alignment == 0);
    }
    hd_program_destroy(p);
}

// The private arrays of a group would not fit.
static void what_cannot_be_loops_becomes_threads(struct try *t)
{
    static const char source[] = "kernel void k(global uint *x) {\n"
                                 "    uint a[4 << 20];\n"
                                 "    uint i = get_global_id(0);\n"
                                 "    a[x[i]] = i;\n"
                                 "    a[x[i] + 1] = 7;\n"
                                 "    x[i] = a[x[i]] + a[i / 4 + 1];\n"
                                 "}\n";
    struct hd_error error;
    struct hd_program *program;
    const struct hd_program_params params = {
        .path = "test.cl", .source = source, .options = "-heddle-form=loops"};
    uint32_t x[8];
    void *px = x;

    CHECK_FAILS(hdi_program_create(&t->context, &params, &program, &error),
                HD_EBUILD, error, "bytes per work-item");
    struct hd_program *p = try_build(t, source, NULL);
    const struct hd_kernel_info *info = hd_kernel_info(hd_program_find(p, "k"));
    CHECK(info->form == HD_FORM_THREADS);
    CHECK(strstr(info->explanation, "no loops over work-items: test.cl:1"));
    const struct try_range range = {1, {8}, {4}, {0}};
    for (uint32_t i = 0; i < 8; i++)
        x[i] = i / 4;
    TRY_RUN(t, p, "k", range, TRY_VALUE(px));
    for (uint32_t i = 0; i < 8; i++)
        CHECK(x[i] == i + 7);
    hd_program_destroy(p);
}

static void everything(struct try *t)
{
    a_guard_keeps_items_out(t);
    items_meet_at_barriers_in_loops(t);
    a_tree_of_barriers_sums_a_group(t);
    one_item_fills_an_array_for_all(t);
    items_that_returned_stay_away(t);
    private_arrays_are_private(t);
    every_id_is_right(t);
    arguments_of_every_kind_arrive(t);
    items_may_go_different_ways(t);
    what_some_items_change_is_kept_per_item(t);
    atomics_count_right(t);
    tiles_in_two_dimensions_multiply_matrices(t);
    vectors_stay_together(t);
    uniform_branches_choose_barriers(t);
    cut_sums_are_right(t);
    many_checks_are_made(t);
}

// The same results in both forms (K8).
int main(void)
{
    struct try t = try_open();

    t.form = "-heddle-form=loops";
    everything(&t);
    t.form = "-heddle-form=thread";
    everything(&t);
    each_item_is_a_thread(&t);
    t.form = "-heddle-form=coroutine";
    everything(&t);
    each_item_is_a_thread(&t);
    what_is_alive_across_a_wait_is_kept(&t);
    private_memory_is_aligned(&t);
    t.form = NULL;
    what_cannot_be_loops_becomes_threads(&t);
    try_close(&t);
    return 0;
}
