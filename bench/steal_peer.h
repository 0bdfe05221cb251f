// Measures the fork/join problems of steal.c with a peer, as steal.c does: one
// line per figure.
#ifndef HEDDLE_BENCH_STEAL_PEER_H
#define HEDDLE_BENCH_STEAL_PEER_H

#include <unistd.h>

#include "steal_problems.h"

enum {
    FIB,
    COUNT_QUEENS,
    COUNT_TREE,
    PROBLEMS
};

// Workers are counted with the thread that calls run(), if that is one.
struct peer {
    const char *name;
    int fib, samples; // fewer where that takes long; samples: SAMPLES at most
    void (*start)(unsigned workers);
    void (*stop)(void);
    void (*rest)(void), (*go_on)(void); // around serial code; NULL: nothing
    uint64_t (*run)(int problem, int n);
};

static struct thresholds thresholds;

static uint64_t run_serially(int problem, int n)
{
    struct board empty;

    memset(&empty, 0, sizeof(empty));
    return problem == FIB            ? serial_fib(n)
           : problem == COUNT_QUEENS ? serial_queens(n, 0, empty)
                                     : serial_tree(&thresholds, (uint64_t)n, 0);
}

static int compare_ratios(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct peer_times {
    double serial, parallel; // medians [ns]
    double ratio;            // median of parallel / serial
};

// In turn; one worker by CPU time, several by the clock.
static struct peer_times measure(const struct peer *peer, int problem, int n,
                                 unsigned workers)
{
    uint64_t (*read_clock)(void) = workers == 1 ? cpu_time : now;
    uint64_t serial[SAMPLES], parallel[SAMPLES];
    double ratios[SAMPLES];
    struct peer_times times;

    peer->start(workers);
    for (int i = -1; i < peer->samples; i++) { // the first warms up
        if (peer->rest)
            peer->rest();
        uint64_t a = read_clock();
        uint64_t expected = run_serially(problem, n);
        uint64_t b = read_clock();
        if (peer->go_on)
            peer->go_on();
        uint64_t c = read_clock();
        if (peer->run(problem, n) != expected)
            wrong(peer->name);
        uint64_t d = read_clock();
        if (i < 0)
            continue;
        serial[i] = b - a;
        parallel[i] = d - c;
        ratios[i] = (double)parallel[i] / (double)serial[i];
    }
    peer->stop();
    qsort(ratios, (size_t)peer->samples, sizeof(*ratios), compare_ratios);
    times.serial = median(serial, peer->samples);
    times.parallel = median(parallel, peer->samples);
    times.ratio = ratios[peer->samples / 2];
    return times;
}

static void measure_all(const struct peer *peer)
{
    static const char *const names[PROBLEMS] = {"fib", "queens", "tree"};
    const int sizes[PROBLEMS] = {peer->fib, QUEENS, 7};

    thresholds = make_thresholds();
    for (int i = 0; i < PROBLEMS; i++) {
        struct peer_times one = measure(peer, i, sizes[i], 1);
        if (i == FIB)
            print_value("fib", "cost of spawn and join",
                        (one.parallel - one.serial) /
                            (double)(serial_fib(sizes[FIB] + 1) - 1),
                        "ns", peer->name);
        print_value(names[i], "1 worker over serial", one.ratio, "ratio",
                    peer->name);
        if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
            print_value(names[i], "2 workers over serial",
                        measure(peer, i, sizes[i], 2).ratio, "ratio",
                        peer->name);
    }
}

#endif
