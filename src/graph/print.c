// A graph as text: for people with Graphviz, for tools as JSON. Resources that
// no pass uses are left out, but for outputs.
#include "graph/model.h"

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

static void dot_pass(const struct hd_graph *graph, uint32_t index,
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
    hdi_text_print(text, "\"%s];\n", p->dropped ? ", color=gray" : "");
}

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

static void print_dot(const struct hd_graph *graph, struct hdi_text *text)
{
    hdi_text_print(text, "digraph heddle {\n"
                         "  node [fontname=\"sans-serif\"];\n");
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        const struct hdi_resource *r = &graph->resources.at[i];
        for (uint32_t v = !r->is_input; is_shown(r) && v <= r->versions; v++)
            dot_version(r, i, v, text);
    }
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        dot_pass(graph, i, text);
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

static void json_pass(const struct hd_graph *graph, uint32_t index,
                      struct hdi_text *text)
{
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
    hdi_text_print(text, "}");
}

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

static void print_json(const struct hd_graph *graph, struct hdi_text *text)
{
    static const char *const kinds[] = {"read", "overwrite", "write", "order"};
    const char *comma = "";

    hdi_text_print(text, "{\"passes\":[");
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        hdi_text_print(text, "%s\n", i ? "," : "");
        json_pass(graph, i, text);
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
        hdi_text_print(text, "%s\n{\"from\":%u,\"to\":%u,\"kind\":\"%s\"}",
                       i ? "," : "", e->from, e->to, kinds[e->kind]);
    }
    hdi_text_print(text, "]}\n");
}

hd_status hd_graph_print(const struct hd_graph *graph,
                         enum hd_graph_format format, FILE *file)
{
    struct hdi_text text = {0};

    if (!graph || !file)
        return HD_EINVAL;
    if (!hdi_graph_link((struct hd_graph *)(uintptr_t)graph))
        return HD_ENOMEM;
    if (format == HD_GRAPH_DOT)
        print_dot(graph, &text);
    else
        print_json(graph, &text);

    hd_status status = text.failed ? HD_ENOMEM : HD_OK;
    if (status == HD_OK &&
        (fwrite(text.data, 1, text.size, file) != text.size ||
         fflush(file) != 0))
        status = HD_EIO;
    hdi_text_free(&text);
    return status;
}
