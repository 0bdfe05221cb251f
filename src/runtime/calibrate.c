// What calibration has found, as a machine file for the simulator.
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "launch/measure/calibration.h"
#include "runtime/runtime.h"

// Machine files count local memory in blocks, of which a module has this many.
enum {
    BLOCKS = 1024 // of local memory, as the broker counts it
};

// Lua, as the simulator reads it (docs/dispatch.md): one module per last-level
// cache, with a wave per core. Weights are whole numbers, costs have six
// digits, more than the measurement is worth.
static void print(struct hdi_text *text, const struct hdi_machine *machine,
                  const struct hdi_calibration *calibration)
{
    unsigned waves = machine->cores / machine->cache_groups;
    uint32_t slot, local;

    waves = waves > 0 ? waves : 1;
    hdi_calibration_weights(calibration, &slot, &local);
    hdi_text_print(
        text,
        "-- %s\n-- Costs were measured as %s.\n-- Instructions cost %s; "
        "energies are in proportion.\n",
        machine->processor[0] ? machine->processor : "This machine",
        calibration->energy ? "energy"
                            : "time: no energy counter can be read and moves",
        calibration->energy ? "picojoules" : "picoseconds");
    hdi_text_print(text,
                   "name = \"this-machine\"\nmodules = %u\nunits = 1\n"
                   "waves = %u\n"
                   "resource { \"slots\", %u, \"unit\", \"counted\", "
                   "energy = %u }\n"
                   "resource { \"local\", %d, \"module\", \"counted\", "
                   "energy = %u }\n",
                   machine->cache_groups, waves, waves, slot, BLOCKS, local);
    for (unsigned w = 0; w < HDI_WORK_SLOT; w++)
        hdi_text_print(text, "instruction { \"%s\", %.6g }\n",
                       hdi_work_name((enum hdi_calibrated_work)w),
                       calibration->cost[w]);
}

// `again`: what is kept does not count. That it cannot be kept is a warning:
// the result is there all the same.
static hd_status find_or_measure(const struct hd_runtime *runtime, bool again,
                                 struct hdi_calibration *calibration,
                                 struct hd_error *error)
{
    const struct hdi_machine *machine = hdi_topology_machine(runtime->topology);
    struct hdi_cache *cache = runtime->cache;

    if (!again && cache && hdi_calibration_find(cache, machine, calibration))
        return HD_OK;
    HDI_TRY(hdi_calibration_measure(runtime->topology, calibration, error));
    if (!cache)
        hdi_warn("what was measured is not kept: there is no cache");
    else if (!hdi_calibration_keep(cache, machine, calibration))
        hdi_warn("what was measured cannot be kept in %s",
                 hdi_cache_folder(cache));
    return HD_OK;
}

// The text is made first and written in one go, so that a file is not cut in
// the middle where memory runs out.
hd_status hd_runtime_calibrate(const struct hd_runtime *runtime, FILE *file,
                               bool again, struct hd_error *error)
{
    struct hdi_calibration calibration;
    struct hdi_text text = {0};

    HDI_TRY(find_or_measure(runtime, again, &calibration, error));
    print(&text, hdi_topology_machine(runtime->topology), &calibration);
    hd_status status = HD_OK;
    if (text.failed)
        status = hdi_fail(error, HD_ENOMEM, "no memory for a calibration");
    else if (fwrite(text.data, 1, text.size, file) != text.size ||
             fflush(file) != 0)
        status =
            hdi_fail(error, HD_EIO, "the calibration cannot be written: %s",
                     strerror(errno));
    hdi_text_free(&text);
    return status;
}
