// Victims are tried near first, each exactly once.
#include "steal/worker/victims.h"

#include <stdatomic.h>
#include <time.h>

#include "heddle/task.h"
#include "tests/check.h"

static void near_first_on(const char *machine, unsigned workers)
{
    struct hd_error error;
    struct hdi_topology *t;

    CHECK_OK(hdi_topology_create(machine, &t, &error), error);
    unsigned cores = hdi_topology_machine(t)->cores;
    for (unsigned self = 0; self < workers; self++) {
        struct hdi_victims v;
        unsigned char seen[1024] = {0};
        unsigned last = 0;

        CHECK(hdi_victims_init(&v, t, workers, self));
        CHECK(v.end[HDI_VICTIM_LEVELS - 1] == workers - 1);
        for (unsigned i = 0; i < workers - 1; i++) {
            unsigned far =
                hdi_topology_distance(t, self % cores, v.order[i] % cores);
            CHECK(v.order[i] != self && v.order[i] < workers);
            CHECK(!seen[v.order[i]]);
            CHECK(far >= last);
            CHECK(i < v.end[far] && (far == 0 || i >= v.end[far - 1]));
            seen[v.order[i]] = 1;
            last = far;
        }
        hdi_victims_destroy(&v);
    }
    hdi_topology_destroy(t);
}

// In a live pool --------------------------------------------------------------

enum {
    WORKERS = 4,
    MODULE = 2, // workers that share a cache
    EACH = 20   // jobs that a victim leaves to be stolen
};

struct loot {
    struct hd_job job; // first
    struct scene *scene;
    unsigned victim;
};

// Each worker stands at its gate, two with work in their queues; one leaves it.
struct scene {
    struct hd_group group;
    atomic_uint ready, laid, thief_may, all_may;
    unsigned thief, taken;
    unsigned victims[2 * EACH]; // in the order of being taken
    struct loot loot[WORKERS][EACH];
};

struct post {
    struct hd_work work; // first
    struct scene *scene;
    bool has_loot;
};

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void be_taken(struct hd_worker *worker, struct hd_job *job)
{
    struct loot *loot = (struct loot *)(void *)job;
    struct scene *scene = loot->scene;

    CHECK(hd_worker_index(worker) == scene->thief);
    scene->victims[scene->taken++] = loot->victim;
    if (scene->taken == 2 * EACH)
        atomic_store(&scene->all_may, 1);
}

static void stand(struct hd_worker *worker, struct hd_job *job)
{
    struct post *post = (struct post *)(void *)job;
    struct scene *scene = post->scene;
    unsigned self = hd_worker_index(worker);

    // Nobody is free to steal before all stand here.
    atomic_fetch_add(&scene->ready, 1);
    while (atomic_load(&scene->ready) < WORKERS)
        nap();
    for (unsigned i = 0; post->has_loot && i < EACH; i++) {
        struct loot *loot = &scene->loot[self][i];
        *loot = (struct loot){.job = {.run = be_taken, .group = &scene->group},
                              .scene = scene,
                              .victim = self};
        hd_submit(hd_worker_pool(worker), &loot->job);
    }
    atomic_fetch_add(&scene->laid, 1);
    while (!atomic_load(self == scene->thief ? &scene->thief_may
                                             : &scene->all_may))
        nap();
}

static void a_live_thief_takes_near_work_first(void)
{
    struct hd_pool_params params = {.workers = WORKERS,
                                    .topology = "pack:2 l3:1 core:2 pu:1"};
    struct hd_error error;
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    for (unsigned thief = 0; thief < WORKERS; thief++) {
        unsigned near = thief ^ 1, far = (thief + MODULE) % WORKERS;
        struct scene scene = {.thief = thief};
        struct post posts[WORKERS];

        hd_group_init(&scene.group);
        for (unsigned i = 0; i < WORKERS; i++) {
            posts[i] = (struct post){
                .work = {.job = {.run = stand, .group = &scene.group}},
                .scene = &scene,
                .has_loot = i == near || i == far};
            CHECK_OK(
                hd_submit_at(pool, &posts[i].work, HD_ON_WORKER, i, &error),
                error);
        }
        while (atomic_load(&scene.laid) < WORKERS)
            nap();
        atomic_store(&scene.thief_may, 1);
        hd_group_wait(pool, &scene.group);
        for (unsigned i = 0; i < 2 * EACH; i++)
            CHECK(scene.victims[i] == (i < EACH ? near : far));
    }
    hd_pool_destroy(pool);
}

int main(void)
{
    near_first_on("pack:8 l3:2 core:8 pu:1", 128);
    near_first_on("pack:2 l3:2 l2:2 core:2 pu:2", 16);
    near_first_on("pack:1 core:2 pu:1", 7); // more workers than cores
    near_first_on(NULL, 1);
    a_live_thief_takes_near_work_first();
    return 0;
}
