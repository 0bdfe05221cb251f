// Steps are taken to be unknown until what a value is made of shows them, and
// to vary once that disagrees: they change a few times at most.
// Proofs go by the same rules, and leave out what only mostly holds.
#include "kernel/compiler/analysis/affine.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/analysis/operation.h"

enum {
    // Then it ends with the steps so far, some of them not known: code may be
    // slower for it.
    MAX_ROUNDS = 16,  // a guess will do
    MAX_OPERANDS = 8, // of what makes a step
    NEAR_STEPS = 4,   // accesses this many sizes apart are one vector's
    // Lanes further apart count as unlike: shifted up to be cut off, mostly.
    MAX_APART = 1 << 30
};

static struct hdi_step by(int64_t step)
{
    return (struct hdi_step){.by = step};
}

static bool is_looked_at(const struct hdi_value_steps *f,
                         LLVMBasicBlockRef block)
{
    return !f->loop ||
           hdi_nest_has(f->loop, hdi_map_index(&f->flow->block_index, block));
}

static struct hdi_step *steps_of(const struct hdi_value_steps *f, size_t n)
{
    return f->steps + n * (f->end - f->first);
}

static struct hdi_step *steps_in(const struct hdi_value_steps *f, size_t slot)
{
    return f->slots + slot * (f->end - f->first);
}

// What is not looked at, as outside of the loop at hand, is the same.
static struct hdi_step look(const struct hdi_value_steps *f, LLVMValueRef value,
                            enum hdi_step_axis axis)
{
    if (!LLVMIsAInstruction(value))
        return LLVMIsUndef(value) ? hdi_step_unknown : hdi_step_none;
    size_t n = hdi_map_index(&f->numbers, value);
    return n == SIZE_MAX ? hdi_step_none : steps_of(f, n)[axis - f->first];
}

int64_t hdi_affine_step(const struct hdi_value_steps *f, LLVMValueRef value,
                        enum hdi_step_axis axis)
{
    return look(f, value, axis).by;
}

bool hdi_affine_is_gathered(const struct hdi_value_steps *f,
                            LLVMValueRef pointer, LLVMTypeRef type)
{
    int64_t step = hdi_affine_step(f, pointer, HDI_AXIS_X);
    int64_t size = (int64_t)LLVMABISizeOfType(f->llvm->layout, type);
    return step < 0 || step > NEAR_STEPS * size;
}

// Calls -----------------------------------------------------------------------

// `value`, or what it is the lower half of, is a call of this kind in x.
static bool is_call(const struct hdi_value_steps *f, LLVMValueRef value,
                    enum hdi_call kind)
{
    for (;;) {
        LLVMValueRef from = hdi_origin(f->flow, value);
        if (LLVMIsATruncInst(from) || LLVMIsASExtInst(from) ||
            LLVMIsAZExtInst(from))
            from = LLVMGetOperand(from, 0);
        if (from == value)
            break;
        value = from;
    }
    if (hdi_call_kind(value) != kind)
        return false;
    LLVMValueRef d = LLVMGetOperand(value, 0);
    return LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) == 0;
}

// GROUP counts in sizes of a group, of which a global id grows by one; SINGLE
// counts in ones, of which the number of a group does.
static struct hdi_step of_id(enum hdi_call kind, LLVMValueRef d,
                             enum hdi_step_axis axis)
{
    uint64_t asked = LLVMConstIntGetZExtValue(d);
    bool grows = axis <= HDI_AXIS_Z && asked == (uint64_t)axis;

    if (kind == HDI_CALL_GROUP_ID)
        grows = axis == HDI_AXIS_SINGLE && asked == 0;
    else if (axis == HDI_AXIS_GROUP)
        grows = kind == HDI_CALL_GLOBAL_ID && asked == 0;
    return (struct hdi_step){grows, true, true};
}

// One or the other, as with clamps: most work-items are where the id counts.
static struct hdi_step either(struct hdi_step a, struct hdi_step b)
{
    if (a.by == 0 || b.by == 0)
        return a.by == 0 ? b : a;
    return hdi_step_meet(a, b);
}

static bool is_limit(LLVMValueRef call)
{
    static const char *const names[] = {"llvm.smin", "llvm.smax", "llvm.umin",
                                        "llvm.umax"};
    LLVMValueRef callee = LLVMGetCalledValue(call);
    unsigned id = LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
    size_t size;
    const char *name = id ? LLVMIntrinsicGetName(id, &size) : "";

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

// Instructions ----------------------------------------------------------------

static struct hdi_step of_operands(const struct hdi_value_steps *f,
                                   LLVMValueRef x, enum hdi_step_axis axis)
{
    const struct hdi_step_rules rules = {
        .llvm = f->llvm, .flow = f->flow, .proves = f->proves};
    struct hdi_step parts[MAX_OPERANDS];
    unsigned count = LLVMIsACallInst(x) ? LLVMGetNumArgOperands(x)
                                        : (unsigned)LLVMGetNumOperands(x);
    bool known = true, grows = false;

    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(x, i);
        struct hdi_step part =
            LLVMIsUndef(operand) ? by(0) : look(f, operand, axis);
        if (part.by == HDI_STEP_VARIES)
            return hdi_step_varies;
        known &= part.by != HDI_STEP_UNKNOWN;
        grows |= part.by != 0;
        if (i < MAX_OPERANDS)
            parts[i] = part;
    }
    if (!known || !grows)
        return known ? hdi_step_none : hdi_step_unknown;
    if (count > MAX_OPERANDS)
        return hdi_step_varies;
    struct hdi_step all = hdi_step_combine(&rules, x, parts, count);
    return f->proves && (all.by <= -MAX_APART || all.by >= MAX_APART)
               ? hdi_step_varies
               : all;
}

// Does what work-items get from it differ, though what they give does not?
// As with an atomic function: the same operands, other results.
static bool differs_itself(const struct hdi_value_steps *f, LLVMValueRef call)
{
    unsigned count = LLVMGetNumArgOperands(call);

    if (!f->flow)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (hdi_flow_is_divergent(f->flow, LLVMGetOperand(call, i)))
            return false;
    return true;
}

static struct hdi_step of_call(const struct hdi_value_steps *f,
                               LLVMValueRef call, enum hdi_step_axis axis)
{
    enum hdi_call kind = hdi_call_kind(call);

    if (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID ||
        (kind == HDI_CALL_GROUP_ID && axis > HDI_AXIS_Z)) {
        LLVMValueRef d = LLVMGetOperand(call, 0);
        if (LLVMIsAConstantInt(d))
            return of_id(kind, d, axis);
        return axis == HDI_AXIS_TURN ? of_operands(f, call, axis)
                                     : hdi_step_varies;
    }
    if (kind == HDI_CALL_OTHER &&
        (f->proves ? hdi_vector_intrinsic(call) == 0
                   : axis == HDI_AXIS_X && differs_itself(f, call)))
        return hdi_step_varies;
    return f->clamps && is_limit(call)
               ? either(look(f, LLVMGetOperand(call, 0), axis),
                        look(f, LLVMGetOperand(call, 1), axis))
               : of_operands(f, call, axis);
}

static struct hdi_step of_phi(const struct hdi_value_steps *f, LLVMValueRef phi,
                              enum hdi_step_axis axis)
{
    unsigned count = LLVMCountIncoming(phi);
    struct hdi_step all = hdi_step_unknown;

    for (unsigned i = 0; i < count; i++)
        all = hdi_step_meet(all, look(f, LLVMGetIncomingValue(phi, i), axis));
    return all;
}

static struct hdi_step of_select(const struct hdi_value_steps *f,
                                 LLVMValueRef select, enum hdi_step_axis axis)
{
    struct hdi_step a = look(f, LLVMGetOperand(select, 1), axis);
    struct hdi_step b = look(f, LLVMGetOperand(select, 2), axis);

    if (f->clamps)
        return either(a, b);
    return look(f, LLVMGetOperand(select, 0), axis).by == 0
               ? hdi_step_meet(a, b)
               : of_operands(f, select, axis);
}

// What work-items have for themselves: of a private array one for each lies
// behind that of the last one. The address of a slot is nobody's.
static struct hdi_step of_alloca(const struct hdi_value_steps *f,
                                 LLVMValueRef alloca, enum hdi_step_axis axis)
{
    if (!f->proves)
        return f->flow && axis <= HDI_AXIS_Z ? hdi_step_varies : hdi_step_none;
    for (size_t a = 0; a < f->flow->array_count; a++)
        if (f->flow->arrays[a] == alloca)
            return by((int64_t)f->flow->array_sizes[a]);
    return hdi_step_none;
}

// Two loads of one address may differ where others may store between them.
static struct hdi_step of_load(const struct hdi_value_steps *f,
                               LLVMValueRef load, enum hdi_step_axis axis)
{
    size_t slot = f->flow ? hdi_slot_of(f->flow, load) : SIZE_MAX;

    if (slot != SIZE_MAX)
        return steps_in(f, slot)[axis - f->first];
    return f->proves && !hdi_is_plain_access(load) ? hdi_step_varies
                                                   : of_operands(f, load, axis);
}

// The number of work-items in a group, times the group.
static bool is_start(const struct hdi_value_steps *f, LLVMValueRef product)
{
    LLVMValueRef size = LLVMGetOperand(product, 1);

    return LLVMGetInstructionOpcode(product) == LLVMMul &&
           (is_call(f, size, HDI_CALL_LOCAL_SIZE) ||
            is_call(f, size, HDI_CALL_ENQUEUED_LOCAL_SIZE)) &&
           hdi_affine_step(f, LLVMGetOperand(product, 0), HDI_AXIS_GROUP) == 0;
}

static struct hdi_step of_instruction(const struct hdi_value_steps *f,
                                      LLVMValueRef x, enum hdi_step_axis axis)
{
    // Of flat kernels (flow.h) only what differs along x diverges.
    if (f->flow && !f->proves && axis == HDI_AXIS_X &&
        !hdi_flow_is_divergent(f->flow, x))
        return hdi_step_none;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMCall:
        return of_call(f, x, axis);
    case LLVMPHI:
        return of_phi(f, x, axis);
    case LLVMSelect:
        return of_select(f, x, axis);
    case LLVMAlloca:
        return of_alloca(f, x, axis);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return hdi_step_varies;
    case LLVMLoad:
        return of_load(f, x, axis);
    case LLVMMul:
        if ((axis == HDI_AXIS_GROUP || axis == HDI_AXIS_SINGLE) &&
            is_start(f, x))
            return axis == HDI_AXIS_SINGLE
                       ? hdi_step_none
                       : look(f, LLVMGetOperand(x, 0), HDI_AXIS_SINGLE);
        return of_operands(f, x, axis);
    default:
        return of_operands(f, x, axis);
    }
}

// Slots -----------------------------------------------------------------------

// What is added to a slot where this is stored to it; NULL: something else is
// stored.
static LLVMValueRef added(const struct hdi_value_steps *f, LLVMValueRef stored,
                          LLVMValueRef alloca)
{
    LLVMValueRef sum = hdi_origin(f->flow, stored);

    if (!LLVMIsAInstruction(sum) || LLVMGetInstructionOpcode(sum) != LLVMAdd)
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef before = hdi_origin(f->flow, LLVMGetOperand(sum, i));
        if (LLVMIsALoadInst(before) && LLVMGetOperand(before, 0) == alloca)
            return LLVMGetOperand(sum, 1 - i);
    }
    return NULL;
}

// By how much it grows from turn to turn, when it does so in one place.
static struct hdi_step turn_of_slot(const struct hdi_value_steps *f,
                                    LLVMValueRef alloca)
{
    struct hdi_step all = hdi_step_unknown;
    bool grows = false, is_stored = false;

    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store) ||
            !is_looked_at(f, LLVMGetInstructionParent(store)))
            continue;
        LLVMValueRef stored = LLVMGetOperand(store, 0);
        LLVMValueRef more = added(f, stored, alloca);
        is_stored = true;
        if (grows || (more && all.by != HDI_STEP_UNKNOWN))
            return hdi_step_varies;
        grows = more != NULL;
        if (!more)
            all = hdi_step_meet(all, look(f, stored, HDI_AXIS_TURN));
        else
            all = by(LLVMIsAConstantInt(more) ? LLVMConstIntGetSExtValue(more)
                                              : HDI_STEP_FAR);
    }
    return is_stored ? all : hdi_step_none;
}

static struct hdi_step step_of_slot(const struct hdi_value_steps *f,
                                    LLVMValueRef alloca,
                                    enum hdi_step_axis axis)
{
    struct hdi_step all = hdi_step_unknown;

    if (axis == HDI_AXIS_TURN)
        return turn_of_slot(f, alloca);
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store))
            continue;
        LLVMValueRef stored = LLVMGetOperand(store, 0);
        LLVMValueRef more =
            axis == HDI_AXIS_SWEEP ? added(f, stored, alloca) : NULL;
        if (more && is_call(f, more, HDI_CALL_GLOBAL_SIZE))
            return by(1);
        all = hdi_step_meet(all, look(f, stored, axis));
    }
    return all;
}

// All -------------------------------------------------------------------------

static bool begin(struct hdi_value_steps *f)
{
    size_t count = f->flow ? f->flow->slot_count * (f->end - f->first) : 0;

    f->slots = calloc(count + 1, sizeof(*f->slots));
    for (size_t i = 0; f->slots && i < count; i++)
        f->slots[i] = hdi_step_unknown;
    return f->slots;
}

static bool grow(struct hdi_value_steps *f)
{
    size_t room = f->room ? 2 * f->room : 64;
    void *more =
        realloc(f->steps, room * (f->end - f->first) * sizeof(*f->steps));

    if (more) {
        f->steps = more;
        f->room = room;
    }
    return more;
}

struct hdi_step *hdi_affine_add(struct hdi_value_steps *f, LLVMValueRef x)
{
    size_t n = hdi_map_index(&f->numbers, x);

    if (n != SIZE_MAX)
        return steps_of(f, n);
    if (f->count == f->room && !grow(f)) {
        f->numbers.failed = true;
        return NULL;
    }
    for (unsigned a = 0; a < f->end - f->first; a++)
        steps_of(f, f->count)[a] = hdi_step_unknown;
    hdi_map_set_index(&f->numbers, x, f->count);
    return steps_of(f, f->count++);
}

// Slots first: loads of them are instructions. Rounds end when nothing changes.
static bool go_round(struct hdi_value_steps *f)
{
    size_t n = 0;
    bool changed = false;

    for (size_t s = 0; f->flow && s < f->flow->slot_count; s++)
        for (enum hdi_step_axis a = f->first; a < f->end; a++)
            changed |=
                hdi_step_set(&steps_in(f, s)[a - f->first],
                             step_of_slot(f, f->flow->slots[s].alloca, a));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b);
             x && is_looked_at(f, b); x = LLVMGetNextInstruction(x), n++)
            for (enum hdi_step_axis a = f->first; a < f->end; a++)
                changed |= hdi_step_set(&steps_of(f, n)[a - f->first],
                                        of_instruction(f, x, a));
    return changed;
}

static bool find(struct hdi_value_steps *f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b);
             x && is_looked_at(f, b); x = LLVMGetNextInstruction(x))
            hdi_affine_add(f, x);
    if (!begin(f) || f->numbers.failed)
        return false;
    for (unsigned round = 0; round < MAX_ROUNDS && go_round(f); round++)
        continue;
    return true;
}

bool hdi_affine_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                     const struct hdi_flow *flow, bool clamps,
                     struct hdi_value_steps *f)
{
    *f = (struct hdi_value_steps){.llvm = llvm,
                                  .flow = flow,
                                  .kernel = kernel,
                                  .clamps = clamps,
                                  .end = HDI_AXIS_TURN};
    return find(f);
}

bool hdi_affine_find_turns(const struct hdi_llvm *llvm,
                           const struct hdi_nest *nest,
                           struct hdi_value_steps *f)
{
    *f = (struct hdi_value_steps){.llvm = llvm,
                                  .flow = nest->flow,
                                  .loop = nest,
                                  .kernel = nest->flow->kernel,
                                  .first = HDI_AXIS_TURN,
                                  .end = HDI_AXES};
    return find(f);
}

bool hdi_affine_prove(const struct hdi_flow *flow, struct hdi_value_steps *f)
{
    *f = (struct hdi_value_steps){.llvm = flow->llvm,
                                  .flow = flow,
                                  .kernel = flow->kernel,
                                  .proves = true,
                                  .end = HDI_AXIS_Y};
    return begin(f);
}

bool hdi_affine_refine(struct hdi_value_steps *f, LLVMValueRef x)
{
    size_t n = hdi_map_index(&f->numbers, x);

    return n != SIZE_MAX &&
           hdi_step_set(
               &f->steps[n],
               hdi_step_meet(f->steps[n], of_instruction(f, x, HDI_AXIS_X)));
}

struct hdi_step hdi_affine_proof(const struct hdi_value_steps *f,
                                 LLVMValueRef value)
{
    return look(f, value, HDI_AXIS_X);
}

void hdi_affine_destroy(struct hdi_value_steps *f)
{
    hdi_map_clear(&f->numbers);
    free(f->steps);
    free(f->slots);
    *f = (struct hdi_value_steps){0};
}
