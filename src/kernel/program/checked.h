// Programs built for checking, so that a fault can be explained: with -g
// beside the program, else when a kernel faults.
#ifndef HDI_KERNEL_PROGRAM_CHECKED_H
#define HDI_KERNEL_PROGRAM_CHECKED_H

#include "kernel/program/parts.h"
#include "kernel/program/state.h"

// Keep the texts it is made of.
hd_status hdi_program_keep(const struct hdi_program_context *context,
                           const struct hd_program_params *params,
                           const struct hdi_parts *parts,
                           struct hd_program *program, struct hd_error *error);

// Whether faults are to name work-items where the source is not at hand.
bool hdi_wants_checked(const struct hdi_parts *parts);

// Build what was kept for checking, too. `path` is for messages.
hd_status hdi_program_add_checked(const struct hdi_program_context *context,
                                  const struct hd_program_params *params,
                                  const char *path, struct hd_program *program,
                                  struct hd_error *error);

#endif
