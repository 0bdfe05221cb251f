// A sweep over seeds on several threads.
#include "sim/sweep.h"

#include "dispatch/policies/policy.h"
#include "sim/policy.h"
#include "sim/setup.h"

static void results_do_not_depend_on_threads(void)
{
    enum {
        SEEDS = 7
    };
    struct setup s = set_up(machine_text, workload_text, 4);
    struct sim_sweep sweep = {.machine = &s.machine,
                              .workload = &s.workload,
                              .policy = hdi_policy_balanced(),
                              .first_seed = 2,
                              .count = SEEDS};
    struct sim_result first[SEEDS], other[SEEDS];

    for (uint32_t jobs = 1; jobs < 10; jobs += 4) {
        struct sim_result *results = jobs == 1 ? first : other;
        sweep.jobs = jobs;
        CHECK_OK(sim_sweep(&sweep, results, &error), error);
        for (int i = 0; i < SEEDS; i++) {
            results[i].seconds = 0;
            CHECK(memcmp(&results[i], &first[i], sizeof(*first)) == 0);
        }
    }
    CHECK(first[0].groups != first[1].groups);
    sweep.policy.split_waves = 0;
    CHECK(sim_sweep(&sweep, other, &error) == HD_EINVAL);
    CHECK(strstr(error.text, "pieces of no waves"));
    tear_down(&s);
}

int main(void)
{
    results_do_not_depend_on_threads();
    return 0;
}
