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

// The root that a quotient is the reciprocal of is estimated as a whole.
static bool divides_by_root(LLVMValueRef quotient)
{
    LLVMValueRef root = LLVMGetOperand(quotient, 1);

    return LLVMIsACallInst(root) &&
           strncmp(hdi_value_name(LLVMGetCalledValue(root)), "llvm.sqrt.",
                   10) == 0;
}

// A vector of floats that is no full one of AVX-512.
static bool is_narrow_quotient(const struct hdi_llvm *llvm,
                               LLVMValueRef instruction)
{
    if (LLVMGetInstructionOpcode(instruction) != LLVMFDiv)
        return false;
    LLVMTypeRef type = LLVMTypeOf(instruction);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMFloatTypeKind &&
           (LLVMGetVectorSize(type) < 16 || llvm->target.vector_bytes < 64);
}

// Where a quotient may be estimated, the code generator takes the processor's
// estimate and one step of Newton's. AVX-512's, of 14 bits, is then as good as
// OpenCL asks for, within 2.5 units in the last place; that of 12 bits, which
// it takes for shorter vectors, is 3 off: those are divided. A reciprocal root
// takes two steps: with one it is 2 off where both are long, 4 elsewhere.
// Flags of an instruction can be added, not taken away.
static void divide(LLVMBuilderRef builder, LLVMValueRef quotient)
{
    LLVMPositionBuilderBefore(builder, quotient);
    LLVMValueRef exact = LLVMBuildFDiv(builder, LLVMGetOperand(quotient, 0),
                                       LLVMGetOperand(quotient, 1), "");
    if (LLVMIsAInstruction(exact))
        LLVMSetFastMathFlags(exact, LLVMGetFastMathFlags(quotient) &
                                        ~LLVMFastMathAllowReciprocal);
    LLVMReplaceAllUsesWith(quotient, exact);
    LLVMInstructionEraseFromParent(quotient);
}

static bool divide_narrow(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                          LLVMBasicBlockRef block)
{
    bool divides = false;

    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!is_narrow_quotient(llvm, i) || divides_by_root(i) ||
            !(LLVMGetFastMathFlags(i) & LLVMFastMathAllowReciprocal))
            continue;
        divide(builder, i);
        divides = true;
    }
    return divides;
}

void hdi_code_bound_quotients(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        bool divides = false;
        if (LLVMIsDeclaration(f))
            continue;
        hdi_function_text(f, "reciprocal-estimates", "vec-sqrtf:2,sqrtf:2");
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            divides |= divide_narrow(llvm, builder, b);
        // It would have all estimated, whatever instructions say.
        if (divides)
            hdi_function_text(f, "unsafe-fp-math", "false");
    }
    LLVMDisposeBuilder(builder);
}
