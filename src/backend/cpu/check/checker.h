// The checker: an observer of one unit that looks at every access of kernels
// built for checking (backend/checks.h). It finds
//
//     accesses outside of the buffer or variable that a pointer was made from,
//     reads of local and private variables that have no value yet,
//     work-items of a group that touch the same bytes, one of them writing,
//     with no barrier between,
//     integers divided by 0, or the least one by -1.
//
// Every mistake in the source is told once per chunk, with the work-item that
// came first. The access itself is led to spare memory, so the kernel goes on
// and the process is safe.
//
// Threads: one at a time, that of the unit.
#ifndef HDI_BACKEND_CPU_CHECKER_H
#define HDI_BACKEND_CPU_CHECKER_H

#include <stdbool.h>

#include "backend/checks.h"
#include "backend/frame.h"

struct hdi_checker;

// NULL: no memory.
struct hdi_checker *hdi_checker_create(void);
void hdi_checker_destroy(struct hdi_checker *checker);

// A chunk begins: `checker->calls` becomes the frame's `checks`. False: no
// memory.
bool hdi_checker_begin(struct hdi_checker *checker,
                       const struct hdi_check_launch *launch,
                       struct hdi_frame *frame);

// The chunk has ended. Returns how many mistakes were found; `*text` is them,
// one line each, and lasts until the next begin.
unsigned hdi_checker_end(struct hdi_checker *checker, const char **text);

#endif
