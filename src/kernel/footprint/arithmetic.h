// What the operations of kernels make of forms. `bits` are those of operands
// and result.
#ifndef HDI_KERNEL_FOOTPRINT_ARITHMETIC_H
#define HDI_KERNEL_FOOTPRINT_ARITHMETIC_H

#include "kernel/footprint/form.h"

// One of the two.
struct hdi_form hdi_form_either(const struct hdi_evaluation *evaluation,
                                const struct hdi_form *a,
                                const struct hdi_form *b);

struct hdi_form hdi_form_times(const struct hdi_evaluation *evaluation,
                               const struct hdi_form *a,
                               const struct hdi_form *b);

// Divided by a positive number, rounded down.
struct hdi_form hdi_form_over(const struct hdi_evaluation *evaluation,
                              const struct hdi_form *a, int64_t number);

// Divided as C does; with `rest` what remains.
struct hdi_form hdi_form_quotient(const struct hdi_evaluation *evaluation,
                                  const struct hdi_form *a,
                                  const struct hdi_form *b, unsigned bits,
                                  bool is_signed, bool rest);

// `op`: HDI_FOOTPRINT_AND, _OR or _XOR.
struct hdi_form hdi_form_bitwise(const struct hdi_evaluation *evaluation,
                                 uint32_t op, const struct hdi_form *a,
                                 const struct hdi_form *b, unsigned bits);

// The least or the largest of two, as `op` says: HDI_FOOTPRINT_SMIN to _UMAX.
struct hdi_form hdi_form_extreme(const struct hdi_evaluation *evaluation,
                                 uint32_t op, const struct hdi_form *a,
                                 const struct hdi_form *b, unsigned bits);

// To the left.
struct hdi_form hdi_form_shifted(const struct hdi_evaluation *evaluation,
                                 const struct hdi_form *a, int64_t by,
                                 unsigned bits);

#endif
