// Policies by name. Each is one file of this room, which defines a `const
// struct hdi_policy_kind hdi_policy_kind_NAME`, NAME being the file's; the
// build finds it there, and no other file names it.
#ifndef HDI_DISPATCH_POLICIES_POLICY_H
#define HDI_DISPATCH_POLICIES_POLICY_H

#include <stddef.h>

#include "dispatch/dispatcher.h"

struct hdi_policy_kind {
    const char *name;
    const char *about; // for people; lines between are ended by '\n'
    struct hdi_policy (*make)(void);
};

// All of this build, in the order of their names. Never NULL.
const struct hdi_policy_kind *const *hdi_policies(size_t *count);

// Rotating priority, marks, splitting, balance by what is left; no more.
struct hdi_policy hdi_policy_plain(void);

// The better one; docs/dispatch.md says why.
struct hdi_policy hdi_policy_balanced(void);

// The parameters of baselines: the highest priority that fits, on the first
// module that has room, without windows, marks or pieces.
struct hdi_policy hdi_policy_bare(void);

#endif
