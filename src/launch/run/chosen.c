// Where the work-groups lie is no matter of stealing here: whoever is not
// chosen must not get a task of the launch. So it is one job per chosen worker,
// and all take leaves from one list.
//
// Invariant: every group of the box is in exactly one leaf. The list is a path
// down the tree of halves: the last box is next, and none is longer than the
// levels of the tree.
#include "launch/run/chosen.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "launch/fault/stop.h"
#include "launch/run/cutoff.h"
#include "steal/worker.h"

// The path holds one box for each halving from the whole launch down to a leaf.
enum {
    MAX_REST = 3 * 32 + 1 // one per bit of each count
};

// On the stack of who waits for the launch.
struct chosen {
    struct hdi_flight *launch;
    pthread_mutex_t lock; // of what is left
    struct hdi_box rest[MAX_REST];
    unsigned rest_count;
};

// A job of the pool; one for each worker that takes part.
struct seat {
    struct hd_work work;
    struct chosen *chosen;
};

// Halves the last box of the path until it is a leaf, with the lock: the steps
// are few, and leaves long against them.
static bool take_leaf(struct chosen *c, struct hdi_box *box)
{
    pthread_mutex_lock(&c->lock);
    bool any = c->rest_count > 0;
    while (any && !hdi_cutoff_met(c->launch, &c->rest[c->rest_count - 1])) {
        c->rest[c->rest_count] = hdi_box_halve(&c->rest[c->rest_count - 1]);
        c->rest_count++;
    }
    if (any)
        *box = c->rest[--c->rest_count];
    pthread_mutex_unlock(&c->lock);
    return any;
}

static void sit(struct hd_worker *worker, struct hd_job *job)
{
    const struct seat *seat = (const struct seat *)(const void *)job;
    struct hdi_flight *launch = seat->chosen->launch;
    struct hdi_box box;

    while (hdi_leaf_goes_on(launch) && take_leaf(seat->chosen, &box))
        hdi_leaf_run_here(worker, launch, &box);
}

// A worker of the module that is `turn` modules behind that of the caller.
static bool is_in_turn(const struct hd_pool *pool, unsigned worker,
                       unsigned first, unsigned turn, unsigned modules)
{
    return hd_pool_module(pool, worker) == (first + turn) % modules;
}

// A seat for each of so many workers, as near to the caller and to each other
// as there are: a module that is begun is filled. Any worker of the module may
// take it.
static hd_status seat_nearest(struct hd_pool *pool, struct seat *seats,
                              unsigned count, struct hd_error *error)
{
    const struct hd_worker *caller = hd_pool_worker(pool);
    unsigned first = hd_pool_module(pool, caller ? hd_worker_index(caller) : 0);
    unsigned workers = hd_pool_workers(pool), modules = 0, seated = 0;

    for (unsigned w = 0; w < workers; w++)
        if (hd_pool_module(pool, w) >= modules)
            modules = hd_pool_module(pool, w) + 1;
    for (unsigned turn = 0; turn < modules; turn++)
        for (unsigned w = 0; w < workers && seated < count; w++)
            if (is_in_turn(pool, w, first, turn, modules))
                HDI_TRY(hd_submit_at(pool, &seats[seated++].work,
                                     HD_ON_MODULE_OF, w, error));
    return HD_OK;
}

// A seat that cannot be submitted fails the launch; those that were submitted
// find that it is over, and are waited for.
void hdi_chosen_run(struct hdi_flight *launch)
{
    struct hd_pool *pool = launch->launcher->pool;
    struct chosen chosen = {.launch = launch,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .rest = {launch->box},
                            .rest_count = 1};
    struct seat *seats = calloc(launch->worker_count, sizeof(*seats));
    struct hd_group group;
    struct hd_error error;
    hd_status status = HD_OK;

    if (!seats) {
        hdi_leaf_fail(launch, HD_ENOMEM, "no memory for its workers", NULL);
        return;
    }
    hd_group_init(&group);
    for (unsigned i = 0; i < launch->worker_count; i++)
        seats[i] = (struct seat){.work = {.job = {.run = sit, .group = &group},
                                          .priority = launch->bid.priority},
                                 .chosen = &chosen};
    for (unsigned i = 0;
         launch->workers && i < launch->worker_count && status == HD_OK; i++)
        status = hd_submit_at(pool, &seats[i].work, HD_ON_WORKER,
                              launch->workers[i], &error);
    if (!launch->workers)
        status = seat_nearest(pool, seats, launch->worker_count, &error);
    if (status != HD_OK)
        hdi_leaf_fail(launch, status, error.text, NULL);
    hd_group_wait(pool, &group);
    pthread_mutex_destroy(&chosen.lock);
    free(seats);
}

// Quadratic in the workers that are named, of which there are few.
hd_status hdi_chosen_check(const struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_terms *terms,
                           struct hd_error *error)
{
    unsigned there = hd_pool_workers(launcher->pool);
    const char *name = kernel->info.name;

    if (terms->workers && terms->worker_count == 0)
        return hdi_fail(error, HD_EINVAL, "kernel '%s' is to run on no worker",
                        name);
    if (terms->worker_count == 0)
        return HD_OK;
    if (terms->worker_count > there)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' is to run on %u workers; there %s %u",
                        name, terms->worker_count, there == 1 ? "is" : "are",
                        there);
    if (terms->place.kind != HD_ANYWHERE && terms->place.kind != HD_ON_WORKERS)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' is to run on workers and on units: give "
                        "one of the two",
                        name);
    if (hdi_leaf_is_grid(kernel))
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' calls hd_grid_barrier(): its workers "
                        "cannot be chosen",
                        name);
    for (unsigned i = 0; terms->workers && i < terms->worker_count; i++) {
        if (terms->workers[i] >= there)
            return hdi_fail(error, HD_EINVAL,
                            "kernel '%s' is to run on worker %u; there are %u, "
                            "counted from 0",
                            name, terms->workers[i], there);
        for (unsigned k = 0; k < i; k++)
            if (terms->workers[k] == terms->workers[i])
                return hdi_fail(error, HD_EINVAL,
                                "kernel '%s' is to run on worker %u twice",
                                name, terms->workers[i]);
    }
    return HD_OK;
}
