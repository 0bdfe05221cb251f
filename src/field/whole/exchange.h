// What all processes give each other, in few messages.
//
//     parcel for the process   1   2   3   4   5   6   7   behind this one
//     leaves in step 1 (by 1)  x       x       x       x
//     leaves in step 2 (by 2)      x   x           x   x
//     leaves in step 4 (by 4)              x   x   x   x
#ifndef HDI_FIELD_WHOLE_EXCHANGE_H
#define HDI_FIELD_WHOLE_EXCHANGE_H

#include "field/cluster/cluster.h"

// Send to a process and receive from one, `room` bytes at most.
// Without an agreement: all processes must be in the same step. After HD_EPEER
// both memories must stay, see hdi_lane_wait().
hd_status hdi_cluster_swap(struct hd_cluster *cluster, uint32_t to,
                           const void *data, uint64_t size, uint32_t from,
                           void *buffer, uint64_t room, struct hd_error *error);

// Every process gives every process bytes: `data` has `size[p]` for process p,
// one after another, and `*received`, to be freed, what came from all,
// `sizes[p]` of process p, in their order. Bytes go through others, in as many
// messages for each process as a number of processes has binary digits; so it
// is for little. All processes call it at a time; it fails on all or on none.
hd_status hdi_cluster_exchange(struct hd_cluster *cluster, const char *data,
                               const uint64_t *size, char **received,
                               uint64_t *sizes, struct hd_error *error);

#endif
