// The two functions that a kernel becomes, round its inlined body.
#ifndef HDI_KERNEL_COMPILER_NVPTX_ENTRY_H
#define HDI_KERNEL_COMPILER_NVPTX_ENTRY_H

#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

// What is written while functions are.
// Begin, write all entries, inline, lower all entries, end. `global` and
// `shared` are pointer types of those address spaces.
struct hdi_entry_writer {
    const struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i32, i64, pointer, global, shared;
    LLVMValueRef memory; // the block's shared memory
};

void hdi_entry_begin(struct hdi_entry_writer *writer,
                     const struct hdi_llvm *llvm, LLVMModuleRef module);
void hdi_entry_end(struct hdi_entry_writer *writer);

// Write hdk_NAME or, with `tile`, hdt_NAME: it unpacks the arguments and calls
// the kernel.
// NULL: no memory.
LLVMValueRef hdi_entry_write(struct hdi_entry_writer *writer,
                             LLVMValueRef kernel,
                             const struct hdi_build_kernel *about, bool tile);

// After all has been inlined: local variables get their places, and what
// builtins ask about the launch becomes loads. Sets about->local_bytes.
hd_status hdi_entry_lower(struct hdi_entry_writer *writer,
                          LLVMValueRef function, struct hdi_build_kernel *about,
                          bool tile, struct hd_error *error);

#endif
