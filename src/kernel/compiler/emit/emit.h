// Main header of emit: one instruction for one work-item.
//
// Emitting the work-group function: the state, and the words that copy one
// instruction of the kernel into it.
//
// A copy stands either in the body of a work-item loop, where `item_ids` are
// those of the loop, or between loops, where only what the whole group agrees
// on may be asked for.
#ifndef HDI_KERNEL_COMPILER_EMIT_EMIT_H
#define HDI_KERNEL_COMPILER_EMIT_EMIT_H

#include "kernel/build.h"
#include "kernel/compiler/analysis/affine.h"
#include "kernel/compiler/emit/memory.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/ir/map.h"

// Of one slot; which fields are there depends on its place (flow.h).
struct hdi_kept {
    LLVMValueRef work;  // alloca: the value while a work-item runs
    LLVMValueRef group; // GROUP: alloca: the value between regions
    LLVMValueRef next;  // GROUP: alloca: the value for the next region
    uint64_t offset;    // ITEMS: per work-item [bytes], before it
    uint64_t size;      // ITEMS: [bytes]
    LLVMValueRef lanes; // ITEMS, of lanes: alloca: the values of all
    LLVMValueRef wide;  // alloca: the values of a chunk's lanes, or NULL
};

enum {
    HDI_LANES = 32, // some vectors, for independent steps
    HDI_LANES_VARIABLES = 2
};

struct hdi_emit;
struct hdi_wide;

// Who looks on while a kernel is written, such as the code of checks.
// Stays while the kernel is written; what it knows is in emit->screening.
struct hdi_observer {
    // At the end of the function.
    void (*end)(struct hdi_emit *emit);
    // Where a group begins, and where it has come to a barrier.
    void (*begin_group)(struct hdi_emit *emit);
    void (*pass_cut)(struct hdi_emit *emit, const struct hdi_block *barrier);
    // A call, for one work-item or for a chunk. False: it is none of the
    // observer's.
    bool (*emit)(struct hdi_emit *emit, LLVMValueRef call);
    bool (*widen)(struct hdi_wide *wide, LLVMValueRef call);
};

struct hdi_emit {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    struct hdi_flow *flow;
    struct hdi_value_steps affine;  // without clamps
    struct hdi_build_kernel *about; // what is found out on the way
    LLVMValueRef function;          // the one being written
    LLVMBasicBlockRef entry;        // holds the allocas
    LLVMTypeRef i1, i8, i32, i64;

    // The frame.
    LLVMValueRef local, saved, args;
    LLVMValueRef local_end;                           // i64: the block's
    LLVMValueRef global[3], offset[3];                // i64
    LLVMValueRef local_size[3], group_count[3], dims; // i32
    struct hdi_memory_bounds memory;

    // The group at hand, or the part of a chunk: see chunk.h.
    bool flat;                   // it is a part
    unsigned width;              // lanes of a chunk (widen.h), 0: none
    bool lanes;                  // parts have HDI_LANES work-items at most;
                                 // what is kept of each is in registers
    bool apart;                  // groups are calls of a function
    bool short_rows;             // of parts: see tile.h
    unsigned bound_count;        // conditions that became bounds
    LLVMValueRef group_id[3];    // i32
    LLVMValueRef base[3];        // i64: global id of its first work-item
    LLVMValueRef base_narrow[3]; // the same, 32 bits of it
    LLVMValueRef trip[3];        // i32: its work-items; i64 in y, z of a part
    LLVMValueRef items;          // i64: work-items of a full group

    // The work-item at hand.
    LLVMValueRef item_ids[3]; // local, typed as the trips
    LLVMValueRef item;        // i64: its number in the group

    const struct hdi_observer *observer; // or NULL
    struct hdi_screening *screening;     // what it knows
    struct hdi_kept *kept;               // per slot
    uint64_t *array_offsets;  // per private array, as hdi_kept.offset
    uint64_t returned_offset; // the same: of regions->some_return_early
    uint64_t saved_bytes;     // per work-item
    // What sub-groups meet in, NULL when it is not used, and where it lies, as
    // hdi_kept.offset.
    LLVMValueRef lanes_variables[HDI_LANES_VARIABLES];
    uint64_t lanes_offsets[HDI_LANES_VARIABLES];
    struct hdi_map fixed;      // kernel's value: its copy, everywhere
    struct hdi_map values;     // kernel's value: its copy in this region
    LLVMValueRef access_group; // metadata
    bool ordered; // a work-item's own accesses in this region keep their order
    bool scalar;  // its loops are not to be vectors
    unsigned access_kind, loop_kind; // metadata kinds
    struct hd_error *error;
    hd_status status; // of what could not be copied
};

// A new block of the function being written, and a new stack slot.
LLVMBasicBlockRef hdi_emit_block(const struct hdi_emit *emit, const char *name);
LLVMValueRef hdi_emit_alloca(const struct hdi_emit *emit, LLVMTypeRef type);

// The address of this work-item's share of `saved`.
LLVMValueRef hdi_emit_share(struct hdi_emit *emit, uint64_t offset,
                            uint64_t size);

// The address of this work-item's element of an array of HDI_LANES.
LLVMValueRef hdi_emit_lane(struct hdi_emit *emit, LLVMValueRef array,
                           LLVMTypeRef type);

// The copy of an operand.
LLVMValueRef hdi_emit_operand(struct hdi_emit *emit, LLVMValueRef value);

// Copy one instruction that is no terminator to the builder's point and enter
// it in `values`.
void hdi_emit_instruction(struct hdi_emit *emit, LLVMValueRef instruction);

// An atomic operation of which nobody needs the old value, with this operand.
void hdi_emit_update(struct hdi_emit *emit, LLVMValueRef update,
                     LLVMValueRef operand);

// Can the value be computed anywhere from ids, arguments and constants, cheaply
// and without side effects?
bool hdi_emit_is_remakable(const struct hdi_flow *flow, LLVMValueRef value);

// Compute such a value at the builder's point.
LLVMValueRef hdi_emit_remade(struct hdi_emit *emit, LLVMValueRef value);

// Mark a load or store as independent of those of other work-items.
void hdi_emit_independent(const struct hdi_emit *emit, LLVMValueRef access);

#endif
