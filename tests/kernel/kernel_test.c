// Kernels of all kinds do what the same text does in C.
#include "tests/kernel/forms.h"

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

// What a pointer points to is known by name, however long that is.
static void structures_have_a_size(struct try *t)
{
#define LONG "a23456789_123456789_123456789_123456789_123456789_12345"
    struct hd_program *p =
        try_build(t,
                  "struct pair { float a; int b[3]; };\n"
                  "struct " LONG LONG LONG " { char c[5]; };\n"
                  "__kernel void k(__global struct pair *x,\n"
                  "                __global struct " LONG LONG LONG " *y)\n"
                  "{ x->a = 1; y->c[0] = 1; }\n",
                  NULL);
#undef LONG
    const struct hd_kernel *k = hd_program_find(p, "k");

    CHECK(hd_kernel_arg(k, 0)->size == 16);
    CHECK(hd_kernel_arg(k, 1)->size == 5);
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
#define F(i) ((i) % 2 ? (i)*3 : (i) / 2)
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

static void test(struct try *t)
{
    a_guard_keeps_items_out(t);
    private_arrays_are_private(t);
    every_id_is_right(t);
    arguments_of_every_kind_arrive(t);
    structures_have_a_size(t);
    items_may_go_different_ways(t);
    vectors_stay_together(t);
    cut_sums_are_right(t);
    many_checks_are_made(t);
}

int main(void)
{
    in_every_form(test);
    return 0;
}
