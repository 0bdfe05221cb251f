// What a launch must fulfil before anything runs.
#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "launch/args/bound.h"
#include "launch/args/plan.h"
#include "launch/launch.h"
#include "launch/memory/image.h"
#include "steal/worker.h"

enum {
    // Work-items that are there at once: each has a stack, and the system gives
    // a process two times as many mappings.
    MAX_RESIDENT = 16384,
    MAX_RESIDENT_BYTES = 1 << 30,
    MEMORY_ALIGNMENT = 128 // of what each group has [bytes]
};

// What a kernel's argument of each kind takes.
static const enum hd_arg_is taken[] = {
    [HD_ARG_VALUE] = HD_IS_VALUE,     [HD_ARG_GLOBAL] = HD_IS_BUFFER,
    [HD_ARG_CONSTANT] = HD_IS_BUFFER, [HD_ARG_LOCAL] = HD_IS_LOCAL,
    [HD_ARG_IMAGE] = HD_IS_IMAGE,     [HD_ARG_SAMPLER] = HD_IS_SAMPLER};

static const char *name_of(enum hd_arg_is is)
{
    switch (is) {
    case HD_IS_VALUE:
        return "a value";
    case HD_IS_BUFFER:
        return "a buffer";
    case HD_IS_LOCAL:
        return "local memory";
    case HD_IS_IMAGE:
        return "an image";
    case HD_IS_SAMPLER:
        return "a sampler";
    }
    return "a kind of its own";
}

// No buffer is the null pointer, which kernels may test for.
static hd_status check_buffer(const struct hdi_launcher *launcher,
                              const struct hd_arg *arg, const char *kernel,
                              const char *name, struct hd_error *error)
{
    if (!arg->buffer)
        return HD_OK;
    // Those of a pool are one runtime's.
    if (arg->buffer->launcher != launcher &&
        arg->buffer->launcher->pool != launcher->pool)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': the buffer for argument '%s' belongs to "
                        "another runtime",
                        kernel, name);
    if (arg->offset >= arg->buffer->size)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument '%s' starts at byte %" PRIu64
                        " of a buffer of %" PRIu64,
                        kernel, name, arg->offset, arg->buffer->size);
    return HD_OK;
}

static hd_status check_value(const struct hd_kernel *kernel, unsigned index,
                             const struct hd_arg *arg, struct hd_error *error)
{
    const struct hd_kernel_arg *wanted = &kernel->args[index].shown;

    if (arg->size != wanted->size)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument %u, '%s' of type %s, has %u "
                        "bytes, not %" PRIu64,
                        kernel->info.name, index, wanted->name, wanted->type,
                        wanted->size, arg->size);
    if (!arg->value)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument %u, '%s' of type %s, is given "
                        "the null pointer for its value",
                        kernel->info.name, index, wanted->name, wanted->type);
    return HD_OK;
}

static hd_status check_arg(const struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel, unsigned index,
                           const struct hd_arg *arg, bool later,
                           struct hd_error *error)
{
    const struct hd_kernel_arg *wanted = &kernel->args[index].shown;
    const char *name = kernel->info.name;

    if (arg->is != taken[wanted->kind])
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument %u, '%s' of type %s, takes %s, "
                        "not %s",
                        name, index, wanted->name, wanted->type,
                        name_of(taken[wanted->kind]), name_of(arg->is));
    switch (arg->is) {
    case HD_IS_VALUE:
        return check_value(kernel, index, arg, error);
    case HD_IS_BUFFER:
        return check_buffer(launcher, arg, name, wanted->name, error);
    case HD_IS_LOCAL:
        if (arg->size == 0)
            return hdi_fail(error, HD_EINVAL,
                            "kernel '%s': argument '%s' has 0 bytes of local "
                            "memory",
                            name, wanted->name);
        return HD_OK;
    case HD_IS_IMAGE:
        if (later && !arg->image)
            return HD_OK;
        return hdi_image_check(launcher, arg->image, name, wanted, error);
    case HD_IS_SAMPLER:
        return hdi_sampler_check(arg->sampler, name, wanted, error);
    }
    return HD_OK;
}

static hd_status check_range(const struct hd_kernel *kernel,
                             const struct hd_range *range,
                             struct hd_error *error)
{
    const char *name = kernel->info.name;

    if (range->dims < 1 || range->dims > 3)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': a range has 1 to 3 dimensions, not %u",
                        name, range->dims);
    unsigned given = 0;
    for (unsigned i = 0; i < range->dims; i++) {
        given += range->local[i] > 0;
        if (range->offset[i] > UINT64_MAX - range->global[i])
            return hdi_fail(error, HD_ELIMIT,
                            "kernel '%s': global ids of dimension %u exceed 64 "
                            "bits",
                            name, i);
    }
    if (given != 0 && given != range->dims)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': a work-group size is given for all "
                        "dimensions or for none",
                        name);
    return HD_OK;
}

// Inside a work-group the compiler counts ids up from the first one in 32 bits,
// as kernels do that keep them in an int: a group may not reach across a
// multiple of 2^31.
static hd_status check_ids(const struct hd_kernel *kernel,
                           const struct hdi_frame *frame,
                           struct hd_error *error)
{
    const uint64_t step = 1ull << 31;

    for (unsigned i = 0; i < 3; i++) {
        uint64_t offset = frame->offset[i];
        uint64_t last = offset + frame->global[i] - 1;
        uint64_t first = offset / step + 1;
        // When two multiples lie between groups, all of them do.
        for (uint64_t m = first; m <= last / step && m < first + 2; m++)
            if ((m * step - offset) % frame->local_size[i] != 0)
                return hdi_fail(error, HD_ELIMIT,
                                "kernel '%s': a work-group of %u in dimension "
                                "%u has global ids on both sides of %" PRIu64
                                "; choose a size and an offset that are powers "
                                "of two",
                                kernel->info.name, frame->local_size[i], i,
                                m * step);
    }
    return HD_OK;
}

static hd_status check_local_size(const struct hdi_launcher *launcher,
                                  const struct hd_kernel *kernel,
                                  const struct hdi_plan *plan,
                                  struct hd_error *error)
{
    const struct hd_kernel_info *info = &kernel->info;
    const uint32_t *local = plan->frame.local_size;
    const uint32_t *wanted = info->required_local;

    if (wanted[0] > 0 && (local[0] != wanted[0] || local[1] != wanted[1] ||
                          local[2] != wanted[2]))
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' requires work-groups of %u x %u x %u, not "
                        "%u x %u x %u",
                        info->name, wanted[0], wanted[1], wanted[2], local[0],
                        local[1], local[2]);

    uint64_t items;
    if (!hdi_multiply((uint64_t)local[0] * local[1], local[2], &items) ||
        items > launcher->device->can.group_items)
        return hdi_fail(error, HD_ELIMIT,
                        "kernel '%s': a work-group of %u x %u x %u has more "
                        "than the %u work-items that %s allows",
                        info->name, local[0], local[1], local[2],
                        launcher->device->can.group_items,
                        launcher->device->can.description);
    return HD_OK;
}

// Where work-groups wait for each other, all are there at once.
static hd_status make_resident(const struct hd_kernel *kernel,
                               struct hdi_plan *plan, struct hd_error *error)
{
    uint64_t items, local = hdi_round_up(plan->local_bytes, MEMORY_ALIGNMENT);
    uint64_t saved = hdi_round_up(plan->saved_bytes, MEMORY_ALIGNMENT);
    const char *name = kernel->info.name;

    if (!hdi_multiply(plan->groups, plan->group_items, &items) ||
        items > MAX_RESIDENT)
        return hdi_fail(error, HD_ELIMIT,
                        "kernel '%s' calls hd_grid_barrier(), so its "
                        "work-groups are all there at once: %" PRIu64
                        " of %" PRIu64
                        " work-items, more than %d in all; give each more to "
                        "do",
                        name, plan->groups, plan->group_items, MAX_RESIDENT);
    if (!hdi_multiply(local, plan->groups, &plan->local_bytes) ||
        plan->local_bytes > MAX_RESIDENT_BYTES ||
        !hdi_multiply(saved, plan->groups, &plan->saved_bytes) ||
        plan->saved_bytes > MAX_RESIDENT_BYTES)
        return hdi_fail(error, HD_ELIMIT,
                        "kernel '%s' calls hd_grid_barrier(), so its "
                        "work-groups are all there at once: %" PRIu64
                        " with %" PRIu64
                        " bytes of local memory each, more than %d bytes in "
                        "all",
                        name, plan->groups, local, MAX_RESIDENT_BYTES);
    return HD_OK;
}

// `later`: images may be missing.
// The order matters: the kernel before what is read of it, arguments before the
// range, and sizes only of what has work-groups. Everything is refused before
// anything is allocated, so that a launch that fails has done nothing.
static hd_status check(const struct hdi_launcher *launcher,
                       const struct hdi_request *request, bool later,
                       struct hdi_plan *plan, struct hd_error *error)
{
    const struct hd_kernel *kernel = request->kernel;

    if (!kernel)
        return hdi_fail(error, HD_EINVAL,
                        "a launch needs a kernel: hd_program_find() gives NULL "
                        "for a name that is not in the program");
    HDI_TRY(hdi_pool_check(launcher->pool, error));
    if (hdi_kernel_device(kernel) != launcher->device)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' belongs to a program of another runtime: "
                        "create the program in the runtime that launches it",
                        kernel->info.name);
    if (!kernel->entry)
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' was built for other processors than this "
                        "one: build its program with this one among the names, "
                        "or without names",
                        kernel->info.name);
    if (request->arg_count != kernel->info.arg_count)
        return hdi_fail(
            error, HD_EINVAL, "kernel '%s' takes %u argument%s, not %u",
            kernel->info.name, kernel->info.arg_count,
            hdi_plural(kernel->info.arg_count, "s"), request->arg_count);
    for (unsigned i = 0; i < request->arg_count; i++)
        HDI_TRY(
            check_arg(launcher, kernel, i, &request->args[i], later, error));
    HDI_TRY(check_range(kernel, request->range, error));

    hdi_plan_shape(launcher, kernel, request->range, plan);
    if (plan->groups == 0)
        return HD_OK;
    HDI_TRY(check_local_size(launcher, kernel, plan, error));
    if (plan->groups == UINT64_MAX)
        return hdi_fail(error, HD_ELIMIT,
                        "kernel '%s': more than 2^32 work-groups in one "
                        "dimension, or 2^63 in all",
                        kernel->info.name);
    HDI_TRY(check_ids(kernel, &plan->frame, error));

    plan->local_bytes = hdi_bound_local(kernel, request->args);
    if (plan->local_bytes > launcher->device->can.local_bytes)
        return hdi_fail(error, HD_ELIMIT,
                        "kernel '%s': a work-group needs %" PRIu64
                        " bytes of local memory and %s has %" PRIu64,
                        kernel->info.name, plan->local_bytes,
                        launcher->device->can.description,
                        launcher->device->can.local_bytes);
    return kernel->info.form == HD_FORM_GRID
               ? make_resident(kernel, plan, error)
               : HD_OK;
}

hd_status hdi_plan_check(const struct hdi_launcher *launcher,
                         const struct hdi_request *request,
                         struct hdi_plan *plan, struct hd_error *error)
{
    return check(launcher, request, false, plan, error);
}

hd_status hdi_plan_check_early(const struct hdi_launcher *launcher,
                               const struct hdi_request *request,
                               struct hdi_plan *plan, struct hd_error *error)
{
    return check(launcher, request, true, plan, error);
}

hd_status hdi_launch_check(const struct hdi_launcher *launcher,
                           const struct hdi_request *request,
                           struct hd_error *error)
{
    struct hdi_plan plan;
    return hdi_plan_check(launcher, request, &plan, error);
}
