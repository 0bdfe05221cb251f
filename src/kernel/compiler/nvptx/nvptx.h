// Main header of nvptx: kernels as PTX, for GPUs.
//
// From the front end's bitcode to PTX, which the driver compiles for the GPU at
// hand. What is shared with processors is before this: the front end, the
// builtins but those of builtins/nvptx, signatures.
//
// A GPU runs work-items as threads, so nothing becomes a loop here. Each kernel
// becomes two functions, as backend/device_launch.h says.
#ifndef HDI_KERNEL_COMPILER_NVPTX_NVPTX_H
#define HDI_KERNEL_COMPILER_NVPTX_NVPTX_H

#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

#define HDI_NVPTX_TRIPLE "nvptx64-nvidia-cuda"

// Whether a name is that of a GPU's architecture, such as "sm_80".
bool hdi_nvptx_is_architecture(const char *name);

// The version of PTX, as LLVM calls it, that knows an architecture; NULL: LLVM
// does not know the architecture.
const char *hdi_nvptx_version(const char *architecture);

// Parse the bitcode and link the builtins it uses, still with SPIR's address
// spaces. HD_EBUILD as hdi_prepare_program().
// In this order: _program, then the signatures are read (driver/ptx.c), while
// address spaces and metadata are clang's, then _build.
hd_status hdi_nvptx_program(struct hdi_llvm *llvm, const void *bitcode,
                            size_t size, LLVMModuleRef *module,
                            struct hd_error *error);

// Make PTX of the program, which is consumed. The kernels' signatures have been
// read; what depends on the code is filled in.
// What `image` looks like, which is what the backend parses:
//
//     HDI_DEVICE_IMAGE  version  architecture
//     HDI_DEVICE_KERNEL name  bytes of arguments      per kernel
//     PTX of the functions hdk_*
//     HDI_DEVICE_TILES
//     PTX of the functions hdt_*, or nothing
hd_status hdi_nvptx_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hdi_build_kernel *kernels, uint32_t count,
                          struct hdi_text *image, struct hd_error *error);

#endif
