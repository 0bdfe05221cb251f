// The scopes of a footprint, evaluated one after another.
#ifndef HDI_KERNEL_FOOTPRINT_SCOPE_H
#define HDI_KERNEL_FOOTPRINT_SCOPE_H

#include "kernel/footprint/evaluation.h"

// Evaluate what is computed in a scope, whose conditions narrow the ranges of
// variables. `*exact`: and these say all of it; left as it is where nothing is
// done (evaluation->empty).
void hdi_evaluate_scope(struct hdi_evaluation *evaluation, uint32_t scope,
                        bool *exact);

#endif
