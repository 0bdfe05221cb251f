// Main header of loops: a kernel as loops over work-items, region by region.
//
// The work-group compiler: a prepared kernel becomes
//
//     void hdk_NAME(const struct hdi_frame *frame)
//
// which runs a box of work-groups (backend/frame.h). Cuts (flow.h) divide the
// kernel into regions; each region becomes three nested loops over the
// work-items of the group, x innermost, free of barriers. Between regions the
// group goes on as one.
#ifndef HDI_KERNEL_COMPILER_LOOPS_WORKGROUP_H
#define HDI_KERNEL_COMPILER_LOOPS_WORKGROUP_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/loops/forms.h"

// Replace `kernel` in `module` by its work-group function, not yet optimised.
// Fills in local_bytes, saved_bytes, barriers and form of `about`, and appends
// to `explanation` and `forms`. The caller frees `forms->list`. `flat`: the
// kernel's work-groups do not matter (chunk.h), its bounds have been found.
hd_status hdi_workgroup_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                              LLVMValueRef kernel, bool flat,
                              struct hdi_build_kernel *about,
                              struct hdi_text *explanation,
                              struct hdi_forms *forms, struct hd_error *error);

#endif
