// Through the OpenCL loader, on the device of PoCL.
#include <stdlib.h>
#include <string.h>

#include "bench/launch_child.h"
#include "bench/opencl.h"

enum {
    SIDE = 256, // of a matrix
    MAX_KERNELS = 32
};

static struct opencl opencl;
static cl_kernel kernels[MAX_KERNELS];
static char names[MAX_KERNELS][64];
static cl_uint arg_counts[MAX_KERNELS];
static cl_uint kernel_count;
static cl_mem buffer;

static void build(const char *source, const char *folder)
{
    char *text = launch_read_source(source);

    setenv("POCL_CACHE_DIR", folder, 1);
    opencl = opencl_build(opencl_find_device("Portable Computing Language"),
                          text, "");
    opencl_check(clCreateKernelsInProgram(opencl.program, MAX_KERNELS, kernels,
                                          &kernel_count),
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
    opencl_check(i < kernel_count ? CL_SUCCESS : CL_INVALID_KERNEL_NAME, name);
    return i;
}

static void run(const char *kernel, long groups, int size)
{
    size_t global = (size_t)(groups * size), local = (size_t)size;
    cl_uint k = find(kernel);

    if (!buffer)
        buffer = opencl_new_buffer(&opencl, 1 << 20);
    if (arg_counts[k])
        opencl_check(clSetKernelArg(kernels[k], 0, sizeof(buffer), &buffer),
                     "argument");
    opencl_check(clEnqueueNDRangeKernel(opencl.queue, kernels[k], 1, NULL,
                                        &global, &local, 0, NULL, NULL),
                 kernel);
    opencl_check(clFinish(opencl.queue), kernel);
}

static void batch(const char *kernel, int count, bool in_order)
{
    static cl_command_queue queues[2];
    size_t global = 64, local = 64;
    cl_kernel k = kernels[find(kernel)];

    if (!queues[in_order]) {
        cl_device_id device;
        cl_int status = clGetCommandQueueInfo(opencl.queue, CL_QUEUE_DEVICE,
                                              sizeof(device), &device, NULL);
        opencl_check(status, "device");
        queues[in_order] = clCreateCommandQueue(
            opencl.context, device,
            in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
        opencl_check(status, "queue");
    }
    for (int i = 0; i < count; i++)
        opencl_check(clEnqueueNDRangeKernel(queues[in_order], k, 1, NULL,
                                            &global, &local, 0, NULL, NULL),
                     kernel);
    opencl_check(clFinish(queues[in_order]), kernel);
}

static void multiply(void)
{
    const size_t global[] = {SIDE, SIDE}, local[] = {16, 16};
    cl_kernel kernel = kernels[find("product")];
    cl_int side = SIDE;

    for (cl_uint i = 0; i < 3; i++) {
        cl_mem matrix = opencl_new_buffer(&opencl, SIDE * SIDE * sizeof(float));
        opencl_check(clSetKernelArg(kernel, i, sizeof(matrix), &matrix),
                     "argument");
    }
    opencl_check(clSetKernelArg(kernel, 3, sizeof(side), &side), "argument");
    opencl_check(clEnqueueNDRangeKernel(opencl.queue, kernel, 2, NULL, global,
                                        local, 0, NULL, NULL),
                 "product");
    opencl_check(clFinish(opencl.queue), "product");
}

const struct implementation implementation = {build, run, batch, multiply};
