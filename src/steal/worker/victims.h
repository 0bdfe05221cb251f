// In which order a worker looks at the others: near first.
#ifndef HDI_STEAL_WORKER_VICTIMS_H
#define HDI_STEAL_WORKER_VICTIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/topology.h"

enum {
    HDI_VICTIM_LEVELS = 6 // values of hdi_topology_distance()
};

// The other workers by distance: those of level i are order[end[i - 1]] to
// order[end[i] - 1].
struct hdi_victims {
    uint16_t *order;
    uint32_t end[HDI_VICTIM_LEVELS];
};

// Worker i of `workers` is on core i modulo the number of cores. False without
// memory.
bool hdi_victims_init(struct hdi_victims *victims,
                      const struct hdi_topology *topology, unsigned workers,
                      unsigned self);
void hdi_victims_destroy(struct hdi_victims *victims);

#endif
