#include "field/forall/givers.h"

#include <stdlib.h>

#include "field/map/queue.h"

// Who has less runs out about when others do: asking it early is in vain.
enum {
    MUCH = 2 // times the mean
};

// Of a number above 0, rounded up.
static uint32_t log_2(uint32_t number)
{
    uint32_t log = 0;

    while (((uint64_t)1 << log) < number)
        log++;
    return log;
}

// Linear: a list has some logarithms of the number of nodes.
static void add(struct hdi_givers *givers, uint32_t node)
{
    for (uint32_t i = 0; i < givers->count; i++)
        if (givers->node[i] == node)
            return;
    givers->node[givers->count++] = node;
}

// Add `most` of the nodes that have much. Each node begins at another place
// among them, so that those who ask spread.
static void add_heavy(struct hdi_givers *givers, uint32_t nodes, uint32_t node,
                      uint32_t most, const uint64_t *tasks, uint32_t *heavy)
{
    uint64_t total = 0;
    uint32_t count = 0;

    for (uint32_t n = 0; n < nodes; n++)
        total += tasks[n];
    for (uint32_t n = 0; n < nodes; n++)
        if (n != node && tasks[n] / MUCH > total / nodes)
            heavy[count++] = n;
    uint32_t step = count / most + 1;
    for (uint32_t i = 0; i < count && i < most; i++)
        add(givers, heavy[((uint64_t)node + (uint64_t)i * step) % count]);
}

// Room: `most` heavy ones, and two for each power of two below `nodes`.
bool hdi_givers_list(const struct hd_map *map, uint32_t node,
                     struct hdi_givers *givers)
{
    uint32_t nodes = map->nodes, most = log_2(nodes);
    bool all = nodes <= HDI_ASK_ALL;
    struct hdi_givers v = {0};

    v.node = malloc((all ? nodes : 3 * (size_t)most) * sizeof(*v.node));
    if (!v.node)
        return false;
    if (!all) {
        uint64_t *tasks = calloc(nodes, sizeof(*tasks));
        uint32_t *heavy = malloc(nodes * sizeof(*heavy));
        bool room = tasks && heavy;

        if (room) {
            hdi_queue_counts(map, tasks);
            add_heavy(&v, nodes, node, most, tasks, heavy);
        }
        free(tasks);
        free(heavy);
        if (!room) {
            free(v.node);
            return false;
        }
    }
    for (uint32_t by = 1; by < nodes; by = all ? by + 1 : 2 * by) {
        add(&v, (uint32_t)(((uint64_t)node + by) % nodes));
        if (!all)
            add(&v, (uint32_t)(((uint64_t)node + nodes - by) % nodes));
    }
    *givers = v;
    return true;
}

void hdi_givers_free(struct hdi_givers *givers)
{
    free(givers->node);
    *givers = (struct hdi_givers){0};
}
