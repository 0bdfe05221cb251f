// Rewritten, with l the local id, i = start + l and all in unsigned numbers:
//
//     before: left = start < bound ? bound - start : 0
//     head:   at, left and what else the loop carries; left > 0? ask : exit
//     ask:    l < left? body : next
//     body:   i = at + l ... latch
//     next:   at += step; left = left > step ? left - step : 0; head
#include "kernel/compiler/transform/strided.h"

#include <llvm-c/DebugInfo.h>

#include "kernel/compiler/analysis/walk.h"
#include "kernel/compiler/ir/low.h"
#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/limits/bounds.h"

enum {
    MAX_BLOCKS = 64, // of a loop
    MAX_CARRIED = 8  // values from one turn to the next
};

struct strided {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    struct hdi_walk walk;
    LLVMTypeRef type; // that indices are compared in
    LLVMBasicBlockRef body, exit;
    LLVMBasicBlockRef blocks[MAX_BLOCKS]; // of the loop, its head first
    unsigned block_count;
    LLVMValueRef carried[MAX_CARRIED]; // phi nodes beside the index
    unsigned carried_count;
};

static const char kind_name[] = "heddle.strided";

static unsigned kind_of(const struct hdi_llvm *llvm)
{
    return LLVMGetMDKindIDInContext(llvm->context, kind_name,
                                    sizeof(kind_name) - 1);
}

bool hdi_is_strided(const struct hdi_llvm *llvm, LLVMValueRef branch)
{
    return LLVMGetMetadata(branch, kind_of(llvm)) != NULL;
}

// Finding ---------------------------------------------------------------------

static bool is_within(const struct strided *s, LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < s->block_count; i++)
        if (s->blocks[i] == block)
            return true;
    return false;
}

// The blocks from which a way leads to the latch; false: too many.
static bool find_blocks(struct strided *s)
{
    s->blocks[s->block_count++] = s->walk.head;
    if (s->walk.latch != s->walk.head)
        s->blocks[s->block_count++] = s->walk.latch;
    for (unsigned i = 1; i < s->block_count; i++)
        for (LLVMUseRef u =
                 LLVMGetFirstUse(LLVMBasicBlockAsValue(s->blocks[i]));
             u; u = LLVMGetNextUse(u)) {
            LLVMValueRef user = LLVMGetUser(u);
            if (!LLVMIsATerminatorInst(user))
                continue;
            LLVMBasicBlockRef from = LLVMGetInstructionParent(user);
            if (is_within(s, from))
                continue;
            if (s->block_count == MAX_BLOCKS)
                return false;
            s->blocks[s->block_count++] = from;
        }
    return true;
}

// What keeps the loop from having one way out and no barrier within; NULL:
// nothing.
static const char *reason_against_closed(const struct strided *s)
{
    for (unsigned i = 0; i < s->block_count; i++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(s->blocks[i]);
        unsigned count = LLVMGetNumSuccessors(end);
        for (unsigned k = 0; k < count && i > 0; k++)
            if (!is_within(s, LLVMGetSuccessor(end, k)))
                return "there is another way out of it";
        if (count == 0)
            return "there is another way out of it";
        for (LLVMValueRef x = LLVMGetFirstInstruction(s->blocks[i]); x;
             x = LLVMGetNextInstruction(x))
            if (hdi_call_is_barrier(hdi_call_kind(x)))
                return "there is a barrier in it";
    }
    return NULL;
}

static bool is_bound(LLVMValueRef value)
{
    LLVMValueRef call = hdi_low_whole_of(value);
    return hdi_bounds_is_given(value) ||
           (hdi_call_kind(call) == HDI_CALL_LOCAL_SIZE &&
            LLVMIsAConstantInt(LLVMGetOperand(call, 0)));
}

// The number that comes into `phi` from `block`.
static LLVMValueRef incoming(LLVMValueRef phi, LLVMBasicBlockRef block)
{
    return LLVMGetIncomingValue(phi, LLVMGetIncomingBlock(phi, 0) != block);
}

static bool is_used_within(const struct strided *s, LLVMValueRef value)
{
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u))
        if (!is_within(s, LLVMGetInstructionParent(LLVMGetUser(u))))
            return false;
    return true;
}

// Nothing but phi nodes and the comparison at the head; the index is not needed
// behind the loop.
static bool find_carried(struct strided *s)
{
    const struct hdi_walk *w = &s->walk;

    for (LLVMValueRef x = LLVMGetFirstInstruction(w->head);
         !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x)) {
        if (x == w->index || x == w->half || x == w->condition)
            continue;
        if (!LLVMIsAPHINode(x) || s->carried_count == MAX_CARRIED)
            return false;
        s->carried[s->carried_count++] = x;
    }
    return is_used_within(s, w->index) &&
           (!w->half || is_used_within(s, w->half));
}

// Why a loop that starts at an id is not one of the group; NULL: it is.
static const char *reason_against(struct strided *s)
{
    const struct hdi_walk *w = &s->walk;
    LLVMValueRef into = LLVMGetBasicBlockTerminator(w->before);
    LLVMValueRef back = LLVMGetBasicBlockTerminator(w->latch);

    if (w->predicate != LLVMIntSLT && w->predicate != LLVMIntULT)
        return "its condition is no `<`";
    if (!is_bound(s->walk.bound) ||
        (LLVMIsAInstruction(s->walk.bound) &&
         LLVMGetInstructionParent(s->walk.bound) == s->walk.head))
        return "its bound is no argument, constant or local size";
    if (LLVMGetNumSuccessors(into) != 1 || LLVMGetNumSuccessors(back) != 1 ||
        s->walk.latch == s->walk.head)
        return "it is not entered or gone on with in one place";
    if (!find_blocks(s))
        return "it has too many branches";
    if (!is_within(s, s->body) || is_within(s, s->exit) ||
        is_within(s, s->walk.before) ||
        !hdi_bounds_has_one_predecessor(s->body) ||
        LLVMIsAPHINode(LLVMGetFirstInstruction(s->body)))
        return "it is not entered or gone on with in one place";
    const char *reason = reason_against_closed(s);
    if (!reason && !find_carried(s))
        reason = "its index is needed behind it, or too much goes from turn to "
                 "turn";
    return reason;
}

static bool find(struct strided *s, LLVMBasicBlockRef head)
{
    struct hdi_walk *w = &s->walk;
    if (!hdi_walk_find(head, w) || (w->half && !hdi_walk_is_short(w)))
        return false;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(head);
    s->type = LLVMTypeOf(w->half ? w->half : w->index);
    s->body = LLVMGetSuccessor(end, 0);
    s->exit = LLVMGetSuccessor(end, 1);
    const char *reason = reason_against(s);
    if (reason)
        hdi_note(s->llvm, end, "divergent loop: %s", reason);
    return !reason;
}

// Writing ---------------------------------------------------------------------

static LLVMValueRef in_type(const struct strided *s, LLVMValueRef value)
{
    return LLVMBuildTruncOrBitCast(s->builder, value, s->type, "");
}

// The index of work-item 0 of the group.
static LLVMValueRef write_start(const struct strided *s)
{
    if (hdi_call_kind(s->walk.id) == HDI_CALL_LOCAL_ID)
        return LLVMConstNull(s->type);
    LLVMValueRef group =
        hdi_build_call(s->llvm, s->module, s->builder, HDI_CALL_GROUP_ID);
    LLVMValueRef size = hdi_build_call(s->llvm, s->module, s->builder,
                                       HDI_CALL_ENQUEUED_LOCAL_SIZE);
    LLVMValueRef offset =
        hdi_build_call(s->llvm, s->module, s->builder, HDI_CALL_GLOBAL_OFFSET);
    return in_type(s, LLVMBuildAdd(s->builder,
                                   LLVMBuildMul(s->builder, group, size, ""),
                                   offset, ""));
}

static LLVMValueRef write_step(const struct strided *s)
{
    LLVMValueRef step = s->walk.step;
    if (LLVMIsAConstantInt(step))
        return in_type(s, step);
    return in_type(
        s, hdi_build_call(s->llvm, s->module, s->builder, hdi_call_kind(step)));
}

// `value` less `by`, 0 when that is more.
static LLVMValueRef less(const struct strided *s, LLVMIntPredicate is_more,
                         LLVMValueRef value, LLVMValueRef by)
{
    return LLVMBuildSelect(
        s->builder, LLVMBuildICmp(s->builder, is_more, value, by, ""),
        LLVMBuildSub(s->builder, value, by, ""), LLVMConstNull(s->type), "");
}

// In the phi nodes of `block`, `to` takes the place of `from`.
static void replace_incoming(LLVMBuilderRef builder, LLVMBasicBlockRef block,
                             LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(block), next;
         LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMPositionBuilderBefore(builder, phi);
        LLVMValueRef copy = LLVMBuildPhi(builder, LLVMTypeOf(phi), "");
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            LLVMValueRef value = LLVMGetIncomingValue(phi, i);
            LLVMBasicBlockRef source = LLVMGetIncomingBlock(phi, i);
            if (source == from)
                source = to;
            LLVMAddIncoming(copy, &value, &source, 1);
        }
        LLVMReplaceAllUsesWith(phi, copy);
        LLVMInstructionEraseFromParent(phi);
    }
}

static void rewrite(struct strided *s)
{
    LLVMContextRef c = s->llvm->context;
    LLVMBuilderRef b = s->builder;
    LLVMValueRef kernel = LLVMGetBasicBlockParent(s->walk.head);
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(c, kernel, "stride");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(c, kernel, "strode");
    LLVMBasicBlockRef from[] = {s->walk.before, next},
                      to_next[] = {s->walk.latch, s->walk.head};

    LLVMValueRef end = LLVMGetBasicBlockTerminator(s->walk.head);
    LLVMMetadataRef where = LLVMInstructionGetDebugLoc(end);
    LLVMValueRef into = LLVMGetBasicBlockTerminator(s->walk.before);
    LLVMPositionBuilderBefore(b, into);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMValueRef id =
        in_type(s, hdi_build_call(s->llvm, s->module, b, HDI_CALL_LOCAL_ID));
    LLVMValueRef start = write_start(s), step = write_step(s);
    bool is_signed = s->walk.predicate == LLVMIntSLT;
    // The difference of signed numbers too is right as one without a sign.
    LLVMValueRef all =
        less(s, is_signed ? LLVMIntSGT : LLVMIntUGT, s->walk.bound, start);
    LLVMSetSuccessor(into, 0, head);

    hdi_build_at_end(b, head);
    LLVMSetCurrentDebugLocation2(b, where);
    LLVMValueRef at = LLVMBuildPhi(b, s->type, "");
    LLVMValueRef left = LLVMBuildPhi(b, s->type, "");
    LLVMValueRef values[MAX_CARRIED];
    for (unsigned i = 0; i < s->carried_count; i++)
        values[i] = LLVMBuildPhi(b, LLVMTypeOf(s->carried[i]), "");
    LLVMValueRef branch = LLVMBuildCondBr(
        b, LLVMBuildICmp(b, LLVMIntNE, left, LLVMConstNull(s->type), ""),
        s->walk.head, s->exit);
    LLVMSetMetadata(branch, kind_of(s->llvm),
                    LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, NULL, 0)));

    hdi_build_at_end(b, next);
    for (unsigned i = 0; i < s->carried_count; i++) {
        LLVMValueRef both[] = {incoming(s->carried[i], s->walk.latch),
                               values[i]};
        LLVMValueRef after = LLVMBuildPhi(b, LLVMTypeOf(values[i]), "");
        LLVMAddIncoming(after, both, to_next, 2);
        LLVMValueRef turns[] = {incoming(s->carried[i], s->walk.before), after};
        LLVMAddIncoming(values[i], turns, from, 2);
    }
    LLVMValueRef ats[] = {start, LLVMBuildAdd(b, at, step, "")};
    LLVMValueRef lefts[] = {all, less(s, LLVMIntUGT, left, step)};
    LLVMAddIncoming(at, ats, from, 2);
    LLVMAddIncoming(left, lefts, from, 2);
    LLVMBuildBr(b, head);

    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(s->walk.latch), 0, next);
    replace_incoming(b, s->exit, s->walk.head, head);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(s->body));
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMValueRef index = LLVMBuildAdd(b, at, id, "");
    (is_signed ? LLVMSetNSW : LLVMSetNUW)(index, true);
    LLVMPositionBuilderBefore(b, end);
    LLVMValueRef old = LLVMGetCondition(end);
    LLVMSetCondition(end, LLVMBuildICmp(b, LLVMIntULT, id, left, ""));
    LLVMSetSuccessor(end, 1, next);
    LLVMInstructionEraseFromParent(old);
    if (s->walk.half) {
        hdi_low_rebuild(b, s->walk.index, index);
        LLVMInstructionEraseFromParent(s->walk.half);
        index = LLVMGetUndef(LLVMTypeOf(s->walk.index));
    }
    LLVMReplaceAllUsesWith(s->walk.index, index);
    LLVMInstructionEraseFromParent(s->walk.index);
    for (unsigned i = 0; i < s->carried_count; i++) {
        LLVMReplaceAllUsesWith(s->carried[i], values[i]);
        LLVMInstructionEraseFromParent(s->carried[i]);
    }
}

void hdi_strided_rewrite(struct hdi_llvm *llvm, LLVMModuleRef module,
                         LLVMBuilderRef builder, LLVMValueRef kernel)
{
    LLVMBasicBlockRef last = LLVMGetLastBasicBlock(kernel);

    // Not those that are written on the way.
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel);;
         b = LLVMGetNextBasicBlock(b)) {
        struct strided s = {.llvm = llvm, .module = module, .builder = builder};
        if (find(&s, b))
            rewrite(&s);
        if (b == last)
            break;
    }
}
