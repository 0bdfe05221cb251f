// No crew here: kernels of a GPU's program share one module and the functions
// they call, and the driver of the GPU makes the machine code.
#include "kernel/compiler/driver/ptx.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/driver/signature.h"
#include "kernel/compiler/nvptx/nvptx.h"
#include "kernel/compiler/prepare/prepare.h"

// The architecture, by its name or as that of the device at hand.
static const char *architecture_of(const struct hdi_source *source)
{
    return source->march ? source->march : source->cpu;
}

bool hdi_ptx_is_wanted(const struct hdi_source *source)
{
    return source->march ? hdi_nvptx_is_architecture(source->march)
                         : strcmp(source->target, HDI_NVPTX_TRIPLE) == 0;
}

// Options that need a processor are refused here, before the front end runs.
hd_status hdi_ptx_choose(const struct hdi_source *source,
                         struct hdi_build *build, struct hd_error *error)
{
    const char *name = architecture_of(source);

    if (!hdi_nvptx_version(name))
        return hdi_fail(
            error, HD_EINVAL,
            "%s: no GPU architecture '%s': it is one of sm_70, "
            "sm_72, sm_75, sm_80, sm_86, sm_87, sm_89, sm_90; newer "
            "GPUs run code for older ones",
            source->path, name);
    if (hdi_options_have(source->options, "-heddle-check") ||
        hdi_options_have(source->options, "-heddle-debug"))
        return hdi_fail(error, HD_ENOTSUP,
                        "%s: kernels are checked and debugged on processors: "
                        "use --device cpu",
                        source->path);
    build->target = strdup(HDI_NVPTX_TRIPLE);
    build->cpu = strdup(name);
    build->features = strdup(name);
    return build->target && build->cpu && build->features
               ? HD_OK
               : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          source->path);
}

static LLVMValueRef next_kernel(LLVMValueRef function)
{
    while (function && !hdi_is_kernel(function))
        function = LLVMGetNextFunction(function);
    return function;
}

// Before preparation, while arguments and metadata are clang's.
static hd_status read_signatures(const struct hdi_llvm *llvm,
                                 LLVMModuleRef module, struct hdi_build *build,
                                 struct hd_error *error)
{
    uint32_t count = 0, k = 0;

    for (LLVMValueRef f = next_kernel(LLVMGetFirstFunction(module)); f;
         f = next_kernel(LLVMGetNextFunction(f)))
        count++;
    build->kernels = calloc(count + 1, sizeof(*build->kernels));
    if (!build->kernels)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);
    build->kernel_count = count;
    build->variable_bytes = hdi_signature_variables(llvm, module);
    for (LLVMValueRef f = next_kernel(LLVMGetFirstFunction(module)); f;
         f = next_kernel(LLVMGetNextFunction(f)))
        HDI_TRY(hdi_signature_read(llvm, f, &build->kernels[k++], error));
    return HD_OK;
}

// hdi_nvptx_build() takes the module, also when it fails; only a failure before
// it leaves the module to us.
hd_status hdi_ptx_make(const struct hdi_source *source,
                       const struct hdi_text *bitcode, struct hdi_build *build,
                       struct hdi_text *image, struct hd_error *error)
{
    struct hdi_llvm llvm;
    LLVMModuleRef module = NULL;

    HDI_TRY(hdi_llvm_open(&llvm, build->target, build->cpu,
                          hdi_nvptx_version(build->cpu), source->path, error));
    llvm.cancel = source->cancel;
    hd_status status =
        hdi_nvptx_program(&llvm, bitcode->data, bitcode->size, &module, error);
    if (status == HD_OK)
        status = read_signatures(&llvm, module, build, error);
    if (status == HD_OK)
        status = hdi_nvptx_build(&llvm, module, build->kernels,
                                 build->kernel_count, image, error);
    else if (module)
        LLVMDisposeModule(module);
    hdi_llvm_close(&llvm);
    return status;
}
