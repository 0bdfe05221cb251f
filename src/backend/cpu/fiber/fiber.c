// How work-items take turns, with barriers (o: switch to the next):
//
//     item 0   ---o            ---o
//     item 1       ---o            ---o
//     item 2           ---| barrier   ---| end
//
//     state   RUNS -> WAITS, WAITS_SUB_GROUP, WAITS_SOME, WAITS_GRID -> RUNS
//                  -> ENDED
//
// Sub-groups meet before their group does, groups before the grid does.
#include "backend/cpu/fiber/fiber.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/meeting.h"
#include "base/memory.h"

enum {
// Below what the kernel needs itself: for what it calls [bytes].
#if defined(HDI_ASAN) || defined(HDI_TSAN)
    RESERVE = 128 << 10,
#else
    RESERVE = 24 << 10,
#endif
    LARGE = 1 << 20, // stacks whose memory is given back after each box [bytes]
    MUCH = 64 << 20, // less is never too much [bytes]
    // Neighbouring stacks begin that far from their ends, so that not all of
    // them fall into the same sets of a cache [bytes].
    STAGGER = 192,
    STAGGER_STEPS = 16,
    GAP = 512, // more than a switch and its callers use [bytes]
    // Coroutines whose memory is asked for before it is their turn: each may
    // have a page of its own, which takes a while to be found.
    AHEAD = 2
};

// One of the groups that are there at once.
struct hdi_resident {
    struct hdi_frame frame; // with its own part of the memory
    size_t first, count;    // its work-items
};

// Invariant: `item` is first, so services find the fiber by what they get.
// Offsets are known to share/heddle-gdb.py.
struct hdi_fiber {
    struct hdi_item item; // first
    struct hdi_fiber_stack stack;
    struct hdi_fibers *fibers;
    void *memory; // of a coroutine
    bool started; // as a coroutine
};

_Static_assert(HDI_ITEM_ENDED == 3, "share/heddle-gdb.py");
_Static_assert(offsetof(struct hdi_item, state) == 68, "share/heddle-gdb.py");
_Static_assert(offsetof(struct hdi_fiber, stack) == 80, "share/heddle-gdb.py");

// Memory ----------------------------------------------------------------------

static void free_memory(struct hdi_fibers *f)
{
    for (size_t i = 0; i < f->capacity; i++)
        hdi_stack_free(&f->items[i].stack);
    if (f->memory)
        munmap(f->memory, f->memory_size);
    free(f->items);
    f->items = NULL;
    f->services.item_count = 0;
    f->memory = NULL;
    f->capacity = f->stack_size = 0;
    hdi_coroutines_free(&f->coroutines);
}

// Inaccessible pages between them. What of a stack is touched appears then.
// One mapping with all stacks; a stack that overflows meets the page below it.
// On failure what was made is left for free_memory().
static bool map_stacks(struct hdi_fibers *f, size_t count, size_t size)
{
    size_t page = hdi_page_size();
    uint64_t bytes;

    if (!hdi_multiply(count, size + page, &bytes))
        return false;
    f->items = calloc(count, sizeof(*f->items));
    f->memory_size = bytes + page;
    f->memory = mmap(NULL, f->memory_size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->memory == MAP_FAILED)
        f->memory = NULL;
    if (!f->items || !f->memory)
        return false;
    for (size_t i = 0; i < count; i++)
        if (mprotect(f->memory + i * (size + page) + page, size,
                     PROT_READ | PROT_WRITE) != 0)
            return false;
    f->stack_size = size;
    f->capacity = count;
    return true;
}

static char *stack_low(const struct hdi_fibers *f, size_t index)
{
    size_t page = hdi_page_size();
    return f->memory + index * (f->stack_size + page) + page;
}

// Work-items ------------------------------------------------------------------

static void set_item(struct hdi_fiber *fiber, const uint32_t local_id[3])
{
    const struct hdi_fibers *f = fiber->fibers;
    struct hdi_item *item = &fiber->item;

    item->frame = f->frame;
    for (unsigned d = 0; d < 3; d++) {
        item->local_id[d] = local_id[d];
        item->group_id[d] = f->group_id[d];
        item->local_size[d] = f->group_size[d];
        item->global_id[d] =
            f->frame->offset[d] +
            (uint64_t)f->group_id[d] * f->frame->local_size[d] + local_id[d];
    }
    fiber->item.state = HDI_ITEM_RUNS;
    fiber->started = false;
}

// To the next in x, then y, then z. False: there is none.
static bool next_item(const struct hdi_fibers *f, uint32_t id[3])
{
    for (unsigned d = 0; d < 3; d++) {
        if (++id[d] < f->group_size[d])
            return true;
        id[d] = 0;
    }
    return false;
}

static bool first_group(struct hdi_fibers *f)
{
    memcpy(f->group_id, f->frame->first, sizeof(f->group_id));
    return f->frame->count[0] && f->frame->count[1] && f->frame->count[2];
}

static bool next_group(struct hdi_fibers *f)
{
    for (unsigned d = 0; d < 3; d++) {
        if (++f->group_id[d] - f->frame->first[d] < f->frame->count[d])
            return true;
        f->group_id[d] = f->frame->first[d];
    }
    return false;
}

// The last group of a dimension may have fewer work-items. Returns how many.
static uint64_t measure_group(struct hdi_fibers *f)
{
    uint64_t items = 1;

    for (unsigned d = 0; d < 3; d++) {
        uint64_t size = f->frame->local_size[d];
        uint64_t left = f->frame->global[d] - f->group_id[d] * size;
        f->group_size[d] = (uint32_t)(left < size ? left : size);
        items *= f->group_size[d];
    }
    return items;
}

static void leave(struct hdi_fiber *fiber)
{
    hdi_stack_switch(&fiber->stack, &fiber->fibers->caller);
}

// Where the stack is when it waits for a work-item, registers are saved: a
// kernel that is to find its memory filled begins further down.
__attribute__((noinline)) static void run_below(struct hdi_fiber *fiber)
{
    char gap[GAP];

    __asm__ __volatile__("" : "=m"(gap));
    fiber->fibers->code->run(&fiber->item);
    __asm__ __volatile__("" : : "m"(gap));
}

// What a stack does: one work-item each time that it is switched to, or all of
// a group that needs no more stacks.
// A stack is used again by switching to it once more: it never returns. Without
// barriers one stack runs all work-items, which saves the switches.
static void run_fiber(void *data)
{
    struct hdi_fiber *fiber = data;
    struct hdi_fibers *f = fiber->fibers;

    hdi_stack_arrived(&fiber->stack);
    for (;;) {
        if (f->code->flags & HDI_ITEMS_MEET) {
            run_below(fiber);
        } else {
            uint32_t id[3] = {0};
            do {
                set_item(fiber, id);
                f->code->run(&fiber->item);
            } while (next_item(f, id));
        }
        fiber->item.state = HDI_ITEM_ENDED;
        leave(fiber);
    }
}

static void stop(struct hdi_item *item, enum hdi_item_state state,
                 uint32_t line)
{
    struct hdi_fiber *fiber = (struct hdi_fiber *)item;

    fiber->item.line = line;
    fiber->item.state = state;
    leave(fiber);
}

static void wait(struct hdi_item *item, uint32_t line)
{
    stop(item, HDI_ITEM_WAITS, line);
}

static void wait_sub_group(struct hdi_item *item, uint32_t line)
{
    stop(item, HDI_ITEM_WAITS_SUB_GROUP, line);
}

static void wait_some(struct hdi_item *item, uint32_t line)
{
    stop(item, HDI_ITEM_WAITS_SOME, line);
}

static void wait_grid(struct hdi_item *item, uint32_t line)
{
    stop(item, HDI_ITEM_WAITS_GRID, line);
}

static void make_fiber(struct hdi_fibers *f, size_t index)
{
    struct hdi_fiber *fiber = &f->items[index];

    hdi_stack_free(&fiber->stack);
    fiber->fibers = f;
    hdi_stack_make(&fiber->stack, stack_low(f, index),
                   f->stack_size - index % STAGGER_STEPS * STAGGER, run_fiber,
                   fiber);
}

// Stacks are made anew when one direction grows; they keep the other unless
// that is large. What is needed (`need`) is known by hdi_thread_measure(), to
// which comes what services and the C library use.
static bool reserve_stacks(struct hdi_fibers *f, size_t count, uint64_t need)
{
    uint64_t size =
        hdi_round_up(need + RESERVE + STAGGER * STAGGER_STEPS, hdi_page_size());
    if (count <= f->capacity && size <= f->stack_size)
        return true;

    // Grow in one direction at a time only where that stays small.
    if (count < f->capacity && f->stack_size > 0 && size <= LARGE)
        count = f->capacity;
    if (size < f->stack_size && f->stack_size <= LARGE)
        size = f->stack_size;
    free_memory(f);
    if (!map_stacks(f, count, size)) {
        free_memory(f);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        make_fiber(f, i);
    return true;
}

static bool reserve_items(struct hdi_fibers *f, size_t count)
{
    if (f->stack_size > 0)
        free_memory(f);
    if (count <= f->capacity)
        return true;
    free(f->items);
    f->items = calloc(count + AHEAD, sizeof(*f->items));
    f->capacity = f->items ? count : 0;
    for (size_t i = 0; i < f->capacity; i++)
        f->items[i].fibers = f;
    return f->items;
}

// Of one work-item [bytes].
// A coroutine tells it when it is started without memory (coroutine.h of the
// compiler).
static uint64_t private_bytes(const struct hdi_fibers *f)
{
    struct hdi_item any = {.frame = f->frame};

    return f->code->start ? (uintptr_t)f->code->start(&any, NULL)
                          : f->code->stack_bytes;
}

// As many as the largest groups of the launch have: others, with what is left
// over, lie as they do.
static bool reserve_coroutines(struct hdi_fibers *f, size_t count)
{
    const uint32_t *local = f->frame->local_size;
    uint64_t size = private_bytes(f);
    size_t most = (size_t)local[0] * local[1] * local[2];

    if (most < count)
        most = count;
    if (reserve_items(f, most) &&
        hdi_coroutines_reserve(&f->coroutines, count, most, size))
        return true;
    free_memory(f);
    return false;
}

// What work-items touch appears then: with more than the machine has, others
// would be ended for it.
static bool reserve(struct hdi_fibers *f, size_t count)
{
    uint64_t bytes;

    if (!hdi_multiply(count, private_bytes(f), &bytes) ||
        (bytes > MUCH && bytes > hdi_memory_share()))
        return false;
    return f->code->start ? reserve_coroutines(f, count)
                          : reserve_stacks(f, count, f->code->stack_bytes);
}

// Large stacks are not worth keeping. Their ends stay: that is where they left.
static void release_memory(struct hdi_fibers *f)
{
    const size_t end = RESERVE + STAGGER * STAGGER_STEPS;

    hdi_coroutines_trim(&f->coroutines);
    if (f->stack_size < LARGE)
        return;
    for (size_t i = 0; i < f->capacity; i++)
        madvise(stack_low(f, i), (f->stack_size - end) & -hdi_page_size(),
                MADV_DONTNEED);
}

// `running` tells a signal handler whose code runs, so it is set around the
// code alone. The memory of a coroutine that comes later is asked for
// meanwhile.
static void resume(struct hdi_fibers *f, struct hdi_fiber *fiber)
{
    f->running = fiber;
    if (!f->code->start) {
        hdi_stack_switch(&f->caller, &fiber->stack);
    } else if (fiber->started) {
        __builtin_prefetch(fiber[AHEAD].memory);
        f->code->resume(fiber->memory);
    } else {
        fiber->started = true;
        f->code->start(&fiber->item, fiber->memory);
    }
    f->running = NULL;
}

// Groups ----------------------------------------------------------------------

static struct hdi_stand stand_of(const struct hdi_fiber *fiber)
{
    const uint64_t *id = fiber->item.global_id;

    return (struct hdi_stand){.ended = fiber->item.state == HDI_ITEM_ENDED,
                              .line = fiber->item.line,
                              .item = {id[0], id[1], id[2]}};
}

static void describe(const struct hdi_stand *stand, char *text, size_t size)
{
    snprintf(text, size, "work-item (%llu, %llu, %llu)",
             (unsigned long long)stand->item[0],
             (unsigned long long)stand->item[1],
             (unsigned long long)stand->item[2]);
}

// One of the two waits. False, for the caller.
static bool fail_barrier(struct hdi_fibers *f, const struct hdi_stand *one,
                         const struct hdi_stand *another)
{
    const struct hdi_stand *waits = one->ended ? another : one;
    const struct hdi_stand *other = one->ended ? one : another;
    char who[96], whom[96], where[64];

    describe(waits, who, sizeof(who));
    describe(other, whom, sizeof(whom));
    if (!other->ended)
        snprintf(where, sizeof(where), "waits at that of line %u", other->line);
    else
        snprintf(where, sizeof(where), "has ended");
    snprintf(f->message, sizeof(f->message),
             "barrier not reached by all: %s waits at the barrier of line %u, "
             "%s %s",
             who, waits->line, whom, where);
    f->status = HD_EFAULT;
    return false;
}

// For debugging, what is fresh is not what the work-item before left.
static void fill(const struct hdi_fibers *f,
                 const struct hdi_fiber_stack *stack)
{
    size_t room = (size_t)((char *)stack->pointer - (const char *)stack->low);
    uint64_t size = f->code->stack_bytes + 2 * GAP;

    if (size > room)
        size = room;
    memset((char *)stack->pointer - size, HDI_FILLER, size);
}

// Whether the group may go on from where `fiber` and `other`
// have stopped. Where a kernel runs as loops the others go on without those
// that have ended, and so they do here but for debugging. All of a launch must
// reach what they wait at together.
static bool agree(struct hdi_fibers *f, const struct hdi_fiber *fiber,
                  const struct hdi_fiber *other)
{
    bool ended = fiber->item.state == HDI_ITEM_ENDED ||
                 other->item.state == HDI_ITEM_ENDED;
    bool strict = f->code->flags & HDI_ITEMS_DEBUG ||
                  fiber->item.state == HDI_ITEM_WAITS_GRID ||
                  other->item.state == HDI_ITEM_WAITS_GRID;

    if (ended && (fiber->item.state == other->item.state || !strict))
        return true;
    if (!ended && fiber->item.state == other->item.state &&
        fiber->item.line == other->item.line)
        return true;
    const struct hdi_stand one = stand_of(fiber), another = stand_of(other);
    return fail_barrier(f, &one, &another);
}

// Of a sub-group, the one that waits for others of it where that comes first in
// the source; NULL: none does.
static const struct hdi_fiber *find_some(const struct hdi_fibers *f,
                                         size_t first, size_t end)
{
    const struct hdi_fiber *found = NULL;

    for (size_t i = first; i < end; i++)
        if (f->items[i].item.state == HDI_ITEM_WAITS_SOME &&
            (!found || f->items[i].item.line < found->item.line))
            found = &f->items[i];
    return found;
}

// Resume those of a sub-group that wait in `state` at `line`.
// Each runs until it waits again, maybe at the same place: those are left for
// the next round, since their turn in this one is over.
static void go_on(struct hdi_fibers *f, size_t first, size_t end,
                  enum hdi_item_state state, uint32_t line)
{
    for (size_t i = first; i < end; i++) {
        struct hdi_fiber *fiber = &f->items[i];
        if (fiber->item.state != state || fiber->item.line != line)
            continue;
        fiber->item.state = HDI_ITEM_RUNS;
        resume(f, fiber);
    }
}

// Whether the work-items `first` to `end` - 1 may go on together. `*stopped` is
// one that waits, or one that has ended when none waits.
// Ended ones agree with any that wait, unless the kernel is strict (agree()).
static bool agree_all(struct hdi_fibers *f, size_t first, size_t end,
                      struct hdi_fiber **stopped)
{
    *stopped = &f->items[first];
    for (size_t i = first; i < end; i++) {
        if (!agree(f, &f->items[i], *stopped))
            return false;
        if ((*stopped)->item.state == HDI_ITEM_ENDED)
            *stopped = &f->items[i];
    }
    return true;
}

// The work-items `first` to `end` - 1, a sub-group, up to where they wait for
// more than that; `*stopped` is as that of agree_all(). There are functions
// that not all of a sub-group need call: those that wait in one go on without
// those that wait elsewhere or have ended, before any that wait for all. False:
// not all of them wait at the same place in the end.
// Most sub-groups have no functions of their own: then the first pass through
// them, which also looks whether all stopped alike, is all.
static bool run_some(struct hdi_fibers *f, size_t first, size_t end,
                     struct hdi_fiber **stopped)
{
    const struct hdi_item *lead = &f->items[first].item;
    const struct hdi_fiber *some;
    bool apart = false;

    for (size_t i = first; i < end; i++) {
        struct hdi_item *item = &f->items[i].item;
        if (item->state != HDI_ITEM_ENDED) {
            item->state = HDI_ITEM_RUNS;
            resume(f, &f->items[i]);
        }
        apart |= item->state != lead->state || item->line != lead->line;
    }
    *stopped = &f->items[lead->state == HDI_ITEM_ENDED ? end - 1 : first];
    if (!apart &&
        (lead->state == HDI_ITEM_WAITS || lead->state == HDI_ITEM_WAITS_GRID ||
         lead->state == HDI_ITEM_ENDED))
        return true;
    for (;;) {
        while ((some = find_some(f, first, end)))
            go_on(f, first, end, HDI_ITEM_WAITS_SOME, some->item.line);
        if (!agree_all(f, first, end, stopped))
            return false;
        if ((*stopped)->item.state != HDI_ITEM_WAITS_SUB_GROUP)
            return true;
        go_on(f, first, end, HDI_ITEM_WAITS_SUB_GROUP, (*stopped)->item.line);
    }
}

static void set_items(struct hdi_fibers *f, size_t first, size_t count)
{
    uint32_t id[3] = {0};

    for (size_t i = first; i < first + count; i++, next_item(f, id)) {
        set_item(&f->items[i], id);
        if (f->code->start)
            f->items[i].memory = hdi_coroutines_at(&f->coroutines, i);
        if (f->code->flags & HDI_ITEMS_DEBUG)
            fill(f, &f->items[i].stack);
    }
}

// A group past its own barriers, until it has ended or waits for the other
// groups; `*stopped` is as that of run_some(). False: at a barrier that not all
// reach. Those that wait there never go on.
static bool run_meeting(struct hdi_fibers *f, size_t first, size_t items,
                        struct hdi_fiber **stopped)
{
    struct hdi_fiber *other;

    do {
        *stopped = &f->items[first];
        for (size_t i = 0; i < items; i += HDI_SUB_GROUP) {
            size_t end = items - i < HDI_SUB_GROUP ? items : i + HDI_SUB_GROUP;
            if (!run_some(f, first + i, first + end, &other) ||
                !agree(f, other, *stopped))
                return false;
            if ((*stopped)->item.state == HDI_ITEM_ENDED)
                *stopped = other;
        }
    } while ((*stopped)->item.state == HDI_ITEM_WAITS);
    return true;
}

static bool fail_memory(struct hdi_fibers *f, uint64_t items)
{
    const double mib = 1 << 20;

    snprintf(f->message, sizeof(f->message),
             "no memory for the private memory of %llu work-items at once, "
             "%.1f MiB each, where %.0f MiB are for each processor: take "
             "smaller work-groups or smaller private arrays",
             (unsigned long long)items, (double)private_bytes(f) / mib,
             (double)hdi_memory_share() / mib);
    f->status = HD_ENOMEM;
    return false;
}

// What is fresh in a launch is not zero.
static void fill_local(const struct hdi_fibers *f)
{
    if (f->code->flags & HDI_ITEMS_DEBUG && f->frame->local_bytes > 0)
        memset(f->frame->local, HDI_FILLER, f->frame->local_bytes);
}

// The last groups of a row may have fewer work-items; stacks for more stay.
static bool run_group(struct hdi_fibers *f)
{
    uint64_t items = measure_group(f);
    bool meet = f->code->flags & HDI_ITEMS_MEET;
    struct hdi_fiber *stopped;

    if (!reserve(f, meet ? items : 1))
        return fail_memory(f, meet ? items : 1);
    f->services.items = f->items;
    f->services.item_count = meet ? items : 1;
    fill_local(f);
    if (meet) {
        set_items(f, 0, items);
        return run_meeting(f, 0, items, &stopped);
    }
    resume(f, &f->items[0]);
    return true;
}

// All groups at once ----------------------------------------------------------

static char *part_of(char *memory, uint64_t bytes, size_t number)
{
    return bytes > 0 ? memory + number * bytes : memory; // which may be NULL
}

// Go to a group of the box, counted with x fastest.
static void find_group(struct hdi_fibers *f, uint64_t number)
{
    for (unsigned d = 0; d < 3; d++) {
        f->group_id[d] =
            f->frame->first[d] + (uint32_t)(number % f->frame->count[d]);
        number /= f->frame->count[d];
    }
}

static uint64_t first_resident(const struct hdi_fibers *f)
{
    return f->share ? f->share->first : 0;
}

static size_t count_residents(const struct hdi_fibers *f)
{
    const uint32_t *count = f->frame->count;

    return f->share ? f->share->count : (size_t)count[0] * count[1] * count[2];
}

// Every group of the share with its part of the memory. Returns how many
// work-items there are; 0: no memory.
// Local and saved memory of the box is cut into equal parts, one per group.
static size_t make_residents(struct hdi_fibers *f)
{
    const struct hdi_frame *box = f->frame;
    size_t items = 0, count = count_residents(f);

    free(f->residents); // of a kernel that was left
    f->residents = calloc(count, sizeof(*f->residents));
    if (!f->residents)
        return 0;
    find_group(f, first_resident(f));
    for (size_t n = 0; n < count; n++, next_group(f)) {
        struct hdi_resident *r = &f->residents[n];
        r->frame = *box;
        r->frame.local_bytes /= count;
        r->frame.saved_bytes /= count;
        r->frame.local = part_of(box->local, r->frame.local_bytes, n);
        r->frame.saved = part_of(box->saved, r->frame.saved_bytes, n);
        r->first = items;
        r->count = measure_group(f);
        items += r->count;
    }
    return items;
}

static void set_residents(struct hdi_fibers *f)
{
    const struct hdi_frame *box = f->frame;
    size_t count = count_residents(f);

    find_group(f, first_resident(f));
    for (size_t n = 0; n < count; n++, next_group(f)) {
        const struct hdi_resident *r = &f->residents[n];
        measure_group(f);
        f->frame = &r->frame;
        set_items(f, r->first, r->count);
        f->frame = box;
    }
}

static bool is_stopped(const struct hdi_fibers *f)
{
    return f->stop && atomic_load_explicit(f->stop, memory_order_relaxed) != 0;
}

// Wait for those that have the other groups. False: they do not come to where
// `stopped` is, or the launch ends.
// The other groups are with other units; each tells where it stands.
static bool meet(struct hdi_fibers *f, const struct hdi_fiber *stopped)
{
    const struct hdi_stand stand = stand_of(stopped);
    struct hdi_stand other;

    if (!f->share)
        return true;
    enum hdi_met met = hdi_meeting_come(f->share, &stand, f->stop, &other);
    if (met == HDI_MET_APART)
        return fail_barrier(f, &stand, &other);
    return met == HDI_MET;
}

// Group after group up to where it waits for the others; when all do, all go
// on.
// All work-items of the share are there at once, since none goes on before all
// have come: that is what it costs.
static bool run_grid(struct hdi_fibers *f)
{
    size_t items = make_residents(f), count = count_residents(f);
    struct hdi_fiber *stopped, *other;

    if (items == 0 || !reserve(f, items))
        return fail_memory(f, items);
    f->services.items = f->items;
    f->services.item_count = items;
    fill_local(f);
    set_residents(f);
    do {
        stopped = &f->items[0];
        for (size_t g = 0; g < count; g++) {
            const struct hdi_resident *r = &f->residents[g];
            if (!run_meeting(f, r->first, r->count, &other) ||
                !agree(f, other, stopped))
                return false;
            if (stopped->item.state == HDI_ITEM_ENDED)
                stopped = other;
            // A signal seldom finds work-items that only wait in their code.
            if (is_stopped(f))
                return false;
        }
        if (!meet(f, stopped))
            return false;
    } while (stopped->item.state == HDI_ITEM_WAITS_GRID);
    return true;
}

static bool run_groups(struct hdi_fibers *f)
{
    if (first_group(f))
        do {
            if (!run_group(f))
                return false;
        } while (next_group(f));
    return true;
}

// On failure all memory goes: work-items may still stand in the middle of a
// kernel on their stacks.
static void run_items(const struct hdi_frame *frame,
                      const struct hdi_item_code *code)
{
    struct hdi_fibers *f = (struct hdi_fibers *)frame->services;

    f->frame = frame;
    f->code = code;
    hdi_stack_adopt(&f->caller);
    bool grid = code->flags & HDI_ITEMS_GRID;
    // So many stacks are kept for nobody.
    if (!(grid ? run_grid(f) : run_groups(f)) || (grid && !code->start))
        free_memory(f);
    else
        release_memory(f);
}

static int32_t print(const struct hdi_services *services, const char *format,
                     const struct hdi_print_arg *args, uint32_t count)
{
    struct hdi_fibers *f = (struct hdi_fibers *)services;
    return hdi_printer_print(&f->printer, format, args, count);
}

void hdi_fibers_init(struct hdi_fibers *fibers)
{
    fibers->services =
        (struct hdi_services){.item_size = sizeof(struct hdi_fiber),
                              .run_items = run_items,
                              .wait = wait,
                              .wait_sub_group = wait_sub_group,
                              .wait_some = wait_some,
                              .wait_grid = wait_grid,
                              .print = print};
}

void hdi_fibers_free(struct hdi_fibers *fibers)
{
    hdi_printer_flush(&fibers->printer);
    free_memory(fibers);
    free(fibers->residents);
}

const struct hdi_item *hdi_fibers_running(const struct hdi_fibers *fibers)
{
    return fibers->running ? &fibers->running->item : NULL;
}

void hdi_fibers_memory(const struct hdi_fibers *f, struct hdi_memory_range *own,
                       struct hdi_memory_range *all)
{
    const struct hdi_coroutine_area *area = f->coroutines.area;

    *own = *all = (struct hdi_memory_range){0};
    if (!f->running)
        return;
    if (f->stack_size > 0) {
        *all = (struct hdi_memory_range){f->memory, f->memory_size};
        *own = (struct hdi_memory_range){
            stack_low(f, (size_t)(f->running - f->items)), f->stack_size};
    } else if (area) {
        *all = (struct hdi_memory_range){area->memory, area->bytes};
        *own =
            (struct hdi_memory_range){f->running->memory, f->coroutines.size};
    }
}

// The stack that was left holds frames that never end, so it is not used again.
void hdi_fibers_give_up(struct hdi_fibers *fibers)
{
    if (!fibers->running)
        return;
    if (!fibers->code->start)
        hdi_stack_returned(&fibers->caller);
    fibers->running = NULL;
    free_memory(fibers);
}

hd_status hdi_fibers_take_status(struct hdi_fibers *fibers)
{
    hd_status status = fibers->status;
    fibers->status = HD_OK;
    return status;
}
