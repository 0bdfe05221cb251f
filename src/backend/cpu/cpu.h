// The cpu backend: one device is all cores of the topology. A unit runs its
// chunks on the thread that submits them, or, where the device was opened with
// units, is a team of threads behind a mailbox.
#ifndef HDI_BACKEND_CPU_CPU_H
#define HDI_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "backend/cpu/fault/shelter.h"
#include "backend/mailbox.h"

struct hdi_mailbox_region;

// Read only once it is open. `topology` is the runtime's and outlives it.
struct hdi_cpu_device {
    struct hdi_device device;
    char description[192], cpu[160], features[1024];
    const struct hdi_topology *topology;
    struct hdi_print_sink print;
    bool guard;
    uint64_t saved_bytes; // what a core has for values that live across
                          // barriers, until a kernel needs more [bytes]
    // Opened with units:
    struct hdi_mailbox_region *region; // NULL without
    uint32_t *modules;
    unsigned unit_cores;
    uint64_t timeout; // [ns]; 0: none
    enum hdi_mailbox_mode mode;
};

// What kind of processor this is, such that equal strings run equal code.
// False: no memory.
bool hdi_cpu_identify(char *text, size_t size);
const char *hdi_cpu_target(void); // LLVM triple

// Its instruction sets, as in hdi_capabilities. False: they are not told here.
bool hdi_cpu_features(char *text, size_t size);

// One kernel: the function hdk_NAME.
struct hdi_entry {
    void (*run)(const struct hdi_frame *frame);
    const struct hdi_code *code; // it belongs to
    struct hdi_code_range range; // of all of it
};

hd_status hdi_cpu_load(struct hdi_device *device, const void *image,
                       size_t size, struct hdi_code **code,
                       struct hd_error *error);
void hdi_cpu_unload(struct hdi_code *code);
const struct hdi_entry *hdi_cpu_find(struct hdi_code *code, const char *kernel);

// What the code tells of a fault at `pc`, if anything: the source line, and
// whether the address is a constant's. `code` may be NULL.
void hdi_cpu_explain_fault(const struct hdi_code *code, uintptr_t pc,
                           struct hdi_fault *fault);

// The core that core `rank` of unit `index` is pinned to, from the far end, so
// that workers have the near one; UINT_MAX: none, there are too few.
unsigned hdi_cpu_unit_core(const struct hdi_cpu_device *device, unsigned units,
                           unsigned index, unsigned rank);

hd_status hdi_cpu_unit_open(struct hdi_device *device, unsigned index,
                            struct hdi_unit **unit);
void hdi_cpu_unit_close(struct hdi_unit *unit);
bool hdi_cpu_submit(struct hdi_unit *unit, const struct hdi_chunk *chunk);
uint64_t hdi_cpu_submitted(const struct hdi_unit *unit);
uint64_t hdi_cpu_done(struct hdi_unit *unit);
hd_status hdi_cpu_status(const struct hdi_unit *unit, uint64_t chunk);
void hdi_cpu_explain(const struct hdi_unit *unit, uint64_t chunk, char *text,
                     size_t size);
bool hdi_cpu_fault(const struct hdi_unit *unit, uint64_t chunk,
                   struct hdi_fault *fault);
void hdi_cpu_interrupt(struct hdi_unit *unit);

#endif
