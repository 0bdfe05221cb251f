// The fork/join problems of steal.c with Lace: one line per figure. No system
// has Lace as a package; with its sources built elsewhere:
//
//     gcc -O3 -march=native -std=gnu11 -falign-functions=64 -I lace/src -I
//     lace/build
//         bench/steal_lace.c lace/build/lib/liblace.a -lpthread -lm -o
//         steal_lace
//     bench/run steal --peer lace=./steal_lace
#include <lace.h>

#include "steal_peer.h"

enum {
    STACK = 1 << 20 // tasks of a worker
};

TASK_1(uint64_t, fib, int, n)
{
    if (n < 2)
        return (uint64_t)n;
    SPAWN(fib, n - 1);
    uint64_t b = CALL(fib, n - 2);
    return SYNC(fib) + b;
}

// Boards of this row's queens stay where they are until all have been counted.
TASK_3(uint64_t, queens, int, n, int, row, const struct board *, b)
{
    struct board next[16];
    uint64_t sum = 0;
    int spawned = 0;

    if (row == n)
        return 1;
    for (int column = 0; column < n; column++)
        if (is_safe(b, row, column)) {
            next[spawned] = *b;
            next[spawned].column[row] = (signed char)column;
            SPAWN(queens, n, row + 1, &next[spawned]);
            spawned++;
        }
    for (int i = 0; i < spawned; i++)
        sum += SYNC(queens);
    return sum;
}

TASK_3(uint64_t, tree, const struct thresholds *, t, uint64_t, node, int, depth)
{
    int children = children_of(t, node, depth);
    uint64_t nodes = 1;

    for (int i = 0; i < children; i++)
        SPAWN(tree, t, child_of(node, i), depth + 1);
    for (int i = 0; i < children; i++)
        nodes += SYNC(tree);
    return nodes;
}

static uint64_t run(int problem, int n)
{
    static const struct board empty;

    return problem == FIB            ? RUN(fib, n)
           : problem == COUNT_QUEENS ? RUN(queens, n, 0, &empty)
                                     : RUN(tree, &thresholds, (uint64_t)n, 0);
}

static void start(unsigned workers)
{
    lace_start(workers, STACK);
}

// Its workers would search beside serial code.
static void rest(void)
{
    lace_suspend();
}

static void go_on(void)
{
    lace_resume();
}

int main(void)
{
    static const struct peer lace = {.name = "lace",
                                     .fib = 36,
                                     .samples = SAMPLES,
                                     .start = start,
                                     .stop = lace_stop,
                                     .rest = rest,
                                     .go_on = go_on,
                                     .run = run};

    measure_all(&lace);
    return 0;
}
