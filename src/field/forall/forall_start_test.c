// Foralls that are started and not waited for: they begin when what they come
// after has ended, on all processes, go on beside others, and end on all with
// the same status. Started by mpirun it is the same.
#include <sched.h>

#include "heddle/agile.h"
#include "heddle/task.h"
#include "tests/check.h"

enum {
    SIZE = 240,
    MANY = 5 // more than are under way at a time
};

static struct hd_error error;
static struct hd_cluster *cluster;
static struct hd_pool *pool;
static struct hd_map *rows, *tiles;

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

static void give(void *data, const int64_t *index, void *value)
{
    *(int64_t *)value = data ? *(int64_t *)data + index[0] : 0;
}

// Of all nodes: base + index, or zeros.
static struct hd_field *field_of(const struct hd_map *map, int64_t base)
{
    struct hd_field *field;
    struct hd_view view;

    CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(int64_t), give,
                              base ? &base : NULL, &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    return field;
}

static int64_t *at(const struct hd_tile *tile, int64_t i)
{
    return hd_tile_at(tile, &i, sizeof(int64_t));
}

// Whether the elements of this process's nodes are base + factor * index.
static void holds(struct hd_field *field, int64_t base, int64_t factor)
{
    for (int64_t i = 0; i < SIZE; i++) {
        struct hd_tile tile;

        if (hd_field_segment(field, &i, &tile))
            CHECK(*at(&tile, i) == base + factor * i);
    }
}

// The sum of an element and its mirror image.
static hd_status add(struct hd_task *task, const struct hd_tile *output,
                     const struct hd_tile *inputs, void *data,
                     struct hd_error *why)
{
    (void)task;
    (void)data;
    (void)why;
    for (int64_t k = 0; k < output->grid.extent[0]; k++) {
        int64_t i = output->grid.offset[0] + k;

        *at(output, i) = *at(&inputs[0], i) + *at(&inputs[1], i);
    }
    return HD_OK;
}

// to = from + from backwards, so it reads what other nodes have.
static hd_status start_sum(struct hd_field *to, struct hd_field *from,
                           const struct hd_start *start, hd_event *event)
{
    struct hd_input inputs[] = {{.view = hd_view_field(from)},
                                {.view = hd_view_field(from)}};
    struct hd_forall forall = {
        .output = to, .inputs = inputs, .input_count = 2, .function = add};

    CHECK_OK(hd_view_stride(&inputs[1].view, (int64_t[]){-1}, &inputs[1].view,
                            &error),
             error);
    hd_status status = hd_forall_start(pool, start, &forall, event, &error);
    // What it was given may go.
    memset(inputs, 0xff, sizeof(inputs));
    memset(&forall, 0xff, sizeof(forall));
    return status;
}

static hd_event sum_after(struct hd_field *to, struct hd_field *from,
                          hd_event after)
{
    struct hd_start start = {.after = &after, .after_count = 1};
    hd_event event;

    CHECK_OK(start_sum(to, from, &start, &event), error);
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

// Nothing begins before what it comes after has ended; what comes after it sees
// the elements; others go on beside it.
static void they_run_in_order(void)
{
    struct hd_field *a = field_of(rows, 100), *b = field_of(tiles, 0),
                    *c = field_of(rows, 0), *d = field_of(tiles, 0);
    hd_event begin = gate(), event[3];
    struct hd_view view = hd_view_field(b);

    event[0] = sum_after(b, a, begin);
    struct hd_start start = {.after = event, .after_count = 1};
    CHECK_OK(hd_field_assign_start(pool, &start, c, &view, &event[1], &error),
             error);
    event[2] = sum_after(d, c, event[1]);
    for (unsigned i = 0; i < 3; i++)
        CHECK(hd_event_state(pool, event[i]) == HD_EVENT_WAITS);
    holds(b, 0, 0);
    CHECK_OK(hd_cluster_meet(cluster, &error), error);
    open_gate(begin);
    await(event[2]);
    holds(b, 200 + SIZE - 1, 0);
    holds(d, 2 * (200 + SIZE - 1), 0);
    hd_event_release(pool, event[0]);
    hd_event_release(pool, event[1]);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
    hd_field_destroy(d);
}

// Their gates open in another order on each process; blocking calls go on
// beside them, and so does one that comes after nothing.
static void many_are_under_way(void)
{
    struct hd_field *a = field_of(rows, 7), *b[MANY], *c = field_of(tiles, 0);
    hd_event begin[MANY], event[MANY], at_once;
    uint32_t me = hd_cluster_process(cluster);

    CHECK_OK(start_sum(c, a, NULL, &at_once), error);
    await(at_once);
    holds(c, 14 + SIZE - 1, 0);
    for (unsigned i = 0; i < MANY; i++) {
        b[i] = field_of(i % 2 ? rows : tiles, 0);
        begin[i] = gate();
        event[i] = sum_after(b[i], a, begin[i]);
    }
    holds(a, 7, 1);
    for (unsigned i = 0; i < MANY; i++)
        open_gate(begin[(me + i) % MANY]);
    for (unsigned i = 0; i < MANY; i++) {
        await(event[i]);
        holds(b[i], 14 + SIZE - 1, 0);
        hd_field_destroy(b[i]);
    }
    hd_field_destroy(a);
    hd_field_destroy(c);
}

// Without an event: a group counts it.
static void groups_count_them(void)
{
    struct hd_field *a = field_of(rows, 1), *b = field_of(tiles, 0);
    struct hd_group group;
    struct hd_start start = {.group = &group};

    hd_group_init(&group);
    CHECK_OK(start_sum(b, a, &start, NULL), error);
    hd_group_wait(pool, &group);
    holds(b, 2 + SIZE - 1, 0);
    hd_field_destroy(a);
    hd_field_destroy(b);
}

static hd_status wait_for(struct hd_task *task, const struct hd_tile *output,
                          const struct hd_tile *inputs, void *data,
                          struct hd_error *why)
{
    (void)task;
    (void)inputs;
    (void)why;
    while (hd_event_state(pool, *(hd_event *)data) != HD_EVENT_ENDED)
        sched_yield();
    *at(output, output->grid.offset[0]) = 1;
    return HD_OK;
}

// A forall whose tasks only end when one that was started before has.
static void they_go_on_beside_others(void)
{
    struct hd_field *a = field_of(rows, 5), *b = field_of(tiles, 0),
                    *c = field_of(rows, 0);
    hd_event begin = gate(), event = sum_after(b, a, begin);
    struct hd_forall forall = {
        .output = c, .function = wait_for, .data = &event, .stay = true};

    open_gate(begin);
    CHECK_OK(hd_forall(&forall, &error), error);
    await(event);
    holds(b, 10 + SIZE - 1, 0);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
}

static hd_status break_down(struct hd_task *task, const struct hd_tile *output,
                            const struct hd_tile *inputs, void *data,
                            struct hd_error *why)
{
    (void)output;
    (void)inputs;
    (void)data;
    if (hd_task_owner(task) != 0)
        return HD_OK;
    snprintf(why->text, sizeof(why->text), "the pump is broken");
    return HD_EIO;
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

// What a task finds, what it comes after, a cancellation: on one process, and
// told to all; nothing is computed, and others go on.
static void errors_travel(void)
{
    struct hd_field *a = field_of(rows, 3), *b = field_of(tiles, 0);
    struct hd_forall forall = {
        .output = b, .function = break_down, .stay = true};
    hd_event begin = gate(), event, next;

    CHECK_OK(hd_forall_start(pool, NULL, &forall, &event, &error), error);
    next = sum_after(b, a, event);
    failed(event, hd_cluster_has(cluster, 0), HD_EIO, "the pump is broken");
    failed(next, true, HD_EIO, "the pump is broken");
    holds(b, 0, 0);

    event = sum_after(b, a, begin);
    CHECK_OK(hd_event_end(pool, begin, is_last() ? HD_EIO : HD_OK,
                          "the disk is broken", &error),
             error);
    failed(event, is_last(), HD_EIO, "the disk is broken");
    hd_event_release(pool, begin);

    begin = gate();
    event = sum_after(b, a, begin);
    if (is_last()) {
        hd_event_cancel(pool, event);
        CHECK(hd_event_state(pool, event) == HD_EVENT_ENDED);
    }
    open_gate(begin);
    failed(event, is_last(), HD_ECANCELED, "cancelled before it began");
    holds(b, 0, 0);

    // Anyway.
    begin = gate();
    struct hd_start start = {.after = &begin, .after_count = 1, .anyway = true};
    CHECK_OK(start_sum(b, a, &start, &event), error);
    CHECK_OK(hd_event_end(pool, begin, HD_EIO, NULL, &error), error);
    await(event);
    hd_event_release(pool, begin);
    holds(b, 6 + SIZE - 1, 0);
    hd_field_destroy(a);
    hd_field_destroy(b);
}

// The fields of those that were cancelled go at once, though others that come
// before them in their lanes are under way.
static void what_is_cancelled_is_not_looked_at(void)
{
    struct hd_field *a = field_of(rows, 3), *b = field_of(tiles, 0);
    hd_event begin = gate(), first = sum_after(b, a, begin);

    for (unsigned i = 0; i < MANY; i++) {
        struct hd_field *c = field_of(rows, 3), *d = field_of(tiles, 0);
        hd_event event = sum_after(d, c, begin);

        hd_event_cancel(pool, event);
        CHECK(hd_event_state(pool, event) == HD_EVENT_ENDED);
        hd_event_release(pool, event);
        hd_field_destroy(c);
        hd_field_destroy(d);
    }
    open_gate(begin);
    await(first);
    holds(b, 6 + SIZE - 1, 0);
    hd_field_destroy(a);
    hd_field_destroy(b);
}

// On all processes or on none, also what one of them alone does wrong.
static void bad_calls_are_refused(void)
{
    struct hd_field *a = field_of(rows, 3), *b = field_of(tiles, 0);
    struct hd_start bad = {.after_count = is_last() ? 1 : 0};
    struct hd_input input = {.view = hd_view_field(b)};
    struct hd_forall forall = {
        .output = b, .inputs = &input, .input_count = 1, .function = add};
    hd_event event;

    CHECK_FAILS(start_sum(b, a, &bad, &event), HD_EINVAL, error,
                "`after` is NULL");
    CHECK_FAILS(hd_forall_start(pool, NULL, &forall, &event, &error), HD_EINVAL,
                error, "looks at the output");
    input.view = hd_view_field(a);
    input.footprint = true;
    CHECK_FAILS(hd_forall_start(pool, NULL, &forall, &event, &error), HD_EINVAL,
                error, "no footprint");
    if (hd_cluster_processes(cluster) > 1) {
        CHECK_FAILS(
            start_sum(is_last() ? a : b, is_last() ? b : a, NULL, &event),
            HD_EINVAL, error, "different arguments");
        if (is_last())
            CHECK_FAILS(hd_cluster_meet(cluster, &error), HD_EINVAL, error,
                        "calls hd_forall_start()");
        else
            CHECK_FAILS(start_sum(b, a, NULL, &event), HD_EINVAL, error,
                        "calls hd_cluster_meet()");
    }
    await(sum_after(b, a, 0));
    holds(b, 6 + SIZE - 1, 0);
    hd_field_destroy(a);
    hd_field_destroy(b);
}

static void some_clusters_cannot(void)
{
    struct hd_cluster_params params = {.sequential = true};
    struct hd_map *map;
    hd_event event;

    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    map = parse("240 block nodes %u");
    struct hd_field *a = field_of(map, 0), *b = field_of(map, 0);
    CHECK_FAILS(start_sum(b, a, NULL, &event), HD_ENOTSUP, error,
                "call hd_forall()");
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
    struct hd_pool_params workers = {.workers = 1};

    CHECK_OK(hd_pool_create(&workers, &pool, &error), error);
    for (unsigned i = 0; i < 3; i++) {
        // So long that who is not told runs into the test's own limit.
        struct hd_cluster_params params = {.nodes = kinds[i].nodes,
                                           .messages = kinds[i].messages,
                                           .timeout = 1000000000000};

        CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
        rows = parse("240 block nodes %u");
        tiles = parse("240 tiles 7 cyclic nodes %u tasks 4");
        they_run_in_order();
        many_are_under_way();
        groups_count_them();
        they_go_on_beside_others();
        errors_travel();
        what_is_cancelled_is_not_looked_at();
        bad_calls_are_refused();
        hd_map_destroy(rows);
        hd_map_destroy(tiles);
        hd_cluster_leave(cluster);
    }
    some_clusters_cannot();
    hd_pool_destroy(pool);
    return 0;
}
