// What all cores can do at most, as C: numbers multiplied and added, bytes
// moved. bench/clients.py compares with it what programs find that look for the
// most.
//
//     bench_peaks [--quick]    one JSON object per line on stdout
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/peak_reference.h"

enum {
    MAX_THREADS = 64,
    ROUNDS = 20
};

static const struct {
    const char *metric, *unit;
    reference_run *run;
    long units;    // of each thread
    double amount; // of a unit
} peaks[] = {
    {"single", "GFLOP/s", reference_multiply_add, 1 << 14, PEAK_FLOPS},
    {"double", "GFLOP/s", reference_multiply_add_double, 1 << 13, PEAK_FLOPS},
    {"integer", "GIOP/s", reference_multiply_add_int, 1 << 13, PEAK_FLOPS},
    {"triad", "GB/s", reference_triad, 1 << 23, PEAK_BYTES},
};

struct thread {
    pthread_t id;
    pthread_barrier_t *start, *end;
    struct reference reference;
    unsigned rounds;
    double began, ended; // its part of the round at hand [ms]
};

static void *work(void *data)
{
    struct thread *t = data;

    for (unsigned k = 0; k < sizeof(peaks) / sizeof(peaks[0]); k++)
        for (unsigned i = 0; i < t->rounds; i++) {
            pthread_barrier_wait(t->start);
            t->began = figure_now();
            peaks[k].run(&t->reference, 0, peaks[k].units);
            t->ended = figure_now();
            pthread_barrier_wait(t->end);
        }
    return NULL;
}

// Memory for the triad's arrays, touched by the thread that uses it.
static bool prepare(struct thread *t)
{
    const size_t bytes = sizeof(float) << 23;

    for (int i = 0; i < 2; i++) {
        t->reference.in[i] = calloc(1, bytes);
        t->reference.out[i] = malloc(bytes);
        if (!t->reference.in[i] || !t->reference.out[i])
            return false;
        memset(t->reference.out[i], 1, bytes);
    }
    return true;
}

// From the first that began to the last that ended.
static double time_of_round(const struct thread *threads, unsigned n)
{
    double began = threads[0].began, ended = threads[0].ended;

    for (unsigned i = 1; i < n; i++) {
        began = threads[i].began < began ? threads[i].began : began;
        ended = threads[i].ended > ended ? threads[i].ended : ended;
    }
    return ended - began;
}

int main(int count, char **words)
{
    bool quick = count > 1 && strcmp(words[1], "--quick") == 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = cores > MAX_THREADS ? MAX_THREADS : (unsigned)cores;
    static struct thread threads[MAX_THREADS];
    pthread_barrier_t start, end;

    if (pthread_barrier_init(&start, NULL, n + 1) != 0 ||
        pthread_barrier_init(&end, NULL, n + 1) != 0)
        return 1;
    for (unsigned i = 0; i < n; i++) {
        threads[i] = (struct thread){.start = &start,
                                     .end = &end,
                                     .rounds = quick ? ROUNDS / 4 : ROUNDS};
        if (!prepare(&threads[i]) ||
            pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0)
            return 1;
    }
    for (unsigned k = 0; k < sizeof(peaks) / sizeof(peaks[0]); k++) {
        double least = 0;
        for (unsigned i = 0; i < threads[0].rounds; i++) {
            pthread_barrier_wait(&start);
            pthread_barrier_wait(&end);
            double time = time_of_round(threads, n);
            least = i == 0 || time < least ? time : least;
        }
        figure_print(&(struct figure){.bench = "clients",
                                      .name = "C, all cores",
                                      .metric = peaks[k].metric,
                                      .value = (double)peaks[k].units *
                                               peaks[k].amount * n * 1e-6 /
                                               least,
                                      .unit = peaks[k].unit});
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i].id, NULL);
    return 0;
}
