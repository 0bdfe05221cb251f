// Through the OpenCL loader, on the device of PoCL.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/launch_child.h"

enum {
    SIDE = 256, // of a matrix
    MOST_KERNELS = 32,
    MOST_PLATFORMS = 8
};

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernels[MOST_KERNELS];
static char names[MOST_KERNELS][64];
static cl_uint arg_counts[MOST_KERNELS];
static cl_uint kernel_count;
static cl_mem buffer;

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "launch_pocl: %s: %d\n", what, status);
    exit(1);
}

static cl_device_id find_device(void)
{
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    cl_device_id device;
    char name[128];

    check(clGetPlatformIDs(MOST_PLATFORMS, platforms, &count), "platforms");
    for (cl_uint i = 0; i < count && i < MOST_PLATFORMS; i++)
        if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name),
                              name, NULL) == CL_SUCCESS &&
            strstr(name, "Portable Computing Language") &&
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device,
                           NULL) == CL_SUCCESS)
            return device;
    fprintf(stderr, "launch_pocl: PoCL is not installed\n");
    exit(1);
}

static void build(const char *source, const char *folder)
{
    char *text = launch_read_source(source);
    cl_int status;

    setenv("POCL_CACHE_DIR", folder, 1);
    cl_device_id device = find_device();
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "queue");
    cl_program program = clCreateProgramWithSource(
        context, 1, (const char *[]){text}, NULL, &status);
    check(status, "program");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    check(
        clCreateKernelsInProgram(program, MOST_KERNELS, kernels, &kernel_count),
        "kernels");
    for (cl_uint i = 0; i < kernel_count; i++) {
        clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(names[i]),
                        names[i], NULL);
        clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof(arg_counts[i]),
                        &arg_counts[i], NULL);
    }
    free(text);
}

static cl_uint find(const char *name)
{
    cl_uint i = 0;
    while (i < kernel_count && strcmp(names[i], name) != 0)
        i++;
    check(i < kernel_count ? CL_SUCCESS : CL_INVALID_KERNEL_NAME, name);
    return i;
}

static cl_mem new_buffer(size_t size)
{
    cl_int status;
    cl_mem made =
        clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    check(status, "buffer");
    return made;
}

static void run(const char *kernel, long groups, int size)
{
    size_t global = (size_t)(groups * size), local = (size_t)size;
    cl_uint k = find(kernel);

    if (!buffer)
        buffer = new_buffer(1 << 20);
    if (arg_counts[k])
        check(clSetKernelArg(kernels[k], 0, sizeof(buffer), &buffer),
              "argument");
    check(clEnqueueNDRangeKernel(queue, kernels[k], 1, NULL, &global, &local, 0,
                                 NULL, NULL),
          kernel);
    check(clFinish(queue), kernel);
}

static void multiply(void)
{
    const size_t global[] = {SIDE, SIDE}, local[] = {16, 16};
    cl_kernel kernel = kernels[find("product")];
    cl_int side = SIDE;

    for (cl_uint i = 0; i < 3; i++) {
        cl_mem matrix = new_buffer(SIDE * SIDE * sizeof(float));
        check(clSetKernelArg(kernel, i, sizeof(matrix), &matrix), "argument");
    }
    check(clSetKernelArg(kernel, 3, sizeof(side), &side), "argument");
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL,
                                 NULL),
          "product");
    check(clFinish(queue), "product");
}

const struct implementation implementation = {build, run, multiply};
