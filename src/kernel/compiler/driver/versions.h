// Kernels with images in several versions.
//
// How a texel is read depends on the image's layout, which is known at launch
// only. A choice inside the loop over work-items would keep it from becoming
// vectors, so there is code for every layout that the builtins know, for
// launches whose images all have that one, and code for any mixture.
#ifndef HDI_KERNEL_COMPILER_DRIVER_VERSIONS_H
#define HDI_KERNEL_COMPILER_DRIVER_VERSIONS_H

#include "kernel/compiler/driver/pipeline.h"

// Make the work-group function of the work's kernel, a kernel of the program,
// in as many versions as it needs behind one function. On failure there is no
// module.
// How functions lie around each other, where each is needed:
//
//     hdk_NAME                          by the layout of all images
//       |- version0 .. 3, 4             4: any mixture
//            |- flat | grouped          by whether all groups are whole
//                 |                     (flatten.h)
//                 |- turned | straight  by how wide the launch is (axis.h)
//                      |- interior, then around   (interior.h)
//
// Each level multiplies the code, so it is there only where it pays.
hd_status hdi_versions_build(struct hdi_work *work, LLVMModuleRef program,
                             struct hd_error *error);

#endif
