// Main header of prepare: bitcode becomes one simple function per kernel.
//
// From clang's bitcode to one module per kernel, in which the kernel is the
// only function, everything is inlined and no vector operation is left that the
// loop vectoriser could not take.
#ifndef HDI_KERNEL_COMPILER_PREPARE_PREPARE_H
#define HDI_KERNEL_COMPILER_PREPARE_PREPARE_H

#include "kernel/compiler/ir/llvm.h"

// Parse the bitcode and link the builtins it uses. HD_EBUILD names functions
// that are missing or recursive, with file and line.
hd_status hdi_prepare_program(struct hdi_llvm *llvm, const void *bitcode,
                              size_t size, LLVMModuleRef *module,
                              struct hd_error *error);

bool hdi_is_kernel(LLVMValueRef function);

// A variable of the program in global memory: there is one for all kernels.
bool hdi_is_program_variable(LLVMValueRef global);

// Copy the program and leave of its kernels only `count` from number `first`
// on, and what they need: copies of the copy are small then.
hd_status hdi_prepare_part(struct hdi_llvm *llvm, LLVMModuleRef program,
                           size_t first, size_t count, LLVMModuleRef *part,
                           struct hd_error *error);

// The passes below are of the pipeline (driver/pipeline.c), on one kernel.

// Make every function but the kernel disappear into its callers.
void hdi_prepare_inlining(LLVMModuleRef module, LLVMValueRef kernel);

// Each work-item owns the structures that are arguments.
void hdi_prepare_structures(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                            LLVMValueRef kernel);

// To be checked: calls that tell of texels stay.
void hdi_prepare_visits(LLVMModuleRef module);

// No event of a copy by the group is kept.
void hdi_prepare_events(LLVMValueRef kernel);

// Say how large local ids and sizes are.
void hdi_prepare_ids(struct hdi_llvm *llvm, LLVMValueRef kernel);

// Let volatile private variables be variables as any other.
void hdi_prepare_private(LLVMValueRef kernel);

// Let volatile local memory be memory as any other, where nobody can tell.
void hdi_prepare_local(LLVMValueRef kernel);

// Let whole vectors in memory lie as their elements may: the host's memory may
// be a buffer.
void hdi_prepare_vectors(struct hdi_llvm *llvm, LLVMValueRef kernel);

// Say that constant memory does not change.
void hdi_prepare_constants(struct hdi_llvm *llvm, LLVMValueRef kernel);

// Accesses and ids as the rest of the compiler wants them, without calls that
// say nothing to it.
void hdi_prepare_calls(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                       LLVMValueRef kernel);

#endif
