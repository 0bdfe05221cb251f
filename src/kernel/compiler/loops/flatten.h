// Kernels that put global ids together themselves, as those do that come from
// CUDA:
//
//     int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
//
// Where ids begin at 0 and all groups of the launch are as large, that is the
// global id. Kernels that ask for groups for nothing else are flat then
// (chunk.h).
#ifndef HDI_KERNEL_COMPILER_LOOPS_FLATTEN_H
#define HDI_KERNEL_COMPILER_LOOPS_FLATTEN_H

#include "kernel/compiler/ir/llvm.h"

// The dimensions, as bits, in which a prepared kernel puts an id together.
unsigned hdi_flatten_find(LLVMValueRef kernel);

// Let it ask for the global id instead. HD_EBUILD.
hd_status hdi_flatten(struct hdi_llvm *llvm, LLVMModuleRef module,
                      LLVMBuilderRef builder, LLVMValueRef kernel,
                      struct hd_error *error);

// Write a function `name` for the backend, which calls `flat` where ids of
// these dimensions begin at 0 and groups are all whole, else `grouped`.
void hdi_flatten_write(struct hdi_llvm *llvm, LLVMModuleRef module,
                       unsigned dimensions, const char *name, LLVMValueRef flat,
                       LLVMValueRef grouped);

#endif
