// A redistribution along a route that is under way.
#ifndef HDI_FIELD_MOVING_MOVING_H
#define HDI_FIELD_MOVING_MOVING_H

#include "field/memory/field.h"
#include "field/plan/copy.h"

// More under way hide what a message takes, and need as many buffers of a
// piece.
enum {
    HDI_MOVING_STEPS = 4,    // under way
    HDI_MOVING_IN_FLIGHT = 2 // messages per direction and step
};

// One slot of a stream. Its buffer is kept from message to message.
struct hdi_stream_message {
    struct hdi_transfer *transfer; // NULL: not under way
    void *data;
    uint64_t size;
    bool broken; // nothing comes of it, see move.c
    const struct hdi_move *move;
    struct hdi_part_of_move part;
};

// One direction of one step: the parts of the moves to or from a process.
// Messages end in the order in which they were begun: `oldest` is the slot of
// the next to end.
struct hdi_moving_stream {
    uint32_t peer; // process
    bool sends, ended;
    const struct hdi_moves *moves; // of each node here
    uint64_t pair;                 // of nodes: the target's * here + source's
    size_t at;                     // in the list of the node that is here
    bool found;                    // `at` is set for this pair
    struct hdi_part_of_move part;
    bool inside; // `part` is of the move that we are at
    unsigned oldest;
    struct hdi_stream_message message[HDI_MOVING_IN_FLIGHT];
};

// Invariant: running[k] is the step that stream[k] is of, or 0; steps from
// `next` on have not begun.
// One per redistribution. One thread steps it; hdi_moving_copy() only reads.
struct hdi_moving {
    struct hd_field *target, *source;
    const struct hdi_route *route;
    struct hd_cluster *cluster;
    uint32_t tag;            // of its messages
    uint64_t element, piece; // [bytes]
    uint32_t running[HDI_MOVING_STEPS], next;
    struct hdi_moving_stream stream[HDI_MOVING_STEPS][2];
    hd_status status; // the first failure of messages
    struct hd_error *error;
};

// All processes have agreed to do it, with the same tag.
void hdi_moving_begin(struct hdi_moving *moving, struct hd_field *target,
                      struct hd_field *source, const struct hdi_route *route,
                      uint32_t tag, struct hd_error *error);

// Copy what a node here, counted from 0, gets from memory that is reached. Any
// threads at a time, for different nodes, and beside messages.
hd_status hdi_moving_copy(const struct hdi_moving *moving, uint32_t node,
                          struct hd_error *error);

// Go on with messages, without waiting. True when they are over, and how.
// `*moved`: something has come or gone.
bool hdi_moving_step(struct hdi_moving *moving, bool *moved, hd_status *status);

// The process that it waits for.
uint32_t hdi_moving_peer(const struct hdi_moving *moving);

// Give back what it holds. Messages that are under way, because some have
// failed or a process is lost, are given up.
void hdi_moving_end(struct hdi_moving *moving);

#endif
