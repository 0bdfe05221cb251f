// What vectors do in another way than work-items one by one gives the same
// bits.
#include "tests/kernel/widths.h"

enum {
    N = 256
};

// Where there are no instructions for halves, bit by bit as where there are.
static void halves_need_no_instructions(struct try *t)
{
    static const char text[] =
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "kernel void k(global const ushort *h, global float *f,\n"
        "              global const uint *s, global ushort *fromf,\n"
        "              global const ulong *d, global ushort *fromd) {\n"
        "    size_t i = get_global_id(0);\n"
        "    f[i] = (float)as_half(h[i]);\n"
        "    fromf[i] = as_ushort((half)as_float(s[i]));\n"
        "    fromd[i] = as_ushort((half)as_double(d[i]));\n"
        "}\n";
    enum {
        COUNT = 65536
    };
    static uint16_t h[COUNT], fromf[3][COUNT], fromd[3][COUNT], *ph = h;
    static uint32_t f[3][COUNT], s[COUNT], *ps = s;
    static uint64_t d[COUNT], *pd = d;
    // All instructions, none, and all but for halves of doubles.
    static const char *const cpus[] = {"native", "x86-64", "x86-64-v3"};
    uint64_t random = 1;

    if (!t->device->can.features || !strstr(t->device->can.features, " f16c"))
        return;
    for (uint32_t i = 0; i < COUNT; i++) {
        // Exponents of halves and a little more; most lie at or beside the
        // middle of two halves.
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t sign = i & 1, exponent = 127 - 30 + i / 2 % 50;
        uint32_t top = (uint32_t)(random >> 53), low = i / 100 % 3;
        h[i] = (uint16_t)i;
        s[i] =
            sign << 31 | exponent << 23 | top << 12 | (low == 2 ? 0xfff : low);
        d[i] = (uint64_t)sign << 63 | (uint64_t)(exponent + 896) << 52 |
               (uint64_t)top << 41 | (low == 2 ? 0x1ffffffffff : low);
        if (i % 8192 > 8100) // infinities and others at the end of the range
            s[i] = sign << 31 | (0x7f800000 + (i % 4) * 0x2000);
    }
    for (int c = 0; c < 3; c++) {
        struct hd_program *p = build_for(t, text, cpus[c]);
        uint32_t *pf = f[c];
        uint16_t *pff = fromf[c], *pfd = fromd[c];
        TRY_RUN(t, p, "k", ((struct try_range){1, {COUNT}, {256}, {0}}),
                TRY_VALUE(ph), TRY_VALUE(pf), TRY_VALUE(ps), TRY_VALUE(pff),
                TRY_VALUE(pd), TRY_VALUE(pfd));
        hd_program_destroy(p);
    }
    for (int i = 0; i < COUNT; i++) {
        for (int c = 1; c < 3; c++) {
            CHECK(f[0][i] == f[c][i]);
            CHECK(fromf[0][i] == fromf[c][i]);
            CHECK(fromd[0][i] == fromd[c][i]);
        }
    }
}

// By one number that is not known before: multiplied by what comes from it.
static void quotients_are_exact(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const uint *x, __global uint *to, uint d,\n"
        "                int e) {\n"
        "    size_t i = get_global_id(0), n = get_global_size(0);\n"
        "    uint v = x[i];\n"
        "    int s = (int)v;\n"
        "    to[i] = v / d;\n"
        "    to[i + n] = v % d;\n"
        "    if (e != -1 || s != INT_MIN) {\n"
        "        to[i + 2 * n] = s / e;\n"
        "        to[i + 3 * n] = s % e;\n"
        "    }\n"
        "}\n",
        NULL);
    static uint32_t x[N], *px = x, to[4 * N], *pt = to;
    uint32_t d = 1;

    CHECK(width(p, "k") > 1);
    for (int i = 0; i < N; i++)
        x[i] = i < 64   ? (uint32_t)i
               : i < 96 ? UINT32_C(1) << (i - 64)
               : i < 128
                   ? (UINT32_C(1) << (i - 96)) - 1
                   : UINT32_MAX - (uint32_t)(i - 128) * (uint32_t)i * 4099;
    for (int r = 0; r < 400; r++) {
        // Small ones, those around powers of 2, and any.
        d = r < 40    ? (uint32_t)r + 1
            : r < 136 ? (UINT32_C(1) << (r / 3 % 32)) + (uint32_t)(r % 3) - 1
                      : d * 1664525 + 1013904223;
        if (d == 0)
            d = UINT32_MAX;
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "k", ((struct try_range){1, {N - 3}, {64}, {0}}),
                TRY_VALUE(px), TRY_VALUE(pt), TRY_VALUE(d), TRY_VALUE(d));
        for (int i = 0; i < N - 3; i++) {
            int32_t s = (int32_t)x[i], e = (int32_t)d;
            CHECK(to[i] == x[i] / d);
            CHECK(to[i + N - 3] == x[i] % d);
            if (e == -1 && s == INT32_MIN)
                continue;
            CHECK((int32_t)to[i + 2 * (N - 3)] == s / e);
            CHECK((int32_t)to[i + 3 * (N - 3)] == s % e);
        }
    }
    hd_program_destroy(p);
}

// What lanes bring together for one place is what each would have done.
static void updates_of_one_place_are_folded(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const int *x, __global int *to,\n"
        "                __local int *part, int limit) {\n"
        "    int l = get_local_id(0), v = x[get_global_id(0)];\n"
        "    volatile __global uint *bits = (volatile __global uint *)to;\n"
        "    if (l < 9) part[l] = l == 3 ? -1 : l == 4 ? INT_MAX :\n"
        "                         l == 5 ? INT_MIN : 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (v < limit) {\n"
        "        atomic_add(&to[0], v);\n"
        "        atomic_sub(&to[1], v);\n"
        "        atomic_inc(&to[2]);\n"
        "        atomic_and(&to[3], v);\n"
        "        atomic_min(&to[4], v);\n"
        "        atomic_max(&to[5], v);\n"
        "        atomic_or(&to[6], v);\n"
        "        atomic_xor(&to[7], v);\n"
        "        atomic_max(&bits[8], (uint)v);\n"
        "        atomic_min(&bits[9], (uint)v);\n"
        "        atomic_add(&part[0], v);\n"
        "        atomic_sub(&part[1], v);\n"
        "        atomic_inc(&part[2]);\n"
        "        atomic_and(&part[3], v);\n"
        "        atomic_min(&part[4], v);\n"
        "        atomic_max(&part[5], v);\n"
        "        atomic_or(&part[6], v);\n"
        "        atomic_xor(&part[7], v);\n"
        "    }\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l < 8) to[10 + l] = part[l];\n"
        "}\n",
        NULL);
    static int32_t x[N], *px = x, to[18], *pt = to;
    const struct hd_kernel *kernel = hd_program_find(p, "k");

    CHECK(!strstr(hd_kernel_info(kernel)->explanation, "an atomic operation"));
    for (int size = 9; size <= N; size += 13)
        for (int limit = -40; limit < 40; limit += 7) {
            const int32_t start[10] = {1, 2, 3, -1, 50, -50, 0, 5, 7, -1};
            int32_t is[18], *own = is + 10;
            memcpy(to, start, sizeof(start));
            memcpy(is, start, sizeof(start));
            memcpy(own, (const int32_t[8]){0, 0, 0, -1, INT32_MAX, INT32_MIN},
                   8 * sizeof(*own));
            for (int i = 0; i < size; i++) {
                int32_t v = x[i] = i * 37 % 101 - 50;
                if (v >= limit)
                    continue;
                for (int32_t *at = is; at <= own; at += 10) {
                    at[0] += v;
                    at[1] -= v;
                    at[2]++;
                    at[3] &= v;
                    at[4] = v < at[4] ? v : at[4];
                    at[5] = v > at[5] ? v : at[5];
                    at[6] |= v;
                    at[7] ^= v;
                }
                is[8] = (uint32_t)v > (uint32_t)is[8] ? v : is[8];
                is[9] = (uint32_t)v < (uint32_t)is[9] ? v : is[9];
            }
            TRY_RUN(
                t, p, "k",
                ((struct try_range){1, {(size_t)size}, {(size_t)size}, {0}}),
                TRY_VALUE(px), TRY_VALUE(pt), TRY_LOCAL(9 * sizeof(int)),
                TRY_VALUE(limit));
            CHECK(memcmp(to, is, sizeof(is)) == 0);
        }
    hd_program_destroy(p);
}

// On an axis an angle is a multiple of a quarter turn, to the last bit.
static void quarter_turns_are_exact(struct try *t)
{
    static const struct {
        double y, x, is;
    } cases[] = {{1, -0.0, 0.5},   {-1, -0.0, -0.5}, {3, 0.0, 0.5},
                 {-3, 0.0, -0.5},  {0, -0.0, 1},     {-0.0, -0.0, -1},
                 {0.0, -2, 1},     {-0.0, -2, -1},   {1e-300, -0.0, 0.5},
                 {1e300, -0.0, .5}};
    struct hd_program *p = try_build(
        t,
        "kernel void k(global double *y, global double *x, global double *to)"
        "{ to[0] = atan2pi(y[0], x[0]); }",
        NULL);
    double y, x, to, *py = &y, *px = &x, *pto = &to;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        y = cases[i].y;
        x = cases[i].x;
        TRY_RUN(t, p, "k", ((struct try_range){1, {1}, {1}, {0}}),
                TRY_VALUE(py), TRY_VALUE(px), TRY_VALUE(pto));
        CHECK(to == cases[i].is);
    }
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    halves_need_no_instructions(&t);
    quotients_are_exact(&t);
    updates_of_one_place_are_folded(&t);
    quarter_turns_are_exact(&t);
    try_close(&t);
    return 0;
}
