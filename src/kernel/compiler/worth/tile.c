#include "kernel/compiler/worth/tile.h"

#include "kernel/compiler/analysis/affine.h"

static bool is_near(const struct hdi_llvm *llvm, int64_t step)
{
    int64_t line = llvm->target.line;
    return step > -line && step < line;
}

// Neighbours in y are in one line, those in x are not.
// Then a short row of work-items, and the rows below it, find their lines still
// in the cache.
static bool is_across(const struct hdi_value_steps *affine,
                      LLVMValueRef pointer)
{
    int64_t in_y = hdi_affine_step(affine, pointer, HDI_AXIS_Y);

    return in_y != 0 && is_near(affine->llvm, in_y) &&
           !is_near(affine->llvm, hdi_affine_step(affine, pointer, HDI_AXIS_X));
}

bool hdi_tile_pays(const struct hdi_value_steps *affine)
{
    const struct hdi_flow *flow = affine->flow;

    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[b].block); x;
             x = LLVMGetNextInstruction(x)) {
            bool store = LLVMIsAStoreInst(x) != NULL;
            if ((store || LLVMIsALoadInst(x)) &&
                hdi_map_index(&flow->slot_index, LLVMGetOperand(x, store)) ==
                    SIZE_MAX &&
                is_across(affine, LLVMGetOperand(x, store)))
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
