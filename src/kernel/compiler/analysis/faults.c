#include "kernel/compiler/analysis/faults.h"

#include "kernel/compiler/ir/note.h"

enum {
    MAX_VALUES = 64 // that are looked at for one quotient
};

// The id along another axis than that of the lanes, which is x (axis.h).
static bool is_of_row(LLVMValueRef value)
{
    enum hdi_call kind = hdi_call_kind(value);

    return (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID) &&
           LLVMIsAConstantInt(LLVMGetOperand(value, 0)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(value, 0)) != 0;
}

// min() and the like, which LLVM looks through as well.
static bool is_intrinsic(LLVMValueRef value)
{
    return LLVMIsACallInst(value) &&
           LLVMIsAFunction(LLVMGetCalledValue(value)) &&
           LLVMGetIntrinsicID(LLVMGetCalledValue(value)) != 0;
}

// Whether all work-items of a row that come there may have the same value, as
// LLVM sees once slots are gone: also of what is stored where some are off.
// `left` is how many more values are looked at; one that grows in a loop uses
// them up.
static bool is_same(const struct hdi_flow *flow, LLVMValueRef value,
                    unsigned *left)
{
    if (!LLVMIsAInstruction(value) || !hdi_flow_is_divergent(flow, value) ||
        is_of_row(value))
        return true;
    if (*left == 0)
        return false;
    --*left;
    bool same = true;
    if (LLVMIsALoadInst(value)) {
        LLVMValueRef slot = LLVMGetOperand(value, 0);
        if (hdi_map_index(&flow->slot_index, slot) == SIZE_MAX)
            return false;
        for (LLVMUseRef u = LLVMGetFirstUse(slot); u && same;
             u = LLVMGetNextUse(u))
            if (LLVMIsAStoreInst(LLVMGetUser(u)))
                same = is_same(flow, LLVMGetOperand(LLVMGetUser(u), 0), left);
        return same;
    }
    if (!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value) &&
        !LLVMIsASelectInst(value) && !LLVMIsACmpInst(value) &&
        !is_intrinsic(value))
        return false;
    for (int o = 0; same && o < LLVMGetNumOperands(value); o++)
        same = is_same(flow, LLVMGetOperand(value, (unsigned)o), left);
    return same;
}

static bool is_quotient(LLVMValueRef x)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    return (code == LLVMUDiv || code == LLVMURem) &&
           !LLVMIsAConstant(LLVMGetOperand(x, 1));
}

static bool has_divergent_branch(const struct hdi_region *region)
{
    const struct hdi_flow *flow = region->flow;

    for (size_t i = 0; i < region->count; i++) {
        LLVMValueRef end =
            LLVMGetBasicBlockTerminator(flow->blocks[region->blocks[i]].block);
        if (LLVMGetNumOperands(end) > 1 &&
            hdi_flow_is_divergent(flow, LLVMGetOperand(end, 0)))
            return true;
    }
    return false;
}

bool hdi_faults_quotient(const struct hdi_region *region)
{
    const struct hdi_flow *flow = region->flow;
    // Behind a return of some, blocks do not diverge (flow.h).
    bool some_return = region->returns && has_divergent_branch(region);

    for (size_t i = 0; i < region->count; i++) {
        const struct hdi_block *block = &flow->blocks[region->blocks[i]];
        if (block->cut || !(block->divergent || (some_return && i > 0)))
            continue;
        for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x;
             x = LLVMGetNextInstruction(x)) {
            unsigned left = MAX_VALUES;
            if (is_quotient(x) && is_same(flow, x, &left)) {
                hdi_note(flow->llvm, x,
                         "serialised: LLVM mistakes a "
                         "quotient that is the same for all");
                return true;
            }
        }
    }
    return false;
}

// Indices that wrap -----------------------------------------------------------

static bool is_divergent(const struct hdi_flow *flow, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) && hdi_flow_is_divergent(flow, value);
}

// The value is what is stored to a slot, or an operand of it: of all of these,
// whether one is `found`. `left` as above; with none left it may be.
static bool any(const struct hdi_flow *flow, LLVMValueRef value,
                bool (*found)(const struct hdi_flow *, LLVMValueRef,
                              unsigned *),
                unsigned *left)
{
    if (!LLVMIsALoadInst(value)) {
        for (int o = 0; o < LLVMGetNumOperands(value); o++)
            if (found(flow, LLVMGetOperand(value, (unsigned)o), left))
                return true;
        return false;
    }
    LLVMValueRef slot = LLVMGetOperand(value, 0);
    if (hdi_map_index(&flow->slot_index, slot) == SIZE_MAX)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(slot); u; u = LLVMGetNextUse(u))
        if (LLVMIsAStoreInst(LLVMGetUser(u)) &&
            found(flow, LLVMGetOperand(LLVMGetUser(u), 0), left))
            return true;
    return false;
}

// Whether it may differ between neighbours by no power of two.
static bool has_step(const struct hdi_flow *flow, LLVMValueRef value,
                     unsigned *left)
{
    if (!is_divergent(flow, value))
        return false;
    if (*left == 0)
        return true;
    --*left;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    LLVMValueRef by =
        LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    if (code == LLVMMul) {
        if (!LLVMIsAConstantInt(by))
            return true;
        uint64_t n = LLVMConstIntGetZExtValue(by);
        return (n & (n - 1)) != 0 || any(flow, value, has_step, left);
    }
    if ((code == LLVMAdd || code == LLVMSub) && is_divergent(flow, by) &&
        is_divergent(flow, LLVMGetOperand(value, 0)))
        return true;
    return any(flow, value, has_step, left);
}

// A mask of low bits, or a number of less than 32 bits that is made wider.
static bool wraps(const struct hdi_flow *flow, LLVMValueRef value,
                  unsigned *left)
{
    if (!is_divergent(flow, value))
        return false;
    if (*left == 0)
        return true;
    --*left;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    unsigned steps = MAX_VALUES;
    if (code == LLVMAnd && LLVMIsAConstantInt(LLVMGetOperand(value, 1))) {
        uint64_t mask = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
        if ((mask & (mask + 1)) == 0 &&
            has_step(flow, LLVMGetOperand(value, 0), &steps))
            return true;
    }
    if (code == LLVMZExt &&
        LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind &&
        LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(value, 0))) < 32 &&
        has_step(flow, LLVMGetOperand(value, 0), &steps))
        return true;
    if (LLVMIsALoadInst(value) || LLVMIsAGetElementPtrInst(value) ||
        LLVMIsABinaryOperator(value) || LLVMIsACastInst(value))
        return any(flow, value, wraps, left);
    return false;
}

bool hdi_faults_wrap(const struct hdi_region *region)
{
    const struct hdi_flow *flow = region->flow;

    for (size_t i = 0; i < region->count; i++)
        for (LLVMValueRef x =
                 LLVMGetFirstInstruction(flow->blocks[region->blocks[i]].block);
             x; x = LLVMGetNextInstruction(x)) {
            unsigned left = MAX_VALUES;
            if ((LLVMIsALoadInst(x) &&
                 wraps(flow, LLVMGetOperand(x, 0), &left)) ||
                (LLVMIsAStoreInst(x) &&
                 wraps(flow, LLVMGetOperand(x, 1), &left))) {
                hdi_note(flow->llvm, x,
                         "serialised: LLVM mistakes an index that wraps");
                return true;
            }
        }
    return false;
}

// Shifts ----------------------------------------------------------------------

static void bound_shift(LLVMValueRef shift)
{
    LLVMValueRef by = LLVMGetOperand(shift, 1);
    LLVMTypeRef type = LLVMTypeOf(by);

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || !LLVMIsConstant(by))
        return;
    LLVMTypeRef element = LLVMGetElementType(type);
    unsigned count = LLVMGetVectorSize(type);
    bool bounded = false;
    LLVMValueRef numbers[64];
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef n = count > 64 ? NULL : LLVMGetAggregateElement(by, i);
        if (!n)
            return;
        bool far = LLVMIsAConstantInt(n) &&
                   LLVMConstIntGetZExtValue(n) >= LLVMGetIntTypeWidth(element);
        numbers[i] = far ? LLVMConstInt(element, 0, false) : n;
        bounded |= far;
    }
    if (bounded)
        LLVMSetOperand(shift, 1, LLVMConstVector(numbers, count));
}

void hdi_faults_bound_shifts(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i)) {
                LLVMOpcode code = LLVMGetInstructionOpcode(i);
                if (code == LLVMShl || code == LLVMLShr || code == LLVMAShr)
                    bound_shift(i);
            }
}
