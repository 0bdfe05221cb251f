// From what passes read and write, in program order, to what must wait for what
// and which versions share memory.
//
// Invariant: of two passes that access one slot, and of which one writes it,
// one comes before the other by edges. A slot is taken by a pass before all
// others that use it.
#include "graph/model/agile.h"
#include "graph/model/model.h"

// Dropping --------------------------------------------------------------------

// A pass that writes nothing is run for what it does besides, such as a call,
// and stays.
static bool is_needed(const struct hd_graph *graph, const struct hdi_pass *pass)
{
    bool writes = false;

    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[pass->accesses + i];
        writes = writes || a->writes;
        if (a->writes && graph->resources.at[a->resource].needed)
            return true;
    }
    return !writes || pass->keeps;
}

// Backwards: what a pass writes is needed if an output or a later pass that is
// needed wants it. A graph without outputs leaves nothing to judge by.
//
// After a pass that is needed, what was in a resource before matters only if
// the pass reads it or leaves a part of it as it was. Passes that have run
// already are not judged.
static void drop_passes(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->resources.count; i++)
        graph->resources.at[i].needed = graph->resources.at[i].is_output;
    graph->dropped = 0;
    for (uint32_t i = graph->passes.count; i-- > graph->done;) {
        struct hdi_pass *pass = &graph->passes.at[i];
        pass->dropped =
            pass->out || (graph->outputs.count > 0 && !graph->keeps_all &&
                          !is_needed(graph, pass));
        graph->dropped += pass->dropped;
        for (uint32_t k = 0; !pass->dropped && k < pass->access_count; k++) {
            const struct hdi_access *a =
                &graph->accesses.at[pass->accesses + k];
            graph->resources.at[a->resource].needed = a->reads || !a->whole;
        }
    }
}

// Edges -----------------------------------------------------------------------

// True also where no edge is needed: there is no such pass, or it is the same
// one, or the edge is there. `stamp` of a pass is the last pass, and 1, that
// got an edge from it: since edges are added pass by pass in the order of where
// they lead, that finds every duplicate without searching. False without
// memory, or when an open run is full.
static bool add_edge(struct hd_graph *graph, uint32_t from, uint32_t to,
                     enum hdi_edge_kind kind)
{
    if (from == HDI_NONE || from == to ||
        graph->passes.at[from].stamp == to + 1)
        return true;
    if (graph->edges.count == (graph->edges.capacity & ~HDI_STAYS) &&
        !HDI_ROOM(graph->edges, 1))
        return false;
    graph->passes.at[from].stamp = to + 1;
    graph->edges.at[graph->edges.count++] =
        (struct hdi_edge){.from = from, .to = to, .kind = kind};
    return true;
}

// A slot that pass `first` takes, or that the caller has (HDI_NONE); the newest
// version of the resource is in it from now on.
static bool add_slot(struct hd_graph *graph, struct hdi_resource *r,
                     uint32_t first, bool copies)
{
    if (!HDI_ROOM(graph->slots, 1))
        return false;
    r->slot = graph->slots.count++;
    graph->slots.at[r->slot] =
        (struct hdi_graph_slot){.resource = (uint32_t)(r - graph->resources.at),
                                .first = first,
                                .copies = copies};
    return true;
}

// Readers of the newest version are a list, the latest first: the next writer
// of the same memory comes after all of them.
static bool link_read(struct hd_graph *graph, struct hdi_resource *r,
                      uint32_t index)
{
    if (!HDI_ROOM(graph->readers, 1))
        return false;
    graph->readers.at[graph->readers.count] =
        (struct hdi_reader){.pass = index, .next = r->readers};
    r->readers = graph->readers.count++;
    return true;
}

// An input is never written: the first write makes a copy of it. A field is the
// same one whoever writes it.
//
//     slot before                the pass                    slot after
//     none                       writes                      new
//     any                        overwrites, reads nothing   new; no edges
//     the caller's               writes a part               new, a copy
//     ours                       writes a part               the same; edges
//                                                            from readers and
//                                                            the last writer
//
// A new slot costs memory while the old one is still read, but the pass need
// not wait for those readers. `carried` memory came from a run before and is
// ours, so it is written in place. Edges are made for a field in any case.
static bool link_write(struct hd_graph *graph, struct hdi_resource *r,
                       const struct hdi_access *a, uint32_t index)
{
    bool whole = a->whole && !a->reads;
    bool fresh = r->slot == HDI_NONE || whole ||
                 (graph->slots.at[r->slot].first == HDI_NONE &&
                  !graph->slots.at[r->slot].carried);
    bool good = true;

    if (!fresh || r->map) {
        for (uint32_t n = r->readers; n != HDI_NONE && good;
             n = graph->readers.at[n].next)
            good = add_edge(graph, graph->readers.at[n].pass, index,
                            HDI_EDGE_OVERWRITE);
        good = good && add_edge(graph, r->last_writer, index, HDI_EDGE_WRITE);
    }
    if (fresh)
        good = good && add_slot(graph, r, index, r->slot != HDI_NONE && !whole);
    r->readers = HDI_NONE;
    r->last_writer = index;
    return good;
}

// Edges first for what is read: of two reasons for one edge, the stronger one
// is shown.
//
// Each access counts as a use of its slot; perform.c counts them down, and
// gives the memory back at 0.
static bool link_pass(struct hd_graph *graph, uint32_t index)
{
    const struct hdi_pass *pass = &graph->passes.at[index];
    if (pass->access_count == 0)
        return true;
    struct hdi_access *accesses = graph->accesses.at + pass->accesses;
    bool good = true;

    for (uint32_t i = 0; i < pass->access_count && good; i++)
        if (accesses[i].reads)
            good = add_edge(
                graph, graph->resources.at[accesses[i].resource].last_writer,
                index, HDI_EDGE_READ);
    for (uint32_t i = 0; i < pass->access_count && good; i++) {
        struct hdi_resource *r = &graph->resources.at[accesses[i].resource];
        good = accesses[i].writes ? link_write(graph, r, &accesses[i], index)
                                  : link_read(graph, r, index);
        if (good) {
            accesses[i].slot = r->slot;
            graph->slots.at[r->slot].uses++;
        }
    }
    return good;
}

// A pass that synchronises comes after all since the one before it, and before
// all up to the next.
//
// Edges lead from each pass since the last one of the kind only, and from that
// one to each pass behind it: together they order all, with as many edges as
// passes.
static bool link_sync(struct hd_graph *graph, uint32_t index)
{
    uint32_t *last = &graph->last_sync;
    bool good =
        *last == HDI_NONE || add_edge(graph, *last, index, HDI_EDGE_ORDER);

    if (!graph->passes.at[index].syncs)
        return good;
    for (uint32_t i = *last == HDI_NONE ? graph->done : *last + 1;
         i < index && good; i++)
        good = add_edge(graph, i, index, HDI_EDGE_ORDER);
    *last = index;
    return good;
}

// Whether `a` writes a resource that `b` uses. All accesses of one are compared
// with all of the other, as passes over fields have few.
static bool writes_what_uses(const struct hd_graph *graph,
                             const struct hdi_pass *a, const struct hdi_pass *b)
{
    const struct hdi_access *x = graph->accesses.at + a->accesses;
    const struct hdi_access *y = graph->accesses.at + b->accesses;

    for (uint32_t i = 0; i < a->access_count; i++)
        for (uint32_t k = 0; x[i].writes && k < b->access_count; k++)
            if (x[i].resource == y[k].resource)
                return true;
    return false;
}

// Whether a pass over fields may begin when the one before it has been started.
static bool takes_turn(const struct hd_graph *graph,
                       const struct hdi_pass *before,
                       const struct hdi_pass *pass)
{
    return hdi_agile_only_starts(graph, before) && !pass->syncs &&
           !writes_what_uses(graph, before, pass) &&
           !writes_what_uses(graph, pass, before);
}

// Passes over fields run on all processes, so they begin in one order. That
// edge comes first: one that stands for data may be loosened to parts of
// passes.
//
// They are collective: if two processes began them in two orders, each would
// wait for the other. `last` is the pass over fields before this one. If that
// only starts copies and kernels, and neither writes what the other uses, the
// edge is a turn, which waits for its beginning only.
static bool link_agile(struct hd_graph *graph, uint32_t index)
{
    const struct hdi_pass *pass = &graph->passes.at[index];
    uint32_t last = graph->last_agile;

    if (!pass->agile)
        return true;
    for (uint32_t i = 0; i < pass->access_count; i++)
        graph->resources.at[graph->accesses.at[pass->accesses + i].resource]
            .last_user = index;
    bool turn =
        last != HDI_NONE && takes_turn(graph, &graph->passes.at[last], pass);
    bool good =
        add_edge(graph, last, index, turn ? HDI_EDGE_TURN : HDI_EDGE_ORDER);
    if (turn)
        graph->passes.at[last].turn = index;
    graph->last_agile = index;
    return good;
}

// The same of one that joins an open run. The one before may be under way, so
// it cannot give its turn any more.
static bool link_agile_more(struct hd_graph *graph, uint32_t index)
{
    uint32_t last = graph->last_agile;

    if (!graph->passes.at[index].agile)
        return true;
    graph->last_agile = index;
    return add_edge(graph, last, index, HDI_EDGE_ORDER);
}

// The pass over fields behind it may begin before this one has ended.
static bool gives_turn(const struct hd_graph *graph, uint32_t pass)
{
    return graph->passes.at[pass].turn != HDI_NONE;
}

// All passes over fields from pass->over on begin when the pass has ended.
//
// The first pass over fields that waits for the end of `from` by an edge;
// HDI_NONE while there is none. As they begin in one order, all behind it begin
// later still. Orders that the program states are not there yet: without them a
// field is kept longer than it need be, never shorter.
static void find_ends(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        struct hdi_pass *from = &graph->passes.at[e->from];

        if (gives_turn(graph, e->from) && e->kind != HDI_EDGE_TURN &&
            graph->passes.at[e->to].agile && e->to < from->over)
            from->over = e->to;
    }
}

// Say which pass over fields is the first that ends on all processes when all
// that use a field have ended: the field goes with it, or with the run. A pass
// that gives its turn ends at any time, so it is one behind it.
//
// Fields go on all processes at the same point of the program, since that is
// collective too: not when the last user happens to end, but with a pass whose
// end implies on every process that all users have ended. Fields that go with
// one pass are a list, pass->gone, linked by next_gone.
static void link_fields(struct hd_graph *graph)
{
    find_ends(graph);
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        graph->resources.at[i].gone = graph->resources.at[i].last_user;
        graph->resources.at[i].next_gone = HDI_NONE;
    }
    for (uint32_t i = graph->done; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];

        for (uint32_t k = 0; gives_turn(graph, i) && k < pass->access_count;
             k++) {
            struct hdi_resource *r =
                &graph->resources
                     .at[graph->accesses.at[pass->accesses + k].resource];
            r->gone = r->gone > pass->over ? r->gone : pass->over;
        }
    }
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        uint32_t at = r->map ? r->gone : HDI_NONE;

        while (at != HDI_NONE && gives_turn(graph, at))
            at = graph->passes.at[at].turn;
        if (at == HDI_NONE)
            continue;
        r->next_gone = graph->passes.at[at].gone;
        graph->passes.at[at].gone = i;
    }
}

// Linking begins with the pass that a run will begin with. What passes before
// it have left is there already.
//
// Inputs, and what an earlier run of a growing graph left (`kept`, or a field),
// get slots that no pass takes. Such memory is only written in place if it is
// ours.
static bool begin(struct hd_graph *graph)
{
    graph->edges.count = 0;
    graph->readers.count = 0;
    graph->slots.count = 0;
    graph->last_sync = graph->last_agile = HDI_NONE;
    for (uint32_t i = graph->done; i < graph->passes.count; i++) {
        graph->passes.at[i].stamp = 0;
        graph->passes.at[i].turn = HDI_NONE;
        graph->passes.at[i].over = HDI_NONE;
        graph->passes.at[i].gone = HDI_NONE;
    }
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        r->last_writer = r->readers = r->slot = r->last_user = HDI_NONE;
        r->held = HDI_NONE;
        bool kept = graph->done > 0 && r->kept;
        bool field = graph->done > 0 && r->field;
        if ((kept || field || r->is_input) &&
            !add_slot(graph, r, HDI_NONE, false))
            return false;
        if (kept && r->kept_is_ours)
            graph->slots.at[r->slot].carried = true;
    }
    return true;
}

// In this order: what is dropped, then edges and slots pass by pass, the edges
// of each pass side by side, which hdi_graph_reduce() relies on up to
// data_edges; then outputs, which count as a use that no run ends; at last the
// stated orders, which may lead backwards and are not looked at for duplicates.
// After a failure `linked` is false and the next call begins anew.
bool hdi_graph_link(struct hd_graph *graph)
{
    if (graph->linked)
        return true;

    drop_passes(graph);
    if (!begin(graph))
        return false;
    for (uint32_t i = graph->done; i < graph->passes.count; i++)
        if (!graph->passes.at[i].dropped &&
            !(link_agile(graph, i) && link_pass(graph, i) &&
              link_sync(graph, i)))
            return false;
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        const struct hdi_resource *r = &graph->resources.at[i];
        if ((r->is_output || graph->keeps_all) && r->slot != HDI_NONE) {
            graph->slots.at[r->slot].uses++;
            graph->resources.at[i].held = r->slot;
        }
    }
    graph->data_edges = graph->edges.count;
    link_fields(graph);
    for (uint32_t i = 0; i < graph->orders.count; i++) {
        const struct hdi_stated_order *o = &graph->orders.at[i];
        if (o->from < graph->done || o->to < graph->done)
            continue;
        if (!HDI_ROOM(graph->edges, 1))
            return false;
        graph->edges.at[graph->edges.count++] = (struct hdi_edge){
            .from = o->from, .to = o->to, .kind = HDI_EDGE_ORDER, .order = i};
    }
    graph->linked = true;
    return true;
}

// Nothing that is there may change, as workers read it: new edges and slots
// come behind. Passes that join are not dropped. Orders lead forward here
// (prepare.c has checked it), so add_edge() does for them; duplicates of edges
// are found only where the latest stamp is the same pass, and one too many
// costs a count.
bool hdi_graph_link_more(struct hd_graph *graph)
{
    struct hdi_open_run *open = &graph->open;

    for (uint32_t i = open->resources; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        r->last_writer = r->readers = r->slot = r->last_user = HDI_NONE;
        r->held = HDI_NONE;
        if (r->is_input && !add_slot(graph, r, HDI_NONE, false))
            return false;
    }
    for (uint32_t i = open->passes; i < graph->passes.count; i++)
        if (!link_agile_more(graph, i) || !link_pass(graph, i) ||
            !link_sync(graph, i))
            return false;
    for (uint32_t i = open->orders; i < graph->orders.count; i++)
        if (!add_edge(graph, graph->orders.at[i].from, graph->orders.at[i].to,
                      HDI_EDGE_ORDER))
            return false;
    return true;
}

bool hdi_graph_leads_forward(const struct hd_graph *graph)
{
    for (uint32_t i = graph->data_edges; i < graph->edges.count; i++)
        if (graph->edges.at[i].from >= graph->edges.at[i].to)
            return false;
    return true;
}
