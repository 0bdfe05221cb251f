#include "bench/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PLATFORMS = 8
};

void opencl_check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "bench: OpenCL: %s: %d\n", what, status);
    exit(1);
}

cl_device_id opencl_look_for_device(const char *platform)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    cl_device_id device;
    char name[128];

    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS)
        return NULL;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++)
        if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name),
                              name, NULL) == CL_SUCCESS &&
            strstr(name, platform) &&
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device,
                           NULL) == CL_SUCCESS)
            return device;
    return NULL;
}

cl_device_id opencl_find_device(const char *platform)
{
    cl_device_id device = opencl_look_for_device(platform);

    if (!device)
        exit(1);
    return device;
}

struct opencl opencl_build(cl_device_id device, const char *text,
                           const char *options)
{
    struct opencl opencl;
    cl_int status;

    opencl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    opencl_check(status, "context");
    opencl.queue = clCreateCommandQueue(opencl.context, device, 0, &status);
    opencl_check(status, "queue");
    opencl.program =
        clCreateProgramWithSource(opencl.context, 1, &text, NULL, &status);
    opencl_check(status, "program");
    opencl_check(
        clBuildProgram(opencl.program, 1, &device, options, NULL, NULL),
        "build");
    return opencl;
}

cl_mem opencl_new_buffer(const struct opencl *opencl, size_t size)
{
    cl_int status;
    cl_mem made =
        clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, size, NULL, &status);
    opencl_check(status, "buffer");
    return made;
}
