#include "kernel/compiler/analysis/tile.h"

#include "kernel/compiler/analysis/steps.h"

enum {
    MAX_DEPTH = 24, // of an address's computation
    DIMENSIONS = 2
};

// Along x and along y.
struct steps {
    int64_t in[DIMENSIONS];
};

static const struct steps varies = {{HDI_STEP_VARIES, HDI_STEP_VARIES}};

static struct steps of_call(enum hdi_call kind, LLVMValueRef call)
{
    struct steps steps = {{0}};

    if (kind != HDI_CALL_GLOBAL_ID)
        return kind == HDI_CALL_LOCAL_ID ? varies : steps;
    LLVMValueRef asked = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(asked))
        return varies;
    uint64_t d = LLVMConstIntGetZExtValue(asked);
    if (d < DIMENSIONS)
        steps.in[d] = 1;
    return steps;
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
    if (depth == MAX_DEPTH || count > 2 || LLVMIsALoadInst(value) ||
        LLVMIsAAllocaInst(value))
        return varies;

    int64_t parts[DIMENSIONS][2] = {{0}};
    for (unsigned i = 0; i < (unsigned)count; i++) {
        struct steps of =
            steps_of(llvm, flow, LLVMGetOperand(value, i), depth + 1);
        for (unsigned d = 0; d < DIMENSIONS; d++)
            parts[d][i] = of.in[d];
    }
    struct steps steps;
    for (unsigned d = 0; d < DIMENSIONS; d++)
        steps.in[d] = hdi_step_combine(llvm, value, parts[d], (unsigned)count);
    return steps;
}

static bool is_near(const struct hdi_llvm *llvm, int64_t step)
{
    int64_t line = llvm->target.line;
    return step > -line && step < line;
}

// Neighbours in y are in one line, those in x are not.
static bool is_across(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                      LLVMValueRef pointer)
{
    struct steps steps = steps_of(llvm, flow, pointer, 0);

    return steps.in[1] != 0 && is_near(llvm, steps.in[1]) &&
           !is_near(llvm, steps.in[0]);
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

// A line of numbers of 4 bytes; else three rows of them leave room in the
// nearest cache.
unsigned hdi_tile_row(const struct hdi_target *target, bool is_short)
{
    unsigned most = target->near_kib * 1024 / 16, row = 1;

    if (is_short)
        return target->line / 4;
    while (2 * row <= most)
        row *= 2;
    return row;
}
