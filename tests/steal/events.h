// For tests: pools, events that the test ends itself, and calls after others.
#ifndef HDI_TESTS_STEAL_EVENTS_H
#define HDI_TESTS_STEAL_EVENTS_H

#include <stdatomic.h>

#include "heddle/event.h"
#include "heddle/task.h"
#include "tests/check.h"

static struct hd_error error;

static inline struct hd_pool *make_pool(unsigned workers)
{
    struct hd_pool_params params = {.workers = workers};
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    return pool;
}

static inline hd_event make_event(struct hd_pool *pool)
{
    hd_event event;

    CHECK_OK(hd_event_create(pool, &event, &error), error);
    CHECK(event != 0);
    return event;
}

static inline void end_well(struct hd_pool *pool, hd_event event)
{
    CHECK_OK(hd_event_end(pool, event, HD_OK, NULL, &error), error);
}

static inline hd_event start_call(
    struct hd_pool *pool, const hd_event *after, unsigned count, bool anyway,
    hd_status (*function)(struct hd_worker *, void *, struct hd_error *),
    void *data)
{
    struct hd_start start = {
        .after = after, .after_count = count, .anyway = anyway};
    struct hd_call call = {.function = function, .data = data};
    hd_event event;

    CHECK_OK(hd_call_start(pool, &start, &call, &event, &error), error);
    return event;
}

static inline void wait_for(struct hd_pool *pool, hd_event event)
{
    CHECK_OK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), error);
}

static inline hd_status add_one(struct hd_worker *worker, void *data,
                                struct hd_error *e)
{
    (void)worker, (void)e;
    atomic_fetch_add((atomic_int *)data, 1);
    return HD_OK;
}

#endif
