// The fork/join problems of steal.c with OpenMP tasks: one line per figure.
// Build: gcc -O3 -fopenmp -DPEER='"libgomp"' steal_openmp.c, or with clang for
// its libomp.
#include <omp.h>

#include "steal_problems.h"

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

static struct thresholds thresholds;

static uint64_t run(int problem, int n, int threads)
{
    uint64_t result = 0;

#pragma omp parallel num_threads(threads)
#pragma omp single
    result = problem == 0   ? fib(n)
             : problem == 1 ? queens(n, 0, (struct board){{0}})
                            : tree(&thresholds, (uint64_t)n, 0);
    return result;
}

static uint64_t run_serially(int problem, int n)
{
    return problem == 0   ? serial_fib(n)
           : problem == 1 ? serial_queens(n, 0, (struct board){{0}})
                          : serial_tree(&thresholds, (uint64_t)n, 0);
}

static void measure(int problem, int n, int threads, double *serial,
                    double *parallel)
{
    uint64_t s[5], p[5];

    for (int i = 0; i < 5; i++) {
        uint64_t a = now();
        uint64_t expected = run_serially(problem, n);
        uint64_t b = now();
        if (run(problem, n, threads) != expected)
            wrong(PEER);
        s[i] = b - a;
        p[i] = now() - b;
    }
    *serial = median(s, 5);
    *parallel = median(p, 5);
}

int main(void)
{
    static const char *const names[] = {"fib", "queens", "tree"};
    static const int sizes[] = {27, QUEENS, 7};
    double serial, parallel;

    thresholds = make_thresholds();
    measure(0, sizes[0], 1, &serial, &parallel);
    print_value("fib", "cost of spawn and join",
                (parallel - serial) / (double)(serial_fib(sizes[0] + 1) - 1),
                "ns", PEER);
    for (int i = 0; i < 3 && omp_get_num_procs() > 1; i++) {
        measure(i, sizes[i], 2, &serial, &parallel);
        print_value(names[i], "2 workers over serial", parallel / serial,
                    "ratio", PEER);
    }
    return 0;
}
