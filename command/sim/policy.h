// Policies by name and option: "balanced", "plain,split=0,pointer=tail".
#ifndef HEDDLE_SIM_POLICY_H
#define HEDDLE_SIM_POLICY_H

#include <stdio.h>

#include "dispatch/dispatcher.h"

hd_status sim_policy_parse(const char *text, struct hdi_policy *policy,
                           struct hd_error *error);

// What can be given, for the help text; and the policies that there are.
extern const char sim_policy_help[];
void sim_policy_list(FILE *file);

#endif
