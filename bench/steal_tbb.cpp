// The fork/join problems of steal.c with oneTBB: one line per figure.
// Build: c++ -O3 -std=c++17 steal_tbb.cpp -ltbb
#include <future>
#include <memory>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <vector>

#include "steal_peer.h"

static uint64_t fib(int n)
{
    uint64_t a, b;

    if (n < 2)
        return (uint64_t)n;
    tbb::task_group group;
    group.run([&a, n] { a = fib(n - 1); });
    b = fib(n - 2);
    group.wait();
    return a + b;
}

static uint64_t queens(int n, int row, struct board b)
{
    uint64_t found[16], sum = 0;
    int spawned = 0;

    if (row == n)
        return 1;
    tbb::task_group group;
    for (int column = 0; column < n; column++)
        if (is_safe(&b, row, column)) {
            struct board next = b;
            uint64_t *to = &found[spawned++];
            next.column[row] = (signed char)column;
            group.run([=] { *to = queens(n, row + 1, next); });
        }
    group.wait();
    for (int i = 0; i < spawned; i++)
        sum += found[i];
    return sum;
}

static uint64_t tree(uint64_t node, int depth)
{
    uint64_t found[TREE_THRESHOLDS], nodes = 1;
    int children = children_of(&thresholds, node, depth);

    tbb::task_group group;
    for (int i = 0; i < children; i++) {
        uint64_t child = child_of(node, i);
        uint64_t *to = &found[i];
        group.run([=] { *to = tree(child, depth + 1); });
    }
    group.wait();
    for (int i = 0; i < children; i++)
        nodes += found[i];
    return nodes;
}

static std::unique_ptr<tbb::global_control> limit;
static std::unique_ptr<tbb::task_arena> arena;

static void start(unsigned workers)
{
    limit = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, workers);
    arena = std::make_unique<tbb::task_arena>((int)workers);
}

static void stop()
{
    arena.reset();
    limit.reset();
}

static uint64_t run(int problem, int n)
{
    uint64_t result = 0;

    arena->execute([&] {
        result = problem == FIB            ? fib(n)
                 : problem == COUNT_QUEENS ? queens(n, 0, board{})
                                           : tree((uint64_t)n, 0);
    });
    return result;
}

// From the call to the task's start, while the caller waits asleep and so does
// the worker. Negative: it never sleeps.
static double wake_latency() // [us]
{
    // As many workers as it has: the caller is none of them.
    tbb::task_arena one(1, 0);
    std::vector<uint64_t> times;

    for (int i = 0; i < 200; i++) {
        std::promise<uint64_t> started;
        if (!fall_asleep())
            return -1;
        uint64_t begin = now();
        one.enqueue([&] { started.set_value(now()); });
        times.push_back(started.get_future().get() - begin);
    }
    return median(times.data(), (int)times.size()) / 1e3;
}

int main()
{
    const struct peer peer = {"tbb", 27, 5, start, stop, NULL, NULL, run};

    measure_all(&peer);
    double wake = wake_latency();
    if (wake < 0)
        print_skipped("wake", "outside call to a sleeping pool", "tbb",
                      "its worker does not sleep");
    else
        print_value("wake", "outside call to a sleeping pool", wake, "us",
                    "tbb");
    return 0;
}
