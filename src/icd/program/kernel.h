// Kernels: a kernel of a build, and its arguments.
#ifndef HDI_ICD_PROGRAM_KERNEL_H
#define HDI_ICD_PROGRAM_KERNEL_H

#include "icd/memory/memory.h"
#include "icd/program/programs.h"

struct hdi_cl_form;

// What an argument was set to.
struct hdi_cl_argument {
    bool is_set;
    struct hd_arg arg; // as far as it does not depend on what is below
    void *value;       // of a value: a copy
    // Not held, as the standard has it: looked up again when it is used.
    struct _cl_mem *mem;
    uint64_t serial;     // of `mem`
    const void *pointer; // of shared virtual memory
    bool is_pointer;
};

// Threads: any number may launch it at the same time; while one sets an
// argument no other uses it, as the standard has it. `form` is the one word
// that launches share.
struct _cl_kernel {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_program *program;
    struct hdi_cl_built *built;
    const struct hd_kernel *kernel;
    struct hdi_cl_argument *arguments;
    unsigned count;
    uint64_t changes; // of arguments, but for values that were there
    // Of its last launch, see launch.c; or NULL. Whoever takes it has it alone.
    _Atomic(struct hdi_cl_form *) form;
};

void hdi_cl_kernel_destroy(void *object);

#endif
