// The fork/join problems of steal.c with Lace: one line per figure. No system
// has Lace as a package; with its sources built elsewhere:
//
//     gcc -O3 -march=native -std=gnu11 -falign-functions=64 -I lace/src -I
//     lace/build
//         bench/steal_lace.c lace/build/lib/liblace.a -lpthread -lm -o
//         steal_lace
//     bench/run steal --peer lace=./steal_lace
#include <lace.h>
#include <unistd.h>

#include "steal_problems.h"

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

static struct thresholds thresholds;

static uint64_t run(int problem, int n)
{
    static const struct board empty;

    return problem == 0   ? RUN(fib, n)
           : problem == 1 ? RUN(queens, n, 0, &empty)
                          : RUN(tree, &thresholds, (uint64_t)n, 0);
}

static uint64_t run_serially(int problem, int n)
{
    return problem == 0   ? serial_fib(n)
           : problem == 1 ? serial_queens(n, 0, (struct board){{0}})
                          : serial_tree(&thresholds, (uint64_t)n, 0);
}

static int compare_ratios(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct times {
    double serial, parallel; // medians [ns]
    double ratio;            // median of parallel / serial
};

// As steal.c does: in turn, one worker by CPU time, several by the clock.
static struct times measure(int problem, int n, unsigned workers)
{
    uint64_t (*read_clock)(void) = workers == 1 ? cpu_time : now;
    uint64_t serial[SAMPLES], parallel[SAMPLES];
    double ratios[SAMPLES];

    lace_start(workers, STACK);
    for (int i = -1; i < SAMPLES; i++) { // the first warms up
        lace_suspend(); // or its workers would search beside the serial code
        uint64_t a = read_clock();
        uint64_t expected = run_serially(problem, n);
        uint64_t b = read_clock();
        lace_resume();
        uint64_t c = read_clock();
        if (run(problem, n) != expected)
            wrong("lace");
        uint64_t d = read_clock();
        if (i < 0)
            continue;
        serial[i] = b - a;
        parallel[i] = d - c;
        ratios[i] = (double)parallel[i] / (double)serial[i];
    }
    lace_stop();
    qsort(ratios, SAMPLES, sizeof(*ratios), compare_ratios);
    return (struct times){median(serial, SAMPLES), median(parallel, SAMPLES),
                          ratios[SAMPLES / 2]};
}

int main(void)
{
    static const char *const names[] = {"fib", "queens", "tree"};
    static const int sizes[] = {36, QUEENS, 7};

    thresholds = make_thresholds();
    for (int i = 0; i < 3; i++) {
        struct times one = measure(i, sizes[i], 1);
        if (i == 0)
            print_value("fib", "cost of spawn and join",
                        (one.parallel - one.serial) /
                            (double)(serial_fib(sizes[0] + 1) - 1),
                        "ns", "lace");
        print_value(names[i], "1 worker over serial", one.ratio, "ratio",
                    "lace");
        if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
            print_value(names[i], "2 workers over serial",
                        measure(i, sizes[i], 2).ratio, "ratio", "lace");
    }
    return 0;
}
