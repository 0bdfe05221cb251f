// The fork/join problems of steal.c with libfork: one line per figure. With its
// headers elsewhere, and a compiler of C++23:
//
//     clang++-19 -O3 -march=native -std=c++23 -I libfork/include
//         bench/steal_libfork.cpp -pthread -o steal_libfork
//     bench/run steal --peer libfork=./steal_libfork
#include <libfork.hpp>
#include <memory>

#include "steal_peer.h"

// Its workers search as ours do, or Lace's; lazy_pool's sleep first.
static std::unique_ptr<lf::busy_pool> pool;

static constexpr auto fib = [](auto fib, int n) -> lf::task<uint64_t> {
    uint64_t a, b;

    if (n < 2)
        co_return (uint64_t) n;
    co_await lf::fork(&a, fib)(n - 1);
    co_await lf::call(&b, fib)(n - 2);
    co_await lf::join;
    co_return a + b;
};

// Boards of this row's queens stay where they are until all have been counted.
static constexpr auto queens = [](auto queens, int n, int row,
                                  const struct board *b) -> lf::task<uint64_t> {
    struct board next[16];
    uint64_t found[16], sum = 0;
    int spawned = 0;

    if (row == n)
        co_return 1;
    for (int column = 0; column < n; column++)
        if (is_safe(b, row, column)) {
            next[spawned] = *b;
            next[spawned].column[row] = (signed char)column;
            co_await lf::fork(&found[spawned], queens)(n, row + 1,
                                                       &next[spawned]);
            spawned++;
        }
    co_await lf::join;
    for (int i = 0; i < spawned; i++)
        sum += found[i];
    co_return sum;
};

static constexpr auto tree = [](auto tree, uint64_t node,
                                int depth) -> lf::task<uint64_t> {
    uint64_t found[TREE_THRESHOLDS], nodes = 1;
    int children = children_of(&thresholds, node, depth);

    for (int i = 0; i < children; i++)
        co_await lf::fork(&found[i], tree)(child_of(node, i), depth + 1);
    co_await lf::join;
    for (int i = 0; i < children; i++)
        nodes += found[i];
    co_return nodes;
};

static uint64_t run(int problem, int n)
{
    static const struct board empty = {};

    return problem == FIB ? lf::sync_wait(*pool, fib, n)
           : problem == COUNT_QUEENS
               ? lf::sync_wait(*pool, queens, n, 0, &empty)
               : lf::sync_wait(*pool, tree, (uint64_t)n, 0);
}

static unsigned workers;

static void go_on(void)
{
    pool = std::make_unique<lf::busy_pool>(workers);
}

static void start(unsigned count)
{
    workers = count;
    go_on();
}

// Its workers would search beside serial code.
static void rest(void)
{
    pool.reset();
}

int main()
{
    const struct peer libfork = {"libfork", 32,   SAMPLES, start,
                                 rest,      rest, go_on,   run};

    measure_all(&libfork);
    return 0;
}
