// SPIR-V, the byte code other compilers of OpenCL C make: told apart, looked
// over, and the program that translates it.
//
// For each module: hdi_spirv_is(), hdi_spirv_read(), hdi_spirv_specialise(),
// then hdi_spirv_find_translator() once. The translator is a program of its own
// (llvm-spirv) that the compiler module runs.
#ifndef HDI_KERNEL_PROGRAM_SPIRV_H
#define HDI_KERNEL_PROGRAM_SPIRV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "heddle/status.h"

// In either byte order.
//
// Of any bytes, shorter than a word too.
bool hdi_spirv_is(const void *data, size_t size);

// Append the module in this machine's byte order. HD_EFORMAT: it is cut or its
// instructions do not fit together; what they say is not looked at.
hd_status hdi_spirv_read(const void *data, size_t size, const char *path,
                         struct hdi_text *words, struct hd_error *error);

// Give specialisation constants the values that the options name, as in
// "-heddle-spec=7=1.5" or, as it is kept, "-heddle-spec=7=bits:0x3fc00000", in
// a module as hdi_spirv_read() leaves it. HD_EINVAL: it has no such constant,
// or the value does not fit the constant's type.
hd_status hdi_spirv_specialise(struct hdi_text *words,
                               const char *const *options, const char *path,
                               struct hd_error *error);

// Append the path of the translator, the newest there is that the compiler can
// read. HD_ENOTSUP with what to install.
hd_status hdi_spirv_find_translator(struct hdi_text *path,
                                    struct hd_error *error);

// Append what `heddle info` says.
void hdi_spirv_describe(struct hdi_text *text);

#endif
