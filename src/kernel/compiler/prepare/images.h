// Images and samplers in programs. clang gives them types of their own, which
// no pass and no processor knows; here an image is a pointer to its description
// (kernel/image.h) in constant memory, and a sampler is a number.
#ifndef HDI_KERNEL_COMPILER_PREPARE_IMAGES_H
#define HDI_KERNEL_COMPILER_PREPARE_IMAGES_H

#include "kernel/compiler/ir/llvm.h"

// Replace `*module`, when it has such types, by one with pointers and numbers.
hd_status hdi_images_lower(const struct hdi_llvm *llvm, LLVMModuleRef *module,
                           struct hd_error *error);

#endif
