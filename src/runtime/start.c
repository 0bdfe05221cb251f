// The public face of what is started and not waited for. All of it ends up in
// one of three places: a launch on one device, a joint launch on several, and a
// copy or fill, which belongs to the pool and to no device.
#include "launch/start/start.h"
#include "launch/start/joint.h"

#include "base/error.h"
#include "field/cluster/cluster.h"
#include "field/forall/kernel.h"
#include "runtime/runtime.h"

// Arguments are captured: the caller may change its arrays when this returns.
// On one device the launch is that device's; on several the parts are made by
// the first one's launcher.
hd_status hd_launch_start(struct hd_runtime *runtime,
                          const struct hd_start *start,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          hd_event *event, struct hd_error *error)
{
    struct hdi_launcher *launcher;
    struct hd_range tasks;

    if (start && start->tasks && kernel && range) {
        HDI_TRY(hdi_launch_make_tasks(kernel, range, &tasks, error));
        range = &tasks;
    }
    HDI_TRY(hdi_runtime_choose(runtime, start ? start->devices : 0, &kernel,
                               &launcher, error));
    if (!launcher)
        return hdi_joint_start(
            runtime->launcher, start,
            &(struct hdi_request){kernel, range, args, arg_count}, event,
            error);
    return hdi_launch_start(
        launcher, start, &(struct hdi_request){kernel, range, args, arg_count},
        event, error);
}

// NULL here is a caller's slip; below it would mean "host memory".
//
// `what` is the start of the sentence: "a copy to no buffer: NULL".
static hd_status check_buffer(const struct hd_buffer *buffer, const char *what,
                              struct hd_error *error)
{
    return buffer ? HD_OK
                  : hdi_fail(error, HD_EINVAL, "%s no buffer: NULL", what);
}

// `from` is only read; the cast is because both sides are described alike.
// Layouts are optional and say how rows lie; they are checked below.
hd_status hd_copy_start(struct hd_runtime *runtime,
                        const struct hd_start *start, struct hd_buffer *to,
                        const struct hd_layout *to_layout,
                        const struct hd_buffer *from,
                        const struct hd_layout *from_layout,
                        const struct hd_extent *extent, hd_event *event,
                        struct hd_error *error)
{
    HDI_TRY(check_buffer(to, "a copy to", error));
    HDI_TRY(check_buffer(from, "a copy from", error));
    const struct hdi_side there = {.buffer = to, .layout = to_layout};
    const struct hdi_side here = {.buffer = (struct hd_buffer *)(uintptr_t)from,
                                  .layout = from_layout};
    return hdi_copy_start(runtime->pool, start, &there, &here, extent, event,
                          error);
}

// The host's memory must stay as it is until the event has ended.
hd_status hd_write_start(struct hd_runtime *runtime,
                         const struct hd_start *start, struct hd_buffer *to,
                         const struct hd_layout *to_layout, const void *from,
                         const struct hd_layout *from_layout,
                         const struct hd_extent *extent, hd_event *event,
                         struct hd_error *error)
{
    HDI_TRY(check_buffer(to, "a write to", error));
    const struct hdi_side there = {.buffer = to, .layout = to_layout};
    const struct hdi_side here = {.memory = (void *)(uintptr_t)from,
                                  .layout = from_layout};
    return hdi_copy_start(runtime->pool, start, &there, &here, extent, event,
                          error);
}

// The host's memory is written at any time until the event has ended.
hd_status hd_read_start(struct hd_runtime *runtime,
                        const struct hd_start *start, void *to,
                        const struct hd_layout *to_layout,
                        const struct hd_buffer *from,
                        const struct hd_layout *from_layout,
                        const struct hd_extent *extent, hd_event *event,
                        struct hd_error *error)
{
    HDI_TRY(check_buffer(from, "a read from", error));
    const struct hdi_side there = {.memory = to, .layout = to_layout};
    const struct hdi_side here = {.buffer = (struct hd_buffer *)(uintptr_t)from,
                                  .layout = from_layout};
    return hdi_copy_start(runtime->pool, start, &there, &here, extent, event,
                          error);
}

// The pattern is copied.
hd_status hd_fill_start(struct hd_runtime *runtime,
                        const struct hd_start *start, struct hd_buffer *to,
                        uint64_t offset, uint64_t size, const void *pattern,
                        unsigned pattern_size, hd_event *event,
                        struct hd_error *error)
{
    HDI_TRY(check_buffer(to, "a fill of", error));
    return hdi_fill_start(runtime->pool, start, to, offset, size, pattern,
                          pattern_size, event, error);
}

// A cluster may be joined without a runtime: then kernels cannot compute its
// fields, functions of the host can.
hd_status hd_cluster_join(const struct hd_cluster_params *params,
                          struct hd_cluster **cluster, struct hd_error *error)
{
    static const struct hd_cluster_params none;

    if (!params)
        params = &none;
    return hdi_cluster_join(params,
                            params->runtime ? params->runtime->launcher : NULL,
                            cluster, error);
}

hd_status hd_forall_kernel(struct hd_runtime *runtime,
                           const struct hd_forall *forall,
                           const struct hd_kernel *kernel,
                           const struct hd_field_arg *args, unsigned arg_count,
                           struct hd_error *error)
{
    return hdi_forall_kernel(runtime->launcher, NULL, forall, kernel, NULL,
                             args, arg_count, error);
}
