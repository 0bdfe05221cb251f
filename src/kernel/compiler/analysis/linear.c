// Everything is taken to be uniform until something shows that it is not: steps
// only ever get worse, so this ends.
#include "kernel/compiler/analysis/linear.h"

#include <stdlib.h>

enum {
    MAX_DEPTH = 128 // of what work-items find again
};

// Any value will do for what is still UNKNOWN.
static struct hdi_step known(struct hdi_step step)
{
    return step.by == HDI_STEP_UNKNOWN ? hdi_step_none : step;
}

struct hdi_step hdi_linear_step(const struct hdi_linear *l, LLVMValueRef value)
{
    return known(hdi_affine_proof(&l->steps, value));
}

struct hdi_step hdi_linear_slot(const struct hdi_linear *l, size_t slot)
{
    return known(l->steps.slots[slot]);
}

static bool finds_again(struct hdi_linear *l, LLVMValueRef value,
                        unsigned depth);

static bool is_made_again(struct hdi_linear *l, LLVMValueRef value,
                          unsigned depth)
{
    LLVMValueRef origin = hdi_origin(l->flow, value);
    if (origin != value)
        return finds_again(l, origin, depth);
    bool is_id = hdi_call_kind(value) <= HDI_CALL_WORK_DIM;
    if (!is_id && !LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value) &&
        !LLVMIsAICmpInst(value) && !LLVMIsASelectInst(value) &&
        !LLVMIsAGetElementPtrInst(value))
        return false;
    unsigned count = is_id ? LLVMGetNumArgOperands(value)
                           : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count; i++)
        if (!finds_again(l, LLVMGetOperand(value, i), depth))
            return false;
    return true;
}

// Whether a work-item finds the same whenever it computes the value: it follows
// from ids and arguments alone. What has been looked at is kept in `fixed`,
// with itself where it is so.
static bool finds_again(struct hdi_linear *l, LLVMValueRef value,
                        unsigned depth)
{
    if (!LLVMIsAInstruction(value))
        return true;
    LLVMValueRef known = hdi_map_get(&l->fixed, value);
    if (!known) {
        bool is_fixed = depth < MAX_DEPTH && is_made_again(l, value, depth + 1);
        known = is_fixed ? value : l->flow->kernel;
        hdi_map_set(&l->fixed, value, known);
    }
    return known == value;
}

static bool stays(struct hdi_linear *l, size_t slot)
{
    LLVMValueRef stored = l->flow->slots[slot].only_stored;
    return stored && finds_again(l, stored, 0);
}

// Have all lanes stored there, also those that are off now?
static bool has_all(const struct hdi_linear *l, size_t slot)
{
    const struct hdi_flow *flow = l->flow;
    bool found = false;

    for (LLVMUseRef u = LLVMGetFirstUse(flow->slots[slot].alloca); u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store))
            continue;
        size_t block =
            hdi_map_index(&flow->block_index, LLVMGetInstructionParent(store));
        if (flow->blocks[block].divergent)
            return false;
        found = true;
    }
    return found && !l->gone;
}

// Values at the start of the region -------------------------------------------

static void add(struct hdi_linear *l, LLVMValueRef value)
{
    hdi_affine_add(&l->steps, value);
    hdi_affine_refine(&l->steps, value);
}

// Such values, with all they need, are computed again when the region begins:
// their steps follow from ids, whatever the region before knew.
static void add_remade(struct hdi_linear *l, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value) || hdi_map_get(&l->remade, value))
        return;
    hdi_map_set(&l->remade, value, value);
    size_t slot = hdi_slot_of(l->flow, value);
    if (slot != SIZE_MAX) {
        LLVMValueRef stored = l->flow->slots[slot].only_stored;
        add_remade(l, stored);
        struct hdi_step *step = hdi_affine_add(&l->steps, value);
        if (step)
            *step = hdi_affine_proof(&l->steps, stored);
        return;
    }
    int count = LLVMGetNumOperands(value);
    for (int i = 0; i < count; i++)
        add_remade(l, LLVMGetOperand(value, (unsigned)i));
    add(l, value);
}

// A slot per work-item may hold anything, as lanes were not compared when it
// was stored: but for what each finds whenever it looks.
static void begin_slots(struct hdi_linear *l, size_t start)
{
    const struct hdi_flow *flow = l->flow;

    for (size_t s = 0; s < flow->slot_count; s++) {
        const struct hdi_slot *slot = &flow->slots[s];
        struct hdi_step *step = &l->steps.slots[s];
        if (!hdi_flow_is_live(flow, start, s))
            continue;
        if (slot->place == HDI_PLACE_GROUP) {
            *step = hdi_step_none;
        } else if (slot->place == HDI_PLACE_REMADE ||
                   (slot->place == HDI_PLACE_ITEMS && stays(l, s) &&
                    has_all(l, s))) {
            add_remade(l, slot->only_stored);
            *step = hdi_affine_proof(&l->steps, slot->only_stored);
        } else if (slot->place == HDI_PLACE_ITEMS) {
            *step = hdi_step_varies;
        }
    }
}

// The region may begin behind the arrays.
static void add_all(struct hdi_linear *l)
{
    const struct hdi_flow *flow = l->flow;

    for (size_t a = 0; a < flow->array_count; a++)
        add(l, flow->arrays[a]);
    for (size_t at = 0; at < l->order->count; at++) {
        const struct hdi_block *block = &flow->blocks[l->order->blocks[at]];
        LLVMValueRef x =
            block->cut ? NULL : LLVMGetFirstInstruction(block->block);
        for (; x; x = LLVMGetNextInstruction(x))
            hdi_affine_add(&l->steps, x);
    }
}

// Lanes -----------------------------------------------------------------------

// Lanes that wait at `to` matter to the positions from `begin` to before `end`.
// While lanes wait, others may store to slots that those will read: such a
// store makes the slot vary, since the waiting lanes keep the old value.
static bool scatter(struct hdi_linear *l, size_t begin, size_t end, size_t to)
{
    const struct hdi_flow *flow = l->flow;
    const uint64_t *live = flow->live + l->order->blocks[to] * flow->live_words;
    bool changed = false;

    for (size_t at = begin; at < end; at++) {
        uint64_t *waiting = l->waiting + at * flow->live_words;
        if (at == to)
            continue;
        changed |= !l->scattered[at];
        l->scattered[at] = true;
        for (size_t w = 0; w < flow->live_words; w++) {
            changed |= (live[w] & ~waiting[w]) != 0;
            waiting[w] |= live[w];
        }
    }
    return changed;
}

// The head of the outermost loop that `from` is in and `to` is not; `from`,
// which may head none: there is no such loop.
static size_t loop_left(const struct hdi_block_order *order, size_t from,
                        size_t to)
{
    for (size_t head = 0; head < from; head++)
        if (hdi_order_in_loop(order, head, from) &&
            !hdi_order_in_loop(order, head, to))
            return head;
    return from;
}

// Lanes that part at `from` may wait at `to` while others are elsewhere.
// Leaving a loop, lanes wait until the last one leaves it: all positions of the
// loop matter, also those before the branch.
static bool follow_to(struct hdi_linear *l, size_t from, size_t to)
{
    const struct hdi_block_order *order = l->order;
    size_t end = from < to ? to : order->loop_end[to];
    size_t left = loop_left(order, from, to);
    bool changed = scatter(l, from + 1, end, to);

    if (!hdi_order_in_loop(order, left, to))
        changed |= scatter(l, left, order->loop_end[left], to);
    return changed;
}

// Follow the ways on which lanes part from `from`.
static bool follow(struct hdi_linear *l, size_t from)
{
    const struct hdi_flow *flow = l->flow;
    const struct hdi_block *block = &flow->blocks[l->order->blocks[from]];
    bool changed = false;

    for (unsigned s = 0; s < block->successor_count; s++) {
        size_t next = block->successors[s];
        if (!l->marks && hdi_is_plain_return(flow, next)) {
            changed |= !l->returns;
            l->returns = true;
            continue;
        }
        changed |= follow_to(l, from, l->order->position[next]);
    }
    return changed;
}

static bool look_at(struct hdi_linear *l, size_t at, LLVMValueRef x)
{
    const struct hdi_flow *flow = l->flow;

    if (!LLVMIsAStoreInst(x))
        return hdi_affine_refine(&l->steps, x);
    size_t slot = hdi_slot_of(flow, x);
    if (slot == SIZE_MAX)
        return false;
    struct hdi_step now = hdi_affine_proof(&l->steps, LLVMGetOperand(x, 0));
    // Lanes that wait keep what they had, and that may be the same.
    if (hdi_bit(l->waiting + at * flow->live_words, slot) && !stays(l, slot))
        now = hdi_step_varies;
    struct hdi_step *step = &l->steps.slots[slot];
    return hdi_step_set(step, hdi_step_meet(*step, now));
}

// A condition that is UNKNOWN does not part lanes yet; it will be looked at
// again.
static bool look_at_block(struct hdi_linear *l, size_t at)
{
    const struct hdi_block *block = &l->flow->blocks[l->order->blocks[at]];
    bool changed = false, parted = l->parts[at];

    if (block->cut)
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x;
         x = LLVMGetNextInstruction(x)) {
        if (!LLVMIsATerminatorInst(x)) {
            changed |= look_at(l, at, x);
            continue;
        }
        if (block->successor_count > 1 && !(l->together && at == 0) &&
            !hdi_linear_is_uniform(l, LLVMGetOperand(x, 0)))
            l->parts[at] = true;
        l->parts[at] |= l->scattered[at];
    }
    // Where lanes that part may wait does not change.
    if (l->parts[at] && !parted)
        changed |= follow(l, at);
    return changed;
}

bool hdi_linear_find(const struct hdi_flow *flow,
                     const struct hdi_block_order *order, bool gone, bool marks,
                     bool together, struct hdi_linear *l)
{
    *l = (struct hdi_linear){
        .flow = flow,
        .order = order,
        .together = together,
        .gone = gone,
        .marks = marks,
        .waiting = calloc(order->count * flow->live_words, sizeof(uint64_t)),
        .scattered = calloc(order->count, sizeof(bool)),
        .parts = calloc(order->count, sizeof(bool)),
    };
    bool ok = hdi_affine_prove(flow, &l->steps) && l->waiting && l->scattered &&
              l->parts;
    if (ok) {
        add_all(l);
        begin_slots(l, order->blocks[0]);
    }
    for (bool changed = ok; changed && !l->steps.numbers.failed;) {
        changed = false;
        for (size_t at = 0; at < order->count; at++)
            changed |= look_at_block(l, at);
    }
    if (ok && !l->steps.numbers.failed && !l->fixed.failed && !l->remade.failed)
        return true;
    hdi_linear_destroy(l);
    return false;
}

void hdi_linear_destroy(struct hdi_linear *l)
{
    free(l->waiting);
    free(l->scattered);
    free(l->parts);
    hdi_map_clear(&l->fixed);
    hdi_map_clear(&l->remade);
    hdi_affine_destroy(&l->steps);
    *l = (struct hdi_linear){0};
}
