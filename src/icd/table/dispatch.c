// The table that the loader calls through, and the functions it finds by name.
#include <string.h>

#include "icd/command/commandbuffer.h"
#include "icd/memory/memory.h"
#include "icd/memory/sampler.h"
#include "icd/program/kernel.h"
#include "icd/queue/event.h"
#include "icd/queue/queues.h"
#include "icd/table/entries.h"

#define ENTRY(name) .name = name,

// By name and not by position: the table of newer headers is longer, and what
// is not set stays NULL.
const struct _cl_icd_dispatch hdi_cl_dispatch = {HDI_CL_ENTRIES(ENTRY)};

const struct hdi_cl_kind_of hdi_cl_kinds[HDI_CL_KINDS] = {
    [HDI_CL_PLATFORM] = {sizeof(struct _cl_platform_id), NULL},
    [HDI_CL_DEVICE] = {sizeof(struct _cl_device_id), hdi_cl_device_destroy},
    [HDI_CL_CONTEXT] = {sizeof(struct _cl_context), hdi_cl_context_destroy},
    [HDI_CL_QUEUE] = {sizeof(struct _cl_command_queue), hdi_cl_queue_destroy},
    [HDI_CL_MEM] = {sizeof(struct _cl_mem), hdi_cl_mem_destroy},
    [HDI_CL_SAMPLER] = {sizeof(struct _cl_sampler), hdi_cl_sampler_destroy},
    [HDI_CL_PROGRAM] = {sizeof(struct _cl_program), hdi_cl_program_destroy},
    [HDI_CL_KERNEL] = {sizeof(struct _cl_kernel), hdi_cl_kernel_destroy},
    [HDI_CL_EVENT] = {sizeof(struct _cl_event), hdi_cl_event_destroy},
    [HDI_CL_COMMAND_BUFFER] = {sizeof(struct _cl_command_buffer_khr),
                               hdi_cl_command_buffer_destroy},
};

#undef ENTRY
#define ENTRY(name) {#name, (void *)(uintptr_t)name},

// Asked for by name and not in the table.
static const struct {
    const char *name;
    void *function;
} extensions[] = {HDI_CL_EXTENSIONS(ENTRY)};

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    for (size_t i = 0; name && i < sizeof(extensions) / sizeof(extensions[0]);
         i++)
        if (strcmp(extensions[i].name, name) == 0)
            return extensions[i].function;
    return NULL;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(
    cl_platform_id platform, const char *name)
{
    return hdi_cl_is(HDI_CL_PLATFORM, platform)
               ? clGetExtensionFunctionAddress(name)
               : NULL;
}
