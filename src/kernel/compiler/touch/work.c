// A work for what is outside of all loops and one for each loop. Branches
// inside of a loop count as if all were taken.
#include "kernel/compiler/touch/work.h"

enum {
    // Of operations that other operations are parts of: about what divisions
    // and roots take against additions, whatever the processor.
    LONG_STEPS = 8,
    MAX_DEPTH = 4 // of calls that are followed
};

static unsigned elements(LLVMValueRef x)
{
    LLVMTypeRef type =
        LLVMTypeOf(LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 0) : x);

    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type)
                                                       : 1;
}

static uint64_t steps_of(LLVMValueRef x, unsigned depth);

static uint64_t steps_of_block(LLVMBasicBlockRef block, unsigned depth)
{
    uint64_t steps = 0;

    for (LLVMValueRef x = LLVMGetFirstInstruction(block); x;
         x = LLVMGetNextInstruction(x))
        steps += steps_of(x, depth);
    return steps;
}

// Functions that are not part of the kernel by now are called; of what is not
// known at all nothing is said.
static uint64_t steps_of_call(LLVMValueRef call, unsigned depth)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    uint64_t steps = 1;

    if (hdi_call_kind(call) != HDI_CALL_OTHER)
        return hdi_call_kind(call) <= HDI_CALL_WORK_DIM ? 0 : 1;
    if (!LLVMIsAFunction(callee) || depth == MAX_DEPTH)
        return LONG_STEPS;
    if (LLVMGetIntrinsicID(callee))
        return LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVoidTypeKind
                   ? 0 // a note, or a move that is counted by what it moves
                   : elements(call);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(callee); b;
         b = LLVMGetNextBasicBlock(b))
        steps += steps_of_block(b, depth + 1);
    return steps;
}

// Addresses, conversions and branches are part of what uses them.
static uint64_t steps_of(LLVMValueRef x, unsigned depth)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMFDiv:
    case LLVMFRem:
        return LONG_STEPS * elements(x);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return LONG_STEPS;
    case LLVMCall:
        return steps_of_call(x, depth);
    case LLVMLoad:
    case LLVMStore:
    case LLVMSelect:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMFNeg:
        return elements(x);
    default:
        return LLVMIsABinaryOperator(x) ? elements(x) : 0;
    }
}

// The loops around a block, each of which gets a number.
static uint32_t loops_around(struct hdi_nodes *f, size_t block)
{
    uint32_t loops = 0;

    for (size_t head = 0; head < f->flow.block_count; head++)
        if (hdi_nest_take(&f->nest, head) && hdi_nest_has(&f->nest, block)) {
            uint32_t number = hdi_nodes_loop(f, f->flow.blocks[head].block);
            loops |= number < 32 ? UINT32_C(1) << number : 0;
        }
    return loops;
}

static void add(struct hdi_nodes *f, size_t block, uint64_t steps)
{
    struct hdi_footprint *p = f->found;
    uint32_t loops = loops_around(f, block);
    uint32_t scope = hdi_footprint_scope(f, block);
    void *more = hdi_nodes_room(f, p->works, p->work_count, HDI_FOOTPRINT_TABLE,
                                &f->work_room, sizeof(*p->works));

    if (!more)
        return;
    p->works = more;
    p->works[p->work_count++] = (struct hdi_footprint_work){
        scope, loops, steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX};
}

// A loop counts where it goes round, which is where its turns are known from.
static void look_at(struct hdi_nodes *f, size_t head)
{
    bool is_loop = hdi_nest_take(&f->nest, head), one_exit;
    size_t at = 0;
    uint64_t steps = 0;

    if (!is_loop && head > 0)
        return;
    if (is_loop && !hdi_footprint_look_at_loop(f, head, &at, &one_exit))
        at = head;
    for (size_t b = 0; b < f->flow.block_count; b++)
        if (f->nest.inmost[b] == head)
            steps += steps_of_block(f->flow.blocks[b].block, 0);
    if (steps > 0)
        add(f, at, steps);
}

// Lists only grow at their ends, so what was too much goes by their counts.
void hdi_work_find(struct hdi_nodes *f)
{
    const struct hdi_footprint before = *f->found;

    for (size_t b = 0; b < f->flow.block_count && !f->failed && !f->too_much;
         b++)
        look_at(f, b);
    if (!f->too_much)
        return;
    f->too_much = false;
    f->found->node_count = before.node_count;
    f->found->condition_count = before.condition_count;
    f->found->scope_count = before.scope_count;
    f->found->loops = before.loops;
    f->found->work_count = 0;
}
