// Kernels: making them, their arguments, and what is told of them.
#include "tests/opencl/errors.h"

static void kernels(struct errors *r)
{
    cl_kernel list[8];

    EACH(program, NONE(CL_INVALID_PROGRAM, clCreateKernel, r->bad, "none"))
    EACH(program, NONE(CL_INVALID_PROGRAM, clCreateKernel, r->bad, NULL))
    NONE(CL_INVALID_VALUE, clCreateKernel, r->program, NULL);
    NONE(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernel, r->object, "none");
    NONE(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernel, r->object, "no such");
    NONE(CL_INVALID_KERNEL_NAME, clCreateKernel, r->program, "no such");
    EACH(program, IS(CL_INVALID_PROGRAM, clCreateKernelsInProgram, r->bad, 8,
                     list, NULL))
    IS(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernelsInProgram, r->object, 0,
       list, NULL);
    IS(CL_INVALID_VALUE, clCreateKernelsInProgram, r->program, 2, list, &r->n);
    EACH(kernel, NONE(CL_INVALID_KERNEL, clCloneKernel, r->bad))
    COUNTS(kernel, CL_INVALID_KERNEL, clRetainKernel, clReleaseKernel);
}

static void arguments(struct errors *r)
{
    const size_t handle = sizeof(void *);
    cl_kernel k = r->unset;
    cl_mem *mem = &r->mem, *image = &r->image, none = NULL;
    const int four = 4;

    EACH(kernel, IS(CL_INVALID_KERNEL, clSetKernelArg, r->bad, 0, handle, mem))
    EACH(kernel, IS(CL_INVALID_KERNEL, clSetKernelArg, r->bad, 99, 0, NULL))
    IS(CL_INVALID_ARG_INDEX, clSetKernelArg, k, 6, handle, mem);
    IS(CL_INVALID_ARG_INDEX, clSetKernelArg, k, 99, 0, NULL);
    // A buffer.
    EACH(mem, if (r->bad) IS(CL_INVALID_MEM_OBJECT, clSetKernelArg, k, 0,
                             handle, &r->bad))
    IS(CL_INVALID_MEM_OBJECT, clSetKernelArg, k, 0, handle, image);
    IS(CL_INVALID_CONTEXT, clSetKernelArg, k, 0, handle, &r->other_mem);
    IS(CL_INVALID_ARG_SIZE, clSetKernelArg, k, 0, 4, mem);
    // A value.
    IS(CL_INVALID_ARG_SIZE, clSetKernelArg, k, 1, 2, &four);
    IS(CL_INVALID_ARG_SIZE, clSetKernelArg, k, 1, 0, NULL);
    IS(CL_INVALID_ARG_VALUE, clSetKernelArg, k, 1, 4, NULL);
    // Local memory.
    IS(CL_INVALID_ARG_SIZE, clSetKernelArg, k, 2, 0, NULL);
    IS(CL_INVALID_ARG_VALUE, clSetKernelArg, k, 2, 64, &four);
    // Images.
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clSetKernelArg, k, 3, handle, &r->bad))
    IS(CL_INVALID_MEM_OBJECT, clSetKernelArg, k, 3, handle, mem);
    IS(CL_INVALID_MEM_OBJECT, clSetKernelArg, k, 3, handle, &none);
    IS(CL_INVALID_CONTEXT, clSetKernelArg, k, 3, handle, &r->other_image);
    IS(CL_INVALID_ARG_SIZE, clSetKernelArg, k, 3, 4, image);
    IS(CL_INVALID_ARG_VALUE, clSetKernelArg, k, 3, handle, &r->line);
    const cl_image_format rgba = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = 4,
                                .image_height = 4};
    cl_mem read =
        clCreateImage(r->context, CL_MEM_READ_ONLY, &rgba, &desc, NULL, &r->e);
    cl_mem write =
        clCreateImage(r->context, CL_MEM_WRITE_ONLY, &rgba, &desc, NULL, &r->e);
    IS(CL_INVALID_ARG_VALUE, clSetKernelArg, k, 3, handle, &write);
    IS(CL_INVALID_ARG_VALUE, clSetKernelArg, k, 4, handle, &read);
    CL_OK(clReleaseMemObject(read));
    CL_OK(clReleaseMemObject(write));
    // A sampler.
    EACH(sampler, IS(CL_INVALID_SAMPLER, clSetKernelArg, k, 5, handle, &r->bad))
    IS(CL_INVALID_CONTEXT, clSetKernelArg, k, 5, handle, &r->other_sampler);
    IS(CL_INVALID_SAMPLER, clSetKernelArg, k, 5, handle, NULL);
    IS(CL_INVALID_ARG_SIZE, clSetKernelArg, k, 5, 4, &r->sampler);

    EACH(kernel,
         IS(CL_INVALID_KERNEL, clSetKernelArgSVMPointer, r->bad, 9, r->host))
    IS(CL_INVALID_ARG_INDEX, clSetKernelArgSVMPointer, k, 6, r->host);
    IS(CL_INVALID_ARG_VALUE, clSetKernelArgSVMPointer, k, 1, r->host);
    EACH(kernel, EXT(CL_INVALID_KERNEL, clSetKernelArgMemPointerINTEL, r->bad,
                     9, r->host))
    EXT(CL_INVALID_ARG_INDEX, clSetKernelArgMemPointerINTEL, k, 6, r->host);
    EXT(CL_INVALID_ARG_VALUE, clSetKernelArgMemPointerINTEL, k, 5, r->host);

    const cl_kernel_exec_info pointers = CL_KERNEL_EXEC_INFO_SVM_PTRS;
    void *list[1] = {r->host};
    EACH(kernel, IS(CL_INVALID_KERNEL, clSetKernelExecInfo, r->bad, pointers,
                    handle, list))
    IS(CL_INVALID_VALUE, clSetKernelExecInfo, k, 1, handle, list);
    IS(CL_INVALID_VALUE, clSetKernelExecInfo, k, pointers, handle, NULL);
    IS(CL_INVALID_VALUE, clSetKernelExecInfo, k, pointers, 0, list);
    IS(CL_SUCCESS, clSetKernelExecInfo, k, pointers, 0, NULL);
    IS(CL_INVALID_VALUE, clSetKernelExecInfo, k, pointers, 3, list);
    IS(CL_INVALID_VALUE, clSetKernelExecInfo, k,
       CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 1, list);
}

static void told(struct errors *r)
{
    cl_kernel k = r->kernel;
    const size_t sizes[4] = {16, 1, 1, 1};

    TELLS(kernel, CL_INVALID_KERNEL, clGetKernelInfo, k,
          CL_KERNEL_FUNCTION_NAME);
    EACH(kernel, IS(CL_INVALID_KERNEL, clGetKernelArgInfo, r->bad, 9, 1, 64,
                    r->host, NULL))
    IS(CL_INVALID_ARG_INDEX, clGetKernelArgInfo, k, 6, 1, 64, r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelArgInfo, k, 0, 1, 64, r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelArgInfo, k, 0, CL_KERNEL_ARG_NAME, 0,
       r->host, NULL);
    EACH(kernel, IS(CL_INVALID_KERNEL, clGetKernelWorkGroupInfo, r->bad, NULL,
                    1, 64, r->host, NULL))
    EACH(device, if (r->bad) IS(CL_INVALID_DEVICE, clGetKernelWorkGroupInfo, k,
                                r->bad, 1, 64, r->host, NULL))
    IS(CL_INVALID_VALUE, clGetKernelWorkGroupInfo, k, r->device, 1, 64, r->host,
       NULL);
    IS(CL_INVALID_VALUE, clGetKernelWorkGroupInfo, k, NULL,
       CL_KERNEL_WORK_GROUP_SIZE, 0, r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelWorkGroupInfo, k, NULL,
       CL_KERNEL_GLOBAL_WORK_SIZE, 64, r->host, NULL);

    const cl_kernel_sub_group_info of = CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE;
    EACH(kernel, IS(CL_INVALID_KERNEL, clGetKernelSubGroupInfo, r->bad, NULL,
                    of, 0, NULL, 64, r->host, NULL))
    EACH(device, if (r->bad) IS(CL_INVALID_DEVICE, clGetKernelSubGroupInfo, k,
                                r->bad, of, 0, NULL, 64, r->host, NULL))
    IS(CL_INVALID_VALUE, clGetKernelSubGroupInfo, k, r->device, 1, 8, sizes, 64,
       r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelSubGroupInfo, k, r->device, of, 8, NULL, 64,
       r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelSubGroupInfo, k, r->device, of, 0, sizes,
       64, r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelSubGroupInfo, k, r->device, of,
       sizeof(sizes), sizes, 64, r->host, NULL);
    IS(CL_INVALID_VALUE, clGetKernelSubGroupInfo, k, r->device, of, 8, sizes, 0,
       r->host, NULL);
    EACH(kernel, EXT(CL_INVALID_KERNEL, clGetKernelSubGroupInfoKHR, r->bad,
                     NULL, of, 0, NULL, 64, r->host, NULL))
    EXT(CL_INVALID_VALUE, clGetKernelSubGroupInfoKHR, k, r->device, of, 8, NULL,
        64, r->host, NULL);
}

void errors_kernel(struct errors *r)
{
    kernels(r);
    arguments(r);
    told(r);
}
