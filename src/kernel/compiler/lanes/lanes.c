// Every block has a mask of the lanes that go on there, a stack slot which LLVM
// puts into a register. Blocks are visited in order; one whose mask is empty is
// passed over. Where all lanes are at one place and branch alike, it is a plain
// branch:
//
//     enter:  any lane? then body, else what follows in order
//     body:   take the mask and empty it
//             the instructions
//             add the lanes to the masks of the successors
//             back to the head of a loop that ends here, if any lane is there,
//             else what follows in order
#include "kernel/compiler/lanes/lanes.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/lanes/span.h"
#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/vectorise/carry.h"
#include "kernel/compiler/worth/weigh.h"

// Only if it matters later: there is a way on, or this is the first region,
// where the marks begin.
static bool marks_returned(const struct hdi_region *region)
{
    return region->some_return_early &&
           (region->exit_count > 0 || region->start == 0);
}

// At a way out to `cut`: keep what is needed from there on and has changed.
static void keep_values(struct hdi_lanes *l, size_t cut)
{
    struct hdi_emit *e = l->emit;

    for (size_t s = 0; s < e->flow->slot_count; s++)
        if (l->region->stores[s] && hdi_flow_is_live(e->flow, cut, s) &&
            (e->flow->slots[s].place == HDI_PLACE_GROUP ||
             e->flow->slots[s].place == HDI_PLACE_ITEMS))
            hdi_wide_keep(&l->wide, s);
}

// Early returns ---------------------------------------------------------------

static void mark_returned(struct hdi_lanes *l, bool returned)
{
    struct hdi_emit *e = l->emit;
    LLVMValueRef value = LLVMConstInt(e->i8, returned, false);

    hdi_wide_write(&l->wide, hdi_wide_splat(&l->wide, value),
                   hdi_emit_share(e, e->returned_offset, 1), 1);
}

// The lanes of `mask` that have not returned before.
static LLVMValueRef present(struct hdi_lanes *l, LLVMValueRef mask)
{
    struct hdi_emit *e = l->emit;
    LLVMValueRef returned = hdi_wide_read(
        &l->wide, e->i8, hdi_emit_share(e, e->returned_offset, 1), 1);
    LLVMValueRef is_here =
        LLVMBuildICmp(e->builder, LLVMIntEQ, returned,
                      LLVMConstNull(LLVMTypeOf(returned)), "");
    return LLVMBuildSelect(e->builder, mask, is_here,
                           LLVMConstNull(LLVMTypeOf(mask)), "");
}

// Ways ------------------------------------------------------------------------

// Lanes may come back to the head of a loop at different times.
static bool loop_parts(const struct hdi_lanes *l, size_t head)
{
    const struct hdi_flow *flow = l->emit->flow;

    for (size_t p = head; p < l->order.loop_end[head]; p++) {
        const struct hdi_block *block = &flow->blocks[l->order.blocks[p]];
        for (unsigned s = 0; s < block->successor_count; s++)
            if (l->linear->parts[p] &&
                block->successors[s] == l->order.blocks[head])
                return true;
    }
    return false;
}

// `property` of LLVM's, with a number if that is above 0.
static void tell_of_loop(struct hdi_emit *e, LLVMValueRef branch,
                         const char *property, unsigned number)
{
    LLVMContextRef c = e->llvm->context;
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef words[2] = {
        LLVMMDStringInContext2(c, property, strlen(property)),
        LLVMValueAsMetadata(LLVMConstInt(e->i32, number, false))};
    LLVMMetadataRef properties[2] = {
        self, LLVMMDNodeInContext2(c, words, number > 0 ? 2 : 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, properties, 2);

    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(branch, e->loop_kind, LLVMMetadataAsValue(c, node));
}

void hdi_keep_rolled(struct hdi_emit *e, LLVMValueRef branch)
{
    tell_of_loop(e, branch, "llvm.loop.unroll.disable", 0);
}

void hdi_unroll(struct hdi_emit *e, LLVMValueRef branch, unsigned turns)
{
    tell_of_loop(e, branch, "llvm.loop.unroll.count", turns);
}

// At the builder's point: what follows `at` in order, where any lane waits.
// Inner loops first: all heads whose loop ends behind `at`, the nearest first.
// A loop in which lanes stay together branches back by itself.
static void go_on(struct hdi_lanes *l, size_t at)
{
    struct hdi_emit *e = l->emit;

    for (size_t head = at + 1; head-- > 0;) {
        if (l->order.loop_end[head] != at + 1 || !loop_parts(l, head))
            continue;
        LLVMBasicBlockRef over = hdi_emit_block(e, "over");
        LLVMValueRef mask = LLVMBuildLoad2(
            e->builder, hdi_wide_mask_type(&l->wide), l->masks[head], "");
        hdi_keep_rolled(e, LLVMBuildCondBr(e->builder,
                                           hdi_wide_any(&l->wide, mask),
                                           l->body[head], over));
        hdi_build_at_end(e->builder, over);
    }
    LLVMBuildBr(e->builder,
                at + 1 < l->order.count ? l->enter[at + 1] : l->end);
}

// All lanes go to `block`: a place to branch to.
// Leaves the builder where it was. All lanes come at once, so the mask is set
// and not added to, and no test whether any is there is needed.
static LLVMBasicBlockRef way_to(struct hdi_lanes *l, size_t block)
{
    struct hdi_emit *e = l->emit;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);

    if (!l->linear->marks && hdi_is_plain_return(e->flow, block))
        return l->end;
    size_t to = l->order.position[block];
    LLVMBasicBlockRef way = hdi_emit_block(e, "way");
    hdi_build_at_end(e->builder, way);
    LLVMBuildStore(e->builder, l->wide.mask, l->masks[to]);
    LLVMBuildBr(e->builder, l->body[to]);
    hdi_build_at_end(e->builder, before);
    return way;
}

// The successor of the first block that all lanes are known to take.
static size_t known_way(const struct hdi_lanes *l)
{
    unsigned below = l->split.below;
    return l->emit->flow->blocks[l->order.blocks[0]]
        .successors[l->way == HDI_WAY_BELOW ? below : 1 - below];
}

static bool way_is_known(const struct hdi_lanes *l, size_t at)
{
    return at == 0 && (l->way == HDI_WAY_BELOW || l->way == HDI_WAY_BEYOND);
}

static void branch_together(struct hdi_lanes *l, LLVMValueRef end)
{
    struct hdi_emit *e = l->emit;
    if (way_is_known(l, l->wide.at)) {
        LLVMBuildBr(e->builder, way_to(l, known_way(l)));
        return;
    }
    LLVMValueRef copy = LLVMInstructionClone(end);
    int count = LLVMGetNumOperands(end);

    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(end, (unsigned)i);
        if (LLVMValueIsBasicBlock(operand))
            operand = LLVMBasicBlockAsValue(
                way_to(l, hdi_map_index(&e->flow->block_index,
                                        LLVMValueAsBasicBlock(operand))));
        else
            operand = hdi_emit_operand(e, operand);
        LLVMSetOperand(copy, (unsigned)i, operand);
    }
    LLVMInsertIntoBuilder(e->builder, copy);
}

static void add_lanes(struct hdi_lanes *l, LLVMBasicBlockRef successor,
                      LLVMValueRef mask)
{
    struct hdi_emit *e = l->emit;
    size_t block = hdi_map_index(&e->flow->block_index, successor);

    if (!l->linear->marks && hdi_is_plain_return(e->flow, block))
        return;
    LLVMValueRef at = l->masks[l->order.position[block]];
    LLVMValueRef before = LLVMBuildLoad2(e->builder, LLVMTypeOf(mask), at, "");
    LLVMBuildStore(e->builder, LLVMBuildOr(e->builder, before, mask, ""), at);
}

// The condition is frozen: in lanes that are off it may be poison, which the
// AND with the mask would not undo.
static void part(struct hdi_lanes *l, LLVMValueRef end)
{
    LLVMBuilderRef b = l->emit->builder;
    unsigned count = LLVMGetNumSuccessors(end);
    LLVMValueRef mask = l->wide.mask;

    if (count == 1) {
        add_lanes(l, LLVMGetSuccessor(end, 0), mask);
        return;
    }
    LLVMValueRef value = LLVMBuildFreeze(
        b, hdi_wide_value(&l->wide, LLVMGetOperand(end, 0)), "");
    if (LLVMGetInstructionOpcode(end) == LLVMBr) {
        LLVMValueRef not = LLVMBuildNot(b, value, "");
        add_lanes(l, LLVMGetSuccessor(end, 0),
                  LLVMBuildAnd(b, mask, value, ""));
        add_lanes(l, LLVMGetSuccessor(end, 1), LLVMBuildAnd(b, mask, not, ""));
        return;
    }
    LLVMValueRef others = mask;
    for (unsigned s = 1; s < count; s++) {
        LLVMValueRef is = LLVMBuildICmp(
            b, LLVMIntEQ, value,
            hdi_wide_splat(&l->wide, LLVMGetOperand(end, 2 * s)), "");
        add_lanes(l, LLVMGetSuccessor(end, s), LLVMBuildAnd(b, mask, is, ""));
        others = LLVMBuildAnd(b, others, LLVMBuildNot(b, is, ""), "");
    }
    add_lanes(l, LLVMGetSuccessor(end, 0), others);
}

// Blocks ----------------------------------------------------------------------

// May the block be run through without a lane?
// Then a test whether any lane comes costs more than the block.
static bool is_harmless(const struct hdi_lanes *l, size_t at)
{
    const struct hdi_flow *flow = l->emit->flow;
    const struct hdi_block *block = &flow->blocks[l->order.blocks[at]];
    unsigned most = hdi_target_cheap(&flow->llvm->target), count = 0;

    if (!l->linear->scattered[at] || block->cut || l->order.loop_end[at] > 0)
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(block->block);
         !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x)) {
        if (hdi_slot_of(flow, x) != SIZE_MAX)
            continue;
        LLVMOpcode code = LLVMGetInstructionOpcode(x);
        if (code == LLVMLoad || code == LLVMStore || code == LLVMUDiv ||
            code == LLVMSDiv || code == LLVMURem || code == LLVMSRem ||
            code == LLVMFence || LLVMIsAAtomicRMWInst(x) ||
            LLVMIsAAtomicCmpXchgInst(x) || ++count > most)
            return false;
        if (code == LLVMCall && hdi_call_kind(x) == HDI_CALL_OTHER &&
            hdi_vector_intrinsic(x) == 0)
            return false;
    }
    return !LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(block->block));
}

static void write_enter(struct hdi_lanes *l, size_t at)
{
    struct hdi_emit *e = l->emit;

    hdi_build_at_end(e->builder, l->enter[at]);
    if (is_harmless(l, at)) {
        LLVMBuildBr(e->builder, l->body[at]);
        return;
    }
    LLVMBasicBlockRef pass = hdi_emit_block(e, "pass");
    LLVMValueRef mask = LLVMBuildLoad2(e->builder, hdi_wide_mask_type(&l->wide),
                                       l->masks[at], "");
    LLVMBuildCondBr(e->builder, hdi_wide_any(&l->wide, mask), l->body[at],
                    pass);
    hdi_build_at_end(e->builder, pass);
    go_on(l, l->order.loop_end[at] ? l->order.loop_end[at] - 1 : at);
}

static void leave(struct hdi_lanes *l, size_t at)
{
    l->lost = true;
    if (l->linear->scattered[at])
        go_on(l, at);
    else
        LLVMBuildBr(l->emit->builder, l->end);
}

static void write_out(struct hdi_lanes *l, size_t at)
{
    struct hdi_emit *e = l->emit;
    const struct hdi_region *region = l->region;
    size_t cut = l->order.blocks[at];

    keep_values(l, cut);
    if (region->some_return_early && region->start == 0)
        mark_returned(l, false);
    if (l->next)
        LLVMBuildStore(e->builder, LLVMConstInt(e->i32, cut, false), l->next);
    leave(l, at);
}

static void write_block(struct hdi_lanes *l, size_t at)
{
    struct hdi_emit *e = l->emit;
    const struct hdi_block *block = &e->flow->blocks[l->order.blocks[at]];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);

    if (block->cut) {
        write_out(l, at);
        return;
    }
    for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x != end;
         x = LLVMGetNextInstruction(x))
        hdi_widen(&l->wide, x);
    if (LLVMIsAReturnInst(end)) {
        if (l->linear->marks)
            mark_returned(l, true);
        leave(l, at);
    } else if (block->successor_count == 0) {
        leave(l, at); // no lane comes here
    } else if (l->linear->parts[at]) {
        part(l, end);
        go_on(l, at);
    } else {
        branch_together(l, end);
    }
}

// `certain` only where no lane can be off: else memory and divisions are done
// under the mask. The mask is emptied when it is taken, as lanes may come again
// in the next turn of a loop.
static void write_position(struct hdi_lanes *l, size_t at)
{
    struct hdi_emit *e = l->emit;
    LLVMTypeRef type = hdi_wide_mask_type(&l->wide);

    if (!l->comes[at]) {
        hdi_build_at_end(e->builder, l->enter[at]);
        go_on(l, at);
        hdi_build_at_end(e->builder, l->body[at]);
        LLVMBuildUnreachable(e->builder);
        return;
    }
    write_enter(l, at);
    hdi_build_at_end(e->builder, l->body[at]);
    l->wide.at = at;
    l->wide.certain = l->way != HDI_WAY_PART && !l->linear->scattered[at] &&
                      !l->linear->returns && !l->lost &&
                      !(l->region->some_return_early && l->region->start != 0);
    l->wide.mask = LLVMBuildLoad2(e->builder, type, l->masks[at], "");
    if (l->wide.certain)
        l->wide.mask = LLVMConstAllOnes(type);
    LLVMBuildStore(e->builder, LLVMConstNull(type), l->masks[at]);
    write_block(l, at);
}

// Chunks ----------------------------------------------------------------------

// Which positions lanes may come to.
static void find_comers(struct hdi_lanes *l)
{
    const struct hdi_flow *flow = l->emit->flow;

    memset(l->comes, 0, l->order.count * sizeof(*l->comes));
    l->comes[0] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t p = 0; p < l->order.count; p++) {
            const struct hdi_block *block = &flow->blocks[l->order.blocks[p]];
            if (!l->comes[p] || block->cut)
                continue;
            for (unsigned s = 0; s < block->successor_count; s++) {
                size_t to = l->order.position[block->successors[s]];
                if (l->comes[to] || (way_is_known(l, p) &&
                                     block->successors[s] != known_way(l)))
                    continue;
                l->comes[to] = changed = true;
            }
        }
    }
}

// What was known of the last chunk is forgotten: its values are of other ids.
void hdi_lanes_begin_chunk(struct hdi_lanes *l, enum hdi_way way)
{
    struct hdi_emit *e = l->emit;
    const struct hdi_region *region = l->region;

    hdi_map_clear(&e->values);
    hdi_map_clear(&l->wide.vectors);
    l->way = way;
    l->linear =
        way == HDI_WAY_BELOW || way == HDI_WAY_BEYOND ? &l->together : &l->open;
    l->lost = false;
    l->wide.linear = l->linear;
    l->wide.certain = way != HDI_WAY_PART;
    l->wide.at = 0;
    for (size_t a = 0; a < e->flow->array_count; a++)
        hdi_map_set(
            &e->values, e->flow->arrays[a],
            hdi_emit_share(e, e->array_offsets[a], e->flow->array_sizes[a]));
    for (size_t s = 0; s < e->flow->slot_count; s++)
        if (region->uses[s])
            hdi_wide_take(&l->wide, region->start, s);
}

void hdi_lanes_write_chunk(struct hdi_lanes *l, LLVMValueRef mask,
                           enum hdi_way way)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;

    l->wide.mask = mask;
    l->end = hdi_emit_block(e, "chunk_end");
    for (size_t p = 0; p < l->order.count; p++) {
        l->enter[p] = hdi_emit_block(e, "enter");
        l->body[p] = hdi_emit_block(e, "body");
        if (!l->masks[p] ||
            LLVMGetAllocatedType(l->masks[p]) != LLVMTypeOf(mask))
            l->masks[p] = hdi_emit_alloca(e, LLVMTypeOf(mask));
        LLVMBuildStore(b, LLVMConstNull(LLVMTypeOf(mask)), l->masks[p]);
    }
    hdi_lanes_begin_chunk(l, way);
    find_comers(l);
    if (l->region->some_return_early && l->region->start != 0)
        mask = present(l, mask);
    LLVMBuildStore(b, mask, l->masks[0]);
    l->wide.chunk_begin = LLVMBuildBr(b, l->enter[0]);
    for (size_t p = 0; p < l->order.count; p++)
        write_position(l, p);
    hdi_build_at_end(b, l->end);
}

// Making ----------------------------------------------------------------------

static bool prints(LLVMValueRef x)
{
    return LLVMIsACallInst(x) && LLVMIsAFunction(LLVMGetCalledValue(x)) &&
           strcmp(hdi_value_name(LLVMGetCalledValue(x)), HDI_PRINT_NAME) == 0;
}

static const char printing[] = "printf is serialised";

// Why an instruction has no lanes, NULL: it has.
static const char *reason_against(LLVMValueRef x)
{
    enum hdi_call kind = hdi_call_kind(x);

    if ((kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID) &&
        !LLVMIsAConstantInt(LLVMGetOperand(x, 0)))
        return "it asks for the id of a dimension that is not constant";
    if (!LLVMIsATerminatorInst(x) && LLVMGetNumOperands(x) > HDI_WIDE_OPERANDS)
        return "a call has too many arguments";
    if (prints(x))
        return printing;
    return NULL;
}

// A byte or two at an address of each lane's own, unless they lie side by side.
static bool may_be_serial(const struct hdi_emit *e, LLVMValueRef x)
{
    if (!LLVMIsALoadInst(x) && !LLVMIsAStoreInst(x))
        return false;
    LLVMValueRef pointer = LLVMGetOperand(x, LLVMIsAStoreInst(x) ? 1 : 0);
    return LLVMABISizeOfType(e->llvm->layout, hdi_access_type(x)) < 4 &&
           hdi_flow_is_divergent(e->flow, pointer);
}

// The same of a region.
static const char *reason_against_all(const struct hdi_emit *e,
                                      const struct hdi_region *region,
                                      unsigned *line)
{
    const struct hdi_flow *flow = region->flow;
    unsigned count = 0, most = HDI_LANES_LONGEST;

    for (size_t i = 0; i < region->count; i++)
        for (LLVMValueRef x =
                 LLVMGetFirstInstruction(flow->blocks[region->blocks[i]].block);
             x; x = LLVMGetNextInstruction(x)) {
            const char *reason = reason_against(x);
            count += hdi_lanes_weight(x);
            if (may_be_serial(e, x))
                most = HDI_LANES_LONG;
            if (count > most)
                reason = "it is too long from here on: cut it by a barrier, or "
                         "into several kernels";
            if (reason) {
                *line = hdi_source_line(x);
                return reason;
            }
        }
    return NULL;
}

static bool order(struct hdi_lanes *l, const char **reason)
{
    enum hdi_ordered ordered = hdi_region_order(l->region, &l->order);

    if (ordered == HDI_ORDER_NONE)
        *reason = "a loop can be entered in two places";
    return ordered != HDI_ORDER_NO_MEMORY;
}

// Two sets of classes where chunks may take the first branch alike: with less
// parting fewer values vary.
static bool prepare(struct hdi_lanes *l)
{
    size_t count = l->order.count;

    l->enter = calloc(count, sizeof(LLVMBasicBlockRef));
    l->body = calloc(count, sizeof(LLVMBasicBlockRef));
    l->masks = calloc(count, sizeof(LLVMValueRef));
    l->comes = calloc(count, sizeof(bool));
    bool marks = marks_returned(l->region);
    bool gone = l->region->some_return_early;
    if (!l->enter || !l->body || !l->masks || !l->comes ||
        !hdi_linear_find(l->emit->flow, &l->order, gone, marks, false,
                         &l->open))
        return false;
    const struct hdi_llvm *llvm = l->emit->llvm;
    l->splits = hdi_rule_is_on(llvm, HDI_RULE_SPLIT) &&
                hdi_split_find(l->region, &l->open, &l->order, &l->split);
    l->span = l->splits || l->region->exit_count > 0 ||
                      !hdi_rule_is_on(llvm, HDI_RULE_SPAN)
                  ? l->emit->width
                  : hdi_span_find(&l->wide);
    return !l->splits || hdi_linear_find(l->emit->flow, &l->order, gone, marks,
                                         true, &l->together);
}

const char *hdi_lanes_reason(const struct hdi_region *region, unsigned *line)
{
    const struct hdi_flow *flow = region->flow;

    for (size_t i = 0; i < region->count; i++)
        for (LLVMValueRef x =
                 LLVMGetFirstInstruction(flow->blocks[region->blocks[i]].block);
             x; x = LLVMGetNextInstruction(x)) {
            *line = hdi_source_line(x);
            if (prints(x))
                return printing;
            if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
                return "an atomic operation";
            if ((LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)) &&
                !hdi_is_plain_access(x))
                return "an atomic or volatile access";
        }
    return NULL;
}

// In this order: what no lanes can do, an order of blocks, what lanes know.
bool hdi_lanes_create(struct hdi_emit *emit, const struct hdi_region *region,
                      LLVMValueRef next, struct hdi_lanes **made,
                      const char **reason, unsigned *line)
{
    struct hdi_lanes *l = calloc(1, sizeof(*l));

    *made = NULL;
    if (!l)
        return false;
    l->region = region;
    l->emit = emit;
    l->next = next;
    l->wide = (struct hdi_wide){
        .emit = l->emit, .linear = &l->open, .lanes = l->emit->width};
    *line = 0;
    *reason = reason_against_all(emit, region, line);
    bool ok = *reason || order(l, reason);
    if (ok && !*reason)
        ok = prepare(l);
    if (!ok || *reason) {
        hdi_lanes_destroy(l);
        return ok;
    }
    *made = l;
    return true;
}

void hdi_lanes_destroy(struct hdi_lanes *l)
{
    if (!l)
        return;
    if (l->wide.vectors.failed)
        l->emit->values.failed = true;
    hdi_map_clear(&l->wide.vectors);
    hdi_linear_destroy(&l->open);
    hdi_linear_destroy(&l->together);
    hdi_order_destroy(&l->order);
    free(l->enter);
    free(l->body);
    free(l->masks);
    free(l->comes);
    free(l);
}
