// Main header of transform: kernels are rewritten before they are cut into
// regions.
//
// A kernel is cut where the work-items of a group meet.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_CUT_H
#define HDI_KERNEL_COMPILER_TRANSFORM_CUT_H

#include "kernel/compiler/flow/flow.h"

// Isolate barriers and branches of the whole group in blocks of their own.
// Changes the function, then describes it. `flat`: work-items meet in rows
// only, so what depends on y and z is the same for all. HD_ENOMEM, HD_EBUILD.
hd_status hdi_cut(struct hdi_llvm *llvm, LLVMModuleRef module,
                  LLVMBuilderRef builder, LLVMValueRef kernel, bool flat,
                  struct hdi_flow *flow, struct hd_error *error);

#endif
