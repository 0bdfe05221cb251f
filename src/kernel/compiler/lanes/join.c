// Two accesses of which one stores, by work-items at x and y, meet where
// address + size * x = other + size * y: y - x is the same for all. When it is
// above 0, the first access of x must come before the second of a later y,
// which is so from the first chunk to the last; below 0, the other way round.
// Within a chunk all lanes are through the first region before one begins the
// second.
#include "kernel/compiler/lanes/join.h"

#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/analysis/operation.h"

enum {
    MAX_ACCESSES = 32, // of either region
    MAX_DEPTH = 16     // of an address's computation
};

struct access {
    LLVMValueRef pointer; // where it came from
    LLVMTypeRef type;
    bool is_store;
};

// All of a region that are not of slots; more than there is room for, and the
// regions are not joined.
struct accesses {
    struct access list[MAX_ACCESSES];
    unsigned count;
};

// False when there is something whose order cannot be told.
// Atomics, calls and volatile accesses have an order that nobody computes.
static bool find_accesses(const struct hdi_region *region,
                          struct accesses *found)
{
    const struct hdi_flow *flow = region->flow;

    found->count = 0;
    for (size_t i = 0; i < region->count; i++)
        for (LLVMValueRef x =
                 LLVMGetFirstInstruction(flow->blocks[region->blocks[i]].block);
             x; x = LLVMGetNextInstruction(x)) {
            bool is_store = LLVMIsAStoreInst(x) != NULL;
            if (!is_store && !LLVMIsALoadInst(x)) {
                if (hdi_has_effects(flow, x))
                    return false;
                continue;
            }
            if (hdi_slot_of(flow, x) != SIZE_MAX)
                continue;
            if (!hdi_is_plain_access(x) || found->count == MAX_ACCESSES)
                return false;
            found->list[found->count++] = (struct access){
                hdi_origin(flow, LLVMGetOperand(x, is_store)),
                LLVMTypeOf(is_store ? LLVMGetOperand(x, 0) : x), is_store};
        }
    return true;
}

// Can the value be computed before the chunks?
static bool is_known(const struct hdi_join *join, const struct hdi_linear *l,
                     LLVMValueRef value, unsigned depth)
{
    const struct hdi_flow *flow = l->flow;

    if (!LLVMIsAInstruction(value))
        return true;
    if (depth == MAX_DEPTH || hdi_linear_varies(l, value))
        return false;
    if (LLVMIsALoadInst(value)) {
        size_t slot = hdi_slot_of(flow, value);
        if (slot == SIZE_MAX)
            return false;
        if (!join->both->stores[slot])
            return hdi_flow_is_live(flow, join->both->start, slot);
        return flow->slots[slot].only_stored &&
               is_known(join, l, flow->slots[slot].only_stored, depth + 1);
    }
    enum hdi_call kind = hdi_call_kind(value);
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value)) {
        if (kind == HDI_CALL_OTHER || hdi_call_is_barrier(kind))
            return false;
        count = LLVMGetNumArgOperands(value);
    } else if ((!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value) &&
                !LLVMIsAGetElementPtrInst(value)) ||
               code == LLVMUDiv || code == LLVMSDiv || code == LLVMURem ||
               code == LLVMSRem) {
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        if (!is_known(join, l, LLVMGetOperand(value, i), depth + 1))
            return false;
    return true;
}

// An index into local memory, before it was made wider: it may wrap for lanes
// that are off only, since the others would leave the memory.
static LLVMValueRef index_of(const struct hdi_linear *l, LLVMValueRef pointer)
{
    const struct hdi_flow *flow = l->flow;

    if (!LLVMIsAGetElementPtrInst(pointer) ||
        LLVMGetNumOperands(pointer) != 2 ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != HDI_SPACE_LOCAL)
        return NULL;
    LLVMValueRef index = hdi_origin(flow, LLVMGetOperand(pointer, 1));
    if (LLVMIsAZExtInst(index) || LLVMIsASExtInst(index))
        index = hdi_origin(flow, LLVMGetOperand(index, 0));
    return (hdi_is_integer(LLVMTypeOf(index), 32) ||
            hdi_is_integer(LLVMTypeOf(index), 64)) &&
                   hdi_linear_step(l, index).by == 1
               ? index
               : NULL;
}

static bool are_neighbours(const struct hdi_linear *l, LLVMValueRef pointer,
                           int64_t size)
{
    return hdi_linear_step(l, pointer).by == size;
}

// What tells how far apart two accesses are, NULL in it when nothing does.
static struct hdi_join_pair compare(const struct hdi_join *join,
                                    const struct hdi_linear *l,
                                    const struct access *a,
                                    const struct access *b)
{
    LLVMTargetDataRef layout = l->flow->llvm->layout;
    int64_t size = (int64_t)LLVMABISizeOfType(layout, a->type);
    struct hdi_join_pair pair = {a->pointer, b->pointer};

    if ((int64_t)LLVMABISizeOfType(layout, b->type) != size)
        return (struct hdi_join_pair){0};
    if (!are_neighbours(l, a->pointer, size) ||
        !are_neighbours(l, b->pointer, size)) {
        pair.first = index_of(l, a->pointer);
        pair.second = index_of(l, b->pointer);
        if (!pair.first || !pair.second ||
            hdi_origin(l->flow, LLVMGetOperand(a->pointer, 0)) !=
                hdi_origin(l->flow, LLVMGetOperand(b->pointer, 0)))
            return (struct hdi_join_pair){0};
        for (unsigned i = 0; i < 2; i++) {
            LLVMTypeRef type =
                LLVMGetGEPSourceElementType(i ? b->pointer : a->pointer);
            if ((int64_t)LLVMABISizeOfType(layout, type) != size)
                return (struct hdi_join_pair){0};
        }
    }
    if (!is_known(join, l, pair.first, 0) || !is_known(join, l, pair.second, 0))
        return (struct hdi_join_pair){0};
    return pair;
}

static bool add_pair(struct hdi_join *join, struct hdi_join_pair pair)
{
    if (pair.first == pair.second)
        return true; // a work-item's own
    for (unsigned i = 0; i < join->count; i++)
        if (join->pairs[i].first == pair.first &&
            join->pairs[i].second == pair.second)
            return true;
    if (join->count == HDI_JOIN_PAIRS)
        return false;
    join->pairs[join->count++] = pair;
    return true;
}

bool hdi_join_find(const struct hdi_region *first,
                   const struct hdi_region *second,
                   const struct hdi_region *both,
                   const struct hdi_linear *linear, struct hdi_join *join)
{
    const struct hdi_flow *flow = linear->flow;
    struct accesses before, after;

    *join = (struct hdi_join){.both = both};
    if (!find_accesses(first, &before) || !find_accesses(second, &after))
        return false;
    for (unsigned i = 0; i < before.count; i++)
        for (unsigned k = 0; k < after.count; k++) {
            const struct access *a = &before.list[i], *b = &after.list[k];
            LLVMValueRef from = hdi_address_root(flow, a->pointer);
            LLVMValueRef to = hdi_address_root(flow, b->pointer);
            // Private memory is each work-item's own.
            if ((!a->is_store && !b->is_store) ||
                !hdi_address_roots_meet(from, to) || LLVMIsAAllocaInst(from))
                continue;
            struct hdi_join_pair pair = compare(join, linear, a, b);
            if (!pair.first || !add_pair(join, pair))
                return false;
        }
    return join->count > 0;
}

// Writing ---------------------------------------------------------------------

static LLVMValueRef compute(const struct hdi_join *join, struct hdi_wide *w,
                            LLVMValueRef value)
{
    const struct hdi_flow *flow = w->emit->flow;

    if (!LLVMIsAInstruction(value))
        return hdi_emit_operand(w->emit, value);
    LLVMValueRef copy = hdi_map_get(&w->emit->values, value);
    if (copy)
        return copy;
    if (LLVMIsALoadInst(value)) {
        size_t slot = hdi_slot_of(flow, value);
        if (join->both->stores[slot]) {
            copy = compute(join, w, flow->slots[slot].only_stored);
            hdi_map_set(&w->emit->values, value, copy);
            return copy;
        }
    }
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value))
        count = LLVMGetNumArgOperands(value);
    for (unsigned i = 0; i < count && !LLVMIsALoadInst(value); i++)
        compute(join, w, LLVMGetOperand(value, i));
    hdi_widen(w, value);
    return hdi_map_get(&w->emit->values, value);
}

// An address or index as a number; nobody asks for it where it is poison.
static LLVMValueRef number(const struct hdi_join *join, struct hdi_wide *w,
                           LLVMValueRef value, LLVMTypeRef type)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef copy = LLVMBuildFreeze(b, compute(join, w, value), "");

    return LLVMGetTypeKind(LLVMTypeOf(copy)) == LLVMPointerTypeKind
               ? LLVMBuildPtrToInt(b, copy, type, "")
               : LLVMBuildTruncOrBitCast(b, copy, type, "");
}

LLVMValueRef hdi_join_order(const struct hdi_join *join, struct hdi_wide *w,
                            LLVMValueRef *backwards)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef up = LLVMConstNull(e->i1), down = up;

    for (unsigned i = 0; i < join->count; i++) {
        const struct hdi_join_pair *pair = &join->pairs[i];
        bool address =
            LLVMGetTypeKind(LLVMTypeOf(pair->first)) == LLVMPointerTypeKind;
        LLVMTypeRef type = address ? e->i64 : e->i32;
        LLVMValueRef apart =
            LLVMBuildSub(b, number(join, w, pair->first, type),
                         number(join, w, pair->second, type), "");
        LLVMValueRef zero = LLVMConstNull(type);
        up = LLVMBuildOr(b, up, LLVMBuildICmp(b, LLVMIntSGT, apart, zero, ""),
                         "");
        down = LLVMBuildOr(b, down,
                           LLVMBuildICmp(b, LLVMIntSLT, apart, zero, ""), "");
    }
    *backwards = down;
    return LLVMBuildNot(b, LLVMBuildAnd(b, up, down, ""), "");
}
