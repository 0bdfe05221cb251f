// The one platform: who asks the loader for Heddle gets this.
#include <unistd.h>

#include "heddle/version.h"
#include "icd/device/devices.h"
#include "icd/device/platform.h"
#include "icd/device/trace.h"
#include "icd/object/info.h"

// Over the three pointers below while they are made; after that they never
// change. The function that gives one out takes the lock, so who has the
// pointer sees the object whole.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct _cl_platform_id *platform;
static struct _cl_device_id *root, *gpu;

static void renew(struct hdi_cl_object *object)
{
    if (object->kind == HDI_CL_DEVICE)
        hdi_cl_device_forget((void *)object);
}

// Only the thread that forked is there. Handles of contexts, queues and the
// rest are none in the child: what they stand for runs on the parent's threads.
static void forked_child(void)
{
    pthread_mutex_init(&lock, NULL);
    hdi_cl_objects_forget(renew);
    hdi_cl_trace_forget();
}

// The lock is held. Each piece is tried again the next time if it could not be
// had.
static bool is_there(void)
{
    static bool watches;

    if (!platform)
        platform = hdi_cl_object_create(HDI_CL_PLATFORM);
    if (!root && (root = hdi_cl_object_create(HDI_CL_DEVICE)))
        pthread_mutex_init(&root->lock, NULL);
    if (!watches)
        watches = pthread_atfork(NULL, NULL, forked_child) == 0;
    return platform && root && watches;
}

// Whether there is one is looked at when devices are asked for.
struct _cl_device_id *hdi_cl_gpu_device(void)
{
    bool there = hdi_cl_about(HDI_CL_GPU) != NULL;

    pthread_mutex_lock(&lock);
    if (there && !gpu && (gpu = hdi_cl_object_create(HDI_CL_DEVICE))) {
        pthread_mutex_init(&gpu->lock, NULL);
        gpu->side = HDI_CL_GPU;
    }
    pthread_mutex_unlock(&lock);
    return gpu;
}

struct _cl_platform_id *hdi_cl_platform(void)
{
    pthread_mutex_lock(&lock);
    bool there = is_there();
    pthread_mutex_unlock(&lock);
    return there ? platform : NULL;
}

struct _cl_device_id *hdi_cl_root_device(void)
{
    return hdi_cl_platform() ? root : NULL;
}

cl_int hdi_cl_give_versions(const struct hdi_cl_version *list, unsigned count,
                            size_t size, void *value, size_t *size_ret)
{
    cl_name_version *versions = calloc(count + 1, sizeof(*versions));
    if (!versions)
        return CL_OUT_OF_HOST_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        versions[i].version = list[i].version;
        strncpy(versions[i].name, list[i].name, sizeof(versions[i].name) - 1);
    }
    cl_int status =
        hdi_cl_give(versions, count * sizeof(*versions), size, value, size_ret);
    free(versions);
    return status;
}

// The platform has what all its devices have: the GPU has no more than the
// processor.
CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id handle,
                                                  cl_platform_info name,
                                                  size_t size, void *value,
                                                  size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_PLATFORM, handle))
        return CL_INVALID_PLATFORM;
    struct _cl_device_id *least =
        hdi_cl_gpu_device() ? hdi_cl_gpu_device() : root;
    switch (name) {
        HDI_CL_TEXT(CL_PLATFORM_PROFILE, "FULL_PROFILE")
        HDI_CL_TEXT(CL_PLATFORM_VERSION, "OpenCL 3.0 Heddle " HDI_CL_VERSION)
        HDI_CL_TEXT(CL_PLATFORM_NAME, "Heddle")
        HDI_CL_TEXT(CL_PLATFORM_VENDOR, "Heddle")
        HDI_CL_TEXT(CL_PLATFORM_ICD_SUFFIX_KHR, "HEDDLE")
        HDI_CL_IS(CL_PLATFORM_HOST_TIMER_RESOLUTION, cl_ulong, 1)
        HDI_CL_IS(CL_PLATFORM_NUMERIC_VERSION, cl_version,
                  CL_MAKE_VERSION(3, 0, 0))
    case CL_PLATFORM_EXTENSIONS:
        return clGetDeviceInfo(least, CL_DEVICE_EXTENSIONS, size, value,
                               size_ret);
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
        return clGetDeviceInfo(least, CL_DEVICE_EXTENSIONS_WITH_VERSION, size,
                               value, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

// Nothing is started or looked at here: a program that only lists platforms
// pays for two objects.
CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint count,
                                                 cl_platform_id *platforms,
                                                 cl_uint *count_ret)
{
    if ((count == 0 && platforms) || (!platforms && !count_ret))
        return CL_INVALID_VALUE;
    struct _cl_platform_id *p = hdi_cl_platform();
    if (!p)
        return CL_OUT_OF_HOST_MEMORY;
    if (platforms)
        platforms[0] = p;
    if (count_ret)
        *count_ret = 1;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
    cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    return clGetPlatformIDs(count, platforms, count_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id handle)
{
    return hdi_cl_is(HDI_CL_PLATFORM, handle) ? CL_SUCCESS
                                              : CL_INVALID_PLATFORM;
}

CL_API_ENTRY cl_int CL_API_CALL clUnloadCompiler(void)
{
    return CL_SUCCESS;
}
