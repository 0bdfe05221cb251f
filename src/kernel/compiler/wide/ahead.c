#include "kernel/compiler/wide/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/ir/rules.h"

enum {
    LEAST_SIZE = 4, // of elements [bytes]: of smaller ones, many chunks would
                    // ask for one line
    MAX_STEP = 1 << 30
};

// The step, 0 where it is not known or so far that it is not worth it.
static int64_t near_step(const struct hdi_wide *w, LLVMValueRef pointer,
                         enum hdi_step_axis axis)
{
    int64_t step = hdi_affine_step(&w->emit->affine, pointer, axis);
    return step > -MAX_STEP && step < MAX_STEP ? step : 0;
}

// Does a group come to the block more than once?
// Out of memory counts as repeated: nothing is asked for then.
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

// Do work-items write elements of their own? Where a group only reads them, as
// for a sum, the processor follows from one group to the next by itself, and
// what is asked for besides is in its way.
static bool writes_own(const struct hdi_wide *w)
{
    const struct hdi_flow *flow = w->emit->flow;

    for (size_t i = 0; i < flow->block_count; i++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[i].block); x;
             x = LLVMGetNextInstruction(x)) {
            LLVMValueRef at = LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
            if (at &&
                LLVMGetPointerAddressSpace(LLVMTypeOf(at)) ==
                    HDI_SPACE_GLOBAL &&
                hdi_affine_step(&w->emit->affine, at, HDI_AXIS_X) != 0)
                return true;
        }
    return false;
}

static LLVMValueRef times(struct hdi_emit *e, int64_t factor,
                          LLVMValueRef value)
{
    return LLVMBuildMul(e->builder,
                        LLVMBuildZExtOrBitCast(e->builder, value, e->i64, ""),
                        LLVMConstInt(e->i64, (uint64_t)factor, true), "");
}

// One request for each line of the cache. An address that is not there does no
// harm: a request never faults.
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
    LLVMValueRef pointer = LLVMGetOperand(access, is_store);
    int64_t sweep = near_step(w, pointer, HDI_AXIS_SWEEP);
    int64_t items = near_step(w, pointer, HDI_AXIS_GROUP);
    int64_t single = near_step(w, pointer, HDI_AXIS_SINGLE);
    if (sweep != 0)
        distance = times(e, sweep, e->global[0]);
    else if ((items != 0 || single != 0) && writes_own(w) &&
             !is_repeated(e->flow, w->linear->order->blocks[w->at]))
        distance =
            LLVMBuildAdd(e->builder, times(e, items, e->local_size[0]),
                         LLVMConstInt(e->i64, (uint64_t)single, true), "");
    else
        return;
    hdi_note(e->llvm, access, "prefetches what the next %s %s",
             sweep != 0 ? "iteration" : "group", is_store ? "writes" : "reads");
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
