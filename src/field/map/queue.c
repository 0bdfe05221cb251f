#include "field/map/queue.h"

#include <stdlib.h>

#include "heddle/agile.h"

// How a box falls into blocks: the number of them along each axis.
static uint64_t count_blocks(const struct hd_grid *box, const int64_t *block,
                             int64_t *along)
{
    uint64_t count = 1;

    for (unsigned i = 0; i < box->rank; i++) {
        along[i] = (box->extent[i] - 1) / block[i] + 1;
        count *= (uint64_t)along[i];
    }
    return count;
}

// Cut the box down to block `at` along each axis.
// Blocks may be INT64_MAX long, but then `at` is 0.
static void cut(struct hd_grid *box, const int64_t *block, const int64_t *at)
{
    for (unsigned i = 0; i < box->rank; i++) {
        int64_t begin = at[i] * (at[i] ? block[i] : 0);
        int64_t rest = box->extent[i] - begin;

        box->offset[i] += begin;
        box->extent[i] = rest < block[i] ? rest : block[i];
    }
}

// Numbers count the last axis fastest.
static void number_to_place(uint64_t number, unsigned rank,
                            const int64_t *along, int64_t *at)
{
    for (unsigned i = rank; i-- > 0;) {
        at[i] = (int64_t)(number % (uint64_t)along[i]);
        number /= (uint64_t)along[i];
    }
}

// Tasks in a segment: those of whole memory blocks and of the smaller ones at
// its ends. Along each axis the counts of task blocks add up.
static uint64_t count_tasks(const struct hd_map *map, const struct hd_grid *box)
{
    int64_t along[HD_MAX_RANK];

    // Memory blocks hold whole task blocks, so it is as if there were none.
    return count_blocks(box, map->task, along);
}

// Two passes over the segments: the first for the room, since a node's share
// may be a small part of them.
bool hdi_queue_build(const struct hd_map *map, uint32_t node,
                     struct hdi_queue *queue)
{
    uint64_t count = 0, tasks = 0;

    *queue = (struct hdi_queue){.map = map};
    for (uint64_t s = 0; s < map->count; s++)
        count += hdi_map_segment_owner(map, s) == node;
    queue->segment = malloc((count + 1) * sizeof(*queue->segment));
    queue->before = malloc((count + 1) * sizeof(*queue->before));
    if (!queue->segment || !queue->before) {
        hdi_queue_free(queue);
        return false;
    }
    for (uint64_t s = 0; s < map->count; s++) {
        struct hd_grid box;

        if (hdi_map_segment_owner(map, s) != node)
            continue;
        hdi_map_segment_box(map, s, &box);
        queue->segment[queue->segments] = s;
        queue->before[queue->segments++] = tasks;
        tasks += count_tasks(map, &box);
    }
    queue->before[queue->segments] = tasks;
    return true;
}

void hdi_queue_counts(const struct hd_map *map, uint64_t *counts)
{
    for (uint64_t s = 0; s < map->count; s++) {
        struct hd_grid box;
        uint32_t owner = hdi_map_segment_owner(map, s);

        if (owner >= map->nodes)
            continue;
        hdi_map_segment_box(map, s, &box);
        counts[owner] += count_tasks(map, &box);
    }
}

void hdi_queue_free(struct hdi_queue *queue)
{
    free(queue->segment);
    free(queue->before);
    *queue = (struct hdi_queue){0};
}

// Find the memory block `at` of a segment that task k is in, and which of its
// tasks that is. All blocks but the last ones along each axis have the same
// number of tasks, so those before one make a product: along the axes before
// this one, the tasks of the block's own place; along the axes behind it, all.
//
//     two axes, blocks a b c   tasks count block by block: all of a, of b,
//                    d e f     of c, of d, ...; c and f may be narrower, and
//                              d to f lower
static void find_memory_block(const struct hd_map *map, uint64_t k,
                              const struct hd_grid *segment, int64_t *at,
                              uint64_t *inside)
{
    int64_t blocks[HD_MAX_RANK], tasks[HD_MAX_RANK];
    uint64_t unit = 1, before = 1;

    count_blocks(segment, map->memory, blocks);
    count_blocks(segment, map->task, tasks);
    for (unsigned i = segment->rank; i-- > 1;)
        unit *= (uint64_t)tasks[i];
    for (unsigned i = 0; i < segment->rank; i++) {
        uint64_t each = (uint64_t)(blocks[i] > 1 ? map->memory[i] / map->task[i]
                                                 : tasks[i]);
        uint64_t place = k / (before * each * unit);

        at[i] = (int64_t)place;
        k -= place * before * each * unit;
        each = at[i] + 1 < blocks[i] ? each : (uint64_t)tasks[i] - place * each;
        before *= each;
        if (i + 1 < segment->rank)
            unit /= (uint64_t)tasks[i + 1];
    }
    *inside = k;
}

// Logarithmic in the segments, then constant: the segment by bisection, the
// memory block in it, the task block in that. `block` is cut down in these
// three steps.
void hdi_queue_task(const struct hdi_queue *queue, uint64_t k,
                    struct hd_grid *block)
{
    const struct hd_map *map = queue->map;
    uint64_t low = 0, high = queue->segments;
    int64_t along[HD_MAX_RANK] = {0}, at[HD_MAX_RANK] = {0};

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (queue->before[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    k -= queue->before[low];
    hdi_map_segment_box(map, queue->segment[low], block);

    find_memory_block(map, k, block, at, &k);
    cut(block, map->memory, at);
    count_blocks(block, map->task, along);
    number_to_place(k, block->rank, along, at);
    cut(block, map->task, at);
}

// Builds a queue to count: for tests and tools, not for a loop over tasks.
uint64_t hd_map_tasks(const struct hd_map *map, uint32_t node)
{
    struct hdi_queue queue;

    if (!hdi_queue_build(map, node, &queue))
        return 0;
    uint64_t count = hdi_queue_count(&queue);
    hdi_queue_free(&queue);
    return count;
}

// As above: linear in the segments for each call.
bool hd_map_task(const struct hd_map *map, uint32_t node, uint64_t k,
                 struct hd_grid *block)
{
    struct hdi_queue queue;

    if (!hdi_queue_build(map, node, &queue))
        return false;
    bool found = k < hdi_queue_count(&queue);
    if (found) {
        hdi_queue_task(&queue, k, block);
        *block = hdi_map_indices(map, block);
    }
    hdi_queue_free(&queue);
    return found;
}
