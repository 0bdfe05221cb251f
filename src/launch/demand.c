#include "launch/demand.h"

#include <stdbool.h>

#include "launch/launching.h"

enum {
    WINDOW = 2000000,   // a rate is taken over, many pieces of it [ns]
    LEAST_TIME = 20000, // of a piece whose rate says something [ns]
};

static bool is_counted(const struct hd_arg *args, unsigned index)
{
    if (args[index].is != HD_IS_BUFFER || !args[index].buffer)
        return false;
    for (unsigned i = 0; i < index; i++)
        if (args[i].is == HD_IS_BUFFER && args[i].buffer == args[index].buffer)
            return false;
    return true;
}

void hdi_demand_guess(const struct hdi_launch *launch, uint64_t cache,
                      struct hdi_demand *demand)
{
    double all = 1, data = 0;

    for (int d = 0; d < 3; d++)
        all *= launch->chunk.frame.group_count[d];
    for (unsigned i = 0; i < launch->kernel->info.arg_count; i++)
        if (is_counted(launch->args, i))
            data += (double)launch->args[i].buffer->size;
    double part = data * (double)hdi_box_groups(&launch->box) / all;

    *demand = (struct hdi_demand){
        .data = (uint64_t)part,
        .traffic = part > (double)cache ? (uint64_t)(data / all) : 0};
}

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

uint16_t hdi_demand_blocks(const struct hdi_demand *demand,
                           const struct hdi_bandwidth *module, uint16_t blocks)
{
    if (demand->traffic == 0 || module->most == 0)
        return 0;
    double share = demand->rate / module->most;
    return share < 1 ? (uint16_t)(share * blocks) : blocks;
}
