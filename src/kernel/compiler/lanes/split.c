#include "kernel/compiler/lanes/split.h"

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/lanes/guard.h"

// Chunks that are all below the limit, all beyond it, and the one across it
// each have code of their own, hence the limits of length.
enum {
    MAX_INSTRUCTIONS = 150, // of a region that is worth writing for each way
    MAX_TINY = 24,          // of one that is worth writing for fewer lanes
    MAX_DEPTH = 16          // of the condition's computation
};

static bool stores_slot(const struct hdi_flow *flow, size_t block, size_t slot)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[block].block); x;
         x = LLVMGetNextInstruction(x))
        if (LLVMIsAStoreInst(x) && hdi_slot_of(flow, x) == slot)
            return true;
    return false;
}

// What the first block has computed itself, though it keeps it for others.
static LLVMValueRef before_kept(const struct hdi_linear *l, LLVMValueRef value)
{
    size_t slot =
        LLVMIsALoadInst(value) ? hdi_slot_of(l->flow, value) : SIZE_MAX;

    return slot != SIZE_MAX && stores_slot(l->flow, l->order->blocks[0], slot)
               ? hdi_origin(l->flow, value)
               : value;
}

// Can the value be computed before the chunks: from ids and from what the group
// agrees on?
// A slot must not be stored in the first block: the value asked for would be
// another one.
static bool is_known(const struct hdi_linear *l, LLVMValueRef value,
                     unsigned depth)
{
    const struct hdi_flow *flow = l->flow;

    if (!LLVMIsAInstruction(value))
        return true;
    if (depth == MAX_DEPTH || hdi_linear_varies(l, value))
        return false;
    if (LLVMIsALoadInst(value)) {
        size_t slot = hdi_slot_of(flow, value);
        return slot != SIZE_MAX && !hdi_linear_slot_varies(l, slot) &&
               !stores_slot(flow, l->order->blocks[0], slot);
    }
    enum hdi_call kind = hdi_call_kind(value);
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value)) {
        if (kind == HDI_CALL_OTHER || hdi_call_is_barrier(kind))
            return false;
        count = LLVMGetNumArgOperands(value);
    } else if (!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value) &&
               !LLVMIsASelectInst(value) && !LLVMIsAICmpInst(value)) {
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        if (!is_known(l, LLVMGetOperand(value, i), depth + 1))
            return false;
    return true;
}

static bool is_id(const struct hdi_linear *l, LLVMValueRef id, bool is_signed)
{
    struct hdi_step step = hdi_linear_step(l, id);
    return step.by == 1 && (is_signed ? step.is_signed : step.is_unsigned);
}

// The comparison that the region asks for, maybe one of an earlier region.
static LLVMValueRef comparison_of(const struct hdi_linear *l,
                                  LLVMValueRef condition, bool *remade)
{
    const struct hdi_flow *flow = l->flow;
    size_t slot =
        LLVMIsALoadInst(condition) ? hdi_slot_of(flow, condition) : SIZE_MAX;

    *remade = slot != SIZE_MAX &&
              l->flow->slots[slot].place == HDI_PLACE_REMADE &&
              hdi_flow_is_live(flow, l->order->blocks[0], slot);
    return *remade ? flow->slots[slot].only_stored : condition;
}

// The predicate with its operands exchanged.
static LLVMIntPredicate turned(LLVMIntPredicate p)
{
    switch (p) {
    case LLVMIntULT:
        return LLVMIntUGT;
    case LLVMIntULE:
        return LLVMIntUGE;
    case LLVMIntUGT:
        return LLVMIntULT;
    case LLVMIntUGE:
        return LLVMIntULE;
    case LLVMIntSLT:
        return LLVMIntSGT;
    case LLVMIntSLE:
        return LLVMIntSGE;
    case LLVMIntSGT:
        return LLVMIntSLT;
    case LLVMIntSGE:
        return LLVMIntSLE;
    default:
        return p;
    }
}

// Brings `id < limit` and all that says the same into one form: the names are
// those of struct hdi_lane_split.
static bool read_condition(const struct hdi_linear *l, LLVMValueRef condition,
                           struct hdi_lane_split *s)
{
    condition = comparison_of(l, condition, &s->remade);
    if (!LLVMIsAICmpInst(condition))
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
    s->id = LLVMGetOperand(condition, 0);
    s->limit = LLVMGetOperand(condition, 1);
    if (hdi_linear_is_uniform(l, s->id)) {
        s->id = LLVMGetOperand(condition, 1);
        s->limit = LLVMGetOperand(condition, 0);
        p = turned(p);
    }
    if (!s->remade) {
        s->id = before_kept(l, s->id);
        s->limit = before_kept(l, s->limit);
    }
    // No id is below 0.
    bool zero = LLVMIsAConstantInt(s->limit) && LLVMIsNull(s->limit);
    if (p == LLVMIntEQ && zero)
        p = LLVMIntULE;
    else if (p == LLVMIntNE && zero)
        p = LLVMIntUGT;
    s->is_signed = p == LLVMIntSLT || p == LLVMIntSLE || p == LLVMIntSGT ||
                   p == LLVMIntSGE;
    s->inclusive = p == LLVMIntULE || p == LLVMIntSLE || p == LLVMIntUGT ||
                   p == LLVMIntSGT;
    s->below = p == LLVMIntUGT || p == LLVMIntSGT || p == LLVMIntUGE ||
               p == LLVMIntSGE;
    return p != LLVMIntEQ && p != LLVMIntNE &&
           hdi_linear_is_uniform(l, s->limit) &&
           is_id(l, s->id, s->is_signed) &&
           (s->remade || (is_known(l, s->limit, 0) && is_known(l, s->id, 0)));
}

// The block that `block` leads to by way of empty ones.
static size_t behind_empty(const struct hdi_flow *flow, size_t block)
{
    for (size_t i = 0; i < flow->block_count; i++) {
        const struct hdi_block *b = &flow->blocks[block];
        if (b->cut || b->successor_count != 1 ||
            !LLVMIsATerminatorInst(LLVMGetFirstInstruction(b->block)))
            break;
        block = b->successors[0];
    }
    return block;
}

// Do work-items that take this way leave nothing behind? They only return, or
// go to the cut that all others go to, and what they and the group keep there
// is as before: all of a group may take this way.
static bool does_nothing(const struct hdi_region *region,
                         const struct hdi_linear *l, size_t first, size_t way)
{
    const struct hdi_flow *flow = l->flow;
    size_t end = behind_empty(flow, way);

    for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[first].block); x;
         x = LLVMGetNextInstruction(x))
        if (hdi_has_effects(flow, x))
            return false;
    if (hdi_is_plain_return(flow, end))
        return !l->marks;
    if (region->exit_count != 1 || region->returns || end != region->exits[0] ||
        region->some_return_early)
        return false;
    return !hdi_guard_keeps_items(region) && !hdi_guard_keeps_group(region);
}

// Those of slots, which will be registers, only `with_slots`.
static unsigned count_instructions(const struct hdi_region *region,
                                   bool with_slots)
{
    const struct hdi_flow *flow = region->flow;
    unsigned count = 0;

    for (size_t i = 0; i < region->count; i++)
        for (LLVMValueRef x =
                 LLVMGetFirstInstruction(flow->blocks[region->blocks[i]].block);
             x; x = LLVMGetNextInstruction(x))
            count += with_slots || hdi_slot_of(flow, x) == SIZE_MAX;
    return count;
}

bool hdi_split_find(const struct hdi_region *region,
                    const struct hdi_linear *linear,
                    const struct hdi_block_order *order,
                    struct hdi_lane_split *split)
{
    const struct hdi_flow *flow = linear->flow;
    size_t first = order->blocks[0];
    const struct hdi_block *block = &flow->blocks[first];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);

    // Of work-items that have returned before, none asks.
    if (block->successor_count != 2 ||
        block->successors[0] == block->successors[1] ||
        order->loop_end[0] > 0 || LLVMGetInstructionOpcode(end) != LLVMBr ||
        (region->some_return_early && region->start != 0) ||
        !read_condition(linear, LLVMGetOperand(end, 0), split))
        return false;
    split->line = hdi_source_line(end);
    split->ebbs = does_nothing(region, linear, first,
                               block->successors[1 - split->below]);
    split->is_tiny = count_instructions(region, false) <= MAX_TINY;
    return count_instructions(region, true) <= MAX_INSTRUCTIONS;
}

// Write what a value of the first block needs, and the value.
static LLVMValueRef compute(struct hdi_wide *w, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return hdi_emit_operand(w->emit, value);
    LLVMValueRef copy = hdi_map_get(&w->emit->values, value);
    if (copy)
        return copy;
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value))
        count = LLVMGetNumArgOperands(value);
    for (unsigned i = 0; i < count && !LLVMIsALoadInst(value); i++)
        compute(w, LLVMGetOperand(value, i));
    hdi_widen(w, value);
    return hdi_map_get(&w->emit->values, value);
}

static LLVMValueRef least(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, x, y, ""), x, y, "");
}

LLVMValueRef hdi_split_count(const struct hdi_lane_split *s, struct hdi_wide *w)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    if (s->remade) {
        hdi_widen_remade(w, s->id);
        hdi_widen_remade(w, s->limit);
    }
    LLVMValueRef id = compute(w, s->id), limit = compute(w, s->limit);
    LLVMTypeRef type = LLVMTypeOf(e->trip[0]);
    LLVMValueRef trip = LLVMBuildZExt(b, e->trip[0], e->i64, "");

    // Ids do not wrap, so the difference is right as one without a sign.
    LLVMValueRef some =
        LLVMBuildICmp(b, s->is_signed ? LLVMIntSLE : LLVMIntULE, id, limit, "");
    LLVMValueRef count = least(
        b,
        LLVMBuildZExtOrBitCast(b, LLVMBuildSub(b, limit, id, ""), e->i64, ""),
        trip);
    if (s->inclusive)
        count =
            least(b, LLVMBuildAdd(b, count, LLVMConstInt(e->i64, 1, false), ""),
                  trip);
    count = LLVMBuildSelect(b, some, count, LLVMConstNull(e->i64), "");
    return LLVMBuildTruncOrBitCast(b, count, type, "");
}
