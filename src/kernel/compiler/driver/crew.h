// Main header of driver: the sources of a program become its binary.
//
// The threads that compile one program: its kernels are dealt out among them.
// Each has an LLVM context of its own, and gets that ready while the front end
// still runs.
#ifndef HDI_KERNEL_COMPILER_DRIVER_CREW_H
#define HDI_KERNEL_COMPILER_DRIVER_CREW_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler.h"

struct hdi_crew;

// Start the threads for `source`, which must stay until the end. HD_ENOMEM.
// `build` says what the code is for (target, cpu, features) and is read until
// the end. Call compile once at most, then end; end alone when the front end
// has failed.
hd_status hdi_crew_start(const struct hdi_source *source,
                         const struct hdi_build *build, struct hdi_crew **crew,
                         struct hd_error *error);

// Compile the kernels of `bitcode` into build->kernels and one object each, of
// which `archive` is made (linker.h). The error is that of the first kernel
// that has one.
// Returns when all hands have finished. On failure `build` may hold some
// kernels, for hdi_build_clear(). HD_EBUILD, HD_ENOMEM, HD_ECANCELED.
hd_status hdi_crew_compile(struct hdi_crew *crew,
                           const struct hdi_text *bitcode,
                           struct hdi_build *build, struct hdi_text *archive,
                           struct hd_error *error);

// Wait for the threads, whether they were given work or not.
void hdi_crew_end(struct hdi_crew *crew);

#endif
