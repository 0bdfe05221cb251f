// Runs what parse.c has read: control, warps and blocks.
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver/machine.h"

// Control ---------------------------------------------------------------------

static void *take(struct thread *t, uint64_t bytes)
{
    void *memory = t->stack + t->used;
    uint32_t more = (uint32_t)((bytes + 63) / 64 * 64);

    if (t->used + more > STACK)
        return NULL;
    t->used += more;
    memset(memory, 0, more);
    return memory;
}

static struct frame *enter(struct thread *t, const struct ptx_function *f,
                           char *parameters)
{
    struct frame *frame = take(t, sizeof(*frame));

    if (!frame)
        return NULL;
    frame->function = f;
    frame->caller = t->frame;
    frame->depth = t->frame ? t->frame->depth + 1 : 0;
    frame->registers = take(t, 8 * ((uint64_t)f->registers + 1));
    frame->local = take(t, f->local_bytes + 1);
    frame->variables = take(t, f->variable_bytes + 1);
    frame->results = take(t, f->result_bytes + 1);
    frame->parameters =
        parameters ? parameters : take(t, f->parameter_bytes + 1);
    if (!frame->registers || !frame->local || !frame->variables ||
        !frame->results || !frame->parameters || frame->depth > MAX_DEPTH)
        return NULL;
    t->frame = frame;
    return frame;
}

static void call(const struct lane *l, const struct ptx_instruction *i)
{
    struct thread *t = l->thread;
    struct frame *from = l->frame;
    struct frame *to = enter(t, i->callee, NULL);

    if (!to) {
        l->block->outcome = PTX_UNKNOWN;
        snprintf(l->block->launch->why, 256, "the stack is too small");
        return;
    }
    to->returned = &i->operands[0];
    for (unsigned n = 0; n < i->operands[1].count; n++) {
        const struct ptx_operand *o =
            &from->function->lists[i->operands[1].index + n];
        memcpy(to->parameters + i->callee->parameters[n].offset,
               from->variables + o->number, i->callee->parameters[n].size);
    }
}

static void leave(const struct lane *l)
{
    struct thread *t = l->thread;
    struct frame *frame = t->frame, *caller = frame->caller;

    if (!caller) {
        t->state = ENDED;
        l->block->live--;
        return;
    }
    if (frame->returned->kind == PTX_IN_VARIABLE)
        memcpy(caller->variables + frame->returned->number, frame->results,
               frame->function->result_bytes);
    t->used = (uint32_t)((char *)frame - t->stack);
    t->frame = caller;
}

static void release_barriers(struct block *b)
{
    for (uint32_t number = 0; number < 16; number++) {
        uint32_t there = 0, expected = 0;
        for (uint32_t i = 0; i < b->threads; i++) {
            const struct thread *t = &b->thread[i];
            if (t->state != AT_BARRIER || t->barrier != number)
                continue;
            there++;
            expected = t->expected;
        }
        if (there == 0 || there < (expected ? expected : b->live))
            continue;
        for (uint32_t i = 0; i < b->threads; i++)
            if (b->thread[i].state == AT_BARRIER &&
                b->thread[i].barrier == number)
                b->thread[i].state = RUNS;
    }
}

// What a lane that is not there gives is undefined: here a number that nobody
// expects.
static void shuffle(struct block *b, uint32_t first, uint32_t n)
{
    struct thread *t = &b->thread[first + n];
    const struct lane l = {b, t, t->frame, first + n};
    uint32_t from = t->wants % LANES;

    if (!t->shuffle)
        return;
    bool there = t->mask >> from & 1 && first + from < b->threads &&
                 b->thread[first + from].state == AT_WARP;
    ptx_set(&l, &t->shuffle->operands[0],
            there ? b->thread[first + from].gives : 0xdeadbeef);
}

// At the same meeting: others may wait for more lanes elsewhere.
static bool is_with(const struct thread *a, const struct thread *b)
{
    return a->state == AT_WARP && a->mask == b->mask &&
           a->shuffle == b->shuffle;
}

static void release_lanes(struct block *b, uint32_t first)
{
    for (uint32_t i = first; i < first + LANES && i < b->threads; i++) {
        if (b->thread[i].state != AT_WARP)
            continue;
        uint32_t mask = b->thread[i].mask;
        bool all = true;
        for (uint32_t n = 0; n < LANES && first + n < b->threads; n++)
            if (mask >> n & 1)
                all = all && (is_with(&b->thread[first + n], &b->thread[i]) ||
                              b->thread[first + n].state == ENDED);
        if (!all)
            continue;
        for (uint32_t n = 0; n < LANES && first + n < b->threads; n++)
            if (mask >> n & 1 && b->thread[first + n].state == AT_WARP)
                shuffle(b, first, n);
        for (uint32_t n = 0; n < LANES && first + n < b->threads; n++)
            if (mask >> n & 1 && b->thread[first + n].state == AT_WARP)
                b->thread[first + n].state = RUNS;
    }
}

static void act(const struct lane *l, const struct ptx_instruction *i,
                uint32_t active)
{
    struct thread *t = l->thread;
    struct block *b = l->block;

    switch ((enum operation)i->operation) {
    case DO_ld:
        ptx_load(l, i);
        break;
    case DO_st:
        ptx_store(l, i);
        break;
    case DO_atom:
        ptx_change(l, i);
        break;
    case DO_fence:
    case DO_membar:
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        break;
    case DO_prefetch:
    case DO_nanosleep:
        break;
    case DO_bra:
        l->frame->pc = i->target;
        break;
    case DO_brx: {
        const struct ptx_function *f = l->frame->function;
        l->frame->pc = f->tables[i->target + ptx_get(l, &i->operands[0])];
        break;
    }
    case DO_call:
        call(l, i);
        break;
    case DO_ret:
        leave(l);
        break;
    case DO_exit:
        t->state = ENDED;
        b->live--;
        break;
    case DO_bar:
    case DO_barrier:
        if (i->logic == WARP) {
            t->mask = (uint32_t)ptx_get(l, &i->operands[0]);
            t->shuffle = NULL;
            t->state = AT_WARP;
            break;
        }
        t->barrier = (uint32_t)ptx_get(l, &i->operands[0]);
        t->expected = (uint32_t)ptx_get(l, &i->operands[1]);
        t->state = AT_BARRIER;
        if (t->barrier > 15 || t->expected % LANES != 0) {
            b->outcome = PTX_TRAPPED;
            snprintf(b->launch->why, 256, "barrier %u of %u threads",
                     t->barrier, t->expected);
        }
        break;
    case DO_shfl: // .sync.idx.b32
        t->gives = (uint32_t)ptx_get(l, &i->operands[1]);
        t->wants = (uint32_t)ptx_get(l, &i->operands[2]);
        t->mask = (uint32_t)ptx_get(l, &i->operands[4]);
        t->shuffle = i;
        t->state = AT_WARP;
        break;
    case DO_activemask:
        ptx_set(l, &i->operands[0],
                b->machine->apart ? 1u << (t - b->thread) % LANES : active);
        break;
    case DO_trap:
        b->outcome = PTX_TRAPPED;
        snprintf(b->launch->why, 256, "trap");
        break;
    default:
        if (!ptx_compute(l, i)) {
            b->outcome = PTX_UNKNOWN;
            snprintf(b->launch->why, 256, "instruction of line %u", i->line);
        }
    }
}

// Warps -----------------------------------------------------------------------

// Whether `a` is behind `b`: what was called first is finished first.
static bool is_behind(const struct frame *a, const struct frame *b)
{
    return a->depth != b->depth ? a->depth > b->depth : a->pc < b->pc;
}

// The thread whose turn it is; with `fair`, the one that is furthest ahead,
// which others may be waiting for.
static struct frame *choose(struct block *b, uint32_t first, bool fair)
{
    struct frame *best = NULL;

    for (uint32_t i = first; i < first + LANES && i < b->threads; i++) {
        struct thread *t = &b->thread[i];
        if (t->state == RUNS && (!best || (is_behind(t->frame, best) != fair)))
            best = t->frame;
    }
    return best;
}

// One instruction for all threads of the warp that are at it.
static bool step(struct block *b, uint32_t first, bool fair)
{
    struct frame *leader = choose(b, first, fair);

    if (!leader)
        return false;
    const struct ptx_function *f = leader->function;
    uint32_t pc = leader->pc, depth = leader->depth, active = 0;
    if (pc >= f->count) {
        b->outcome = PTX_UNKNOWN;
        snprintf(b->launch->why, 256, "%.200s has no end", f->name);
        return true;
    }
    const struct ptx_instruction *i = &f->code[pc];
    for (uint32_t n = 0; n < LANES && first + n < b->threads; n++) {
        struct thread *t = &b->thread[first + n];
        if (t->state != RUNS || t->frame->function != f || t->frame->pc != pc ||
            t->frame->depth != depth)
            continue;
        t->frame->pc++;
        if (i->guard < 0 ||
            (t->frame->registers[i->guard] != 0) != i->guard_negated)
            active |= 1u << n;
    }
    for (uint32_t n = 0; n < LANES && b->outcome == PTX_DONE; n++)
        if (active >> n & 1) {
            struct thread *t = &b->thread[first + n];
            struct lane lane = {b, t, t->frame, first + n};
            act(&lane, i, active);
        }
    return true;
}

// False: nobody in the block could go on.
static bool run_turn(struct block *b)
{
    bool any = false;

    for (uint32_t first = 0; first < b->threads; first += LANES) {
        uint64_t *steps = &b->steps[first / LANES];
        for (unsigned n = 0; n < TURN && b->outcome == PTX_DONE; n++) {
            // Now and then those ahead, else a lane that waits for another's
            // store would keep it from storing.
            bool fair = *steps % 4096 >= 4096 - 256;
            if (!step(b, first, fair)) {
                release_lanes(b, first);
                if (!step(b, first, fair))
                    break;
            }
            ++*steps;
            any = true;
        }
        release_lanes(b, first);
    }
    if (b->outcome == PTX_DONE)
        release_barriers(b);
    return any;
}

// Blocks ----------------------------------------------------------------------

static bool start_block(struct block *b, const struct ptx_machine *machine,
                        const struct ptx_launch *launch, uint64_t number)
{
    uint32_t x = launch->grid[0], y = launch->grid[1];

    *b = (struct block){
        .machine = machine,
        .launch = launch,
        .id = {(uint32_t)(number % x), (uint32_t)(number / x % y),
               (uint32_t)(number / x / y)},
        .threads = launch->block[0] * launch->block[1] * launch->block[2],
        .shared_static =
            (uint32_t)(launch->entry->module->shared_bytes + 127) / 128 * 128,
    };
    b->live = b->threads;
    b->shared_bytes = b->shared_static + launch->shared_bytes;
    b->shared = aligned_alloc(1024, (b->shared_bytes + 2047) / 1024 * 1024);
    b->thread = calloc(b->threads, sizeof(*b->thread));
    b->steps = calloc(b->threads / LANES + 1, sizeof(*b->steps));
    if (!b->shared || !b->thread || !b->steps)
        return false;
    memset(b->shared, 0xcd, b->shared_bytes);
    for (uint32_t i = 0; i < b->threads; i++) {
        struct thread *t = &b->thread[i];
        t->tid[0] = i % launch->block[0];
        t->tid[1] = i / launch->block[0] % launch->block[1];
        t->tid[2] = i / launch->block[0] / launch->block[1];
        t->stack = aligned_alloc(64, STACK);
        if (!t->stack ||
            !enter(t, launch->entry, (char *)(uintptr_t)launch->parameters))
            return false;
    }
    return true;
}

static void end_block(struct block *b)
{
    for (uint32_t i = 0; b->thread && i < b->threads; i++)
        free(b->thread[i].stack);
    free(b->steps);
    free(b->thread);
    free(b->shared);
    *b = (struct block){0};
}

enum ptx_outcome ptx_run(const struct ptx_machine *machine,
                         const struct ptx_launch *launch)
{
    unsigned room = machine->blocks_at_once;
    struct block *blocks = calloc(room, sizeof(*blocks));
    uint64_t all =
        (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint64_t begun = 0, ended = 0;
    enum ptx_outcome outcome = blocks ? PTX_DONE : PTX_UNKNOWN;

    launch->why[0] = '\0';
    while (ended < all && outcome == PTX_DONE) {
        bool any = false;
        for (unsigned i = 0; i < room && outcome == PTX_DONE; i++) {
            struct block *b = &blocks[i];
            if (!b->thread && begun < all &&
                !start_block(b, machine, launch, begun++)) {
                snprintf(launch->why, 256, "no memory for a block");
                outcome = PTX_UNKNOWN;
                break;
            }
            if (!b->thread)
                continue;
            bool ran = run_turn(b);
            // Barriers may have let go at the end of the turn.
            b->quiet = ran ? 0 : b->quiet + 1;
            any = any || ran;
            outcome = b->outcome;
            if (b->live == 0) {
                end_block(b);
                ended++;
                any = true;
            } else if (b->quiet > 2 && outcome == PTX_DONE) {
                snprintf(launch->why, 256,
                         "threads wait for others that never come");
                outcome = PTX_DEADLOCK;
            }
        }
        if (outcome == PTX_DONE && atomic_load(machine->stop))
            outcome = PTX_STOPPED;
        (void)any;
    }
    for (unsigned i = 0; blocks && i < room; i++)
        end_block(&blocks[i]);
    free(blocks);
    return outcome;
}
