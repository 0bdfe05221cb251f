// Extensions: sharing with OpenGL, which is not there, command buffers, unified
// shared memory.
#include "tests/opencl/errors.h"

static const size_t at[3] = {0, 0, 0}, box[3] = {4, 4, 1};

static void sharing(struct errors *r)
{
    cl_GLuint name;
    cl_gl_object_type type;
    cl_mem *m = &r->mem;

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateFromGLBuffer, r->bad, 0, 1))
    NONE(CL_INVALID_OPERATION, clCreateFromGLBuffer, r->context, 0, 1);
    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateFromGLTexture, r->bad, 0, 0, 0, 1))
    NONE(CL_INVALID_OPERATION, clCreateFromGLTexture, r->context, 0, 0, 0, 1);
    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateFromGLTexture2D, r->bad, 0, 0, 0, 1))
    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateFromGLTexture3D, r->bad, 0, 0, 0, 1))
    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateFromGLRenderbuffer, r->bad, 0, 1))
    EACH(mem,
         IS(CL_INVALID_MEM_OBJECT, clGetGLObjectInfo, r->bad, &type, &name))
    IS(CL_INVALID_GL_OBJECT, clGetGLObjectInfo, r->mem, &type, &name);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clGetGLTextureInfo, r->bad,
                 CL_GL_TEXTURE_TARGET, 64, r->host, NULL))
    IS(CL_INVALID_GL_OBJECT, clGetGLTextureInfo, r->mem, CL_GL_TEXTURE_TARGET,
       64, r->host, NULL);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueAcquireGLObjects, r->bad,
                   1, m, 0, NULL, NULL))
    IS(CL_INVALID_GL_OBJECT, clEnqueueAcquireGLObjects, r->queue, 1, m, 0, NULL,
       NULL);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueReleaseGLObjects, r->bad,
                   1, m, 0, NULL, NULL))
    IS(CL_INVALID_GL_OBJECT, clEnqueueReleaseGLObjects, r->queue, 1, m, 0, NULL,
       NULL);
    IS(CL_INVALID_OPERATION, clGetGLContextInfoKHR, NULL,
       CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, 64, r->host, NULL);
}

// Of every command: the buffer, a queue of its own, its sync points, a handle,
// and what is done once the buffer is final.
#define COMMAND(name, ...)                                                     \
    do {                                                                       \
        const cl_sync_point_khr none_[] = {0}, late_[] = {1000};               \
        cl_mutable_command_khr handle_;                                        \
        EACH(buffer, EXT(CL_INVALID_COMMAND_BUFFER_KHR, name, r->bad, NULL,    \
                         NULL, __VA_ARGS__, 1, NULL, NULL, NULL))              \
        EXT(CL_INVALID_COMMAND_QUEUE, name, b, r->queue, NULL, __VA_ARGS__, 0, \
            NULL, NULL, NULL);                                                 \
        EXT(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, name, b, NULL, NULL,          \
            __VA_ARGS__, 1, NULL, NULL, NULL);                                 \
        EXT(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, name, b, NULL, NULL,          \
            __VA_ARGS__, 0, late_, NULL, NULL);                                \
        EXT(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, name, b, NULL, NULL,          \
            __VA_ARGS__, 1, none_, NULL, NULL);                                \
        EXT(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, name, b, NULL, NULL,          \
            __VA_ARGS__, 1, late_, NULL, NULL);                                \
        EXT(CL_INVALID_VALUE, name, b, NULL, NULL, __VA_ARGS__, 0, NULL, NULL, \
            &handle_);                                                         \
        EXT(CL_INVALID_VALUE, name, b, NULL, unknown, __VA_ARGS__, 0, NULL,    \
            NULL, NULL);                                                       \
        EXT(CL_INVALID_OPERATION, name, final, NULL, NULL, __VA_ARGS__, 0,     \
            NULL, NULL, NULL);                                                 \
    } while (0)

static void recording(struct errors *r, cl_command_buffer_khr final)
{
    cl_command_buffer_khr b = r->commands;
    cl_mem m = r->mem, o = r->other_mem, i = r->image, u = r->unread_image;
    cl_mem h = r->hidden;
    const size_t one = 1;
    const cl_properties unknown[] = {1, 1, 0};
    char *shared = clSVMAlloc(r->context, CL_MEM_READ_WRITE, 64, 0);

    CHECK(shared);
    COMMAND(clCommandCopyBufferKHR, m, m, 0, 64, 64);
    COMMAND(clCommandCopyBufferRectKHR, m, h, at, at, box, 0, 0, 0, 0);
    COMMAND(clCommandCopyBufferToImageKHR, m, i, 0, at, box);
    COMMAND(clCommandCopyImageKHR, i, u, at, at, box);
    COMMAND(clCommandCopyImageToBufferKHR, i, m, at, box, 0);
    COMMAND(clCommandFillBufferKHR, m, r->host, 4, 0, 64);
    COMMAND(clCommandFillImageKHR, i, r->host, at, box);
    COMMAND(clCommandNDRangeKernelKHR, r->none, 1, NULL, &one, NULL);
    COMMAND(clCommandSVMMemcpyKHR, shared, shared + 32, 32);
    COMMAND(clCommandSVMMemFillKHR, shared, r->host, 4, 64);
    EACH(buffer,
         EXT(CL_INVALID_COMMAND_BUFFER_KHR, clCommandBarrierWithWaitListKHR,
             r->bad, NULL, NULL, 0, NULL, NULL, NULL))
    EXT(CL_INVALID_COMMAND_QUEUE, clCommandBarrierWithWaitListKHR, b, r->queue,
        NULL, 0, NULL, NULL, NULL);
    EXT(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, clCommandBarrierWithWaitListKHR, b,
        NULL, NULL, 1, NULL, NULL, NULL);
    EXT(CL_INVALID_OPERATION, clCommandBarrierWithWaitListKHR, final, NULL,
        NULL, 0, NULL, NULL, NULL);

    // What the command itself would be refused for.
    EACH(mem, EXT(CL_INVALID_MEM_OBJECT, clCommandCopyBufferKHR, b, NULL, NULL,
                  m, r->bad, 0, 0, 64, 0, NULL, NULL, NULL))
    EXT(CL_INVALID_CONTEXT, clCommandCopyBufferKHR, b, NULL, NULL, m, o, 0, 0,
        64, 0, NULL, NULL, NULL);
    EXT(CL_MEM_COPY_OVERLAP, clCommandCopyBufferKHR, b, NULL, NULL, m, m, 0, 0,
        64, 0, NULL, NULL, NULL);
    EXT(CL_INVALID_VALUE, clCommandFillBufferKHR, b, NULL, NULL, m, r->host, 3,
        0, 63, 0, NULL, NULL, NULL);
    EACH(kernel, EXT(CL_INVALID_KERNEL, clCommandNDRangeKernelKHR, b, NULL,
                     NULL, r->bad, 1, NULL, &one, NULL, 0, NULL, NULL, NULL))
    EXT(CL_INVALID_KERNEL_ARGS, clCommandNDRangeKernelKHR, b, NULL, NULL,
        r->unset, 1, NULL, &one, NULL, 0, NULL, NULL, NULL);
    // Within one allocation, and nothing at all.
    EXT(CL_MEM_COPY_OVERLAP, clCommandSVMMemcpyKHR, b, NULL, NULL, shared,
        shared + 8, 32, 0, NULL, NULL, NULL);
    EXT(CL_INVALID_VALUE, clCommandSVMMemFillKHR, b, NULL, NULL, NULL, r->host,
        4, 64, 0, NULL, NULL, NULL);
    clSVMFree(r->context, shared);
}

static void buffers(struct errors *r)
{
    const cl_command_buffer_properties_khr unknown[] = {1, 1, 0};
    const cl_command_buffer_properties_khr odd[] = {CL_COMMAND_BUFFER_FLAGS_KHR,
                                                    1u << 20, 0};
    cl_command_queue two[] = {r->queue, r->queue};
    cl_command_buffer_khr final, b = r->commands;

    EXT_NONE(CL_INVALID_VALUE, clCreateCommandBufferKHR, 0, two, NULL);
    EXT_NONE(CL_INVALID_VALUE, clCreateCommandBufferKHR, 1, NULL, NULL);
    EACH(queue, EXT_NONE(CL_INVALID_COMMAND_QUEUE, clCreateCommandBufferKHR, 1,
                         (cl_command_queue *)&r->bad, unknown))
    EXT_NONE(CL_INVALID_VALUE, clCreateCommandBufferKHR, 1, two, unknown);
    EXT_NONE(CL_INVALID_VALUE, clCreateCommandBufferKHR, 1, two, odd);
    EACH(buffer,
         EXT(CL_INVALID_COMMAND_BUFFER_KHR, clFinalizeCommandBufferKHR, r->bad))
    final = r->ext.clCreateCommandBufferKHR(1, two, NULL, &r->e);
    CL_OK(r->e);
    CL_OK(r->ext.clFinalizeCommandBufferKHR(final));
    EXT(CL_INVALID_OPERATION, clFinalizeCommandBufferKHR, final);
    EACH(buffer,
         EXT(CL_INVALID_COMMAND_BUFFER_KHR, clRetainCommandBufferKHR, r->bad))
    EACH(buffer,
         EXT(CL_INVALID_COMMAND_BUFFER_KHR, clReleaseCommandBufferKHR, r->bad))
    EACH(buffer, EXT(CL_INVALID_COMMAND_BUFFER_KHR, clGetCommandBufferInfoKHR,
                     r->bad, 1, 64, r->host, NULL))
    EXT(CL_INVALID_VALUE, clGetCommandBufferInfoKHR, b, 1, 64, r->host, NULL);
    EXT(CL_INVALID_VALUE, clGetCommandBufferInfoKHR, b,
        CL_COMMAND_BUFFER_STATE_KHR, 0, r->host, NULL);
    recording(r, final);

    EACH(buffer, EXT(CL_INVALID_COMMAND_BUFFER_KHR, clEnqueueCommandBufferKHR,
                     1, NULL, r->bad, 1, NULL, NULL))
    EXT(CL_INVALID_VALUE, clEnqueueCommandBufferKHR, 1, NULL, final, 0, NULL,
        NULL);
    EXT(CL_INVALID_VALUE, clEnqueueCommandBufferKHR, 0, two, final, 0, NULL,
        NULL);
    EACH(queue, EXT(CL_INVALID_COMMAND_QUEUE, clEnqueueCommandBufferKHR, 1,
                    (cl_command_queue *)&r->bad, final, 0, NULL, NULL))
    EXT(CL_INVALID_CONTEXT, clEnqueueCommandBufferKHR, 1, &r->other.queue,
        final, 0, NULL, NULL);
    EXT(CL_INVALID_EVENT_WAIT_LIST, clEnqueueCommandBufferKHR, 0, NULL, final,
        1, NULL, NULL);
    EXT(CL_INVALID_OPERATION, clEnqueueCommandBufferKHR, 0, NULL, b, 0, NULL,
        NULL);
    CL_OK(r->ext.clReleaseCommandBufferKHR(final));
}

// What every way to allocate refuses.
#define ALLOCATES(name, ...)                                                   \
    do {                                                                       \
        const cl_mem_properties_intel unknown_[] = {1, 1, 0};                  \
        EACH(context, EXT_NONE(CL_INVALID_CONTEXT, name, r->bad,               \
                               __VA_ARGS__ unknown_, 0, 3))                    \
        EXT_NONE(CL_INVALID_VALUE, name, r->context, __VA_ARGS__ NULL, 64, 3); \
        EXT_NONE(CL_INVALID_PROPERTY, name, r->context, __VA_ARGS__ unknown_,  \
                 64, 0);                                                       \
        EXT_NONE(CL_INVALID_BUFFER_SIZE, name, r->context, __VA_ARGS__ NULL,   \
                 0, 0);                                                        \
        EXT_NONE(CL_INVALID_BUFFER_SIZE, name, r->context, __VA_ARGS__ NULL,   \
                 SIZE_MAX, 0);                                                 \
    } while (0)

static void unified(struct errors *r)
{
    ALLOCATES(clHostMemAllocINTEL, );
    ALLOCATES(clDeviceMemAllocINTEL, r->device, );
    ALLOCATES(clSharedMemAllocINTEL, r->device, );
    EACH(device, EXT_NONE(CL_INVALID_DEVICE, clDeviceMemAllocINTEL, r->context,
                          r->bad, NULL, 64, 0))
    EACH(device, if (r->bad) EXT_NONE(CL_INVALID_DEVICE, clSharedMemAllocINTEL,
                                      r->context, r->bad, NULL, 64, 0))
    char *p = r->ext.clHostMemAllocINTEL(r->context, NULL, 64, 0, &r->e);
    CL_OK(r->e);
    EACH(context, EXT(CL_INVALID_CONTEXT, clMemFreeINTEL, r->bad, p))
    EXT(CL_INVALID_VALUE, clMemFreeINTEL, r->context, p + 1);
    EXT(CL_INVALID_VALUE, clMemFreeINTEL, r->context, r->host);
    EXT(CL_SUCCESS, clMemFreeINTEL, r->context, NULL);
    EACH(context, EXT(CL_INVALID_CONTEXT, clMemBlockingFreeINTEL, r->bad, p))
    EXT(CL_INVALID_VALUE, clMemBlockingFreeINTEL, r->context, p + 1);
    EACH(context, EXT(CL_INVALID_CONTEXT, clGetMemAllocInfoINTEL, r->bad, p, 1,
                      64, r->host, NULL))
    EXT(CL_INVALID_VALUE, clGetMemAllocInfoINTEL, r->context, p, 1, 64, r->host,
        NULL);
    EXT(CL_INVALID_VALUE, clGetMemAllocInfoINTEL, r->context, p,
        CL_MEM_ALLOC_SIZE_INTEL, 0, r->host, NULL);

    cl_command_queue q = r->queue;
    EACH(queue, EXT(CL_INVALID_COMMAND_QUEUE, clEnqueueMigrateMemINTEL, r->bad,
                    NULL, 64, 0, 1, NULL, NULL))
    EXT(CL_INVALID_VALUE, clEnqueueMigrateMemINTEL, q, NULL, 64, 0, 0, NULL,
        NULL);
    EXT(CL_INVALID_VALUE, clEnqueueMigrateMemINTEL, q, p, 64, 1u << 20, 1, NULL,
        NULL);
    EXT(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMigrateMemINTEL, q, p, 64, 0, 1,
        NULL, NULL);
    EACH(queue, EXT(CL_INVALID_COMMAND_QUEUE, clEnqueueMemAdviseINTEL, r->bad,
                    NULL, 64, 0, 1, NULL, NULL))
    EXT(CL_INVALID_VALUE, clEnqueueMemAdviseINTEL, q, NULL, 64, 0, 1, NULL,
        NULL);
    EXT(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMemAdviseINTEL, q, p, 64, 0, 1,
        NULL, NULL);
    CL_OK(r->ext.clMemFreeINTEL(r->context, p));
}

void errors_extension(struct errors *r)
{
    sharing(r);
    buffers(r);
    unified(r);
}
