// Rewritten, with l the local id, i = start + l and all in unsigned numbers:
//
//     before: left = start < bound ? bound - start : 0
//     head:   at, left and what else the loop carries; left > 0? ask : exit
//     ask:    l < left? body : next
//     body:   i = at + l ... latch
//     next:   at += step; left = left > step ? left - step : 0; head
#include "kernel/compiler/transform/strided.h"

#include <llvm-c/DebugInfo.h>

#include "kernel/compiler/ir/low.h"
#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/transform/bounds.h"

enum {
    MAX_BLOCKS = 64, // of a loop
    MAX_CARRIED = 8  // values from one turn to the next
};

struct strided {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef type; // that indices are compared in
    LLVMValueRef index, bound, step;
    LLVMValueRef
        half; // the index's lower 32 bits, of which all is made, or NULL
    LLVMBasicBlockRef before, ask, body, latch, exit;
    LLVMBasicBlockRef blocks[MAX_BLOCKS]; // of the loop, `ask` first
    unsigned block_count;
    LLVMValueRef carried[MAX_CARRIED]; // phi nodes beside the index
    unsigned carried_count;
    bool is_signed, is_below, is_local;
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
    s->blocks[s->block_count++] = s->ask;
    if (s->latch != s->ask)
        s->blocks[s->block_count++] = s->latch;
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

static bool is_by(LLVMValueRef value, LLVMOpcode code, uint64_t operand)
{
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionOpcode(value) == code &&
           hdi_bounds_is_constant(LLVMGetOperand(value, 1), operand);
}

static bool is_of_x(LLVMValueRef call)
{
    return hdi_bounds_is_constant(LLVMGetOperand(call, 0), 0);
}

static bool is_step(LLVMValueRef value)
{
    LLVMValueRef call = hdi_low_whole_of(value);
    enum hdi_call kind = hdi_call_kind(call);

    if (LLVMIsAConstantInt(value))
        return LLVMConstIntGetSExtValue(value) > 0;
    return (kind == HDI_CALL_GLOBAL_SIZE || kind == HDI_CALL_LOCAL_SIZE) &&
           is_of_x(call);
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

// Is the index used by way of its lower half alone?
static bool is_halved(const struct strided *s, LLVMValueRef next)
{
    for (LLVMUseRef u = LLVMGetFirstUse(s->index); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (user == next || is_by(user, LLVMAnd, 0xffffffff) ||
            (LLVMIsATruncInst(user) && LLVMTypeOf(user) == s->type))
            continue;
        if (!is_by(user, LLVMShl, 32))
            return false;
        for (LLVMUseRef v = LLVMGetFirstUse(user); v; v = LLVMGetNextUse(v)) {
            LLVMValueRef shift = LLVMGetUser(v);
            if (!LLVMIsAInstruction(shift) ||
                LLVMGetInstructionOpcode(shift) != LLVMAShr ||
                !LLVMIsAConstantInt(LLVMGetOperand(shift, 1)) ||
                LLVMConstIntGetZExtValue(LLVMGetOperand(shift, 1)) > 32 ||
                LLVMConstIntGetZExtValue(LLVMGetOperand(shift, 1)) == 0)
                return false;
        }
    }
    return LLVMGetIntTypeWidth(s->type) == 32;
}

// A number that changes from turn to turn, or its lower half.
static bool is_index(const struct strided *s, LLVMValueRef value)
{
    if (LLVMIsATruncInst(value))
        value = LLVMGetOperand(value, 0);
    return LLVMIsAPHINode(value) && LLVMGetInstructionParent(value) == s->ask;
}

static bool find_index(struct strided *s, LLVMValueRef condition)
{
    if (!LLVMIsAICmpInst(condition) ||
        LLVMGetInstructionParent(condition) != s->ask ||
        LLVMGetNextUse(LLVMGetFirstUse(condition)))
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
    bool turned = !is_index(s, LLVMGetOperand(condition, 0));
    if (turned)
        p = p == LLVMIntSGT   ? LLVMIntSLT
            : p == LLVMIntUGT ? LLVMIntULT
                              : LLVMIntEQ;
    s->index = LLVMGetOperand(condition, turned);
    s->bound = LLVMGetOperand(condition, !turned);
    s->type = LLVMTypeOf(s->index);
    if (LLVMIsATruncInst(s->index)) {
        s->half = s->index;
        s->index = LLVMGetOperand(s->half, 0);
    }
    if (!is_index(s, s->index) || LLVMCountIncoming(s->index) != 2)
        return false;
    s->is_signed = p == LLVMIntSLT;
    s->is_below = p == LLVMIntSLT || p == LLVMIntULT;
    return LLVMGetIntTypeWidth(s->type) >= 32;
}

// Where the loop comes from and goes back to, and by what steps.
static bool find_step(struct strided *s)
{
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef start = LLVMGetIncomingValue(s->index, i);
        LLVMValueRef next = LLVMGetIncomingValue(s->index, 1 - i);
        LLVMValueRef id = hdi_low_whole_of(start);
        enum hdi_call kind = hdi_call_kind(id);
        if ((kind != HDI_CALL_LOCAL_ID && kind != HDI_CALL_GLOBAL_ID) ||
            !is_of_x(id) || !LLVMIsAInstruction(next) ||
            LLVMGetInstructionOpcode(next) != LLVMAdd)
            continue;
        bool first = hdi_low_whole_of(LLVMGetOperand(next, 0)) == s->index;
        s->step = LLVMGetOperand(next, first);
        s->before = LLVMGetIncomingBlock(s->index, i);
        s->latch = LLVMGetIncomingBlock(s->index, 1 - i);
        s->is_local = kind == HDI_CALL_LOCAL_ID;
        return hdi_low_whole_of(LLVMGetOperand(next, !first)) == s->index &&
               is_step(s->step) && (!s->half || is_halved(s, next));
    }
    return false;
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
static bool find_carried(struct strided *s, LLVMValueRef condition)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(s->ask);
         !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x)) {
        if (x == s->index || x == s->half || x == condition)
            continue;
        if (!LLVMIsAPHINode(x) || s->carried_count == MAX_CARRIED)
            return false;
        s->carried[s->carried_count++] = x;
    }
    return is_used_within(s, s->index) &&
           (!s->half || is_used_within(s, s->half));
}

// Why a loop that starts at an id is not one of the group; NULL: it is.
static const char *reason_against(struct strided *s, LLVMValueRef condition)
{
    LLVMValueRef into = LLVMGetBasicBlockTerminator(s->before);
    LLVMValueRef back = LLVMGetBasicBlockTerminator(s->latch);

    if (!s->is_below)
        return "its condition is no `<`";
    if (!is_bound(s->bound) || (LLVMIsAInstruction(s->bound) &&
                                LLVMGetInstructionParent(s->bound) == s->ask))
        return "its bound is no argument, constant or local size";
    if (LLVMGetNumSuccessors(into) != 1 || LLVMGetNumSuccessors(back) != 1 ||
        s->latch == s->ask)
        return "it is not entered or gone on with in one place";
    if (!find_blocks(s))
        return "it has too many branches";
    if (!is_within(s, s->body) || is_within(s, s->exit) ||
        is_within(s, s->before) || !hdi_bounds_has_one_predecessor(s->body) ||
        LLVMIsAPHINode(LLVMGetFirstInstruction(s->body)))
        return "it is not entered or gone on with in one place";
    const char *reason = reason_against_closed(s);
    if (!reason && !find_carried(s, condition))
        reason = "its index is needed behind it, or too much goes from turn to "
                 "turn";
    return reason;
}

static bool find(struct strided *s)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(s->ask);
    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end))
        return false;
    LLVMValueRef condition = LLVMGetCondition(end);
    s->body = LLVMGetSuccessor(end, 0);
    s->exit = LLVMGetSuccessor(end, 1);
    if (!find_index(s, condition) || !find_step(s))
        return false;
    const char *reason = reason_against(s, condition);
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
    if (s->is_local)
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
    if (LLVMIsAConstantInt(s->step))
        return s->step;
    return in_type(s, hdi_build_call(s->llvm, s->module, s->builder,
                                     hdi_call_kind(hdi_low_whole_of(s->step))));
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

// All that is made of the index's lower half is made of `half`.
static void replace_halves(const struct strided *s, LLVMValueRef half)
{
    LLVMBuilderRef b = s->builder;
    LLVMTypeRef type = LLVMTypeOf(s->index);

    for (LLVMUseRef u = LLVMGetFirstUse(s->index); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMPositionBuilderBefore(b, user);
        if (LLVMIsATruncInst(user)) {
            LLVMReplaceAllUsesWith(user, half);
        } else if (LLVMGetInstructionOpcode(user) == LLVMAnd) {
            LLVMReplaceAllUsesWith(user, LLVMBuildZExt(b, half, type, ""));
        } else if (LLVMGetInstructionOpcode(user) == LLVMShl) {
            for (LLVMUseRef v = LLVMGetFirstUse(user); v;
                 v = LLVMGetNextUse(v)) {
                LLVMValueRef shift = LLVMGetUser(v);
                uint64_t less =
                    32 - LLVMConstIntGetZExtValue(LLVMGetOperand(shift, 1));
                LLVMPositionBuilderBefore(b, shift);
                LLVMValueRef wide = LLVMBuildSExt(b, half, type, "");
                if (less > 0) {
                    wide = LLVMBuildShl(b, wide,
                                        LLVMConstInt(type, less, false), "");
                    LLVMSetNSW(wide, true);
                }
                LLVMReplaceAllUsesWith(shift, wide);
            }
        }
    }
    LLVMReplaceAllUsesWith(s->index, LLVMGetUndef(type));
}

static void rewrite(struct strided *s)
{
    LLVMContextRef c = s->llvm->context;
    LLVMBuilderRef b = s->builder;
    LLVMValueRef kernel = LLVMGetBasicBlockParent(s->ask);
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(c, kernel, "stride");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(c, kernel, "strode");
    LLVMBasicBlockRef from[] = {s->before, next},
                      to_next[] = {s->latch, s->ask};

    LLVMValueRef end = LLVMGetBasicBlockTerminator(s->ask);
    LLVMMetadataRef where = LLVMInstructionGetDebugLoc(end);
    LLVMValueRef into = LLVMGetBasicBlockTerminator(s->before);
    LLVMPositionBuilderBefore(b, into);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMValueRef id =
        in_type(s, hdi_build_call(s->llvm, s->module, b, HDI_CALL_LOCAL_ID));
    LLVMValueRef start = write_start(s), step = write_step(s);
    // The difference of signed numbers too is right as one without a sign.
    LLVMValueRef all =
        less(s, s->is_signed ? LLVMIntSGT : LLVMIntUGT, s->bound, start);
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
        s->ask, s->exit);
    LLVMSetMetadata(branch, kind_of(s->llvm),
                    LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, NULL, 0)));

    hdi_build_at_end(b, next);
    for (unsigned i = 0; i < s->carried_count; i++) {
        LLVMValueRef both[] = {incoming(s->carried[i], s->latch), values[i]};
        LLVMValueRef after = LLVMBuildPhi(b, LLVMTypeOf(values[i]), "");
        LLVMAddIncoming(after, both, to_next, 2);
        LLVMValueRef turns[] = {incoming(s->carried[i], s->before), after};
        LLVMAddIncoming(values[i], turns, from, 2);
    }
    LLVMValueRef ats[] = {start, LLVMBuildAdd(b, at, step, "")};
    LLVMValueRef lefts[] = {all, less(s, LLVMIntUGT, left, step)};
    LLVMAddIncoming(at, ats, from, 2);
    LLVMAddIncoming(left, lefts, from, 2);
    LLVMBuildBr(b, head);

    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(s->latch), 0, next);
    replace_incoming(b, s->exit, s->ask, head);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(s->body));
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMValueRef index = LLVMBuildAdd(b, at, id, "");
    (s->is_signed ? LLVMSetNSW : LLVMSetNUW)(index, true);
    LLVMPositionBuilderBefore(b, end);
    LLVMValueRef old = LLVMGetCondition(end);
    LLVMSetCondition(end, LLVMBuildICmp(b, LLVMIntULT, id, left, ""));
    LLVMSetSuccessor(end, 1, next);
    LLVMInstructionEraseFromParent(old);
    if (s->half) {
        replace_halves(s, index);
        LLVMInstructionEraseFromParent(s->half);
    } else {
        LLVMReplaceAllUsesWith(s->index, index);
    }
    LLVMInstructionEraseFromParent(s->index);
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
        struct strided s = {
            .llvm = llvm, .module = module, .builder = builder, .ask = b};
        if (find(&s))
            rewrite(&s);
        if (b == last)
            break;
    }
}
