// Loops in which each work-item walks from its id on by steps that are the same
// for all:
//
//     for (i = get_global_id(0); i < n; i += get_global_size(0)) ...
//
// so its value is the id + turn * step, whose neighbours are those of the ids.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_WALK_H
#define HDI_KERNEL_COMPILER_ANALYSIS_WALK_H

#include "kernel/compiler/ir/llvm.h"

struct hdi_walk {
    LLVMBasicBlockRef before, head, latch; // entered from, and gone on from
    LLVMValueRef index;                    // a phi node of the head
    LLVMValueRef half;      // its lower bits, when those are compared, or NULL
    LLVMValueRef next;      // what the index is in the next turn: a sum
    LLVMValueRef id;        // local or global, in x: a call
    LLVMValueRef step;      // a constant above 0, or a size in x: a call
    LLVMValueRef condition; // `index predicate bound`, or turned round: at the
                            // end of the head; the loop goes on when it holds
    LLVMIntPredicate predicate;
    LLVMValueRef bound;
};

// Does the loop walk that `head` heads? The kernel has phi nodes. A number of
// 32 bits may be computed in 64 ones (low.h).
bool hdi_walk_find(LLVMBasicBlockRef head, struct hdi_walk *walk);

// Does nothing else ask for the id, also not in other calls?
bool hdi_walk_owns_id(const struct hdi_walk *walk);

// Is the index used by way of its lower 32 bits alone?
bool hdi_walk_is_short(const struct hdi_walk *walk);

#endif
