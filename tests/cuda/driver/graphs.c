// The fake driver: graphs of launches. Of those that are ready the newest runs
// first, so that an edge that is missing shows.
#include "tests/cuda/driver/objects.h"

cuda_result cuGraphCreate(cuda_graph *graph, unsigned flags)
{
    BEGIN(cuGraphCreate, true);
    *graph = fake_make(GRAPH, sizeof(**graph));
    return leave(flags == 0 ? 0 : INVALID_VALUE);
}

cuda_result cuGraphAddKernelNode(cuda_node *node, cuda_graph graph,
                                 const cuda_node *after, size_t count,
                                 const struct cuda_node_params *params)
{
    struct operation launch;

    BEGIN(cuGraphAddKernelNode, true);
    CHECK_LIVE(graph, GRAPH, cuGraphAddKernelNode);
    CHECK_LIVE(params->function, FUNCTION, cuGraphAddKernelNode);
    for (size_t i = 0; i < count; i++)
        if (!after[i] || after[i]->graph != graph) {
            fake_complain("a node comes after one of another graph");
            return leave(INVALID_VALUE);
        }
    if (!fake_describe(params->function, params->grid, params->block,
                       params->shared_bytes, params->parameters, params->extra,
                       &launch))
        return leave(INVALID_VALUE);
    struct cuda_node_ *n = calloc(1, sizeof(*n));
    *n = (struct cuda_node_){.graph = graph,
                             .next = graph->nodes,
                             .launch = launch,
                             .after = calloc(count + 1, sizeof(*n->after)),
                             .after_count = count,
                             .number = graph->count++};
    memcpy(n->after, after, count * sizeof(*after));
    graph->nodes = n;
    *node = n;
    return leave(0);
}

static void copy_parameters(struct operation *to, const struct operation *from)
{
    size_t bytes =
        (from->function->ptx->parameter_bytes + UINT64_C(127)) / 64 * 64;

    *to = *from;
    to->parameters = aligned_alloc(64, bytes);
    memcpy(to->parameters, from->parameters, bytes);
}

cuda_result cuGraphInstantiateWithFlags(cuda_graph_run *run, cuda_graph graph,
                                        unsigned long long flags)
{
    BEGIN(cuGraphInstantiate, true);
    CHECK_LIVE(graph, GRAPH, cuGraphInstantiate);
    fake_blocks("cuGraphInstantiate");
    if (flags != 0)
        return leave(INVALID_VALUE);
    struct cuda_graph_run_ *r = fake_make(GRAPH_RUN, sizeof(*r));
    r->from = graph;
    r->launches = calloc(graph->count + (size_t)1, sizeof(*r->launches));
    for (const struct cuda_node_ *n = graph->nodes; n; n = n->next)
        copy_parameters(&r->launches[n->number], &n->launch);
    *run = r;
    return leave(0);
}

cuda_result cuGraphExecKernelNodeSetParams(
    cuda_graph_run run, cuda_node node, const struct cuda_node_params *params)
{
    struct operation launch;

    BEGIN(cuGraphExecKernelNodeSetParams, true);
    CHECK_LIVE(run, GRAPH_RUN, cuGraphExecKernelNodeSetParams);
    if (node->graph != run->from ||
        params->function != run->launches[node->number].function) {
        fake_complain("a node of another graph, or another kernel for it");
        return leave(INVALID_VALUE);
    }
    if (!fake_describe(params->function, params->grid, params->block,
                       params->shared_bytes, params->parameters, params->extra,
                       &launch))
        return leave(INVALID_VALUE);
    free(run->launches[node->number].parameters);
    run->launches[node->number] = launch;
    return leave(0);
}

cuda_result cuGraphUpload(cuda_graph_run run, cuda_stream stream)
{
    BEGIN(cuGraphUpload, true);
    CHECK_LIVE(run, GRAPH_RUN, cuGraphUpload);
    CHECK_LIVE(stream, STREAM, cuGraphUpload);
    fake_blocks("cuGraphUpload");
    run->uploaded = true;
    return leave(0);
}

cuda_result cuGraphLaunch(cuda_graph_run run, cuda_stream stream)
{
    BEGIN(cuGraphLaunch, true);
    CHECK_LIVE(run, GRAPH_RUN, cuGraphLaunch);
    CHECK_LIVE(stream, STREAM, cuGraphLaunch);
    if (!run->uploaded) // memory is allocated for it
        fake_blocks("cuGraphLaunch of a graph that was not uploaded");
    atomic_fetch_add(&fake_launches, 1);
    fake_enqueue(stream, (struct operation){.kind = RUN_GRAPH, .graph = run});
    return leave(0);
}

static bool is_ready(const struct cuda_node_ *n, const bool *done)
{
    for (size_t i = 0; i < n->after_count; i++)
        if (!done[n->after[i]->number])
            return false;
    return true;
}

void fake_run_graph(struct cuda_graph_run_ *run)
{
    unsigned left = run->from->count;
    bool *done = calloc(left + (size_t)1, sizeof(*done));

    while (left > 0) {
        const struct cuda_node_ *n = run->from->nodes;
        while (done[n->number] || !is_ready(n, done))
            n = n->next;
        fake_run_operation(&run->launches[n->number]);
        done[n->number] = true;
        left--;
    }
    free(done);
}

cuda_result cuGraphExecDestroy(cuda_graph_run run)
{
    pthread_mutex_lock(&fake_lock);
    atomic_fetch_add(&fake_calls, 1);
    CHECK_LIVE(run, GRAPH_RUN, cuGraphExecDestroy);
    if (run->from->object.gone)
        fake_complain("a graph goes before what runs it");
    run->object.gone = true;
    for (unsigned i = 0; i < run->from->count; i++)
        free(run->launches[i].parameters);
    free(run->launches);
    return leave(0);
}

cuda_result cuGraphDestroy(cuda_graph graph)
{
    pthread_mutex_lock(&fake_lock);
    atomic_fetch_add(&fake_calls, 1);
    CHECK_LIVE(graph, GRAPH, cuGraphDestroy);
    graph->object.gone = true;
    while (graph->nodes) {
        struct cuda_node_ *n = graph->nodes;
        graph->nodes = n->next;
        free(n->launch.parameters);
        free(n->after);
        free(n);
    }
    return leave(0);
}
