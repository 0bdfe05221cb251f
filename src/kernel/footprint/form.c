#include "kernel/footprint/form.h"

// Exact for c and k; ranges of r add up, a negative factor swaps them. Not
// known where a number becomes too large.
struct hdi_form hdi_form_sum(const struct hdi_form *a, const struct hdi_form *b,
                             int64_t factor)
{
    struct hdi_form r = {.known = a->known && b->known,
                         .wild = a->wild || b->wild};
    hdi_wide c = a->c + (hdi_wide)factor * b->c;
    hdi_wide lo = a->lo + (hdi_wide)factor * (factor < 0 ? b->hi : b->lo);
    hdi_wide hi = a->hi + (hdi_wide)factor * (factor < 0 ? b->lo : b->hi);

    if (!r.known || !hdi_is_small(c) || !hdi_is_small(lo) || !hdi_is_small(hi))
        return hdi_form_unknown;
    r.c = (int64_t)c;
    r.lo = (int64_t)lo;
    r.hi = (int64_t)hi;
    for (unsigned v = 0; v < VARIABLES; v++) {
        hdi_wide k = a->k[v] + (hdi_wide)factor * b->k[v];
        if (!hdi_is_small(k))
            return hdi_form_unknown;
        r.k[v] = (int64_t)k;
    }
    return r;
}

// Each product is largest or smallest at an end of the variable's range. A loop
// whose turns have no bound yet (`open`) has none here.
bool hdi_form_bounds(const struct hdi_evaluation *e,
                     const struct hdi_form *form, int64_t *lo, int64_t *hi)
{
    hdi_wide least = (hdi_wide)form->c + form->lo;
    hdi_wide largest = (hdi_wide)form->c + form->hi;

    for (unsigned v = 0; v < VARIABLES; v++) {
        if (form->k[v] != 0 && e->open[v])
            return false;
        hdi_wide a = (hdi_wide)form->k[v] * e->lo[v];
        hdi_wide b = (hdi_wide)form->k[v] * e->hi[v];
        least += a < b ? a : b;
        largest += a < b ? b : a;
    }
    if (!form->known || !hdi_is_small(least) || !hdi_is_small(largest))
        return false;
    *lo = (int64_t)least;
    *hi = (int64_t)largest;
    return true;
}

bool hdi_form_is_number(const struct hdi_form *form)
{
    for (unsigned v = 0; v < VARIABLES; v++)
        if (form->k[v])
            return false;
    return form->known && form->lo == form->hi;
}

void hdi_type_bounds(unsigned bits, bool is_signed, hdi_wide *lo, hdi_wide *hi)
{
    hdi_wide one = 1;
    *lo = is_signed ? -(one << (bits - 1)) : 0;
    *hi = (is_signed ? one << (bits - 1) : one << bits) - 1;
}

static int64_t clamp(hdi_wide n)
{
    return n >= hdi_most    ? hdi_most - 1
           : n <= -hdi_most ? -hdi_most + 1
                            : (int64_t)n;
}

// A form is a number without a width, and the kernel has its low bits only. If
// all that it may be lies within one turn of 2^bits, the number of turns is
// taken off, and the form stays exact:
//
//     -- least ------ largest -- least + 2^bits ------ largest + 2^bits --
//                                      [lo ...... hi]      one turn too far
//
// Otherwise it may be any number of the type.
struct hdi_form hdi_form_fit(const struct hdi_evaluation *e,
                             const struct hdi_form *form, unsigned bits,
                             bool is_signed)
{
    hdi_wide least, largest;
    int64_t lo, hi;
    struct hdi_form r = *form;

    hdi_type_bounds(bits, is_signed, &least, &largest);
    if (hdi_form_bounds(e, form, &lo, &hi)) {
        hdi_wide all = (hdi_wide)1 << bits, from = lo - least;
        hdi_wide turns = from / all - (from % all < 0);
        if (hi - turns * all <= largest) {
            hdi_wide c = r.c - turns * all;
            if (!hdi_is_small(c))
                return hdi_form_unknown;
            r.c = (int64_t)c;
            return r;
        }
    }
    return bits > 32 ? hdi_form_unknown
                     : hdi_form_range(clamp(least), clamp(largest), true);
}

// C rounds towards 0; here negative quotients round down as well. `b` may be
// negative.
int64_t hdi_divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
