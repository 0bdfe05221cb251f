#include "launch/memory/plan.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "launch/memory/image.h"
#include "launch/memory/local_size.h"

enum {
    LOCAL_ALIGNMENT = 128, // of the largest type, double16 [bytes]
    // Work-items of a group when nobody says: enough to fill vectors and to
    // make the cost of a group small, few enough for what they save at
    // barriers to stay in the first-level cache.
    GROUP_ITEMS = 256,
    SAVED_BYTES = 32 * 1024
};

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

uint64_t hdi_plan_local(const struct hd_kernel *kernel,
                        const struct hd_arg *args, unsigned arg_count,
                        uint64_t *offsets)
{
    uint64_t used = kernel->info.local_bytes;

    for (unsigned i = 0; i < arg_count; i++) {
        if (args[i].is != HD_IS_LOCAL)
            continue;
        used = hdi_round_up(used, LOCAL_ALIGNMENT);
        if (offsets)
            offsets[i] = used;
        if (args[i].size > INT64_MAX - used)
            return UINT64_MAX;
        used += args[i].size;
    }
    return used;
}

// Checked kernels tell of writes to constants themselves, and of overlaps,
// which they see by the addresses.
char *hdi_plan_address(const struct hd_kernel *kernel, unsigned index,
                       const struct hd_buffer *buffer)
{
    return kernel->args[index].shown.kind == HD_ARG_CONSTANT &&
                   kernel->info.form != HD_FORM_CHECKED
               ? hdi_buffer_view((struct hd_buffer *)buffer)
               : buffer->address;
}

void hdi_plan_pack(const struct hd_kernel *kernel, const struct hd_arg *args,
                   unsigned arg_count, const uint64_t *local_offsets,
                   unsigned char *packed)
{
    for (unsigned i = 0; i < arg_count; i++) {
        unsigned char *to = packed + kernel->args[i].offset;
        uint64_t word = 0;

        switch (args[i].is) {
        case HD_IS_VALUE:
            memcpy(to, args[i].value, args[i].size);
            continue;
        case HD_IS_BUFFER:
            if (args[i].buffer)
                word = (uint64_t)(uintptr_t)hdi_plan_address(kernel, i,
                                                             args[i].buffer) +
                       args[i].offset;
            break;
        case HD_IS_LOCAL:
            word = local_offsets[i];
            break;
        case HD_IS_IMAGE:
            word = (uint64_t)(uintptr_t)&args[i].image->shown;
            break;
        case HD_IS_SAMPLER:
            memcpy(to, &args[i].sampler, sizeof(args[i].sampler));
            continue;
        }
        memcpy(to, &word, sizeof(word));
    }
}
