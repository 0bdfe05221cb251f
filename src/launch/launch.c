// Divides the box of all work-groups until a piece is small enough (W4), and
// runs the pieces on the units of the workers that take them.
//
// Invariant: every group of the box is in exactly one leaf. A leaf that starts
// after a failure or a cancellation runs nothing.
#include "launch/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/plan.h"
#include "steal/worker.h"

enum {
    // A leaf should take this long: long against what it costs to divide,
    // steal and time it (about 0.3 us), short against a launch.
    LEAF_TIME = 30000, // [ns]
    // Without a measured time, and whatever the time says where a kernel is
    // uneven: this many leaves per worker.
    LEAVES_PER_WORKER = 8,
    TIME_UNIT = 1024, // hd_kernel.item_time counts in 1/1024 ns
    STACK_ARGS = 1024 // larger arguments go to the heap [bytes]
};

struct launch {
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    const atomic_bool *cancel; // optional
    struct hdi_chunk chunk;    // all but its box
    uint64_t cutoff;           // most groups of a leaf
    uint64_t group_items;
    atomic_int status; // first failure of a leaf; HD_OK so far
};

struct box {
    uint32_t first[3], count[3]; // [work-groups]
};

static uint64_t groups_of(const struct box *box)
{
    return (uint64_t)box->count[0] * box->count[1] * box->count[2];
}

// The cutoff from measured leaf time (W4): as many groups as take LEAF_TIME,
// but never so many that a worker is left without a share.
static uint64_t choose_cutoff(const struct hdi_launcher *launcher,
                              const struct hd_kernel *kernel,
                              const struct hdi_plan *plan)
{
    uint64_t leaves =
        (uint64_t)hd_pool_workers(launcher->pool) * LEAVES_PER_WORKER;
    uint64_t share = plan->groups / leaves + 1;
    uint64_t item =
        atomic_load_explicit(&kernel->item_time, memory_order_relaxed);
    if (item == 0)
        return share;

    double group = (double)item / TIME_UNIT * (double)plan->group_items;
    double total = group * (double)plan->groups;
    if (total < LEAF_TIME)
        return plan->groups; // not worth waking anybody
    double wanted = LEAF_TIME / group;
    uint64_t cutoff = wanted < 1 ? 1 : (uint64_t)wanted;
    return cutoff < share ? cutoff : share;
}

static void fail(struct launch *launch, hd_status status)
{
    int none = HD_OK;
    atomic_compare_exchange_strong(&launch->status, &none, (int)status);
}

static bool goes_on(struct launch *launch)
{
    if (launch->cancel &&
        atomic_load_explicit(launch->cancel, memory_order_relaxed))
        fail(launch, HD_ECANCELED);
    return atomic_load_explicit(&launch->status, memory_order_relaxed) == HD_OK;
}

// The unit of a worker is opened on its own thread, when it first runs a leaf,
// so that its memory lies near its core.
static struct hdi_unit *unit_of(struct launch *launch, unsigned index)
{
    struct hdi_unit **unit = &launch->launcher->units[index];
    struct hdi_device *device = launch->launcher->device;

    if (!*unit) {
        hd_status status = device->backend->unit_open(device, index, unit);
        if (status != HD_OK) {
            *unit = NULL;
            fail(launch, status);
        }
    }
    return *unit;
}

static void learn_time(struct launch *launch, uint64_t ns, uint64_t groups)
{
    _Atomic uint64_t *word = &((struct hd_kernel *)launch->kernel)->item_time;
    uint64_t items = groups * launch->group_items;
    uint64_t sample = ns * TIME_UNIT / items;
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    uint64_t now = old == 0 ? sample : (7 * old + sample) / 8;

    atomic_store_explicit(word, now ? now : 1, memory_order_relaxed);
}

static void run_leaf(struct hd_worker *worker, struct launch *launch,
                     const struct box *box)
{
    if (!goes_on(launch))
        return;

    unsigned index = hd_worker_index(worker);
    struct hdi_unit *unit = unit_of(launch, index);
    if (!unit)
        return;

    const struct hdi_backend *backend = launch->launcher->device->backend;
    struct hdi_chunk chunk = launch->chunk;
    memcpy(chunk.frame.first, box->first, sizeof(box->first));
    memcpy(chunk.frame.count, box->count, sizeof(box->count));

    hd_publish(worker);
    uint64_t begin = hdi_now();
    while (!backend->submit(unit, &chunk))
        hdi_worker_help(worker);
    uint64_t ticket = backend->submitted(unit);
    while (backend->done(unit) < ticket)
        hdi_worker_help(worker);
    hd_status status = backend->status(unit, ticket);
    uint64_t end = hdi_now();

    uint64_t groups = groups_of(box);
    if (status != HD_OK)
        fail(launch, status);
    learn_time(launch, end - begin, groups);
    hdi_worker_count(worker, end - begin, groups);
    struct hdi_track *track = launch->launcher->tracks[index];
    if (track)
        hdi_track_record(track, HDI_EVENT_chunk, begin, end,
                         launch->kernel->trace_name, groups);
}

// Halve the box across its slowest axis that can be halved, so that pieces are
// whole rows for as long as possible.
static struct box halve(struct box *box)
{
    int axis = box->count[2] > 1 ? 2 : box->count[1] > 1 ? 1 : 0;
    struct box half = *box;

    half.count[axis] = box->count[axis] / 2;
    box->first[axis] += half.count[axis];
    box->count[axis] -= half.count[axis];
    return half;
}

HD_VOID_TASK(run_box, struct launch *, launch, struct box, box)
{
    unsigned spawned = 0;

    while (groups_of(&box) > launch->cutoff && goes_on(launch)) {
        struct box half = halve(&box);
        hd_spawn(worker, run_box, launch, box);
        box = half;
        spawned++;
    }
    run_leaf(worker, launch, &box);
    while (spawned-- > 0)
        hd_join(worker, run_box);
}

static void run_launch(struct hd_worker *worker, void *data)
{
    struct launch *launch = data;
    struct box box = {.count = {0}};

    memcpy(box.count, launch->chunk.frame.group_count, sizeof(box.count));
    hd_call(worker, run_box, launch, box);
}

static void pack(const struct hd_kernel *kernel, const struct hd_arg *args,
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
                word = (uint64_t)(uintptr_t)args[i].buffer->address +
                       args[i].offset;
            break;
        case HD_IS_LOCAL:
            word = local_offsets[i];
            break;
        }
        memcpy(to, &word, sizeof(word));
    }
}

static hd_status explain(const struct launch *launch, struct hd_error *error)
{
    hd_status status = (hd_status)atomic_load(&launch->status);

    if (status == HD_OK)
        return HD_OK;
    return hdi_fail(
        error, status, "kernel '%s' on %s: %s", launch->kernel->info.name,
        launch->launcher->device->can.description, hd_status_text(status));
}

hd_status hdi_launch(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel,
                     const struct hd_range *range, const struct hd_arg *args,
                     unsigned arg_count, const atomic_bool *cancel,
                     struct hd_error *error)
{
    struct hdi_plan plan;

    HDI_TRY(
        hdi_plan_check(launcher, kernel, range, args, arg_count, &plan, error));
    if (plan.groups == 0)
        return HD_OK;

    // One block: the packed arguments, then the offsets of local arguments.
    _Alignas(128) unsigned char small[STACK_ARGS];
    uint64_t args_size = hdi_round_up(kernel->args_size + 1, 128);
    uint64_t size = args_size + arg_count * sizeof(uint64_t);
    unsigned char *packed = size <= sizeof(small)
                                ? small
                                : aligned_alloc(128, hdi_round_up(size, 128));
    if (!packed)
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    uint64_t *local_offsets = (uint64_t *)(void *)(packed + args_size);
    hdi_plan_local(kernel, args, arg_count, local_offsets);
    pack(kernel, args, arg_count, local_offsets, packed);

    struct launch launch = {
        .launcher = launcher,
        .kernel = kernel,
        .cancel = cancel,
        .chunk = {.entry = kernel->entry,
                  .frame = plan.frame,
                  .local_bytes = plan.local_bytes,
                  .saved_bytes = plan.saved_bytes},
        .cutoff = choose_cutoff(launcher, kernel, &plan),
        .group_items = plan.group_items,
    };
    launch.chunk.frame.args = packed;
    hd_pool_run(launcher->pool, run_launch, &launch);
    if (packed != small)
        free(packed);
    return explain(&launch, error);
}
