// Main header of worth: whether it pays to make lanes, tiles or whole vectors of
// a kernel, and to run it on a GPU.
//
// What the work of a kernel costs in chunks of lanes (widen.h), and whether
// they pay.
#ifndef HDI_KERNEL_COMPILER_WORTH_WEIGH_H
#define HDI_KERNEL_COMPILER_WORTH_WEIGH_H

#include "kernel/compiler/analysis/affine.h"

// Does lanes' own arithmetic, which vectors do at once?
static inline bool hdi_is_work(const struct hdi_flow *flow, LLVMValueRef x)
{
    return hdi_flow_is_divergent(flow, x) &&
           (LLVMIsABinaryOperator(x) || LLVMIsACallInst(x) ||
            LLVMIsASelectInst(x));
}

enum {
    // Instructions of a region that lanes take: LLVM takes long over vectors.
    HDI_LANES_LONGEST = 16000,
    // Of one with bytes at addresses of each lane's own, which are taken one
    // after the other, and of vectors taken apart: it is not worth it beyond.
    HDI_LANES_LONG = 3000
};

// As how many of them one counts: what is done for one lane after the other is
// written out for each.
unsigned hdi_lanes_weight(LLVMValueRef instruction);

// Do chunks of lanes pay for this kernel? For one with barriers or loops,
// unless most of the work in loops is to gather, or to try an exchange again:
// then `*gathers` is the line of such a loop, else 0; and for what LLVM makes
// no vectors of. `items`: of the kernel of
// `nest`, without clamps. False when memory ran out.
bool hdi_weigh_lanes(const struct hdi_value_steps *items, struct hdi_nest *nest,
                     bool *pay, unsigned *gathers);

#endif
