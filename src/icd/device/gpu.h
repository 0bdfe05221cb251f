// The GPU as a device of the platform.
//
// hdi_cl_gpu_look() runs once, within the first look at the machine (device.c),
// and opens the device for a moment; the runtime opens it for good when a
// command needs it. All that is told between is from that first look.
#ifndef HDI_ICD_GPU_H
#define HDI_ICD_GPU_H

#include "icd/device/devices.h"

struct hdi_topology;

// Look whether there is one. Before what follows, once.
void hdi_cl_gpu_look(const struct hdi_topology *topology);

// What it can, its texts aside; NULL: there is none.
//
// Static; constant after the look.
const struct hdi_capabilities *hdi_cl_gpu(void);

// Buffer that one may ask for [bytes].
uint64_t hdi_cl_gpu_largest(void);

// Whether it still runs something.
//
// False after it was lost, by a fault of the hardware or a kernel that hung:
// nothing brings it back in this process.
bool hdi_cl_gpu_runs(void);

// After which a kernel there is taken to hang [ns]; 0: never.
uint64_t hdi_cl_gpu_timeout(void);

// As clGetDeviceInfo(); `answered` is false where the answer is that of the
// processor.
//
// It never fails for what it does not know: `answered` says so.
cl_int hdi_cl_gpu_info(cl_device_info what, size_t size, void *value,
                       size_t *size_ret, bool *answered);

#endif
