// The cores of the machine, and of devices that are parts of it.
//
// A part is some of the processor's cores with a runtime of its own, made when
// it is first used. Its kernels run there alone; its memory is that of the
// whole machine.
#ifndef HDI_ICD_PARTITION_H
#define HDI_ICD_PARTITION_H

#include "base/topology.h"
#include "icd/object/api.h"

// By what the device's cores are apart.
cl_device_affinity_domain hdi_cl_device_domains(
    const struct _cl_device_id *device);

#endif
