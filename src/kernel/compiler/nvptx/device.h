// The builtins that GPUs have instead of those for processors.
#ifndef HDI_KERNEL_COMPILER_NVPTX_DEVICE_H
#define HDI_KERNEL_COMPILER_NVPTX_DEVICE_H

#include "kernel/compiler/ir/llvm.h"

// Link those that the module uses by now, and what they use of each other.
hd_status hdi_device_link(struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error);

#endif
