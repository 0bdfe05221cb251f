// Object code to a shared object: GNU ld, as a child process.
#ifndef HDI_KERNEL_COMPILER_LINKER_H
#define HDI_KERNEL_COMPILER_LINKER_H

#include "base/text.h"
#include "heddle/status.h"

// `files` are memory files, one object each. `image` is appended to. Any
// thread.
hd_status hdi_linker_run(const int *files, size_t count, struct hdi_text *image,
                         struct hd_error *error);

#endif
