// What the programs beside bench_field share: shared windows that a copy or an
// addition of the other's memory is timed with, and figures of the same names.
#ifndef HEDDLE_BENCH_FIELD_PEER_H
#define HEDDLE_BENCH_FIELD_PEER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"

enum {
    PEER_ROUNDS = 5
};

struct windows { // three arrays of each process, `size` doubles
    MPI_Win window[3];
    double *mine[3], *other[3];
    size_t size;
};

static inline void open_windows(struct windows *w, size_t size, int rank)
{
    w->size = size;
    for (int i = 0; i < 3; i++) {
        MPI_Aint bytes;
        int unit;

        MPI_Win_allocate_shared((MPI_Aint)(size * sizeof(double)),
                                sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                                &w->mine[i], &w->window[i]);
        for (size_t k = 0; k < size; k++)
            w->mine[i][k] = (double)k;
        MPI_Win_shared_query(w->window[i], 1 - rank, &bytes, &unit,
                             &w->other[i]);
    }
}

static inline void close_windows(struct windows *w)
{
    for (int i = 0; i < 3; i++)
        MPI_Win_free(&w->window[i]);
}

static inline void copy_other(struct windows *w)
{
    memcpy(w->mine[1], w->other[0], w->size * sizeof(double));
}

static inline void add_other(struct windows *w)
{
    double *restrict to = w->mine[2];
    const double *restrict x = w->mine[0], *restrict y = w->other[1];

    for (size_t i = 0; i < w->size; i++)
        to[i] = x[i] + y[i];
}

// The medians' ratio, interleaved; `work` finds its own data.
static inline void compare(const char *peer, const char *name, long n,
                           const char *metric, void (*work)(void *), void *data,
                           void (*bare)(struct windows *), struct windows *w,
                           int rank)
{
    double ours[PEER_ROUNDS], theirs[PEER_ROUNDS];
    char label[64];

    for (int r = -1; r < PEER_ROUNDS; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = figure_now();
        bare(w);
        MPI_Barrier(MPI_COMM_WORLD);
        double middle = figure_now();
        work(data);
        MPI_Barrier(MPI_COMM_WORLD);
        if (r >= 0) {
            theirs[r] = middle - begin;
            ours[r] = figure_now() - middle;
        }
    }
    snprintf(label, sizeof(label), "%s, N = %ld", name, n);
    char text[64];
    snprintf(text, sizeof(text), "%s, by %s", metric, peer);
    if (rank == 0)
        figure_print(&(struct figure){"field", label, text,
                                      figure_median(ours, PEER_ROUNDS) /
                                          figure_median(theirs, PEER_ROUNDS),
                                      "ratio", "memcpy", NULL, 0});
}

#endif
