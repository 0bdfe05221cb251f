// How many lanes a full chunk has. Where lanes go round short loops and touch
// neighbours, one vector of them waits more than it works: for what it has just
// added to, and for memory, of which it takes part of a line at a time. Some
// vectors at once do not; two where lanes leave a loop at different times.
#ifndef HDI_KERNEL_COMPILER_LANES_SPAN_H
#define HDI_KERNEL_COMPILER_LANES_SPAN_H

#include "kernel/compiler/wide/wide.h"

// The lanes of the full chunks of a region that no other follows: emit->width,
// or some times as many.
unsigned hdi_span_find(const struct hdi_wide *wide);

#endif
