// What a caller may ask about a graph.
#include "graph/model.h"

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
    *result = (struct hd_graph_result){
        .name = o->name, .shape = r->shape, .buffer = r->memory};
    return true;
}

unsigned hd_graph_pass_count(const struct hd_graph *graph)
{
    return graph->passes.count;
}

bool hd_graph_pass_info(const struct hd_graph *graph, unsigned index,
                        struct hd_pass_info *info)
{
    if (index >= graph->passes.count)
        return false;

    const struct hdi_pass *p = &graph->passes.at[index];
    *info = (struct hd_pass_info){.name = p->name,
                                  .where = p->where,
                                  .begin = p->begin,
                                  .end = p->end,
                                  .work_items = p->work_items};
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
