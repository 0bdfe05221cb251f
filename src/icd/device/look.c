// The look at the machine. It costs a topology, a few files and opening the
// GPU's driver, so it waits until something is asked, and is done once for the
// process.
#include "icd/device/about.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/log.h"
#include "base/text.h"
#include "base/topology.h"
#include "icd/device/gpu.h"
#include "kernel/program/spirv.h"
#include "runtime/runtime.h"

static pthread_once_t looked = PTHREAD_ONCE_INIT;

// Constant after that.
static struct {
    struct hdi_topology *topology; // NULL: it cannot be read
    unsigned cores;
    bool compiles, takes_il, has_gpu;
    struct hdi_cl_about about[HDI_CL_SIDES];
} here;

// FNV-1a, twice with different factors, for 16 bytes.
void hdi_cl_hash(const char *text, cl_uchar uuid[CL_UUID_SIZE_KHR])
{
    uint64_t hash[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};

    for (const char *c = text; *c; c++)
        for (int i = 0; i < 2; i++)
            hash[i] = (hash[i] ^ (unsigned char)*c) * (0x100000001b3u + 2 * i);
    memcpy(uuid, hash, CL_UUID_SIZE_KHR);
}

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

// The same for the same processor in the same machine; with the machine's id,
// which two machines of one kind do not share.
static void name_processor(struct hdi_cl_about *a, const char *processor)
{
    char text[256] = "", machine[64] = "";
    FILE *file = fopen("/etc/machine-id", "re");

    snprintf(a->name, sizeof(a->name), "%s",
             *processor ? processor : "unknown processor");
    if (file) {
        if (!fgets(machine, sizeof(machine), file))
            *machine = '\0';
        fclose(file);
    }
    snprintf(text, sizeof(text), "heddle %s %s", a->name, machine);
    hdi_cl_hash(text, a->uuid);
}

// The limits of work-groups, without starting anything.
//
// What stands first holds where the device cannot be opened, so that asking
// never fails; a launch would.
static void look_at_groups(struct hdi_cl_about *a)
{
    const struct hdi_backend *backend = hdi_backend_find("cpu");
    struct hdi_device *device;
    struct hd_error error;

    a->group_items = 1024;
    a->local = 32 << 10;
    if (here.topology &&
        backend->open(here.topology, 0, NULL, &device, &error) == HD_OK) {
        a->group_items = device->can.group_items;
        a->local = device->can.local_bytes;
        backend->close(device);
    }
    for (int i = 0; i < 3; i++)
        a->sizes[i] = a->group_items;
}

// Many programs ask for a GPU and nothing else. HEDDLE_AS_GPU=1 has them find
// the processor; it stays a CPU as well.
static cl_device_type read_type(void)
{
    const char *as_gpu = secure_getenv("HEDDLE_AS_GPU");
    cl_device_type gpu =
        as_gpu && strcmp(as_gpu, "1") == 0 ? CL_DEVICE_TYPE_GPU : 0;

    return CL_DEVICE_TYPE_CPU | gpu;
}

// Whatever cannot be read gets a value that is safe: one core, lines of 64
// bytes.
//
// Half of the memory, in whole MiB, is the largest buffer, so that two of that
// size can be asked for. Sub-groups have 16 work-items whatever the vectors
// are: programs are compiled for one number. Dot products pay where vectors
// have 32 bytes or more.
static void look_at_processor(struct hdi_cl_about *a)
{
    struct hdi_machine machine = {0};
    struct sysinfo about;
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);

    if (here.topology)
        machine = *hdi_topology_machine(here.topology);
    if (machine.memory_bytes == 0 && sysinfo(&about) == 0)
        machine.memory_bytes = about.totalram * about.mem_unit;
    here.cores = machine.cores ? machine.cores : 1;
    *a = (struct hdi_cl_about){.type = read_type(),
                               .vendor = "Heddle",
                               .vendor_id = 0x48444c,
                               .units = here.cores,
                               .clock = read_clock(),
                               .sub_group = 16,
                               .vector = read_vector(),
                               .memory = machine.memory_bytes,
                               .largest = machine.memory_bytes / 2 &
                                          ~((1ull << 20) - 1),
                               .cache = machine.l3_bytes   ? machine.l3_bytes
                                        : machine.l2_bytes ? machine.l2_bytes
                                                           : machine.l1_bytes,
                               .line = line > 0 ? (uint64_t)line : 64,
                               .printed = 1 << 24,
                               .shares = true};
    a->multiplies = a->vector >= 32;
    name_processor(a, machine.processor);
    look_at_groups(a);
}

static void look(void)
{
    struct hd_error error;
    struct hdi_text translator = {0};
    struct hdi_cl_about *cpu = &here.about[HDI_CL_CPU];
    struct hdi_cl_about *gpu = &here.about[HDI_CL_GPU];

    if (hdi_topology_create(NULL, &here.topology, &error) != HD_OK)
        hdi_warn("%s", error.text);
    look_at_processor(cpu);
    here.has_gpu = here.topology && hdi_cl_gpu_look(here.topology, gpu);
    // The host has all buffers, too.
    if (gpu->largest > cpu->largest)
        gpu->largest = cpu->largest;
    here.compiles = hdi_has_compiler();
    here.takes_il = here.compiles &&
                    hdi_spirv_find_translator(&translator, &error) == HD_OK;
    hdi_text_free(&translator);
}

const struct hdi_cl_about *hdi_cl_about(unsigned side)
{
    pthread_once(&looked, look);
    return side == HDI_CL_GPU && !here.has_gpu ? NULL : &here.about[side];
}

bool hdi_cl_compiles(void)
{
    pthread_once(&looked, look);
    return here.compiles;
}

bool hdi_cl_takes_il(void)
{
    pthread_once(&looked, look);
    return here.takes_il;
}

const struct hdi_topology *hdi_cl_topology(unsigned *cores)
{
    pthread_once(&looked, look);
    *cores = here.cores;
    return here.topology;
}
