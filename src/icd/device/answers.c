// What devices answer: one list of questions for the processor, its parts and
// the GPU. Where they differ the answer is in `about.h`. What is told is what
// the runtime does; limits are those that launches check.
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "heddle/image.h"
#include "icd/device/about.h"
#include "icd/device/devices.h"
#include "icd/device/gpu.h"
#include "icd/device/partition.h"
#include "icd/device/platform.h"
#include "icd/object/info.h"
#include "kernel/binary/container.h"
#include "kernel/opencl.h"
#include "kernel/program.h"

#define VERSION(a, b, c) CL_MAKE_VERSION(a, b, c)

#define LISTED(name, major) {VERSION(major, 0, 0), name},

// Those of the language come first, then those of the API; of the last two one
// is there with a translator, one where the process's memory is shared.
static const struct hdi_cl_version extensions[] = {
    HDI_OPENCL_EXTENSIONS(LISTED){VERSION(1, 0, 0), "cl_khr_icd"},
    {VERSION(1, 0, 0), "cl_khr_create_command_queue"},
    {VERSION(1, 0, 0), "cl_khr_suggested_local_work_size"},
    {VERSION(1, 0, 0), "cl_khr_device_uuid"},
    {VERSION(1, 0, 0), "cl_khr_extended_versioning"},
    {VERSION(1, 0, 0), "cl_khr_image2d_from_buffer"},
    {VERSION(0, 9, 8), "cl_khr_command_buffer"},
    {VERSION(1, 0, 0), "cl_khr_il_program"},
    {VERSION(1, 0, 0), "cl_intel_unified_shared_memory"},
};

static const struct hdi_cl_version features[] = {HDI_OPENCL_FEATURES(LISTED)};

static const struct hdi_cl_version languages[] = {
    {VERSION(1, 0, 0), "OpenCL C"},
    {VERSION(1, 1, 0), "OpenCL C"},
    {VERSION(1, 2, 0), "OpenCL C"},
    {VERSION(3, 0, 0), "OpenCL C"}};

// The translator reads much of 1.4, not all: reporting it would be a promise.
static const struct hdi_cl_version ils[] = {{VERSION(1, 0, 0), "SPIR-V"},
                                            {VERSION(1, 1, 0), "SPIR-V"},
                                            {VERSION(1, 2, 0), "SPIR-V"},
                                            {VERSION(1, 3, 0), "SPIR-V"}};

// Of a device that shares the process's memory, whose every kind is that.
enum {
    SVM = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER |
          CL_DEVICE_SVM_FINE_GRAIN_SYSTEM | CL_DEVICE_SVM_ATOMICS,
    USM = CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL |
          CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL |
          CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL |
          CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

// Those of the device; their number.
static unsigned list_extensions(const struct _cl_device_id *device,
                                struct hdi_cl_version *list)
{
    unsigned count = COUNT(extensions) - 2;

    memcpy(list, extensions, count * sizeof(*list));
    if (hdi_cl_takes_il())
        list[count++] = extensions[COUNT(extensions) - 2];
    if (hdi_cl_about(device->side)->shares)
        list[count++] = extensions[COUNT(extensions) - 1];
    return count;
}

// 48 characters for each name and its blank are more than they take on average.
static cl_int give_extensions(const struct _cl_device_id *device, size_t size,
                              void *value, size_t *size_ret)
{
    struct hdi_cl_version list[COUNT(extensions)];
    unsigned count = list_extensions(device, list);
    char text[COUNT(extensions) * 48];
    size_t used = 0;

    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 i > 0 ? " " : "", list[i].name);
    return hdi_cl_give_text(text, size, value, size_ret);
}

static cl_int give_extension_versions(const struct _cl_device_id *device,
                                      size_t size, void *value,
                                      size_t *size_ret)
{
    struct hdi_cl_version list[COUNT(extensions)];

    return hdi_cl_give_versions(list, list_extensions(device, list), size,
                                value, size_ret);
}

// What is told as compute units: workers, of which the whole has one per core.
static cl_uint units_of(const struct _cl_device_id *device)
{
    return device->parent ? device->units : hdi_cl_about(device->side)->units;
}

// How many parts it can be divided into: a GPU is whole.
static cl_uint parts_of(const struct _cl_device_id *device)
{
    return device->side == HDI_CL_CPU ? units_of(device) : 0;
}

// The three ways are listed with domains last, so that leaving those out is a
// matter of length. One core cannot be parted.
static cl_int give_partitions(const struct _cl_device_id *device, size_t size,
                              void *value, size_t *size_ret)
{
    static const cl_device_partition_property ways[] = {
        CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS,
        CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN};
    static const cl_device_partition_property none[] = {0};

    if (parts_of(device) < 2)
        return hdi_cl_give(none, sizeof(none), size, value, size_ret);
    size_t bytes =
        sizeof(ways) - (hdi_cl_device_domains(device) ? 0 : sizeof(*ways));
    return hdi_cl_give(ways, bytes, size, value, size_ret);
}

// The numbers which applications size their work by. What is constant here is
// promised, not measured: the core takes as much or more. Alignment is told in
// bits where the standard asks for bits.
static cl_int get_limits(const struct _cl_device_id *device,
                         cl_device_info name, size_t size, void *value,
                         size_t *size_ret)
{
    const struct hdi_cl_about *a = hdi_cl_about(device->side);
    uint64_t texels = a->largest / 16;

    switch (name) {
        HDI_CL_IS(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint, units_of(device))
        HDI_CL_IS(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, cl_uint, 3)
        HDI_CL_BYTES(CL_DEVICE_MAX_WORK_ITEM_SIZES, a->sizes, sizeof(a->sizes))
        HDI_CL_IS(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t, a->group_items)
        HDI_CL_IS(CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, a->clock)
        HDI_CL_IS(CL_DEVICE_ADDRESS_BITS, cl_uint, 8 * sizeof(void *))
        HDI_CL_IS(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong, a->largest)
        HDI_CL_IS(CL_DEVICE_IMAGE_SUPPORT, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_MAX_READ_IMAGE_ARGS, cl_uint, HDI_CL_IMAGES)
        HDI_CL_IS(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, cl_uint, HDI_CL_IMAGES)
        HDI_CL_IS(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, cl_uint, HDI_CL_IMAGES)
        HDI_CL_IS(CL_DEVICE_IMAGE2D_MAX_WIDTH, size_t, HDI_CL_IMAGE_MAX)
        HDI_CL_IS(CL_DEVICE_IMAGE2D_MAX_HEIGHT, size_t, HDI_CL_IMAGE_MAX)
        HDI_CL_IS(CL_DEVICE_IMAGE3D_MAX_WIDTH, size_t, HDI_CL_IMAGE_3D_MAX)
        HDI_CL_IS(CL_DEVICE_IMAGE3D_MAX_HEIGHT, size_t, HDI_CL_IMAGE_3D_MAX)
        HDI_CL_IS(CL_DEVICE_IMAGE3D_MAX_DEPTH, size_t, HDI_CL_IMAGE_3D_MAX)
        HDI_CL_IS(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, size_t,
                  texels < HD_IMAGE_MAX_BUFFER ? texels : HD_IMAGE_MAX_BUFFER)
        HDI_CL_IS(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, size_t, HDI_CL_IMAGE_LAYERS)
        HDI_CL_IS(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_MAX_SAMPLERS, cl_uint, HDI_CL_SAMPLERS)
        HDI_CL_IS(CL_DEVICE_MAX_PARAMETER_SIZE, size_t, HDI_CL_ARGUMENTS)
        HDI_CL_IS(CL_DEVICE_MEM_BASE_ADDR_ALIGN, cl_uint, 8 * HDI_CL_ALIGN)
        HDI_CL_IS(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, cl_uint, HDI_CL_ALIGN)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, cl_device_mem_cache_type,
                  CL_READ_WRITE_CACHE)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cl_uint,
                  (cl_uint)a->line)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong, a->cache)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong, a->memory)
        HDI_CL_IS(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, cl_ulong, a->largest)
        HDI_CL_IS(CL_DEVICE_MAX_CONSTANT_ARGS, cl_uint, 128)
        HDI_CL_IS(CL_DEVICE_LOCAL_MEM_TYPE, cl_device_local_mem_type,
                  a->is_local_own ? CL_LOCAL : CL_GLOBAL)
        HDI_CL_IS(CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong, a->local)
        HDI_CL_IS(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size_t, 64 << 20)
        HDI_CL_IS(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, size_t,
                  64 << 20)
        HDI_CL_IS(CL_DEVICE_PROFILING_TIMER_RESOLUTION, size_t, 1)
        HDI_CL_IS(CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, a->printed)
        HDI_CL_IS(CL_DEVICE_MAX_ON_DEVICE_QUEUES, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_MAX_ON_DEVICE_EVENTS, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PIPE_MAX_PACKET_SIZE, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_MAX_PIPE_ARGS, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_MAX_NUM_SUB_GROUPS, cl_uint,
                  (cl_uint)(a->group_items / a->sub_group))
        HDI_CL_IS(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t,
                  a->sub_group)
        HDI_CL_IS(CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, cl_uint, 0)
    default:
        return CL_INVALID_VALUE;
    }
}

// How many elements a register has, 16 at most: there are no longer vectors in
// the language.
static cl_uint wide(const struct hdi_cl_about *a, unsigned element)
{
    unsigned width = a->vector / element;

    return width > 16 ? 16 : width > 0 ? width : 1;
}

static cl_int get_abilities(const struct _cl_device_id *device,
                            cl_device_info name, size_t size, void *value,
                            size_t *size_ret)
{
    const struct hdi_cl_about *a = hdi_cl_about(device->side);
    const cl_device_fp_config floats =
        CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA;
    const cl_device_atomic_capabilities atomics =
        CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
        CL_DEVICE_ATOMIC_ORDER_SEQ_CST | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM |
        CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE |
        CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES;

    switch (name) {
        // Vectors are made of neighbouring work-items.
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, cl_uint, 1)
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, cl_uint, wide(a, 1))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, cl_uint, wide(a, 2))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, cl_uint, wide(a, 4))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, cl_uint, wide(a, 8))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint, wide(a, 4))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, cl_uint, wide(a, 8))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, cl_uint, wide(a, 2))
        HDI_CL_IS(CL_DEVICE_SINGLE_FP_CONFIG, cl_device_fp_config,
                  floats | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
        HDI_CL_IS(CL_DEVICE_DOUBLE_FP_CONFIG, cl_device_fp_config,
                  floats | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF)
        HDI_CL_IS(CL_DEVICE_HALF_FP_CONFIG, cl_device_fp_config,
                  CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST)
        HDI_CL_IS(CL_DEVICE_ERROR_CORRECTION_SUPPORT, cl_bool, a->corrects)
        HDI_CL_IS(CL_DEVICE_ENDIAN_LITTLE, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_AVAILABLE, cl_bool,
                  device->side == HDI_CL_CPU || hdi_cl_gpu_runs())
        HDI_CL_IS(CL_DEVICE_COMPILER_AVAILABLE, cl_bool, hdi_cl_compiles())
        HDI_CL_IS(CL_DEVICE_LINKER_AVAILABLE, cl_bool, hdi_cl_compiles())
        HDI_CL_IS(CL_DEVICE_EXECUTION_CAPABILITIES, cl_device_exec_capabilities,
                  CL_EXEC_KERNEL | (a->shares ? CL_EXEC_NATIVE_KERNEL : 0))
        HDI_CL_IS(
            CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, cl_command_queue_properties,
            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
        HDI_CL_IS(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
                  cl_command_queue_properties, 0)
        HDI_CL_IS(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_HOST_UNIFIED_MEMORY, cl_bool, a->shares)
        HDI_CL_IS(CL_DEVICE_SVM_CAPABILITIES, cl_device_svm_capabilities,
                  a->shares ? SVM : 0)
        HDI_CL_IS(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES,
                  cl_device_atomic_capabilities, atomics)
        HDI_CL_IS(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES,
                  cl_device_atomic_capabilities, atomics)
        HDI_CL_IS(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, cl_bool,
                  CL_TRUE)
        HDI_CL_IS(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, cl_bool,
                  CL_FALSE)
        HDI_CL_IS(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
                  cl_device_device_enqueue_capabilities, 0)
        HDI_CL_IS(CL_DEVICE_PIPE_SUPPORT, cl_bool, CL_FALSE)
    default:
        return CL_INVALID_VALUE;
    }
}

// Clients keep binaries by it: it changes with their format.
#define FORMATS                          \
    HDI_CL_STRING(HDI_CONTAINER_VERSION) \
    "." HDI_CL_STRING(HDI_FRAME_VERSION)
#define DRIVER_VERSION HDI_CL_VERSION "-" FORMATS

static cl_int get_words(const struct _cl_device_id *device, cl_device_info name,
                        size_t size, void *value, size_t *size_ret)
{
    switch (name) {
        HDI_CL_TEXT(CL_DEVICE_NAME, hdi_cl_about(device->side)->name)
        HDI_CL_TEXT(CL_DEVICE_VENDOR, hdi_cl_about(device->side)->vendor)
        HDI_CL_TEXT(CL_DRIVER_VERSION, DRIVER_VERSION)
        HDI_CL_TEXT(CL_DEVICE_PROFILE, "FULL_PROFILE")
        HDI_CL_TEXT(CL_DEVICE_VERSION, "OpenCL 3.0 Heddle " HDI_CL_VERSION)
        HDI_CL_IS(CL_DEVICE_NUMERIC_VERSION, cl_version, VERSION(3, 0, 0))
        HDI_CL_TEXT(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 Heddle")
        HDI_CL_IS(CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR, cl_version,
                  VERSION(1, 2, 0))
        HDI_CL_TEXT(CL_DEVICE_BUILT_IN_KERNELS, "")
        // None: the form is that of a date.
        HDI_CL_TEXT(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED,
                    "v0000-01-01-00")
        HDI_CL_TEXT(CL_DEVICE_IL_VERSION,
                    hdi_cl_takes_il()
                        ? "SPIR-V_1.3 SPIR-V_1.2 SPIR-V_1.1 SPIR-V_1.0"
                        : "")
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
        return hdi_cl_give(NULL, 0, size, value, size_ret);
    case CL_DEVICE_ILS_WITH_VERSION:
        return hdi_cl_give_versions(ils, hdi_cl_takes_il() ? COUNT(ils) : 0,
                                    size, value, size_ret);
    case CL_DEVICE_EXTENSIONS:
        return give_extensions(device, size, value, size_ret);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        return give_extension_versions(device, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
        return hdi_cl_give_versions(languages, COUNT(languages), size, value,
                                    size_ret);
    case CL_DEVICE_OPENCL_C_FEATURES:
        return hdi_cl_give_versions(features, COUNT(features), size, value,
                                    size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

// What cl_ext_float_atomics and cl_khr_kernel_clock ask, where the headers are
// older.
#ifndef CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT
#define CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT 0x4231
#define CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT 0x4232
#define CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT   0x4233
#endif
#ifndef CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR
#define CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR 0x1076
#endif

enum {
    // In global and in local memory: load and store, add, minimum and maximum.
    FLOAT_ATOMICS = 7 << 0 | 7 << 16,
    KERNEL_CLOCKS = 7 // of the device, a work-group, a sub-group
};

static cl_int get_extended(const struct _cl_device_id *device,
                           cl_device_info name, size_t size, void *value,
                           size_t *size_ret)
{
    static const cl_uchar luid[CL_LUID_SIZE_KHR];
    static const cl_device_integer_dot_product_acceleration_properties_khr
        dots = {CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE};
    static const cl_device_integer_dot_product_acceleration_properties_khr none;
    const struct hdi_cl_about *a = hdi_cl_about(device->side);

    switch (name) {
        HDI_CL_IS(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel,
                  a->shares ? USM : 0)
        HDI_CL_IS(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel,
                  a->shares ? USM : 0)
        HDI_CL_IS(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel,
                  a->shares ? USM : 0)
        HDI_CL_IS(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel,
                  a->shares ? USM : 0)
        HDI_CL_IS(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel,
                  a->shares ? USM : 0)
        HDI_CL_IS(CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
                  cl_device_command_buffer_capabilities_khr,
                  CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR |
                      CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR)
        HDI_CL_IS(CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR,
                  cl_command_queue_properties,
                  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
                      CL_QUEUE_PROFILING_ENABLE)
        HDI_CL_IS(CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
                  cl_command_queue_properties, 0)
        HDI_CL_BYTES(CL_DEVICE_UUID_KHR, a->uuid, sizeof(a->uuid))
        HDI_CL_BYTES(CL_DRIVER_UUID_KHR, hdi_cl_about(HDI_CL_CPU)->uuid,
                     CL_UUID_SIZE_KHR)
        HDI_CL_IS(CL_DEVICE_LUID_VALID_KHR, cl_bool, CL_FALSE)
        HDI_CL_BYTES(CL_DEVICE_LUID_KHR, luid, sizeof(luid))
        HDI_CL_IS(CL_DEVICE_NODE_MASK_KHR, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT, cl_bitfield,
                  FLOAT_ATOMICS)
        HDI_CL_IS(CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT, cl_bitfield,
                  FLOAT_ATOMICS)
        HDI_CL_IS(CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT, cl_bitfield,
                  FLOAT_ATOMICS)
        HDI_CL_IS(CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR, cl_bitfield,
                  KERNEL_CLOCKS)
        HDI_CL_IS(CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR,
                  cl_device_integer_dot_product_capabilities_khr,
                  CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR |
                      CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR)
        HDI_CL_BYTES(
            CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR,
            a->multiplies ? &dots : &none, sizeof(dots))
        HDI_CL_BYTES(
            CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR,
            a->multiplies ? &dots : &none, sizeof(dots))
    default:
        return CL_INVALID_VALUE;
    }
}

// The whole machine is never counted, so its reference count is told as 1.
static cl_int get_relations(const struct _cl_device_id *device,
                            cl_device_info name, size_t size, void *value,
                            size_t *size_ret)
{
    switch (name) {
        HDI_CL_IS(CL_DEVICE_TYPE, cl_device_type,
                  hdi_cl_about(device->side)->type)
        HDI_CL_IS(CL_DEVICE_VENDOR_ID, cl_uint,
                  hdi_cl_about(device->side)->vendor_id)
        HDI_CL_IS(CL_DEVICE_PLATFORM, cl_platform_id, hdi_cl_platform())
        HDI_CL_IS(CL_DEVICE_PARENT_DEVICE, cl_device_id, device->parent)
        HDI_CL_IS(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, cl_uint,
                  parts_of(device) > 1 ? parts_of(device) : 0)
        HDI_CL_IS(CL_DEVICE_PARTITION_AFFINITY_DOMAIN,
                  cl_device_affinity_domain,
                  parts_of(device) > 1 ? hdi_cl_device_domains(device) : 0)
        HDI_CL_IS(CL_DEVICE_REFERENCE_COUNT, cl_uint,
                  device->parent ? hdi_cl_object_references(device) : 1)
        HDI_CL_BYTES(CL_DEVICE_PARTITION_TYPE, device->partition,
                     device->partition_size * sizeof(*device->partition))
    case CL_DEVICE_PARTITION_PROPERTIES:
        return give_partitions(device, size, value, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device,
                                                cl_device_info name,
                                                size_t size, void *value,
                                                size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return CL_INVALID_DEVICE;
    cl_int status = get_relations(device, name, size, value, size_ret);
    // The names are of one of these; an error of size is found again.
    if (status != CL_SUCCESS)
        status = get_words(device, name, size, value, size_ret);
    if (status == CL_INVALID_VALUE)
        status = get_abilities(device, name, size, value, size_ret);
    if (status == CL_INVALID_VALUE)
        status = get_extended(device, name, size, value, size_ret);
    if (status == CL_INVALID_VALUE)
        status = get_limits(device, name, size, value, size_ret);
    return status;
}
