// Invariant: seeds are taken in order, so that when one fails all before it
// were begun, and the first failure is the same however many threads there are.
#include "sim/sweep.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

struct state {
    const struct sim_sweep *sweep;
    struct sim_result *results;
    uint32_t jobs;
    atomic_uint next, done;
    atomic_bool stop;

    pthread_mutex_t lock; // of what follows
    uint32_t failed;      // the first seed that did, from 0
    hd_status status;
    struct hd_error error;
};

static void note(struct state *state, uint32_t i, hd_status status,
                 const struct hd_error *error)
{
    pthread_mutex_lock(&state->lock);
    if (state->status == HD_OK || i < state->failed) {
        state->failed = i;
        state->status = status;
        state->error = *error;
    }
    pthread_mutex_unlock(&state->lock);
    atomic_store(&state->stop, true);
}

static hd_status run_one(const struct state *state, uint32_t i,
                         struct hd_error *error)
{
    const struct sim_sweep *sweep = state->sweep;
    struct sim_kernels kernels;
    struct sim_run run = {.machine = sweep->machine,
                          .workload = sweep->workload,
                          .kernels = &kernels,
                          .policy = sweep->policy,
                          .seed = sweep->first_seed + i,
                          .progress = sweep->progress && state->jobs == 1};

    HDI_TRY(sim_workload_kernels(sweep->workload, sweep->machine, run.seed,
                                 &kernels, error));
    hd_status status = sim_run(&run, &state->results[i], error);
    sim_kernels_free(&kernels);
    return status;
}

static void *work(void *data)
{
    struct state *state = data;
    uint32_t count = state->sweep->count, i;

    while (!atomic_load(&state->stop) &&
           (i = atomic_fetch_add(&state->next, 1)) < count) {
        struct hd_error error;
        hd_status status = run_one(state, i, &error);
        if (status != HD_OK)
            note(state, i, status, &error);
        unsigned done = atomic_fetch_add(&state->done, 1) + 1;
        if (state->sweep->progress && state->jobs > 1)
            fprintf(stderr, "\rsimulated %u of %u seeds", done, count);
    }
    return NULL;
}

static uint32_t cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0
               ? (uint32_t)CPU_COUNT(&set)
               : 1;
}

hd_status sim_sweep(const struct sim_sweep *sweep, struct sim_result *results,
                    struct hd_error *error)
{
    uint32_t jobs = sweep->jobs ? sweep->jobs : cores(), threads = 0;
    struct state state = {.sweep = sweep, .results = results};

    jobs = jobs < sweep->count ? jobs : sweep->count;
    state.jobs = jobs;
    pthread_t *thread = calloc(jobs + 1, sizeof(*thread));
    if (!thread)
        return hdi_fail(error, HD_ENOMEM, "no memory for %u threads", jobs);
    pthread_mutex_init(&state.lock, NULL);

    // The caller is one of them, and does it all where there are no others.
    while (threads + 1 < jobs &&
           pthread_create(&thread[threads], NULL, work, &state) == 0)
        threads++;
    work(&state);
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);

    if (sweep->progress && jobs > 1)
        fprintf(stderr, "\r%60s\r", "");
    pthread_mutex_destroy(&state.lock);
    free(thread);
    if (state.status != HD_OK)
        *error = state.error;
    return state.status;
}
