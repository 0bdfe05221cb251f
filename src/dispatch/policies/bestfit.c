#include "dispatch/policies/policy.h"

static struct hdi_policy make(void)
{
    struct hdi_policy policy = hdi_policy_bare();

    policy.order = HDI_ORDER_ROBIN;
    policy.mixture.tight = 1;
    return policy;
}

const struct hdi_policy_kind hdi_policy_kind_bestfit = {
    .name = "bestfit",
    .about = "the next channel that fits, the tightest module",
    .make = make,
};
