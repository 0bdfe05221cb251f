// What the balanced policy promises, on seeds that it was not tuned on (those
// were 1001 to 1400): medians, over the seeds, of each seed's ratio to another
// policy.
//
//     sim_bars_test [SEEDS]     from 1 on; 40
#include "sim/policy.h"
#include "sim/sweep.h"
#include "tests/check.h"

enum {
    MAX_SEEDS = 400
};

static struct hd_error error;

static double mean_wait(const struct sim_result *r)
{
    return r->wait.mean;
}

static double urgent_wait(const struct sim_result *r)
{
    return r->by_priority[1].mean;
}

static double longest_last(const struct sim_result *r)
{
    return r->by_priority[4].max;
}

static double work(const struct sim_result *r)
{
    return r->throughput;
}

enum {
    STICKY,
    ROBIN,
    BALANCED,
    POLICIES
};

static struct sim_result results[POLICIES][MAX_SEEDS];

static void simulate(const char *load, uint32_t seeds)
{
    static const char *const names[] = {"sticky", "robin", "balanced"};
    struct sim_machine machine;
    struct sim_workload workload;
    struct sim_text text;
    char path[4096];

    CHECK_OK(sim_text_open(&text, EXAMPLES "/standard.machine", &error), error);
    CHECK_OK(sim_machine_read(&machine, &text), error);
    sim_text_close(&text);
    snprintf(path, sizeof(path), EXAMPLES "/standard-%s.workload", load);
    CHECK_OK(sim_text_open(&text, path, &error), error);
    CHECK_OK(sim_workload_read(&workload, &machine, &text), error);
    sim_text_close(&text);
    for (int p = 0; p < POLICIES; p++) {
        struct sim_sweep sweep = {.machine = &machine,
                                  .workload = &workload,
                                  .first_seed = 1,
                                  .count = seeds};
        CHECK_OK(sim_policy_parse(names[p], &sweep.policy, &error), error);
        CHECK_OK(sim_sweep(&sweep, results[p], &error), error);
    }
    sim_workload_close(&workload);
    sim_machine_close(&machine);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double ratio(double (*figure)(const struct sim_result *), int peer,
                    uint32_t seeds)
{
    double ratios[MAX_SEEDS];

    for (uint32_t s = 0; s < seeds; s++)
        ratios[s] = figure(&results[BALANCED][s]) / figure(&results[peer][s]);
    qsort(ratios, seeds, sizeof(*ratios), ascending);
    double median = (ratios[seeds / 2] + ratios[(seeds - 1) / 2]) / 2;
    printf("%.4f\n", median); // shown when a bar is missed
    return median;
}

int main(int argc, char **argv)
{
    uint32_t seeds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 40;

    CHECK(seeds > 0 && seeds <= MAX_SEEDS);
    simulate("1.3", seeds); // more than the machine can do
    CHECK(ratio(urgent_wait, ROBIN, seeds) <= 0.1);
    CHECK(ratio(work, ROBIN, seeds) >= 1.0);
    CHECK(ratio(work, STICKY, seeds) >= 1.15);
    CHECK(ratio(longest_last, ROBIN, seeds) <= 1.2);
    simulate("0.7", seeds);
    CHECK(ratio(mean_wait, STICKY, seeds) <= 0.35);
    CHECK(ratio(urgent_wait, ROBIN, seeds) <= 0.5);
    return 0;
}
