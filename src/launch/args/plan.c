#include "launch/args/plan.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "launch/args/local_size.h"

enum {
    // Work-items of a group when nobody says: enough to fill vectors and to
    // make the cost of a group small, few enough for what they save at
    // barriers to stay in the first-level cache.
    GROUP_ITEMS = 256,
    SAVED_BYTES = 32 * 1024
};

// Halved, not divided, so that groups stay multiples of vectors; 16 floats are
// the widest vector.
static uint32_t items_wanted(const struct hd_kernel *kernel,
                             const struct hdi_launcher *launcher)
{
    uint32_t items = GROUP_ITEMS;

    while (items > 16 &&
           (uint64_t)items * kernel->info.saved_bytes > SAVED_BYTES)
        items /= 2;
    return items < launcher->device->can.group_items
               ? items
               : launcher->device->can.group_items;
}

// A hint that the device cannot follow is no reason to refuse a launch.
static bool fits(const struct hdi_launcher *launcher, const uint32_t local[3])
{
    uint64_t items;
    return hdi_multiply((uint64_t)local[0] * local[1], local[2], &items) &&
           items <= launcher->device->can.group_items;
}

// What the kernel requires, what it hints at, then what suits.
static void choose_local_size(const struct hdi_launcher *launcher,
                              const struct hd_kernel *kernel,
                              const uint64_t global[3], uint32_t local[3])
{
    const uint32_t *required = kernel->info.required_local;
    const uint32_t *hinted = kernel->info.hinted_local;

    if (required[0] > 0)
        memcpy(local, required, 3 * sizeof(*local));
    else if (hinted[0] > 0 && fits(launcher, hinted))
        memcpy(local, hinted, 3 * sizeof(*local));
    else
        hdi_choose_local_size(global, items_wanted(kernel, launcher),
                              hd_pool_workers(launcher->pool), kernel->axis,
                              local);
}

// A range of no work-items is no error: it has no groups, and nothing runs.
void hdi_plan_shape(const struct hdi_launcher *launcher,
                    const struct hd_kernel *kernel,
                    const struct hd_range *range, struct hdi_plan *plan)
{
    struct hdi_frame *frame = &plan->frame;

    *plan = (struct hdi_plan){.frame.dims = range->dims, .groups = 1};
    for (unsigned i = 0; i < 3; i++) {
        bool used = i < range->dims;
        frame->global[i] = used ? range->global[i] : 1;
        frame->offset[i] = used ? range->offset[i] : 0;
        frame->local_size[i] = used ? range->local[i] : 1;
    }
    if (frame->global[0] == 0 || frame->global[1] == 0 ||
        frame->global[2] == 0) {
        plan->groups = 0;
        return;
    }
    if (frame->local_size[0] == 0)
        choose_local_size(launcher, kernel, frame->global, frame->local_size);

    plan->group_items = 1;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t local = frame->local_size[i];
        if (frame->global[i] == 1 && local == 1) { // as axes not used are
            frame->group_count[i] = 1;
            continue;
        }
        uint64_t count =
            frame->global[i] / local + (frame->global[i] % local != 0);
        if (count > UINT32_MAX || plan->groups == UINT64_MAX ||
            !hdi_multiply(plan->groups, count, &plan->groups) ||
            plan->groups > INT64_MAX)
            plan->groups = UINT64_MAX;
        frame->group_count[i] = (uint32_t)count;
        if (!hdi_multiply(plan->group_items, local, &plan->group_items))
            plan->group_items = UINT64_MAX; // refused by the check
    }
    if (!hdi_multiply(plan->group_items, kernel->info.saved_bytes,
                      &plan->saved_bytes))
        plan->saved_bytes = UINT64_MAX;
}
