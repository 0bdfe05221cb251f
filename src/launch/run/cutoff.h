// When a piece of a launch is small enough to be a leaf.
//
// The user's predicate says it, or this model of what leaves cost:
//
//     overhead    what a leaf costs beside its work: forking a part that
//                 becomes public, taking it back, two looks at the clock.
//                 Measured when the launcher is made. With units also giving
//                 the leaf away and taking it back, measured whenever a leaf is
//                 given away.
//     leaf time   so many times the overhead that it hardly counts
//     leaf        as many groups as take the leaf time, by the time that the
//                 kernel's groups took before; one at least; and never so many
//                 that a worker is left without a share, since groups may be
//                 uneven
//
// A launch shorter than it takes to wake a worker is one leaf. A leaf that
// takes less than giving it away stays on its worker.
#ifndef HDI_LAUNCH_RUN_CUTOFF_H
#define HDI_LAUNCH_RUN_CUTOFF_H

#include "launch/run/flight.h"

// Measure what division costs.
hd_status hdi_cutoff_measure(struct hdi_launcher *launcher,
                             struct hd_error *error);

// A leaf was given to a unit in this time [ns].
void hdi_cutoff_learn(struct hdi_launcher *launcher, uint64_t time);

// What a leaf on a unit costs its worker [ns].
uint64_t hdi_cutoff_hand_over(const struct hdi_launcher *launcher);

// Of a launch whose box is all of it.
void hdi_cutoff_set(struct hdi_flight *launch, const struct hdi_terms *terms);

// Most groups of a leaf now, by the model. While nobody knows how long a group
// takes that is one if the launch learns, so that another launch waits for no
// more than that.
uint64_t hdi_cutoff_now(const struct hdi_flight *launch);

// Whether the box is a leaf.
bool hdi_cutoff_met(const struct hdi_flight *launch, const struct hdi_box *box);

// What the groups take, by what was measured of the kernel [ns]; 0: not known.
double hdi_cutoff_time(const struct hdi_flight *launch, uint64_t groups);

#endif
