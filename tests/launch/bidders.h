// For tests: launches at the broker whose work-groups only count, on a pool
// alone, with and without a unit that runs them.
#ifndef HDI_TESTS_LAUNCH_BIDDERS_H
#define HDI_TESTS_LAUNCH_BIDDERS_H

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "launch/broker/broker.h"
#include "steal/worker.h"
#include "tests/check.h"

static struct hd_error error;

enum {
    UNITS = 1,
    HELD = 2,    // by a unit: one runs, one waits
    HIGHEST = 60 // pile of pieces on one worker
};

struct fake;

// A unit on a thread of its own, which returns what was lent to it.
struct unit {
    struct hdi_broker *broker;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        struct fake *fake;
        struct hdi_grant *grant;
        struct hdi_box box;
    } leaves[HELD];
    unsigned count;
    bool stop;
};

// A launch whose groups only count.
struct fake {
    struct hdi_bid bid;
    struct hdi_broker *broker;
    struct hd_pool *pool;
    struct hdi_box box;
    uint64_t piece;  // [work-groups]
    uint64_t length; // of a group [ns]
    atomic_uint *visits;
    atomic_uint done;               // groups
    _Atomic uint64_t time, longest; // of its pieces [ns]
    struct fake *rival;
    unsigned rival_done;                 // groups, when this one had finished
    uint64_t rival_time;                 // [ns]
    atomic_uint *running, *most_running; // pieces at a time; optional
    atomic_int worker;                   // of its latest piece; -1: none began
    atomic_bool held;                    // its pieces last until it is not
    struct unit *unit;                   // that runs them; NULL: the worker
};

static inline struct fake *fake_of(const struct hdi_bid *bid)
{
    return (struct fake *)((char *)(uintptr_t)bid - offsetof(struct fake, bid));
}

static inline void spin(uint64_t time)
{
    for (uint64_t begin = hdi_now(); hdi_now() - begin < time;)
        ;
}

static inline void visit(struct fake *f, const struct hdi_box *b)
{
    const uint32_t *all = f->box.count;

    for (uint32_t z = b->first[2]; z < b->first[2] + b->count[2]; z++)
        for (uint32_t y = b->first[1]; y < b->first[1] + b->count[1]; y++)
            for (uint32_t x = b->first[0]; x < b->first[0] + b->count[0]; x++) {
                spin(f->length);
                atomic_fetch_add(
                    &f->visits[((size_t)z * all[1] + y) * all[0] + x], 1);
                if (atomic_fetch_add(&f->done, 1) + 1 ==
                        hdi_box_groups(&f->box) &&
                    f->rival) {
                    f->rival_done = atomic_load(&f->rival->done);
                    f->rival_time = atomic_load(&f->rival->time);
                }
            }
}

static inline void run_box(struct fake *f, const struct hdi_box *box)
{
    if (f->running) {
        unsigned now = atomic_fetch_add(f->running, 1) + 1;
        unsigned most = atomic_load(f->most_running);
        while (now > most &&
               !atomic_compare_exchange_weak(f->most_running, &most, now))
            ;
    }
    while (atomic_load(&f->held))
        sched_yield();
    uint64_t begin = hdi_now();
    visit(f, box);
    uint64_t time = hdi_now() - begin;
    atomic_fetch_add(&f->time, time);
    if (time > atomic_load(&f->longest))
        atomic_store(&f->longest, time);
    if (f->running)
        atomic_fetch_sub(f->running, 1);
}

// Return when it has room for more.
static inline void lend(struct unit *unit, struct fake *f,
                        struct hdi_grant *grant, const struct hdi_box *box)
{
    hdi_broker_lend(grant);
    pthread_mutex_lock(&unit->lock);
    CHECK(unit->count < HELD);
    unit->leaves[unit->count].fake = f;
    unit->leaves[unit->count].grant = grant;
    unit->leaves[unit->count].box = *box;
    unit->count++;
    pthread_cond_broadcast(&unit->changed);
    while (unit->count == HELD)
        pthread_cond_wait(&unit->changed, &unit->lock);
    pthread_mutex_unlock(&unit->lock);
}

static inline void *run_unit(void *data)
{
    struct unit *unit = data;

    pthread_mutex_lock(&unit->lock);
    for (;;) {
        while (unit->count == 0 && !unit->stop)
            pthread_cond_wait(&unit->changed, &unit->lock);
        if (unit->count == 0)
            break;
        pthread_mutex_unlock(&unit->lock);
        uint64_t begin = hdi_now();
        run_box(unit->leaves[0].fake, &unit->leaves[0].box);
        hdi_broker_return(unit->broker, unit->leaves[0].grant,
                          hdi_now() - begin);
        pthread_mutex_lock(&unit->lock);
        unit->count--;
        memmove(unit->leaves, unit->leaves + 1,
                unit->count * sizeof(*unit->leaves));
        pthread_cond_broadcast(&unit->changed);
    }
    pthread_mutex_unlock(&unit->lock);
    return NULL;
}

static inline void start_unit(struct unit *unit, struct hdi_broker *broker)
{
    *unit = (struct unit){.broker = broker};
    pthread_mutex_init(&unit->lock, NULL);
    pthread_cond_init(&unit->changed, NULL);
    CHECK(pthread_create(&unit->thread, NULL, run_unit, unit) == 0);
}

static inline void stop_unit(struct unit *unit)
{
    pthread_mutex_lock(&unit->lock);
    unit->stop = true;
    pthread_cond_broadcast(&unit->changed);
    pthread_mutex_unlock(&unit->lock);
    pthread_join(unit->thread, NULL);
    pthread_cond_destroy(&unit->changed);
    pthread_mutex_destroy(&unit->lock);
}

// As launches do: divide, and give away when others come.
static inline void divide(struct fake *f, struct hdi_box *box)
{
    while (hdi_box_groups(box) > f->piece) {
        if (hdi_broker_is_asked(f->broker) &&
            hdi_broker_give(f->broker, &f->bid, box))
            return;
        struct hdi_box half = hdi_box_halve(box);
        divide(f, &half);
    }
    run_box(f, box);
}

static inline void run(struct hd_worker *worker, struct hdi_grant *grant,
                       struct hdi_box *box)
{
    struct fake *f = fake_of(grant->bid);

    atomic_store(&f->worker, (int)hd_worker_index(worker));
    if (f->unit)
        lend(f->unit, f, grant, box);
    else if (grant->alone)
        divide(f, box);
    else
        run_box(f, box);
}

static inline uint64_t piece(const struct hdi_bid *bid)
{
    return fake_of(bid)->piece;
}

static const struct hdi_bidder bidder = {.run = run, .piece = piece};

struct rig {
    struct hd_pool *pool;
    struct hdi_broker *broker;
};

static inline struct rig set_up_with(unsigned workers, const char *topology,
                                     const struct hdi_broker_rules *rules)
{
    struct hd_pool_params params = {.workers = workers, .topology = topology};
    struct rig rig;

    CHECK_OK(hd_pool_create(&params, &rig.pool, &error), error);
    CHECK_OK(hdi_broker_create(rig.pool, UNITS, rules, &rig.broker, &error),
             error);
    return rig;
}

static inline struct rig set_up(unsigned workers, const char *topology)
{
    return set_up_with(workers, topology, NULL);
}

static inline void tear_down(struct rig *rig)
{
    hd_pool_destroy(rig->pool);
    hdi_broker_destroy(rig->broker);
}

static inline struct fake make(const struct rig *rig, enum hd_priority priority,
                               struct hdi_box box, uint64_t pieces)
{
    struct fake f = {.bid = {.bidder = &bidder, .priority = priority},
                     .broker = rig->broker,
                     .pool = rig->pool,
                     .box = box,
                     .piece = pieces,
                     .worker = -1};

    f.visits = calloc(hdi_box_groups(&box), sizeof(*f.visits));
    CHECK(f.visits);
    return f;
}

static inline void every_group_ran_once(struct fake *f)
{
    for (uint64_t i = 0; i < hdi_box_groups(&f->box); i++)
        CHECK(atomic_load(&f->visits[i]) == 1);
    free(f->visits);
}

static inline void give(struct fake *f)
{
    hdi_broker_enter(f->broker);
    CHECK(hdi_broker_give(f->broker, &f->bid, &f->box));
}

static inline void give_and_begin(struct fake *f)
{
    give(f);
    while (atomic_load(&f->worker) < 0)
        sched_yield();
}

static inline void await(struct fake *f)
{
    hdi_broker_wait(f->broker, &f->bid, NULL);
    hdi_broker_leave(f->broker, &f->bid);
}

// Every group exactly once

#endif
