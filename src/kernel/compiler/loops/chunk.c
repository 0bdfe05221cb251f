// What becomes of the box of groups that a call of the function has:
//
//     box in global ids     group * local size + offset, up to global + offset
//     bounds                calls in the kernel make it smaller, and go
//     strips or turns       around an inner box; or on and on in steps
//     parts                 of a row, as many work-items as suit the caches
//
// Each level is a loop whose body ends in a jump to the block that the level's
// function has returned.
#include "kernel/compiler/loops/chunk.h"

#include <stddef.h>

#include "backend/frame.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/limits/bounds.h"
#include "kernel/compiler/limits/interior.h"
#include "kernel/compiler/worth/tile.h"

// Flat kernels ----------------------------------------------------------------

static bool asks_for_groups(LLVMValueRef instruction)
{
    switch (hdi_call_kind(instruction)) {
    case HDI_CALL_LOCAL_ID:
    case HDI_CALL_GROUP_ID:
    case HDI_CALL_LOCAL_SIZE:
    case HDI_CALL_BARRIER:
    case HDI_CALL_SUB_GROUP_BARRIER:
        return true;
    default:
        // What is left of allocas are private arrays, which have room for the
        // work-items of a group.
        return LLVMIsAAllocaInst(instruction) != NULL;
    }
}

bool hdi_chunk_is_flat(LLVMModuleRef module, LLVMValueRef kernel)
{
    for (unsigned i = 0; i < LLVMCountParams(kernel); i++) {
        LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(kernel, i));
        if (LLVMGetTypeKind(type) == LLVMPointerTypeKind &&
            LLVMGetPointerAddressSpace(type) == HDI_SPACE_LOCAL)
            return false;
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == HDI_SPACE_LOCAL &&
            LLVMGetFirstUse(g))
            return false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (asks_for_groups(i))
                return false;
    return true;
}

// Loops -----------------------------------------------------------------------

static LLVMValueRef field(struct hdi_emit *e, LLVMTypeRef type, size_t offset)
{
    LLVMValueRef index = LLVMConstInt(e->i64, offset, false);
    return LLVMBuildLoad2(e->builder, type,
                          LLVMBuildInBoundsGEP2(e->builder, e->i8,
                                                LLVMGetParam(e->function, 0),
                                                &index, 1, ""),
                          "");
}

// The one for which the predicate holds: with ULT the least, with UGT the most.
static LLVMValueRef choose(struct hdi_emit *e, LLVMIntPredicate predicate,
                           LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(
        e->builder, LLVMBuildICmp(e->builder, predicate, a, b, ""), a, b, "");
}

// Narrow `limit` by all calls of `name`, and remove them; how many there were.
static unsigned take_bounds(struct hdi_emit *e, const char *name,
                            LLVMIntPredicate closer, LLVMValueRef limit[3])
{
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    unsigned count = 0;
    if (!function)
        return 0;
    for (LLVMUseRef u; (u = LLVMGetFirstUse(function)) != NULL;) {
        LLVMValueRef call = LLVMGetUser(u);
        uint64_t d = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0));
        LLVMValueRef bound = hdi_emit_remade(e, LLVMGetOperand(call, 1));
        limit[d] = choose(e, closer, bound, limit[d]);
        LLVMInstructionEraseFromParent(call);
        count++;
    }
    LLVMDeleteFunction(function);
    return count;
}

static bool asks_for_dimension(const struct hdi_emit *e, unsigned d)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(e->flow->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            if (hdi_call_kind(i) != HDI_CALL_GLOBAL_ID)
                continue;
            LLVMValueRef asked = LLVMGetOperand(i, 0);
            if (!LLVMIsAConstantInt(asked) ||
                LLVMConstIntGetZExtValue(asked) == d)
                return true;
        }
    return false;
}

static LLVMBasicBlockRef append(const struct hdi_emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->llvm->context, e->function, name);
}

static LLVMValueRef zero(const struct hdi_emit *e)
{
    return LLVMConstInt(e->i64, 0, false);
}

// The ids in x that a straightened kernel goes through are shared out among the
// groups in whole vectors, in their order. The first id of a group's share.
// Rounded up to lines, so the last groups may have less, or nothing.
static LLVMValueRef share(struct hdi_emit *e, LLVMValueRef length,
                          LLVMValueRef group)
{
    LLVMBuilderRef b = e->builder;
    const unsigned line = e->llvm->target.line; // no two groups touch one
    LLVMValueRef groups = LLVMBuildZExt(b, e->group_count[0], e->i64, "");
    LLVMValueRef less_one =
        LLVMBuildSub(b, length, LLVMConstInt(e->i64, 1, false), "");
    LLVMValueRef each = LLVMBuildAdd(b, LLVMBuildUDiv(b, less_one, groups, ""),
                                     LLVMConstInt(e->i64, line, false), "");
    each =
        LLVMBuildAnd(b, each, LLVMConstInt(e->i64, ~(line - 1ull), false), "");
    return choose(e, LLVMIntULT, LLVMBuildMul(b, group, each, ""), length);
}

// A call of a function of bounds.h; without any the function is removed.
static LLVMValueRef next_call(const struct hdi_emit *e, const char *name)
{
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    LLVMUseRef use = function ? LLVMGetFirstUse(function) : NULL;

    if (function && !use)
        LLVMDeleteFunction(function);
    return use ? LLVMGetUser(use) : NULL;
}

// One past the last element that work-items up to `end` touch.
static LLVMValueRef reach(struct hdi_emit *e, LLVMValueRef address,
                          LLVMValueRef size, LLVMValueRef end)
{
    return LLVMBuildAdd(e->builder, address,
                        LLVMBuildMul(e->builder, size, end, ""), "");
}

// Whether work-items `start` to `end` touch the same elements of two buffers at
// the same time, or none that both have.
// Work-items may be taken in any order where none touches what another one
// writes: element i of both is one element, or the ranges do not overlap.
static LLVMValueRef is_apart(struct hdi_emit *e, LLVMValueRef pair,
                             LLVMValueRef start, LLVMValueRef end)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef address[2], size[2];

    for (unsigned i = 0; i < 2; i++) {
        address[i] = hdi_emit_remade(e, LLVMGetOperand(pair, 2 * i));
        size[i] = LLVMGetOperand(pair, 2 * i + 1);
    }
    LLVMValueRef apart =
        size[0] == size[1]
            ? LLVMBuildICmp(b, LLVMIntEQ, address[0], address[1], "")
            : LLVMConstInt(e->i1, false, false);
    for (unsigned i = 0; i < 2; i++)
        apart = LLVMBuildOr(
            b, apart,
            LLVMBuildICmp(b, LLVMIntULE, reach(e, address[i], size[i], end),
                          reach(e, address[1 - i], size[1 - i], start), ""),
            "");
    return apart;
}

// Take out the calls that say so, and answer whether `any_order` goes with the
// arguments at hand.
static LLVMValueRef take_order(struct hdi_emit *e, LLVMValueRef any_order,
                               LLVMValueRef start, LLVMValueRef end)
{
    for (LLVMValueRef pair; (pair = next_call(e, hdi_bounds_apart));) {
        any_order = LLVMBuildAnd(e->builder, any_order,
                                 is_apart(e, pair, start, end), "");
        LLVMInstructionEraseFromParent(pair);
    }
    return any_order;
}

// The range in x of a straightened kernel goes on to `upper`: the groups at
// hand take their share of it, or go round and round, each turn a global size
// further, until nothing is left. Narrows [first, end) to that of a turn, and
// returns the block where a turn ends.
// `whole`: the order does not matter, and a group takes one stretch, in one
// turn that is as long as all. Else it goes round as the kernel says.
static LLVMBasicBlockRef begin_turns(struct hdi_emit *e, LLVMValueRef any_order,
                                     LLVMValueRef group, LLVMValueRef groups,
                                     LLVMValueRef upper, LLVMValueRef *first,
                                     LLVMValueRef *end)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef start = e->offset[0];
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntUGT, upper, start, "");
    LLVMValueRef length = LLVMBuildSelect(
        b, some, LLVMBuildSub(b, upper, start, ""), zero(e), "");
    LLVMValueRef whole = take_order(e, any_order, start, upper);
    LLVMValueRef from = LLVMBuildAdd(b, start, share(e, length, group), "");
    LLVMValueRef to = LLVMBuildAdd(
        b, start, share(e, length, LLVMBuildNUWAdd(b, group, groups, "")), "");
    from = LLVMBuildSelect(b, whole, from, *first, "");
    to = LLVMBuildSelect(b, whole, to, *end, "");
    LLVMValueRef step = LLVMBuildSelect(b, whole, length, e->global[0], "");

    LLVMValueRef at = LLVMBuildAlloca(b, e->i64, "");
    LLVMBasicBlockRef head = append(e, "turn"), next = append(e, "next_turn");
    LLVMBuildStore(b, zero(e), at);
    LLVMBuildBr(b, head);
    hdi_build_at_end(b, next);
    LLVMBuildStore(
        b, LLVMBuildNUWAdd(b, LLVMBuildLoad2(b, e->i64, at, ""), step, ""), at);
    LLVMBuildBr(b, head);
    hdi_build_at_end(b, head);
    LLVMValueRef further = LLVMBuildLoad2(b, e->i64, at, "");
    *first = LLVMBuildNUWAdd(b, from, further, "");
    *end = choose(e, LLVMIntULT, LLVMBuildNUWAdd(b, to, further, ""), upper);
    return next;
}

// What is around the box of interior.h: narrows [first, end) to one strip after
// the other, below and above it in each dimension, and returns the block where
// a strip ends.
//     y   | 2: below y          |     strips 0 and 1 in x: below and above,
//         | 0 |   box     | 1   |     over the whole of y and z; those of y
//         | 3: above y          |     only as long in x as the box is
//
// Six strips at most; empty ones are passed over.
static LLVMBasicBlockRef begin_strips(struct hdi_emit *e,
                                      LLVMBasicBlockRef leave,
                                      LLVMValueRef first[3],
                                      LLVMValueRef end[3])
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef lower[3], upper[3], some = LLVMConstInt(e->i1, true, false);

    for (unsigned d = 0; d < 3; d++) {
        lower[d] = first[d];
        upper[d] = end[d];
    }
    take_bounds(e, hdi_interior_below, LLVMIntUGT, lower);
    take_bounds(e, hdi_interior_above, LLVMIntULT, upper);
    LLVMValueRef counter = LLVMBuildAlloca(b, e->i32, "");
    LLVMBasicBlockRef head = append(e, "strip"), next = append(e, "next_strip");
    LLVMBasicBlockRef inside = append(e, "in_strip");
    LLVMBuildStore(b, LLVMConstInt(e->i32, 0, false), counter);
    for (unsigned d = 0; d < 3; d++) {
        lower[d] = choose(e, LLVMIntULT, lower[d], end[d]);
        upper[d] = choose(e, LLVMIntUGT, upper[d], lower[d]);
    }
    LLVMBuildBr(b, head);

    hdi_build_at_end(b, next);
    LLVMValueRef done = LLVMBuildLoad2(b, e->i32, counter, "");
    LLVMBuildStore(b,
                   LLVMBuildNUWAdd(b, done, LLVMConstInt(e->i32, 1, false), ""),
                   counter);
    LLVMBuildCondBr(
        b,
        LLVMBuildICmp(b, LLVMIntULT, done, LLVMConstInt(e->i32, 5, false), ""),
        head, leave);

    hdi_build_at_end(b, head);
    LLVMValueRef strip = LLVMBuildLoad2(b, e->i32, counter, "");
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef below = LLVMBuildICmp(
            b, LLVMIntEQ, strip, LLVMConstInt(e->i32, 2 * d, false), "");
        LLVMValueRef above = LLVMBuildICmp(
            b, LLVMIntEQ, strip, LLVMConstInt(e->i32, 2 * d + 1, false), "");
        // Strips of later dimensions are no longer than the box in this one.
        LLVMValueRef later = LLVMBuildICmp(
            b, LLVMIntUGT, strip, LLVMConstInt(e->i32, 2 * d + 1, false), "");
        LLVMValueRef from = LLVMBuildSelect(b, later, lower[d], first[d], "");
        LLVMValueRef to = LLVMBuildSelect(b, later, upper[d], end[d], "");
        first[d] = LLVMBuildSelect(b, above, upper[d], from, "");
        end[d] = LLVMBuildSelect(b, below, lower[d], to, "");
        some = LLVMBuildAnd(
            b, some, LLVMBuildICmp(b, LLVMIntULT, first[d], end[d], ""), "");
    }
    LLVMBuildCondBr(b, some, inside, next);
    hdi_build_at_end(b, inside);
    return next;
}

// The box in global ids: first one, and how many. Goes on at `leave` when there
// are none left; returns where what is to be done with them ends.
// Bounds may leave nothing, or end before they begin: counts are 0 then.
static LLVMBasicBlockRef measure(struct hdi_emit *e, LLVMBasicBlockRef leave,
                                 LLVMValueRef first[3], LLVMValueRef count[3])
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef end[3], group[3], groups[3], all = NULL;
    LLVMValueRef stride = next_call(e, hdi_bounds_stride);

    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef size = LLVMBuildZExt(b, e->local_size[d], e->i64, "");
        group[d] = LLVMBuildZExt(
            b, field(e, e->i32, offsetof(struct hdi_frame, first) + 4 * d),
            e->i64, "");
        groups[d] = LLVMBuildZExt(
            b, field(e, e->i32, offsetof(struct hdi_frame, count) + 4 * d),
            e->i64, "");
        LLVMValueRef start = LLVMBuildNUWMul(b, group[d], size, "");
        LLVMValueRef stop = LLVMBuildNUWMul(
            b, LLVMBuildNUWAdd(b, group[d], groups[d], ""), size, "");
        stop = choose(e, LLVMIntULT, stop, e->global[d]);
        first[d] = LLVMBuildNUWAdd(b, e->offset[d], start, "");
        end[d] = LLVMBuildNUWAdd(b, e->offset[d], stop, "");
    }
    if (stride) {
        all = end[0];
        end[0] = LLVMConstAllOnes(e->i64); // it has an upper bound
    }
    e->bound_count += take_bounds(e, hdi_bounds_lower, LLVMIntUGT, first);
    e->bound_count += take_bounds(e, hdi_bounds_upper, LLVMIntULT, end);
    take_bounds(e, hdi_interior_lower, LLVMIntUGT, first);
    take_bounds(e, hdi_interior_upper, LLVMIntULT, end);
    LLVMBasicBlockRef done = leave;
    if (LLVMGetNamedFunction(e->module, hdi_interior_below) ||
        LLVMGetNamedFunction(e->module, hdi_interior_above))
        done = begin_strips(e, leave, first, end);
    if (stride) {
        LLVMValueRef upper = end[0], any_order = LLVMGetOperand(stride, 0);
        LLVMInstructionEraseFromParent(stride);
        next_call(e, hdi_bounds_stride);
        end[0] = all;
        done = begin_turns(e, any_order, group[0], groups[0], upper, &first[0],
                           &end[0]);
    }
    for (unsigned d = 0; d < 3; d++)
        count[d] = LLVMBuildSelect(
            b, LLVMBuildICmp(b, LLVMIntULT, first[d], end[d], ""),
            LLVMBuildSub(b, end[d], first[d], ""), zero(e), "");
    return done;
}

LLVMBasicBlockRef hdi_chunk_begin(struct hdi_emit *e, LLVMBasicBlockRef leave)
{
    LLVMBuilderRef b = e->builder;
    e->short_rows =
        hdi_rule_is_on(e->llvm, HDI_RULE_TILE) && hdi_tile_pays(&e->affine);
    LLVMValueRef most = LLVMConstInt(
        e->i64, hdi_tile_row(&e->llvm->target, e->short_rows), false);
    LLVMValueRef first[3], count[3];
    LLVMValueRef at = LLVMBuildAlloca(b, e->i64, "");

    LLVMBasicBlockRef done = measure(e, leave, first, count);
    // Dimensions that the kernel does not look at are counted together.
    LLVMValueRef rows = LLVMBuildMul(b, count[1], count[2], "");
    if (!asks_for_dimension(e, 1) && !asks_for_dimension(e, 2)) {
        count[1] = rows;
        count[2] = LLVMConstInt(e->i64, 1, false);
    }
    LLVMValueRef some =
        LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, count[0], zero(e), ""),
                     LLVMBuildICmp(b, LLVMIntNE, rows, zero(e), ""), "");
    LLVMBasicBlockRef head = append(e, "part"), next = append(e, "next_part");
    LLVMBuildStore(b, zero(e), at);
    LLVMBuildCondBr(b, some, head, leave);

    hdi_build_at_end(b, next);
    LLVMValueRef behind =
        LLVMBuildNUWAdd(b, LLVMBuildLoad2(b, e->i64, at, ""), most, "");
    LLVMBuildStore(b, behind, at);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, behind, count[0], ""), head,
                    done);

    hdi_build_at_end(b, head);
    LLVMValueRef begin = LLVMBuildLoad2(b, e->i64, at, "");
    LLVMValueRef left = LLVMBuildNUWSub(b, count[0], begin, "");
    e->trip[0] =
        LLVMBuildTrunc(b, choose(e, LLVMIntULT, left, most), e->i32, "");
    e->trip[1] = count[1];
    e->trip[2] = count[2];
    e->base[0] = LLVMBuildNUWAdd(b, first[0], begin, "");
    e->base[1] = first[1];
    e->base[2] = first[2];
    for (unsigned d = 0; d < 3; d++)
        e->base_narrow[d] = LLVMBuildTrunc(b, e->base[d], e->i32, "");
    return next;
}

static void step(struct hdi_emit *e, LLVMValueRef counter, uint64_t by,
                 LLVMValueRef end, LLVMBasicBlockRef again,
                 LLVMBasicBlockRef after)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef next =
        LLVMBuildNUWAdd(b, LLVMBuildLoad2(b, e->i64, counter, ""),
                        LLVMConstInt(e->i64, by, false), "");
    LLVMBuildStore(b, next, counter);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, end, ""), again,
                    after);
}

LLVMBasicBlockRef hdi_chunk_begin_lanes(struct hdi_emit *e,
                                        LLVMBasicBlockRef leave,
                                        LLVMBasicBlockRef *full,
                                        LLVMBasicBlockRef *rest)
{
    // x outermost: what the lanes read in all rows stays near.
    static const unsigned order[3] = {0, 2, 1};
    LLVMBuilderRef b = e->builder;
    LLVMValueRef lanes = LLVMConstInt(e->i64, HDI_LANES, false);
    LLVMValueRef first[3], count[3], at[3], id[3];
    LLVMBasicBlockRef head[3], next[3];

    for (unsigned d = 0; d < 3; d++) {
        at[d] = LLVMBuildAlloca(b, e->i64, "");
        head[d] = append(e, "lanes");
        next[d] = append(e, "next_lanes");
    }
    *full = append(e, "full");
    *rest = append(e, "rest");
    LLVMBasicBlockRef done = measure(e, leave, first, count);
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntNE, count[0], zero(e), "");
    for (unsigned d = 1; d < 3; d++)
        some = LLVMBuildAnd(
            b, some, LLVMBuildICmp(b, LLVMIntNE, count[d], zero(e), ""), "");
    LLVMBuildStore(b, zero(e), at[0]);
    LLVMBuildCondBr(b, some, head[0], leave);

    for (unsigned n = 0; n < 3; n++) {
        unsigned d = order[n];
        hdi_build_at_end(b, next[d]);
        step(e, at[d], d == 0 ? HDI_LANES : 1, count[d], head[d],
             n == 0 ? done : next[order[n - 1]]);
        hdi_build_at_end(b, head[d]);
        id[d] = LLVMBuildNUWAdd(b, first[d],
                                LLVMBuildLoad2(b, e->i64, at[d], ""), "");
        if (n < 2) {
            LLVMBuildStore(b, zero(e), at[order[n + 1]]);
            LLVMBuildBr(b, head[order[n + 1]]);
        }
    }
    LLVMValueRef left =
        LLVMBuildNUWSub(b, count[0], LLVMBuildLoad2(b, e->i64, at[0], ""), "");
    // Only less than the lanes are counted.
    e->trip[0] =
        LLVMBuildTrunc(b, choose(e, LLVMIntULT, left, lanes), e->i32, "");
    for (unsigned d = 0; d < 3; d++) {
        if (d > 0)
            e->trip[d] = LLVMConstInt(e->i64, 1, false);
        e->base[d] = id[d];
        e->base_narrow[d] = LLVMBuildTrunc(b, id[d], e->i32, "");
    }
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGE, left, lanes, ""), *full,
                    *rest);
    return next[1];
}
