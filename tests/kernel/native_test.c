// Native functions keep what docs/kernels.md says of them, and those of relaxed
// mathematics what OpenCL says, for every processor.
#include <math.h>

#include "tests/kernel/widths.h"

enum {
    COUNT = 1024
};

static const struct try_range range = {1, {COUNT}, {64}, {0}};

static const char source[] =
    "kernel void k(global const float *x, global float *y) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = F(x[i]);\n"
    "}\n";

static double rsqrt_of(double x)
{
    return 1 / sqrt(x);
}

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
    {"-DF=native_rsqrt", rsqrt_of, 0x1p-126, 0x1p127, true, false, 0x1p-22},
    {"-DF=native_rsqrt", rsqrt_of, 1, 4, false, false, 0x1p-22},
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
    CHECK(value_of(t, "-DF=native_rsqrt", 0) == INFINITY);
    CHECK(value_of(t, "-DF=native_rsqrt", INFINITY) == 0);
    CHECK(isnan(value_of(t, "-DF=native_rsqrt", -1)));
    CHECK(fabsf(value_of(t, "-DF=native_rsqrt", 0x1p-140f) / 0x1p70f - 1) <
          0x1p-21f);
    CHECK(value_of(t, "-DF=native_sin", 0) == 0);
    CHECK(isnan(value_of(t, "-DF=native_sin", INFINITY)));
    CHECK(isnan(value_of(t, "-DF=native_cos", NAN)));
}

// What processors[] need.
static const char *const runs_on[] = {"+sse4.2", "+avx2", "+avx512vl"};

// Chapter 7.4 of OpenCL C: units in the last place, or absolutely.
static const struct bound {
    const char *function;
    double (*right)(double);
    double low, high;
    bool factors, absolute;
    double most;
} relaxed[] = {
    {"sin(x[i])", sin, -3.1415, 3.1415, false, true, 0x1p-11},
    {"cos(x[i])", cos, -3.1415, 3.1415, false, true, 0x1p-11},
    {"log(x[i])", log, 0.5, 2, false, true, 0x1p-21},
    {"log(x[i])", log, 2, 0x1p127, true, false, 3},
    {"log(x[i])", log, 0x1p-149, 0.5, true, false, 3},
    {"log2(x[i])", log2, 0.5, 2, false, true, 0x1p-21},
    {"log2(x[i])", log2, 2, 4, false, false, 3},
    {"log2(x[i])", log2, 0x1p-149, 0.5, true, false, 3},
    {"log10(x[i])", log10, 2, 0x1p127, true, false, 3},
    {"exp(x[i])", exp, -10, 10, false, false, 3},
    {"exp2(x[i])", exp2, -140, 127, false, false, 3},
    {"rsqrt(x[i])", rsqrt_of, 1, 4, false, false, 2},
    {"rsqrt(x[i])", rsqrt_of, 0x1p-149, 0x1p127, true, false, 2},
    {"sqrt(x[i])", sqrt, 0x1p-149, 0x1p127, true, false, 3},
};

// The same without options: what is estimated where estimates are good. Within
// little more than one unit, of the two that are allowed.
static const struct bound estimated[] = {
    {"rsqrt(x[i])", rsqrt_of, 1, 4, false, false, 1.2},
    {"rsqrt(x[i])", rsqrt_of, 0x1p-149, 0x1p127, true, false, 1.2},
    {"half_rsqrt(x[i])", rsqrt_of, 0x1p-149, 0x1p127, true, false, 1.2},
    {"rsqrt((float3)(x[i], 2, 3)).x", rsqrt_of, 1, 4, false, false, 1.2},
    {"native_rsqrt(x[i])", rsqrt_of, 0x1p-149, 0x1p127, true, false, 2},
};

static double unit_of(double x)
{
    int exponent;

    frexp(x, &exponent);
    return ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void keeps(struct try *t, const struct bound *bound, const char *options,
                  const char *cpu)
{
    static float x[COUNT], y[COUNT];
    float *px = x, *py = y;
    double low = bound->low, high = bound->high, worst = 0;
    char text[256];
    struct hd_error error;
    struct hd_program *p;

    snprintf(text, sizeof(text),
             "kernel void k(global const float *x, global float *y) {\n"
             "  size_t i = get_global_id(0);\n"
             "  y[i] = %s;\n"
             "}\n",
             bound->function);
    const struct hd_program_params params = {
        .path = "test.cl", .source = text, .options = options, .cpus = cpu};
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(bound->factors ? low * pow(high / low, i / (COUNT - 1.0))
                                      : low + (high - low) * i / (COUNT - 1.0));
    // Groups of 57 have work-items beside their vectors.
    TRY_RUN(t, p, "k", ((struct try_range){1, {COUNT}, {57}, {0}}),
            TRY_VALUE(px), TRY_VALUE(py));
    for (int i = 0; i < COUNT; i++) {
        double right = bound->right((double)x[i]);
        double wrong =
            fabs((double)y[i] - right) / (bound->absolute ? 1 : unit_of(right));
        worst = wrong <= worst ? worst : wrong;
    }
    if (!(worst <= bound->most))
        fprintf(stderr, "%s, %s: wrong by %g, not %g\n", bound->function,
                cpu ? cpu : "native", worst, bound->most);
    CHECK(worst <= bound->most);
    hd_program_destroy(p);
}

static void functions_keep_their_bounds(struct try *t, const char *cpu)
{
    for (size_t c = 0; c < sizeof(relaxed) / sizeof(relaxed[0]); c++)
        keeps(t, &relaxed[c],
              c % 2 ? "-cl-unsafe-math-optimizations" : "-cl-fast-relaxed-math",
              cpu);
    for (size_t c = 0; c < sizeof(estimated) / sizeof(estimated[0]); c++)
        keeps(t, &estimated[c], "", cpu);
}

// Of all lengths of vectors, of which AVX-512 estimates some at once.
static void estimated_roots_have_ends(struct try *t)
{
    static const char text[] =
        "kernel void k(global const float *x, global float *y) {\n"
        "  size_t i = get_global_id(0);\n"
        "  y[i] = rsqrt(x[i]);\n"
        "}\n"
        "kernel void three(global const float *x, global float *y) {\n"
        "  size_t i = get_global_id(0);\n"
        "  if (i < 3)\n"
        "    vstore3(rsqrt(vload3(i, x)), i, y);\n"
        "}\n";
    static const float ends[9] = {0,   -0.0f,     INFINITY, -INFINITY, -1,
                                  NAN, 0x1p-148f, 0x1p126f, 4};
    static const float roots[9] = {INFINITY, -INFINITY, 0,        NAN, NAN,
                                   NAN,      0x1p74f,   0x1p-63f, 0.5f};
    struct hd_program *p = try_build(t, text, "");

    for (int kernel = 0; kernel < 2; kernel++) {
        static float x[COUNT], y[COUNT];
        float *px = x, *py = y;
        for (int i = 0; i < COUNT; i++) {
            x[i] = ends[i % 9];
            y[i] = 0.1f;
        }
        TRY_RUN(t, p, kernel ? "three" : "k", range, TRY_VALUE(px),
                TRY_VALUE(py));
        for (int i = 0; i < (kernel ? 9 : COUNT); i++) {
            float right = roots[i % 9];
            CHECK(isnan(right)
                      ? isnan(y[i])
                      : y[i] == right && !signbit(y[i]) == !signbit(right));
        }
    }
    hd_program_destroy(p);
}

// Each as a shorter function would, where it may be approximate and only there.
static void relaxed_functions_are_shorter(struct try *t)
{
    static const char text[] =
        "kernel void k(global const float *x, global float *y) {\n"
        "  size_t i = get_global_id(0);\n"
        "  float4 v = sin((float4)(x[i], 1, 2, 3));\n"
        "  float c, s = sincos(x[i], &c);\n"
        "  y[i] = (v.x != native_sin(x[i])) + (s != native_sin(x[i]))\n"
        "       + (c != native_cos(x[i])) + (tan(x[i]) != native_tan(x[i]))\n"
        "       + (cos(x[i]) != native_cos(x[i]));\n"
        "}\n"
        "kernel void powers(global const float *x, global float *y) {\n"
        "  size_t i = get_global_id(0);\n"
        "  float a = fabs(x[i]) + 1;\n"
        "  y[i] = pow(-a, 3) == -powr(a, 3.0f) && pown(-a, 2) == powr(a, 2)\n"
        "         && fabs(rootn(-a, 3) + cbrt(a)) < 1e-5f * a;\n"
        "}\n";
    static float x[COUNT], y[COUNT];
    float *px = x, *py = y;

    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i - COUNT / 2) * 0.037f;
    for (int is = 0; is < 2; is++) {
        struct hd_program *p = try_build(
            t, text, is ? "-cl-unsafe-math-optimizations" : "-cl-mad-enable");
        int different = 0;
        TRY_RUN(t, p, "k", range, TRY_VALUE(px), TRY_VALUE(py));
        for (int i = 0; i < COUNT; i++)
            different += y[i] != 0;
        CHECK(is ? different == 0 : different > COUNT / 2);
        TRY_RUN(t, p, "powers", range, TRY_VALUE(px), TRY_VALUE(py));
        for (int i = 0; i < COUNT && is; i++)
            CHECK(y[i] == 1);
        hd_program_destroy(p);
    }
}

// In full vectors of AVX-512, also where shorter ones, whose estimates are not
// good enough, are beside them.
static void wide_quotients_are_estimated(struct try *t)
{
    static const char text[] =
        "kernel void k(global const float *x, global float *y) {\n"
        "  size_t i = get_global_id(0);\n"
        "  y[i] = y[i] / x[i];\n"
        "}\n";
    const struct hd_program_params params = {.path = "test.cl",
                                             .source = text,
                                             .options = "-cl-fast-relaxed-math",
                                             .cpus = "x86-64-v4"};
    struct hd_error error;
    struct hd_program *p;

    if (!t->device->can.features || !has_disassembler())
        return;
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    CHECK(code_has(p, "vrcp14ps"));
    CHECK(!code_has(p, "vrcpps"));
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    native_functions_keep_their_bounds(&t);
    native_functions_have_ends(&t);
    relaxed_functions_are_shorter(&t);
    wide_quotients_are_estimated(&t);
    for (size_t k = 0; t.device->can.features && k < 3; k++)
        if (strstr(t.device->can.features, runs_on[k]))
            functions_keep_their_bounds(&t, processors[k].cpu);
    functions_keep_their_bounds(&t, NULL);
    estimated_roots_have_ends(&t);
    try_close(&t);
    return 0;
}
