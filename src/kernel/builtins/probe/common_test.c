// Common and geometric functions of each type against long double, as exact as
// OpenCL asks; and integer functions of few bits, exactly.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/check.h"

enum {
    COUNT = 4000
};

struct format {
    const char *name;
    int digits, least; // of the fraction; exponent of the smallest number
    int large;         // vectors may be this power of two longer, 0: not tried
};
static const struct format half_format = {"half", 11, -24, 0};
static const struct format float_format = {"float", 24, -149, 120};
static const struct format double_format = {"double", 53, -1074, 1000};

static double numbers[8 * COUNT], results[4 * COUNT];

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// `step` times whole numbers up to 1000.
static void fill(double step)
{
    uint64_t state = 11;

    for (int i = 0; i < 8 * COUNT; i++)
        numbers[i] = step * ((double)(random_bits(&state) % 2001) - 1000);
}

static long double ulp(long double x, const struct format *f)
{
    int exponent = x == 0 ? f->least : ilogbl(x) - f->digits + 1;
    return ldexpl(1, exponent < f->least ? f->least : exponent);
}

static void check_near(const char *name, const struct format *f, int width,
                       long double got, long double want, long double allowed)
{
    if (fabsl(got - want) <= allowed)
        return;
    fprintf(stderr, "%s of %s, width %d: %La, not %La\n", name, f->name, width,
            got, want);
    exit(1);
}

// Numbers ---------------------------------------------------------------------

typedef void probe(uint64_t n, const double *from, double *to);
typedef long double right(long double x, long double y, long double z);

static const long double pi = 3.14159265358979323846264338327950288L;

static long double right_degrees(long double x, long double y, long double z)
{
    (void)y, (void)z;
    return x * 180 / pi;
}
static long double right_radians(long double x, long double y, long double z)
{
    (void)y, (void)z;
    return x * pi / 180;
}
static long double right_sign(long double x, long double y, long double z)
{
    (void)y, (void)z;
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static long double right_max(long double x, long double y, long double z)
{
    (void)z;
    return x < y ? y : x;
}
static long double right_min(long double x, long double y, long double z)
{
    (void)z;
    return y < x ? y : x;
}
static long double right_clamp(long double x, long double y, long double z)
{
    long double low = right_min(y, z, 0), high = right_max(y, z, 0);
    return x < low ? low : x > high ? high : x;
}
static long double right_step(long double x, long double y, long double z)
{
    (void)z;
    return y < x ? 0 : 1;
}
static long double right_mix(long double x, long double y, long double z)
{
    return x + (y - x) * z;
}
static long double right_smoothstep(long double x, long double y, long double z)
{
    long double low = right_min(x, y, 0) - 1, high = right_max(x, y, 0);
    long double t = right_clamp((z - low) / (high - low), 0, 1);
    return t * t * (3 - 2 * t);
}
// Of numbers: any bit.
static long double right_select(long double x, long double y, long double z)
{
    return (int64_t)z != 0 ? y : x;
}
static long double right_mul24(long double x, long double y, long double z)
{
    (void)z;
    return x * y;
}
static long double right_mad24(long double x, long double y, long double z)
{
    return x * y + z;
}
static long double right_low_mul24(long double x, long double y, long double z)
{
    (void)z;
    return (long double)(((int64_t)x & 255) * ((int64_t)y & 255));
}
static long double right_low_mad24(long double x, long double y, long double z)
{
    return right_low_mul24(x, y, z) + z;
}

static void try_numbers(const char *name, const struct format *f, probe *call,
                        right *want, double ulps, bool of_largest)
{
    call(COUNT, numbers, results);
    for (int i = 0; i < COUNT; i++) {
        const double *in = numbers + 3 * i;
        long double r = want(in[0], in[1], in[2]), largest = r;
        for (int c = 0; c < 3 && of_largest; c++)
            largest = fmaxl(largest, fabsl(in[c]));
        if (of_largest)
            largest *= fmaxl(1, fabsl(in[2]));
        check_near(name, f, 1, results[i], r, ulps * ulp(largest, f));
    }
}

#define TRY(name, T, ulps, of_largest)                                     \
    do {                                                                   \
        probe common_##name##_##T;                                         \
        try_numbers(#name, &T##_format, common_##name##_##T, right_##name, \
                    ulps, of_largest);                                     \
    } while (0)
// How exact mix() and smoothstep() are is not said.
#define TRY_COMMON(T)          \
    TRY(degrees, T, 2, false); \
    TRY(radians, T, 2, false); \
    TRY(sign, T, 0, false);    \
    TRY(max, T, 0, false);     \
    TRY(min, T, 0, false);     \
    TRY(clamp, T, 0, false);   \
    TRY(step, T, 0, false);    \
    TRY(mix, T, 4, true);      \
    TRY(smoothstep, T, 4, true)

static void common_functions_are_near(void)
{
    fill(1.0 / 64);
    TRY_COMMON(half);
    TRY_COMMON(float);
    TRY_COMMON(double);
}

#define TRY_EXACT(name, T, want)                                         \
    do {                                                                 \
        probe common_##name##_##T;                                       \
        static const struct format whole = {#T, 64, 0, 0};               \
        try_numbers(#name, &whole, common_##name##_##T, right_##want, 0, \
                    false);                                              \
    } while (0)

static int64_t wrap(long double x, int bits, bool is_signed)
{
    uint64_t low = (uint64_t)(int64_t)x & ((UINT64_C(1) << bits) - 1);
    return is_signed && low >> (bits - 1) ? (int64_t)low - (INT64_C(1) << bits)
                                          : (int64_t)low;
}
#define RIGHT_UPSAMPLE(T, bits, is_signed)                                    \
    static long double right_upsample_##T(long double x, long double y,       \
                                          long double z)                      \
    {                                                                         \
        (void)z;                                                              \
        return ldexpl(wrap(x, bits, is_signed), bits) + wrap(y, bits, false); \
    }
RIGHT_UPSAMPLE(char, 8, true)
RIGHT_UPSAMPLE(uchar, 8, false)
RIGHT_UPSAMPLE(short, 16, true)
RIGHT_UPSAMPLE(ushort, 16, false)
RIGHT_UPSAMPLE(int, 32, true)
RIGHT_UPSAMPLE(uint, 32, false)

static void integers_are_exact(void)
{
    // Not more than a char holds; what is unsigned gets no sign.
    fill(1.0 / 8);
    for (int i = 0; i < 8 * COUNT; i++)
        numbers[i] = trunc(numbers[i]) + (numbers[i] < -120 ? 8 : 0);
    TRY_EXACT(select_char, char, select);
    TRY_EXACT(select_int, int, select);
    TRY_EXACT(mul24, int, mul24);
    TRY_EXACT(mad24, int, mad24);
    TRY_EXACT(upsample, char, upsample_char);
    TRY_EXACT(upsample, short, upsample_short);
    TRY_EXACT(upsample, int, upsample_int);
    TRY_EXACT(select_short, half, select);
    TRY_EXACT(select_int, float, select);
    TRY_EXACT(select_long, double, select);
    for (int i = 0; i < 8 * COUNT; i++)
        numbers[i] = fabs(numbers[i]);
    TRY_EXACT(select_ushort, ushort, select);
    TRY_EXACT(select_long, ulong, select);
    TRY_EXACT(select_ushort, half, select);
    TRY_EXACT(select_uint, float, select);
    TRY_EXACT(select_ulong, double, select);
    TRY_EXACT(mul24, uint, low_mul24);
    TRY_EXACT(mad24, uint, low_mad24);
    TRY_EXACT(upsample, uchar, upsample_uchar);
    TRY_EXACT(upsample, ushort, upsample_ushort);
    TRY_EXACT(upsample, uint, upsample_uint);
}

// Vectors ---------------------------------------------------------------------

enum geometric {
    DOT,
    LENGTH,
    DISTANCE,
    NORMALIZE,
    CROSS,
    FAST_LENGTH,
    FAST_DISTANCE,
    FAST_NORMALIZE
};
static const char *const names[] = {
    "dot",   "length",      "distance",      "normalize",
    "cross", "fast_length", "fast_distance", "fast_normalize"};

static long double length_of(const double *x, const double *y, int n)
{
    long double sum = 0;

    for (int c = 0; c < n; c++) {
        long double d = y ? (long double)x[c] - y[c] : x[c];
        sum += d * d;
    }
    return sqrtl(sum);
}

// Result `c` for two vectors of `n`, and how far off it may be.
static long double right_vector(enum geometric kind, int n, const double *x,
                                const double *y, int c, const struct format *f,
                                long double *allowed)
{
    long double r = 0, sum = 0;
    int a = (c + 1) % 3, b = (c + 2) % 3;
    bool fast = kind >= FAST_LENGTH;

    switch (kind) {
    case DOT:
        for (int i = 0; i < n; i++) {
            r += (long double)x[i] * y[i];
            sum += fabsl((long double)x[i] * y[i]);
        }
        *allowed = (2 * n - 1) * ulp(sum, f);
        return r;
    case CROSS:
        r = c == 3 ? 0 : (long double)x[a] * y[b] - (long double)x[b] * y[a];
        sum = fabsl((long double)x[a] * y[b]) + fabsl((long double)x[b] * y[a]);
        *allowed = c == 3 ? 0 : 3 * ulp(sum, f);
        return r;
    case LENGTH:
    case FAST_LENGTH:
        r = length_of(x, NULL, n);
        *allowed = (fast ? 8191 + n : 2.75L + 0.5L * n) * ulp(r, f);
        return r;
    case DISTANCE:
    case FAST_DISTANCE:
        r = length_of(x, y, n);
        *allowed = (fast ? 8191 + 2 * n : 5.5L + n) * ulp(r, f);
        return r;
    case NORMALIZE:
    case FAST_NORMALIZE:
    default:
        sum = length_of(x, NULL, n);
        r = sum == 0 ? 0 : x[c] / sum;
        *allowed = (fast ? 8192 + n : 2 + n) * ulp(r, f);
        return r;
    }
}

static void try_vectors(enum geometric kind, int n, const struct format *f,
                        probe *call)
{
    bool is_vector =
        kind == NORMALIZE || kind == CROSS || kind == FAST_NORMALIZE;

    call(COUNT, numbers, results);
    for (int i = 0; i < COUNT; i++)
        for (int c = 0; c < (is_vector ? n : 1); c++) {
            long double allowed,
                want = right_vector(kind, n, numbers + 8 * i,
                                    numbers + 8 * i + 4, c, f, &allowed);
            check_near(names[kind], f, n, results[4 * i + c], want, allowed);
        }
}

#define TRY_VECTORS(kind, name, n, T)                                    \
    do {                                                                 \
        probe geometric_##name##_##n##_##T;                              \
        try_vectors(kind, n, &T##_format, geometric_##name##_##n##_##T); \
    } while (0)
#define TRY_LENGTHS(n, T)                  \
    TRY_VECTORS(LENGTH, length, n, T);     \
    TRY_VECTORS(DISTANCE, distance, n, T); \
    TRY_VECTORS(NORMALIZE, normalize, n, T)
#define TRY_DOT(n, T) TRY_VECTORS(DOT, dot, n, T)
#define TRY_FAST(n, T)                               \
    TRY_VECTORS(FAST_LENGTH, fast_length, n, T);     \
    TRY_VECTORS(FAST_DISTANCE, fast_distance, n, T); \
    TRY_VECTORS(FAST_NORMALIZE, fast_normalize, n, T)
#define WIDTHS(F, T) \
    F(1, T);         \
    F(2, T);         \
    F(3, T);         \
    F(4, T)
// The squares of these are too large or too small for the type.
#define TRY_FAR(T)                         \
    fill(ldexp(1, T##_format.large - 10)); \
    WIDTHS(TRY_LENGTHS, T);                \
    fill(ldexp(1, 2 - T##_format.large));  \
    WIDTHS(TRY_LENGTHS, T)
#define TRY_GEOMETRIC(T)             \
    WIDTHS(TRY_LENGTHS, T);          \
    WIDTHS(TRY_DOT, T);              \
    TRY_VECTORS(CROSS, cross, 3, T); \
    TRY_VECTORS(CROSS, cross, 4, T)

static void geometric_functions_are_near(void)
{
    fill(1.0 / 64);
    TRY_GEOMETRIC(half);
    TRY_GEOMETRIC(float);
    TRY_GEOMETRIC(double);
    WIDTHS(TRY_FAST, float);
    TRY_FAR(float);
    TRY_FAR(double);
}

int main(void)
{
    common_functions_are_near();
    integers_are_exact();
    geometric_functions_are_near();
    return 0;
}
