#include "kernel/compiler/prepare/truncate.h"

#include "kernel/compiler/limits/bounds.h"

enum {
    MAX_INDEX = 32 // instructions that compute an index
};

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
static bool is_factor(LLVMValueRef value)
{
    return LLVMIsAConstantInt(value) &&
           __builtin_popcountll(LLVMConstIntGetZExtValue(value)) > 1;
}

static bool has_product(LLVMValueRef value)
{
    while (LLVMIsAInstruction(value) && LLVMIsABinaryOperator(value)) {
        bool first = LLVMIsAConstantInt(LLVMGetOperand(value, 0));
        if (LLVMGetInstructionOpcode(value) == LLVMMul &&
            is_factor(LLVMGetOperand(value, !first)))
            return true;
        value = LLVMGetOperand(value, first);
    }
    return false;
}

// A number that goes round a loop by constants from a constant on.
static bool is_counter(LLVMValueRef value)
{
    if (!LLVMIsAPHINode(value))
        return false;
    for (unsigned i = LLVMCountIncoming(value); i-- > 0;) {
        LLVMValueRef from = LLVMGetIncomingValue(value, i);
        bool is_next = LLVMIsAInstruction(from) &&
                       LLVMGetInstructionOpcode(from) == LLVMAdd &&
                       LLVMGetOperand(from, 0) == value &&
                       LLVMIsAConstantInt(LLVMGetOperand(from, 1));
        if (!is_next && !LLVMIsAConstantInt(from))
            return false;
    }
    return true;
}

// Sums and products of ids, arguments and counters that are promised not to
// wrap, and what stands in them: a product with a constant of a sum with one,
// which LLVM makes a sum of products that promises nothing.
struct index {
    unsigned left; // instructions that may still be looked at
    bool has_id, distributes;
};

static bool is_index(LLVMValueRef value, bool in_product, struct index *index)
{
    if (LLVMIsATruncInst(value) && is_id(LLVMGetOperand(value, 0))) {
        index->has_id = true;
        return true;
    }
    if (LLVMIsAConstantInt(value) || LLVMIsAArgument(value) ||
        is_counter(value) || hdi_bounds_is_given(value))
        return true;
    if (!LLVMIsAInstruction(value) || index->left == 0)
        return false;
    index->left--;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    if ((code != LLVMAdd && code != LLVMSub && code != LLVMMul) ||
        !LLVMGetNSW(value))
        return false;
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    if (code == LLVMMul)
        in_product = is_factor(a) || is_factor(b);
    else
        index->distributes |=
            in_product && (LLVMIsAConstantInt(a) || LLVMIsAConstantInt(b));
    return is_index(a, in_product, index) && is_index(b, in_product, index);
}

// The same in 64 bits: where no step wraps (nsw) they give the same number.
static LLVMValueRef widened_index(LLVMBuilderRef builder, LLVMValueRef value,
                                  LLVMTypeRef wide)
{
    if (LLVMIsATruncInst(value) || !LLVMIsABinaryOperator(value) ||
        hdi_bounds_is_given(value))
        return LLVMBuildSExt(builder, value, wide, "");
    LLVMValueRef of[2];
    for (unsigned i = 0; i < 2; i++)
        of[i] = widened_index(builder, LLVMGetOperand(value, i), wide);
    LLVMValueRef copy = LLVMBuildBinOp(builder, LLVMGetInstructionOpcode(value),
                                       of[0], of[1], "");
    LLVMSetNSW(copy, true);
    return copy;
}

// `value`, which is an id in an int with constants added to it and multiplied
// with it, in 64 bits; NULL: it is something else.
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

static LLVMValueRef widen(LLVMBuilderRef builder, LLVMValueRef extension)
{
    LLVMValueRef value = LLVMGetOperand(extension, 0);
    LLVMTypeRef wide = LLVMTypeOf(extension);
    struct index index = {.left = MAX_INDEX};

    LLVMPositionBuilderBefore(builder, extension);
    if (is_index(value, false, &index) && index.has_id && index.distributes)
        return widened_index(builder, value, wide);
    return has_product(value) ? widened(builder, value, wide) : NULL;
}

void hdi_widen_ids(LLVMBuilderRef builder, LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            LLVMValueRef wide = LLVMIsASExtInst(i) ? widen(builder, i) : NULL;
            if (!wide)
                continue;
            LLVMReplaceAllUsesWith(i, wide);
            LLVMInstructionEraseFromParent(i);
        }
}
