// A frozen value is the same value, but no pass looks through it: the loop then
// steps from it as from an argument. That loses nothing where a turn has many
// accesses to a base that is computed once before the loop.
//
//     row = gep data, (a % b) << 14         row = gep data, (a % b) << 14
//                                           base = freeze row
//   loop:                                 loop:
//     x = load (gep row, i)                 x = load (gep base, i)
//     y = load (gep row, i + 64) ...        y = load (gep base, i + 64) ...
#include "kernel/compiler/emit/bases.h"

#include "kernel/compiler/ir/map.h"

enum {
    // Accesses times instructions of their base, from which on it is hidden.
    // Below, the search takes less than the rest of code generation.
    LONG = 512
};

// A loop of one block: innermost ones are, but for those with conditions.
static bool is_loop(LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);

    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
        if (LLVMGetSuccessor(end, s) == block)
            return true;
    return false;
}

static bool is_in(LLVMBasicBlockRef block, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionParent(value) == block;
}

// What a load or store of the loop begins at, computed before the loop; NULL:
// it is no such access.
static LLVMValueRef base_of(LLVMBasicBlockRef loop, LLVMValueRef access)
{
    bool store = LLVMIsAStoreInst(access) != NULL;

    if (!store && !LLVMIsALoadInst(access))
        return NULL;
    LLVMValueRef pointer = LLVMGetOperand(access, store);
    while (is_in(loop, pointer) && LLVMIsAGetElementPtrInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAGetElementPtrInst(pointer) && !is_in(loop, pointer) ? pointer
                                                                      : NULL;
}

// How many operations and operands a value is computed of, counted as often as
// they are used; `most`: so many or more.
// LLVM takes a remainder for x - x / y * y.
static unsigned length_of(LLVMValueRef value, unsigned most)
{
    unsigned length = 1;
    bool plain = LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) ||
                 LLVMIsAGetElementPtrInst(value);

    if (!plain)
        return 1;
    unsigned times = LLVMGetInstructionOpcode(value) == LLVMURem ? 2 : 1;
    for (unsigned o = 0;
         o < (unsigned)LLVMGetNumOperands(value) && length < most; o++)
        length += times * length_of(LLVMGetOperand(value, o), most - length);
    return length < most ? length : most;
}

// Loops of one base share what hides it.
static LLVMValueRef hidden(LLVMBuilderRef builder, LLVMValueRef base)
{
    LLVMValueRef next = LLVMGetNextInstruction(base);

    if (LLVMIsAFreezeInst(next) && LLVMGetOperand(next, 0) == base)
        return next;
    LLVMPositionBuilderBefore(builder, next);
    LLVMSetCurrentDebugLocation2(builder, NULL);
    return LLVMBuildFreeze(builder, base, "");
}

static void replace_in(LLVMBasicBlockRef loop, LLVMValueRef old,
                       LLVMValueRef by)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(loop); i;
         i = LLVMGetNextInstruction(i))
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(i); o++)
            if (LLVMGetOperand(i, o) == old && !LLVMIsAPHINode(i))
                LLVMSetOperand(i, o, by);
}

// Each base is looked at once. Without memory some are not hidden.
static void hide_bases(LLVMBuilderRef builder, LLVMBasicBlockRef loop)
{
    struct hdi_map more = {0}; // base: its accesses, less one

    for (LLVMValueRef i = LLVMGetFirstInstruction(loop); i;
         i = LLVMGetNextInstruction(i)) {
        LLVMValueRef base = base_of(loop, i);
        if (base)
            hdi_map_set_index(&more, base, hdi_map_index(&more, base) + 1);
    }
    for (LLVMValueRef i = LLVMGetFirstInstruction(loop); i;
         i = LLVMGetNextInstruction(i)) {
        LLVMValueRef base = base_of(loop, i);
        size_t count = base ? hdi_map_index(&more, base) + 1 : 0;
        if (count < 2)
            continue;
        hdi_map_set_index(&more, base, 0);
        if (length_of(base, LONG) * count >= LONG)
            replace_in(loop, base, hidden(builder, base));
    }
    hdi_map_clear(&more);
}

void hdi_bases_hide(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            if (is_loop(b))
                hide_bases(builder, b);
    LLVMDisposeBuilder(builder);
}
