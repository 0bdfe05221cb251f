#include "kernel/compiler/worth/weigh.h"

#include "kernel/compiler/analysis/operation.h"

#include <stdlib.h>

// Atomic and volatile accesses are done lane by lane.
unsigned hdi_lanes_weight(LLVMValueRef x)
{
    bool alone = LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x) ||
                 ((LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)) &&
                  !hdi_is_plain_access(x));
    return alone ? 16 : 1;
}

enum {
    RECORD = 8 // elements of a record (record.c)
};

// What a loop's work-items do, and what lanes would lose in it.
struct load {
    unsigned work, loss; // [operations]
    unsigned accesses;   // of memory
    bool suits;          // lanes whatever it does
    bool parts;          // what was read decides when they leave it
};

// Whether each round of the loop at hand waits for the one before: a sum of
// floats, whose order is kept, in a variable or at one place in memory.
// Where the order does not matter (reassoc) it is no chain: it may be made
// several sums.
static bool is_chain(const struct hdi_value_steps *turns, LLVMValueRef store)
{
    const struct hdi_flow *flow = turns->flow;
    LLVMValueRef place = LLVMGetOperand(store, 1);
    LLVMValueRef sum = hdi_origin(flow, LLVMGetOperand(store, 0));

    if (!LLVMIsAInstruction(sum) || !LLVMCanValueUseFastMathFlags(sum) ||
        (!LLVMIsABinaryOperator(sum) && !LLVMIsACallInst(sum)) ||
        LLVMGetFastMathFlags(sum) & LLVMFastMathAllowReassoc)
        return false;
    unsigned count = LLVMIsACallInst(sum) ? LLVMGetNumArgOperands(sum) : 2;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef before = hdi_origin(flow, LLVMGetOperand(sum, i));
        if (LLVMIsALoadInst(before) &&
            hdi_origin(flow, LLVMGetOperand(before, 0)) ==
                hdi_origin(flow, place))
            return hdi_map_index(&flow->slot_index, place) != SIZE_MAX ||
                   hdi_affine_step(turns, place, HDI_AXIS_TURN) == 0;
    }
    return false;
}

// Whether lanes do not mind to read here and there in the loop at hand: they
// all go round it as often and write side by side, and one alone would be slow.
static bool is_slow_alone(const struct hdi_value_steps *items,
                          const struct hdi_value_steps *turns)
{
    const struct hdi_nest *nest = turns->loop;
    const struct hdi_flow *flow = nest->flow;
    bool chain = false;

    for (size_t b = 0; b < flow->block_count; b++) {
        const struct hdi_block *block = &flow->blocks[b];
        if (!hdi_nest_has(nest, b))
            continue;
        for (unsigned s = 0; s < block->successor_count; s++)
            if (!hdi_nest_has(nest, block->successors[s]) &&
                hdi_flow_is_divergent(
                    flow, LLVMGetBasicBlockTerminator(block->block)))
                return false;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block->block); i;
             i = LLVMGetNextInstruction(i)) {
            if (!LLVMIsAStoreInst(i))
                continue;
            LLVMValueRef place = LLVMGetOperand(i, 1);
            if (hdi_map_index(&flow->slot_index, place) == SIZE_MAX &&
                hdi_affine_is_gathered(items, place,
                                       LLVMTypeOf(LLVMGetOperand(i, 0))))
                return false;
            chain |= is_chain(turns, i);
        }
    }
    return chain;
}

// Whether ids and what the group shares do not decide when the loop at hand is
// left.
static bool is_left_by_memory(const struct hdi_value_steps *items,
                              const struct hdi_nest *nest)
{
    const struct hdi_flow *flow = nest->flow;

    for (size_t b = 0; b < flow->block_count; b++) {
        const struct hdi_block *block = &flow->blocks[b];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
        bool leaves = false;
        for (unsigned s = 0;
             hdi_nest_has(nest, b) && s < block->successor_count; s++)
            leaves |= !hdi_nest_has(nest, block->successors[s]);
        if (!leaves || !hdi_flow_is_divergent(flow, end))
            continue;
        LLVMValueRef condition = hdi_origin(flow, LLVMGetOperand(end, 0));
        if (!LLVMIsAICmpInst(condition))
            return true;
        for (unsigned o = 0; o < 2; o++)
            if (!hdi_step_is_number(hdi_affine_step(
                    items, LLVMGetOperand(condition, o), HDI_AXIS_X)))
                return true;
    }
    return false;
}

// Lanes that read here and there lose what one work-item alone gains when it
// goes through memory as it lies, from round to round. Where it is the lanes
// that read side by side, and one alone a line in each round, they gain.
static void weigh_load(const struct hdi_value_steps *items,
                       const struct hdi_value_steps *turns, LLVMValueRef x,
                       bool slow_alone, struct load *load)
{
    const struct hdi_target *target = &items->llvm->target;
    LLVMValueRef pointer = LLVMGetOperand(x, 0);
    bool is_local =
        LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == HDI_SPACE_LOCAL;
    int64_t turn = is_local ? HDI_STEP_VARIES
                            : hdi_affine_step(turns, pointer, HDI_AXIS_TURN);
    bool foretold = turn == HDI_STEP_FAR || hdi_step_is_number(turn);
    // Else lines are used up.
    bool far =
        foretold && (turn > target->line || turn < -(int64_t)target->line);

    if (hdi_affine_is_gathered(items, pointer, LLVMTypeOf(x)))
        load->loss += far || (slow_alone && foretold) ? 0 : target->gather;
    else if (!is_local && (far || !foretold) &&
             hdi_affine_step(items, pointer, HDI_AXIS_X) != 0)
        load->work += target->gather;
}

// Of the loop at hand. Reads in a loop inside are weighed with that. False when
// memory ran out.
static bool weigh(const struct hdi_value_steps *items,
                  const struct hdi_nest *nest, size_t head, struct load *load)
{
    const struct hdi_flow *flow = nest->flow;
    struct hdi_value_steps turns;
    bool ok = hdi_affine_find_turns(items->llvm, nest, &turns);
    bool slow_alone = ok && is_slow_alone(items, &turns);

    *load = (struct load){.parts = is_left_by_memory(items, nest)};
    for (size_t b = 0; ok && b < flow->block_count; b++) {
        if (!hdi_nest_has(nest, b))
            continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i)) {
            load->suits |= hdi_call_is_barrier(hdi_call_kind(i)) ||
                           LLVMIsAAtomicRMWInst(i) != NULL;
            load->work += hdi_is_work(flow, i);
            bool store = LLVMIsAStoreInst(i) != NULL;
            if ((store || LLVMIsALoadInst(i)) &&
                hdi_map_index(&flow->slot_index, LLVMGetOperand(i, store)) ==
                    SIZE_MAX) {
                load->accesses++;
                if (!store && nest->inmost[b] == head)
                    weigh_load(items, &turns, i, slow_alone, load);
            }
            if (LLVMIsAAtomicCmpXchgInst(i))
                load->loss += hdi_target_retries(&items->llvm->target);
        }
    }
    hdi_affine_destroy(&turns);
    return ok;
}

// Work-items one after the other take as long as all operations of as many as
// there are lanes, some of which a processor does in a cycle. Lanes of which
// most have left are hardly more than one.
static bool is_against_lanes(const struct hdi_target *target,
                             const struct load *load)
{
    unsigned alone = hdi_target_lanes(target) * (load->work + load->accesses) /
                     target->issue;

    return !load->suits && load->loss > load->work &&
           (load->parts || load->loss + load->work > alone);
}

static bool has_any(const struct hdi_nest *nest, const uint64_t *blocks)
{
    for (size_t w = 0; w < nest->dominators.words; w++)
        if (nest->body[w] & blocks[w])
            return true;
    return false;
}

// Loops that gather most of what they work on, or try an exchange until it
// succeeds, go from work-item to work-item, unless there is more to do in loops
// that neither do so nor hold such a loop. False when memory ran out.
static bool suit_lanes(const struct hdi_value_steps *items,
                       struct hdi_nest *nest, uint64_t *heads, bool *suits,
                       unsigned *gathers)
{
    const struct hdi_flow *flow = nest->flow;
    unsigned loss = 0, work = 0, line = 0;
    struct load load;

    for (size_t b = 0; b < flow->block_count; b++) {
        if (!hdi_nest_take(nest, b))
            continue;
        if (!weigh(items, nest, b, &load))
            return false;
        if (!is_against_lanes(&items->llvm->target, &load))
            continue;
        loss += load.loss;
        hdi_bit_set(heads, b);
        line =
            hdi_source_line(LLVMGetBasicBlockTerminator(flow->blocks[b].block));
    }
    for (size_t b = 0; loss > 0 && b < flow->block_count; b++)
        if (hdi_nest_take(nest, b) && !has_any(nest, heads)) {
            if (!weigh(items, nest, b, &load))
                return false;
            work += load.work;
        }
    *gathers = loss > work ? line : 0;
    *suits = loss <= work;
    return true;
}

// The sum or product that is extended may wrap for all that is known.
static bool may_wrap(const struct hdi_flow *flow, LLVMValueRef extension)
{
    bool is_signed = LLVMIsASExtInst(extension) || LLVMGetNNeg(extension);
    LLVMValueRef x = hdi_origin(flow, LLVMGetOperand(extension, 0));

    while (LLVMIsABinaryOperator(x)) {
        LLVMOpcode code = LLVMGetInstructionOpcode(x);
        if ((code == LLVMAdd || code == LLVMMul || code == LLVMShl) &&
            !(is_signed ? LLVMGetNSW(x) : LLVMGetNUW(x)))
            return true;
        x = hdi_origin(flow, LLVMGetOperand(x, 0));
    }
    return false;
}

// Does a lane's element lie some of them behind its neighbour's?
static bool is_record(const struct hdi_value_steps *items, LLVMValueRef pointer,
                      LLVMTypeRef type)
{
    int64_t step = hdi_affine_step(items, pointer, HDI_AXIS_X);
    int64_t size = (int64_t)LLVMABISizeOfType(items->llvm->layout, type);
    return step > size && step <= RECORD * size;
}

// And that if only an index did not wrap? LLVM takes such elements one by one.
static bool is_record_but_for_wraps(const struct hdi_value_steps *items,
                                    LLVMValueRef pointer, LLVMTypeRef type)
{
    if (!is_record(items, pointer, type))
        return false;
    for (pointer = hdi_origin(items->flow, pointer);
         LLVMIsAGetElementPtrInst(pointer) && LLVMGetNumOperands(pointer) == 2;
         pointer = hdi_origin(items->flow, LLVMGetOperand(pointer, 0))) {
        LLVMValueRef index =
            hdi_origin(items->flow, LLVMGetOperand(pointer, 1));
        if (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index))
            return may_wrap(items->flow, index);
    }
    return false;
}

// Without loops and barriers: what LLVM makes no vectors of, stores whose order
// it must keep, and what only lanes do together: updates of one place, division
// by one number, records that LLVM sees none in, and reads of bytes from
// anywhere where a gather costs less than to read one after the other.
static bool is_for_lanes(const struct hdi_value_steps *items)
{
    const struct hdi_llvm *llvm = items->llvm;
    const struct hdi_flow *flow = items->flow;
    unsigned work = 0, stores = 0, scattered = 0;
    bool words = false, records = false;

    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if ((hdi_can_fold(i) &&
                 !hdi_flow_is_divergent(flow, LLVMGetOperand(i, 0))) ||
                (hdi_can_divide(i) && hdi_flow_is_divergent(flow, i) &&
                 !hdi_flow_is_divergent(flow, LLVMGetOperand(i, 1))))
                return true;
            if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
                return false;
            work += hdi_is_work(flow, i);
            if ((!store && !LLVMIsALoadInst(i)) ||
                hdi_map_index(&flow->slot_index, LLVMGetOperand(i, store)) !=
                    SIZE_MAX)
                continue;
            LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
            stores += store;
            records |=
                is_record_but_for_wraps(items, LLVMGetOperand(i, store), type);
            if (!hdi_affine_is_gathered(items, LLVMGetOperand(i, store), type))
                continue;
            words |=
                !store && llvm->target.word_gather &&
                LLVMABISizeOfType(llvm->layout, type) < 4 &&
                (is_record(items, LLVMGetOperand(i, 0), type) ||
                 llvm->target.gather < 2 * hdi_target_lanes(&llvm->target));
            scattered++;
        }
    return words || records ||
           (stores > 1 && scattered > 0 &&
            work >= llvm->target.gather * scattered);
}

bool hdi_weigh_lanes(const struct hdi_value_steps *items, struct hdi_nest *nest,
                     bool *pay, unsigned *gathers)
{
    const struct hdi_flow *flow = nest->flow;
    uint64_t *heads = calloc(nest->dominators.words, sizeof(*heads));
    bool loops = false;

    if (!heads)
        return false;
    for (size_t b = 0; b < flow->block_count; b++)
        loops |= hdi_nest_is_head(nest, b);
    bool ok = suit_lanes(items, nest, heads, pay, gathers);
    *pay = ok && *pay && (loops || flow->barriers > 0 || is_for_lanes(items));
    free(heads);
    return ok;
}
