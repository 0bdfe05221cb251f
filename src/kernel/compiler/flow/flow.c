#include "kernel/compiler/flow/flow.h"

#include <stdlib.h>
#include <string.h>

// Describing ------------------------------------------------------------------

static bool add_blocks(struct hdi_flow *flow)
{
    flow->block_count = LLVMCountBasicBlocks(flow->kernel);
    flow->blocks = calloc(flow->block_count, sizeof(*flow->blocks));
    if (!flow->blocks)
        return false;

    size_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->kernel); b;
         b = LLVMGetNextBasicBlock(b)) {
        flow->blocks[n].block = b;
        hdi_map_set_index(&flow->block_index, b, n++);
    }
    if (flow->block_index.failed)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct hdi_block *block = &flow->blocks[i];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
        unsigned count = LLVMGetNumSuccessors(end);

        block->successors = calloc(count + 1, sizeof(*block->successors));
        if (!block->successors)
            return false;
        block->successor_count = count;
        for (unsigned s = 0; s < count; s++)
            block->successors[s] =
                hdi_map_index(&flow->block_index, LLVMGetSuccessor(end, s));

        enum hdi_call kind =
            hdi_call_kind(LLVMGetFirstInstruction(block->block));
        if (hdi_call_is_barrier(kind))
            block->cut = HDI_CUT_BARRIER;
        flow->barriers += kind == HDI_CALL_BARRIER;
    }
    return true;
}

static bool add_predecessors(struct hdi_flow *flow)
{
    for (size_t b = 0; b < flow->block_count; b++)
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
            flow->blocks[flow->blocks[b].successors[s]].predecessor_count++;
    for (size_t b = 0; b < flow->block_count; b++) {
        struct hdi_block *block = &flow->blocks[b];
        block->predecessors =
            calloc(block->predecessor_count + 1, sizeof(*block->predecessors));
        if (!block->predecessors)
            return false;
        block->predecessor_count = 0;
    }
    for (size_t b = 0; b < flow->block_count; b++)
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++) {
            struct hdi_block *to = &flow->blocks[flow->blocks[b].successors[s]];
            to->predecessors[to->predecessor_count++] = b;
        }
    return true;
}

// True when the alloca is only loaded and stored whole.
static bool is_slot(LLVMValueRef alloca, LLVMValueRef *only_stored)
{
    LLVMTypeRef type = LLVMGetAllocatedType(alloca);
    unsigned stores = 0;

    *only_stored = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) && LLVMTypeOf(user) == type &&
            !LLVMGetVolatile(user))
            continue;
        if (!LLVMIsAStoreInst(user) || LLVMGetOperand(user, 1) != alloca ||
            LLVMGetOperand(user, 0) == alloca || LLVMGetVolatile(user) ||
            LLVMTypeOf(LLVMGetOperand(user, 0)) != type)
            return false;
        *only_stored = LLVMGetOperand(user, 0);
        stores++;
    }
    if (stores != 1)
        *only_stored = NULL;
    return true;
}

static bool add_slots(struct hdi_flow *flow)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(flow->kernel);
    size_t count = 0;

    for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i;
         i = LLVMGetNextInstruction(i))
        count += LLVMIsAAllocaInst(i) != NULL;
    flow->slots = calloc(count + 1, sizeof(*flow->slots));
    flow->arrays = calloc(count + 1, sizeof(*flow->arrays));
    flow->array_sizes = calloc(count + 1, sizeof(*flow->array_sizes));
    if (!flow->slots || !flow->arrays || !flow->array_sizes)
        return false;

    for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i;
         i = LLVMGetNextInstruction(i)) {
        LLVMValueRef only_stored;
        if (!LLVMIsAAllocaInst(i))
            continue;
        if (!is_slot(i, &only_stored)) {
            flow->arrays[flow->array_count++] = i;
            continue;
        }
        hdi_map_set_index(&flow->slot_index, i, flow->slot_count);
        flow->slots[flow->slot_count++] =
            (struct hdi_slot){.alloca = i,
                              .type = LLVMGetAllocatedType(i),
                              .only_stored = only_stored};
    }
    return !flow->slot_index.failed;
}

// Liveness of slots, backwards over the blocks until nothing changes.
// A slot is live where some way leads to a load of it without a store before.
// Blocks are in the order of the text as a rule, so going backwards takes few
// rounds; a set is `words` long, and each word is followed by itself.
static bool find_live(struct hdi_flow *flow)
{
    size_t words = flow->slot_count / 64 + 1;
    uint64_t *sets = calloc(2 * flow->block_count * words, sizeof(*sets));
    uint64_t *used = sets, *stored = sets + flow->block_count * words;

    flow->live_words = words;
    flow->live = calloc(flow->block_count * words, sizeof(*flow->live));
    if (!sets || !flow->live) {
        free(sets);
        return false;
    }
    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if (!store && !LLVMIsALoadInst(i))
                continue;
            size_t slot =
                hdi_map_index(&flow->slot_index, LLVMGetOperand(i, store));
            if (slot == SIZE_MAX)
                continue;
            if (store)
                hdi_bit_set(stored + b * words, slot);
            else if (!hdi_bit(stored + b * words, slot))
                hdi_bit_set(used + b * words, slot);
        }

    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = flow->block_count; b-- > 0;)
            for (size_t w = 0; w < words; w++) {
                uint64_t after = 0;
                for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
                    after |=
                        flow->live[flow->blocks[b].successors[s] * words + w];
                uint64_t live =
                    used[b * words + w] | (after & ~stored[b * words + w]);
                changed |= live != flow->live[b * words + w];
                flow->live[b * words + w] = live;
            }
    }
    free(sets);
    return true;
}

bool hdi_flow_find(const struct hdi_llvm *llvm, LLVMValueRef kernel, bool flat,
                   struct hdi_flow *flow)
{
    *flow = (struct hdi_flow){.llvm = llvm, .kernel = kernel, .flat = flat};
    return add_blocks(flow) && add_predecessors(flow) && add_slots(flow) &&
           find_live(flow);
}

// Also one that was not found to the end: what is not there is NULL.
void hdi_flow_destroy(struct hdi_flow *flow)
{
    for (size_t b = 0; flow->blocks && b < flow->block_count; b++) {
        free(flow->blocks[b].predecessors);
        free(flow->blocks[b].successors);
    }
    free(flow->blocks);
    free(flow->slots);
    free(flow->arrays);
    free(flow->array_sizes);
    free(flow->live);
    hdi_map_clear(&flow->block_index);
    hdi_map_clear(&flow->slot_index);
    hdi_map_clear(&flow->divergent);
    *flow = (struct hdi_flow){0};
}

size_t hdi_slot_of(const struct hdi_flow *flow, LLVMValueRef instruction)
{
    bool store = LLVMIsAStoreInst(instruction) != NULL;
    return store || LLVMIsALoadInst(instruction)
               ? hdi_map_index(&flow->slot_index,
                               LLVMGetOperand(instruction, store))
               : SIZE_MAX;
}

bool hdi_is_plain_return(const struct hdi_flow *flow, size_t block)
{
    LLVMValueRef first = LLVMGetFirstInstruction(flow->blocks[block].block);
    return LLVMIsAReturnInst(first) != NULL;
}
