// Invariants: a record is in the list of everything it waits for, and in no
// other. Its phase leaves HD_EVENT_WAITS and HD_EVENT_READY once, by compare
// and exchange, and who changes it either runs it or ends it. Nothing of a
// record is written after its `head` says that it has ended, until nobody needs
// it.
//
//     WAITS ---- all before it have ended ----> READY --- a worker ---> RUNS
//       |                                         |                       |
//       | cancelled; failed before;               | cancelled             |
//       | nothing to run                          |                       |
//       '-------------------> ENDED <-------------'-----------------------'
//
// Links, the list of those that follow an event, begin in its `head`. A link is
// a number, record * HDI_EVENT_INPUTS + which of its links, and holds the next
// one:
//
//     head of A --> link 2 of X --> link 0 of Y --> NOBODY
//
// Whoever ends A puts CLOSED there in exchange for the list, which is its own
// from then on.
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "steal/event/record.h"
#include "steal/group.h"
#include "steal/worker/state.h"

// Ending ----------------------------------------------------------------------

// What comes of ending things: more to end, and one to run here.
struct wake {
    struct hd_worker *worker; // this thread is, or NULL
    struct hdi_event *ending;
    struct hdi_event *next;
    bool keeps; // one
    uint64_t now;
};

static void ends_with(struct wake *wake, struct hdi_event *e, uint32_t drops)
{
    e->drops = drops;
    e->link = wake->ending;
    wake->ending = e;
}

static void submit(struct hdi_event *e)
{
    e->job = (struct hd_job){.run = hdi_run_event};
    hdi_submit_by_priority(e->pool, &e->job, (enum hd_priority)e->priority);
}

// A time that follows another. What ended before something was started looked
// at the clock sooner than who started it, and told of it later.
static uint64_t not_before(uint64_t now, uint64_t earlier)
{
    return now > earlier ? now : earlier;
}

// All that it comes after has ended.
static void get_ready(struct wake *wake, struct hdi_event *e)
{
    bool runs = e->kind && (e->anyway || !hdi_record_cause(e));

    if (e->anyway && !e->kind)
        hdi_record_forget(e);
    hdi_record_set(&e->submitted,
                   not_before(wake->now, hdi_record_get(&e->queued)));
    if (!hdi_record_change(e, HD_EVENT_WAITS,
                           runs ? HD_EVENT_READY : HD_EVENT_ENDED)) {
        hdi_record_let_go(e, HDI_START); // it was cancelled
    } else if (!runs) {
        ends_with(wake, e, HDI_START + HDI_END);
    } else if (wake->keeps && !wake->next) {
        wake->next = e;
    } else {
        submit(e);
    }
}

static void count_down(struct wake *wake, struct hdi_event *e, uint32_t link,
                       struct hdi_cause *cause)
{
    const struct hdi_events *events = &e->pool->events;

    while (link != HDI_NOBODY) {
        bool loose = link & HDI_LOOSE;
        link &= ~HDI_LOOSE;
        struct hdi_event *at = hdi_record(events, link / HDI_EVENT_INPUTS);
        link = at->links[link % HDI_EVENT_INPUTS];
        struct hdi_event *owner = hdi_record(events, at->owner);
        if (!loose)
            hdi_record_inherit(owner, cause);
        if (atomic_fetch_sub_explicit(&owner->waiting, 1,
                                      memory_order_acq_rel) == 1)
            get_ready(wake, owner);
    }
}

// Its events are run one after another as a rule: the group's word stays with
// who starts them for as long.
static void leave(struct hd_worker *worker, struct hd_pool *pool,
                  struct hd_group *within)
{
    if (!worker) {
        hdi_pool_leave(pool, within);
        return;
    }
    if (worker->left.group != within)
        hdi_worker_settle(worker);
    worker->left.group = within;
    worker->left.count++;
}

// In this order: what it holds is dropped and its end is noted, for whoever
// sees the closed list; then those that follow are counted down; then its
// groups are told, and whoever waits for one may go on; then its references go,
// and the record may be another event's.
static void end_one(struct wake *wake, struct hdi_event *e)
{
    struct hd_group *within = e->within;
    uint32_t generation = hdi_record_generation(
        atomic_load_explicit(&e->life, memory_order_relaxed));

    if (e->kind && e->kind->drop)
        e->kind->drop(e);
    hdi_record_set(&e->ended, wake->now);
    // Releases everything above to those who see it, and acquires the links.
    uint64_t head = atomic_exchange_explicit(
        &e->head, hdi_record_word(generation, HDI_CLOSED),
        memory_order_acq_rel);
    count_down(wake, e, hdi_record_low(head), hdi_record_cause(e));
    hd_group_within(&e->group, NULL);
    hdi_pool_leave(e->pool, &e->group);
    if (within)
        leave(wake->worker, e->pool, within);
    hdi_record_let_go_on(wake->worker, e, e->drops);
}

// End one whose phase the caller has changed; `drops` references of it go. One
// that is ready then is returned if the caller `keeps` it: a chain goes on here
// without a queue. A list, not recursion: a chain of a million failed events
// ends here as well.
static struct hdi_event *end_at(struct hd_worker *worker, struct hdi_event *e,
                                uint64_t now, uint32_t drops, bool keeps)
{
    struct wake wake = {.worker = worker, .keeps = keeps, .now = now};

    ends_with(&wake, e, drops);
    while (wake.ending) {
        e = wake.ending;
        wake.ending = e->link;
        end_one(&wake, e);
    }
    return wake.next;
}

void hdi_event_finish(struct hdi_event *e, uint32_t drops)
{
    end_at(NULL, e, hdi_now(), drops, false);
}

void hdi_event_end(struct hdi_event *event, hd_status status, const char *text)
{
    if (status != HD_OK)
        hdi_record_fail(event, hdi_cause_make(status, text));
    atomic_store_explicit(&event->phase, HD_EVENT_ENDED, memory_order_relaxed);
    hdi_event_finish(event, HDI_END);
}

// Running ---------------------------------------------------------------------

// Asking the clock takes long beside all this: it begins when the one before it
// has ended here. `start` is the reference for its start, 0: it stays in a
// queue.
static struct hdi_event *run_one(struct hd_worker *worker, struct hdi_event *e,
                                 uint32_t start)
{
    struct hd_error error;
    struct hdi_cause *before = hdi_record_cause(e);

    if (worker->left.group && worker->left.group != e->within)
        hdi_worker_settle(worker);
    if (!hdi_record_change(e, HD_EVENT_READY, HD_EVENT_RUNS)) {
        if (start)
            hdi_record_let_go(e, start); // it was cancelled, or somebody ran it
        return NULL;
    }
    error.status = HD_OK;
    error.text[0] = '\0';
    // It runs in spite of what failed before: its own end counts.
    hdi_cause_tell(before, &error);
    if (before)
        hdi_record_forget(e);
    if (hdi_pool_cancelled(e->pool, &e->group)) {
        hdi_fail(&error, HD_ECANCELED, "cancelled before it began");
    } else {
        if (worker->now == 0)
            worker->now = hdi_now();
        hdi_record_set(&e->started,
                       not_before(worker->now, hdi_record_get(&e->submitted)));
        if (!e->kind->run(worker, e, &error)) {
            worker->now = 0;
            if (start)
                hdi_record_let_go(e, start);
            return NULL;
        }
    }
    if (error.status != HD_OK)
        hdi_record_fail(e, hdi_cause_make(error.status, error.text));
    atomic_store_explicit(&e->phase, HD_EVENT_ENDED, memory_order_relaxed);
    uint64_t end = hdi_record_get(&e->cost.last);
    if (end == 0)
        end = hdi_now();
    if (worker->now > 0)
        worker->now = end;
    return end_at(worker, e, end, start + HDI_END, true);
}

static struct hdi_event *event_of(struct hd_job *job)
{
    return (struct hdi_event *)(void *)((char *)job -
                                        offsetof(struct hdi_event, job));
}

void hdi_event_expect(const struct hd_job *job)
{
    if (job->run == hdi_run_event && job->next_)
        hdi_record_expect(event_of(job->next_));
}

void hdi_run_event(struct hd_worker *worker, struct hd_job *job)
{
    struct hdi_event *e = event_of(job);

    while (e)
        e = run_one(worker, e, HDI_START);
}

// What begins with `e`, whose start is a reference of the caller's, until the
// goal is done.
static void run_chain(struct hd_worker *worker, struct hdi_event *e,
                      struct hd_group *goal)
{
    while (e && !hdi_group_done(goal))
        e = run_one(worker, e, HDI_START);
    if (e)
        submit(e);
}

void hdi_event_run_for(struct hd_worker *worker, struct hdi_event *e,
                       struct hd_group *goal)
{
    worker->now = 0;
    e = run_one(worker, e, 0);
    run_chain(worker, e, goal);
    worker->now = 0;
    hdi_worker_settle(worker);
}

void hdi_event_end_here(struct hd_worker *worker, hd_event event, hd_event goal)
{
    struct hd_pool *pool = hd_worker_pool(worker);
    struct hdi_event *e = hdi_record_hold(pool, event);
    struct hdi_event *until = hdi_record_hold(pool, goal);
    uint64_t now = hdi_now();

    if (e && e->is_users &&
        hdi_record_change(e, HD_EVENT_WAITS, HD_EVENT_ENDED)) {
        struct hdi_event *next =
            end_at(worker, e, now, HDI_END + HDI_USER, true);
        worker->now = now;
        if (until)
            run_chain(worker, next, &until->group);
        else if (next)
            submit(next);
    } else if (e) {
        hdi_record_let_go(e, HDI_USER);
    }
    worker->now = 0;
    hdi_worker_settle(worker);
    if (until)
        hdi_record_let_go(until, HDI_USER);
}

// Starting --------------------------------------------------------------------

hd_status hdi_event_check(struct hd_pool *pool, const struct hd_start *start,
                          struct hd_error *error)
{
    if ((unsigned)start->priority > HD_PRIORITY_LOW)
        return hdi_fail(error, HD_EINVAL,
                        "%d is no priority; see enum hd_priority",
                        (int)start->priority);
    if (start->after_count > 0 && !start->after)
        return hdi_fail(error, HD_EINVAL,
                        "it comes after %u events, but `after` is NULL",
                        start->after_count);
    if (start->loose > start->after_count)
        return hdi_fail(error, HD_EINVAL,
                        "%u of the %u events that it comes after are loose",
                        start->loose, start->after_count);
    for (unsigned i = 0; i < start->after_count; i++)
        if (start->after[i] != 0 && !hdi_record_find(pool, start->after[i]))
            return hdi_fail(error, HD_EINVAL,
                            "after[%u], 0x%" PRIx64
                            ", is no event of this pool",
                            i, start->after[i]);
    return HD_OK;
}

// Links for all it comes after: those of other records too. False: no memory.
static bool borrow(struct hdi_event *e, unsigned count)
{
    for (; count > HDI_EVENT_INPUTS; count -= HDI_EVENT_INPUTS) {
        struct hdi_event *lent = hdi_record_take(e->pool);
        if (!lent)
            return false;
        lent->kind = NULL;
        lent->owner = e->index;
        lent->lent = e->lent;
        e->lent = lent->index + 1;
    }
    return true;
}

// Enter `input`'s list by this link of `at`. False: it has ended.
static bool enter(struct hdi_event *e, struct hdi_event *at, unsigned number,
                  hd_event input, bool loose)
{
    struct hdi_event *before = hdi_record_find(e->pool, input);
    uint32_t link =
        (at->index * HDI_EVENT_INPUTS + number) | (loose ? HDI_LOOSE : 0);
    uint64_t old =
        before ? atomic_load_explicit(&before->head, memory_order_acquire) : 0;

    do {
        if (!before ||
            hdi_record_generation(old) != hdi_record_generation(input))
            return false;
        if (hdi_record_low(old) == HDI_CLOSED) {
            struct hdi_event *held =
                loose ? NULL : hdi_record_hold(e->pool, input);
            if (held) {
                hdi_record_inherit(e, hdi_record_cause(held));
                hdi_record_let_go(held, HDI_USER);
            }
            return false;
        }
        at->links[number] = hdi_record_low(old);
    } while (!atomic_compare_exchange_weak_explicit(
        &before->head, &old, hdi_record_word(hdi_record_generation(old), link),
        memory_order_acq_rel, memory_order_acquire));
    return true;
}

// Its own links first, then those of the records that it has borrowed. An input
// that has ended needs none. Returns how many have ended.
static unsigned enter_all(struct hdi_event *e, const struct hd_start *start)
{
    struct hdi_event *at = e;
    unsigned ended = 0, number = 0;

    for (unsigned i = 0; i < start->after_count; i++) {
        if (number == HDI_EVENT_INPUTS) {
            at = hdi_record(&e->pool->events,
                            (at == e ? e->lent : at->lent) - 1);
            number = 0;
            at->input_count = 0;
        }
        if (enter(e, at, number, start->after[i], i < start->loose))
            at->inputs[number++] = start->after[i];
        else
            ended++;
        at->input_count = number;
    }
    return ended;
}

// `waiting` is one too many while it enters the lists, so that an end in
// between cannot start it. The handle is written before that: the event may
// have ended, and its follower asked for, when this returns. The one too many
// and the inputs that had ended are taken off at once: who brings the count to
// 0 gets it ready.
hd_status hdi_event_start(struct hdi_event *event, const struct hd_start *start,
                          hd_event *handle, struct hd_error *error)
{
    static const struct hd_start defaults;
    struct hdi_event *e = event;
    const struct hd_start *s = start ? start : &defaults;
    hd_status status = hdi_event_check(e->pool, s, error);

    if (status == HD_OK && !borrow(e, s->after_count))
        status = hdi_fail(error, HD_ENOMEM, "no memory for %u events",
                          s->after_count);
    if (status != HD_OK) {
        if (e->kind && e->kind->drop)
            e->kind->drop(e);
        hdi_record_recycle(e);
        return status;
    }
    e->anyway = s->anyway;
    e->is_users = false;
    e->priority = (unsigned char)s->priority;
    e->within = s->group;
    hdi_record_begin(e, s->after_count + 1,
                     HDI_START + HDI_END + (handle ? HDI_USER : 0));
    if (s->group) {
        hdi_group_enter(s->group);
        hd_group_within(&e->group, s->group);
    }
    if (handle)
        *handle = hdi_event_handle(e);
    if (s->after_count > 0) {
        unsigned ended = enter_all(e, s);
        if (atomic_fetch_sub_explicit(&e->waiting, 1 + ended,
                                      memory_order_acq_rel) != 1 + ended)
            return HD_OK;
    }
    struct wake wake = {.now = hdi_record_get(&e->queued)};
    get_ready(&wake, e);
    if (wake.ending) {
        wake.ending = NULL;
        hdi_event_finish(e, HDI_START + HDI_END);
    }
    return HD_OK;
}
