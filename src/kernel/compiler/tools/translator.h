// SPIR-V to bitcode as clang would have made it: llvm-spirv, as a child
// process, and what its bitcode lacks.
#ifndef HDI_KERNEL_COMPILER_TOOLS_TRANSLATOR_H
#define HDI_KERNEL_COMPILER_TOOLS_TRANSLATOR_H

#include "base/text.h"
#include "kernel/compiler.h"

// `bitcode` is appended to. HD_EBUILD: the translator refuses the module, or
// dies of it.
hd_status hdi_translator_run(const struct hdi_source *source,
                             const struct hdi_part *part,
                             struct hdi_text *bitcode, struct hd_error *error);

#endif
