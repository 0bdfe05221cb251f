// Main header of check: what checked and screened kernels look at.
//
// Checked kernels: every access to memory tells the checker first
// (backend/checks.h).
//
// It is done twice. Right after inlining, while each variable of the source is
// still memory: what touches private variables. Then, once pointers are values
// whose origin can be seen: everything else. Between the two LLVM may simplify.
// A variable that is only read and written whole is not told of; it has a flag
// that says whether it has a value, and LLVM removes most of those again.
//
// The calls are marks, since they need the work-item, which only the
// thread form has: hdi_instrument_lower() completes them.
#ifndef HDI_KERNEL_COMPILER_CHECK_INSTRUMENT_H
#define HDI_KERNEL_COMPILER_CHECK_INSTRUMENT_H

#include "heddle/status.h"
#include "kernel/compiler/ir/llvm.h"

// Private variables, in the only function left of the module.
// Variables before memory, each once; the checked kernel then goes through the
// thread form, which lowers the marks. A screened one (llvm->screen) has marks
// of its own (screen.h) instead, and is not lowered here.
void hdi_instrument_variables(struct hdi_llvm *llvm, LLVMModuleRef module,
                              LLVMValueRef kernel);

// All other memory, and barriers.
// Sets llvm->unscreened where the kernel does what cannot be screened.
// HD_ENOMEM.
hd_status hdi_instrument_memory(struct hdi_llvm *llvm, LLVMModuleRef module,
                                LLVMValueRef kernel, struct hd_error *error);

// In `function`, make the marks calls of the work-item's checker; false:
// there are none. `item` is its `struct hdi_item *`, and must be defined in the
// entry block, before `first`, which stands there too.
bool hdi_instrument_lower(struct hdi_llvm *llvm, LLVMModuleRef module,
                          LLVMValueRef function, LLVMValueRef item,
                          LLVMValueRef first);

#endif
