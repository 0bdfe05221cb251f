// Kernels whose work-groups do not matter: without barriers, local memory and
// local ids, all work-items of a chunk are one box, whose rows are far longer
// than those of a group. Bounds of the ids (bounds.h) make the box smaller.
#ifndef HDI_KERNEL_COMPILER_LOOPS_CHUNK_H
#define HDI_KERNEL_COMPILER_LOOPS_CHUNK_H

#include "kernel/compiler/emit/emit.h"

// Whether groups do not matter to this prepared kernel.
bool hdi_chunk_is_flat(LLVMModuleRef module, LLVMValueRef kernel);

// At the builder's point: begin loops over the parts of the chunk, with
// emit->base and emit->trip for each. Goes on at `leave` when all is done, and
// to the next part at the block that is returned. Removes the calls.
LLVMBasicBlockRef hdi_chunk_begin(struct hdi_emit *emit,
                                  LLVMBasicBlockRef leave);

// The same in parts of one row with HDI_LANES work-items, which go on at
// `full`, and less at the end of a row, which go on at `rest`; emit->trip[0] is
// right for the latter.
LLVMBasicBlockRef hdi_chunk_begin_lanes(struct hdi_emit *emit,
                                        LLVMBasicBlockRef leave,
                                        LLVMBasicBlockRef *full,
                                        LLVMBasicBlockRef *rest);

#endif
