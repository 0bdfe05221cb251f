// Dominators of random graphs are those that walks without a node find.
#include "kernel/compiler/flow/dominators.h"

#include "tests/check.h"

enum {
    NODES = 70, // more than the bits of a word
    EDGES = 3 * NODES,
    ROUNDS = 200
};

static uint64_t state = 1;

static size_t random_below(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

// Whether a way leads from node 0 to `to` that does not pass `without`.
static bool is_reached(const struct hdi_flow_edge *edges, size_t count,
                       size_t to, size_t without)
{
    bool seen[NODES] = {false};
    size_t stack[NODES], depth = 0;

    if (without == 0)
        return false;
    stack[depth++] = 0;
    seen[0] = true;
    while (depth > 0) {
        size_t at = stack[--depth];
        for (size_t e = 0; e < count; e++)
            if (edges[e].from == at && edges[e].to != without &&
                !seen[edges[e].to]) {
                seen[edges[e].to] = true;
                stack[depth++] = edges[e].to;
            }
    }
    return seen[to];
}

static void dominators_are_on_every_way(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct hdi_flow_edge edges[EDGES];
        struct hdi_dominators d;
        size_t nodes = 2 + random_below(NODES - 1);
        size_t count = 1 + random_below(2 * nodes);

        edges[0] = (struct hdi_flow_edge){HDI_OUTSIDE, 0};
        for (size_t e = 1; e < count; e++)
            edges[e] = (struct hdi_flow_edge){random_below(nodes),
                                              random_below(nodes)};
        CHECK(hdi_dominators_find(&d, nodes, edges, count));
        for (size_t b = 0; b < nodes; b++)
            for (size_t a = 0; a < nodes; a++) {
                bool is_there = is_reached(edges, count, b, HDI_OUTSIDE);
                bool without = a != b && is_reached(edges, count, b, a);
                CHECK(hdi_bit(hdi_dominators_of(&d, b), a) ==
                      (!is_there || !without));
            }
        hdi_dominators_destroy(&d);
    }
}

int main(void)
{
    dominators_are_on_every_way();
    return 0;
}
