// Commands that run functions of the host.
#include <stdlib.h>
#include <string.h>

#include "icd/memory/memory.h"
#include "icd/queue/event.h"
#include "icd/queue/queues.h"

// One allocation with the arguments behind; 16 bytes of alignment, as malloc()
// would give.
struct native {
    void(CL_CALLBACK *function)(void *arguments);
    cl_uint count;
    struct _cl_mem **mems; // held
    _Alignas(16) char arguments[];
};

static void end_native(void *payload)
{
    struct native *n = payload;

    for (cl_uint i = 0; i < n->count; i++)
        hdi_cl_drop(n->mems[i]);
    free(n->mems);
    free(n);
}

// The function gets host addresses and may write all of the objects: they are
// brought home, and what other devices have is void. It runs on a worker, which
// is lost for anything else until it returns.
static cl_int run_native(const struct hdi_cl_running *at, void *payload)
{
    struct native *n = payload;
    cl_int status = CL_SUCCESS;

    (void)at;
    for (cl_uint i = 0; i < n->count && status == CL_SUCCESS; i++)
        status = hdi_cl_mem_use_all(n->mems[i], HDI_USE_WRITE);
    if (status != CL_SUCCESS)
        return status;
    n->function(n->arguments);
    return CL_COMPLETE;
}

static const struct hdi_cl_work native_work = {
    .type = CL_COMMAND_NATIVE_KERNEL, .run = run_native, .end = end_native};

// `places` point into `arguments`; in the copy each is replaced by the address
// of the object. `at` of a place before `arguments` wraps to a number above any
// size, so one comparison finds both ends.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueNativeKernel(
    cl_command_queue queue, void(CL_CALLBACK *function)(void *),
    void *arguments, size_t size, cl_uint count, const cl_mem *mems,
    const void **places, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (queue->device->side == HDI_CL_GPU)
        return CL_INVALID_OPERATION;
    if (!function || (!arguments && (size > 0 || count > 0)) ||
        (arguments && size == 0) || (count > 0 && (!mems || !places)) ||
        (count == 0 && (mems || places)))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        size_t at = (size_t)((const char *)places[i] - (char *)arguments);
        if (size < sizeof(void *) || at > size - sizeof(void *))
            return CL_INVALID_VALUE;
        if (!hdi_cl_is(HDI_CL_MEM, mems[i]) || hdi_cl_is_image(mems[i]))
            return CL_INVALID_MEM_OBJECT;
    }
    cl_int status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct native *n = malloc(sizeof(*n) + size);
    struct _cl_mem **held = calloc(count + 1, sizeof(struct _cl_mem *));
    if (!n || !held) {
        free(n);
        free(held);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *n = (struct native){function, count, held};
    if (size > 0)
        memcpy(n->arguments, arguments, size);
    for (cl_uint i = 0; i < count; i++) {
        char *bytes = hdi_cl_mem_bytes(mems[i]);
        size_t at = (size_t)((const char *)places[i] - (char *)arguments);
        memcpy(n->arguments + at, &bytes, sizeof(bytes));
        hdi_cl_hold(held[i] = mems[i]);
    }
    return hdi_cl_enqueue(queue, &native_work, n, CL_FALSE, wait_count,
                          wait_list, event);
}
