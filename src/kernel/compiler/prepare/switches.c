#include "kernel/compiler/prepare/switches.h"

#include <string.h>

// All cases are computed where one was: past that the branch is cheaper.
enum {
    MAX_CASES = 16,       // of a switch that becomes selects
    MAX_INSTRUCTIONS = 16 // of all its cases
};

// A switch, whose operands are its condition, the default, and pairs of a
// number and a block.
// A case may be the join itself: it computes nothing.
//
//           from
//         /  |   \          is[i]: the condition is numbers[i]
//     b[0] b[1] b[2]        value = is[2] ? v2 : is[1] ? v1 : v0
//         \  |   /
//           join
struct cases {
    LLVMValueRef end; // the switch
    LLVMBasicBlockRef from, join;
    unsigned count;                          // with the default, the first
    LLVMBasicBlockRef blocks[MAX_CASES + 1]; // or the join itself
    LLVMValueRef numbers[MAX_CASES + 1];
};

static bool is_cheap_call(LLVMValueRef x)
{
    static const char *const names[] = {
        "llvm.fshl.", "llvm.fshr.", "llvm.umin.", "llvm.umax.",
        "llvm.smin.", "llvm.smax.", "llvm.abs.",  "llvm.bswap."};
    LLVMValueRef f = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;

    if (!f || !LLVMIsAFunction(f))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(hdi_value_name(f), names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

// May it be done for nothing?
static bool is_cheap(LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMFDiv:
    case LLVMFRem:
        return false;
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMGetElementPtr:
        return true;
    default:
        return LLVMIsABinaryOperator(x) || LLVMIsACastInst(x) ||
               is_cheap_call(x);
    }
}

static bool has_phi(LLVMBasicBlockRef block)
{
    return LLVMIsAPHINode(LLVMGetFirstInstruction(block)) != NULL;
}

// Only this switch goes there.
static bool is_of(LLVMBasicBlockRef block, LLVMValueRef end)
{
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u;
         u = LLVMGetNextUse(u))
        if (LLVMGetUser(u) != end)
            return false;
    return true;
}

// What cannot happen, by the default, takes the way of the first case.
static void drop_unreachable(LLVMValueRef end)
{
    LLVMBasicBlockRef other = LLVMGetSwitchDefaultDest(end);

    if (LLVMGetNumOperands(end) < 4 ||
        !LLVMIsAUnreachableInst(LLVMGetFirstInstruction(other)))
        return;
    LLVMBasicBlockRef from = LLVMGetInstructionParent(end);
    LLVMBasicBlockRef to = LLVMValueAsBasicBlock(LLVMGetOperand(end, 3));
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to); LLVMIsAPHINode(phi);
         phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            if (LLVMGetIncomingBlock(phi, i) == from) {
                LLVMValueRef value = LLVMGetIncomingValue(phi, i);
                LLVMAddIncoming(phi, &value, &from, 1);
                break;
            }
    LLVMSetOperand(end, 1, LLVMBasicBlockAsValue(to));
}

// Where a case ends; NULL: it does more than compute.
static LLVMBasicBlockRef end_of(LLVMBasicBlockRef block, unsigned *left)
{
    LLVMValueRef x = LLVMGetFirstInstruction(block);

    for (; !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x)) {
        if (!is_cheap(x) || *left == 0)
            return NULL;
        --*left;
    }
    return LLVMIsABranchInst(x) && LLVMGetNumOperands(x) == 1
               ? LLVMValueAsBasicBlock(LLVMGetOperand(x, 0))
               : NULL;
}

// Twice over the cases: the first look only finds the join, so `left` begins
// anew. False: nothing has been changed.
static bool find(LLVMValueRef end, struct cases *c)
{
    unsigned pairs = (unsigned)LLVMGetNumOperands(end) / 2 - 1;
    unsigned left = MAX_INSTRUCTIONS;

    *c = (struct cases){.end = end, .from = LLVMGetInstructionParent(end)};
    if (pairs > MAX_CASES)
        return false;
    c->blocks[c->count++] = LLVMGetSwitchDefaultDest(end);
    for (unsigned i = 1; i <= pairs; i++) {
        c->numbers[c->count] = LLVMGetOperand(end, 2 * i);
        c->blocks[c->count++] =
            LLVMValueAsBasicBlock(LLVMGetOperand(end, 2 * i + 1));
    }
    // The join is where the first that is not the join itself ends.
    for (unsigned i = 0; i < c->count && !c->join; i++)
        if (is_of(c->blocks[i], end) && !has_phi(c->blocks[i]))
            c->join = end_of(c->blocks[i], &left);
    if (!c->join || c->join == c->from)
        return false;
    left = MAX_INSTRUCTIONS;
    for (unsigned i = 0; i < c->count; i++) {
        LLVMBasicBlockRef block = c->blocks[i];
        if (block != c->join && (!is_of(block, end) || has_phi(block) ||
                                 end_of(block, &left) != c->join))
            return false;
    }
    return true;
}

// What a phi node of the join has for one case.
static LLVMValueRef value_of(LLVMValueRef phi, const struct cases *c,
                             unsigned number)
{
    LLVMBasicBlockRef from =
        c->blocks[number] == c->join ? c->from : c->blocks[number];

    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return NULL;
}

static bool is_of_cases(const struct cases *c, LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->blocks[i] == block)
            return true;
    return block == c->from;
}

// The phi node again, with one value for all cases.
static void replace_phi(LLVMBuilderRef b, LLVMValueRef phi,
                        const struct cases *c, const LLVMValueRef *is)
{
    LLVMPositionBuilderBefore(b, c->end);
    LLVMValueRef value = value_of(phi, c, 0);
    for (unsigned i = 1; i < c->count; i++)
        value = LLVMBuildSelect(b, is[i], value_of(phi, c, i), value, "");

    LLVMPositionBuilderBefore(b, phi);
    LLVMValueRef all = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
    LLVMBasicBlockRef from = c->from;
    LLVMAddIncoming(all, &value, &from, 1);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef other = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef its = LLVMGetIncomingValue(phi, i);
        if (!is_of_cases(c, other))
            LLVMAddIncoming(all, &its, &other, 1);
    }
    LLVMReplaceAllUsesWith(phi, all);
    LLVMInstructionEraseFromParent(phi);
}

// What the cases compute moves before the switch, in their order; blocks are
// deleted last, each once, though several numbers may lead to one.
static void flatten(LLVMBuilderRef b, const struct cases *c)
{
    LLVMValueRef is[MAX_CASES + 1];
    LLVMValueRef condition = LLVMGetOperand(c->end, 0);

    for (unsigned i = 0; i < c->count; i++) {
        if (c->blocks[i] == c->join)
            continue;
        LLVMPositionBuilderBefore(b, c->end);
        for (LLVMValueRef x = LLVMGetFirstInstruction(c->blocks[i]), next;
             !LLVMIsATerminatorInst(x); x = next) {
            next = LLVMGetNextInstruction(x);
            LLVMInstructionRemoveFromParent(x);
            LLVMInsertIntoBuilder(b, x);
        }
    }
    LLVMPositionBuilderBefore(b, c->end);
    LLVMSetCurrentDebugLocation2(b, NULL);
    for (unsigned i = 1; i < c->count; i++)
        is[i] = LLVMBuildICmp(b, LLVMIntEQ, condition, c->numbers[i], "");
    for (LLVMValueRef phi = LLVMGetFirstInstruction(c->join), next;
         LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        replace_phi(b, phi, c, is);
    }
    LLVMPositionBuilderBefore(b, c->end);
    LLVMBuildBr(b, c->join);
    LLVMInstructionEraseFromParent(c->end);
    for (unsigned i = 0; i < c->count; i++) {
        bool again = c->blocks[i] == c->join;
        for (unsigned k = 0; k < i; k++)
            again |= c->blocks[k] == c->blocks[i];
        if (!again)
            LLVMDeleteBasicBlock(c->blocks[i]);
    }
}

void hdi_switches_flatten(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);
    struct cases c;

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
            if (!LLVMIsASwitchInst(end))
                continue;
            drop_unreachable(end);
            if (find(end, &c))
                flatten(builder, &c);
        }
    LLVMDisposeBuilder(builder);
}
