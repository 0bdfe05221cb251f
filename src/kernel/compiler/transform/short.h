// What a loop carries in 64 bits from turn to turn though it is used in 32, as
// LLVM makes of `uint i = get_global_id(0); ... i += step;`: the high half is
// masked in each turn, so nobody would see that lanes stay neighbours.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_SHORT_H
#define HDI_KERNEL_COMPILER_TRANSFORM_SHORT_H

#include "kernel/compiler/ir/llvm.h"

// Carry it in 32 bits; the kernel still has phi nodes.
void hdi_short_rewrite(LLVMBuilderRef builder, LLVMValueRef kernel);

#endif
