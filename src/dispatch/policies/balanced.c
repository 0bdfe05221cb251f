#include "dispatch/policies/policy.h"

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

const struct hdi_policy_kind hdi_policy_kind_balanced = {
    .name = "balanced",
    .about = "urgent priority first, then large and brief groups; the\n"
             "tightest module; a module kept for an urgent head",
    .make = hdi_policy_balanced,
};
