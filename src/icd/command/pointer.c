// Commands on pointers: those on buffers with no memory object to hold. The
// application keeps the memory until they have ended.
#include <stdlib.h>
#include <string.h>

#include "icd/command/copy.h"
#include "icd/memory/svm.h"
#include "icd/queue/event.h"

// The device is to share the process's memory.
static cl_int check_queue(cl_command_queue queue)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    return queue->device->side == HDI_CL_CPU ? CL_SUCCESS
                                             : CL_INVALID_OPERATION;
}

// The payload of a command that frees; `pointers` is a copy. The queue is held
// by the command.
struct freeing {
    struct _cl_command_queue *queue;
    void(CL_CALLBACK *call)(cl_command_queue queue, cl_uint count,
                            void *pointers[], void *data);
    void *data;
    cl_uint count;
    void *pointers[];
};

// With a callback freeing is the application's business, on this worker.
static cl_int run_free(const struct hdi_cl_running *at, void *payload)
{
    struct freeing *f = payload;

    (void)at;
    if (f->call)
        f->call(f->queue, f->count, f->pointers, f->data);
    else
        for (cl_uint i = 0; i < f->count; i++)
            clSVMFree(f->queue->context, f->pointers[i]);
    return CL_COMPLETE;
}

static const struct hdi_cl_work free_work = {
    .type = CL_COMMAND_SVM_FREE, .run = run_free, .end = free};

// No pointers at all is allowed: then it is a marker, or a callback.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMFree(
    cl_command_queue queue, cl_uint count, void *pointers[],
    void(CL_CALLBACK *call)(cl_command_queue, cl_uint, void *[], void *),
    void *data, cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_queue(queue);
    if (status != CL_SUCCESS)
        return status;
    if ((count == 0) != !pointers)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        if (!pointers[i])
            return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct freeing *f = malloc(sizeof(*f) + count * sizeof(void *));
    if (!f)
        return CL_OUT_OF_HOST_MEMORY;
    *f = (struct freeing){queue, call, data, count};
    if (count > 0)
        memcpy(f->pointers, pointers, count * sizeof(void *));
    return hdi_cl_enqueue(queue, &free_work, f, CL_FALSE, wait_count, wait_list,
                          event);
}

// Memory is shared with the host at any time, so mapping and migrating are
// points in the order of events and nothing else. It is a function, not NULL:
// with NULL they would be markers, which wait for all before them in an
// out-of-order queue.
static cl_int run_nothing(const struct hdi_cl_running *at, void *payload)
{
    (void)at, (void)payload;
    return CL_COMPLETE;
}

static const struct hdi_cl_work map_work = {.type = CL_COMMAND_SVM_MAP,
                                            .run = run_nothing};
static const struct hdi_cl_work unmap_work = {.type = CL_COMMAND_SVM_UNMAP,
                                              .run = run_nothing};
static const struct hdi_cl_work migrate_work = {
    .type = CL_COMMAND_SVM_MIGRATE_MEM, .run = run_nothing};

// Overlap is told by distance: two ranges of `size` bytes have bytes in common
// if and only if their beginnings are less than that apart.
cl_int hdi_cl_enqueue_pointer_copy(cl_command_queue queue, cl_command_type type,
                                   cl_bool blocks, void *to, const void *from,
                                   size_t size, cl_uint wait_count,
                                   const cl_event *wait_list, cl_event *event)
{
    uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;

    cl_int status = check_queue(queue);
    if (status != CL_SUCCESS)
        return status;
    if (!to || !from)
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    if ((a < b ? b - a : a - b) < size)
        return CL_MEM_COPY_OVERLAP;
    const struct hdi_cl_copy copy = {.to = to,
                                     .from = (char *)(uintptr_t)from,
                                     .region = {size, 1, 1},
                                     .from_row = size,
                                     .to_row = size};
    return hdi_cl_enqueue_copy(queue, type, &copy, blocks, wait_count,
                               wait_list, event);
}

// The largest type of the language, a vector of 16 doubles, has 128 bytes.
static bool is_pattern(size_t size)
{
    return size > 0 && size <= 128 && (size & (size - 1)) == 0;
}

cl_int hdi_cl_enqueue_pointer_fill(cl_command_queue queue, cl_command_type type,
                                   void *to, const void *pattern,
                                   size_t pattern_size, size_t size,
                                   cl_uint wait_count,
                                   const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_queue(queue);
    if (status != CL_SUCCESS)
        return status;
    if (!to || !pattern || !is_pattern(pattern_size) ||
        size % pattern_size != 0 || (uintptr_t)to % pattern_size != 0)
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue_fill(queue, type, NULL, to, pattern, pattern_size,
                               size, wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemcpy(
    cl_command_queue queue, cl_bool blocks, void *to, const void *from,
    size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    return hdi_cl_enqueue_pointer_copy(queue, CL_COMMAND_SVM_MEMCPY, blocks, to,
                                       from, size, wait_count, wait_list,
                                       event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemFill(
    cl_command_queue queue, void *to, const void *pattern, size_t pattern_size,
    size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    return hdi_cl_enqueue_pointer_fill(queue, CL_COMMAND_SVM_MEMFILL, to,
                                       pattern, pattern_size, size, wait_count,
                                       wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMap(
    cl_command_queue queue, cl_bool blocks, cl_map_flags flags, void *pointer,
    size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    const cl_map_flags reads = CL_MAP_READ | CL_MAP_WRITE;

    cl_int status = check_queue(queue);
    if (status != CL_SUCCESS)
        return status;
    if (!pointer || size == 0 ||
        (flags & ~(reads | CL_MAP_WRITE_INVALIDATE_REGION)) ||
        ((flags & reads) && (flags & CL_MAP_WRITE_INVALIDATE_REGION)))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue(queue, &map_work, NULL, blocks, wait_count, wait_list,
                          event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue queue,
                                                  void *pointer,
                                                  cl_uint wait_count,
                                                  const cl_event *wait_list,
                                                  cl_event *event)
{
    cl_int status = check_queue(queue);
    if (status != CL_SUCCESS)
        return status;
    if (!pointer)
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue(queue, &unmap_work, NULL, CL_FALSE, wait_count,
                          wait_list, event);
}

// It is looked at whether the ranges are of allocations and inside them;
// nothing moves.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMigrateMem(
    cl_command_queue queue, cl_uint count, const void **pointers,
    const size_t *sizes, cl_mem_migration_flags flags, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_queue(queue);
    if (status != CL_SUCCESS)
        return status;
    if (count == 0 || !pointers ||
        (flags &
         ~(cl_mem_migration_flags)(CL_MIGRATE_MEM_OBJECT_HOST |
                                   CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        struct hdi_cl_svm s = hdi_cl_svm_find(queue->context, pointers[i]);
        size_t offset = (size_t)((const char *)pointers[i] - s.address);
        if (s.size == 0 || (sizes && sizes[i] > s.size - offset))
            return CL_INVALID_VALUE;
    }
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue(queue, &migrate_work, NULL, CL_FALSE, wait_count,
                          wait_list, event);
}
