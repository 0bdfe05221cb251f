// What keeps a kernel from being vectors, told to its author: each finding
// once, with the line of the source.
#ifndef HDI_KERNEL_COMPILER_IR_NOTE_H
#define HDI_KERNEL_COMPILER_IR_NOTE_H

#include "kernel/compiler/ir/llvm.h"

// Notes of the kernel at hand, in llvm->notes. Nothing is noted where that is
// NULL, or where the instruction `where` has no line.
__attribute__((format(printf, 3, 4))) void hdi_note(const struct hdi_llvm *llvm,
                                                    LLVMValueRef where,
                                                    const char *format, ...);

#endif
