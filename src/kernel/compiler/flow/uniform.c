// A value diverges when it derives from a work-item's id, from an atomic, from
// private memory, or from a slot that diverges; a slot when a divergent value
// is stored in it, or any value in a divergent block. A block diverges when a
// divergent branch may lead past it.
//
// Plain loads from an address that all agree on agree too: where they did not,
// another work-item would have written there since the last barrier, a race.
#include "kernel/compiler/flow/uniform.h"

#include "kernel/compiler/flow/dominators.h"

#include <stdlib.h>
#include <string.h>

// Work in progress. Values only ever become divergent, so the rounds end.
struct uniform {
    struct hdi_flow *flow;
    size_t words;               // of a set of blocks
    struct hdi_dominators post; // what every way on passes
    uint64_t *seen[2];          // sets of blocks, for walks
    size_t *stack;              // of blocks, for walks
    bool *spread;               // per block: its divergent branch was followed
    bool changed;
};

static bool find_postdominators(struct uniform *u)
{
    const struct hdi_flow *flow = u->flow;
    size_t most = flow->block_count, count = 0;

    for (size_t b = 0; b < flow->block_count; b++)
        most += flow->blocks[b].successor_count;
    struct hdi_flow_edge *edges = calloc(most, sizeof(*edges));
    for (size_t b = flow->block_count; edges && b-- > 0;) {
        const struct hdi_block *block = &flow->blocks[b];
        // Where nobody comes is no way on.
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
        if (block->successor_count == 0 && !LLVMIsAUnreachableInst(end))
            edges[count++] = (struct hdi_flow_edge){HDI_OUTSIDE, b};
        for (unsigned s = 0; s < block->successor_count; s++)
            edges[count++] = (struct hdi_flow_edge){block->successors[s], b};
    }
    bool ok =
        edges && hdi_dominators_find(&u->post, flow->block_count, edges, count);
    free(edges);
    return ok;
}

static bool is_plain_return(const struct hdi_flow *flow, size_t block)
{
    LLVMValueRef first = LLVMGetFirstInstruction(flow->blocks[block].block);
    return LLVMIsAReturnInst(first) != NULL;
}

// Every block that can be reached from `from`, itself included; nothing past
// those of `ends`, if any are given.
static void reach(struct uniform *u, size_t from, const uint64_t *ends,
                  uint64_t *seen)
{
    size_t depth = 0;

    memset(seen, 0, u->words * sizeof(*seen));
    hdi_bit_set(seen, from);
    u->stack[depth++] = from;
    while (depth > 0) {
        size_t b = u->stack[--depth];
        const struct hdi_block *block = &u->flow->blocks[b];
        if (ends && hdi_bit(ends, b))
            continue;
        for (unsigned s = 0; s < block->successor_count; s++)
            if (!hdi_bit(seen, block->successors[s])) {
                hdi_bit_set(seen, block->successors[s]);
                u->stack[depth++] = block->successors[s];
            }
    }
}

static void mark_block(struct uniform *u, size_t block)
{
    if (!u->flow->blocks[block].divergent) {
        u->flow->blocks[block].divergent = true;
        u->changed = true;
    }
}

// Whether both ways of a branch come together other than to return. What lies
// behind is not looked at: that would take the square of the kernel's length.
static bool meet(struct uniform *u, size_t branch)
{
    const struct hdi_flow *flow = u->flow;
    const struct hdi_block *block = &flow->blocks[branch];
    const uint64_t *ends = hdi_dominators_of(&u->post, branch);

    reach(u, block->successors[0], ends, u->seen[0]);
    reach(u, block->successors[1], ends, u->seen[1]);
    for (size_t w = 0; w < u->words; w++)
        for (uint64_t both = u->seen[0][w] & u->seen[1][w]; both;
             both &= both - 1)
            if (!is_plain_return(flow, w * 64 + (size_t)__builtin_ctzll(both)))
                return true;
    return false;
}

// True when work-items that take successor `way` of a two-way branch only go on
// to return, and never come where those that take the other one do. Then they
// are out of the picture: the others still agree on whatever they agreed on.
static bool leads_out(struct uniform *u, const struct hdi_block *branch,
                      unsigned way)
{
    const struct hdi_flow *flow = u->flow;

    reach(u, branch->successors[way], NULL, u->seen[0]);
    reach(u, branch->successors[1 - way], NULL, u->seen[1]);
    for (size_t b = 0; b < flow->block_count; b++)
        if (hdi_bit(u->seen[0], b) &&
            (flow->blocks[b].cut == HDI_CUT_BARRIER ||
             (hdi_bit(u->seen[1], b) && !is_plain_return(flow, b))))
            return false;
    return true;
}

// Mark the blocks whose execution a divergent branch decides: those between it
// and the blocks that every way leads to.
// First the case that one way leads out: only the blocks of that way are
// divergent. Else all between the branch and its postdominators, the branch
// itself too when it is in a loop that it decides about.
static void spread(struct uniform *u, size_t branch)
{
    const struct hdi_flow *flow = u->flow;
    const struct hdi_block *block = &flow->blocks[branch];
    size_t depth = 0;

    if (block->successor_count == 2 && !meet(u, branch))
        for (unsigned way = 0; way < 2; way++)
            if (leads_out(u, block, way)) {
                reach(u, block->successors[way], NULL, u->seen[0]);
                for (size_t b = 0; b < flow->block_count; b++)
                    if (hdi_bit(u->seen[0], b) && !is_plain_return(flow, b))
                        mark_block(u, b);
                return;
            }

    memset(u->seen[0], 0, u->words * sizeof(uint64_t));
    for (unsigned s = 0; s < block->successor_count; s++)
        if (!hdi_bit(u->seen[0], block->successors[s])) {
            hdi_bit_set(u->seen[0], block->successors[s]);
            u->stack[depth++] = block->successors[s];
        }
    while (depth > 0) {
        size_t b = u->stack[--depth];
        if (hdi_bit(hdi_dominators_of(&u->post, branch), b) && b != branch)
            continue;
        mark_block(u, b);
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++) {
            size_t next = flow->blocks[b].successors[s];
            if (!hdi_bit(u->seen[0], next)) {
                hdi_bit_set(u->seen[0], next);
                u->stack[depth++] = next;
            }
        }
    }
}

static bool operands_diverge(const struct hdi_flow *flow,
                             LLVMValueRef instruction)
{
    int count = LLVMGetNumOperands(instruction);
    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (hdi_flow_is_divergent(flow, operand))
            return true;
    }
    return false;
}

// Of a flat kernel y and z are the same for all lanes of a row.
static bool diverges(const struct hdi_flow *flow, LLVMValueRef instruction)
{
    switch (hdi_call_kind(instruction)) {
    case HDI_CALL_GLOBAL_ID:
    case HDI_CALL_LOCAL_ID: {
        LLVMValueRef d = LLVMGetOperand(instruction, 0);
        return !flow->flat || !LLVMIsAConstantInt(d) ||
               LLVMConstIntGetZExtValue(d) == 0;
    }
    case HDI_CALL_OTHER:
        break;
    default:
        return operands_diverge(flow, instruction);
    }
    if (LLVMIsAAtomicRMWInst(instruction) ||
        LLVMIsAAtomicCmpXchgInst(instruction))
        return true;
    if (LLVMIsAAllocaInst(instruction))
        return hdi_map_index(&flow->slot_index, instruction) == SIZE_MAX;
    if (LLVMIsALoadInst(instruction)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(instruction, 0));
        if (slot != SIZE_MAX)
            return flow->slots[slot].divergent;
        if (LLVMGetVolatile(instruction) ||
            LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic)
            return true;
    }
    return operands_diverge(flow, instruction);
}

// A value that is stored in a divergent block differs even when it is the same
// for all that store it, for others keep the old one.
static void look_at(struct uniform *u, size_t block, LLVMValueRef instruction)
{
    struct hdi_flow *flow = u->flow;

    if (LLVMIsAStoreInst(instruction)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(instruction, 1));
        if (slot != SIZE_MAX && !flow->slots[slot].divergent &&
            (flow->blocks[block].divergent ||
             hdi_flow_is_divergent(flow, LLVMGetOperand(instruction, 0)))) {
            flow->slots[slot].divergent = true;
            u->changed = true;
        }
        return;
    }
    if (!hdi_flow_is_divergent(flow, instruction) &&
        diverges(flow, instruction)) {
        hdi_map_set(&flow->divergent, instruction, flow);
        u->changed = true;
    }
    if (LLVMIsATerminatorInst(instruction) &&
        flow->blocks[block].successor_count > 1 && !u->spread[block] &&
        hdi_flow_is_divergent(flow, instruction)) {
        u->spread[block] = true;
        spread(u, block);
    }
}

bool hdi_uniform_find(struct hdi_flow *flow)
{
    size_t words = flow->block_count / 64 + 1;
    struct uniform u = {
        .flow = flow,
        .words = words,
        .seen = {calloc(words, sizeof(uint64_t)),
                 calloc(words, sizeof(uint64_t))},
        .stack = calloc(flow->block_count + 1, sizeof(*u.stack)),
        .spread = calloc(flow->block_count, sizeof(*u.spread)),
        .changed = true,
    };
    bool ok = u.seen[0] && u.seen[1] && u.stack && u.spread &&
              find_postdominators(&u);

    while (ok && u.changed && !flow->divergent.failed) {
        u.changed = false;
        for (size_t b = 0; b < flow->block_count; b++)
            for (LLVMValueRef i =
                     LLVMGetFirstInstruction(flow->blocks[b].block);
                 i; i = LLVMGetNextInstruction(i))
                look_at(&u, b, i);
    }
    free(u.spread);
    free(u.stack);
    free(u.seen[1]);
    free(u.seen[0]);
    hdi_dominators_destroy(&u.post);
    return ok && !flow->divergent.failed;
}
