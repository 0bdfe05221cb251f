#include "kernel/compiler/flow/effort.h"

#include <stdbool.h>

#include "kernel/compiler/ir/map.h"

enum {
    // What LLVM learns of a loop it forgets with each that it changes, for all
    // blocks of the function: so many of both take a unit.
    LOOP_BLOCKS = 16,
    // Vectors of straight code are sought among all pairs of a block: so many
    // pairs take a unit.
    PAIRS = 256
};

// Whether a way leads from the end of a block to where the function has been:
// each loop has one.
// Blocks stand in an order in which loops lead back, as a rule; it is an
// estimate. Without memory some loops are not counted.
static bool turns_back(const struct hdi_map *before, LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    unsigned count = end ? LLVMGetNumSuccessors(end) : 0;

    for (unsigned s = 0; s < count; s++)
        if (hdi_map_get(before,
                        LLVMBasicBlockAsValue(LLVMGetSuccessor(end, s))))
            return true;
    return false;
}

//     units = instructions + sum of squares of blocks / PAIRS
//           + blocks * loops / LOOP_BLOCKS
static void add_function(struct hdi_effort *cost, LLVMValueRef function)
{
    struct hdi_map before = {0};
    unsigned blocks = 0, loops = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef self = LLVMBasicBlockAsValue(b);
        uint64_t count = 0;
        hdi_map_set(&before, self, self);
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            count++;
        blocks++;
        loops += turns_back(&before, b);
        cost->instructions += (unsigned)count;
        cost->units += count + count * count / PAIRS;
        if (count > cost->longest)
            cost->longest = (unsigned)count;
    }
    hdi_map_clear(&before);
    cost->blocks += blocks;
    cost->loops += loops;
    cost->units += (uint64_t)blocks * loops / LOOP_BLOCKS;
}

struct hdi_effort hdi_effort_of(LLVMModuleRef module)
{
    struct hdi_effort cost = {0};

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        add_function(&cost, f);
    return cost;
}
