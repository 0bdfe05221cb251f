// The builtins that are exact, against plain C on wide numbers: integer
// functions and conversions of all types (of 8 bits: all values, or pairs),
// relations, vectors and halves in memory.
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/check.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

// The types of OpenCL C.
typedef signed char cl_char;
typedef unsigned char cl_uchar;
typedef int16_t cl_short;
typedef uint16_t cl_ushort;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef int64_t cl_long;
typedef uint64_t cl_ulong;
typedef float cl_float;
typedef double cl_double;

struct type {
    int bits;
    bool is_signed;
};

enum {
    COUNT = 1 << 16
};

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static wide lowest(struct type t)
{
    return t.is_signed ? -((wide)1 << (t.bits - 1)) : 0;
}

static wide highest(struct type t)
{
    return ((wide)1 << (t.bits - t.is_signed)) - 1;
}

static wide wrap(wide x, struct type t)
{
    unsigned_wide low = (unsigned_wide)x & (((unsigned_wide)1 << t.bits) - 1);
    return (wide)low > highest(t) ? (wide)low - ((wide)1 << t.bits) : (wide)low;
}

static wide saturate(wide x, struct type t)
{
    return x < lowest(t) ? lowest(t) : x > highest(t) ? highest(t) : x;
}

// Bits as a number that is not negative.
static wide bits_of(wide x, struct type t)
{
    return (wide)((unsigned_wide)x & (((unsigned_wide)1 << t.bits) - 1));
}

#define RIGHT(name) \
    static wide right_##name(wide x, wide y, wide z, struct type t)
#define UNUSED ((void)x, (void)y, (void)z, (void)t)

RIGHT(abs)
{
    UNUSED;
    return x < 0 ? -x : x;
}
RIGHT(clz)
{
    UNUSED;
    int n = t.bits;
    for (wide b = bits_of(x, t); b; b >>= 1)
        n--;
    return n;
}
RIGHT(ctz)
{
    UNUSED;
    int n = 0;
    while (n < t.bits && !(x >> n & 1))
        n++;
    return n;
}
RIGHT(popcount)
{
    UNUSED;
    int n = 0;
    for (wide b = bits_of(x, t); b; b >>= 1)
        n += (int)(b & 1);
    return n;
}
RIGHT(abs_diff)
{
    UNUSED;
    return x > y ? x - y : y - x;
}
RIGHT(add_sat)
{
    UNUSED;
    return saturate(x + y, t);
}
RIGHT(sub_sat)
{
    UNUSED;
    return saturate(x - y, t);
}
RIGHT(hadd)
{
    UNUSED;
    return (x + y) >> 1;
}
RIGHT(rhadd)
{
    UNUSED;
    return (x + y + 1) >> 1;
}
RIGHT(max)
{
    UNUSED;
    return x > y ? x : y;
}
RIGHT(min)
{
    UNUSED;
    return x < y ? x : y;
}
RIGHT(clamp)
{
    UNUSED;
    return x < y ? (y < z ? y : z) : x > z ? z : x;
}
RIGHT(mul_hi)
{
    UNUSED;
    if (!t.is_signed)
        return (wide)((unsigned_wide)x * (unsigned_wide)y >> t.bits);
    return x * y >> t.bits;
}
RIGHT(mad_hi)
{
    return wrap(right_mul_hi(x, y, z, t) + z, t);
}
RIGHT(mad_sat)
{
    UNUSED;
    if (t.is_signed)
        return saturate(x * y + z, t);
    unsigned_wide sum = (unsigned_wide)x * (unsigned_wide)y + (unsigned_wide)z;
    return sum > (unsigned_wide)highest(t) ? highest(t) : (wide)sum;
}
RIGHT(rotate)
{
    UNUSED;
    int by = (int)(bits_of(y, t) % t.bits);
    unsigned_wide b = (unsigned_wide)bits_of(x, t);
    return wrap((wide)(b << by | b >> (t.bits - by)), t);
}
RIGHT(bitselect)
{
    UNUSED;
    return wrap((x & ~z) | (y & z), t);
}

typedef wide right(wide x, wide y, wide z, struct type t);

// Numbers of all sizes, and both ends.
static wide some_integer(int i, struct type t, uint64_t *state)
{
    uint64_t bits = random_bits(state);
    switch (i % 11) {
    case 0:
        return lowest(t) + (wide)(bits % 3);
    case 1:
        return highest(t) - (wide)(bits % 3);
    case 2:
        return wrap((wide)(bits % 5) - 2, t);
    default:
        return wrap((wide)(bits >> bits % 64), t);
    }
}

#define INTEGER(T, U, bits, is_signed)                                         \
    static void try_##T(const char *name,                                      \
                        void probe(uint64_t, const cl_##T *, const cl_##T *,   \
                                   const cl_##T *, cl_##T *),                  \
                        right *want)                                           \
    {                                                                          \
        static cl_##T x[COUNT], y[COUNT], z[COUNT], r[COUNT];                  \
        const struct type t = {bits, is_signed};                               \
        uint64_t state = 5;                                                    \
        for (int i = 0; i < COUNT; i++) {                                      \
            x[i] = (cl_##T)(bits == 8 ? i : some_integer(i, t, &state));       \
            y[i] = (cl_##T)(bits == 8 ? i / 256                                \
                                      : some_integer(i / 11, t, &state));      \
            z[i] = (cl_##T)some_integer(i / 121, t, &state);                   \
            if (strcmp(name, "clamp") == 0 && y[i] > z[i])                     \
                z[i] = y[i];                                                   \
        }                                                                      \
        probe(COUNT, x, y, z, r);                                              \
        for (int i = 0; i < COUNT; i++)                                        \
            if (bits_of(r[i], t) != bits_of(want(x[i], y[i], z[i], t), t)) {   \
                fprintf(stderr, "%s(%s): %lld, %lld, %lld gave %lld\n", name,  \
                        #T, (long long)x[i], (long long)y[i], (long long)z[i], \
                        (long long)r[i]);                                      \
                exit(1);                                                       \
            }                                                                  \
    }
#include "kernel/builtins/probe/types.def"
#undef INTEGER

#define EACH_INTEGER(F, name) \
    F(name, char)             \
    F(name, uchar)            \
    F(name, short)            \
    F(name, ushort) F(name, int) F(name, uint) F(name, long) F(name, ulong)
#define DECLARE(name, T)                                                  \
    void exact_##name##_##T(uint64_t n, const cl_##T *x, const cl_##T *y, \
                            const cl_##T *z, cl_##T *r);
#define INTEGER_1(name) EACH_INTEGER(DECLARE, name)
#define INTEGER_2(name) EACH_INTEGER(DECLARE, name)
#define INTEGER_3(name) EACH_INTEGER(DECLARE, name)
#include "kernel/builtins/probe/exact.def"
#undef INTEGER_1
#undef INTEGER_2
#undef INTEGER_3

static void integer_functions_are_exact(void)
{
#define TRY(name, T)    try_##T(#name, exact_##name##_##T, right_##name);
#define INTEGER_1(name) EACH_INTEGER(TRY, name)
#define INTEGER_2(name) EACH_INTEGER(TRY, name)
#define INTEGER_3(name) EACH_INTEGER(TRY, name)
#include "kernel/builtins/probe/exact.def"
}

enum how {
    DEFAULT,
    TO_EVEN,
    TO_ZERO,
    UP,
    DOWN,
    HOWS
};

static long double round_how(long double x, enum how how)
{
    switch (how) {
    case TO_ZERO:
        return truncl(x);
    case UP:
        return ceill(x);
    case DOWN:
        return floorl(x);
    default:
        return rintl(x);
    }
}

// x rounded to a format of so many digits.
static long double round_to(long double x, int digits, int least,
                            long double largest, enum how how)
{
    if (x == 0 || isnan(x) || isinf(x))
        return x;
    int exponent = ilogbl(x) - digits + 1;
    if (exponent < least)
        exponent = least;
    long double r =
        copysignl(ldexpl(round_how(ldexpl(x, -exponent), how), exponent), x);
    if (fabsl(r) <= largest)
        return r;
    bool infinite = how == DEFAULT || how == TO_EVEN || (how == UP && x > 0) ||
                    (how == DOWN && x < 0);
    return copysignl(infinite ? INFINITY : largest, x);
}

static bool same(long double a, long double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

// Numbers about the size of integers, halves between them, ends, specials.
static long double some_real(int i, bool is_float, uint64_t *state)
{
    static const double specials[] = {
        0.0,       -0.0,       INFINITY,    -INFINITY, NAN,
        0x1p-149,  -0x1p-1074, FLT_MAX,     -DBL_MAX,  DBL_MAX,
        65504,     65519,      65520,       -65520,    0x1p-25,
        0x1.8p-25, 0x1p-24,    0x1.ffcp-15, 0x1.ffep15};
    uint64_t bits = random_bits(state);
    double x;
    if (i < (int)(sizeof(specials) / sizeof(specials[0])))
        x = specials[i];
    else if (i % 4 == 0)
        x = ldexp(1, (int)(bits % 66)) - (double)(bits % 7) / 2;
    else if (i % 4 == 1)
        x = (double)((int64_t)(bits % 2001) - 1000) / 2;
    else
        x = ldexp((double)(int64_t)bits, (int)(bits % 90) - 88);
    if (i % 8 > 5)
        x = -x;
    return is_float ? (float)x : x;
}

static void fail_conversion(const char *to, const char *from, int how,
                            long double x, long double got)
{
    fprintf(stderr, "convert_%s of %s %La, rounding %d, gave %La\n", to, from,
            x, how, got);
    exit(1);
}

#define FILL_INTEGER(S, bits, is_signed)                                 \
    static void fill_##S(cl_##S *x)                                      \
    {                                                                    \
        const struct type t = {bits, is_signed};                         \
        uint64_t state = 6;                                              \
        for (int i = 0; i < COUNT; i++)                                  \
            x[i] = (cl_##S)(bits == 8 ? i : some_integer(i, t, &state)); \
    }
#define FILL_REAL(S, is_float)                             \
    static void fill_##S(cl_##S *x)                        \
    {                                                      \
        uint64_t state = 7;                                \
        for (int i = 0; i < COUNT; i++)                    \
            x[i] = (cl_##S)some_real(i, is_float, &state); \
    }
#define INTEGER(T, U, bits, is_signed) FILL_INTEGER(T, bits, is_signed)
#include "kernel/builtins/probe/types.def"
#undef INTEGER
FILL_REAL(float, true)
FILL_REAL(double, false)

#define FROM(F, ...)                                           \
    F(char, true, __VA_ARGS__)                                 \
    F(uchar, true, __VA_ARGS__)                                \
    F(short, true, __VA_ARGS__)                                \
    F(ushort, true, __VA_ARGS__)                               \
    F(int, true, __VA_ARGS__) F(uint, true, __VA_ARGS__)       \
        F(long, true, __VA_ARGS__) F(ulong, true, __VA_ARGS__) \
            F(float, false, __VA_ARGS__) F(double, false, __VA_ARGS__)

// Of integers what does not fit wraps; of floats it is not defined.
#define CONVERT_TO_INTEGER(S, is_integer, D, bits, is_signed)                  \
    void convert_##D##_of_##S(uint64_t n, int how, const cl_##S *x,            \
                              cl_##D *r);                                      \
    void saturate_##D##_of_##S(uint64_t n, int how, const cl_##S *x,           \
                               cl_##D *r);                                     \
    static void try_##D##_of_##S(void)                                         \
    {                                                                          \
        static cl_##S x[COUNT];                                                \
        static cl_##D r[COUNT], s[COUNT];                                      \
        const struct type t = {bits, is_signed};                               \
        fill_##S(x);                                                           \
        for (int how = 0; how < HOWS; how++) {                                 \
            convert_##D##_of_##S(COUNT, how, x, r);                            \
            saturate_##D##_of_##S(COUNT, how, x, s);                           \
            for (int i = 0; i < COUNT; i++) {                                  \
                long double whole = round_how((long double)x[i],               \
                                              how == DEFAULT ? TO_ZERO : how); \
                bool below = whole < (long double)lowest(t);                   \
                bool above = whole > (long double)highest(t);                  \
                wide want = isnan(whole) ? 0                                   \
                            : below      ? lowest(t)                           \
                            : above      ? highest(t)                          \
                                         : (wide)whole;                             \
                if (s[i] != (cl_##D)want)                                      \
                    fail_conversion(#D "_sat", #S, how, (long double)x[i],     \
                                    (long double)s[i]);                        \
                if (is_integer)                                                \
                    want = wrap((wide)x[i], t);                                \
                else if (below || above || isnan(whole))                       \
                    continue;                                                  \
                if (r[i] != (cl_##D)want)                                      \
                    fail_conversion(#D, #S, how, (long double)x[i],            \
                                    (long double)r[i]);                        \
            }                                                                  \
        }                                                                      \
    }
#define CONVERT_TO_REAL(S, is_integer, D, digits, least, largest)          \
    void convert_##D##_of_##S(uint64_t n, int how, const cl_##S *x,        \
                              cl_##D *r);                                  \
    static void try_##D##_of_##S(void)                                     \
    {                                                                      \
        static cl_##S x[COUNT];                                            \
        static cl_##D r[COUNT];                                            \
        fill_##S(x);                                                       \
        for (int how = 0; how < HOWS; how++) {                             \
            convert_##D##_of_##S(COUNT, how, x, r);                        \
            for (int i = 0; i < COUNT; i++)                                \
                if (!same(r[i], round_to((long double)x[i], digits, least, \
                                         largest, (enum how)how)))         \
                    fail_conversion(#D, #S, how, (long double)x[i], r[i]); \
        }                                                                  \
    }
#define INTEGER(T, U, bits, is_signed) \
    FROM(CONVERT_TO_INTEGER, T, bits, is_signed)
#include "kernel/builtins/probe/types.def"
#undef INTEGER
FROM(CONVERT_TO_REAL, float, 24, -149, FLT_MAX)
FROM(CONVERT_TO_REAL, double, 53, -1074, DBL_MAX)

static void conversions_round_and_saturate(void){
#define TRY_CONVERSION(S, is_integer, D) try_##D##_of_##S();
#define INTEGER(T, U, bits, is_signed)   FROM(TRY_CONVERSION, T)
#include "kernel/builtins/probe/types.def"
    FROM(TRY_CONVERSION, float) FROM(TRY_CONVERSION, double)}

#define RELATIONS(T)                                                           \
    void relations_##T(uint64_t n, const cl_##T *x, const cl_##T *y,           \
                       cl_int *r);                                             \
    static void try_relations_##T(void)                                        \
    {                                                                          \
        static cl_##T x[COUNT], y[COUNT];                                      \
        static cl_int r[COUNT];                                                \
        fill_##T(x);                                                           \
        for (int i = 0; i < COUNT; i++)                                        \
            y[i] = i % 3                                                       \
                       ? x[(unsigned)i * 7919U % COUNT % (i % 2 ? 20 : COUNT)] \
                       : x[i];                                                 \
        for (int i = 0; i < COUNT / 2; i++)                                    \
            x[i] = x[i % 20];                                                  \
        relations_##T(COUNT, x, y, r);                                         \
        for (int i = 0; i < COUNT; i++) {                                      \
            cl_##T a = x[i], b = y[i];                                         \
            int want = (a == b) | (a != b) << 1 | (a > b) << 2 |               \
                       (a >= b) << 3 | (a < b) << 4 | (a <= b) << 5 |          \
                       (a < b || a > b) << 6 | (!isnan(a) && !isnan(b)) << 7 | \
                       (isnan(a) || isnan(b)) << 8 | !!isfinite(a) << 9 |      \
                       !!isinf(a) << 10 | !!isnan(a) << 11 |                   \
                       !!isnormal(a) << 12 | !!signbit(a) << 13;               \
            CHECK(r[i] == want);                                               \
        }                                                                      \
    }
RELATIONS(float) RELATIONS(double)

    static void relations_are_those_of_c(void)
{
    try_relations_float();
    try_relations_double();
}

void select_3(uint64_t n, const cl_int *x, const cl_int *y, cl_int *r);
void any_all_16(uint64_t n, const cl_char *x, cl_int *r);
void shuffle_reverse(uint64_t n, const cl_ushort *x, cl_ushort *r);

static void vectors_are_loaded_packed_and_chosen_by_sign(void)
{
    static cl_int x[3 * 100 + 1], y[3 * 100], r[3 * 100 + 1];
    for (int i = 0; i < 300; i++) {
        x[i] = i * 37 % 100;
        y[i] = i * 53 % 100;
    }
    r[300] = -1;
    select_3(100, x, y, r);
    for (int i = 0; i < 300; i++)
        CHECK(r[i] == (x[i] < y[i] ? y[i] : x[i]));
    CHECK(r[300] == -1);

    static cl_char bytes[16 * 3];
    memset(bytes, 0x7f, sizeof(bytes));
    bytes[16 + 5] = -1;
    memset(bytes + 32, -128, 16);
    any_all_16(3, bytes, r);
    CHECK(r[0] == 0 && r[1] == 1 && r[2] == 3);

    static const cl_ushort forward[8] = {10, 11, 12, 13, 14, 15, 16, 17};
    cl_ushort back[8];
    shuffle_reverse(1, forward, back);
    for (int i = 0; i < 8; i++)
        CHECK(back[i] == forward[7 - i]);
}

void halves_of_float(uint64_t n, int how, const cl_float *x, uint16_t *r);
void halves_of_double(uint64_t n, int how, const cl_double *x, uint16_t *r);
void floats_of_half(uint64_t n, const uint16_t *x, cl_float *r);

static long double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    long double x = exponent == 31 ? (mantissa ? NAN : INFINITY)
                    : exponent     ? ldexpl(mantissa | 0x400, exponent - 25)
                                   : ldexpl(mantissa, -24);
    return bits & 0x8000 ? -x : x;
}

static void halves_are_rounded_as_asked(void)
{
    static uint16_t h[COUNT];
    static cl_float f[COUNT];
    static cl_double d[COUNT];

    for (int i = 0; i < COUNT; i++)
        h[i] = (uint16_t)i;
    floats_of_half(COUNT, h, f);
    for (int i = 0; i < COUNT; i++)
        CHECK(same(f[i], half_value(h[i])));

    fill_float(f);
    fill_double(d);
    for (int i = 0; i < COUNT; i += 3) {
        d[i] = ldexp((double)(i % 4097) / 2, i % 30 - 26);
        f[i] = (float)d[i];
    }
    for (int how = 0; how < HOWS; how++) {
        halves_of_float(COUNT, how, f, h);
        for (int i = 0; i < COUNT; i++)
            if (!same(half_value(h[i]),
                      round_to(f[i], 11, -24, 65504, (enum how)how)))
                fail_conversion("half", "float", how, f[i], half_value(h[i]));
        halves_of_double(COUNT, how, d, h);
        for (int i = 0; i < COUNT; i++)
            if (!same(half_value(h[i]),
                      round_to(d[i], 11, -24, 65504, (enum how)how)))
                fail_conversion("half", "double", how, d[i], half_value(h[i]));
    }
}

// f is nothing or the suffix of the C functions of float.
#define PARTS(T, f, below_1)                                                 \
    void parts_##T(uint64_t n, const cl_##T *x, const cl_##T *y, cl_##T *r); \
    static void try_parts_##T(void)                                          \
    {                                                                        \
        static cl_##T x[COUNT], y[COUNT], r[10 * COUNT];                     \
        fill_##T(x);                                                         \
        for (int i = 0; i < COUNT; i++)                                      \
            y[i] = x[(unsigned)i * 7919U % COUNT];                           \
        for (int i = 0; i < 400; i++) {                                      \
            x[COUNT - 400 + i] = x[i / 20];                                  \
            y[COUNT - 400 + i] = x[i % 20];                                  \
        }                                                                    \
        parts_##T(COUNT, x, y, r);                                           \
        for (int i = 0; i < COUNT; i++) {                                    \
            const cl_##T *p = r + 10 * i;                                    \
            int exponent, quotient;                                          \
            cl_##T whole, fraction = frexp##f(x[i], &exponent);              \
            CHECK(same(p[0], fraction));                                     \
            CHECK(!isfinite(x[i]) || (int)p[1] == exponent);                 \
            fraction = modf##f(x[i], &whole);                                \
            CHECK(same(p[2], fraction) && same(p[3], whole));                \
            whole = floor##f(x[i]);                                          \
            fraction = isfinite(x[i]) ? fmin##f(x[i] - whole, below_1)       \
                       : isnan(x[i])  ? x[i]                                 \
                                      : 0;                                    \
            CHECK(p[4] == fraction || isnan(x[i]));                          \
            CHECK(same(p[5], whole));                                        \
            CHECK(same(p[6], nextafter##f(x[i], y[i])));                     \
            CHECK(p[7] || !isfinite(x[i]));                                  \
            fraction = remquo##f(x[i], y[i], &quotient);                     \
            CHECK(same(p[8], fraction));                                     \
            CHECK(isnan(fraction) || (int)p[9] == (quotient & 7));           \
        }                                                                    \
    }
PARTS(float, f, 0x1.fffffep-1F)
PARTS(double, , 0x1.fffffffffffffp-1)

static void numbers_are_taken_apart(void)
{
    try_parts_float();
    try_parts_double();
}

int main(void)
{
    numbers_are_taken_apart();
    integer_functions_are_exact();
    conversions_round_and_saturate();
    relations_are_those_of_c();
    vectors_are_loaded_packed_and_chosen_by_sign();
    halves_are_rounded_as_asked();
    return 0;
}
