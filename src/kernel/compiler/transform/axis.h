// The axis along which the lanes of a kernel run. They run along x, which is
// right where neighbours in x touch neighbouring elements. A kernel may as well
// take x for rows: then it is turned, x and another axis change places, in
// every question that it asks and in the frame that it is given.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_AXIS_H
#define HDI_KERNEL_COMPILER_TRANSFORM_AXIS_H

#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

struct hdi_lane_axis {
    unsigned number;  // that lanes had better run along; 0: x
    bool always;      // whatever the sizes at launch are
    bool flat;        // groups do not matter (chunk.h)
    unsigned lanes;   // of a chunk
    uint32_t cost[2]; // of the accesses of one chunk with lanes along x, and
                      // along that axis
};

// Look at a prepared kernel. HD_ENOMEM.
hd_status hdi_axis_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                        bool flat, const struct hdi_build_kernel *about,
                        struct hdi_lane_axis *axis, struct hd_error *error);

// Let x and the axis change places in all that the kernel asks for.
void hdi_axis_turn(LLVMModuleRef module, unsigned axis);

// Write a function `name` for the backend, which calls `turned` with a frame
// that is turned too, or `straight`, when it is not NULL and lanes along x are
// cheaper with the sizes of the frame.
void hdi_axis_write(struct hdi_llvm *llvm, LLVMModuleRef module,
                    const struct hdi_lane_axis *axis, const char *name,
                    LLVMValueRef turned, LLVMValueRef straight);

#endif
