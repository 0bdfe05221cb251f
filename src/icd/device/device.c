// Devices: the processor, parts of it, and the GPU; what runs their commands.
#include "icd/device/devices.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "icd/device/gpu.h"
#include "icd/device/trace.h"
#include "runtime/runtime.h"

enum {
    // Around each buffer: a row of 16,384 numbers. Programs read an element
    // before their first, or a row behind their last, with a weight of 0.
    MARGIN = 64 << 10 // [bytes]
};

// The runtime -----------------------------------------------------------------

// HEDDLE_GUARD=1: buffers end where inaccessible memory begins.
static bool wants_guard(void)
{
    const char *guard = secure_getenv("HEDDLE_GUARD");

    return guard && strcmp(guard, "1") == 0;
}

// The whole machine's stays until the process ends; leak checkers look for it
// in variables, not among objects.
static struct hd_runtime *volatile whole;

// The lock of the device is held. The runtime stays NULL when it cannot be
// started, which is tried again by the next who asks.
//
// The affinity of this thread is narrowed while the runtime looks which cores
// it may use, and set back; threads that are made inside inherit the narrow
// one. The whole machine's runtime has the GPU as its second device if there is
// one: then memory moves between them by itself.
static void start(struct _cl_device_id *device)
{
    struct hd_runtime_params params = {
        .device = !device->parent && hdi_cl_about(HDI_CL_GPU) ? "all" : "cpu",
        .guard = wants_guard()};
    struct hd_error error;
    cpu_set_t before;
    bool moved = false;

    params.unit_timeout = hdi_cl_gpu_timeout();
    params.trace = !device->parent && hdi_cl_trace_wanted();
    // A part of the machine is what its runtime finds as the machine.
    if (device->cores) {
        params.workers = device->units;
        moved =
            sched_getaffinity(0, sizeof(before), &before) == 0 &&
            sched_setaffinity(0, sizeof(*device->cores), device->cores) == 0;
    }
    struct hd_runtime *runtime = NULL;
    if (hd_runtime_create(&params, &runtime, &error) != HD_OK)
        hdi_error("%s", error.text);
    else if (!params.guard)
        runtime->launcher->margin = MARGIN;
    // Release: see hdi_cl_runtime().
    __atomic_store_n(&device->runtime, runtime, __ATOMIC_RELEASE);
    if (moved)
        sched_setaffinity(0, sizeof(before), &before);
    if (!device->parent)
        whole = device->runtime;
    if (params.trace && device->runtime)
        hdi_cl_trace_begin(device->runtime);
}

// The GPU is a device of the root's runtime and has none of its own. Acquire:
// who sees the pointer sees what it points to. It is asked for with every
// command, so that the lock is left out once it is there.
struct hd_runtime *hdi_cl_runtime(struct _cl_device_id *device)
{
    if (device->side == HDI_CL_GPU)
        device = hdi_cl_root_device();
    struct hd_runtime *runtime =
        __atomic_load_n(&device->runtime, __ATOMIC_ACQUIRE);
    if (runtime)
        return runtime;
    pthread_mutex_lock(&device->lock);
    if (!device->runtime)
        start(device);
    runtime = device->runtime;
    pthread_mutex_unlock(&device->lock);
    return runtime;
}

// The whole machine's is the parent's too: there is one.
void hdi_cl_device_forget(struct _cl_device_id *device)
{
    whole = NULL;
    device->runtime = NULL;
    pthread_mutex_init(&device->lock, NULL);
}

static void *destroy_runtime(void *runtime)
{
    hd_runtime_destroy(runtime);
    return NULL;
}

// The last who needs it may be one of its own workers, which cannot end itself.
//
// Without a thread to be had the runtime is left as it is: a leak, but no
// deadlock.
static void end_runtime(struct hd_runtime *runtime)
{
    pthread_t thread;

    if (!hd_pool_worker(runtime->pool))
        hd_runtime_destroy(runtime);
    else if (pthread_create(&thread, NULL, destroy_runtime, runtime) == 0)
        pthread_detach(thread);
}

// Of parts only: the whole and the GPU are never released. All queues, and so
// all commands, of the part are gone.
void hdi_cl_device_destroy(void *object)
{
    struct _cl_device_id *device = object;

    if (device->runtime)
        end_runtime(device->runtime);
    hdi_cl_drop(device->parent);
    free(device->cores);
    free(device->partition);
    pthread_mutex_destroy(&device->lock);
}

// Devices of the platform -----------------------------------------------------

// The processor comes first and is the default. Which types are asked for
// matters before whether any is there, and the number is told also where none
// fits.
CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform,
                                               cl_device_type type,
                                               cl_uint count,
                                               cl_device_id *devices,
                                               cl_uint *count_ret)
{
    const cl_device_type known =
        CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
        CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;

    if (platform && !hdi_cl_is(HDI_CL_PLATFORM, platform))
        return CL_INVALID_PLATFORM;
    if (type != CL_DEVICE_TYPE_ALL && (type == 0 || (type & ~known)))
        return CL_INVALID_DEVICE_TYPE;
    if ((count == 0 && devices) || (!devices && !count_ret))
        return CL_INVALID_VALUE;
    struct _cl_device_id *found[HDI_CL_SIDES];
    cl_uint n = 0;
    if (type & (hdi_cl_about(HDI_CL_CPU)->type | CL_DEVICE_TYPE_DEFAULT))
        found[n++] = hdi_cl_root_device();
    if (n > 0 && !found[0])
        return CL_OUT_OF_HOST_MEMORY;
    if ((type & CL_DEVICE_TYPE_GPU) && hdi_cl_gpu_device())
        found[n++] = hdi_cl_gpu_device();
    if (count_ret)
        *count_ret = n;
    if (n == 0)
        return CL_DEVICE_NOT_FOUND;
    for (cl_uint i = 0; devices && i < n && i < count; i++)
        devices[i] = found[i];
    return CL_SUCCESS;
}

// Only parts of the machine are counted: the machine stays, and its GPU.
CL_API_ENTRY cl_int CL_API_CALL clRetainDevice(cl_device_id device)
{
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return CL_INVALID_DEVICE;
    return !device->parent || hdi_cl_object_retain(device)
               ? CL_SUCCESS
               : CL_OUT_OF_RESOURCES;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseDevice(cl_device_id device)
{
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return CL_INVALID_DEVICE;
    return !device->parent || hdi_cl_object_release(device) ? CL_SUCCESS
                                                            : CL_INVALID_DEVICE;
}

// Clocks ----------------------------------------------------------------------

CL_API_ENTRY cl_int CL_API_CALL clGetHostTimer(cl_device_id device,
                                               cl_ulong *host)
{
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return CL_INVALID_DEVICE;
    if (!host)
        return CL_INVALID_VALUE;
    *host = hdi_now();
    return CL_SUCCESS;
}

// Both are the clock that events are measured with.
CL_API_ENTRY cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id device,
                                                        cl_ulong *own,
                                                        cl_ulong *host)
{
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return CL_INVALID_DEVICE;
    if (!own || !host)
        return CL_INVALID_VALUE;
    *own = *host = hdi_now();
    return CL_SUCCESS;
}
