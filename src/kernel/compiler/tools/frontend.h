// OpenCL C to bitcode: clang, as a child process.
//
// The front end compiles for SPIR whatever the target: vectors then pass
// through calls as they are, address spaces keep their numbers, and one
// compilation of the builtins fits every processor. The work-group compiler
// retargets the module before anything is optimised.
#ifndef HDI_KERNEL_COMPILER_TOOLS_FRONTEND_H
#define HDI_KERNEL_COMPILER_TOOLS_FRONTEND_H

#include "base/text.h"
#include "kernel/compiler.h"

// `bitcode` and `dependencies` (as make reads them) are appended to. HD_EBUILD
// carries clang's text. `cancel` and `log` as in hdi_source. Any thread.
hd_status hdi_frontend_run(const struct hdi_part *part,
                           const atomic_bool *cancel, struct hdi_text *bitcode,
                           struct hdi_text *dependencies, struct hdi_text *log,
                           struct hd_error *error);

#endif
