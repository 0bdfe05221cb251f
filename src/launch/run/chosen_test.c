// Launches on workers that were named or counted, and tasks of one work-item
// each.
#include "tests/launch/rig.h"

enum {
    WORKERS = 3,
    ITEMS = 4096
};

static const char source[] =
    "kernel void visit(global uint *visits, global uint *now, uint turns)\n"
    "{\n"
    "    uint here = atomic_inc(&now[0]) + 1;\n"
    "    atomic_max(&now[1], here);\n"
    "    for (uint i = 0; i < turns; i++)\n"
    "        atomic_or(&now[2], 0);\n"
    "    visits[get_global_id(0)] += get_local_size(0);\n"
    "    atomic_dec(&now[0]);\n"
    "}\n"
    "kernel void fault(global uint *visits, global uint *now, uint turns)\n"
    "{\n"
    "    if (get_global_id(0) == 700)\n"
    "        visits[get_global_size(0)] = 1;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
    "void eights(global uint *visits, global uint *now, uint turns)\n"
    "{\n"
    "    visits[get_global_id(0)] = 1;\n"
    "}\n";

static struct hd_worker_counters counters[WORKERS];

static void count(struct rig *rig, struct hd_worker_counters *of)
{
    for (unsigned w = 0; w < WORKERS; w++)
        hd_pool_counters(rig->pool, w, &of[w]);
}

// Work-groups that the workers have run since count().
static uint64_t groups_since(struct rig *rig, unsigned first, unsigned last)
{
    struct hd_worker_counters now[WORKERS];
    uint64_t groups = 0;

    count(rig, now);
    for (unsigned w = first; w <= last; w++)
        groups += now[w].groups - counters[w].groups;
    return groups;
}

static uint64_t leaves_since(struct rig *rig)
{
    struct hd_worker_counters now[WORKERS];
    uint64_t leaves = 0;

    count(rig, now);
    for (unsigned w = 0; w < WORKERS; w++)
        leaves += now[w].leaves - counters[w].leaves;
    return leaves;
}

static struct hd_buffer *visits, *now;

static hd_status launch(struct rig *rig, const char *kernel, uint64_t items,
                        uint32_t local, uint32_t turns,
                        const struct hdi_terms *terms)
{
    const struct hd_range range = {
        .dims = 1, .global = {items}, .local = {local}};
    const struct hd_arg args[] = {HD_BUFFER(visits), HD_BUFFER(now),
                                  HD_VALUE(turns)};

    memset(hd_buffer_host(visits), 0, ITEMS * sizeof(uint32_t));
    memset(hd_buffer_host(now), 0, 3 * sizeof(uint32_t));
    count(rig, counters);
    return hdi_launch_with(
        rig->launcher,
        &(struct hdi_request){hd_program_find(rig->program, kernel), &range,
                              args, 3},
        terms, &error);
}

static void check_visits(uint64_t items, uint32_t value)
{
    const uint32_t *v = hd_buffer_host(visits);

    for (uint64_t i = 0; i < items; i++)
        CHECK(v[i] == value);
}

// Nobody else runs a group of it, however long it takes and whoever is idle.
static void only_the_named_run_it(struct rig *rig)
{
    for (unsigned w = 0; w < WORKERS; w++) {
        const struct hdi_terms terms = {.workers = &w, .worker_count = 1};
        CHECK_OK(launch(rig, "visit", ITEMS, 4, 20, &terms), error);
        check_visits(ITEMS, 4);
        CHECK(groups_since(rig, w, w) == ITEMS / 4);
        CHECK(groups_since(rig, 0, WORKERS - 1) == ITEMS / 4);
    }
    const unsigned ends[] = {2, 0};
    const struct hdi_terms terms = {.workers = ends, .worker_count = 2};
    for (int i = 0; i < 20; i++) {
        CHECK_OK(launch(rig, "visit", ITEMS, 4, 20, &terms), error);
        check_visits(ITEMS, 4);
        CHECK(groups_since(rig, 1, 1) == 0);
        CHECK(groups_since(rig, 0, 2) == ITEMS / 4);
    }
}

static void no_more_than_counted_run_it_at_a_time(struct rig *rig)
{
    for (unsigned most = 1; most <= WORKERS; most++) {
        const struct hdi_terms terms = {.worker_count = most};
        CHECK_OK(launch(rig, "visit", ITEMS, 1, 20, &terms), error);
        check_visits(ITEMS, 1);
        CHECK(((uint32_t *)hd_buffer_host(now))[1] <= most);
    }
}

struct nested {
    struct rig *rig;
    hd_status status;
};

static void launch_nested(struct hd_worker *worker, void *data)
{
    static const unsigned named[] = {1};
    const struct hdi_terms terms = {.workers = named, .worker_count = 1};
    struct nested *nested = data;

    (void)worker;
    nested->status = launch(nested->rig, "visit", ITEMS, 4, 20, &terms);
}

// From a worker, be it the named one or not.
static void a_worker_may_launch(struct rig *rig)
{
    struct nested nested = {.rig = rig};

    for (int i = 0; i < 20; i++) {
        hd_pool_run(rig->pool, launch_nested, &nested);
        CHECK_OK(nested.status, error);
        check_visits(ITEMS, 4);
        CHECK(groups_since(rig, 1, 1) == ITEMS / 4);
    }
}

static void an_error_ends_it(struct rig *rig)
{
    const unsigned named[] = {1};
    const struct hdi_terms terms = {.workers = named, .worker_count = 1};

    CHECK_FAILS(launch(rig, "fault", ITEMS, 4, 0, &terms), HD_EFAULT, error,
                " 0 bytes past the end of argument 0");
    CHECK_OK(launch(rig, "visit", ITEMS, 4, 0, &terms), error);
    check_visits(ITEMS, 4);
}

static void mistakes_are_named(struct rig *rig)
{
    const unsigned far[] = {0, WORKERS}, twice[] = {1, 1};

    CHECK_FAILS(launch(rig, "visit", ITEMS, 4, 0,
                       &(struct hdi_terms){.workers = far, .worker_count = 2}),
                HD_EINVAL, error, "on worker 3; there are 3, counted from 0");
    CHECK_FAILS(
        launch(rig, "visit", ITEMS, 4, 0,
               &(struct hdi_terms){.workers = twice, .worker_count = 2}),
        HD_EINVAL, error, "on worker 1 twice");
    CHECK_FAILS(launch(rig, "visit", ITEMS, 4, 0,
                       &(struct hdi_terms){.worker_count = 4}),
                HD_EINVAL, error, "on 4 workers; there are 3");
    CHECK_FAILS(
        launch(rig, "visit", ITEMS, 4, 0, &(struct hdi_terms){.workers = far}),
        HD_EINVAL, error, "on no worker");
}

// A task-parallel launch: every work-item is a group and a leaf of its own,
// also when the kernel is known to be short; in two dimensions, and on named
// workers too.
static void every_item_is_a_task(struct rig *rig)
{
    const unsigned named[] = {2};
    const struct hdi_terms terms = {.tasks = true}, there = {.tasks = true,
                                                             .workers = named,
                                                             .worker_count = 1};

    for (int i = 0; i < 3; i++) {
        CHECK_OK(launch(rig, "visit", 1000, 0, 0, &terms), error);
        check_visits(1000, 1);
        CHECK(groups_since(rig, 0, 2) == 1000 && leaves_since(rig) == 1000);
    }
    CHECK_OK(launch(rig, "visit", 1000, 1, 0, &there), error);
    CHECK(groups_since(rig, 2, 2) == 1000 && leaves_since(rig) == 1000);
    CHECK_FAILS(launch(rig, "none", 1000, 0, 0, &terms), HD_EINVAL, error, "");
    CHECK_FAILS(launch(rig, "visit", 1000, 2, 0, &terms), HD_EINVAL, error,
                "each work-item is a task");
    CHECK_FAILS(launch(rig, "eights", 1000, 0, 0, &terms), HD_EINVAL, error,
                "each work-item is a task");
}

int main(void)
{
    struct rig rig = rig_set_up((struct hd_pool_params){.workers = WORKERS},
                                (struct hdi_device_params){.units = 0}, source);

    CHECK_OK(hdi_buffer_create(rig.launcher, ITEMS * sizeof(uint32_t), &visits,
                               &error),
             error);
    CHECK_OK(hdi_buffer_create(rig.launcher, 64, &now, &error), error);
    only_the_named_run_it(&rig);
    no_more_than_counted_run_it_at_a_time(&rig);
    a_worker_may_launch(&rig);
    an_error_ends_it(&rig);
    mistakes_are_named(&rig);
    every_item_is_a_task(&rig);
    hd_buffer_destroy(visits);
    hd_buffer_destroy(now);
    rig_tear_down(&rig);
    return 0;
}
