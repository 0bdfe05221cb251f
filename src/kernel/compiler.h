// The border between libheddle and the compiler module.
//
// The module is a shared object that alone links LLVM; it exports one table
// under the name HDI_COMPILER_SYMBOL and nothing else. libheddle opens it on
// the first program that is neither cached nor binary (hdi_compiler_open), and
// keeps it open: LLVM cannot be unloaded safely.
#ifndef HDI_KERNEL_COMPILER_H
#define HDI_KERNEL_COMPILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "heddle/status.h"
#include "kernel/build.h"

#define HDI_COMPILER_SYMBOL "hdi_compiler_table"

enum {
    HDI_COMPILER_VERSION = 2 // of this border
};

struct hdi_source {
    const char *path; // in messages; #include "..." looks beside it
    const char *text;
    size_t size;                // of the text [bytes]
    const char *const *options; // allowed ones, each one word; NULL at the end
    const char *target, *cpu;   // as in hdi_capabilities; "": of this machine
    const atomic_bool *cancel;  // set: end with HD_ECANCELED; optional
};

static inline bool hdi_source_has(const struct hdi_source *source,
                                  const char *option)
{
    for (const char *const *o = source->options; *o; o++)
        if (strcmp(*o, option) == 0)
            return true;
    return false;
}

struct hdi_compiler {
    int version;
    // Any thread. `build` is written on success only.
    hd_status (*build)(const struct hdi_source *source, struct hdi_build *build,
                       struct hd_error *error);
};

// The module's table. HD_ENOTSUP with what to install when there is none.
hd_status hdi_compiler_open(const struct hdi_compiler **compiler,
                            struct hd_error *error);

#endif
