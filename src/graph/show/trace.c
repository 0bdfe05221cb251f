// The trace of a runtime with what a graph did in its last run: its passes in
// lanes of their own, arrows from each to those that waited for it, how much
// was alive, how many units were busy, and the graph itself.
#include "base/error.h"
#include "graph/model/compact.h"
#include "graph/show/print.h"

#include <inttypes.h>
#include <stdlib.h>

// One file in the format of Chrome's trace events, which Perfetto reads:
//
//     process 1   tracks of workers and units, written by trace/trace.c
//     process 2   lanes of passes; flows between them; counters
//     "heddle"    the graph as JSON, as hd_graph_print() writes it
//
// Times are in [ns] here and become [us] in the file (hdi_trace_time). Those of
// passes count from the start of the run; `origin` is that start, as the trace
// counts.
enum {
    PROCESS = 2 // number of the passes' lanes; workers and units are in 1
};

// Whatever was busy, as a change of its number at a time.
struct change {
    uint64_t time;
    int by;
};

// Lives during one call of hd_graph_trace_write(). `failed`: there was no
// memory for some change.
struct writing {
    const struct hd_graph *graph;
    struct hdi_picture picture;
    struct change *changes; // of busy units
    size_t count, capacity;
    bool failed;
};

// Called for each leaf in the trace, of any track. Two changes for each, which
// sorting puts in order; the visit cannot be stopped, so a failure is noted and
// told at the end.
static void note_busy(void *data, const char *track,
                      const struct hdi_record *record)
{
    struct writing *w = data;

    (void)track;
    if (w->count + 2 > w->capacity) {
        size_t capacity = w->capacity ? 2 * w->capacity : 4096;
        struct change *grown = realloc(w->changes, capacity * sizeof(*grown));
        if (!grown) {
            w->failed = true;
            return;
        }
        w->changes = grown;
        w->capacity = capacity;
    }
    w->changes[w->count++] = (struct change){record->begin, 1};
    w->changes[w->count++] = (struct change){record->end, -1};
}

// At one time ends come before beginnings, so that the number of busy units is
// never too large.
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->by - y->by;
}

// Up to its time; the caller goes on and closes the brace.
static void begin_event(struct hdi_text *text, const char *name,
                        const char *category, const char *phase, uint32_t lane,
                        uint64_t time)
{
    hdi_text_print(text, ",\n{\"name\":");
    hdi_text_json(text, name);
    hdi_text_print(text,
                   ",\"cat\":\"%s\",\"ph\":\"%s\",\"pid\":%d,"
                   "\"tid\":%" PRIu32 ",\"ts\":",
                   category, phase, PROCESS, lane);
    hdi_trace_time(text, time);
}

static void add_counter(struct hdi_text *text, const char *name,
                        const char *what, uint64_t time, uint64_t value)
{
    begin_event(text, name, "counters", "C", 0, time);
    hdi_text_print(text, ",\"args\":{\"%s\":%" PRIu64 "}}", what, value);
}

// A counter holds until its next value, so of changes at one time only the last
// is written. What began before the trace did counts from its start.
static void add_busy(struct writing *w, uint64_t start, struct hdi_text *text)
{
    int64_t busy = 0;

    if (w->count > 0)
        qsort(w->changes, w->count, sizeof(*w->changes), compare_changes);
    for (size_t i = 0; i < w->count; i++) {
        busy += w->changes[i].by;
        if (i + 1 < w->count && w->changes[i + 1].time == w->changes[i].time)
            continue;
        uint64_t time = w->changes[i].time;
        add_counter(text, "busy units", "units",
                    time > start ? time - start : 0, (uint64_t)busy);
    }
}

static void add_passes(const struct writing *w, uint64_t origin,
                       struct hdi_text *text)
{
    const struct hd_graph *graph = w->graph;

    hdi_text_print(text,
                   ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
                   "\"args\":{\"name\":\"passes\"}}",
                   PROCESS);
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        const struct hdi_picture_pass *shown = &w->picture.passes[i];
        if (!shown->ran)
            continue;
        begin_event(text, pass->name, "graph", "X", shown->lane,
                    origin + pass->begin);
        hdi_text_print(text, ",\"dur\":");
        hdi_trace_time(text, pass->end - pass->begin);
        hdi_text_print(text,
                       ",\"args\":{\"pass\":%" PRIu32 ",\"work-items\":%" PRIu64
                       ",\"critical\":%s}}",
                       i, pass->work_items, shown->critical ? "true" : "false");
    }
}

// From the end of one pass to the beginning of the other.
//
// An arrow is two events of one id, the number of the edge: "s" where it
// starts, "f" where it ends. "bp":"e" binds the end to the slice around it, not
// to the next one. Edges that others imply would only hide the ones that are
// waited for.
static void add_flows(const struct writing *w, uint64_t origin,
                      struct hdi_text *text)
{
    const struct hd_graph *graph = w->graph;

    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        const struct hdi_picture_pass *from = &w->picture.passes[e->from];
        const struct hdi_picture_pass *to = &w->picture.passes[e->to];
        if (!from->ran || !to->ran || e->implied)
            continue;
        begin_event(text, "waits", "graph", "s", from->lane,
                    origin + graph->passes.at[e->from].end);
        hdi_text_print(text, ",\"id\":%" PRIu32 "}", i);
        begin_event(text, "waits", "graph", "f", to->lane,
                    origin + graph->passes.at[e->to].begin);
        hdi_text_print(text, ",\"bp\":\"e\",\"id\":%" PRIu32 "}", i);
    }
}

static void add_events(void *data, uint64_t start, struct hdi_text *text)
{
    struct writing *w = data;
    uint64_t origin = w->graph->start > start ? w->graph->start - start : 0;

    add_passes(w, origin, text);
    add_flows(w, origin, text);
    for (uint32_t i = 0; i < w->picture.step_count; i++)
        add_counter(text, "memory", "live bytes",
                    origin + w->picture.steps[i].time,
                    w->picture.steps[i].bytes);
    add_busy(w, start, text);
    hdi_text_print(text, ",\n{\"name\":\"run\",\"cat\":\"graph\",\"ph\":\"i\","
                         "\"s\":\"g\",\"pid\":1,\"tid\":0,\"ts\":");
    hdi_trace_time(text, origin);
    hdi_text_print(text, "}");
}

static void add_graph(void *data, struct hdi_text *text)
{
    struct writing *w = data;

    hdi_text_print(text, ",\n\"heddle\":");
    hdi_graph_print(w->graph, &w->picture, HD_GRAPH_JSON, text);
}

// Linking does nothing in a graph that ran and was not changed since. Counters
// of workers and units come into the trace first (hdi_launcher_trace), which
// nobody writes meanwhile: the graph does not run.
hd_status hd_graph_trace_write(const struct hd_graph *graph, FILE *file,
                               struct hd_error *error)
{
    struct writing w = {.graph = graph};
    const struct hdi_trace_more more = {add_events, add_graph, &w};

    if (!graph || !file)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_trace_write() takes a graph and a file");
    struct hdi_launcher *launcher = graph->context.launcher;
    if (!launcher->trace)
        return hdi_fail(error, HD_EINVAL,
                        "the runtime was made without a trace; set "
                        "hd_runtime_params.trace");
    HDI_TRY(hdi_graph_expand((struct hd_graph *)(uintptr_t)graph, error));
    hdi_launcher_trace(launcher);
    hd_status status = HD_ENOMEM;
    if (hdi_graph_link((struct hd_graph *)(uintptr_t)graph) &&
        hdi_picture_make(graph, &w.picture)) {
        hdi_trace_visit(launcher->trace, HDI_EVENT_chunk, note_busy, &w);
        if (!w.failed)
            status = hdi_trace_write(launcher->trace, &more, file);
        hdi_picture_free(&w.picture);
    }
    free(w.changes);
    if (status != HD_OK)
        return hdi_fail(error, status, "the trace could not be written: %s",
                        hd_status_text(status));
    return HD_OK;
}
