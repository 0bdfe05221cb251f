// What a processor has that is known by its name alone: clang is asked.
#ifndef HDI_KERNEL_COMPILER_TOOLS_MARCH_H
#define HDI_KERNEL_COMPILER_TOOLS_MARCH_H

#include "base/text.h"
#include "kernel/compiler.h"

// Append the instruction sets of `source->march`, with blanks between.
// HD_EINVAL carries what clang says of a name that it does not know.
hd_status hdi_march_features(const struct hdi_source *source,
                             struct hdi_text *features, struct hd_error *error);

#endif
