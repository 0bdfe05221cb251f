// How fast nodes are, as weights of maps.
#include <stdlib.h>

#include "base/error.h"
#include "field/forall/run.h"

// As fine as measured times deserve. The weights of a map sum to 2^24 at most
// (map/deal.c), so 167,000 nodes may have it.
enum {
    MAX_WEIGHT = 100 // of the fastest node
};

// What a task takes away from each node's queue [ns]; 0: it did none.
// A node with several workers takes a task off its queue that much more often.
static hd_status gather_paces(struct hd_cluster *cluster, uint64_t *mine,
                              uint64_t *all, struct hd_error *error)
{
    uint32_t first = hdi_cluster_first(cluster);

    for (uint32_t n = 0; n < cluster->here; n++) {
        struct hdi_node_slot *slot =
            hdi_lane_slot(&cluster->lanes[cluster->latest], first + n);
        uint64_t mean = atomic_load_explicit(&slot->mean, memory_order_relaxed);
        uint32_t width =
            atomic_load_explicit(&slot->width, memory_order_relaxed);

        mine[n] = mean > 0 && mean < width ? 1 : mean / (width ? width : 1);
    }
    return hdi_cluster_gather(cluster, mine, cluster->here * sizeof(*mine),
                              (char *)all, error);
}

hd_status hd_cluster_weights(struct hd_cluster *cluster, uint32_t *weights,
                             struct hd_error *error)
{
    uint64_t *all =
        calloc((size_t)cluster->nodes + cluster->here, sizeof(*all));
    uint64_t fastest = UINT64_MAX;
    hd_status status =
        all ? HD_OK : hdi_fail(error, HD_ENOMEM, "no memory for weights");

    status =
        hdi_cluster_agree(cluster, "hd_cluster_weights()", 0, status, error);
    if (status == HD_OK)
        status = gather_paces(cluster, all + cluster->nodes, all, error);
    for (uint32_t n = 0; status == HD_OK && n < cluster->nodes; n++)
        if (all[n] > 0 && all[n] < fastest)
            fastest = all[n];
    // One that did nothing counts as fast: it may be.
    for (uint32_t n = 0; status == HD_OK && n < cluster->nodes; n++) {
        double share = all[n] ? (double)fastest / (double)all[n] : 1;

        weights[n] =
            share * MAX_WEIGHT < 1 ? 1 : (uint32_t)(share * MAX_WEIGHT + 0.5);
    }
    free(all);
    return status;
}
