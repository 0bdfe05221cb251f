#include "kernel/compiler/flow/region.h"

#include <stdlib.h>
#include <string.h>

static void note_slot(struct hdi_region *region, const struct hdi_flow *flow,
                      LLVMValueRef instruction)
{
    bool store = LLVMIsAStoreInst(instruction) != NULL;
    if (!store && !LLVMIsALoadInst(instruction))
        return;
    size_t slot =
        hdi_map_index(&flow->slot_index, LLVMGetOperand(instruction, store));
    if (slot == SIZE_MAX)
        return;
    region->uses[slot] = true;
    region->stores[slot] |= store;
}

void hdi_region_clear(struct hdi_region *region)
{
    free(region->blocks);
    free(region->exits);
    free(region->stores);
    free(region->uses);
}

// Breadth first; `blocks` is the queue as well as the result.
bool hdi_region_find(const struct hdi_flow *flow, size_t start,
                     bool some_return_early, struct hdi_region *region)
{
    bool *seen = calloc(flow->block_count, sizeof(*seen));

    *region = (struct hdi_region){
        .flow = flow,
        .start = start,
        .some_return_early = some_return_early,
        .blocks = calloc(flow->block_count, sizeof(*region->blocks)),
        .exits = calloc(flow->block_count, sizeof(*region->exits)),
        .stores = calloc(flow->slot_count + 1, sizeof(*region->stores)),
        .uses = calloc(flow->slot_count + 1, sizeof(*region->uses)),
    };
    if (!seen || !region->blocks || !region->exits || !region->stores ||
        !region->uses) {
        free(seen);
        hdi_region_clear(region);
        return false;
    }
    seen[start] = true;
    region->blocks[region->count++] = start;
    for (size_t i = 0; i < region->count; i++) {
        const struct hdi_block *block = &flow->blocks[region->blocks[i]];
        for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x;
             x = LLVMGetNextInstruction(x)) {
            note_slot(region, flow, x);
            region->returns |= LLVMIsAReturnInst(x) != NULL;
        }
        for (unsigned s = 0; s < block->successor_count; s++) {
            size_t next = block->successors[s];
            if (seen[next])
                continue;
            seen[next] = true;
            if (flow->blocks[next].cut)
                region->exits[region->exit_count++] = next;
            else
                region->blocks[region->count++] = next;
        }
    }
    free(seen);
    return true;
}

// The entry, and what a cut goes on to. A cut behind a cut has no region
// between.
static bool starts_region(const struct hdi_flow *flow, size_t block)
{
    if (flow->blocks[block].cut)
        return false;
    if (block == 0)
        return true;
    for (size_t b = 0; b < flow->block_count; b++)
        for (unsigned s = 0;
             flow->blocks[b].cut && s < flow->blocks[b].successor_count; s++)
            if (flow->blocks[b].successors[s] == block)
                return true;
    return false;
}

bool hdi_regions_return_early(const struct hdi_flow *flow, bool *yes)
{
    *yes = false;
    for (size_t b = 0; b < flow->block_count; b++) {
        struct hdi_region region;
        if (!starts_region(flow, b))
            continue;
        if (!hdi_region_find(flow, b, false, &region))
            return false;
        *yes |= region.returns && region.exit_count > 0;
        hdi_region_clear(&region);
    }
    return true;
}

enum hdi_ordered hdi_region_order(const struct hdi_region *region,
                                  struct hdi_block_order *order)
{
    size_t count = region->count + region->exit_count;
    size_t *blocks = calloc(count, sizeof(*blocks));

    if (!blocks)
        return HDI_ORDER_NO_MEMORY;
    memcpy(blocks, region->blocks, region->count * sizeof(*blocks));
    if (region->exit_count)
        memcpy(blocks + region->count, region->exits,
               region->exit_count * sizeof(*blocks));
    enum hdi_ordered ordered =
        hdi_order_find(region->flow, blocks, count, order);
    free(blocks);
    return ordered;
}
