// Kernels that never end: a time limit or a cancellation ends them, and
// everything else goes on.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/launch/stray.h"

static const char source[] =
    STRAY_KERNELS "kernel void endless(global int *a, global int *b, long at)\n"
                  "{\n"
                  "    b[get_global_id(0)] = 1;\n"
                  "    while (((volatile global int *)a)[at] == 0)\n"
                  "        ;\n"
                  "}\n";

static void a_time_limit_ends_a_kernel(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    const struct hdi_terms terms = {.time_limit = 50000000};

    for (int i = 0; i < 3; i++) {
        CHECK_FAILS(launch_with(rig, &pair, "endless", 0, &terms), HD_ETIMEOUT,
                    error, "time limit of 0.050 s");
        everything_goes_on(rig, &pair);
    }
    const struct hdi_terms enough = {.time_limit = 1000000000000};
    CHECK_OK(launch_with(rig, &pair, "fine", 0, &enough), error);
    free_pair(&pair);
}

struct canceller {
    struct rig *rig;
    struct hd_group *group; // NULL: the flag
    atomic_bool flag;
    volatile int *started;
};

static void *cancel(void *data)
{
    struct canceller *c = data;

    while (*c->started == 0)
        ;
    if (c->group) {
        hd_group_cancel(c->rig->pool, c->group);
    } else {
        atomic_store(&c->flag, true);
        hdi_stop_poke(c->rig->launcher);
    }
    return NULL;
}

static void a_cancellation_ends_a_kernel(struct rig *rig)
{
    struct pair pair = make_pair(rig);

    for (int i = 0; i < 20; i++) {
        struct hd_group group;
        struct canceller c = {.rig = rig, .group = i % 2 ? &group : NULL};
        const struct hdi_terms terms = {.cancel = &c.flag, .group = &group};
        pthread_t thread;

        hd_group_init(&group);
        c.started = hd_buffer_host(pair.b);
        *c.started = 0;
        CHECK(pthread_create(&thread, NULL, cancel, &c) == 0);
        CHECK_FAILS(launch_with(rig, &pair, "endless", 0, &terms), HD_ECANCELED,
                    error, "cancelled");
        CHECK(pthread_join(thread, NULL) == 0);
    }
    everything_goes_on(rig, &pair);
    free_pair(&pair);
}

struct both {
    struct rig *rig;
    struct pair pair;
    hd_status status;
};

static void call_endless(struct hd_worker *worker, void *data)
{
    struct both *b = data;
    struct hd_group group;

    // The launch belongs to whatever its caller belongs to.
    hd_group_init(&group);
    CHECK(hd_scope_begin(worker, &group) == HD_OK);
    struct canceller c = {.rig = b->rig, .group = &group};
    pthread_t thread;
    c.started = hd_buffer_host(b->pair.b);
    CHECK(pthread_create(&thread, NULL, cancel, &c) == 0);
    b->status = launch(b->rig, &b->pair, "endless", 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(hd_scope_end(worker) == HD_ECANCELED);
}

static void a_launch_inside_a_cancelled_task_ends(struct rig *rig)
{
    struct both b = {.rig = rig, .pair = make_pair(rig)};

    hd_pool_run(rig->pool, call_endless, &b);
    CHECK(b.status == HD_ECANCELED);
    everything_goes_on(rig, &b.pair);
    free_pair(&b.pair);
}

static void *cancel_pool(void *data)
{
    struct canceller *c = data;

    while (*c->started == 0)
        ;
    hd_pool_cancel(c->rig->pool);
    return NULL;
}

// Nothing runs on a pool that was cancelled.
static void a_cancelled_pool_ends_its_launches(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    struct canceller c = {.rig = rig, .started = hd_buffer_host(pair.b)};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, cancel_pool, &c) == 0);
    CHECK_FAILS(launch(rig, &pair, "endless", 0), HD_ECANCELED, error,
                "cancelled");
    CHECK(pthread_join(thread, NULL) == 0);
    free_pair(&pair);
}

// The first leaf of a worker opens its unit: a cancellation at that moment
// finds a launch that was looked at already, and no kernel yet.
static const struct hdi_backend *real;
static struct hd_pool *pool_to_tell;
static struct hd_group *group_to_cancel;

static hd_status cancel_and_open(struct hdi_device *device, unsigned index,
                                 struct hdi_unit **unit)
{
    hd_group_cancel(pool_to_tell, group_to_cancel);
    return real->unit_open(device, index, unit);
}

static void a_cancellation_on_the_way_is_not_missed(void)
{
    struct rig rig = rig_set_up((struct hd_pool_params){.workers = 1},
                                (struct hdi_device_params){0}, source);
    struct pair pair = make_pair(&rig);
    struct hd_group group;
    // It would end then all the same, and say that it was cancelled.
    const struct hdi_terms terms = {.group = &group, .time_limit = 60000000000};

    real = rig.device->backend;
    struct hdi_backend backend = *real;
    backend.unit_open = cancel_and_open;
    pool_to_tell = rig.pool;
    group_to_cancel = &group;
    hd_group_init(&group);
    rig.device->backend = &backend;
    uint64_t begin = hdi_now();
    CHECK_FAILS(launch_with(&rig, &pair, "endless", 0, &terms), HD_ECANCELED,
                error, "cancelled");
    CHECK(hdi_now() - begin < terms.time_limit);
    rig.device->backend = real;
    everything_goes_on(&rig, &pair);
    free_pair(&pair);
    rig_tear_down(&rig);
}

// The thread is another one there, though it goes on where it was.
static void a_child_stops_kernels_too(void)
{
    const struct hd_pool_params alone = {.caller_only = true};
    const struct hdi_terms terms = {.time_limit = 50000000};
    struct rig rig = rig_set_up(alone, (struct hdi_device_params){0}, source);
    struct pair pair = make_pair(&rig);
    int status;

    CHECK(launch_with(&rig, &pair, "endless", 0, &terms) == HD_ETIMEOUT);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(120);
        CHECK_FAILS(launch_with(&rig, &pair, "endless", 0, &terms), HD_ETIMEOUT,
                    error, "time limit");
        everything_goes_on(&rig, &pair);
        free_pair(&pair);
        rig_tear_down(&rig);
        _exit(7);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    free_pair(&pair);
    rig_tear_down(&rig);
}

static void test(struct rig *rig, const struct kind *kind)
{
    (void)kind;
    a_time_limit_ends_a_kernel(rig);
    a_cancellation_ends_a_kernel(rig);
    a_launch_inside_a_cancelled_task_ends(rig);
    a_cancelled_pool_ends_its_launches(rig);
}

int main(void)
{
    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    on_every_kind(source, test);
    a_cancellation_on_the_way_is_not_missed();
    a_child_stops_kernels_too();
    return 0;
}
