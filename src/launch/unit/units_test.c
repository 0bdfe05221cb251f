// Launches on units of their own threads: how they are dealt to workers, leave,
// come back, hang, and are named.
#include <pthread.h>

#include "tests/launch/rig.h"

static const char source[] =
    "kernel void visit(global uint *visits)\n"
    "{\n"
    "    atomic_inc(&visits[get_global_id(0)]);\n"
    "}\n"
    "kernel void hang(global uint *word, global uint *visits, uint which)\n"
    "{\n"
    "    atomic_inc(&visits[get_global_id(0)]);\n"
    "    if (get_global_id(0) == which)\n"
    "        while (atomic_add(word, 0) == 0)\n"
    "            ;\n"
    "}\n"
    "kernel void produce(global uint *cell, uint n)\n"
    "{\n"
    "    for (uint i = 1; i <= n; i++) {\n"
    "        while (atomic_add(cell, 0) != 0)\n"
    "            ;\n"
    "        atomic_xchg(cell, i);\n"
    "    }\n"
    "}\n"
    "kernel void consume(global uint *cell, uint n)\n"
    "{\n"
    "    for (uint i = 1; i <= n; i++) {\n"
    "        while (atomic_add(cell, 0) != i)\n"
    "            ;\n"
    "        cell[1] += i;\n"
    "        atomic_xchg(cell, 0);\n"
    "    }\n"
    "}\n"
    "kernel void meet(global uint *words, uint n)\n"
    "{\n"
    "    if (get_local_id(0) != 0)\n"
    "        return;\n"
    "    atomic_inc(&words[0]);\n"
    "    for (uint i = 0; atomic_add(&words[0], 0) != n; i++)\n"
    "        if (i == 1u << 30) {\n"
    "            atomic_inc(&words[1]);\n"
    "            return;\n"
    "        }\n"
    "}\n"
    "kernel void stray(global uint *cell, uint n)\n"
    "{\n"
    "    while (atomic_add(cell, 0) == 0)\n"
    "        ;\n"
    "    cell[1ul << 33] = n;\n"
    "}\n"
    "kernel void stray_at(global uint *cells, uint which)\n"
    "{\n"
    "    uint i = get_global_id(0);\n"
    "    cells[i == which ? 1ul << 33 : i] = i;\n"
    "}\n";

static struct rig set_up(unsigned workers, struct hdi_device_params params)
{
    return rig_set_up((struct hd_pool_params){.workers = workers}, params,
                      source);
}

enum {
    ITEMS = 20000
};

static struct hd_range range_of(uint64_t local)
{
    return (struct hd_range){.dims = 1, .global = {ITEMS}, .local = {local}};
}

static void visit_all(struct rig *rig, struct hdi_place place)
{
    struct hd_buffer *buffer;
    struct hd_range range = range_of(16);

    CHECK_OK(hdi_buffer_create(rig->launcher, ITEMS * 4, &buffer, &error),
             error);
    struct hd_arg arg = {.is = HD_IS_BUFFER, .buffer = buffer};
    const struct hdi_terms terms = {.place = place};
    CHECK_OK(hdi_launch_with(
                 rig->launcher,
                 &(struct hdi_request){hd_program_find(rig->program, "visit"),
                                       &range, &arg, 1},
                 &terms, &error),
             error);
    const uint32_t *visits = hd_buffer_host(buffer);
    for (int i = 0; i < ITEMS; i++)
        CHECK(visits[i] == 1);
    hd_buffer_destroy(buffer);
}

static const struct hdi_place anywhere = {.kind = HD_ANYWHERE};

static uint64_t leaves_of(const struct rig *rig, unsigned unit)
{
    struct hd_unit_counters counters;

    CHECK_OK(hdi_launcher_count(rig->launcher, unit, &counters, &error), error);
    CHECK(counters.worker == unit % hd_pool_workers(rig->pool));
    return counters.leaves;
}

static void every_group_runs_once_on_units(void)
{
    static const struct {
        unsigned workers;
        struct hdi_device_params params;
    } shapes[] = {
        {1, {.units = 1}},
        {1, {.units = 3}},
        {2, {.units = 1, .unit_cores = 2}},
        {3, {.units = 2}},
        {2, {.units = 3, .doorbell = true}},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct rig rig = set_up(shapes[i].workers, shapes[i].params);
        for (int round = 0; round < 20; round++) {
            // On a busy machine, giving leaves away may be found to take longer
            // than running them.
            atomic_store(&rig.launcher->giving, 0);
            visit_all(&rig, anywhere);
        }
        uint64_t leaves = 0;
        for (unsigned unit = 0; unit < rig.launcher->port_count; unit++)
            leaves += leaves_of(&rig, unit);
        // One worker may run all of it, and have no unit.
        CHECK(leaves > 0 || shapes[i].params.units < shapes[i].workers);
        // Anywhere means where there is room, which may always be the same.
        for (unsigned unit = 0; unit < rig.launcher->port_count; unit++) {
            visit_all(&rig, (struct hdi_place){HD_ON_UNIT, unit});
            CHECK(leaves_of(&rig, unit) > 0);
        }
        rig_tear_down(&rig);
    }
}

// One worker has them all, and a launch of several leaves reaches each.
static void units_are_dealt_to_workers_like_cards(void)
{
    struct rig rig = set_up(1, (struct hdi_device_params){.units = 3});

    visit_all(&rig, anywhere);
    for (unsigned unit = 0; unit < 3; unit++)
        CHECK(leaves_of(&rig, unit) > 0);
    rig_tear_down(&rig);
}

static bool is_always(const struct hd_piece *piece, void *data)
{
    (void)piece, (void)data;
    return true;
}

// One worker has three units and one leaf, of three work-groups. Each waits for
// the two others, so they are on three units at the same time.
static void a_long_leaf_is_divided_among_idle_units(void)
{
    enum {
        UNITS = 3,
        LOCAL = 16
    };
    struct rig rig = set_up(1, (struct hdi_device_params){.units = UNITS});
    const struct hd_range range = {
        .dims = 1, .global = {UNITS * LOCAL}, .local = {LOCAL}};
    const struct hdi_terms terms = {.is_leaf = is_always};
    const uint32_t units = UNITS;
    struct hd_buffer *words;

    CHECK_OK(hdi_buffer_create(rig.launcher, 8, &words, &error), error);
    const struct hd_arg args[] = {{.is = HD_IS_BUFFER, .buffer = words},
                                  HD_VALUE(units)};
    const struct hdi_request request = {hd_program_find(rig.program, "meet"),
                                        &range, args, 2};
    CHECK_OK(hdi_launch_with(rig.launcher, &request, &terms, &error), error);
    const uint32_t *met = hd_buffer_host(words);
    CHECK(met[0] == UNITS && met[1] == 0);
    for (unsigned unit = 0; unit < UNITS; unit++)
        CHECK(leaves_of(&rig, unit) == 1);
    hd_buffer_destroy(words);
    rig_tear_down(&rig);
}

static void a_leaf_is_cut_into_equal_parts(void)
{
    for (uint32_t parts = 2; parts < 9; parts++)
        for (uint32_t groups = 2; groups < 100; groups++) {
            struct hdi_box rest = {.first = {5, 6, 7}, .count = {1, groups, 1}};
            uint32_t at = 6, pieces = parts < groups ? parts : groups;
            for (uint32_t left = pieces; left > 0; left--) {
                struct hdi_box part =
                    left > 1 ? hdi_box_cut(&rest, left) : rest;
                CHECK(part.first[0] == 5 && part.first[1] == at &&
                      part.first[2] == 7);
                CHECK(part.count[1] == groups / pieces ||
                      part.count[1] == groups / pieces + 1);
                at += part.count[1];
            }
            CHECK(at == 6 + groups);
        }
}

// The cores of a unit have parts of a leaf: whichever it is that fails, with
// all others done, the launch fails and names the work-item.
static void one_failing_part_fails_the_launch(bool doorbell)
{
    enum {
        GROUPS = 12,
        LOCAL = 16
    };
    struct rig rig =
        set_up(1, (struct hdi_device_params){
                      .units = 1, .unit_cores = 3, .doorbell = doorbell});
    const struct hd_range range = {
        .dims = 1, .global = {GROUPS * LOCAL}, .local = {LOCAL}};
    const struct hdi_place unit = {HD_ON_UNIT, 0};
    const struct hdi_terms terms = {.place = unit};
    struct hd_buffer *cells;

    CHECK_OK(
        hdi_buffer_create(rig.launcher, GROUPS * LOCAL * 4, &cells, &error),
        error);
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint32_t which = group * LOCAL + 3;
        const struct hd_arg args[] = {{.is = HD_IS_BUFFER, .buffer = cells},
                                      HD_VALUE(which)};
        const struct hdi_request request = {
            hd_program_find(rig.program, "stray_at"), &range, args, 2};
        char item[80];
        snprintf(item, sizeof(item),
                 "work-item (%u, 0, 0) of work-group (%u, 0, 0)", which, group);
        CHECK_FAILS(hdi_launch_with(rig.launcher, &request, &terms, &error),
                    HD_EFAULT, error, item);
    }
    hd_buffer_destroy(cells);
    visit_all(&rig, unit);
    rig_tear_down(&rig);
}

static void a_named_unit_runs_it_alone(void)
{
    struct rig rig = set_up(2, (struct hdi_device_params){.units = 3});

    visit_all(&rig, (struct hdi_place){HD_ON_UNIT, 2});
    CHECK(leaves_of(&rig, 2) > 0);
    CHECK(leaves_of(&rig, 0) == 0 && leaves_of(&rig, 1) == 0);
    for (unsigned i = 0; i < 3; i++)
        rig.launcher->ports[i].module = i / 2; // units 0 and 1, unit 2
    uint64_t before = leaves_of(&rig, 2);
    visit_all(&rig, (struct hdi_place){HD_ON_MODULE_OF, 1});
    CHECK(leaves_of(&rig, 0) + leaves_of(&rig, 1) > 0);
    CHECK(leaves_of(&rig, 2) == before);

    struct hd_range range = range_of(16);
    const struct hdi_terms nowhere = {.place = {HD_ON_UNIT, 3}};
    CHECK_FAILS(hdi_launch_with(
                    rig.launcher,
                    &(struct hdi_request){hd_program_find(rig.program, "visit"),
                                          &range, NULL, 0},
                    &nowhere, &error),
                HD_ENODEV, error, "unit 3");
    rig_tear_down(&rig);
}

struct flicker {
    struct rig *rig;
    atomic_bool stop;
};

static void *flick(void *data)
{
    struct flicker *f = data;
    struct hd_error e;

    for (unsigned i = 0; !atomic_load(&f->stop); i++) {
        CHECK(hdi_launcher_detach(f->rig->launcher, i % 2, &e) == HD_OK);
        CHECK(hdi_launcher_attach(f->rig->launcher, i % 2, &e) == HD_OK);
    }
    return NULL;
}

static void units_leave_and_come_back_while_running(void)
{
    struct rig rig = set_up(2, (struct hdi_device_params){.units = 2});
    struct flicker flicker = {.rig = &rig};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, flick, &flicker) == 0);
    for (int round = 0; round < 100; round++)
        visit_all(&rig, anywhere);
    atomic_store(&flicker.stop, true);
    pthread_join(thread, NULL);
    // All gone: workers run leaves themselves.
    for (unsigned i = 0; i < 2; i++)
        CHECK_OK(hdi_launcher_detach(rig.launcher, i, &error), error);
    uint64_t before = leaves_of(&rig, 0) + leaves_of(&rig, 1);
    visit_all(&rig, anywhere);
    CHECK(leaves_of(&rig, 0) + leaves_of(&rig, 1) == before);
    CHECK_FAILS(hdi_launcher_attach(rig.launcher, 2, &error), HD_ENOENT, error,
                "unit 2");
    rig_tear_down(&rig);
}

// Launches that share units go by the broker, whose pieces end when the unit
// has, refuses or loses them.
struct sharer {
    struct rig *rig;
    atomic_bool stop;
    pthread_t thread;
};

static void *share(void *data)
{
    struct sharer *s = data;

    while (!atomic_load(&s->stop))
        visit_all(s->rig, anywhere);
    return NULL;
}

static void begin_to_share(struct sharer *s, struct rig *rig)
{
    *s = (struct sharer){.rig = rig};
    CHECK(pthread_create(&s->thread, NULL, share, s) == 0);
}

static void end_sharing(struct sharer *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
}

static uint64_t leaves_of_all(const struct rig *rig)
{
    uint64_t leaves = 0;

    for (unsigned i = 0; i < rig->launcher->port_count; i++)
        leaves += leaves_of(rig, i);
    return leaves;
}

// Until the broker has had pieces, and the units too, unless they cost more
// than they are worth.
static void visit_shared(struct rig *rig)
{
    uint64_t given = hdi_broker_given(rig->launcher->broker);
    uint64_t leaves = leaves_of_all(rig);

    for (int round = 0;
         round < 20 ||
         (round < 500 && (hdi_broker_given(rig->launcher->broker) == given ||
                          leaves_of_all(rig) == leaves));
         round++)
        visit_all(rig, anywhere);
}

static void launches_share_units_that_leave(void)
{
    struct rig rig = set_up(3, (struct hdi_device_params){.units = 2});
    struct flicker flicker = {.rig = &rig};
    struct sharer sharer;
    pthread_t thread;

    begin_to_share(&sharer, &rig);
    visit_shared(&rig);
    CHECK(pthread_create(&thread, NULL, flick, &flicker) == 0);
    visit_shared(&rig);
    atomic_store(&flicker.stop, true);
    pthread_join(thread, NULL);
    visit_shared(&rig);
    end_sharing(&sharer);
    rig_tear_down(&rig);
}

struct hanging {
    struct hd_buffer *word, *visits;
    struct hd_arg args[3];
};

static const uint32_t hanging_item = 40;

static void make_hanging(struct rig *rig, struct hanging *h)
{
    CHECK_OK(hdi_buffer_create(rig->launcher, 4, &h->word, &error), error);
    CHECK_OK(hdi_buffer_create(rig->launcher, ITEMS * 4, &h->visits, &error),
             error);
    h->args[0] = (struct hd_arg){.is = HD_IS_BUFFER, .buffer = h->word};
    h->args[1] = (struct hd_arg){.is = HD_IS_BUFFER, .buffer = h->visits};
    h->args[2] = (struct hd_arg)HD_VALUE(hanging_item);
}

static void hang(struct rig *rig, struct hanging *h)
{
    struct hd_range range = range_of(16);

    CHECK_FAILS(
        hdi_launch(rig->launcher,
                   &(struct hdi_request){hd_program_find(rig->program, "hang"),
                                         &range, h->args, 3},
                   NULL, HD_PRIORITY_NORMAL, &error),
        HD_ETIMEOUT, error, "hang");
}

static void let_go(struct hanging *h)
{
    atomic_store((_Atomic uint32_t *)hd_buffer_host(h->word), 1);
}

static void free_hanging(struct hanging *h)
{
    hd_buffer_destroy(h->visits);
    hd_buffer_destroy(h->word);
}

static void a_hanging_leaf_fails_its_launch_and_no_other(void)
{
    struct rig rig = set_up(
        1, (struct hdi_device_params){.units = 1, .unit_timeout = 300000000});
    struct hanging hanging;

    make_hanging(&rig, &hanging);
    hang(&rig, &hanging);
    visit_all(&rig, anywhere); // the worker alone
    CHECK_FAILS(hdi_launcher_attach(rig.launcher, 0, &error), HD_ELIMIT, error,
                "hangs");
    let_go(&hanging);
    while (hdi_launcher_attach(rig.launcher, 0, &error) != HD_OK)
        ;
    uint64_t before = leaves_of(&rig, 0);
    visit_all(&rig, anywhere);
    CHECK(leaves_of(&rig, 0) > before);
    free_hanging(&hanging);
    rig_tear_down(&rig);
}

// What the other launch had on the unit that hangs runs elsewhere.
static void a_hanging_leaf_fails_no_launch_beside_it(void)
{
    struct rig rig = set_up(
        2, (struct hdi_device_params){.units = 2, .unit_timeout = 300000000});
    struct sharer sharer;
    struct hanging hanging;

    make_hanging(&rig, &hanging);
    begin_to_share(&sharer, &rig);
    visit_shared(&rig);
    hang(&rig, &hanging);
    let_go(&hanging);
    for (unsigned i = 0; i < 2; i++)
        while (hdi_launcher_attach(rig.launcher, i, &error) != HD_OK)
            ;
    visit_shared(&rig);
    end_sharing(&sharer);
    free_hanging(&hanging);
    rig_tear_down(&rig);
}

// Gangs -----------------------------------------------------------------------

enum {
    NUMBERS = 40
};

// Two kernels that wait for each other at every number.
static hd_status exchange(struct rig *rig, const char *const names[2],
                          const unsigned units[2], struct hdi_terms terms,
                          struct hd_error *e)
{
    struct hd_buffer *cell;
    const struct hd_range one = {.dims = 1, .global = {1}};
    uint32_t numbers = NUMBERS;

    CHECK_OK(hdi_buffer_create(rig->launcher, 8, &cell, e), *e);
    struct hd_arg args[] = {{.is = HD_IS_BUFFER, .buffer = cell},
                            HD_VALUE(numbers)};
    struct hdi_member parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = (struct hdi_member){
            {hd_program_find(rig->program, names[i]), &one, args, 2},
            units ? units[i] : 0};
    hd_status status = hdi_launch_gang(rig->launcher, parts, 2, &terms, e);
    const uint32_t *result = hd_buffer_host(cell);
    if (status == HD_OK)
        CHECK(result[1] == NUMBERS * (NUMBERS + 1) / 2);
    hd_buffer_destroy(cell);
    return status;
}

static const char *const pair[] = {"produce", "consume"};

static hd_status exchange_at(struct rig *rig, enum hd_place kind, unsigned unit)
{
    const struct hdi_terms terms = {.place = {kind, unit}};
    return exchange(rig, pair, NULL, terms, &error);
}

static void members_of_a_gang_run_at_the_same_time(void)
{
    struct rig rig = set_up(1, (struct hdi_device_params){.units = 3});
    const struct hdi_terms named = {.place = {.kind = HD_ON_UNIT}};
    const unsigned apart[] = {2, 0}, same[] = {1, 1}, none[] = {1, 3};

    for (int i = 0; i < 5; i++)
        CHECK_OK(exchange_at(&rig, HD_ANYWHERE, 0), error);
    uint64_t middle = leaves_of(&rig, 1), last = leaves_of(&rig, 2);
    CHECK_OK(exchange(&rig, pair, apart, named, &error), error);
    CHECK(leaves_of(&rig, 1) == middle && leaves_of(&rig, 2) == last + 1);
    CHECK_FAILS(exchange(&rig, pair, same, named, &error), HD_EINVAL, error,
                "two members of a gang are to run on unit 1");
    CHECK_FAILS(exchange(&rig, pair, none, named, &error), HD_ENODEV, error,
                "unit 3");

    for (unsigned i = 0; i < 3; i++)
        rig.launcher->ports[i].module = i / 2; // units 0 and 1, unit 2
    last = leaves_of(&rig, 2);
    CHECK_OK(exchange_at(&rig, HD_ON_MODULE_OF, 1), error);
    CHECK(leaves_of(&rig, 2) == last);
    CHECK_OK(exchange_at(&rig, HD_ON_DISTINCT_MODULES, 0), error);
    CHECK(leaves_of(&rig, 2) == last + 1);
    CHECK_FAILS(exchange_at(&rig, HD_ON_MODULE_OF, 2), HD_ENODEV, error,
                "there are 1");
    CHECK_OK(hdi_launcher_detach(rig.launcher, 2, &error), error);
    CHECK_FAILS(exchange_at(&rig, HD_ON_DISTINCT_MODULES, 0), HD_ENODEV, error,
                "there are 1");
    visit_all(&rig, anywhere); // nothing stays reserved
    visit_all(&rig, (struct hdi_place){HD_ON_UNIT, 0});
    rig_tear_down(&rig);
}

static void a_gang_without_units_has_workers(void)
{
    struct rig rig = set_up(2, (struct hdi_device_params){.units = 0});

    for (int i = 0; i < 5; i++)
        CHECK_OK(exchange_at(&rig, HD_ANYWHERE, 0), error);
    CHECK_OK(exchange_at(&rig, HD_ON_MODULE_OF, 1), error);
    CHECK_FAILS(exchange_at(&rig, HD_ON_UNIT, 0), HD_ENODEV, error, "unit 0");
    rig_tear_down(&rig);
    rig = set_up(1, (struct hdi_device_params){.units = 0});
    CHECK_FAILS(exchange_at(&rig, HD_ANYWHERE, 0), HD_ELIMIT, error,
                "gang of 2");
    rig_tear_down(&rig);
}

static void *exchange_often(void *data)
{
    struct hd_error e;

    for (int i = 0; i < 10; i++)
        CHECK_OK(exchange(data, pair, NULL, (struct hdi_terms){0}, &e), e);
    return NULL;
}

// Each needs all units, and another launch wants them too.
static void gangs_at_the_same_time_do_not_block_each_other(void)
{
    struct rig rig = set_up(2, (struct hdi_device_params){.units = 2});
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, exchange_often, &rig) == 0);
    for (int i = 0; i < 10; i++)
        visit_all(&rig, i % 2 ? anywhere : (struct hdi_place){HD_ON_UNIT, 1});
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    rig_tear_down(&rig);
}

static void units_may_leave_between_gangs(void)
{
    struct rig rig = set_up(1, (struct hdi_device_params){.units = 2});
    struct flicker flicker = {.rig = &rig};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, flick, &flicker) == 0);
    for (int i = 0; i < 30; i++) {
        hd_status status = exchange_at(&rig, HD_ANYWHERE, 0);
        CHECK(status == HD_OK || status == HD_ENODEV);
    }
    atomic_store(&flicker.stop, true);
    pthread_join(thread, NULL);
    CHECK_OK(exchange_at(&rig, HD_ANYWHERE, 0), error);
    rig_tear_down(&rig);
}

struct canceller {
    struct rig *rig;
    struct hd_group *group;
};

static void *cancel_soon(void *data)
{
    struct canceller *c = data;

    while (leaves_of(c->rig, 0) == 0 &&
           !atomic_load(&c->rig->launcher->forming))
        ;
    hd_group_cancel(c->rig->pool, c->group);
    return NULL;
}

static void one_failure_ends_all(unsigned units)
{
    static const char *const failing[] = {"stray", "produce"};
    static const char *const endless[] = {"consume", "consume"};
    struct rig rig = set_up(2, (struct hdi_device_params){.units = units});
    struct hd_group group;
    const struct hdi_terms terms = {.group = &group};
    const struct hdi_terms limited = {.time_limit = 20000000};

    CHECK_FAILS(exchange(&rig, failing, NULL, (struct hdi_terms){0}, &error),
                HD_EFAULT, error, "work-item (0, 0, 0) of work-group");
    CHECK_FAILS(exchange(&rig, endless, NULL, limited, &error), HD_ETIMEOUT,
                error, "time limit");
    hd_group_init(&group);
    hd_group_cancel(rig.pool, &group);
    CHECK(exchange(&rig, endless, NULL, terms, &error) == HD_ECANCELED);
    if (units > 0) {
        struct canceller canceller = {&rig, &group};
        pthread_t thread;
        hd_group_init(&group);
        CHECK(pthread_create(&thread, NULL, cancel_soon, &canceller) == 0);
        CHECK(exchange(&rig, endless, NULL, terms, &error) == HD_ECANCELED);
        pthread_join(thread, NULL);
    }
    CHECK_OK(exchange_at(&rig, HD_ANYWHERE, 0), error);
    rig_tear_down(&rig);
}

int main(void)
{
    members_of_a_gang_run_at_the_same_time();
    a_gang_without_units_has_workers();
    gangs_at_the_same_time_do_not_block_each_other();
    units_may_leave_between_gangs();
    for (unsigned units = 0; units <= 2 && !HOLDS_SIGNALS; units += 2)
        one_failure_ends_all(units);
    every_group_runs_once_on_units();
    units_are_dealt_to_workers_like_cards();
    a_leaf_is_cut_into_equal_parts();
    a_long_leaf_is_divided_among_idle_units();
    for (int doorbell = 0; doorbell < 2 && !HOLDS_SIGNALS; doorbell++)
        one_failing_part_fails_the_launch(doorbell);
    a_named_unit_runs_it_alone();
    units_leave_and_come_back_while_running();
    launches_share_units_that_leave();
    a_hanging_leaf_fails_its_launch_and_no_other();
    a_hanging_leaf_fails_no_launch_beside_it();
    return 0;
}
