// Starts and stops the layers in order, and is the public face of those that
// need a runtime.
//
//     topology    which cores there are
//     pool        one worker per core, made but not started
//     trace       its tracks are numbered as the workers are
//     cache       what earlier runs made
//     devices     what the workers run kernels on; the first has their tracks
//     feedback, shelf            what earlier runs learnt
//     start       of the workers: all they may look for is there
//
// Each line uses those above it. Stopping takes them from the bottom, but for
// the shelf, whose graphs use all of it and go first.
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/program/options.h"
#include "launch/broker/broker.h"
#include "launch/measure/calibration.h"
#include "launch/memory/image.h"
#include "launch/start/joint.h"
#include "steal/worker.h"

// A cache that cannot be opened costs time, not results: a warning, no error.
static struct hdi_cache *open_cache(const struct hd_runtime_params *params)
{
    struct hdi_cache *cache = NULL;
    struct hd_error error;

    if (params->no_cache || (!params->cache && hdi_cache_is_off()))
        return NULL;
    if (hdi_cache_open(params->cache, &cache, &error) != HD_OK) {
        hdi_warn("kernels will be compiled anew each time: %s", error.text);
        return NULL;
    }
    return cache;
}

// Give the broker what was calibrated on this machine, if it ever was.
//
// Without it the broker weighs all resources alike: right, but with less
// effect. Measuring takes a second, so that it is done when it is asked for
// only (hd_runtime_calibrate()).
static void weigh(struct hd_runtime *r)
{
    struct hdi_calibration calibration;
    uint32_t slot, local;

    if (!r->cache || !r->launcher->broker ||
        !hdi_calibration_find(r->cache, hdi_topology_machine(r->topology),
                              &calibration))
        return;
    hdi_calibration_weights(&calibration, &slot, &local);
    hdi_broker_weigh(r->launcher->broker, slot, local);
}

// Find out now whether they are any good, and make kernels for a debugger.
//
// The options of every program to come: a mistake in them is told once, here,
// and not with each program. `*debugs`: code for a debugger is wanted, for
// which constant arguments are sealed as with a guard (launch/memory). `*kept`
// stays NULL where there are none.
static hd_status keep_options(const char *text, char **kept, bool *debugs,
                              struct hd_error *error)
{
    struct hdi_options options;

    if (!text)
        return HD_OK;
    HDI_TRY(hdi_options_parse(text, &options, error));
    for (size_t i = 0; i < options.count; i++)
        *debugs |= strcmp(options.words[i], "-heddle-debug") == 0;
    hdi_options_free(&options);
    *kept = strdup(text);
    return *kept ? HD_OK
                 : hdi_fail(error, HD_ENOMEM, "no memory for a runtime");
}

// Errors before the devices are open are undone in reverse order here; from
// then on the runtime is whole but for its workers, and goes as any other.
// `*runtime` is set on success only.
hd_status hd_runtime_create(const struct hd_runtime_params *params,
                            struct hd_runtime **runtime, struct hd_error *error)
{
    static const struct hd_runtime_params defaults;
    const struct hd_runtime_params *p = params ? params : &defaults;
    struct hd_runtime *r = calloc(1, sizeof(*r));
    if (!r)
        return hdi_fail(error, HD_ENOMEM, "no memory for a runtime");

    bool debugs = false;
    hd_status status =
        keep_options(p->build_options, &r->build_options, &debugs, error);
    if (status != HD_OK)
        goto err_free;
    status =
        hdi_topology_create_part(p->topology, p->cores, &r->topology, error);
    if (status != HD_OK)
        goto err_free;

    struct hd_pool_params pool = {
        .workers = p->workers,
        .caller_only = p->caller_only,
        .events = p->events,
    };
    status = hdi_pool_create(&pool, r->topology, &r->pool, error);
    if (status != HD_OK)
        goto err_topology;

    if (p->trace) {
        status = hdi_trace_create(&r->trace);
        if (status != HD_OK) {
            hdi_fail(error, status, "no memory for a trace");
            goto err_pool;
        }
    }

    r->cache = open_cache(p);
    r->archive = hdi_cache_archive(r->cache);
    status = hdi_devices_open(r, p, error);
    if (status != HD_OK)
        goto err_cache;

    for (unsigned i = 0; i < r->device_count; i++) {
        r->launchers[i]->time_limit = p->time_limit;
        r->launchers[i]->seals = p->guard || debugs;
    }
    hdi_pool_set_tracks(r->pool, r->launcher->tracks);
    hdi_shelf_init(&r->shelf);
    r->feedback = hdi_feedback_open(r->cache);
    if (r->device_count > 1) // with one there is no place to choose
        hdi_runtime_remember(r);
    weigh(r);
    // Last: whatever a worker may look for is there, its units too.
    status = hdi_pool_start(r->pool, error);
    if (status != HD_OK) { // everything is there: it can go the usual way
        hd_runtime_destroy(r);
        return status;
    }
    hdi_info("%u worker%s on %s", hd_pool_workers(r->pool),
             hdi_plural(hd_pool_workers(r->pool), "s"),
             r->device->can.description);
    *runtime = r;
    return HD_OK;

err_cache:
    hdi_cache_close(r->cache);
    hdi_trace_destroy(r->trace);
err_pool:
    hd_pool_destroy(r->pool);
err_topology:
    hdi_topology_destroy(r->topology);
err_free:
    free(r->build_options);
    free(r);
    return status;
}

// The caller sees to it that nothing runs any more and that programs, buffers
// and graphs are gone; graphs on the shelf are the runtime's own. Called on no
// worker of its pool, which would wait for itself.
void hd_runtime_destroy(struct hd_runtime *runtime)
{
    if (!runtime)
        return;

    hdi_shelf_destroy(&runtime->shelf);
    // Workers may record and use their units until they have stopped.
    hd_pool_destroy(runtime->pool);
    hdi_devices_close(runtime);
    hdi_feedback_close(runtime->feedback);
    hdi_cache_close(runtime->cache);
    hdi_trace_destroy(runtime->trace);
    hdi_topology_destroy(runtime->topology);
    free(runtime->build_options);
    free(runtime);
}

// Asked by who waits for the compiler's process. The store orders nothing else,
// so that a signal handler may do it.
void hd_runtime_cancel_builds(struct hd_runtime *runtime)
{
    atomic_store(&runtime->cancel_builds, true);
}

struct hd_pool *hd_runtime_pool(struct hd_runtime *runtime)
{
    return runtime->pool;
}

// Both counts are statistics: relaxed, each by itself. A buffer that is made
// meanwhile may be missing from the peak that is reset, never from the memory.
uint64_t hd_runtime_peak_memory(const struct hd_runtime *runtime)
{
    return atomic_load_explicit(&runtime->launcher->peak, memory_order_relaxed);
}

// To what is in use just now.
void hd_runtime_reset_peak_memory(struct hd_runtime *runtime)
{
    struct hdi_launcher *l = runtime->launcher;
    atomic_store_explicit(
        &l->peak, atomic_load_explicit(&l->memory, memory_order_relaxed),
        memory_order_relaxed);
}

// While workers record, what they record meanwhile may be missing; the rest is
// as it was.
hd_status hd_runtime_trace_write(struct hd_runtime *runtime, FILE *file,
                                 struct hd_error *error)
{
    if (!runtime->trace)
        return hdi_fail(error, HD_EINVAL,
                        "the runtime was made without a trace; set "
                        "hd_runtime_params.trace");

    hdi_launcher_trace(runtime->launcher); // counters go in last
    hd_status status = hdi_trace_write(runtime->trace, NULL, file);
    if (status != HD_OK)
        return hdi_fail(error, status, "the trace could not be written: %s",
                        hd_status_text(status));
    return HD_OK;
}

unsigned hd_runtime_units(const struct hd_runtime *runtime)
{
    return runtime->launcher->port_count;
}

hd_status hd_unit_attach(struct hd_runtime *runtime, unsigned unit,
                         struct hd_error *error)
{
    return hdi_launcher_attach(runtime->launcher, unit, error);
}

hd_status hd_unit_detach(struct hd_runtime *runtime, unsigned unit,
                         struct hd_error *error)
{
    return hdi_launcher_detach(runtime->launcher, unit, error);
}

hd_status hd_unit_counters(const struct hd_runtime *runtime, unsigned unit,
                           struct hd_unit_counters *counters,
                           struct hd_error *error)
{
    return hdi_launcher_count(runtime->launcher, unit, counters, error);
}

// What every program of the runtime is made with. Its code is for the first
// device; for each other device it is made a second time, in the same call.
//
// It points into the runtime, which outlives its programs.
static struct hdi_program_context programs_of(const struct hd_runtime *runtime)
{
    return (struct hdi_program_context){
        .device = runtime->device,
        .others = runtime->devices + 1,
        .other_count = runtime->device_count - 1,
        .cache = runtime->cache,
        .trace = runtime->trace,
        .cancel = &runtime->cancel_builds,
        .options = runtime->build_options,
    };
}

struct hdi_program_context hdi_runtime_programs(
    const struct hd_runtime *runtime, unsigned device)
{
    struct hdi_program_context context = programs_of(runtime);

    context.device = runtime->devices[device];
    context.other_count = 0;
    return context;
}

hd_status hd_program_create(struct hd_runtime *runtime,
                            const struct hd_program_params *params,
                            struct hd_program **program, struct hd_error *error)
{
    struct hdi_program_context context = programs_of(runtime);

    return hdi_program_create(&context, params, program, error);
}

hd_status hd_buffer_create(struct hd_runtime *runtime, uint64_t size,
                           struct hd_buffer **buffer, struct hd_error *error)
{
    return hdi_buffer_create(runtime->launcher, size, buffer, error);
}

hd_status hd_buffer_wrap(struct hd_runtime *runtime, void *memory,
                         uint64_t size, struct hd_buffer **buffer,
                         struct hd_error *error)
{
    return hdi_buffer_wrap(runtime->launcher, memory, size, buffer, error);
}

hd_status hd_image_create(struct hd_runtime *runtime,
                          const struct hd_image_params *params,
                          struct hd_image **image, struct hd_error *error)
{
    return hdi_image_create(runtime->launcher, params, image, error);
}

unsigned hd_runtime_device_count(const struct hd_runtime *runtime)
{
    return runtime->device_count;
}

// Counters are read one by one, relaxed: numbers for people, not a consistent
// picture.
hd_status hd_runtime_device_info(const struct hd_runtime *runtime,
                                 unsigned device, struct hd_device_info *info,
                                 struct hd_error *error)
{
    if (device >= runtime->device_count)
        return hdi_fail(error, HD_ENODEV, "there is no device %u; there are %u",
                        device, runtime->device_count);
    const struct hdi_device *d = runtime->devices[device];
    const struct hdi_launcher *l = runtime->launchers[device];
    *info = (struct hd_device_info){
        .backend = d->backend->name,
        .description = d->can.description,
        .units = l->port_count,
        .group_items = d->can.group_items,
        .local_bytes = d->can.local_bytes,
        .memory = atomic_load_explicit(&l->memory, memory_order_relaxed),
        .groups = atomic_load_explicit(&l->ran, memory_order_relaxed),
        .copied = atomic_load_explicit(&l->brought, memory_order_relaxed),
        .host_memory = d->can.host_memory,
        .discards = d->can.discards,
    };
    return HD_OK;
}

// One device, if there is only one for it, NULL: several. `there` has a bit per
// device: those that were asked for, else those that launches find by
// themselves.
//
// The common case comes first: one device, none asked for. A kernel of a
// program that was built for several devices is replaced by the same kernel on
// the chosen one.
hd_status hdi_runtime_choose(const struct hd_runtime *runtime, uint64_t devices,
                             const struct hd_kernel **kernel,
                             struct hdi_launcher **launcher,
                             struct hd_error *error)
{
    uint64_t all = UINT64_MAX >> (64 - runtime->device_count);

    *launcher = runtime->launcher;
    if (!*kernel || (runtime->device_count == 1 && devices == 0))
        return HD_OK;
    uint64_t there =
        devices == 0 ? runtime->launcher->automatic : devices & all;
    *launcher = NULL;
    if (there & (there - 1)) // more than one bit
        return HD_OK;
    unsigned only = there ? (unsigned)__builtin_ctzll(there) : 0;
    const struct hd_kernel *k =
        there ? hdi_kernel_on(*kernel, runtime->devices[only]) : NULL;
    if (!k)
        return hdi_fail(error, HD_ENODEV,
                        "kernel '%s' was built for none of the devices 0x%llx; "
                        "there are %u",
                        (*kernel)->info.name, (unsigned long long)devices,
                        runtime->device_count);
    *launcher = runtime->launchers[only];
    *kernel = k;
    return HD_OK;
}

// `other` is the one place that this kind of launch does not know: a gang is
// told by units, a plain launch not by distinct modules. What the launchers can
// check better is left to them.
static hd_status check_launch(const struct hd_launch_params *p,
                              const struct hd_kernel *kernel,
                              enum hd_place other, struct hdi_terms *terms,
                              struct hd_error *error)
{
    if ((unsigned)p->priority > HD_PRIORITY_LOW)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': %d is no priority; see enum hd_priority",
                        hd_kernel_info(kernel)->name, (int)p->priority);
    if ((unsigned)p->place > HD_ON_WORKERS || p->place == other)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': %d is no place; see enum hd_place",
                        hd_kernel_info(kernel)->name, (int)p->place);
    *terms = (struct hdi_terms){.priority = p->priority,
                                .place = {p->place, p->unit},
                                .time_limit = p->time_limit,
                                .group = p->group,
                                .tasks = p->tasks,
                                .workers = p->workers,
                                .worker_count = p->worker_count,
                                .is_leaf = p->is_leaf,
                                .leaf_data = p->leaf_data};
    return HD_OK;
}

// On one device, or on several at the same time (joint); which workers run it
// can only be said for one. `tasks` turns the range into one of single
// work-items first.
hd_status hd_launch_with(struct hd_runtime *runtime,
                         const struct hd_launch_params *params,
                         const struct hd_kernel *kernel,
                         const struct hd_range *range,
                         const struct hd_arg *args, unsigned arg_count,
                         struct hd_error *error)
{
    static const struct hd_launch_params defaults;
    const struct hd_launch_params *p = params ? params : &defaults;

    struct hdi_launcher *launcher;
    struct hdi_terms terms;
    struct hd_range tasks;

    HDI_TRY(check_launch(p, kernel, HD_ON_DISTINCT_MODULES, &terms, error));
    if (p->tasks && kernel && range) {
        HDI_TRY(hdi_launch_make_tasks(kernel, range, &tasks, error));
        range = &tasks;
    }
    HDI_TRY(hdi_runtime_choose(runtime, p->devices, &kernel, &launcher, error));
    if (!launcher && (p->workers || p->worker_count > 0))
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' is to run on some workers: name the one "
                        "device they are of",
                        kernel->info.name);
    terms.devices = p->devices ? p->devices : runtime->launcher->automatic;
    if (!launcher)
        return hdi_joint_run(
            runtime->launcher, &terms,
            &(struct hdi_request){kernel, range, args, arg_count}, error);
    terms.devices = 0;
    return hdi_launch_with(
        launcher, &(struct hdi_request){kernel, range, args, arg_count}, &terms,
        error);
}

// All parts are checked and described before the first starts. More than
// HDI_GANG are not copied: the launcher refuses their number. Gangs run on the
// first device.
hd_status hd_launch_gang(struct hd_runtime *runtime,
                         const struct hd_launch_params *params,
                         const struct hd_part *parts, unsigned count,
                         struct hd_error *error)
{
    static const struct hd_launch_params defaults;
    struct hdi_member members[HDI_GANG];
    struct hdi_terms terms = {.priority = HD_PRIORITY_NORMAL};

    for (unsigned i = 0; i < count && i < HDI_GANG; i++) {
        HDI_TRY(check_launch(params ? params : &defaults, parts[i].kernel,
                             HD_ON_WORKERS, &terms, error));
        members[i] = (struct hdi_member){{parts[i].kernel, &parts[i].range,
                                          parts[i].args, parts[i].arg_count},
                                         parts[i].unit};
    }
    return hdi_launch_gang(runtime->launcher, members, count, &terms, error);
}

hd_status hd_launch(struct hd_runtime *runtime, const struct hd_kernel *kernel,
                    const struct hd_range *range, const struct hd_arg *args,
                    unsigned arg_count, struct hd_error *error)
{
    return hd_launch_with(runtime, NULL, kernel, range, args, arg_count, error);
}

// What graphs need of the runtime, without knowing it.
static struct hdi_graph_context graphs_of(struct hd_runtime *runtime)
{
    return (struct hdi_graph_context){
        .launcher = runtime->launcher,
        .programs = programs_of(runtime),
        .feedback = runtime->feedback,
        .shelf = &runtime->shelf,
    };
}

hd_status hd_graph_create(struct hd_runtime *runtime, struct hd_graph **graph,
                          struct hd_error *error)
{
    struct hdi_graph_context context = graphs_of(runtime);
    return hdi_graph_create(&context, graph, error);
}

hd_status hd_graph_generate(struct hd_runtime *runtime,
                            const struct hd_graph_program *program,
                            struct hd_graph **graph, struct hd_error *error)
{
    struct hdi_graph_context context = graphs_of(runtime);
    return hdi_graph_generate(&context, program, graph, error);
}
