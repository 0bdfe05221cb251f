// The move of a value: how far it goes from one round of a loop to the next.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_MOVES_H
#define HDI_KERNEL_COMPILER_ANALYSIS_MOVES_H

#include "kernel/compiler/flow/nest.h"

enum {
    HDI_MOVE_FAR = 1 << 20,              // [bytes] at least, or not known
    HDI_MOVE_ANYWHERE = HDI_MOVE_FAR + 1 // not to be foretold, as what is read
                                         // from memory
};

// In the loop at hand; in bytes where it is an address.
int64_t hdi_move_of(const struct hdi_llvm *llvm, const struct hdi_nest *nest,
                    LLVMValueRef value);

#endif
