// Large passes in parts: boxes of the work-groups of a pass's launch, which are
// scheduled like passes, so that the next pass begins on the rows whose inputs
// are done.
//
// What a part reads and writes is an interval of bytes of each resource, from
// the footprints of its kernel. Program order is gone through once more, with a
// list of intervals for each slot that tells who wrote them last, and who has
// read them since.
//
// Invariant: of two parts of different passes that touch one byte, and of which
// one writes it, one comes before the other. Of one pass they do not, as its
// work-groups do not.
#include "graph/order/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launch/args/plan.h"

// A pass of less work than LEAST_WORK ends before its next one could gain much
// by its parts. Less than PART_WORK costs more to hand over than it brings.
// MAX_PARTS bounds the edges, which may be as many as pairs of parts.
enum {
    LEAST_WORK = 400000, // of a pass in parts [ns]
    PART_WORK = 100000,  // of a part, at least [ns]
    MAX_PARTS = 16
};

// Bytes of a resource, from the first up to the second; none if they are equal.
//
// An interval, though a part may touch rows with gaps: it may only be larger
// than what is touched, which costs an edge too many, never one too few.
struct reach {
    uint64_t read[2], write[2];
};

// Tasks in a list.
//
// In derivation.nodes; `next` is an index there, or HDI_NONE. Nodes are never
// given back, so lists may share their tails.
struct node {
    uint32_t task, next;
};

// Bytes of a slot, from `begin` to before `end`, that had the same fate. The
// segments of a slot are in order and without gaps:
//
//     | written by part 0 | by part 1, read by 5 | by nobody yet |
//     0                   4096                   8192            size
struct segment {
    uint64_t begin, end;
    uint32_t writers, readers; // lists: who wrote it last, who read that since
    uint32_t pass;             // of the writers
};

struct link {
    uint32_t from, to;
};

struct segments {
    HDI_ARRAY(struct segment) list;
};

// Lives during one call of hdi_graph_split(). Parts of a pass have tasks in a
// row: part k of pass p is first_task[p] + k. The intervals of access a of part
// k of split s are reach[first_reach[s] + k * access_count + a].
struct derivation {
    struct hd_graph *graph;
    struct hdi_task_graph *flow;
    uint32_t *first_task;   // of each pass
    struct reach *reach;    // of splits: parts, by accesses
    size_t *first_reach;    // of each split
    struct segments *slots; // as many as the graph's
    uint32_t *stamp;        // of each task: the last that got an edge from it
    HDI_ARRAY(struct node) nodes;
    HDI_ARRAY(struct link) links;
};

// What can be split ---------------------------------------------------------

static bool takes_images(const struct hd_graph *graph,
                         const struct hdi_command *c)
{
    for (uint32_t i = 0; i < c->arg_count; i++)
        if (graph->args.at[c->args + i].is == HD_PASS_IMAGE)
            return true;
    return false;
}

// Its memory begins as a copy of an input, which is made by one thread.
static bool takes_copies(const struct hd_graph *graph,
                         const struct hdi_pass *pass)
{
    uint32_t index = (uint32_t)(pass - graph->passes.at);

    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_graph_slot *slot =
            &graph->slots.at[graph->accesses.at[pass->accesses + i].slot];
        if (slot->first == index && slot->copies)
            return true;
    }
    return false;
}

// Only passes with one dispatch that is known to take long: parts of several
// commands would have to wait for each other. Scratch is one for the pass,
// images are made by one thread, and groups that wait for each other
// (HD_FORM_GRID) run together. Sets `*split` when it returns true. Parts follow
// each other along the last axis that has several groups, so that each has rows
// that lie together.
static bool can_split(const struct hd_graph *graph, uint32_t index,
                      struct hdi_split *split)
{
    const struct hdi_pass *pass = &graph->passes.at[index];
    const struct hdi_weight *weight = &graph->weights[index];
    struct hdi_plan plan;

    // Of a class passes are counted, not parts.
    if (pass->dropped || pass->agile || pass->class_index || !weight->known ||
        weight->work < LEAST_WORK || pass->command_count != 1)
        return false;
    const struct hdi_command *c = &graph->commands.at[pass->commands];
    if (c->is != HD_DISPATCH || pass->scratch_count > 0 ||
        takes_images(graph, c) || takes_copies(graph, pass))
        return false;
    const struct hd_kernel *kernel = graph->kernels.at[c->kernel].kernel;
    if (kernel->info.form == HD_FORM_GRID)
        return false;
    hdi_plan_shape(graph->context.launcher, kernel, &c->range, &plan);
    if (plan.groups < 2 || plan.groups > UINT32_MAX)
        return false;
    *split = (struct hdi_split){.pass = index, .range = c->range};
    for (unsigned i = 0; i < 3; i++) {
        split->groups[i] = plan.frame.group_count[i];
        if (i < c->range.dims)
            split->range.local[i] = plan.frame.local_size[i];
        if (split->groups[i] > 1)
            split->axis = i;
    }
    uint64_t parts = weight->work / PART_WORK;
    if (parts > MAX_PARTS)
        parts = MAX_PARTS;
    if (parts > split->groups[split->axis])
        parts = split->groups[split->axis];
    split->parts = (uint32_t)parts;
    return parts >= 2;
}

// The products are of 64 bits: parts differ by one group at most.
static struct hdi_box box_of(const struct hdi_split *s, uint32_t part)
{
    struct hdi_box box = {0};
    uint64_t groups = s->groups[s->axis];
    uint32_t first = (uint32_t)(groups * part / s->parts);
    uint32_t end = (uint32_t)(groups * (part + 1) / s->parts);

    for (unsigned i = 0; i < 3; i++)
        box.count[i] = s->groups[i];
    box.first[s->axis] = first;
    box.count[s->axis] = end - first;
    return box;
}

// Footprints ----------------------------------------------------------------

// The smallest interval that has both. What is beyond the resource does not
// count; a kernel that does it has been refused (fit.c).
static void widen(uint64_t reach[2], const struct hd_touched *touched,
                  uint64_t size)
{
    uint64_t begin = 0, end = size;

    if (touched->kind == HD_TOUCHES_NOTHING)
        return;
    if (touched->kind == HD_TOUCHES_ROWS) {
        int64_t last = touched->begin + (int64_t)touched->bytes;
        for (int i = 0; i < 2; i++)
            if (touched->count[i] > 1)
                last += (int64_t)(touched->stride[i] * (touched->count[i] - 1));
        begin = touched->begin > 0 ? (uint64_t)touched->begin : 0;
        end = last > 0 && (uint64_t)last < size ? (uint64_t)last
              : last > 0                        ? size
                                                : 0;
    }
    if (begin >= end)
        return;
    if (reach[0] == reach[1]) {
        reach[0] = begin;
        reach[1] = end;
        return;
    }
    reach[0] = begin < reach[0] ? begin : reach[0];
    reach[1] = end > reach[1] ? end : reach[1];
}

// False when a part may write anything, or it cannot be told.
//
// Reading everything is allowed (it comes after all writers), writing
// everything is not: then parts would wait for all others and gain nothing. A
// resource may be several arguments, hence the union.
static bool find_reach(const struct hd_graph *graph,
                       const struct hdi_split *split, uint32_t part,
                       struct reach *reach, struct hd_footprint *footprints)
{
    const struct hdi_pass *pass = &graph->passes.at[split->pass];
    const struct hdi_command *c = &graph->commands.at[pass->commands];
    const struct hd_kernel *kernel = graph->kernels.at[c->kernel].kernel;
    const struct hdi_box box = box_of(split, part);
    struct hd_piece piece = {0};
    struct hd_error error;

    for (unsigned i = 0; i < 3; i++) {
        piece.first[i] = box.first[i];
        piece.count[i] = box.count[i];
    }
    if (hd_kernel_footprint(kernel, &split->range, graph->packed + c->args,
                            c->arg_count, &piece, footprints, &error) != HD_OK)
        return false;
    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[pass->accesses + i];
        uint64_t size = graph->resources.at[a->resource].size;
        bool used = false;
        reach[i] = (struct reach){{0, 0}, {0, 0}};
        for (uint32_t k = 0; k < c->arg_count; k++) {
            const struct hdi_argument *arg = &graph->args.at[c->args + k];
            if (arg->is != HD_PASS_RESOURCE || arg->index != a->resource)
                continue;
            used = true;
            if (footprints[k].write.kind == HD_TOUCHES_ALL)
                return false;
            widen(reach[i].read, &footprints[k].read, size);
            widen(reach[i].write, &footprints[k].write, size);
        }
        if (!used) // but it is said to be
            return false;
    }
    return true;
}

// Which passes --------------------------------------------------------------

// Split on its own a pass gains nothing: its launch is divided anyway. It is
// the next one, that can begin before its end, for which it is.
static void keep_neighbours(struct hd_graph *graph, bool *wanted)
{
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        uint32_t from = graph->passes.at[e->from].split;
        uint32_t to = graph->passes.at[e->to].split;
        if (e->kind == HDI_EDGE_READ && from != HDI_NONE && to != HDI_NONE)
            wanted[from] = wanted[to] = true;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->splits.count; i++) {
        struct hdi_split *s = &graph->splits.at[i];
        graph->passes.at[s->pass].split = wanted[i] ? count : HDI_NONE;
        if (wanted[i])
            graph->splits.at[count++] = *s;
    }
    graph->splits.count = count;
}

// Fills graph->splits, and the number of its split into each pass, or HDI_NONE.
// Not in runs that grow or are open (keeps_all).
static bool choose(struct hd_graph *graph)
{
    struct hdi_split split;

    graph->splits.count = 0;
    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        graph->passes.at[i].split = HDI_NONE;
        if (graph->keeps_all || graph->policy.whole ||
            !can_split(graph, i, &split))
            continue;
        if (!HDI_ROOM(graph->splits, 1))
            return false;
        graph->passes.at[i].split = graph->splits.count;
        graph->splits.at[graph->splits.count++] = split;
    }
    if (graph->splits.count == 0)
        return true;
    bool *wanted = calloc(graph->splits.count, sizeof(*wanted));
    if (!wanted)
        return false;
    keep_neighbours(graph, wanted);
    free(wanted);
    return true;
}

// Footprints of all parts; a pass of which they are not known stays whole.
//
// Its split stays in the list then, with no pass naming it.
static bool find_reaches(struct derivation *d)
{
    struct hd_graph *graph = d->graph;
    size_t all = 0, most = 1;

    for (uint32_t i = 0; i < graph->splits.count; i++) {
        const struct hdi_split *s = &graph->splits.at[i];
        const struct hdi_pass *pass = &graph->passes.at[s->pass];
        uint32_t args = graph->commands.at[pass->commands].arg_count;
        d->first_reach[i] = all;
        all += (size_t)s->parts * pass->access_count;
        most = args > most ? args : most;
    }
    d->reach = calloc(all + 1, sizeof(*d->reach));
    struct hd_footprint *footprints = calloc(most, sizeof(*footprints));
    bool good = d->reach && footprints;
    for (uint32_t i = 0; i < graph->splits.count && good; i++) {
        struct hdi_split *s = &graph->splits.at[i];
        const struct hdi_pass *pass = &graph->passes.at[s->pass];
        for (uint32_t k = 0; k < s->parts; k++)
            if (!find_reach(graph, s, k,
                            d->reach + d->first_reach[i] +
                                (size_t)k * pass->access_count,
                            footprints)) {
                graph->passes.at[s->pass].split = HDI_NONE;
                break;
            }
    }
    free(footprints);
    return good;
}

// Edges between tasks ---------------------------------------------------------

// `stamp` finds duplicates, since links are added task by task; link_orders()
// comes later and may double some, which costs a count.
static bool add_link(struct derivation *d, uint32_t from, uint32_t to)
{
    if (d->stamp[from] == to + 1)
        return true;
    if (!HDI_ROOM(d->links, 1))
        return false;
    d->stamp[from] = to + 1;
    d->links.at[d->links.count++] = (struct link){from, to};
    return true;
}

static bool link_all(struct derivation *d, uint32_t list, uint32_t to)
{
    bool good = true;

    for (uint32_t n = list; n != HDI_NONE && good; n = d->nodes.at[n].next)
        good = add_link(d, d->nodes.at[n].task, to);
    return good;
}

// It comes after who wrote these bytes, and to write them, after their readers.
//
// An interval of nothing is {0, 0}, and meets no segment.
static bool come_after(struct derivation *d, uint32_t slot,
                       const uint64_t bytes[2], bool writes, uint32_t task)
{
    const struct segments *s = &d->slots[slot];
    bool good = true;

    for (uint32_t i = 0; i < s->list.count && good; i++) {
        const struct segment *at = &s->list.at[i];
        if (at->end <= bytes[0] || at->begin >= bytes[1])
            continue;
        good = link_all(d, at->writers, task) &&
               (!writes || link_all(d, at->readers, task));
    }
    return good;
}

// Make a border at `at`, so that what follows may treat the bytes before and
// behind apart. Both halves keep the lists.
static bool cut(struct segments *s, uint64_t at)
{
    for (uint32_t i = 0; i < s->list.count; i++) {
        if (at <= s->list.at[i].begin || at >= s->list.at[i].end)
            continue;
        if (!HDI_ROOM(s->list, 1))
            return false;
        struct segment *seg = &s->list.at[i];
        memmove(seg + 1, seg, (s->list.count - i) * sizeof(*seg));
        s->list.count++;
        seg[0].end = seg[1].begin = at;
        return true;
    }
    return true;
}

static bool put(struct derivation *d, uint32_t *list, uint32_t task)
{
    if (!HDI_ROOM(d->nodes, 1))
        return false;
    d->nodes.at[d->nodes.count] = (struct node){task, *list};
    *list = d->nodes.count++;
    return true;
}

// Lists are shared by the segments that one was cut into, and only ever grow at
// their heads, so each has its own.
//
// A write by another pass begins both lists anew: who comes later need only
// wait for it, as it waits for the others. Parts of one pass add to the
// writers.
static bool note(struct derivation *d, uint32_t slot, const uint64_t bytes[2],
                 bool writes, uint32_t pass, uint32_t task)
{
    struct segments *s = &d->slots[slot];
    bool good = cut(s, bytes[0]) && cut(s, bytes[1]);

    for (uint32_t i = 0; i < s->list.count && good; i++) {
        struct segment *at = &s->list.at[i];
        if (at->end <= bytes[0] || at->begin >= bytes[1])
            continue;
        if (writes && at->pass != pass) {
            at->writers = at->readers = HDI_NONE;
            at->pass = pass;
        }
        good = put(d, writes ? &at->writers : &at->readers, task);
    }
    return good;
}

// The bytes of an access of a task.
//
// Of a whole pass: everything. If it writes a part of the resource it may leave
// the rest, which counts as a read.
static struct reach reach_of(const struct derivation *d, uint32_t pass,
                             uint32_t task, uint32_t access)
{
    const struct hd_graph *graph = d->graph;
    const struct hdi_pass *p = &graph->passes.at[pass];
    const struct hdi_access *a = &graph->accesses.at[p->accesses + access];
    uint64_t size = graph->resources.at[a->resource].size;

    if (p->split != HDI_NONE)
        return d->reach[d->first_reach[p->split] +
                        (size_t)(task - d->first_task[pass]) * p->access_count +
                        access];
    return (struct reach){.read = {0, a->reads || !a->whole ? size : 0},
                          .write = {0, a->writes ? size : 0}};
}

static bool link_task(struct derivation *d, uint32_t pass, uint32_t task)
{
    const struct hdi_pass *p = &d->graph->passes.at[pass];
    bool good = true;

    for (uint32_t i = 0; i < p->access_count && good; i++) {
        uint32_t slot = d->graph->accesses.at[p->accesses + i].slot;
        const struct reach reach = reach_of(d, pass, task, i);
        good = come_after(d, slot, reach.read, false, task) &&
               come_after(d, slot, reach.write, true, task);
    }
    return good;
}

static bool note_task(struct derivation *d, uint32_t pass, uint32_t task,
                      bool writes)
{
    const struct hdi_pass *p = &d->graph->passes.at[pass];
    bool good = true;

    for (uint32_t i = 0; i < p->access_count && good; i++) {
        uint32_t slot = d->graph->accesses.at[p->accesses + i].slot;
        const struct reach reach = reach_of(d, pass, task, i);
        good = note(d, slot, writes ? reach.write : reach.read, writes, pass,
                    task);
    }
    return good;
}

// Of a slot that a pass takes, all users come after it, whatever they touch.
//
// The memory is got by that pass; where it has written nothing nobody would
// wait for it otherwise. Its first part stands for it, as any part takes the
// memory for all (hdi_split_begin).
static bool take_slots(struct derivation *d, uint32_t pass)
{
    const struct hdi_pass *p = &d->graph->passes.at[pass];
    bool good = true;

    for (uint32_t i = 0; i < p->access_count && good; i++) {
        uint32_t slot = d->graph->accesses.at[p->accesses + i].slot;
        struct segments *s = &d->slots[slot];
        if (d->graph->slots.at[slot].first != pass)
            continue;
        for (uint32_t k = 0; k < s->list.count && good; k++)
            if (s->list.at[k].writers == HDI_NONE)
                good = put(d, &s->list.at[k].writers, d->first_task[pass]);
    }
    return good;
}

// First all parts are linked, then noted: parts of one pass must not wait for
// each other. Writes are noted before reads, as noting a write forgets readers.
static bool link_pass(struct derivation *d, uint32_t pass)
{
    uint32_t begin = d->first_task[pass], end = d->first_task[pass + 1];
    bool good = true;

    for (uint32_t t = begin; t < end && good; t++)
        good = link_task(d, pass, t);
    for (uint32_t t = begin; t < end && good; t++)
        good = note_task(d, pass, t, true);
    for (uint32_t t = begin; t < end && good; t++)
        good = note_task(d, pass, t, false);
    return good && take_slots(d, pass);
}

// What comes after a whole pass: as the program says, or for memory.
//
// Every part of the one waits for every part of the other.
static bool link_orders(struct derivation *d)
{
    const struct hd_graph *graph = d->graph;
    bool good = true;

    for (uint32_t i = 0; i < graph->edges.count && good; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        if (e->kind != HDI_EDGE_ORDER && e->kind != HDI_EDGE_MEMORY &&
            !graph->passes.at[e->from].syncs && !graph->passes.at[e->to].syncs)
            continue;
        for (uint32_t from = d->first_task[e->from];
             from < d->first_task[e->from + 1] && good; from++)
            for (uint32_t to = d->first_task[e->to];
                 to < d->first_task[e->to + 1] && good; to++)
                good = add_link(d, from, to);
    }
    return good;
}

static bool begin_slots(struct derivation *d)
{
    const struct hd_graph *graph = d->graph;

    for (uint32_t i = 0; i < graph->slots.count; i++) {
        struct segments *s = &d->slots[i];
        if (!HDI_ROOM(s->list, 1))
            return false;
        s->list.count = 1;
        s->list.at[0] = (struct segment){
            .end = graph->resources.at[graph->slots.at[i].resource].size,
            .writers = HDI_NONE,
            .readers = HDI_NONE,
            .pass = HDI_NONE};
    }
    return true;
}

// The flow --------------------------------------------------------------------

// The work of a part is its share; so is its time, as one worker runs it.
static bool make_tasks(struct derivation *d)
{
    struct hd_graph *graph = d->graph;
    struct hdi_task_graph *flow = d->flow;

    for (uint32_t i = 0; i < graph->passes.count; i++) {
        uint32_t split = graph->passes.at[i].split;
        d->first_task[i] = flow->count;
        if (split != HDI_NONE)
            graph->splits.at[split].first_task = flow->count;
        flow->count += split == HDI_NONE ? 1 : graph->splits.at[split].parts;
    }
    d->first_task[graph->passes.count] = flow->count;

    size_t n = flow->count + (size_t)1;
    flow->pass = calloc(n, sizeof(*flow->pass));
    flow->box = calloc(n, sizeof(*flow->box));
    flow->weights = calloc(n, sizeof(*flow->weights));
    d->stamp = calloc(n, sizeof(*d->stamp));
    if (!flow->pass || !flow->box || !flow->weights || !d->stamp)
        return false;
    for (uint32_t i = 0; i < graph->passes.count; i++)
        for (uint32_t t = d->first_task[i]; t < d->first_task[i + 1]; t++) {
            flow->pass[t] = i;
            flow->weights[t] = graph->weights[i];
            if (graph->passes.at[i].split == HDI_NONE)
                continue;
            const struct hdi_split *s =
                &graph->splits.at[graph->passes.at[i].split];
            flow->box[t] = box_of(s, t - d->first_task[i]);
            flow->weights[t].work /= s->parts;
            flow->weights[t].time = flow->weights[t].work;
        }
    return true;
}

// Counting sort, as in run/prepare.c.
static bool list_links(struct derivation *d)
{
    struct hdi_task_graph *flow = d->flow;
    uint32_t count = flow->count;

    flow->successors = malloc((d->links.count + (size_t)1) * sizeof(uint32_t));
    flow->first = calloc(count + (size_t)2, sizeof(uint32_t));
    flow->waits = calloc(count + (size_t)1, sizeof(uint32_t));
    if (!flow->successors || !flow->first || !flow->waits)
        return false;
    for (uint32_t i = 0; i < d->links.count; i++) {
        flow->first[d->links.at[i].from + 2]++;
        flow->waits[d->links.at[i].to]++;
    }
    for (uint32_t i = 2; i < count + 2; i++)
        flow->first[i] += flow->first[i - 1];
    for (uint32_t i = 0; i < d->links.count; i++)
        flow->successors[flow->first[d->links.at[i].from + 1]++] =
            d->links.at[i].to;
    return true;
}

static bool derive(struct derivation *d)
{
    struct hd_graph *graph = d->graph;
    bool good = find_reaches(d) && make_tasks(d) && begin_slots(d);

    for (uint32_t i = graph->first; i < graph->passes.count && good; i++)
        good = graph->passes.at[i].dropped || link_pass(d, i);
    return good && link_orders(d) && list_links(d);
}

static void free_derivation(struct derivation *d)
{
    for (uint32_t i = 0; d->slots && i < d->graph->slots.count; i++)
        free(d->slots[i].list.at);
    free(d->slots);
    free(d->first_task);
    free(d->first_reach);
    free(d->reach);
    free(d->stamp);
    free(d->nodes.at);
    free(d->links.at);
}

void hdi_task_graph_free(struct hdi_task_graph *flow)
{
    free(flow->successors);
    free(flow->first);
    free(flow->waits);
    free(flow->weights);
    free(flow->pass);
    free(flow->box);
    free(flow->first_member);
    free(flow->member);
}

void hdi_graph_free_flow(struct hd_graph *graph)
{
    if (graph->flow.pass) // else all is the graph's
        hdi_task_graph_free(&graph->flow);
    graph->flow = (struct hdi_task_graph){0};
}

// Without splits the flow is the arrays of the passes, which cost nothing:
// flow->pass is NULL then, and who frees a flow looks at that. With splits it
// has arrays of its own, and edges of data are found anew, by bytes.
bool hdi_graph_split(struct hd_graph *graph)
{
    struct hdi_task_graph *flow = &graph->flow;

    hdi_graph_free_flow(graph);
    if (!choose(graph))
        return false;
    if (graph->splits.count == 0) {
        *flow = (struct hdi_task_graph){.count = graph->passes.count,
                                        .successors = graph->successors,
                                        .first = graph->first_successor,
                                        .waits = graph->waits,
                                        .weights = graph->weights};
        return true;
    }
    struct derivation d = {
        .graph = graph,
        .flow = flow,
        .first_task =
            calloc(graph->passes.count + (size_t)1, sizeof(*d.first_task)),
        .first_reach = calloc(graph->splits.count, sizeof(*d.first_reach)),
        .slots = calloc(graph->slots.count + (size_t)1, sizeof(*d.slots))};
    bool good = d.first_task && d.first_reach && d.slots && derive(&d);
    free_derivation(&d);
    if (!good) { // hdi_graph_free_flow() does not know what is there
        hdi_task_graph_free(flow);
        *flow = (struct hdi_task_graph){0};
    }
    return good;
}
