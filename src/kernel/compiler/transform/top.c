#include "kernel/compiler/transform/top.h"

#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/limits/bounds.h"
#include "kernel/compiler/transform/stride.h"

enum {
    MAX_CONDITIONS = 8 // one after the other
};

void hdi_top_bound(struct hdi_llvm *llvm, LLVMModuleRef module,
                   LLVMBuilderRef builder, LLVMValueRef kernel)
{
    struct hdi_bounds f = {llvm, module, builder,
                           LLVMInt32TypeInContext(llvm->context),
                           LLVMInt64TypeInContext(llvm->context)};
    LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(kernel);

    for (unsigned n = 0; n < MAX_CONDITIONS && hdi_bounds_is_pure(block); n++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
        if (!LLVMIsABranchInst(end))
            return;
        LLVMBasicBlockRef next = LLVMGetSuccessor(end, 0);
        if (LLVMIsConditional(end)) {
            bool wanted = hdi_bounds_only_returns(LLVMGetSuccessor(end, 1));
            if (!wanted && !hdi_bounds_only_returns(next))
                return;
            LLVMPositionBuilderBefore(builder, end);
            LLVMSetCurrentDebugLocation2(builder, NULL);
            hdi_bounds_state(&f, LLVMGetCondition(end), wanted);
            next = LLVMGetSuccessor(end, !wanted);
        }
        if (!hdi_bounds_has_one_predecessor(next)) {
            if (hdi_rule_is_on(llvm, HDI_RULE_STRIDE))
                hdi_stride_straighten(&f, block, next);
            return;
        }
        block = next;
    }
}
