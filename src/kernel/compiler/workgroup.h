// The work-group compiler: a prepared kernel becomes
//
//     void hdk_NAME(const struct hdi_frame *frame)
//
// which runs a box of work-groups (backend/frame.h). Cuts (flow.h) divide the
// kernel into regions; each region becomes three nested loops over the
// work-items of the group, x innermost, free of barriers. Between regions the
// group goes on as one.
#ifndef HDI_KERNEL_COMPILER_WORKGROUP_H
#define HDI_KERNEL_COMPILER_WORKGROUP_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/llvm.h"

enum {
    // Added to the number of a region, it is the source column in the location
    // of its x loop: so LLVM's remarks about that loop are known again.
    HDI_REGION_COLUMN = 50000
};

// How the regions of a kernel were written, in their order.
struct hdi_forms {
    struct hdi_form {
        unsigned lanes; // of a chunk, 0: one work-item after the other
        unsigned limit; // line that asks for ids below a limit (split.h), or 0
        bool lone;      // one work-item of a row does all
        unsigned joint; // line of the barrier in the middle (join.h), or 0
        const char
            *reason;   // why there are no chunks, NULL: the kernel has none
        unsigned line; // of the reason, or 0
    } *list;
    unsigned count;
};

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
