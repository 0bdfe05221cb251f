// Screened kernels: the fast form of a checked kernel, as loops and lanes. It
// looks at the same accesses as the checker (backend/checks.h) but tells
// nothing: where something may be wrong it is left by a trap, and the kernel
// runs again in thread form, which tells what it was. It may suspect what is
// right, but lets nothing pass that the checker would tell.
//
// Instrumented code says what it touches by calls of marks, which are
// written out when work-items become loops. For each granule of memory that
// work-items may race for there are two tags, of the last write and of the
// reads: a number that grows with each barrier, plus that of the work-item. An
// older tag says nothing but that local memory has a value.
#ifndef HDI_KERNEL_COMPILER_CHECK_SCREEN_H
#define HDI_KERNEL_COMPILER_CHECK_SCREEN_H

#include "kernel/compiler/emit/emit.h"

// An access to memory that has an object: `base` is an argument of the kernel
// or a local variable.
struct hdi_screen_access {
    LLVMValueRef pointer, base;
    uint64_t size;    // [bytes]
    unsigned granule; // it begins at a multiple of it, and is one [bytes]
    unsigned kind;    // HDI_ACCESS_*
};

// At the builder's point in a kernel: what is touched; what has to be true.
void hdi_screen_touch(struct hdi_llvm *llvm, LLVMModuleRef module,
                      LLVMBuilderRef builder,
                      const struct hdi_screen_access *access);
void hdi_screen_expect(struct hdi_llvm *llvm, LLVMModuleRef module,
                       LLVMBuilderRef builder, LLVMValueRef condition);

// Once a kernel is simplified: without marks that say nothing.
void hdi_screen_tidy(LLVMValueRef kernel);

// In the function that is written for a kernel, behind the arguments: have its
// marks written out. HD_EBUILD: the kernel cannot be screened.
// hdi_screen_free() also after a failure.
hd_status hdi_screen_begin(struct hdi_emit *emit);
void hdi_screen_free(struct hdi_emit *emit);

#endif
