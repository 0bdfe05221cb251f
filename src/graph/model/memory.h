// The memory of a graph's resources and scratch: what one gave back serves the
// next of the same size, in this run and the following ones, since fresh pages
// cost more than most kernels that stream through them.
//
// Invariant: what is in use and what is spare together never exceed twice the
// most that was in use at one time. Any thread may take and give.
#ifndef HDI_GRAPH_MODEL_MEMORY_H
#define HDI_GRAPH_MODEL_MEMORY_H

#include <pthread.h>
#include <stdbool.h>

#include "launch/launch.h"

// Owned by a graph. Everything is guarded by `lock`, except at the beginning of
// a run.
struct hdi_memory {
    pthread_mutex_t lock;
    struct hd_buffer **spare;
    uint32_t spare_count, spare_capacity;
    uint64_t spare_bytes;
    uint64_t live;  // in use [bytes]
    uint64_t peak;  // most in use at one time in this run [bytes]
    uint64_t bound; // the same over all runs [bytes]
    uint64_t held;  // most in use and spare together in this run [bytes]
};

// False without memory.
bool hdi_memory_init(struct hdi_memory *memory);
void hdi_memory_destroy(struct hdi_memory *memory);

// A run begins; everything has been given back.
void hdi_memory_begin(struct hdi_memory *memory);

// Something else serves so many bytes, and does no more [bytes].
void hdi_memory_borrow(struct hdi_memory *memory, uint64_t size);
void hdi_memory_return(struct hdi_memory *memory, uint64_t size);

// In use [bytes].
uint64_t hdi_memory_live(struct hdi_memory *memory);

// Let go of what is spare; true when there was any.
bool hdi_memory_drop(struct hdi_memory *memory);

// Take a buffer of exactly `size` bytes; `*used` tells that it holds what some
// other resource left, else it is zeroed. Errors as hdi_buffer_create(), after
// a second try without anything spare.
hd_status hdi_memory_take(struct hdi_memory *memory,
                          struct hdi_launcher *launcher, uint64_t size,
                          struct hd_buffer **buffer, bool *used,
                          struct hd_error *error);

// Give a buffer back. NULL is allowed.
void hdi_memory_give(struct hdi_memory *memory, struct hd_buffer *buffer);

#endif
