#include "kernel/compiler/vectorise/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/ir/rules.h"

enum {
    LEAST_SIZE = 4, // of elements [bytes]: of smaller ones, many chunks would
                    // ask for one line
    MAX_DEPTH = 12, // of an address's computation
    MAX_GROWTH = 1 << 30
};

// By how much a value is more next time.
struct growth {
    int64_t turns;  // global sizes: in the next turn of a loop
    int64_t items;  // local sizes: in the next group
    int64_t groups; // ones: in the next group
};

static bool is_small(int64_t number)
{
    return number > -MAX_GROWTH && number < MAX_GROWTH;
}

// a + factor * b; what is too far is not known.
static struct growth sum(struct growth a, struct growth b, int64_t factor)
{
    if (!is_small(factor))
        return (struct growth){0};
    a.turns += factor * b.turns;
    a.items += factor * b.items;
    a.groups += factor * b.groups;
    return is_small(a.turns) && is_small(a.items) && is_small(a.groups)
               ? a
               : (struct growth){0};
}

static bool is_of_x(LLVMValueRef call)
{
    LLVMValueRef d = LLVMGetOperand(call, 0);
    return LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) == 0;
}

// What the value is, through any number of slots.
static LLVMValueRef origin(const struct hdi_flow *flow, LLVMValueRef value)
{
    for (LLVMValueRef from; (from = hdi_origin(flow, value)) != value;)
        value = from;
    return value;
}

static bool is_call(const struct hdi_flow *flow, LLVMValueRef value,
                    enum hdi_call kind)
{
    value = origin(flow, value);
    if (LLVMIsATruncInst(value))
        value = origin(flow, LLVMGetOperand(value, 0));
    return hdi_call_kind(value) == kind && is_of_x(value);
}

// Does what is stored grow the slot by a global size?
static bool is_step(const struct hdi_flow *flow, LLVMValueRef alloca,
                    LLVMValueRef stored)
{
    stored = origin(flow, stored);
    if (!LLVMIsAInstruction(stored) ||
        LLVMGetInstructionOpcode(stored) != LLVMAdd)
        return false;
    LLVMValueRef from = origin(flow, LLVMGetOperand(stored, 0));
    return LLVMIsALoadInst(from) && LLVMGetOperand(from, 0) == alloca &&
           is_call(flow, LLVMGetOperand(stored, 1), HDI_CALL_GLOBAL_SIZE);
}

static struct growth of_slot(const struct hdi_flow *flow, LLVMValueRef alloca)
{
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAStoreInst(user) &&
            is_step(flow, alloca, LLVMGetOperand(user, 0)))
            return (struct growth){.turns = 1};
    }
    return (struct growth){0};
}

static struct growth of_call(LLVMValueRef call)
{
    enum hdi_call kind = hdi_call_kind(call);

    if (kind == HDI_CALL_GLOBAL_ID && is_of_x(call))
        return (struct growth){.items = 1};
    if (kind == HDI_CALL_GROUP_ID && is_of_x(call))
        return (struct growth){.groups = 1};
    return (struct growth){0};
}

// What is known of it: the rest is taken to stay the same.
static struct growth find(const struct hdi_wide *w, LLVMValueRef value,
                          unsigned depth)
{
    const struct hdi_flow *flow = w->emit->flow;
    const struct growth none = {0};

    value = origin(flow, value);
    if (depth == MAX_DEPTH || !LLVMIsAInstruction(value))
        return none;
    if (LLVMIsACallInst(value))
        return of_call(value);
    if (LLVMIsALoadInst(value))
        return hdi_slot_of(flow, value) == SIZE_MAX
                   ? none
                   : of_slot(flow, LLVMGetOperand(value, 0));
    int count = LLVMGetNumOperands(value);
    LLVMValueRef second = count == 2 ? LLVMGetOperand(value, 1) : NULL;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    bool is_scaled = second && LLVMIsAConstantInt(second) &&
                     LLVMGetIntTypeWidth(LLVMTypeOf(second)) <= 64;
    int64_t scale = is_scaled ? LLVMConstIntGetSExtValue(second) : 0;

    if (count > 2)
        return none;
    struct growth first = find(w, LLVMGetOperand(value, 0), depth + 1);
    switch (code) {
    case LLVMSExt:
    case LLVMZExt:
    case LLVMTrunc:
    case LLVMFreeze:
        return first;
    case LLVMAnd: // as an extension of 32 bits
        return is_scaled && (scale == UINT32_MAX || scale == INT32_MAX) ? first
                                                                        : none;
    case LLVMOr:
    case LLVMAdd:
        return code == LLVMAdd || LLVMGetIsDisjoint(value)
                   ? sum(first, find(w, second, depth + 1), 1)
                   : none;
    case LLVMSub:
        return sum(first, find(w, second, depth + 1), -1);
    case LLVMMul:
        if (first.groups == 1 &&
            (is_call(flow, second, HDI_CALL_ENQUEUED_LOCAL_SIZE) ||
             is_call(flow, second, HDI_CALL_LOCAL_SIZE)))
            return (struct growth){.items = 1};
        return sum(none, first, scale);
    case LLVMShl:
        return is_scaled && scale >= 0 && scale < 32
                   ? sum(none, first, INT64_C(1) << scale)
                   : none;
    case LLVMGetElementPtr:
        scale = (int64_t)LLVMABISizeOfType(w->emit->llvm->layout,
                                           LLVMGetGEPSourceElementType(value));
        return second ? sum(first, find(w, second, depth + 1), scale) : none;
    default:
        return none;
    }
}

// Does a group come to the block more than once?
static bool is_repeated(const struct hdi_flow *flow, size_t block)
{
    bool *seen = calloc(flow->block_count, sizeof(*seen));
    size_t *queue = calloc(flow->block_count + 1, sizeof(*queue)), count = 0;

    if (seen && queue)
        queue[count++] = block;
    for (size_t i = 0; i < count && !seen[block]; i++) {
        const struct hdi_block *b = &flow->blocks[queue[i]];
        for (unsigned s = 0; s < b->successor_count; s++)
            if (!seen[b->successors[s]]) {
                seen[b->successors[s]] = true;
                queue[count++] = b->successors[s];
            }
    }
    bool found = count == 0 || seen[block];
    free(seen);
    free(queue);
    return found;
}

static LLVMValueRef times(struct hdi_emit *e, int64_t factor,
                          LLVMValueRef value)
{
    return LLVMBuildMul(e->builder,
                        LLVMBuildZExtOrBitCast(e->builder, value, e->i64, ""),
                        LLVMConstInt(e->i64, (uint64_t)factor, true), "");
}

void hdi_ask_ahead(struct hdi_wide *w, LLVMValueRef access, uint64_t size,
                   LLVMValueRef at)
{
    bool is_store = LLVMIsAStoreInst(access) != NULL;
    struct hdi_emit *e = w->emit;
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(at));
    LLVMValueRef distance;

    if (!hdi_rule_is_on(e->llvm, HDI_RULE_AHEAD) || !w->certain || e->flat ||
        size < LEAST_SIZE ||
        (space != HDI_SPACE_GLOBAL && space != HDI_SPACE_CONSTANT))
        return;
    struct growth g = find(w, LLVMGetOperand(access, is_store), 0);
    if (g.turns != 0)
        distance = times(e, g.turns, e->global[0]);
    else if ((g.items != 0 || g.groups != 0) &&
             !is_repeated(e->flow, w->linear->order->blocks[w->at]))
        distance =
            LLVMBuildAdd(e->builder, times(e, g.items, e->local_size[0]),
                         LLVMConstInt(e->i64, (uint64_t)g.groups, true), "");
    else
        return;
    hdi_note(e->llvm, access, "prefetches what the next %s %s",
             g.turns != 0 ? "iteration" : "group",
             is_store ? "writes" : "reads");
    for (uint64_t line = 0; line < size * w->lanes;
         line += e->llvm->target.line) {
        LLVMValueRef offset = LLVMBuildAdd(
            e->builder, distance, LLVMConstInt(e->i64, line, false), "");
        LLVMTypeRef type = LLVMTypeOf(at);
        LLVMValueRef args[] = {
            LLVMBuildGEP2(e->builder, e->i8, at, &offset, 1, ""),
            LLVMConstInt(e->i32, is_store, false),
            LLVMConstInt(e->i32, 3, false), // into all caches
            LLVMConstInt(e->i32, 1, false)};
        hdi_wide_call(
            w, LLVMLookupIntrinsicID("llvm.prefetch", strlen("llvm.prefetch")),
            &type, 1, args, 4);
    }
}
