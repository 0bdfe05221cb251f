// How much a kernel's work-items have to do: operations, loop by loop, for
// launches that know how often each goes round (struct hdi_footprint_work).
#ifndef HDI_KERNEL_COMPILER_TOUCH_WORK_H
#define HDI_KERNEL_COMPILER_TOUCH_WORK_H

#include "kernel/compiler/touch/nodes.h"

// Fill in works of a footprint that is otherwise complete. What is too much is
// left out: then there are none, and the footprint is as it was.
void hdi_work_find(struct hdi_nodes *nodes);

// Of footprint.c: the scope of a block, made when there is none; and how the
// loop at hand goes round. True: in one place, `*latch`; it is left in one,
// `*one_exit`.
uint32_t hdi_footprint_scope(struct hdi_nodes *nodes, size_t block);
bool hdi_footprint_look_at_loop(const struct hdi_nodes *nodes, size_t head,
                                size_t *latch, bool *one_exit);

#endif
