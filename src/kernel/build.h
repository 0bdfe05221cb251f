// What a compilation gives: code for one target, what is known of its kernels,
// and the files it was made from. Made by the compiler module, or read from a
// container; plain data, owned by whoever holds the structure.
#ifndef HDI_KERNEL_BUILD_H
#define HDI_KERNEL_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/kernel.h"
#include "kernel/footprint/footprint.h"

struct hdi_build_arg {
    char *name, *type;
    uint32_t kind;   // enum hd_arg_kind
    uint32_t size;   // as hd_kernel_arg.size [bytes]
    uint32_t offset; // in the packed arguments [bytes]
    bool pointee_const;
    uint32_t qualifiers; // as hd_kernel_arg.qualifiers
};

struct hdi_build_kernel {
    char *name, *file, *explanation;
    uint32_t line;
    uint32_t required_local[3], hinted_local[3];
    char *hinted_type; // as hd_kernel_info.hinted_type
    uint32_t local_bytes, saved_bytes, barriers;
    uint32_t form;      // enum hd_kernel_form
    uint32_t suits;     // enum hd_suits
    uint32_t axis;      // along which its lanes had better run
    uint32_t together;  // work-items of several groups that it had better take
                        // at once, as lanes; 0: each group by itself
    uint32_t args_size; // of the packed arguments [bytes]
    uint32_t arg_count;
    struct hdi_build_arg *args;
    struct hdi_footprint footprint;
};

struct hdi_build {
    char *target;   // as in hdi_capabilities; "" of a library
    char *cpu;      // the same, or with features the name of a CPU
    char *features; // instruction sets its code may use, with blanks
                    // between; "": all of `cpu`, and it runs there alone
    char *log;      // what the front end had to say, or NULL
    uint64_t variable_bytes; // of its variables in global memory
    char *image;             // what the backend loads
    size_t image_size;       // [bytes]
    char *bitcode;           // instead of an image: it is a library
    size_t bitcode_size;     // [bytes]
    struct hdi_build_kernel *kernels;
    uint32_t kernel_count;
    char **files; // included ones, whose contents the build depends on
    uint32_t file_count;
    struct hdi_build *checked; // the same kernels built for checking, or NULL
    struct hdi_build *joined;  // finished ones that belong to the same program;
    uint32_t joined_count;     // neither these nor a checked one have any
};

// Free what the build holds, not the structure, and leave it empty.
void hdi_build_clear(struct hdi_build *build);

#endif
