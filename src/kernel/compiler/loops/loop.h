// Loops over the work-items of a group in one dimension.
#ifndef HDI_KERNEL_COMPILER_LOOPS_LOOP_H
#define HDI_KERNEL_COMPILER_LOOPS_LOOP_H

#include "kernel/compiler/emit/emit.h"

struct hdi_loop {
    LLVMValueRef counter; // alloca
    LLVMBasicBlockRef head;
    bool is_of_rows; // of a chunk's column: see lanes/jam.h
};

// Begin a loop over dimension `d`, in which the group has a work-item at least:
// emit->item_ids[d] counts.
struct hdi_loop hdi_loop_begin(struct hdi_emit *emit, unsigned d);

// End it; `region` is the number of the region that it belongs to. The builder
// goes on behind the loop.
void hdi_loop_end(struct hdi_emit *emit, const struct hdi_loop *loop,
                  unsigned d, unsigned region);

#endif
