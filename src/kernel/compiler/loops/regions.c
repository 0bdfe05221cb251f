// A region is the blocks that can be reached from its start without passing a
// cut. It is entered once per group and looks like this:
//
//     pre:    take the group's values
//     z, y, x loops:
//         take the work-item's values
//         copies of the blocks; a way out stores the values and goes to `latch`
//     post:   keep the group's values, go on to the next cut
//
// Blocks that can be reached from two starts are copied twice.
#include "kernel/compiler/loops/regions.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/analysis/faults.h"
#include "kernel/compiler/analysis/hazard.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/lanes/guard.h"
#include "kernel/compiler/lanes/join.h"
#include "kernel/compiler/lanes/lanes.h"
#include "kernel/compiler/loops/loop.h"

enum {
    MAX_IN_ROW = 4 // regions on the only way to another: see write_loops_apart
};

// A region that is being written.
// `copies` of blocks of the region are their bodies; of a cut, the way out to
// it, which is made when the first comes there.
struct writing {
    const struct hdi_region *region;
    struct hdi_regions *all;
    LLVMBasicBlockRef *copies; // per block of the kernel, NULL: not in it
    LLVMBasicBlockRef latch;
    LLVMValueRef next; // alloca: which exit, when there are several
    // Per dimension: the local id of the only work-item that need do anything,
    // a value of the kernel; NULL: there may be several.
    LLVMValueRef lone[3];
};

// Where the group goes on when its work-items have come to `block`.
static LLVMBasicBlockRef entry_of(struct hdi_regions *r, size_t block)
{
    if (!r->entries[block]) {
        r->entries[block] = hdi_emit_block(
            r->emit, r->emit->flow->blocks[block].cut ? "cut" : "region");
        r->queue[r->queue_size++] = block;
    }
    return r->entries[block];
}

// Values across cuts ----------------------------------------------------------

static LLVMValueRef kept_at(struct hdi_emit *e, const struct hdi_kept *kept,
                            LLVMTypeRef type)
{
    return e->lanes ? hdi_emit_lane(e, kept->lanes, type)
                    : hdi_emit_share(e, kept->offset, kept->size);
}

// At the start of a work-item's pass: what lives on from before, and undefined
// values for the rest, so that nothing seems to come from the work-item before.
static void take_values(struct writing *w)
{
    struct hdi_emit *e = w->all->emit;

    for (size_t s = 0; s < e->flow->slot_count; s++) {
        const struct hdi_kept *kept = &e->kept[s];
        LLVMTypeRef type = e->flow->slots[s].type;
        LLVMValueRef value;

        // What is written before it is read needs no value.
        if (!w->region->uses[s] ||
            !hdi_flow_is_live(e->flow, w->region->start, s))
            continue;
        if (e->flow->slots[s].place == HDI_PLACE_NOWHERE) {
            value = LLVMGetUndef(type);
        } else if (e->flow->slots[s].place == HDI_PLACE_REMADE) {
            value = hdi_emit_remade(e, e->flow->slots[s].only_stored);
        } else if (e->flow->slots[s].place == HDI_PLACE_GROUP) {
            value = LLVMBuildLoad2(e->builder, type, kept->group, "");
        } else {
            value =
                LLVMBuildLoad2(e->builder, type, kept_at(e, kept, type), "");
            hdi_emit_independent(e, value);
        }
        LLVMBuildStore(e->builder, value, kept->work);
    }
}

// At a way out to `cut`: keep what is needed from there on and has changed.
static void keep_values(struct writing *w, size_t cut)
{
    struct hdi_emit *e = w->all->emit;

    for (size_t s = 0; s < e->flow->slot_count; s++) {
        const struct hdi_kept *kept = &e->kept[s];
        if (!w->region->stores[s] || !hdi_flow_is_live(e->flow, cut, s) ||
            (e->flow->slots[s].place != HDI_PLACE_GROUP &&
             e->flow->slots[s].place != HDI_PLACE_ITEMS))
            continue;
        LLVMValueRef value =
            LLVMBuildLoad2(e->builder, e->flow->slots[s].type, kept->work, "");
        if (e->flow->slots[s].place == HDI_PLACE_GROUP)
            LLVMBuildStore(e->builder, value, kept->next);
        else
            hdi_emit_independent(
                e, LLVMBuildStore(e->builder, value,
                                  kept_at(e, kept, LLVMTypeOf(value))));
    }
}

// A region reads the values of `group` and writes those of `next`, so that no
// work-item sees what another one has changed.
static void move_group_values(struct writing *w, bool to_next)
{
    struct hdi_emit *e = w->all->emit;

    for (size_t s = 0; s < e->flow->slot_count; s++) {
        const struct hdi_kept *kept = &e->kept[s];
        if (!w->region->stores[s] || e->flow->slots[s].place != HDI_PLACE_GROUP)
            continue;
        LLVMValueRef value =
            LLVMBuildLoad2(e->builder, e->flow->slots[s].type,
                           to_next ? kept->group : kept->next, "");
        LLVMBuildStore(e->builder, value, to_next ? kept->next : kept->group);
    }
}

// Early returns ---------------------------------------------------------------

static LLVMValueRef returned_at(struct writing *w)
{
    struct hdi_emit *e = w->all->emit;
    return e->lanes ? hdi_emit_lane(e, w->all->returned_lanes, e->i8)
                    : hdi_emit_share(e, e->returned_offset, 1);
}

static void mark_returned(struct writing *w, bool returned)
{
    struct hdi_emit *e = w->all->emit;
    hdi_emit_independent(e, LLVMBuildStore(e->builder,
                                           LLVMConstInt(e->i8, returned, false),
                                           returned_at(w)));
}

// Work-items that have returned take no part; the first region begins with all.
static void skip_returned(struct writing *w)
{
    struct hdi_emit *e = w->all->emit;
    LLVMBasicBlockRef body = hdi_emit_block(e, "present");
    LLVMValueRef returned =
        LLVMBuildLoad2(e->builder, e->i8, returned_at(w), "");

    hdi_emit_independent(e, returned);
    LLVMBuildCondBr(e->builder,
                    LLVMBuildICmp(e->builder, LLVMIntNE, returned,
                                  LLVMConstInt(e->i8, 0, false), ""),
                    w->latch, body);
    hdi_build_at_end(e->builder, body);
}

// Copying ---------------------------------------------------------------------

// The block in the loop body that takes a work-item out of the region to `cut`.
// Leaves the builder where it was.
static LLVMBasicBlockRef way_out(struct writing *w, size_t cut)
{
    struct hdi_emit *e = w->all->emit;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);

    w->copies[cut] = hdi_emit_block(e, "out");
    hdi_build_at_end(e->builder, w->copies[cut]);
    keep_values(w, cut);
    if (w->all->some_return_early && w->region->start == 0)
        mark_returned(w, false);
    if (w->next)
        LLVMBuildStore(e->builder, LLVMConstInt(e->i32, cut, false), w->next);
    LLVMBuildBr(e->builder, w->latch);
    hdi_build_at_end(e->builder, before);
    return w->copies[cut];
}

static LLVMBasicBlockRef copy_of_block(struct writing *w, size_t block)
{
    if (w->copies[block])
        return w->copies[block];
    return way_out(w, block);
}

static void copy_terminator(struct writing *w, LLVMValueRef terminator)
{
    struct hdi_emit *e = w->all->emit;

    if (LLVMIsAReturnInst(terminator)) {
        if (w->all->some_return_early &&
            (w->region->exit_count > 0 || w->region->start == 0))
            mark_returned(w, true);
        LLVMBuildBr(e->builder, w->latch);
        return;
    }

    LLVMValueRef copy = LLVMInstructionClone(terminator);
    int count = LLVMGetNumOperands(terminator);
    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(terminator, (unsigned)i);
        if (LLVMValueIsBasicBlock(operand)) {
            size_t block = hdi_map_index(&e->flow->block_index,
                                         LLVMValueAsBasicBlock(operand));
            operand = LLVMBasicBlockAsValue(copy_of_block(w, block));
        } else {
            operand = hdi_emit_operand(e, operand);
        }
        LLVMSetOperand(copy, (unsigned)i, operand);
    }
    LLVMInsertIntoBuilder(e->builder, copy);
}

static void copy_blocks(struct writing *w)
{
    struct hdi_emit *e = w->all->emit;

    for (size_t i = 0; i < w->region->count; i++) {
        const struct hdi_block *block = &e->flow->blocks[w->region->blocks[i]];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);

        hdi_build_at_end(e->builder, w->copies[w->region->blocks[i]]);
        for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x != end;
             x = LLVMGetNextInstruction(x))
            hdi_emit_instruction(e, x);
        copy_terminator(w, end);
    }
}

// Loops -----------------------------------------------------------------------

// The id of the lone work-item in dimension `d`, or, when the group does not
// have it, 0: that one finds the condition not met.
static LLVMValueRef lone_id(struct writing *w, unsigned d)
{
    struct hdi_emit *e = w->all->emit;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(e->trip[d]);
    LLVMValueRef id =
        LLVMBuildIntCast2(b, hdi_emit_remade(e, w->lone[d]), e->i64, false, "");
    LLVMValueRef trip = LLVMBuildIntCast2(b, e->trip[d], e->i64, false, "");

    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, id, trip, ""),
                           LLVMBuildIntCast2(b, id, type, false, ""),
                           LLVMConstNull(type), "");
}

// Begin a loop over one dimension, or none when only one work-item does
// anything.
static struct hdi_loop begin_items(struct writing *w, unsigned d)
{
    if (!w->lone[d])
        return hdi_loop_begin(w->all->emit, d);
    w->all->emit->item_ids[d] = lone_id(w, d);
    return (struct hdi_loop){.counter = NULL};
}

static void end_items(struct writing *w, const struct hdi_loop *loop,
                      unsigned d, unsigned number)
{
    if (loop->counter)
        hdi_loop_end(w->all->emit, loop, d, number);
}

// The number in the group of the first work-item of a row.
static LLVMValueRef number_row(struct hdi_emit *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef row =
        LLVMBuildNUWAdd(b, LLVMBuildNUWMul(b, e->item_ids[2], e->trip[1], ""),
                        e->item_ids[1], "");
    return LLVMBuildZExt(b, LLVMBuildNUWMul(b, row, e->trip[0], ""), e->i64,
                         "");
}

// The loop over a row of work-items, and in it their bodies. `row`: the number
// of the first in the group, NULL: 0.
static void write_row(struct writing *w, LLVMValueRef row, unsigned number)
{
    struct hdi_emit *e = w->all->emit;
    LLVMBuilderRef b = e->builder;

    for (size_t i = 0; i < w->region->count; i++)
        w->copies[w->region->blocks[i]] = hdi_emit_block(e, "body");
    w->latch = hdi_emit_block(e, "latch");
    struct hdi_loop x = begin_items(w, 0);
    e->item = LLVMBuildZExt(b, e->item_ids[0], e->i64, "");
    if (row) {
        e->item = LLVMBuildNUWAdd(b, row, e->item, "");
        LLVMSetNSW(e->item, true);
    }

    if (w->all->some_return_early && w->region->start != 0)
        skip_returned(w);
    for (size_t a = 0; a < e->flow->array_count; a++)
        hdi_map_set(
            &e->values, e->flow->arrays[a],
            hdi_emit_share(e, e->array_offsets[a], e->flow->array_sizes[a]));
    take_values(w);
    LLVMBuildBr(b, w->copies[w->region->start]);
    copy_blocks(w);

    hdi_build_at_end(b, w->latch);
    end_items(w, &x, 0, number);
}

// Whether a group may have several rows: the kernel asks where in y or z.
static bool has_rows(const struct hdi_emit *e)
{
    for (size_t b = 0; b < e->flow->block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(e->flow->blocks[b].block);
             x; x = LLVMGetNextInstruction(x)) {
            enum hdi_call kind = hdi_call_kind(x);
            if ((kind == HDI_CALL_LOCAL_ID || kind == HDI_CALL_GLOBAL_ID) &&
                !LLVMIsNull(LLVMGetOperand(x, 0)))
                return true;
        }
    return false;
}

// Whether work-items of the region take a step one after the other, all of a
// row before those of the next.
static bool is_in_order(const struct writing *w)
{
    for (size_t i = 0; i < w->region->count; i++) {
        LLVMBasicBlockRef block =
            w->all->emit->flow->blocks[w->region->blocks[i]].block;
        for (LLVMValueRef x = LLVMGetFirstInstruction(block); x;
             x = LLVMGetNextInstruction(x))
            if (LLVMIsACallInst(x) && LLVMIsAFunction(LLVMGetCalledValue(x)) &&
                hdi_is_step(LLVMGetCalledValue(x)))
                return true;
    }
    return false;
}

// Chunk by chunk in x, and for each the rows.
static void write_columns(struct writing *w, struct hdi_lanes *lanes,
                          unsigned number)
{
    struct hdi_columns columns;
    bool more = true;

    for (hdi_lanes_begin_columns(lanes, &columns); more;
         more = hdi_lanes_next_columns(lanes, &columns)) {
        struct hdi_loop z = begin_items(w, 2);
        struct hdi_loop y = begin_items(w, 1);
        y.is_of_rows = true;
        hdi_lanes_write_column(lanes, &columns, number_row(w->all->emit));
        end_items(w, &y, 1, number);
        end_items(w, &z, 2, number);
    }
}

// The loops, and in them the bodies, for chunks of lanes or one by one.
// Columns only where work-items may go in any order: they take chunk after
// chunk of all rows, not row after row.
static void write_loops(struct writing *w, struct hdi_lanes *lanes,
                        unsigned number)
{
    struct hdi_emit *e = w->all->emit;

    if (lanes && !e->flat && hdi_lanes_has_columns(lanes) && w->all->has_rows &&
        !is_in_order(w)) {
        write_columns(w, lanes, number);
        return;
    }
    struct hdi_loop z = begin_items(w, 2);
    struct hdi_loop y = begin_items(w, 1);
    LLVMValueRef row = e->flat ? NULL : number_row(e);
    if (lanes)
        hdi_lanes_write(lanes, row);
    else
        write_row(w, row, number);
    end_items(w, &y, 1, number);
    end_items(w, &z, 2, number);
}

// LLVM asks whatever is asked on the only way to a loop, back to the function's
// entry, what it says of the loop: of many regions, the square of their number.
// So now and then there is another way, which no group takes: a region is left
// out for a row of no work-items.
static void write_loops_apart(struct writing *w, struct hdi_lanes *lanes,
                              unsigned number)
{
    struct hdi_emit *e = w->all->emit;
    LLVMValueRef size = e->trip[0];

    if (!e->apart || number % MAX_IN_ROW != 0) {
        write_loops(w, lanes, number);
        return;
    }
    LLVMBasicBlockRef some = hdi_emit_block(e, "some"),
                      behind = hdi_emit_block(e, "behind");
    LLVMBuildCondBr(e->builder,
                    LLVMBuildICmp(e->builder, LLVMIntEQ, size,
                                  LLVMConstNull(LLVMTypeOf(size)), ""),
                    behind, some);
    hdi_build_at_end(e->builder, some);
    write_loops(w, lanes, number);
    LLVMBuildBr(e->builder, behind);
    hdi_build_at_end(e->builder, behind);
}

// Behind the loops: the group goes where its work-items went. OpenCL has them
// all go to the same barrier, so the last one that went anywhere is right.
static void write_next(struct writing *w)
{
    struct hdi_regions *all = w->all;
    struct hdi_emit *e = all->emit;

    if (!w->next) {
        LLVMBuildBr(e->builder, w->region->exit_count
                                    ? entry_of(all, w->region->exits[0])
                                    : all->done);
        return;
    }
    LLVMValueRef next = LLVMBuildLoad2(e->builder, e->i32, w->next, "");
    LLVMValueRef ways = LLVMBuildSwitch(e->builder, next, all->done,
                                        (unsigned)w->region->exit_count);
    for (size_t i = 0; i < w->region->exit_count; i++)
        LLVMAddCase(ways, LLVMConstInt(e->i32, w->region->exits[i], false),
                    entry_of(all, w->region->exits[i]));
}

static bool add_form(struct hdi_forms *forms, struct hdi_form form)
{
    struct hdi_form *list =
        realloc(forms->list, (forms->count + 1) * sizeof(*list));
    if (!list)
        return false;
    list[forms->count++] = form;
    forms->list = list;
    return true;
}

// Joining ---------------------------------------------------------------------

static bool has(const size_t *blocks, size_t count, size_t block)
{
    for (size_t i = 0; i < count; i++)
        if (blocks[i] == block)
            return true;
    return false;
}

// Could it pay to do the region together with that behind the barrier at its
// end?
static bool may_join(const struct hdi_emit *e, const struct hdi_region *region)
{
    if (!hdi_rule_is_on(e->llvm, HDI_RULE_JOIN) || e->width == 0 || e->flat ||
        e->observer || region->some_return_early || region->exit_count != 1 ||
        region->returns)
        return false;
    const struct hdi_block *end = &e->flow->blocks[region->exits[0]];
    return end->cut == HDI_CUT_BARRIER &&
           hdi_call_kind(LLVMGetFirstInstruction(end->block)) ==
               HDI_CALL_BARRIER &&
           !e->flow->blocks[end->successors[0]].cut;
}

// Is something kept of each work-item from the one for the other?
static bool hands_on(const struct hdi_region *first,
                     const struct hdi_region *second)
{
    const struct hdi_flow *flow = first->flow;

    for (size_t s = 0; s < flow->slot_count; s++)
        if (first->stores[s] && second->uses[s] &&
            flow->slots[s].place == HDI_PLACE_ITEMS &&
            hdi_flow_is_live(flow, first->exits[0], s))
            return true;
    return false;
}

// Is the barrier passed once on the way through both, and is there one end?
static bool is_line(const struct hdi_region *first,
                    const struct hdi_region *second)
{
    if (second->exit_count + second->returns != 1 ||
        has(second->exits, second->exit_count, first->exits[0]))
        return false;
    for (size_t i = 0; i < second->count; i++)
        if (has(first->blocks, first->count, second->blocks[i]))
            return false;
    return true;
}

// Write the code for both at once. The builder then stands where the group goes
// when that cannot be.
//     can they go together? -- yes --> both regions, chunk by chunk --> next
//                         \- no ----> (builder) the first region, as ever
static void write_both(struct writing *both, struct hdi_lanes *lanes,
                       const struct hdi_join *join)
{
    struct hdi_emit *e = both->all->emit;
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef together = hdi_emit_block(e, "together"),
                      apart = hdi_emit_block(e, "apart");
    LLVMValueRef backwards;

    for (unsigned d = 0; d < 3; d++)
        e->item_ids[d] = LLVMConstNull(LLVMTypeOf(e->trip[d]));
    e->item = LLVMConstNull(e->i64);
    lanes->wide.mask = LLVMConstAllOnes(hdi_wide_mask_type(&lanes->wide));
    hdi_lanes_begin_chunk(lanes, HDI_WAY_PART);
    LLVMValueRef rows = LLVMBuildMul(b, e->trip[1], e->trip[2], "");
    LLVMValueRef can = LLVMBuildAnd(
        b, hdi_join_order(join, &lanes->wide, &backwards),
        LLVMBuildICmp(b, LLVMIntEQ, rows, LLVMConstInt(e->i32, 1, false), ""),
        "");
    LLVMBuildCondBr(b, can, together, apart);

    hdi_build_at_end(b, together);
    move_group_values(both, true);
    hdi_lanes_write_in_order(lanes, backwards);
    move_group_values(both, false);
    write_next(both);
    hdi_build_at_end(b, apart);
}

// `*joined`: there is code for both at once.
static bool join_lanes(struct hdi_regions *all, const struct hdi_region *first,
                       const struct hdi_region *second,
                       const struct hdi_region *both, unsigned line,
                       bool *joined)
{
    struct writing w = {.region = both, .all = all};
    struct hdi_lanes *lanes;
    struct hdi_join join;
    const char *reason;
    unsigned reason_line;

    if (!hdi_lanes_create(all->emit, both, NULL, &lanes, &reason, &reason_line))
        return false;
    bool ok = true;
    if (lanes && hdi_join_find(first, second, both, &lanes->open, &join)) {
        struct hdi_form form = {.lanes = all->emit->width, .joint = line};
        ok = add_form(&all->forms, form);
        write_both(&w, lanes, &join);
        *joined = true;
    }
    hdi_lanes_destroy(lanes);
    return ok;
}

// The cut is taken out for as long as the blocks of both are found as one
// region, and is put back in any case.
static bool join_regions(struct hdi_regions *all,
                         const struct hdi_region *first, bool *joined)
{
    struct hdi_emit *e = all->emit;
    struct hdi_region second, both;

    if (!may_join(e, first))
        return true;
    struct hdi_block *joint = &e->flow->blocks[first->exits[0]];
    if (!hdi_region_find(e->flow, joint->successors[0], false, &second))
        return false;
    bool ok = true;
    if (is_line(first, &second) && hands_on(first, &second)) {
        unsigned line = hdi_source_line(LLVMGetFirstInstruction(joint->block));
        joint->cut = HDI_NO_CUT;
        ok = hdi_region_find(e->flow, first->start, false, &both);
        if (ok) {
            ok = join_lanes(all, first, &second, &both, line, joined);
            hdi_region_clear(&both);
        }
        joint->cut = HDI_CUT_BARRIER;
    }
    hdi_region_clear(&second);
    return ok;
}

// The work-items that are left out do nothing, or nothing that the others do
// not.
static void find_lone(struct writing *w, struct hdi_form *form)
{
    struct hdi_emit *e = w->all->emit;

    if (!hdi_rule_is_on(e->llvm, HDI_RULE_LONE))
        return;
    form->shared = !e->observer && hdi_guard_is_shared(w->region);
    for (unsigned d = 0; d < 3; d++)
        w->lone[d] = form->shared ? LLVMConstNull(e->i64)
                                  : hdi_guard_lone_item(w->region, d);
    form->lone = w->lone[0];
}

// In this order: both regions together, if that may be; the form of this one
// (lone, lanes or one by one), and why; the loops; the way on.
static bool write_code(struct writing *w)
{
    struct hdi_regions *all = w->all;
    struct hdi_emit *e = all->emit;
    const struct hdi_region *region = w->region;
    bool joined = false;
    bool ok = join_regions(all, region, &joined);

    hdi_map_clear(&e->values);
    if (region->exit_count + region->returns > 1) {
        w->next = hdi_emit_alloca(e, e->i32);
        LLVMBuildStore(e->builder, LLVMConstAllOnes(e->i32), w->next);
        all->open_ends++;
    }
    struct hdi_lanes *lanes = NULL;
    struct hdi_form form = {0};
    find_lone(w, &form);
    ok = ok && (e->width == 0 || form.lone ||
                hdi_lanes_create(e, region, w->next, &lanes, &form.reason,
                                 &form.line));
    if (e->width == 0 && !form.lone)
        form.reason = hdi_lanes_reason(region, &form.line);
    if (lanes && joined)
        lanes->splits = false; // hardly ever run: not worth the code
    e->ordered = e->scalar = false;
    if (ok && !lanes && !form.lone)
        ok = hdi_hazard_find(region, &e->ordered, &e->scalar);
    e->scalar |= !lanes && !form.lone &&
                 (hdi_faults_quotient(region) || hdi_faults_wrap(region));
    form.lanes = lanes ? lanes->span : 0;
    form.limit = lanes && lanes->splits ? lanes->split.line : 0;
    ok &= add_form(&all->forms, form);
    move_group_values(w, true);
    if (ok)
        write_loops_apart(w, lanes, all->forms.count - 1);
    hdi_lanes_destroy(lanes);
    move_group_values(w, false);
    write_next(w);
    return ok && !e->values.failed;
}

static bool write_region(struct hdi_regions *all, size_t start)
{
    struct hdi_emit *e = all->emit;
    struct hdi_region region;

    if (!hdi_region_find(e->flow, start, all->some_return_early, &region))
        return false;
    struct writing w = {
        .region = &region,
        .all = all,
        .copies = calloc(e->flow->block_count, sizeof(*w.copies)),
    };
    hdi_build_at_end(e->builder, all->entries[start]);
    bool ok = w.copies && write_code(&w);
    free(w.copies);
    hdi_region_clear(&region);
    return ok;
}

// Cuts ------------------------------------------------------------------------

// A branch that the whole group takes: its condition is a kept value.
// Between regions no work-item is at hand: values come from what the group
// keeps.
static void write_branch(struct hdi_regions *all, const struct hdi_block *block)
{
    struct hdi_emit *e = all->emit;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);

    hdi_map_clear(&e->values);
    for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x != end;
         x = LLVMGetNextInstruction(x)) {
        size_t slot = LLVMIsALoadInst(x) ? hdi_map_index(&e->flow->slot_index,
                                                         LLVMGetOperand(x, 0))
                                         : SIZE_MAX;
        if (slot != SIZE_MAX)
            hdi_map_set(&e->values, x,
                        LLVMBuildLoad2(e->builder, LLVMTypeOf(x),
                                       e->kept[slot].group, ""));
        else
            hdi_emit_instruction(e, x);
    }

    LLVMValueRef copy = LLVMInstructionClone(end);
    int count = LLVMGetNumOperands(end);
    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(end, (unsigned)i);
        if (LLVMValueIsBasicBlock(operand))
            operand = LLVMBasicBlockAsValue(
                entry_of(all, hdi_map_index(&e->flow->block_index,
                                            LLVMValueAsBasicBlock(operand))));
        else
            operand = hdi_emit_operand(e, operand);
        LLVMSetOperand(copy, (unsigned)i, operand);
    }
    LLVMInsertIntoBuilder(e->builder, copy);
}

// A queue of blocks that somebody goes to: code that no group comes to is not
// written. False: no memory; what else fails is in emit->status.
bool hdi_regions_write(struct hdi_regions *all, LLVMBasicBlockRef begin)
{
    struct hdi_emit *e = all->emit;
    const struct hdi_flow *flow = e->flow;
    bool ok = true;

    all->has_rows = has_rows(e);
    hdi_build_at_end(e->builder, begin);
    if (e->observer)
        e->observer->begin_group(e);
    LLVMBuildBr(e->builder, entry_of(all, 0));
    for (size_t i = 0; ok && i < all->queue_size; i++) {
        size_t b = all->queue[i];
        const struct hdi_block *block = &flow->blocks[b];

        if (!block->cut) {
            ok = write_region(all, b);
            continue;
        }
        hdi_build_at_end(e->builder, all->entries[b]);
        if (block->cut == HDI_CUT_BRANCH) {
            write_branch(all, block);
            continue;
        }
        if (e->observer)
            e->observer->pass_cut(e, block);
        LLVMBuildBr(e->builder, entry_of(all, block->successors[0]));
    }
    return ok && !e->values.failed;
}
