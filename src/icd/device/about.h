// What the devices of this machine are like: looked at once, when something is
// first asked. Parts of the processor are like the whole of it.
#ifndef HDI_ICD_DEVICE_ABOUT_H
#define HDI_ICD_DEVICE_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "icd/object/api.h"

struct hdi_topology;

// Which of the runtime's devices; the code of a program is for one of them.
enum {
    HDI_CL_CPU,
    HDI_CL_GPU,
    HDI_CL_SIDES
};

// What is told, and what is checked, where it is not the same for all devices.
// Static; constant after the look.
struct hdi_cl_about {
    cl_device_type type;
    char name[160];
    const char *vendor;
    cl_uint vendor_id;
    cl_uchar uuid[CL_UUID_SIZE_KHR];
    unsigned units;     // compute units, of the whole
    unsigned clock;     // [MHz]; 0: not told
    size_t group_items; // work-items of a group, most
    size_t sizes[3];    // the same along each axis
    size_t sub_group;   // its work-items
    unsigned vector;    // width of registers; 0: of one element [bytes]
    uint64_t memory;    // [bytes], as all below
    uint64_t largest;   // buffer
    uint64_t local;     // memory of a work-group, most
    uint64_t cache, line;
    uint64_t printed;  // of a launch, most
    bool is_local_own; // local memory is no part of the global one
    bool corrects;     // errors of its memory
    bool shares;       // its memory is the process's
    bool multiplies;   // dot products are faster than plain code
};

// NULL: there is no such device.
const struct hdi_cl_about *hdi_cl_about(unsigned side);

// What programs can be made of: sources, SPIR-V.
bool hdi_cl_compiles(void);
bool hdi_cl_takes_il(void);

// The cores of the machine. NULL where they cannot be read; `*cores`: how many
// there are.
const struct hdi_topology *hdi_cl_topology(unsigned *cores);

// For UUIDs: a name that is the same whenever it is asked, and no secret.
void hdi_cl_hash(const char *text, cl_uchar uuid[CL_UUID_SIZE_KHR]);

#endif
