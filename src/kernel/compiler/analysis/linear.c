// Everything is taken to be uniform until something shows that it is not:
// classes only ever get worse, so this ends.
#include "kernel/compiler/analysis/linear.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/analysis/step.h"

// A step is kept in 32 bits beside the kind (pack()): larger ones vary.
enum {
    MAX_STEP = 1 << 30,
    MAX_OPERANDS = 8 // of what has a step
};

static const struct hdi_class unknown = {.kind = HDI_LANES_UNKNOWN};
static const struct hdi_class varying = {.kind = HDI_LANES_VARY};
static const struct hdi_class uniform = {HDI_LANES_LINEAR, 0, true, true};

// Classes ---------------------------------------------------------------------

//     bits 63..36   35..4   3..2   1           0
//          0        step    kind   is_signed   is_unsigned
static size_t pack(struct hdi_class c)
{
    return (size_t)(uint32_t)c.step << 4 | (size_t)c.kind << 2 |
           (size_t)c.is_signed << 1 | (size_t)c.is_unsigned;
}

static struct hdi_class unpack(size_t packed)
{
    return (struct hdi_class){
        .kind = (enum hdi_lane_kind)(packed >> 2 & 3),
        .step = (int32_t)(uint32_t)(packed >> 4),
        .is_signed = packed >> 1 & 1,
        .is_unsigned = packed & 1,
    };
}

static struct hdi_class linear_by(int64_t step, bool is_signed,
                                  bool is_unsigned)
{
    if (step <= -MAX_STEP || step >= MAX_STEP)
        return varying;
    return (struct hdi_class){HDI_LANES_LINEAR, (int32_t)step, is_signed,
                              is_unsigned};
}

// What is left of two.
// Goes one way: UNKNOWN, LINEAR with promises, LINEAR without, VARY.
static struct hdi_class meet(struct hdi_class a, struct hdi_class b)
{
    if (a.kind == HDI_LANES_UNKNOWN)
        return b;
    if (b.kind == HDI_LANES_UNKNOWN)
        return a;
    if (a.kind == HDI_LANES_VARY || b.kind == HDI_LANES_VARY ||
        a.step != b.step)
        return varying;
    return linear_by(a.step, a.is_signed && b.is_signed,
                     a.is_unsigned && b.is_unsigned);
}

static bool is_uniform(struct hdi_class c)
{
    return c.kind == HDI_LANES_LINEAR && c.step == 0;
}

struct hdi_class hdi_linear_class(const struct hdi_linear *l,
                                  LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return LLVMIsUndef(value) ? unknown : uniform;
    size_t packed = hdi_map_index(&l->classes, value);
    return packed == SIZE_MAX ? unknown : unpack(packed);
}

// Of operands that are linear, some with a step.
static struct hdi_class combined(const struct hdi_linear *l, LLVMValueRef value)
{
    const struct hdi_step_rules rules = {
        .llvm = l->flow->llvm, .flow = l->flow, .proves = true};
    struct hdi_step parts[MAX_OPERANDS];
    unsigned count = (unsigned)LLVMGetNumOperands(value);

    if (count > MAX_OPERANDS)
        return varying;
    if (LLVMIsASelectInst(value))
        return is_uniform(hdi_linear_class(l, LLVMGetOperand(value, 0)))
                   ? meet(hdi_linear_class(l, LLVMGetOperand(value, 1)),
                          hdi_linear_class(l, LLVMGetOperand(value, 2)))
                   : varying;
    for (unsigned i = 0; i < count; i++) {
        struct hdi_class c = hdi_linear_class(l, LLVMGetOperand(value, i));
        parts[i] = (struct hdi_step){c.step, c.is_signed, c.is_unsigned};
    }
    struct hdi_step all = hdi_step_combine(&rules, value, parts, count);
    return linear_by(all.by, all.is_signed, all.is_unsigned);
}

static struct hdi_class of_call(LLVMValueRef call, struct hdi_class operands)
{
    switch (hdi_call_kind(call)) {
    case HDI_CALL_GLOBAL_ID:
    case HDI_CALL_LOCAL_ID: {
        LLVMValueRef d = LLVMGetOperand(call, 0);
        if (!LLVMIsAConstantInt(d))
            return varying;
        return linear_by(LLVMConstIntGetZExtValue(d) == 0, true, true);
    }
    case HDI_CALL_OTHER:
        return is_uniform(operands) && hdi_vector_intrinsic(call) == 0
                   ? varying
                   : operands;
    default:
        return operands;
    }
}

static struct hdi_class of_array(const struct hdi_linear *l, LLVMValueRef array)
{
    for (size_t a = 0; a < l->flow->array_count; a++)
        if (l->flow->arrays[a] == array)
            return linear_by((int64_t)l->flow->array_sizes[a], false, false);
    return uniform; // a slot, whose address nobody uses
}

// All operands of one class: uniform, unknown or not.
static struct hdi_class of_operands(const struct hdi_linear *l,
                                    LLVMValueRef value, bool *has_step)
{
    struct hdi_class all = uniform;
    int count = LLVMGetNumOperands(value);
    bool some_unknown = false;

    if (LLVMIsACallInst(value))
        count = (int)LLVMGetNumArgOperands(value);
    *has_step = false;
    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
        struct hdi_class c = hdi_linear_class(l, operand);
        if (c.kind == HDI_LANES_VARY)
            return varying;
        some_unknown |= c.kind == HDI_LANES_UNKNOWN && !LLVMIsUndef(operand);
        *has_step |= c.step != 0;
    }
    return some_unknown ? unknown : all;
}

static struct hdi_class of_instruction(const struct hdi_linear *l,
                                       LLVMValueRef value)
{
    bool has_step;

    if (LLVMIsAAllocaInst(value))
        return of_array(l, value);
    if (LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value))
        return varying;
    if (LLVMIsALoadInst(value)) {
        size_t slot = hdi_slot_of(l->flow, value);
        if (slot != SIZE_MAX)
            return l->slots[slot];
        if (!hdi_is_plain_access(value))
            return varying;
        struct hdi_class pointer =
            hdi_linear_class(l, LLVMGetOperand(value, 0));
        return pointer.step != 0 ? varying : pointer;
    }
    struct hdi_class operands = of_operands(l, value, &has_step);
    if (operands.kind != HDI_LANES_LINEAR)
        return operands;
    if (LLVMIsACallInst(value))
        return has_step ? varying : of_call(value, operands);
    return has_step ? combined(l, value) : operands;
}

static bool note(struct hdi_linear *l, LLVMValueRef value)
{
    struct hdi_class before = hdi_linear_class(l, value);
    struct hdi_class now = meet(before, of_instruction(l, value));

    if (pack(before) == pack(now))
        return false;
    hdi_map_set_index(&l->classes, value, pack(now));
    return true;
}

// Values at the start of the region -------------------------------------------

// The class of a value that is computed again, and of all it needs.
// Such values are computed again when the region begins: their class follows
// from ids, whatever the region before knew.
static struct hdi_class of_remade(struct hdi_linear *l, LLVMValueRef value)
{
    const struct hdi_flow *flow = l->flow;

    if (!LLVMIsAInstruction(value))
        return hdi_linear_class(l, value);
    size_t slot = hdi_slot_of(flow, value);
    if (slot != SIZE_MAX) {
        struct hdi_class c = of_remade(l, flow->slots[slot].only_stored);
        hdi_map_set_index(&l->classes, value, pack(c));
        return c;
    }
    int count = LLVMGetNumOperands(value);
    for (int i = 0; i < count; i++)
        of_remade(l, LLVMGetOperand(value, (unsigned)i));
    note(l, value);
    return hdi_linear_class(l, value);
}

// A slot per work-item may hold anything: lanes were not compared when it was
// stored.
static void begin_slots(struct hdi_linear *l, size_t start)
{
    const struct hdi_flow *flow = l->flow;

    for (size_t a = 0; a < flow->array_count; a++)
        note(l, flow->arrays[a]); // the region may begin behind them
    for (size_t s = 0; s < flow->slot_count; s++) {
        enum hdi_slot_place place = flow->slots[s].place;
        l->slots[s] = unknown;
        if (!hdi_flow_is_live(flow, start, s))
            continue;
        if (place == HDI_PLACE_GROUP)
            l->slots[s] = uniform;
        else if (place == HDI_PLACE_REMADE)
            l->slots[s] = of_remade(l, flow->slots[s].only_stored);
        else if (place == HDI_PLACE_ITEMS)
            l->slots[s] = varying;
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
        return note(l, x);
    size_t slot = hdi_slot_of(flow, x);
    if (slot == SIZE_MAX)
        return false;
    struct hdi_class now = hdi_linear_class(l, LLVMGetOperand(x, 0));
    if (hdi_bit(l->waiting + at * flow->live_words, slot))
        now = varying;
    now = meet(l->slots[slot], now);
    bool changed = pack(now) != pack(l->slots[slot]);
    l->slots[slot] = now;
    return changed;
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
            !is_uniform(hdi_linear_class(l, LLVMGetOperand(x, 0))) &&
            hdi_linear_class(l, LLVMGetOperand(x, 0)).kind != HDI_LANES_UNKNOWN)
            l->parts[at] = true;
        l->parts[at] |= l->scattered[at];
    }
    // Where lanes that part may wait does not change.
    if (l->parts[at] && !parted)
        changed |= follow(l, at);
    return changed;
}

bool hdi_linear_find(const struct hdi_flow *flow,
                     const struct hdi_block_order *order, bool marks,
                     bool together, struct hdi_linear *l)
{
    *l = (struct hdi_linear){
        .flow = flow,
        .order = order,
        .together = together,
        .marks = marks,
        .slots = calloc(flow->slot_count + 1, sizeof(*l->slots)),
        .waiting = calloc(order->count * flow->live_words, sizeof(uint64_t)),
        .scattered = calloc(order->count, sizeof(bool)),
        .parts = calloc(order->count, sizeof(bool)),
    };
    if (!l->slots || !l->waiting || !l->scattered || !l->parts) {
        hdi_linear_destroy(l);
        return false;
    }
    begin_slots(l, order->blocks[0]);
    for (bool changed = true; changed && !l->classes.failed;) {
        changed = false;
        for (size_t at = 0; at < order->count; at++)
            changed |= look_at_block(l, at);
    }
    if (!l->classes.failed)
        return true;
    hdi_linear_destroy(l);
    return false;
}

void hdi_linear_destroy(struct hdi_linear *l)
{
    free(l->slots);
    free(l->waiting);
    free(l->scattered);
    free(l->parts);
    hdi_map_clear(&l->classes);
    *l = (struct hdi_linear){0};
}
