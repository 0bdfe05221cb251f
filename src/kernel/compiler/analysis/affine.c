// Steps are taken to be unknown until what a value is made of shows them, and
// to vary once that disagrees: they change a few times at most.
#include "kernel/compiler/analysis/affine.h"

#include <stdlib.h>
#include <string.h>

enum {
    // Then it ends with the steps so far, some of them not known: code may be
    // slower for it.
    MAX_ROUNDS = 16,  // a guess will do
    MAX_OPERANDS = 8, // of what makes a step
    NEAR_STEPS = 4    // accesses this many sizes apart are one vector's
};

// Either all axes but TURN are found, or that alone: so index = axis - first.
static enum hdi_step_axis first_axis(const struct hdi_value_steps *f)
{
    return f->loop ? HDI_AXIS_TURN : HDI_AXIS_X;
}

static unsigned axis_count(const struct hdi_value_steps *f)
{
    return f->loop ? 1 : HDI_AXIS_TURN;
}

static bool is_looked_at(const struct hdi_value_steps *f,
                         LLVMBasicBlockRef block)
{
    return !f->loop ||
           hdi_nest_has(f->loop, hdi_map_index(&f->flow->block_index, block));
}

static size_t slot_at(const struct hdi_value_steps *f, LLVMValueRef pointer)
{
    return f->flow ? hdi_map_index(&f->flow->slot_index, pointer) : SIZE_MAX;
}

int64_t hdi_affine_step(const struct hdi_value_steps *f, LLVMValueRef value,
                        enum hdi_step_axis axis)
{
    size_t n = LLVMIsAInstruction(value) ? hdi_map_index(&f->numbers, value)
                                         : SIZE_MAX;
    return n == SIZE_MAX ? 0
                         : f->steps[n * axis_count(f) + axis - first_axis(f)];
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
static int64_t of_id(enum hdi_call kind, LLVMValueRef call,
                     enum hdi_step_axis axis)
{
    LLVMValueRef d = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(d))
        return axis == HDI_AXIS_TURN ? 0 : HDI_STEP_VARIES;
    uint64_t asked = LLVMConstIntGetZExtValue(d);
    if (kind == HDI_CALL_GROUP_ID)
        return axis == HDI_AXIS_SINGLE && asked == 0;
    if (axis == HDI_AXIS_GROUP)
        return kind == HDI_CALL_GLOBAL_ID && asked == 0;
    return axis <= HDI_AXIS_Z && asked == (uint64_t)axis;
}

// One or the other, as with clamps: most work-items are where the id counts.
static int64_t either(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return a == 0 ? b : a;
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

static int64_t of_operands(const struct hdi_value_steps *f, LLVMValueRef x,
                           enum hdi_step_axis axis)
{
    const struct hdi_step_rules rules = {.llvm = f->llvm, .flow = f->flow};
    struct hdi_step parts[MAX_OPERANDS] = {{0}};
    unsigned count = (unsigned)LLVMGetNumOperands(x);

    if (count > MAX_OPERANDS)
        return HDI_STEP_VARIES;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(x, i);
        if (!LLVMValueIsBasicBlock(operand))
            parts[i].by = hdi_affine_step(f, operand, axis);
    }
    return hdi_step_combine(&rules, x, parts, count).by;
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

static int64_t of_call(const struct hdi_value_steps *f, LLVMValueRef call,
                       enum hdi_step_axis axis)
{
    enum hdi_call kind = hdi_call_kind(call);

    if (kind <= HDI_CALL_GROUP_ID)
        return of_id(kind, call, axis);
    if (kind != HDI_CALL_OTHER)
        return 0;
    if (axis == HDI_AXIS_X && differs_itself(f, call))
        return HDI_STEP_VARIES;
    return f->clamps && is_limit(call)
               ? either(hdi_affine_step(f, LLVMGetOperand(call, 0), axis),
                        hdi_affine_step(f, LLVMGetOperand(call, 1), axis))
               : of_operands(f, call, axis);
}

static int64_t of_phi(const struct hdi_value_steps *f, LLVMValueRef phi,
                      enum hdi_step_axis axis)
{
    unsigned count = LLVMCountIncoming(phi);
    int64_t all = HDI_STEP_UNKNOWN;

    for (unsigned i = 0; i < count; i++)
        all = hdi_step_meet(
            all, hdi_affine_step(f, LLVMGetIncomingValue(phi, i), axis));
    return all;
}

static int64_t of_select(const struct hdi_value_steps *f, LLVMValueRef select,
                         enum hdi_step_axis axis)
{
    int64_t a = hdi_affine_step(f, LLVMGetOperand(select, 1), axis);
    int64_t b = hdi_affine_step(f, LLVMGetOperand(select, 2), axis);

    if (f->clamps)
        return either(a, b);
    return hdi_affine_step(f, LLVMGetOperand(select, 0), axis) == 0
               ? hdi_step_meet(a, b)
               : of_operands(f, select, axis);
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

static int64_t of_instruction(const struct hdi_value_steps *f, LLVMValueRef x,
                              enum hdi_step_axis axis)
{
    // Of flat kernels (flow.h) only what differs along x diverges.
    if (f->flow && axis == HDI_AXIS_X && !hdi_flow_is_divergent(f->flow, x))
        return 0;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMCall:
        return of_call(f, x, axis);
    case LLVMPHI:
        return of_phi(f, x, axis);
    case LLVMSelect:
        return of_select(f, x, axis);
    case LLVMAlloca: // what work-items have for themselves
        return f->flow && axis <= HDI_AXIS_Z ? HDI_STEP_VARIES : 0;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return HDI_STEP_VARIES;
    case LLVMLoad: {
        size_t slot = slot_at(f, LLVMGetOperand(x, 0));
        return slot == SIZE_MAX
                   ? of_operands(f, x, axis)
                   : f->slots[slot * axis_count(f) + axis - first_axis(f)];
    }
    case LLVMMul:
        if ((axis == HDI_AXIS_GROUP || axis == HDI_AXIS_SINGLE) &&
            is_start(f, x))
            return axis == HDI_AXIS_SINGLE
                       ? 0
                       : hdi_affine_step(f, LLVMGetOperand(x, 0),
                                         HDI_AXIS_SINGLE);
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
static int64_t turn_of_slot(const struct hdi_value_steps *f,
                            LLVMValueRef alloca)
{
    int64_t all = HDI_STEP_UNKNOWN;
    bool grows = false, is_stored = false;

    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store) ||
            !is_looked_at(f, LLVMGetInstructionParent(store)))
            continue;
        LLVMValueRef stored = LLVMGetOperand(store, 0);
        LLVMValueRef more = added(f, stored, alloca);
        is_stored = true;
        if (grows || (more && all != HDI_STEP_UNKNOWN))
            return HDI_STEP_VARIES;
        grows = more != NULL;
        if (!more)
            all = hdi_step_meet(all, hdi_affine_step(f, stored, HDI_AXIS_TURN));
        else
            all = LLVMIsAConstantInt(more) ? LLVMConstIntGetSExtValue(more)
                                           : HDI_STEP_FAR;
    }
    return is_stored ? all : 0;
}

static int64_t step_of_slot(const struct hdi_value_steps *f,
                            LLVMValueRef alloca, enum hdi_step_axis axis)
{
    int64_t all = HDI_STEP_UNKNOWN;

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
            return 1;
        all = hdi_step_meet(all, hdi_affine_step(f, stored, axis));
    }
    return all;
}

// All -------------------------------------------------------------------------

static bool note(int64_t *step, int64_t now)
{
    bool changed = *step != now;
    *step = now;
    return changed;
}

// Slots first: loads of them are instructions. Rounds end when nothing changes.
static bool go_round(struct hdi_value_steps *f)
{
    unsigned axes = axis_count(f);
    enum hdi_step_axis first = first_axis(f);
    size_t n = 0;
    bool changed = false;

    for (size_t s = 0; f->flow && s < f->flow->slot_count; s++)
        for (unsigned a = 0; a < axes; a++)
            changed |= note(&f->slots[s * axes + a],
                            step_of_slot(f, f->flow->slots[s].alloca,
                                         (enum hdi_step_axis)(first + a)));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b);
             x && is_looked_at(f, b); x = LLVMGetNextInstruction(x), n++)
            for (unsigned a = 0; a < axes; a++)
                changed |=
                    note(&f->steps[n * axes + a],
                         of_instruction(f, x, (enum hdi_step_axis)(first + a)));
    return changed;
}

static bool find(struct hdi_value_steps *f)
{
    size_t slots = f->flow ? f->flow->slot_count : 0, count = 0;
    unsigned axes = axis_count(f);

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b);
             x && is_looked_at(f, b); x = LLVMGetNextInstruction(x))
            hdi_map_set_index(&f->numbers, x, count++);
    f->steps = calloc((count + 1) * axes, sizeof(*f->steps));
    f->slots = calloc((slots + 1) * axes, sizeof(*f->slots));
    if (!f->steps || !f->slots || f->numbers.failed)
        return false;
    for (size_t i = 0; i < count * axes; i++)
        f->steps[i] = HDI_STEP_UNKNOWN;
    for (size_t i = 0; i < slots * axes; i++)
        f->slots[i] = HDI_STEP_UNKNOWN;
    for (unsigned round = 0; round < MAX_ROUNDS && go_round(f); round++)
        continue;
    return true;
}

bool hdi_affine_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                     const struct hdi_flow *flow, bool clamps,
                     struct hdi_value_steps *f)
{
    *f = (struct hdi_value_steps){
        .llvm = llvm, .flow = flow, .kernel = kernel, .clamps = clamps};
    return find(f);
}

bool hdi_affine_find_turns(const struct hdi_llvm *llvm,
                           const struct hdi_nest *nest,
                           struct hdi_value_steps *f)
{
    *f = (struct hdi_value_steps){.llvm = llvm,
                                  .flow = nest->flow,
                                  .loop = nest,
                                  .kernel = nest->flow->kernel};
    return find(f);
}

void hdi_affine_destroy(struct hdi_value_steps *f)
{
    hdi_map_clear(&f->numbers);
    free(f->steps);
    free(f->slots);
    *f = (struct hdi_value_steps){0};
}
