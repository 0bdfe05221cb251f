#include "kernel/compiler/vectorise/carry.h"

#include <string.h>

#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/vectorise/widen.h"
#include "kernel/compiler/wide/bylane.h"

// As it lies in memory, one value after the other: a bit takes a byte, as do
// the two that LLVM needs for x & 3, while vectors of them would be packed.
static LLVMTypeRef kept_type(const struct hdi_emit *e, LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
        return type;
    return LLVMIntTypeInContext(
        e->llvm->context,
        8 * (unsigned)LLVMABISizeOfType(e->llvm->layout, type));
}

struct transfer {
    LLVMValueRef from, to; // addresses
    LLVMTypeRef type;
};

static void transfer_lane(struct hdi_wide *w, LLVMValueRef lane, void *data)
{
    const struct transfer *t = data;
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef from = LLVMBuildGEP2(b, t->type, t->from, &lane, 1, "");
    LLVMValueRef to = LLVMBuildGEP2(b, t->type, t->to, &lane, 1, "");

    LLVMBuildStore(b, LLVMBuildLoad2(b, t->type, from, ""), to);
}

static LLVMValueRef read_items(struct hdi_wide *w, size_t slot)
{
    struct hdi_emit *e = w->emit;
    const struct hdi_kept *kept = &e->kept[slot];
    LLVMTypeRef type = e->flow->slots[slot].type;
    LLVMTypeRef all = hdi_wide_type(w, type);
    LLVMValueRef at = hdi_emit_share(e, kept->offset, kept->size);

    if (hdi_has_lanes(type)) {
        LLVMTypeRef in_memory = kept_type(e, type);
        LLVMValueRef vector =
            hdi_wide_read(w, in_memory, at,
                          LLVMABIAlignmentOfType(e->llvm->layout, in_memory));
        return type == in_memory ? vector
                                 : LLVMBuildTrunc(e->builder, vector, all, "");
    }
    struct transfer t = {at, hdi_emit_alloca(e, all), type};
    hdi_each_lane(w, transfer_lane, &t);
    return LLVMBuildLoad2(e->builder, all, t.to, "");
}

static void write_items(struct hdi_wide *w, size_t slot, LLVMValueRef vector)
{
    struct hdi_emit *e = w->emit;
    const struct hdi_kept *kept = &e->kept[slot];
    LLVMTypeRef type = e->flow->slots[slot].type;
    LLVMValueRef at = hdi_emit_share(e, kept->offset, kept->size);

    if (hdi_has_lanes(type)) {
        LLVMTypeRef in_memory = kept_type(e, type);
        if (in_memory != type)
            vector = LLVMBuildZExt(e->builder, vector,
                                   hdi_wide_type(w, in_memory), "");
        hdi_wide_write(w, vector, at,
                       LLVMABIAlignmentOfType(e->llvm->layout, in_memory));
        return;
    }
    struct transfer t = {hdi_emit_alloca(e, LLVMTypeOf(vector)), at, type};
    LLVMBuildStore(e->builder, vector, t.from);
    hdi_each_lane(w, transfer_lane, &t);
}

// Of lane 0: others' values follow from it.
static LLVMValueRef read_first(struct hdi_wide *w, size_t slot)
{
    struct hdi_emit *e = w->emit;
    const struct hdi_kept *kept = &e->kept[slot];
    LLVMTypeRef type = e->flow->slots[slot].type;

    LLVMValueRef value =
        LLVMBuildLoad2(e->builder, kept_type(e, type),
                       hdi_emit_share(e, kept->offset, kept->size), "");
    return LLVMTypeOf(value) == type
               ? value
               : LLVMBuildTrunc(e->builder, value, type, "");
}

void hdi_wide_take(struct hdi_wide *w, size_t start, size_t slot)
{
    struct hdi_emit *e = w->emit;
    struct hdi_kept *kept = &e->kept[slot];
    LLVMTypeRef type = e->flow->slots[slot].type;
    bool varies = hdi_linear_slot_varies(w->linear, slot);
    LLVMTypeRef wide_type = hdi_wide_type(w, type);
    LLVMValueRef value;

    if (varies &&
        (!kept->wide || LLVMGetAllocatedType(kept->wide) != wide_type))
        kept->wide = hdi_emit_alloca(e, wide_type);
    if (!hdi_flow_is_live(e->flow, start, slot) ||
        e->flow->slots[slot].place == HDI_PLACE_NOWHERE) {
        value = LLVMGetUndef(varies ? wide_type : type);
    } else if (e->flow->slots[slot].place == HDI_PLACE_REMADE) {
        LLVMValueRef stored = e->flow->slots[slot].only_stored;
        hdi_widen_remade(w, stored);
        value =
            varies ? hdi_wide_value(w, stored) : hdi_emit_operand(e, stored);
    } else if (e->flow->slots[slot].place == HDI_PLACE_GROUP) {
        value = LLVMBuildLoad2(e->builder, type, kept->group, "");
        if (varies)
            value = hdi_wide_splat(w, value);
    } else {
        value = varies ? read_items(w, slot) : read_first(w, slot);
    }
    LLVMBuildStore(e->builder, value, varies ? kept->wide : kept->work);
}

void hdi_wide_keep(struct hdi_wide *w, size_t slot)
{
    struct hdi_emit *e = w->emit;
    const struct hdi_kept *kept = &e->kept[slot];
    LLVMTypeRef type = e->flow->slots[slot].type;
    struct hdi_step step = hdi_linear_slot(w->linear, slot);
    bool varies = step.by == HDI_STEP_VARIES;
    LLVMValueRef value =
        LLVMBuildLoad2(e->builder, varies ? hdi_wide_type(w, type) : type,
                       varies ? kept->wide : kept->work, "");

    if (e->flow->slots[slot].place == HDI_PLACE_ITEMS) {
        write_items(w, slot, varies ? value : hdi_wide_spread(w, value, step));
        return;
    }
    if (varies) { // all that are on hold the same
        LLVMValueRef memory = hdi_emit_alloca(e, LLVMTypeOf(value));
        LLVMBuildStore(e->builder, value, memory);
        LLVMValueRef bits = hdi_wide_bits(w, w->mask);
        LLVMTypeRef bits_type = LLVMTypeOf(bits);
        LLVMValueRef args[] = {bits, LLVMConstInt(e->i1, 0, false)};
        LLVMValueRef lane = hdi_wide_call(
            w, LLVMLookupIntrinsicID("llvm.cttz", strlen("llvm.cttz")),
            &bits_type, 1, args, 2);
        lane = LLVMBuildIntCast2(e->builder, lane, e->i32, false, "");
        value = hdi_has_lanes(type)
                    ? LLVMBuildExtractElement(e->builder, value, lane, "")
                    : LLVMBuildLoad2(
                          e->builder, type,
                          LLVMBuildGEP2(e->builder, type, memory, &lane, 1, ""),
                          "");
    }
    LLVMBuildStore(e->builder, value, kept->next);
}
