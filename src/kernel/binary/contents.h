// What is in a binary, said without loading it.
//
// For `heddle info FILE`: it needs no compiler, and the file need not be for
// this machine.
#ifndef HDI_KERNEL_BINARY_CONTENTS_H
#define HDI_KERNEL_BINARY_CONTENTS_H

#include "backend/backend.h"
#include "base/text.h"
#include "heddle/status.h"

// Append what the file holds, for people or as one JSON object, and which of
// its code the device would run. HD_EFORMAT, HD_ENOMEM, as hdi_read_file().
hd_status hdi_contents_describe(const struct hdi_capabilities *can,
                                const char *path, bool json,
                                struct hdi_text *text, struct hd_error *error);

#endif
