// The OpenCL C builtins as bitcode, compiled with the library.
#ifndef HDI_KERNEL_COMPILER_BUILTINS_H
#define HDI_KERNEL_COMPILER_BUILTINS_H

#include <stddef.h>

struct hdi_builtins {
    const char *data;
    size_t size; // [bytes]
};

struct hdi_builtins hdi_builtins(void);

#endif
