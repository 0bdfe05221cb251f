// Whom a node without tasks asks for one, of those whose queues it does not
// reach: in a cluster of up to HDI_ASK_ALL nodes all others, near ones first;
// in a larger one those at distances of a power of two, both ways, and before
// them some of those that began with much more than others, which all processes
// know from the map. Queues only shrink, so whoever has none left need not be
// asked again: a node asks O(log nodes) times for nothing.
#ifndef HDI_FIELD_VICTIMS_H
#define HDI_FIELD_VICTIMS_H

#include "field/map/map.h"

enum {
    HDI_ASK_ALL = 16 // nodes
};

struct hdi_givers {
    uint32_t *node; // in the order in which they are asked
    uint32_t count;
};

// False when memory is short.
bool hdi_givers_list(const struct hd_map *map, uint32_t node,
                     struct hdi_givers *givers);
void hdi_givers_free(struct hdi_givers *givers);

#endif
