// Main header of flow: blocks, loops and regions of a kernel, and what differs
// in them.
//
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
#ifndef HDI_KERNEL_COMPILER_FLOW_FLOW_H
#define HDI_KERNEL_COMPILER_FLOW_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/compiler/ir/bits.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/ir/map.h"

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

// Where a slot's value is from one region to the next.
enum hdi_slot_place {
    HDI_PLACE_NOWHERE, // not live across a cut
    HDI_PLACE_REMADE,  // computed again from ids, arguments and constants
    HDI_PLACE_GROUP,   // kept once: the group agrees on it
    HDI_PLACE_ITEMS    // kept per work-item in frame->saved
};

struct hdi_slot {
    LLVMValueRef alloca;
    LLVMTypeRef type;
    LLVMValueRef only_stored;  // the value, when there is one store only
    bool divergent;            // work-items of a group may differ in it
    enum hdi_slot_place place; // NOWHERE until it is chosen
};

// All of it is about the kernel as it was when it was found: who changes blocks
// or slots finds it anew. Owned by whoever found it.
//
// Invariant: block 0 is the entry; indices of blocks and slots are those of the
// arrays, in the order of the kernel.
struct hdi_flow {
    const struct hdi_llvm *llvm;
    LLVMValueRef kernel;
    struct hdi_block *blocks;
    size_t block_count;
    struct hdi_slot *slots;
    size_t slot_count;
    LLVMValueRef *arrays;  // private arrays
    uint64_t *array_sizes; // of each, one after the other of work-items [bytes]
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

// Describe a kernel as it is, all but what is divergent (uniform.h) and where
// it is cut. False when memory ran out; destroy it all the same.
bool hdi_flow_find(const struct hdi_llvm *llvm, LLVMValueRef kernel, bool flat,
                   struct hdi_flow *flow);
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
// Without a flow values are in no slots.
static inline LLVMValueRef hdi_origin(const struct hdi_flow *flow,
                                      LLVMValueRef value)
{
    size_t slot =
        flow && LLVMIsALoadInst(value)
            ? hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0))
            : SIZE_MAX;
    LLVMValueRef stored =
        slot != SIZE_MAX ? flow->slots[slot].only_stored : NULL;
    return stored ? stored : value;
}

// The slot that a load or store is of, SIZE_MAX: it is of memory.
size_t hdi_slot_of(const struct hdi_flow *flow, LLVMValueRef instruction);

// A block that only returns.
bool hdi_is_plain_return(const struct hdi_flow *flow, size_t block);

#endif
