// Devices: the processor, and parts of it; gpu.c says what differs on a GPU.
// What is told is what the runtime does; limits are those that launches check.
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "icd/device/gpu.h"
#include "icd/device/partition.h"
#include "icd/device/platform.h"
#include "icd/device/trace.h"
#include "icd/object/info.h"
#include "kernel/binary/container.h"
#include "kernel/opencl.h"
#include "kernel/program/spirv.h"
#include "runtime/runtime.h"

#define VERSION(a, b, c) CL_MAKE_VERSION(a, b, c)

// What the machine is -------------------------------------------------------

// Looking costs a topology, a few files and opening the GPU's driver, so it
// waits until something is asked, and is done once for the process.
static pthread_once_t looked = PTHREAD_ONCE_INIT;

// Asked once; constant after that.
static struct {
    struct hdi_topology *topology; // NULL: it cannot be read
    struct hdi_machine machine;
    unsigned vector; // width of registers [bytes]
    unsigned clock;  // [MHz]
    bool takes_il;
    bool compiles;
    uint64_t line;        // of a cache [bytes]
    uint64_t local;       // memory of a work-group, most [bytes]
    uint32_t group_items; // of a work-group, most
    cl_uchar uuid[CL_UUID_SIZE_KHR];
    char name[160];
} here;

// The highest clock, or what it runs at just now; 0: not told [MHz].
//
// For people and benchmarks; nothing is computed from it. Virtual machines
// often have no cpufreq, hence the second source.
static unsigned read_clock(void)
{
    FILE *file =
        fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    unsigned long kilo = 0;
    double mega = 0;
    char line[256];

    if (file) {
        if (fscanf(file, "%lu", &kilo) != 1)
            kilo = 0;
        fclose(file);
    }
    if (kilo > 0)
        return (unsigned)(kilo / 1000);
    file = fopen("/proc/cpuinfo", "re");
    while (file && mega == 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "cpu MHz : %lf", &mega) != 1)
            mega = 0;
    if (file)
        fclose(file);
    return (unsigned)mega;
}

// Told as the native vector widths. The compiler finds out by itself what it
// may use (the device's capabilities).
static unsigned read_vector(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? 64
           : __builtin_cpu_supports("avx")   ? 32
                                             : 16;
#else
    return 16;
#endif
}

// The same for the same processor in the same machine.
//
// FNV-1a, twice with different factors, of name and machine id: no secret, just
// a name that two machines of one kind do not share.
static void make_uuid(void)
{
    char text[256] = "", machine[64] = "";
    uint64_t hash[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    FILE *file = fopen("/etc/machine-id", "re");

    if (file) {
        if (!fgets(machine, sizeof(machine), file))
            *machine = '\0';
        fclose(file);
    }
    snprintf(text, sizeof(text), "heddle %s %s", here.name, machine);
    for (const char *c = text; *c; c++)
        for (int i = 0; i < 2; i++)
            hash[i] = (hash[i] ^ (unsigned char)*c) * (0x100000001b3u + 2 * i);
    memcpy(here.uuid, hash, sizeof(here.uuid));
}

// The limits, without starting anything.
//
// What stands first holds where the device cannot be opened, so that asking
// never fails; a launch would.
static void look_at_device(void)
{
    const struct hdi_backend *backend = hdi_backend_find("cpu");
    struct hdi_device *device;
    struct hd_error error;

    here.group_items = 1024;
    here.local = 32 << 10;
    if (!here.topology ||
        backend->open(here.topology, 0, NULL, &device, &error) != HD_OK)
        return;
    here.group_items = device->can.group_items;
    here.local = device->can.local_bytes;
    backend->close(device);
}

// Whatever cannot be read gets a value that is safe: one core, lines of 64
// bytes. Failing is told in the log at most.
static void look(void)
{
    struct hd_error error;
    struct hdi_text translator = {0};

    if (hdi_topology_create(NULL, &here.topology, &error) == HD_OK)
        here.machine = *hdi_topology_machine(here.topology);
    else
        hdi_warn("%s", error.text);
    if (here.machine.cores == 0)
        here.machine.cores = 1;
    if (here.machine.memory_bytes == 0) {
        struct sysinfo about;
        if (sysinfo(&about) == 0)
            here.machine.memory_bytes = about.totalram * about.mem_unit;
    }
    snprintf(here.name, sizeof(here.name), "%s",
             *here.machine.processor ? here.machine.processor
                                     : "unknown processor");
    here.vector = read_vector();
    here.clock = read_clock();
    here.compiles = hdi_has_compiler();
    here.takes_il = here.compiles &&
                    hdi_spirv_find_translator(&translator, &error) == HD_OK;
    hdi_text_free(&translator);
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
    here.line = line > 0 ? (uint64_t)line : 64;
    look_at_device();
    hdi_cl_gpu_look(here.topology);
    make_uuid();
}

// Every function here that reads `here` or the GPU calls it first, or is called
// by one that did.
static const struct hdi_machine *machine(void)
{
    pthread_once(&looked, look);
    return &here.machine;
}

const struct hdi_topology *hdi_cl_topology(unsigned *cores)
{
    *cores = machine()->cores;
    return here.topology;
}

uint64_t hdi_cl_device_memory(void)
{
    return machine()->memory_bytes;
}

bool hdi_cl_has_gpu(void)
{
    machine();
    return hdi_cl_gpu() != NULL;
}

// The host has all buffers, too.
//
// Half of the memory, in whole MiB, so that two buffers of the largest size can
// be asked for.
uint64_t hdi_cl_device_largest(const struct _cl_device_id *device)
{
    uint64_t half = machine()->memory_bytes / 2 & ~((1ull << 20) - 1);
    uint64_t own = device->side == HDI_CL_GPU ? hdi_cl_gpu_largest() : half;

    return own < half ? own : half;
}

size_t hdi_cl_device_group_items(const struct _cl_device_id *device)
{
    machine();
    return device->side == HDI_CL_GPU ? hdi_cl_gpu()->group_items
                                      : here.group_items;
}

// 16 is what sub-groups of kernels on the processor have, whatever its vectors
// are: programs are compiled for one number.
size_t hdi_cl_device_sub_group(const struct _cl_device_id *device)
{
    return device->side == HDI_CL_GPU ? hdi_cl_gpu()->sub_group : 16;
}

uint64_t hdi_cl_device_local(const struct _cl_device_id *device)
{
    machine();
    return device->side == HDI_CL_GPU ? hdi_cl_gpu()->local_bytes : here.local;
}

bool hdi_cl_device_takes_il(void)
{
    machine();
    return here.takes_il;
}

// The runtime -----------------------------------------------------------------

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
        .device = !device->parent && hdi_cl_has_gpu() ? "all" : "cpu"};
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

// What is told as compute units: workers, of which the whole has one per core.
static unsigned units_of(const struct _cl_device_id *device)
{
    return device->parent ? device->units : machine()->cores;
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

// What is offered -------------------------------------------------------------

#define LISTED(name)  {VERSION(1, 0, 0), name},
#define FEATURE(name) {VERSION(3, 0, 0), name},

// Those of the language come first, then those of the API; of the last two one
// is there with a translator, one where the process's memory is shared.
static const struct hdi_cl_version extensions[] = {
    HDI_OPENCL_EXTENSIONS(LISTED){VERSION(2, 0, 0), "cl_khr_icd"},
    {VERSION(1, 0, 0), "cl_khr_create_command_queue"},
    {VERSION(1, 0, 0), "cl_khr_suggested_local_work_size"},
    {VERSION(1, 0, 0), "cl_khr_device_uuid"},
    {VERSION(1, 0, 0), "cl_khr_extended_versioning"},
    {VERSION(1, 0, 0), "cl_khr_image2d_from_buffer"},
    {VERSION(0, 9, 0), "cl_khr_command_buffer"},
    {VERSION(1, 0, 0), "cl_khr_il_program"},
    {VERSION(1, 0, 0), "cl_intel_unified_shared_memory"},
};

static const struct hdi_cl_version features[] = {HDI_OPENCL_FEATURES(FEATURE)};

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

// Every kind of memory is the process's.
enum {
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
    if (here.takes_il)
        list[count++] = extensions[COUNT(extensions) - 2];
    if (device->side == HDI_CL_CPU)
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

// The three ways are listed with domains last, so that leaving those out is a
// matter of length. One core cannot be parted.
static cl_int give_partitions(const struct _cl_device_id *device, size_t size,
                              void *value, size_t *size_ret)
{
    static const cl_device_partition_property ways[] = {
        CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS,
        CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN};
    static const cl_device_partition_property none[] = {0};

    if (units_of(device) < 2)
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
    size_t items = hdi_cl_device_group_items(device);
    const size_t item_sizes[] = {items, items, items};
    size_t sub_group = hdi_cl_device_sub_group(device);
    uint64_t largest = hdi_cl_device_largest(device);
    uint64_t texels = largest / 16;

    switch (name) {
        HDI_CL_IS(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint, units_of(device))
        HDI_CL_IS(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, cl_uint, 3)
        HDI_CL_BYTES(CL_DEVICE_MAX_WORK_ITEM_SIZES, item_sizes,
                     sizeof(item_sizes))
        HDI_CL_IS(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t, items)
        HDI_CL_IS(CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, here.clock)
        HDI_CL_IS(CL_DEVICE_ADDRESS_BITS, cl_uint, 8 * sizeof(void *))
        HDI_CL_IS(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong, largest)
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
                  (cl_uint)here.line)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong,
                  machine()->l3_bytes   ? machine()->l3_bytes
                  : machine()->l2_bytes ? machine()->l2_bytes
                                        : machine()->l1_bytes)
        HDI_CL_IS(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong, hdi_cl_device_memory())
        HDI_CL_IS(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, cl_ulong, largest)
        HDI_CL_IS(CL_DEVICE_MAX_CONSTANT_ARGS, cl_uint, 128)
        HDI_CL_IS(CL_DEVICE_LOCAL_MEM_TYPE, cl_device_local_mem_type, CL_GLOBAL)
        HDI_CL_IS(CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong,
                  hdi_cl_device_local(device))
        HDI_CL_IS(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size_t, 64 << 20)
        HDI_CL_IS(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, size_t,
                  64 << 20)
        HDI_CL_IS(CL_DEVICE_PROFILING_TIMER_RESOLUTION, size_t, 1)
        HDI_CL_IS(CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, 1 << 24)
        HDI_CL_IS(CL_DEVICE_MAX_ON_DEVICE_QUEUES, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_MAX_ON_DEVICE_EVENTS, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PIPE_MAX_PACKET_SIZE, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_MAX_PIPE_ARGS, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_MAX_NUM_SUB_GROUPS, cl_uint,
                  (cl_uint)(items / sub_group))
        HDI_CL_IS(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t,
                  sub_group)
        HDI_CL_IS(CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, cl_uint, 0)
        HDI_CL_IS(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, cl_uint, 0)
    default:
        return CL_INVALID_VALUE;
    }
}

// How many elements a register has, 16 at most: there are no longer vectors in
// the language.
static cl_uint wide(unsigned element)
{
    unsigned width = here.vector / element;
    return width > 16 ? 16 : width;
}

// The same for the processor and its parts.
static cl_int get_abilities(cl_device_info name, size_t size, void *value,
                            size_t *size_ret)
{
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
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, cl_uint, wide(1))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, cl_uint, wide(2))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, cl_uint, wide(4))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, cl_uint, wide(8))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint, wide(4))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, cl_uint, wide(8))
        HDI_CL_IS(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, cl_uint, wide(2))
        HDI_CL_IS(CL_DEVICE_SINGLE_FP_CONFIG, cl_device_fp_config,
                  floats | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
        HDI_CL_IS(CL_DEVICE_DOUBLE_FP_CONFIG, cl_device_fp_config,
                  floats | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF)
        HDI_CL_IS(CL_DEVICE_HALF_FP_CONFIG, cl_device_fp_config,
                  CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST)
        HDI_CL_IS(CL_DEVICE_ERROR_CORRECTION_SUPPORT, cl_bool, CL_FALSE)
        HDI_CL_IS(CL_DEVICE_ENDIAN_LITTLE, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_AVAILABLE, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_COMPILER_AVAILABLE, cl_bool, here.compiles)
        HDI_CL_IS(CL_DEVICE_LINKER_AVAILABLE, cl_bool, here.compiles)
        HDI_CL_IS(CL_DEVICE_EXECUTION_CAPABILITIES, cl_device_exec_capabilities,
                  CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL)
        HDI_CL_IS(
            CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, cl_command_queue_properties,
            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
        HDI_CL_IS(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
                  cl_command_queue_properties, 0)
        HDI_CL_IS(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_HOST_UNIFIED_MEMORY, cl_bool, CL_TRUE)
        HDI_CL_IS(CL_DEVICE_SVM_CAPABILITIES, cl_device_svm_capabilities,
                  CL_DEVICE_SVM_COARSE_GRAIN_BUFFER |
                      CL_DEVICE_SVM_FINE_GRAIN_BUFFER |
                      CL_DEVICE_SVM_FINE_GRAIN_SYSTEM | CL_DEVICE_SVM_ATOMICS)
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
        HDI_CL_TEXT(CL_DEVICE_NAME, here.name)
        HDI_CL_TEXT(CL_DEVICE_VENDOR, "Heddle")
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
        HDI_CL_TEXT(
            CL_DEVICE_IL_VERSION,
            here.takes_il ? "SPIR-V_1.3 SPIR-V_1.2 SPIR-V_1.1 SPIR-V_1.0" : "")
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
        return hdi_cl_give(NULL, 0, size, value, size_ret);
    case CL_DEVICE_ILS_WITH_VERSION:
        return hdi_cl_give_versions(ils, here.takes_il ? COUNT(ils) : 0, size,
                                    value, size_ret);
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

// Dot products are told to be accelerated where vectors have 32 bytes or more;
// elsewhere the functions are there, but no faster than plain code.
static cl_int get_extended(cl_device_info name, size_t size, void *value,
                           size_t *size_ret)
{
    static const cl_uchar luid[CL_LUID_SIZE_KHR];
    static const cl_device_integer_dot_product_acceleration_properties_khr
        dots = {CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE, CL_TRUE};
    static const cl_device_integer_dot_product_acceleration_properties_khr none;
    bool fast = here.vector >= 32;

    switch (name) {
        HDI_CL_IS(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, USM)
        HDI_CL_IS(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, USM)
        HDI_CL_IS(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, USM)
        HDI_CL_IS(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, USM)
        HDI_CL_IS(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL,
                  cl_device_unified_shared_memory_capabilities_intel, USM)
        HDI_CL_IS(CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
                  cl_device_command_buffer_capabilities_khr,
                  CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR |
                      CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR |
                      CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR)
        HDI_CL_IS(CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
                  cl_command_queue_properties, 0)
        HDI_CL_BYTES(CL_DEVICE_UUID_KHR, here.uuid, sizeof(here.uuid))
        HDI_CL_BYTES(CL_DRIVER_UUID_KHR, here.uuid, sizeof(here.uuid))
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
            fast ? &dots : &none, sizeof(dots))
        HDI_CL_BYTES(
            CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR,
            fast ? &dots : &none, sizeof(dots))
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
        HDI_CL_IS(CL_DEVICE_TYPE, cl_device_type, CL_DEVICE_TYPE_CPU)
        HDI_CL_IS(CL_DEVICE_VENDOR_ID, cl_uint, 0x48444c)
        HDI_CL_IS(CL_DEVICE_PLATFORM, cl_platform_id, hdi_cl_platform())
        HDI_CL_IS(CL_DEVICE_PARENT_DEVICE, cl_device_id, device->parent)
        HDI_CL_IS(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, cl_uint,
                  units_of(device) > 1 ? units_of(device) : 0)
        HDI_CL_IS(CL_DEVICE_PARTITION_AFFINITY_DOMAIN,
                  cl_device_affinity_domain, hdi_cl_device_domains(device))
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
    machine();
    if (device->side == HDI_CL_GPU) {
        bool answered;
        cl_int own = hdi_cl_gpu_info(name, size, value, size_ret, &answered);
        if (answered)
            return own;
    }
    cl_int status = get_relations(device, name, size, value, size_ret);
    // The names are of one of these; an error of size is found again.
    if (status != CL_SUCCESS)
        status = get_words(device, name, size, value, size_ret);
    if (status == CL_INVALID_VALUE)
        status = get_abilities(name, size, value, size_ret);
    if (status == CL_INVALID_VALUE)
        status = get_extended(name, size, value, size_ret);
    if (status == CL_INVALID_VALUE)
        status = get_limits(device, name, size, value, size_ret);
    return status;
}

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
    if (type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT))
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
