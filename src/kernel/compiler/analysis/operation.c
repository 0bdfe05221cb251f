#include "kernel/compiler/analysis/operation.h"

#include <string.h>

bool hdi_is_plain_access(LLVMValueRef instruction)
{
    return !LLVMGetVolatile(instruction) &&
           LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
}

bool hdi_has_effects(const struct hdi_flow *flow, LLVMValueRef x)
{
    if (LLVMIsAStoreInst(x))
        return hdi_slot_of(flow, x) == SIZE_MAX;
    if (LLVMIsALoadInst(x))
        return hdi_slot_of(flow, x) == SIZE_MAX && !hdi_is_plain_access(x);
    return LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x) ||
           LLVMIsAFenceInst(x) ||
           (LLVMIsACallInst(x) && hdi_call_kind(x) == HDI_CALL_OTHER &&
            hdi_vector_intrinsic(x) == 0);
}

// Names without "llvm." and types. Those of `two` have another type for the
// result than for the operand.
unsigned hdi_vector_intrinsic(LLVMValueRef call)
{
    static const char *const one[] = {
        "fabs",       "fma",      "fmuladd",      "sqrt",      "floor",
        "ceil",       "trunc",    "rint",         "nearbyint", "round",
        "roundeven",  "minnum",   "maxnum",       "minimum",   "maximum",
        "copysign",   "ctpop",    "ctlz",         "cttz",      "bswap",
        "bitreverse", "fshl",     "fshr",         "abs",       "smin",
        "smax",       "umin",     "umax",         "sadd.sat",  "uadd.sat",
        "ssub.sat",   "usub.sat", "canonicalize", "is.fpclass"};
    static const char *const two[] = {"fptosi.sat", "fptoui.sat"};

    LLVMValueRef callee = LLVMGetCalledValue(call);
    unsigned id = LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
    if (id == 0)
        return 0;
    size_t size;
    const char *name = LLVMIntrinsicGetName(id, &size) + strlen("llvm.");
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
        if (strcmp(name, one[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
        if (strcmp(name, two[i]) == 0)
            return 2;
    return 0;
}

bool hdi_can_divide(LLVMValueRef x)
{
    if (!LLVMIsABinaryOperator(x) || LLVMIsAConstant(LLVMGetOperand(x, 1)) ||
        LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMTypeOf(x)) != 32)
        return false;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        return true;
    default:
        return false;
    }
}

const char *hdi_reduction(LLVMAtomicRMWBinOp operation)
{
    switch (operation) {
    case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpSub:
        return "llvm.vector.reduce.add";
    case LLVMAtomicRMWBinOpAnd:
        return "llvm.vector.reduce.and";
    case LLVMAtomicRMWBinOpOr:
        return "llvm.vector.reduce.or";
    case LLVMAtomicRMWBinOpXor:
        return "llvm.vector.reduce.xor";
    case LLVMAtomicRMWBinOpMin:
        return "llvm.vector.reduce.smin";
    case LLVMAtomicRMWBinOpMax:
        return "llvm.vector.reduce.smax";
    case LLVMAtomicRMWBinOpUMin:
        return "llvm.vector.reduce.umin";
    case LLVMAtomicRMWBinOpUMax:
        return "llvm.vector.reduce.umax";
    default:
        return NULL;
    }
}

// Nobody asks for the old value: it would be another one for each lane.
bool hdi_can_fold(LLVMValueRef x)
{
    return LLVMIsAAtomicRMWInst(x) && !LLVMGetFirstUse(x) &&
           hdi_reduction(LLVMGetAtomicRMWBinOp(x));
}
