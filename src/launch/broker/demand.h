// What a launch takes of a module beside a worker and local memory: memory
// bandwidth, when its data are larger than the module's cache, else a share of
// that cache.
//
// Bytes are estimated from the sizes of its buffers; times are measured piece
// by piece. The bandwidth of a module is the most that its workers were seen to
// move together, so nothing is measured beforehand: as long as nobody has moved
// anything, nobody needs any of it. A launch needs as much as the fastest of
// its pieces took, which is one that ran beside others that left it enough.
#ifndef HDI_LAUNCH_BROKER_DEMAND_H
#define HDI_LAUNCH_BROKER_DEMAND_H

#include <stdint.h>

// Of a launch.
// A guess from the sizes of buffers, and what pieces showed.
struct hdi_demand {
    uint64_t data;    // that its work-groups share [bytes]
    uint64_t traffic; // between memory and cache, of a work-group [bytes]
    double rate;      // of its fastest piece [bytes/ns]; 0: not known
};

// Of a module.
// Only ever grows: a window in which little moved says nothing of what could.
struct hdi_bandwidth {
    uint64_t begin, bytes; // of the window under way [ns]
    double most;           // [bytes/ns]; 0: not known
};

// A piece of `groups` has taken `time` [ns] and ends at `now`.
void hdi_demand_learn(struct hdi_demand *demand, struct hdi_bandwidth *module,
                      uint64_t groups, uint64_t time, uint64_t now);

// What it needs of `blocks` that are all of the module's bandwidth.
uint16_t hdi_demand_blocks(const struct hdi_demand *demand,
                           const struct hdi_bandwidth *module, uint16_t blocks);

#endif
