#include "kernel/compiler/ir/joins.h"

enum {
    // Each predecessor is looked up among the stores, so that is what a large
    // switch costs: its square, with a limit.
    MAX_STORES = 512, // of one variable
    MAX_STEPS = 4     // from a predecessor back to the block that writes
};

// A variable on its way to a phi node.
struct join {
    LLVMBasicBlockRef block; // that reads it; NULL: none does
    LLVMValueRef stores[MAX_STORES];
    unsigned count;
};

static LLVMValueRef store_in(const struct join *join, LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < join->count; i++)
        if (LLVMGetInstructionParent(join->stores[i]) == block)
            return join->stores[i];
    return NULL;
}

// Whether it is read in one block, which does not write it, and written at most
// once per block.
static bool find(LLVMValueRef variable, struct join *join)
{
    LLVMTypeRef type = LLVMGetAllocatedType(variable);

    join->block = NULL;
    join->count = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef x = LLVMGetUser(u);
        LLVMBasicBlockRef at =
            LLVMIsAInstruction(x) ? LLVMGetInstructionParent(x) : NULL;
        if (at && LLVMIsALoadInst(x) && LLVMTypeOf(x) == type &&
            !LLVMGetVolatile(x) && (!join->block || join->block == at)) {
            join->block = at;
        } else if (at && LLVMIsAStoreInst(x) &&
                   LLVMGetOperand(x, 1) == variable &&
                   LLVMTypeOf(LLVMGetOperand(x, 0)) == type &&
                   !LLVMGetVolatile(x) && join->count < MAX_STORES) {
            join->stores[join->count++] = x;
        } else {
            return false;
        }
    }
    if (!join->block || join->count < 2 || store_in(join, join->block))
        return false;
    for (unsigned i = 0; i < join->count; i++)
        if (store_in(join, LLVMGetInstructionParent(join->stores[i])) !=
            join->stores[i])
            return false;
    return true;
}

// The only block that jumps there; NULL: several do, or none.
static LLVMBasicBlockRef only_predecessor(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));

    if (!use || LLVMGetNextUse(use) || !LLVMIsATerminatorInst(LLVMGetUser(use)))
        return NULL;
    return LLVMGetInstructionParent(LLVMGetUser(use));
}

// What the variable holds when a block ends; NULL: that is not seen here.
static LLVMValueRef value_at_end(const struct join *join,
                                 LLVMBasicBlockRef block)
{
    for (unsigned step = 0; block && step < MAX_STEPS; step++) {
        LLVMValueRef store = store_in(join, block);
        if (store)
            return LLVMGetOperand(store, 0);
        if (block == join->block)
            return NULL;
        block = only_predecessor(block);
    }
    return NULL;
}

static bool is_known_everywhere(const struct join *join)
{
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(join->block)); u;
         u = LLVMGetNextUse(u))
        if (!LLVMIsATerminatorInst(LLVMGetUser(u)) ||
            !value_at_end(join, LLVMGetInstructionParent(LLVMGetUser(u))))
            return false;
    return true;
}

static void promote(LLVMBuilderRef builder, LLVMValueRef variable,
                    const struct join *join)
{
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(join->block));
    LLVMSetCurrentDebugLocation2(builder, NULL);
    LLVMValueRef phi =
        LLVMBuildPhi(builder, LLVMGetAllocatedType(variable), "");

    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(join->block)); u;
         u = LLVMGetNextUse(u)) {
        LLVMBasicBlockRef from = LLVMGetInstructionParent(LLVMGetUser(u));
        LLVMValueRef value = value_at_end(join, from);
        LLVMAddIncoming(phi, &value, &from, 1);
    }
    for (LLVMUseRef u; (u = LLVMGetFirstUse(variable));) {
        LLVMValueRef x = LLVMGetUser(u);
        if (LLVMIsALoadInst(x))
            LLVMReplaceAllUsesWith(x, phi);
        LLVMInstructionEraseFromParent(x);
    }
    LLVMInstructionEraseFromParent(variable);
}

// What is promoted takes its loads and stores along, but no other variable.
static LLVMValueRef variable_from(LLVMValueRef instruction)
{
    while (instruction && !LLVMIsAAllocaInst(instruction))
        instruction = LLVMGetNextInstruction(instruction);
    return instruction;
}

void hdi_joins_promote(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);
    struct join join;

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f);
        LLVMValueRef x = variable_from(LLVMGetFirstInstruction(entry)), next;
        for (; x; x = next) {
            next = variable_from(LLVMGetNextInstruction(x));
            if (find(x, &join) && is_known_everywhere(&join))
                promote(builder, x, &join);
        }
    }
    LLVMDisposeBuilder(builder);
}
