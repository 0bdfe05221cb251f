#include "dispatch/policies/policy.h"

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

const struct hdi_policy_kind hdi_policy_kind_plain = {
    .name = "plain",
    .about = "highest priority in rotating windows, marked turns, the\n"
             "module with most left, split after 256 failing rounds",
    .make = hdi_policy_plain,
};
