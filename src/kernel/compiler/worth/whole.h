// Vectors of a kernel that stay whole.
//
// Vectors are taken apart so that lanes, or LLVM's loops, make vectors of
// neighbouring work-items: as fast or faster, whatever their width. Of a long
// kernel the elements, each in a register of its own, would be more than there
// are registers. If its own vectors fill registers it keeps them, and work-items
// follow one another.
#ifndef HDI_KERNEL_COMPILER_WORTH_WHOLE_H
#define HDI_KERNEL_COMPILER_WORTH_WHOLE_H

#include "kernel/compiler/ir/llvm.h"

// Instructions of a kernel, as it is and with its vectors taken apart. Of the
// former a vector counts once for each register that it takes.
struct hdi_whole {
    unsigned whole, apart;
    unsigned barriers; // which cut it into regions
};

struct hdi_whole hdi_whole_find(const struct hdi_llvm *llvm,
                                LLVMValueRef kernel);

// Are regions longer than HDI_LANES_LONG when vectors are taken apart, and half
// as long or less when they are not?
bool hdi_whole_pays(const struct hdi_whole *length);

#endif
