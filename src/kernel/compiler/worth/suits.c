#include "kernel/compiler/worth/suits.h"

#include "kernel/compiler/analysis/operation.h"

// 1 where the source is not known: there is such a line.
static unsigned line_of(LLVMValueRef x)
{
    unsigned line = hdi_source_line(x);

    return line > 0 ? line : 1;
}

static bool is_shared(const struct hdi_flow *flow, LLVMValueRef pointer)
{
    return hdi_map_index(&flow->slot_index, pointer) == SIZE_MAX;
}

// Slots are no memory: they are values on their way.
static void look_at(const struct hdi_value_steps *items, LLVMValueRef x,
                    bool in_loop, struct hdi_traits *traits)
{
    const struct hdi_flow *flow = items->flow;
    bool loads = LLVMIsALoadInst(x), stores = LLVMIsAStoreInst(x);

    // The call that asks for an id is, though nobody may use it.
    traits->divides |= !LLVMIsACallInst(x) && hdi_flow_is_divergent(flow, x);
    if (LLVMIsAAtomicRMWInst(x))
        traits->atomics++;
    if (LLVMIsAAtomicCmpXchgInst(x) && in_loop)
        traits->retries = line_of(x);
    if (!loads && !stores)
        return;
    LLVMValueRef pointer = LLVMGetOperand(x, stores);
    LLVMTypeRef type = LLVMTypeOf(stores ? LLVMGetOperand(x, 0) : x);
    if (!is_shared(flow, pointer))
        return;
    bool scattered = hdi_affine_is_gathered(items, pointer, type);
    traits->accesses++;
    traits->scattered += scattered;
    traits->repeated += in_loop;
    traits->repeated_scattered += in_loop && scattered;
}

// Of the loop at hand: a branch that leaves it, which some work-items take.
static void look_at_exits(const struct hdi_nest *nest,
                          struct hdi_traits *traits)
{
    const struct hdi_flow *flow = nest->flow;

    for (size_t b = 0; b < flow->block_count; b++) {
        const struct hdi_block *block = &flow->blocks[b];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
        if (!hdi_nest_has(nest, b) || !hdi_flow_is_divergent(flow, end))
            continue;
        for (unsigned s = 0; s < block->successor_count; s++)
            if (!hdi_nest_has(nest, block->successors[s]))
                traits->uneven = line_of(end);
    }
}

void hdi_traits_find(const struct hdi_value_steps *items, struct hdi_nest *nest,
                     struct hdi_traits *traits)
{
    const struct hdi_flow *flow = nest->flow;

    *traits = (struct hdi_traits){.divides = false};
    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[b].block); x;
             x = LLVMGetNextInstruction(x))
            look_at(items, x, hdi_nest_is_head(nest, nest->inmost[b]), traits);
    for (size_t b = 0; b < flow->block_count; b++)
        if (hdi_nest_is_head(nest, b) && hdi_nest_take(nest, b))
            look_at_exits(nest, traits);
}

uint32_t hdi_traits_judge(const struct hdi_traits *t,
                          const uint32_t *required_local, struct hdi_text *why)
{
    if (required_local[0] == 1 && required_local[1] == 1 &&
        required_local[2] == 1) {
        hdi_text_print(why, "its groups have one work-item each");
        return HD_SUITS_CPU;
    }
    if (!t->divides) {
        hdi_text_print(why, "all work-items do the same with the same data");
        return HD_SUITS_CPU;
    }
    if (t->retries > 0) {
        hdi_text_print(why,
                       "line %u: an exchange is tried again while others win",
                       t->retries);
        return HD_SUITS_CPU;
    }
    if (t->uneven > 0 && 2 * t->repeated_scattered > t->repeated) {
        hdi_text_print(why,
                       "line %u: work-items leave the loop at different times, "
                       "and %u of %u memory accesses in loops are scattered",
                       t->uneven, t->repeated_scattered, t->repeated);
        return HD_SUITS_CPU;
    }
    hdi_text_print(why, "data-parallel, %u of %u memory accesses side by side",
                   t->accesses - t->scattered, t->accesses);
    if (t->atomics > 0)
        hdi_text_print(why, ", %u atomic", t->atomics);
    if (t->uneven > 0)
        hdi_text_print(why, "; line %u: a loop is left at different times",
                       t->uneven);
    return HD_SUITS_GPU;
}
