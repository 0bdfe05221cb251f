// A call of every builtin there should be, for every type: whatever is left
// undefined once the library is linked is missing from it.
#define EVERY_WIDTH(F, ...)                                                 \
    F(, __VA_ARGS__) F(2, __VA_ARGS__) F(3, __VA_ARGS__) F(4, __VA_ARGS__) \
        F(8, __VA_ARGS__) F(16, __VA_ARGS__)
#define VECTORS(F, ...)                                                \
    F(2, __VA_ARGS__) F(3, __VA_ARGS__) F(4, __VA_ARGS__)              \
        F(8, __VA_ARGS__) F(16, __VA_ARGS__)
#define INTEGERS(F)                                             \
    F(char, uchar, char) F(uchar, uchar, char)                  \
    F(short, ushort, short) F(ushort, ushort, short)            \
    F(int, uint, int) F(uint, uint, int)                        \
    F(long, ulong, long) F(ulong, ulong, long)
#define REALS(F) F(half, ushort, short) F(float, uint, int) F(double, ulong, long)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define C1(n, f, T) \
    void call_##f##_1_##T##n(T##n x) { f(x); }
#define C2(n, f, T, U) \
    void call_##f##_2_##T##n##U(T##n x, U##n y) { f(x, y); }
#define C3(n, f, T, U) \
    void call_##f##_3_##T##n##U(T##n x, T##n y, U##n z) { f(x, y, z); }
#define C2S(n, f, T) \
    void call_##f##_2s_##T##n(T##n x, T y) { f(x, y); }
#define CALL_1(f, T) EVERY_WIDTH(C1, f, T)
#define CALL_2(f, T, U) EVERY_WIDTH(C2, f, T, U)
#define CALL_3(f, T, U) EVERY_WIDTH(C3, f, T, U)

#define INTEGER(T, U, S)                                                    \
    CALL_1(abs, T) CALL_2(abs_diff, T, T) CALL_2(add_sat, T, T)             \
    CALL_2(sub_sat, T, T) CALL_2(hadd, T, T) CALL_2(rhadd, T, T)            \
    CALL_3(clamp, T, T) CALL_1(clz, T) CALL_1(popcount, T)                  \
    CALL_3(mad_hi, T, T) CALL_3(mad_sat, T, T) CALL_2(max, T, T)            \
    CALL_2(min, T, T) CALL_2(mul_hi, T, T) CALL_2(rotate, T, T)             \
    CALL_3(bitselect, T, T) CALL_3(select, T, S) CALL_3(select, T, U)       \
    VECTORS(C2S, max, T) VECTORS(C2S, min, T) VECTORS(CLAMP_S, clamp, T)
#define CLAMP_S(n, f, T) \
    void call_clamp_s_##T##n(T##n x, T y, T z) { clamp(x, y, z); }
INTEGERS(INTEGER)
#if __OPENCL_C_VERSION__ >= 200
#define INTEGER_2(T, U, S) CALL_1(ctz, T)
INTEGERS(INTEGER_2)
#endif
CALL_2(mul24, int, int)
CALL_2(mul24, uint, uint)
CALL_3(mad24, int, int)
CALL_3(mad24, uint, uint)
CALL_2(upsample, char, uchar)
CALL_2(upsample, uchar, uchar)
CALL_2(upsample, short, ushort)
CALL_2(upsample, ushort, ushort)
CALL_2(upsample, int, uint)
CALL_2(upsample, uint, uint)
#define SIGNED(F) F(char) F(short) F(int) F(long)
#define ANY(T) CALL_1(any, T) CALL_1(all, T)
SIGNED(ANY)
#define C_FIELDS(n, T)                                       \
    void call_fields_##T##n(T##n x, T##n y, uint i)          \
    {                                                        \
        bit_reverse(x);                                      \
        bitfield_insert(x, y, i, i);                         \
        bitfield_extract_signed(x, i, i);                    \
        bitfield_extract_unsigned(x, i, i);                  \
    }
#define FIELDS(T, U, S) EVERY_WIDTH(C_FIELDS, T)
INTEGERS(FIELDS)
#define DOTS(kind, R, A, B)                                      \
    void call_dot_##kind(A##4 x, B##4 y, R z, uint v, uint w)    \
    {                                                            \
        dot(x, y);                                               \
        dot_acc_sat(x, y, z);                                    \
        dot_4x8packed_##kind##_##R(v, w);                        \
        dot_acc_sat_4x8packed_##kind##_##R(v, w, z);             \
    }
DOTS(uu, uint, uchar, uchar)
DOTS(ss, int, char, char)
DOTS(us, int, uchar, char)
DOTS(su, int, char, uchar)

#define C_COPY(n, T)                                                   \
    void call_copy_##T##n(local T##n *l, global T##n *g, event_t e)    \
    {                                                                  \
        async_work_group_copy(l, g, 1, e);                             \
        async_work_group_copy(g, l, 1, e);                             \
        async_work_group_strided_copy(l, g, 1, 1, e);                  \
        async_work_group_strided_copy(g, l, 1, 1, e);                  \
        prefetch(g, 1);                                                \
    }
#define COPY(T, U, S) EVERY_WIDTH(C_COPY, T)
INTEGERS(COPY)
REALS(COPY)

#define REAL(T, U, S)                                                       \
    CALL_1(acos, T) CALL_1(acosh, T) CALL_1(acospi, T) CALL_1(asin, T)      \
    CALL_1(asinh, T) CALL_1(asinpi, T) CALL_1(atan, T) CALL_2(atan2, T, T)  \
    CALL_2(atan2pi, T, T) CALL_1(atanh, T) CALL_1(atanpi, T)                \
    CALL_1(cbrt, T) CALL_1(ceil, T) CALL_2(copysign, T, T) CALL_1(cos, T)   \
    CALL_1(cosh, T) CALL_1(cospi, T) CALL_1(erf, T) CALL_1(erfc, T)         \
    CALL_1(exp, T) CALL_1(exp2, T)                                          \
    CALL_1(exp10, T) CALL_1(expm1, T) CALL_1(fabs, T) CALL_2(fdim, T, T)    \
    CALL_1(floor, T) CALL_3(fma, T, T) CALL_2(fmax, T, T)                   \
    CALL_2(fmin, T, T) CALL_2(fmod, T, T) CALL_2(hypot, T, T)               \
    CALL_1(ilogb, T) CALL_2(ldexp, T, int) CALL_1(lgamma, T)                \
    CALL_1(log, T) CALL_1(log10, T)                                         \
    CALL_1(log1p, T) CALL_1(log2, T) CALL_1(logb, T) CALL_3(mad, T, T)      \
    CALL_2(maxmag, T, T) CALL_2(minmag, T, T) CALL_1(nan, U)                \
    CALL_2(nextafter, T, T) CALL_2(pow, T, T) CALL_2(pown, T, int)          \
    CALL_2(powr, T, T) CALL_2(remainder, T, T) CALL_1(rint, T)              \
    CALL_2(rootn, T, int)                                                   \
    CALL_1(round, T) CALL_1(rsqrt, T) CALL_1(sin, T) CALL_1(sinh, T)        \
    CALL_1(sinpi, T) CALL_1(sqrt, T) CALL_1(tan, T) CALL_1(tanh, T)         \
    CALL_1(tanpi, T) CALL_1(tgamma, T) CALL_1(trunc, T)                     \
    VECTORS(C2S, fmax, T) VECTORS(C2S, fmin, T)                             \
    VECTORS(LDEXP_S, ldexp, T)                                              \
    CALL_3(clamp, T, T) CALL_1(degrees, T) CALL_1(radians, T)               \
    CALL_2(max, T, T) CALL_2(min, T, T) CALL_3(mix, T, T) CALL_1(sign, T)   \
    CALL_2(step, T, T) CALL_3(smoothstep, T, T) VECTORS(C2S, max, T)        \
    VECTORS(C2S, min, T) VECTORS(COMMON_S, common, T)                       \
    CALL_2(isequal, T, T) CALL_2(isnotequal, T, T) CALL_2(isgreater, T, T)  \
    CALL_2(isgreaterequal, T, T) CALL_2(isless, T, T)                       \
    CALL_2(islessequal, T, T) CALL_2(islessgreater, T, T)                   \
    CALL_2(isordered, T, T) CALL_2(isunordered, T, T) CALL_1(isfinite, T)   \
    CALL_1(isinf, T) CALL_1(isnan, T) CALL_1(isnormal, T)                   \
    CALL_1(signbit, T) CALL_3(bitselect, T, T) CALL_3(select, T, S)         \
    CALL_3(select, T, U)                                                    \
    SPACES(POINTERS, T) GEOMETRIC(C2, dot, T, T) GEOMETRIC(C1, length, T)   \
    GEOMETRIC(C2, distance, T, T) GEOMETRIC(C1, normalize, T)               \
    C2(3, cross, T, T) C2(4, cross, T, T)
#define LDEXP_S(n, f, T) \
    void call_ldexp_s_##T##n(T##n x, int y) { ldexp(x, y); }
#define COMMON_S(n, f, T)                               \
    void call_common_s_##T##n(T##n x, T##n y, T z)      \
    {                                                   \
        clamp(x, z, z);                                 \
        mix(x, y, z);                                   \
        step(z, x);                                     \
        smoothstep(z, z, x);                            \
    }
#define GEOMETRIC(F, ...) \
    F(, __VA_ARGS__) F(2, __VA_ARGS__) F(3, __VA_ARGS__) F(4, __VA_ARGS__)
#define SPACES(F, T) F(global, T) F(local, T) F(private, T)
#define POINTERS(A, T) EVERY_WIDTH(POINTERS_N, A, T)
#define POINTERS_N(n, A, T)                                                  \
    void call_pointers_##A##_##T##n(T##n x, A T##n *r, A int##n *i)          \
    {                                                                        \
        fract(x, r);                                                         \
        modf(x, r);                                                          \
        sincos(x, r);                                                        \
        frexp(x, i);                                                         \
        lgamma_r(x, i);                                                      \
        remquo(x, x, i);                                                     \
    }
REALS(REAL)
GEOMETRIC(C1, fast_length, float)
GEOMETRIC(C2, fast_distance, float, float)
GEOMETRIC(C1, fast_normalize, float)

#define FAST_1(f) CALL_1(native_##f, float) CALL_1(half_##f, float)
FAST_1(cos)
FAST_1(exp)
FAST_1(exp2)
FAST_1(exp10)
FAST_1(log)
FAST_1(log2)
FAST_1(log10)
FAST_1(recip)
FAST_1(rsqrt)
FAST_1(sin)
FAST_1(sqrt)
FAST_1(tan)
CALL_2(native_divide, float, float)
CALL_2(native_powr, float, float)
CALL_2(half_divide, float, float)
CALL_2(half_powr, float, float)

#define FROM(F, ...)                                                \
    F(char, __VA_ARGS__) F(uchar, __VA_ARGS__) F(short, __VA_ARGS__) \
    F(ushort, __VA_ARGS__) F(int, __VA_ARGS__) F(uint, __VA_ARGS__)  \
    F(long, __VA_ARGS__) F(ulong, __VA_ARGS__) F(float, __VA_ARGS__) \
    F(double, __VA_ARGS__) F(half, __VA_ARGS__)
#define CONVERT_N(n, S, D)                              \
    void call_convert_##D##S##n(S##n x)                 \
    {                                                   \
        convert_##D##n(x);                              \
        convert_##D##n##_rte(x);                        \
        convert_##D##n##_rtz(x);                        \
        convert_##D##n##_rtp(x);                        \
        convert_##D##n##_rtn(x);                        \
    }
#define CONVERT_SAT_N(n, S, D)                          \
    void call_convert_sat_##D##S##n(S##n x)             \
    {                                                   \
        convert_##D##n##_sat(x);                        \
        convert_##D##n##_sat_rte(x);                    \
        convert_##D##n##_sat_rtz(x);                    \
        convert_##D##n##_sat_rtp(x);                    \
        convert_##D##n##_sat_rtn(x);                    \
    }
#define CONVERT(S, D) EVERY_WIDTH(CONVERT_N, S, D)
#define CONVERT_SAT(S, D) EVERY_WIDTH(CONVERT_SAT_N, S, D)
#define CONVERT_INTEGER(T, U, S) FROM(CONVERT, T) FROM(CONVERT_SAT, T)
INTEGERS(CONVERT_INTEGER)
FROM(CONVERT, half)
FROM(CONVERT, float)
FROM(CONVERT, double)

#define MEMORY(T, U, S)                                                     \
    SPACES(MEMORY_AT, T) VECTORS(LOAD_N, constant, T)
#define MEMORY_AT(A, T) VECTORS(LOAD_N, A, T) VECTORS(STORE_N, A, T)
#define LOAD_N(n, A, T) \
    void call_vload##n##_##A##T(const A T *p) { vload##n(0, p); }
#define STORE_N(n, A, T) \
    void call_vstore##n##_##A##T(T##n x, A T *p) { vstore##n(x, 0, p); }
INTEGERS(MEMORY)
REALS(MEMORY)
#define LOAD_HALF_N(n, A)                          \
    void call_vload_half##n##_##A(const A half *p) \
    {                                              \
        vload_half##n(0, p);                       \
        vloada_half##n(0, p);                      \
    }
#define LOAD_HALF(A, unused)                       \
    void call_vload_half_##A(const A half *p)      \
    {                                              \
        vload_half(0, p);                          \
    }                                              \
    VECTORS(LOAD_HALF_N, A)
#define STORE_HALF_N(n, A, T)                               \
    void call_vstore_half##n##_##A##T(T##n x, A half *p)    \
    {                                                       \
        vstore_half##n(x, 0, p);                            \
        vstore_half##n##_rte(x, 0, p);                      \
        vstore_half##n##_rtz(x, 0, p);                      \
        vstore_half##n##_rtp(x, 0, p);                      \
        vstore_half##n##_rtn(x, 0, p);                      \
    }
#define STOREA_HALF_N(n, A, T)                              \
    void call_vstorea_half##n##_##A##T(T##n x, A half *p)   \
    {                                                       \
        vstorea_half##n(x, 0, p);                           \
        vstorea_half##n##_rte(x, 0, p);                     \
        vstorea_half##n##_rtz(x, 0, p);                     \
        vstorea_half##n##_rtp(x, 0, p);                     \
        vstorea_half##n##_rtn(x, 0, p);                     \
    }
#define STORE_HALF(A, T) \
    EVERY_WIDTH(STORE_HALF_N, A, T) VECTORS(STOREA_HALF_N, A, T)
SPACES(LOAD_HALF, )
LOAD_HALF(constant, )
SPACES(STORE_HALF, float)
SPACES(STORE_HALF, double)

#define SHUFFLE_NM(n, m, T, U)                                        \
    void call_shuffle##n##_##m##T(T##m x, T##m y, U##n by)            \
    {                                                                 \
        shuffle(x, by);                                               \
        shuffle2(x, y, by);                                           \
    }
#define SHUFFLE(T, U, S)                                               \
    SHUFFLE_N(2, T, U) SHUFFLE_N(4, T, U) SHUFFLE_N(8, T, U)           \
    SHUFFLE_N(16, T, U)
#define SHUFFLE_N(n, T, U)                                             \
    SHUFFLE_NM(n, 2, T, U) SHUFFLE_NM(n, 4, T, U)                      \
    SHUFFLE_NM(n, 8, T, U) SHUFFLE_NM(n, 16, T, U)
INTEGERS(SHUFFLE)
REALS(SHUFFLE)
