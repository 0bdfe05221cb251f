// What has no form for vectors is done for one lane after the other, in their
// order, each with scalar copies of its operands.
#ifndef HDI_KERNEL_COMPILER_WIDE_BYLANE_H
#define HDI_KERNEL_COMPILER_WIDE_BYLANE_H

#include "kernel/compiler/wide/wide.h"

// Those lanes that are on, and a note of why. The latter also where nothing is
// left behind, then for all.
void hdi_by_lane(struct hdi_wide *wide, LLVMValueRef instruction,
                 const char *why);
void hdi_by_lane_pure(struct hdi_wide *wide, LLVMValueRef instruction);

// Write code once for every lane that is on: `write` is called once or more,
// with the lane.
void hdi_each_lane(struct hdi_wide *wide,
                   void write(struct hdi_wide *wide, LLVMValueRef lane,
                              void *data),
                   void *data);

#endif
