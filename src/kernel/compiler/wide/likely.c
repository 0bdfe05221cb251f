// What an address is made of is followed within its block, where all of it has
// been written before, or as far as it follows from ids and arguments, of which
// it can be made again.
#include "kernel/compiler/wide/likely.h"

enum {
    MAX_DEPTH = 8,
    // Of steps, scales and factors, so that no sum or product of some
    // overflows.
    MAX_FACTOR = 1 << 20,
    MAX_STEP = 1 << 30
};

// Where the parts of a value are: it is made again, `remade`, or they are at
// hand.
struct part {
    LLVMValueRef value;
    bool remade;
};

static struct part operand_of(struct part part, unsigned i)
{
    return (struct part){LLVMGetOperand(part.value, i), part.remade};
}

// What is loaded from a slot is made again where it can be.
static struct part origin_of(const struct hdi_wide *w, struct part part)
{
    LLVMValueRef origin = hdi_origin(w->emit->flow, part.value);

    if (origin == part.value || !hdi_emit_is_remakable(w->emit->flow, origin))
        return part;
    return (struct part){origin, true};
}

// What is made again may be made from what another region has, of which no step
// is known.
static int64_t step_of(const struct hdi_wide *w, struct part part)
{
    bool is_known =
        !part.remade || !LLVMIsAInstruction(part.value) ||
        hdi_map_index(&w->linear->steps.numbers, part.value) != SIZE_MAX;
    return is_known ? hdi_linear_step(w->linear, part.value).by
                    : HDI_STEP_VARIES;
}

static bool is_signed_step(const struct hdi_wide *w, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) &&
           hdi_map_index(&w->linear->steps.numbers, value) != SIZE_MAX &&
           hdi_linear_step(w->linear, value).is_signed;
}

// Extended --------------------------------------------------------------------

// Is it a multiple of 2^`bits`?
static bool is_multiple(LLVMValueRef value, unsigned bits)
{
    LLVMValueRef by =
        LLVMIsABinaryOperator(value) ? LLVMGetOperand(value, 1) : NULL;

    if (bits == 0)
        return true;
    if (!by || !LLVMIsAConstantInt(by))
        return false;
    uint64_t number = LLVMConstIntGetZExtValue(by);
    return LLVMGetInstructionOpcode(value) == LLVMShl
               ? number >= bits
               : LLVMGetInstructionOpcode(value) == LLVMMul &&
                     number % (UINT64_C(1) << bits) == 0;
}

// Nothing but high bits goes: (ulong)(uint)x as LLVM writes it, or that where
// it knows that a bit is clear.
static bool is_masked(LLVMValueRef value)
{
    if (LLVMGetInstructionOpcode(value) != LLVMAnd ||
        !hdi_is_integer(LLVMTypeOf(value), 64) ||
        !LLVMIsAConstantInt(LLVMGetOperand(value, 1)))
        return false;
    uint64_t mask = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
    unsigned low = mask ? (unsigned)__builtin_ctzll(mask) : 64;

    return mask == INT32_MAX || (low < 32 && mask >> low == UINT32_MAX >> low &&
                                 is_multiple(LLVMGetOperand(value, 0), low));
}

// A number of 32 bits is made one of 64.
static bool is_extended(const struct hdi_wide *w, LLVMValueRef value)
{
    if (LLVMIsASExtInst(value) || LLVMIsAZExtInst(value))
        return LLVMTypeOf(LLVMGetOperand(value, 0)) == w->emit->i32;
    return is_masked(value);
}

// Where does it jump: behind the greatest number with a sign, or without?
static bool is_signed(LLVMValueRef extension)
{
    if (LLVMIsASExtInst(extension))
        return true;
    return LLVMIsAZExtInst(extension)
               ? LLVMGetNNeg(extension)
               : LLVMConstIntGetZExtValue(LLVMGetOperand(extension, 1)) ==
                     INT32_MAX;
}

// Finding ---------------------------------------------------------------------

static const struct hdi_likely varies = {.step = HDI_STEP_VARIES};

static bool is_small(int64_t number, int64_t most)
{
    return number > -most && number < most;
}

static struct hdi_likely sum(struct hdi_likely a, struct hdi_likely b)
{
    if (a.step == HDI_STEP_VARIES || b.step == HDI_STEP_VARIES ||
        (a.index && b.index) || !is_small(a.step + b.step, MAX_STEP))
        return varies;
    struct hdi_likely all = a.index ? a : b;
    all.step = a.step + b.step;
    return all;
}

static struct hdi_likely product(struct hdi_likely a, int64_t factor)
{
    if (a.step == HDI_STEP_VARIES || factor <= 0 || factor > MAX_FACTOR ||
        a.scale > MAX_STEP / factor || !is_small(a.step * factor, MAX_STEP))
        return varies;
    a.step *= factor;
    a.scale *= factor;
    return a;
}

// By a constant, or 0.
static int64_t factor_of(LLVMValueRef x)
{
    LLVMValueRef by = LLVMGetOperand(x, 1);
    int64_t number = LLVMIsAConstantInt(by) ? LLVMConstIntGetSExtValue(by) : 0;

    if (LLVMGetInstructionOpcode(x) == LLVMShl)
        return number >= 0 && number < 20 ? INT64_C(1) << number : 0;
    return number;
}

static struct hdi_likely extended(const struct hdi_wide *w, struct part part)
{
    int64_t by = is_extended(w, part.value) ? step_of(w, operand_of(part, 0))
                                            : HDI_STEP_VARIES;

    if (by <= 0 || by >= MAX_STEP || by * (int64_t)w->lanes >= MAX_STEP)
        return varies;
    return (struct hdi_likely){.step = by,
                               .index = part.value,
                               .index_step = by,
                               .scale = 1,
                               .remade = part.remade};
}

static struct hdi_likely find(const struct hdi_wide *w, struct part part,
                              unsigned depth)
{
    int64_t step = step_of(w, part);

    if (step != HDI_STEP_VARIES)
        return is_small(step, MAX_STEP) ? (struct hdi_likely){.step = step}
                                        : varies;
    part = origin_of(w, part);
    if (depth == MAX_DEPTH || !LLVMIsAInstruction(part.value) ||
        (!part.remade && !hdi_wide_is_here(w, part.value)))
        return varies;
    bool is_long = hdi_is_integer(LLVMTypeOf(part.value), 64);
    switch (LLVMGetInstructionOpcode(part.value)) {
    case LLVMSExt:
    case LLVMZExt:
    case LLVMAnd:
        return extended(w, part);
    case LLVMAdd:
        return is_long ? sum(find(w, operand_of(part, 0), depth + 1),
                             find(w, operand_of(part, 1), depth + 1))
                       : varies;
    case LLVMMul:
    case LLVMShl:
        return is_long ? product(find(w, operand_of(part, 0), depth + 1),
                                 factor_of(part.value))
                       : varies;
    case LLVMGetElementPtr:
        if (LLVMGetNumOperands(part.value) != 2 ||
            !hdi_is_integer(LLVMTypeOf(LLVMGetOperand(part.value, 1)), 64))
            return varies;
        return sum(find(w, operand_of(part, 0), depth + 1),
                   product(find(w, operand_of(part, 1), depth + 1),
                           (int64_t)LLVMABISizeOfType(
                               w->emit->llvm->layout,
                               LLVMGetGEPSourceElementType(part.value))));
    default:
        return varies;
    }
}

struct hdi_likely hdi_likely_step(const struct hdi_wide *w,
                                  LLVMValueRef pointer)
{
    struct hdi_likely likely = find(w, (struct part){pointer, false}, 0);

    // A step of what it was made of: it is not at hand for lane 0.
    if (!likely.index && hdi_linear_varies(w->linear, pointer))
        return varies;
    return likely;
}

// Writing ---------------------------------------------------------------------

// Made again without promises, as lane 0 may be off: what is promised for the
// others need not hold for it.
static LLVMValueRef remake(struct hdi_wide *w, LLVMValueRef value)
{
    struct hdi_emit *e = w->emit;
    LLVMValueRef origin = hdi_origin(e->flow, value);
    bool is_computed = LLVMIsABinaryOperator(origin) ||
                       LLVMIsACastInst(origin) ||
                       LLVMIsAGetElementPtrInst(origin) ||
                       LLVMIsAICmpInst(origin) || LLVMIsASelectInst(origin);

    if (!is_computed ||
        (LLVMIsATruncInst(origin) &&
         hdi_call_kind(LLVMGetOperand(origin, 0)) != HDI_CALL_OTHER))
        return hdi_emit_remade(e, value);
    LLVMValueRef first = remake(w, LLVMGetOperand(origin, 0));
    if (LLVMIsAZExtInst(origin) && LLVMGetNNeg(origin) &&
        is_signed_step(w, LLVMGetOperand(origin, 0)))
        return LLVMBuildSExt(e->builder, first, LLVMTypeOf(origin), "");
    if (LLVMGetInstructionOpcode(origin) == LLVMOr && LLVMGetIsDisjoint(origin))
        return LLVMBuildAdd(e->builder, first,
                            remake(w, LLVMGetOperand(origin, 1)), "");
    LLVMValueRef copy = LLVMInstructionClone(origin);
    LLVMSetOperand(copy, 0, first);
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(origin); i++)
        LLVMSetOperand(copy, i, remake(w, LLVMGetOperand(origin, i)));
    hdi_promise_nothing(copy);
    LLVMInsertIntoBuilder(e->builder, copy);
    return copy;
}

// What has a step, of lane 0 or of all lanes.
static LLVMValueRef write_step(struct hdi_wide *w, struct part part, bool all)
{
    if (!part.remade)
        return all ? hdi_wide_value(w, part.value)
                   : hdi_emit_operand(w->emit, part.value);
    LLVMValueRef first = remake(w, part.value);
    return all ? hdi_wide_spread(w, first,
                                 hdi_linear_step(w->linear, part.value))
               : first;
}

// What follows from `index`, that takes the place of the address's.
static LLVMValueRef write(struct hdi_wide *w, const struct hdi_likely *likely,
                          struct part part, LLVMValueRef index, bool all)
{
    LLVMBuilderRef b = w->emit->builder;

    if (step_of(w, part) != HDI_STEP_VARIES)
        return write_step(w, part, all);
    part = origin_of(w, part);
    if (part.value == likely->index)
        return index;
    LLVMValueRef first = write(w, likely, operand_of(part, 0), index, all);
    LLVMValueRef second = write(w, likely, operand_of(part, 1), index, all);
    if (LLVMIsAGetElementPtrInst(part.value))
        return LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(part.value), first,
                             &second, 1, "");
    return LLVMBuildBinOp(b, LLVMGetInstructionOpcode(part.value), first,
                          second, "");
}

// The low 32 bits of what is extended: a number, or a vector as `value` is.
static LLVMValueRef index_of(struct hdi_wide *w, LLVMValueRef extension,
                             LLVMValueRef value, bool all)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMTypeRef type = w->emit->i32;
    LLVMValueRef index = LLVMBuildTruncOrBitCast(
        b, value, all ? hdi_wide_type(w, type) : type, "");
    LLVMValueRef most = LLVMConstInt(type, INT32_MAX, false);

    return is_masked(extension) && is_signed(extension)
               ? LLVMBuildAnd(b, index, all ? hdi_wide_splat(w, most) : most,
                              "")
               : index;
}

static struct part extended_by(const struct hdi_likely *likely)
{
    return (struct part){LLVMGetOperand(likely->index, 0), likely->remade};
}

// With the sign where it has one, also if a promise says that it is positive:
// it need not be in a lane that is off, from which others are counted.
static LLVMValueRef extend(struct hdi_wide *w, LLVMValueRef extension,
                           LLVMValueRef index, bool all)
{
    LLVMTypeRef type = all ? hdi_wide_type(w, w->emit->i64) : w->emit->i64;
    return is_signed(extension)
               ? LLVMBuildSExt(w->emit->builder, index, type, "")
               : LLVMBuildZExt(w->emit->builder, index, type, "");
}

// The index is frozen: it decides a branch, also when lane 0 is off and has
// none. The least number that may not wrap does not do so in the last lane if
// it is at most the greatest number less all that is added to it.
LLVMValueRef hdi_likely_address(struct hdi_wide *w, LLVMValueRef pointer,
                                const struct hdi_likely *likely, uint64_t down,
                                uint64_t up, LLVMValueRef *holds)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;

    *holds = NULL;
    if (!likely->index)
        return hdi_emit_operand(e, pointer);
    uint64_t added = (uint64_t)likely->index_step * (w->lanes - 1) + down + up;
    LLVMValueRef index = index_of(
        w, likely->index,
        LLVMBuildFreeze(b, write_step(w, extended_by(likely), false), ""),
        false);
    LLVMValueRef least =
        LLVMBuildSub(b, index, LLVMConstInt(e->i32, down, false), "");
    LLVMValueRef most = LLVMConstInt(
        e->i32, (is_signed(likely->index) ? INT32_MAX : UINT32_MAX) - added,
        false);

    *holds = LLVMBuildICmp(
        b, is_signed(likely->index) ? LLVMIntSLE : LLVMIntULE, least, most, "");
    return write(w, likely, (struct part){pointer, false},
                 extend(w, likely->index, index, false), false);
}

LLVMValueRef hdi_likely_lanes(struct hdi_wide *w, LLVMValueRef pointer,
                              const struct hdi_likely *likely, int64_t more)
{
    struct hdi_emit *e = w->emit;
    LLVMValueRef index = index_of(
        w, likely->index, write_step(w, extended_by(likely), true), true);
    LLVMValueRef added = hdi_wide_splat(
        w, LLVMConstInt(e->i32, (uint64_t)more & UINT32_MAX, false));

    return write(w, likely, (struct part){pointer, false},
                 extend(w, likely->index,
                        LLVMBuildAdd(e->builder, index, added, ""), true),
                 true);
}
