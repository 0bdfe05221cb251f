// The table that the loader calls through, and the functions it finds by name.
#include <string.h>

#include "icd/icd.h"

#define ENTRY(name) .name = name

// Sharing with EGL and Direct3D is offered by no extension here, and those
// functions are not there.
const struct _cl_icd_dispatch hdi_cl_dispatch = {
    ENTRY(clGetPlatformIDs),
    ENTRY(clGetPlatformInfo),
    ENTRY(clGetDeviceIDs),
    ENTRY(clGetDeviceInfo),
    ENTRY(clCreateContext),
    ENTRY(clCreateContextFromType),
    ENTRY(clRetainContext),
    ENTRY(clReleaseContext),
    ENTRY(clGetContextInfo),
    ENTRY(clCreateCommandQueue),
    ENTRY(clRetainCommandQueue),
    ENTRY(clReleaseCommandQueue),
    ENTRY(clGetCommandQueueInfo),
    ENTRY(clSetCommandQueueProperty),
    ENTRY(clCreateBuffer),
    ENTRY(clCreateImage2D),
    ENTRY(clCreateImage3D),
    ENTRY(clRetainMemObject),
    ENTRY(clReleaseMemObject),
    ENTRY(clGetSupportedImageFormats),
    ENTRY(clGetMemObjectInfo),
    ENTRY(clGetImageInfo),
    ENTRY(clCreateSampler),
    ENTRY(clRetainSampler),
    ENTRY(clReleaseSampler),
    ENTRY(clGetSamplerInfo),
    ENTRY(clCreateProgramWithSource),
    ENTRY(clCreateProgramWithBinary),
    ENTRY(clRetainProgram),
    ENTRY(clReleaseProgram),
    ENTRY(clBuildProgram),
    ENTRY(clUnloadCompiler),
    ENTRY(clGetProgramInfo),
    ENTRY(clGetProgramBuildInfo),
    ENTRY(clCreateKernel),
    ENTRY(clCreateKernelsInProgram),
    ENTRY(clRetainKernel),
    ENTRY(clReleaseKernel),
    ENTRY(clSetKernelArg),
    ENTRY(clGetKernelInfo),
    ENTRY(clGetKernelWorkGroupInfo),
    ENTRY(clWaitForEvents),
    ENTRY(clGetEventInfo),
    ENTRY(clRetainEvent),
    ENTRY(clReleaseEvent),
    ENTRY(clGetEventProfilingInfo),
    ENTRY(clFlush),
    ENTRY(clFinish),
    ENTRY(clEnqueueReadBuffer),
    ENTRY(clEnqueueWriteBuffer),
    ENTRY(clEnqueueCopyBuffer),
    ENTRY(clEnqueueReadImage),
    ENTRY(clEnqueueWriteImage),
    ENTRY(clEnqueueCopyImage),
    ENTRY(clEnqueueCopyImageToBuffer),
    ENTRY(clEnqueueCopyBufferToImage),
    ENTRY(clEnqueueMapBuffer),
    ENTRY(clEnqueueMapImage),
    ENTRY(clEnqueueUnmapMemObject),
    ENTRY(clEnqueueNDRangeKernel),
    ENTRY(clEnqueueTask),
    ENTRY(clEnqueueNativeKernel),
    ENTRY(clEnqueueMarker),
    ENTRY(clEnqueueWaitForEvents),
    ENTRY(clEnqueueBarrier),
    ENTRY(clGetExtensionFunctionAddress),
    ENTRY(clSetEventCallback),
    ENTRY(clCreateSubBuffer),
    ENTRY(clSetMemObjectDestructorCallback),
    ENTRY(clCreateUserEvent),
    ENTRY(clSetUserEventStatus),
    ENTRY(clEnqueueReadBufferRect),
    ENTRY(clEnqueueWriteBufferRect),
    ENTRY(clEnqueueCopyBufferRect),
    ENTRY(clCreateSubDevices),
    ENTRY(clRetainDevice),
    ENTRY(clReleaseDevice),
    ENTRY(clCreateImage),
    ENTRY(clCreateProgramWithBuiltInKernels),
    ENTRY(clCompileProgram),
    ENTRY(clLinkProgram),
    ENTRY(clUnloadPlatformCompiler),
    ENTRY(clGetKernelArgInfo),
    ENTRY(clEnqueueFillBuffer),
    ENTRY(clEnqueueFillImage),
    ENTRY(clEnqueueMigrateMemObjects),
    ENTRY(clEnqueueMarkerWithWaitList),
    ENTRY(clEnqueueBarrierWithWaitList),
    ENTRY(clGetExtensionFunctionAddressForPlatform),
    ENTRY(clCreateCommandQueueWithProperties),
    ENTRY(clCreatePipe),
    ENTRY(clGetPipeInfo),
    ENTRY(clSVMAlloc),
    ENTRY(clSVMFree),
    ENTRY(clEnqueueSVMFree),
    ENTRY(clEnqueueSVMMemcpy),
    ENTRY(clEnqueueSVMMemFill),
    ENTRY(clEnqueueSVMMap),
    ENTRY(clEnqueueSVMUnmap),
    ENTRY(clCreateSamplerWithProperties),
    ENTRY(clSetKernelArgSVMPointer),
    ENTRY(clSetKernelExecInfo),
    ENTRY(clGetKernelSubGroupInfoKHR),
    ENTRY(clCloneKernel),
    ENTRY(clCreateProgramWithIL),
    ENTRY(clEnqueueSVMMigrateMem),
    ENTRY(clGetDeviceAndHostTimer),
    ENTRY(clGetHostTimer),
    ENTRY(clGetKernelSubGroupInfo),
    ENTRY(clSetDefaultDeviceCommandQueue),
    ENTRY(clSetProgramReleaseCallback),
    ENTRY(clSetProgramSpecializationConstant),
    ENTRY(clCreateBufferWithProperties),
    ENTRY(clCreateImageWithProperties),
    ENTRY(clSetContextDestructorCallback),
    ENTRY(clCreateFromGLBuffer),
    ENTRY(clCreateFromGLTexture),
    ENTRY(clCreateFromGLTexture2D),
    ENTRY(clCreateFromGLTexture3D),
    ENTRY(clCreateFromGLRenderbuffer),
    ENTRY(clGetGLObjectInfo),
    ENTRY(clGetGLTextureInfo),
    ENTRY(clEnqueueAcquireGLObjects),
    ENTRY(clEnqueueReleaseGLObjects),
    ENTRY(clGetGLContextInfoKHR),
};

const struct hdi_cl_kind_of hdi_cl_kinds[HDI_CL_KINDS] = {
    [HDI_CL_PLATFORM] = {sizeof(struct _cl_platform_id), NULL},
    [HDI_CL_DEVICE] = {sizeof(struct _cl_device_id), hdi_cl_device_destroy},
    [HDI_CL_CONTEXT] = {sizeof(struct _cl_context), hdi_cl_context_destroy},
    [HDI_CL_QUEUE] = {sizeof(struct _cl_command_queue), hdi_cl_queue_destroy},
    [HDI_CL_MEM] = {sizeof(struct _cl_mem), hdi_cl_mem_destroy},
    [HDI_CL_SAMPLER] = {sizeof(struct _cl_sampler), hdi_cl_sampler_destroy},
    [HDI_CL_PROGRAM] = {sizeof(struct _cl_program), hdi_cl_program_destroy},
    [HDI_CL_KERNEL] = {sizeof(struct _cl_kernel), hdi_cl_kernel_destroy},
    [HDI_CL_EVENT] = {sizeof(struct _cl_event), hdi_cl_event_destroy},
    [HDI_CL_COMMAND_BUFFER] = {sizeof(struct _cl_command_buffer_khr),
                               hdi_cl_command_buffer_destroy},
};

#undef ENTRY
#define ENTRY(name) {#name, (void *)(uintptr_t)name}

static const struct {
    const char *name;
    void *function;
} extensions[] = {
    ENTRY(clIcdGetPlatformIDsKHR),
    ENTRY(clCreateCommandQueueWithPropertiesKHR),
    ENTRY(clCreateProgramWithILKHR),
    ENTRY(clGetKernelSubGroupInfoKHR),
    ENTRY(clGetKernelSuggestedLocalWorkSizeKHR),
    ENTRY(clCreateCommandBufferKHR),
    ENTRY(clFinalizeCommandBufferKHR),
    ENTRY(clRetainCommandBufferKHR),
    ENTRY(clReleaseCommandBufferKHR),
    ENTRY(clEnqueueCommandBufferKHR),
    ENTRY(clCommandBarrierWithWaitListKHR),
    ENTRY(clCommandCopyBufferKHR),
    ENTRY(clCommandCopyBufferRectKHR),
    ENTRY(clCommandCopyBufferToImageKHR),
    ENTRY(clCommandCopyImageKHR),
    ENTRY(clCommandCopyImageToBufferKHR),
    ENTRY(clCommandFillBufferKHR),
    ENTRY(clCommandFillImageKHR),
    ENTRY(clCommandNDRangeKernelKHR),
    ENTRY(clGetCommandBufferInfoKHR),
};

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    for (size_t i = 0; name && i < sizeof(extensions) / sizeof(extensions[0]);
         i++)
        if (strcmp(extensions[i].name, name) == 0)
            return extensions[i].function;
    return NULL;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(
    cl_platform_id platform, const char *name)
{
    return hdi_cl_is(HDI_CL_PLATFORM, platform)
               ? clGetExtensionFunctionAddress(name)
               : NULL;
}
