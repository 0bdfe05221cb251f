// The parts a program is made of, read and told apart: what has to be compiled,
// and finished binaries.
#ifndef HDI_KERNEL_PROGRAM_PARTS_H
#define HDI_KERNEL_PROGRAM_PARTS_H

#include "base/text.h"
#include "kernel/compiler.h"
#include "kernel/program.h"

struct hdi_part_held;

// What an element of the list was read from.
//
// Not a copy: it points to the caller's memory or to what `held` has. It is
// what was given, before a mark was skipped or words were swapped, so that it
// can be given once more.
struct hdi_part_given {
    const char *path, *data;
    size_t size; // of the data [bytes]
    bool is_text;
    const char *options; // of its own; NULL: none
};

// Invariant: list[i] was read from given[i], and count + finished_count is the
// number of parts. Pointers are valid until hdi_parts_free(), and those to the
// caller's texts as long as these.
struct hdi_parts {
    struct hdi_part *list; // to compile, in order
    size_t count;
    struct hdi_part_given *given; // one per element
    struct hdi_build *finished;   // in order; whoever takes one leaves it empty
    uint32_t finished_count;
    const char *path;           // of the first part, for messages
    struct hdi_text translator; // path of what SPIR-V needs; empty: none does
    const char *const *options; // of the program
    struct hdi_part_held *held; // what all these point to, one per part
    size_t held_count;
};

// Read what `params` names. Must be freed on success only.
hd_status hdi_parts_read(const struct hdi_program_context *context,
                         const struct hd_program_params *params,
                         struct hdi_parts *parts, struct hd_error *error);
void hdi_parts_free(struct hdi_parts *parts);

#endif
