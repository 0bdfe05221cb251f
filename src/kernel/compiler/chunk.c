#include "kernel/compiler/chunk.h"

#include <stddef.h>
#include <string.h>

#include "backend/frame.h"

enum {
    MOST_ROW = 2048,     // work-items of a part in x: rows above and below are
                         // still in a near cache when they are needed again
    MOST_CONDITIONS = 8, // one after the other
    MOST_TREE = 16       // instructions that compute a bound
};

static const char stride_name[] = "heddle.stride";
static const char lower_name[] = "heddle.lower", upper_name[] = "heddle.upper";

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

// Conditions ------------------------------------------------------------------

struct finder {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef i32, i64;
};

// Computed from arguments, constants and sizes alone.
static bool is_given(LLVMValueRef value, unsigned *budget)
{
    if (LLVMIsAArgument(value))
        return true;
    if (!LLVMIsAInstruction(value))
        return LLVMIsAConstantInt(value) != NULL;
    if (*budget == 0)
        return false;
    --*budget;

    unsigned operands;
    switch (hdi_call_kind(value)) {
    case HDI_CALL_ENQUEUED_LOCAL_SIZE:
    case HDI_CALL_GLOBAL_SIZE:
    case HDI_CALL_NUM_GROUPS:
    case HDI_CALL_GLOBAL_OFFSET:
        return LLVMIsAConstantInt(LLVMGetOperand(value, 0)) != NULL;
    case HDI_CALL_OTHER:
        break;
    default:
        return false;
    }
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMICmp:
    case LLVMSelect:
        break;
    default:
        return false;
    }
    operands = (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < operands; i++)
        if (!is_given(LLVMGetOperand(value, i), budget))
            return false;
    return true;
}

// The dimension whose global id `value` is, also in 32 bits; -1: none.
static int id_dimension(LLVMValueRef value)
{
    while (LLVMIsATruncInst(value) || LLVMIsASExtInst(value) ||
           LLVMIsAZExtInst(value)) {
        LLVMTypeRef type = LLVMTypeOf(value);
        if (LLVMGetIntTypeWidth(type) < 32)
            return -1;
        value = LLVMGetOperand(value, 0);
    }
    if (hdi_call_kind(value) != HDI_CALL_GLOBAL_ID)
        return -1;
    LLVMValueRef d = LLVMGetOperand(value, 0);
    return LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) < 3
               ? (int)LLVMConstIntGetZExtValue(d)
               : -1;
}

static void state(struct finder *f, const char *name, unsigned d,
                  LLVMValueRef bound)
{
    LLVMTypeRef types[2] = {f->i32, f->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(f->llvm->context),
                                        types, 2, false);
    LLVMValueRef function = LLVMGetNamedFunction(f->module, name);
    if (!function)
        function = LLVMAddFunction(f->module, name, type);
    LLVMValueRef arguments[2] = {LLVMConstInt(f->i32, d, false), bound};
    LLVMBuildCall2(f->builder, type, function, arguments, 2, "");
}

static LLVMValueRef number(struct finder *f, int64_t n)
{
    return LLVMConstInt(f->i64, (uint64_t)n, true);
}

// At least `least`, signed.
static LLVMValueRef at_least(struct finder *f, LLVMValueRef value,
                             int64_t least)
{
    return LLVMBuildSelect(
        f->builder,
        LLVMBuildICmp(f->builder, LLVMIntSGT, value, number(f, least), ""),
        value, number(f, least), "");
}

// One more, but not beyond the largest.
static LLVMValueRef one_more(struct finder *f, LLVMValueRef value)
{
    LLVMValueRef less =
        LLVMBuildICmp(f->builder, LLVMIntNE, value, number(f, -1), "");
    return LLVMBuildAdd(f->builder, value,
                        LLVMBuildZExt(f->builder, less, f->i64, ""), "");
}

static LLVMIntPredicate inverse(LLVMIntPredicate predicate)
{
    switch (predicate) {
    case LLVMIntEQ:
        return LLVMIntNE;
    case LLVMIntNE:
        return LLVMIntEQ;
    case LLVMIntUGT:
        return LLVMIntULE;
    case LLVMIntUGE:
        return LLVMIntULT;
    case LLVMIntULT:
        return LLVMIntUGE;
    case LLVMIntULE:
        return LLVMIntUGT;
    case LLVMIntSGT:
        return LLVMIntSLE;
    case LLVMIntSGE:
        return LLVMIntSLT;
    case LLVMIntSLT:
        return LLVMIntSGE;
    default:
        return LLVMIntSGT;
    }
}

static LLVMIntPredicate swapped(LLVMIntPredicate predicate)
{
    switch (predicate) {
    case LLVMIntUGT:
        return LLVMIntULT;
    case LLVMIntUGE:
        return LLVMIntULE;
    case LLVMIntULT:
        return LLVMIntUGT;
    case LLVMIntULE:
        return LLVMIntUGE;
    case LLVMIntSGT:
        return LLVMIntSLT;
    case LLVMIntSGE:
        return LLVMIntSLE;
    case LLVMIntSLT:
        return LLVMIntSGT;
    case LLVMIntSLE:
        return LLVMIntSGE;
    default:
        return predicate;
    }
}

static bool is_minus_one(LLVMValueRef value)
{
    return LLVMIsAConstantInt(value) && LLVMConstIntGetSExtValue(value) == -1;
}

// State the bounds that `id predicate other` is; false when it is none.
static bool state_comparison(struct finder *f, LLVMIntPredicate predicate,
                             LLVMValueRef id, LLVMValueRef other)
{
    unsigned budget = MOST_TREE;
    int d = id_dimension(id);
    bool shifted = d < 0 && LLVMIsAInstruction(id) &&
                   LLVMGetInstructionOpcode(id) == LLVMAdd &&
                   is_minus_one(LLVMGetOperand(id, 1));

    // id - 1 < other is what id > 0 && id <= other becomes.
    if (shifted)
        d = id_dimension(LLVMGetOperand(id, 0));
    if (d < 0 || (shifted && predicate != LLVMIntULT) ||
        !is_given(other, &budget))
        return false;
    unsigned dim = (unsigned)d;
    bool with_sign = predicate >= LLVMIntSGT;
    if (predicate == LLVMIntNE &&
        (!LLVMIsAConstantInt(other) || LLVMConstIntGetZExtValue(other) != 0))
        return false;

    LLVMValueRef bound = other;
    if (LLVMTypeOf(other) != f->i64)
        bound = with_sign ? LLVMBuildSExt(f->builder, other, f->i64, "")
                          : LLVMBuildZExt(f->builder, other, f->i64, "");
    if (shifted) {
        state(f, lower_name, dim, number(f, 1));
        state(f, upper_name, dim, one_more(f, bound));
        return true;
    }
    switch (predicate) {
    case LLVMIntEQ:
        state(f, lower_name, dim, bound);
        state(f, upper_name, dim, one_more(f, bound));
        return true;
    case LLVMIntNE:
        state(f, lower_name, dim, number(f, 1));
        return true;
    case LLVMIntULT:
        state(f, upper_name, dim, bound);
        return true;
    case LLVMIntULE:
        state(f, upper_name, dim, one_more(f, bound));
        return true;
    case LLVMIntUGE:
        state(f, lower_name, dim, bound);
        return true;
    case LLVMIntUGT:
        state(f, lower_name, dim, one_more(f, bound));
        return true;
    case LLVMIntSLT:
        state(f, upper_name, dim, at_least(f, bound, 0));
        return true;
    case LLVMIntSLE:
        state(
            f, upper_name, dim,
            LLVMBuildAdd(f->builder, at_least(f, bound, -1), number(f, 1), ""));
        return true;
    case LLVMIntSGE:
        state(f, lower_name, dim, at_least(f, bound, 0));
        return true;
    default:
        state(
            f, lower_name, dim,
            LLVMBuildAdd(f->builder, at_least(f, bound, -1), number(f, 1), ""));
        return true;
    }
}

static bool is_constant(LLVMValueRef value, uint64_t wanted)
{
    return LLVMIsAConstantInt(value) &&
           LLVMConstIntGetZExtValue(value) == wanted;
}

// Work-items go on only when `condition` is `wanted`. Of its parts, make bounds
// of those that are comparisons of an id.
static void state_condition(struct finder *f, LLVMValueRef condition,
                            bool wanted)
{
    if (!LLVMIsAInstruction(condition))
        return;
    LLVMOpcode code = LLVMGetInstructionOpcode(condition);

    if (code == LLVMICmp) {
        LLVMIntPredicate predicate = LLVMGetICmpPredicate(condition);
        LLVMValueRef a = LLVMGetOperand(condition, 0);
        LLVMValueRef b = LLVMGetOperand(condition, 1);
        if (LLVMGetTypeKind(LLVMTypeOf(a)) != LLVMIntegerTypeKind)
            return;
        if (!wanted)
            predicate = inverse(predicate);
        if (state_comparison(f, predicate, a, b) ||
            state_comparison(f, swapped(predicate), b, a))
            LLVMReplaceAllUsesWith(
                condition, LLVMConstInt(LLVMTypeOf(condition), wanted, false));
        return;
    }
    if (LLVMGetTypeKind(LLVMTypeOf(condition)) != LLVMIntegerTypeKind)
        return;

    LLVMValueRef a = LLVMGetOperand(condition, 0), b;
    if (code == (wanted ? LLVMAnd : LLVMOr)) {
        b = LLVMGetOperand(condition, 1);
    } else if (code == LLVMXor &&
               is_constant(LLVMGetOperand(condition, 1), 1)) {
        state_condition(f, a, !wanted);
        return;
    } else if (code == LLVMSelect && wanted &&
               is_constant(LLVMGetOperand(condition, 2), 0)) {
        b = LLVMGetOperand(condition, 1); // a && b
    } else if (code == LLVMSelect && !wanted &&
               is_constant(LLVMGetOperand(condition, 1), 1)) {
        b = LLVMGetOperand(condition, 2); // a || b
    } else {
        return;
    }
    state_condition(f, a, wanted);
    state_condition(f, b, wanted);
}

// Without the work-items that leave after it, does the block do the same?
static bool is_pure(LLVMBasicBlockRef block)
{
    unsigned memory = LLVMGetEnumAttributeKindForName("memory", 6);

    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
         i = LLVMGetNextInstruction(i)) {
        if (LLVMIsAStoreInst(i) || LLVMIsAAtomicRMWInst(i) ||
            LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAFenceInst(i) ||
            (LLVMIsALoadInst(i) && LLVMGetVolatile(i)))
            return false;
        if (!LLVMIsACallInst(i) || hdi_call_kind(i) != HDI_CALL_OTHER)
            continue;
        LLVMValueRef callee = LLVMGetCalledValue(i);
        LLVMAttributeRef attribute =
            LLVMIsAFunction(callee)
                ? LLVMGetEnumAttributeAtIndex(
                      callee, LLVMAttributeFunctionIndex, memory)
                : NULL;
        // 0 is none at all; the calls that state bounds are ours.
        bool ours = LLVMIsAFunction(callee) &&
                    (strcmp(hdi_value_name(callee), lower_name) == 0 ||
                     strcmp(hdi_value_name(callee), upper_name) == 0);
        if (!ours && (!attribute || LLVMGetEnumAttributeValue(attribute) != 0))
            return false;
    }
    return true;
}

static bool only_returns(LLVMBasicBlockRef block)
{
    return LLVMIsAReturnInst(LLVMGetFirstInstruction(block)) != NULL;
}

static bool has_one_predecessor(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    return use && !LLVMGetNextUse(use);
}

static unsigned count_returns(LLVMValueRef kernel)
{
    unsigned count = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        count += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(b)) == 0;
    return count;
}

// `value` is `phi`, or its lower half with the sign again.
static bool is_same_id(LLVMValueRef value, LLVMValueRef phi)
{
    if (value == phi)
        return true;
    if (!LLVMIsAInstruction(value))
        return false;
    LLVMValueRef from = LLVMGetOperand(value, 0);
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAShr:
        return is_constant(LLVMGetOperand(value, 1), 32) &&
               LLVMIsAInstruction(from) &&
               LLVMGetInstructionOpcode(from) == LLVMShl &&
               is_constant(LLVMGetOperand(from, 1), 32) &&
               LLVMGetOperand(from, 0) == phi;
    case LLVMAnd:
        return is_constant(LLVMGetOperand(value, 1), 0xffffffff) && from == phi;
    case LLVMSExt:
    case LLVMZExt:
        return from == phi ||
               (LLVMIsATruncInst(from) && LLVMGetOperand(from, 0) == phi);
    default:
        return false;
    }
}

static bool is_global_size(LLVMValueRef value)
{
    if (LLVMIsATruncInst(value))
        value = LLVMGetOperand(value, 0);
    return hdi_call_kind(value) == HDI_CALL_GLOBAL_SIZE &&
           is_constant(LLVMGetOperand(value, 0), 0);
}

// The only call in the kernel that asks for an id in x; NULL when there are
// more.
static LLVMValueRef only_id(LLVMValueRef kernel)
{
    LLVMValueRef only = NULL;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            if (hdi_call_kind(i) != HDI_CALL_GLOBAL_ID)
                continue;
            LLVMValueRef d = LLVMGetOperand(i, 0);
            if (LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) != 0)
                continue;
            if (only || !LLVMIsAConstantInt(d))
                return NULL;
            only = i;
        }
    return only;
}

// A block that ends with a jump back to `head`, the only one; NULL: none.
static LLVMBasicBlockRef only_latch(LLVMValueRef phi, LLVMBasicBlockRef head,
                                    LLVMBasicBlockRef before)
{
    if (LLVMCountIncoming(phi) != 2)
        return NULL;
    unsigned back = LLVMGetIncomingBlock(phi, 0) == before;
    LLVMBasicBlockRef latch = LLVMGetIncomingBlock(phi, back);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(latch);
    return LLVMGetIncomingBlock(phi, 1 - back) == before &&
                   LLVMIsABranchInst(end) && !LLVMIsConditional(end) &&
                   LLVMGetSuccessor(end, 0) == head
               ? latch
               : NULL;
}

// for (i = get_global_id(0); i < n; i += get_global_size(0)), which is all that
// follows: the work-items of all turns are those of a longer range. The loop
// becomes its body once; the chunk goes round instead.
static void straighten(struct finder *f, LLVMBasicBlockRef before,
                       LLVMBasicBlockRef head)
{
    LLVMValueRef kernel = LLVMGetBasicBlockParent(head);
    LLVMValueRef phi = LLVMGetFirstInstruction(head);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(head);
    LLVMValueRef id = only_id(kernel);
    if (!id || !LLVMIsAPHINode(phi) ||
        LLVMIsAPHINode(LLVMGetNextInstruction(phi)) ||
        !LLVMIsABranchInst(end) || !LLVMIsConditional(end) ||
        !only_returns(LLVMGetSuccessor(end, 1)) ||
        // A way out of the body would end the work-item's other turns too.
        !has_one_predecessor(LLVMGetSuccessor(end, 1)) ||
        count_returns(kernel) != 1 || !is_pure(head))
        return;
    LLVMBasicBlockRef latch = only_latch(phi, head, before);
    if (!latch)
        return;

    // The id goes into the loop and nowhere else, perhaps as 32 bits.
    unsigned back = LLVMGetIncomingBlock(phi, 0) == before;
    LLVMValueRef start = LLVMGetIncomingValue(phi, 1 - back);
    LLVMValueRef next = LLVMGetIncomingValue(phi, back);
    LLVMUseRef use = LLVMGetFirstUse(id);
    if ((start != id &&
         (!LLVMIsATruncInst(start) || LLVMGetOperand(start, 0) != id ||
          LLVMGetNextUse(LLVMGetFirstUse(start)))) ||
        !use || LLVMGetNextUse(use) || !LLVMIsAInstruction(next) ||
        LLVMGetInstructionOpcode(next) != LLVMAdd || !LLVMGetFirstUse(next) ||
        LLVMGetNextUse(LLVMGetFirstUse(next)))
        return;
    LLVMValueRef a = LLVMGetOperand(next, 0), b = LLVMGetOperand(next, 1);
    if (!(is_same_id(a, phi) && is_global_size(b)) &&
        !(is_same_id(b, phi) && is_global_size(a)))
        return;

    // It goes on below a bound, and the body knows no way out.
    LLVMValueRef condition = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(condition))
        return;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(condition);
    LLVMValueRef left = LLVMGetOperand(condition, 0);
    LLVMValueRef bound = LLVMGetOperand(condition, 1);
    unsigned budget = MOST_TREE;
    bool narrow = LLVMIsATruncInst(left) && LLVMGetOperand(left, 0) == phi &&
                  LLVMTypeOf(left) == f->i32;
    if ((predicate != LLVMIntSLT && predicate != LLVMIntULT) ||
        (left != phi && !narrow) || !is_given(bound, &budget))
        return;

    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(f->llvm->context),
                                        NULL, 0, false);
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    LLVMSetCurrentDebugLocation2(f->builder, NULL);
    LLVMBuildCall2(f->builder, type,
                   LLVMAddFunction(f->module, stride_name, type), NULL, 0, "");

    // Beside the call, where the emitter sees it.
    LLVMPositionBuilderBefore(f->builder, LLVMGetNextInstruction(id));
    LLVMValueRef half = LLVMBuildTrunc(f->builder, id, f->i32, "");
    for (LLVMUseRef u = LLVMGetFirstUse(phi), after; u; u = after) {
        LLVMValueRef user = LLVMGetUser(u);
        after = LLVMGetNextUse(u);
        if (LLVMIsATruncInst(user) && LLVMTypeOf(user) == f->i32) {
            LLVMReplaceAllUsesWith(user, half);
        } else if (LLVMGetInstructionOpcode(user) == LLVMAnd &&
                   is_same_id(user, phi)) {
            LLVMPositionBuilderBefore(f->builder, user);
            LLVMReplaceAllUsesWith(user,
                                   LLVMBuildZExt(f->builder, half, f->i64, ""));
        } else if (LLVMGetInstructionOpcode(user) == LLVMShl &&
                   is_constant(LLVMGetOperand(user, 1), 32)) {
            LLVMUseRef v = LLVMGetFirstUse(user);
            if (v && !LLVMGetNextUse(v) && is_same_id(LLVMGetUser(v), phi)) {
                LLVMPositionBuilderBefore(f->builder, LLVMGetUser(v));
                LLVMReplaceAllUsesWith(
                    LLVMGetUser(v),
                    LLVMBuildSExt(f->builder, half, f->i64, ""));
            }
        }
    }
    LLVMReplaceAllUsesWith(phi, LLVMTypeOf(phi) == f->i32 ? half : id);
    LLVMInstructionEraseFromParent(phi);
    LLVMPositionBuilderBefore(f->builder, end);
    state_condition(f, LLVMGetCondition(end), true);
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(latch), 0,
                     LLVMGetSuccessor(end, 1));
}

void hdi_chunk_find_bounds(struct hdi_llvm *llvm, LLVMModuleRef module,
                           LLVMBuilderRef builder, LLVMValueRef kernel)
{
    struct finder f = {llvm, module, builder,
                       LLVMInt32TypeInContext(llvm->context),
                       LLVMInt64TypeInContext(llvm->context)};
    LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(kernel);

    for (unsigned n = 0; n < MOST_CONDITIONS && is_pure(block); n++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
        if (!LLVMIsABranchInst(end))
            return;
        LLVMBasicBlockRef next = LLVMGetSuccessor(end, 0);
        if (LLVMIsConditional(end)) {
            bool wanted = only_returns(LLVMGetSuccessor(end, 1));
            if (!wanted && !only_returns(next))
                return;
            LLVMPositionBuilderBefore(builder, end);
            LLVMSetCurrentDebugLocation2(builder, NULL);
            state_condition(&f, LLVMGetCondition(end), wanted);
            next = LLVMGetSuccessor(end, !wanted);
        }
        if (!has_one_predecessor(next)) {
            straighten(&f, block, next);
            return;
        }
        block = next;
    }
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

static LLVMValueRef choose(struct hdi_emit *e, LLVMIntPredicate predicate,
                           LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(
        e->builder, LLVMBuildICmp(e->builder, predicate, a, b, ""), a, b, "");
}

// Narrow `limit` by all calls of `name`, and remove them.
static void take_bounds(struct hdi_emit *e, const char *name,
                        LLVMIntPredicate closer, LLVMValueRef limit[3])
{
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (!function)
        return;
    for (LLVMUseRef u; (u = LLVMGetFirstUse(function)) != NULL;) {
        LLVMValueRef call = LLVMGetUser(u);
        uint64_t d = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0));
        LLVMValueRef bound = hdi_emit_remade(e, LLVMGetOperand(call, 1));
        limit[d] = choose(e, closer, bound, limit[d]);
        LLVMInstructionEraseFromParent(call);
        e->bound_count++;
    }
    LLVMDeleteFunction(function);
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

// Of a straightened kernel the chunk goes round and round, each turn a global
// size further, until nothing is left of it. Returns where a turn ends, and
// what it adds to the ids in x.
static LLVMBasicBlockRef begin_turns(struct hdi_emit *e,
                                     LLVMBasicBlockRef leave,
                                     LLVMValueRef *further)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef function = LLVMGetNamedFunction(e->module, stride_name);

    *further = LLVMConstInt(e->i64, 0, false);
    if (!function)
        return leave;
    LLVMInstructionEraseFromParent(LLVMGetUser(LLVMGetFirstUse(function)));
    LLVMDeleteFunction(function);

    LLVMValueRef at = LLVMBuildAlloca(b, e->i64, "");
    LLVMBasicBlockRef head = append(e, "turn"), next = append(e, "next_turn");
    LLVMBuildStore(b, *further, at);
    LLVMBuildBr(b, head);
    hdi_build_at_end(b, next);
    LLVMBuildStore(
        b,
        LLVMBuildNUWAdd(b, LLVMBuildLoad2(b, e->i64, at, ""), e->global[0], ""),
        at);
    LLVMBuildBr(b, head);
    hdi_build_at_end(b, head);
    *further = LLVMBuildLoad2(b, e->i64, at, "");
    return next;
}

// The box in global ids: first one, and how many.
static void measure(struct hdi_emit *e, LLVMValueRef further,
                    LLVMValueRef first[3], LLVMValueRef count[3])
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef end[3];

    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef size = LLVMBuildZExt(b, e->local_size[d], e->i64, "");
        LLVMValueRef group = LLVMBuildZExt(
            b, field(e, e->i32, offsetof(struct hdi_frame, first) + 4 * d),
            e->i64, "");
        LLVMValueRef groups = LLVMBuildZExt(
            b, field(e, e->i32, offsetof(struct hdi_frame, count) + 4 * d),
            e->i64, "");
        LLVMValueRef start = LLVMBuildNUWMul(b, group, size, "");
        LLVMValueRef stop =
            LLVMBuildNUWMul(b, LLVMBuildNUWAdd(b, group, groups, ""), size, "");
        stop = choose(e, LLVMIntULT, stop, e->global[d]);
        first[d] = LLVMBuildNUWAdd(b, e->offset[d], start, "");
        end[d] = LLVMBuildNUWAdd(b, e->offset[d], stop, "");
    }
    first[0] = LLVMBuildNUWAdd(b, first[0], further, "");
    end[0] = LLVMBuildNUWAdd(b, end[0], further, "");
    take_bounds(e, lower_name, LLVMIntUGT, first);
    take_bounds(e, upper_name, LLVMIntULT, end);
    for (unsigned d = 0; d < 3; d++)
        count[d] = LLVMBuildSelect(
            b, LLVMBuildICmp(b, LLVMIntULT, first[d], end[d], ""),
            LLVMBuildSub(b, end[d], first[d], ""),
            LLVMConstInt(e->i64, 0, false), "");
}

LLVMBasicBlockRef hdi_chunk_begin(struct hdi_emit *e, LLVMBasicBlockRef leave)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef zero = LLVMConstInt(e->i64, 0, false);
    LLVMValueRef most = LLVMConstInt(e->i64, MOST_ROW, false);
    LLVMValueRef first[3], count[3], further;
    LLVMValueRef at = LLVMBuildAlloca(b, e->i64, "");

    LLVMBasicBlockRef done = begin_turns(e, leave, &further);
    measure(e, further, first, count);
    // Dimensions that the kernel does not look at are counted together.
    LLVMValueRef rows = LLVMBuildMul(b, count[1], count[2], "");
    if (!asks_for_dimension(e, 1) && !asks_for_dimension(e, 2)) {
        count[1] = rows;
        count[2] = LLVMConstInt(e->i64, 1, false);
    }
    LLVMValueRef some =
        LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, count[0], zero, ""),
                     LLVMBuildICmp(b, LLVMIntNE, rows, zero, ""), "");
    LLVMBasicBlockRef head = append(e, "part"), next = append(e, "next_part");
    LLVMBuildStore(b, zero, at);
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
    LLVMValueRef zero = LLVMConstInt(e->i64, 0, false);
    LLVMValueRef lanes = LLVMConstInt(e->i64, HDI_LANES, false);
    LLVMValueRef first[3], count[3], at[3], id[3], further;
    LLVMBasicBlockRef head[3], next[3];

    for (unsigned d = 0; d < 3; d++) {
        at[d] = LLVMBuildAlloca(b, e->i64, "");
        head[d] = append(e, "lanes");
        next[d] = append(e, "next_lanes");
    }
    *full = append(e, "full");
    *rest = append(e, "rest");
    LLVMBasicBlockRef done = begin_turns(e, leave, &further);
    measure(e, further, first, count);
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntNE, count[0], zero, "");
    for (unsigned d = 1; d < 3; d++)
        some = LLVMBuildAnd(
            b, some, LLVMBuildICmp(b, LLVMIntNE, count[d], zero, ""), "");
    LLVMBuildStore(b, zero, at[0]);
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
            LLVMBuildStore(b, zero, at[order[n + 1]]);
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
