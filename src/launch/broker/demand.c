#include "launch/broker/demand.h"

enum {
    WINDOW = 2000000,   // a rate is taken over, many pieces of it [ns]
    LEAST_TIME = 20000, // of a piece whose rate says something [ns]
};

// Under the broker's lock.
void hdi_demand_learn(struct hdi_demand *demand, struct hdi_bandwidth *module,
                      uint64_t groups, uint64_t time, uint64_t now)
{
    uint64_t bytes = demand->traffic * groups;

    if (bytes == 0)
        return;
    if (time >= LEAST_TIME && (double)bytes / (double)time > demand->rate)
        demand->rate = (double)bytes / (double)time;
    // What ended in a window may have begun before: nothing for the first.
    if (module->begin == 0 || now - module->begin > 2 * WINDOW) {
        module->begin = now;
        module->bytes = 0;
        return;
    }
    module->bytes += bytes;
    if (now - module->begin < WINDOW)
        return;
    double rate = (double)module->bytes / (double)(now - module->begin);
    if (rate > module->most)
        module->most = rate;
    module->begin = now;
    module->bytes = 0;
}

// 0 while it is not known: nothing waits for what nobody has measured.
uint16_t hdi_demand_blocks(const struct hdi_demand *demand,
                           const struct hdi_bandwidth *module, uint16_t blocks)
{
    if (demand->traffic == 0 || module->most == 0)
        return 0;
    double share = demand->rate / module->most;
    return share < 1 ? (uint16_t)(share * blocks) : blocks;
}
