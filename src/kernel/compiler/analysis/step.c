#include "kernel/compiler/analysis/step.h"

enum {
    MAX_SHIFT = 32 // [bits]
};

// Far below HDI_STEP_FAR, so that a sum of two steps is none of the special
// values.
static const int64_t most_step = INT64_C(1) << 56;

static int64_t limited(int64_t step)
{
    return step > -most_step && step < most_step ? step : HDI_STEP_VARIES;
}

static int64_t sum_of(int64_t a, int64_t b)
{
    if (a == HDI_STEP_VARIES || b == HDI_STEP_VARIES)
        return HDI_STEP_VARIES;
    if (a == HDI_STEP_FAR || b == HDI_STEP_FAR)
        return HDI_STEP_FAR;
    return limited(a + b);
}

// VARIES and FAR stay what they are, whatever the factor.
static int64_t product_of(int64_t step, int64_t factor)
{
    int64_t product;

    if (!hdi_step_is_number(step))
        return step;
    return __builtin_mul_overflow(step, factor, &product) ? HDI_STEP_VARIES
                                                          : limited(product);
}

static struct hdi_step by(int64_t step, bool is_signed, bool is_unsigned)
{
    return (struct hdi_step){step, is_signed, is_unsigned};
}

struct hdi_step hdi_step_meet(struct hdi_step a, struct hdi_step b)
{
    if (a.by == HDI_STEP_UNKNOWN || b.by == HDI_STEP_UNKNOWN)
        return a.by == HDI_STEP_UNKNOWN ? b : a;
    return a.by == b.by ? by(a.by, a.is_signed && b.is_signed,
                             a.is_unsigned && b.is_unsigned)
                        : hdi_step_varies;
}

bool hdi_step_set(struct hdi_step *step, struct hdi_step now)
{
    bool changed = step->by != now.by || step->is_signed != now.is_signed ||
                   step->is_unsigned != now.is_unsigned;

    *step = now;
    return changed;
}

static bool is_number(LLVMValueRef value)
{
    return LLVMIsAConstantInt(value) &&
           LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64;
}

// A sum without a sign keeps away from wrapping only if the first, of which
// nobody may ask, is the least.
static struct hdi_step sum(LLVMValueRef x, struct hdi_step a, struct hdi_step b)
{
    bool is_or = LLVMGetInstructionOpcode(x) == LLVMOr;
    int64_t step = sum_of(a.by, b.by);

    return by(step, a.is_signed && b.is_signed && (is_or || LLVMGetNSW(x)),
              a.is_unsigned && b.is_unsigned && step >= 0 &&
                  (is_or || LLVMGetNUW(x)));
}

// By a factor that is not known while compiling the step is FAR: the same
// everywhere. That is of use for guesses only. Without a sign it keeps away
// from wrapping only where the first is the least, as a sum does.
static struct hdi_step product(const struct hdi_step_rules *r, LLVMValueRef x,
                               const struct hdi_step *parts)
{
    bool shifts = LLVMGetInstructionOpcode(x) == LLVMShl;
    LLVMValueRef second = LLVMGetOperand(x, 1);
    bool shifts_by_steps = shifts && parts[1].by != 0;

    if (is_number(second)) {
        int64_t factor = LLVMConstIntGetSExtValue(second);
        if (shifts && (factor < 0 || factor > MAX_SHIFT))
            return hdi_step_varies;
        factor = shifts ? INT64_C(1) << factor : factor;
        return by(product_of(parts[0].by, factor),
                  parts[0].is_signed && LLVMGetNSW(x),
                  parts[0].is_unsigned && parts[0].by >= 0 && LLVMGetNUW(x) &&
                      factor >= 0);
    }
    // An operand that has a step, and one that has none.
    bool is_far = parts[0].by == 0 || parts[1].by == 0;
    return is_far && !shifts_by_steps && !r->proves
               ? by(HDI_STEP_FAR, false, false)
               : hdi_step_varies;
}

// Down, where no bits are lost that count.
static struct hdi_step shift_down(const struct hdi_step_rules *r,
                                  LLVMValueRef x, const struct hdi_step *parts)
{
    LLVMValueRef second = LLVMGetOperand(x, 1);
    uint64_t bits =
        is_number(second) ? LLVMConstIntGetZExtValue(second) : UINT64_MAX;

    if (r->proves || bits > MAX_SHIFT || !hdi_step_is_number(parts[0].by) ||
        parts[0].by % (INT64_C(1) << bits) != 0)
        return hdi_step_varies;
    return by(parts[0].by / (INT64_C(1) << bits), false, false);
}

// (ulong)(uint)get_global_id(0), or that without the sign bit where the
// compiler knows that it is clear. Ids that are used as 32 bits are taken to
// fit: see loops/chunk.h.
static struct hdi_step masked(const struct hdi_step_rules *r, LLVMValueRef x,
                              const struct hdi_step *parts)
{
    LLVMValueRef mask = LLVMGetOperand(x, 1);
    LLVMValueRef from = LLVMGetOperand(x, 0);

    if (!is_number(mask) || !hdi_is_integer(LLVMTypeOf(x), 64) ||
        (LLVMConstIntGetZExtValue(mask) != UINT32_MAX &&
         LLVMConstIntGetZExtValue(mask) != INT32_MAX) ||
        (r->proves &&
         hdi_call_kind(hdi_origin(r->flow, from)) != HDI_CALL_GLOBAL_ID))
        return hdi_step_varies;
    return by(parts[0].by, true, true);
}

// Ids fit 32 bits where they are used as such (chunk.h), so the cut loses
// nothing.
static struct hdi_step cut_off(const struct hdi_step_rules *r, LLVMValueRef x,
                               struct hdi_step a)
{
    LLVMValueRef from = LLVMGetOperand(x, 0);
    enum hdi_call kind = hdi_call_kind(hdi_origin(r->flow, from));
    bool is_id = (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID) &&
                 hdi_is_integer(LLVMTypeOf(x), 32);

    return by(a.by, is_id, is_id);
}

// Where the number wraps the extended one jumps, so a proof needs the promise;
// a guess takes it that it does not wrap.
static struct hdi_step extended(const struct hdi_step_rules *r, LLVMValueRef x,
                                struct hdi_step a)
{
    if (!r->proves)
        return a;
    if (LLVMIsASExtInst(x))
        return a.is_signed ? by(a.by, true, false) : hdi_step_varies;
    return (a.is_signed && LLVMGetNNeg(x)) || a.is_unsigned
               ? by(a.by, true, true)
               : hdi_step_varies;
}

static struct hdi_step of_address(const struct hdi_step_rules *r,
                                  LLVMValueRef gep,
                                  const struct hdi_step *parts, unsigned count)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int64_t step = parts[0].by;

    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        LLVMTypeKind kind = LLVMGetTypeKind(type);
        if (i > 1 && kind == LLVMStructTypeKind) {
            type = LLVMStructGetTypeAtIndex(
                type, (unsigned)LLVMConstIntGetZExtValue(index));
            continue;
        }
        if (LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMIntegerTypeKind ||
            (i > 1 && kind != LLVMArrayTypeKind))
            return hdi_step_varies;
        if (i > 1)
            type = LLVMGetElementType(type);
        if (r->proves && parts[i].by != 0 && !parts[i].is_signed &&
            LLVMGetIntTypeWidth(LLVMTypeOf(index)) < 64)
            return hdi_step_varies;
        int64_t size = (int64_t)LLVMABISizeOfType(r->llvm->layout, type);
        step = sum_of(step, product_of(parts[i].by, size));
    }
    return by(step, step == 0, step == 0);
}

struct hdi_step hdi_step_combine(const struct hdi_step_rules *r, LLVMValueRef x,
                                 const struct hdi_step *parts, unsigned count)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMTrunc:
        return cut_off(r, x, parts[0]);
    case LLVMSExt:
    case LLVMZExt:
        return extended(r, x, parts[0]);
    case LLVMFreeze:
        return parts[0];
    case LLVMAddrSpaceCast:
        return by(parts[0].by, false, false);
    case LLVMPtrToInt:
    case LLVMIntToPtr:
        return r->proves ? hdi_step_varies : by(parts[0].by, false, false);
    case LLVMAdd:
        return sum(x, parts[0], parts[1]);
    case LLVMOr:
        return LLVMGetIsDisjoint(x) ? sum(x, parts[0], parts[1])
                                    : hdi_step_varies;
    case LLVMSub:
        return by(sum_of(parts[0].by, product_of(parts[1].by, -1)),
                  parts[0].is_signed && parts[1].is_signed && LLVMGetNSW(x),
                  false);
    case LLVMXor: // with all ones: -1 - x
        return is_number(LLVMGetOperand(x, 1)) &&
                       LLVMConstIntGetSExtValue(LLVMGetOperand(x, 1)) == -1
                   ? by(product_of(parts[0].by, -1), parts[0].is_signed,
                        parts[0].is_unsigned)
                   : hdi_step_varies;
    case LLVMMul:
    case LLVMShl:
        return product(r, x, parts);
    case LLVMAShr:
    case LLVMLShr:
        return shift_down(r, x, parts);
    case LLVMAnd:
        return masked(r, x, parts);
    case LLVMGetElementPtr:
        return of_address(r, x, parts, count);
    default:
        return hdi_step_varies;
    }
}
