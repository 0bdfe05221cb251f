// Running a graph of calls.
//
// One worker begins alone, in program order. If passes turn out to take so long
// that handing some to others pays, the passes that are left get counters, and
// workers join: each has a few ready passes for itself, and puts half of them
// where the others look when one has none. Which it is, is known before the
// next run.
//
// Invariant: while workers join, a pass that is ready is in `shared`, in the
// local stack of one job, or runs; so when all jobs are idle nothing is left.
// The last job that leaves ends the run.
#include "graph/calls/calls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/pause.h"
#include "steal/group.h"
#include "steal/worker.h"

// What each protects from:
//
//     STRETCH*    a look at the clock costs some 25 ns, which short passes
//                 would feel; after too long a stretch the answer is late
//     JOIN_TIME   handing a pass over costs about as much as such a pass
//     SLOW_TIME   one slow stretch (a page fault, a lost core) is no reason
//     WORTH       waking a worker takes longer than the little that is left
//     LINGER      leaving and coming back costs a submission, a wake-up
//     MAX_APART   the machine may have grown idle: try others now and then
enum {
    STRETCH = 64,        // passes between two looks at the clock, at most
    STRETCH_TIME = 2000, // and about this long [ns]
    JOIN_TIME = 200,     // of a pass, from which on others join [ns]
    SLOW_TIME = 10000,   // in which passes took so long, before they do [ns]
    WORTH = 20000,       // of all that is left, that they join for [ns]
    LINGER = 10000,      // without a pass, before a worker leaves [ns]
    MAX_APART = 31       // runs by one worker, before others may join again
};

// Processor time of this thread [ns]: other programs may have the core as well.
static uint64_t used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// Asked before each pass. Relaxed loads: a pass more or less does not matter,
// and who waits for the end sees all by other means.
//
// The same as hdi_pool_cancelled(), but no call: a short pass would feel it.
static inline bool is_stopped(struct hdi_calls *calls)
{
    return atomic_load_explicit(&calls->stopped, memory_order_relaxed) ||
           atomic_load_explicit(calls->host.cancel, memory_order_relaxed) ||
           hdi_group_cancelled(calls->host.group) ||
           (hdi_group_fate(calls->all) & HDI_GROUP_CANCELLED);
}

static void fail(struct hdi_calls *calls, uint32_t index, hd_status status,
                 const struct hd_error *error)
{
    calls->host.fail(calls->host.data, index, status, error);
    atomic_store_explicit(&calls->stopped, true, memory_order_relaxed);
}

// Workers that get in each other's way are busy too: what counts is whether one
// alone would have taken longer.
//
// `pace` decides how the next run begins. When several ran it is the sum of
// what all took, which their caches and locks make larger than one worker
// needs: then what one alone needed counts, if it is known. Others gained if
// the run took less than 15/16 of that by the clock; if not, the next run is
// alone, then 3, 7, 15 and 31 in a row.
static void learn(struct hdi_calls *calls, uint32_t count)
{
    uint64_t busy = atomic_load(&calls->busy);

    calls->pace = (busy + count - 1) / count;
    if (!calls->joined) {
        calls->alone = calls->pace;
        calls->apart -= calls->apart > 0;
        return;
    }
    if (calls->alone > 0 && calls->alone < calls->pace) {
        calls->pace = calls->alone;
        busy = calls->alone * count;
    }
    bool gained = hdi_now() - calls->begin < busy - busy / 16;
    calls->next_apart = gained ? 0
                        : calls->next_apart < MAX_APART
                            ? calls->next_apart * 2 + 1
                            : MAX_APART;
    calls->apart = calls->next_apart;
}

// The graph may be gone when this returns.
static void end_run(struct hdi_calls *calls)
{
    uint32_t finished = atomic_load(&calls->finished);
    uint32_t count = calls->passes.count;

    if (finished == count)
        learn(calls, count);
    calls->host.end(calls->host.data, count - finished);
}

// Many workers ----------------------------------------------------------------

static void run_job(struct hd_worker *worker, struct hd_work *work,
                    hd_status status);

// Under the lock: one more job, to be submitted after it; NULL: there are as
// many as workers. Those that have no pass look for one by themselves.
//
// Not while jobs are idle: these find the passes that have come. The job is
// counted as active before it is submitted, so the run cannot end before it has
// begun and left.
static struct hdi_calls_job *add_job(struct hdi_calls *calls)
{
    if (calls->active == calls->job_count || calls->idle > 0)
        return NULL;
    for (uint32_t i = 0; i < calls->job_count; i++) {
        struct hdi_calls_job *job = &calls->jobs[i];
        if (job->waits)
            continue;
        job->waits = true;
        job->calls = calls;
        job->work =
            (struct hd_work){.job = {.run = hdi_run_nothing}, .done = run_job};
        calls->active++;
        return job;
    }
    return NULL;
}

// What a job has for itself: a ring. The oldest is run first, so passes come
// about in program order, and what another worker waits for is not left for
// last.
//
// Touched by its own worker only, and on its stack; `finished` is added to that
// of the run when the job leaves, so that workers share no counter while they
// run passes.
//
//     at   |   |   | 7 | 8 | 9 |   |        first = 2, count = 3
//                    ^ run next      ^ added here, round the end to the front
struct lane {
    struct hdi_calls *calls;
    uint32_t first, count, at[HDI_CALLS_LOCAL];
    uint32_t finished;
    uint64_t begin; // of what is counted as busy, as used() tells [ns]
    struct hd_error error;
};

static void add(struct lane *lane, uint32_t pass)
{
    lane->at[(lane->first + lane->count++) % HDI_CALLS_LOCAL] = pass;
}

static uint32_t remove_first(struct lane *lane)
{
    uint32_t pass = lane->at[lane->first];

    lane->first = (lane->first + 1) % HDI_CALLS_LOCAL;
    lane->count--;
    return pass;
}

// Let others have `count` passes, those that have been ready longest.
//
// `shared` is a stack that is read from its end: the oldest lies on top. The
// job is submitted after the lock is let go, as the pool may wake a worker,
// which takes the lock first of all.
static void give(struct lane *lane, uint32_t count)
{
    struct hdi_calls *calls = lane->calls;

    pthread_mutex_lock(&calls->lock);
    uint32_t shared =
        atomic_load_explicit(&calls->shared_count, memory_order_relaxed) +
        count;
    for (uint32_t i = 1; i <= count; i++) // the last of them is taken first
        calls->shared[shared - i] = remove_first(lane);
    atomic_store_explicit(&calls->shared_count, shared, memory_order_relaxed);
    struct hdi_calls_job *job = add_job(calls);
    pthread_mutex_unlock(&calls->lock);
    if (job)
        hd_submit_work(calls->host.pool, &job->work);
}

// Under the lock: half of what is there, at least one if there is any.
//
// Half, and at most half a ring: the rest is for other workers that come, and
// the ring has room for what these passes make ready.
static bool take(struct lane *lane)
{
    struct hdi_calls *calls = lane->calls;
    uint32_t shared =
        atomic_load_explicit(&calls->shared_count, memory_order_relaxed);
    uint32_t count = shared - shared / 2;

    if (count > HDI_CALLS_LOCAL / 2)
        count = HDI_CALLS_LOCAL / 2;
    for (uint32_t i = 0; i < count; i++)
        add(lane, calls->shared[--shared]);
    atomic_store_explicit(&calls->shared_count, shared, memory_order_relaxed);
    return count > 0;
}

// Before the job waits, so that waiting is not counted.
static void count_busy(struct lane *lane)
{
    atomic_fetch_add_explicit(&lane->calls->busy, used() - lane->begin,
                              memory_order_relaxed);
}

// Get passes. False: there are none, the job has left, and if it was the last
// one the run has ended and the graph may be gone.
//
// While it waits the job counts as idle. All idle means that nothing is ready
// and nothing runs: the run is over, and each job leaves in turn. It looks at
// shared_count without the lock, so that waiters do not keep the others from
// it, and lets go of the lock between two looks. After LINGER it leaves even if
// others run; whoever makes passes ready brings a job back by give(). The last
// look is under the lock, where passes are put, so none is overlooked.
static bool refill(struct lane *lane)
{
    struct hdi_calls *calls = lane->calls;

    pthread_mutex_lock(&calls->lock);
    if (!take(lane)) {
        uint64_t since = hdi_now();
        count_busy(lane);
        calls->idle++;
        while (calls->idle < calls->active && !take(lane)) {
            bool late = hdi_now() - since > LINGER;
            if (late)
                break;
            pthread_mutex_unlock(&calls->lock);
            for (int i = 0;
                 i < 64 && atomic_load_explicit(&calls->shared_count,
                                                memory_order_relaxed) == 0;
                 i++)
                hdi_pause();
            pthread_mutex_lock(&calls->lock);
        }
        calls->idle--;
        lane->begin = used();
    }
    bool left = lane->count == 0;
    struct hdi_calls_job *job =
        atomic_load_explicit(&calls->shared_count, memory_order_relaxed) > 0
            ? add_job(calls)
            : NULL;
    if (left)
        atomic_fetch_add_explicit(&calls->finished, lane->finished,
                                  memory_order_relaxed);
    bool last = left && --calls->active == 0;
    pthread_mutex_unlock(&calls->lock);
    if (job)
        hd_submit_work(calls->host.pool, &job->work);
    if (last)
        end_run(calls);
    return !left;
}

// Whether another worker would take passes and there are none.
//
// Asked after each pass and without the lock: a wrong answer costs one visit to
// the lock, or a pass's time until the next question.
static bool is_asked(struct hdi_calls *calls)
{
    return (atomic_load_explicit(&calls->idle, memory_order_relaxed) > 0 ||
            atomic_load_explicit(&calls->active, memory_order_relaxed) <
                calls->job_count) &&
           atomic_load_explicit(&calls->shared_count, memory_order_relaxed) ==
               0;
}

// The half that is given away is given before the pass runs: it may take long.
// Successors are counted down with release and acquire: who comes last sees
// what all passes before the successor have written. After a stop passes are
// taken and dropped, so rings and stack run empty; their successors never
// become ready, and count as not run.
static void run_next(struct lane *lane)
{
    struct hdi_calls *calls = lane->calls;
    uint32_t index = remove_first(lane);

    if (lane->count > 0 && is_asked(calls))
        give(lane, lane->count - lane->count / 2);
    if (is_stopped(calls))
        return;
    const struct hdi_calls_pass *pass = hdi_calls_pass(calls, index);
    hd_status status =
        calls->functions[pass->function](pass->data, &lane->error);
    if (status != HD_OK) {
        fail(calls, index, status, &lane->error);
        return;
    }
    lane->finished++;
    for (uint32_t i = calls->first[index]; i < calls->first[index + 1]; i++) {
        uint32_t next = calls->after[i];
        if (atomic_fetch_sub_explicit(&calls->left[next], 1,
                                      memory_order_acq_rel) != 1)
            continue;
        if (lane->count == HDI_CALLS_LOCAL)
            give(lane, HDI_CALLS_LOCAL / 2);
        add(lane, next);
    }
}

static void run_lane(struct hdi_calls *calls)
{
    struct lane lane;

    lane.calls = calls;
    lane.first = lane.count = lane.finished = 0;
    lane.begin = used();
    lane.error.status = HD_OK;
    lane.error.text[0] = '\0';
    while (refill(&lane))
        while (lane.count > 0)
            run_next(&lane);
}

// When the run or the pool was cancelled, too: it has to leave.
//
// The status says only that: is_stopped() looks at the same.
static void run_job(struct hd_worker *worker, struct hd_work *work,
                    hd_status status)
{
    struct hdi_calls_job *mine = (struct hdi_calls_job *)(void *)work;
    struct hdi_calls *calls = mine->calls;

    (void)worker, (void)status;
    pthread_mutex_lock(&calls->lock);
    mine->waits = false; // the pool looks at it no more
    pthread_mutex_unlock(&calls->lock);
    run_lane(calls);
}

// Count what the passes from `at` on wait for, and let all workers have those
// that wait for nothing. False without memory: then one worker goes on alone.
//
// Only edges between passes from `at` on count, as all before have run; `first`
// of `at` is where these begin. Nobody else looks yet: relaxed stores will do,
// since other workers come by the lock or by a submission. Passes that are
// ready lie on the stack with the first on top.
static bool open_to_all(struct hdi_calls *calls, uint32_t at)
{
    uint32_t count = calls->passes.count, ready = 0;

    if (!hdi_calls_link(calls))
        return false;
    if (!calls->left)
        calls->left = malloc(count * sizeof(*calls->left));
    if (!calls->shared)
        calls->shared = malloc(count * sizeof(*calls->shared));
    if (!calls->left || !calls->shared)
        return false;
    for (uint32_t i = at; i < count; i++)
        atomic_store_explicit(&calls->left[i], 0, memory_order_relaxed);
    for (uint32_t i = calls->first[at]; i < calls->first[count]; i++) {
        _Atomic uint32_t *left = &calls->left[calls->after[i]];
        atomic_store_explicit(
            left, atomic_load_explicit(left, memory_order_relaxed) + 1,
            memory_order_relaxed);
    }
    // The first is taken first.
    for (uint32_t i = count; i-- > at;)
        if (atomic_load_explicit(&calls->left[i], memory_order_relaxed) == 0)
            calls->shared[ready++] = i;
    atomic_store_explicit(&calls->shared_count, ready, memory_order_relaxed);
    calls->joined = true;
    return true;
}

// One worker ------------------------------------------------------------------

// How it goes, by the clock.
//
// The clock, not processor time, which takes a system call to read.
struct going {
    uint64_t mark; // the last look at it [ns]
    uint64_t slow; // since passes have taken long [ns]
    uint64_t pace; // the least that a pass took between two looks [ns]
    uint32_t stretch;
};

// Whether others should join for the `left` passes that are left.
//
// The stretch doubles or halves until one takes about STRETCH_TIME. Slow
// stretches in a row add up; one alone is never enough.
static bool look(struct going *going, uint32_t ran, uint32_t left)
{
    uint64_t now = hdi_now(), took = now - going->mark;

    going->mark = now;
    if (going->pace == 0 || took / ran < going->pace)
        going->pace = took / ran;
    if (took < STRETCH_TIME / 2 && going->stretch < STRETCH)
        going->stretch *= 2;
    else if (took > STRETCH_TIME * 2 && going->stretch > 1)
        going->stretch /= 2;
    going->slow = took >= (uint64_t)JOIN_TIME * ran ? going->slow + took : 0;
    return going->slow >= SLOW_TIME && going->slow > took &&
           took / ran * left >= WORTH;
}

// Run passes from `at` up to `end`; returns how far it came: less when the run
// is stopped.
//
// Along a block of the list by address: the index is looked up once in 4096
// passes.
static uint32_t run_some(struct hdi_calls *calls, uint32_t at, uint32_t end,
                         struct hd_error *error)
{
    const hdi_calls_function *functions = calls->functions;

    while (at < end) {
        const struct hdi_calls_pass *pass = hdi_calls_pass(calls, at);
        uint32_t together = HDI_CALLS_BLOCK - at % HDI_CALLS_BLOCK;
        uint32_t until = end - at < together ? end : at + together;
        for (; at < until; at++, pass++) {
            if (is_stopped(calls))
                return at;
            hd_status status = functions[pass->function](pass->data, error);
            if (status == HD_OK)
                continue;
            fail(calls, at, status, error);
            return at;
        }
    }
    return at;
}

// With one worker, or after others have not helped (`apart`), the whole graph
// is one stretch and no clock is read. Otherwise it begins with stretches of
// one pass. When others join, this worker goes on as one of them; if there is
// no memory for that it stays alone. What was run is counted before, as the run
// may end with any job.
static void run_alone(struct hdi_calls *calls)
{
    uint32_t count = calls->passes.count, at = 0;
    uint64_t begin = used();
    bool alone = calls->job_count == 1 || calls->apart > 0, stopped = false;
    struct going going = {.mark = hdi_now(), .stretch = alone ? count : 1};
    struct hd_error error;

    error.status = HD_OK;
    error.text[0] = '\0';
    while (at < count && !stopped) {
        uint32_t from = at;
        uint32_t end = count - at < going.stretch ? count : at + going.stretch;
        at = run_some(calls, at, end, &error);
        stopped = at < end;
        if (alone || stopped || at == count ||
            !look(&going, at - from, count - at))
            continue;
        alone = !open_to_all(calls, at);
        if (!alone) {
            calls->alone = going.pace;
            break;
        }
        going.stretch = count;
    }
    bool joined = at < count && !stopped;
    atomic_fetch_add(&calls->finished, at);
    atomic_fetch_add(&calls->busy, used() - begin);
    if (joined)
        run_lane(calls);
    else
        end_run(calls);
}

// If the last run took long enough by pass, all join from the beginning.
static void begin(struct hdi_calls *calls)
{
    if (calls->pace >= JOIN_TIME && calls->job_count > 1 && calls->apart == 0 &&
        open_to_all(calls, 0))
        run_lane(calls);
    else
        run_alone(calls);
}

// Nobody else knows of the run yet: no lock.
static void run_first(struct hd_worker *worker, struct hd_work *work,
                      hd_status status)
{
    struct hdi_calls_job *mine = (struct hdi_calls_job *)(void *)work;

    (void)worker, (void)status;
    mine->waits = false;
    begin(mine->calls);
}

// Runs ------------------------------------------------------------------------

// Jobs are made anew only when the number of workers differs; none is in the
// pool then, as nothing runs.
bool hdi_calls_prepare(struct hdi_calls *calls, unsigned workers)
{
    if (calls->job_count == workers)
        return true;
    free(calls->jobs);
    calls->jobs = calloc(workers, sizeof(*calls->jobs));
    calls->job_count = calls->jobs ? workers : 0;
    return calls->jobs;
}

// All of the run is set before the first job is submitted, which hands it over;
// the lock hands it to those that come later. Nothing of `calls` may be touched
// after begin() or the submission: the run may have ended.
void hdi_calls_start(struct hdi_calls *calls, const struct hdi_calls_host *host,
                     bool here)
{
    struct hdi_calls_job *job = &calls->jobs[0];

    calls->host = *host;
    calls->all = hdi_pool_all(host->pool);
    atomic_store_explicit(&calls->stopped, false, memory_order_relaxed);
    atomic_store_explicit(&calls->finished, 0, memory_order_relaxed);
    atomic_store_explicit(&calls->busy, 0, memory_order_relaxed);
    calls->begin = hdi_now();
    calls->joined = false;
    calls->active = 1;
    calls->idle = 0;
    if (here) {
        begin(calls);
        return;
    }
    job->calls = calls;
    job->waits = true;
    job->work =
        (struct hd_work){.job = {.run = hdi_run_nothing}, .done = run_first};
    hd_submit_work(host->pool, &job->work);
}
