// The control flow of a prepared kernel: its blocks, which branches work-items
// may take differently, and where it is cut into regions.
//
// Everything here holds for a kernel in memory form (LLVM's reg2mem): a value
// that is used in another block than its own goes through a stack slot, so
// there are no phi nodes. Slots are the allocas that are only loaded and stored
// whole; other allocas are private arrays.
//
// A cut is a block that ends a region: after the work-items of a group have all
// come there, the group goes on together. There are two kinds:
//
//     barrier   {barrier(); br next}
//     branch    {load condition; br condition, a, b}, where the condition is
//     the
//               same for the whole group and decides which barrier comes next
#ifndef HDI_KERNEL_COMPILER_FLOW_H
#define HDI_KERNEL_COMPILER_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/compiler/bits.h"
#include "kernel/compiler/llvm.h"
#include "kernel/compiler/map.h"

enum hdi_cut {
    HDI_NO_CUT,
    HDI_CUT_BARRIER,
    HDI_CUT_BRANCH
};

struct hdi_block {
    LLVMBasicBlockRef block;
    enum hdi_cut cut;
    bool divergent; // work-items that have not returned may not all come here
    unsigned successor_count, predecessor_count;
    size_t *successors, *predecessors; // indices of blocks; one that goes there
                                       // in two ways stands there twice
};

struct hdi_slot {
    LLVMValueRef alloca;
    LLVMTypeRef type;
    LLVMValueRef only_stored; // the value, when there is one store only
    bool divergent;           // work-items of a group may differ in it
};

struct hdi_flow {
    LLVMValueRef kernel;
    struct hdi_block *blocks;
    size_t block_count;
    struct hdi_slot *slots;
    size_t slot_count;
    LLVMValueRef *arrays; // private arrays
    size_t array_count;
    struct hdi_map block_index; // block: its index
    struct hdi_map slot_index;  // alloca: its index
    struct hdi_map divergent;   // instructions whose value may differ
    uint64_t *live;             // live_words per block: slots live at its start
    size_t live_words;
    uint32_t barriers;   // calls of barrier()
    bool flat;           // groups do not matter: see chunk.h
    unsigned soft_loops; // loops with soft barriers round them
    bool wide;           // regions suit chunks of lanes: see widen.h
    unsigned gathers;    // if not, the line of a loop that mostly gathers, or 0
};

// Cut the kernel: isolate barriers and branches in blocks of their own. Changes
// the function, then describes it. `flat`: work-items meet in rows only, so
// what depends on y and z is the same for all. HD_ENOMEM, HD_EBUILD.
hd_status hdi_flow_create(struct hdi_llvm *llvm, LLVMModuleRef module,
                          LLVMBuilderRef builder, LLVMValueRef kernel,
                          bool flat, struct hdi_flow *flow,
                          struct hd_error *error);
void hdi_flow_destroy(struct hdi_flow *flow);

static inline bool hdi_flow_is_live(const struct hdi_flow *flow, size_t block,
                                    size_t slot)
{
    return flow->live[block * flow->live_words + slot / 64] >> slot % 64 & 1;
}

static inline bool hdi_flow_is_divergent(const struct hdi_flow *flow,
                                         LLVMValueRef value)
{
    return hdi_map_get(&flow->divergent, value) != NULL;
}

// What a value is: if it is loaded from a slot with one store, what is stored.
static inline LLVMValueRef hdi_origin(const struct hdi_flow *flow,
                                      LLVMValueRef value)
{
    size_t slot =
        LLVMIsALoadInst(value)
            ? hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0))
            : SIZE_MAX;
    LLVMValueRef stored =
        slot != SIZE_MAX ? flow->slots[slot].only_stored : NULL;
    return stored ? stored : value;
}

#endif
