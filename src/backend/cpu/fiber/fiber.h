// Kernels in thread form: work-items as user-level threads of one unit,
// each on a stack of its own or, where compiled so, as a coroutine.
//
// Without barriers the work-items of a box run one after the other on one
// stack. With barriers each work-item of a group has a stack and runs to the
// next barrier before the one after it does; when all are there, all go on.
// Where work-groups wait for each other, the work-items of all of them that the
// unit has have stacks, and each group has its part of local memory.
// Stacks stay for the next group, with an inaccessible page below each.
// Coroutines do the same in memory of theirs (coroutine.h), on the stack of the
// unit.
#ifndef HDI_BACKEND_CPU_FIBER_H
#define HDI_BACKEND_CPU_FIBER_H

#include <stdatomic.h>

#include "backend/cpu/fiber/coroutine.h"
#include "backend/cpu/fiber/stack.h"
#include "backend/frame.h"
#include "backend/print.h"
#include "heddle/status.h"

struct hdi_fiber;
struct hdi_resident;
struct hdi_share;

// All zero but `services`: nothing allocated.
// Belongs to one thread. `frame`, `code`, `group_id` and `group_size` are of
// the kernel that runs. `items` and stacks stay for the next one; see
// release_memory().
struct hdi_fibers {
    struct hdi_services services; // first
    struct hdi_fiber *items;      // as many as `capacity`
    const struct hdi_frame *frame;
    const struct hdi_item_code *code;
    const atomic_int *stop;         // not 0: the launch is to end; NULL: never
    const struct hdi_share *share;  // of the groups there; NULL: all
    struct hdi_resident *residents; // groups that are there at once, or NULL
    uint32_t group_id[3], group_size[3];
    char *memory; // of stacks
    size_t memory_size;
    size_t stack_size; // of each [bytes]; 0: there are none
    size_t capacity;   // work-items
    struct hdi_coroutines coroutines;
    struct hdi_fiber_stack caller;
    struct hdi_printer printer;
    struct hdi_fiber *running; // whose code runs; NULL: none, or it ended
    hd_status status;          // of what has run since it was taken
    char message[400];         // when that is not HD_OK
};

// Fill in the services of a zeroed structure.
void hdi_fibers_init(struct hdi_fibers *fibers);
void hdi_fibers_free(struct hdi_fibers *fibers);

// The work-item whose code was running when its kernel was left (shelter.h), or
// NULL. hdi_fibers_give_up() then makes them fit to run others.
const struct hdi_item *hdi_fibers_running(const struct hdi_fibers *fibers);
void hdi_fibers_give_up(struct hdi_fibers *fibers);

// The private memory of the work-item that was running, and all that work-items
// had, with what lies between; empty ones when there is none.
struct hdi_memory_range {
    const char *begin;
    uint64_t bytes;
};
void hdi_fibers_memory(const struct hdi_fibers *fibers,
                       struct hdi_memory_range *own,
                       struct hdi_memory_range *all);

// How the frames since the last call have ended: HD_OK, HD_EFAULT (a barrier
// not reached by all), HD_ENOMEM (for stacks).
hd_status hdi_fibers_take_status(struct hdi_fibers *fibers);

#endif
