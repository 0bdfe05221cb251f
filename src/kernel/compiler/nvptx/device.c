#include "kernel/compiler/nvptx/device.h"

#include "kernel/compiler/prepare/library.h"

// HDI_DEVICE_BUILTINS is the path in the build folder of the bitcode of
// builtins/nvptx.
__asm__(".section .rodata\n"
        ".balign 16\n"
        "hdi_device_builtins:\n"
        ".incbin \"" HDI_DEVICE_BUILTINS "\"\n"
        "hdi_device_builtins_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char hdi_device_builtins[], hdi_device_builtins_end[];

hd_status hdi_device_link(struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error)
{
    return hdi_library_link_part(
        llvm, module, hdi_device_builtins,
        (size_t)(hdi_device_builtins_end - hdi_device_builtins), error);
}
