// One searcher of a unit, shared by several resources in turn.
//
// A round has periods; in each the resources assigned to it lie side by side in
// equal segments of the searcher's width, padded as occupied, and are shifted
// together; masks clear what crosses a border, so each segment has its own
// answer.
#ifndef HEDDLE_SIM_SEARCHER_H
#define HEDDLE_SIM_SEARCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

enum {
    SIM_SEARCHER_BLOCKS = 4096, // widest
    SIM_SEARCHER_MAPS = 16      // most resources
};

// Segments of a searcher that four resources share:
//
//     width    |      resource 0       |      resource 2       |   period 0
//              | resource 1 | resource 3 |       |             |   period 1
//              '- segment --'
struct sim_searcher {
    unsigned width; // [blocks]
    unsigned maps;  // resources
    unsigned periods;
    struct {
        unsigned blocks;
        unsigned period;
        unsigned first; // block of the searcher where its segment starts
    } map[SIM_SEARCHER_MAPS];
    unsigned segment[SIM_SEARCHER_MAPS]; // of a period: its length [blocks]
};

// Assign resources of `blocks[i]` to as few periods as first fit in falling
// order of size finds. HD_EINVAL names the resource that is wider than the
// searcher.
hd_status sim_searcher_init(struct sim_searcher *searcher, unsigned width,
                            const unsigned *blocks, unsigned count,
                            struct hd_error *error);

// The longest run of every resource, shift by shift with border masks.
void sim_searcher_steps(const struct sim_searcher *searcher,
                        const uint64_t *const *maps, unsigned *found);

// The same in a logarithmic number of steps.
void sim_searcher_find(const struct sim_searcher *searcher,
                       const uint64_t *const *maps, unsigned *found);

#endif
