// The fork/join problems of steal.c with OpenMP tasks: one line per figure.
// Build: gcc -O3 -fopenmp -DPEER='"libgomp"' steal_openmp.c, or with clang for
// its libomp.
#include <omp.h>

#include "steal_peer.h"

static uint64_t fib(int n)
{
    uint64_t a, b;

    if (n < 2)
        return (uint64_t)n;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static uint64_t queens(int n, int row, struct board b)
{
    uint64_t found[16], sum = 0;
    int spawned = 0;

    if (row == n)
        return 1;
    for (int column = 0; column < n; column++)
        if (is_safe(&b, row, column)) {
            struct board next = b;
            uint64_t *to = &found[spawned++];
            next.column[row] = (signed char)column;
#pragma omp task firstprivate(next, to)
            *to = queens(n, row + 1, next);
        }
#pragma omp taskwait
    for (int i = 0; i < spawned; i++)
        sum += found[i];
    return sum;
}

static uint64_t tree(const struct thresholds *t, uint64_t node, int depth)
{
    uint64_t found[TREE_THRESHOLDS], nodes = 1;
    int children = children_of(t, node, depth);

    for (int i = 0; i < children; i++) {
        uint64_t child = child_of(node, i);
#pragma omp task firstprivate(child) shared(found)
        found[i] = tree(t, child, depth + 1);
    }
#pragma omp taskwait
    for (int i = 0; i < children; i++)
        nodes += found[i];
    return nodes;
}

static int threads;

static void start(unsigned workers)
{
    threads = (int)workers;
}

// Its threads stay with the process, and sleep.
static void stop(void)
{
}

static uint64_t run(int problem, int n)
{
    uint64_t result = 0;

#pragma omp parallel num_threads(threads)
#pragma omp single
    result = problem == FIB            ? fib(n)
             : problem == COUNT_QUEENS ? queens(n, 0, (struct board){{0}})
                                       : tree(&thresholds, (uint64_t)n, 0);
    return result;
}

int main(void)
{
    static const struct peer openmp = {.name = PEER,
                                       .fib = 27,
                                       .samples = 5,
                                       .start = start,
                                       .stop = stop,
                                       .run = run};

    measure_all(&openmp);
    return 0;
}
