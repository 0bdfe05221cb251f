// Invariant: `order` names every worker but its own exactly once.
#include "steal/worker/victims.h"

#include <stdlib.h>

// Once per worker, so that stealing compares no distances. Within a level the
// numbers rise; thieves begin at a random one.
bool hdi_victims_init(struct hdi_victims *victims,
                      const struct hdi_topology *topology, unsigned workers,
                      unsigned self)
{
    unsigned cores = hdi_topology_machine(topology)->cores;
    uint16_t *order = malloc((workers + 1) * sizeof(*order));
    uint8_t *level = malloc(workers);
    if (!order || !level) {
        free(order);
        free(level);
        return false;
    }

    for (unsigned i = 0; i < workers; i++)
        level[i] =
            (uint8_t)hdi_topology_distance(topology, self % cores, i % cores);
    uint32_t n = 0;
    for (unsigned l = 0; l < HDI_VICTIM_LEVELS; l++) {
        for (unsigned i = 0; i < workers; i++)
            if (i != self && level[i] == l)
                order[n++] = (uint16_t)i;
        victims->end[l] = n;
    }
    free(level);
    victims->order = order;
    return true;
}

void hdi_victims_destroy(struct hdi_victims *victims)
{
    free(victims->order);
}
