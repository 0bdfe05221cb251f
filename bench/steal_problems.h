// Fork/join problems, serially and with what peers share, for steal.c and its
// peers, which lie beside it.
#ifndef HEDDLE_BENCH_STEAL_PROBLEMS_H
#define HEDDLE_BENCH_STEAL_PROBLEMS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SAMPLES = 15, // medians of this many, serial and parallel in turn
    QUEENS = 12,
    TREE_DEPTH = 10,
    TREE_THRESHOLDS = 64
};

static inline uint64_t now(void) // [ns]
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t cpu_time(void) // of all threads of the process [ns]
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Rest 5 ms, and on until no other thread has used CPU time for 5 ms: who still
// searches for work then does not sleep. 0: they never do.
static inline int fall_asleep(void)
{
    struct timespec rest = {0, 5000000};

    for (int i = 0; i < 100; i++) {
        uint64_t before = cpu_time();
        nanosleep(&rest, NULL);
        if (cpu_time() - before < 250000) // this thread needs some, too
            return 1;
    }
    return 0;
}

static inline int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static inline double median(uint64_t *times, int count) // [ns]
{
    qsort(times, (size_t)count, sizeof(*times), compare_times);
    return (double)times[count / 2];
}

// Fibonacci: nothing but forks. fib(n) forks fib(n + 1) - 1 times.
static inline uint64_t serial_fib(int n)
{
    return n < 2 ? (uint64_t)n : serial_fib(n - 1) + serial_fib(n - 2);
}

// Queens on a board: some work per fork.
struct board {
    signed char column[16]; // of the queen in each row
};

static inline int is_safe(const struct board *b, int row, int column)
{
    for (int i = 0; i < row; i++) {
        int apart = b->column[i] - column;
        if (apart == 0 || apart == row - i || apart == i - row)
            return 0;
    }
    return 1;
}

static inline uint64_t serial_queens(int n, int row, struct board b)
{
    uint64_t found = 0;

    if (row == n)
        return 1;
    for (int column = 0; column < n; column++)
        if (is_safe(&b, row, column)) {
            struct board next = b;
            next.column[row] = (signed char)column;
            found += serial_queens(n, row + 1, next);
        }
    return found;
}

// An unbalanced tree: a node has k or more children with probability 0.8^k, by
// a cheap hash, down to TREE_DEPTH.
struct thresholds {
    uint32_t at_least[TREE_THRESHOLDS]; // of 2^32
};

static inline struct thresholds make_thresholds(void)
{
    struct thresholds t;
    double p = 1;

    for (int k = 0; k < TREE_THRESHOLDS; k++) {
        p *= 0.8;
        t.at_least[k] = (uint32_t)(p * 4294967295.0);
    }
    return t;
}

static inline uint64_t child_of(uint64_t node, int i)
{
    uint64_t x = node + 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline int children_of(const struct thresholds *t, uint64_t node,
                              int depth)
{
    uint32_t draw = (uint32_t)(node >> 32);
    int k = 0;

    if (depth >= TREE_DEPTH)
        return 0;
    while (k < TREE_THRESHOLDS && draw < t->at_least[k])
        k++;
    return k;
}

static inline uint64_t serial_tree(const struct thresholds *t, uint64_t node,
                                   int depth)
{
    uint64_t nodes = 1;
    int children = children_of(t, node, depth);

    for (int i = 0; i < children; i++)
        nodes += serial_tree(t, child_of(node, i), depth + 1);
    return nodes;
}

static inline void wrong(const char *name)
{
    fprintf(stderr, "steal: %s: wrong result\n", name);
    exit(1);
}

// One figure; the same line from us and from peers.
static inline void print_value(const char *name, const char *metric,
                               double value, const char *unit, const char *peer)
{
    printf("{\"bench\":\"steal\",\"case\":\"%s\",\"metric\":\"%s\","
           "\"value\":%.4g,\"unit\":\"%s\",\"peer\":\"%s\"}\n",
           name, metric, value, unit, peer);
    fflush(stdout);
}

static inline void print_skipped(const char *name, const char *metric,
                                 const char *peer, const char *reason)
{
    printf("{\"bench\":\"steal\",\"case\":\"%s\",\"metric\":\"%s\","
           "\"peer\":\"%s\",\"skipped\":\"%s\"}\n",
           name, metric, peer, reason);
    fflush(stdout);
}

#endif
