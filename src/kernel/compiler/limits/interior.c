#include "kernel/compiler/limits/interior.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/ir/map.h"
#include "kernel/compiler/limits/bounds.h"

// MAX_INSTRUCTIONS: it doubles the code. Others bound how long it takes to
// look.
enum {
    MAX_DEPTH = 12,          // of an expression
    MAX_INSTRUCTIONS = 2500, // of a kernel that is worth writing twice
    MAX_BEGIN = 64           // of ids at the begin of a row, in comparisons
};

const char hdi_interior_lower[] = "heddle.interior.lower";
const char hdi_interior_upper[] = "heddle.interior.upper";
const char hdi_interior_below[] = "heddle.interior.below";
const char hdi_interior_above[] = "heddle.interior.above";

// A number between two that are given; of 64 bits, at the top of the kernel.
struct span {
    LLVMValueRef least, most;
};

// An id with something added.
struct place {
    unsigned d;
    struct span span;
};

// `given` holds copies of what can be computed at the top of the kernel, each
// once; bounds are computed from these.
struct finder {
    struct hdi_bounds bounds;
    const char *lower, *upper; // what bounds are stated as
    struct hdi_map given;      // value: the same at the top
};

// Given values at the top -----------------------------------------------------

static LLVMValueRef number(const struct finder *f, int64_t n)
{
    return LLVMConstInt(f->bounds.i64, (uint64_t)n, true);
}

static LLVMValueRef plus(const struct finder *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(f->bounds.builder, a, b, "");
}

static LLVMValueRef minus(const struct finder *f, LLVMValueRef a,
                          LLVMValueRef b)
{
    return LLVMBuildSub(f->bounds.builder, a, b, "");
}

static LLVMValueRef greater(const struct finder *f, LLVMValueRef a,
                            LLVMValueRef b)
{
    LLVMValueRef is = LLVMBuildICmp(f->bounds.builder, LLVMIntSGT, a, b, "");
    return LLVMBuildSelect(f->bounds.builder, is, a, b, "");
}

static LLVMValueRef copy_given(struct finder *f, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return value;
    LLVMValueRef copy = hdi_map_get(&f->given, value);
    if (copy)
        return copy;
    copy = LLVMInstructionClone(value);
    // At the top it is computed where the kernel may not do so.
    hdi_promise_nothing(copy);
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value))
        count = LLVMGetNumArgOperands(value);
    for (unsigned i = 0; i < count; i++)
        LLVMSetOperand(copy, i, copy_given(f, LLVMGetOperand(value, i)));
    LLVMInsertIntoBuilder(f->bounds.builder, copy);
    hdi_map_set(&f->given, value, copy);
    return copy;
}

static unsigned width_of(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind
               ? LLVMGetIntTypeWidth(type)
               : 0;
}

// A given value in 64 bits, none of which a sum of some can leave; NULL: it is
// none.
// Below 33 bits, so that sums of some of them cannot wrap in 64: no comparison
// of bounds needs to look for that.
static LLVMValueRef given(struct finder *f, LLVMValueRef value, bool is_signed)
{
    unsigned width = width_of(value);

    if (LLVMIsAConstantInt(value) && width <= 64) {
        int64_t n = is_signed || width == 64
                        ? LLVMConstIntGetSExtValue(value)
                        : (int64_t)LLVMConstIntGetZExtValue(value);
        return n >= -INT64_C(0xffffffff) && n <= INT64_C(0xffffffff)
                   ? number(f, n)
                   : NULL;
    }
    if (width == 64 && (LLVMIsASExtInst(value) || LLVMIsAZExtInst(value))) {
        if (width_of(LLVMGetOperand(value, 0)) > 32)
            return NULL;
    } else if (width != 32) {
        return NULL;
    }
    if (!hdi_bounds_is_given(value))
        return NULL;
    LLVMValueRef copy = copy_given(f, value);
    if (width == 64)
        return copy;
    return is_signed
               ? LLVMBuildSExt(f->bounds.builder, copy, f->bounds.i64, "")
               : LLVMBuildZExt(f->bounds.builder, copy, f->bounds.i64, "");
}

// Loops -----------------------------------------------------------------------

static bool reaches(LLVMBasicBlockRef from, LLVMBasicBlockRef to,
                    LLVMBasicBlockRef but, struct hdi_map *seen)
{
    if (from == to)
        return true;
    if (from == but || hdi_map_get(seen, from))
        return false;
    hdi_map_set(seen, from, from);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
        if (reaches(LLVMGetSuccessor(end, s), to, but, seen))
            return true;
    return false;
}

// Whether the loop with that head and latch is left by going to `way`.
static bool is_left_by(LLVMBasicBlockRef way, LLVMBasicBlockRef head,
                       LLVMBasicBlockRef latch)
{
    struct hdi_map seen = {0};
    bool left =
        way != head && !reaches(way, latch, head, &seen) && !seen.failed;

    hdi_map_clear(&seen);
    return left;
}

// The bound that `counter` is compared with at the end of `block`, a loop going
// on while it is less, or no more.
static LLVMValueRef bound_of(LLVMBasicBlockRef block, LLVMValueRef counter,
                             LLVMBasicBlockRef head, LLVMBasicBlockRef latch)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);

    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end))
        return NULL;
    LLVMValueRef asked = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(asked) || LLVMGetOperand(asked, 0) != counter)
        return NULL;
    LLVMIntPredicate p = LLVMGetICmpPredicate(asked);
    bool less = p == LLVMIntSLT || p == LLVMIntSLE;
    if (!less && p != LLVMIntSGT && p != LLVMIntSGE)
        return NULL;
    return is_left_by(LLVMGetSuccessor(end, less), head, latch)
               ? LLVMGetOperand(asked, 1)
               : NULL;
}

// What a loop counts in steps that are constant, up to a bound that is given.
static bool count_of(struct finder *f, LLVMValueRef phi, struct span *span)
{
    LLVMBasicBlockRef head = LLVMGetInstructionParent(phi);

    if (LLVMCountIncoming(phi) != 2)
        return false;
    for (unsigned back = 0; back < 2; back++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, back);
        LLVMBasicBlockRef latch = LLVMGetIncomingBlock(phi, back);
        if (!LLVMIsAInstruction(next) ||
            LLVMGetInstructionOpcode(next) != LLVMAdd ||
            LLVMGetOperand(next, 0) != phi || !LLVMGetNSW(next) ||
            !LLVMIsAConstantInt(LLVMGetOperand(next, 1)))
            continue;
        int64_t step = LLVMConstIntGetSExtValue(LLVMGetOperand(next, 1));
        LLVMValueRef bound = bound_of(head, phi, head, latch);
        if (!bound)
            bound = bound_of(latch, next, head, latch);
        if (!bound || step <= 0 || step > UINT16_MAX)
            return false;
        span->least = given(f, LLVMGetIncomingValue(phi, 1 - back), true);
        bound = given(f, bound, true);
        if (!span->least || !bound)
            return false;
        // It may be looked at before it is compared.
        span->most = greater(f, span->least, plus(f, bound, number(f, step)));
        return true;
    }
    return false;
}

// Expressions -----------------------------------------------------------------

static bool is_sum(LLVMValueRef value)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    return code == LLVMAdd || code == LLVMSub;
}

// A number without an id in it, of which it is known where it lies.
static bool span_of(struct finder *f, LLVMValueRef value, unsigned depth,
                    struct span *span)
{
    struct span other;
    LLVMValueRef same = given(f, value, true);

    *span = (struct span){same, same};
    if (same)
        return true;
    if (depth == MAX_DEPTH || !LLVMIsAInstruction(value))
        return false;
    if (LLVMIsAPHINode(value))
        return count_of(f, value, span);
    if (LLVMIsASExtInst(value))
        return span_of(f, LLVMGetOperand(value, 0), depth + 1, span);
    if (LLVMIsATruncInst(value) && width_of(value) == 32 &&
        LLVMIsAPHINode(LLVMGetOperand(value, 0)))
        return count_of(f, LLVMGetOperand(value, 0), span);
    if (!is_sum(value) || !LLVMGetNSW(value) ||
        !span_of(f, LLVMGetOperand(value, 0), depth + 1, span) ||
        !span_of(f, LLVMGetOperand(value, 1), depth + 1, &other))
        return false;
    bool sub = LLVMGetInstructionOpcode(value) == LLVMSub;
    span->least = sub ? minus(f, span->least, other.most)
                      : plus(f, span->least, other.least);
    span->most = sub ? minus(f, span->most, other.least)
                     : plus(f, span->most, other.most);
    return true;
}

static void state(struct finder *f, const char *name, unsigned d,
                  LLVMValueRef bound)
{
    hdi_bounds_call(&f->bounds, name, d, greater(f, bound, number(f, 0)));
}

static void want_least(struct finder *f, const struct place *p,
                       LLVMValueRef least)
{
    state(f, f->lower, p->d, minus(f, least, p->span.least));
}

static void want_most(struct finder *f, const struct place *p,
                      LLVMValueRef most)
{
    state(f, f->upper, p->d,
          plus(f, minus(f, most, p->span.most), number(f, 1)));
}

// What the sum is in 64 bits, it is in 32.
static void want_fitting(struct finder *f, const struct place *p)
{
    want_least(f, p, number(f, INT32_MIN));
    want_most(f, p, number(f, INT32_MAX));
}

static unsigned limit_kind(LLVMValueRef value)
{
    return LLVMIsACallInst(value) && LLVMIsAFunction(LLVMGetCalledValue(value))
               ? LLVMGetIntrinsicID(LLVMGetCalledValue(value))
               : 0;
}

static bool is_limit(LLVMValueRef value, const char *name)
{
    return limit_kind(value) == LLVMLookupIntrinsicID(name, strlen(name));
}

static bool place_of(struct finder *f, LLVMValueRef value, unsigned depth,
                     struct place *p);

// What a place is compared with.
static bool limit_of(struct finder *f, LLVMValueRef value, bool with_sign,
                     struct span *limit)
{
    if (with_sign)
        return span_of(f, value, 0, limit);
    limit->least = limit->most = given(f, value, false);
    return limit->least != NULL;
}

// One of min() and max() that gives back an operand in the box: that, and where
// it is; else NULL.
static LLVMValueRef limited(struct finder *f, LLVMValueRef value,
                            unsigned depth, struct place *p)
{
    bool smax = is_limit(value, "llvm.smax"),
         umax = is_limit(value, "llvm.umax"),
         umin = is_limit(value, "llvm.umin");
    struct span limit;

    if (!smax && !umax && !umin && !is_limit(value, "llvm.smin"))
        return NULL;
    for (unsigned side = 0; side < 2; side++) {
        LLVMValueRef from = LLVMGetOperand(value, side);
        if (!limit_of(f, LLVMGetOperand(value, 1 - side), !umax && !umin,
                      &limit) ||
            !place_of(f, from, depth + 1, p))
            continue;
        if (smax || umax)
            want_least(f, p, limit.most);
        else
            want_most(f, p, limit.least);
        if (umax || umin)
            want_least(f, p, number(f, 0));
        return from;
    }
    return NULL;
}

static bool shifted(struct finder *f, LLVMValueRef value, unsigned depth,
                    struct place *p)
{
    bool sub = LLVMGetInstructionOpcode(value) == LLVMSub;
    struct span span;

    for (unsigned side = 0; side < (sub ? 1 : 2); side++) {
        if (!place_of(f, LLVMGetOperand(value, side), depth + 1, p) ||
            !span_of(f, LLVMGetOperand(value, 1 - side), depth + 1, &span))
            continue;
        p->span.least = sub ? minus(f, p->span.least, span.most)
                            : plus(f, p->span.least, span.least);
        p->span.most = sub ? minus(f, p->span.most, span.least)
                           : plus(f, p->span.most, span.most);
        if (width_of(value) == 32 && !LLVMGetNSW(value))
            want_fitting(f, p);
        return true;
    }
    return false;
}

// Whether the value is an id with something added, in the box, of which nothing
// is lost.
static bool place_of(struct finder *f, LLVMValueRef value, unsigned depth,
                     struct place *p)
{
    unsigned width = width_of(value);
    int d = width == 32 || width == 64 ? hdi_bounds_dimension(value) : -1;

    if (d >= 0) {
        *p = (struct place){(unsigned)d, {number(f, 0), number(f, 0)}};
        if (!LLVMIsACallInst(value))
            want_fitting(f, p);
        return true;
    }
    if (depth == MAX_DEPTH || !LLVMIsAInstruction(value) ||
        (width != 32 && width != 64))
        return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMCall:
        return limited(f, value, depth, p) != NULL;
    case LLVMAdd:
    case LLVMSub:
        return shifted(f, value, depth, p);
    case LLVMSExt:
        return place_of(f, LLVMGetOperand(value, 0), depth + 1, p);
    case LLVMZExt:
        if (!place_of(f, LLVMGetOperand(value, 0), depth + 1, p))
            return false;
        want_least(f, p, number(f, 0));
        return true;
    case LLVMTrunc:
        if (width != 32 || !place_of(f, LLVMGetOperand(value, 0), depth + 1, p))
            return false;
        want_fitting(f, p);
        return true;
    default:
        return false;
    }
}

// Comparisons -----------------------------------------------------------------

// State where `place predicate limit` is always the same, and what. A small
// constant is where ids begin, anything else where they end.
static bool answer(struct finder *f, LLVMIntPredicate predicate,
                   const struct place *p, const struct span *limit)
{
    bool begin = LLVMIsAConstantInt(limit->least) &&
                 LLVMConstIntGetSExtValue(limit->least) < MAX_BEGIN;
    bool above = predicate == LLVMIntSGT || predicate == LLVMIntUGT,
         not_above = predicate == LLVMIntSLE || predicate == LLVMIntULE,
         not_below = predicate == LLVMIntSGE || predicate == LLVMIntUGE,
         equal = predicate == LLVMIntEQ || predicate == LLVMIntNE;

    if (begin) {
        bool behind = above || not_above || equal;
        want_least(f, p, plus(f, limit->most, number(f, behind)));
        return above || not_below || predicate == LLVMIntNE;
    }
    bool before = !above && !not_above;
    want_most(f, p, minus(f, limit->least, number(f, before)));
    return !above && !not_below && predicate != LLVMIntEQ;
}

// Whether a comparison is the same everywhere in the box: `*yes`.
static bool compared(struct finder *f, LLVMValueRef value, struct place *p,
                     bool *yes)
{
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(value);
    bool with_sign = predicate >= LLVMIntSGT || predicate <= LLVMIntNE;
    struct span limit;

    for (unsigned side = 0; side < 2; side++) {
        if (!limit_of(f, LLVMGetOperand(value, 1 - side), with_sign, &limit) ||
            !place_of(f, LLVMGetOperand(value, side), 0, p))
            continue;
        if (!with_sign)
            want_least(f, p, number(f, 0));
        *yes = answer(f, side ? hdi_predicate_swapped(predicate) : predicate, p,
                      &limit);
        return true;
    }
    return false;
}

// Kernels ---------------------------------------------------------------------

// Whether a value asks for a border; in the box it is then `*known`.
static bool asks(struct finder *f, LLVMValueRef value, struct place *p,
                 LLVMValueRef *known)
{
    bool yes;

    if (LLVMIsACallInst(value)) {
        *known = limited(f, value, 0, p);
        return *known != NULL;
    }
    if (!LLVMIsAICmpInst(value) || !compared(f, value, p, &yes))
        return false;
    *known = LLVMConstInt(LLVMTypeOf(value), yes, false);
    return true;
}

struct known {
    LLVMValueRef asks, is;
};

// Values that ask for a border, in the order of the code.
struct found {
    struct known *list;
    unsigned count, across; // of them those that ask for x
    bool failed;            // no memory
};

static void note(struct found *found, LLVMValueRef asks, LLVMValueRef is)
{
    struct known *list =
        realloc(found->list, (found->count + 1) * sizeof(*list));

    if (!list) {
        found->failed = true;
        return;
    }
    found->list = list;
    list[found->count++] = (struct known){asks, is};
}

// State the box as bounds of these names. Nothing else changes: the kernel and
// its copy must be told the same box.
static void find(struct hdi_llvm *llvm, LLVMModuleRef module,
                 LLVMValueRef kernel, const char *lower, const char *upper,
                 struct found *found)
{
    struct finder f = {
        .bounds = {llvm, module, LLVMCreateBuilderInContext(llvm->context),
                   LLVMInt32TypeInContext(llvm->context),
                   LLVMInt64TypeInContext(llvm->context)},
        .lower = lower,
        .upper = upper,
    };
    LLVMBasicBlockRef top = LLVMGetEntryBasicBlock(kernel);

    *found = (struct found){0};
    LLVMPositionBuilderBefore(f.bounds.builder,
                              LLVMGetBasicBlockTerminator(top));
    for (LLVMBasicBlockRef b = top; b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            struct place p;
            LLVMValueRef known;
            if (!LLVMGetFirstUse(i) || !asks(&f, i, &p, &known))
                continue;
            note(found, i, known);
            found->across += p.d == 0;
        }
    found->failed |= f.given.failed;
    hdi_map_clear(&f.given);
    LLVMDisposeBuilder(f.bounds.builder);
}

// The last first: what a value is known to be may be known itself.
static void replace(struct found *found)
{
    while (found->count > 0) {
        struct known *k = &found->list[--found->count];
        LLVMReplaceAllUsesWith(k->asks, k->is);
    }
}

static bool may_ask(LLVMModuleRef module, LLVMValueRef kernel)
{
    unsigned count = 0, asking = 0;

    if (LLVMGetNamedFunction(module, hdi_bounds_stride))
        return false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            count++;
            asking += LLVMGetFirstUse(i) &&
                      (LLVMIsAICmpInst(i) || limit_kind(i) != 0);
        }
    return asking > 0 && count <= MAX_INSTRUCTIONS;
}

hd_status hdi_interior_split(struct hdi_llvm *llvm, LLVMModuleRef module,
                             LLVMValueRef kernel, LLVMModuleRef *box,
                             unsigned *known, struct hd_error *error)
{
    struct found inside, around = {0};
    hd_status status = HD_OK;

    *box = NULL;
    if (!may_ask(module, kernel))
        return HD_OK;
    LLVMModuleRef copy = LLVMCloneModule(module);
    find(llvm, copy, LLVMGetNamedFunction(copy, hdi_value_name(kernel)),
         hdi_interior_lower, hdi_interior_upper, &inside);
    *known = inside.count;
    if (!inside.failed && inside.across > 0) {
        find(llvm, module, kernel, hdi_interior_below, hdi_interior_above,
             &around);
        replace(&inside);
        status = hdi_llvm_passes(
            llvm, copy, "function(instsimplify,adce,simplifycfg)", error);
        *box = copy;
    }
    if (inside.failed || around.failed)
        status =
            hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
    if (status != HD_OK || !*box) {
        LLVMDisposeModule(copy);
        *box = NULL;
    }
    free(inside.list);
    free(around.list);
    return status;
}
