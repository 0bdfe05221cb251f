#include "kernel/compiler/ir/low.h"

#include "kernel/compiler/ir/llvm.h"

#include <stddef.h>
#include <stdint.h>

static unsigned width_of(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind
               ? LLVMGetIntTypeWidth(type)
               : 0;
}

// Masks of the form 2^n - 1 alone.
static bool is_masked(LLVMValueRef value, struct hdi_low *low)
{
    uint64_t mask = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));

    *low = (struct hdi_low){.of = LLVMGetOperand(value, 0),
                            .bits = (unsigned)__builtin_popcountll(mask)};
    return mask != 0 && (mask & (mask + 1)) == 0;
}

static bool is_shifted(LLVMValueRef value, struct hdi_low *low)
{
    LLVMValueRef from = LLVMGetOperand(value, 0);

    if (!LLVMIsAInstruction(from) ||
        LLVMGetInstructionOpcode(from) != LLVMShl ||
        !LLVMIsAConstantInt(LLVMGetOperand(from, 1)))
        return false;
    uint64_t up = LLVMConstIntGetZExtValue(LLVMGetOperand(from, 1));
    uint64_t down = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
    if (up == 0 || up >= width_of(value) || down > up)
        return false;
    *low = (struct hdi_low){.of = LLVMGetOperand(from, 0),
                            .bits = width_of(value) - (unsigned)up,
                            .up = (unsigned)(up - down),
                            .is_signed =
                                LLVMGetInstructionOpcode(value) == LLVMAShr};
    return true;
}

bool hdi_low_find(LLVMValueRef value, struct hdi_low *low)
{
    if (!LLVMIsAInstruction(value) || width_of(value) == 0 ||
        width_of(value) > 64)
        return false;
    LLVMValueRef first = LLVMGetOperand(value, 0);
    if (LLVMIsASExtInst(value) || LLVMIsAZExtInst(value)) {
        if (!LLVMIsATruncInst(first) ||
            LLVMTypeOf(LLVMGetOperand(first, 0)) != LLVMTypeOf(value))
            return false;
        *low = (struct hdi_low){.of = LLVMGetOperand(first, 0),
                                .bits = width_of(first),
                                .is_signed = LLVMIsASExtInst(value) != NULL};
        return true;
    }
    if (!LLVMIsABinaryOperator(value) ||
        !LLVMIsAConstantInt(LLVMGetOperand(value, 1)))
        return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAnd:
        return is_masked(value, low);
    case LLVMAShr:
    case LLVMLShr:
        return is_shifted(value, low);
    default:
        return false;
    }
}

LLVMValueRef hdi_low_half_of(LLVMValueRef value)
{
    struct hdi_low low;
    return hdi_low_find(value, &low) && low.bits == 32 && low.up == 0 ? low.of
                                                                      : NULL;
}

LLVMValueRef hdi_low_whole_of(LLVMValueRef value)
{
    for (;;) {
        LLVMValueRef half = hdi_low_half_of(value);
        bool is_cast = LLVMIsATruncInst(value) || LLVMIsASExtInst(value) ||
                       LLVMIsAZExtInst(value);
        bool is_short = !hdi_is_integer(LLVMTypeOf(value), 64) &&
                        !hdi_is_integer(LLVMTypeOf(value), 32);
        if (is_short || (!half && !is_cast))
            return value;
        value = half ? half : LLVMGetOperand(value, 0);
    }
}

// Whether an instruction asks for no more than the low bits of `value`.
// A shift up drops the high bits; a mask clears them.
static bool is_low(LLVMValueRef user, LLVMValueRef value, unsigned bits)
{
    if (LLVMIsATruncInst(user))
        return width_of(user) <= bits;
    if (!LLVMIsABinaryOperator(user) ||
        !LLVMIsAConstantInt(LLVMGetOperand(user, 1)))
        return false;
    uint64_t number = LLVMConstIntGetZExtValue(LLVMGetOperand(user, 1));
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMAnd:
        return bits >= 64 || number >> bits == 0;
    case LLVMShl:
        return number + bits >= width_of(value);
    default:
        return false;
    }
}

bool hdi_low_is_enough(LLVMValueRef value, unsigned bits, LLVMValueRef except)
{
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u))
        if (LLVMGetUser(u) != except && !is_low(LLVMGetUser(u), value, bits))
            return false;
    return true;
}

// What is moved up and, with the sign, down again.
// Of that too only `half` is needed, so the 64-bit number goes altogether.
static void rebuild_shifts(LLVMBuilderRef builder, LLVMValueRef up,
                           LLVMValueRef half)
{
    LLVMTypeRef type = LLVMTypeOf(up);
    struct hdi_low low;

    for (LLVMUseRef u = LLVMGetFirstUse(up), next; u; u = next) {
        LLVMValueRef down = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!hdi_low_find(down, &low) || low.bits != 32 || !low.is_signed)
            continue;
        LLVMPositionBuilderBefore(builder, down);
        LLVMValueRef wide = LLVMBuildSExt(builder, half, type, "");
        if (low.up > 0) {
            wide = LLVMBuildShl(builder, wide,
                                LLVMConstInt(type, low.up, false), "");
            LLVMSetNSW(wide, true);
        }
        LLVMReplaceAllUsesWith(down, wide);
    }
}

void hdi_low_rebuild(LLVMBuilderRef builder, LLVMValueRef value,
                     LLVMValueRef half)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    for (LLVMUseRef u = LLVMGetFirstUse(value), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u), made;
        next = LLVMGetNextUse(u);
        if (!is_low(user, value, 32))
            continue;
        LLVMPositionBuilderBefore(builder, user);
        if (LLVMIsATruncInst(user)) {
            made = LLVMBuildTruncOrBitCast(builder, half, LLVMTypeOf(user), "");
        } else {
            LLVMValueRef number = LLVMGetOperand(user, 1);
            made = LLVMBuildZExt(builder, half, type, "");
            if (LLVMGetInstructionOpcode(user) == LLVMShl) {
                rebuild_shifts(builder, user, half);
                LLVMPositionBuilderBefore(builder, user);
                made = LLVMBuildShl(builder, made, number, "");
            } else if (LLVMConstIntGetZExtValue(number) != UINT32_MAX) {
                made = LLVMBuildAnd(builder, made, number, "");
            }
        }
        LLVMReplaceAllUsesWith(user, made);
    }
}
