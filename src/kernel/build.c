#include "kernel/build.h"

#include <stdlib.h>

static void clear_kernel(struct hdi_build_kernel *kernel)
{
    for (uint32_t i = 0; kernel->args && i < kernel->arg_count; i++) {
        free(kernel->args[i].name);
        free(kernel->args[i].type);
    }
    free(kernel->args);
    free(kernel->name);
    free(kernel->file);
    free(kernel->explanation);
    free(kernel->hinted_type);
    hdi_footprint_clear(&kernel->footprint);
}

void hdi_build_clear(struct hdi_build *build)
{
    for (uint32_t i = 0; build->kernels && i < build->kernel_count; i++)
        clear_kernel(&build->kernels[i]);
    free(build->kernels);
    for (uint32_t i = 0; build->files && i < build->file_count; i++)
        free(build->files[i]);
    free(build->files);
    for (uint32_t i = 0; build->joined && i < build->joined_count; i++)
        hdi_build_clear(&build->joined[i]);
    free(build->joined);
    if (build->checked)
        hdi_build_clear(build->checked);
    free(build->checked);
    free(build->image);
    free(build->bitcode);
    free(build->target);
    free(build->cpu);
    free(build->features);
    free(build->log);
    *build = (struct hdi_build){0};
}
