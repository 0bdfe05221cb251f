// Invariant: a record is free, or somebody has references to it. Its generation
// changes between these.
//
//     state      head              life                how it gets there
//     -----      ----              ----                -----------------
//     free       CLOSED            generation, 0       recycled, or new
//     taken      CLOSED            generation, 0       hdi_record_take()
//     begun      newest follower   generation, n > 0   hdi_record_begin()
//     ended      CLOSED            generation, n > 0   end_one() in progress.c
//     free       CLOSED            generation + 1, 0   the last reference went
//
// A handle is (generation, index). Who has one that is old finds another
// generation in either word, and so never joins or holds the wrong event.
#include "steal/event/record.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/memory.h"
#include "steal/group.h"
#include "steal/worker/state.h"

enum {
    SEGMENT = HDI_EVENT_SEGMENT,
    MAX = HDI_EVENT_MAX,
    DEFAULT_BOUND = 1 << 14,
    STALL = 20000000, // a starter waits for one end so long [ns]
    HELPS = 64,       // so many are run at a time in a pool without threads,
    ENDS = 64,        // or have ended when starters are woken; a power of 2
    TOGETHER = 16,    // records that a worker gives back at a time
    KEPT_ROOM = 8192  // larger memory is given back with the record [bytes]
};

// Causes ----------------------------------------------------------------------

// Where there is no memory for a text.
#define X(name, string) {.status = HD_##name, .text = string},
static const struct hdi_cause bare[] = {HD_STATUS_MAP(X)};
#undef X

struct hdi_cause *hdi_cause_make(hd_status status, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    struct hdi_cause *cause = size > 1 ? malloc(sizeof(*cause) + size) : NULL;

    if (!cause) // whose references are never written
        return (struct hdi_cause *)(uintptr_t)&bare[status];
    atomic_init(&cause->references, 1);
    cause->status = status;
    cause->text = memcpy(cause + 1, text, size);
    return cause;
}

void hdi_cause_release(struct hdi_cause *cause)
{
    if (cause &&
        atomic_load_explicit(&cause->references, memory_order_relaxed) > 0 &&
        atomic_fetch_sub_explicit(&cause->references, 1,
                                  memory_order_acq_rel) == 1)
        free(cause);
}

// The first one stays. Takes a reference of the caller's.
void hdi_record_fail(struct hdi_event *e, struct hdi_cause *cause)
{
    struct hdi_cause *none = NULL;

    if (!atomic_compare_exchange_strong_explicit(&e->cause, &none, cause,
                                                 memory_order_acq_rel,
                                                 memory_order_relaxed))
        hdi_cause_release(cause);
}

void hdi_record_inherit(struct hdi_event *e, struct hdi_cause *cause)
{
    if (!cause)
        return;
    if (atomic_load_explicit(&cause->references, memory_order_relaxed) > 0)
        atomic_fetch_add_explicit(&cause->references, 1, memory_order_relaxed);
    hdi_record_fail(e, cause);
}

void hdi_record_forget(struct hdi_event *e)
{
    hdi_cause_release(
        atomic_exchange_explicit(&e->cause, NULL, memory_order_acq_rel));
}

void hdi_cause_tell(const struct hdi_cause *cause, struct hd_error *error)
{
    if (cause && error)
        hdi_fail(error, cause->status, "%s", cause->text);
}

// Records ---------------------------------------------------------------------

hd_event hdi_event_handle(const struct hdi_event *e)
{
    return hdi_record_word(hdi_record_generation(atomic_load_explicit(
                               &e->life, memory_order_relaxed)),
                           e->index);
}

// The record that the handle names, of whatever generation; NULL: none.
struct hdi_event *hdi_record_find(struct hd_pool *pool, hd_event event)
{
    struct hdi_events *events = &pool->events;

    if (event == 0 ||
        hdi_record_low(event) >=
            atomic_load_explicit(&events->made, memory_order_acquire))
        return NULL;
    return hdi_record(events, hdi_record_low(event));
}

// A stack of free records, by Treiber. Its word counts changes, since the same
// record may be on top again, with another one below, between a look and the
// exchange.
//
// Whoever waits for a record counts itself in `starters` and then looks at the
// stack; here it is the other way round. All four are sequentially consistent:
// one of both sees the other. Only each 64th end wakes, as that is a call of
// the system; who waits looks by itself when STALL is over.
//
// Records that are linked from `first` to `last`.
static void put_chain(struct hdi_events *events, struct hdi_event *first,
                      struct hdi_event *last, uint32_t n)
{
    uint64_t old = atomic_load_explicit(&events->free, memory_order_relaxed);
    uint64_t new;

    do {
        __atomic_store_n(&last->free_next, hdi_record_low(old),
                         __ATOMIC_RELAXED);
        new = hdi_record_word(hdi_record_generation(old) + 1, first->index + 1);
    } while (!atomic_compare_exchange_weak_explicit(
        &events->free, &old, new, memory_order_seq_cst, memory_order_relaxed));
    if (atomic_load_explicit(&events->starters, memory_order_seq_cst) == 0)
        return;
    uint32_t count =
        atomic_fetch_add_explicit(&events->given_back, n, memory_order_seq_cst);
    if (count / ENDS != (count + n) / ENDS)
        hdi_futex_wake(&events->given_back, INT_MAX);
}

static void put_free(struct hdi_events *events, struct hdi_event *e)
{
    put_chain(events, e, e, 1);
}

void hdi_record_give_back(struct hd_worker *worker)
{
    struct hdi_spent *spent = &worker->spent;

    if (spent->count == 0)
        return;
    put_chain(&worker->pool->events, spent->first, spent->last, spent->count);
    spent->count = 0;
}

// Several at a time: every change of the list takes it from who starts events,
// on another core.
static void keep_spent(struct hd_worker *worker, struct hdi_event *e)
{
    struct hdi_events *events = &worker->pool->events;
    struct hdi_spent *spent = &worker->spent;

    if (spent->count == 0)
        spent->last = e;
    else
        __atomic_store_n(&e->free_next, spent->first->index + 1,
                         __ATOMIC_RELAXED);
    spent->first = e;
    if (++spent->count >= events->together ||
        atomic_load_explicit(&events->starters, memory_order_relaxed) > 0)
        hdi_record_give_back(worker);
}

static struct hdi_event *get_free(struct hdi_events *events)
{
    uint64_t old = atomic_load_explicit(&events->free, memory_order_acquire);
    struct hdi_event *e;
    uint64_t new;

    do {
        if (hdi_record_low(old) == 0)
            return NULL;
        e = hdi_record(events, hdi_record_low(old) - 1);
        // It may be in use by now: then the exchange fails.
        new = hdi_record_word(hdi_record_generation(old) + 1,
                              __atomic_load_n(&e->free_next, __ATOMIC_RELAXED));
    } while (!atomic_compare_exchange_weak_explicit(
        &events->free, &old, new, memory_order_acquire, memory_order_acquire));
    // The next one to be taken is in the cache of who ran it.
    if (hdi_record_low(new) > 0)
        hdi_record_expect(hdi_record(events, hdi_record_low(new) - 1));
    return e;
}

static void own_room(struct hdi_event *e)
{
    e->room = e->own_room;
    e->room_size = HDI_EVENT_ROOM;
}

static void free_room(struct hdi_event *e)
{
    if (e->room != e->own_room)
        free(e->room);
    own_room(e);
}

// Make a segment of records; return the first, the others are free. Under the
// lock. Segments never move, and `made` is stored after the segment is known,
// so that anybody may look up an index below it without the lock.
static struct hdi_event *make_more(struct hd_pool *pool)
{
    struct hdi_events *events = &pool->events;
    uint32_t made = atomic_load_explicit(&events->made, memory_order_relaxed);
    size_t size = SEGMENT * sizeof(struct hdi_event);
    struct hdi_event *segment = made < MAX ? aligned_alloc(128, size) : NULL;

    if (!segment)
        return NULL;
    for (uint32_t i = 0; i < SEGMENT; i++) {
        memset(&segment[i], 0, offsetof(struct hdi_event, own_room));
        own_room(&segment[i]);
        segment[i].pool = pool;
        segment[i].index = segment[i].owner = made + i;
        atomic_init(&segment[i].life, hdi_record_word(1, 0));
        atomic_init(&segment[i].head, hdi_record_word(1, HDI_CLOSED));
    }
    events->segments[made / SEGMENT] = segment;
    atomic_store_explicit(&events->made, made + SEGMENT, memory_order_release);
    for (uint32_t i = SEGMENT; --i > 0;)
        put_free(events, &segment[i]);
    return &segment[0];
}

// Here and not when it is taken: who ran it has the line.
static void forget_run(struct hdi_event *e)
{
    hdi_record_set(&e->submitted, 0);
    hdi_record_set(&e->started, 0);
    hdi_record_set(&e->ended, 0);
    hdi_record_set(&e->cost.busy, 0);
    hdi_record_set(&e->cost.groups, 0);
    hdi_record_set(&e->cost.workers, 0);
    hdi_record_set(&e->cost.units, 0);
    hdi_record_set(&e->cost.last, 0);
}

// Nobody needs it any more. Records whose links it used, for more inputs than
// its own links, go with it. Generation 0 is left out: a handle of 0 means
// none.
// `worker`: on this one; NULL: on any thread.
static void recycle(struct hd_worker *worker, struct hdi_event *e)
{
    struct hdi_events *events = &e->pool->events;
    uint32_t generation = hdi_record_generation(
        atomic_load_explicit(&e->life, memory_order_relaxed));

    hdi_record_forget(e);
    forget_run(e);
    for (uint32_t next; e->lent; e->lent = next) {
        struct hdi_event *lent = hdi_record(events, e->lent - 1);
        next = lent->lent;
        lent->lent = 0;
        recycle(worker, lent);
    }
    e->owner = e->index;
    if (e->room_size > KEPT_ROOM)
        free_room(e);
    generation += generation == UINT32_MAX ? 2 : 1; // never 0
    atomic_store_explicit(&e->life, hdi_record_word(generation, 0),
                          memory_order_relaxed);
    if (worker)
        keep_spent(worker, e);
    else
        put_free(events, e);
}

void hdi_record_recycle(struct hdi_event *e)
{
    recycle(NULL, e);
}

void hdi_record_let_go_on(struct hd_worker *worker, struct hdi_event *e,
                          uint32_t references)
{
    uint64_t old =
        atomic_fetch_sub_explicit(&e->life, references, memory_order_acq_rel);

    if (hdi_record_low(old) == references)
        recycle(worker, e);
}

void hdi_record_let_go(struct hdi_event *e, uint32_t references)
{
    hdi_record_let_go_on(NULL, e, references);
}

// Hold the record if it is of this generation still and anybody holds it.
struct hdi_event *hdi_record_hold(struct hd_pool *pool, hd_event event)
{
    struct hdi_event *e = hdi_record_find(pool, event);
    uint64_t old = e ? atomic_load_explicit(&e->life, memory_order_acquire) : 0;

    do {
        if (!e || hdi_record_generation(old) != hdi_record_generation(event) ||
            hdi_record_low(old) == 0)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(
        &e->life, &old, old + 1, memory_order_acq_rel, memory_order_acquire));
    return e;
}

// Taking ----------------------------------------------------------------------

bool hdi_events_init(struct hdi_events *events, unsigned bound, bool lone)
{
    *events = (struct hdi_events){0};
    events->segments = calloc(MAX / SEGMENT, sizeof(*events->segments));
    pthread_mutex_init(&events->lock, NULL);
    atomic_init(&events->bound, bound ? bound : DEFAULT_BOUND);
    events->together =
        !lone && (!bound || bound >= DEFAULT_BOUND) ? TOGETHER : 1;
    return events->segments != NULL;
}

void hdi_events_destroy(struct hdi_events *events)
{
    unsigned made = atomic_load_explicit(&events->made, memory_order_acquire);

    for (unsigned i = 0; i < made; i++) {
        struct hdi_event *e = hdi_record(events, i);
        uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
        if (hdi_record_low(head) != HDI_CLOSED && e->kind && e->kind->drop)
            e->kind->drop(e);
        hdi_cause_release(hdi_record_cause(e));
        free_room(e);
    }
    for (unsigned i = 0; i < made; i += SEGMENT)
        free(events->segments[i / SEGMENT]);
    free(events->segments);
    pthread_mutex_destroy(&events->lock);
}

static bool offers(struct hdi_events *events)
{
    return hdi_record_low(
        atomic_load_explicit(&events->free, memory_order_seq_cst));
}

static void help_some(struct hd_worker *worker, void *pool)
{
    struct hdi_events *events = &((struct hd_pool *)pool)->events;

    for (unsigned i = 0; i < HELPS && !offers(events); i++)
        if (!hdi_worker_run_one(worker))
            return;
}

// Sleep until some have ended.
static void await_end(struct hdi_events *events)
{
    atomic_fetch_add_explicit(&events->starters, 1, memory_order_seq_cst);
    uint32_t seen =
        atomic_load_explicit(&events->given_back, memory_order_seq_cst);
    uint64_t until = hdi_now() + STALL;
    for (uint32_t now = seen; now - seen < ENDS / 2;) {
        uint64_t time = hdi_now();
        if (time >= until || (now == seen && offers(events)))
            break;
        hdi_futex_wait_for(&events->given_back, now, (long)(until - time));
        now = atomic_load_explicit(&events->given_back, memory_order_seq_cst);
    }
    atomic_fetch_sub_explicit(&events->starters, 1, memory_order_relaxed);
}

// What would run on top of this worker's job might wait for it.
static void stand_aside(struct hd_worker *worker)
{
    hd_blocking_begin(worker);
    if (worker->spare_thread || worker->blocked > 1)
        await_end(&worker->pool->events);
    hd_blocking_end(worker);
}

// As many as may be are under way. Where none ends, all may be waiting for what
// this thread starts or ends next: then twice as many may be.
static void push_back(struct hd_pool *pool)
{
    struct hdi_events *events = &pool->events;
    unsigned bound = atomic_load_explicit(&events->bound, memory_order_relaxed);
    struct hd_worker *worker = hd_pool_worker(pool);

    if (worker)
        hdi_record_give_back(worker);
    if (worker && !pool->caller_only)
        stand_aside(worker);
    else if (!worker && pool->caller_only)
        hd_pool_run(pool, help_some, pool);
    else if (!worker)
        await_end(events);
    if (!offers(events))
        atomic_compare_exchange_strong_explicit(&events->bound, &bound,
                                                2 * bound, memory_order_relaxed,
                                                memory_order_relaxed);
}

// Without the lock where one is free. Else either a segment is made, while
// fewer than `bound` records are, or this thread waits until some have ended: a
// program that starts faster than its workers run would take all memory.
struct hdi_event *hdi_record_take(struct hd_pool *pool)
{
    struct hdi_events *events = &pool->events;
    struct hdi_event *e = get_free(events);

    while (!e) {
        pthread_mutex_lock(&events->lock);
        e = get_free(events);
        unsigned made =
            atomic_load_explicit(&events->made, memory_order_relaxed);
        bool may =
            made < atomic_load_explicit(&events->bound, memory_order_relaxed);
        if (!e && may)
            e = make_more(pool);
        pthread_mutex_unlock(&events->lock);
        if (e || may)
            break; // there is one, or no memory
        push_back(pool);
        e = get_free(events);
    }
    return e;
}

hd_status hdi_event_take(struct hd_pool *pool,
                         const struct hdi_event_kind *kind,
                         struct hdi_event **event, struct hd_error *error)
{
    hdi_pool_check_origin(pool);
    struct hdi_event *e = hdi_record_take(pool);

    if (!e)
        return atomic_load(&pool->events.made) >= MAX
                   ? hdi_fail(error, HD_ELIMIT,
                              "%d events are all that can be at a time", MAX)
                   : hdi_fail(error, HD_ENOMEM, "no memory for an event");
    e->kind = kind;
    e->link = NULL;
    e->within = NULL;
    e->untimed = false;
    hdi_record_set(&e->bytes, 0);
    *event = e;
    return HD_OK;
}

void *hdi_event_room(struct hdi_event *event, size_t size)
{
    if (size > event->room_size) {
        void *room = aligned_alloc(128, hdi_round_up(size, 128));
        if (!room)
            return NULL;
        free_room(event);
        event->room = room;
        event->room_size = size;
    }
    return event->room;
}

void hdi_event_lose_room(struct hdi_event *event)
{
    own_room(event);
}

void hdi_event_give_back(struct hdi_event *event)
{
    hdi_record_recycle(event);
}

// Everything of the event is written before `head`, by which events may follow
// it, and that before `life`, by which it may be held.
void hdi_record_begin(struct hdi_event *e, uint32_t waiting,
                      uint32_t references)
{
    uint32_t generation = hdi_record_generation(
        atomic_load_explicit(&e->life, memory_order_relaxed));

    hdi_record_set(&e->queued, e->untimed ? 0 : hdi_now());
    hd_group_init(&e->group);
    *hdi_group_word(&e->group) = HDI_GROUP_JOB; // nobody else knows it
    e->input_count = 0;
    atomic_store_explicit(&e->waiting, waiting, memory_order_relaxed);
    atomic_store_explicit(&e->phase, HD_EVENT_WAITS, memory_order_relaxed);
    atomic_store_explicit(&e->head, hdi_record_word(generation, HDI_NOBODY),
                          memory_order_release);
    atomic_store_explicit(&e->life, hdi_record_word(generation, references),
                          memory_order_release);
}

// Cost ------------------------------------------------------------------------

static void add(struct hdi_cost *cost, uint64_t begin, uint64_t end,
                uint64_t groups)
{
    atomic_fetch_add_explicit(&cost->busy, end - begin, memory_order_relaxed);
    atomic_fetch_add_explicit(&cost->groups, groups, memory_order_relaxed);
    hdi_record_set(&cost->last, end);
}

// A bit per worker or unit; all from 63 on share the last. The look first keeps
// the line shared: of many leaves only the first of each worker writes.
static void mark(_Atomic uint64_t *bits, unsigned number)
{
    uint64_t bit = UINT64_C(1) << (number < 63 ? number : 63);

    if (!(hdi_record_get(bits) & bit))
        atomic_fetch_or_explicit(bits, bit, memory_order_relaxed);
}

void hdi_cost_add(struct hdi_cost *cost, uint64_t begin, uint64_t end,
                  uint64_t groups, unsigned worker)
{
    add(cost, begin, end, groups);
    mark(&cost->workers, worker);
}

void hdi_cost_add_unit(struct hdi_cost *cost, uint64_t begin, uint64_t end,
                       uint64_t groups, unsigned unit)
{
    add(cost, begin, end, groups);
    mark(&cost->units, unit);
}
