// A divisor that is wrong becomes 1:
//
//     unsigned:  n / (d == 0 ? 1 : d)
//     signed:    d == -1 ? -n : n / (d is 0 or -1 ? 1 : d)
//
// and likewise remainders, of which that by -1 is 0, as by 1. The divisor asks
// for nothing but itself: one that all work-items share stays shared. What a
// real number becomes is frozen: some number, the same for all who ask.
#include "kernel/compiler/prepare/total.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

// Lives for one walk over a module.
struct total {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
};

static bool is_signed(LLVMValueRef x)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    return code == LLVMSDiv || code == LLVMSRem;
}

static bool is_division(LLVMValueRef x)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    return code == LLVMUDiv || code == LLVMURem || is_signed(x);
}

static bool is_sound_number(LLVMValueRef number, bool may_be_signed)
{
    return LLVMIsAConstantInt(number) &&
           LLVMConstIntGetSExtValue(number) != 0 &&
           !(may_be_signed && LLVMConstIntGetSExtValue(number) == -1);
}

static bool is_size(LLVMValueRef value)
{
    enum hdi_call kind = hdi_call_kind(value);
    return kind == HDI_CALL_LOCAL_SIZE || kind == HDI_CALL_GLOBAL_SIZE ||
           kind == HDI_CALL_ENQUEUED_LOCAL_SIZE || kind == HDI_CALL_NUM_GROUPS;
}

// A constant of which no element is 0, or -1 where that matters, or a size.
// Sizes are never 0; as signed numbers they might be -1 after a cut.
static bool is_sound(LLVMValueRef divisor, bool may_be_signed)
{
    if (!may_be_signed && is_size(divisor))
        return true;
    if (!LLVMIsConstant(divisor))
        return false;
    if (LLVMGetTypeKind(LLVMTypeOf(divisor)) != LLVMVectorTypeKind)
        return is_sound_number(divisor, may_be_signed);
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(divisor)); i++) {
        LLVMValueRef element = LLVMGetAggregateElement(divisor, i);
        if (!element || !is_sound_number(element, may_be_signed))
            return false;
    }
    return true;
}

// The same number in each element.
static LLVMValueRef number(LLVMTypeRef type, uint64_t value)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return LLVMConstInt(type, value, false);
    LLVMValueRef elements[64], one = number(LLVMGetElementType(type), value);
    unsigned count = LLVMGetVectorSize(type);

    for (unsigned i = 0; i < count && i < 64; i++)
        elements[i] = one;
    return LLVMConstVector(elements, count);
}

// The least number of the type.
static LLVMValueRef least(LLVMTypeRef type)
{
    LLVMTypeRef element = LLVMGetTypeKind(type) == LLVMVectorTypeKind
                              ? LLVMGetElementType(type)
                              : type;
    return number(type, UINT64_C(1) << (LLVMGetIntTypeWidth(element) - 1));
}

// Whether that is so of any element.
static LLVMValueRef any(struct total *t, LLVMValueRef condition)
{
    static const char name[] = "llvm.vector.reduce.or";
    LLVMTypeRef type = LLVMTypeOf(condition);

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return condition;
    unsigned id = LLVMLookupIntrinsicID(name, sizeof(name) - 1);
    LLVMTypeRef function = LLVMIntrinsicGetType(t->llvm->context, id, &type, 1);
    return LLVMBuildCall2(t->builder, function,
                          LLVMGetIntrinsicDeclaration(t->module, id, &type, 1),
                          &condition, 1, "");
}

static void mark(struct total *t, LLVMValueRef x)
{
    LLVMBuilderRef b = t->builder;
    LLVMValueRef n = LLVMGetOperand(x, 0), d = LLVMGetOperand(x, 1);
    LLVMTypeRef type = LLVMTypeOf(d),
                i1 = LLVMInt1TypeInContext(t->llvm->context);
    LLVMTypeRef operands[2] = {i1, i1};
    LLVMTypeRef function_type = LLVMFunctionType(
        LLVMVoidTypeInContext(t->llvm->context), operands, 2, false);
    LLVMValueRef function = LLVMGetNamedFunction(t->module, HDI_DIVISION_NAME);

    if (!function)
        function = LLVMAddFunction(t->module, HDI_DIVISION_NAME, function_type);
    LLVMValueRef zero =
        any(t, LLVMBuildICmp(b, LLVMIntEQ, d, LLVMConstNull(type), ""));
    LLVMValueRef wrong = zero;
    if (is_signed(x)) {
        LLVMValueRef leaves = LLVMBuildAnd(
            b, LLVMBuildICmp(b, LLVMIntEQ, n, least(type), ""),
            LLVMBuildICmp(b, LLVMIntEQ, d, LLVMConstAllOnes(type), ""), "");
        wrong = LLVMBuildOr(b, zero, any(t, leaves), "");
    }
    LLVMValueRef arguments[2] = {wrong, zero};
    LLVMBuildCall2(b, function_type, function, arguments, 2, "");
}

// A checked kernel tells of it first: afterwards nothing is wrong any more.
static void make_total(struct total *t, LLVMValueRef x)
{
    LLVMBuilderRef b = t->builder;
    LLVMValueRef n = LLVMGetOperand(x, 0), d = LLVMGetOperand(x, 1);
    LLVMTypeRef type = LLVMTypeOf(d);
    LLVMValueRef one = number(type, 1);

    LLVMPositionBuilderBefore(b, x);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(x));
    if (t->llvm->check)
        mark(t, x);
    LLVMValueRef wrong =
        is_signed(x) ? LLVMBuildICmp(b, LLVMIntULT, LLVMBuildAdd(b, d, one, ""),
                                     number(type, 2), "")
                     : LLVMBuildICmp(b, LLVMIntEQ, d, LLVMConstNull(type), "");
    LLVMSetOperand(x, 1, LLVMBuildSelect(b, wrong, one, d, ""));
    if (LLVMGetInstructionOpcode(x) != LLVMSDiv)
        return;

    LLVMValueRef next = LLVMGetNextInstruction(x);
    LLVMPositionBuilderBefore(b, next);
    LLVMValueRef minus = LLVMBuildNeg(b, n, "");
    LLVMValueRef is_minus =
        LLVMBuildICmp(b, LLVMIntEQ, d, LLVMConstAllOnes(type), "");
    LLVMValueRef quotient = LLVMBuildSelect(b, is_minus, minus, x, "");
    LLVMReplaceAllUsesWith(x, quotient);
    LLVMSetOperand(quotient, 2, x); // which was replaced too
}

static bool is_conversion(LLVMValueRef x)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    return code == LLVMFPToSI || code == LLVMFPToUI;
}

static void freeze(struct total *t, LLVMValueRef x)
{
    LLVMPositionBuilderBefore(t->builder, LLVMGetNextInstruction(x));
    LLVMSetCurrentDebugLocation2(t->builder, LLVMInstructionGetDebugLoc(x));
    LLVMValueRef frozen = LLVMBuildFreeze(t->builder, x, "");
    LLVMReplaceAllUsesWith(x, frozen);
    LLVMSetOperand(frozen, 0, x); // which was replaced too
}

// What clang computes itself, 1 / 0, is poison: to branch by it is undefined.
static void settle_operands(LLVMValueRef x)
{
    if (LLVMIsAInsertElementInst(x) || LLVMIsAShuffleVectorInst(x))
        return; // elements that nobody asks for
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef operand = LLVMGetOperand(x, i);
        if (LLVMIsAPoisonValue(operand))
            LLVMSetOperand(x, i, LLVMConstNull(LLVMTypeOf(operand)));
    }
}

void hdi_total_make(struct hdi_llvm *llvm, LLVMModuleRef module)
{
    struct total t = {llvm, module, LLVMCreateBuilderInContext(llvm->context)};

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b), next; x;
                 x = next) {
                next = LLVMGetNextInstruction(x);
                settle_operands(x);
                if (is_division(x) &&
                    !is_sound(LLVMGetOperand(x, 1), is_signed(x)))
                    make_total(&t, x);
                else if (is_conversion(x))
                    freeze(&t, x);
            }
    LLVMDisposeBuilder(t.builder);
}
