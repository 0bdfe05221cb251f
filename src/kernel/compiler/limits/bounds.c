#include "kernel/compiler/limits/bounds.h"

#include <string.h>

#include "kernel/compiler/ir/low.h"
#include "kernel/image.h"

// Bounds are computed for each call of the function, so they must be cheap.
enum {
    MAX_TREE = 16 // instructions that compute a bound
};

const char hdi_bounds_stride[] = "heddle.stride";
const char hdi_bounds_lower[] = "heddle.lower";
const char hdi_bounds_upper[] = "heddle.upper";
const char hdi_bounds_apart[] = "heddle.apart";

bool hdi_bounds_is_image_field(LLVMValueRef value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("dereferenceable", 15);

    if (!LLVMIsALoadInst(value) || LLVMGetVolatile(value))
        return false;
    LLVMValueRef image = LLVMGetOperand(value, 0);
    if (LLVMIsAGetElementPtrInst(image) && LLVMGetNumOperands(image) == 2 &&
        LLVMIsAConstantInt(LLVMGetOperand(image, 1)))
        image = LLVMGetOperand(image, 0);
    if (!LLVMIsAArgument(image) ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(image)) != HDI_SPACE_CONSTANT)
        return false;
    LLVMValueRef kernel = LLVMGetParamParent(image);
    for (unsigned i = 0; i < LLVMCountParams(kernel); i++)
        if (LLVMGetParam(kernel, i) == image)
            return LLVMGetEnumAttributeAtIndex(kernel, i + 1, kind) != NULL;
    return false;
}

// No quotient by it is a fault.
static bool is_safe_divisor(LLVMValueRef value)
{
    return LLVMIsAConstantInt(value) && LLVMConstIntGetSExtValue(value) != 0 &&
           LLVMConstIntGetSExtValue(value) != -1;
}

static bool is_given(LLVMValueRef value, unsigned *budget)
{
    if (LLVMIsAArgument(value))
        return true;
    if (!LLVMIsAInstruction(value))
        return LLVMIsAConstantInt(value) != NULL;
    if (*budget == 0)
        return false;
    --*budget;

    unsigned operands;
    switch (hdi_call_kind(value)) {
    case HDI_CALL_ENQUEUED_LOCAL_SIZE:
    case HDI_CALL_GLOBAL_SIZE:
    case HDI_CALL_NUM_GROUPS:
    case HDI_CALL_GLOBAL_OFFSET:
        return LLVMIsAConstantInt(LLVMGetOperand(value, 0)) != NULL;
    case HDI_CALL_OTHER:
        break;
    default:
        return false;
    }
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMLoad:
        return hdi_bounds_is_image_field(value);
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMICmp:
    case LLVMSelect:
        break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        if (!is_safe_divisor(LLVMGetOperand(value, 1)))
            return false;
        break;
    default:
        return false;
    }
    operands = (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < operands; i++)
        if (!is_given(LLVMGetOperand(value, i), budget))
            return false;
    return true;
}

bool hdi_bounds_is_given(LLVMValueRef value)
{
    unsigned budget = MAX_TREE;
    return is_given(value, &budget);
}

int hdi_bounds_dimension(LLVMValueRef value)
{
    LLVMValueRef call = hdi_low_whole_of(value);

    if (hdi_call_kind(call) != HDI_CALL_GLOBAL_ID)
        return -1;
    LLVMValueRef d = LLVMGetOperand(call, 0);
    return LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) < 3
               ? (int)LLVMConstIntGetZExtValue(d)
               : -1;
}

void hdi_bounds_call(struct hdi_bounds *f, const char *name, unsigned d,
                     LLVMValueRef bound)
{
    LLVMTypeRef types[2] = {f->i32, f->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(f->llvm->context),
                                        types, 2, false);
    LLVMValueRef function = LLVMGetNamedFunction(f->module, name);
    if (!function)
        function = LLVMAddFunction(f->module, name, type);
    LLVMValueRef arguments[2] = {LLVMConstInt(f->i32, d, false), bound};
    LLVMBuildCall2(f->builder, type, function, arguments, 2, "");
}

static LLVMValueRef number(struct hdi_bounds *f, int64_t n)
{
    return LLVMConstInt(f->i64, (uint64_t)n, true);
}

// At least `least`, signed.
static LLVMValueRef at_least(struct hdi_bounds *f, LLVMValueRef value,
                             int64_t least)
{
    return LLVMBuildSelect(
        f->builder,
        LLVMBuildICmp(f->builder, LLVMIntSGT, value, number(f, least), ""),
        value, number(f, least), "");
}

// One more, but not beyond the largest.
// A bound beyond all ids stays one: with the sum it would become 0.
static LLVMValueRef one_more(struct hdi_bounds *f, LLVMValueRef value)
{
    LLVMValueRef less =
        LLVMBuildICmp(f->builder, LLVMIntNE, value, number(f, -1), "");
    return LLVMBuildAdd(f->builder, value,
                        LLVMBuildZExt(f->builder, less, f->i64, ""), "");
}

static LLVMIntPredicate inverse(LLVMIntPredicate predicate)
{
    switch (predicate) {
    case LLVMIntEQ:
        return LLVMIntNE;
    case LLVMIntNE:
        return LLVMIntEQ;
    case LLVMIntUGT:
        return LLVMIntULE;
    case LLVMIntUGE:
        return LLVMIntULT;
    case LLVMIntULT:
        return LLVMIntUGE;
    case LLVMIntULE:
        return LLVMIntUGT;
    case LLVMIntSGT:
        return LLVMIntSLE;
    case LLVMIntSGE:
        return LLVMIntSLT;
    case LLVMIntSLT:
        return LLVMIntSGE;
    default:
        return LLVMIntSGT;
    }
}

static bool is_minus_one(LLVMValueRef value)
{
    return LLVMIsAConstantInt(value) && LLVMConstIntGetSExtValue(value) == -1;
}

// State the bounds that `id predicate other` is; false when it is none.
// What is stated holds for 64-bit ids without a sign; a bound that is negative
// as a signed number is cut off at 0, below which no id is.
//
// Nothing is written when it returns false.
static bool state_comparison(struct hdi_bounds *f, LLVMIntPredicate predicate,
                             LLVMValueRef id, LLVMValueRef other)
{
    int d = hdi_bounds_dimension(id);
    bool shifted = d < 0 && LLVMIsAInstruction(id) &&
                   LLVMGetInstructionOpcode(id) == LLVMAdd &&
                   is_minus_one(LLVMGetOperand(id, 1));

    // id - 1 < other is what id > 0 && id <= other becomes.
    if (shifted)
        d = hdi_bounds_dimension(LLVMGetOperand(id, 0));
    if (d < 0 || (shifted && predicate != LLVMIntULT) ||
        !hdi_bounds_is_given(other))
        return false;
    unsigned dim = (unsigned)d;
    bool with_sign = predicate >= LLVMIntSGT;
    if (predicate == LLVMIntNE &&
        (!LLVMIsAConstantInt(other) || LLVMConstIntGetZExtValue(other) != 0))
        return false;

    LLVMValueRef bound = other;
    if (LLVMTypeOf(other) != f->i64)
        bound = with_sign ? LLVMBuildSExt(f->builder, other, f->i64, "")
                          : LLVMBuildZExt(f->builder, other, f->i64, "");
    if (shifted) {
        hdi_bounds_call(f, hdi_bounds_lower, dim, number(f, 1));
        hdi_bounds_call(f, hdi_bounds_upper, dim, one_more(f, bound));
        return true;
    }
    switch (predicate) {
    case LLVMIntEQ:
        hdi_bounds_call(f, hdi_bounds_lower, dim, bound);
        hdi_bounds_call(f, hdi_bounds_upper, dim, one_more(f, bound));
        return true;
    case LLVMIntNE:
        hdi_bounds_call(f, hdi_bounds_lower, dim, number(f, 1));
        return true;
    case LLVMIntULT:
        hdi_bounds_call(f, hdi_bounds_upper, dim, bound);
        return true;
    case LLVMIntULE:
        hdi_bounds_call(f, hdi_bounds_upper, dim, one_more(f, bound));
        return true;
    case LLVMIntUGE:
        hdi_bounds_call(f, hdi_bounds_lower, dim, bound);
        return true;
    case LLVMIntUGT:
        hdi_bounds_call(f, hdi_bounds_lower, dim, one_more(f, bound));
        return true;
    case LLVMIntSLT:
        hdi_bounds_call(f, hdi_bounds_upper, dim, at_least(f, bound, 0));
        return true;
    case LLVMIntSLE:
        hdi_bounds_call(
            f, hdi_bounds_upper, dim,
            LLVMBuildAdd(f->builder, at_least(f, bound, -1), number(f, 1), ""));
        return true;
    case LLVMIntSGE:
        hdi_bounds_call(f, hdi_bounds_lower, dim, at_least(f, bound, 0));
        return true;
    default:
        hdi_bounds_call(
            f, hdi_bounds_lower, dim,
            LLVMBuildAdd(f->builder, at_least(f, bound, -1), number(f, 1), ""));
        return true;
    }
}

bool hdi_bounds_is_constant(LLVMValueRef value, uint64_t wanted)
{
    return LLVMIsAConstantInt(value) &&
           LLVMConstIntGetZExtValue(value) == wanted;
}

// A part that became a bound is replaced by `wanted`: for all work-items that
// are left it is that.
void hdi_bounds_state(struct hdi_bounds *f, LLVMValueRef condition, bool wanted)
{
    if (!LLVMIsAInstruction(condition))
        return;
    LLVMOpcode code = LLVMGetInstructionOpcode(condition);

    if (code == LLVMICmp) {
        LLVMIntPredicate predicate = LLVMGetICmpPredicate(condition);
        LLVMValueRef a = LLVMGetOperand(condition, 0);
        LLVMValueRef b = LLVMGetOperand(condition, 1);
        if (LLVMGetTypeKind(LLVMTypeOf(a)) != LLVMIntegerTypeKind)
            return;
        if (!wanted)
            predicate = inverse(predicate);
        if (state_comparison(f, predicate, a, b) ||
            state_comparison(f, hdi_predicate_swapped(predicate), b, a))
            LLVMReplaceAllUsesWith(
                condition, LLVMConstInt(LLVMTypeOf(condition), wanted, false));
        return;
    }
    if (LLVMGetTypeKind(LLVMTypeOf(condition)) != LLVMIntegerTypeKind)
        return;

    LLVMValueRef a = LLVMGetOperand(condition, 0), b;
    if (code == (wanted ? LLVMAnd : LLVMOr)) {
        b = LLVMGetOperand(condition, 1);
    } else if (code == LLVMXor &&
               hdi_bounds_is_constant(LLVMGetOperand(condition, 1), 1)) {
        hdi_bounds_state(f, a, !wanted);
        return;
    } else if (code == LLVMSelect && wanted &&
               hdi_bounds_is_constant(LLVMGetOperand(condition, 2), 0)) {
        b = LLVMGetOperand(condition, 1); // a && b
    } else if (code == LLVMSelect && !wanted &&
               hdi_bounds_is_constant(LLVMGetOperand(condition, 1), 1)) {
        b = LLVMGetOperand(condition, 2); // a || b
    } else {
        return;
    }
    hdi_bounds_state(f, a, wanted);
    hdi_bounds_state(f, b, wanted);
}

bool hdi_bounds_is_pure_call(LLVMValueRef call)
{
    unsigned memory = LLVMGetEnumAttributeKindForName("memory", 6);
    LLVMValueRef callee = LLVMGetCalledValue(call);

    if (hdi_call_kind(call) != HDI_CALL_OTHER)
        return true;
    if (!LLVMIsAFunction(callee))
        return false;
    // The calls that state bounds are ours.
    const char *name = hdi_value_name(callee);
    if (strcmp(name, hdi_bounds_lower) == 0 ||
        strcmp(name, hdi_bounds_upper) == 0)
        return true;
    LLVMAttributeRef attribute =
        LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, memory);
    return attribute && LLVMGetEnumAttributeValue(attribute) == 0; // none
}

bool hdi_bounds_is_pure(LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
         i = LLVMGetNextInstruction(i))
        if (LLVMIsAStoreInst(i) || LLVMIsAAtomicRMWInst(i) ||
            LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAFenceInst(i) ||
            (LLVMIsALoadInst(i) && LLVMGetVolatile(i)) ||
            (LLVMIsACallInst(i) && !hdi_bounds_is_pure_call(i)))
            return false;
    return true;
}

bool hdi_bounds_only_returns(LLVMBasicBlockRef block)
{
    return LLVMIsAReturnInst(LLVMGetFirstInstruction(block)) != NULL;
}

bool hdi_bounds_has_one_predecessor(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    return use && !LLVMGetNextUse(use);
}

void hdi_bounds_mark_images(LLVMContextRef c, LLVMValueRef kernel,
                            const struct hdi_build_kernel *about)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("dereferenceable", 15);

    for (uint32_t i = 0; i < about->arg_count; i++)
        if (about->args[i].kind == HD_ARG_IMAGE)
            LLVMAddAttributeAtIndex(
                kernel, i + 1,
                LLVMCreateEnumAttribute(c, kind, sizeof(struct hdi_image)));
}
