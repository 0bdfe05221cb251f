#include "kernel/compiler/wide/wide.h"

enum {
    MAX_LANES = 64
};

// Types and masks -------------------------------------------------------------

bool hdi_has_lanes(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMHalfTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
        return true;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) <= 64;
    default:
        return false;
    }
}

// An array where no vector can have such elements; its lanes are blended one by
// one.
LLVMTypeRef hdi_wide_type(const struct hdi_wide *w, LLVMTypeRef type)
{
    return hdi_has_lanes(type) ? LLVMVectorType(type, w->lanes)
                               : LLVMArrayType2(type, w->lanes);
}

LLVMTypeRef hdi_wide_mask_type(const struct hdi_wide *w)
{
    return LLVMVectorType(w->emit->i1, w->lanes);
}

// Bit i is lane i.
LLVMValueRef hdi_wide_bits(struct hdi_wide *w, LLVMValueRef mask)
{
    return LLVMBuildBitCast(
        w->emit->builder, mask,
        LLVMIntTypeInContext(w->emit->llvm->context, w->lanes), "");
}

bool hdi_wide_is_here(const struct hdi_wide *w, LLVMValueRef value)
{
    const struct hdi_flow *flow = w->emit->flow;
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionParent(value) ==
               flow->blocks[w->linear->order->blocks[w->at]].block;
}

LLVMValueRef hdi_wide_any(struct hdi_wide *w, LLVMValueRef mask)
{
    LLVMValueRef bits = hdi_wide_bits(w, mask);
    return LLVMBuildICmp(w->emit->builder, LLVMIntNE, bits,
                         LLVMConstNull(LLVMTypeOf(bits)), "");
}

LLVMValueRef hdi_wide_iota(const struct hdi_wide *w, LLVMTypeRef type,
                           int64_t step)
{
    LLVMValueRef lanes[MAX_LANES];
    for (unsigned i = 0; i < w->lanes; i++)
        lanes[i] = LLVMConstInt(type, (uint64_t)(i * step), true);
    return LLVMConstVector(lanes, w->lanes);
}

LLVMValueRef hdi_wide_splat(struct hdi_wide *w, LLVMValueRef scalar)
{
    LLVMBuilderRef b = w->emit->builder;

    if (!hdi_has_lanes(LLVMTypeOf(scalar))) {
        LLVMValueRef all = LLVMGetPoison(hdi_wide_type(w, LLVMTypeOf(scalar)));
        for (unsigned i = 0; i < w->lanes; i++)
            all = LLVMBuildInsertValue(b, all, scalar, i, "");
        return all;
    }
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), w->lanes);
    LLVMValueRef one =
        LLVMBuildInsertElement(b, LLVMGetPoison(type), scalar,
                               LLVMConstInt(w->emit->i32, 0, false), "");
    return LLVMBuildShuffleVector(
        b, one, LLVMGetPoison(type),
        LLVMConstNull(LLVMVectorType(w->emit->i32, w->lanes)), "");
}

LLVMValueRef hdi_wide_call(struct hdi_wide *w, unsigned id, LLVMTypeRef *types,
                           unsigned type_count, LLVMValueRef *args,
                           unsigned arg_count)
{
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(w->emit->module, id, types, type_count);
    LLVMTypeRef type =
        LLVMIntrinsicGetType(w->emit->llvm->context, id, types, type_count);
    return LLVMBuildCall2(w->emit->builder, type, function, args, arg_count,
                          "");
}

LLVMValueRef hdi_wide_blend(struct hdi_wide *w, LLVMValueRef mask,
                            LLVMValueRef next, LLVMValueRef before)
{
    LLVMBuilderRef b = w->emit->builder;

    if (LLVMGetTypeKind(LLVMTypeOf(next)) == LLVMVectorTypeKind)
        return LLVMBuildSelect(b, mask, next, before, "");
    for (unsigned i = 0; i < w->lanes; i++) {
        LLVMValueRef on = LLVMBuildExtractElement(
            b, mask, LLVMConstInt(w->emit->i32, i, false), "");
        LLVMValueRef one =
            LLVMBuildSelect(b, on, LLVMBuildExtractValue(b, next, i, ""),
                            LLVMBuildExtractValue(b, before, i, ""), "");
        before = LLVMBuildInsertValue(b, before, one, i, "");
    }
    return before;
}

// Values ----------------------------------------------------------------------

LLVMValueRef hdi_wide_spread(struct hdi_wide *w, LLVMValueRef scalar,
                             struct hdi_step step)
{
    LLVMBuilderRef b = w->emit->builder;

    if (LLVMIsUndef(scalar))
        return LLVMGetUndef(hdi_wide_type(w, LLVMTypeOf(scalar)));
    if (step.by == 0)
        return hdi_wide_splat(w, scalar);
    if (LLVMGetTypeKind(LLVMTypeOf(scalar)) == LLVMPointerTypeKind) {
        LLVMValueRef steps = hdi_wide_iota(w, w->emit->i64, step.by);
        return LLVMBuildGEP2(b, w->emit->i8, scalar, &steps, 1, "");
    }
    return LLVMBuildAdd(b, hdi_wide_splat(w, scalar),
                        hdi_wide_iota(w, LLVMTypeOf(scalar), step.by), "");
}

// Poison for what varies and has no copy.
LLVMValueRef hdi_wide_value(struct hdi_wide *w, LLVMValueRef value)
{
    struct hdi_step step = hdi_linear_step(w->linear, value);

    if (step.by != HDI_STEP_VARIES)
        return hdi_wide_spread(w, hdi_emit_operand(w->emit, value), step);
    LLVMValueRef vector = hdi_map_get(&w->vectors, value);
    return vector ? vector : LLVMGetPoison(hdi_wide_type(w, LLVMTypeOf(value)));
}

// One lane --------------------------------------------------------------------

// Volatile, or LLVM would take the lane out of the register again.
static LLVMValueRef load_stored(struct hdi_wide *w, LLVMTypeRef type,
                                LLVMValueRef memory, LLVMValueRef index)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef load = LLVMBuildLoad2(
        b, type, LLVMBuildInBoundsGEP2(b, type, memory, &index, 1, ""), "");

    LLVMSetVolatile(load, true);
    return load;
}

// The lane and the odd one behind it, which is kept until it is asked for.
static LLVMValueRef load_pair(struct hdi_wide *w, LLVMValueRef memory,
                              uint64_t even)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef pair =
        load_stored(w, e->i64, memory, LLVMConstInt(e->i32, even / 2, false));
    LLVMValueRef upper =
        LLVMBuildLShr(b, pair, LLVMConstInt(e->i64, 32, false), "");

    hdi_map_set(&w->stored->odd, memory, LLVMBuildTrunc(b, upper, e->i32, ""));
    w->stored->even = even;
    return LLVMBuildTrunc(b, pair, e->i32, "");
}

static LLVMValueRef stored_element(struct hdi_wide *w, LLVMValueRef all,
                                   LLVMValueRef lane)
{
    struct hdi_stored *s = w->stored;
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(all));
    LLVMValueRef memory = hdi_map_get(&s->memory, all);
    uint64_t number = LLVMConstIntGetZExtValue(lane);

    if (!memory) {
        memory = hdi_emit_alloca(w->emit, LLVMTypeOf(all));
        LLVMSetVolatile(LLVMBuildStore(w->emit->builder, all, memory), true);
        hdi_map_set(&s->memory, all, memory);
    }
    if (type != w->emit->i32)
        return load_stored(w, type, memory, lane);
    if (number % 2 == 0 && number + 1 < w->lanes)
        return load_pair(w, memory, number);
    LLVMValueRef odd = hdi_map_get(&s->odd, memory);
    return odd && s->even + 1 == number ? odd
                                        : load_stored(w, type, memory, lane);
}

static bool is_of_bytes(const struct hdi_wide *w, LLVMValueRef all)
{
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(all));
    return LLVMSizeOfTypeInBits(w->emit->llvm->layout, type) ==
           8 * LLVMABISizeOfType(w->emit->llvm->layout, type);
}

static LLVMValueRef element(struct hdi_wide *w, LLVMValueRef all,
                            LLVMValueRef lane)
{
    LLVMBuilderRef b = w->emit->builder;

    if (LLVMGetTypeKind(LLVMTypeOf(all)) == LLVMVectorTypeKind)
        return w->stored && is_of_bytes(w, all)
                   ? stored_element(w, all, lane)
                   : LLVMBuildExtractElement(b, all, lane, "");
    if (LLVMIsAConstantInt(lane))
        return LLVMBuildExtractValue(
            b, all, (unsigned)LLVMConstIntGetZExtValue(lane), "");
    LLVMValueRef memory = hdi_emit_alloca(w->emit, LLVMTypeOf(all));
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(all));
    LLVMBuildStore(b, all, memory);
    return LLVMBuildLoad2(
        b, type, LLVMBuildInBoundsGEP2(b, type, memory, &lane, 1, ""), "");
}

static LLVMValueRef linear_lane(struct hdi_wide *w, LLVMValueRef value,
                                int64_t step, LLVMValueRef lane)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef first = hdi_emit_operand(w->emit, value);
    LLVMTypeRef type = LLVMTypeOf(first);

    if (step == 0)
        return first;
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
        LLVMValueRef offset =
            LLVMBuildMul(b, LLVMBuildZExt(b, lane, w->emit->i64, ""),
                         LLVMConstInt(w->emit->i64, (uint64_t)step, true), "");
        return LLVMBuildGEP2(b, w->emit->i8, first, &offset, 1, "");
    }
    LLVMValueRef offset =
        LLVMBuildMul(b, LLVMBuildIntCast2(b, lane, type, false, ""),
                     LLVMConstInt(type, (uint64_t)step, true), "");
    return LLVMBuildAdd(b, first, offset, "");
}

// Vectors of addresses are wide: the small index is taken out instead.
LLVMValueRef hdi_wide_lane(struct hdi_wide *w, LLVMValueRef value,
                           LLVMValueRef lane)
{
    LLVMBuilderRef b = w->emit->builder;
    struct hdi_step step = hdi_linear_step(w->linear, value);

    if (step.by != HDI_STEP_VARIES)
        return linear_lane(w, value, step.by, lane);
    bool here = LLVMGetInstructionParent(value) ==
                w->emit->flow->blocks[w->linear->order->blocks[w->at]].block;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    if (here && (code == LLVMZExt || code == LLVMSExt))
        return LLVMBuildCast(b, code,
                             hdi_wide_lane(w, LLVMGetOperand(value, 0), lane),
                             LLVMTypeOf(value), "");
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (here && code == LLVMGetElementPtr && count <= HDI_WIDE_OPERANDS) {
        LLVMValueRef operands[HDI_WIDE_OPERANDS];
        for (unsigned i = 0; i < count; i++)
            operands[i] = hdi_wide_lane(w, LLVMGetOperand(value, i), lane);
        return LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(value), operands[0],
                             operands + 1, count - 1, "");
    }
    return element(w, hdi_wide_value(w, value), lane);
}
