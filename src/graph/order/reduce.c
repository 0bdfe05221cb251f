// Edges that others imply: what comes before something that comes before a
// pass need not be waited for by the pass. An edge that another pass need not
// wait for the end of implies nothing.
//
// Edges of data lead forward in program order and stand together by the pass
// they lead to (link.c), so a walk back from one pass is short where passes
// feed the next ones. It is given up after a number of steps: an edge that is
// kept in vain costs a count, one left out wrongly would cost the result.
#include "graph/model/model.h"

#include <stdlib.h>
#include <string.h>

// A walk of more steps costs more than the counts it saves; of graphs with more
// passes preparing would take too long.
enum {
    MAX_STEPS = 32,      // back from one pass
    MAX_PASSES = 1 << 16 // of a graph that is looked at
};

// `seen` need not be cleared between walks: it holds the pass that each walk is
// of. The stack never overflows, as each step puts one pass on it.
struct walk {
    struct hd_graph *graph;
    const uint32_t *first; // edge of each pass
    uint32_t *seen;        // pass + 1 of the walk that came here
    uint32_t stack[MAX_STEPS + 1], depth, steps;
    uint32_t to, least; // of the walk; no edge of it comes from before
};

// Passes before `least` are not walked to: edges lead forward, so from there
// none comes to a pass that `to` waits for directly.
static void visit(struct walk *w, uint32_t pass)
{
    if (w->seen[pass] == w->to + 1 || pass <= w->least || w->steps == MAX_STEPS)
        return;
    w->steps++;
    w->seen[pass] = w->to + 1;
    w->stack[w->depth++] = pass;
}

// Every pass that is reached from another one that `to` waits for.
//
//     a ---> b ---> to        the walk back from b finds a, so the edge
//      \____________^         from a to `to` is implied
static void walk_back(struct walk *w, uint32_t begin, uint32_t end)
{
    struct hdi_edge *edges = w->graph->edges.at;

    w->depth = w->steps = 0;
    for (uint32_t i = begin; i < end; i++)
        if (edges[i].kind != HDI_EDGE_TURN)
            visit(w, edges[i].from);
    while (w->depth > 0) {
        uint32_t pass = w->stack[--w->depth];
        for (uint32_t i = w->first[pass]; i < w->first[pass + 1]; i++) {
            if (edges[i].kind == HDI_EDGE_TURN)
                continue;
            for (uint32_t k = begin; k < end; k++)
                if (edges[k].from == edges[i].from)
                    edges[k].implied = true;
            visit(w, edges[i].from);
        }
    }
}

// One walk for each pass that waits for two others at least. `first` grows
// along with the passes, as data edges stand in that order; stated orders stand
// behind them and are neither walked nor left out.
bool hdi_graph_reduce(struct hd_graph *graph)
{
    uint32_t passes = graph->passes.count, at = 0;
    struct hdi_edge *edges = graph->edges.at;

    if (passes > MAX_PASSES)
        return true;
    uint32_t *rooms = malloc(2 * (passes + (size_t)1) * sizeof(*rooms));
    if (!rooms)
        return false;
    struct walk w = {
        .graph = graph, .first = rooms, .seen = rooms + passes + 1};
    memset(w.seen + graph->first, 0,
           (passes - graph->first + (size_t)1) * sizeof(*w.seen));
    for (uint32_t pass = graph->first; pass < passes; pass++) {
        rooms[pass] = at;
        while (at < graph->data_edges && edges[at].to == pass)
            at++;
        rooms[pass + 1] = at;
        if (at - rooms[pass] < 2)
            continue;
        w.to = pass;
        w.least = pass;
        for (uint32_t i = rooms[pass]; i < at; i++)
            if (edges[i].from < w.least)
                w.least = edges[i].from;
        walk_back(&w, rooms[pass], at);
    }
    free(rooms);
    return true;
}
