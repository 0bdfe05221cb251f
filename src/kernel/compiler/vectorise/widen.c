#include "kernel/compiler/vectorise/widen.h"

#include <string.h>

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/wide/bylane.h"
#include "kernel/compiler/wide/divide.h"
#include "kernel/compiler/wide/fold.h"

static void keep(struct hdi_wide *w, LLVMValueRef value, LLVMValueRef vector)
{
    hdi_map_set(&w->vectors, value, vector);
}

// Scalars ---------------------------------------------------------------------

// `or disjoint` may not be one for lane 0 when that is off; a sum always is.
// NULL: its plain copy is right. An extension that promises no sign would be
// poison for a lane that is off and negative: with the sign it is the number
// that the other lanes count from.
static LLVMValueRef lane_0(struct hdi_wide *w, LLVMValueRef x)
{
    struct hdi_emit *e = w->emit;
    LLVMValueRef operand = LLVMGetOperand(x, 0);

    if (LLVMIsAZExtInst(x) && LLVMGetNNeg(x) &&
        hdi_linear_step(w->linear, operand).is_signed)
        return LLVMBuildSExt(e->builder, hdi_emit_operand(e, operand),
                             LLVMTypeOf(x), "");
    if (LLVMGetInstructionOpcode(x) == LLVMOr)
        return LLVMBuildAdd(e->builder, hdi_emit_operand(e, operand),
                            hdi_emit_operand(e, LLVMGetOperand(x, 1)), "");
    return NULL;
}

static void scalar(struct hdi_wide *w, LLVMValueRef x)
{
    struct hdi_emit *e = w->emit;
    int64_t step = hdi_linear_step(w->linear, x).by;
    LLVMValueRef copy = step != 0 && !w->certain ? lane_0(w, x) : NULL;

    if (copy) {
        hdi_map_set(&e->values, x, copy);
        return;
    }
    hdi_emit_instruction(e, x);
    copy = hdi_map_get(&e->values, x);
    // Lane 0 may be off: what is promised for the others need not hold for it.
    if (step != 0 && !w->certain && LLVMIsAInstruction(copy) &&
        LLVMGetInstructionOpcode(copy) == LLVMGetInstructionOpcode(x))
        hdi_promise_nothing(copy);
}

// Vectors ---------------------------------------------------------------------

// Promises hold in lanes that are on; in others they make poison, which is
// masked before it matters.
static void copy_flags(LLVMValueRef x, LLVMValueRef copy)
{
    if (!LLVMIsAInstruction(copy))
        return; // a constant
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
        LLVMSetNSW(copy, LLVMGetNSW(x));
        LLVMSetNUW(copy, LLVMGetNUW(x));
        break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMLShr:
    case LLVMAShr:
        LLVMSetExact(copy, LLVMGetExact(x));
        break;
    case LLVMOr:
        LLVMSetIsDisjoint(copy, LLVMGetIsDisjoint(x));
        break;
    case LLVMZExt:
        LLVMSetNNeg(copy, LLVMGetNNeg(x));
        break;
    default:
        if (LLVMCanValueUseFastMathFlags(x) &&
            LLVMCanValueUseFastMathFlags(copy))
            LLVMSetFastMathFlags(copy, LLVMGetFastMathFlags(x));
    }
}

// Lanes that are off divide 1 by 1: a division by what they hold may trap.
static LLVMValueRef binary(struct hdi_wide *w, LLVMValueRef x)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    LLVMValueRef left = hdi_wide_value(w, LLVMGetOperand(x, 0));
    LLVMValueRef right = hdi_wide_value(w, LLVMGetOperand(x, 1));
    bool divides = code == LLVMUDiv || code == LLVMSDiv || code == LLVMURem ||
                   code == LLVMSRem;

    // Constants are harmless in every lane.
    if (divides && !w->certain && !LLVMIsAConstantInt(LLVMGetOperand(x, 1))) {
        LLVMTypeRef type = LLVMTypeOf(x);
        LLVMValueRef one = hdi_wide_splat(w, LLVMConstInt(type, 1, false));
        right = LLVMBuildSelect(b, w->mask, right, one, "");
        left = LLVMBuildSelect(b, w->mask, left, one, "");
    }
    return LLVMBuildBinOp(b, code, left, right, "");
}

static LLVMValueRef gep(struct hdi_wide *w, LLVMValueRef x)
{
    LLVMValueRef operands[HDI_WIDE_OPERANDS];
    unsigned count = (unsigned)LLVMGetNumOperands(x);

    if (count > HDI_WIDE_OPERANDS)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(x, i);
        operands[i] = hdi_linear_is_uniform(w->linear, operand)
                          ? hdi_emit_operand(w->emit, operand)
                          : hdi_wide_value(w, operand);
    }
    LLVMValueRef copy =
        LLVMBuildGEP2(w->emit->builder, LLVMGetGEPSourceElementType(x),
                      operands[0], operands + 1, count - 1, "");
    if (LLVMIsAInstruction(copy))
        LLVMGEPSetNoWrapFlags(copy, LLVMGEPGetNoWrapFlags(x));
    return copy;
}

static LLVMValueRef choice(struct hdi_wide *w, LLVMValueRef x)
{
    LLVMValueRef condition = LLVMGetOperand(x, 0);
    if (!hdi_has_lanes(LLVMTypeOf(condition)))
        return NULL;
    // A bit may grow from lane to lane, too.
    condition = hdi_linear_is_uniform(w->linear, condition)
                    ? hdi_emit_operand(w->emit, condition)
                    : hdi_wide_value(w, condition);
    return LLVMBuildSelect(w->emit->builder, condition,
                           hdi_wide_value(w, LLVMGetOperand(x, 1)),
                           hdi_wide_value(w, LLVMGetOperand(x, 2)), "");
}

// The last operand of some intrinsics must stay a constant scalar.
static LLVMValueRef intrinsic(struct hdi_wide *w, LLVMValueRef call)
{
    LLVMValueRef args[HDI_WIDE_OPERANDS];
    unsigned count = LLVMGetNumArgOperands(call);
    unsigned type_count = hdi_vector_intrinsic(call);
    unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(call));

    if (type_count == 0 || count > HDI_WIDE_OPERANDS)
        return NULL;
    LLVMTypeRef first = LLVMTypeOf(LLVMGetOperand(call, 0));
    bool is_class = LLVMTypeOf(call) == w->emit->i1 && first != w->emit->i1;
    LLVMTypeRef types[2] = {
        hdi_wide_type(w, is_class ? first : LLVMTypeOf(call)),
        hdi_wide_type(w, first)};
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(call, i);
        bool choice = i + 1 == count && count == 2 &&
                      LLVMIsAConstantInt(operand) &&
                      LLVMTypeOf(operand) != first;
        args[i] = choice ? operand : hdi_wide_value(w, operand);
    }
    return hdi_wide_call(w, id, types, type_count, args, count);
}

static bool operands_have_lanes(LLVMValueRef x)
{
    unsigned count = (unsigned)LLVMGetNumOperands(x);
    if (LLVMIsACallInst(x))
        count = LLVMGetNumArgOperands(x);
    for (unsigned i = 0; i < count; i++)
        if (!hdi_has_lanes(LLVMTypeOf(LLVMGetOperand(x, i))))
            return false;
    return hdi_has_lanes(LLVMTypeOf(x));
}

// NULL: there is no form for vectors.
static LLVMValueRef vector(struct hdi_wide *w, LLVMValueRef x)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMOpcode code = LLVMGetInstructionOpcode(x);

    if (!operands_have_lanes(x))
        return NULL;
    if (LLVMIsABinaryOperator(x))
        return binary(w, x);
    if (LLVMIsACastInst(x))
        return LLVMBuildCast(b, code, hdi_wide_value(w, LLVMGetOperand(x, 0)),
                             hdi_wide_type(w, LLVMTypeOf(x)), "");
    switch (code) {
    case LLVMFNeg:
        return LLVMBuildFNeg(b, hdi_wide_value(w, LLVMGetOperand(x, 0)), "");
    case LLVMFreeze:
        return LLVMBuildFreeze(b, hdi_wide_value(w, LLVMGetOperand(x, 0)), "");
    case LLVMICmp:
        return LLVMBuildICmp(b, LLVMGetICmpPredicate(x),
                             hdi_wide_value(w, LLVMGetOperand(x, 0)),
                             hdi_wide_value(w, LLVMGetOperand(x, 1)), "");
    case LLVMFCmp:
        return LLVMBuildFCmp(b, LLVMGetFCmpPredicate(x),
                             hdi_wide_value(w, LLVMGetOperand(x, 0)),
                             hdi_wide_value(w, LLVMGetOperand(x, 1)), "");
    case LLVMGetElementPtr:
        return gep(w, x);
    case LLVMSelect:
        return choice(w, x);
    case LLVMCall:
        return intrinsic(w, x);
    default:
        return NULL;
    }
}

// Slots -----------------------------------------------------------------------

// Lanes that wait elsewhere keep what the slot held: the stored value is
// blended in under the mask. Where none waits, others' values do not matter.
static void store_slot(struct hdi_wide *w, LLVMValueRef store, size_t slot)
{
    struct hdi_emit *e = w->emit;
    const struct hdi_flow *flow = e->flow;
    LLVMValueRef value = LLVMGetOperand(store, 0);
    const struct hdi_kept *kept = &e->kept[slot];

    if (!hdi_linear_slot_varies(w->linear, slot)) {
        LLVMBuildStore(e->builder, hdi_emit_operand(e, value), kept->work);
        return;
    }
    LLVMValueRef next = hdi_wide_value(w, value);
    if (hdi_bit(w->linear->waiting + w->at * flow->live_words, slot))
        next = hdi_wide_blend(
            w, w->mask, next,
            LLVMBuildLoad2(e->builder, LLVMTypeOf(next), kept->wide, ""));
    LLVMBuildStore(e->builder, next, kept->wide);
}

static void load_slot(struct hdi_wide *w, LLVMValueRef load, size_t slot)
{
    struct hdi_emit *e = w->emit;

    if (!hdi_linear_slot_varies(w->linear, slot))
        hdi_map_set(&e->values, load,
                    LLVMBuildLoad2(e->builder, LLVMTypeOf(load),
                                   e->kept[slot].work, ""));
    else
        keep(w, load,
             LLVMBuildLoad2(e->builder, hdi_wide_type(w, LLVMTypeOf(load)),
                            e->kept[slot].wide, ""));
}

// Instructions ----------------------------------------------------------------

// Says something about values only.
static bool is_hint(LLVMValueRef x)
{
    if (!LLVMIsACallInst(x) || !LLVMIsAFunction(LLVMGetCalledValue(x)))
        return false;
    unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(x));
    size_t size;
    if (id == 0)
        return false;
    const char *name = LLVMIntrinsicGetName(id, &size);
    return strcmp(name, "llvm.assume") == 0 ||
           strcmp(name, "llvm.experimental.noalias.scope.decl") == 0;
}

static bool has_effects(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) || LLVMIsAStoreInst(x) ||
           LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x) ||
           LLVMIsACallInst(x);
}

// Why an instruction with effects has no form for vectors.
static const char *why_by_lane(LLVMValueRef x)
{
    if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
        return "an atomic operation";
    if (LLVMIsALoadInst(x) || LLVMIsAStoreInst(x))
        return "an atomic or volatile access";
    return "a function without a form for vectors";
}

// From special to general; each step that takes the instruction ends it. What
// varies and has no vector form goes lane by lane, under the mask only where it
// has effects.
void hdi_widen(struct hdi_wide *w, LLVMValueRef x)
{
    bool store = LLVMIsAStoreInst(x) != NULL;

    if (LLVMIsAAllocaInst(x) || is_hint(x) ||
        hdi_call_is_barrier(hdi_call_kind(x)) ||
        (w->emit->observer && w->emit->observer->widen(w, x)))
        return;
    if (LLVMIsAFenceInst(x)) {
        hdi_emit_instruction(w->emit, x);
        return;
    }
    size_t slot = hdi_slot_of(w->emit->flow, x);
    if (slot != SIZE_MAX) {
        (store ? store_slot : load_slot)(w, x, slot);
        return;
    }
    if (store && hdi_is_plain_access(x)) {
        hdi_widen_store(w, x);
        return;
    }
    if (hdi_fold(w, x))
        return;
    bool is_void = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind;
    if (!is_void && !hdi_linear_varies(w->linear, x)) {
        scalar(w, x);
        return;
    }
    if (LLVMIsALoadInst(x) && hdi_is_plain_access(x)) {
        hdi_widen_load(w, x);
        return;
    }
    if (hdi_divide(w, x))
        return;
    LLVMValueRef copy = is_void ? NULL : vector(w, x);
    if (copy) {
        copy_flags(x, copy);
        keep(w, x, copy);
    } else if (has_effects(x)) {
        hdi_by_lane(w, x, why_by_lane(x));
    } else {
        hdi_by_lane_pure(w, x);
    }
}

void hdi_widen_remade(struct hdi_wide *w, LLVMValueRef value)
{
    const struct hdi_flow *flow = w->emit->flow;

    if (!LLVMIsAInstruction(value) || LLVMIsAAllocaInst(value) ||
        hdi_map_get(&w->vectors, value) || hdi_map_get(&w->emit->values, value))
        return;
    size_t slot = hdi_slot_of(flow, value);
    if (slot != SIZE_MAX) {
        LLVMValueRef stored = flow->slots[slot].only_stored;
        hdi_widen_remade(w, stored);
        if (hdi_linear_varies(w->linear, value))
            keep(w, value, hdi_wide_value(w, stored));
        else
            hdi_map_set(&w->emit->values, value,
                        hdi_emit_operand(w->emit, stored));
        return;
    }
    int count = LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value))
        count = (int)LLVMGetNumArgOperands(value);
    for (int i = 0; i < count; i++)
        hdi_widen_remade(w, LLVMGetOperand(value, (unsigned)i));
    // Lane 0 may not have come where the value was computed.
    bool certain = w->certain;
    w->certain = false;
    hdi_widen(w, value);
    w->certain = certain;
}
