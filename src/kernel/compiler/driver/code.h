// Optimisation and object code of a work-group function, and what the optimiser
// says about it.
#ifndef HDI_KERNEL_COMPILER_DRIVER_CODE_H
#define HDI_KERNEL_COMPILER_DRIVER_CODE_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/loops/forms.h"

// Append the vector widths of the regions to `explanation` and put
// the object into `object`, which was empty.
hd_status hdi_code_make(struct hdi_llvm *llvm, LLVMModuleRef module,
                        const struct hdi_build_kernel *about,
                        const struct hdi_forms *forms,
                        struct hdi_text *explanation, struct hdi_text *object,
                        struct hd_error *error);

#endif
