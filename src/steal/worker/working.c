// What a worker does: take work, run it, search, park.
//
// Every wait is the same loop (hdi_worker_wait): run what can be had, then
// search for a short time, then sleep until something changes. The goals differ
// only in when they are reached and in what may be run meanwhile.
//
// Waiting by running other work cannot deadlock as long as a wait is only for
// work that was started after the waiting function began: joins are like that
// by construction, groups by the rule in heddle/task.h. Of two frames buried
// under each other on two workers, each would have begun before the other.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "base/log.h"
#include "steal/group.h"
#include "steal/worker/state.h"

enum {
    SEARCH_ROUNDS = 48, // about 30 us, then park
    SETTLE_ROUND = 2,   // of searching: more of the same may come till then
    MAX_PAUSES = 64,    // between two rounds of searching
    FAIR_TURNS = 61,    // every so many looks, the oldest work goes first
    MAX_DEPTH = 64      // of unrelated work inside a join
};

// What was taken, by who will run it. One of `task` and `job`, or neither.
struct work {
    struct hd_task_ *task; // a stolen task, or:
    struct hd_job *job;
    unsigned victim;        // whose task
    struct hd_group *group; // what it belongs to, or NULL
};

// Only its worker writes a counter, so a load and a store are enough; others
// read it at any time.
static void count(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

static uint32_t draw(struct hd_worker *worker) // xorshift
{
    uint32_t x = worker->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return worker->random = x;
}

static struct hdi_track *track_of(struct hd_worker *worker)
{
    return atomic_load_explicit(&worker->track, memory_order_acquire);
}

// Taking ---------------------------------------------------------------------

static bool stole(struct hd_worker *worker, struct work *work, unsigned victim)
{
    work->victim = victim;
    count(&worker->counters.stolen, 1);
    hdi_trace_mark(track_of(worker), HDI_EVENT_steal, victim, 1);
    return true;
}

// A victim that shows nothing is asked to: it will publish at its next fork.
static bool take_task(struct hd_worker *worker, struct work *work,
                      unsigned victim)
{
    struct hd_worker *from = &worker->pool->workers[victim];
    struct hdi_stack *stack = &from->stack;

    work->task = hdi_stack_take(stack, worker->index);
    if (work->task) {
        work->group =
            hdi_scopes_of(&from->scopes, (uint32_t)(work->task - stack->base));
        return stole(worker, work, victim);
    }
    hdi_stack_ask(stack);
    return false;
}

static bool take_job(struct work *work, struct hd_job *job)
{
    work->job = job;
    work->group = job ? job->group : NULL;
    return job != NULL;
}

static bool take_from_inbox(struct work *work, struct hdi_inbox *inbox)
{
    struct hd_job *job = hdi_inbox_pop(inbox);

    if (job)
        hdi_event_expect(job);
    return take_job(work, job);
}

// Tasks before jobs: a task is part of something that somebody waits for.
static bool take_from(struct hd_worker *worker, enum hdi_appetite appetite,
                      struct work *work, unsigned victim)
{
    if (take_task(worker, work, victim))
        return true;

    struct hdi_deque *jobs = &worker->pool->workers[victim].jobs;
    if (appetite == HDI_ANYTHING && hdi_deque_offers(jobs)) {
        if (take_job(work, hdi_deque_steal(jobs)))
            return stole(worker, work, victim);
    }
    count(&worker->counters.failed, 1);
    return false;
}

// There are none as a rule.
static bool take_from_spare_threads(struct hd_worker *worker,
                                    enum hdi_appetite appetite,
                                    struct work *work)
{
    struct hd_pool *pool = worker->pool;

    for (unsigned i = pool->worker_count; i < hdi_pool_slots(pool); i++)
        if (i != worker->index && take_from(worker, appetite, work, i))
            return true;
    return false;
}

// Near first, among equals from a random one on.
static bool take_from_others(struct hd_worker *worker,
                             enum hdi_appetite appetite, struct work *work)
{
    const struct hdi_victims *victims = &worker->victims;
    uint32_t begin = 0;

    for (unsigned level = 0; level < HDI_VICTIM_LEVELS; level++) {
        uint32_t n = victims->end[level] - begin;
        uint32_t at = n > 1 ? draw(worker) % n : 0;
        for (uint32_t i = 0; i < n; i++, at++) {
            if (at == n)
                at = 0;
            if (take_from(worker, appetite, work, victims->order[begin + at]))
                return true;
        }
        begin += n;
    }
    return take_from_spare_threads(worker, appetite, work);
}

// The worker that runs the stolen task of a join, or -1 for the moment between
// its taking and its saying so.
static int thief_of(const struct hdi_goal *goal)
{
    // Acquire: the thief may be a spare thread that we have not heard of.
    uint64_t state = __atomic_load_n(&goal->task->state_, __ATOMIC_ACQUIRE);
    return state < HDI_TASK_TAKEN ? -1 : (int)(state - HDI_TASK_TAKEN);
}

static enum hdi_appetite appetite_of(const struct hd_worker *worker,
                                     const struct hdi_goal *goal)
{
    if (goal->kind != HDI_UNTIL_JOINED)
        return HDI_ANYTHING;
    return worker->depth < MAX_DEPTH ? HDI_TASKS : HDI_THIEF;
}

// In short: urgent, what is for this worker, its own, others', the inbox, what
// may wait. The turns in between let each queue come first once in a while.
static bool take_anything(struct hd_worker *worker, struct work *work)
{
    struct hd_pool *pool = worker->pool;

    *work = (struct work){0};
    if (take_from_inbox(work, &pool->urgent))
        return true;
    // Neither a job that submits itself again nor a flood of steals may keep
    // old work waiting for ever.
    if (++worker->turn % FAIR_TURNS == 0 &&
        (take_from_inbox(work, &pool->inbox) ||
         take_job(work, hdi_deque_steal(&worker->jobs))))
        return true;
    // Nobody else may run it.
    if (worker->turn % FAIR_TURNS != 1 &&
        take_job(work, hdi_placed_pop(worker)))
        return true;
    if (worker->turn % (FAIR_TURNS * FAIR_TURNS) == FAIR_TURNS / 2 &&
        take_from_inbox(work, &pool->later))
        return true;
    return take_job(work, hdi_deque_pop(&worker->jobs)) ||
           take_from_others(worker, HDI_ANYTHING, work) ||
           take_from_inbox(work, &pool->inbox) ||
           take_from_inbox(work, &pool->later) ||
           take_job(work, hdi_placed_pop(worker));
}

// Inside a join only tasks are run, or deep down only those of the thief: a job
// might wait for what lies below it on this stack.
static bool take(struct hd_worker *worker, const struct hdi_goal *goal,
                 struct work *work)
{
    enum hdi_appetite appetite = appetite_of(worker, goal);

    if (appetite == HDI_ANYTHING)
        return take_anything(worker, work);

    *work = (struct work){0};
    int thief = thief_of(goal);
    // What the thief forked brings this join nearer (leapfrogging).
    if (thief >= 0 && take_task(worker, work, (unsigned)thief))
        return true;
    return appetite == HDI_TASKS && take_from_others(worker, HDI_TASKS, work);
}

// Whether a worker of this appetite would find something; takes nothing, asks
// nobody. Those who only look at their thief are told of nothing.
static bool can_take(struct hd_worker *worker, enum hdi_appetite appetite)
{
    struct hd_pool *pool = worker->pool;

    if (appetite == HDI_THIEF)
        return false;
    if (appetite == HDI_ANYTHING &&
        (hdi_inbox_offers(&pool->urgent) || hdi_inbox_offers(&pool->inbox) ||
         hdi_inbox_offers(&pool->later) || hdi_deque_offers(&worker->jobs) ||
         hdi_placed_offers(worker)))
        return true;
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++) {
        struct hd_worker *victim = &pool->workers[i];
        if (victim == worker)
            continue;
        if (hdi_stack_offers(&victim->stack) ||
            (appetite == HDI_ANYTHING && hdi_deque_offers(&victim->jobs)))
            return true;
    }
    return false;
}

// Telling --------------------------------------------------------------------

// Somebody without work that could run a task; no fence.
static bool wake_for_task(struct hd_pool *pool, unsigned near)
{
    return hdi_idle_wake_one(&pool->idle[HDI_ANYTHING], near) ||
           hdi_idle_wake_one(&pool->idle[HDI_TASKS], near);
}

static bool is_searched(struct hd_pool *pool)
{
    return hdi_idle_searching(&pool->idle[HDI_ANYTHING]) > 0 ||
           hdi_idle_searching(&pool->idle[HDI_TASKS]) > 0;
}

static bool has_parked(struct hd_pool *pool)
{
    return hdi_idle_parked(&pool->idle[HDI_ANYTHING]) ||
           hdi_idle_parked(&pool->idle[HDI_TASKS]);
}

// Somebody may have left work to us because we were searching.
static void stop_searching(struct hd_worker *worker, enum hdi_appetite appetite)
{
    struct hd_pool *pool = worker->pool;

    if (!hdi_idle_leave(&pool->idle[appetite]))
        return;
    hdi_fence(memory_order_seq_cst); // against who told us
    if (!has_parked(pool))
        return;
    if (can_take(worker, HDI_TASKS))
        wake_for_task(pool, worker->index);
    else if (appetite == HDI_ANYTHING && can_take(worker, HDI_ANYTHING))
        hdi_idle_wake_one(&pool->idle[HDI_ANYTHING], worker->index);
}

// Running --------------------------------------------------------------------

// How much was forked and not joined: records of the stack, and spilled ones.
struct mark {
    const struct hd_task_ *top;
    size_t spilled;
};

static struct mark mark_of(const struct hd_worker *worker)
{
    return (struct mark){worker->stack.hot.top_, worker->stack.spilled};
}

// Before anybody is told that it has finished: work left behind would be lost.
static void check_joined(const struct hd_worker *worker, struct mark before)
{
    struct mark now = mark_of(worker);

    if (now.top == before.top && now.spilled == before.spilled)
        return;
    hdi_error("a task or job returned without joining what it had spawned");
    abort();
}

// What a frame covers begins here.
static uint32_t base_of(const struct hd_worker *worker)
{
    return (uint32_t)(worker->stack.hot.top_ - worker->stack.base);
}

void hdi_worker_look(struct hd_worker *worker)
{
    bool cancelled =
        hdi_pool_cancelled(worker->pool, hdi_scopes_now(&worker->scopes));

    if (cancelled != worker->stack.dropping)
        hdi_stack_drop(&worker->stack, cancelled);
}

// Its join gets zeros.
// Zeros are a result like any other to its join; whoever cares asks whether it
// was cancelled.
static void drop_task(struct hd_task_ *task)
{
    memset(task->data_, 0, sizeof(task->data_));
}

// The victim may sleep in its join, as one of those who take tasks or only
// their thief's.
static void tell_joined(struct hd_worker *worker, struct hd_task_ *task,
                        unsigned victim)
{
    struct hd_pool *pool = worker->pool;

    // Releases the result; pairs with the acquire in is_reached().
    __atomic_store_n(&task->state_, (uint64_t)HDI_TASK_DONE,
                     HDI_BESIDE(__ATOMIC_RELEASE));
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    hdi_idle_wake(&pool->idle[HDI_TASKS], victim);
    hdi_idle_wake(&pool->idle[HDI_THIEF], victim);
}

static void wake_group(struct hd_pool *pool, struct hd_group *group)
{
    bool woke = hdi_futex_wake(hdi_group_futex(group), INT_MAX) > 0;
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        if (atomic_load_explicit(&pool->workers[i].in_group_wait,
                                 HDI_BESIDE(memory_order_relaxed)))
            hdi_idle_wake(&pool->idle[HDI_ANYTHING], i);
    hdi_pool_ring(pool);
    // Threads outside sleep there, maybe of this core: they go on before this
    // worker searches for more.
    if (woke)
        sched_yield();
}

void hdi_pool_leave(struct hd_pool *pool, struct hd_group *group)
{
    if (hdi_group_leave(group, 1))
        wake_group(pool, group);
}

void hdi_worker_settle(struct hd_worker *worker)
{
    struct hd_group *group = worker->left.group;

    if (!group)
        return;
    worker->left.group = NULL;
    if (hdi_group_leave(group, worker->left.count))
        wake_group(worker->pool, group);
    worker->left.count = 0;
}

// It was cancelled before it began. A job is not touched: its memory is the
// caller's, unless it has something to call.
static void drop(struct hd_worker *worker, const struct work *work)
{
    if (work->task)
        drop_task(work->task);
    else if (work->job->run == hdi_run_work)
        hdi_drop_work(worker, work->job);
    else if (work->job->run == hdi_run_visit || work->job->run == hdi_run_event)
        work->job->run(worker, work->job); // somebody waits for its result
}

// In this order: settle what the last job owed, enter the frame, run, leave it,
// tell. Who is told may free the task's record or the group.
static void run(struct hd_worker *worker, const struct work *work)
{
    struct mark before = mark_of(worker);
    bool is_event = !work->task && work->job->run == hdi_run_event;

    if (!is_event) {
        hdi_worker_settle(worker);
        worker->now = 0;
    }
    worker->depth++;
    hd_count_task_(worker);
    if (!hdi_scopes_enter(&worker->scopes, base_of(worker), work->group)) {
        hdi_error("work is nested %d deep", HDI_MAX_FRAMES);
        abort();
    }
    hdi_worker_look(worker);
    if (worker->stack.dropping)
        drop(worker, work);
    else if (work->task)
        work->task->run_(worker, work->task);
    else
        work->job->run(worker, work->job); // may free the job
    check_joined(worker, before);
    hdi_scopes_leave(&worker->scopes);
    hdi_worker_look(worker);
    worker->depth--;
    if (!is_event) // events that it waited for are long over
        worker->now = 0;

    // From here on neither the task nor the group belongs to us.
    if (work->task)
        tell_joined(worker, work->task, work->victim);
    else if (work->group)
        hdi_pool_leave(worker->pool, work->group);
}

// Waiting --------------------------------------------------------------------

static bool is_reached(struct hd_worker *worker, const struct hdi_goal *goal)
{
    switch (goal->kind) {
    case HDI_UNTIL_JOINED:
        return __atomic_load_n(&goal->task->state_,
                               HDI_BESIDE(__ATOMIC_ACQUIRE)) == HDI_TASK_DONE;
    case HDI_UNTIL_GROUP:
        return hdi_group_done(goal->group);
    case HDI_UNTIL_HOME:
        break;
    }
    return atomic_load_explicit(&worker->pool->finished,
                                HDI_BESIDE(memory_order_acquire)) ||
           !atomic_load_explicit(&worker->wanted,
                                 HDI_BESIDE(memory_order_acquire));
}

// The last worker to lie down in a pool that stops, with nothing left to see,
// lets all go home. The order of the three looks matters: what was handed in
// comes before `stopping`, and who takes it counts as awake before.
static bool finish(struct hd_worker *worker)
{
    struct hd_pool *pool = worker->pool;

    if (!atomic_load_explicit(&pool->stopping, memory_order_seq_cst) ||
        can_take(worker, HDI_ANYTHING) || hdi_placed_waiting(pool))
        return false;
    hdi_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pool->awake, memory_order_seq_cst) > 0)
        return false;
    atomic_store_explicit(&pool->finished, true, memory_order_seq_cst);
    hdi_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        hdi_idle_wake(&pool->idle[HDI_ANYTHING], i);
    hdi_pool_call_all(pool);
    return true;
}

void hdi_worker_retire(struct hd_worker *worker)
{
    struct hd_pool *pool = worker->pool;

    atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_seq_cst);
    hdi_fence(memory_order_seq_cst); // against who told us
    if (can_take(worker, HDI_ANYTHING))
        hdi_pool_tell(pool, worker->index);
    else
        finish(worker);
}

// The time asleep counts as parked, and goes to the trace when there is one.
static void sleep_timed(struct hd_worker *worker, struct hdi_idle *idle)
{
    uint64_t begin = hdi_now();

    hdi_idle_sleep(idle, worker->index);
    uint64_t time = hdi_now() - begin;
    count(&worker->counters.parks, 1);
    count(&worker->counters.parked, time);
    hdi_trace_span(track_of(worker), HDI_EVENT_park, begin, worker->index,
                   time);
}

// The order matters, see idle.h: announce, then ask, then look, then sleep. The
// requests come after the announcement, so that an owner which withdraws one
// sees this worker parked and wakes it (answer()).
static void park(struct hd_worker *worker, const struct hdi_goal *goal)
{
    struct hd_pool *pool = worker->pool;
    enum hdi_appetite appetite = appetite_of(worker, goal);
    struct hdi_idle *idle = &pool->idle[appetite];
    bool at_home = goal->kind == HDI_UNTIL_HOME;
    bool in_group = goal->kind == HDI_UNTIL_GROUP;

    if (in_group) {
        atomic_store_explicit(&worker->in_group_wait, true,
                              memory_order_seq_cst);
        hdi_group_mark(goal->group);
    }
    if (at_home)
        atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_seq_cst);
    hdi_idle_lie_down(idle, worker->index);
    for (unsigned i = 0; appetite != HDI_THIEF && i < hdi_pool_slots(pool); i++)
        if (i != worker->index)
            hdi_stack_ask(&pool->workers[i].stack);

    if (!is_reached(worker, goal) && !can_take(worker, appetite) &&
        !(at_home && (hdi_gangs_want(worker) || finish(worker))))
        sleep_timed(worker, idle);

    if (at_home)
        atomic_fetch_add_explicit(&pool->awake, 1, memory_order_seq_cst);
    hdi_idle_rise(idle, worker->index);
    if (in_group)
        atomic_store_explicit(&worker->in_group_wait, false,
                              memory_order_relaxed);
}

static bool is_crowded(const struct hd_pool *pool)
{
    return pool->worker_count +
               atomic_load_explicit(&pool->guests, memory_order_relaxed) >
           hdi_topology_machine(pool->topology)->cores;
}

// 1, 2, 4 ... pauses: the first looks are close together, as work often comes
// at once.
static void back_off(const struct hd_worker *worker, unsigned round)
{
    unsigned pauses = round < 6 ? 1u << round : MAX_PAUSES;

    // Who sleeps on this core may have been woken by another worker.
    if (atomic_load_explicit(&worker->guests, memory_order_relaxed) > 0 ||
        is_crowded(worker->pool))
        sched_yield();
    for (unsigned i = 0; i < pauses; i++)
        hdi_pause();
}

// Only who has begun nothing joins a gang: nobody waits for what lies below.
static bool is_called(struct hd_worker *worker, const struct hdi_goal *goal)
{
    return goal->kind == HDI_UNTIL_HOME && hdi_gangs_want(worker);
}

static void settle_all(struct hd_worker *worker)
{
    hdi_worker_settle(worker);
    hdi_record_give_back(worker);
}

// True when there is work to run, false when the goal is reached or a gang
// waits for workers.
// What the worker still owes others (groups, records) it settles before it
// sleeps, and soon: somebody may wait for that.
static bool search(struct hd_worker *worker, const struct hdi_goal *goal,
                   struct work *work)
{
    for (;;) {
        for (unsigned round = 0; round < SEARCH_ROUNDS; round++) {
            if (is_reached(worker, goal) || is_called(worker, goal))
                return false;
            if (take(worker, goal, work))
                return true;
            if (round == SETTLE_ROUND)
                settle_all(worker);
            back_off(worker, round);
        }
        park(worker, goal);
    }
}

// Counted as searching while it searches, so that who makes work visible need
// not wake anybody; who stops searching takes that duty on (stop_searching()).
void hdi_worker_wait(struct hd_worker *worker, const struct hdi_goal *goal)
{
    enum hdi_appetite appetite = appetite_of(worker, goal);
    struct work work;

    hdi_pool_check_origin(worker->pool);
    worker->now = 0;
    while (!is_reached(worker, goal)) {
        if (is_called(worker, goal)) {
            settle_all(worker);
            hdi_gangs_attend(worker);
            worker->now = 0;
        }
        bool found = take(worker, goal, &work);
        if (!found) {
            hdi_idle_search(&worker->pool->idle[appetite]);
            worker->now = 0;
            found = search(worker, goal, &work);
            stop_searching(worker, appetite);
        }
        if (found)
            run(worker, &work);
        if (goal->kind != HDI_UNTIL_HOME)
            settle_all(worker);
    }
    settle_all(worker);
}

// For the end of a pool without threads: nobody else will do it.
void hdi_worker_drain(struct hd_worker *worker)
{
    struct work work;

    while (take_anything(worker, &work))
        run(worker, &work);
    hdi_worker_settle(worker);
}

void hdi_worker_run(struct hd_worker *worker, struct hd_job *job)
{
    struct work work = {0};

    take_job(&work, job);
    run(worker, &work);
    hdi_worker_settle(worker);
}

bool hdi_worker_run_one(struct hd_worker *worker)
{
    struct work work;

    worker->now = 0;
    if (!take_anything(worker, &work))
        return false;
    run(worker, &work);
    hdi_worker_settle(worker);
    return true;
}

// Runs a task only, as in a join, or lets a moment pass. True: it ran one.
bool hdi_worker_help(struct hd_worker *worker)
{
    struct work work = {0};

    if (worker->depth < MAX_DEPTH &&
        take_from_others(worker, HDI_TASKS, &work)) {
        run(worker, &work);
        return true;
    }
    back_off(worker, 0);
    return false;
}

// Forking and joining: what the macros leave to us ----------------------------

// Somebody asked for work. The request stands as long as anybody has nothing to
// do, so that every further spawn is public at once.
static void answer(struct hd_worker *worker)
{
    struct hd_pool *pool = worker->pool;

    hdi_worker_look(worker);
    hdi_stack_publish(&worker->stack);
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    if (is_searched(pool) || wake_for_task(pool, worker->index))
        return;
    // It stands in what was cancelled, so that loops end: they look for it.
    if (worker->stack.dropping)
        return;
    // Nobody. Withdraw the request, then look again: who parked meanwhile has
    // either asked after this, or is seen here.
    hdi_stack_unask(&worker->stack);
    hdi_fence(memory_order_seq_cst); // hdi_idle_lie_down()'s, hdi_pool_poke()'s
    if (has_parked(pool))
        hdi_stack_ask(&worker->stack);
    hdi_worker_look(worker);
}

// Either somebody asked for work, or the stack is full: then the task runs at
// once, and its result waits for the join.
void hd_spawn_slow_(struct hd_worker *worker)
{
    struct hdi_stack *stack = &worker->stack;

    if (stack->hot.top_ <= stack->end) {
        answer(worker);
        return;
    }
    stack->hot.top_ = stack->end;
    if (hdi_stack_asked(stack))
        answer(worker);
    hd_count_task_(worker);
    hdi_stack_overflow(stack, worker);
}

// NULL: the task is the caller's to run. Else it has a result: it was spilled,
// dropped or stolen.
struct hd_task_ *hd_join_slow_(struct hd_worker *worker)
{
    struct hdi_stack *stack = &worker->stack;

    if (stack->spilled > 0)
        return hdi_stack_unspill(stack);

    struct hd_task_ *task = stack->hot.top_;
    if (task < stack->base) {
        hdi_error("a join without a spawn");
        abort();
    }
    if (stack->dropping && !hdi_stack_is_public(stack, task)) {
        drop_task(task);
        return task;
    }
    if (hdi_stack_reclaim(stack, task)) {
        if (!stack->dropping)
            return NULL;
        drop_task(task);
        return task;
    }

    struct hdi_goal goal = {.kind = HDI_UNTIL_JOINED, .task = task};
    stack->hot.top_ = task + 1;
    hdi_worker_wait(worker, &goal);
    stack->hot.top_ = task;
    hdi_stack_forget(stack, task);
    return task;
}

void hd_publish(struct hd_worker *worker)
{
    if (worker->stack.spilled == 0 &&
        worker->stack.hot.top_ <= worker->stack.hot.split_)
        return;
    uint32_t n = hdi_stack_publish(&worker->stack);
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    while (n-- > 0 && wake_for_task(worker->pool, worker->index))
        ;
}

void hdi_worker_count(struct hd_worker *worker, uint64_t busy, uint64_t groups)
{
    count(&worker->counters.leaves, 1);
    count(&worker->counters.busy, busy);
    count(&worker->counters.groups, groups);
}

struct hd_pool *hd_worker_pool(const struct hd_worker *worker)
{
    return worker->pool;
}

unsigned hd_worker_index(const struct hd_worker *worker)
{
    return worker->index;
}
