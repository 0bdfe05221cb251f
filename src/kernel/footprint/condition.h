// What a condition says of the variables: it narrows their ranges, one variable
// at a time from those of the others.
#ifndef HDI_KERNEL_FOOTPRINT_CONDITION_H
#define HDI_KERNEL_FOOTPRINT_CONDITION_H

#include "kernel/footprint/evaluation.h"

// Narrow ranges to what the condition allows. Its nodes have been evaluated.
void hdi_condition_apply(struct hdi_evaluation *evaluation,
                         const struct hdi_footprint_condition *condition);

// Does it hold for all that the variables can be?
bool hdi_condition_is_implied(struct hdi_evaluation *evaluation,
                              const struct hdi_footprint_condition *condition);

// Ids that are sums stay below the global size.
void hdi_condition_apply_ids(struct hdi_evaluation *evaluation);

#endif
