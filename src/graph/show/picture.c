// What a picture needs that a graph does not have is found here, from the times
// of the last run, its edges, its slots and the trace. Each part is a pass over
// all of them, and a sort: pictures are made when somebody asks, never by a
// run.
#include "graph/show/picture.h"

#include <stdlib.h>
#include <string.h>

#include "graph/plan/tasks.h"

// Sorting ---------------------------------------------------------------------

// Passes by a time [ns]; the index decides between equal ones, so that a
// picture is the same each time.
struct entry {
    uint64_t key;
    uint32_t index;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Passes that ran, by when they began. NULL without memory.
static struct entry *sort_passes(const struct hd_graph *graph,
                                 const struct hdi_picture *picture,
                                 uint32_t *count)
{
    struct entry *list =
        malloc((graph->passes.count + (size_t)1) * sizeof(*list));

    *count = 0;
    for (uint32_t i = 0; list && i < graph->passes.count; i++)
        if (picture->passes[i].ran)
            list[(*count)++] = (struct entry){graph->passes.at[i].begin, i};
    if (list)
        qsort(list, *count, sizeof(*list), compare_entries);
    return list;
}

// Lanes -----------------------------------------------------------------------

// Each pass goes to the first lane that is free when it begins.
//
// As many lanes as passes overlapped at most:
//
//     lane 0   [ a    ][ c  ]   [ e ]
//     lane 1      [ b     ] [ d   ]
static bool find_lanes(const struct hd_graph *graph,
                       struct hdi_picture *picture, const struct entry *list,
                       uint32_t count)
{
    uint64_t *ends = malloc((count + (size_t)1) * sizeof(*ends));

    for (uint32_t i = 0; ends && i < count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[list[i].index];
        uint32_t lane = 0;
        while (lane < picture->lanes && ends[lane] > pass->begin)
            lane++;
        if (lane == picture->lanes)
            picture->lanes++;
        ends[lane] = pass->end;
        picture->passes[list[i].index].lane = lane;
    }
    free(ends);
    return ends != NULL;
}

// Units -----------------------------------------------------------------------

// While records of the trace are matched with passes.
struct search {
    const struct hd_graph *graph;
    struct hdi_picture *picture;
    const struct entry *list;
    uint32_t count;
    uint32_t *unit; // of each pass, from 1 on
    bool failed;
};

// The number of a unit, from 1 on, which is made if need be; 0 without memory.
// `units` may move, so passes get addresses of names only when all are there.
static uint32_t find_unit(struct search *s, const char *name)
{
    struct hdi_picture *p = s->picture;

    for (uint32_t i = 0; i < p->unit_count; i++)
        if (strncmp(p->units[i], name, sizeof(*p->units) - 1) == 0)
            return i + 1;
    void *grown = realloc(p->units, (p->unit_count + 1) * sizeof(*p->units));
    if (!grown) {
        s->failed = true;
        return 0;
    }
    p->units = grown;
    memset(p->units[p->unit_count], 0, sizeof(*p->units));
    strncpy(p->units[p->unit_count], name, sizeof(*p->units) - 1);
    return ++p->unit_count;
}

// A record is that of a pass if it has its name and began at the very same
// time, as both were taken from one look at the clock. Several passes may have
// begun then: the first that has the name and no unit yet. Records of runs
// before this one began before graph->start, and are skipped.
static void match_record(void *data, const char *track,
                         const struct hdi_record *record)
{
    struct search *s = data;
    uint32_t low = 0, high = s->count;

    if (record->begin < s->graph->start)
        return;
    uint64_t begin = record->begin - s->graph->start;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->list[middle].key < begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && s->list[low].key == begin; low++) {
        uint32_t pass = s->list[low].index;
        if (s->graph->passes.at[pass].trace_name == record->what &&
            s->unit[pass] == 0) {
            s->unit[pass] = find_unit(s, track);
            return;
        }
    }
}

static bool find_units(const struct hd_graph *graph,
                       struct hdi_picture *picture, const struct entry *list,
                       uint32_t count)
{
    struct search s = {graph, picture, list, count, NULL, false};

    s.unit = calloc(graph->passes.count + (size_t)1, sizeof(*s.unit));
    if (!s.unit)
        return false;
    hdi_trace_visit(graph->context.launcher->trace, HDI_EVENT_pass,
                    match_record, &s);
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (s.unit[i] > 0)
            picture->passes[i].unit = picture->units[s.unit[i] - 1];
    free(s.unit);
    return !s.failed;
}

// The critical path -----------------------------------------------------------

// From the most urgent pass on, each time to the successor of which the rest of
// the chain is made: its rank is that of this pass less its cost. Of several
// such the first; one chain is marked.
static void mark_path(const struct hdi_tasks *tasks, const uint64_t *rank,
                      struct hdi_picture *picture)
{
    uint32_t at = 0;

    for (uint32_t i = 1; i < tasks->count; i++)
        if (rank[i] > rank[at])
            at = i;
    for (uint32_t next; at != HDI_NONE; at = next) {
        picture->passes[at].critical = true;
        next = HDI_NONE;
        for (uint32_t i = tasks->first[at]; i < tasks->first[at + 1]; i++)
            if (rank[tasks->successors[i]] == rank[at] - tasks->cost[at] &&
                next == HDI_NONE)
                next = tasks->successors[i];
    }
}

// At most 2^40, 18 minutes of time, so that sums along a chain stay within 64
// bits; at least 1, so that a longer chain of passes that take nothing counts
// more.
static uint64_t cost_of(const struct hdi_pass *pass, bool ran)
{
    const uint64_t most = UINT64_C(1) << 40;
    uint64_t cost = ran ? pass->end - pass->begin : pass->work_items;

    if (pass->dropped)
        return 0;
    return cost < 1 ? 1 : cost > most ? most : cost;
}

// Nothing is marked where passes wait for each other.
//
// Arrays of one type share an allocation:
//
//     cost   n costs | n ranks
//     rest   m successors | n order | n room for sorting
//
// `first` is made as in run/prepare.c, but of all edges, implied ones too.
// False without memory only.
static bool find_path(const struct hd_graph *graph, struct hdi_picture *picture)
{
    uint32_t n = graph->passes.count, m = graph->edges.count;
    uint64_t *cost = calloc(n + (size_t)1, 2 * sizeof(*cost));
    uint32_t *first = calloc(n + (size_t)2, sizeof(*first));
    uint32_t *rest = malloc((m + 2 * (size_t)n + 1) * sizeof(*rest));
    bool good = cost && first && rest;

    for (uint32_t i = 0; good && i < n; i++)
        cost[i] = cost_of(&graph->passes.at[i], picture->passes[i].ran);
    for (uint32_t i = 0; good && i < m; i++)
        first[graph->edges.at[i].from + 2]++;
    for (uint32_t i = 2; good && i < n + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; good && i < m; i++)
        rest[first[graph->edges.at[i].from + 1]++] = graph->edges.at[i].to;

    const struct hdi_tasks tasks = {n, cost, first, rest};
    if (good && n > 0 && hdi_tasks_sort(&tasks, rest + m, rest + m + n)) {
        hdi_tasks_rank(&tasks, rest + m, cost + n);
        mark_path(&tasks, cost + n, picture);
    }
    free(cost);
    free(first);
    free(rest);
    return good;
}

// Memory ----------------------------------------------------------------------

// Memory taken (bytes above 0) or given back at a time since the start [ns].
struct change {
    uint64_t time;
    int64_t bytes;
};

// At one time what is given back comes first: the step shows the sum after all.
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

// A slot dies with the last pass that uses it; what is an output, or was not
// used to its end, does not.
//
// Slots that no pass takes are the caller's memory and not counted. Times are
// those of passes, not of allocations: memory of an arena is counted while it
// is used.
static uint32_t list_slots(const struct hd_graph *graph,
                           const struct hdi_picture *picture,
                           struct change *changes, uint64_t *ends)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        for (uint32_t k = 0; picture->passes[i].ran && k < pass->access_count;
             k++) {
            uint64_t *end = &ends[graph->accesses.at[pass->accesses + k].slot];
            *end = pass->end > *end ? pass->end : *end;
        }
    }
    for (uint32_t i = 0; i < graph->slots.count; i++) {
        const struct hdi_graph_slot *slot = &graph->slots.at[i];
        const struct hdi_resource *r = &graph->resources.at[slot->resource];
        if (slot->first == HDI_NONE || !picture->passes[slot->first].ran)
            continue;
        changes[count++] = (struct change){graph->passes.at[slot->first].begin,
                                           (int64_t)r->size};
        bool stays = r->slot == i && (r->is_output || graph->keeps_all);
        if (!stays)
            changes[count++] = (struct change){ends[i], -(int64_t)r->size};
    }
    return count;
}

static uint32_t list_scratch(const struct hd_graph *graph,
                             const struct hdi_picture *picture,
                             struct change *changes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        for (uint32_t k = 0; picture->passes[i].ran && k < pass->scratch_count;
             k++) {
            int64_t size = (int64_t)graph->scratch.at[pass->scratch + k].size;
            changes[count++] = (struct change){pass->begin, size};
            changes[count++] = (struct change){pass->end, -size};
        }
    }
    return count;
}

// Each slot and each scratch makes two changes at most. A step is written for
// the last change of each time.
static bool follow_memory(const struct hd_graph *graph,
                          struct hdi_picture *picture)
{
    size_t most = 2 * ((size_t)graph->slots.count + graph->scratch.count) + 1;
    struct change *changes = malloc(most * sizeof(*changes));
    uint64_t *ends = calloc(graph->slots.count + (size_t)1, sizeof(*ends));
    uint64_t bytes = 0;

    picture->steps = malloc(most * sizeof(*picture->steps));
    bool good = changes && ends && picture->steps;
    if (good) {
        uint32_t count = list_slots(graph, picture, changes, ends);
        count += list_scratch(graph, picture, changes + count);
        qsort(changes, count, sizeof(*changes), compare_changes);
        for (uint32_t i = 0; i < count; i++) {
            bytes += (uint64_t)changes[i].bytes;
            if (i + 1 < count && changes[i + 1].time == changes[i].time)
                continue;
            picture->steps[picture->step_count++] =
                (struct hdi_picture_step){changes[i].time, bytes};
        }
    }
    free(changes);
    free(ends);
    return good;
}

// A pass has run if its end is known; passes before graph->first have times of
// an earlier run, which the trace and the lanes do not go with.
bool hdi_picture_make(const struct hd_graph *graph, struct hdi_picture *picture)
{
    uint32_t count;

    *picture = (struct hdi_picture){0};
    picture->passes =
        calloc(graph->passes.count + (size_t)1, sizeof(*picture->passes));
    for (uint32_t i = 0; picture->passes && i < graph->passes.count; i++)
        picture->passes[i].ran =
            graph->prepared && i >= graph->first && graph->passes.at[i].end > 0;
    struct entry *list =
        picture->passes ? sort_passes(graph, picture, &count) : NULL;
    bool good = list && find_lanes(graph, picture, list, count) &&
                find_units(graph, picture, list, count) &&
                find_path(graph, picture) && follow_memory(graph, picture);
    free(list);
    if (!good)
        hdi_picture_free(picture);
    return good;
}

void hdi_picture_free(struct hdi_picture *picture)
{
    free(picture->passes);
    free(picture->steps);
    free(picture->units);
    *picture = (struct hdi_picture){0};
}
