// Float functions against the C library in double precision, over a dense sweep
// of all floats and the special values; the bounds are those of OpenCL's full
// profile [ulps].
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "kernel/try.h"

enum {
    COUNT = 1 << 18
};

static double c_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double c_exp10(double x)
{
    return pow(10, x);
}
// The quarter is taken away before anything is rounded.
static double c_cospi(double a)
{
    double turn = fmod(fabs(a), 2), k = rint(2 * turn);
    double rest = (turn - 0.5 * k) * M_PI;
    switch (isnan(turn) ? -1 : (int)k % 4) {
    case -1:
        return NAN;
    case 0:
        return cos(rest);
    case 1:
        return 0 - sin(rest);
    case 2:
        return -cos(rest);
    default:
        return 0 + sin(rest);
    }
}
static double c_sinpi(double a)
{
    double turn = fmod(fabs(a), 2), k = rint(2 * turn);
    double rest = (turn - 0.5 * k) * M_PI, r = NAN;
    if (turn == 0 || turn == 1)
        return copysign(0, a);
    switch (isnan(turn) ? -1 : (int)k % 4) {
    case 0:
        r = sin(rest);
        break;
    case 1:
        r = cos(rest);
        break;
    case 2:
        r = -sin(rest);
        break;
    case 3:
        r = -cos(rest);
        break;
    }
    return signbit(a) ? -r : r;
}

static const struct function {
    const char *name;
    double (*c)(double);
    double bound;
} functions[] = {
    {"sqrt", sqrt, 3},     {"rsqrt", c_rsqrt, 2}, {"fabs", fabs, 0},
    {"floor", floor, 0},   {"ceil", ceil, 0},     {"trunc", trunc, 0},
    {"round", round, 0},   {"rint", rint, 0},     {"exp", exp, 3},
    {"exp2", exp2, 3},     {"exp10", c_exp10, 3}, {"expm1", expm1, 3},
    {"log", log, 3},       {"log2", log2, 3},     {"log10", log10, 3},
    {"log1p", log1p, 2},   {"sin", sin, 4},       {"cos", cos, 4},
    {"tan", tan, 5},       {"asin", asin, 4},     {"acos", acos, 4},
    {"atan", atan, 5},     {"sinh", sinh, 4},     {"cosh", cosh, 4},
    {"tanh", tanh, 5},     {"asinh", asinh, 4},   {"acosh", acosh, 4},
    {"atanh", atanh, 5},   {"cbrt", cbrt, 2},     {"sinpi", c_sinpi, 4},
    {"cospi", c_cospi, 4},
};

static const struct function_2 {
    const char *name;
    double (*c)(double, double);
    double bound;
} functions_2[] = {
    {"pow", pow, 16},  {"atan2", atan2, 6}, {"hypot", hypot, 4},
    {"fmin", fmin, 0}, {"fmax", fmax, 0},   {"copysign", copysign, 0},
    {"fdim", fdim, 0},
};

// How far `got` is from the exact `wanted`, in units of wanted's last place.
// OpenCL lets fmin and fmax return either zero.
static double distance(float got, double wanted, bool any_zero)
{
    float rounded = (float)wanted;
    if (isnan(rounded) || isnan(got))
        return isnan(rounded) && isnan(got) ? 0 : INFINITY;
    if (got == rounded)
        return !any_zero && got == 0 && signbit(got) != signbit(rounded)
                   ? INFINITY
                   : 0;
    if (isinf(got) || isinf(rounded))
        return INFINITY;
    int exponent;
    frexp(wanted, &exponent);
    return fabs(got - wanted) /
           ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

static float x[COUNT], y[COUNT], out[COUNT];

static void fill(void)
{
    static const float special[] = {0,
                                    -0.0f,
                                    1,
                                    -1,
                                    2,
                                    -2,
                                    0.5f,
                                    -0.5f,
                                    3,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    1e-45f,
                                    -1e-45f,
                                    3.4028235e38f,
                                    -3.4028235e38f,
                                    1.1754944e-38f,
                                    0.99999994f,
                                    1.0000001f,
                                    16777216};
    const size_t specials = sizeof(special) / sizeof(special[0]);
    uint32_t random = 12345;

    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = i * (uint32_t)((1ull << 32) / COUNT) + 77 * (i % 191);
        random = random * 1664525 + 1013904223;
        memcpy(&x[i], &bits, 4);
        memcpy(&y[i], &random, 4);
        // A third where most functions live.
        if (i % 3 == 0) {
            x[i] = ((float)(random >> 8) / 0x1p23f - 1) * 10;
            y[i] = (float)(random >> 4 & 0xffff) / 0x1p12f - 8;
        }
        if (i < specials * specials) {
            x[i] = special[i / specials];
            y[i] = special[i % specials];
        }
    }
}

int main(void)
{
    const size_t count = sizeof(functions) / sizeof(functions[0]);
    const size_t count_2 = sizeof(functions_2) / sizeof(functions_2[0]);
    struct try t = try_open();
    struct hdi_text source = {0};
    float *px = x, *py = y, *po = out;
    bool wrong = false;

    for (size_t f = 0; f < count; f++)
        hdi_text_print(&source,
                       "kernel void k_%s(global const float *x, global float "
                       "*o) { int i = get_global_id(0); o[i] = %s(x[i]); }\n",
                       functions[f].name, functions[f].name);
    for (size_t f = 0; f < count_2; f++)
        hdi_text_print(&source,
                       "kernel void k_%s(global const float *x, global const "
                       "float *y, global float *o) { int i = "
                       "get_global_id(0); o[i] = %s(x[i], y[i]); }\n",
                       functions_2[f].name, functions_2[f].name);
    struct hd_program *p = try_build(&t, source.data, NULL);
    struct try_range range = {1, {COUNT}, {256}, {0}};
    fill();
    for (size_t f = 0; f < count + count_2; f++) {
        bool two = f >= count;
        const char *name =
            two ? functions_2[f - count].name : functions[f].name;
        double bound = two ? functions_2[f - count].bound : functions[f].bound;
        char kernel[32];
        double worst = 0;
        uint32_t at = 0;

        snprintf(kernel, sizeof(kernel), "k_%s", name);
        if (two)
            TRY_RUN(&t, p, kernel, range, TRY_VALUE(px), TRY_VALUE(py),
                    TRY_VALUE(po));
        else
            TRY_RUN(&t, p, kernel, range, TRY_VALUE(px), TRY_VALUE(po));
        for (uint32_t i = 0; i < COUNT; i++) {
            double wanted = two ? functions_2[f - count].c(x[i], y[i])
                                : functions[f].c(x[i]);
            double d = distance(out[i], wanted, strncmp(name, "fm", 2) == 0);
            if (d > worst) {
                worst = d;
                at = i;
            }
        }
        bool vectorised = !strstr(
            hd_kernel_info(hd_program_find(p, kernel))->explanation, "not vec");
        printf("%-9s %6.3f ulps of %2.0f%s  (%a, %a: %a)%s\n", name, worst,
               bound, worst > bound ? " WRONG" : "", x[at], y[at], out[at],
               vectorised ? "" : " NOT VECTORISED");
        wrong |= worst > bound || !vectorised;
    }
    hd_program_destroy(p);
    hdi_text_free(&source);
    try_close(&t);
    CHECK(!wrong);
    return 0;
}
