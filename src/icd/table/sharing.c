// Sharing with OpenGL is no extension of this platform; programs that ask all
// the same are refused. Loaders call these without a look at what is offered.
#include "icd/memory/contexts.h"
#include "icd/object/info.h"

// A context that is none comes first, as with all functions.
static cl_mem refuse(cl_context context, cl_int *error)
{
    return hdi_cl_none(error, hdi_cl_is(HDI_CL_CONTEXT, context)
                                  ? CL_INVALID_OPERATION
                                  : CL_INVALID_CONTEXT);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromGLBuffer(cl_context context,
                                                     cl_mem_flags flags,
                                                     cl_GLuint name,
                                                     cl_int *error)
{
    (void)flags, (void)name;
    return refuse(context, error);
}

CL_API_ENTRY cl_mem CL_API_CALL
clCreateFromGLTexture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                      cl_GLint level, cl_GLuint name, cl_int *error)
{
    (void)flags, (void)target, (void)level, (void)name;
    return refuse(context, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromGLTexture2D(
    cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,
    cl_GLuint name, cl_int *error)
{
    return clCreateFromGLTexture(context, flags, target, level, name, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromGLTexture3D(
    cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,
    cl_GLuint name, cl_int *error)
{
    return clCreateFromGLTexture(context, flags, target, level, name, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromGLRenderbuffer(cl_context context,
                                                           cl_mem_flags flags,
                                                           cl_GLuint name,
                                                           cl_int *error)
{
    return clCreateFromGLBuffer(context, flags, name, error);
}

CL_API_ENTRY cl_int CL_API_CALL clGetGLObjectInfo(cl_mem mem,
                                                  cl_gl_object_type *type,
                                                  cl_GLuint *name)
{
    (void)type, (void)name;
    return hdi_cl_is(HDI_CL_MEM, mem) ? CL_INVALID_GL_OBJECT
                                      : CL_INVALID_MEM_OBJECT;
}

CL_API_ENTRY cl_int CL_API_CALL clGetGLTextureInfo(cl_mem mem,
                                                   cl_gl_texture_info name,
                                                   size_t size, void *value,
                                                   size_t *size_ret)
{
    (void)name, (void)size, (void)value, (void)size_ret;
    return hdi_cl_is(HDI_CL_MEM, mem) ? CL_INVALID_GL_OBJECT
                                      : CL_INVALID_MEM_OBJECT;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueAcquireGLObjects(
    cl_command_queue queue, cl_uint count, const cl_mem *mems,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    (void)count, (void)mems, (void)wait_count, (void)wait_list, (void)event;
    return hdi_cl_is(HDI_CL_QUEUE, queue) ? CL_INVALID_GL_OBJECT
                                          : CL_INVALID_COMMAND_QUEUE;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReleaseGLObjects(
    cl_command_queue queue, cl_uint count, const cl_mem *mems,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    return clEnqueueAcquireGLObjects(queue, count, mems, wait_count, wait_list,
                                     event);
}

CL_API_ENTRY cl_int CL_API_CALL clGetGLContextInfoKHR(
    const cl_context_properties *properties, cl_gl_context_info name,
    size_t size, void *value, size_t *size_ret)
{
    (void)properties, (void)name, (void)size, (void)value, (void)size_ret;
    return CL_INVALID_OPERATION;
}
