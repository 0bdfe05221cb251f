// The table of kernels of a graph: one use of each, however many passes have
// it.
#include "graph/model/model.h"

#include <stdlib.h>
#include <string.h>

// A power of 2. The table doubles when half of it is taken, so a search ends
// after a step or two; one of 64 costs 256 bytes in each graph that has
// kernels.
enum {
    FIRST_SLOTS = 64 // of the table of kernels
};

// `kernel` of a use with a path is set when it is built, so only the path says
// which of both kinds a use is.
static bool same_kernel(const struct hdi_kernel_use *use,
                        const struct hd_kernel_ref *ref)
{
    if (ref->kernel || !use->path)
        return use->kernel == ref->kernel && !use->path == !!ref->kernel;
    return strcmp(use->name, ref->name) == 0 &&
           strcmp(use->path, ref->path) == 0 &&
           strcmp(use->options, ref->options ? ref->options : "") == 0 &&
           strcmp(use->with, ref->with ? ref->with : "") == 0;
}

// Kernels are allocated, so the low bits of their addresses are alike: the
// product carries the others up, the shift brings them down. A text that is
// not there is the same as an empty one, which is how a use has it.
static uint64_t hash_kernel(const struct hd_kernel_ref *ref)
{
    if (ref->kernel) {
        uint64_t address = (uint64_t)(uintptr_t)ref->kernel;
        return address * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    }
    uint64_t h = hdi_graph_hash(HDI_HASH, ref->name);
    h = hdi_graph_hash(h, ref->path);
    h = hdi_graph_hash(h, ref->with ? ref->with : "");
    return hdi_graph_hash(h, ref->options ? ref->options : "");
}

// For making the table anew, when the references are gone.
static uint64_t hash_use(const struct hdi_kernel_use *use)
{
    return hash_kernel(
        &(struct hd_kernel_ref){.kernel = use->path ? NULL : use->kernel,
                                .path = use->path,
                                .name = use->name,
                                .options = use->options,
                                .with = use->with});
}

// Makes a table of twice the size. All bits set is HDI_NONE: an empty place.
// Kernels are never removed, so no place has to be marked as deleted. False
// without memory: the old table is as it was.
static bool grow_slots(struct hd_graph *graph)
{
    uint32_t count =
        graph->kernel_slots.count ? graph->kernel_slots.count * 2 : FIRST_SLOTS;
    uint32_t *slots = malloc(count * sizeof(*slots));
    if (!slots)
        return false;

    memset(slots, 0xff, count * sizeof(*slots));
    for (uint32_t i = 0; i < graph->kernels.count; i++) {
        uint64_t slot = hash_use(&graph->kernels.at[i]);
        while (slots[slot % count] != HDI_NONE)
            slot++;
        slots[slot % count] = i;
    }
    free(graph->kernel_slots.at);
    graph->kernel_slots.at = slots;
    graph->kernel_slots.count = count;
    return true;
}

// Open addressing with linear probing:
//
//     kernel_slots   | 2 |   |   | 0 | 1 |   |   |   |    index into kernels
//                                  ^
//                                  hash % count; on to the next while taken
//
// The slot is written last, when the use is sure to be added.
uint32_t hdi_graph_find_kernel(struct hd_graph *graph,
                               const struct hd_kernel_ref *ref)
{
    if (graph->kernels.count * 2 >= graph->kernel_slots.count &&
        !grow_slots(graph))
        return HDI_NONE;

    uint32_t count = graph->kernel_slots.count;
    uint64_t slot = hash_kernel(ref);
    for (;; slot++) {
        uint32_t index = graph->kernel_slots.at[slot % count];
        if (index == HDI_NONE)
            break;
        if (same_kernel(&graph->kernels.at[index], ref))
            return index;
    }

    struct hdi_kernel_use use = {.kernel = ref->kernel};
    if (!ref->kernel) {
        use.path = hdi_graph_string(graph, ref->path);
        use.name = hdi_graph_string(graph, ref->name);
        use.options = hdi_graph_string(graph, ref->options);
        use.with = hdi_graph_string(graph, ref->with);
        if (!use.path || !use.name || !use.options || !use.with)
            return HDI_NONE;
    }
    if (!HDI_ROOM(graph->kernels, 1))
        return HDI_NONE;
    graph->kernel_slots.at[slot % count] = graph->kernels.count;
    graph->kernels.at[graph->kernels.count] = use;
    return graph->kernels.count++;
}
