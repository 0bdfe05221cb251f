// The loops over the chunks of a row: full ones, then what is left, under a
// mask.
#include "kernel/compiler/lanes/lanes.h"

enum {
    TINY_TURNS = 4 // of a loop over tiny chunks, written in one
};

// Ids of a chunk are those of lane 0.
static void place_chunk(struct hdi_emit *e, LLVMValueRef row, LLVMValueRef x)
{
    e->item_ids[0] = x;
    e->item = LLVMBuildZExt(e->builder, x, e->i64, "");
    if (row)
        e->item = LLVMBuildNUWAdd(e->builder, row, e->item, "");
}

struct row {
    LLVMValueRef number;  // of its first work-item in the group, NULL: 0
    LLVMValueRef counter; // alloca: the x of the chunk at hand
    LLVMTypeRef type;     // of x
};

static LLVMValueRef load_x(struct hdi_emit *e, const struct row *row)
{
    return LLVMBuildLoad2(e->builder, row->type, row->counter, "");
}

// The x behind the chunk at hand.
static LLVMValueRef behind(struct hdi_lanes *l, const struct row *row,
                           LLVMValueRef x)
{
    return LLVMBuildNUWAdd(l->emit->builder, x,
                           LLVMConstInt(row->type, l->wide.lanes, false), "");
}

// A chunk of them, if there is one, as write_full() says; the builder stands in
// it on return.
static void write_one(struct hdi_lanes *l, const struct row *row,
                      LLVMValueRef end, enum hdi_way way,
                      LLVMBasicBlockRef after)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef body = hdi_emit_block(e, "chunk");
    LLVMValueRef x = load_x(e, row), next = behind(l, row, x);

    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, next, end, ""), body,
                    after);
    hdi_build_at_end(b, body);
    place_chunk(e, row->number, x);
    hdi_lanes_write_chunk(l, LLVMConstAllOnes(hdi_wide_mask_type(&l->wide)),
                          way);
    LLVMBuildStore(b, next, row->counter);
}

// A loop over full chunks as long as they end before `end`. `way`: what all of
// them answer to what the region asks at its begin.
static void write_full(struct hdi_lanes *l, const struct row *row,
                       LLVMValueRef end, enum hdi_way way,
                       LLVMBasicBlockRef after)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef head = hdi_emit_block(e, "chunks");

    LLVMBuildBr(b, head);
    hdi_build_at_end(b, head);
    write_one(l, row, end, way, after);
    hdi_keep_rolled(e, LLVMBuildBr(b, head));
}

static LLVMValueRef least(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, x, y, ""), x, y, "");
}

// The lanes of the chunk at x that are in the row.
static LLVMValueRef mask_at(struct hdi_lanes *l, LLVMValueRef x)
{
    struct hdi_emit *e = l->emit;
    LLVMValueRef left = LLVMBuildNUWSub(e->builder, e->trip[0], x, "");

    return LLVMBuildICmp(e->builder, LLVMIntULT,
                         hdi_wide_iota(&l->wide, LLVMTypeOf(left), 1),
                         hdi_wide_splat(&l->wide, left), "");
}

// What is left of the row, under a mask.
// One chunk; where more is left the caller comes again.
static void write_rest(struct hdi_lanes *l, const struct row *row)
{
    LLVMValueRef x = load_x(l->emit, row), mask = mask_at(l, x);

    place_chunk(l->emit, row->number, x);
    hdi_lanes_write_chunk(l, mask, HDI_WAY_PART);
}

// What is left behind chunks of the span is some chunks under a mask.
// With a span the rest may be as long as a full chunk, and is done in chunks of
// the usual width.
static void write_whole_row(struct hdi_lanes *l, const struct row *row)
{
    struct hdi_emit *e = l->emit;
    unsigned width = l->wide.lanes;
    LLVMBasicBlockRef rest = hdi_emit_block(e, "rest"),
                      part = hdi_emit_block(e, "part"),
                      after = hdi_emit_block(e, "after_chunks");

    l->wide.lanes = l->span;
    write_full(l, row, e->trip[0], HDI_WAY_OPEN, rest);
    l->wide.lanes = width;
    hdi_build_at_end(e->builder, rest);
    LLVMBuildCondBr(
        e->builder,
        LLVMBuildICmp(e->builder, LLVMIntULT, load_x(e, row), e->trip[0], ""),
        part, after);
    hdi_build_at_end(e->builder, part);
    write_rest(l, row);
    if (l->span > width) {
        LLVMBuildStore(e->builder, behind(l, row, load_x(e, row)),
                       row->counter);
        hdi_keep_rolled(e, LLVMBuildBr(e->builder, rest));
    } else {
        LLVMBuildBr(e->builder, after);
    }
    hdi_build_at_end(e->builder, after);
}

// The limit is looked at once per row, at its first chunk.
static LLVMValueRef count_below(struct hdi_lanes *l, const struct row *row)
{
    place_chunk(l->emit, row->number, LLVMConstNull(row->type));
    hdi_lanes_begin_chunk(l, HDI_WAY_OPEN);
    return hdi_split_count(&l->split, &l->wide);
}

// The first work-items go one way, all others another: chunks on either side of
// the limit need no masks. The chunk astride does, as does the row's rest:
//
//     full chunks below the limit
//     astride: some below are left? then part
//              full chunks beyond
//              others are left? then part, else after
//     part:    a chunk under a mask, then astride
static void write_split_row(struct hdi_lanes *l, const struct row *row)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef astride = hdi_emit_block(e, "astride"),
                      part = hdi_emit_block(e, "part"),
                      after = hdi_emit_block(e, "after_chunks"),
                      beyond =
                          l->split.ebbs ? after : hdi_emit_block(e, "beyond");

    LLVMValueRef below = count_below(l, row);
    write_full(l, row, below, HDI_WAY_BELOW, astride);

    hdi_build_at_end(b, astride);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, load_x(e, row), below, ""),
                    part, beyond);
    hdi_build_at_end(b, part);
    LLVMValueRef next = behind(l, row, load_x(e, row));
    write_rest(l, row);
    LLVMBuildStore(b, next, row->counter);
    LLVMBuildBr(b, astride);

    if (!l->split.ebbs) {
        LLVMBasicBlockRef rest = hdi_emit_block(e, "rest");
        hdi_build_at_end(b, beyond);
        write_full(l, row, e->trip[0], HDI_WAY_BEYOND, rest);
        hdi_build_at_end(b, rest);
        LLVMBuildCondBr(
            b, LLVMBuildICmp(b, LLVMIntULT, load_x(e, row), e->trip[0], ""),
            part, after);
    }
    hdi_build_at_end(b, after);
}

// Nothing is done beyond the limit, and little below: what is left below a full
// chunk is chunks of half the lanes each. Without masks, what one step of a
// tree stores is there at once for the next.
static void write_ebbing_row(struct hdi_lanes *l, const struct row *row)
{
    struct hdi_emit *e = l->emit;
    unsigned width = l->wide.lanes;

    LLVMValueRef below = count_below(l, row);
    LLVMBasicBlockRef next = hdi_emit_block(e, "narrow");
    write_full(l, row, below, HDI_WAY_BELOW, next);
    for (l->wide.lanes = width / 2; l->wide.lanes > 0; l->wide.lanes /= 2) {
        hdi_build_at_end(e->builder, next);
        next = hdi_emit_block(e, "narrow");
        write_one(l, row, below, HDI_WAY_BELOW, next);
        LLVMBuildBr(e->builder, next);
    }
    l->wide.lanes = width;
    hdi_build_at_end(e->builder, next);
}

void hdi_lanes_write(struct hdi_lanes *l, LLVMValueRef number)
{
    struct hdi_emit *e = l->emit;
    LLVMTypeRef type = LLVMTypeOf(e->trip[0]);
    struct row row = {number, hdi_emit_alloca(e, type), type};

    LLVMBuildStore(e->builder, LLVMConstNull(type), row.counter);
    if (l->splits && l->split.ebbs && l->split.is_tiny)
        write_ebbing_row(l, &row);
    else if (l->splits)
        write_split_row(l, &row);
    else
        write_whole_row(l, &row);
}

// Columns ---------------------------------------------------------------------

bool hdi_lanes_has_columns(const struct hdi_lanes *l)
{
    return !l->splits; // else chunks differ from row to row
}

void hdi_lanes_begin_columns(struct hdi_lanes *l, struct hdi_columns *c)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(e->trip[0]);
    LLVMBasicBlockRef body = hdi_emit_block(e, "column");

    *c = (struct hdi_columns){.counter = hdi_emit_alloca(e, type),
                              .head = hdi_emit_block(e, "columns"),
                              .rest = hdi_emit_block(e, "rest"),
                              .narrow = l->wide.lanes};
    LLVMBuildStore(b, LLVMConstNull(type), c->counter);
    LLVMBuildBr(b, c->head);
    hdi_build_at_end(b, c->head);
    l->wide.lanes = l->span;
    c->x = LLVMBuildLoad2(b, type, c->counter, "");
    c->next = LLVMBuildNUWAdd(b, c->x, LLVMConstInt(type, l->span, false), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, c->next, e->trip[0], ""),
                    body, c->rest);
    hdi_build_at_end(b, body);
}

void hdi_lanes_write_column(struct hdi_lanes *l, const struct hdi_columns *c,
                            LLVMValueRef row)
{
    place_chunk(l->emit, row, c->x);
    if (c->mask)
        hdi_lanes_write_chunk(l, c->mask, HDI_WAY_PART);
    else
        hdi_lanes_write_chunk(l, LLVMConstAllOnes(hdi_wide_mask_type(&l->wide)),
                              HDI_WAY_OPEN);
}

// Called twice: after full chunks, to begin with the rest; after the rest,
// which ends it.
bool hdi_lanes_next_columns(struct hdi_lanes *l, struct hdi_columns *c)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(e->trip[0]);

    LLVMBuildStore(b, c->next, c->counter);
    hdi_keep_rolled(e, LLVMBuildBr(b, c->mask ? c->rest : c->head));
    if (c->mask) {
        hdi_build_at_end(b, c->after);
        return false;
    }
    LLVMBasicBlockRef part = hdi_emit_block(e, "part");
    c->after = hdi_emit_block(e, "after_columns");
    l->wide.lanes = c->narrow;
    hdi_build_at_end(b, c->rest);
    c->x = LLVMBuildLoad2(b, type, c->counter, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, c->x, e->trip[0], ""), part,
                    c->after);
    hdi_build_at_end(b, part);
    c->next =
        LLVMBuildNUWAdd(b, c->x, LLVMConstInt(type, c->narrow, false), "");
    c->mask = mask_at(l, c->x);
    return true;
}

// One row, in an order -------------------------------------------------------

// As many chunks of the row, one after the other from the one at x on. Counted
// before, so that LLVM takes the loop away where the chunks do nothing. Of tiny
// ones the loop itself would be half of the work.
static void write_run(struct hdi_lanes *l, const struct row *row,
                      LLVMValueRef count, bool backwards, enum hdi_way way)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef one = LLVMConstInt(row->type, 1, false);
    LLVMValueRef width = LLVMConstInt(row->type, l->wide.lanes, false);
    LLVMValueRef none = LLVMConstNull(row->type);
    LLVMValueRef left = hdi_emit_alloca(e, row->type);
    LLVMBasicBlockRef body = hdi_emit_block(e, "run"),
                      after = hdi_emit_block(e, "after_run");

    LLVMBuildStore(b, count, left);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, count, none, ""), body,
                    after);
    hdi_build_at_end(b, body);
    LLVMValueRef x = load_x(e, row);
    place_chunk(e, NULL, x);
    hdi_lanes_write_chunk(l, LLVMConstAllOnes(hdi_wide_mask_type(&l->wide)),
                          way);
    LLVMBuildStore(
        b, LLVMBuildBinOp(b, backwards ? LLVMSub : LLVMAdd, x, width, ""),
        row->counter);
    count = LLVMBuildSub(b, LLVMBuildLoad2(b, row->type, left, ""), one, "");
    LLVMBuildStore(b, count, left);
    LLVMValueRef again = LLVMBuildCondBr(
        b, LLVMBuildICmp(b, LLVMIntNE, count, none, ""), body, after);
    if (l->splits && l->split.is_tiny)
        hdi_unroll(e, again, TINY_TURNS);
    else
        hdi_keep_rolled(e, again);
    hdi_build_at_end(b, after);
}

// The same for a part of a chunk, at x, if there is one.
static void write_part(struct hdi_lanes *l, const struct row *row)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef part = hdi_emit_block(e, "part"),
                      after = hdi_emit_block(e, "after_part");

    LLVMBuildCondBr(
        b, LLVMBuildICmp(b, LLVMIntULT, load_x(e, row), e->trip[0], ""), part,
        after);
    hdi_build_at_end(b, part);
    write_rest(l, row);
    LLVMBuildBr(b, after);
    hdi_build_at_end(b, after);
}

static LLVMValueRef chunks_of(struct hdi_lanes *l, LLVMValueRef items)
{
    LLVMTypeRef type = LLVMTypeOf(items);

    return LLVMBuildUDiv(l->emit->builder, items,
                         LLVMConstInt(type, l->wide.lanes, false), "");
}

// `full`: the work-items of full chunks; `below`: of those below the limit,
// NULL: the region does not begin by asking for one.
static void write_forwards(struct hdi_lanes *l, const struct row *row,
                           LLVMValueRef full, LLVMValueRef below)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;

    LLVMBuildStore(b, LLVMConstNull(row->type), row->counter);
    if (below) {
        write_run(l, row, chunks_of(l, below), false, HDI_WAY_BELOW);
        LLVMValueRef x = load_x(e, row);
        LLVMValueRef astride =
            LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntULT, x, below, ""),
                         LLVMBuildICmp(b, LLVMIntULT, x, full, ""), "");
        write_run(l, row, LLVMBuildZExt(b, astride, row->type, ""), false,
                  HDI_WAY_OPEN);
        below = LLVMBuildSub(b, full, load_x(e, row), "");
    }
    write_run(l, row, chunks_of(l, below ? below : full), false,
              below ? HDI_WAY_BEYOND : HDI_WAY_OPEN);
    write_part(l, row);
}

static void write_backwards(struct hdi_lanes *l, const struct row *row,
                            LLVMValueRef full, LLVMValueRef below)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef width = LLVMConstInt(row->type, l->wide.lanes, false);

    LLVMBuildStore(b, full, row->counter);
    write_part(l, row);
    LLVMBuildStore(b, LLVMBuildSub(b, full, width, ""), row->counter);
    if (below) {
        LLVMValueRef beyond = LLVMBuildSub(b, full, least(b, full, below), "");
        write_run(l, row, chunks_of(l, beyond), true, HDI_WAY_BEYOND);
        LLVMValueRef astride = LLVMBuildICmp(
            b, LLVMIntUGT, LLVMBuildAdd(b, load_x(e, row), width, ""), below,
            "");
        write_run(l, row, LLVMBuildZExt(b, astride, row->type, ""), true,
                  HDI_WAY_OPEN);
        full = LLVMBuildAdd(b, load_x(e, row), width, "");
    }
    write_run(l, row, chunks_of(l, full), true,
              below ? HDI_WAY_BELOW : HDI_WAY_OPEN);
}

void hdi_lanes_write_in_order(struct hdi_lanes *l, LLVMValueRef backwards)
{
    struct hdi_emit *e = l->emit;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(e->trip[0]);
    struct row row = {NULL, hdi_emit_alloca(e, type), type};
    LLVMBasicBlockRef down = hdi_emit_block(e, "backwards"),
                      up = hdi_emit_block(e, "forwards"),
                      after = hdi_emit_block(e, "after_chunks");

    LLVMValueRef below = l->splits ? count_below(l, &row) : NULL;
    LLVMValueRef full = LLVMBuildAnd(
        b, e->trip[0],
        LLVMConstInt(type, -(unsigned long long)l->wide.lanes, true), "");
    LLVMBuildCondBr(b, backwards, down, up);
    hdi_build_at_end(b, down);
    write_backwards(l, &row, full, below);
    LLVMBuildBr(b, after);
    hdi_build_at_end(b, up);
    write_forwards(l, &row, full, below);
    LLVMBuildBr(b, after);
    hdi_build_at_end(b, after);
}
