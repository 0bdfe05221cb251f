#include "kernel/footprint/arithmetic.h"

#include <string.h>

// Forms with the same multiples differ by a range, and stay tied to the
// variables; others become one range, from the least to the largest of both.
struct hdi_form hdi_form_either(const struct hdi_evaluation *e,
                                const struct hdi_form *a,
                                const struct hdi_form *b)
{
    if (!a->known || !b->known)
        return hdi_form_unknown;
    if (memcmp(a->k, b->k, sizeof(a->k)) == 0) {
        struct hdi_form r = *a;
        hdi_wide lo = (hdi_wide)b->c - a->c + b->lo;
        hdi_wide hi = (hdi_wide)b->c - a->c + b->hi;
        if (!hdi_is_small(lo) || !hdi_is_small(hi))
            return hdi_form_unknown;
        r.lo = lo < r.lo ? (int64_t)lo : r.lo;
        r.hi = hi > r.hi ? (int64_t)hi : r.hi;
        r.wild |= b->wild;
        return r;
    }
    int64_t lo[2], hi[2];
    if (!hdi_form_bounds(e, a, &lo[0], &hi[0]) ||
        !hdi_form_bounds(e, b, &lo[1], &hi[1]))
        return hdi_form_unknown;
    return hdi_form_range(lo[0] < lo[1] ? lo[0] : lo[1],
                          hi[0] > hi[1] ? hi[0] : hi[1], a->wild || b->wild);
}

// By a number it is exact. Of two ranges the product is extreme at one of the
// four pairs of ends.
struct hdi_form hdi_form_times(const struct hdi_evaluation *e,
                               const struct hdi_form *a,
                               const struct hdi_form *b)
{
    struct hdi_form zero = hdi_form_number(0);
    int64_t lo[2], hi[2];

    if (hdi_form_is_number(b))
        return hdi_form_sum(&zero, a, b->c + b->lo);
    if (hdi_form_is_number(a))
        return hdi_form_sum(&zero, b, a->c + a->lo);
    if (!hdi_form_bounds(e, a, &lo[0], &hi[0]) ||
        !hdi_form_bounds(e, b, &lo[1], &hi[1]))
        return hdi_form_unknown;
    hdi_wide least = (hdi_wide)lo[0] * lo[1], largest = least;
    for (unsigned i = 1; i < 4; i++) {
        hdi_wide p =
            (hdi_wide)(i & 1 ? hi[0] : lo[0]) * (i & 2 ? hi[1] : lo[1]);
        least = p < least ? p : least;
        largest = p > largest ? p : largest;
    }
    return hdi_is_small(least) && hdi_is_small(largest)
               ? hdi_form_range((int64_t)least, (int64_t)largest,
                                a->wild || b->wild)
               : hdi_form_unknown;
}

// Of what is not negative all division rounds down.
//
// Exact if the number divides every part of the form. Otherwise the ends are
// divided, and the tie to the variables is lost.
struct hdi_form hdi_form_over(const struct hdi_evaluation *e,
                              const struct hdi_form *a, int64_t number)
{
    struct hdi_form r = *a;
    bool exact = a->lo == 0 && a->hi == 0 && a->c % number == 0;
    int64_t lo, hi;

    for (unsigned v = 0; v < VARIABLES; v++)
        exact &= a->k[v] % number == 0;
    if (exact) {
        r.c /= number;
        for (unsigned v = 0; v < VARIABLES; v++)
            r.k[v] /= number;
        return r;
    }
    if (!hdi_form_bounds(e, a, &lo, &hi))
        return hdi_form_unknown;
    return hdi_form_range(hdi_divide_down(lo, number),
                          hdi_divide_down(hi, number), a->wild);
}

// `rest`: the remainder is asked for. C rounds signed division towards 0,
// hdi_form_over() down: they agree where nothing is negative, and elsewhere the
// quotient is not known. A remainder by a number is exact while all values are
// in one turn of it; else it is from 0 (or from minus, of signed negative
// values) to number - 1. By an unknown positive divisor the result is at most
// the dividend.
struct hdi_form hdi_form_quotient(const struct hdi_evaluation *e,
                                  const struct hdi_form *a,
                                  const struct hdi_form *b, unsigned bits,
                                  bool is_signed, bool rest)
{
    struct hdi_form x = hdi_form_fit(e, a, bits, is_signed),
                    y = hdi_form_fit(e, b, bits, is_signed);
    int64_t lo, hi;

    if (!hdi_form_bounds(e, &x, &lo, &hi))
        return hdi_form_unknown;
    if (!hdi_form_is_number(&y) || y.c + y.lo <= 0) {
        if (lo < 0)
            return hdi_form_unknown;
        int64_t from, to;
        if (!hdi_form_bounds(e, &y, &from, &to) || from < 1)
            return hdi_form_unknown;
        return hdi_form_range(0, rest && to - 1 < hi ? to - 1 : hi,
                              x.wild || y.wild);
    }
    int64_t number = y.c + y.lo;
    if (rest) {
        int64_t turns = hdi_divide_down(lo, number);
        if (turns == hdi_divide_down(hi, number) && (lo >= 0 || turns == 0)) {
            struct hdi_form many = hdi_form_number(number);
            return hdi_form_sum(&x, &many, -turns);
        }
        return hdi_form_range(lo < 0 ? -(number - 1) : 0, number - 1, false);
    }
    return lo >= 0 ? hdi_form_over(e, &x, number) : hdi_form_unknown;
}

//     x & (2^n - 1)   the rest by 2^n: exact within one turn
//     x ^ -1          -1 - x
//     x & y           at most the smaller one
//     x | y, x ^ y    below the next power of two above both
struct hdi_form hdi_form_bitwise(const struct hdi_evaluation *e, uint32_t op,
                                 const struct hdi_form *a,
                                 const struct hdi_form *b, unsigned bits)
{
    int64_t lo[2], hi[2];
    const struct hdi_form *mask = hdi_form_is_number(b)   ? b
                                  : hdi_form_is_number(a) ? a
                                                          : NULL;

    if (op == HDI_FOOTPRINT_AND && mask) {
        const struct hdi_form *other = mask == b ? a : b;
        int64_t number = mask->c + mask->lo;
        if (number >= 0 && (number & (number + 1)) == 0) {
            int64_t all = number + 1;
            if (!hdi_form_bounds(e, other, &lo[0], &hi[0]) ||
                hdi_divide_down(lo[0], all) != hdi_divide_down(hi[0], all))
                return hdi_form_range(0, number, false);
            struct hdi_form many = hdi_form_number(all);
            return hdi_form_sum(other, &many, -hdi_divide_down(lo[0], all));
        }
    }
    if (op == HDI_FOOTPRINT_XOR && mask && mask->c + mask->lo == -1) {
        struct hdi_form ones = hdi_form_number(-1); // ~x is -1 - x
        return hdi_form_sum(&ones, mask == b ? a : b, -1);
    }
    struct hdi_form x = hdi_form_fit(e, a, bits, false),
                    y = hdi_form_fit(e, b, bits, false);
    bool known[2] = {hdi_form_bounds(e, &x, &lo[0], &hi[0]),
                     hdi_form_bounds(e, &y, &lo[1], &hi[1])};
    if (op == HDI_FOOTPRINT_AND) {
        if (!known[0] && !known[1])
            return hdi_form_unknown;
        unsigned least = !known[0] || (known[1] && hi[1] < hi[0]);
        return hdi_form_range(0, hi[least], least ? y.wild : x.wild);
    }
    if (!known[0] || !known[1])
        return hdi_form_unknown;
    int64_t all = 1;
    while (all <= hi[0] || all <= hi[1])
        all *= 2;
    return hdi_form_range(0, all - 1, x.wild || y.wild);
}

// Where the ranges do not overlap one of the two is it, with its tie to the
// variables. Else from the smaller (larger) of the low ends to that of the high
// ends. Bounded by one that is not wild it is not wild: this is how kernels
// clamp addresses.
struct hdi_form hdi_form_extreme(const struct hdi_evaluation *e, uint32_t op,
                                 const struct hdi_form *a,
                                 const struct hdi_form *b, unsigned bits)
{
    bool is_signed = op == HDI_FOOTPRINT_SMIN || op == HDI_FOOTPRINT_SMAX;
    bool smaller = op == HDI_FOOTPRINT_SMIN || op == HDI_FOOTPRINT_UMIN;
    struct hdi_form x = hdi_form_fit(e, a, bits, is_signed),
                    y = hdi_form_fit(e, b, bits, is_signed);
    int64_t lo[2], hi[2];

    if (!hdi_form_bounds(e, &x, &lo[0], &hi[0]) ||
        !hdi_form_bounds(e, &y, &lo[1], &hi[1]))
        return hdi_form_unknown;
    if (hi[0] <= lo[1])
        return smaller ? x : y;
    if (hi[1] <= lo[0])
        return smaller ? y : x;
    unsigned low = smaller == (lo[0] < lo[1]) ? 0 : 1;
    unsigned high = smaller == (hi[0] < hi[1]) ? 0 : 1;
    return hdi_form_range(lo[low], hi[high], x.wild && y.wild);
}

// To the left. What falls off at the end does not matter: of a number that
// becomes too large the bits that stay will do.
//
// 61: one bit more would leave the numbers that are small.
struct hdi_form hdi_form_shifted(const struct hdi_evaluation *e,
                                 const struct hdi_form *a, int64_t by,
                                 unsigned bits)
{
    struct hdi_form zero = hdi_form_number(0);

    if (by < 0 || by > 61 || by >= bits)
        return hdi_form_unknown;
    struct hdi_form r = hdi_form_sum(&zero, a, INT64_C(1) << by);
    if (r.known || !a->known)
        return r;
    struct hdi_form stays = hdi_form_fit(e, a, bits - (unsigned)by, true);
    return hdi_form_sum(&zero, &stays, INT64_C(1) << by);
}
