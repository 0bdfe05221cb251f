#include "icd/device/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/log.h"
#include "icd/device/devices.h"
#include "runtime/runtime.h"

// By kind and not by name: which backends there are is the registry's business.
// One that is not in "all" is for tests, and is no device of the platform.
static bool is_gpu(const struct hdi_backend *backend)
{
    return backend->in_all && strcmp(backend->kind, "gpu") == 0;
}

// NVIDIA's name and PCI number as the vendor: programs choose by it. The first
// words of the description are its name, whose hash is the UUID: equal in every
// process, but also for two equal GPUs of one machine. Half of its memory, in
// whole MiB, is the largest buffer: a second one beside it, and what the
// runtime needs, are to have room.
static void tell(const struct hdi_capabilities *can, struct hdi_cl_about *about)
{
    *about = (struct hdi_cl_about){
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "NVIDIA Corporation",
        .vendor_id = 0x10de,
        .units = can->cores,
        .clock = can->clock,
        .group_items = can->group_items,
        .sizes = {can->group_items, can->group_items, 64},
        .sub_group = can->sub_group,
        .memory = can->memory_bytes,
        .largest = can->memory_bytes / 2 & ~((1ull << 20) - 1),
        .local = can->local_bytes,
        .cache = can->cache_bytes,
        .line = 128,
        .printed = 1 << 20,
        .is_local_own = true,
        .corrects = can->corrects};
    snprintf(about->name, sizeof(about->name), "%.*s",
             (int)strcspn(can->description, ","), can->description);
    hdi_cl_hash(about->name, about->uuid);
}

// The first that opens. That none does is no error: most machines have none, so
// the reason goes to the debugging log alone.
bool hdi_cl_gpu_look(const struct hdi_topology *topology,
                     struct hdi_cl_about *about)
{
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);
    struct hdi_device *device;
    struct hd_error error;

    for (size_t i = 0; i < count; i++) {
        if (!is_gpu(backends[i]))
            continue;
        if (backends[i]->open(topology, 0, NULL, &device, &error) != HD_OK) {
            hdi_debug("%s", error.text);
            continue;
        }
        tell(&device->can, about);
        backends[i]->close(device);
        return true;
    }
    return false;
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
