// The GPU: a device beside the processor, of the same runtime.
#ifndef HDI_ICD_DEVICE_GPU_H
#define HDI_ICD_DEVICE_GPU_H

#include "icd/device/about.h"

// Look whether there is one, and what it is like. Opens it for a moment; the
// runtime opens it for good when a command needs it.
bool hdi_cl_gpu_look(const struct hdi_topology *topology,
                     struct hdi_cl_about *about);

// Whether it still runs something.
//
// False after it was lost, by a fault of the hardware or a kernel that hung:
// nothing brings it back in this process.
bool hdi_cl_gpu_runs(void);

// After which a kernel there is taken to hang [ns]; 0: never.
uint64_t hdi_cl_gpu_timeout(void);

#endif
