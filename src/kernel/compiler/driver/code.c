#include "kernel/compiler/driver/code.h"

#include <llvm-c/DebugInfo.h>
#include <stdbool.h>

#include "base/error.h"

enum {
    // Of a kernel that is optimised with all means, and of a block of it.
    MAX_INSTRUCTIONS = 6000,
    MAX_STRAIGHT = 1500
};

// Instructions of the module, and of its longest block.
static unsigned count_instructions(LLVMModuleRef module, unsigned *longest)
{
    unsigned all = 0;

    *longest = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b)) {
            unsigned count = 0;
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                count++;
            all += count;
            *longest = count > *longest ? count : *longest;
        }
    return all;
}

hd_status hdi_code_optimise(struct hdi_llvm *llvm, LLVMModuleRef module,
                            struct hdi_text *explanation,
                            struct hd_error *error)
{
    unsigned longest, count = count_instructions(module, &longest);
    if (count <= MAX_INSTRUCTIONS && longest <= MAX_STRAIGHT)
        return hdi_llvm_passes(llvm, module, "default<O3>", error);
    hdi_text_print(explanation,
                   "long: of %u instructions; so loops are not unrolled, to "
                   "build it in time\n",
                   count);
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
