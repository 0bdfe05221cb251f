// Address spaces of a GPU.
#ifndef HDI_KERNEL_COMPILER_NVPTX_SPACES_H
#define HDI_KERNEL_COMPILER_NVPTX_SPACES_H

#include "kernel/compiler/ir/llvm.h"

// SPIR's numbers become those of NVPTX: generic pointers are the plain ones,
// and constant memory is global, since a launch may be given any buffer for it.
// LLVM changes no types in place, so the module is printed and read again; the
// old one is destroyed.
hd_status hdi_spaces_lower(const struct hdi_llvm *llvm, LLVMModuleRef *module,
                           struct hd_error *error);

#endif
