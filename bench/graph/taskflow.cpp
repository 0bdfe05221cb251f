// A graph of tasks in Taskflow: a task each, kept and run again.
#include "bench/graph/dag.h"

#include <memory>
#include <taskflow/taskflow.hpp>
#include <vector>

namespace
{

std::unique_ptr<tf::Executor> executor;

void open_taskflow(unsigned workers)
{
    executor = std::make_unique<tf::Executor>(workers);
}

void close_taskflow()
{
    executor.reset();
}

void *build(struct dag *dag)
{
    auto *flow = new tf::Taskflow;
    std::vector<tf::Task> tasks(dag->count);

    for (uint32_t i = 0; i < dag->count; i++) {
        tasks[i] = flow->emplace([dag, i] { dag_run_task(dag, i); });
        for (uint32_t e = dag->first[i]; e < dag->first[i + 1]; e++)
            tasks[dag->before[e]].precede(tasks[i]);
    }
    return flow;
}

void run(void *graph)
{
    executor->run(*static_cast<tf::Taskflow *>(graph)).wait();
}

void free_flow(void *graph)
{
    delete static_cast<tf::Taskflow *>(graph);
}

} // namespace

const struct runner taskflow_runner = {
    "taskflow", open_taskflow, close_taskflow, build, run, free_flow};
