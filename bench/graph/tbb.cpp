// A graph of tasks in oneTBB's flow graph: one continue_node each.
#include "bench/graph/dag.h"

#include <cstdlib>
#include <deque>
#include <memory>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <vector>

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

namespace
{

std::unique_ptr<tbb::global_control> limit;
std::unique_ptr<tbb::task_arena> arena;

struct network {
    tbb::flow::graph graph;
    std::deque<node> nodes;
    std::vector<node *> first; // that wait for nothing
};

void open_tbb(unsigned workers)
{
    limit = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, workers);
    arena = std::make_unique<tbb::task_arena>(static_cast<int>(workers));
}

void close_tbb()
{
    arena.reset();
    limit.reset();
}

void *build(struct dag *dag)
{
    network *n = nullptr;

    arena->execute([&] {
        n = new network;
        for (uint32_t i = 0; i < dag->count; i++) {
            n->nodes.emplace_back(n->graph, [dag, i](const continue_msg &) {
                dag_run_task(dag, i);
            });
            for (uint32_t e = dag->first[i]; e < dag->first[i + 1]; e++)
                tbb::flow::make_edge(n->nodes[dag->before[e]], n->nodes.back());
            if (dag->first[i] == dag->first[i + 1])
                n->first.push_back(&n->nodes.back());
        }
    });
    return n;
}

void run(void *graph)
{
    auto *n = static_cast<network *>(graph);

    arena->execute([n] {
        for (node *first : n->first)
            first->try_put(continue_msg());
        n->graph.wait_for_all();
    });
}

void free_network(void *graph)
{
    arena->execute([graph] { delete static_cast<network *>(graph); });
}

} // namespace

const struct runner tbb_runner = {"tbb", open_tbb, close_tbb,
                                  build, run,      free_network};
