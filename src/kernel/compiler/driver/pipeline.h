// The passes that make a kernel's code, in their order: pipeline.c lists them.
#ifndef HDI_KERNEL_COMPILER_DRIVER_PIPELINE_H
#define HDI_KERNEL_COMPILER_DRIVER_PIPELINE_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/loops/forms.h"
#include "kernel/compiler/transform/axis.h"
#include "kernel/compiler/transform/cut.h"

// What a kernel is compiled for.
// Bits, of which a work has one: a pass says for which modes it is.
enum hdi_mode {
    HDI_MODE_PLAIN = 1,   // to be fast
    HDI_MODE_DEBUG = 2,   // for a debugger, as it is written
    HDI_MODE_CHECKED = 4, // each access tells the checker: see instrument.h
    HDI_MODE_SCREENED = 8 // the same, as fast as that goes: see screen.h
};

// In this order. Between stages the kernel is whole, so who makes code in
// several ways (versions.c) copies the module there:
//
//     PREPARE -> TOUCH -> SHAPE -> RANGE -> CUT -> (workgroup.h) -> CODE
//                                  \_____ once per way _____/
//                      \-> (thread.h) ----------------------------> CODE
enum hdi_stage {
    HDI_STAGE_PREPARE, // the program becomes one simple function
    HDI_STAGE_TOUCH,   // what of its arguments it reads and writes
    HDI_STAGE_SHAPE,   // how its work-items lie
    HDI_STAGE_RANGE,   // which of them have anything to do
    HDI_STAGE_CUT,     // where those of a group meet
    HDI_STAGE_CODE     // loops, lanes or threads become code
};

// One kernel, and what passes have found out of it.
// Invariant: `module` is NULL or belongs to whoever has the work; `kernel` and
// `builder` are of that module and its context. Marked fields are set by the
// stage that is named and not before.
struct hdi_work {
    struct hdi_llvm *llvm;
    const enum hdi_mode mode;
    struct hdi_build_kernel *about;
    struct hdi_text *explanation;
    struct hdi_forms *forms;
    LLVMModuleRef module;
    LLVMValueRef kernel; // until it becomes a work-group function
    LLVMBuilderRef builder;
    unsigned length; // of the prepared kernel [instructions]
    bool whole;      // PREPARE: its vectors stay whole (whole.h)

    struct hdi_lane_axis axis; // SHAPE: that lanes had better run along
    bool flat;                 // SHAPE: groups do not matter (chunk.h)
    LLVMModuleRef box; // RANGE: the kernel away from borders (interior.h), or
                       // NULL
    unsigned known;    // RANGE: what it does not ask for any more
    struct hdi_cuts cuts; // CUT
    struct hdi_flow flow; // CUT: the caller destroys it
};

// Begin with a copy of the kernel's program. On failure there is no module.
hd_status hdi_work_begin(struct hdi_work *work, LLVMModuleRef program,
                         struct hd_error *error);

// Give back all but the module.
void hdi_work_end(struct hdi_work *work);

// Run the passes of a stage that are for the work's mode and that are not left
// out (rules.h). Option -heddle-passes=verify looks at the module after each,
// -heddle-passes=dump writes it to standard error. HD_EBUILD, HD_ENOMEM.
// A stage that fails leaves the module half changed: destroy it.
hd_status hdi_pipeline_run(struct hdi_work *work, enum hdi_stage stage,
                           struct hd_error *error);

// The same up to the work-group function of a kernel in loops form, for a work
// whose shape and range are known.
hd_status hdi_pipeline_loops(struct hdi_work *work, struct hd_error *error);

#endif
