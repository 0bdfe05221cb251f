// Memory: buffers and parts of them, pipes, samplers, shared virtual memory.
#include "tests/opencl/errors.h"

static void CL_CALLBACK forget(cl_mem mem, void *data)
{
    (void)mem, (void)data;
}

static const cl_mem_flags copies = CL_MEM_COPY_HOST_PTR;

static void buffers(struct errors *r)
{
    const cl_mem_properties unknown[] = {1, 1, 0};
    const cl_mem_flags both = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateBuffer, r->bad, 0, 64, NULL))
    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateBuffer, r->bad, both, 0, r->host))
    NONE(CL_INVALID_VALUE, clCreateBuffer, r->context, both, 64, NULL);
    NONE(CL_INVALID_VALUE, clCreateBuffer, r->context, 1ull << 40, 64, NULL);
    NONE(CL_INVALID_VALUE, clCreateBuffer, r->context,
         CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 64, r->host);
    NONE(CL_INVALID_VALUE, clCreateBuffer, r->context,
         CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 64, r->host);
    NONE(CL_INVALID_VALUE, clCreateBuffer, r->context,
         CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, 64, NULL);
    NONE(CL_INVALID_VALUE, clCreateBuffer, r->context, both, 0, r->host);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateBuffer, r->context, 0, 0, NULL);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateBuffer, r->context, 0, SIZE_MAX, NULL);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateBuffer, r->context, copies, 0, NULL);
    char *shared = clSVMAlloc(r->context, 0, 64, 0);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateBuffer, r->context,
         CL_MEM_USE_HOST_PTR, 65, shared);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateBuffer, r->context,
         CL_MEM_USE_HOST_PTR, 33, shared + 32);
    clSVMFree(r->context, shared);
    NONE(CL_INVALID_HOST_PTR, clCreateBuffer, r->context, copies, 64, NULL);
    NONE(CL_INVALID_HOST_PTR, clCreateBuffer, r->context, CL_MEM_USE_HOST_PTR,
         64, NULL);
    NONE(CL_INVALID_HOST_PTR, clCreateBuffer, r->context, 0, 64, r->host);

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateBufferWithProperties, r->bad,
                       unknown, 0, 64, NULL))
    NONE(CL_INVALID_PROPERTY, clCreateBufferWithProperties, r->context, unknown,
         0, 64, NULL);
    NONE(CL_INVALID_PROPERTY, clCreateBufferWithProperties, r->context, unknown,
         both, 0, NULL);
    NONE(CL_INVALID_VALUE, clCreateBufferWithProperties, r->context, NULL, both,
         64, NULL);
}

static void parts(struct errors *r)
{
    const cl_buffer_create_type region = CL_BUFFER_CREATE_TYPE_REGION;
    const cl_buffer_region good = {0, 64}, outside = {128, ERRORS_BYTES};
    const cl_buffer_region empty = {0, 0}, odd = {4, 64}, odd_empty = {4, 0};
    const cl_buffer_region far = {SIZE_MAX - 127, 256};

    EACH(mem, NONE(CL_INVALID_MEM_OBJECT, clCreateSubBuffer, r->bad, 0, region,
                   &good))
    EACH(mem,
         NONE(CL_INVALID_MEM_OBJECT, clCreateSubBuffer, r->bad, 0, 1, NULL))
    NONE(CL_INVALID_MEM_OBJECT, clCreateSubBuffer, r->image, 0, region, &good);
    NONE(CL_INVALID_MEM_OBJECT, clCreateSubBuffer, r->part, 0, region, &good);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->mem, CL_MEM_USE_HOST_PTR,
         region, &good);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->mem, CL_MEM_COPY_HOST_PTR,
         region, &good);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->hidden, CL_MEM_HOST_READ_ONLY,
         region, &good);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->unread, CL_MEM_HOST_WRITE_ONLY,
         region, &good);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->mem, 0, 1, &good);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->mem, 0, region, NULL);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->mem, 0, region, &outside);
    NONE(CL_INVALID_VALUE, clCreateSubBuffer, r->mem, 0, region, &far);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateSubBuffer, r->mem, 0, region, &empty);
    NONE(CL_INVALID_BUFFER_SIZE, clCreateSubBuffer, r->mem, 0, region,
         &odd_empty);
    NONE(CL_MISALIGNED_SUB_BUFFER_OFFSET, clCreateSubBuffer, r->mem, 0, region,
         &odd);
}

static void objects(struct errors *r)
{
    COUNTS(mem, CL_INVALID_MEM_OBJECT, clRetainMemObject, clReleaseMemObject);
    TELLS(mem, CL_INVALID_MEM_OBJECT, clGetMemObjectInfo, r->mem, CL_MEM_SIZE);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clSetMemObjectDestructorCallback,
                 r->bad, forget, NULL))
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clSetMemObjectDestructorCallback,
                 r->bad, NULL, NULL))
    IS(CL_INVALID_VALUE, clSetMemObjectDestructorCallback, r->mem, NULL, NULL);
    // There are none.
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreatePipe, r->bad, 0, 4, 4, NULL))
    NONE(CL_INVALID_OPERATION, clCreatePipe, r->context, 0, 4, 4, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clGetPipeInfo, r->bad,
                 CL_PIPE_PACKET_SIZE, 64, r->host, NULL))
    IS(CL_INVALID_MEM_OBJECT, clGetPipeInfo, r->mem, CL_PIPE_PACKET_SIZE, 64,
       r->host, NULL);
}

static void samplers(struct errors *r)
{
    const cl_sampler_properties unknown[] = {1, 1, 0};
    const cl_sampler_properties odd[] = {CL_SAMPLER_FILTER_MODE, 1, 0};
    const cl_sampler_properties twice[] = {
        CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_FILTER_MODE,
        CL_FILTER_LINEAR, 0};

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateSampler, r->bad, CL_TRUE, 1,
                       CL_FILTER_LINEAR))
    NONE(CL_INVALID_VALUE, clCreateSampler, r->context, 7, CL_ADDRESS_NONE,
         CL_FILTER_LINEAR);
    NONE(CL_INVALID_VALUE, clCreateSampler, r->context, CL_TRUE, 1,
         CL_FILTER_LINEAR);
    NONE(CL_INVALID_VALUE, clCreateSampler, r->context, CL_TRUE,
         CL_ADDRESS_NONE, 1);
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateSamplerWithProperties,
                       r->bad, unknown))
    NONE(CL_INVALID_VALUE, clCreateSamplerWithProperties, r->context, unknown);
    NONE(CL_INVALID_VALUE, clCreateSamplerWithProperties, r->context, odd);
    NONE(CL_INVALID_VALUE, clCreateSamplerWithProperties, r->context, twice);
    COUNTS(sampler, CL_INVALID_SAMPLER, clRetainSampler, clReleaseSampler);
    TELLS(sampler, CL_INVALID_SAMPLER, clGetSamplerInfo, r->sampler,
          CL_SAMPLER_FILTER_MODE);
}

static void shared(struct errors *r)
{
    const cl_icd_dispatch *api = r->api;

    EACH(context, HOLDS(clSVMAlloc, !api->clSVMAlloc(r->bad, 0, 64, 0)))
    HOLDS(clSVMAlloc, !api->clSVMAlloc(r->context, 0, 0, 0));
    HOLDS(clSVMAlloc, !api->clSVMAlloc(r->context, 0, SIZE_MAX, 0));
    HOLDS(clSVMAlloc, !api->clSVMAlloc(r->context, 0, 64, 3));
    HOLDS(clSVMAlloc, !api->clSVMAlloc(r->context, 0, 64, 1u << 31));
    HOLDS(clSVMAlloc, !api->clSVMAlloc(r->context, 1ull << 40, 64, 0));
    HOLDS(clSVMAlloc, !api->clSVMAlloc(r->context, CL_MEM_SVM_ATOMICS, 64, 0));
    HOLDS(clSVMAlloc,
          !api->clSVMAlloc(r->context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64,
                           0));
    // What is no context's, and what is none of the context, stays.
    char *memory = api->clSVMAlloc(r->context, 0, 64, 0);
    CHECK(memory);
    EACH(context, api->clSVMFree(r->bad, memory); memory[0] = memory[63] = 1;
         HOLDS(clSVMFree, memory[0] == 1))
    api->clSVMFree(r->context, r->host);
    api->clSVMFree(r->context, NULL);
    api->clSVMFree(r->context, memory + 1);
    memory[0] = 2;
    HOLDS(clSVMFree, memory[0] == 2);
    api->clSVMFree(r->context, memory);
}

void errors_memory(struct errors *r)
{
    buffers(r);
    parts(r);
    objects(r);
    samplers(r);
    shared(r);
}
