#include "graph/plan/schedule.h"

#include "base/random.h"
#include "tests/check.h"

enum {
    MAX = 64
};

struct problem {
    uint64_t cost[MAX];
    uint32_t first[MAX + 1], successors[MAX * MAX];
    struct hdi_tasks tasks;
};

static struct hd_error error;

static void begin(struct problem *p, uint32_t count)
{
    memset(p, 0, sizeof(*p));
    p->tasks = (struct hdi_tasks){count, p->cost, p->first, p->successors};
}

// Random tasks; edges lead to higher numbers.
static void make_random(struct problem *p, uint32_t count, uint64_t percent,
                        uint64_t seed)
{
    struct hdi_random random;
    uint32_t edges = 0;

    begin(p, count);
    hdi_random_seed(&random, seed);
    for (uint32_t t = 0; t < count; t++) {
        p->cost[t] = hdi_random_below64(&random, 10);
        p->first[t] = edges;
        for (uint32_t s = t + 1; s < count; s++)
            if (hdi_random_below64(&random, 100) < percent)
                p->successors[edges++] = s;
    }
    p->first[count] = edges;
}

// Whether the tasks can be scheduled in `limit`: tries every task that may run
// next on every state of the processors. Active schedules are enough.
static bool can(const struct problem *p, uint32_t done, uint64_t *ends,
                uint64_t *free_at, uint32_t processors, uint64_t limit)
{
    uint32_t n = p->tasks.count;

    if (done == (1U << n) - 1)
        return true;
    for (uint32_t t = 0; t < n; t++) {
        uint64_t ready = 0;
        bool may = !(done & (1U << t));
        for (uint32_t b = 0; b < t && may; b++)
            for (uint32_t i = p->first[b]; i < p->first[b + 1]; i++)
                if (p->successors[i] == t) {
                    may = may && (done & (1U << b));
                    if (ends[b] > ready)
                        ready = ends[b];
                }
        for (uint32_t m = 0; m < processors && may; m++) {
            uint64_t was = free_at[m];
            uint64_t end = (ready > was ? ready : was) + p->cost[t];
            if (end > limit)
                continue;
            ends[t] = end;
            free_at[m] = end;
            bool found =
                can(p, done | 1U << t, ends, free_at, processors, limit);
            free_at[m] = was;
            if (found)
                return true;
        }
    }
    return false;
}

static uint64_t find_optimum(const struct problem *p, uint32_t processors,
                             uint64_t from)
{
    uint64_t ends[MAX] = {0}, free_at[MAX] = {0};

    while (!can(p, 0, ends, free_at, processors, from))
        from++;
    return from;
}

static void make(const struct problem *p, uint32_t processors, uint64_t rounds,
                 struct hdi_schedule *schedule)
{
    struct hdi_schedule_params params = {.processors = processors,
                                         .time = rounds ? UINT64_C(1) << 40 : 0,
                                         .rounds = rounds};
    CHECK_OK(hdi_schedule_make(&p->tasks, &params, schedule, &error), error);
    CHECK_OK(hdi_schedule_check(&p->tasks, processors, schedule, &error),
             error);
}

static void chains_take_their_length(void)
{
    struct problem p;
    struct hdi_schedule s;

    begin(&p, 3);
    p.cost[0] = 3, p.cost[1] = 4, p.cost[2] = 5;
    p.first[1] = 1, p.first[2] = p.first[3] = 2;
    p.successors[0] = 1, p.successors[1] = 2;
    make(&p, 2, 0, &s);
    CHECK(s.makespan == 12 && s.critical_path == 12 && s.area == 6);
    CHECK(s.start[1] == 3 && s.start[2] == 7);
    hdi_schedule_free(&s);
}

// The long task first: in program order it would take 8.
static void the_list_begins_with_what_is_urgent(void)
{
    struct problem p;
    struct hdi_schedule s;

    begin(&p, 5);
    p.cost[0] = p.cost[1] = p.cost[2] = p.cost[3] = 1, p.cost[4] = 4;
    make(&p, 2, 0, &s);
    CHECK(s.makespan == 4 && s.bound == 4 && s.start[4] == 0);
    hdi_schedule_free(&s);
}

static void what_is_found_is_the_optimum(void)
{
    uint32_t below_list = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct problem p;
        struct hdi_schedule s;
        uint32_t processors = 2 + seed % 2;
        make_random(&p, 7, seed % 3 * 15 + 10, seed);
        make(&p, processors, 300, &s);
        CHECK(s.makespan == find_optimum(&p, processors, s.bound));
        CHECK(s.makespan <= s.list_makespan && s.bound <= s.makespan);
        below_list += s.makespan < s.list_makespan;
        hdi_schedule_free(&s);
    }
    CHECK(below_list > 0);
}

static void the_same_seed_gives_the_same_schedule(void)
{
    struct problem p;
    struct hdi_schedule a, b;

    make_random(&p, 60, 5, 3);
    make(&p, 3, 50, &a);
    make(&p, 3, 50, &b);
    CHECK(memcmp(a.start, b.start, 60 * sizeof(*a.start)) == 0);
    hdi_schedule_free(&a);
    hdi_schedule_free(&b);
}

static void more_processors_than_tasks_leave_the_critical_path(void)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct problem p;
        struct hdi_schedule s;
        make_random(&p, 40, 10, seed);
        make(&p, 64, 0, &s);
        CHECK(s.makespan == s.critical_path);
        hdi_schedule_free(&s);
    }
}

static void nothing_takes_no_time(void)
{
    struct problem p;
    struct hdi_schedule s;

    begin(&p, 0);
    make(&p, 1, 10, &s);
    CHECK(s.makespan == 0 && s.count == 0);
    hdi_schedule_free(&s);
}

static void a_cycle_is_refused(void)
{
    struct problem p;
    struct hdi_schedule s;

    begin(&p, 2);
    p.first[1] = 1, p.first[2] = 2;
    p.successors[0] = 1, p.successors[1] = 0;
    CHECK_FAILS(hdi_schedule_make(
                    &p.tasks, &(struct hdi_schedule_params){.processors = 1},
                    &s, &error),
                HD_EGRAPH, error, "wait for each other");
}

// Each way in which a schedule can be wrong is seen.
static void the_validator_sees_what_is_wrong(void)
{
    struct problem p;
    struct hdi_schedule s;

    begin(&p, 3);
    p.cost[0] = p.cost[1] = p.cost[2] = 2;
    p.first[1] = p.first[2] = p.first[3] = 1;
    p.successors[0] = 1;
    make(&p, 2, 0, &s);
#define WRONG(change, undo, part)                                              \
    change;                                                                    \
    CHECK_FAILS(hdi_schedule_check(&p.tasks, 2, &s, &error), HD_EGRAPH, error, \
                part);                                                         \
    undo
    WRONG(s.start[1] = 1, s.start[1] = 2, "starts at 1, before");
    WRONG(s.processor[2] = s.processor[0], s.processor[2] = 1 - s.processor[0],
          "run at the same time");
    WRONG(s.processor[1] = 2, s.processor[1] = 0, "on processor 2 of 2");
    WRONG(s.makespan--, s.makespan++, "ends at 4, not at 3");
    WRONG(s.count--, s.count++, "2 of 3 tasks");
#undef WRONG
    hdi_schedule_free(&s);
}

int main(void)
{
    chains_take_their_length();
    the_list_begins_with_what_is_urgent();
    what_is_found_is_the_optimum();
    the_same_seed_gives_the_same_schedule();
    more_processors_than_tasks_leave_the_critical_path();
    nothing_takes_no_time();
    a_cycle_is_refused();
    the_validator_sees_what_is_wrong();
}
