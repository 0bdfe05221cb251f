#include "kernel/compiler/transform/early.h"

#include "kernel/compiler/flow/nest.h"

enum {
    MAX_LOADS = 8, // of a loop
    MAX_STEPS = 8, // from where the loop begins to its condition
    MAX_DEPTH = 6  // of an address
};

// A loop that begins in `head`, which alone decides whether there is a turn;
// every turn then comes to `first`.
struct early {
    const struct hdi_llvm *llvm;
    LLVMBuilderRef builder;
    LLVMBasicBlockRef before, head, first;
    LLVMValueRef loads[MAX_LOADS];
    unsigned load_count;
    struct hdi_map begun; // of values in the head: as the first turn has them
};

static bool is_in(const struct hdi_nest *nest, LLVMBasicBlockRef block)
{
    size_t index = hdi_map_index(&nest->flow->block_index, block);
    return index != SIZE_MAX && hdi_nest_has(nest, index);
}

static bool is_same(const struct hdi_nest *nest, LLVMValueRef value)
{
    return !LLVMIsAInstruction(value) ||
           !is_in(nest, LLVMGetInstructionParent(value));
}

// Whether it can be computed in front of the loop at hand, by few steps.
static bool can_be_early(const struct hdi_nest *nest, LLVMValueRef value,
                         unsigned depth)
{
    if (is_same(nest, value))
        return true;
    if (depth == 0 ||
        !(LLVMIsAGetElementPtrInst(value) || LLVMIsACastInst(value) ||
          LLVMIsABinaryOperator(value)) ||
        LLVMGetInstructionOpcode(value) == LLVMSDiv ||
        LLVMGetInstructionOpcode(value) == LLVMUDiv ||
        LLVMGetInstructionOpcode(value) == LLVMSRem ||
        LLVMGetInstructionOpcode(value) == LLVMURem)
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(value); i++)
        if (!can_be_early(nest, LLVMGetOperand(value, i), depth - 1))
            return false;
    return true;
}

static bool is_plain_load(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) && !LLVMGetVolatile(x) &&
           LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
}

// Whether it leaves memory and other work-items alone.
static bool is_quiet(LLVMValueRef x)
{
    if (!LLVMIsACallInst(x))
        return is_plain_load(x) ||
               (!LLVMIsALoadInst(x) && !LLVMIsAStoreInst(x) &&
                !LLVMIsAAtomicRMWInst(x) && !LLVMIsAAtomicCmpXchgInst(x) &&
                !LLVMIsAFenceInst(x));
    return LLVMIsAFunction(LLVMGetCalledValue(x)) &&
           LLVMGetIntrinsicID(LLVMGetCalledValue(x)) != 0 &&
           LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVoidTypeKind;
}

static bool all_quiet(const struct hdi_nest *nest)
{
    for (size_t b = 0; b < nest->flow->block_count; b++)
        if (hdi_nest_has(nest, b))
            for (LLVMValueRef x =
                     LLVMGetFirstInstruction(nest->flow->blocks[b].block);
                 x; x = LLVMGetNextInstruction(x))
                if (!is_quiet(x))
                    return false;
    return true;
}

static unsigned count_exits(const struct hdi_nest *nest)
{
    unsigned exits = 0;

    for (size_t b = 0; b < nest->flow->block_count; b++) {
        const struct hdi_block *block = &nest->flow->blocks[b];
        for (unsigned s = 0;
             hdi_nest_has(nest, b) && s < block->successor_count; s++)
            exits += !hdi_nest_has(nest, block->successors[s]);
    }
    return exits;
}

// The only block outside that goes to the head, and nowhere else.
static LLVMBasicBlockRef find_before(const struct hdi_nest *nest, size_t head)
{
    const struct hdi_block *block = &nest->flow->blocks[head];
    size_t found = SIZE_MAX;

    for (unsigned p = 0; p < block->predecessor_count; p++) {
        if (hdi_nest_has(nest, block->predecessors[p]))
            continue;
        if (found != SIZE_MAX)
            return NULL;
        found = block->predecessors[p];
    }
    return found != SIZE_MAX && nest->flow->blocks[found].successor_count == 1
               ? nest->flow->blocks[found].block
               : NULL;
}

// The block that the head goes to for a turn.
static LLVMBasicBlockRef find_first(const struct hdi_nest *nest, size_t head)
{
    const struct hdi_block *block = &nest->flow->blocks[head];

    if (block->successor_count != 2)
        return NULL;
    size_t a = block->successors[0], b = block->successors[1];
    if (hdi_nest_has(nest, a) == hdi_nest_has(nest, b))
        return NULL;
    size_t first = hdi_nest_has(nest, a) ? a : b;
    return first != head && nest->flow->blocks[first].predecessor_count == 1
               ? nest->flow->blocks[first].block
               : NULL;
}

// Whether the head does little and asks no memory before it decides.
static bool decides_quickly(LLVMBasicBlockRef head)
{
    unsigned steps = 0;

    for (LLVMValueRef x = LLVMGetFirstInstruction(head); x;
         x = LLVMGetNextInstruction(x)) {
        if (LLVMIsALoadInst(x) || LLVMIsACallInst(x))
            return false;
        steps += !LLVMIsAPHINode(x);
    }
    LLVMValueRef end = LLVMGetBasicBlockTerminator(head);
    return steps <= MAX_STEPS && LLVMIsABranchInst(end) &&
           LLVMIsConditional(end);
}

static void find_loads(struct early *e, const struct hdi_nest *nest)
{
    e->load_count = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(e->first); x;
         x = LLVMGetNextInstruction(x))
        if (LLVMIsALoadInst(x) && e->load_count < MAX_LOADS &&
            can_be_early(nest, LLVMGetOperand(x, 0), MAX_DEPTH))
            e->loads[e->load_count++] = x;
}

// What the value is in the first turn: phi nodes of the head as they begin, and
// the rest computed once more at the builder's point.
static LLVMValueRef begin(struct early *e, LLVMValueRef value)
{
    LLVMValueRef copy = hdi_map_get(&e->begun, value);

    if (copy || !LLVMIsAInstruction(value) ||
        LLVMGetInstructionParent(value) != e->head)
        return copy ? copy : value;
    if (LLVMIsAPHINode(value)) {
        for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
            if (LLVMGetIncomingBlock(value, i) == e->before)
                copy = LLVMGetIncomingValue(value, i);
    } else {
        LLVMValueRef operands[MAX_STEPS];
        int count = LLVMGetNumOperands(value);
        for (int i = 0; i < count && i < MAX_STEPS; i++)
            operands[i] = begin(e, LLVMGetOperand(value, (unsigned)i));
        copy = LLVMInstructionClone(value);
        LLVMInsertIntoBuilder(e->builder, copy);
        for (int i = 0; i < count && i < MAX_STEPS; i++)
            LLVMSetOperand(copy, (unsigned)i, operands[i]);
    }
    hdi_map_set(&e->begun, value, copy);
    return copy;
}

// before: if there is a first turn, go by `loads`, which loads, to the head.
static void move(struct early *e)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(e->head);
    LLVMValueRef left = LLVMGetBasicBlockTerminator(e->before);
    LLVMBasicBlockRef loads =
        LLVMInsertBasicBlockInContext(e->llvm->context, e->head, "early");
    bool wanted = LLVMGetSuccessor(end, 0) == e->first;

    LLVMPositionBuilderBefore(e->builder, left);
    LLVMSetCurrentDebugLocation2(e->builder, NULL);
    LLVMValueRef condition = begin(e, LLVMGetCondition(end));
    LLVMBuildCondBr(e->builder, condition, wanted ? loads : e->head,
                    wanted ? e->head : loads);
    LLVMInstructionEraseFromParent(left);
    LLVMPositionBuilderAtEnd(e->builder, loads);
    LLVMBuildBr(e->builder, e->head);
    for (LLVMValueRef x = LLVMGetFirstInstruction(e->head); LLVMIsAPHINode(x);
         x = LLVMGetNextInstruction(x)) {
        LLVMValueRef start = begin(e, x);
        LLVMAddIncoming(x, &start, &loads, 1);
    }
}

// The value, computed once more at the builder's point.
static LLVMValueRef copy(struct early *e, const struct hdi_nest *nest,
                         LLVMValueRef value)
{
    if (is_same(nest, value))
        return value;
    LLVMValueRef clone = LLVMInstructionClone(value);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(value); i++)
        LLVMSetOperand(clone, i, copy(e, nest, LLVMGetOperand(value, i)));
    LLVMInsertIntoBuilder(e->builder, clone);
    return clone;
}

// One load is from now on done before the loop.
static void replace(struct early *e, const struct hdi_nest *nest, size_t head,
                    LLVMBasicBlockRef loads, LLVMValueRef load)
{
    const struct hdi_block *block = &nest->flow->blocks[head];
    LLVMTypeRef type = LLVMTypeOf(load);

    LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(e->head));
    LLVMValueRef value = LLVMBuildPhi(e->builder, type, "");
    LLVMReplaceAllUsesWith(load, value);
    LLVMInstructionRemoveFromParent(load);
    LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(loads));
    LLVMSetOperand(load, 0, copy(e, nest, LLVMGetOperand(load, 0)));
    LLVMInsertIntoBuilder(e->builder, load);
    LLVMValueRef nothing = LLVMConstNull(type);
    LLVMAddIncoming(value, &load, &loads, 1);
    LLVMAddIncoming(value, &nothing, &e->before, 1);
    for (unsigned p = 0; p < block->predecessor_count; p++)
        if (hdi_nest_has(nest, block->predecessors[p]))
            LLVMAddIncoming(value, &value,
                            &nest->flow->blocks[block->predecessors[p]].block,
                            1);
}

static void look_at(struct early *e, struct hdi_nest *nest, size_t head)
{
    e->head = nest->flow->blocks[head].block;
    e->before = find_before(nest, head);
    e->first = find_first(nest, head);
    if (!e->before || !e->first || !decides_quickly(e->head) ||
        count_exits(nest) < 2 || !all_quiet(nest))
        return;
    find_loads(e, nest);
    if (e->load_count == 0)
        return;
    move(e);
    LLVMBasicBlockRef loads = LLVMGetPreviousBasicBlock(e->head);
    for (unsigned i = 0; i < e->load_count; i++)
        replace(e, nest, head, loads, e->loads[i]);
    hdi_map_clear(&e->begun);
}

bool hdi_early_move(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                    LLVMValueRef kernel)
{
    struct early e = {.llvm = llvm, .builder = builder};
    struct hdi_flow flow;
    struct hdi_nest nest = {0};
    // Loops are found once: blocks that come after do not change which they
    // are.
    bool ok = hdi_flow_find(llvm, kernel, false, &flow) &&
              hdi_nest_find(&nest, &flow);

    for (size_t head = 0; ok && head < flow.block_count; head++)
        if (hdi_nest_take(&nest, head))
            look_at(&e, &nest, head);
    hdi_nest_destroy(&nest);
    hdi_flow_destroy(&flow);
    return ok && !e.begun.failed;
}
