// What a thread needs to run kernels: memory for its groups, and the shelter it
// runs them in. A core belongs to one thread at a time.
#ifndef HDI_BACKEND_CPU_CORE_H
#define HDI_BACKEND_CPU_CORE_H

#include "backend/cpu/check/checker.h"
#include "backend/cpu/check/screener.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/fault/shelter.h"
#include "backend/cpu/fiber/fiber.h"
#include "backend/cpu/unit/block.h"

// Of one run at a time. `trapped`, `fault` and `findings` are of the latest.
struct hdi_cpu_core {
    struct hdi_cpu_block local, saved;
    struct hdi_fibers fibers; // with the text of what failed in them
    struct hdi_shelter shelter;
    bool trapped;                // the latest run ended in a signal:
    struct hdi_fault fault;      // this one
    struct hdi_checker *checker; // NULL: nothing has been checked yet
    struct hdi_screener screener;
    const char *findings; // of the latest run, when it was HD_ECHECK
};

// `core` is zeroed. It gets the memory that fits its caches; what a kernel
// needs beyond that is there when it runs.
void hdi_cpu_core_init(struct hdi_cpu_core *core,
                       const struct hdi_cpu_device *device);
void hdi_cpu_core_free(struct hdi_cpu_core *core);

// Run a chunk, whose memory and services are filled in here. A run that was
// stopped is HD_OK: who stopped it knows.
//
// HD_ENOMEM, HD_EFAULT, HD_ECHECK.
hd_status hdi_cpu_run(struct hdi_cpu_core *core, const struct hdi_chunk *chunk);

// The same with a frame of the caller's, the chunk's or a copy of it, that is
// filled in instead: a copy of words that were stored one by one just before
// waits for those stores.
hd_status hdi_cpu_run_frame(struct hdi_cpu_core *core,
                            const struct hdi_chunk *chunk,
                            struct hdi_frame *frame);

#endif
