// What processes of a cluster do together, for other folders too.
//
// Whoever fails alone still takes part: it hands its failure to the next
// agreement instead of returning, or the others would wait for it.
#ifndef HDI_FIELD_CLUSTER_AGREE_H
#define HDI_FIELD_CLUSTER_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

struct hd_cluster;

// All processes say what they do, `call` and a digest of its arguments, and how
// it went. HD_OK when all say the same and nobody failed; else this process's
// own failure, or the first one with the process it comes from. It is a barrier
// too.
hd_status hdi_cluster_agree(struct hd_cluster *cluster, const char *call,
                            uint64_t digest, hd_status status,
                            struct hd_error *error);

// Get the `size` bytes of all processes, in their order, to `all`.
hd_status hdi_cluster_gather(struct hd_cluster *cluster, const void *mine,
                             size_t size, char *all, struct hd_error *error);

// Give all processes the memory of process 0.
hd_status hdi_cluster_tell(struct hd_cluster *cluster, char *memory,
                           uint64_t size, struct hd_error *error);

#endif
