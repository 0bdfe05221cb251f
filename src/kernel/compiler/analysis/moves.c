#include "kernel/compiler/analysis/moves.h"

enum {
    MAX_DEPTH = 12 // of an address's computation
};

// What is added to `alloca` where this is stored to it, NULL: something else is
// stored.
static LLVMValueRef addend(const struct hdi_flow *flow, LLVMValueRef stored,
                           LLVMValueRef alloca)
{
    LLVMValueRef sum = hdi_origin(flow, stored);

    if (!LLVMIsAInstruction(sum) || LLVMGetInstructionOpcode(sum) != LLVMAdd)
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef before = hdi_origin(flow, LLVMGetOperand(sum, i));
        if (LLVMIsALoadInst(before) && LLVMGetOperand(before, 0) == alloca)
            return LLVMGetOperand(sum, 1 - i);
    }
    return NULL;
}

static int64_t limited(int64_t move)
{
    return move > -HDI_MOVE_FAR && move < HDI_MOVE_FAR ? move : HDI_MOVE_FAR;
}

static int64_t move_of(const struct hdi_llvm *llvm, const struct hdi_nest *nest,
                       LLVMValueRef value, unsigned depth);

static int64_t move_of_slot(const struct hdi_llvm *llvm,
                            const struct hdi_nest *nest, size_t slot,
                            unsigned depth)
{
    const struct hdi_flow *flow = nest->flow;
    LLVMValueRef alloca = flow->slots[slot].alloca;
    int64_t move = 0;

    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        size_t block =
            hdi_map_index(&flow->block_index, LLVMGetInstructionParent(store));
        if (!LLVMIsAStoreInst(store) || !hdi_nest_has(nest, block))
            continue;
        LLVMValueRef stored = LLVMGetOperand(store, 0);
        LLVMValueRef more = addend(flow, stored, alloca);
        if (move != 0)
            return HDI_MOVE_ANYWHERE;
        if (!more)
            move = flow->slots[slot].only_stored
                       ? move_of(llvm, nest, stored, depth)
                       : HDI_MOVE_ANYWHERE;
        else
            move = LLVMIsAConstantInt(more)
                       ? limited(LLVMConstIntGetSExtValue(more))
                       : HDI_MOVE_FAR;
    }
    return move;
}

static int64_t move_of(const struct hdi_llvm *llvm, const struct hdi_nest *nest,
                       LLVMValueRef value, unsigned depth)
{
    const struct hdi_flow *flow = nest->flow;

    if (!LLVMIsAInstruction(value) ||
        !hdi_nest_has(nest, hdi_map_index(&flow->block_index,
                                          LLVMGetInstructionParent(value))))
        return 0;
    if (depth == MAX_DEPTH)
        return HDI_MOVE_ANYWHERE;
    depth++;
    if (LLVMIsALoadInst(value)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0));
        if (slot != SIZE_MAX)
            return move_of_slot(llvm, nest, slot, depth);
        return move_of(llvm, nest, LLVMGetOperand(value, 0), depth)
                   ? HDI_MOVE_ANYWHERE
                   : 0;
    }

    enum hdi_call kind = hdi_call_kind(value);
    if (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID)
        return 0;
    LLVMValueRef second =
        LLVMGetNumOperands(value) == 2 ? LLVMGetOperand(value, 1) : NULL;
    int64_t size[2] = {1, 1}; // that the operands' moves count for
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
        return move_of(llvm, nest, LLVMGetOperand(value, 0), depth);
    case LLVMGetElementPtr:
        if (!second)
            return HDI_MOVE_ANYWHERE;
        size[1] = (int64_t)LLVMABISizeOfType(
            llvm->layout, LLVMGetGEPSourceElementType(value));
        break;
    case LLVMAdd:
        break;
    case LLVMSub:
        size[1] = -1;
        break;
    case LLVMMul:
        size[0] = LLVMIsAConstantInt(second) ? LLVMConstIntGetSExtValue(second)
                                             : HDI_MOVE_FAR;
        size[1] = HDI_MOVE_FAR;
        break;
    case LLVMShl:
        if (!LLVMIsAConstantInt(second) ||
            LLVMConstIntGetZExtValue(second) > 16)
            return HDI_MOVE_ANYWHERE;
        size[0] = INT64_C(1) << LLVMConstIntGetZExtValue(second);
        break;
    default:
        return HDI_MOVE_ANYWHERE;
    }
    int64_t move = 0;
    for (unsigned i = 0; i < 2; i++) {
        int64_t part = move_of(llvm, nest, LLVMGetOperand(value, i), depth);
        if (part == HDI_MOVE_ANYWHERE)
            return HDI_MOVE_ANYWHERE;
        if (part != 0 &&
            (part == HDI_MOVE_FAR || limited(size[i]) == HDI_MOVE_FAR))
            move = HDI_MOVE_FAR;
        else if (move != HDI_MOVE_FAR)
            move += part * size[i];
    }
    return limited(move);
}

int64_t hdi_move_of(const struct hdi_llvm *llvm, const struct hdi_nest *nest,
                    LLVMValueRef value)
{
    return move_of(llvm, nest, value, 0);
}
