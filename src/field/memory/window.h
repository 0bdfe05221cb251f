// Bringing elements to a node: windows of memory that hold a box of a field.
//
//     the box is                    window
//     the node's own                into the field's memory
//     another's, in place           the same, `in_place` and shared memory
//     another's, else               into a replica of its memory block
//     in several of these           into scratch, put together
//
// The caller holds hdi_run_moving() of the node: tables of replicas have no
// lock.
#ifndef HDI_FIELD_MEMORY_WINDOW_H
#define HDI_FIELD_MEMORY_WINDOW_H

#include "field/memory/field.h"
#include "field/memory/replica.h"

// Counts of one node, added up when a run ends.
// `blocks` were brought, `moved` bytes of them, `received` of these in
// `messages`; `steals` are tasks done for others, `asks` questions for tasks.
struct hdi_traffic {
    uint64_t blocks, moved, received, messages, steals, asks;
};

// How what is elsewhere comes to a node.
// In between stands the agent of a run (forall/agent.h), which this room does
// not know.
struct hdi_fetch {
    bool in_place; // what is reached is read where it is
    // Begin to bring a box of another process's field memory into a dense
    // buffer; it is there when `wait` has returned, once for each.
    hd_status (*begin)(void *data, uint32_t node, struct hd_field *field,
                       uint32_t owner, const struct hd_grid *box, void *buffer,
                       struct hdi_transfer **transfer, struct hd_error *error);
    hd_status (*wait)(void *data, uint32_t owner, struct hdi_transfer *transfer,
                      struct hd_error *error);
    void *data;
};

// A window at `node` that holds the box, which must be owned. What is elsewhere
// is brought by memory blocks, and kept. A box that is in several blocks is put
// together in `*scratch`, which the caller frees.
hd_status hdi_window_bring(struct hd_field *field, uint32_t node,
                           const struct hd_grid *box,
                           const struct hdi_fetch *fetch,
                           struct hdi_traffic *traffic,
                           struct hdi_window *window, void **scratch,
                           struct hd_error *error);

// Begin to bring what hdi_window_bring() of the same box would wait for.
hd_status hdi_window_ask(struct hd_field *field, uint32_t node,
                         const struct hd_grid *box,
                         const struct hdi_fetch *fetch,
                         struct hdi_traffic *traffic, struct hd_error *error);

// Wait for all that was asked for at `node` and that nobody has used.
hd_status hdi_window_settle(struct hd_field *field, uint32_t node,
                            const struct hdi_fetch *fetch,
                            struct hd_error *error);

// The memory block that a place is in, at `node`.
hd_status hdi_window_of_block(struct hd_field *field, uint32_t node,
                              const int64_t *ordinals,
                              const struct hdi_fetch *fetch,
                              struct hdi_traffic *traffic,
                              struct hdi_window *window,
                              struct hd_error *error);

#endif
