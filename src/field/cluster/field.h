// Inside an agile field.
//
// Each process has one shared memory with the arrays of its nodes, one after
// another, so that processes of the same machine copy from it directly.
#ifndef HDI_FIELD_CLUSTER_FIELD_H
#define HDI_FIELD_CLUSTER_FIELD_H

#include "field/cluster/cluster.h"

struct hdi_replicas;

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
};

// The memory of a node, and where its elements are; NULL when it is not
// reached from here, or memory is short.
char *hdi_field_memory(struct hd_field *field, uint32_t node,
                       const struct hdi_store **store);

// The field of that number, or NULL.
struct hd_field *hdi_cluster_field(const struct hd_cluster *cluster,
                                   uint64_t number);

bool hdi_field_reaches(const struct hd_field *field, uint32_t node);

// Move along a route, from field to field; all processes do it at a time and
// have made sure of it.
hd_status hdi_field_move(struct hd_field *target, struct hd_field *source,
                         const struct hdi_route *route, struct hd_error *error);

#endif
