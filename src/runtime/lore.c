// Paces of kernels (launch/measure/pace.h), kept with what passes took: a pace
// is the time of a million work-items, under the name of the device, the
// program and the kernel.
//
// A pace is a fraction of a nanosecond and feedback keeps whole ones, hence the
// million. It outlives the process, so that the first launch of the next one
// already goes where the kernel was fastest.
#include "runtime/runtime.h"

#include <string.h>

#include "kernel/program.h"

// Large enough that a pace keeps six digits behind the point, small enough that
// slow kernels do not overflow: 2^64 ns are five centuries.
enum {
    ITEMS = 1000000
};

// The same kernel of the same text on the same hardware, whatever the process
// or the device's number. False: it cannot be told from others.
static bool key_of(const struct hd_kernel *kernel, struct hdi_feedback_key *key)
{
    uint64_t content = hdi_program_content(kernel->program);

    *key = hdi_feedback_key(hdi_kernel_device(kernel)->can.description);
    hdi_feedback_mix(key, "pace", sizeof("pace"));
    hdi_feedback_mix(key, &content, sizeof(content));
    hdi_feedback_mix(key, kernel->info.name, strlen(kernel->info.name) + 1);
    return content != 0;
}

// [ns] of a work-item; 0: it never ran on that device.
static double recall(void *feedback, const struct hd_kernel *kernel)
{
    struct hdi_feedback_key key;
    struct hdi_experience known;

    return key_of(kernel, &key) && hdi_feedback_find(feedback, &key, &known)
               ? known.time / ITEMS
               : 0;
}

// One more than measured, since a time of 0 would mean "never".
static void note(void *feedback, const struct hd_kernel *kernel, double pace)
{
    const struct hdi_measure measure = {.time = (uint64_t)(pace * ITEMS) + 1};
    struct hdi_feedback_key key;

    if (key_of(kernel, &key))
        hdi_feedback_add(feedback, &key, &measure);
}

void hdi_runtime_remember(struct hd_runtime *runtime)
{
    if (!runtime->feedback)
        return;
    runtime->lore = (struct hdi_lore){
        .recall = recall, .note = note, .data = runtime->feedback};
    for (unsigned i = 0; i < runtime->device_count; i++)
        runtime->launchers[i]->lore = &runtime->lore;
}
