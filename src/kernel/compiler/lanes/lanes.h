// Main header of lanes: rows of work-items as chunks of lanes.
//
// A region for chunks of a row's work-items: branches on which lanes differ
// become masks, loops go round while any lane is in them.
#ifndef HDI_KERNEL_COMPILER_LANES_LANES_H
#define HDI_KERNEL_COMPILER_LANES_LANES_H

#include "kernel/compiler/flow/region.h"
#include "kernel/compiler/lanes/split.h"
#include "kernel/compiler/vectorise/widen.h"

// The lanes of a chunk.
enum hdi_way {
    HDI_WAY_PART,  // some are missing
    HDI_WAY_OPEN,  // all are there
    HDI_WAY_BELOW, // all take the region's first branch as ids below its limit
                   // do
    HDI_WAY_BEYOND // all take it the other way
};

struct hdi_lanes {
    const struct hdi_region *region;
    struct hdi_emit *emit;
    LLVMValueRef next; // alloca: the exit that is taken, or NULL
    struct hdi_block_order order;
    struct hdi_linear open;          // as it is for chunks in general
    struct hdi_linear together;      // when all take the first branch alike
    const struct hdi_linear *linear; // of the chunk at hand
    struct hdi_wide wide;
    unsigned span;                   // lanes of a full chunk: see span.h
    LLVMBasicBlockRef *enter, *body; // per position
    LLVMValueRef *masks;             // per position: alloca
    bool *comes; // per position: lanes of the chunk at hand may come there
    LLVMBasicBlockRef end; // of the chunk
    bool splits;           // chunks may take the first branch alike
    struct hdi_lane_split split;
    enum hdi_way way; // of the chunk at hand
    bool lost;        // some may have left the region by now
};

// What in a region keeps plain loops over work-items from becoming vectors,
// whoever makes them, with its line or 0. NULL: nothing that is known.
const char *hdi_lanes_reason(const struct hdi_region *region, unsigned *line);

// `next`: where to say which exit is taken, NULL when there is one only.
// False when memory ran out. `*lanes` is NULL when the region must be done one
// work-item after the other, and `*reason` says why, with its line or 0.
bool hdi_lanes_create(struct hdi_emit *emit, const struct hdi_region *region,
                      LLVMValueRef next, struct hdi_lanes **lanes,
                      const char **reason, unsigned *line);
void hdi_lanes_destroy(struct hdi_lanes *lanes);

// Take the values that the chunk at emit->item_ids begins with.
void hdi_lanes_begin_chunk(struct hdi_lanes *lanes, enum hdi_way way);

// The same, and write its code, for the lanes of `mask`.
void hdi_lanes_write_chunk(struct hdi_lanes *lanes, LLVMValueRef mask,
                           enum hdi_way way);

// A loop of lanes, whose end is `branch`, is long enough.
void hdi_keep_rolled(struct hdi_emit *emit, LLVMValueRef branch);

// It is short: LLVM is to write as many turns of it in one.
void hdi_unroll(struct hdi_emit *emit, LLVMValueRef branch, unsigned turns);

// rows.c: write the code for one row, of which `row` is the number in the group
// of the first work-item, NULL: 0.
void hdi_lanes_write(struct hdi_lanes *lanes, LLVMValueRef row);

// rows.c: chunks of several rows. What all rows share at one x, as the column
// of a tile in local memory that they are multiplied with, is there once for
// all of them, since the loop over rows is the inner one:
//
//     for (hdi_lanes_begin_columns(l, &c), more = true; more;
//          more = hdi_lanes_next_columns(l, &c))
//         (loops over rows) hdi_lanes_write_column(l, &c, row);
//
// writes code for full chunks and then for what is left of each row.
struct hdi_columns {
    LLVMValueRef counter; // alloca: the x of the chunk at hand
    LLVMValueRef x, next; // of it, and of the one behind it
    LLVMValueRef mask;    // of what is left; NULL: chunks are full
    LLVMBasicBlockRef head, rest, after;
    unsigned narrow; // lanes of a chunk that is not full
};

// Whether all rows have the same chunks.
bool hdi_lanes_has_columns(const struct hdi_lanes *lanes);

void hdi_lanes_begin_columns(struct hdi_lanes *lanes,
                             struct hdi_columns *columns);
void hdi_lanes_write_column(struct hdi_lanes *lanes,
                            const struct hdi_columns *columns,
                            LLVMValueRef row);
bool hdi_lanes_next_columns(struct hdi_lanes *lanes,
                            struct hdi_columns *columns);

// The same for the only row, one chunk after the other, the last one first if
// `backwards`.
void hdi_lanes_write_in_order(struct hdi_lanes *lanes, LLVMValueRef backwards);

#endif
