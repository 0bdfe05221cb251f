// What is right, by kind of access; tags as in screen.c. "Own" is older than
// this phase, or left by this work-item.
//
//     reads     write tag is own; a local one: from `group` on
//               then the read tag becomes mine, or `many` when it was another's
//     writes    write tag and read tag are own; then the write tag is mine
//     atomic    write tag is older or `atomic`, read tag is older;
//               then the write tag is `atomic`
//
// Only tests that may fail are written: no reads in the phase, no read tag.
#include "kernel/compiler/check/look.h"

#include "backend/checks.h"
#include "kernel/compiler/check/screening.h"
#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/vectorise/widen.h"

// Looking ---------------------------------------------------------------------

// One access of the work-item at hand, or of the lanes of a chunk: of all at
// one place, of neighbours, or of lanes anywhere.
struct look {
    struct hdi_emit *e;
    struct hdi_wide *w; // NULL: values are scalars
    const struct hdi_screened *object;
    bool row;        // lanes touch neighbouring cells, the first at `at`
    LLVMValueRef at; // the cell; of lanes anywhere a vector
    // Tags: where those of this phase and this group begin, that of the
    // work-item, of several readers, of atomic accesses.
    LLVMValueRef now, group, mine, many, atomic;
};

static LLVMValueRef compare(const struct look *k, LLVMIntPredicate p,
                            LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(k->e->builder, p, a, b, "");
}

static LLVMValueRef both(const struct look *k, LLVMValueRef a, LLVMValueRef b)
{
    return a && b ? LLVMBuildAnd(k->e->builder, a, b, "") : a ? a : b;
}

// In lanes that are on; what the others hold may be poison.
static LLVMValueRef of_mask(const struct look *k, LLVMValueRef condition)
{
    return LLVMBuildSelect(k->e->builder, k->w->mask, condition,
                           LLVMConstNull(LLVMTypeOf(condition)), "");
}

// Leave unless it is true, in lanes that are on.
static void demand(const struct look *k, LLVMValueRef ok)
{
    LLVMValueRef bad = LLVMBuildNot(k->e->builder, ok, "");
    hdi_screen_trap(k->e, k->w ? hdi_wide_any(k->w, of_mask(k, bad)) : bad);
}

static LLVMValueRef cell(const struct look *k, LLVMValueRef plane)
{
    LLVMValueRef index = k->at;
    return LLVMBuildGEP2(k->e->builder, k->e->i32, plane, &index, 1, "");
}

// Lanes that are off read 0, or of a row nothing: their results are masked.
static LLVMValueRef get(const struct look *k, LLVMValueRef plane)
{
    LLVMValueRef from = cell(k, plane);
    LLVMTypeRef i32 = k->e->i32;

    if (!k->w)
        return LLVMBuildLoad2(k->e->builder, i32, from, "");
    if (k->row)
        return hdi_wide_read(k->w, i32, from, 4);
    LLVMTypeRef types[] = {hdi_wide_type(k->w, i32), LLVMTypeOf(from)};
    LLVMValueRef args[] = {from, LLVMConstInt(i32, 4, false), k->w->mask,
                           LLVMConstNull(types[0])};
    return hdi_wide_call(k->w, LLVMLookupIntrinsicID("llvm.masked.gather", 18),
                         types, 2, args, 4);
}

static void put(const struct look *k, LLVMValueRef plane, LLVMValueRef value,
                LLVMValueRef mask)
{
    LLVMValueRef to = cell(k, plane);

    if (!k->w) {
        LLVMBuildStore(k->e->builder, value, to);
    } else if (k->row) {
        hdi_wide_write(k->w, value, to, 4);
    } else {
        LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMTypeOf(to)};
        LLVMValueRef args[] = {value, to, LLVMConstInt(k->e->i32, 4, false),
                               mask};
        hdi_wide_call(k->w, LLVMLookupIntrinsicID("llvm.masked.scatter", 19),
                      types, 2, args, 4);
    }
}

// Lanes may meet in a cell.
static bool may_meet(const struct look *k)
{
    return k->w && !k->row;
}

// Nobody but this work-item has left the tag in this phase.
static LLVMValueRef is_own(const struct look *k, LLVMValueRef tag)
{
    return LLVMBuildOr(k->e->builder, compare(k, LLVMIntULT, tag, k->now),
                       compare(k, LLVMIntEQ, tag, k->mine), "");
}

// Lanes that scatter to one cell overwrite each other, and the tag left is that
// of one: those that find another's there make it `many`.
static void note_reader(const struct look *k)
{
    LLVMBuilderRef b = k->e->builder;
    LLVMValueRef tag = get(k, k->object->reads);
    LLVMValueRef next =
        LLVMBuildSelect(b, is_own(k, tag), k->mine, k->many, "");

    put(k, k->object->reads, next, k->w ? k->w->mask : NULL);
    if (!may_meet(k))
        return;
    LLVMBasicBlockRef meet = hdi_emit_block(k->e, "meet"),
                      on = hdi_emit_block(k->e, "on");
    LLVMValueRef lost =
        of_mask(k, compare(k, LLVMIntNE, get(k, k->object->reads), next));
    LLVMBuildCondBr(b, hdi_wide_any(k->w, lost), meet, on);
    hdi_build_at_end(b, meet);
    put(k, k->object->reads, k->many, lost);
    LLVMBuildBr(b, on);
    hdi_build_at_end(b, on);
}

static void look_at_read(const struct look *k, bool needs_value, bool races)
{
    if (needs_value || races) {
        LLVMValueRef tag = get(k, k->object->writes);
        demand(k,
               both(k,
                    needs_value ? compare(k, LLVMIntUGE, tag, k->group) : NULL,
                    races ? is_own(k, tag) : NULL));
    }
    if (races)
        note_reader(k);
}

// Of lanes that scatter to one cell, all but one find another's tag afterwards:
// they have raced with each other.
static void look_at_write(const struct look *k, bool needs_value,
                          bool has_readers)
{
    LLVMValueRef tag = get(k, k->object->writes);
    LLVMValueRef ok = is_own(k, tag);

    if (needs_value)
        ok = both(k, ok, compare(k, LLVMIntUGE, tag, k->group));
    if (has_readers)
        ok = both(k, ok, is_own(k, get(k, k->object->reads)));
    demand(k, ok);
    put(k, k->object->writes, k->mine, k->w ? k->w->mask : NULL);
    if (may_meet(k))
        demand(k, compare(k, LLVMIntEQ, get(k, k->object->writes), k->mine));
}

static void look_at_atomic(const struct look *k, bool needs_value,
                           bool has_readers)
{
    LLVMValueRef tag = get(k, k->object->writes);
    LLVMValueRef ok =
        LLVMBuildOr(k->e->builder, compare(k, LLVMIntULT, tag, k->now),
                    compare(k, LLVMIntEQ, tag, k->atomic), "");

    if (needs_value)
        ok = both(k, ok, compare(k, LLVMIntUGE, tag, k->group));
    if (has_readers)
        ok = both(k, ok,
                  compare(k, LLVMIntULT, get(k, k->object->reads), k->now));
    demand(k, ok);
    put(k, k->object->writes, k->atomic, k->w ? k->w->mask : NULL);
}

// One cell of an access.
static void look_at(const struct look *k, LLVMValueRef call)
{
    const struct hdi_screening *s = k->e->screening;
    size_t block =
        hdi_map_index(&k->e->flow->block_index, LLVMGetInstructionParent(call));
    uint64_t bit = UINT64_C(1) << (k->object - s->objects);
    unsigned kind = (unsigned)hdi_screen_number(call, 4);
    bool needs_value =
        k->object->local && kind & HDI_ACCESS_READ && !(kind & HDI_ACCESS_COPY);
    bool has_readers = s->read[s->phases[block]] & bit;

    if (kind & HDI_ACCESS_ATOMIC)
        look_at_atomic(k, needs_value, has_readers);
    else if (kind & HDI_ACCESS_WRITE)
        look_at_write(k, needs_value, has_readers);
    else
        look_at_read(k, needs_value, s->written[s->phases[block]] & bit);
}

static bool is_noted(const struct hdi_screening *s,
                     const struct hdi_screened *o)
{
    return s->noted >> (o - s->objects) & 1;
}

static LLVMValueRef constant(const struct hdi_emit *e, uint64_t value)
{
    return LLVMConstInt(e->i64, value, false);
}

// How many places in the object the access may begin at.
// 0 where the object is too small. An offset below the object is a large number
// without a sign, so one comparison does.
static LLVMValueRef places(struct hdi_emit *e, const struct hdi_screened *o,
                           LLVMValueRef call)
{
    LLVMBuilderRef b = e->builder;
    uint64_t size = hdi_screen_number(call, 2);
    LLVMValueRef fits =
        LLVMBuildICmp(b, LLVMIntUGE, o->size, constant(e, size), "");
    return LLVMBuildSelect(b, fits,
                           LLVMBuildSub(b, o->size, constant(e, size - 1), ""),
                           constant(e, 0), "");
}

static unsigned shift_of(const struct hdi_screened *o)
{
    return (unsigned)__builtin_ctz(o->granule);
}

static const struct hdi_screened *object_of(const struct hdi_emit *e,
                                            LLVMValueRef call)
{
    return &e->screening->objects[hdi_screen_object_of(
        e->screening, LLVMGetOperand(call, 1))];
}

// The tags of the work-item at hand, or of the first lane.
static struct look begin_look(struct hdi_emit *e, const struct hdi_screened *o)
{
    LLVMBuilderRef b = e->builder;
    struct look k = {.e = e, .object = o};

    k.now = LLVMBuildLoad2(b, e->i32, e->screening->now, "");
    k.group = LLVMBuildLoad2(b, e->i32, e->screening->group, "");
    k.mine = LLVMBuildAdd(b, k.now, LLVMBuildTrunc(b, e->item, e->i32, ""), "");
    k.many =
        LLVMBuildAdd(b, k.now, LLVMBuildTrunc(b, e->items, e->i32, ""), "");
    k.atomic = LLVMBuildAdd(b, k.many, LLVMConstInt(e->i32, 1, false), "");
    return k;
}

static LLVMValueRef offset_of(struct hdi_emit *e, const struct hdi_screened *o,
                              LLVMValueRef pointer)
{
    return LLVMBuildSub(e->builder,
                        hdi_screen_address(e->llvm, e->builder, pointer),
                        o->address, "");
}

// A row's cells are those of its first lane and on; other lanes have a vector
// of cells. Accesses are multiples of the granule (screen.h).
static void look_at_cells(struct look *k, LLVMValueRef call,
                          LLVMValueRef offset)
{
    LLVMBuilderRef b = k->e->builder;
    uint64_t cells = hdi_screen_number(call, 2) / k->object->granule;
    LLVMValueRef shift = constant(k->e, shift_of(k->object));
    bool wide = k->w && !k->row;
    LLVMValueRef first = LLVMBuildAShr(
        b, offset, wide ? hdi_wide_splat(k->w, shift) : shift, "");

    for (uint64_t c = 0; c < cells; c++) {
        LLVMValueRef more = constant(k->e, c);
        k->at = LLVMBuildAdd(b, first, wide ? hdi_wide_splat(k->w, more) : more,
                             "");
        look_at(k, call);
    }
}

static void screen_one(struct hdi_emit *e, LLVMValueRef call)
{
    const struct hdi_screened *o = object_of(e, call);
    LLVMValueRef offset =
        offset_of(e, o, hdi_emit_operand(e, LLVMGetOperand(call, 0)));

    hdi_screen_trap(e, LLVMBuildICmp(e->builder, LLVMIntUGE, offset,
                                     places(e, o, call), ""));
    if (!is_noted(e->screening, o))
        return;
    struct look k = begin_look(e, o);
    look_at_cells(&k, call, offset);
}

bool hdi_look(struct hdi_emit *e, LLVMValueRef call)
{
    if (hdi_screen_is(call, HDI_SCREEN_TOUCH))
        screen_one(e, call);
    else if (hdi_screen_is(call, HDI_SCREEN_EXPECT))
        hdi_screen_trap(
            e, LLVMBuildNot(e->builder,
                            hdi_emit_operand(e, LLVMGetOperand(call, 0)), ""));
    else
        return false;
    return true;
}

// Lanes -----------------------------------------------------------------------

// All lanes touch one place: whoever is on does it together.
// Several lanes that write one place race, whatever they write. Several that
// read leave `many`, one leaves its own tag.
static void screen_together(struct hdi_wide *w, LLVMValueRef call)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    const struct hdi_screened *o = object_of(e, call);
    unsigned kind = (unsigned)hdi_screen_number(call, 4);
    LLVMValueRef offset =
        offset_of(e, o, hdi_emit_operand(e, LLVMGetOperand(call, 0)));

    hdi_screen_trap(
        e, LLVMBuildICmp(b, LLVMIntUGE, offset, places(e, o, call), ""));
    if (!is_noted(e->screening, o))
        return;
    LLVMValueRef bits = hdi_wide_bits(w, w->mask);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef less = LLVMBuildSub(b, bits, LLVMConstInt(type, 1, false), "");
    LLVMValueRef alone = LLVMBuildICmp(
        b, LLVMIntEQ, LLVMBuildAnd(b, bits, less, ""), LLVMConstNull(type), "");
    if (kind & HDI_ACCESS_WRITE && !(kind & HDI_ACCESS_ATOMIC))
        hdi_screen_trap(e, LLVMBuildNot(b, alone, ""));
    LLVMValueRef args[] = {bits, LLVMConstInt(e->i1, 0, false)};
    LLVMValueRef lane = hdi_wide_call(w, LLVMLookupIntrinsicID("llvm.cttz", 9),
                                      &type, 1, args, 2);
    struct look k = begin_look(e, o);
    k.mine = LLVMBuildSelect(
        b, alone,
        LLVMBuildAdd(b, k.mine, LLVMBuildIntCast2(b, lane, e->i32, false, ""),
                     ""),
        k.many, "");
    look_at_cells(&k, call, offset);
}

// Where lanes that are on turn out to be neighbours, the row that they are in
// begins at the offset that is returned.
static LLVMValueRef find_row(const struct look *k, LLVMValueRef all,
                             uint64_t size, LLVMValueRef *is_row)
{
    struct hdi_emit *e = k->e;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef bits = hdi_wide_bits(k->w, k->w->mask);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef args[] = {bits, LLVMConstInt(e->i1, 0, false)};
    LLVMValueRef lane = hdi_wide_call(
        k->w, LLVMLookupIntrinsicID("llvm.cttz", 9), &type, 1, args, 2);
    lane = LLVMBuildIntCast2(b, lane, e->i64, false, "");
    LLVMValueRef first =
        LLVMBuildSub(b, LLVMBuildExtractElement(b, all, lane, ""),
                     LLVMBuildMul(b, lane, constant(e, size), ""), "");
    LLVMValueRef row =
        LLVMBuildAdd(b, hdi_wide_splat(k->w, first),
                     hdi_wide_iota(k->w, e->i64, (int64_t)size), "");
    LLVMValueRef differ = of_mask(k, compare(k, LLVMIntNE, all, row));
    *is_row = LLVMBuildNot(b, hdi_wide_any(k->w, differ), "");
    return first;
}

// Lanes anywhere, most likely neighbours.
static void look_at_either(struct look *k, LLVMValueRef call, LLVMValueRef all)
{
    struct hdi_emit *e = k->e;
    LLVMBasicBlockRef row = hdi_emit_block(e, "row"),
                      spread = hdi_emit_block(e, "spread"),
                      join = hdi_emit_block(e, "join");
    LLVMValueRef is_row;
    LLVMValueRef first = find_row(k, all, hdi_screen_number(call, 2), &is_row);

    LLVMBuildCondBr(e->builder, is_row, row, spread);
    hdi_build_at_end(e->builder, row);
    k->row = true;
    look_at_cells(k, call, first);
    LLVMBuildBr(e->builder, join);
    hdi_build_at_end(e->builder, spread);
    k->row = false;
    look_at_cells(k, call, all);
    LLVMBuildBr(e->builder, join);
    hdi_build_at_end(e->builder, join);
}

// Where all lanes are on, the first and the last bound those between; else each
// lane is compared. Of lanes that are a row, one load and store do for all
// tags.
static void screen_lanes(struct hdi_wide *w, LLVMValueRef call)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    const struct hdi_screened *o = object_of(e, call);
    LLVMValueRef pointer = LLVMGetOperand(call, 0);
    int64_t step = hdi_linear_step(w->linear, pointer).by;
    bool linear = step != HDI_STEP_VARIES;
    LLVMValueRef count = places(e, o, call), first = NULL, all;

    if (linear) {
        first = offset_of(e, o, hdi_emit_operand(e, pointer));
        all = LLVMBuildAdd(b, hdi_wide_splat(w, first),
                           hdi_wide_iota(w, e->i64, step), "");
    } else {
        LLVMValueRef pointers = hdi_wide_value(w, pointer);
        all = LLVMBuildSub(
            b, LLVMBuildPtrToInt(b, pointers, hdi_wide_type(w, e->i64), ""),
            hdi_wide_splat(w, o->address), "");
    }
    struct look k = begin_look(e, o);
    k.w = w;
    if (linear && w->certain) {
        LLVMValueRef last = LLVMBuildAdd(
            b, first, constant(e, (uint64_t)(step * (w->lanes - 1))), "");
        hdi_screen_trap(
            e, LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntUGE, first, count, ""),
                           LLVMBuildICmp(b, LLVMIntUGE, last, count, ""), ""));
    } else {
        demand(&k,
               LLVMBuildICmp(b, LLVMIntULT, all, hdi_wide_splat(w, count), ""));
    }
    if (!is_noted(e->screening, o))
        return;
    k.row = linear && step == (int64_t)hdi_screen_number(call, 2) &&
            hdi_screen_number(call, 2) == o->granule;
    k.mine = LLVMBuildAdd(b, hdi_wide_splat(w, k.mine),
                          hdi_wide_iota(w, e->i32, 1), "");
    k.now = hdi_wide_splat(w, k.now);
    k.group = hdi_wide_splat(w, k.group);
    k.many = hdi_wide_splat(w, k.many);
    k.atomic = hdi_wide_splat(w, k.atomic);
    if (!linear && hdi_screen_number(call, 2) == o->granule)
        look_at_either(&k, call, all);
    else
        look_at_cells(&k, call, k.row ? first : all);
}

bool hdi_look_wide(struct hdi_wide *w, LLVMValueRef x)
{
    if (hdi_screen_is(x, HDI_SCREEN_TOUCH)) {
        if (hdi_linear_is_uniform(w->linear, LLVMGetOperand(x, 0)))
            screen_together(w, x);
        else
            screen_lanes(w, x);
        return true;
    }
    if (!hdi_screen_is(x, HDI_SCREEN_EXPECT))
        return false;
    LLVMValueRef ok = LLVMGetOperand(x, 0);
    if (!hdi_linear_varies(w->linear, ok))
        return hdi_look(w->emit, x);
    const struct look k = {.e = w->emit, .w = w};
    demand(&k, hdi_wide_value(w, ok));
    return true;
}
