// The GPU: a device beside the processor, of the same runtime. What is told of
// it here is what differs from the processor (device.c).
#include "icd/device/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "icd/device/platform.h"
#include "icd/object/info.h"
#include "runtime/runtime.h"

// Asked once; constant after that.
static struct {
    bool there;
    struct hdi_capabilities can; // its texts are not kept
    cl_uchar uuid[CL_UUID_SIZE_KHR];
    char name[160];
} gpu;

// By kind and not by name: which backends there are is the registry's business.
// One that is not in "all" is for tests, and is no device of the platform.
static bool is_gpu(const struct hdi_backend *backend)
{
    return backend->in_all && strcmp(backend->kind, "gpu") == 0;
}

// The first words of the description, and what is the same whenever it is
// asked.
//
// The UUID is a hash of the name (FNV-1a, two of them for 16 bytes): equal in
// every process, but also for two equal GPUs of one machine.
static void name(const char *description)
{
    uint64_t hash[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};

    snprintf(gpu.name, sizeof(gpu.name), "%.*s", (int)strcspn(description, ","),
             description);
    for (const char *c = gpu.name; *c; c++)
        for (int i = 0; i < 2; i++)
            hash[i] = (hash[i] ^ (unsigned char)*c) * (0x100000001b3u + 2 * i);
    memcpy(gpu.uuid, hash, sizeof(gpu.uuid));
}

// The first that opens. That none does is no error: most machines have none, so
// the reason goes to the debugging log alone.
void hdi_cl_gpu_look(const struct hdi_topology *topology)
{
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);
    struct hdi_device *device;
    struct hd_error error;

    for (size_t i = 0; topology && !gpu.there && i < count; i++) {
        if (!is_gpu(backends[i]))
            continue;
        if (backends[i]->open(topology, 0, NULL, &device, &error) != HD_OK) {
            hdi_debug("%s", error.text);
            continue;
        }
        gpu.there = true;
        gpu.can = device->can;
        name(device->can.description);
        backends[i]->close(device);
    }
}

const struct hdi_capabilities *hdi_cl_gpu(void)
{
    return gpu.there ? &gpu.can : NULL;
}

// Half of its memory, in whole MiB: a second buffer beside it, and what the
// runtime needs, are to have room.
uint64_t hdi_cl_gpu_largest(void)
{
    return gpu.can.memory_bytes / 2 & ~((1ull << 20) - 1);
}

// Nothing was started: nothing can have been lost.
bool hdi_cl_gpu_runs(void)
{
    const struct _cl_device_id *root = hdi_cl_root_device();
    const struct hd_runtime *runtime =
        root ? __atomic_load_n(&root->runtime, __ATOMIC_ACQUIRE) : NULL;

    return !runtime || (runtime->device_count > HDI_CL_GPU &&
                        !atomic_load(&runtime->devices[HDI_CL_GPU]->lost));
}

// From HEDDLE_GPU_TIMEOUT [s]. Asked when a runtime starts. A text that is no
// number is told and ignored.
uint64_t hdi_cl_gpu_timeout(void)
{
    const char *text = secure_getenv("HEDDLE_GPU_TIMEOUT");
    char *end;

    if (!text || !*text)
        return 0;
    double seconds = strtod(text, &end);
    if (*end == '\0' && seconds > 0 && seconds <= 1e9)
        return (uint64_t)(seconds * 1e9);
    hdi_warn("HEDDLE_GPU_TIMEOUT: '%s' is no number of seconds above 0", text);
    return 0;
}

// Telling of it ---------------------------------------------------------------

// What differs: one vector lane per work-item, local memory of its own, a
// buffer for printf that is smaller, and lines of 128 bytes.
static cl_int get_limits(cl_device_info what, size_t size, void *value,
                         size_t *size_ret)
{
    const size_t item_sizes[] = {gpu.can.group_items, gpu.can.group_items, 64};

    switch (what) {
        HDI_CL_IS(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint, gpu.can.cores)
        HDI_CL_BYTES(CL_DEVICE_MAX_WORK_ITEM_SIZES, item_sizes,
                     sizeof(item_sizes))
        HDI_CL_IS(CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, gpu.can.clock)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong, gpu.can.memory_bytes)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong,
                  gpu.can.cache_bytes)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cl_uint, 128)
        HDI_CL_IS(CL_DEVICE_LOCAL_MEM_TYPE, cl_device_local_mem_type, CL_LOCAL)
        HDI_CL_IS(CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, 1 << 20)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, cl_uint, 1)
    default:
        return CL_INVALID_VALUE;
    }
}

// NVIDIA's name and PCI number as the vendor: programs choose by it. What it
// lacks of the processor's abilities is shared memory and partitions.
static cl_int get_abilities(cl_device_info what, size_t size, void *value,
                            size_t *size_ret)
{
    static const cl_device_partition_property undivided[] = {0};
    static const cl_device_integer_dot_product_acceleration_properties_khr none;

    switch (what) {
        HDI_CL_IS(CL_DEVICE_TYPE, cl_device_type, CL_DEVICE_TYPE_GPU)
        HDI_CL_TEXT(CL_DEVICE_NAME, gpu.name)
        HDI_CL_IS(CL_DEVICE_AVAILABLE, cl_bool, hdi_cl_gpu_runs())
        HDI_CL_TEXT(CL_DEVICE_VENDOR, "NVIDIA Corporation")
        HDI_CL_IS(CL_DEVICE_VENDOR_ID, cl_uint, 0x10de)
        HDI_CL_IS(CL_DEVICE_ERROR_CORRECTION_SUPPORT, cl_bool, gpu.can.corrects)
        // Functions of the host run on its processor alone, and its memory is
        // not the GPU's.
        HDI_CL_IS(CL_DEVICE_EXECUTION_CAPABILITIES, cl_device_exec_capabilities,
                  CL_EXEC_KERNEL)
        HDI_CL_IS(CL_DEVICE_HOST_UNIFIED_MEMORY, cl_bool, CL_FALSE)
        HDI_CL_IS(CL_DEVICE_SVM_CAPABILITIES, cl_device_svm_capabilities, 0)
        HDI_CL_IS(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, 0)
        HDI_CL_IS(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, 0)
        HDI_CL_IS(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, 0)
        HDI_CL_IS(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, 0)
        HDI_CL_IS(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, 0)
        HDI_CL_IS(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, cl_uint, 0)
        HDI_CL_BYTES(CL_DEVICE_PARTITION_PROPERTIES, undivided,
                     sizeof(undivided))
        HDI_CL_IS(CL_DEVICE_PARTITION_AFFINITY_DOMAIN,
                  cl_device_affinity_domain, 0)
        HDI_CL_IS(CL_DEVICE_REFERENCE_COUNT, cl_uint, 1)
        HDI_CL_BYTES(CL_DEVICE_UUID_KHR, gpu.uuid, sizeof(gpu.uuid))
        HDI_CL_BYTES(
            CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR,
            &none, sizeof(none))
        HDI_CL_BYTES(
            CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR,
            &none, sizeof(none))
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int hdi_cl_gpu_info(cl_device_info what, size_t size, void *value,
                       size_t *size_ret, bool *answered)
{
    size_t bytes;

    // An error of size is no reason to look elsewhere.
    *answered = get_limits(what, 0, NULL, &bytes) == CL_SUCCESS;
    if (*answered)
        return get_limits(what, size, value, size_ret);
    *answered = get_abilities(what, 0, NULL, &bytes) == CL_SUCCESS;
    return get_abilities(what, size, value, size_ret);
}
