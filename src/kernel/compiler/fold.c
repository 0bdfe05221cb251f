#include "kernel/compiler/fold.h"

#include <string.h>

// The intrinsic that brings lanes together, NULL: none.
static const char *reduction(LLVMAtomicRMWBinOp operation)
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

// What changes nothing.
static LLVMValueRef neutral(LLVMAtomicRMWBinOp operation, LLVMTypeRef type)
{
    uint64_t sign = UINT64_C(1) << (LLVMGetIntTypeWidth(type) - 1);

    switch (operation) {
    case LLVMAtomicRMWBinOpAnd:
    case LLVMAtomicRMWBinOpUMin:
        return LLVMConstAllOnes(type);
    case LLVMAtomicRMWBinOpMin:
        return LLVMConstInt(type, sign - 1, false);
    case LLVMAtomicRMWBinOpMax:
        return LLVMConstInt(type, sign, false);
    default:
        return LLVMConstNull(type);
    }
}

bool hdi_can_fold(LLVMValueRef x)
{
    return LLVMIsAAtomicRMWInst(x) && !LLVMGetFirstUse(x) &&
           reduction(LLVMGetAtomicRMWBinOp(x));
}

bool hdi_fold(struct hdi_wide *w, LLVMValueRef x)
{
    if (!hdi_can_fold(x))
        return false;
    struct hdi_class at = hdi_linear_class(w->linear, LLVMGetOperand(x, 0));
    if (at.kind == HDI_LANES_VARY || at.step != 0)
        return false;

    LLVMAtomicRMWBinOp operation = LLVMGetAtomicRMWBinOp(x);
    const char *name = reduction(operation);
    LLVMValueRef all = hdi_wide_value(w, LLVMGetOperand(x, 1));
    LLVMTypeRef type = LLVMTypeOf(all);
    LLVMValueRef none =
        hdi_wide_splat(w, neutral(operation, LLVMGetElementType(type)));
    all = LLVMBuildSelect(w->emit->builder, w->mask, all, none, "");
    hdi_emit_update(w->emit, x,
                    hdi_wide_call(w, LLVMLookupIntrinsicID(name, strlen(name)),
                                  &type, 1, &all, 1));
    return true;
}
