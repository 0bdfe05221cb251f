// What the children that measure other implementations of OpenCL share.
#ifndef HEDDLE_BENCH_OPENCL_H
#define HEDDLE_BENCH_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

// Everything but success ends the process with a message.
void opencl_check(cl_int status, const char *what);

// The CPU of the platform that has `platform` in its name. Ends the process
// when there is none.
cl_device_id opencl_find_device(const char *platform);

// The same, NULL when there is none.
cl_device_id opencl_look_for_device(const char *platform);

// A context and a queue of the device, and the program made of `text` with
// those options.
struct opencl {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
};

struct opencl opencl_build(cl_device_id device, const char *text,
                           const char *options);

cl_mem opencl_new_buffer(const struct opencl *opencl, size_t size);

#endif
