#include "kernel/compiler/builtins.h"

#include "tools.h"

// HDI_BUILTINS is the path of the bitcode in the build folder.
__asm__(".section .rodata\n"
        ".balign 16\n"
        "hdi_builtins_begin:\n"
        ".incbin \"" HDI_BUILTINS "\"\n"
        "hdi_builtins_end:\n"
        ".previous\n");

extern const char hdi_builtins_begin[], hdi_builtins_end[];

struct hdi_builtins hdi_builtins(void)
{
    return (struct hdi_builtins){
        hdi_builtins_begin, (size_t)(hdi_builtins_end - hdi_builtins_begin)};
}
