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
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "heddle/status.h"
#include "kernel/build.h"

#define HDI_COMPILER_SYMBOL "hdi_compiler_table"

enum {
    HDI_COMPILER_VERSION = 11 // of the members of struct hdi_compiler
};

enum hdi_part_kind {
    HDI_PART_TEXT,    // OpenCL C
    HDI_PART_LIBRARY, // bitcode, as libraries hold it
    HDI_PART_SPIRV
};

// What is compiled by itself.
struct hdi_part {
    enum hdi_part_kind kind;
    const char *path; // in messages; #include "..." looks beside it
    const char *data;
    size_t size;                // of the data [bytes]
    const char *const *options; // allowed ones, each one word; NULL at the end
};

struct hdi_source {
    const char *path; // of the first part: where no part is meant
    const struct hdi_part *parts;
    size_t part_count;          // 1 at least
    const char *const *options; // of the whole, as those of parts
    const char *target, *cpu;   // as in hdi_capabilities; "": of this machine
    const char *march;          // clang's name of a processor to make code for;
                                // NULL: the one at hand
    const char *translator;     // path of llvm-spirv; NULL: no part needs it
    const atomic_bool *cancel;  // set: end with HD_ECANCELED; optional
    bool library;               // the parts' bitcode, not code, is wanted
    struct hdi_text *log;       // what the front end says is appended; optional
};

static inline bool hdi_options_have(const char *const *options,
                                    const char *option)
{
    for (const char *const *o = options; *o; o++)
        if (strcmp(*o, option) == 0)
            return true;
    return false;
}

// The first two tell whether the others, and all they hand over, are what the
// caller takes them to be.
struct hdi_compiler {
    int version;
    uint64_t border; // of the headers of both sides: HDI_COMPILER_BORDER
    // Any thread. `build` is written on success only.
    hd_status (*build)(const struct hdi_source *source, struct hdi_build *build,
                       struct hd_error *error);
};

// The module's table. HD_ENOTSUP with what to install when there is none.
hd_status hdi_compiler_open(const struct hdi_compiler **compiler,
                            struct hd_error *error);

#endif
