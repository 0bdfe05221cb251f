// Every task runs exactly once: random trees of tasks, thieves, threads outside
// that hand in jobs, cancellations, workers that come and go.
//
//     steal_stress [TASKS [SEED]]     at least so many tasks; 3 million
//
// A tree of n tasks numbers them from 0; each task counts its visit in the
// tree's own array of bytes, and returns how many tasks ran in its part. So a
// task that ran twice, or not at all, is found by its number, and a join that
// returned before its task had run, or gave another one's result, by the sum.
//
// Of a tree that was cancelled some tasks never begin. None runs twice, no join
// counts one that did not run, and a task runs only below one that ran.
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "heddle/task.h"
#include "tests/check.h"

enum {
    MAX_CHILDREN = 5,
    MAX_TASKS = 1 << 17, // of one tree
    TREES = 12,          // in a batch of one thread
    PLANTERS = 3,        // threads
    BATCHES = 8,         // of one pool and thread
    MAX_WORKERS = 5
};

struct tree {
    struct hd_work work; // first, so that the work is the tree
    struct hd_group group;
    uint32_t count; // tasks
    uint64_t seed;
    uint32_t cancel_at; // the task that fails; UINT32_MAX: none
    bool from_outside;  // cancelled from there
    uint32_t ran;       // as the joins say
    unsigned told;      // of its end, `done` of the work
    hd_status status;   // what it was told
    atomic_uchar *visits;
};

static uint64_t mix(uint64_t x) // splitmix64
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = mix(*state);
    return (*state >> 16) % below;
}

static void nap(uint64_t us)
{
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
}

// What some tasks do besides: nothing, as a rule.
static void dawdle(struct hd_worker *worker, uint64_t *random)
{
    switch (draw(random, 40000)) {
    case 0:
        hd_blocking_begin(worker);
        nap(draw(random, 50));
        hd_blocking_end(worker);
        break;
    case 1:
    case 2:
        nap(draw(random, 20));
        break;
    default:
        if (draw(random, 500) == 0)
            hd_publish(worker);
    }
}

// Share `tasks` out among some children, each at least one.
static unsigned share_out(uint64_t *random, uint32_t tasks,
                          uint32_t share[MAX_CHILDREN])
{
    unsigned children = 1 + (unsigned)draw(random, MAX_CHILDREN);
    if (children > tasks)
        children = tasks;
    for (unsigned i = 0; i < children; i++) {
        uint32_t most = tasks - (children - 1 - i);
        share[i] = i + 1 == children ? tasks : 1 + (uint32_t)draw(random, most);
        tasks -= share[i];
    }
    return children;
}

// Task `first` and those of its part, up to first + count.
HD_TASK(uint32_t, grow, struct tree *, tree, uint32_t, first, uint32_t, count)
{
    uint64_t random = mix(tree->seed ^ first);
    uint32_t share[MAX_CHILDREN], ran = 1, next = first + 1;

    CHECK(atomic_fetch_add_explicit(&tree->visits[first], 1,
                                    memory_order_relaxed) == 0);
    if (first == tree->cancel_at)
        hd_task_fail(worker, HD_EINVAL, "task %" PRIu32 " fails", first);
    dawdle(worker, &random);
    if (count == 1)
        return 1;
    unsigned children = share_out(&random, count - 1, share);
    for (unsigned i = 1; i < children; i++) {
        hd_spawn(worker, grow, tree, next, share[i]);
        next += share[i];
    }
    ran += hd_call(worker, grow, tree, next, share[0]);
    for (unsigned i = 1; i < children; i++)
        ran += hd_join(worker, grow);
    return ran;
}

static void grow_in_scope(struct hd_worker *worker, void *data)
{
    struct tree *tree = data;

    CHECK(hd_scope_begin(worker, &tree->group) == HD_OK);
    tree->ran = hd_call(worker, grow, tree, 0, tree->count);
    tree->status = hd_scope_end(worker);
    tree->told = 1;
}

static void grow_job(struct hd_worker *worker, struct hd_job *job)
{
    struct tree *tree = (struct tree *)(void *)job;
    tree->ran = hd_call(worker, grow, tree, 0, tree->count);
}

static void hear(struct hd_worker *worker, struct hd_work *work,
                 hd_status status)
{
    struct tree *tree = (struct tree *)(void *)work;
    (void)worker;
    tree->told++;
    tree->status = status;
}

static void submit(struct hd_pool *pool, struct tree *tree, uint64_t random)
{
    tree->work = (struct hd_work){
        .job = {.run = grow_job, .group = &tree->group},
        .done = hear,
        .priority = (enum hd_priority)(random % (HD_PRIORITY_LOW + 1)),
    };
    hd_submit_work(pool, &tree->work);
}

static void submit_all(struct hd_pool *pool, struct tree *trees)
{
    for (int i = 0; i < TREES; i++)
        submit(pool, &trees[i], trees[i].seed);
    for (int i = 0; i < TREES; i++)
        if (trees[i].from_outside)
            hd_group_cancel(pool, &trees[i].group);
    for (int i = 0; i < TREES; i++) {
        if (trees[i].seed & 1)
            hd_group_wait(pool, &trees[i].group);
        else
            hd_group_wait_own(pool, &trees[i].group);
    }
}

struct nest {
    struct hd_pool *pool;
    struct tree *trees;
};

// Hand in jobs on a worker, and wait for them there.
static void submit_inside(struct hd_worker *worker, void *data)
{
    struct nest *nest = data;
    (void)worker;
    submit_all(nest->pool, nest->trees);
}

static _Atomic uint64_t planted, dropped; // tasks that ran, and did not
static uint64_t stolen;

static void check(struct tree *tree)
{
    bool may_miss = tree->from_outside || tree->cancel_at != UINT32_MAX;
    uint32_t ran = 0;

    CHECK(tree->told == 1);
    for (uint32_t i = 0; i < tree->count; i++) {
        unsigned visits =
            atomic_load_explicit(&tree->visits[i], memory_order_relaxed);
        CHECK(visits == 1 || (visits == 0 && may_miss));
        ran += visits;
    }
    CHECK(ran == tree->ran);
    // A task runs only when what forked it ran, so the root first.
    CHECK(ran == 0 || atomic_load(&tree->visits[0]) == 1);
    if (!tree->from_outside && tree->cancel_at < tree->count &&
        atomic_load(&tree->visits[tree->cancel_at]))
        CHECK(hd_group_status(&tree->group) == HD_EINVAL);
    if (!may_miss)
        CHECK(tree->status == HD_OK && hd_group_status(&tree->group) == HD_OK);
    atomic_fetch_add(&planted, ran);
    atomic_fetch_add(&dropped, tree->count - ran);
    free(tree->visits);
}

static struct tree seed_tree(uint64_t *random, struct hd_error *nowhere)
{
    struct tree tree = {.seed = mix(*random), .cancel_at = UINT32_MAX};

    // Many small ones, some large.
    tree.count = 1 + (uint32_t)draw(random, MAX_TASKS >> draw(random, 14));
    if (draw(random, 6) == 0)
        tree.cancel_at = (uint32_t)draw(random, tree.count);
    tree.visits = calloc(tree.count, 1);
    CHECK(tree.visits);
    hd_group_init(&tree.group);
    hd_group_catch(&tree.group, nowhere);
    return tree;
}

struct planter {
    struct hd_pool *pool;
    uint64_t random;
    uint64_t wanted; // tasks of all planters
};

// One thread outside.
static void *plant(void *data)
{
    struct planter *p = data;
    struct tree trees[TREES];
    struct hd_error errors[TREES];

    for (int batch = 0; batch < BATCHES && atomic_load(&planted) < p->wanted;
         batch++) {
        uint64_t way = draw(&p->random, 3);
        for (int i = 0; i < TREES; i++) {
            trees[i] = seed_tree(&p->random, &errors[i]);
            trees[i].from_outside = way > 0 && draw(&p->random, 8) == 0;
        }
        struct nest nest = {p->pool, trees};
        if (way == 0)
            for (int i = 0; i < TREES; i++)
                hd_pool_run(p->pool, grow_in_scope, &trees[i]);
        else if (way == 1)
            submit_all(p->pool, trees);
        else
            hd_pool_run(p->pool, submit_inside, &nest);
        for (int i = 0; i < TREES; i++)
            check(&trees[i]);
    }
    return NULL;
}

struct shaker {
    struct hd_pool *pool;
    uint64_t random;
    atomic_bool stop;
};

// More and fewer workers, all the time.
static void *shake(void *data)
{
    struct shaker *s = data;
    unsigned workers = hd_pool_workers(s->pool);
    struct hd_error error;

    while (!atomic_load(&s->stop)) {
        CHECK_OK(hd_pool_resize(
                     s->pool, 1 + (unsigned)draw(&s->random, workers), &error),
                 error);
        nap(draw(&s->random, 3000));
    }
    return NULL;
}

// One pool's life: some threads plant, one shakes.
static void live(uint64_t *random, uint64_t wanted)
{
    struct hd_pool_params params = {
        .workers = 1 + (unsigned)draw(random, MAX_WORKERS),
        .caller_only = draw(random, 8) == 0,
        .unpinned = draw(random, 4) == 0,
    };
    struct hd_error error;
    struct shaker shaker = {.random = mix(*random)};
    struct planter planters[PLANTERS];
    pthread_t threads[PLANTERS], shaking;

    if (params.caller_only)
        params.workers = 1;
    CHECK_OK(hd_pool_create(&params, &shaker.pool, &error), error);
    bool shakes = draw(random, 2) == 0;
    if (shakes)
        CHECK(pthread_create(&shaking, NULL, shake, &shaker) == 0);
    for (int i = 0; i < PLANTERS; i++) {
        planters[i] = (struct planter){.pool = shaker.pool,
                                       .random = mix(*random + (unsigned)i),
                                       .wanted = wanted};
        CHECK(pthread_create(&threads[i], NULL, plant, &planters[i]) == 0);
    }
    for (int i = 0; i < PLANTERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&shaker.stop, true);
    if (shakes)
        pthread_join(shaking, NULL);
    for (unsigned i = 0; i < hd_pool_workers(shaker.pool); i++) {
        struct hd_worker_counters counters;
        hd_pool_counters(shaker.pool, i, &counters);
        stolen += counters.stolen;
    }
    hd_pool_destroy(shaker.pool);
}

int main(int argc, char **argv)
{
    uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000000;
    uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    while (atomic_load(&planted) < wanted) {
        random = mix(random);
        live(&random, wanted);
    }
    printf("%" PRIu64 " tasks ran once each, %" PRIu64 " were stolen; %" PRIu64
           " were cancelled\n",
           atomic_load(&planted), stolen, atomic_load(&dropped));
    return 0;
}
