// Unified shared memory, as cl_intel_unified_shared_memory has it: memory that
// is told by its address, as shared virtual memory is. The host's, the device's
// and what they share are all the process's memory here; what it was asked for
// as is remembered.
#include <string.h>

#include "icd/command/copy.h"
#include "icd/memory/svm.h"
#include "icd/object/info.h"
#include "icd/queue/event.h"

// Whether it is a device of the context.
static bool is_in(const struct _cl_context *context, const cl_device_id device)
{
    return hdi_cl_is(HDI_CL_DEVICE, device) &&
           hdi_cl_context_has(context, device);
}

// False: not known, not of that type, or two placements at once. If the
// property is there twice, the last one counts. `*flags` is set even then.
static bool read_flags(const cl_mem_properties_intel *p,
                       cl_unified_shared_memory_type_intel type,
                       cl_mem_alloc_flags_intel *flags)
{
    const cl_mem_alloc_flags_intel placement =
        CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL |
        CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
    cl_mem_alloc_flags_intel known = CL_MEM_ALLOC_WRITE_COMBINED_INTEL;

    if (type == CL_MEM_TYPE_SHARED_INTEL)
        known |= placement;
    *flags = 0;
    for (; p && p[0]; p += 2)
        if (p[0] != CL_MEM_ALLOC_FLAGS_INTEL || (p[1] & ~known) ||
            (p[1] & placement) == placement)
            return false;
        else
            *flags = p[1];
    return true;
}

// A device is given for memory of a device, may be for shared memory, and is
// not for the host's. The GPU shares no memory with the process, so what it is
// asked for is refused.
static void *allocate(cl_context context, cl_device_id device,
                      cl_unified_shared_memory_type_intel type,
                      const cl_mem_properties_intel *properties, size_t size,
                      cl_uint alignment, cl_int *error)
{
    struct hdi_cl_svm what = {.type = type, .device = device, .size = size};

    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (device ? !is_in(context, device) : type == CL_MEM_TYPE_DEVICE_INTEL)
        return hdi_cl_none(error, CL_INVALID_DEVICE);
    if (device ? device->side == HDI_CL_GPU : !hdi_cl_context_shares(context))
        return hdi_cl_none(error, CL_INVALID_OPERATION);
    if ((alignment & (alignment - 1)) || alignment > HDI_CL_ALIGN)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    if (!read_flags(properties, type, &what.alloc_flags))
        return hdi_cl_none(error, CL_INVALID_PROPERTY);
    if (size == 0 || size > hdi_cl_context_largest(context))
        return hdi_cl_none(error, CL_INVALID_BUFFER_SIZE);
    void *address = hdi_cl_svm_allocate(context, &what);
    if (!address)
        return hdi_cl_none(error, CL_OUT_OF_RESOURCES);
    hdi_cl_good(error);
    return address;
}

CL_API_ENTRY void *CL_API_CALL clHostMemAllocINTEL(
    cl_context context, const cl_mem_properties_intel *properties, size_t size,
    cl_uint alignment, cl_int *error)
{
    return allocate(context, NULL, CL_MEM_TYPE_HOST_INTEL, properties, size,
                    alignment, error);
}

CL_API_ENTRY void *CL_API_CALL
clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
                      const cl_mem_properties_intel *properties, size_t size,
                      cl_uint alignment, cl_int *error)
{
    return allocate(context, device, CL_MEM_TYPE_DEVICE_INTEL, properties, size,
                    alignment, error);
}

CL_API_ENTRY void *CL_API_CALL
clSharedMemAllocINTEL(cl_context context, cl_device_id device,
                      const cl_mem_properties_intel *properties, size_t size,
                      cl_uint alignment, cl_int *error)
{
    return allocate(context, device, CL_MEM_TYPE_SHARED_INTEL, properties, size,
                    alignment, error);
}

// Of no such allocation: nothing is freed.
//
// What clSVMAlloc() gave has no type and is none of these.
static bool is_base(cl_context context, const void *pointer)
{
    struct hdi_cl_svm s = hdi_cl_svm_find(context, pointer);
    return s.type != 0 && s.address == (const char *)pointer;
}

CL_API_ENTRY cl_int CL_API_CALL clMemFreeINTEL(cl_context context,
                                               void *pointer)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    if (pointer && !is_base(context, pointer))
        return CL_INVALID_VALUE;
    clSVMFree(context, pointer);
    return CL_SUCCESS;
}

// All queues of the context are emptied, which is more than is asked for and
// needs no record of who uses what.
CL_API_ENTRY cl_int CL_API_CALL clMemBlockingFreeINTEL(cl_context context,
                                                       void *pointer)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    if (pointer && !is_base(context, pointer))
        return CL_INVALID_VALUE;
    cl_int status = pointer ? hdi_cl_context_finish(context) : CL_SUCCESS;
    if (status == CL_SUCCESS)
        clSVMFree(context, pointer);
    return status;
}

// Any pointer may be asked about; of one that is not ours the type is UNKNOWN
// and all else 0.
CL_API_ENTRY cl_int CL_API_CALL clGetMemAllocInfoINTEL(cl_context context,
                                                       const void *pointer,
                                                       cl_mem_info_intel name,
                                                       size_t size, void *value,
                                                       size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    struct hdi_cl_svm s = hdi_cl_svm_find(context, pointer);
    if (s.type == 0) // another one's memory, or shared virtual memory
        s = (struct hdi_cl_svm){.type = CL_MEM_TYPE_UNKNOWN_INTEL};
    switch (name) {
        HDI_CL_IS(CL_MEM_ALLOC_TYPE_INTEL, cl_unified_shared_memory_type_intel,
                  s.type)
        HDI_CL_IS(CL_MEM_ALLOC_BASE_PTR_INTEL, void *, s.address)
        HDI_CL_IS(CL_MEM_ALLOC_SIZE_INTEL, size_t, s.size)
        HDI_CL_IS(CL_MEM_ALLOC_DEVICE_INTEL, cl_device_id, s.device)
        HDI_CL_IS(CL_MEM_ALLOC_FLAGS_INTEL, cl_mem_alloc_flags_intel,
                  s.alloc_flags)
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArgMemPointerINTEL(
    cl_kernel kernel, cl_uint index, const void *pointer)
{
    return clSetKernelArgSVMPointer(kernel, index, pointer);
}

// Commands --------------------------------------------------------------------

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemFillINTEL(
    cl_command_queue queue, void *to, const void *pattern, size_t pattern_size,
    size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    return hdi_cl_enqueue_pointer_fill(queue, CL_COMMAND_MEMFILL_INTEL, to,
                                       pattern, pattern_size, size, wait_count,
                                       wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemcpyINTEL(
    cl_command_queue queue, cl_bool blocks, void *to, const void *from,
    size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    return hdi_cl_enqueue_pointer_copy(queue, CL_COMMAND_MEMCPY_INTEL, blocks,
                                       to, from, size, wait_count, wait_list,
                                       event);
}

static const struct hdi_cl_work migrate = {.type = CL_COMMAND_MIGRATEMEM_INTEL};
static const struct hdi_cl_work advise = {.type = CL_COMMAND_MEMADVISE_INTEL};

// Memory is where it is, and stays there.
//
// These commands have no `run`, as markers: out of order and without a list
// they wait for all before them, which is allowed and costs little where so few
// use them.
static cl_int enqueue_nothing(cl_command_queue queue,
                              const struct hdi_cl_work *work,
                              const void *pointer, cl_uint wait_count,
                              const cl_event *wait_list, cl_event *event)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (!pointer)
        return CL_INVALID_VALUE;
    cl_int status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue(queue, work, NULL, CL_FALSE, wait_count, wait_list,
                          event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMigrateMemINTEL(
    cl_command_queue queue, const void *pointer, size_t size,
    cl_mem_migration_flags flags, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event)
{
    const cl_mem_migration_flags known =
        CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;

    (void)size;
    return enqueue_nothing(queue, &migrate, flags & ~known ? NULL : pointer,
                           wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMemAdviseINTEL(
    cl_command_queue queue, const void *pointer, size_t size,
    cl_mem_advice_intel advice, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event)
{
    (void)size, (void)advice;
    return enqueue_nothing(queue, &advise, pointer, wait_count, wait_list,
                           event);
}
