// Between program.c, which keeps what programs are made of, and build.c.
#ifndef HDI_ICD_BUILD_H
#define HDI_ICD_BUILD_H

#include "icd/icd.h"

// What stands before Heddle's container in binaries of programs that are to be
// linked.
#define HDI_CL_OBJECT_MARK  "hd-clobj"
#define HDI_CL_LIBRARY_MARK "hd-cllib"

enum {
    HDI_CL_MARK_SIZE = 8 // [bytes]
};

struct _cl_program *hdi_cl_program_create(struct _cl_context *context,
                                          cl_uint count,
                                          const cl_device_id *devices,
                                          cl_int *error);

bool hdi_cl_program_has(const struct _cl_program *program,
                        const struct _cl_device_id *device);

// Of a program whose binary is to be linked.
cl_int hdi_cl_load_library(struct _cl_program *program);

cl_int hdi_cl_keep_constant(struct _cl_program *program, cl_uint id,
                            size_t size, const void *value);

#endif
