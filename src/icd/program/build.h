// Between program.c, which keeps what programs are made of, and build.c.
//
// In order: hdi_cl_program_create(), then what it is made of, then one of
// clBuildProgram(), clCompileProgram() or, for binaries of objects and
// libraries, hdi_cl_load_library(). hdi_cl_keep_constant() comes before a build
// to have an effect.
#ifndef HDI_ICD_BUILD_H
#define HDI_ICD_BUILD_H

#include "icd/program/programs.h"

// What stands before Heddle's container in binaries of programs that are to be
// linked.
#define HDI_CL_OBJECT_MARK  "hd-clobj"
#define HDI_CL_LIBRARY_MARK "hd-cllib"

enum {
    HDI_CL_MARK_SIZE = 8 // [bytes]
};

// An object with one reference that holds context and devices; NULL: no memory,
// and `*error` says so. Without a source, SPIR-V or binaries it cannot be
// built, only linked into.
struct _cl_program *hdi_cl_program_create(struct _cl_context *context,
                                          cl_uint count,
                                          const cl_device_id *devices,
                                          cl_int *error);

// Devices that were given when it was made; a build may be for fewer.
bool hdi_cl_program_has(const struct _cl_program *program,
                        const struct _cl_device_id *device);

// Of a program whose binary is to be linked.
//
// Called once, by the function that makes the program, before anybody else
// knows it. CL_INVALID_BINARY: it cannot be read; CL_OUT_OF_HOST_MEMORY. After
// an error the caller releases the program.
cl_int hdi_cl_load_library(struct _cl_program *program);

// The value of a specialisation constant of SPIR-V for the builds to come,
// `size` bytes of at most 8. The last value of an id counts.
// CL_OUT_OF_HOST_MEMORY: the old value stays.
cl_int hdi_cl_keep_constant(struct _cl_program *program, cl_uint id,
                            size_t size, const void *value);

#endif
