// The owner sees a stack, thieves a queue, and nobody loses or repeats a job.
#include "steal/queue/deque.h"

#include <pthread.h>
#include <sched.h>

#include "heddle/task.h"
#include "tests/check.h"

static void the_owner_sees_a_stack_thieves_a_queue(void)
{
    enum {
        JOBS = 1000
    };
    static struct hd_job jobs[JOBS];
    struct hdi_deque d;

    CHECK(hdi_deque_init(&d));
    CHECK(!hdi_deque_pop(&d) && !hdi_deque_steal(&d) && !hdi_deque_offers(&d));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < JOBS; i++)
            CHECK(hdi_deque_push(&d, &jobs[i]));
        CHECK(hdi_deque_offers(&d));
        for (int i = 0; i < JOBS / 2; i++) {
            CHECK(hdi_deque_pop(&d) == &jobs[JOBS - 1 - i]);
            CHECK(hdi_deque_steal(&d) == &jobs[i]);
        }
        CHECK(!hdi_deque_pop(&d) && !hdi_deque_steal(&d));
        CHECK(!hdi_deque_pop(&d) && !hdi_deque_offers(&d));
    }
    hdi_deque_destroy(&d);
}

enum {
    MANY = 200000,
    THIEVES = 3
};

struct race {
    struct hdi_deque deque;
    struct hd_job *jobs;
    _Atomic unsigned char *taken;
    atomic_bool done;
};

static void got(struct race *race, struct hd_job *job)
{
    CHECK(atomic_fetch_add(&race->taken[job - race->jobs], 1) == 0);
}

static void *steal(void *data)
{
    struct race *race = data;

    while (!atomic_load(&race->done)) {
        struct hd_job *job = hdi_deque_steal(&race->deque);
        if (job)
            got(race, job);
        else
            sched_yield();
    }
    return NULL;
}

static void every_job_is_taken_once(void)
{
    struct race race = {.jobs = calloc(MANY, sizeof(struct hd_job)),
                        .taken = calloc(MANY, 1)};
    pthread_t threads[THIEVES];
    struct hd_job *job;
    unsigned random = 1;

    CHECK(race.jobs && race.taken && hdi_deque_init(&race.deque));
    for (int i = 0; i < THIEVES; i++)
        CHECK(pthread_create(&threads[i], NULL, steal, &race) == 0);
    for (int i = 0; i < MANY;) {
        random = random * 1103515245 + 12345;
        // Mostly one or two: the owner and thieves meet at the last job.
        unsigned burst = random >> 28 == 0 ? 300 : random >> 30;
        for (unsigned k = 0; k < burst && i < MANY; k++)
            CHECK(hdi_deque_push(&race.deque, &race.jobs[i++]));
        for (unsigned k = 0; k < burst; k++)
            if ((job = hdi_deque_pop(&race.deque)))
                got(&race, job);
    }
    while ((job = hdi_deque_pop(&race.deque)))
        got(&race, job);
    atomic_store(&race.done, true);
    for (int i = 0; i < THIEVES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MANY; i++)
        CHECK(atomic_load(&race.taken[i]) == 1);
    hdi_deque_destroy(&race.deque);
    free(race.jobs);
    free((void *)race.taken);
}

int main(void)
{
    the_owner_sees_a_stack_thieves_a_queue();
    every_job_is_taken_once();
    return 0;
}
