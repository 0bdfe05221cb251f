#include "kernel/compiler/transform/short.h"

#include "kernel/compiler/ir/low.h"

enum {
    MAX_DEPTH = 8 // of a sum whose low half is computed
};

struct turn {
    LLVMBuilderRef builder;
    LLVMTypeRef type;       // of 32 bits
    LLVMValueRef phi, half; // of 64, and what takes its place
};

static bool is_arithmetic(LLVMValueRef value)
{
    LLVMOpcode code = LLVMIsABinaryOperator(value)
                          ? LLVMGetInstructionOpcode(value)
                          : LLVMRet;
    return code == LLVMAdd || code == LLVMSub || code == LLVMMul;
}

// The low half of a value, at the builder's point: sums and products of low
// halves have the low half of theirs.
static LLVMValueRef low_of(const struct turn *t, LLVMValueRef value,
                           unsigned depth)
{
    if (value == t->phi)
        return t->half;
    LLVMValueRef whole = hdi_low_half_of(value);
    if (whole && depth < MAX_DEPTH)
        return low_of(t, whole, depth + 1);
    if (LLVMIsAInstruction(value) && is_arithmetic(value) &&
        depth < MAX_DEPTH) {
        LLVMValueRef first = low_of(t, LLVMGetOperand(value, 0), depth + 1);
        LLVMValueRef second = low_of(t, LLVMGetOperand(value, 1), depth + 1);
        return LLVMBuildBinOp(t->builder, LLVMGetInstructionOpcode(value),
                              first, second, "");
    }
    return LLVMBuildTrunc(t->builder, value, t->type, "");
}

static bool is_carried_short(LLVMValueRef phi)
{
    bool is_cut = false;

    for (LLVMUseRef u = LLVMGetFirstUse(phi); u; u = LLVMGetNextUse(u))
        is_cut |= LLVMIsATruncInst(LLVMGetUser(u)) != NULL;
    return is_cut && hdi_is_integer(LLVMTypeOf(phi), 64) &&
           hdi_low_is_enough(phi, 32, NULL);
}

// Of a block from which several ways come the value is one.
static LLVMValueRef known_from(LLVMValueRef phi, LLVMBasicBlockRef from)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return NULL;
}

static void shorten(struct turn *t)
{
    LLVMValueRef phi = t->phi;
    unsigned count = LLVMCountIncoming(phi);

    LLVMPositionBuilderBefore(t->builder, phi);
    t->half = LLVMBuildPhi(t->builder, t->type, "");
    for (unsigned i = 0; i < count; i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef half = known_from(t->half, from);
        LLVMPositionBuilderBefore(t->builder,
                                  LLVMGetBasicBlockTerminator(from));
        if (!half)
            half = low_of(t, LLVMGetIncomingValue(phi, i), 0);
        LLVMAddIncoming(t->half, &half, &from, 1);
    }
    hdi_low_rebuild(t->builder, phi, t->half);
    for (LLVMUseRef u = LLVMGetFirstUse(phi), next; u; u = next) {
        next = LLVMGetNextUse(u);
        if (!LLVMGetFirstUse(LLVMGetUser(u)))
            LLVMInstructionEraseFromParent(LLVMGetUser(u));
    }
    LLVMReplaceAllUsesWith(phi, LLVMGetUndef(LLVMTypeOf(phi)));
    LLVMInstructionEraseFromParent(phi);
}

void hdi_short_rewrite(LLVMBuilderRef builder, LLVMValueRef kernel)
{
    struct turn t = {.builder = builder,
                     .type = LLVMInt32TypeInContext(
                         LLVMGetModuleContext(LLVMGetGlobalParent(kernel)))};

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMIsAPHINode(LLVMGetFirstInstruction(b)), next;
             i; i = next) {
            // Asked before: what follows the last one may be erased.
            next = LLVMIsAPHINode(LLVMGetNextInstruction(i));
            t.phi = i;
            if (is_carried_short(i))
                shorten(&t);
        }
}
