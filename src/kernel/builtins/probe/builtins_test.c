// The builtins against the C library's long double: the largest error of every
// math function, in units in the last place, within what OpenCL allows. Runs
// loops over arrays that were compiled as a user's program is
// (builtins/probe/probe.cl). `--long` tries every float there is.
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/builtins/probe/reference.h"

static const struct format single_format = {"float", 24, -149, 0x1.ffffffp127L};
static const struct format double_format = {"double", 53, -1074,
                                            0x1.fffffffffffff8p1023L};

enum {
    BLOCK = 1 << 12
};

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static const double specials[] = {0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  0.5,
                                  -0.5,
                                  1.5,
                                  -1.5,
                                  2.5,
                                  3,
                                  -3,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-149,
                                  -0x1p-149,
                                  0x1p-126,
                                  -0x1p-126,
                                  FLT_MAX,
                                  -FLT_MAX,
                                  0x1p-1074,
                                  0x1p-1022,
                                  DBL_MAX,
                                  -DBL_MAX,
                                  0x1p23,
                                  0x1p24,
                                  0x1p52,
                                  0x1p53,
                                  0x1.8p1,
                                  10,
                                  100,
                                  0.25,
                                  1e-5,
                                  0x1.fffffep-1,
                                  0x1.000002p0,
                                  0x1.fffffffffffffp-1,
                                  0x1.0000000000001p0,
                                  0x1.921fb6p0,
                                  0x1.921fb54442d18p0,
                                  0x1.921fb6p1,
                                  88.72,
                                  -103.9,
                                  709.78,
                                  -745.1,
                                  4503599627370497.5,
                                  -4503599627370497.5};

enum {
    SPECIALS = sizeof(specials) / sizeof(specials[0])
};

// Specials first, then numbers of all exponents and numbers near 1 by turns.
static void fill_doubles(double *x, uint64_t *state)
{
    for (int i = 0; i < BLOCK; i++) {
        uint64_t bits = random_bits(state);
        x[i] = double_of(bits);
        if (i & 1)
            x[i] = ldexp(copysign(1 + (double)(bits >> 12) * 0x1p-52, x[i]),
                         (int)(bits % 24) - 14);
    }
}

static void fill_floats(float *x, uint64_t *state)
{
    for (int i = 0; i < BLOCK; i++) {
        uint64_t bits = random_bits(state);
        x[i] = float_of((uint32_t)(bits >> 32));
        if (i & 1)
            x[i] = ldexpf(copysignf(1 + (float)(bits >> 41) * 0x1p-23F, x[i]),
                          (int)(bits % 20) - 12);
    }
}

typedef void probe_f(uint64_t n, const float *x, float *r);
typedef void probe_ff(uint64_t n, const float *x, const float *y, float *r);
typedef void probe_d(uint64_t n, const double *x, double *r);
typedef void probe_dd(uint64_t n, const double *x, const double *y, double *r);
typedef void probe_fi(uint64_t n, const float *x, const int *y, float *r);
typedef void probe_di(uint64_t n, const double *x, const int *y, double *r);
typedef long double reference_1(long double x);
typedef long double reference_2(long double x, long double y);
typedef long double reference_int(long double x, int y);

static void try_floats(const char *name, probe_f *probe, reference_1 *right,
                       double bound, bool every)
{
    static float x[BLOCK], r[BLOCK];
    struct worst worst = {0};
    uint64_t state = 1;
    uint64_t step = every ? 1 : 65521; // a prime: all ends of the mantissa

    for (uint64_t next = 0; next < UINT64_C(1) << 32;) {
        for (int i = 0; i < BLOCK; i++, next += step)
            x[i] = float_of((uint32_t)next);
        probe(BLOCK, x, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i]);
            note(&worst, error_of(&single_format, r[i], want), x[i], 0, r[i],
                 want);
        }
    }
    for (int block = 0; block < 8; block++) {
        fill_floats(x, &state);
        for (int i = 0; block == 0 && i < SPECIALS; i++)
            x[i] = (float)specials[i];
        probe(BLOCK, x, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i]);
            note(&worst, error_of(&single_format, r[i], want), x[i], 0, r[i],
                 want);
        }
    }
    report(name, &single_format, &worst, bound);
}

static void try_doubles(const char *name, probe_d *probe, reference_1 *right,
                        double bound, bool every)
{
    static double x[BLOCK], r[BLOCK];
    struct worst worst = {0};
    uint64_t state = 2;

    for (int block = 0; block < (every ? 4096 : 16); block++) {
        fill_doubles(x, &state);
        for (int i = 0; block == 0 && i < SPECIALS; i++)
            x[i] = specials[i];
        probe(BLOCK, x, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i]);
            note(&worst, error_of(&double_format, r[i], want), x[i], 0, r[i],
                 want);
        }
    }
    report(name, &double_format, &worst, bound);
}

static void try_float_pairs(const char *name, probe_ff *probe,
                            reference_2 *right, double bound, bool either,
                            bool every)
{
    static float x[BLOCK], y[BLOCK], r[BLOCK];
    struct worst worst = {0};
    uint64_t state = 3;

    for (int block = 0; block < (every ? 4096 : 16); block++) {
        fill_floats(x, &state);
        fill_floats(y, &state);
        for (int i = 0; block == 0 && i < SPECIALS * SPECIALS; i++) {
            x[i] = (float)specials[i % SPECIALS];
            y[i] = (float)specials[i / SPECIALS];
        }
        probe(BLOCK, x, y, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i], y[i]);
            if (!either || want != 0 || r[i] != 0)
                note(&worst, error_of(&single_format, r[i], want), x[i], y[i],
                     r[i], want);
        }
    }
    report(name, &single_format, &worst, bound);
}

static void try_double_pairs(const char *name, probe_dd *probe,
                             reference_2 *right, double bound, bool either,
                             bool every)
{
    static double x[BLOCK], y[BLOCK], r[BLOCK];
    struct worst worst = {0};
    uint64_t state = 4;

    for (int block = 0; block < (every ? 4096 : 16); block++) {
        fill_doubles(x, &state);
        fill_doubles(y, &state);
        for (int i = 0; block == 0 && i < SPECIALS * SPECIALS; i++) {
            x[i] = specials[i % SPECIALS];
            y[i] = specials[i / SPECIALS];
        }
        probe(BLOCK, x, y, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i], y[i]);
            if (!either || want != 0 || r[i] != 0)
                note(&worst, error_of(&double_format, r[i], want), x[i], y[i],
                     r[i], want);
        }
    }
    report(name, &double_format, &worst, bound);
}

// Small and large integers by turns, and both ends.
static int some_int(int i, uint64_t *state)
{
    static const int ends[] = {0, 1, -1, 2, -2, 3, -3, INT32_MAX, INT32_MIN};
    uint64_t bits = random_bits(state);
    if (i % 16 == 0)
        return ends[i / 16 % 9];
    return i % 2 ? (int)(bits % 64) - 32 : (int)(bits % 5000) - 2500;
}

static void try_float_ints(const char *name, probe_fi *probe,
                           reference_int *right, double bound, bool every)
{
    static float x[BLOCK], r[BLOCK];
    static int y[BLOCK];
    struct worst worst = {0};
    uint64_t state = 8;

    for (int block = 0; block < (every ? 4096 : 16); block++) {
        fill_floats(x, &state);
        for (int i = 0; i < BLOCK; i++) {
            y[i] = some_int(i, &state);
            if (i % 4 == 0)
                x[i] = (float)specials[i / 4 % SPECIALS];
        }
        probe(BLOCK, x, y, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i], y[i]);
            note(&worst, error_of(&single_format, r[i], want), x[i], y[i], r[i],
                 want);
        }
    }
    report(name, &single_format, &worst, bound);
}

static void try_double_ints(const char *name, probe_di *probe,
                            reference_int *right, double bound, bool every)
{
    static double x[BLOCK], r[BLOCK];
    static int y[BLOCK];
    struct worst worst = {0};
    uint64_t state = 8;

    for (int block = 0; block < (every ? 4096 : 16); block++) {
        fill_doubles(x, &state);
        for (int i = 0; i < BLOCK; i++) {
            y[i] = some_int(i, &state);
            if (i % 4 == 0)
                x[i] = (double)specials[i / 4 % SPECIALS];
        }
        probe(BLOCK, x, y, r);
        for (int i = 0; i < BLOCK; i++) {
            long double want = right(x[i], y[i]);
            note(&worst, error_of(&double_format, r[i], want), x[i], y[i], r[i],
                 want);
        }
    }
    report(name, &double_format, &worst, bound);
}

_Static_assert(SPECIALS *SPECIALS <= BLOCK, "all pairs fit into one block");

#define REAL_1(name, reference, single, twice) \
    probe_f probe_##name##_float;              \
    probe_d probe_##name##_double;
#define REAL_2(name, reference, single, twice) \
    probe_ff probe_##name##_float;             \
    probe_dd probe_##name##_double;
#define EITHER_2(name, reference) REAL_2(name, reference, 0, 0)
#define REAL_INT(name, reference, bound) \
    probe_fi probe_##name##_float;       \
    probe_di probe_##name##_double;
#include "kernel/builtins/probe/math.def"
#undef REAL_1
#undef REAL_2
#undef EITHER_2
#undef REAL_INT

static void math_functions_are_as_exact_as_opencl_asks(bool every,
                                                       const char *only)
{
#define CHOSEN(name) (!only || strcmp(only, #name) == 0)
#define REAL_1(name, reference, single, twice)                              \
    if (CHOSEN(name)) {                                                     \
        try_floats(#name, probe_##name##_float, reference, single, every);  \
        try_doubles(#name, probe_##name##_double, reference, twice, every); \
    }
#define REAL_2(name, reference, single, twice)                                 \
    if (CHOSEN(name)) {                                                        \
        try_float_pairs(#name, probe_##name##_float, reference, single, false, \
                        every);                                                \
        try_double_pairs(#name, probe_##name##_double, reference, twice,       \
                         false, every);                                        \
    }
#define EITHER_2(name, reference)                                          \
    if (CHOSEN(name)) {                                                    \
        try_float_pairs(#name, probe_##name##_float, reference, 0, true,   \
                        every);                                            \
        try_double_pairs(#name, probe_##name##_double, reference, 0, true, \
                         every);                                           \
    }
#define REAL_INT(name, reference, bound)                                      \
    if (CHOSEN(name)) {                                                       \
        try_float_ints(#name, probe_##name##_float, reference, bound, every); \
        try_double_ints(#name, probe_##name##_double, reference, bound,       \
                        every);                                               \
    }
#include "kernel/builtins/probe/math.def"
#undef REAL_1
#undef REAL_2
#undef EITHER_2
#undef REAL_INT
}

probe_d probe_lgamma_double;

// OpenCL does not say how exact it is: to 10^-13 of itself or of 1.
static void logarithm_of_gamma_is_near(void)
{
    static double x[BLOCK], r[BLOCK];
    uint64_t state = 9;

    fill_doubles(x, &state);
    for (int i = 0; i < SPECIALS; i++)
        x[i] = specials[i];
    for (int i = SPECIALS; i < BLOCK; i += 2)
        x[i] = (double)(random_bits(&state) % 100000) / 1237 - 20;
    probe_lgamma_double(BLOCK, x, r);
    for (int i = 0; i < BLOCK; i++) {
        long double want = lgammal(x[i]);
        if (isnan(want) || fabsl(want) > DBL_MAX)
            CHECK(isnan(want) ? isnan(r[i]) : r[i] == INFINITY);
        else
            CHECK(fabsl(r[i] - want) <= 1e-13L * fmaxl(1, fabsl(want)));
    }
}

int main(int argc, char **argv)
{
    bool every = argc > 1 && strcmp(argv[1], "--long") == 0;
    const char *only = argc > 1 + every ? argv[1 + every] : NULL;

    printf("%-10s %-6s %8s %6s\n", "function", "type", "error", "bound");
    math_functions_are_as_exact_as_opencl_asks(every, only);
    logarithm_of_gamma_is_near();
    CHECK(failures == 0);
    return 0;
}
