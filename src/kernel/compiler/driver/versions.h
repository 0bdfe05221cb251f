// Kernels with images in several versions.
//
// How a texel is read depends on the image's layout, which is known at launch
// only. A choice inside the loop over work-items would keep it from becoming
// vectors, so there is code for every layout that the builtins know, for
// launches whose images all have that one, and code for any mixture.
#ifndef HDI_KERNEL_COMPILER_DRIVER_VERSIONS_H
#define HDI_KERNEL_COMPILER_DRIVER_VERSIONS_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/loops/workgroup.h"

// Prepare the kernel of that name and make its work-group function, in as many
// versions as it needs behind one function: as hdi_prepare_kernel() and then
// hdi_workgroup_build(). On failure there is no module.
hd_status hdi_versions_build(struct hdi_llvm *llvm, LLVMModuleRef program,
                             struct hdi_build_kernel *kernel,
                             LLVMModuleRef *module,
                             struct hdi_text *explanation,
                             struct hdi_forms *forms, struct hd_error *error);

#endif
