// A work-stealing deque of jobs that grows (Chase-Lev): one owner, many
// thieves.
//
// The owner pushes and pops at the bottom, so that it runs the newest job; a
// thief takes the oldest from the top.
//
// Who may run at the same time ("-" freely, "X" never):
//
//            push   pop   steal
//     push     X     X      -
//     pop      X     X      -
//     steal    -     -      -
#ifndef HDI_STEAL_QUEUE_DEQUE_H
#define HDI_STEAL_QUEUE_DEQUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"

struct hd_job;

struct hdi_ring {
    struct hdi_ring *older; // outgrown; thieves may still be reading it
    int64_t mask;           // capacity - 1
    _Atomic(struct hd_job *) slots[];
};

struct hdi_deque {
    _Alignas(64) _Atomic int64_t top;    // oldest job; only ever grows
    _Alignas(64) _Atomic int64_t bottom; // one past the newest job
    _Atomic(struct hdi_ring *) ring;
};

// False without memory.
bool hdi_deque_init(struct hdi_deque *deque);
void hdi_deque_destroy(struct hdi_deque *deque);

// Owner only. False without memory; the deque is as it was.
bool hdi_deque_push(struct hdi_deque *deque, struct hd_job *job);

// Owner only. NULL when empty.
struct hd_job *hdi_deque_pop(struct hdi_deque *deque);

// Any thread. NULL when empty or when another thread won the same job.
struct hd_job *hdi_deque_steal(struct hdi_deque *deque);

// Any thread.
static inline bool hdi_deque_offers(struct hdi_deque *deque)
{
    int64_t top =
        atomic_load_explicit(&deque->top, HDI_BESIDE(memory_order_relaxed));
    int64_t bottom =
        atomic_load_explicit(&deque->bottom, HDI_BESIDE(memory_order_relaxed));
    return top < bottom;
}

#endif
