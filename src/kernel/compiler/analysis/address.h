// An address in parts: base + scale * index + offset [bytes].
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_ADDRESS_H
#define HDI_KERNEL_COMPILER_ANALYSIS_ADDRESS_H

#include "kernel/compiler/flow/flow.h"

// Two addresses with the same base, index and scale are so far apart as their
// offsets: that is what accesses are compared by. Numbers wrap as the machine's
// do.
struct hdi_address {
    LLVMValueRef base;
    LLVMValueRef index; // maybe shorter than addresses; NULL: there is none
    bool is_signed;     // a shorter one has a sign
    int64_t scale, offset;
    LLVMValueRef extension; // of the shorter one, NULL: it is none
    int64_t added;          // before that: of the offset, in elements
};

// As many constants as can be told apart are in the offset: what is added to an
// index before it is extended only where the sum is promised not to wrap.
struct hdi_address hdi_address_of(const struct hdi_llvm *llvm,
                                  const struct hdi_flow *flow,
                                  LLVMValueRef pointer);

// The same, where the sum is not promised not to wrap either: it is true of the
// numbers that do not.
struct hdi_address hdi_address_likely(const struct hdi_llvm *llvm,
                                      const struct hdi_flow *flow,
                                      LLVMValueRef pointer);

// Whether two differ in their offsets at most, wherever they are.
bool hdi_address_is_beside(const struct hdi_address *a,
                           const struct hdi_address *b);

// What it was computed from in the end: an argument, memory of the kernel's, or
// a value that is not looked into.
LLVMValueRef hdi_address_root(const struct hdi_flow *flow,
                              LLVMValueRef pointer);

// May memory reached from the one be memory reached from the other?
bool hdi_address_roots_meet(LLVMValueRef a, LLVMValueRef b);

#endif
