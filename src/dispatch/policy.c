#include "dispatch/dispatcher.h"

struct hdi_policy hdi_policy_plain(void)
{
    return (struct hdi_policy){.mixture = {.left = 1},
                               .priorities = 4,
                               .marks = true,
                               .window_runs = 32,
                               .window_lead = 1,
                               .split_after = 256,
                               .split_waves = 1};
}

struct hdi_policy hdi_policy_balanced(void)
{
    struct hdi_policy policy = hdi_policy_plain();

    policy.mixture = (struct hdi_mixture){.tight = 1};
    policy.window_lead = 100;
    policy.urgent = 1;
    policy.large = 1000;
    policy.brief = 50;
    policy.hold = 2;
    policy.backfill = true;
    return policy;
}
