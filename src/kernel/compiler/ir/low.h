// Ints in registers of 64 bits: the low half of a number, extended again.
#ifndef HDI_KERNEL_COMPILER_IR_LOW_H
#define HDI_KERNEL_COMPILER_IR_LOW_H

#include <llvm-c/Core.h>
#include <stdbool.h>

// What is the low `bits` bits of `of`, extended to as many as that has, and
// then `up` bits further up.
struct hdi_low {
    LLVMValueRef of;
    unsigned bits, up;
    bool is_signed; // extended with the sign
};

// Whether `value` is that: masked, shifted up and down again, or truncated and
// extended. False too where nothing is lost.
bool hdi_low_find(LLVMValueRef value, struct hdi_low *low);

// The same for the low 32 bits, where they were: of what; NULL: it is not.
LLVMValueRef hdi_low_half_of(LLVMValueRef value);

// What the value is, or is the lower half of, extended or not. Less than that
// is another number.
LLVMValueRef hdi_low_whole_of(LLVMValueRef value);

// Whether all that is made of a value, but `except`, is made of its low bits.
bool hdi_low_is_enough(LLVMValueRef value, unsigned bits, LLVMValueRef except);

// Make of `half`, the low 32 bits of the value, all that is made of those
// alone.
void hdi_low_rebuild(LLVMBuilderRef builder, LLVMValueRef value,
                     LLVMValueRef half);

#endif
