// Kernels and functions of the host as commands.
#include "tests/opencl/errors.h"

static void CL_CALLBACK nothing(void *arguments)
{
    (void)arguments;
}

static void ranges(struct errors *r)
{
    cl_command_queue q = r->queue;
    const size_t one[3] = {1, 1, 1}, eight[3] = {8, 1, 1}, four[3] = {4, 1, 1};
    const size_t zero[3] = {0, 1, 1}, three[3] = {3, 1, 1};
    const size_t huge[3] = {1u << 20, 1, 1}, far[3] = {SIZE_MAX, 0, 0};
    size_t square[3], most;

    CL_OK(clGetDeviceInfo(r->device, CL_DEVICE_MAX_WORK_GROUP_SIZE,
                          sizeof(most), &most, NULL));
    square[0] = square[1] = most;
    square[2] = 1;
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueNDRangeKernel, r->bad,
                   NULL, 0, NULL, one, NULL, 1, NULL, NULL))
    EACH(kernel, IS(CL_INVALID_KERNEL, clEnqueueNDRangeKernel, q, r->bad, 0,
                    NULL, one, NULL, 1, NULL, NULL))
    IS(CL_INVALID_CONTEXT, clEnqueueNDRangeKernel, q, r->other_kernel, 0, NULL,
       one, NULL, 1, NULL, NULL);
    IS(CL_INVALID_KERNEL_ARGS, clEnqueueNDRangeKernel, q, r->unset, 0, NULL,
       one, NULL, 1, NULL, NULL);
    IS(CL_INVALID_WORK_DIMENSION, clEnqueueNDRangeKernel, q, r->none, 0, far,
       one, zero, 1, NULL, NULL);
    IS(CL_INVALID_WORK_DIMENSION, clEnqueueNDRangeKernel, q, r->none, 4, NULL,
       one, NULL, 0, NULL, NULL);
    IS(CL_INVALID_GLOBAL_OFFSET, clEnqueueNDRangeKernel, q, r->none, 1, far,
       eight, zero, 1, NULL, NULL);
    IS(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel, q, r->none, 1, NULL,
       one, zero, 1, NULL, NULL);
    IS(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel, q, r->none, 1, NULL,
       eight, three, 1, NULL, NULL);
    IS(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel, q, r->none, 2, NULL,
       square, square, 0, NULL, NULL);
    IS(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel, q, r->shaped, 1,
       NULL, eight, eight, 0, NULL, NULL);
    IS(CL_INVALID_WORK_GROUP_SIZE, clEnqueueNDRangeKernel, q, r->shaped, 1,
       NULL, three, NULL, 0, NULL, NULL);
    IS(CL_INVALID_WORK_ITEM_SIZE, clEnqueueNDRangeKernel, q, r->none, 1, NULL,
       huge, huge, 1, NULL, NULL);
    WAITS(clEnqueueNDRangeKernel, q, r->none, 1, NULL, one, NULL);
    IS(CL_SUCCESS, clEnqueueNDRangeKernel, q, r->shaped, 1, NULL, eight, four,
       0, NULL, NULL);
    IS(CL_SUCCESS, clEnqueueNDRangeKernel, q, r->none, 1, NULL, NULL, NULL, 0,
       NULL, NULL);

    size_t found[3];
    EACH(queue,
         EXT(CL_INVALID_COMMAND_QUEUE, clGetKernelSuggestedLocalWorkSizeKHR,
             r->bad, NULL, 0, NULL, NULL, NULL))
    EACH(kernel, EXT(CL_INVALID_KERNEL, clGetKernelSuggestedLocalWorkSizeKHR, q,
                     r->bad, 0, NULL, zero, NULL))
    EXT(CL_INVALID_CONTEXT, clGetKernelSuggestedLocalWorkSizeKHR, q,
        r->other_kernel, 1, NULL, NULL, found);
    EXT(CL_INVALID_KERNEL_ARGS, clGetKernelSuggestedLocalWorkSizeKHR, q,
        r->unset, 1, NULL, zero, found);
    EXT(CL_INVALID_WORK_DIMENSION, clGetKernelSuggestedLocalWorkSizeKHR, q,
        r->none, 4, NULL, zero, found);
    EXT(CL_INVALID_GLOBAL_OFFSET, clGetKernelSuggestedLocalWorkSizeKHR, q,
        r->none, 1, far, eight, NULL);
    EXT(CL_INVALID_GLOBAL_WORK_SIZE, clGetKernelSuggestedLocalWorkSizeKHR, q,
        r->none, 1, NULL, NULL, NULL);
    EXT(CL_INVALID_GLOBAL_WORK_SIZE, clGetKernelSuggestedLocalWorkSizeKHR, q,
        r->none, 1, NULL, zero, NULL);
    EXT(CL_INVALID_VALUE, clGetKernelSuggestedLocalWorkSizeKHR, q, r->none, 1,
        NULL, one, NULL);
}

static void tasks(struct errors *r)
{
    cl_command_queue q = r->queue;

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueTask, r->bad, NULL, 1,
                   NULL, NULL))
    EACH(kernel, IS(CL_INVALID_KERNEL, clEnqueueTask, q, r->bad, 1, NULL, NULL))
    IS(CL_INVALID_CONTEXT, clEnqueueTask, q, r->other_kernel, 0, NULL, NULL);
    IS(CL_INVALID_KERNEL_ARGS, clEnqueueTask, q, r->unset, 1, NULL, NULL);
    IS(CL_INVALID_WORK_GROUP_SIZE, clEnqueueTask, q, r->shaped, 1, NULL, NULL);
    WAITS(clEnqueueTask, q, r->none);
}

static void natives(struct errors *r)
{
    cl_command_queue q = r->queue;
    void *a[2] = {NULL, NULL};
    const void *places[] = {&a[0]}, *outside[] = {r->host};
    const size_t n = sizeof(a);

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueNativeKernel, r->bad,
                   NULL, a, n, 0, NULL, NULL, 1, NULL, NULL))
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, NULL, a, n, 0, NULL, NULL, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, NULL, n, 0, NULL,
       NULL, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, NULL, 0, 1, &r->mem,
       places, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, a, 0, 0, NULL, NULL,
       0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, a, n, 1, NULL,
       places, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, a, n, 1, &r->mem,
       NULL, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, a, n, 0, &r->mem,
       places, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueNativeKernel, q, nothing, a, n, 1, &r->mem,
       outside, 0, NULL, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueNativeKernel, q, nothing, a, n,
                 1, (cl_mem *)&r->bad, places, 1, NULL, NULL))
    IS(CL_INVALID_MEM_OBJECT, clEnqueueNativeKernel, q, nothing, a, n, 1,
       &r->image, places, 1, NULL, NULL);
    WAITS(clEnqueueNativeKernel, q, nothing, a, n, 1, &r->mem, places);
}

void errors_launch(struct errors *r)
{
    ranges(r);
    tasks(r);
    natives(r);
}
