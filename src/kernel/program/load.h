// Builds on a device: images are loaded, and their kernels found.
#ifndef HDI_KERNEL_PROGRAM_LOAD_H
#define HDI_KERNEL_PROGRAM_LOAD_H

#include "kernel/program/state.h"

// A program without builds so far. NULL: no memory.
struct hd_program *hdi_program_start(const struct hdi_program_context *context);

// The build that kernels are of and those it has joined.
hd_status hdi_program_load(const struct hdi_program_context *context,
                           struct hd_program *program, struct hd_error *error);

// The same of any builds, which must live as long as the program.
hd_status hdi_load_builds(const struct hdi_program_context *context,
                          const struct hdi_build *const *builds, uint32_t count,
                          struct hd_program *program, struct hd_error *error);

// A build and those it has joined; or what they hold for checking, as far as
// they do. NULL: no memory; else for the caller to free.
const struct hdi_build **hdi_list_builds(const struct hdi_build *build,
                                         bool checked, uint32_t *count);

#endif
