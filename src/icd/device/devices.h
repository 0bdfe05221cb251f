// The platform and its devices: the processor, parts of it, and the GPU.
#ifndef HDI_ICD_DEVICE_DEVICES_H
#define HDI_ICD_DEVICE_DEVICES_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "icd/device/about.h"
#include "icd/object/object.h"

struct hd_runtime;
struct hdi_launcher;

// There is one; it is made when the loader first asks and stays until the
// process ends, in children of fork() too.
struct _cl_platform_id {
    struct hdi_cl_object object;
};

// Invariant: `runtime` is NULL until a command or a build needs it, then it
// stays. Devices of parts have runtimes of their own, with the parts' cores.
//
// `lock` guards the start of the runtime alone; `runtime` is read without it.
// All else is written before the handle is given out and constant after that.
struct _cl_device_id {
    struct hdi_cl_object object;
    struct _cl_device_id *parent; // of a part of the processor, else NULL
    unsigned side;                // HDI_CL_CPU, or HDI_CL_GPU
    struct hd_runtime *runtime;   // made when it is first needed; the GPU's is
                                  // that of the whole machine
    pthread_mutex_t lock;
    unsigned units; // workers
    // Of a part of the machine, else NULL: its cores, and how it was made.
    cpu_set_t *cores;
    cl_device_partition_property *partition;
    unsigned partition_size; // with the final 0
};

// The one platform, its processor and its GPU. NULL: no memory, or no GPU.
struct _cl_platform_id *hdi_cl_platform(void);
struct _cl_device_id *hdi_cl_root_device(void);
struct _cl_device_id *hdi_cl_gpu_device(void);

// What runs the device's commands. NULL: it cannot be started; said in the log.
struct hd_runtime *hdi_cl_runtime(struct _cl_device_id *device);

// What launches its kernels; NULL: it is not there any more.
struct hdi_launcher *hdi_cl_device_launcher(struct _cl_device_id *device);

// What one application may ask of images, samplers and arguments. They are what
// is told and what is checked; the core may take more.
enum {
    HDI_CL_IMAGE_MAX = 16384,   // width, height [texels]
    HDI_CL_IMAGE_3D_MAX = 2048, // width, height, depth [texels]
    HDI_CL_IMAGE_LAYERS = 2048,
    HDI_CL_SAMPLERS = 16,
    HDI_CL_IMAGES = 128,     // that a kernel takes
    HDI_CL_ARGUMENTS = 2048, // of a kernel [bytes]
    HDI_CL_ALIGN = 128,      // of buffers [bytes]
};

void hdi_cl_device_destroy(void *object);

// In the child of fork(): its workers are the parent's, as is a trace that is
// to be written. The child starts some of its own.
void hdi_cl_device_forget(struct _cl_device_id *device);

#endif
