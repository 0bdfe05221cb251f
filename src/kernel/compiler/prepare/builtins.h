// The OpenCL C builtins as bitcode, compiled with the library, in parts of
// which a program needs few.
#ifndef HDI_KERNEL_COMPILER_PREPARE_BUILTINS_H
#define HDI_KERNEL_COMPILER_PREPARE_BUILTINS_H

#include <stdbool.h>
#include <stddef.h>

// A file of bitcode.
struct hdi_builtins {
    const char *data;
    size_t size; // [bytes]
};

// The part that defines `function`, a mangled name; false: there is none.
bool hdi_builtins_find(const char *function, struct hdi_builtins *part);

#endif
