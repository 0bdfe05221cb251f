// Memory that runs short on one process of several: every allocation of a
// collective call, those of the network too, fails in turn on process 1, alone
// or with all that follow. The call then fails on all, soon, with an error that
// names the process, and leaves nothing behind; or it gets along without.
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "field/cluster/cluster.h"
#include "heddle/agile.h"
#include "heddle/task.h"
#include "tests/check.h"
#include "tests/shortage.h"

enum {
    SHORT = 1,   // the process
    SOON = 15,   // [s], less than others are waited for
    ROUNDS = 12, // of which one must leave nothing
    CALM = 8,    // allocations more than there are: tasks may be stolen
    WARM = 4,    // calls, for the buffers of libraries
    MANY = 128, // more plans than are kept, though some fail before one is made
    SIDE = 24
};

static struct hd_error error;
static struct hd_cluster *cluster;
static struct hd_cluster_params params = {.timeout = 20000000000u};
static struct hd_pool *pool;
static struct hd_map *rows, *tiles, *line, *many[MANY];
static struct hd_field *from, *to, *keys;
static char path[4096];
static bool fails_elsewhere;

static bool is_short(void)
{
    return hd_cluster_process(cluster) == SHORT;
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(uint64_t *)value = (uint64_t)index[0] * 0x9e3779b97f4a7c15u;
}

// Of all nodes.
static struct hd_map *parse(const char *words)
{
    struct hd_map *map;
    char all[128];

    snprintf(all, sizeof(all), "%s nodes %u", words, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(all, &map, &error), error);
    return map;
}

static struct hd_field *numbered(const struct hd_map *map)
{
    struct hd_view view;
    struct hd_field *field;

    CHECK_OK(hd_view_function(hd_map_grid(map), 8, number, NULL, &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    return field;
}

// The calls -------------------------------------------------------------------

static hd_status join(void)
{
    struct hd_cluster *other;
    hd_status status = hd_cluster_join(&params, &other, &error);

    if (status == HD_OK)
        hd_cluster_leave(other);
    return status;
}

static hd_status create(void)
{
    struct hd_field *field;
    hd_status status = hd_field_create(cluster, 8, tiles, &field, &error);

    if (status == HD_OK)
        hd_field_destroy(field);
    return status;
}

static hd_status agile(void)
{
    struct hd_view view;
    struct hd_field *field;

    CHECK_OK(
        hd_view_function(hd_map_grid(tiles), 8, number, NULL, &view, &error),
        error);
    hd_status status = hd_agile(cluster, &view, tiles, &field, &error);
    if (status == HD_OK)
        hd_field_destroy(field);
    return status;
}

// Along a plan that is made anew each time.
static hd_status redistribute(void)
{
    static unsigned at;
    struct hd_view view = hd_view_field(from);
    struct hd_field *field;
    hd_status status =
        hd_agile(cluster, &view, many[at++ % MANY], &field, &error);

    if (status == HD_OK)
        hd_field_destroy(field);
    return status;
}

static hd_status add(struct hd_task *task, const struct hd_tile *c,
                     const struct hd_tile *in, void *data, struct hd_error *why)
{
    (void)task;
    (void)data;
    (void)why;
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++)
            ((uint64_t *)c->data)[i * c->step[0] + j * c->step[1]] =
                ((uint64_t *)in->data)[i * in->step[0] + j * in->step[1]] + 1;
    return HD_OK;
}

static hd_status compute(bool stay)
{
    struct hd_input input = {.view = hd_view_field(from)};
    struct hd_forall forall = {.output = to,
                               .inputs = &input,
                               .input_count = 1,
                               .function = add,
                               .stay = stay};

    CHECK_OK(
        hd_view_transpose(&input.view, (unsigned[]){1, 0}, &input.view, &error),
        error);
    return hd_forall(&forall, &error);
}

static hd_status compute_there(void)
{
    return compute(true);
}

static hd_status compute_anywhere(void)
{
    return compute(false);
}

static hd_status start(void)
{
    struct hd_view view = hd_view_field(from);
    hd_event event;
    hd_status status =
        hd_field_assign_start(pool, NULL, to, &view, &event, &error);

    if (status != HD_OK)
        return status;
    status = hd_event_wait(pool, &event, 1, HD_FOREVER, &error);
    hd_event_release(pool, event);
    return status;
}

static hd_status sort(void)
{
    return hd_field_sort(keys, &error);
}

static void sum(void *value, const void *element, void *data)
{
    (void)data;
    *(uint64_t *)value += *(const uint64_t *)element;
}

static hd_status reduce(void)
{
    uint64_t none = 0, result;

    return hd_field_reduce(from, sum, NULL, &none, &result, &error);
}

static hd_status scan(void)
{
    return hd_field_scan(keys, sum, NULL, &error);
}

static hd_status save(void)
{
    uint64_t check;

    return hd_field_save(from, path, "<u8", &check, &error);
}

static hd_status load(void)
{
    return hd_field_load(from, path, "<u8", NULL, &error);
}

static hd_status gather(void)
{
    static uint64_t memory[SIDE * SIDE];

    return hd_field_read(from, memory, true, &error);
}

// -----------------------------------------------------------------------------

// What process 1 says of a call, and that the call has failed on all processes
// or on none.
struct outcome {
    bool failed; // the call
    bool lacked; // an allocation
    bool left;   // memory that was not there before
};

// Whether there is more than `held`. What is started is freed by another thread
// soon after its end.
static bool is_left(long held)
{
    bool left = true;

    for (int looks = 0; looks < 100 && left; looks++) {
        left = atomic_load(&shortage.held) > held;
        if (left)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return left;
}

// Let allocation k fail, or all from it on.
static struct outcome fails(const char *what, hd_status (*call)(void), long k,
                            bool lasts)
{
    struct outcome all[64] = {{0}}, mine = {0};
    long held = atomic_load(&shortage.held);
    uint64_t begin = hdi_now();

    error = (struct hd_error){0};
    if (is_short() && lasts)
        shortage_begin_last(k);
    else if (is_short())
        shortage_begin(k);
    hd_status status = call();
    if (is_short())
        mine.lacked = shortage_end();
    if (status != HD_OK && (status != HD_ENOMEM ||
                            (!is_short() && !strstr(error.text, "process 1"))))
        fprintf(stderr, "%s, allocation %ld, process %u: %s\n", what, k,
                hd_cluster_process(cluster), error.text);
    CHECK(status == HD_OK || status == HD_ENOMEM);
    CHECK(status == HD_OK || is_short() || strstr(error.text, "process 1"));
    CHECK(hdi_now() - begin < SOON * (uint64_t)1000000000);
    if (is_short())
        CHECK(status == HD_OK || mine.lacked);
    mine.failed = status != HD_OK;
    mine.left = is_left(held);
    fails_elsewhere |= mine.failed && !is_short();
    CHECK(hd_cluster_processes(cluster) <= sizeof(all) / sizeof(all[0]));
    CHECK_OK(
        hdi_cluster_gather(cluster, &mine, sizeof(mine), (char *)all, &error),
        error);
    CHECK(all[SHORT].failed == mine.failed);
    return all[SHORT];
}

static void let_each_fail(const char *what, hd_status (*call)(void), bool lasts)
{
    fails_elsewhere = false;
    for (long k = 0, calm = 0; calm < CALM; k++) {
        struct outcome of = {.lacked = true, .left = true};

        for (unsigned round = 0; round < ROUNDS && of.lacked && of.left;
             round++)
            of = fails(what, call, k, lasts);
        if (of.lacked && of.left && is_short())
            fprintf(stderr, "%s, allocation %ld: memory is left\n", what, k);
        CHECK(!of.lacked || !of.left);
        calm = of.lacked ? 0 : calm + 1;
        if (calm == CALM && hd_cluster_process(cluster) == 0)
            printf("%s: %ld allocations%s\n", what, k + 1 - CALM,
                   lasts ? ", and all after each" : "");
    }
    CHECK(is_short() || fails_elsewhere);
    CHECK_OK(call(), error);
}

// `warm`: calls before, after which libraries have their buffers, and plans are
// those that are kept.
static void every_allocation_may_fail(const char *what, hd_status (*call)(void),
                                      unsigned warm)
{
    for (unsigned i = 0; i < warm; i++)
        CHECK_OK(call(), error);
    let_each_fail(what, call, false);
    let_each_fail(what, call, true);
}

static void try_all(bool messages)
{
    params.messages = messages;
    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    if (hd_cluster_processes(cluster) == 1) {
        hd_cluster_leave(cluster);
        SKIP("this needs several processes");
    }
    CHECK(shortage.count > 1 || shortage_watch("heddle_mpi_"));
    rows = parse("24x24 block");
    tiles = parse("24x24 tiles 4x4 cyclic memory 4x4 tasks 2x2");
    line = parse("500 block");
    for (unsigned i = 0; i < MANY; i++) {
        char words[64];

        // Plans of one size.
        snprintf(words, sizeof(words), "24x24 tiles 12x12 cyclic memory %ux%u",
                 i / 12 + 1, i % 12 + 1);
        many[i] = parse(words);
    }
    from = numbered(rows);
    to = numbered(tiles);
    keys = numbered(line);
    every_allocation_may_fail("join", join, WARM);
    every_allocation_may_fail("create", create, WARM);
    every_allocation_may_fail("agile", agile, WARM);
    every_allocation_may_fail("redistribution", redistribute, MANY);
    every_allocation_may_fail("started redistribution", start, WARM);
    every_allocation_may_fail("forall", compute_there, WARM);
    every_allocation_may_fail("forall with steals", compute_anywhere, WARM);
    every_allocation_may_fail("sort", sort, WARM);
    every_allocation_may_fail("scan", scan, WARM);
    every_allocation_may_fail("reduce", reduce, WARM);
    every_allocation_may_fail("save", save, WARM);
    every_allocation_may_fail("load", load, WARM);
    every_allocation_may_fail("read", gather, WARM);
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_field_destroy(keys);
    for (unsigned i = 0; i < MANY; i++)
        hd_map_destroy(many[i]);
    hd_map_destroy(rows);
    hd_map_destroy(tiles);
    hd_map_destroy(line);
    hd_cluster_leave(cluster);
}

static uint64_t addresses(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// A field that the process has no addresses for: the same, though it is MPI
// that makes the memory.
static void addresses_run_short(void)
{
    struct hd_map *large;
    struct hd_field *field;
    struct rlimit limit, small;

    CHECK_OK(hd_cluster_join(NULL, &cluster, &error), error);
    large = parse("96000000");
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    small = (struct rlimit){addresses() + (32 << 20), limit.rlim_max};
    CHECK(!is_short() || setrlimit(RLIMIT_AS, &small) == 0);
    hd_status status = hd_field_create(cluster, 1, large, &field, &error);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(status == HD_ENOMEM);
    CHECK(is_short() || strstr(error.text, "process 1"));
    CHECK_OK(hd_field_create(cluster, 1, large, &field, &error), error);
    hd_field_destroy(field);
    hd_map_destroy(large);
    hd_cluster_leave(cluster);
}

int main(int count, char **words)
{
    struct hd_pool_params workers = {.workers = 1};

    CHECK(count == 2);
    CHECK_OK(hd_pool_create(&workers, &pool, &error), error);
    snprintf(path, sizeof(path), "%s/short.npy", words[1]);
    CHECK(shortage_watch(NULL));
    try_all(false);
    try_all(true);
    addresses_run_short();
    hd_pool_destroy(pool);
    return 0;
}
