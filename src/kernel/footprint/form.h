// Forms and what is known of them for the ranges of an evaluation.
//
// Every operation here may allow more than what the operands allow, never less.
#ifndef HDI_KERNEL_FOOTPRINT_FORM_H
#define HDI_KERNEL_FOOTPRINT_FORM_H

#include "kernel/footprint/evaluation.h"

static const struct hdi_form hdi_form_unknown = {.known = false};

static inline struct hdi_form hdi_form_number(int64_t number)
{
    return (struct hdi_form){.known = true, .c = number};
}

// A number from `lo` to `hi` that is tied to no variable.
static inline struct hdi_form hdi_form_range(int64_t lo, int64_t hi, bool wild)
{
    return (struct hdi_form){.known = true, .wild = wild, .lo = lo, .hi = hi};
}

static inline struct hdi_form hdi_form_variable(unsigned v)
{
    struct hdi_form form = {.known = true};
    form.k[v] = 1;
    return form;
}

// What has no place below 2^62 either way is not known from there on: so 64
// bits never overflow when two are added.
static inline bool hdi_is_small(hdi_wide n)
{
    return n > -hdi_most && n < hdi_most;
}

// a + factor * b
struct hdi_form hdi_form_sum(const struct hdi_form *a, const struct hdi_form *b,
                             int64_t factor);

// Its value is then c + lo. False where it is not known.
bool hdi_form_is_number(const struct hdi_form *form);

// False: not known, or too large.
//
// Over all that the variables can be just now, each by itself: what ties two
// variables together is not used.
bool hdi_form_bounds(const struct hdi_evaluation *evaluation,
                     const struct hdi_form *form, int64_t *lo, int64_t *hi);

// The quotient, rounded to what is less.
int64_t hdi_divide_down(int64_t a, int64_t b);

// The least and the largest number of `bits` bits, 1 to 64.
void hdi_type_bounds(unsigned bits, bool is_signed, hdi_wide *lo, hdi_wide *hi);

// As the number that the low `bits` bits stand for.
struct hdi_form hdi_form_fit(const struct hdi_evaluation *evaluation,
                             const struct hdi_form *form, unsigned bits,
                             bool is_signed);

#endif
