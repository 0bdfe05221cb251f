// Every item of a loop runs once, values are combined in order, and pieces are
// neither so small that they cost nor so large that nobody can help.
#define HD_COUNT_TASKS

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "heddle/task.h"
#include "tests/check.h"

enum {
    COUNT = 300000
};

static unsigned char ran[COUNT];
static atomic_size_t leaves;

HD_FOR(i, mark, unsigned char *, to, unsigned char, by)
{
    to[i] = (unsigned char)(to[i] + by);
}

HD_FOR(i, nothing)
{
}

static double plus(double a, double b)
{
    return a + b;
}

HD_REDUCE(double, plus, i, sum, const unsigned char *, of)
{
    return of[i];
}

// Composition of x -> scale * x + offset: associative, not commutative.
struct map {
    uint32_t scale, offset;
};

static struct map then(struct map a, struct map b)
{
    return (struct map){a.scale * b.scale, a.offset * b.scale + b.offset};
}

static struct map map_of(size_t i)
{
    return (struct map){(uint32_t)i * 2654435761u | 1, (uint32_t)i};
}

HD_REDUCE(struct map, then, i, compose)
{
    return map_of(i);
}

HD_REDUCE(size_t, plus, i, pairs, size_t, n)
{
    return i < n;
}

// Nested: a loop in the items of a loop.
HD_FOR(i, row, unsigned char *, to, size_t, width)
{
    hd_for(worker, mark, 0, width, to + i * width, 1);
}

static void each_item_runs_once(struct hd_worker *worker, void *data)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 64, 1001, COUNT};

    (void)data;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        size_t n = sizes[s], begin = n / 3;
        memset(ran, 0, sizeof(ran));
        hd_for(worker, mark, begin, n, ran, 3);
        for (size_t i = 0; i < COUNT; i++)
            CHECK(ran[i] == (i >= begin && i < n ? 3 : 0));
        CHECK((size_t)hd_reduce(worker, sum, 0.0, 0, COUNT, ran) ==
              3 * (n - begin));
    }
    hd_for(worker, nothing, 5, 2);
    CHECK((size_t)hd_reduce(worker, pairs, 0, 0, 5000, 4000) == 4000);

    memset(ran, 0, sizeof(ran));
    hd_for(worker, row, 0, 300, ran, 1000);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(ran[i] == 1);
}

static void values_are_combined_in_order(struct hd_worker *worker, void *data)
{
    const struct map identity = {1, 0};
    struct map serial = identity;

    (void)data;
    for (size_t i = 0; i < COUNT; i++)
        serial = then(serial, map_of(i));
    for (int round = 0; round < 20; round++) {
        struct map all = hd_reduce(worker, compose, identity, 0, COUNT);
        CHECK(all.scale == serial.scale && all.offset == serial.offset);
    }
}

// The cutoff ------------------------------------------------------------------

static uint64_t tasks_of(struct hd_worker *worker)
{
    struct hd_worker_counters c;
    uint64_t tasks = 0;

    for (unsigned i = 0; i < hd_pool_workers(hd_worker_pool(worker)); i++) {
        hd_pool_counters(hd_worker_pool(worker), i, &c);
        tasks += c.tasks;
    }
    return tasks;
}

static void spin(unsigned us)
{
    struct timespec begin, t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while ((t.tv_sec - begin.tv_sec) * 1000000000 + t.tv_nsec - begin.tv_nsec <
           (long)us * 1000);
}

HD_FOR(i, long_item)
{
    spin(200);
}

static void pieces_suit_their_items(struct hd_worker *worker, void *data)
{
    uint64_t before = tasks_of(worker);

    (void)data;
    // Cheap items, together some 100 us: not a task for every few of them.
    hd_for(worker, mark, 0, COUNT, ran, 1);
    uint64_t cheap = tasks_of(worker) - before;
    CHECK(cheap < COUNT / 50);
    // Long ones: a task each, so that all can be shared out.
    before = tasks_of(worker);
    hd_for(worker, long_item, 0, 64);
    CHECK(tasks_of(worker) - before >= 63);
}

// Items take no time, or that many microseconds each.
HD_FOR(i, varied, unsigned char *, to, unsigned, us)
{
    to[i]++;
    if (us > 0)
        spin(us);
}

static void a_loop_begins_with_the_pieces_it_ended_with(
    struct hd_worker *worker, void *data)
{
    enum {
        LOOPS = 200
    };

    (void)data;
    memset(ran, 0, sizeof(ran));
    hd_for(worker, varied, 0, COUNT, ran, 0);
    uint64_t before = tasks_of(worker);
    for (int i = 0; i < LOOPS; i++)
        hd_for(worker, varied, 7, 1007, ran, 0);
    // Small ones from the start would be ten at least for each loop.
    CHECK(tasks_of(worker) - before < LOOPS * 5);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(ran[i] == (i >= 7 && i < 1007 ? LOOPS + 1 : 1));
    // Nor do they keep long items together.
    before = tasks_of(worker);
    hd_for(worker, varied, 0, 64, ran, 2000);
    CHECK(tasks_of(worker) - before >= 60);
}

// What is known of other items does not outlast the first of these.
static void a_cutoff_far_too_large_is_not_kept(struct hd_worker *worker,
                                               void *data)
{
    struct hd_cutoff cutoff;
    size_t known = 1 << 20;

    (void)data;
    hd_cutoff_recall_(&cutoff, worker, &known);
    CHECK(hd_cutoff_met(&cutoff, known));
    hd_cutoff_learn(&cutoff, hdi_now() - cutoff.target_, 1);
    CHECK(hd_cutoff_met(&cutoff, 1) && !hd_cutoff_met(&cutoff, 65));
    hd_cutoff_keep_(&cutoff, &known);
    CHECK(known < 65);
}

// Divisible work --------------------------------------------------------------

struct span {
    unsigned char *ran;
    unsigned begin, end;
};

static bool is_small(struct hd_worker *worker, const struct span *s)
{
    (void)worker;
    return s->end - s->begin <= 100;
}

static unsigned in_three(struct hd_worker *worker, const struct span *s,
                         struct span *part)
{
    unsigned third = (s->end - s->begin) / 3;

    (void)worker;
    for (unsigned i = 0; i < 3; i++)
        part[i] = (struct span){s->ran, s->begin + i * third,
                                i == 2 ? s->end : s->begin + (i + 1) * third};
    return 3;
}

static void run_span(struct hd_worker *worker, const struct span *s)
{
    (void)worker;
    CHECK(s->end - s->begin <= 100 && s->end > s->begin);
    atomic_fetch_add(&leaves, 1);
    for (unsigned i = s->begin; i < s->end; i++)
        s->ran[i]++;
}

HD_DIVISIBLE(fill, struct span, is_small, in_three, run_span);

static void work_divides_until_its_cutoff(struct hd_worker *worker, void *data)
{
    (void)data;
    memset(ran, 0, sizeof(ran));
    atomic_store(&leaves, 0);
    hd_call(worker, fill, (struct span){ran, 0, COUNT});
    for (size_t i = 0; i < COUNT; i++)
        CHECK(ran[i] == 1);
    // 3^8 pieces of 45 or 46 (137 is above the cutoff).
    CHECK(atomic_load(&leaves) == 6561);
}

// Recursions over few items ---------------------------------------------------

enum {
    FAN = 3,
    LEVELS = 9
};

static const struct map no_map = {1, 0};

HD_GATHER(struct map, then, no_map, i, walk, unsigned, node, unsigned, level)
{
    unsigned child = node * FAN + (unsigned)i + 1;
    struct map below = level == LEVELS
                           ? no_map
                           : hd_gather(worker, walk, 0, FAN, child, level + 1);
    return then(map_of(child), below);
}

static struct map walk_serially(unsigned node, unsigned level)
{
    struct map all = no_map;

    for (unsigned i = 0; i < FAN; i++) {
        unsigned child = node * FAN + i + 1;
        all = then(all, map_of(child));
        if (level < LEVELS)
            all = then(all, walk_serially(child, level + 1));
    }
    return all;
}

HD_EACH(i, visit, unsigned char *, to)
{
    to[i]++;
}

HD_GATHER(int, plus, 0, i, none)
{
    return (int)i;
}

static void children_are_gathered_in_order(struct hd_worker *worker, void *data)
{
    struct map serial = walk_serially(0, 1);

    (void)data;
    for (int round = 0; round < 20; round++) {
        struct map all = hd_gather(worker, walk, 0, FAN, 0, 1);
        CHECK(all.scale == serial.scale && all.offset == serial.offset);
    }
    CHECK(hd_gather(worker, none, 7, 7) == 0);
    CHECK(hd_gather(worker, none, 7, 9) == 15);
    memset(ran, 0, sizeof(ran));
    hd_each(worker, visit, 5, COUNT, ran);
    hd_each(worker, visit, 5, 5, ran);
    hd_each(worker, visit, 9, 7, ran);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(ran[i] == (i >= 5));
}

HD_EACH(i, sign, atomic_uint *, seen)
{
    (void)i;
    atomic_fetch_or(seen, 1u << hd_worker_index(worker));
}

HD_VOID_TASK(filler)
{
}

// With enough ready for thieves already, a loop divides only when asked.
static void a_loop_gives_when_asked(struct hd_worker *worker, void *data)
{
    atomic_uint seen = 0;
    time_t end = time(NULL) + 60;

    (void)data;
    for (int i = 0; i < 20; i++)
        hd_spawn(worker, filler);
    while (!(atomic_load(&seen) & ~(1u << hd_worker_index(worker)))) {
        hd_each(worker, sign, 0, 4, &seen);
        CHECK(time(NULL) < end);
    }
    for (int i = 0; i < 20; i++)
        hd_join(worker, filler);
}

HD_EACH(i, count_and_fail, atomic_uint *, items, unsigned, level)
{
    unsigned n = atomic_fetch_add(items, 1);
    (void)i;
    if (n == 1000)
        hd_task_fail(worker, HD_EFORMAT, "enough");
    if (level < 7)
        hd_each(worker, count_and_fail, 0, 10, items, level + 1);
}

static void a_cancelled_recursion_ends(struct hd_worker *worker, void *data)
{
    struct hd_group group;
    struct hd_error error;
    atomic_uint items = 0;

    (void)data;
    hd_group_init(&group);
    hd_group_catch(&group, &error);
    CHECK(hd_scope_begin(worker, &group) == HD_OK);
    hd_each(worker, count_and_fail, 0, 10, &items, 1);
    CHECK(hd_scope_end(worker) == HD_EFORMAT);
    // Of eleven million: each level ends with the item that it is in.
    unsigned most =
        hd_pool_workers(hd_worker_pool(worker)) == 1 ? 1010 : 1000000;
    CHECK(atomic_load(&items) > 1000 && atomic_load(&items) < most);
}

int main(void)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct hd_pool_params params = {.workers = workers};
        struct hd_pool *pool;
        struct hd_error error;

        CHECK_OK(hd_pool_create(&params, &pool, &error), error);
        hd_pool_run(pool, each_item_runs_once, NULL);
        hd_pool_run(pool, values_are_combined_in_order, NULL);
        hd_pool_run(pool, pieces_suit_their_items, NULL);
        hd_pool_run(pool, a_loop_begins_with_the_pieces_it_ended_with, NULL);
        hd_pool_run(pool, a_cutoff_far_too_large_is_not_kept, NULL);
        hd_pool_run(pool, work_divides_until_its_cutoff, NULL);
        hd_pool_run(pool, children_are_gathered_in_order, NULL);
        hd_pool_run(pool, a_cancelled_recursion_ends, NULL);
        if (workers > 1)
            hd_pool_run(pool, a_loop_gives_when_asked, NULL);
        hd_pool_destroy(pool);
    }
    return 0;
}
