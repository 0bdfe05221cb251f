// Whether workers join, by what one of them alone takes.
#include "graph/calls/calls.h"

#include <sched.h>

#include "steal/group.h"
#include "steal/worker.h"
#include "tests/check.h"

enum {
    PASSES = 1000
};

static struct hd_pool *pool;
static struct hd_group group;
static atomic_bool cancel;
static atomic_uint ran, ended;

static hd_status run(void *data, struct hd_error *error)
{
    (void)data, (void)error;
    atomic_fetch_add(&ran, 1);
    return HD_OK;
}

static void fail(void *data, uint32_t pass, hd_status status,
                 const struct hd_error *error)
{
    (void)data, (void)pass, (void)status, (void)error;
    CHECK(false);
}

static void end(void *data, uint32_t not_run)
{
    (void)data;
    CHECK(not_run == 0);
    atomic_fetch_add(&ended, 1);
}

static void run_all(struct hdi_calls *calls)
{
    const struct hdi_calls_host host = {.pool = pool,
                                        .cancel = &cancel,
                                        .group = &group,
                                        .fail = fail,
                                        .end = end};
    unsigned before = atomic_load(&ended);

    atomic_store(&ran, 0);
    hdi_calls_start(calls, &host, false);
    while (atomic_load(&ended) == before)
        sched_yield();
    CHECK(atomic_load(&ran) == PASSES);
}

static struct hdi_calls *make_calls(void)
{
    struct hdi_calls *calls = hdi_calls_create();
    const struct hd_call_params params = {.call = run};

    CHECK(calls);
    for (int i = 0; i < PASSES; i++)
        CHECK(hdi_calls_add(calls, &params, NULL));
    CHECK(hdi_calls_prepare(calls, hd_pool_workers(pool)));
    return calls;
}

// Busy as all may be: one worker alone would have taken a nanosecond for each.
static void one_goes_on_alone_where_that_takes_less(void)
{
    struct hdi_calls *calls = make_calls();

    calls->pace = 1000;
    calls->alone = 1;
    run_all(calls);
    CHECK(calls->joined && calls->pace == 1);
    CHECK(calls->apart == 1 && calls->next_apart == 1);
    // That run tells what it is alone.
    run_all(calls);
    CHECK(!calls->joined && calls->apart == 0);
    CHECK(calls->alone == calls->pace);
    // And again, for longer.
    calls->pace = 1000;
    calls->alone = 1;
    run_all(calls);
    CHECK(calls->joined && calls->apart == 3);
    hdi_calls_free(calls);
}

int main(void)
{
    const struct hd_pool_params params = {.workers = 2, .unpinned = true};
    struct hd_error error;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    hd_group_init(&group);
    one_goes_on_alone_where_that_takes_less();
    hd_pool_destroy(pool);
    return 0;
}
