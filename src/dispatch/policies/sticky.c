#include "dispatch/policies/policy.h"

static struct hdi_policy make(void)
{
    struct hdi_policy policy = hdi_policy_bare();

    policy.order = HDI_ORDER_STICKY;
    policy.place = HDI_PLACE_NEXT;
    return policy;
}

const struct hdi_policy_kind hdi_policy_kind_sticky = {
    .name = "sticky",
    .about = "one channel until it is empty, modules in turn",
    .make = make,
};
