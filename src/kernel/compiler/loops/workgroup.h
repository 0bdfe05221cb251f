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
#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/loops/forms.h"

// Replace the kernel that `flow` describes, cut (cut.h), by its work-group
// function, not yet optimised. Fills in local_bytes, saved_bytes, barriers and
// form of `about`, and appends to `explanation` and `forms`, also what has been
// noted (note.h). The caller frees `forms->list`.
hd_status hdi_workgroup_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                              struct hdi_flow *flow,
                              struct hdi_build_kernel *about,
                              struct hdi_text *explanation,
                              struct hdi_forms *forms, struct hd_error *error);

#endif
