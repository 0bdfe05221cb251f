// The fork/join problems of steal.c with Taskflow: one line per figure. With
// its headers elsewhere:
//
//     g++ -O3 -march=native -std=c++20 -I taskflow bench/steal_taskflow.cpp
//         -pthread -o steal_taskflow
//     bench/run steal --peer taskflow=./steal_taskflow
#include <memory>
#include <taskflow/taskflow.hpp>

#include "steal_peer.h"

static std::unique_ptr<tf::Executor> executor;

static uint64_t fib(int n)
{
    uint64_t a, b;

    if (n < 2)
        return (uint64_t)n;
    tf::TaskGroup group = executor->task_group();
    group.silent_async([n, &a] { a = fib(n - 1); });
    b = fib(n - 2);
    group.corun();
    return a + b;
}

static uint64_t queens(int n, int row, const struct board &b)
{
    uint64_t found[16], sum = 0;
    int spawned = 0;

    if (row == n)
        return 1;
    tf::TaskGroup group = executor->task_group();
    for (int column = 0; column < n; column++)
        if (is_safe(&b, row, column)) {
            struct board next = b;
            uint64_t *to = &found[spawned++];
            next.column[row] = (signed char)column;
            group.silent_async([=] { *to = queens(n, row + 1, next); });
        }
    group.corun();
    for (int i = 0; i < spawned; i++)
        sum += found[i];
    return sum;
}

static uint64_t tree(uint64_t node, int depth)
{
    uint64_t found[TREE_THRESHOLDS], nodes = 1;
    int children = children_of(&thresholds, node, depth);

    tf::TaskGroup group = executor->task_group();
    for (int i = 0; i < children; i++) {
        uint64_t *to = &found[i];
        uint64_t child = child_of(node, i);
        group.silent_async([=] { *to = tree(child, depth + 1); });
    }
    group.corun();
    for (int i = 0; i < children; i++)
        nodes += found[i];
    return nodes;
}

static uint64_t run(int problem, int n)
{
    return executor
        ->async([=] {
            return problem == FIB            ? fib(n)
                   : problem == COUNT_QUEENS ? queens(n, 0, board{})
                                             : tree((uint64_t)n, 0);
        })
        .get();
}

static void start(unsigned workers)
{
    executor = std::make_unique<tf::Executor>(workers);
}

static void stop(void)
{
    executor.reset();
}

int main()
{
    const struct peer taskflow = {"taskflow", 27,   SAMPLES, start,
                                  stop,       NULL, NULL,    run};

    measure_all(&taskflow);
    return 0;
}
