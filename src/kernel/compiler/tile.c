#include "kernel/compiler/tile.h"

enum {
    LINE = 64,              // of memory [bytes]
    MOST_DEPTH = 24,        // of an address's computation
    UNKNOWN_STEP = 1 << 20, // [bytes], or ids
    DIMENSIONS = 2
};

// By how much a value grows from work-item to work-item in x and in y.
struct steps {
    int64_t in[DIMENSIONS];
};

static const struct steps unknown = {{UNKNOWN_STEP, UNKNOWN_STEP}};

static struct steps of_call(enum hdi_call kind, LLVMValueRef call)
{
    struct steps steps = {{0}};

    if (kind != HDI_CALL_GLOBAL_ID)
        return kind == HDI_CALL_LOCAL_ID ? unknown : steps;
    LLVMValueRef asked = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(asked))
        return unknown;
    uint64_t d = LLVMConstIntGetZExtValue(asked);
    if (d < DIMENSIONS)
        steps.in[d] = 1;
    return steps;
}

static int64_t limited(int64_t step)
{
    return step > -UNKNOWN_STEP && step < UNKNOWN_STEP ? step : UNKNOWN_STEP;
}

static int64_t combined(const struct hdi_llvm *llvm, LLVMValueRef value,
                        int64_t a, int64_t b)
{
    LLVMValueRef second =
        LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;

    if (a == 0 && b == 0)
        return 0;
    if (a == UNKNOWN_STEP || b == UNKNOWN_STEP)
        return UNKNOWN_STEP;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
        return a;
    case LLVMAdd:
        return limited(a + b);
    case LLVMOr:
        return LLVMGetIsDisjoint(value) ? limited(a + b) : UNKNOWN_STEP;
    case LLVMSub:
        return limited(a - b);
    case LLVMMul:
        return LLVMIsAConstantInt(second)
                   ? limited(a * (int32_t)LLVMConstIntGetSExtValue(second))
                   : UNKNOWN_STEP;
    case LLVMShl:
        return LLVMIsAConstantInt(second) &&
                       LLVMConstIntGetZExtValue(second) < 16
                   ? limited(a * (1 << LLVMConstIntGetZExtValue(second)))
                   : UNKNOWN_STEP;
    case LLVMGetElementPtr: {
        int64_t size = (int64_t)LLVMABISizeOfType(
            llvm->layout, LLVMGetGEPSourceElementType(value));
        return size < LINE ? limited(a + b * size) : UNKNOWN_STEP;
    }
    default:
        return UNKNOWN_STEP;
    }
}

static struct steps steps_of(const struct hdi_llvm *llvm,
                             const struct hdi_flow *flow, LLVMValueRef value,
                             unsigned depth)
{
    value = hdi_origin(flow, value);
    if (!LLVMIsAInstruction(value))
        return (struct steps){{0}};
    enum hdi_call kind = hdi_call_kind(value);
    if (kind != HDI_CALL_OTHER)
        return of_call(kind, value);
    int count = LLVMGetNumOperands(value);
    if (depth == MOST_DEPTH || count > 2 || LLVMIsALoadInst(value) ||
        LLVMIsAAllocaInst(value))
        return unknown;

    struct steps steps[2] = {{{0}}};
    for (int i = 0; i < count; i++)
        steps[i] =
            steps_of(llvm, flow, LLVMGetOperand(value, (unsigned)i), depth + 1);
    for (unsigned d = 0; d < DIMENSIONS; d++)
        steps[0].in[d] = combined(llvm, value, steps[0].in[d], steps[1].in[d]);
    return steps[0];
}

static bool is_near(int64_t step)
{
    return step > -LINE && step < LINE;
}

// Neighbours in y are in one line, those in x are not.
static bool is_across(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                      LLVMValueRef pointer)
{
    struct steps steps = steps_of(llvm, flow, pointer, 0);

    return steps.in[1] != 0 && is_near(steps.in[1]) && !is_near(steps.in[0]);
}

bool hdi_tile_pays(const struct hdi_llvm *llvm, const struct hdi_flow *flow)
{
    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[b].block); x;
             x = LLVMGetNextInstruction(x)) {
            bool store = LLVMIsAStoreInst(x) != NULL;
            if ((store || LLVMIsALoadInst(x)) &&
                hdi_map_index(&flow->slot_index, LLVMGetOperand(x, store)) ==
                    SIZE_MAX &&
                is_across(llvm, flow, LLVMGetOperand(x, store)))
                return true;
        }
    return false;
}
