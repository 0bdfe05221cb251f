#include "kernel/compiler/driver/code.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "kernel/compiler/flow/effort.h"
#include "kernel/compiler/ir/rules.h"

enum {
    // Of a kernel that is optimised with all means, and of a block of it.
    MAX_INSTRUCTIONS = 6000,
    MAX_STRAIGHT = 1500,
    // Of a kernel whose loops are copied by their conditions (unswitched): that
    // takes as long as all else, more of long ones, and is worth it in short
    // ones with barriers alone.
    MAX_UNSWITCHED = 1500
};

// Each once, and none that looks at pairs of instructions or forgets all it
// knows with each loop: its time is that of the code's length.
static const char brief[] =
    "coro-early,always-inline,cgscc(coro-split),coro-cleanup,globaldce,"
    "function(sroa,early-cse<memssa>,simplifycfg,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,loop-simplify,lcssa,"
    "loop-mssa(licm),gvn,dse,simplifycfg,early-cse)";

// LLVM's levels 2 and 3 differ in unswitching, as far as kernels go.
// Unswitching doubles a loop per condition, which no later pass undoes.
static hd_status optimise_fully(struct hdi_llvm *llvm, LLVMModuleRef module,
                                const struct hdi_effort *cost,
                                struct hdi_text *explanation,
                                struct hd_error *error)
{
    if (!hdi_rule_is_on(llvm, HDI_RULE_UNSWITCH))
        return hdi_llvm_passes(llvm, module, "default<O2>", error);
    if (cost->instructions <= MAX_UNSWITCHED)
        return hdi_llvm_passes(llvm, module, "default<O3>", error);
    hdi_text_print(explanation,
                   "long: of %u instructions; so loops are not unswitched, to "
                   "build it in time\n",
                   cost->instructions);
    return hdi_llvm_passes(llvm, module, "default<O2>", error);
}

// The budget is asked first: it counts work, by which a short kernel with many
// nested loops may be over it as well.
hd_status hdi_code_optimise(struct hdi_llvm *llvm, LLVMModuleRef module,
                            struct hdi_text *explanation,
                            struct hd_error *error)
{
    struct hdi_effort cost = hdi_effort_of(module);
    if (cost.units > llvm->budget) {
        hdi_text_print(explanation,
                       "long: %u instructions, %u loops and up to %u "
                       "instructions in a row are %llu units of work, more "
                       "than the budget of %llu; so it is optimised briefly\n",
                       cost.instructions, cost.loops, cost.longest,
                       (unsigned long long)cost.units,
                       (unsigned long long)llvm->budget);
        return hdi_llvm_passes(llvm, module, brief, error);
    }
    if (cost.instructions <= MAX_INSTRUCTIONS && cost.longest <= MAX_STRAIGHT)
        return optimise_fully(llvm, module, &cost, explanation, error);
    hdi_text_print(explanation,
                   "long: of %u instructions; so loops are not unrolled, to "
                   "build it in time\n",
                   cost.instructions);
    return hdi_llvm_passes_long(llvm, module, "default<O2>", error);
}

// Up to the first instruction with a line the code generator gives all that of
// the function, also a store in the middle of a loop: say that it has none.
void hdi_code_begin_without_line(struct hdi_llvm *llvm, LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        LLVMMetadataRef scope = LLVMGetSubprogram(f);
        if (LLVMIsDeclaration(f) || !scope)
            continue;
        LLVMMetadataRef none =
            LLVMDIBuilderCreateDebugLocation(llvm->context, 0, 0, scope, NULL);
        for (LLVMValueRef i =
                 LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f));
             i; i = LLVMGetNextInstruction(i))
            if (!LLVMInstructionGetDebugLoc(i))
                LLVMInstructionSetDebugLoc(i, none);
    }
}
