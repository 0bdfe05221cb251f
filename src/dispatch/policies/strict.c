#include "dispatch/policies/policy.h"

static struct hdi_policy make(void)
{
    return hdi_policy_bare();
}

const struct hdi_policy_kind hdi_policy_kind_strict = {
    .name = "strict",
    .about = "the highest priority that fits, the first module",
    .make = make,
};
