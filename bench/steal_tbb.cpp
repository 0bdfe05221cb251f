// The fork/join problems of steal.c with oneTBB: one line per figure.
// Build: c++ -O3 -std=c++17 steal_tbb.cpp -ltbb
#include <future>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <thread>
#include <vector>

#include "steal_problems.h"

static struct thresholds thresholds;

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

static uint64_t run(int problem, int n)
{
    return problem == 0   ? fib(n)
           : problem == 1 ? queens(n, 0, board{})
                          : tree((uint64_t)n, 0);
}

static uint64_t run_serially(int problem, int n)
{
    return problem == 0   ? serial_fib(n)
           : problem == 1 ? serial_queens(n, 0, board{})
                          : serial_tree(&thresholds, (uint64_t)n, 0);
}

static void measure(int problem, int n, int threads, double *serial,
                    double *parallel)
{
    uint64_t s[5], p[5];
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                              (size_t)threads);
    tbb::task_arena arena(threads);

    for (int i = 0; i < 5; i++) {
        uint64_t a = now();
        uint64_t expected = run_serially(problem, n);
        uint64_t b = now();
        uint64_t result = 0;
        arena.execute([&] { result = run(problem, n); });
        if (result != expected)
            wrong("tbb");
        s[i] = b - a;
        p[i] = now() - b;
    }
    *serial = median(s, 5);
    *parallel = median(p, 5);
}

// From the call to the task's start, while the caller waits asleep and so does
// the worker. Negative: it never sleeps.
static double wake_latency() // [us]
{
    // As many workers as it has: the caller is none of them.
    tbb::task_arena arena(1, 0);
    std::vector<uint64_t> times;

    for (int i = 0; i < 200; i++) {
        std::promise<uint64_t> started;
        if (!fall_asleep())
            return -1;
        uint64_t begin = now();
        arena.enqueue([&] { started.set_value(now()); });
        times.push_back(started.get_future().get() - begin);
    }
    return median(times.data(), (int)times.size()) / 1e3;
}

int main()
{
    static const char *const names[] = {"fib", "queens", "tree"};
    static const int sizes[] = {27, QUEENS, 7};
    double serial, parallel;

    thresholds = make_thresholds();
    measure(0, sizes[0], 1, &serial, &parallel);
    print_value("fib", "cost of spawn and join",
                (parallel - serial) / (double)(serial_fib(sizes[0] + 1) - 1),
                "ns", "tbb");
    for (int i = 0; i < 3 && std::thread::hardware_concurrency() > 1; i++) {
        measure(i, sizes[i], 2, &serial, &parallel);
        print_value(names[i], "2 workers over serial", parallel / serial,
                    "ratio", "tbb");
    }
    double wake = wake_latency();
    if (wake < 0)
        print_skipped("wake", "outside call to a sleeping pool", "tbb",
                      "its worker does not sleep");
    else
        print_value("wake", "outside call to a sleeping pool", wake, "us",
                    "tbb");
    return 0;
}
