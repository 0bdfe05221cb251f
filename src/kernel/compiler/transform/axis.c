#include "kernel/compiler/transform/axis.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/frame.h"
#include "base/error.h"
#include "kernel/compiler/analysis/affine.h"
#include "kernel/compiler/ir/map.h"

enum {
    AXES = 3,
    MAX_BLOCKS = 300, // longer kernels are not looked at
    // Costs of an access by a chunk of lanes, about its instructions, beside
    // those that the processor has.
    COST_TOGETHER = 1,
    NEAR = 4,     // elements from one lane to the next
    IN_LOOP = 16, // times that a loop goes round
    GAIN = 2      // less is not worth more code
};

// Which kernels may be turned -------------------------------------------------

static bool is_answered_by_axis(enum hdi_call kind)
{
    switch (kind) {
    case HDI_CALL_GLOBAL_ID:
    case HDI_CALL_LOCAL_ID:
    case HDI_CALL_GROUP_ID:
    case HDI_CALL_LOCAL_SIZE:
    case HDI_CALL_ENQUEUED_LOCAL_SIZE:
    case HDI_CALL_GLOBAL_SIZE:
    case HDI_CALL_NUM_GROUPS:
    case HDI_CALL_GLOBAL_OFFSET:
        return true;
    default:
        return false;
    }
}

// Work-items may meet in their order, or be seen in it, where a call is left.
static bool may_turn(LLVMValueRef x)
{
    enum hdi_call kind = hdi_call_kind(x);

    if (is_answered_by_axis(kind))
        return LLVMIsAConstantInt(LLVMGetOperand(x, 0)) != NULL;
    if (kind != HDI_CALL_OTHER)
        return kind == HDI_CALL_BARRIER || kind == HDI_CALL_WORK_DIM;
    return !LLVMIsACallInst(x) ||
           (LLVMIsAFunction(LLVMGetCalledValue(x)) &&
            LLVMGetIntrinsicID(LLVMGetCalledValue(x)) != 0);
}

static bool is_id(LLVMValueRef x)
{
    enum hdi_call kind = hdi_call_kind(x);
    return kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID;
}

// Along which axes are there ids? False: the kernel stays as it is.
static bool find_ids(LLVMValueRef kernel, bool asks[AXES])
{
    if (LLVMCountBasicBlocks(kernel) > MAX_BLOCKS)
        return false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x)) {
            if (!may_turn(x))
                return false;
            if (is_id(x)) {
                uint64_t d = LLVMConstIntGetZExtValue(LLVMGetOperand(x, 0));
                if (d < AXES)
                    asks[d] = true;
            }
        }
    return asks[1] || asks[2];
}

// Costs -----------------------------------------------------------------------

// What is the same for all lanes, or neighbours', is one access; a few elements
// apart, some; else one for each lane.
static uint32_t cost_of(const struct hdi_value_steps *f, LLVMValueRef access,
                        unsigned d)
{
    bool store = LLVMIsAStoreInst(access) != NULL;
    LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(access, 0) : access);
    int64_t size = (int64_t)LLVMABISizeOfType(f->llvm->layout, type);
    int64_t by = hdi_affine_step(f, LLVMGetOperand(access, store),
                                 (enum hdi_step_axis)(HDI_AXIS_X + d));

    if (by == 0 || by == HDI_STEP_UNKNOWN || by == size)
        return COST_TOGETHER;
    if (by > -NEAR * size && by < NEAR * size)
        return hdi_target_near(&f->llvm->target);
    return store ? f->llvm->target.scatter : f->llvm->target.gather;
}

// Does a loop come back to the block? `seen`: per block of the kernel.
static bool is_in_loop(const struct hdi_map *index, LLVMBasicBlockRef block,
                       LLVMBasicBlockRef *stack, bool *seen, size_t count)
{
    size_t depth = 0;

    memset(seen, 0, count * sizeof(*seen));
    stack[depth++] = block;
    while (depth > 0) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(stack[--depth]);
        unsigned ways = LLVMGetNumSuccessors(end);
        for (unsigned s = 0; s < ways; s++) {
            LLVMBasicBlockRef next = LLVMGetSuccessor(end, s);
            if (next == block)
                return true;
            size_t n = hdi_map_index(index, next);
            if (!seen[n])
                stack[depth++] = next;
            seen[n] = true;
        }
    }
    return false;
}

// False when memory ran out.
static bool add_costs(const struct hdi_value_steps *f, uint32_t cost[AXES])
{
    size_t count = LLVMCountBasicBlocks(f->kernel), n = 0;
    LLVMBasicBlockRef *stack = calloc(count, sizeof(*stack));
    bool *seen = calloc(count, sizeof(*seen));
    struct hdi_map index = {0};

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        hdi_map_set_index(&index, b, n++);
    bool ok = stack && seen && !index.failed;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); ok && b;
         b = LLVMGetNextBasicBlock(b)) {
        uint32_t times =
            is_in_loop(&index, b, stack, seen, count) ? IN_LOOP : 1;
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x))
            for (unsigned d = 0;
                 d < AXES && (LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)); d++)
                cost[d] += times * cost_of(f, x, d);
    }
    hdi_map_clear(&index);
    free(seen);
    free(stack);
    return ok;
}

// Work-items along an axis that a chunk of lanes can take; groups of a size
// that is open take as many.
// Of a flat kernel the whole range counts, whatever groups are.
static uint32_t lanes_along(const struct hdi_lane_axis *axis,
                            const struct hdi_build_kernel *about, unsigned d)
{
    uint32_t row = axis->flat ? 0 : about->required_local[d];
    return row == 0 || row > axis->lanes ? axis->lanes : row;
}

// Cost per work-item: by as many lanes as there are along the axis. Compared by
// products, to stay with whole numbers.
static void choose(struct hdi_lane_axis *axis,
                   const struct hdi_build_kernel *about,
                   const uint32_t cost[AXES], const bool asks[AXES])
{
    for (unsigned d = 1; d < AXES; d++) {
        uint64_t straight =
                     (uint64_t)cost[axis->number] * lanes_along(axis, about, d),
                 turned =
                     (uint64_t)cost[d] * lanes_along(axis, about, axis->number);
        if (asks[d] && turned * GAIN < straight)
            axis->number = d;
    }
    axis->cost[0] = cost[0];
    axis->cost[1] = cost[axis->number];
    axis->always = !axis->flat && about->required_local[0] > 0;
}

hd_status hdi_axis_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                        bool flat, const struct hdi_build_kernel *about,
                        struct hdi_lane_axis *axis, struct hd_error *error)
{
    struct hdi_value_steps steps = {0};
    uint32_t cost[AXES] = {0};
    bool asks[AXES] = {false}, ok = true;

    *axis = (struct hdi_lane_axis){.flat = flat,
                                   .lanes = hdi_target_lanes(&llvm->target)};
    if (find_ids(kernel, asks)) {
        // Most work-items are where limits on ids do not count.
        ok = hdi_affine_find(llvm, kernel, NULL, true, &steps) &&
             add_costs(&steps, cost);
        if (ok)
            choose(axis, about, cost, asks);
        hdi_affine_destroy(&steps);
    }
    return ok ? HD_OK
              : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                         llvm->path);
}

// Turning ---------------------------------------------------------------------

// 0 and `axis` change places: d becomes axis - d. Turning twice is turning
// back.
void hdi_axis_turn(LLVMModuleRef module, unsigned axis)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            if (!is_answered_by_axis(hdi_call_kind(call)))
                continue;
            LLVMValueRef asked = LLVMGetOperand(call, 0);
            uint64_t d = LLVMConstIntGetZExtValue(asked);
            if (d == 0 || d == axis)
                LLVMSetOperand(
                    call, 0, LLVMConstInt(LLVMTypeOf(asked), axis - d, false));
        }
}

struct writer {
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i32, i64;
};

static LLVMValueRef at(const struct writer *w, LLVMValueRef frame,
                       size_t offset)
{
    LLVMValueRef index = LLVMConstInt(w->i64, offset, false);
    return LLVMBuildInBoundsGEP2(w->builder, w->i8, frame, &index, 1, "");
}

// Work-items along an axis, of which a chunk of lanes takes no more than that.
static LLVMValueRef extent(const struct writer *w, LLVMValueRef frame,
                           const struct hdi_lane_axis *axis, unsigned d)
{
    LLVMBuilderRef b = w->builder;
    size_t of_axis = d * sizeof(uint32_t);
    LLVMValueRef most = LLVMConstInt(w->i64, axis->lanes, false);
    LLVMValueRef items = LLVMBuildZExt(
        b,
        LLVMBuildLoad2(
            b, w->i32,
            at(w, frame, offsetof(struct hdi_frame, local_size) + of_axis), ""),
        w->i64, "");

    if (axis->flat) {
        LLVMValueRef groups = LLVMBuildLoad2(
            b, w->i32,
            at(w, frame, offsetof(struct hdi_frame, count) + of_axis), "");
        items =
            LLVMBuildMul(b, items, LLVMBuildZExt(b, groups, w->i64, ""), "");
    }
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, items, most, ""),
                           items, most, "");
}

static void exchange(const struct writer *w, LLVMValueRef frame,
                     LLVMTypeRef type, size_t first, size_t second)
{
    LLVMValueRef one = at(w, frame, first), other = at(w, frame, second);
    LLVMValueRef kept = LLVMBuildLoad2(w->builder, type, one, "");

    LLVMBuildStore(w->builder, LLVMBuildLoad2(w->builder, type, other, ""),
                   one);
    LLVMBuildStore(w->builder, kept, other);
}

// A copy on the stack: the frame is the caller's, and read-only.
static LLVMValueRef turned_frame(const struct writer *w, LLVMValueRef frame,
                                 unsigned axis)
{
    static const size_t longs[] = {offsetof(struct hdi_frame, global),
                                   offsetof(struct hdi_frame, offset)},
                        shorts[] = {offsetof(struct hdi_frame, local_size),
                                    offsetof(struct hdi_frame, group_count),
                                    offsetof(struct hdi_frame, first),
                                    offsetof(struct hdi_frame, count)};
    LLVMValueRef size = LLVMConstInt(w->i64, sizeof(struct hdi_frame), false);
    LLVMValueRef copy = LLVMBuildArrayAlloca(
        w->builder, w->i64,
        LLVMConstInt(w->i32, sizeof(struct hdi_frame) / 8, false), "");

    LLVMBuildMemCpy(w->builder, copy, 8, frame, 8, size);
    for (size_t i = 0; i < sizeof(longs) / sizeof(longs[0]); i++)
        exchange(w, copy, w->i64, longs[i], longs[i] + axis * sizeof(uint64_t));
    for (size_t i = 0; i < sizeof(shorts) / sizeof(shorts[0]); i++)
        exchange(w, copy, w->i32, shorts[i],
                 shorts[i] + axis * sizeof(uint32_t));
    return copy;
}

void hdi_axis_write(struct hdi_llvm *llvm, LLVMModuleRef module,
                    const struct hdi_lane_axis *axis, const char *name,
                    LLVMValueRef turned, LLVMValueRef straight)
{
    LLVMContextRef c = llvm->context;
    LLVMTypeRef type = LLVMGlobalGetValueType(turned);
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    LLVMValueRef frame = LLVMGetParam(function, 0);
    struct writer w = {LLVMCreateBuilderInContext(c), LLVMInt8TypeInContext(c),
                       LLVMInt32TypeInContext(c), LLVMInt64TypeInContext(c)};
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, function, ""),
                      turn = LLVMAppendBasicBlockInContext(c, function, "");

    hdi_function_flag(function, "nounwind", true);
    hdi_build_at_end(w.builder, turn);
    LLVMValueRef copy = turned_frame(&w, frame, axis->number);
    LLVMBuildCall2(w.builder, type, turned, &copy, 1, "");
    LLVMBuildRetVoid(w.builder);
    LLVMSetLinkage(turned, LLVMInternalLinkage);
    if (!straight) {
        hdi_build_at_end(w.builder, entry);
        LLVMBuildBr(w.builder, turn);
    } else {
        LLVMBasicBlockRef stay = LLVMAppendBasicBlockInContext(c, function, "");
        hdi_build_at_end(w.builder, stay);
        LLVMBuildCall2(w.builder, type, straight, &frame, 1, "");
        LLVMBuildRetVoid(w.builder);
        LLVMSetLinkage(straight, LLVMInternalLinkage);
        hdi_build_at_end(w.builder, entry);
        LLVMValueRef cost[2];
        for (unsigned i = 0; i < 2; i++)
            cost[i] = LLVMBuildMul(
                w.builder, LLVMConstInt(w.i64, axis->cost[1 - i], false),
                extent(&w, frame, axis, i ? axis->number : 0), "");
        LLVMBuildCondBr(
            w.builder,
            LLVMBuildICmp(w.builder, LLVMIntULE, cost[0], cost[1], ""), turn,
            stay);
    }
    LLVMDisposeBuilder(w.builder);
}
