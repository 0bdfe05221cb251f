// The tasks of each node, in order: one per task block of what a node owns, by
// segment, memory block in it and task block in that. A task is known by its
// owner and its place in the owner's queue.
//
// Built from the map alone, so every process knows the queue of every node, and
// tasks that change hands are a few numbers (cluster/slot.h). The order keeps
// tasks of one memory block together.
#ifndef HDI_FIELD_MAP_QUEUE_H
#define HDI_FIELD_MAP_QUEUE_H

#include "field/map/map.h"

// The queue of one node. Two numbers per segment, none per task: a task's block
// is computed when it is taken.
struct hdi_queue {
    const struct hd_map *map;
    uint64_t segments;
    uint64_t *segment; // numbers, in order
    uint64_t *before;  // tasks in the segments before each one; and in all
};

// False when memory is short. The map must stay.
bool hdi_queue_build(const struct hd_map *map, uint32_t node,
                     struct hdi_queue *queue);
void hdi_queue_free(struct hdi_queue *queue);

static inline uint64_t hdi_queue_count(const struct hdi_queue *queue)
{
    return queue->before[queue->segments];
}

// Add to `counts` how many tasks each node has; it has room for all.
void hdi_queue_counts(const struct hd_map *map, uint64_t *counts);

// The block of task k, in ordinals.
void hdi_queue_task(const struct hdi_queue *queue, uint64_t k,
                    struct hd_grid *block);

#endif
