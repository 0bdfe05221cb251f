// Launches that one device works off by itself, in the order that their edges
// give: made once, started as often as wanted, with other arguments each time.
// The host starts them with one call and is told once.
//
// Not for several threads at a time; a sequence that was started may not be
// touched until its event has ended.
#ifndef HDI_LAUNCH_START_SEQUENCE_H
#define HDI_LAUNCH_START_SEQUENCE_H

#include "backend/backend.h"
#include "heddle/event.h"
#include "launch/launch.h"

struct hdi_sequence;

// One of them. Of `args` only the kinds and sizes count: memory and values come
// with hdi_sequence_set().
struct hdi_sequence_step {
    struct hdi_request request;
    const uint32_t *after; // steps that come after it, which are later ones
    uint32_t after_count;
    // As in struct hdi_list_step.
    bool appended;
    uint32_t family, family_count, most;
    uint32_t appends; // index of its argument that requests go to, and 1; 0:
                      // none
};

// Whether the launcher's device works anything off by itself.
bool hdi_sequence_may(const struct hdi_launcher *launcher);

// Ranges are copied, kernels stay. `more` steps are appended in one run.
//
// Errors: those of a launch, HD_ENOTSUP (the device cannot, in this form)
hd_status hdi_sequence_make(struct hdi_launcher *launcher,
                            enum hdi_list_form form,
                            const struct hdi_sequence_step *steps,
                            uint32_t count, uint32_t more,
                            struct hdi_sequence **sequence,
                            struct hd_error *error);
void hdi_sequence_free(struct hdi_sequence *sequence); // NULL is allowed

// The arguments of a step in the next run; in the order of the steps, all that
// have buffers before each run: what a step needs is brought to the device.
// Images stay until the run has ended.
hd_status hdi_sequence_set(struct hdi_sequence *sequence, uint32_t step,
                           const struct hd_arg *args, struct hd_error *error);

// Start it; `cancel` may be NULL and outlives it.
hd_status hdi_sequence_start(struct hdi_sequence *sequence,
                             const struct hd_start *start,
                             const atomic_bool *cancel, hd_event *event,
                             struct hd_error *error);

// When each step of the last run began and ended by the device's clock, and
// behind them those that were appended. NULL: that is not known.
const struct hdi_list_time *hdi_sequence_times(
    const struct hdi_sequence *sequence, uint32_t *count);

// Why a step of the last run was refused what it appended, as enum
// hdi_list_failure; 0: none was.
unsigned hdi_sequence_refused(const struct hdi_sequence *sequence,
                              uint32_t *step);

#endif
