#include "dispatch/policies/policy.h"

static struct hdi_policy make(void)
{
    struct hdi_policy policy = hdi_policy_bare();

    policy.order = HDI_ORDER_ROBIN;
    return policy;
}

const struct hdi_policy_kind hdi_policy_kind_robin = {
    .name = "robin",
    .about = "the next channel that fits, the first module that has room",
    .make = make,
};
