#include "kernel/compiler/lanes/guard.h"

#include "kernel/compiler/analysis/linear.h"
#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/emit/emit.h"

enum {
    MAX_CONDITIONS = 8 // one behind the other
};

// Whether a block does nothing but compute what it branches on, and values.
static bool only_asks(const struct hdi_flow *flow, size_t block)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[block].block); x;
         x = LLVMGetNextInstruction(x))
        if (hdi_has_effects(flow, x))
            return false;
    return true;
}

static bool keeps(const struct hdi_region *region, enum hdi_slot_place place)
{
    const struct hdi_flow *flow = region->flow;

    for (size_t s = 0; s < flow->slot_count; s++)
        for (size_t i = 0; i < region->exit_count; i++)
            if (region->stores[s] && flow->slots[s].place == place &&
                hdi_flow_is_live(flow, region->exits[i], s))
                return true;
    return false;
}

// Then each work-item must come by the end of the region, so none can be left
// out.
bool hdi_guard_keeps_items(const struct hdi_region *region)
{
    return keeps(region, HDI_PLACE_ITEMS);
}

// Then one work-item at least must.
bool hdi_guard_keeps_group(const struct hdi_region *region)
{
    return keeps(region, HDI_PLACE_GROUP);
}

bool hdi_guard_is_shared(const struct hdi_region *region)
{
    const struct hdi_flow *flow = region->flow;

    if (flow->flat || region->some_return_early ||
        hdi_guard_keeps_items(region))
        return false;
    for (size_t i = 0; i < region->count; i++) {
        const struct hdi_block *block = &flow->blocks[region->blocks[i]];
        if (!only_asks(flow, region->blocks[i]) || block->divergent ||
            hdi_flow_is_divergent(flow,
                                  LLVMGetBasicBlockTerminator(block->block)))
            return false;
    }
    return true;
}

// What a value was before it went through a slot or was made wider or narrower.
// Local ids fit 31 bits: an id that equals a number still equals it then.
static LLVMValueRef origin(const struct hdi_flow *flow, LLVMValueRef value)
{
    for (;;) {
        size_t slot =
            LLVMIsALoadInst(value) ? hdi_slot_of(flow, value) : SIZE_MAX;
        LLVMTypeRef type = LLVMTypeOf(value);
        if (slot != SIZE_MAX && flow->slots[slot].only_stored)
            value = flow->slots[slot].only_stored;
        else if (LLVMIsAZExtInst(value) || LLVMIsASExtInst(value) ||
                 (LLVMIsATruncInst(value) && LLVMGetIntTypeWidth(type) >= 32))
            value = LLVMGetOperand(value, 0);
        else
            return value;
    }
}

static bool is_local_id(const struct hdi_flow *flow, LLVMValueRef value,
                        unsigned d)
{
    LLVMValueRef call = origin(flow, value);

    if (!hdi_emit_is_remakable(flow, value) ||
        hdi_call_kind(call) != HDI_CALL_LOCAL_ID)
        return false;
    LLVMValueRef asked = LLVMGetOperand(call, 0);
    return LLVMIsAConstantInt(asked) && LLVMConstIntGetZExtValue(asked) == d;
}

// Both `a && b` and its opposite for !a || !b.
static bool is_both(LLVMValueRef condition, bool wanted)
{
    if (LLVMIsASelectInst(condition)) {
        LLVMValueRef other = LLVMGetOperand(condition, wanted ? 2 : 1);
        return LLVMIsAConstantInt(other) &&
               LLVMConstIntGetZExtValue(other) == !wanted;
    }
    return LLVMIsABinaryOperator(condition) &&
           LLVMGetInstructionOpcode(condition) == (wanted ? LLVMAnd : LLVMOr);
}

// The local id without which `condition` is not as wanted.
static LLVMValueRef find_id(const struct hdi_flow *flow, LLVMValueRef condition,
                            bool wanted, unsigned d)
{
    condition =
        LLVMIsALoadInst(condition) ? origin(flow, condition) : condition;
    if (LLVMIsAInstruction(condition) && is_both(condition, wanted)) {
        bool is_select = LLVMIsASelectInst(condition) != NULL;
        LLVMValueRef other =
            LLVMGetOperand(condition, is_select && !wanted ? 2 : 1);
        LLVMValueRef id =
            find_id(flow, LLVMGetOperand(condition, 0), wanted, d);
        return id ? id : find_id(flow, other, wanted, d);
    }
    if (!LLVMIsAICmpInst(condition) ||
        LLVMGetICmpPredicate(condition) != (wanted ? LLVMIntEQ : LLVMIntNE) ||
        LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(condition, 0))) !=
            LLVMIntegerTypeKind)
        return NULL;
    for (unsigned side = 0; side < 2; side++) {
        LLVMValueRef value = LLVMGetOperand(condition, 1 - side);
        if (is_local_id(flow, LLVMGetOperand(condition, side), d) &&
            !hdi_flow_is_divergent(flow, value) &&
            hdi_emit_is_remakable(flow, value))
            return value;
    }
    return NULL;
}

// Work-items that come to `block` do nothing more in the region but compute
// what the group agrees on.
// By way of blocks that only ask, with one way on; as many steps as there are
// blocks at most, since such blocks may go round in a circle.
static bool is_end(const struct hdi_region *region, size_t block)
{
    const struct hdi_flow *flow = region->flow;

    for (size_t i = 0; i < flow->block_count; i++) {
        const struct hdi_block *b = &flow->blocks[block];
        if (b->cut || b->successor_count != 1 || !only_asks(flow, block))
            break;
        block = b->successors[0];
    }
    return region->exit_count > 0 ? block == region->exits[0]
                                  : hdi_is_plain_return(flow, block);
}

// The way on from a block that asks only and of which another way ends, as a
// successor's number; -1: it is not like that.
static int way_on(const struct hdi_region *region, size_t block)
{
    const struct hdi_flow *flow = region->flow;
    const struct hdi_block *b = &flow->blocks[block];

    if (b->cut || b->successor_count != 2 ||
        LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(b->block)) !=
            LLVMBr ||
        !only_asks(flow, block))
        return -1;
    for (int s = 0; s < 2; s++)
        if (is_end(region, b->successors[1 - s]))
            return s;
    return -1;
}

// Follows the conditions at the begin of the region as long as the other way of
// each ends at once, and takes the first that names an id.
LLVMValueRef hdi_guard_lone_item(const struct hdi_region *region, unsigned d)
{
    const struct hdi_flow *flow = region->flow;
    size_t block = region->start;
    LLVMValueRef id = NULL;

    if (flow->flat || region->exit_count > 1 || region->some_return_early ||
        hdi_guard_keeps_items(region))
        return NULL;
    for (unsigned n = 0; !id && n < MAX_CONDITIONS; n++) {
        int on = way_on(region, block);
        if (on < 0)
            return NULL;
        LLVMValueRef end =
            LLVMGetBasicBlockTerminator(flow->blocks[block].block);
        id = find_id(flow, LLVMGetOperand(end, 0), on == 0, d);
        block = flow->blocks[block].successors[on];
    }
    return id;
}
