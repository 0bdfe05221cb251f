// The builtins that a program uses become part of it.
#ifndef HDI_KERNEL_COMPILER_PREPARE_LIBRARY_H
#define HDI_KERNEL_COMPILER_PREPARE_LIBRARY_H

#include "kernel/compiler/ir/llvm.h"

// A module from bitcode, for llvm's processor. A lazy one is read function by
// function as they are linked, and lacks metadata before. HD_EBUILD.
hd_status hdi_library_parse(struct hdi_llvm *llvm, const void *bitcode,
                            size_t size, bool lazy, LLVMModuleRef *module,
                            struct hd_error *error);

// Link the builtins that the module uses, and what these use. HD_EBUILD.
hd_status hdi_library_link(struct hdi_llvm *llvm, LLVMModuleRef module,
                           struct hd_error *error);

// Link what the module uses of a library of bitcode, and what that uses.
hd_status hdi_library_link_part(struct hdi_llvm *llvm, LLVMModuleRef module,
                                const void *bitcode, size_t size,
                                struct hd_error *error);

// Before code is made: link what the code generator calls for halves where the
// processor has no instructions for them.
hd_status hdi_library_link_halves(struct hdi_llvm *llvm, LLVMModuleRef module,
                                  struct hd_error *error);

#endif
