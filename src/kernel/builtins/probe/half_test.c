// The builtins on halves: every half for functions of one, many pairs for
// functions of two, against the C library's long double. What the function of
// floats may lose is little beside the last place of a half.
#include "kernel/builtins/probe/reference.h"

static const struct format half_format = {"half", 11, -24, 65520.0L};

typedef void probe_1(uint64_t n, const uint16_t *x, uint16_t *r);
typedef void probe_2(uint64_t n, const uint16_t *x, const uint16_t *y,
                     uint16_t *r);
typedef void probe_3(uint64_t n, const uint16_t *x, const uint16_t *y,
                     const uint16_t *z, uint16_t *r);
typedef void probe_int(uint64_t n, const uint16_t *x, const int *y,
                       uint16_t *r);

#define REAL_1(name, reference, single, twice) probe_1 probe_##name##_half;
#define REAL_2(name, reference, single, twice) probe_2 probe_##name##_half;
#define EITHER_2(name, reference)              probe_2 probe_##name##_half;
#define REAL_INT(name, reference, bound)       probe_int probe_##name##_half;
#include "kernel/builtins/probe/math.def"
#undef REAL_1
#undef REAL_2
#undef EITHER_2
#undef REAL_INT
probe_3 probe_fma_half;
probe_2 probe_nextafter_half, probe_add_half, probe_multiply_half,
    probe_divide_half;

enum {
    ALL = 1 << 16,
    PAIRS = 1 << 18
};

static long double value_of(uint16_t bits)
{
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    long double x;

    if (exponent == 31)
        x = digits ? NAN : INFINITY;
    else if (exponent == 0)
        x = ldexpl(digits, -24);
    else
        x = ldexpl(1024 + digits, exponent - 25);
    return bits & 0x8000 ? -x : x;
}

// What is left of an error of `single` places of a float.
static double bound_of(double single)
{
    return single == 0 ? 0 : 0.5 + single * 0x1p-13;
}

static void try_1(const char *name, probe_1 *probe,
                  long double (*reference)(long double), double bound)
{
    static uint16_t x[ALL], r[ALL];
    struct worst worst = {-1, 0, 0, 0, 0};

    for (int i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    probe(ALL, x, r);
    for (int i = 0; i < ALL; i++) {
        long double right = reference(value_of(x[i])), got = value_of(r[i]);
        note(&worst, error_of(&half_format, got, right), value_of(x[i]), 0, got,
             right);
    }
    report(name, &half_format, &worst, bound);
}

static void fill(uint16_t *x, uint64_t *state)
{
    static const uint16_t specials[] = {0,      0x8000, 0x3c00, 0xbc00, 1,
                                        0x8001, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                                        0x7e00, 0x0400, 0x03ff, 0x4000, 0x3800};
    enum {
        SPECIALS = sizeof(specials) / sizeof(specials[0])
    };
    for (int i = 0; i < PAIRS; i++) {
        uint64_t bits = random_bits(state);
        x[i] = (uint16_t)(bits >> 32);
        if (i % 8 == 0)
            x[i] = specials[bits % SPECIALS];
        else if (i % 2)
            x[i] = (uint16_t)(0x3000 + (bits >> 32 & 0x8fff));
    }
}

static void try_2(const char *name, probe_2 *probe,
                  long double (*reference)(long double, long double),
                  double bound, bool either_zero)
{
    static uint16_t x[PAIRS], y[PAIRS], r[PAIRS];
    struct worst worst = {-1, 0, 0, 0, 0};
    uint64_t state = 1;

    fill(x, &state);
    fill(y, &state);
    probe(PAIRS, x, y, r);
    for (int i = 0; i < PAIRS; i++) {
        long double a = value_of(x[i]), b = value_of(y[i]);
        long double right = reference(a, b), got = value_of(r[i]);
        if (either_zero && right == 0 && got == 0)
            continue;
        note(&worst, error_of(&half_format, got, right), a, b, got, right);
    }
    report(name, &half_format, &worst, bound);
}

static void try_int(const char *name, probe_int *probe,
                    long double (*reference)(long double, int), double bound)
{
    static uint16_t x[PAIRS], r[PAIRS];
    static int y[PAIRS];
    struct worst worst = {-1, 0, 0, 0, 0};
    uint64_t state = 2;

    fill(x, &state);
    for (int i = 0; i < PAIRS; i++)
        y[i] = (int)(random_bits(&state) % 121) - 60;
    probe(PAIRS, x, y, r);
    for (int i = 0; i < PAIRS; i++) {
        long double a = value_of(x[i]);
        long double right = reference(a, y[i]), got = value_of(r[i]);
        note(&worst, error_of(&half_format, got, right), a, y[i], got, right);
    }
    report(name, &half_format, &worst, bound);
}

static long double sum_reference(long double x, long double y)
{
    return x + y;
}

static long double product_reference(long double x, long double y)
{
    return x * y;
}

static long double quotient_reference(long double x, long double y)
{
    return x / y;
}

// Products and sums of halves are exact in 128 bits, and a long double's 64
// hold them but where the parts are far apart: those have an odd last bit.
static long double fma_reference(long double x, long double y, long double z)
{
    long double p = x * y, sum = p + z, part = sum - p;
    long double low = (p - (sum - part)) + (z - part);
    // A step that is far below a half's last place breaks ties.
    return low == 0 || !isfinite(low)
               ? sum
               : sum + copysignl(ldexpl(1, ilogbl(sum) - 40), low);
}

static void sums_of_products_are_rounded_once(void)
{
    static uint16_t x[PAIRS], y[PAIRS], z[PAIRS], r[PAIRS];
    struct worst worst = {-1, 0, 0, 0, 0};
    uint64_t state = 3;

    fill(x, &state);
    fill(y, &state);
    fill(z, &state);
    probe_fma_half(PAIRS, x, y, z, r);
    for (int i = 0; i < PAIRS; i++) {
        long double a = value_of(x[i]), b = value_of(y[i]), c = value_of(z[i]);
        long double right = fma_reference(a, b, c), got = value_of(r[i]);
        double error =
            right == 0 && got == 0 ? 0 : error_of(&half_format, got, right);
        note(&worst, error, a, b, got, right);
    }
    report("fma", &half_format, &worst, 0.5);
}

static void neighbours_are_next_to_each_other(void)
{
    static uint16_t x[ALL], up[ALL], r[ALL];

    for (int i = 0; i < ALL; i++) {
        x[i] = (uint16_t)i;
        up[i] = 0x7c00;
    }
    probe_nextafter_half(ALL, x, up, r);
    for (int i = 0; i < ALL; i++) {
        if ((x[i] & 0x7fff) > 0x7c00)
            CHECK((r[i] & 0x7fff) > 0x7c00);
        else if ((x[i] & 0x7fff) == 0)
            CHECK(r[i] == 1);
        else if (x[i] == 0x7c00)
            CHECK(r[i] == 0x7c00);
        else
            CHECK(r[i] == (x[i] & 0x8000 ? x[i] - 1 : x[i] + 1));
    }
}

// The half that a number is rounded to: 0 and 1 to nearest, 2 to zero, 3 up, 4
// down.
static uint16_t rounded(long double x, int how)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0, low = 0, high = 0x7c00;
    long double a = fabsl(x);

    if (isnan(x))
        return 0x7e00;
    // The largest half that is not above |x|, and the next one.
    while (low + 1 < high) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        *(value_of(middle) <= a ? &low : &high) = middle;
    }
    if (isinf(x))
        return sign | 0x7c00;
    if (value_of(low) == a)
        return sign | low;
    bool up = how == 3 ? sign == 0 : how == 4 ? sign != 0 : false;
    if (how < 2) {
        long double above = high == 0x7c00 ? 65536 : value_of(high);
        long double middle = (value_of(low) + above) / 2;
        up = a > middle || (a == middle && low % 2 == 1);
    }
    return sign | (up ? high : low);
}

#define TRY_FROM(S, T, value)                                   \
    {                                                           \
        static T x[PAIRS];                                      \
        static uint16_t r[PAIRS];                               \
        uint64_t state = 5;                                     \
        for (int i = 0; i < PAIRS; i++) {                       \
            uint64_t bits = random_bits(&state);                \
            x[i] = (T)(value);                                  \
        }                                                       \
        for (int how = 0; how < 5; how++) {                     \
            half_of_##S(PAIRS, how, x, r);                      \
            for (int i = 0; i < PAIRS; i++)                     \
                CHECK(r[i] == rounded((long double)x[i], how)); \
        }                                                       \
    }
#define TRY_TO(D, T, LOW, HIGH)                              \
    {                                                        \
        static T r[ALL];                                     \
        for (int how = 0; how < 5; how++) {                  \
            half_to_##D(ALL, how, all, r);                   \
            for (int i = 0; i < ALL; i++) {                  \
                long double v = value_of(all[i]);            \
                v = how == 1   ? rintl(v)                    \
                    : how == 3 ? ceill(v)                    \
                    : how == 4 ? floorl(v)                   \
                               : truncl(v);                  \
                v = isnan(v) ? 0 : v < (LOW) ? (LOW) : v;    \
                CHECK(r[i] == (v > (HIGH) ? (HIGH) : (T)v)); \
            }                                                \
        }                                                    \
    }
#define PROBES(S, T) \
    void half_of_##S(uint64_t n, int how, const T *x, uint16_t *r);
PROBES(int, int32_t)
PROBES(uint, uint32_t)
PROBES(long, int64_t)
PROBES(ulong, uint64_t)
PROBES(float, float)
PROBES(double, double)
void half_to_char(uint64_t n, int how, const uint16_t *x, int8_t *r);
void half_to_ushort(uint64_t n, int how, const uint16_t *x, uint16_t *r);
void half_to_int(uint64_t n, int how, const uint16_t *x, int32_t *r);
void half_to_ulong(uint64_t n, int how, const uint16_t *x, uint64_t *r);
void half_relations(uint64_t n, const uint16_t *x, const uint16_t *y, int *r);

static void conversions_round_as_they_say(void)
{
    static uint16_t all[ALL];

    for (int i = 0; i < ALL; i++)
        all[i] = (uint16_t)i;
    TRY_FROM(int, int32_t, (int64_t)bits >> (32 + bits % 30))
    TRY_FROM(uint, uint32_t, bits >> (32 + bits % 30))
    TRY_FROM(long, int64_t, (int64_t)bits >> bits % 62)
    TRY_FROM(ulong, uint64_t, bits >> bits % 62)
    TRY_FROM(float, float, ldexp((double)(int64_t)bits, (int)(bits % 60) - 98))
    TRY_FROM(double, double,
             ldexp((double)(int64_t)bits, (int)(bits % 60) - 98))
    TRY_TO(char, int8_t, INT8_MIN, INT8_MAX)
    TRY_TO(ushort, uint16_t, 0, UINT16_MAX)
    TRY_TO(int, int32_t, INT32_MIN, INT32_MAX)
    TRY_TO(ulong, uint64_t, 0, UINT64_MAX)
}

static void relations_are_those_of_the_numbers(void)
{
    static uint16_t x[PAIRS], y[PAIRS];
    static int r[PAIRS];
    uint64_t state = 7;

    fill(x, &state);
    fill(y, &state);
    half_relations(PAIRS, x, y, r);
    for (int i = 0; i < PAIRS; i++) {
        long double a = value_of(x[i]), b = value_of(y[i]);
        bool normal = isfinite(a) && fabsl(a) >= 0x1p-14L;
        int right = (a == b) | (a != b) << 1 | (a > b) << 2 | (a >= b) << 3 |
                    (a < b) << 4 | (a <= b) << 5 | (a < b || a > b) << 6 |
                    !isunordered(a, b) << 7 | !!isunordered(a, b) << 8 |
                    !!isfinite(a) << 9 | !!isinf(a) << 10 | !!isnan(a) << 11 |
                    normal << 12 | (x[i] >> 15) << 13;
        CHECK(r[i] == right);
    }
}

int main(void)
{
#define REAL_1(name, reference, single, twice) \
    try_1(#name, probe_##name##_half, reference, bound_of(single));
#define REAL_2(name, reference, single, twice) \
    try_2(#name, probe_##name##_half, reference, bound_of(single), false);
#define EITHER_2(name, reference) \
    try_2(#name, probe_##name##_half, reference, 0, true);
#define REAL_INT(name, reference, bound) \
    try_int(#name, probe_##name##_half, reference, bound_of(bound));
#include "kernel/builtins/probe/math.def"
    try_2("add", probe_add_half, sum_reference, 0.5, false);
    try_2("multiply", probe_multiply_half, product_reference, 0.5, false);
    try_2("divide", probe_divide_half, quotient_reference, 0.5, false);
    sums_of_products_are_rounded_once();
    neighbours_are_next_to_each_other();
    conversions_round_as_they_say();
    relations_are_those_of_the_numbers();
    return failures > 0;
}
