// Finding and opening the compiler module (compiler.h).
//
// hdi_compiler_identify() comes with each lookup in the cache and must be
// cheap; hdi_compiler_open() only when nothing was found.
#ifndef HDI_KERNEL_PROGRAM_MODULE_H
#define HDI_KERNEL_PROGRAM_MODULE_H

#include "base/text.h"

// Append what tells this compiler from others: versions, and the files it
// consists of by size and time; with a translator (NULL: none) that as well.
// Opens nothing.
void hdi_compiler_identify(struct hdi_text *text, const char *translator);

#endif
