// Which nodes of a directed graph lie on every way to a node: its dominators.
// With the edges turned round they are those on every way from it.
#ifndef HDI_KERNEL_COMPILER_FLOW_DOMINATORS_H
#define HDI_KERNEL_COMPILER_FLOW_DOMINATORS_H

#include "kernel/compiler/ir/bits.h"

#define HDI_OUTSIDE SIZE_MAX // where ways begin

struct hdi_flow_edge {
    size_t from, to; // numbers of nodes; from: or HDI_OUTSIDE
};

// Node d is in the set of n: every way from outside to n passes d. Each node is
// in its own.
struct hdi_dominators {
    uint64_t *sets; // of nodes, `words` per node; where no way leads: all
    size_t words;
};

// The order of the edges decides how long it takes: best is that of the ways.
// False when memory ran out; destroy it all the same.
bool hdi_dominators_find(struct hdi_dominators *dominators, size_t count,
                         const struct hdi_flow_edge *edges, size_t edge_count);
void hdi_dominators_destroy(struct hdi_dominators *dominators);

static inline const uint64_t *hdi_dominators_of(
    const struct hdi_dominators *dominators, size_t node)
{
    return dominators->sets + node * dominators->words;
}

#endif
