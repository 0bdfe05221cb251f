// What a caller may ask about a graph.
#include "base/error.h"
#include "graph/model/compact.h"
#include "graph/order/order.h"
#include <limits.h>

unsigned hd_graph_output_count(const struct hd_graph *graph)
{
    return graph->outputs.count;
}

bool hd_graph_result(const struct hd_graph *graph, unsigned index,
                     struct hd_graph_result *result)
{
    if (index >= graph->outputs.count)
        return false;

    const struct hdi_output *o = &graph->outputs.at[index];
    const struct hdi_resource *r = &graph->resources.at[o->resource];
    *result = (struct hd_graph_result){.name = o->name,
                                       .shape = r->shape,
                                       .buffer = r->is_output ? r->kept : NULL};
    return true;
}

// Three places may hold a resource: what a run kept of it; the input, as long
// as no pass writes the resource; in an open run its slot, for what had joined
// by then. The graph is expanded here, although it is const for the caller: a
// compact graph has no resources to look at.
hd_status hd_graph_contents(const struct hd_graph *graph, hd_resource resource,
                            uint64_t offset, void *memory, uint64_t size,
                            struct hd_error *error)
{
    if (graph)
        HDI_TRY(hdi_graph_expand((struct hd_graph *)(uintptr_t)graph, error));

    const struct hdi_resource *r =
        graph ? hdi_graph_find(graph, resource) : NULL;

    if (!r || (!memory && size > 0))
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_contents() takes a graph, one of its "
                        "resources and memory");
    if (offset > r->size || size > r->size - offset)
        return hdi_fail(error, HD_EINVAL,
                        "resource '%s' has %llu bytes, not %llu from %llu on",
                        r->name, (unsigned long long)r->size,
                        (unsigned long long)size, (unsigned long long)offset);
    const struct hd_buffer *buffer = r->kept            ? r->kept
                                     : r->versions == 0 ? r->input
                                                        : NULL;
    if (graph->open.is && resource <= graph->open.resources &&
        r->slot != HDI_NONE)
        buffer = graph->slots.at[r->slot].memory;
    if (!buffer)
        return hdi_fail(error, HD_EGRAPH,
                        "resource '%s' holds nothing now: advance the graph, "
                        "or make it an output and run it",
                        r->name);
    return hd_buffer_read(buffer, offset, memory, size, error);
}

unsigned hd_graph_pass_count(const struct hd_graph *graph)
{
    if (graph->calls)
        return graph->calls->passes.count;
    return graph->passes.count;
}

// In a compact graph no pass is ever inserted, so handles are places.
unsigned hd_graph_pass_index(const struct hd_graph *graph, hd_pass pass)
{
    if (graph->calls)
        return pass > 0 && pass <= graph->calls->passes.count ? pass - 1
                                                              : UINT_MAX;
    uint32_t index = hdi_graph_find_pass(graph, pass);

    return index == HDI_NONE ? UINT_MAX : index;
}

// A run of calls takes no times of single passes: that would cost as much as
// they do.
bool hd_graph_pass_info(const struct hd_graph *graph, unsigned index,
                        struct hd_pass_info *info)
{
    if (index >= hd_graph_pass_count(graph))
        return false;
    if (graph->calls) {
        struct hdi_calls_label label = hdi_calls_label(graph->calls, index);
        *info = (struct hd_pass_info){.name = label.name, .where = label.where};
        return true;
    }

    const struct hdi_pass *p = &graph->passes.at[index];
    *info = (struct hd_pass_info){.name = p->name,
                                  .where = p->where,
                                  .begin = p->begin,
                                  .end = p->end,
                                  .work_items = p->work_items,
                                  .busy = p->busy,
                                  .dropped = p->dropped};
    if (p->end > 0)
        info->bytes = hdi_graph_moved(graph, p, &info->counted);
    return true;
}

unsigned hd_graph_program_count(const struct hd_graph *graph, unsigned *cached)
{
    *cached = 0;
    for (uint32_t i = 0; i < graph->programs.count; i++)
        *cached += hd_program_was_cached(graph->programs.at[i].program);
    return graph->programs.count;
}

uint64_t hd_graph_peak_memory(const struct hd_graph *graph)
{
    return graph->memory.peak;
}

// What runs before have told, for those that go on from there: what can be
// counted is added up, and so are bounds, as one run begins when the other has
// ended.
static void add_earlier(const struct hd_graph_statistics *earlier,
                        struct hd_graph_statistics *s)
{
    s->dropped += earlier->dropped;
    s->known += earlier->known;
    s->edges += earlier->edges;
    s->barriers += earlier->barriers;
    s->split += earlier->split;
    s->parts += earlier->parts;
    s->batches += earlier->batches;
    s->batched += earlier->batched;
    s->makespan += earlier->makespan;
    s->predicted += earlier->predicted;
    s->area += earlier->area;
    s->critical_path += earlier->critical_path;
    s->appended += earlier->appended;
    if (s->by == HD_GRAPH_BY_ANY)
        s->by = earlier->by;
}

// All 0, but for the passes, until the graph is prepared. The edges of a
// compact graph are derived here if the run did without them; without memory
// they stay 0. Of passes that were to be split some stayed whole
// (order/split.c): these are not counted.
void hd_graph_stats(const struct hd_graph *graph,
                    struct hd_graph_statistics *statistics)
{
    *statistics = (struct hd_graph_statistics){
        .passes = hd_graph_pass_count(graph), .not_by_device = ""};
    if (!graph->prepared && !graph->was_open)
        return;
    if (graph->calls) {
        statistics->makespan = graph->took;
        if (hdi_calls_link(graph->calls))
            statistics->edges = statistics->barriers =
                graph->calls->first[statistics->passes];
        return;
    }
    statistics->dropped = graph->dropped;
    statistics->checked = graph->checked;
    statistics->known = graph->forecast.known;
    statistics->edges = graph->edges.count;
    statistics->barriers = graph->barriers;
    for (uint32_t i = 0; i < graph->splits.count; i++) {
        const struct hdi_split *split = &graph->splits.at[i];
        bool runs = graph->passes.at[split->pass].split == i;
        statistics->split += runs;
        statistics->parts += runs ? split->parts : 0;
    }
    for (uint32_t i = 0; graph->flow.member && i < graph->flow.count; i++) {
        uint32_t passes =
            graph->flow.first_member[i + 1] - graph->flow.first_member[i];
        statistics->batches += passes > 1;
        statistics->batched += passes > 1 ? passes : 0;
    }
    statistics->makespan = graph->took;
    statistics->predicted = graph->forecast.makespan;
    statistics->area = graph->forecast.area;
    statistics->critical_path = graph->forecast.critical_path;
    statistics->planned = graph->arena.planned;
    statistics->recalled = graph->arena.planned && graph->arena.recalled;
    statistics->live = graph->memory.peak;
    statistics->heap = graph->memory.held;
    statistics->by = graph->took > 0 ? graph->offload.by : HD_GRAPH_BY_ANY;
    statistics->not_by_device = graph->offload.why;
    statistics->appended =
        atomic_load_explicit(&graph->appended, memory_order_relaxed);
    add_earlier(&graph->earlier, statistics);
}
