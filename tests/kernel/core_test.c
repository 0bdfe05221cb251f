// The core of OpenCL C, apart from its functions: macros, limits, attributes,
// vectors and how their parts are named, casts and conversions.
#include "tests/kernel/try.h"

// A kernel that returns the first line that is not true; 0: all are.
#define HEAD                                                              \
    "#define IS(...) if (!(__VA_ARGS__) && r[0] == 0) r[0] = __LINE__;\n" \
    "#define SAME(a, b) IS(all((a) == (b)))\n"                            \
    "#define IS_MACRO(...) _Static_assert(__VA_ARGS__, #__VA_ARGS__);\n"

static void holds(struct try *t, const char *source, const char *options)
{
    struct hd_program *p = try_build(t, source, options);
    int line = 0, *r = &line;

    TRY_RUN(t, p, "k", ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(r));
    if (line != 0)
        fprintf(stderr, "%s %s: line %d of:\n%s\n", options ? options : "",
                t->form ? t->form : "", line, source);
    CHECK(line == 0);
    hd_program_destroy(p);
}

static void macros_say_what_there_is(struct try *t)
{
    static const char source[] = HEAD
        "IS_MACRO(__OPENCL_C_VERSION__ == VERSION)\n"
        "IS_MACRO(__OPENCL_VERSION__ == 300)\n"
        "IS_MACRO(CL_VERSION_1_0 == 100 && CL_VERSION_1_1 == 110 &&\n"
        "         CL_VERSION_1_2 == 120)\n"
        "#if VERSION >= 200\n"
        "IS_MACRO(CL_VERSION_2_0 == 200)\n"
        "#endif\n"
        "#if VERSION >= 300\n"
        "IS_MACRO(CL_VERSION_3_0 == 300)\n"
        "IS_MACRO(__opencl_c_int64 && __opencl_c_fp64 && __opencl_c_images)\n"
        "IS_MACRO(__opencl_c_subgroups && __opencl_c_read_write_images)\n"
        "IS_MACRO(__opencl_c_integer_dot_product_input_4x8bit)\n"
        "IS_MACRO(__opencl_c_ext_fp32_global_atomic_add)\n"
        "#ifdef __opencl_c_pipes\n"
        "#error there are no pipes\n"
        "#endif\n"
        "#endif\n"
        "IS_MACRO(__ENDIAN_LITTLE__ && __IMAGE_SUPPORT__)\n"
        "IS_MACRO(FP_FAST_FMA && FP_FAST_FMAF)\n"
        "IS_MACRO(cl_khr_fp16 && cl_khr_fp64 && cl_khr_int64_base_atomics)\n"
        "#ifdef __FAST_RELAXED_MATH__\n"
        "#error nobody asked for it\n"
        "#endif\n"
        "IS_MACRO(CHAR_BIT == 8 && CHAR_MAX == 127 && CHAR_MIN == -128 &&\n"
        "         SCHAR_MAX == 127 && SCHAR_MIN == -128 && UCHAR_MAX == 255)\n"
        "IS_MACRO(SHRT_MAX == 32767 && SHRT_MIN == -32768 &&\n"
        "         USHRT_MAX == 65535)\n"
        "IS_MACRO(INT_MAX == 0x7fffffff && INT_MIN == -0x7fffffff - 1 &&\n"
        "         UINT_MAX == 0xffffffff)\n"
        "IS_MACRO(LONG_MAX == 0x7fffffffffffffffL &&\n"
        "         LONG_MIN == -0x7fffffffffffffffL - 1 &&\n"
        "         ULONG_MAX == 0xffffffffffffffffUL)\n"
        "IS_MACRO(FLT_DIG == 6 && FLT_MANT_DIG == 24 && FLT_RADIX == 2 &&\n"
        "         FLT_MAX_10_EXP == 38 && FLT_MAX_EXP == 128 &&\n"
        "         FLT_MIN_10_EXP == -37 && FLT_MIN_EXP == -125)\n"
        "IS_MACRO(DBL_DIG == 15 && DBL_MANT_DIG == 53 &&\n"
        "         DBL_MAX_10_EXP == 308 && DBL_MAX_EXP == 1024 &&\n"
        "         DBL_MIN_10_EXP == -307 && DBL_MIN_EXP == -1021)\n"
        "IS_MACRO(HALF_DIG == 3 && HALF_MANT_DIG == 11 && HALF_RADIX == 2 &&\n"
        "         HALF_MAX_10_EXP == 4 && HALF_MAX_EXP == 16 &&\n"
        "         HALF_MIN_10_EXP == -4 && HALF_MIN_EXP == -13)\n"
        "kernel void k(global int *r) {\n"
        "    IS(FLT_MAX == 0x1.fffffep127f && MAXFLOAT == FLT_MAX)\n"
        "    IS(FLT_MIN == 0x1p-126f && FLT_EPSILON == 0x1p-23f)\n"
        "    IS(DBL_MAX == 0x1.fffffffffffffp1023 && DBL_MIN == 0x1p-1022)\n"
        "    IS(DBL_EPSILON == 0x1p-52)\n"
        "    IS(isinf(HUGE_VALF) && isinf(HUGE_VAL) && isinf(INFINITY))\n"
        "    IS(isnan(NAN) && HUGE_VALF > FLT_MAX)\n"
        "    IS(ilogb(0.0f) == FP_ILOGB0 && ilogb(NAN) == FP_ILOGBNAN)\n"
        "    IS(M_E_F == (float)M_E && M_LOG2E_F == (float)M_LOG2E)\n"
        "    IS(M_LOG10E_F == (float)M_LOG10E && M_LN2_F == (float)M_LN2)\n"
        "    IS(M_LN10_F == (float)M_LN10 && M_PI_F == (float)M_PI)\n"
        "    IS(M_PI_2_F == (float)M_PI_2 && M_PI_4_F == (float)M_PI_4)\n"
        "    IS(M_1_PI_F == (float)M_1_PI && M_2_PI_F == (float)M_2_PI)\n"
        "    IS(M_2_SQRTPI_F == (float)M_2_SQRTPI)\n"
        "    IS(M_SQRT2_F == (float)M_SQRT2 &&\n"
        "       M_SQRT1_2_F == (float)M_SQRT1_2)\n"
        "    IS(fabs(M_PI - acos(-1.0)) < 1e-15 && fabs(M_E - exp(1.0)) < "
        "1e-15)\n"
        "    IS(CLK_LOCAL_MEM_FENCE != CLK_GLOBAL_MEM_FENCE)\n"
        "}\n";

    holds(t, source, "-cl-std=CL1.2 -D VERSION=120");
    holds(t, source, "-D VERSION=120");
    holds(t, source, "-cl-std=CL2.0 -D VERSION=200");
    holds(t, source, "-cl-std=CL3.0 -D VERSION=300");
}

static void attributes_are_taken(struct try *t)
{
    static const char source[] = HEAD
        "typedef struct __attribute__((packed)) { char c; int i; } tight;\n"
        "typedef struct { char c; int i __attribute__((aligned(16))); } "
        "wide;\n"
        "typedef struct __attribute__((aligned(64))) { int i; } whole;\n"
        "IS_MACRO(sizeof(tight) == 5 && sizeof(wide) == 32)\n"
        "IS_MACRO(sizeof(whole) == 64)\n"
        "__kernel_exec(1, float4) kernel void typed(global float4 *x) {\n"
        "    x[0] *= 2;\n"
        "}\n"
        "kernel __attribute__((vec_type_hint(float4)))\n"
        "__attribute__((work_group_size_hint(4, 1, 1)))\n"
        "__attribute__((reqd_work_group_size(1, 1, 1)))\n"
        "void k(global int *r) {\n"
        "    tight a = {1, 0x01020304};\n"
        "    wide b;\n"
        "    int sum = 0;\n"
        "    IS(a.i == 0x01020304 && ((char *)&a)[1] == 4)\n"
        "    IS(((ulong)&b.i & 15) == 0)\n"
        "    __attribute__((opencl_unroll_hint(4)))\n"
        "    for (int i = 0; i < 9; i++)\n"
        "        sum += i;\n"
        "    __attribute__((opencl_unroll_hint))\n"
        "    while (sum < 100)\n"
        "        sum += 7;\n"
        "    IS(sum == 106)\n"
        "}\n";

    holds(t, source, "-cl-std=CL1.2");
    holds(t, source, "-cl-std=CL3.0");
}

static void parts_of_vectors_have_names(struct try *t)
{
    holds(t,
          HEAD
          "kernel void k(global int *r) {\n"
          "    int2 two = (int2)(1, 2);\n"
          "    int3 three = (int3)(1, two);\n"
          "    int4 four = (int4)(two, 3, 4);\n"
          "    int8 eight = (int8)(four, four + 4);\n"
          "    int16 full = (int16)(eight, eight.lo + 8, (int4)(13, 14, 15, "
          "16));\n"
          "    SAME(four, (int4)(1, 2, 3, 4))\n"
          "    SAME((int4)5, (int4)(5, 5, 5, 5))\n"
          "    IS(three.x == 1 && three.y == 1 && three.z == 2)\n"
          "    SAME(four.hi, (int2)(3, 4))\n"
          "    SAME(four.lo, two)\n"
          "    SAME(four.odd, (int2)(2, 4))\n"
          "    SAME(four.even, (int2)(1, 3))\n"
          "    IS(two.hi == 2 && two.lo == 1 && two.odd == 2 && two.even == "
          "1)\n"
          "    SAME(three.lo, (int2)(1, 1))\n"
          "    IS(three.hi.x == 2 && three.odd.x == 1)\n"
          "    SAME(three.even, (int2)(1, 2))\n"
          "    SAME(eight.even.odd, (int2)(3, 7))\n"
          "    SAME(full.hi.lo, (int4)(9, 10, 11, 12))\n"
          "    SAME(four.wzyx, (int4)(4, 3, 2, 1))\n"
          "    SAME(four.xxyy, (int4)(1, 1, 2, 2))\n"
          "    SAME(four.s3210, four.wzyx)\n"
          "    SAME(four.S01, two)\n"
          "    IS(full.s9 == 10 && full.sa == 11 && full.sA == 11)\n"
          "    IS(full.sf == 16 && full.SF == 16)\n"
          "    SAME(full.s0246, eight.even)\n"
          "    SAME(full.sfedcba98, (int8)(16, 15, 14, 13, 12, 11, 10, 9))\n"
          "    SAME(full.s0123456789abcdef, full)\n"
          "    four.xw = (int2)(7, 8);\n"
          "    SAME(four, (int4)(7, 2, 3, 8))\n"
          "    four.even += 1;\n"
          "    SAME(four, (int4)(8, 2, 4, 8))\n"
          "    four.hi = four.lo;\n"
          "    SAME(four, (int4)(8, 2, 8, 2))\n"
          "    full.hi.s4 = 0;\n"
          "    IS(full.sc == 0)\n"
          "    four = two.xyxy;\n"
          "    four.yx = four.xy;\n"
          "    SAME(four, (int4)(2, 1, 1, 2))\n"
          "    IS(vec_step(int) == 1 && vec_step(int2) == 2)\n"
          "    IS(vec_step(three) == 4 && vec_step(float16) == 16)\n"
          "    IS(vec_step(eight.lo) == 4 && vec_step(char8) == 8)\n"
          "    IS(sizeof(int3) == 16 && sizeof(char3) == 4)\n"
          "    SAME(two < 2, (int2)(-1, 0))\n"
          "    SAME(!two, (int2)(0, 0))\n"
          "    SAME(two == 2 ? (int2)(5, 6) : two, (int2)(1, 6))\n"
          "    SAME(two && (int2)(0, 3), (int2)(0, -1))\n"
          "    SAME((two << 3) | 1, (int2)(9, 17))\n"
          "    SAME(two << (int2)(33, 1), (int2)(2, 4))\n"
          "    SAME(1 - two, (int2)(0, -1))\n"
          "    SAME(-two++, (int2)(-1, -2))\n"
          "    SAME(two, (int2)(2, 3))\n"
          "#if __OPENCL_C_VERSION__ >= 300\n"
          "    SAME(four.rgba, four)\n"
          "    four.bg = four.ra;\n"
          "    SAME(four, (int4)(2, 2, 2, 2))\n"
          "#endif\n"
          "}\n",
          NULL);
}

static void values_change_their_type(struct try *t)
{
    holds(t,
          HEAD
          "kernel void k(global int *r) {\n"
          "    float4 f = (float4)(1.5f, -2.5f, 300.7f, -0.0f);\n"
          "    IS(as_int(1.0f) == 0x3f800000 && as_float(0x40000000) == 2)\n"
          "    IS(as_ulong(1.0) == 0x3ff0000000000000UL)\n"
          "    IS(as_uint((uchar4)(1, 2, 3, 4)) == 0x04030201)\n"
          "    SAME(as_short2(0x00020001), (short2)(1, 2))\n"
          "    IS(as_int4(f).s3 == INT_MIN)\n"
          "    SAME(as_int3(as_float4((int4)(1, 2, 3, 4))), (int3)(1, 2, "
          "3))\n"
          "    SAME(as_double2((ulong2)(0, 1UL << 62)), (double2)(0, 2))\n"
          "    SAME(convert_int4(f), (int4)(1, -2, 300, 0))\n"
          "    SAME(convert_int4_rte(f), (int4)(2, -2, 301, 0))\n"
          "    SAME(convert_int4_rtp(f), (int4)(2, -2, 301, 0))\n"
          "    SAME(convert_int4_rtn(f), (int4)(1, -3, 300, 0))\n"
          "    SAME(convert_int4_rtz(f), (int4)(1, -2, 300, 0))\n"
          "    SAME(convert_uchar4_sat(f), (uchar4)(1, 0, 255, 0))\n"
          "    SAME(convert_char4_sat_rte(f), (char4)(2, -2, 127, 0))\n"
          "    SAME(convert_uchar4_sat_rtp(f * 0.5f),\n"
          "         (uchar4)(1, 0, 151, 0))\n"
          "    IS(convert_float_rtz(16777219u) == 16777218)\n"
          "    IS(convert_float_rtp(16777217u) == 16777218)\n"
          "    IS(convert_ulong_sat(-1.0) == 0)\n"
          "    IS(convert_long_sat(1e30) == LONG_MAX)\n"
          "    SAME(convert_short2_sat((int2)(70000, -70000)),\n"
          "         (short2)(32767, -32768))\n"
          "    SAME(convert_double2((int2)(3, -4)), (double2)(3, -4))\n"
          "    IS((char)300 == 44 && (uchar)-1 == 255 && (bool)0.5f)\n"
          "    IS((int)1e9f == 1000000000 && (int)-1.9 == -1)\n"
          "    SAME((float2)3, (float2)(3, 3))\n"
          "    size_t size = sizeof(size_t);\n"
          "    ptrdiff_t d = &r[3] - &r[1];\n"
          "    IS(size == 8 && d == 2 && (uintptr_t)r == (intptr_t)r)\n"
          "}\n",
          NULL);
}

int main(void)
{
    static const char *const forms[] = {"-heddle-form=loops",
                                        "-heddle-form=thread",
                                        "-heddle-form=loops -cl-std=CL3.0"};
    struct try t = try_open();

    macros_say_what_there_is(&t);
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        t.form = forms[i];
        if (i < 2)
            attributes_are_taken(&t);
        parts_of_vectors_have_names(&t);
        values_change_their_type(&t);
    }
    try_close(&t);
    return 0;
}
