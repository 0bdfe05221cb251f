// An inbox is a queue, nobody loses or repeats a job, and who looks while jobs
// move from one list to the other sees some.
#include "steal/queue/inbox.h"

#include <pthread.h>
#include <sched.h>

#include "heddle/task.h"
#include "tests/check.h"

static void is_a_queue_for_all_and_for_each_group(void)
{
    static struct hd_job jobs[8];
    struct hd_group odd, even, none;
    struct hdi_inbox inbox;

    hdi_inbox_init(&inbox);
    CHECK(!hdi_inbox_offers(&inbox) && !hdi_inbox_pop(&inbox) &&
          !hdi_inbox_pop_of(&inbox, &odd));
    for (int i = 0; i < 8; i++)
        jobs[i].group = i % 2 ? &odd : &even;
    for (int i = 0; i < 4; i++)
        hdi_inbox_push(&inbox, &jobs[i]);
    CHECK(hdi_inbox_pop(&inbox) == &jobs[0]);
    for (int i = 4; i < 8; i++) // these come in while others are taken
        hdi_inbox_push(&inbox, &jobs[i]);
    CHECK(hdi_inbox_pop_of(&inbox, &even) == &jobs[2]); // from between
    CHECK(hdi_inbox_pop_of(&inbox, &odd) == &jobs[1]);  // the first
    CHECK(!hdi_inbox_pop_of(&inbox, &none));
    CHECK(hdi_inbox_pop(&inbox) == &jobs[3]);
    CHECK(hdi_inbox_pop_of(&inbox, &odd) == &jobs[5]);
    CHECK(hdi_inbox_pop_of(&inbox, &odd) == &jobs[7]); // the last
    hdi_inbox_push(&inbox, &jobs[0]);
    CHECK(hdi_inbox_pop(&inbox) == &jobs[4]);
    CHECK(hdi_inbox_pop_of(&inbox, &even) == &jobs[6]);
    CHECK(hdi_inbox_offers(&inbox));
    CHECK(hdi_inbox_pop_of(&inbox, &even) == &jobs[0]); // the only one
    CHECK(!hdi_inbox_offers(&inbox) && !hdi_inbox_pop(&inbox));
    hdi_inbox_push(&inbox, &jobs[1]);
    CHECK(hdi_inbox_pop(&inbox) == &jobs[1] && !hdi_inbox_pop(&inbox));
    hdi_inbox_destroy(&inbox);
}

enum {
    MANY = 20000, // jobs of each
    STARTERS = 2,
    TAKERS = 2
};

struct race {
    struct hdi_inbox inbox;
    struct hd_group group[STARTERS];
    struct hd_job jobs[STARTERS][MANY];
    _Atomic unsigned char taken[STARTERS][MANY];
    atomic_int left, started;
};

static void *start(void *data)
{
    struct race *race = data;
    int s = atomic_fetch_add(&race->started, 1);

    for (int i = 0; i < MANY; i++) {
        race->jobs[s][i].group = &race->group[s];
        hdi_inbox_push(&race->inbox, &race->jobs[s][i]);
    }
    return NULL;
}

// Of each starter's jobs, those that one taker gets are in order.
static void *take(void *data)
{
    struct race *race = data;
    long last[STARTERS] = {-1, -1};

    for (unsigned turn = 0; atomic_load(&race->left) > 0; turn++) {
        struct hd_job *job =
            turn % 5 ? hdi_inbox_pop(&race->inbox)
                     : hdi_inbox_pop_of(&race->inbox, &race->group[1]);
        if (!job) {
            sched_yield();
            continue;
        }
        long s = job->group - race->group, i = job - race->jobs[s];
        CHECK(atomic_fetch_add(&race->taken[s][i], 1) == 0);
        CHECK(i > last[s]);
        last[s] = i;
        atomic_fetch_sub(&race->left, 1);
    }
    return NULL;
}

static void each_job_is_taken_once_and_in_order(void)
{
    static struct race race;
    pthread_t threads[STARTERS + TAKERS];

    hdi_inbox_init(&race.inbox);
    atomic_store(&race.left, STARTERS * MANY);
    for (int i = 0; i < STARTERS + TAKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, i < STARTERS ? start : take,
                             &race) == 0);
    for (int i = 0; i < STARTERS + TAKERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(!hdi_inbox_offers(&race.inbox));
    hdi_inbox_destroy(&race.inbox);
}

struct watched {
    struct hdi_inbox inbox;
    atomic_uint turn; // odd: jobs are taken only, and one at least is left
    atomic_bool done;
};

// A look counts if the turn is the same before and after it.
static void *watch(void *data)
{
    struct watched *watched = data;

    while (!atomic_load(&watched->done)) {
        unsigned turn = atomic_load(&watched->turn);
        bool offers = hdi_inbox_offers(&watched->inbox);
        CHECK(offers || turn % 2 == 0 || atomic_load(&watched->turn) != turn);
    }
    return NULL;
}

static void who_looks_sees_what_moves(void)
{
    static struct watched watched;
    static struct hd_job jobs[3];
    pthread_t watcher;

    hdi_inbox_init(&watched.inbox);
    CHECK(pthread_create(&watcher, NULL, watch, &watched) == 0);
    for (int i = 0; i < 100000; i++) {
        for (int k = 0; k < 3; k++)
            hdi_inbox_push(&watched.inbox, &jobs[k]);
        atomic_fetch_add(&watched.turn, 1);
        CHECK(hdi_inbox_pop(&watched.inbox) == &jobs[0]); // moves all
        CHECK(hdi_inbox_pop(&watched.inbox) == &jobs[1]);
        atomic_fetch_add(&watched.turn, 1);
        CHECK(hdi_inbox_pop(&watched.inbox) == &jobs[2]);
    }
    atomic_store(&watched.done, true);
    pthread_join(watcher, NULL);
    hdi_inbox_destroy(&watched.inbox);
}

int main(void)
{
    is_a_queue_for_all_and_for_each_group();
    each_job_is_taken_once_and_in_order();
    who_looks_sees_what_moves();
    return 0;
}
