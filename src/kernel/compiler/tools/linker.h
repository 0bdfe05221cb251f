// Object code to a shared object: GNU ld, as a child process.
#ifndef HDI_KERNEL_COMPILER_TOOLS_LINKER_H
#define HDI_KERNEL_COMPILER_TOOLS_LINKER_H

#include "base/text.h"
#include "heddle/status.h"

// Append an object of `size` bytes to `archive`, which was empty at first. Out
// of memory is remembered in it. Any thread.
void hdi_linker_add(struct hdi_text *archive, const void *object, size_t size);

// Link all objects of `archive`. `image` is appended to. Any thread.
hd_status hdi_linker_run(const struct hdi_text *archive, struct hdi_text *image,
                         struct hd_error *error);

#endif
