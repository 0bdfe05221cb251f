// Redistributions that are started and not waited for: they begin when what
// they come after has ended, on all processes, go on while these compute, and
// end on all with the same status. Started by mpirun it is the same.
#include <sched.h>

#include "heddle/agile.h"
#include "heddle/task.h"
#include "tests/check.h"

enum {
    SIDE = 30,
    GATES = 4
};

static struct hd_error error;
static struct hd_cluster *cluster;
static struct hd_pool *pool;
static struct hd_map *rows, *tiles;
static bool messages; // only, and one node per process

static bool is_last(void)
{
    return hd_cluster_process(cluster) + 1 == hd_cluster_processes(cluster);
}

static struct hd_map *parse(const char *words)
{
    char text[64];
    struct hd_map *map;

    snprintf(text, sizeof(text), words, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

static struct hd_field *field_of(const struct hd_map *map)
{
    struct hd_field *field;

    CHECK_OK(hd_field_create(cluster, 8, map, &field, &error), error);
    return field;
}

// Call `visit` for every element of this process's nodes.
static void each(struct hd_field *field,
                 void (*visit)(uint64_t *element, int64_t i, int64_t j,
                               uint64_t base),
                 uint64_t base)
{
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            int64_t index[] = {i, j};
            struct hd_tile tile;

            if (!hd_field_segment(field, index, &tile))
                continue;
            visit((uint64_t *)tile.data +
                      (i - tile.grid.offset[0]) * tile.step[0] +
                      (j - tile.grid.offset[1]) * tile.step[1],
                  i, j, base);
        }
}

static void give(uint64_t *element, int64_t i, int64_t j, uint64_t base)
{
    *element = base ? base + (uint64_t)(i * SIDE + j) : 0;
}

static void compare(uint64_t *element, int64_t i, int64_t j, uint64_t base)
{
    CHECK(*element == (base ? base + (uint64_t)(i * SIDE + j) : 0));
}

static void compare_transposed(uint64_t *element, int64_t i, int64_t j,
                               uint64_t base)
{
    compare(element, j, i, base);
}

static hd_event start_after(struct hd_field *to, struct hd_field *from,
                            hd_event after)
{
    struct hd_start start = {.after = &after, .after_count = 1};
    struct hd_view view = hd_view_field(from);
    hd_event event;

    CHECK_OK(hd_field_assign_start(pool, &start, to, &view, &event, &error),
             error);
    return event;
}

static hd_event gate(void)
{
    hd_event event;

    CHECK_OK(hd_event_create(pool, &event, &error), error);
    return event;
}

static void open_gate(hd_event event)
{
    CHECK_OK(hd_event_end(pool, event, HD_OK, NULL, &error), error);
    hd_event_release(pool, event);
}

static void await(hd_event event)
{
    CHECK_OK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), error);
    hd_event_release(pool, event);
}

// What a call does with a field, when others have ended.
struct work {
    struct hd_field *field;
    void (*visit)(uint64_t *element, int64_t i, int64_t j, uint64_t base);
    uint64_t base;
    bool fails;
};

static hd_status do_work(struct hd_worker *worker, void *data,
                         struct hd_error *why)
{
    struct work *work = data;

    (void)worker;
    each(work->field, work->visit, work->base);
    if (work->fails)
        snprintf(why->text, sizeof(why->text), "the disk is broken");
    return work->fails ? HD_EIO : HD_OK;
}

static hd_event call_after(struct work *work, hd_event after)
{
    struct hd_start start = {.after = &after, .after_count = 1};
    struct hd_call call = {.function = do_work, .data = work};
    hd_event event;

    CHECK_OK(hd_call_start(pool, &start, &call, &event, &error), error);
    return event;
}

// Nothing begins before what it comes after has ended; everything after it sees
// the elements.
static void they_run_in_order(void)
{
    struct hd_field *a = field_of(rows), *b = field_of(tiles),
                    *c = field_of(rows);
    struct work fill = {a, give, 1000, false};
    struct work check_a = {a, compare, 1000, false};
    struct work check_b = {b, compare, 1000, false};
    struct work check_c = {c, compare, 1000, false};
    struct hd_cluster_counters counters;
    hd_event begin = gate(), event[6];

    hd_cluster_reset_counters(cluster);
    event[0] = call_after(&fill, begin);
    event[1] = start_after(b, a, event[0]);
    event[2] = call_after(&check_b, event[1]);
    event[3] = start_after(c, b, event[2]);
    event[4] = call_after(&check_c, event[3]);
    event[5] = call_after(&check_a, event[4]);
    for (unsigned i = 0; i < 6; i++)
        CHECK(hd_event_state(pool, event[i]) == HD_EVENT_WAITS);
    each(b, compare, 0);
    open_gate(begin);
    await(event[5]);
    each(b, compare, 1000);
    each(c, compare, 1000);
    hd_cluster_counters(cluster, &counters);
    CHECK(counters.moved % 8 == 0);
    if (hd_cluster_nodes(cluster) > 1)
        CHECK(counters.moved > 0);
    if (messages)
        CHECK(counters.received == counters.moved && counters.messages > 0);
    for (unsigned i = 0; i < 5; i++)
        hd_event_release(pool, event[i]);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
}

// On each process they begin in another order, and none waits for another;
// blocking calls go on beside them.
static void order_may_differ(void)
{
    struct hd_field *a = field_of(rows), *b[GATES], *c = field_of(tiles);
    struct hd_view of_a = hd_view_field(a), turned;
    hd_event begin[GATES], event[GATES];
    uint32_t me = hd_cluster_process(cluster);

    each(a, give, 7);
    CHECK_OK(hd_view_transpose(&of_a, (unsigned[]){1, 0}, &turned, &error),
             error);
    CHECK_OK(hd_cluster_meet(cluster, &error), error);
    for (unsigned i = 0; i < GATES; i++) {
        b[i] = field_of(i % 2 ? rows : tiles);
        begin[i] = gate();
        struct hd_start start = {.after = &begin[i], .after_count = 1};
        CHECK_OK(hd_field_assign_start(pool, &start, b[i],
                                       i % 2 ? &turned : &of_a, &event[i],
                                       &error),
                 error);
    }
    CHECK_OK(hd_field_assign(c, &of_a, &error), error);
    each(c, compare, 7);
    for (unsigned i = 0; i < GATES; i++)
        CHECK(hd_event_state(pool, event[i]) == HD_EVENT_WAITS);
    for (unsigned i = 0; i < GATES; i++)
        open_gate(begin[(me + i) % GATES]);
    for (unsigned i = 0; i < GATES; i++) {
        await(event[(3 * me + i) % GATES]);
        each(b[(3 * me + i) % GATES],
             (3 * me + i) % GATES % 2 ? compare_transposed : compare, 7);
    }
    for (unsigned i = 0; i < GATES; i++)
        hd_field_destroy(b[i]);
    hd_field_destroy(a);
    hd_field_destroy(c);
}

static hd_status compute_until(struct hd_task *task,
                               const struct hd_tile *output,
                               const struct hd_tile *inputs, void *data,
                               struct hd_error *why)
{
    (void)task;
    (void)inputs;
    (void)why;
    while (hd_event_state(pool, *(hd_event *)data) != HD_EVENT_ENDED)
        sched_yield();
    *(uint64_t *)output->data = 1;
    return HD_OK;
}

// A computation that only ends when the redistribution has, on all processes:
// they go on at the same time.
static void they_go_on_while_nodes_compute(void)
{
    struct hd_field *a = field_of(rows), *b = field_of(tiles),
                    *c = field_of(rows);
    hd_event event;
    struct hd_forall forall = {
        .output = c, .function = compute_until, .data = &event, .stay = true};

    each(a, give, 55);
    event = start_after(b, a, 0);
    CHECK_OK(hd_forall(&forall, &error), error);
    await(event);
    each(b, compare, 55);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
}

// Check that an event has failed on all processes for what `who` did.
static void failed(hd_event event, bool who, hd_status status, const char *text)
{
    CHECK_FAILS(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), status,
                error, text);
    if (!who)
        CHECK(strncmp(error.text, "process ", 8) == 0);
    hd_event_release(pool, event);
}

// What one of them comes after fails on one process: it fails on all, nothing
// is written, what comes after it fails as well, and others go on.
static void errors_travel(void)
{
    struct hd_field *a = field_of(rows), *b = field_of(tiles),
                    *c = field_of(rows);
    struct work fill = {a, give, 300, is_last()};
    struct hd_view view = hd_view_field(a);
    hd_event first = call_after(&fill, 0), event;

    hd_event second = start_after(b, a, first);
    hd_event third = start_after(c, b, second);
    failed(second, is_last(), HD_EIO, "the disk is broken");
    failed(third, is_last(), HD_EIO, "the disk is broken");
    each(b, compare, 0);
    each(c, compare, 0);

    struct hd_start start = {.after = &first, .after_count = 1, .anyway = true};
    CHECK_OK(hd_field_assign_start(pool, &start, b, &view, &event, &error),
             error);
    await(event);
    each(b, compare, 300);
    hd_event_release(pool, first);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
}

// One that is cancelled on one process ends on all, there at once.
static void one_may_be_cancelled(void)
{
    struct hd_field *a = field_of(rows), *b = field_of(tiles);
    hd_event begin = gate(), event = start_after(b, a, begin);

    each(a, give, 9);
    if (is_last()) {
        hd_event_cancel(pool, event);
        CHECK(hd_event_state(pool, event) == HD_EVENT_ENDED);
    }
    open_gate(begin);
    failed(event, is_last(), HD_ECANCELED, "cancelled before it began");
    each(b, compare, 0);
    await(start_after(b, a, 0));
    each(b, compare, 9);
    hd_field_destroy(a);
    hd_field_destroy(b);
}

static void count_up(void *data, const int64_t *index, void *value)
{
    *(uint64_t *)value =
        *(uint64_t *)data + (uint64_t)(index[0] * SIDE + index[1]);
}

static void fields_are_made(void)
{
    struct hd_grid grid = {2, {SIDE, SIDE}, {0}};
    uint64_t base = 77;
    struct hd_view view, of_a;
    struct hd_field *a, *b;
    hd_event event[2];

    CHECK_OK(hd_view_function(&grid, 8, count_up, &base, &view, &error), error);
    CHECK_OK(hd_agile_start(pool, NULL, cluster, &view, tiles, &a, &event[0],
                            &error),
             error);
    of_a = hd_view_field(a);
    struct hd_start start = {.after = event, .after_count = 1};
    CHECK_OK(hd_agile_start(pool, &start, cluster, &of_a, rows, &b, &event[1],
                            &error),
             error);
    await(event[1]);
    hd_event_release(pool, event[0]);
    each(a, compare, 77);
    each(b, compare, 77);

    // Refused on one process, it is made on none.
    struct hd_start bad = {.after_count = is_last() ? 1 : 0};
    struct hd_field *none = NULL;
    CHECK_FAILS(hd_agile_start(pool, &bad, cluster, &of_a, rows, &none,
                               &event[0], &error),
                HD_EINVAL, error, "`after` is NULL");
    CHECK(!none);
    hd_field_destroy(a);
    hd_field_destroy(b);
}

static void bad_arguments_are_refused(void)
{
    struct hd_field *a = field_of(rows), *b = field_of(tiles);
    struct hd_map *small = parse("6x6 rows cyclic nodes %u");
    struct hd_field *c = field_of(small);
    struct hd_view view = hd_view_field(a), turned;
    hd_event event;

    CHECK_FAILS(hd_field_assign_start(pool, NULL, c, &view, &event, &error),
                HD_EINVAL, error, "grids of the map and of the view differ");
    CHECK_FAILS(hd_field_assign_start(pool, NULL, a, &view, &event, &error),
                HD_EINVAL, error, "values of itself");

    // On one process: the others are told.
    struct hd_start bad = {.after_count = is_last() ? 1 : 0};
    hd_status status =
        hd_field_assign_start(pool, &bad, b, &view, &event, &error);
    if (is_last())
        CHECK(status == HD_EINVAL);
    else
        failed(event, false, HD_EINVAL, "`after` is NULL");

    CHECK_OK(hd_view_transpose(&view, (unsigned[]){1, 0}, &turned, &error),
             error);
    CHECK_OK(hd_field_assign_start(pool, NULL, b, is_last() ? &turned : &view,
                                   &event, &error),
             error);
    if (hd_cluster_processes(cluster) > 1)
        failed(event, true, HD_EINVAL, "different arguments");
    else
        await(event);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
    hd_map_destroy(small);
}

// More than plans are kept, all under way at a time.
static void many_are_under_way(void)
{
    enum {
        MANY = 34
    };
    struct hd_field *a = field_of(rows), *b[MANY];
    struct hd_map *map[MANY];
    hd_event begin = gate(), event[MANY];

    each(a, give, 21);
    for (int i = 0; i < MANY; i++) {
        char words[64];

        snprintf(words, sizeof(words), "30x30 tiles %dx%d cyclic nodes %%u",
                 1 + i % 20, 1 + i / 20);
        map[i] = parse(words);
        b[i] = field_of(map[i]);
        event[i] = start_after(b[i], a, begin);
    }
    open_gate(begin);
    for (int i = 0; i < MANY; i++) {
        await(event[i]);
        each(b[i], compare, 21);
    }
    for (int i = 0; i < MANY; i++) {
        hd_field_destroy(b[i]);
        hd_map_destroy(map[i]);
    }
    hd_field_destroy(a);
}

// One process starts something where others make another call: all are told at
// once, and so is who goes on to the next call, for which nobody comes.
static void other_calls_are_told(void)
{
    struct hd_cluster_params params = {.timeout = 1000000000000};
    struct hd_map *map;
    struct hd_field *a, *b;

    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    map = parse("30x30 rows block nodes %u");
    a = field_of(map);
    b = field_of(map);
    if (is_last() && hd_cluster_processes(cluster) > 1) {
        CHECK_FAILS(hd_cluster_meet(cluster, &error), HD_EINVAL, error,
                    "calls hd_field_assign_start()");
    } else if (hd_cluster_processes(cluster) > 1) {
        hd_event event = start_after(b, a, 0);

        CHECK_FAILS(hd_cluster_meet(cluster, &error), HD_EINVAL, error,
                    "calls hd_cluster_meet()");
        failed(event, true, HD_EINVAL, "calls hd_cluster_meet()");
    }
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_map_destroy(map);
    hd_cluster_leave(cluster);
}

int main(void)
{
    static const struct {
        unsigned nodes;
        bool messages;
    } kinds[] = {{3, false}, {2, true}, {1, true}};
    struct hd_pool_params workers = {.workers = 2};

    CHECK_OK(hd_pool_create(&workers, &pool, &error), error);
    for (unsigned i = 0; i < 3; i++) {
        struct hd_cluster_params params = {.nodes = kinds[i].nodes,
                                           .messages = kinds[i].messages,
                                           .piece = 512};

        CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
        messages = hd_cluster_processes(cluster) > 1 && kinds[i].messages &&
                   kinds[i].nodes == 1;
        rows = parse("30x30 rows block nodes %u");
        tiles = parse("30x30 tiles 4x7 cyclic nodes %u");
        they_run_in_order();
        order_may_differ();
        they_go_on_while_nodes_compute();
        errors_travel();
        one_may_be_cancelled();
        fields_are_made();
        bad_arguments_are_refused();
        if (i == 0)
            many_are_under_way();
        hd_map_destroy(rows);
        hd_map_destroy(tiles);
        hd_cluster_leave(cluster);
    }
    other_calls_are_told();
    hd_pool_destroy(pool);
    return 0;
}
