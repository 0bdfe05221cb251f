// What a program is compiled to: one build per processor that was named, from
// the cache or by the compiler, and the finished binaries it was given.
#ifndef HDI_KERNEL_PROGRAM_COMPILE_H
#define HDI_KERNEL_PROGRAM_COMPILE_H

#include "kernel/program/state.h"

// Fill `builds` and what comes with them: texts that are kept, and with -g what
// is built for checking.
hd_status hdi_program_build(const struct hdi_program_context *context,
                            const struct hd_program_params *params,
                            struct hd_program *program, struct hd_error *error);

#endif
