// Invariants: a launch is in the list while it has work-groups that no unit has
// got; `held` of it counts its leaves on units, and one more while it is in the
// list. A tender is submitted or runs while any launch is under way.
#include "launch/run/feed.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "launch/run/cutoff.h"
#include "launch/unit/port.h"

enum {
    ENOUGH = 2,     // leaves on a unit: one to run and one behind it
    PATIENCE = 200, // turns with nothing to do, before naps
    NAP = 20000     // between turns then [ns]
};

static void tend(struct hd_worker *worker, struct hd_work *work,
                 hd_status status);

struct hdi_feed *hdi_feed_create(struct hdi_launcher *launcher)
{
    struct hdi_feed *feed = calloc(1, sizeof(*feed));

    if (!feed)
        return NULL;
    pthread_mutex_init(&feed->lock, NULL);
    feed->last = &feed->first;
    feed->launcher = launcher;
    feed->tender = (struct hd_work){.job = {.run = hdi_run_nothing},
                                    .done = tend,
                                    .priority = HD_PRIORITY_LOW};
    return feed;
}

void hdi_feed_destroy(struct hdi_feed *feed)
{
    if (!feed)
        return;
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

// The next piece of at most so many groups, or of one. It is cut across the
// slowest axis that has several; of the others whole rows are left, so that
// there is one box per axis at most.
//
//     rest[0]  | slices behind |      at most one box per axis: whole slices,
//     rest[1]  | rows behind |        whole rows of the slice that is begun,
//     rest[2]  | groups |             groups of the row that is begun
static struct hdi_box cut(struct hdi_flight *launch, uint64_t most)
{
    for (;;) {
        struct hdi_box *top = &launch->rest[launch->rest_count - 1];
        uint64_t groups = hdi_box_groups(top);
        if (groups <= most || groups == 1) {
            launch->rest_count--;
            return *top;
        }
        unsigned axis = hdi_box_slowest(top);
        uint64_t row = groups / top->count[axis];
        uint32_t rows = row <= most ? (uint32_t)(most / row) : 1;
        struct hdi_box piece = *top;
        piece.count[axis] = rows;
        top->first[axis] += rows;
        top->count[axis] -= rows;
        if (row <= most || row == 1)
            return piece;
        launch->rest[launch->rest_count++] = piece;
    }
}

// The attached unit with room that holds the fewest leaves; `any`: one is
// there.
static struct hdi_port *choose(const struct hdi_flight *launch, bool *any)
{
    const struct hdi_launcher *l = launch->launcher;
    struct hdi_port *best = NULL;
    unsigned least = ENOUGH;

    *any = false;
    for (unsigned i = 0; i < l->port_count; i++) {
        struct hdi_port *port = &l->ports[i];
        unsigned held = atomic_load_explicit(&port->held, memory_order_relaxed);
        if (!hdi_leaf_may_be_on(launch, i))
            continue;
        *any = true;
        if (atomic_load_explicit(&port->reserved, memory_order_relaxed) ||
            held >= least)
            continue;
        least = held;
        best = port;
    }
    return best;
}

bool hdi_feed_wants(const struct hdi_flight *launch)
{
    uint64_t groups = hdi_box_groups(&launch->box);
    bool any = false;

    if (launch->launcher->feed)
        choose(launch, &any);
    return any && launch->place.kind != HD_ON_WORKERS &&
           launch->kernel->info.form <= HD_FORM_THREADS && !launch->is_leaf &&
           !launch->tasks && !hdi_leaf_is_cheaper_here(launch, groups);
}

// Give units what they have room for. True: nothing is left of the launch.
static bool feed_one(struct hd_worker *worker, struct hdi_flight *launch)
{
    struct hdi_port *port;
    bool any;

    while (launch->rest_count > 0 && hdi_leaf_goes_on(launch)) {
        port = choose(launch, &any);
        if (!port && any)
            return false;
        struct hdi_box piece = cut(launch, hdi_cutoff_now(launch));
        if (port && hdi_leaf_submit(launch, port, &piece, NULL))
            continue;
        if (port) { // somebody else is at it
            launch->rest[launch->rest_count++] = piece;
            return false;
        }
        if (launch->place.kind != HD_ANYWHERE ||
            !launch->launcher->device->can.caller_too)
            hdi_leaf_fail(launch, HD_ENODEV, "", NULL);
        else
            hdi_leaf_run_here(worker, launch, &piece);
    }
    if (launch->launcher->modules)
        hdi_modules_forget(launch->launcher->modules, launch);
    return true;
}

// Acquire and release: who brings `held` to 0 sees what all leaves have
// written.
void hdi_feed_leave(struct hd_worker *worker, struct hdi_flight *launch)
{
    void (*finish)(struct hd_worker *, struct hdi_flight *) = launch->finish;
    struct hdi_feed *feed = launch->launcher->feed;

    if (atomic_fetch_sub_explicit(&launch->held, 1, memory_order_acq_rel) > 1 ||
        !finish)
        return;
    pthread_mutex_lock(&feed->lock);
    feed->under_way--;
    pthread_mutex_unlock(&feed->lock);
    finish(worker, launch);
}

// The oldest, which is the caller's then; or NULL.
// Who has taken a launch out of the list has it for itself until put_back().
static struct hdi_flight *take(struct hdi_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    struct hdi_flight *launch = feed->first;
    if (launch) {
        feed->first = launch->behind;
        if (!feed->first)
            feed->last = &feed->first;
    }
    pthread_mutex_unlock(&feed->lock);
    return launch;
}

// At the head again, it goes on as soon as there is room.
static void put_back(struct hdi_feed *feed, struct hdi_flight *launch)
{
    pthread_mutex_lock(&feed->lock);
    launch->behind = feed->first;
    feed->first = launch;
    if (!launch->behind)
        feed->last = &launch->behind;
    pthread_mutex_unlock(&feed->lock);
}

// Whether anything was given or ended.
// Stops at the first launch that units have no room for: the oldest goes first,
// or small ones could pass it for ever.
static bool feed_all(struct hd_worker *worker, struct hdi_feed *feed)
{
    struct hdi_flight *launch = take(feed);
    bool any = false;

    for (; launch; launch = take(feed)) {
        if (!feed_one(worker, launch)) {
            put_back(feed, launch);
            return any;
        }
        hdi_feed_leave(worker, launch);
        any = true;
    }
    return any;
}

static bool collect(struct hd_worker *worker, struct hdi_launcher *launcher)
{
    bool any = false;

    for (unsigned i = 0; i < launcher->port_count; i++)
        any |= hdi_leaf_collect(worker, launcher, &launcher->ports[i]);
    return any;
}

// Kernels of launches that are to end leave; units know which by their `stop`.
// A launch of which all is on units is not in the list: so all of them look.
static bool is_stopped(void *launch)
{
    return !hdi_leaf_goes_on(launch);
}

static void interrupt(struct hdi_launcher *launcher)
{
    for (unsigned i = 0; i < launcher->port_count; i++)
        if (hdi_port_has(&launcher->ports[i], is_stopped))
            hdi_port_interrupt(&launcher->ports[i], launcher->device);
}

static void rest(struct hdi_feed *feed)
{
    if (++feed->idle < PATIENCE) {
        sched_yield();
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
}

// One turn. It submits itself again with the lowest priority, so all other work
// of the pool comes before the next.
static void tend(struct hd_worker *worker, struct hd_work *work,
                 hd_status status)
{
    struct hdi_feed *feed =
        (struct hdi_feed *)(void *)((char *)work -
                                    offsetof(struct hdi_feed, tender));
    struct hd_pool *pool = feed->launcher->pool;

    (void)status;
    bool any = collect(worker, feed->launcher);
    any |= feed_all(worker, feed);
    if (any) {
        feed->idle = 0;
    } else {
        interrupt(feed->launcher);
        rest(feed);
    }
    pthread_mutex_lock(&feed->lock);
    bool more = feed->tended = feed->under_way > 0;
    pthread_mutex_unlock(&feed->lock);
    if (more)
        hd_submit_work(pool, &feed->tender);
}

// Feeds at once, on this worker: with units idle the launch need not wait for
// the tender's turn.
void hdi_feed_start(struct hd_worker *worker, struct hdi_flight *launch,
                    void (*finish)(struct hd_worker *worker,
                                   struct hdi_flight *launch))
{
    struct hdi_feed *feed = launch->launcher->feed;

    launch->finish = finish;
    launch->rest[0] = launch->box;
    launch->rest_count = 1;
    launch->behind = NULL;
    atomic_store_explicit(&launch->held, 1, memory_order_relaxed);
    pthread_mutex_lock(&feed->lock);
    *feed->last = launch;
    feed->last = &launch->behind;
    feed->under_way++;
    bool tended = feed->tended;
    feed->tended = true;
    pthread_mutex_unlock(&feed->lock);
    collect(worker, feed->launcher);
    feed_all(worker, feed);
    if (!tended)
        hd_submit_work(feed->launcher->pool, &feed->tender);
}
