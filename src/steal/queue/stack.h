// The direct task stack: one worker's forked and not yet joined tasks.
//
// Records [0, top) are in use. Of these [0, split) are public, the rest is the
// owner's alone; of the public ones [0, head) have been taken by thieves.
// `head` and `split` lie in one word, so that every change of who owns a record
// is one read-modify-write on it:
//
//     take     thief   head + 1           if head < split
//     publish  owner   split grows
//     reclaim  owner   split shrinks      never below head
//
// Ordering. A record is filled before it is published; publish releases, take
// acquires the same word, and between them the word changes only by
// read-modify-writes, which continue the release sequence. A thief reads the
// record only after its exchange has succeeded, so a word that came back to an
// old value (reclaim, publish again) does no harm: it owns the record as it was
// last published. A result is written before `state_` becomes HDI_TASK_DONE
// (release), and read after that was seen (acquire). The same holds for a
// thief's own stack, made before `state_` names it, which the joiner steals
// from.
//
// Who may run at the same time ("-" freely, "X" never): everything but take,
// ask and offers is the owner's; take, ask and offers are anybody's.
//
// More spawns than records: the task runs inside its spawn, and its result is
// kept aside until the join (the spill). Records and spill are one stack:
// while anything is spilled, `top` is the end of the array.
#ifndef HDI_STEAL_QUEUE_STACK_H
#define HDI_STEAL_QUEUE_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "heddle/task_macros.h"

enum {
    // hd_task_.state_: 0, HDI_TASK_DONE, or HDI_TASK_TAKEN + the thief's index.
    HDI_TASK_DONE = 1,
    HDI_TASK_TAKEN = 2
};

struct hdi_stack {
    struct hd_stack_ hot;                 // first: the macros use it
    _Alignas(64) _Atomic uint64_t shared; // head << 32 | split [records]
    _Alignas(64) struct hd_task_ *base;
    struct hd_task_ *end; // one more record lies here, for the overflow
    struct hd_task_ *spill;
    size_t spilled, spill_capacity; // [records]
    bool dropping;                  // joins drop what has not begun; owner only
};

// False without memory.
bool hdi_stack_init(struct hdi_stack *stack, uint32_t records);
void hdi_stack_destroy(struct hdi_stack *stack);

// Make every record public; return how many were not before.
uint32_t hdi_stack_publish(struct hdi_stack *stack);

// The newest record, just popped, is below `split`: take it back, with about
// half of the other public ones. False when a thief has it.
bool hdi_stack_reclaim(struct hdi_stack *stack, struct hd_task_ *task);

// Pop the newest record, which a thief has finished.
void hdi_stack_forget(struct hdi_stack *stack, struct hd_task_ *task);

// Take the oldest public record in the name of worker `thief`, or NULL.
struct hd_task_ *hdi_stack_take(struct hdi_stack *stack, unsigned thief);

// Let every join take the slow path, or not any more.
void hdi_stack_drop(struct hdi_stack *stack, bool dropping);

// Owner only: whether thieves may take the record.
static inline bool hdi_stack_is_public(struct hdi_stack *stack,
                                       const struct hd_task_ *task)
{
    uint64_t shared =
        atomic_load_explicit(&stack->shared, memory_order_relaxed);
    return (uint32_t)(task - stack->base) < (uint32_t)shared;
}

// Run what does not fit; its record is at the end of the array.
void hdi_stack_overflow(struct hdi_stack *stack, struct hd_worker *worker);

// The newest spilled record; there must be one.
struct hd_task_ *hdi_stack_unspill(struct hdi_stack *stack);

static inline bool hdi_stack_offers(struct hdi_stack *stack)
{
    uint64_t shared =
        atomic_load_explicit(&stack->shared, HDI_BESIDE(memory_order_relaxed));
    return (shared >> 32) < (uint32_t)shared;
}

// Ask the owner to publish at its next spawn; the loads keep its line shared
// while it does not answer.
static inline void hdi_stack_ask(struct hdi_stack *stack)
{
    if (__atomic_load_n(&stack->hot.limit_, __ATOMIC_RELAXED))
        __atomic_store_n(&stack->hot.limit_, NULL,
                         HDI_BESIDE(__ATOMIC_RELAXED));
}

static inline bool hdi_stack_asked(struct hdi_stack *stack)
{
    return !__atomic_load_n(&stack->hot.limit_, __ATOMIC_RELAXED);
}

// Owner: nobody asks any more.
static inline void hdi_stack_unask(struct hdi_stack *stack)
{
    __atomic_store_n(&stack->hot.limit_, stack->end,
                     HDI_BESIDE(__ATOMIC_RELAXED));
}

#endif
