// The headers of OpenCL as this driver uses them: all of 3.0 with what it has
// replaced, whose use is no mistake here.
#ifndef HDI_ICD_API_H
#define HDI_ICD_API_H

// Before the first header of OpenCL anywhere: these decide what it declares.
// Command buffers are a provisional extension, hence "beta".
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_ENABLE_BETA_EXTENSIONS

// Of version 0.9.8, while headers may be of 0.9.0: there these had no list of
// properties. What headers say of them is put aside; they are declared below.
#define clCommandBarrierWithWaitListKHR headers_BarrierWithWaitList
#define clCommandCopyBufferKHR          headers_CopyBuffer
#define clCommandCopyBufferRectKHR      headers_CopyBufferRect
#define clCommandCopyBufferToImageKHR   headers_CopyBufferToImage
#define clCommandCopyImageKHR           headers_CopyImage
#define clCommandCopyImageToBufferKHR   headers_CopyImageToBuffer
#define clCommandFillBufferKHR          headers_FillBuffer
#define clCommandFillImageKHR           headers_FillImage

// Which of these functions are seen from outside is in symbols.map.
#pragma GCC visibility push(default)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>

#undef clCommandBarrierWithWaitListKHR
#undef clCommandCopyBufferKHR
#undef clCommandCopyBufferRectKHR
#undef clCommandCopyBufferToImageKHR
#undef clCommandCopyImageKHR
#undef clCommandCopyImageToBufferKHR
#undef clCommandFillBufferKHR
#undef clCommandFillImageKHR

#ifndef CL_COMMAND_BUFFER_CONTEXT_KHR
#define CL_COMMAND_BUFFER_CONTEXT_KHR 0x1299
#endif
#ifndef CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR
#define CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR 0x129A
#endif

CL_API_ENTRY cl_int CL_API_CALL clCommandBarrierWithWaitListKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandCopyBufferKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to, size_t from_offset,
    size_t to_offset, size_t size, cl_uint count, const cl_sync_point_khr *list,
    cl_sync_point_khr *point, cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandCopyBufferRectKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to,
    const size_t *from_origin, const size_t *to_origin, const size_t *region,
    size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandCopyBufferToImageKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to, size_t offset,
    const size_t *origin, const size_t *region, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandCopyImageKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to,
    const size_t *from_origin, const size_t *to_origin, const size_t *region,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandCopyImageToBufferKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to,
    const size_t *origin, const size_t *region, size_t offset, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandFillBufferKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem mem, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandFillImageKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem image, const void *color,
    const size_t *origin, const size_t *region, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandSVMMemcpyKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, void *to, const void *from, size_t size,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);
CL_API_ENTRY cl_int CL_API_CALL clCommandSVMMemFillKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, void *to, const void *pattern,
    size_t pattern_size, size_t size, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle);

#pragma GCC diagnostic pop
#pragma GCC visibility pop

#endif
