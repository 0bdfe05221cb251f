#include "backend/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/topology.h"

extern const struct hdi_backend hdi_backend_cpu;

enum {
    MOST_ITEMS = 8192,      // of one work-group
    MOST_LOCAL = 4 << 20,   // local memory of one work-group [bytes]
    LEAST_LOCAL = 64 << 10, // OpenCL asks for half of it [bytes]
    HUGE_FROM = 4 << 20     // huge pages for buffers from this size [bytes]
};

struct cpu_device {
    struct hdi_device device;
    char description[192], cpu[160];
};

// Local memory stands for a cache of the core: what fits half of its second
// level stays fast.
static uint64_t local_bytes(const struct hdi_machine *machine)
{
    uint64_t bytes = machine->l2_bytes / 2;
    if (bytes < LEAST_LOCAL)
        return LEAST_LOCAL;
    return bytes < MOST_LOCAL ? bytes : MOST_LOCAL;
}

static hd_status cpu_open(const struct hdi_topology *topology, unsigned index,
                          struct hdi_device **device, struct hd_error *error)
{
    const struct hdi_machine *machine = hdi_topology_machine(topology);
    if (index > 0)
        return hdi_fail(error, HD_ENODEV, "there is one cpu device, not %u",
                        index + 1);

    struct cpu_device *d = calloc(1, sizeof(*d));
    if (!d)
        return hdi_fail(error, HD_ENOMEM, "no memory for the cpu device");
    if (!hdi_cpu_identify(d->cpu, sizeof(d->cpu))) {
        free(d);
        return hdi_fail(error, HD_ENODEV, "the processor cannot be named");
    }
    snprintf(d->description, sizeof(d->description), "%s, %u core%s",
             *machine->processor ? machine->processor : "processor",
             machine->cores, machine->cores == 1 ? "" : "s");
    d->device = (struct hdi_device){
        .backend = &hdi_backend_cpu,
        .can =
            {
                .description = d->description,
                .target = hdi_cpu_target(),
                .cpu = d->cpu,
                .units = machine->cores,
                .in_flight = 1,
                .group_items = MOST_ITEMS,
                .local_bytes = local_bytes(machine),
                .on_caller = true,
                .host_memory = true,
            },
    };
    *device = &d->device;
    return HD_OK;
}

static void cpu_close(struct hdi_device *device)
{
    free(device);
}

static hd_status cpu_alloc(struct hdi_device *device, uint64_t size,
                           void **memory)
{
    (void)device;
    *memory = hdi_map(size);
    if (!*memory)
        return HD_ENOMEM;
    // Only a hint: streaming kernels miss the TLB less.
    if (size >= HUGE_FROM)
        madvise(*memory, size, MADV_HUGEPAGE);
    return HD_OK;
}

static void cpu_free(struct hdi_device *device, void *memory, uint64_t size)
{
    (void)device;
    hdi_unmap(memory, size);
}

static hd_status cpu_copy(struct hdi_device *device, void *to, const void *from,
                          uint64_t size)
{
    (void)device;
    memcpy(to, from, size);
    return HD_OK;
}

const struct hdi_backend hdi_backend_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .load = hdi_cpu_load,
    .unload = hdi_cpu_unload,
    .find = hdi_cpu_find,
    .unit_open = hdi_cpu_unit_open,
    .unit_close = hdi_cpu_unit_close,
    .submit = hdi_cpu_submit,
    .submitted = hdi_cpu_submitted,
    .done = hdi_cpu_done,
    .status = hdi_cpu_status,
};
