// Coroutines: a function
//
//     void *hdt_NAME(struct hdi_item *item, void *memory)
//
// that leaves wherever its work-item waits, and keeps in `memory` what it needs
// when it goes on. Without memory it tells how much it takes.
#ifndef HDI_KERNEL_COMPILER_FIBER_COROUTINE_H
#define HDI_KERNEL_COMPILER_FIBER_COROUTINE_H

#include "kernel/compiler/ir/llvm.h"

// Lives while one kernel is written; owns nothing. In this order: _begin, then
// _suspend, _end and _resume as often as needed, then _split.
//
//     hdt_NAME   null memory? -> tell -> return its size
//                begin -> body ..barrier.. -> stopped -> return memory
//                                   ^
//     hdr_NAME   ------------------'  goes on behind it
struct hdi_coroutine {
    const struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;     // with the body of a kernel
    LLVMBasicBlockRef stopped; // where it leaves; filled in by _begin()
};

// Whether a kernel waits anywhere, with private memory that is little enough.
bool hdi_coroutine_fits(const struct hdi_llvm *llvm, LLVMValueRef kernel);

// Before its body is changed, which must hold no values across blocks: add what
// it does before the work-item begins. Returns where that is.
LLVMValueRef hdi_coroutine_begin(struct hdi_coroutine *c);

// Leave where the builder is, right before `barrier`, and go on with what
// follows that.
void hdi_coroutine_suspend(const struct hdi_coroutine *c, LLVMValueRef barrier);

// Leave for ever instead of returning.
void hdi_coroutine_end(const struct hdi_coroutine *c, LLVMValueRef end);

// Write the body of a function that goes on with what has left:
// void hdr_NAME(void *memory).
void hdi_coroutine_resume(const struct hdi_coroutine *c, LLVMValueRef function);

// When all is written: cut the function into its pieces.
hd_status hdi_coroutine_split(const struct hdi_coroutine *c,
                              struct hd_error *error);

#endif
