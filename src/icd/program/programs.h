// Programs: what they were made of, and what was built of that.
#ifndef HDI_ICD_PROGRAM_PROGRAMS_H
#define HDI_ICD_PROGRAM_PROGRAMS_H

#include "heddle/kernel.h"
#include "icd/memory/contexts.h"

// A build on a part of the machine: loaded from the binary when it is needed.
//
// Owned by its build, in a list under that one's lock; it stays until the build
// goes, since kernels of it are in use.
struct hdi_cl_loaded {
    struct hdi_cl_loaded *next;
    struct _cl_device_id *device; // held
    struct hd_program *program;
};

// Bytes of a program's code for one side; owned by whoever has the structure.
// NULL: none.
struct hdi_cl_binary {
    unsigned char *data;
    size_t size; // [bytes]
};

// A build that kernels may outlive.
//
// `users` counts the program, its kernels and their launches; who takes it to 0
// frees all. `program`, `uniform`: constant. `loaded` is under `lock`,
// `binaries` under the lock of the program object.
struct hdi_cl_built {
    atomic_uint users;
    struct hd_program *program; // on all devices that it was built for
    pthread_mutex_t lock;
    struct hdi_cl_loaded *loaded;
    bool uniform; // its work-groups are all of one size
    // For the application; NULL: not asked for yet.
    struct hdi_cl_binary binaries[HDI_CL_SIDES];
};

// A specialisation constant of SPIR-V that was set. Owned by the program
// object, under its lock.
struct hdi_cl_constant {
    cl_uint id;
    char *value; // as in an option
};

// Invariants: one of `source`, `il` and `binaries` is there, or none, if it was
// linked. While `builds` is set nobody else begins a build; while `kernels` is
// above 0, or `builds` is set, `built` stays what it is but for the thread that
// builds.
struct _cl_program {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_device_id **devices; // the context's, or those with binaries
    unsigned device_count;
    char *source;
    void *il;
    size_t il_size;                              // [bytes]
    struct hdi_cl_binary binaries[HDI_CL_SIDES]; // given by the application
    cl_program_binary_type given;                // what they are

    struct hdi_cl_constant *constants;
    unsigned constant_count;

    pthread_mutex_t lock; // over what follows
    struct hdi_cl_built *built;
    unsigned sides;         // bits: those that it was built for, or in vain
    cl_build_status status; // of these
    cl_program_binary_type type;
    char *options;
    char *log;
    bool builds;         // just now
    atomic_uint kernels; // made of it
};

void hdi_cl_program_destroy(void *object);
void hdi_cl_built_release(struct hdi_cl_built *built);

// Its program on a side; NULL: it was not built for that.
const struct hd_program *hdi_cl_built_program(const struct hdi_cl_built *built,
                                              unsigned side);

// The kernel of that name on a device. NULL: it was not built for it, or cannot
// be loaded there.
const struct hd_kernel *hdi_cl_built_kernel(struct hdi_cl_built *built,
                                            const struct hd_kernel *kernel,
                                            struct _cl_device_id *device);

#endif
