#include "dispatch/policies/policy.h"

// policies.def is written by the build: POLICY(name) for each file.
#define POLICY(name) extern const struct hdi_policy_kind hdi_policy_kind_##name;
#include "policies.def"
#undef POLICY

const struct hdi_policy_kind *const *hdi_policies(size_t *count)
{
    static const struct hdi_policy_kind *const all[] = {
#define POLICY(name) &hdi_policy_kind_##name,
#include "policies.def"
#undef POLICY
    };

    *count = sizeof(all) / sizeof(all[0]);
    return all;
}

// The plain one, without what makes it more than a baseline.
struct hdi_policy hdi_policy_bare(void)
{
    struct hdi_policy policy = hdi_policy_plain();

    policy.mixture = (struct hdi_mixture){0};
    policy.window_runs = 0;
    policy.split_after = 0;
    policy.marks = false;
    return policy;
}
