#include "kernel/compiler/wide/fold.h"

#include <string.h>

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/ir/rules.h"

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

bool hdi_fold(struct hdi_wide *w, LLVMValueRef x)
{
    if (!hdi_rule_is_on(w->emit->llvm, HDI_RULE_FOLD) || !hdi_can_fold(x) ||
        !hdi_linear_is_uniform(w->linear, LLVMGetOperand(x, 0)))
        return false;

    LLVMAtomicRMWBinOp operation = LLVMGetAtomicRMWBinOp(x);
    const char *name = hdi_reduction(operation);
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
