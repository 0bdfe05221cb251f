// Invariant: nodes of a step are side by side in `nodes`; what the driver has
// for each is in its `parameter`.
#include "backend/cuda/launch/graph.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/executor/executor.h"
#include "backend/cuda/launch/boxes.h"
#include "backend/cuda/ring.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// One launch of a step, of which a step has up to eight and more (boxes.h).
struct node {
    cuda_node handle;
    struct cuda_box box; // its parameter is the node's own
};

// Invariant: step i has the nodes first[i] to first[i + 1] - 1.
struct cuda_launches {
    cuda_graph graph;
    cuda_graph_run run;
    struct cuda_ring ring;
    struct node *nodes;
    uint32_t *first; // node of each step, and behind the last
    uint32_t steps, count, room;
    // While it is made.
    cuda_node *after; // of the step at hand
    size_t after_count;
    const struct cuda_driver *driver;
};

static struct cuda_node_params params_of(const struct cuda_box *box,
                                         void **parameters)
{
    struct cuda_node_params p = {.function = box->entry->function,
                                 .shared_bytes = box->shared,
                                 .parameters = parameters};

    parameters[0] = box->parameter;
    memcpy(p.grid, box->grid, sizeof(p.grid));
    memcpy(p.block, box->block, sizeof(p.block));
    return p;
}

static bool grow(struct cuda_launches *l)
{
    uint32_t room = l->room ? 2 * l->room : 16;
    struct node *nodes;

    if (l->count < l->room)
        return true;
    nodes = realloc(l->nodes, room * sizeof(*nodes));
    if (!nodes)
        return false;
    l->nodes = nodes;
    l->room = room;
    return true;
}

// Also a node that the driver refused is counted, so that its parameter is
// freed with the others.
static cuda_result add_node(void *data, const struct cuda_box *box)
{
    struct cuda_launches *l = data;
    size_t bytes = HDI_DEVICE_ARGS + (size_t)box->entry->args_bytes;
    struct node node = {.box = *box};
    void *parameters[1];

    node.box.parameter = aligned_alloc(16, hdi_round_up(bytes, 16));
    if (!node.box.parameter || !grow(l)) {
        free(node.box.parameter);
        return CUDA_OUT_OF_MEMORY;
    }
    memcpy(node.box.parameter, box->parameter, bytes);
    struct cuda_node_params params = params_of(&node.box, parameters);
    cuda_result result = l->driver->GraphAddKernelNode(
        &node.handle, l->graph, l->after, l->after_count, &params);
    l->nodes[l->count++] = node;
    return result;
}

// What is before each step: sources[begin[i]] to sources[begin[i + 1]].
struct before {
    uint32_t *begin, *sources;
};

static void free_before(struct before *b)
{
    free(b->begin);
    free(b->sources);
}

// A counting sort of the edges by where they lead.
// Steps say what comes after them, nodes are made with what comes before: so
// the edges are turned round. After the second loop begin[i + 1] is where the
// next source of step i goes; when all are in place, begin[i] is where they
// begin.
static bool list_before(const struct hdi_list_params *params, struct before *b)
{
    uint32_t count = params->count;
    uint64_t edges = 0;

    for (uint32_t i = 0; i < count; i++)
        edges += params->steps[i].after_count;
    b->begin = calloc(count + UINT64_C(2), sizeof(*b->begin));
    b->sources = calloc(edges + 1, sizeof(*b->sources));
    if (!b->begin || !b->sources)
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < params->steps[i].after_count; k++)
            b->begin[params->steps[i].after[k] + 2]++;
    for (uint32_t i = 2; i <= count; i++)
        b->begin[i] += b->begin[i - 1];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < params->steps[i].after_count; k++)
            b->sources[b->begin[params->steps[i].after[k] + 1]++] = i;
    return true;
}

// The nodes that all nodes of a step come after.
static bool find_after(struct cuda_launches *l, const uint32_t *sources,
                       uint32_t count)
{
    size_t nodes = 0;

    for (uint32_t i = 0; i < count; i++)
        nodes += l->first[sources[i] + 1] - l->first[sources[i]];
    cuda_node *after = realloc(l->after, (nodes + 1) * sizeof(*after));
    if (!after)
        return false;
    l->after = after;
    l->after_count = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = l->first[sources[i]]; n < l->first[sources[i] + 1];
             n++)
            l->after[l->after_count++] = l->nodes[n].handle;
    return true;
}

static cuda_result add_steps(struct cuda_launches *l,
                             const struct hdi_list_params *params)
{
    struct before b = {0};
    cuda_result result = list_before(params, &b) ? 0 : CUDA_OUT_OF_MEMORY;

    for (uint32_t i = 0; i < params->count && result == 0; i++) {
        l->first[i] = l->count;
        if (!find_after(l, b.sources + b.begin[i], b.begin[i + 1] - b.begin[i]))
            result = CUDA_OUT_OF_MEMORY;
        else
            result = cuda_each_box(&params->steps[i].chunk, l->ring.address,
                                   add_node, l);
        l->first[i + 1] = l->count;
    }
    free_before(&b);
    free(l->after);
    l->after = NULL;
    return result;
}

// Everything the first start would allocate is there afterwards.
// With the lock of copies, whose stream it uses. On failure cuda_graph_free()
// takes back what there is.
static cuda_result build(struct cuda_gpu *gpu, struct cuda_launches *l,
                         const struct hdi_list_params *params)
{
    const struct cuda_driver *driver = gpu->driver;

    if (!cuda_ring_open(&l->ring, gpu))
        return CUDA_OUT_OF_MEMORY;
    cuda_result result = driver->GraphCreate(&l->graph, 0);
    if (result == 0)
        result = add_steps(l, params);
    if (result == 0)
        result = driver->GraphInstantiate(&l->run, l->graph, 0);
    if (result == 0)
        result = driver->GraphUpload(l->run, gpu->copies);
    cuda_result last = driver->StreamSynchronize(gpu->copies);
    return result ? result : last;
}

// What a launch of the chunk would be refused for.
static hd_status check(const struct cuda_gpu *gpu,
                       const struct hdi_list_step *step, uint32_t number,
                       struct hd_error *error)
{
    const struct hdi_chunk *c = &step->chunk;
    const struct hdi_frame *f = &c->frame;
    uint64_t items =
        (uint64_t)f->local_size[0] * f->local_size[1] * f->local_size[2];

    if (step->appended || step->appends_at)
        return hdi_fail(error, HD_ENOTSUP,
                        "pass %u appends passes, or is appended: units of the "
                        "GPU can do that, a graph of launches cannot",
                        number);
    if (items > c->entry->most_items)
        return hdi_fail(error, HD_ELIMIT,
                        "pass %u, kernel '%s': %llu work-items in a "
                        "work-group; on this GPU it has %u at most",
                        number, c->entry->name, (unsigned long long)items,
                        c->entry->most_items);
    if (c->local_bytes > gpu->device.can.local_bytes)
        return hdi_fail(error, HD_ENOMEM,
                        "pass %u, kernel '%s': %llu bytes of local memory; "
                        "there are %llu",
                        number, c->entry->name,
                        (unsigned long long)c->local_bytes,
                        (unsigned long long)gpu->device.can.local_bytes);
    return HD_OK;
}

// The executor is away: making a graph allocates, which would wait for it.
hd_status cuda_graph_make(struct hdi_device *device,
                          const struct hdi_list_params *params,
                          struct cuda_launches **launches,
                          struct hd_error *error)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);
    char text[256];

    for (uint32_t i = 0; i < params->count; i++)
        HDI_TRY(check(gpu, &params->steps[i], i, error));
    struct cuda_launches *l = calloc(1, sizeof(*l));
    uint32_t *first = calloc(params->count + UINT64_C(1), sizeof(*first));
    if (!l || !first || !cuda_enter_alone(gpu)) {
        free(l);
        free(first);
        return hdi_fail(error, HD_ENOMEM, "no memory for a list on %s",
                        device->can.description);
    }
    l->first = first;
    l->steps = params->count;
    l->driver = gpu->driver;
    pthread_mutex_lock(&gpu->lock);
    cuda_result result = build(gpu, l, params);
    pthread_mutex_unlock(&gpu->lock);
    cuda_leave_alone(gpu);
    if (result == 0) {
        *launches = l;
        return HD_OK;
    }
    cuda_graph_free(gpu, l);
    cuda_describe(gpu->driver, result, text, sizeof(text));
    return hdi_fail(error, cuda_status(gpu, result),
                    "%s makes no graph of %u launch%s: %s", gpu->name,
                    params->count, hdi_plural(params->count, "es"), text);
}

// On a GPU that hangs the graph stays; only memory of the host is given back.
void cuda_graph_free(struct cuda_gpu *gpu, struct cuda_launches *l)
{
    if (!l)
        return;
    if (cuda_enter_alone(gpu)) {
        if (l->run)
            gpu->driver->GraphRunDestroy(l->run);
        if (l->graph)
            gpu->driver->GraphDestroy(l->graph);
        if (l->ring.ring)
            cuda_ring_close(&l->ring, gpu);
        cuda_leave_alone(gpu);
    }
    for (uint32_t i = 0; i < l->count; i++)
        free(l->nodes[i].box.parameter);
    free(l->nodes);
    free(l->first);
    free(l);
}

// The parameter that a node has is the driver's as well, so comparing with it
// tells what has to be said.
cuda_result cuda_launches_start(struct cuda_gpu *gpu, struct cuda_launches *l,
                                const unsigned char *args, size_t stride,
                                cuda_stream stream)
{
    void *parameters[1];

    for (uint32_t i = 0; i < l->steps; i++)
        for (uint32_t n = l->first[i]; n < l->first[i + 1]; n++) {
            struct cuda_box *box = &l->nodes[n].box;
            char *old = (char *)box->parameter + HDI_DEVICE_ARGS;
            const unsigned char *now = args + i * stride;
            if (memcmp(old, now, box->entry->args_bytes) == 0)
                continue;
            memcpy(old, now, box->entry->args_bytes);
            struct cuda_node_params params = params_of(box, parameters);
            cuda_result result = gpu->driver->GraphSetParams(
                l->run, l->nodes[n].handle, &params);
            if (result != 0)
                return result;
        }
    return gpu->driver->GraphLaunch(l->run, stream);
}

void cuda_launches_name(const struct cuda_launches *l, struct cuda_names *names)
{
    for (uint32_t i = 0; i < l->count; i++)
        cuda_names_add(names, l->nodes[i].box.entry->name);
}

void cuda_launches_ended(struct cuda_launches *l)
{
    cuda_ring_read(&l->ring);
}
