// Which code a device can run, and which of several is best there.
#ifndef HDI_KERNEL_BINARY_PROCESSOR_H
#define HDI_KERNEL_BINARY_PROCESSOR_H

#include "backend/backend.h"
#include "base/text.h"
#include "kernel/build.h"

// Between the two: code for instruction sets that the device has, by how much
// of it they use.
enum {
    HDI_FIT_NONE = 0,       // it cannot run there
    HDI_FIT_EXACT = 1 << 30 // it was made for this processor, or for all
};

// How well the build fits, with all it has joined: the larger the better.
//
// As well as the worst of them: all have to run.
unsigned hdi_processor_fit(const struct hdi_capabilities *can,
                           const struct hdi_build *build);

// The one that fits best, the first of equals; NULL: none fits.
struct hdi_build *hdi_processor_choose(const struct hdi_capabilities *can,
                                       struct hdi_build *builds,
                                       uint32_t count);

// What a build is for, in words; with `can`, also what that lacks for it.
void hdi_processor_name(const struct hdi_capabilities *can,
                        const struct hdi_build *build, struct hdi_text *text);

#endif
