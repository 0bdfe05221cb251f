// What a runtime is made of; one struct, from the top layer down.
#ifndef HDI_RUNTIME_RUNTIME_H
#define HDI_RUNTIME_RUNTIME_H

#include "base/topology.h"
#include "graph/arena/shelf.h"
#include "graph/model/feedback.h"
#include "graph/model/graph.h"
#include "heddle/runtime.h"
#include "launch/launch.h"
#include "launch/measure/pace.h"
#include "launch/memory/places.h"

// Invariant: device_count is 1 or more, `device` and `launcher` are the first
// of the arrays, and nothing but `cancel_builds`, and the objects' own state,
// changes between hd_runtime_create() and hd_runtime_destroy(): any thread may
// read it.
//
// Owned by who called hd_runtime_create(). Devices and launchers have the same
// numbers; number 0 is where buffers are made. The order of starting and
// stopping is in runtime.c.
struct hd_runtime {
    struct hdi_topology *topology;
    struct hdi_trace *trace; // NULL: off
    struct hd_pool *pool;
    struct hdi_device *device;     // the first
    struct hdi_cache *cache;       // NULL: none
    struct hdi_archive archive;    // of it, for devices
    struct hdi_feedback *feedback; // what passes took
    struct hdi_shelf shelf;        // graphs of programs that come again
    struct hdi_lore lore;          // the same of kernels on several devices
    struct hdi_launcher *launcher; // of the first
    // All of them, by number.
    unsigned device_count;
    struct hdi_device *devices[HDI_PLACES];
    struct hdi_launcher *launchers[HDI_PLACES];
    char *build_options; // of every program; NULL: none
    // Set once, by anybody, a signal handler too; read by builds. Orders
    // nothing.
    atomic_bool cancel_builds;
};

// The device for a launch, as hd_start.devices says, and the kernel there;
// NULL: there are several. A kernel that is NULL stays that.
//
// `devices` has a bit per device, 0: those that launches find by themselves.
// HD_ENODEV: the kernel was not built for the one that is left; `*kernel` is as
// it was.
hd_status hdi_runtime_choose(const struct hd_runtime *runtime, uint64_t devices,
                             const struct hd_kernel **kernel,
                             struct hdi_launcher **launcher,
                             struct hd_error *error);

// For programs of one device alone.
//
// `device` is below device_count. For the OpenCL driver, which builds each
// program for the devices that it was asked for; the context points into the
// runtime.
struct hdi_program_context hdi_runtime_programs(
    const struct hd_runtime *runtime, unsigned device);

// Keep paces of kernels with what passes took, in a runtime of several devices.
//
// Once, when launchers and feedback are there, and before workers start.
void hdi_runtime_remember(struct hd_runtime *runtime);

// Open the devices that the parameters name and a launcher for each; the first
// is the runtime's own. No name means the cores. Close them all.
//
// Errors: HD_EINVAL (there is none of that name), HD_ENODEV, HD_ELIMIT, those
// of
//         the device
hd_status hdi_devices_open(struct hd_runtime *runtime,
                           const struct hd_runtime_params *params,
                           struct hd_error *error);
void hdi_devices_close(struct hd_runtime *runtime);

#endif
