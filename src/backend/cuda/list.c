// Lists (backend/list.h): the host's side. For tiles, records and counters lie
// in memory of the GPU, arguments in memory of the host that the GPU sees, so
// that they can be changed between runs without a copy. For launches there is a
// graph of the driver's (graph.h), and arguments are told to it.
//
// Kernels have numbers that change when programs come or go: then the records
// are written anew before the next run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/executor/executor.h"
#include "backend/cuda/executor/tile.h"
#include "backend/cuda/launch/graph.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

//     GPU's memory    head | passes, `room` of them | ready | edges, sources
//     host's memory   args, HDX_ARGS for each pass | regions, one per unit
//
// `passes`, `entries` and `edges` are copies on the host, as they are before a
// run: records are written anew from them (upload()).
struct cuda_list {
    struct hdi_device_list list;
    struct hdi_list head;
    struct hdi_list_pass *passes; // as they are before a run
    const struct hdi_entry **entries;
    uint32_t *edges;
    uint32_t edge_count;
    unsigned char *args; // behind them regions, which the GPU reads, too
    char *memory;        // of the GPU: head, passes, ready, edges
    uint64_t bytes, ready_at, edges_at;
    uint64_t linked; // kernels' numbers are those of this link; 0: none
    struct cuda_launches *launches; // instead of all these but `args`
};

static struct cuda_list *list_of(const struct hdi_device_list *list)
{
    return (struct cuda_list *)(uintptr_t)list;
}

static uint64_t passes_at(void)
{
    return hdi_round_up(sizeof(struct hdi_list), 128);
}

// Where things are in the GPU's memory.
static void lay_out(struct cuda_list *l)
{
    l->ready_at =
        passes_at() + (uint64_t)l->head.room * sizeof(struct hdi_list_pass);
    l->edges_at = l->ready_at + (uint64_t)l->head.room * sizeof(hdi_word);
    l->bytes = l->edges_at + (l->edge_count + 1) * sizeof(uint32_t);
}

static void free_list(struct hdi_device_list *list)
{
    struct cuda_list *l = list_of(list);
    struct cuda_gpu *gpu = cuda_gpu_of(list->device);

    if (l->launches) {
        cuda_graph_free(gpu, l->launches);
        free(l->args);
        free(l);
        return;
    }
    cuda_memory_free(list->device, l->memory, l->bytes);
    if (l->args && cuda_enter_alone(gpu)) {
        cuda_host_free(gpu, l->args);
        cuda_leave_alone(gpu);
    }
    free(l->edges);
    free(l->entries);
    free(l->passes);
    free(l);
}

// `classes` shrinks with each pass: a list is for tiles that can run all of it.
static hd_status describe(struct cuda_list *l, const struct hdi_list_step *step,
                          uint32_t number, cuda_address args,
                          struct hd_error *error)
{
    const struct hdi_frame *f = &step->chunk.frame;
    struct hdi_list_pass *p = &l->passes[number];

    l->head.classes &= cuda_executor_classes(
        cuda_gpu_of(l->list.device)->executor, &step->chunk);
    if (l->head.classes == 0)
        return hdi_fail(error, HD_ENOTSUP,
                        "pass %u, kernel '%s', is no work for tiles: its "
                        "work-groups are no multiples of %d work-items of one "
                        "size, too large, or it needs too many registers or "
                        "its program has variables",
                        number, step->chunk.entry->name, HDX_WARP);
    if (step->chunk.local_bytes > l->list.local_bytes)
        l->list.local_bytes = step->chunk.local_bytes;
    *p = (struct hdi_list_pass){.shape = hdi_mailbox_shape(f, 0, 0),
                                .args = args + number * (uint64_t)HDX_ARGS,
                                .dims = f->dims,
                                .of = number,
                                .appended = step->appended,
                                .family = step->family,
                                .family_count = step->family_count,
                                .most = step->most,
                                .appends_at = step->appends_at,
                                .after = l->edge_count,
                                .after_count = step->after_count};
    memcpy(p->first, f->first, sizeof(p->first));
    memcpy(p->count, f->count, sizeof(p->count));
    memcpy(l->args + number * (uint64_t)HDX_ARGS, f->args,
           step->chunk.entry->args_bytes);
    l->entries[number] = step->chunk.entry;
    for (uint32_t i = 0; i < step->after_count; i++)
        l->edges[l->edge_count++] = step->after[i];
    return HD_OK;
}

// Inputs, and those that have none.
// Sources are kept behind the edges, as a list of their own. Appended passes
// have no inputs and are no sources.
static hd_status connect(struct cuda_list *l, struct hd_error *error)
{
    for (uint32_t i = 0; i < l->edge_count; i++) {
        struct hdi_list_pass *to = &l->passes[l->edges[i]];
        if (to->appended)
            return hdi_fail(error, HD_EINVAL,
                            "a pass of a list comes before %u, which is "
                            "appended",
                            l->edges[i]);
        to->inputs++;
    }
    l->head.sources = l->edge_count;
    for (uint32_t i = 0; i < l->head.passes_count; i++) {
        l->head.runs += !l->passes[i].appended;
        if (l->passes[i].inputs == 0 && !l->passes[i].appended)
            l->edges[l->edge_count++] = i;
    }
    l->head.source_count = l->edge_count - l->head.sources;
    return HD_OK;
}

static uint64_t regions_at(const struct cuda_list *l)
{
    return (l->head.passes_count + 1) * (uint64_t)HDX_ARGS;
}

// Equal parts, as far as these are large enough.
// A tile's part is by its number within its block, so that no two of a module
// share any. HDI_NO_REGION: there is none for this tile.
static void divide_local(struct cuda_list *l, cuda_address args)
{
    const struct cuda_layout *layout =
        cuda_executor_layout(cuda_gpu_of(l->list.device)->executor);
    uint64_t bytes = hdi_round_up(l->list.local_bytes, HDI_FRAME_ALIGNMENT);

    if (bytes == 0)
        return;
    l->list.regions = (uint32_t *)(void *)(l->args + regions_at(l));
    l->head.regions = args + regions_at(l);
    for (unsigned i = 0; i < layout->tiles; i++) {
        const struct cuda_tiles *t = &layout->of[layout->class_of[i]];
        uint64_t begin = (i - t->first) % t->per_block * bytes;
        l->list.regions[i] = begin + bytes <= layout->module_bytes
                                 ? (uint32_t)begin
                                 : HDI_NO_REGION;
    }
}

// What is there is freed by free_list(), also when it fails.
static hd_status allocate(struct cuda_list *l, uint64_t edges,
                          cuda_address *args)
{
    struct cuda_gpu *gpu = cuda_gpu_of(l->list.device);
    uint32_t count = l->head.passes_count;
    uint64_t regions = gpu->device.can.units * sizeof(uint32_t);

    l->passes = aligned_alloc(64, (count + 1) * sizeof(*l->passes));
    l->entries = calloc(count + 1, sizeof(*l->entries));
    l->edges = calloc(edges + count + 1, sizeof(*l->edges));
    if (!l->passes || !l->entries || !l->edges || !cuda_enter_alone(gpu))
        return HD_ENOMEM;
    l->args = cuda_host_alloc(gpu, regions_at(l) + regions, args);
    cuda_leave_alone(gpu);
    return l->args ? HD_OK : HD_ENOMEM;
}

// Steps, edges, and that these lead to later steps: no list waits for itself.
static hd_status check(const struct hdi_list_params *params, uint64_t *edges,
                       struct hd_error *error)
{
    uint32_t count = params->count;

    *edges = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hdi_list_step *s = &params->steps[i];
        for (uint32_t k = 0; k < s->after_count; k++)
            if (s->after[k] <= i || s->after[k] >= count)
                return hdi_fail(error, HD_EINVAL,
                                "pass %u of a list comes before %u, which is "
                                "none of the later ones of its %u passes",
                                i, s->after[k], count);
        *edges += s->after_count;
        if (s->family > count || s->family_count > count - s->family ||
            (s->appends_at && s->family_count == 0))
            return hdi_fail(error, HD_EINVAL,
                            "pass %u of a list is of a family of %u from %u "
                            "on; there are %u passes",
                            i, s->family_count, s->family, count);
        if (s->appended && s->after_count > 0)
            return hdi_fail(error, HD_EINVAL,
                            "pass %u of a list, which is appended, comes "
                            "before another",
                            i);
    }
    if (*edges > HDI_LIST_MAX || count == 0 ||
        count + (uint64_t)params->more > HDI_LIST_MAX)
        return hdi_fail(error, HD_ELIMIT,
                        "a list of %u passes and %llu edges: from 1 to %d each "
                        "fit one",
                        count, (unsigned long long)*edges, HDI_LIST_MAX);
    return HD_OK;
}

static hd_status make_for_tiles(struct cuda_list *l,
                                const struct hdi_list_params *params,
                                uint64_t edges, struct hd_error *error)
{
    cuda_address args = 0;
    void *memory = NULL;

    l->head = (struct hdi_list){.classes = HDX_BOTH,
                                .passes_count = params->count,
                                .room = params->count + params->more};
    hd_status status = allocate(l, edges, &args);
    for (uint32_t i = 0; i < params->count && status == HD_OK; i++)
        status = describe(l, &params->steps[i], i, args, error);
    if (status == HD_OK)
        status = connect(l, error);
    if (status == HD_OK) {
        divide_local(l, args);
        lay_out(l);
        status = cuda_memory_alloc(l->list.device, l->bytes, &memory);
        l->memory = memory;
    }
    return status;
}

static hd_status make_for_launches(struct cuda_list *l,
                                   const struct hdi_list_params *params,
                                   struct hd_error *error)
{
    HDI_TRY(cuda_graph_make(l->list.device, params, &l->launches, error));
    l->args = calloc(params->count, HDX_ARGS);
    if (!l->args)
        return HD_ENOMEM;
    for (uint32_t i = 0; i < params->count; i++)
        memcpy(l->args + i * (uint64_t)HDX_ARGS,
               params->steps[i].chunk.frame.args,
               params->steps[i].chunk.entry->args_bytes);
    return HD_OK;
}

static hd_status make(struct hdi_device *device,
                      const struct hdi_list_params *params,
                      struct hdi_device_list **list, struct hd_error *error)
{
    bool by_units = params->form == HDI_LIST_BY_UNITS;
    uint64_t edges;

    if (by_units && !cuda_gpu_of(device)->executor)
        return hdi_fail(error, HD_ENOTSUP,
                        "%s works off no lists without units of its own: set "
                        "units",
                        device->can.description);
    HDI_TRY(check(params, &edges, error));
    struct cuda_list *l = calloc(1, sizeof(*l));
    if (!l)
        return hdi_fail(error, HD_ENOMEM, "no memory for a list");
    l->list.device = device;
    hd_status status = by_units ? make_for_tiles(l, params, edges, error)
                                : make_for_launches(l, params, error);
    if (status != HD_OK) {
        free_list(&l->list);
        return status == HD_ENOMEM
                   ? hdi_fail(error, status, "no memory for a list on %s",
                              device->can.description)
                   : status;
    }
    *list = &l->list;
    return HD_OK;
}

// With the numbers that kernels have now.
// The head last: it holds the addresses of the others. No run of the list is
// going on.
static hd_status upload(struct cuda_list *l)
{
    struct hdi_device *device = l->list.device;
    uint64_t at = (uint64_t)(uintptr_t)l->memory;

    for (uint32_t i = 0; i < l->head.passes_count; i++)
        l->passes[i].entry = (uint64_t)l->entries[i]->number;
    l->head.passes = at + passes_at();
    l->head.ready = at + l->ready_at;
    l->head.edges = at + l->edges_at;
    HDI_TRY(cuda_memory_copy(device, l->memory + l->edges_at, l->edges,
                             l->edge_count * sizeof(uint32_t)));
    HDI_TRY(cuda_memory_copy(device, l->memory + passes_at(), l->passes,
                             l->head.passes_count * sizeof(*l->passes)));
    HDI_TRY(cuda_memory_copy(device, l->memory, &l->head, sizeof(l->head)));
    cuda_staging_settle(cuda_gpu_of(device));
    return HD_OK;
}

// Any tile of the class may have it next, so only a new link writes it anew.
hd_status cuda_list_prepare(struct hdi_device_list *list, unsigned unit,
                            uint64_t linked, uint64_t *address)
{
    struct cuda_list *l = list_of(list);
    const struct cuda_layout *layout =
        cuda_executor_layout(cuda_gpu_of(list->device)->executor);

    if (!(l->head.classes >> layout->class_of[unit] & 1) ||
        (list->regions && list->regions[unit] == HDI_NO_REGION))
        return HD_ENOTSUP;
    if (l->linked != linked)
        HDI_TRY(upload(l));
    l->linked = linked;
    *address = (uint64_t)(uintptr_t)l->memory;
    return HD_OK;
}

uint32_t cuda_list_classes(const struct hdi_device_list *list)
{
    return list_of(list)->launches ? 0 : list_of(list)->head.classes;
}

cuda_result cuda_graph_launch(struct hdi_device_list *list, cuda_stream stream)
{
    const struct cuda_list *l = list_of(list);

    return cuda_launches_start(cuda_gpu_of(list->device), l->launches, l->args,
                               HDX_ARGS, stream);
}

void cuda_graph_ended(struct hdi_device_list *list)
{
    cuda_launches_ended(list_of(list)->launches);
}

static void *args_of(struct hdi_device_list *list, uint32_t step)
{
    return list_of(list)->args + step * (uint64_t)HDX_ARGS;
}

static hd_status explain(struct cuda_list *l, uint64_t failure,
                         struct hd_error *error)
{
    uint32_t pass = (uint32_t)failure;

    l->list.refused = (uint32_t)(failure >> 32);
    l->list.refused_step = pass;
    switch (l->list.refused) {
    case 0:
        return HD_OK;
    case HDI_LIST_NO_PASS:
        return hdi_fail(error, HD_EINVAL,
                        "pass %u appends a pass that is none of those that "
                        "can be",
                        pass);
    case HDI_LIST_NO_GROUPS:
        return hdi_fail(error, HD_EINVAL,
                        "pass %u appends no work-groups of a pass, or some "
                        "that it does not have",
                        pass);
    default:
        return hdi_fail(error, HD_ELIMIT,
                        "pass %u appends more than the %u pass%s that may be "
                        "in a run",
                        pass, l->passes[pass].most,
                        hdi_plural(l->passes[pass].most, "es"));
    }
}

// What the first `count` records say, with one copy.
static hd_status read_times(struct cuda_list *l, struct hdi_list_time *times,
                            uint32_t count)
{
    uint64_t bytes = count * sizeof(struct hdi_list_pass);
    struct hdi_list_pass *passes = aligned_alloc(64, bytes + 64);

    if (!passes)
        return HD_ENOMEM;
    hd_status status = cuda_memory_copy(l->list.device, passes,
                                        l->memory + passes_at(), bytes);
    for (uint32_t i = 0; i < count && status == HD_OK; i++)
        times[i] = (struct hdi_list_time){hdi_word_load(&passes[i].begun_at),
                                          hdi_word_load(&passes[i].ended_at),
                                          passes[i].of};
    free(passes);
    return status;
}

// Only after the run has ended. What a list was refused for comes before its
// times.
static hd_status result(struct hdi_device_list *list,
                        struct hdi_list_time *times, uint32_t *count,
                        struct hd_error *error)
{
    struct cuda_list *l = list_of(list);
    struct hdi_list head;
    uint32_t most = *count;

    l->list.refused = 0;
    if (l->launches) {
        *count = 0;
        return HD_OK;
    }
    hd_status status =
        cuda_memory_copy(list->device, &head, l->memory, sizeof(head));
    if (status == HD_OK) {
        HDI_TRY(explain(l, hdi_word_load(&head.failure), error));
        *count = (uint32_t)hdi_word_load(&head.records);
        status = read_times(l, times, most < *count ? most : *count);
    }
    if (status != HD_OK)
        return hdi_fail(error, status, "a list cannot be read: %s",
                        hd_status_text(status));
    return HD_OK;
}

void cuda_list_name(const struct hdi_device_list *list, uint64_t address,
                    uint32_t pass, struct cuda_names *names)
{
    const struct cuda_list *l = list_of(list);

    if (l->launches)
        cuda_launches_name(l->launches, names);
    else if (address == (uint64_t)(uintptr_t)l->memory &&
             pass < l->head.passes_count)
        cuda_names_add(names, l->entries[pass]->name);
}

const struct hdi_lists cuda_lists = {
    .make = make, .free = free_list, .args = args_of, .result = result};
