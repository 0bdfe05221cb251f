#include "graph/plan/batch.h"

#include "base/random.h"
#include "tests/check.h"

enum {
    MAX = 200,
    LONGEST = 20000 // [ns]
};

static struct {
    uint64_t cost[MAX];
    bool tiny[MAX];
    uint32_t first[MAX + 1], successors[MAX * MAX], order[MAX], batch[MAX];
    struct hdi_tasks tasks;
    uint64_t handover; // [ns]
} p;

static void begin(uint32_t count)
{
    memset(&p, 0, sizeof(p));
    p.tasks = (struct hdi_tasks){count, p.cost, p.first, p.successors};
    p.handover = 4000;
    for (uint32_t t = 0; t < count; t++) {
        p.order[t] = t;
        p.cost[t] = 1000;
        p.tiny[t] = true;
    }
}

static uint32_t make(unsigned workers)
{
    const struct hdi_batch_params params = {.tasks = p.tasks,
                                            .order = p.order,
                                            .tiny = p.tiny,
                                            .workers = workers,
                                            .handover = p.handover,
                                            .longest = LONGEST};

    return hdi_batch_tasks(&params, p.batch);
}

// Edges lead to higher numbers.
static void make_random(struct hdi_random *random, uint32_t count)
{
    uint32_t edges = 0;
    uint64_t percent = 1 + hdi_random_below64(random, 20);

    begin(count);
    for (uint32_t t = 0; t < count; t++) {
        p.cost[t] = hdi_random_below64(random, 9000);
        p.tiny[t] = hdi_random_below64(random, 10) > 0;
        p.first[t] = edges;
        for (uint32_t s = t + 1; s < count; s++)
            if (hdi_random_below64(random, 100) < percent)
                p.successors[edges++] = s;
    }
    p.first[count] = edges;
}

// Whether some order of the batches keeps all that tasks wait for.
static bool can_run(uint32_t batches)
{
    bool done[MAX] = {false}, more = true;
    uint32_t ended = 0;

    while (more) {
        more = false;
        for (uint32_t b = 0; b < batches; b++) {
            bool ready = !done[b];
            for (uint32_t t = 0; t < p.tasks.count; t++)
                for (uint32_t i = p.first[t]; i < p.first[t + 1]; i++)
                    if (p.batch[p.successors[i]] == b && p.batch[t] != b)
                        ready = ready && done[p.batch[t]];
            done[b] = done[b] || ready;
            more = more || ready;
            ended += ready;
        }
    }
    return ended == batches;
}

static void batches_do_not_wait_for_each_other(void)
{
    struct hdi_random random;
    uint32_t joined = 0;

    hdi_random_seed(&random, 1);
    for (int round = 0; round < 200; round++) {
        uint32_t count = 1 + (uint32_t)hdi_random_below64(&random, MAX);
        uint32_t members[MAX] = {0};
        uint64_t time[MAX] = {0};
        make_random(&random, count);
        uint32_t batches = make(1 + (unsigned)hdi_random_below64(&random, 4));
        CHECK(batches > 0 && batches <= count);
        for (uint32_t t = 0; t < count; t++) {
            CHECK(p.batch[t] < batches);
            members[p.batch[t]]++;
            time[p.batch[t]] += p.cost[t];
        }
        for (uint32_t t = 0; t < count; t++)
            CHECK(members[p.batch[t]] == 1 ||
                  (p.tiny[t] && time[p.batch[t]] <= LONGEST));
        for (uint32_t b = 0; b < batches; b++)
            CHECK(members[b] > 0);
        CHECK(can_run(batches));
        joined += count - batches;
    }
    CHECK(joined > 1000);
}

static void a_chain_goes_into_batches_of_the_longest_there_may_be(void)
{
    for (unsigned workers = 1; workers <= 4; workers++) {
        begin(100);
        for (uint32_t t = 0; t < 100; t++) {
            p.first[t] = t;
            p.successors[t] = t + 1;
        }
        p.first[100] = p.first[99] = 99;
        CHECK(make(workers) == 5);
    }
}

static void what_is_independent_is_for_all_workers(void)
{
    begin(40);
    CHECK(make(2) == 2);
    CHECK(make(1) == 2);
    CHECK(make(4) == 4);
}

// Three that nobody waits for, and one that a long task waits for.
static void a_long_task_does_not_wait_for_others(void)
{
    begin(5);
    p.tiny[4] = false;
    p.cost[4] = 1000000;
    p.first[4] = p.first[5] = 1;
    p.successors[0] = 4; // of task 3
    CHECK(make(1) == 3);
    CHECK(p.batch[0] == p.batch[2] && p.batch[3] != p.batch[0]);
}

// Of two long ones the second and a tiny one follow the first; another tiny one
// follows nothing, and need not wait.
static void nothing_waits_for_what_only_another_needs(void)
{
    static const uint32_t first[] = {0, 2, 2, 2, 2};

    begin(4);
    for (uint32_t t = 0; t < 2; t++) {
        p.tiny[t] = false;
        p.cost[t] = 1000000;
    }
    memcpy(p.first, first, sizeof(first));
    p.successors[0] = 1;
    p.successors[1] = 3;
    CHECK(make(2) == 4);
}

// Two chains from one root: the second goes to the other worker only if it is
// done earlier there.
//
//     0 --> 1 --> 3 --> 5 --> 7 --> 9
//      `--> 2 --> 4 --> 6 --> 8 --> 10
static void a_handover_has_to_pay(void)
{
    begin(11);
    uint32_t edges = 0;
    for (uint32_t t = 0; t < 11; t++) {
        p.first[t] = edges;
        if (t == 0)
            p.successors[edges++] = 1;
        if (t + 2 < 11)
            p.successors[edges++] = t + 2;
    }
    p.first[11] = edges;
    p.tiny[0] = false;
    p.handover = 100;
    CHECK(make(2) == 3 && p.batch[9] != p.batch[10]);
    p.handover = 20000;
    CHECK(make(2) == 2 && p.batch[9] == p.batch[10]);
}

int main(void)
{
    batches_do_not_wait_for_each_other();
    a_chain_goes_into_batches_of_the_longest_there_may_be();
    what_is_independent_is_for_all_workers();
    a_long_task_does_not_wait_for_others();
    nothing_waits_for_what_only_another_needs();
    a_handover_has_to_pay();
    return 0;
}
