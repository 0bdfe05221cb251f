// A graph as text: for people with Graphviz, for tools as JSON. Resources that
// no pass uses are left out, but for outputs.
#include "graph/show/print.h"

#include "graph/model/compact.h"

#include "graph/show/picture.h"

#include "base/text.h"

static bool is_shown(const struct hdi_resource *r)
{
    return r->users > 0 || r->is_output;
}

// Graphviz --------------------------------------------------------------------

// The inside of a quoted label; it would read a backslash as an escape.
static void print_label(struct hdi_text *text, const char *label)
{
    for (const char *c = label; *c; c++) {
        if (*c == '"' || *c == '\\')
            hdi_text_append(text, "\\", 1);
        if (*c == '\n')
            hdi_text_append(text, "\\n", 2);
        else
            hdi_text_append(text, c, 1);
    }
}

// A box with name, place and time. Red: on the critical path; grey: dropped. A
// picture drawn before any run shows no times.
static void dot_pass(const struct hd_graph *graph,
                     const struct hdi_picture *picture, uint32_t index,
                     struct hdi_text *text)
{
    const struct hdi_pass *p = &graph->passes.at[index];

    hdi_text_print(text, "  p%u [shape=box, label=\"", index);
    print_label(text, p->name);
    if (p->where[0]) {
        hdi_text_append(text, "\\n", 2);
        print_label(text, p->where);
    }
    if (p->end > 0)
        hdi_text_print(text, "\\n%.3f ms", (double)(p->end - p->begin) * 1e-6);
    hdi_text_print(text, "\"%s];\n",
                   p->dropped                        ? ", color=gray"
                   : picture->passes[index].critical ? ", color=red, penwidth=2"
                                                     : "");
}

// Passes in a cluster of the unit that began them.
static void dot_unit(const struct hd_graph *graph,
                     const struct hdi_picture *picture, uint32_t unit,
                     struct hdi_text *text)
{
    const char *name = picture->units[unit];

    hdi_text_print(text,
                   "  subgraph cluster_%u {\n"
                   "  color=lightgray; label=\"",
                   unit);
    print_label(text, name);
    hdi_text_print(text, "\";\n");
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (picture->passes[i].unit == name)
            dot_pass(graph, picture, i, text);
    hdi_text_print(text, "  }\n");
}

// An ellipse for each version of a resource: bold where the caller hands it in,
// doubled where it is an output. A version number is shown only if there are
// several.
static void dot_version(const struct hdi_resource *r, uint32_t index,
                        uint32_t version, struct hdi_text *text)
{
    bool last = version == r->versions;

    hdi_text_print(text, "  r%u_%u [shape=ellipse, label=\"", index, version);
    print_label(text, r->name);
    if (r->versions + r->is_input > 1)
        hdi_text_print(text, " v%u", version);
    hdi_text_print(text, "\\n%s ", r->type->name);
    for (unsigned i = 0; i < r->shape.axes; i++)
        hdi_text_print(text, "%s%llu", i ? " x " : "",
                       (unsigned long long)r->shape.extent[i]);
    hdi_text_print(text, "\"%s%s];\n",
                   version == 0 && r->is_input ? ", style=bold" : "",
                   last && r->is_output ? ", peripheries=2" : "");
}

// A write leads from the pass to the next version, even if it is made in place:
// the drawing shows values, not memory.
static void dot_accesses(const struct hd_graph *graph, uint32_t index,
                         struct hdi_text *text)
{
    const struct hdi_pass *p = &graph->passes.at[index];

    for (uint32_t i = 0; i < p->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[p->accesses + i];
        if (a->reads)
            hdi_text_print(text, "  r%u_%u -> p%u;\n", a->resource, a->version,
                           index);
        if (a->writes)
            hdi_text_print(text, "  p%u -> r%u_%u;\n", index, a->resource,
                           a->version + 1);
    }
}

// Passes are printed within the cluster of their unit, once; where there is no
// trace, at the top level.
static void print_dot(const struct hd_graph *graph,
                      const struct hdi_picture *picture, struct hdi_text *text)
{
    hdi_text_print(text, "digraph heddle {\n"
                         "  node [fontname=\"sans-serif\"];\n");
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        const struct hdi_resource *r = &graph->resources.at[i];
        for (uint32_t v = !r->is_input; is_shown(r) && v <= r->versions; v++)
            dot_version(r, i, v, text);
    }
    for (uint32_t i = 0; i < picture->unit_count; i++)
        dot_unit(graph, picture, i, text);
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        if (!picture->passes[i].unit)
            dot_pass(graph, picture, i, text);
        dot_accesses(graph, i, text);
    }
    // Reads go through resources. What else makes a pass wait is shown between
    // the passes themselves.
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        if (e->kind != HDI_EDGE_READ)
            hdi_text_print(text, "  p%u -> p%u [style=%s];\n", e->from, e->to,
                           e->kind == HDI_EDGE_ORDER ? "dashed" : "dotted");
    }
    hdi_text_print(text, "}\n");
}

// JSON ------------------------------------------------------------------------

static void json_accesses(const struct hd_graph *graph,
                          const struct hdi_pass *p, bool writes,
                          struct hdi_text *text)
{
    const char *comma = "";

    for (uint32_t i = 0; i < p->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[p->accesses + i];
        if (!(writes ? a->writes : a->reads))
            continue;
        hdi_text_print(text, "%s{\"resource\":%u,\"version\":%u}", comma,
                       a->resource, a->version + writes);
        comma = ",";
    }
}

// What is known of a pass from all its runs, on this machine. Keys are there
// only for passes that were weighed for the next run.
static void json_history(const struct hd_graph *graph, uint32_t index,
                         struct hdi_text *text)
{
    struct hdi_experience e;

    if (!graph->prepared || !graph->keys || index < graph->first ||
        graph->passes.at[index].dropped ||
        !hdi_feedback_find(graph->context.feedback, &graph->keys[index], &e))
        return;
    hdi_text_print(text,
                   ",\"history\":{\"runs\":%u,\"time_ns\":%.0f,"
                   "\"deviation_ns\":%.0f,\"busy_ns\":%.0f,"
                   "\"bytes_per_s\":%.0f,\"last\":%llu}",
                   e.runs, e.time, e.deviation, e.busy, e.bandwidth,
                   (unsigned long long)e.last);
}

// Passes have numbers in program order, which edges and accesses name.
// "earlier": the times are those of a run before the last.
static void json_pass(const struct hd_graph *graph,
                      const struct hdi_picture *picture, uint32_t index,
                      struct hdi_text *text)
{
    const struct hdi_picture_pass *shown = &picture->passes[index];
    const struct hdi_pass *p = &graph->passes.at[index];

    hdi_text_print(text, "{\"id\":%u,\"name\":", index);
    hdi_text_json(text, p->name);
    hdi_text_print(text, ",\"where\":");
    hdi_text_json(text, p->where);
    hdi_text_print(text, ",\"work_items\":%llu,\"reads\":[",
                   (unsigned long long)p->work_items);
    json_accesses(graph, p, false, text);
    hdi_text_print(text, "],\"writes\":[");
    json_accesses(graph, p, true, text);
    hdi_text_print(text, "]");
    if (p->dropped)
        hdi_text_print(text, ",\"dropped\":true");
    if (p->end > 0)
        hdi_text_print(text, ",\"begin_ns\":%llu,\"end_ns\":%llu",
                       (unsigned long long)p->begin,
                       (unsigned long long)p->end);
    if (p->end > 0)
        hdi_text_print(text, ",\"busy_ns\":%llu,\"earlier\":%s",
                       (unsigned long long)p->busy,
                       shown->ran ? "false" : "true");
    if (shown->critical)
        hdi_text_print(text, ",\"critical\":true");
    if (shown->unit) {
        hdi_text_print(text, ",\"unit\":");
        hdi_text_json(text, shown->unit);
    }
    json_history(graph, index, text);
    hdi_text_print(text, "}");
}

// What the scheduler thought, what came out, and what was alive when.
static void json_run(const struct hd_graph *graph,
                     const struct hdi_picture *picture, struct hdi_text *text)
{
    static const char *const schedulers[] = {"", "host", "units", "launches"};
    struct hd_graph_statistics s;

    if (!graph->prepared)
        return;
    hd_graph_stats(graph, &s);
    hdi_text_print(
        text,
        ",\n\"schedule\":{\"makespan_ns\":%llu,\"predicted_ns\":%llu,"
        "\"area_ns\":%llu,\"critical_path_ns\":%llu,\"known\":%u,"
        "\"dropped\":%u,\"edges\":%u,\"barriers\":%u,\"parts\":%u,"
        "\"batches\":%u,\"batched\":%u,\"live_bytes\":%llu,"
        "\"heap_bytes\":%llu,\"appended\":%u,\"by\":\"%s\","
        "\"not_by_device\":",
        (unsigned long long)s.makespan, (unsigned long long)s.predicted,
        (unsigned long long)s.area, (unsigned long long)s.critical_path,
        s.known, s.dropped, s.edges, s.barriers, s.parts, s.batches, s.batched,
        (unsigned long long)s.live, (unsigned long long)s.heap, s.appended,
        schedulers[s.by]);
    hdi_text_json(text, s.not_by_device);
    hdi_text_print(text, "},\n\"memory\":[");
    for (uint32_t i = 0; i < picture->step_count; i++)
        hdi_text_print(text, "%s{\"time_ns\":%llu,\"bytes\":%llu}",
                       i ? "," : "", (unsigned long long)picture->steps[i].time,
                       (unsigned long long)picture->steps[i].bytes);
    hdi_text_print(text, "]");
}

// "id" is the index that accesses name; resources that are not shown leave
// gaps.
static void json_resource(const struct hdi_resource *r, uint32_t index,
                          struct hdi_text *text)
{
    hdi_text_print(text, "{\"id\":%u,\"name\":", index);
    hdi_text_json(text, r->name);
    hdi_text_print(text, ",\"where\":");
    hdi_text_json(text, r->where);
    hdi_text_print(text, ",\"type\":\"%s\",\"extent\":[", r->type->name);
    for (unsigned i = 0; i < r->shape.axes; i++)
        hdi_text_print(text, "%s%llu", i ? "," : "",
                       (unsigned long long)r->shape.extent[i]);
    hdi_text_print(text, "],\"bytes\":%llu,\"input\":%s,\"versions\":%u}",
                   (unsigned long long)r->size, r->is_input ? "true" : "false",
                   r->versions);
}

static void print_json(const struct hd_graph *graph,
                       const struct hdi_picture *picture, struct hdi_text *text)
{
    static const char *const kinds[] = {
        [HDI_EDGE_READ] = "read",     [HDI_EDGE_OVERWRITE] = "overwrite",
        [HDI_EDGE_WRITE] = "write",   [HDI_EDGE_ORDER] = "order",
        [HDI_EDGE_MEMORY] = "memory", [HDI_EDGE_TURN] = "turn"};
    const char *comma = "";

    hdi_text_print(text, "{\"passes\":[");
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        hdi_text_print(text, "%s\n", i ? "," : "");
        json_pass(graph, picture, i, text);
    }
    hdi_text_print(text, "],\n\"resources\":[");
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        if (!is_shown(&graph->resources.at[i]))
            continue;
        hdi_text_print(text, "%s\n", comma);
        json_resource(&graph->resources.at[i], i, text);
        comma = ",";
    }
    hdi_text_print(text, "],\n\"outputs\":[");
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        hdi_text_print(text, "%s\n{\"name\":", i ? "," : "");
        hdi_text_json(text, graph->outputs.at[i].name);
        hdi_text_print(text, ",\"resource\":%u}",
                       graph->outputs.at[i].resource);
    }
    hdi_text_print(text, "],\n\"edges\":[");
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        hdi_text_print(text, "%s\n{\"from\":%u,\"to\":%u,\"kind\":\"%s\"%s}",
                       i ? "," : "", e->from, e->to, kinds[e->kind],
                       e->implied ? ",\"implied\":true" : "");
    }
    hdi_text_print(text, "]");
    json_run(graph, picture, text);
    hdi_text_print(text, "}\n");
}

void hdi_graph_print(const struct hd_graph *graph,
                     const struct hdi_picture *picture,
                     enum hd_graph_format format, struct hdi_text *text)
{
    if (format == HD_GRAPH_DOT)
        print_dot(graph, picture, text);
    else
        print_json(graph, picture, text);
}

// All text is made in memory first, so that a failure of memory writes nothing.
// HD_EIO: the file has a part of it, maybe.
hd_status hd_graph_print(const struct hd_graph *graph,
                         enum hd_graph_format format, FILE *file)
{
    struct hdi_text text = {0};
    struct hdi_picture picture;

    if (!graph || !file)
        return HD_EINVAL;
    struct hd_graph *g = (struct hd_graph *)(uintptr_t)graph;
    if (hdi_graph_expand(g, NULL) != HD_OK || !hdi_graph_link(g) ||
        !hdi_picture_make(graph, &picture))
        return HD_ENOMEM;
    hdi_graph_print(graph, &picture, format, &text);
    hdi_picture_free(&picture);

    hd_status status = text.failed ? HD_ENOMEM : HD_OK;
    if (status == HD_OK &&
        (fwrite(text.data, 1, text.size, file) != text.size ||
         fflush(file) != 0))
        status = HD_EIO;
    hdi_text_free(&text);
    return status;
}
