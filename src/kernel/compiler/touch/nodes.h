// What values of a kernel are computed from, as nodes of a footprint
// (kernel/footprint/footprint.h), each value's once.
#ifndef HDI_KERNEL_COMPILER_TOUCH_NODES_H
#define HDI_KERNEL_COMPILER_TOUCH_NODES_H

#include "kernel/build.h"
#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/flow/nest.h"

enum {
    HDI_NODES_PARTS = 12 // of a condition or a step, one in the other
};

#define HDI_NO_NODE UINT32_MAX

// The work in progress. `flow`, `nest` and `after` are of the kernel as it is
// and found once; the tables of `found` grow and keep what they have, `*_room`
// being how many elements each has room for.
//
// Invariant: a node's operands have lower numbers, so a launch evaluates them
// in one pass from the first to the last.
struct hdi_nodes {
    const struct hdi_llvm *llvm;
    struct hdi_flow flow;
    struct hdi_nest nest;
    struct hdi_dominators after; // of the edges turned round
    const struct hdi_build_kernel *about;
    struct hdi_footprint *found;
    struct hdi_map nodes; // value: its node
    struct hdi_map loops; // block that heads a loop: its number
    uint32_t *scopes;     // per block: its scope, or HDI_NO_NODE
    size_t node_room, condition_room, scope_room, access_room, work_room;
    // Of hdi_nodes_build() in itself.
    unsigned depth;
    bool texels;         // images are looked into
    bool failed;         // out of memory
    bool too_much, lost; // lost: something is touched, who knows where
};

// The node of a value; the first, with `failed` or `too_much` set, when there
// is no room for it.
// A value that is not understood becomes HDI_FOOTPRINT_ANY: larger, not wrong.
uint32_t hdi_nodes_build(struct hdi_nodes *nodes, LLVMValueRef value);

// Whether this is a load from the description that a kernel has of an image:
// from `*offset` bytes on, of argument `*arg`.
bool hdi_nodes_is_field(const struct hdi_nodes *nodes, LLVMValueRef load,
                        uint32_t *arg, uint64_t *offset);

// Room for one more element; NULL: no memory, or too many.
// `*has` is the room so far, `most` the limit. The table may move; when there
// is no room it stays as it is, and `failed` or `too_much` says why.
void *hdi_nodes_room(struct hdi_nodes *nodes, void *table, uint32_t count,
                     size_t most, size_t *has, size_t size);

// Of its type: 64 of addresses, 0 of what is no number.
unsigned hdi_nodes_bits(LLVMValueRef value);

// The number of the block that an instruction is in, and of a loop by its head,
// HDI_NO_NODE when there are too many.
size_t hdi_nodes_block(const struct hdi_nodes *nodes, LLVMValueRef instruction);
uint32_t hdi_nodes_loop(struct hdi_nodes *nodes, LLVMBasicBlockRef head);

#endif
