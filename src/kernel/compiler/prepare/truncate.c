#include "kernel/compiler/prepare/truncate.h"

static bool is_by(LLVMValueRef value, LLVMOpcode code, uint64_t operand)
{
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionOpcode(value) == code &&
           LLVMIsAConstantInt(LLVMGetOperand(value, 1)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1)) == operand;
}

// By how much a value is shifted right with its sign, 0: it is not.
static uint64_t shift_of(LLVMValueRef value)
{
    return LLVMIsAInstruction(value) &&
                   LLVMGetInstructionOpcode(value) == LLVMAShr &&
                   LLVMIsAConstantInt(LLVMGetOperand(value, 1))
               ? LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1))
               : 0;
}

// (long)(int)get_global_id(0) has become shifts by 32 to and fro, the latter
// less when it is multiplied too, or a mask without a sign: say it as a
// truncation again.
static void restore(LLVMBuilderRef builder, LLVMContextRef context,
                    LLVMValueRef call)
{
    LLVMTypeRef narrow = LLVMInt32TypeInContext(context);
    LLVMTypeRef long_type = LLVMInt64TypeInContext(context);

    for (LLVMUseRef u = LLVMGetFirstUse(call), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        bool mask = is_by(user, LLVMAnd, 0xffffffff);
        if (!mask && !is_by(user, LLVMShl, 32))
            continue;
        for (LLVMUseRef v = mask ? u : LLVMGetFirstUse(user), after; v;
             v = after) {
            LLVMValueRef last = mask ? user : LLVMGetUser(v);
            after = mask ? NULL : LLVMGetNextUse(v);
            uint64_t less = mask ? 0 : 32 - shift_of(last);
            if (less > 31)
                continue;
            LLVMPositionBuilderBefore(builder, last);
            LLVMValueRef half = LLVMBuildTrunc(builder, call, narrow, "");
            LLVMValueRef whole =
                mask ? LLVMBuildZExt(builder, half, long_type, "")
                     : LLVMBuildSExt(builder, half, long_type, "");
            if (less > 0) {
                whole = LLVMBuildShl(builder, whole,
                                     LLVMConstInt(long_type, less, false), "");
                LLVMSetNSW(whole, true);
            }
            LLVMReplaceAllUsesWith(last, whole);
            LLVMInstructionEraseFromParent(last);
        }
        if (!mask && !LLVMGetFirstUse(user))
            LLVMInstructionEraseFromParent(user);
    }
}

// int i = get_global_id(0) is a truncation beside the call, never further away:
// the emitter turns the pair into 32-bit arithmetic that cannot wrap.
static void gather(LLVMBuilderRef builder, LLVMContextRef context,
                   LLVMValueRef call)
{
    LLVMTypeRef narrow = LLVMInt32TypeInContext(context);
    LLVMValueRef one = NULL;

    for (LLVMUseRef u = LLVMGetFirstUse(call), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsATruncInst(user) || LLVMTypeOf(user) != narrow ||
            user == one)
            continue;
        if (!one) {
            LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(call));
            one = LLVMBuildTrunc(builder, call, narrow, "");
        }
        LLVMReplaceAllUsesWith(user, one);
        LLVMInstructionEraseFromParent(user);
    }
}

void hdi_truncate_ids(LLVMBuilderRef builder, LLVMContextRef context,
                      LLVMValueRef call)
{
    restore(builder, context, call);
    gather(builder, context, call);
}

// Sums and products ----------------------------------------------------------

static bool is_id(LLVMValueRef value)
{
    enum hdi_call kind = hdi_call_kind(value);
    return kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID;
}

// Products with powers of two are shifts, of which restore() knows.
static bool has_product(LLVMValueRef value)
{
    while (LLVMIsAInstruction(value) && LLVMIsABinaryOperator(value)) {
        bool first = LLVMIsAConstantInt(LLVMGetOperand(value, 0));
        LLVMValueRef by = LLVMGetOperand(value, !first);
        if (LLVMGetInstructionOpcode(value) == LLVMMul &&
            LLVMIsAConstantInt(by) &&
            __builtin_popcountll(LLVMConstIntGetZExtValue(by)) > 1)
            return true;
        value = LLVMGetOperand(value, first);
    }
    return false;
}

// `value`, which is an id in an int with constants added to it and multiplied
// with it, in 64 bits; NULL: it is something else.
// Allowed where no step wraps (nsw): then 64 bits give the same number.
static LLVMValueRef widened(LLVMBuilderRef builder, LLVMValueRef value,
                            LLVMTypeRef wide)
{
    if (LLVMIsATruncInst(value) && is_id(LLVMGetOperand(value, 0)))
        return LLVMBuildSExt(builder, value, wide, "");
    if (!LLVMIsAInstruction(value))
        return NULL;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    if ((code != LLVMAdd && code != LLVMMul) || !LLVMGetNSW(value))
        return NULL;
    bool first = LLVMIsAConstantInt(LLVMGetOperand(value, 0));
    LLVMValueRef constant = LLVMGetOperand(value, !first);
    LLVMValueRef other =
        LLVMIsAConstantInt(constant)
            ? widened(builder, LLVMGetOperand(value, first), wide)
            : NULL;
    if (!other)
        return NULL;
    LLVMValueRef by =
        LLVMConstInt(wide, (uint64_t)LLVMConstIntGetSExtValue(constant), true);
    LLVMValueRef copy = LLVMBuildBinOp(builder, code, other, by, "");
    LLVMSetNSW(copy, true);
    return copy;
}

void hdi_widen_ids(LLVMBuilderRef builder, LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (!LLVMIsASExtInst(i) || !has_product(LLVMGetOperand(i, 0)))
                continue;
            LLVMPositionBuilderBefore(builder, i);
            LLVMValueRef wide =
                widened(builder, LLVMGetOperand(i, 0), LLVMTypeOf(i));
            if (!wide)
                continue;
            LLVMReplaceAllUsesWith(i, wide);
            LLVMInstructionEraseFromParent(i);
        }
}
