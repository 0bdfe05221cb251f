// Where the memory of a kernel lies: hdu_memory() of builtins/space.cl, which
// finds out what a generic pointer points to.
//
// Local memory is the unit's block. Private memory is what the function has on
// its stack, one work-item's or those of a whole group, and what is saved of
// work-items.
#ifndef HDI_KERNEL_COMPILER_EMIT_MEMORY_H
#define HDI_KERNEL_COMPILER_EMIT_MEMORY_H

#include "kernel/compiler/ir/llvm.h"

enum {
    // The numbers are those of builtins/space.cl.
    HDI_MEMORY_LOCAL,
    HDI_MEMORY_LOCAL_BYTES,
    HDI_MEMORY_SAVED,
    HDI_MEMORY_SAVED_BYTES,
    HDI_MEMORY_STACK,
    HDI_MEMORY_STACK_END,
    HDI_MEMORY_BOUNDS // how many there are
};

struct hdi_memory_bounds {
    LLVMValueRef bounds[HDI_MEMORY_BOUNDS]; // i64; NULL: nobody asks
};

// Read the bounds at the builder's point, in the entry of a function with this
// frame, if a kernel of the module asks for them.
void hdi_memory_read(const struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, LLVMValueRef frame,
                     struct hdi_memory_bounds *memory);

// What a call for number `which` (i32) returns.
LLVMValueRef hdi_memory_answer(const struct hdi_memory_bounds *memory,
                               LLVMBuilderRef builder, LLVMValueRef which);

#endif
