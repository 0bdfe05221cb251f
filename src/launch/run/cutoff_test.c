// The steps of a worker, as they happen: a task is taken and its cutoff tested;
// not met, it is divided and its parts are pushed; met, it is a leaf, on a unit
// of the worker if it has one that will do, else on the worker.
//
// What happens is recorded where the launch asks the predicate and where it
// gives a chunk to the backend.
#include <pthread.h>

#include "launch/run/cutoff.h"
#include "tests/launch/rig.h"

enum {
    GROUPS = 16,
    MAX_EVENTS = 4096
};

static const char source[] = "kernel void visit(global uint *visits)\n"
                             "{\n"
                             "    atomic_inc(&visits[get_global_id(0)]);\n"
                             "}\n"
                             "kernel void meet(global uint *visits)\n"
                             "{\n"
                             "    atomic_inc(&visits[get_global_id(0)]);\n"
                             "    hd_grid_barrier();\n"
                             "}\n";

enum what {
    DIVIDED, // tested, the cutoff is not met
    MET,     // tested, it is
    ON_UNIT, // a leaf
    HERE     // a leaf on the worker itself
};

struct event {
    enum what what;
    uint32_t first, groups;
};

static struct log {
    pthread_mutex_t lock;
    unsigned count;
    struct event event[MAX_EVENTS];
    struct rig *rig;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void record(enum what what, uint64_t first, uint64_t groups)
{
    pthread_mutex_lock(&seen.lock);
    CHECK(seen.count < MAX_EVENTS);
    seen.event[seen.count++] =
        (struct event){what, (uint32_t)first, (uint32_t)groups};
    pthread_mutex_unlock(&seen.lock);
}

static bool submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    const struct hdi_launcher *launcher = seen.rig->launcher;
    enum what what = HERE;

    for (unsigned i = 0; i < launcher->port_count; i++)
        if (launcher->ports[i].unit == unit)
            what = ON_UNIT;
    record(what, chunk->frame.first[0], chunk->frame.count[0]);
    return hdi_backend_find("cpu")->submit(unit, chunk);
}

static struct rig set_up(struct hd_pool_params pool,
                         struct hdi_device_params device)
{
    static struct hdi_backend recording;
    struct rig rig = rig_set_up(pool, device, source);

    recording = *hdi_backend_find("cpu");
    recording.submit = submit;
    rig.device->backend = &recording;
    return rig;
}

static struct rig set_up_one(unsigned units)
{
    return set_up((struct hd_pool_params){.workers = 1, .caller_only = true},
                  (struct hdi_device_params){.units = units});
}

static bool has_at_most(const struct hd_piece *piece, void *groups)
{
    bool met = piece->groups <= *(const uint64_t *)groups;

    CHECK(piece->groups == piece->count[0] * piece->count[1] * piece->count[2]);
    CHECK(piece->items == piece->groups); // of one each
    record(met ? MET : DIVIDED, piece->first[0], piece->groups);
    return met;
}

static struct hd_kernel *kernel_of(const struct rig *rig, const char *name)
{
    return (struct hd_kernel *)hd_program_find(rig->program, name);
}

static void launch(struct rig *rig, const struct hd_kernel *kernel,
                   uint64_t groups, struct hdi_terms terms)
{
    const struct hd_range range = {.dims = 1, .global = {groups}, .local = {1}};
    struct hd_buffer *visits;

    CHECK_OK(hdi_buffer_create(rig->launcher, groups * 4, &visits, &error),
             error);
    const struct hd_arg args[] = {HD_BUFFER(visits)};
    CHECK_OK(hdi_launch_with(rig->launcher,
                             &(struct hdi_request){kernel, &range, args, 1},
                             &terms, &error),
             error);
    const uint32_t *visit = hd_buffer_host(visits);
    for (uint64_t i = 0; i < groups; i++)
        CHECK(visit[i] == 1);
    hd_buffer_destroy(visits);
}

static void expect(const struct event *events, unsigned count)
{
    CHECK(seen.count == count);
    for (unsigned i = 0; i < count; i++) {
        CHECK(seen.event[i].what == events[i].what);
        CHECK(seen.event[i].first == events[i].first);
        CHECK(seen.event[i].groups == events[i].groups);
    }
}

static uint64_t tasks_of(const struct rig *rig)
{
    struct hd_worker_counters counters;

    hd_pool_counters(rig->pool, 0, &counters);
    return counters.tasks;
}

// One worker: tasks come in the order of serial execution. Nothing is known of
// what leaves cost that speaks against a unit.
static void expect_steps(struct rig *rig, const char *kernel,
                         struct hdi_terms terms, enum what leaf)
{
    uint64_t four = 4, before = tasks_of(rig);

    terms.is_leaf = has_at_most;
    terms.leaf_data = &four;
    if (leaf == ON_UNIT)
        atomic_store(&rig->launcher->giving, 0);
    seen.count = 0;
    seen.rig = rig;
    launch(rig, kernel_of(rig, kernel), GROUPS, terms);
    const struct event steps[] = {
        {DIVIDED, 0, 16}, {DIVIDED, 0, 8}, {MET, 0, 4},     {leaf, 0, 4},
        {MET, 4, 4},      {leaf, 4, 4},    {DIVIDED, 8, 8}, {MET, 8, 4},
        {leaf, 8, 4},     {MET, 12, 4},    {leaf, 12, 4},
    };
    expect(steps, sizeof(steps) / sizeof(steps[0]));
    CHECK(tasks_of(rig) == before + 2 * 3); // what was pushed
}

static void a_worker_without_units_runs_leaves_itself(void)
{
    struct rig rig = set_up_one(0);

    expect_steps(&rig, "visit", (struct hdi_terms){0}, HERE);
    rig_tear_down(&rig);
}

static void leaves_go_to_the_workers_unit(void)
{
    struct rig rig = set_up_one(1);
    const struct hdi_terms named = {.place = {HD_ON_UNIT, 0}};
    const struct hdi_terms workers = {.place = {.kind = HD_ON_WORKERS}};

    for (int round = 0; round < 20; round++)
        expect_steps(&rig, "visit", (struct hdi_terms){0}, ON_UNIT);
    expect_steps(&rig, "visit", named, ON_UNIT);
    expect_steps(&rig, "visit", workers, HERE); // the user says so
    CHECK_OK(hdi_launcher_detach(rig.launcher, 0, &error), error);
    expect_steps(&rig, "visit", (struct hdi_terms){0}, HERE);
    CHECK_OK(hdi_launcher_attach(rig.launcher, 0, &error), error);
    expect_steps(&rig, "visit", (struct hdi_terms){0}, ON_UNIT);
    rig_tear_down(&rig);
}

// Rows of leaves lie along the axis that the kernel says is fast.
static void leaves_are_rows_of_the_fast_axis(void)
{
    struct rig rig = set_up_one(0);
    struct hd_kernel *kernel = kernel_of(&rig, "visit");
    const struct hd_range range = {2, {4, 4}, .local = {1, 1}};
    uint64_t row = 4;
    const struct hdi_terms terms = {.is_leaf = has_at_most, .leaf_data = &row};
    struct hd_buffer *visits;

    seen.rig = &rig;
    CHECK_OK(hdi_buffer_create(rig.launcher, row * 4, &visits, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(visits)};
    const struct hdi_request request = {kernel, &range, args, 1};
    for (uint32_t axis = 0; axis < 2; axis++) {
        kernel->axis = axis;
        seen.count = 0;
        CHECK_OK(hdi_launch_with(rig.launcher, &request, &terms, &error),
                 error);
        for (unsigned i = 0, leaf = 0; i < seen.count; i++)
            if (seen.event[i].what == MET)
                CHECK(seen.event[i].first == (axis ? leaf++ : 0) &&
                      seen.event[i].groups == row);
    }
    CHECK(seen.count == 3 + 2 * 4);
    hd_buffer_destroy(visits);
    rig_tear_down(&rig);
}

// The kernel's leaves take less than giving them away.
static void the_cost_model_keeps_short_leaves(void)
{
    struct rig rig = set_up_one(1);
    struct hd_kernel *kernel = kernel_of(&rig, "visit");
    const struct hdi_terms named = {.place = {HD_ON_UNIT, 0}};

    atomic_store(&rig.launcher->giving, 1000000);
    atomic_store(&kernel->learned->item_time, 10 * HDI_TIME_UNIT);
    expect_steps(&rig, "visit", (struct hdi_terms){0}, HERE);
    expect_steps(&rig, "visit", named, ON_UNIT); // the user says otherwise
    atomic_store(&kernel->learned->item_time, 10 * HDI_TIME_UNIT);
    expect_steps(&rig, "visit", (struct hdi_terms){0}, ON_UNIT);
    rig_tear_down(&rig);
}

// Its work-groups wait for each other, so it is one leaf, and units have no
// code for it.
static void what_does_not_suit_a_unit_stays(void)
{
    struct rig rig = set_up_one(1);
    uint64_t four = 4;
    const struct event step = {HERE, 0, GROUPS};

    seen.count = 0;
    seen.rig = &rig;
    launch(&rig, kernel_of(&rig, "meet"), GROUPS,
           (struct hdi_terms){.is_leaf = has_at_most, .leaf_data = &four});
    expect(&step, 1);
    rig_tear_down(&rig);
}

// Leaves of the automatic cutoff, of a kernel whose groups take 4 us.
static void expect_leaves(struct rig *rig, uint64_t groups, enum what what,
                          struct hdi_terms terms)
{
    struct hd_kernel *kernel = kernel_of(rig, "visit");

    atomic_store(&kernel->learned->item_time, 4000 * HDI_TIME_UNIT);
    seen.count = 0;
    seen.rig = rig;
    launch(rig, kernel, 256, terms);
    CHECK(seen.count == 256 / groups);
    for (unsigned i = 0; i < seen.count; i++) {
        CHECK(seen.event[i].what == what);
        CHECK(seen.event[i].first == i * groups);
        CHECK(seen.event[i].groups == groups);
    }
}

static void the_automatic_cutoff_comes_from_what_was_measured(void)
{
    struct rig rig = set_up_one(0);
    const struct hdi_terms workers = {.place = {.kind = HD_ON_WORKERS}};
    const struct hdi_terms unit = {.place = {HD_ON_UNIT, 0}};

    CHECK(rig.launcher->division > 0);
    rig.launcher->division = 64; // 32 us
    expect_leaves(&rig, 8, HERE, (struct hdi_terms){0});
    rig.launcher->division = 32;
    expect_leaves(&rig, 4, HERE, (struct hdi_terms){0});
    rig.launcher->division = 1; // not less than is sane
    expect_leaves(&rig, 2, HERE, (struct hdi_terms){0});
    kernel_of(&rig, "visit")->together = 16; // lanes, of a work-item each
    expect_leaves(&rig, 16, HERE, (struct hdi_terms){0});
    kernel_of(&rig, "visit")->together = 64; // but each worker has its share
    expect_leaves(&rig, 32, HERE, (struct hdi_terms){0});
    kernel_of(&rig, "visit")->together = 0;
    rig.launcher->division = 100000;
    expect_leaves(&rig, 32, HERE, (struct hdi_terms){0});
    rig_tear_down(&rig);

    rig = set_up_one(1);
    rig.launcher->division = 32;
    atomic_store(&rig.launcher->giving, 0);
    expect_leaves(&rig, 4, ON_UNIT, unit);
    atomic_store(&rig.launcher->giving, 32);
    expect_leaves(&rig, 8, ON_UNIT, unit);
    atomic_store(&rig.launcher->giving, 32);
    expect_leaves(&rig, 4, HERE, workers);
    CHECK(hdi_cutoff_hand_over(rig.launcher) > 0);
    for (int i = 0; i < 100; i++) // interrupted
        hdi_cutoff_learn(rig.launcher, 1000000000);
    CHECK(hdi_cutoff_hand_over(rig.launcher) <= 10000);
    for (int i = 0; i < 100; i++)
        hdi_cutoff_learn(rig.launcher, 0);
    CHECK(hdi_cutoff_hand_over(rig.launcher) < 20);
    rig_tear_down(&rig);
}

// On any number of workers, whoever else wants them.
static bool is_odd(const struct hd_piece *piece, void *data)
{
    uint64_t hash = (piece->first[0] + 1) * 0x9e3779b97f4a7c15u >> 60;

    (void)data;
    record(piece->groups < 64 && hash % 2 ? MET : DIVIDED, piece->first[0],
           piece->groups);
    return piece->groups < 64 && hash % 2;
}

static unsigned find(enum what what, uint32_t first, uint32_t groups)
{
    unsigned found = 0;

    for (unsigned i = 0; i < seen.count; i++)
        found += seen.event[i].what == what && seen.event[i].first == first &&
                 seen.event[i].groups == groups;
    return found;
}

// Every piece was asked about once, halved if it was too large, else run.
static void check_tree(uint32_t first, uint32_t groups)
{
    bool divided = find(DIVIDED, first, groups);

    if (groups > 1)
        CHECK(find(DIVIDED, first, groups) + find(MET, first, groups) == 1);
    CHECK(find(HERE, first, groups) + find(ON_UNIT, first, groups) == !divided);
    if (divided) {
        check_tree(first, groups / 2);
        check_tree(first + groups / 2, groups - groups / 2);
    }
}

static void every_task_takes_these_steps(void)
{
    static const unsigned workers[] = {1, 2, 4};

    for (unsigned i = 0; i < 6; i++) {
        struct rig rig =
            set_up((struct hd_pool_params){.workers = workers[i / 2]},
                   (struct hdi_device_params){.units = i % 2});
        seen.count = 0;
        seen.rig = &rig;
        launch(&rig, kernel_of(&rig, "visit"), 300,
               (struct hdi_terms){
                   .is_leaf = is_odd,
                   .place = {.kind = i % 2 ? HD_ON_UNIT : HD_ANYWHERE}});
        check_tree(0, 300);
        rig_tear_down(&rig);
    }
}

static void *launch_often(void *data)
{
    struct rig *rig = data;

    for (int i = 0; i < 20; i++)
        launch(rig, kernel_of(rig, "visit"), 100,
               (struct hdi_terms){.is_leaf = is_odd});
    return NULL;
}

// The broker gives pieces; the cutoff is tested all the same.
static void launches_that_share_the_workers_ask_too(void)
{
    struct rig rig = set_up((struct hd_pool_params){.workers = 2},
                            (struct hdi_device_params){0});
    pthread_t thread[2];

    seen.count = 0;
    seen.rig = &rig;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, launch_often, &rig) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < seen.count; i++)
        if (seen.event[i].what == HERE && seen.event[i].groups > 1)
            CHECK(find(MET, seen.event[i].first, seen.event[i].groups) > 0);
    rig_tear_down(&rig);
}

static bool gives_up(const struct hd_piece *piece, void *cancel)
{
    record(DIVIDED, piece->first[0], piece->groups);
    atomic_store((atomic_bool *)cancel, piece->groups == GROUPS / 2);
    return false;
}

static void nobody_is_asked_about_what_is_cancelled(void)
{
    struct rig rig = set_up_one(0);
    const struct hd_range range = {.dims = 1, .global = {GROUPS}, .local = {1}};
    const struct event steps[] = {{DIVIDED, 0, 16}, {DIVIDED, 0, 8}};
    atomic_bool cancel = false;
    const struct hdi_terms terms = {
        .cancel = &cancel, .is_leaf = gives_up, .leaf_data = &cancel};
    const struct hd_arg args[] = {HD_BUFFER(NULL)};

    seen.count = 0;
    seen.rig = &rig;
    CHECK(hdi_launch_with(
              rig.launcher,
              &(struct hdi_request){kernel_of(&rig, "visit"), &range, args, 1},
              &terms, &error) == HD_ECANCELED);
    expect(steps, 2);
    rig_tear_down(&rig);
}

int main(void)
{
    a_worker_without_units_runs_leaves_itself();
    leaves_go_to_the_workers_unit();
    leaves_are_rows_of_the_fast_axis();
    the_cost_model_keeps_short_leaves();
    what_does_not_suit_a_unit_stays();
    the_automatic_cutoff_comes_from_what_was_measured();
    every_task_takes_these_steps();
    launches_that_share_the_workers_ask_too();
    nobody_is_asked_about_what_is_cancelled();
    return 0;
}
