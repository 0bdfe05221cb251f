// Invariant: head <= split <= top, outside of an overflow; `hot.split_` is the
// record of `split`, or beyond the end while anything is spilled or joins drop
// their tasks, so that every join takes the slow path then.
#include "steal/queue/stack.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"

static uint64_t pack(uint32_t head, uint32_t split)
{
    return (uint64_t)head << 32 | split;
}

static uint32_t head_of(uint64_t shared)
{
    return (uint32_t)(shared >> 32);
}

static uint32_t split_of(uint64_t shared)
{
    return (uint32_t)shared;
}

static size_t bytes_of(const struct hdi_stack *stack)
{
    return (size_t)(stack->end - stack->base + 1) * sizeof(*stack->base);
}

bool hdi_stack_init(struct hdi_stack *stack, uint32_t records)
{
    *stack = (struct hdi_stack){0};
    stack->base = hdi_map(((size_t)records + 1) * sizeof(*stack->base));
    if (!stack->base)
        return false;
    stack->end = stack->base + records;
    stack->hot.top_ = stack->base;
    stack->hot.split_ = stack->base;
    stack->hot.limit_ = stack->end;
    atomic_init(&stack->shared, 0);
    return true;
}

void hdi_stack_destroy(struct hdi_stack *stack)
{
    if (stack->base)
        hdi_unmap(stack->base, bytes_of(stack));
    free(stack->spill);
}

static void set_split(struct hdi_stack *stack, uint32_t split)
{
    stack->hot.split_ = stack->spilled > 0 || stack->dropping
                            ? stack->end + 1
                            : stack->base + split;
}

void hdi_stack_drop(struct hdi_stack *stack, bool dropping)
{
    stack->dropping = dropping;
    set_split(stack, split_of(atomic_load_explicit(&stack->shared,
                                                   memory_order_relaxed)));
}

uint32_t hdi_stack_publish(struct hdi_stack *stack)
{
    uint32_t top = (uint32_t)(stack->hot.top_ - stack->base);
    uint32_t split =
        split_of(atomic_load_explicit(&stack->shared, memory_order_relaxed));

    if (top == split)
        return 0;
    // Only the owner moves `split`, and it grows here, so an addition does not
    // disturb the `head` that thieves move. Releases the records to take().
    atomic_fetch_add_explicit(&stack->shared, top - split,
                              HDI_BESIDE(memory_order_release));
    set_split(stack, top);
    return top - split;
}

bool hdi_stack_reclaim(struct hdi_stack *stack, struct hd_task_ *task)
{
    uint32_t index = (uint32_t)(task - stack->base);
    uint64_t shared =
        atomic_load_explicit(&stack->shared, memory_order_relaxed);

    while (head_of(shared) <= index) {
        uint32_t head = head_of(shared);
        uint32_t split = head + (index - head) / 2;
        // Release continues the publication of what stays public. Nothing is
        // acquired: a reclaimed record has not been touched by anybody else.
        if (atomic_compare_exchange_weak_explicit(
                &stack->shared, &shared, pack(head, split),
                memory_order_release, memory_order_relaxed)) {
            set_split(stack, split);
            return true;
        }
    }
    return false;
}

void hdi_stack_forget(struct hdi_stack *stack, struct hd_task_ *task)
{
    uint32_t index = (uint32_t)(task - stack->base);

    // Every record above is gone and this one is taken: head and split are both
    // index + 1, thieves see nothing to take, and a plain store is enough.
    __atomic_store_n(&task->state_, 0, __ATOMIC_RELAXED);
    atomic_store_explicit(&stack->shared, pack(index, index),
                          memory_order_release);
    set_split(stack, index);
}

// Oldest first: in recursion that is the largest piece.
struct hd_task_ *hdi_stack_take(struct hdi_stack *stack, unsigned thief)
{
    uint64_t shared =
        atomic_load_explicit(&stack->shared, memory_order_relaxed);

    while (head_of(shared) < split_of(shared)) {
        uint32_t head = head_of(shared);
        // Acquire: the record as it was published. Release: nothing of ours,
        // but a read-modify-write must not end the owner's release sequence.
        if (atomic_compare_exchange_weak_explicit(
                &stack->shared, &shared, pack(head + 1, split_of(shared)),
                memory_order_acquire, memory_order_relaxed)) {
            struct hd_task_ *task = stack->base + head;
            __atomic_store_n(&task->state_, HDI_TASK_TAKEN + (uint64_t)thief,
                             __ATOMIC_RELEASE);
            return task;
        }
    }
    return NULL;
}

// Doubles; results that are joined later are moved along.
static void make_room(struct hdi_stack *stack)
{
    if (stack->spilled < stack->spill_capacity)
        return;

    size_t capacity = stack->spill_capacity ? 2 * stack->spill_capacity : 1024;
    struct hd_task_ *spill = aligned_alloc(64, capacity * sizeof(*spill));
    if (!spill) {
        // The results of this many unjoined tasks fit in no memory; going on
        // would lose one.
        hdi_error("out of memory with %zu tasks spawned and not joined",
                  stack->spilled + (size_t)(stack->end - stack->base));
        abort();
    }
    for (size_t i = 0; i < stack->spilled; i++)
        spill[i] = stack->spill[i];
    free(stack->spill);
    stack->spill = spill;
    stack->spill_capacity = capacity;
}

void hdi_stack_overflow(struct hdi_stack *stack, struct hd_worker *worker)
{
    struct hd_task_ *task = stack->end;

    // Its arguments are read before its own spawns, which overflow too, use the
    // record again; its result is written after them.
    stack->hot.top_ = stack->end;
    task->run_(worker, task);
    make_room(stack);
    stack->spill[stack->spilled++] = *task;
    stack->hot.split_ = stack->end + 1;
}

struct hd_task_ *hdi_stack_unspill(struct hdi_stack *stack)
{
    struct hd_task_ *task = &stack->spill[--stack->spilled];

    stack->hot.top_ = stack->end;
    set_split(stack, split_of(atomic_load_explicit(&stack->shared,
                                                   memory_order_relaxed)));
    return task;
}
