#include "kernel/compiler/analysis/walk.h"

#include "kernel/compiler/ir/low.h"

static bool is_of_x(LLVMValueRef call)
{
    LLVMValueRef d = LLVMGetOperand(call, 0);
    return LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) == 0;
}

// The operand of a comparison, or what that is the lower half of, is a number
// that changes from turn to turn.
static LLVMValueRef index_of(LLVMBasicBlockRef head, LLVMValueRef value)
{
    if (LLVMIsATruncInst(value))
        value = LLVMGetOperand(value, 0);
    return LLVMIsAPHINode(value) && LLVMGetInstructionParent(value) == head
               ? value
               : NULL;
}

// It has no other use, so whoever rewrites the loop may replace it.
static bool find_condition(struct hdi_walk *w)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(w->head);
    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end))
        return false;
    w->condition = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(w->condition) ||
        LLVMGetInstructionParent(w->condition) != w->head ||
        LLVMGetNextUse(LLVMGetFirstUse(w->condition)))
        return false;
    LLVMValueRef left = LLVMGetOperand(w->condition, 0);
    LLVMValueRef right = LLVMGetOperand(w->condition, 1);
    w->predicate = LLVMGetICmpPredicate(w->condition);
    w->index = index_of(w->head, left);
    w->bound = right;
    if (!w->index) {
        w->predicate = hdi_predicate_swapped(w->predicate);
        w->index = index_of(w->head, right);
        w->bound = left;
        left = right;
    }
    w->half = left == w->index ? NULL : left;
    return w->index && LLVMCountIncoming(w->index) == 2 &&
           LLVMGetTypeKind(LLVMTypeOf(w->index)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMTypeOf(left)) >= 32;
}

// NULL: it is no step of all work-items alike.
static LLVMValueRef step_of(LLVMValueRef value)
{
    LLVMValueRef call = hdi_low_whole_of(value);
    enum hdi_call kind = hdi_call_kind(call);

    if (LLVMIsAConstantInt(value))
        return LLVMConstIntGetSExtValue(value) > 0 ? value : NULL;
    return (kind == HDI_CALL_GLOBAL_SIZE || kind == HDI_CALL_LOCAL_SIZE) &&
                   is_of_x(call)
               ? call
               : NULL;
}

// Does the index start as what comes in with number `from`?
static bool starts(struct hdi_walk *w, unsigned from)
{
    LLVMValueRef id = hdi_low_whole_of(LLVMGetIncomingValue(w->index, from));
    LLVMValueRef next = LLVMGetIncomingValue(w->index, 1 - from);
    enum hdi_call kind = hdi_call_kind(id);

    if ((kind != HDI_CALL_LOCAL_ID && kind != HDI_CALL_GLOBAL_ID) ||
        !is_of_x(id) || !LLVMIsAInstruction(next) ||
        LLVMGetInstructionOpcode(next) != LLVMAdd)
        return false;
    bool second = hdi_low_whole_of(LLVMGetOperand(next, 0)) != w->index;
    if (hdi_low_whole_of(LLVMGetOperand(next, second)) != w->index)
        return false;
    w->id = id;
    w->next = next;
    w->step = step_of(LLVMGetOperand(next, !second));
    w->before = LLVMGetIncomingBlock(w->index, from);
    w->latch = LLVMGetIncomingBlock(w->index, 1 - from);
    return w->step != NULL;
}

// A phi node has two values, and either may be the one that comes in first.
bool hdi_walk_find(LLVMBasicBlockRef head, struct hdi_walk *w)
{
    *w = (struct hdi_walk){.head = head};
    return find_condition(w) && (starts(w, 0) || starts(w, 1));
}

// From the call to the index there is one way.
static bool leads_to_index(const struct hdi_walk *w)
{
    for (LLVMValueRef value = w->id; value != w->index;) {
        LLVMUseRef use = LLVMGetFirstUse(value);
        if (!use || LLVMGetNextUse(use))
            return false;
        value = LLVMGetUser(use);
    }
    return true;
}

bool hdi_walk_owns_id(const struct hdi_walk *w)
{
    LLVMValueRef kernel = LLVMGetBasicBlockParent(w->head);
    enum hdi_call kind = hdi_call_kind(w->id);

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (i != w->id && hdi_call_kind(i) == kind &&
                (is_of_x(i) || !LLVMIsAConstantInt(LLVMGetOperand(i, 0))))
                return false;
    return leads_to_index(w);
}

bool hdi_walk_is_short(const struct hdi_walk *w)
{
    return hdi_is_integer(LLVMTypeOf(w->half ? w->half : w->index), 32) &&
           hdi_low_is_enough(w->index, 32, w->next);
}
