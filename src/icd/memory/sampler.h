// Samplers.
#ifndef HDI_ICD_MEMORY_SAMPLER_H
#define HDI_ICD_MEMORY_SAMPLER_H

#include "icd/memory/contexts.h"

// Constant once made. `bits` are all that kernels need, so that a launch holds
// no sampler.
struct _cl_sampler {
    struct hdi_cl_object object;
    struct _cl_context *context;
    cl_bool normalized;
    cl_addressing_mode addressing;
    cl_filter_mode filter;
    uint32_t bits; // as HD_SAMPLER() takes them
    cl_sampler_properties *properties;
    unsigned property_count;
};

void hdi_cl_sampler_destroy(void *object);

#endif
