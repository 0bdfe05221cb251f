#include "kernel/compiler/flow/nest.h"

#include <stdlib.h>
#include <string.h>

static bool find_dominators(struct hdi_nest *nest)
{
    const struct hdi_flow *flow = nest->flow;
    size_t most = 1, count = 0;

    for (size_t b = 0; b < flow->block_count; b++)
        most += flow->blocks[b].successor_count;
    struct hdi_flow_edge *edges = calloc(most, sizeof(*edges));
    if (!edges)
        return false;
    edges[count++] = (struct hdi_flow_edge){HDI_OUTSIDE, 0};
    for (size_t b = 0; b < flow->block_count; b++)
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
            edges[count++] =
                (struct hdi_flow_edge){b, flow->blocks[b].successors[s]};
    bool ok =
        hdi_dominators_find(&nest->dominators, flow->block_count, edges, count);
    free(edges);
    return ok;
}

static bool is_back(const struct hdi_nest *nest, size_t from, size_t to)
{
    return hdi_bit(hdi_dominators_of(&nest->dominators, from), to);
}

bool hdi_nest_is_head(const struct hdi_nest *nest, size_t block)
{
    const struct hdi_block *head = &nest->flow->blocks[block];

    for (unsigned p = 0; p < head->predecessor_count; p++)
        if (is_back(nest, head->predecessors[p], block))
            return true;
    return false;
}

static void add(struct hdi_nest *nest, size_t block, size_t *depth)
{
    if (!hdi_bit(nest->body, block))
        nest->stack[(*depth)++] = block;
    hdi_bit_set(nest->body, block);
}

// Its blocks are those from which a way leads back to the head without passing
// it: found backwards from the ends of the edges back.
bool hdi_nest_take(struct hdi_nest *nest, size_t head)
{
    const struct hdi_block *block = &nest->flow->blocks[head];
    size_t depth = 0;

    if (!hdi_nest_is_head(nest, head))
        return false;
    memset(nest->body, 0, nest->dominators.words * sizeof(uint64_t));
    hdi_bit_set(nest->body, head);
    for (unsigned p = 0; p < block->predecessor_count; p++)
        if (is_back(nest, block->predecessors[p], head))
            add(nest, block->predecessors[p], &depth);
    while (depth > 0) {
        block = &nest->flow->blocks[nest->stack[--depth]];
        for (unsigned p = 0; p < block->predecessor_count; p++)
            add(nest, block->predecessors[p], &depth);
    }
    return true;
}

// Of loops around a block the least has the fewest blocks.
// Each loop is taken once, and its blocks are counted: blocks times loops.
static bool find_inmost(struct hdi_nest *nest)
{
    size_t n = nest->flow->block_count;
    size_t *sizes = calloc(n + 1, sizeof(*sizes));

    if (!sizes)
        return false;
    for (size_t head = 0; head < n; head++) {
        size_t size = 0;
        if (!hdi_nest_take(nest, head))
            continue;
        for (size_t b = 0; b < n; b++)
            size += hdi_nest_has(nest, b);
        for (size_t b = 0; b < n; b++)
            if (hdi_nest_has(nest, b) && (sizes[b] == 0 || size < sizes[b])) {
                sizes[b] = size;
                nest->inmost[b] = head;
            }
    }
    free(sizes);
    return true;
}

bool hdi_nest_find(struct hdi_nest *nest, const struct hdi_flow *flow)
{
    size_t n = flow->block_count;

    *nest = (struct hdi_nest){
        .flow = flow,
        .body = calloc(n / 64 + 1, sizeof(*nest->body)),
        .inmost = calloc(n + 1, sizeof(*nest->inmost)),
        .stack = calloc(n + 1, sizeof(*nest->stack)),
    };
    return nest->body && nest->inmost && nest->stack && find_dominators(nest) &&
           find_inmost(nest);
}

void hdi_nest_destroy(struct hdi_nest *nest)
{
    free(nest->stack);
    free(nest->inmost);
    free(nest->body);
    hdi_dominators_destroy(&nest->dominators);
}
