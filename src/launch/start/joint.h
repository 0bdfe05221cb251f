// One launch on several devices: each takes a part, and another when it has run
// that, until nothing is left.
//
// Where parts can be told apart, by what the kernel reads and writes, and it
// pays by the measured paces and by what would have to be copied, all allowed
// devices take part; else the launch runs on the one that would be done first.
// A kernel that ran nowhere yet is given to a GPU at first. A device that is
// lost before it has run its part leaves it to the others.
//
// Invariant: every work-group of the launch is in the rest, in one part under
// way, or has run; what a part writes no other part, and nothing of the rest,
// reads or writes.
#ifndef HDI_LAUNCH_START_JOINT_H
#define HDI_LAUNCH_START_JOINT_H

#include "heddle/event.h"
#include "launch/launch.h"

// Start it on those of `start->devices` that the kernel was built for; refuses
// and captures as hdi_launch_start(). `launcher` is the first of a runtime.
hd_status hdi_joint_start(struct hdi_launcher *launcher,
                          const struct hd_start *start,
                          const struct hdi_request *request, hd_event *event,
                          struct hd_error *error);

// The same and wait for it; of the terms those count that hd_start has, and
// `group`, `cancel` and `cost`.
hd_status hdi_joint_run(struct hdi_launcher *launcher,
                        const struct hdi_terms *terms,
                        const struct hdi_request *request,
                        struct hd_error *error);

#endif
