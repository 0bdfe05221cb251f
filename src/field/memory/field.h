// Inside an agile field.
//
// Each process has one shared memory with the arrays of its nodes, one after
// another, so that processes of the same machine copy from it directly.
#ifndef HDI_FIELD_MEMORY_FIELD_H
#define HDI_FIELD_MEMORY_FIELD_H

#include "field/cluster/cluster.h"
#include "field/memory/replica.h"

struct hdi_mirror;

// Every process has one, made collectively. `version` changes where something
// begins to write to the field, while no task reads it.
struct hd_field {
    struct hd_cluster *cluster;
    struct hd_map *map; // held
    uint64_t element;   // [bytes]
    struct hdi_shared *shared;
    uint64_t *begin;         // of each node, in its process's memory [bytes]
    struct hdi_store *store; // of each node that is here or reached; built
                             // when it is needed, under the cluster's lock
    struct hd_field *next;   // of the cluster
    uint64_t number;         // the same on all processes
    uint64_t version;        // counts the times it was written
    struct hdi_replicas *replicas; // of each node here
    struct hdi_mirror **mirrors;   // as well, NULL of those that are no device;
                                   // NULL: none is
};

// The memory of a node in its process, and where its elements are, if no device
// has them (mirror.h); NULL when it is not
// reached from here, or memory is short.
char *hdi_field_memory(struct hd_field *field, uint32_t node,
                       const struct hdi_store **store);

// The field of that number, or NULL.
struct hd_field *hdi_cluster_field(const struct hd_cluster *cluster,
                                   uint64_t number);

// Whether the memory of a node's process is reached; and whether the elements
// are there while kernels run, as those of another process's device are not.
bool hdi_field_shares(const struct hd_field *field, uint32_t node);
bool hdi_field_reaches(const struct hd_field *field, uint32_t node);

// The segment, in its owner's memory, that a place is in; false when nobody
// owns it, or its memory is not reached.
bool hdi_window_of_segment(struct hd_field *field, const int64_t *ordinals,
                           struct hdi_window *window);

// The same of a place that was found.
bool hdi_window_at(struct hd_field *field, struct hdi_spot *spot,
                   const int64_t *ordinals, struct hdi_window *window);

// Give the elements of nodes here the values of a view of memory or a function.
hd_status hdi_field_take(struct hd_field *field, const struct hd_view *view,
                         struct hd_error *error);

#endif
