#include "kernel/compiler/flow/dominators.h"

#include <stdlib.h>
#include <string.h>

// Leave what is on the ways through this edge too. Has it changed?
// Sets only shrink: a node keeps what is in the sets of all that lead to it,
// and itself.
static bool pass(const struct hdi_dominators *d,
                 const struct hdi_flow_edge *edge)
{
    uint64_t *to = d->sets + edge->to * d->words;
    bool changed = false;

    for (size_t w = 0; w < d->words; w++) {
        uint64_t all =
            edge->from == HDI_OUTSIDE ? 0 : d->sets[edge->from * d->words + w];
        if (edge->to / 64 == w)
            all |= UINT64_C(1) << edge->to % 64;
        changed |= (to[w] & all) != to[w];
        to[w] &= all;
    }
    return changed;
}

bool hdi_dominators_find(struct hdi_dominators *d, size_t count,
                         const struct hdi_flow_edge *edges, size_t edge_count)
{
    d->words = count / 64 + 1;
    d->sets = calloc(count, d->words * sizeof(*d->sets));
    if (!d->sets)
        return false;
    memset(d->sets, 0xff, count * d->words * sizeof(*d->sets));
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t e = 0; e < edge_count; e++)
            changed |= pass(d, &edges[e]);
    }
    return true;
}

void hdi_dominators_destroy(struct hdi_dominators *d)
{
    free(d->sets);
    d->sets = NULL;
}
