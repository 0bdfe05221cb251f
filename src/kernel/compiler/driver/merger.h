// Several parts of a program to one: what OpenCL calls linking.
//
// Functions and variables that parts share are those with external linkage;
// each is defined once, and declared elsewhere as it is defined.
#ifndef HDI_KERNEL_COMPILER_DRIVER_MERGER_H
#define HDI_KERNEL_COMPILER_DRIVER_MERGER_H

#include "base/text.h"
#include "kernel/compiler.h"

// `bitcodes` are those of the source's parts, in order; `merged` is appended
// to. HD_EBUILD names what is defined twice or declared otherwise, and where.
// What is wrong is found before LLVM's linker runs, which knows no lines and
// takes a declaration of any type for the definition of that name.
hd_status hdi_merger_run(const struct hdi_source *source,
                         const struct hdi_text *bitcodes,
                         struct hdi_text *merged, struct hd_error *error);

#endif
