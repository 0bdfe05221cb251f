#include "backend/cpu/cpu.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/cpu/fault/lines.h"
#include "backend/cpu/fault/shelter.h"
#include "backend/cpu/unit/region.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/topology.h"

extern const struct hdi_backend hdi_backend_cpu;

enum {
    MAX_ITEMS = 8192,       // of one work-group, HDI_GROUP_ITEMS at most
    MAX_LOCAL = 4 << 20,    // local memory of one work-group [bytes]
    LEAST_LOCAL = 64 << 10, // OpenCL asks for half of it [bytes]
    // Each is a thread at least; more is a mistake rather than a wish.
    MAX_UNITS = 4096,
    HUGE_FROM = 4 << 20, // huge pages for buffers from this size [bytes]
    // Views of buffers up to this size: 2 MiB, and what the OpenCL driver has
    // around them [bytes].
    VIEW_TO = (2 << 20) + (128 << 10)
};

// Local memory stands for a cache of the core: what fits half of its second
// level stays fast.
static uint64_t local_bytes(const struct hdi_machine *machine)
{
    uint64_t bytes = machine->l2_bytes / 2;
    if (bytes < LEAST_LOCAL)
        return LEAST_LOCAL;
    return bytes < MAX_LOCAL ? bytes : MAX_LOCAL;
}

static void cpu_close(struct hdi_device *device)
{
    struct hdi_cpu_device *d = (struct hdi_cpu_device *)device;

    hdi_region_release(d->region);
    free(d->modules);
    free(d);
}

// Units of their own threads: their portions of one region, and their cores.
unsigned hdi_cpu_unit_core(const struct hdi_cpu_device *device, unsigned units,
                           unsigned index, unsigned rank)
{
    unsigned cores = hdi_topology_machine(device->topology)->cores;
    uint64_t wanted = (uint64_t)units * device->unit_cores;

    // One at least stays for a worker.
    return wanted < cores ? cores - 1 - (index * device->unit_cores + rank)
                          : UINT_MAX;
}

// On failure what was made is left for cpu_close().
static hd_status make_units(struct hdi_cpu_device *d,
                            const struct hdi_device_params *params,
                            struct hd_error *error)
{
    struct hdi_capabilities *can = &d->device.can;

    d->unit_cores = params->unit_cores ? params->unit_cores : 1;
    if (params->units > MAX_UNITS || d->unit_cores > HDI_UNIT_CORES)
        return hdi_fail(error, HD_ELIMIT,
                        "%u units of %u cores; at most %d of %d are possible",
                        params->units, d->unit_cores, MAX_UNITS,
                        HDI_UNIT_CORES);
    if (!hdi_mailbox_can_settle())
        return hdi_fail(error, HD_ENOTSUP,
                        "units need the system call membarrier, which this "
                        "system refuses; open the device without units");
    d->timeout = params->unit_timeout;
    d->mode = params->doorbell ? HDI_DOORBELL : HDI_RING;
    d->modules = calloc(params->units, sizeof(*d->modules));
    d->region = hdi_region_create(params->units);
    if (!d->modules || !d->region)
        return hdi_fail(error, HD_ENOMEM, "no memory for %u units",
                        params->units);
    for (unsigned i = 0; i < params->units; i++) {
        unsigned core = hdi_cpu_unit_core(d, params->units, i, 0);
        d->modules[i] = core == UINT_MAX
                            ? 0
                            : hdi_topology_core(d->topology, core)->cache_group;
    }
    can->units = params->units;
    can->in_flight = params->doorbell ? 1 : HDI_MAILBOX_RING;
    can->modules = d->modules;
    can->unit_threads = params->units * d->unit_cores;
    can->on_caller = false;
    can->caller_too = true;
    return HD_OK;
}

static hd_status cpu_open(const struct hdi_topology *topology, unsigned index,
                          const struct hdi_device_params *params,
                          struct hdi_device **device, struct hd_error *error)
{
    const struct hdi_machine *machine = hdi_topology_machine(topology);
    if (index > 0)
        return hdi_fail(error, HD_ENODEV, "there is one cpu device, not %u",
                        index + 1);

    struct hdi_cpu_device *d = calloc(1, sizeof(*d));
    if (!d)
        return hdi_fail(error, HD_ENOMEM, "no memory for the cpu device");
    if (!hdi_cpu_identify(d->cpu, sizeof(d->cpu))) {
        free(d);
        return hdi_fail(error, HD_ENODEV, "the processor cannot be named");
    }
    snprintf(d->description, sizeof(d->description), "%s, %u core%s",
             *machine->processor ? machine->processor : "processor",
             machine->cores, hdi_plural(machine->cores, "s"));
    d->device = (struct hdi_device){
        .backend = &hdi_backend_cpu,
        .can =
            {
                .description = d->description,
                .lines = hdi_lines_description(),
                .target = hdi_cpu_target(),
                .cpu = d->cpu,
                .features = hdi_cpu_features(d->features, sizeof(d->features))
                                ? d->features
                                : NULL,
                .units = machine->cores,
                .in_flight = 1,
                .group_items = MAX_ITEMS,
                .local_bytes = local_bytes(machine),
                .on_caller = true,
                .host_memory = true,
            },
    };
    d->topology = topology;
    // With the local memory it fills three quarters of the second level.
    d->saved_bytes = d->device.can.local_bytes / 2;
    if (params) {
        d->print = params->print;
        d->guard = params->guard;
    }
    if (params && params->units > 0) {
        hd_status status = make_units(d, params, error);
        if (status != HD_OK) {
            cpu_close(&d->device);
            return status;
        }
    }
    *device = &d->device;
    return HD_OK;
}

// With guard the buffer ends where its last page does, so that an access past
// it faults at once; it then begins anywhere in its first page, which is how
// cpu_free() finds the mapping again.
static hd_status cpu_alloc(struct hdi_device *device, uint64_t size,
                           void **memory)
{
    const struct hdi_cpu_device *d = (const struct hdi_cpu_device *)device;
    // Shared memory seldom gets huge pages.
    char *mapped = size <= VIEW_TO ? hdi_map_shared(size) : NULL;
    if (!mapped)
        mapped = hdi_map(size);
    if (!mapped)
        return HD_ENOMEM;
    // Only a hint: streaming kernels miss the TLB less.
    if (size >= HUGE_FROM)
        madvise(mapped, size, MADV_HUGEPAGE);
    *memory = d->guard ? mapped + (hdi_round_up(size, hdi_page_size()) - size)
                       : mapped;
    return HD_OK;
}

static void cpu_free(struct hdi_device *device, void *memory, uint64_t size)
{
    uintptr_t into_page = (uintptr_t)memory % hdi_page_size();
    (void)device;
    hdi_unmap((char *)memory - into_page, size);
}

static hd_status cpu_copy(struct hdi_device *device, void *to, const void *from,
                          uint64_t size)
{
    (void)device;
    memcpy(to, from, size);
    return HD_OK;
}

// Small buffers only: these are shared memory (cpu_alloc()), of which there can
// be a second mapping.
static void *cpu_view(struct hdi_device *device, void *memory, uint64_t size)
{
    uintptr_t into_page = (uintptr_t)memory % hdi_page_size();
    (void)device;
    char *view =
        size <= VIEW_TO ? hdi_map_view((char *)memory - into_page, size) : NULL;
    return view ? view + into_page : NULL;
}

static void cpu_seal(struct hdi_device *device, void *memory, uint64_t size,
                     bool sealed)
{
    uintptr_t into_page = (uintptr_t)memory % hdi_page_size();
    (void)device;
    mprotect((char *)memory - into_page,
             hdi_round_up(size + into_page, hdi_page_size()),
             sealed ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void cpu_prepare(struct hdi_device *device)
{
    (void)device;
    hdi_signals_check();
}

const struct hdi_backend hdi_backend_cpu = {
    .name = "cpu",
    .kind = "cpu",
    .in_all = true,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .view = cpu_view,
    .end_view = cpu_free,
    .seal = cpu_seal,
    .load = hdi_cpu_load,
    .unload = hdi_cpu_unload,
    .find = hdi_cpu_find,
    .unit_open = hdi_cpu_unit_open,
    .unit_close = hdi_cpu_unit_close,
    .submit = hdi_cpu_submit,
    .submitted = hdi_cpu_submitted,
    .done = hdi_cpu_done,
    .status = hdi_cpu_status,
    .explain = hdi_cpu_explain,
    .fault = hdi_cpu_fault,
    .interrupt = hdi_cpu_interrupt,
    .prepare = cpu_prepare,
};
