// Native functions keep what docs/kernels.md says of them, in every form.
#include <math.h>

#include "tests/kernel/try.h"

enum {
    COUNT = 1024
};

static const struct try_range range = {1, {COUNT}, {64}, {0}};

static const char source[] =
    "kernel void k(global const float *x, global float *y) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = F(x[i]);\n"
    "}\n";

static double exp10_of(double x)
{
    return pow(10, x);
}

// Arguments from `low` on, evenly or by factors; what is wrong with a result is
// its difference, over the right one unless `absolute`.
static const struct {
    const char *option;
    double (*right)(double);
    double low, high;
    bool factors, absolute;
    double most;
} cases[] = {
    {"-DF=native_sin", sin, -20000, 20000, false, true, 0x1p-21},
    {"-DF=native_cos", cos, -20000, 20000, false, true, 0x1p-21},
    {"-DF=native_sin", sin, -3.2, 3.2, false, true, 0x1p-21},
    {"-DF=native_cos", cos, -3.2, 3.2, false, true, 0x1p-21},
    {"-DF=native_sin", sin, 1e-30, 1.5, true, false, 0x1p-21},
    {"-DF=native_tan", tan, -1.4, 1.4, false, true, 0x1p-17},
    {"-DF=native_exp", exp, -86, 88.7, false, false, 0x1p-16},
    {"-DF=native_exp2", exp2, -125, 127.99, false, false, 0x1p-21},
    {"-DF=native_exp10", exp10_of, -37, 38.5, false, false, 0x1p-16},
    {"-DF=native_exp", exp, -1, 1, false, false, 0x1p-21},
    {"-DF=native_log", log, 0x1p-126, 0x1p127, true, false, 0x1p-20},
    {"-DF=native_log2", log2, 0x1p-126, 0x1p127, true, false, 0x1p-20},
    {"-DF=native_log10", log10, 0x1p-126, 0x1p127, true, false, 0x1p-20},
    {"-DF=native_log", log, 0.9, 1.1, false, false, 0x1p-20},
};

static void native_functions_keep_their_bounds(struct try *t)
{
    static float x[COUNT], y[COUNT];
    float *px = x, *py = y;

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct hd_program *p = try_build(t, source, cases[c].option);
        double low = cases[c].low, high = cases[c].high;
        for (int i = 0; i < COUNT; i++)
            x[i] = (float)(cases[c].factors
                               ? low * pow(high / low, i / (COUNT - 1.0))
                               : low + (high - low) * i / (COUNT - 1.0));
        TRY_RUN(t, p, "k", range, TRY_VALUE(px), TRY_VALUE(py));
        double worst = 0;
        int where = 0;
        for (int i = 0; i < COUNT; i++) {
            double right = cases[c].right((double)x[i]);
            double wrong = fabs((double)y[i] - right);
            if (!cases[c].absolute && right != 0)
                wrong /= fabs(right);
            if (!(wrong <= worst)) {
                worst = wrong;
                where = i;
            }
        }
        if (!(worst <= cases[c].most))
            fprintf(stderr, "%s(%a): %a, wrong by %a, not %a\n",
                    cases[c].option, (double)x[where], (double)y[where], worst,
                    cases[c].most);
        CHECK(worst <= cases[c].most);
        hd_program_destroy(p);
    }
}

static float value_of(struct try *t, const char *option, float argument)
{
    static float x[COUNT], y[COUNT];
    float *px = x, *py = y;
    struct hd_program *p = try_build(t, source, option);

    for (int i = 0; i < COUNT; i++)
        x[i] = argument;
    TRY_RUN(t, p, "k", range, TRY_VALUE(px), TRY_VALUE(py));
    hd_program_destroy(p);
    return y[COUNT - 1];
}

static void native_functions_have_ends(struct try *t)
{
    CHECK(value_of(t, "-DF=native_exp", -INFINITY) == 0);
    CHECK(value_of(t, "-DF=native_exp", INFINITY) == INFINITY);
    CHECK(value_of(t, "-DF=native_exp2", 128) == INFINITY);
    CHECK(value_of(t, "-DF=native_exp2", -200) == 0);
    CHECK(value_of(t, "-DF=native_exp2", 0) == 1);
    CHECK(isnan(value_of(t, "-DF=native_exp2", NAN)));
    CHECK(value_of(t, "-DF=native_log", 0) == -INFINITY);
    CHECK(value_of(t, "-DF=native_log", 1) == 0);
    CHECK(value_of(t, "-DF=native_log", INFINITY) == INFINITY);
    CHECK(isnan(value_of(t, "-DF=native_log", -1)));
    CHECK(value_of(t, "-DF=native_sin", 0) == 0);
    CHECK(isnan(value_of(t, "-DF=native_sin", INFINITY)));
    CHECK(isnan(value_of(t, "-DF=native_cos", NAN)));
}

int main(void)
{
    struct try t = try_open();

    native_functions_keep_their_bounds(&t);
    native_functions_have_ends(&t);
    try_close(&t);
    return 0;
}
