// Runs that are open: passes join them while others run.
//
// Whoever adds passes links and checks them alone; what workers read of the
// graph meanwhile neither moves nor changes, since all arrays have their room
// beforehand and grow at their ends. The two meet at three places:
//
//     followers  of a task that has not ended: a list that passes put
//                themselves in, which the task's end closes and takes. A pass
//                that finds it closed does not wait.
//     left       of a slot: a use more for each pass that joins. The run itself
//                holds the last version of every resource, so that it is there
//                for passes that come later.
//     unfinished the run holds one until it has begun and one until it is
//                closed.
//
// Invariant: a task that joins waits for one thing more than its edges until
// all of these are in place, so it cannot start before.
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/order/order.h"
#include "graph/perform/perform.h"
#include "graph/run/run.h"

// Room is memory that is set aside for passes that may never come: a few KiB of
// arrays for each, of which the system gives pages as they are used. More than
// that on the average, and the run says that it is full.
enum {
    ROOM = 10000, // passes, when nobody says how many
    MAX_ROOM = 10000000,
    // Of a pass, at the most on the average.
    ACCESSES = 8,
    COMMANDS = 2,
    ARGS = 12,
    VALUES = 256, // [bytes]
    SCRATCH = 1,
    EDGES = 12,
    FEW = 1024 // resources, kernels and classes more than passes
};

// Room ------------------------------------------------------------------------

// Each array that workers read.
//
// With how many items for each pass. Edges are not among them: only the thread
// that adds passes looks at these. FOR_KEPT are those that preparing makes
// (hd_graph.rooms).
#define FOR_ALL(DO)        \
    DO(passes, 1)          \
    DO(resources, 1)       \
    DO(slots, 2)           \
    DO(accesses, ACCESSES) \
    DO(commands, COMMANDS) \
    DO(args, ARGS)         \
    DO(values, VALUES)     \
    DO(scratch, SCRATCH)   \
    DO(kernels, 1)         \
    DO(classes, 1)         \
    DO(followers, EDGES)

#define FOR_KEPT(DO)        \
    DO(packed, ARGS)        \
    DO(packed_values, ARGS) \
    DO(tasks, 1)            \
    DO(weights, 1)          \
    DO(rank, 1)             \
    DO(ready, 1)

// Behind what is there now. Those that preparing makes come after the arrays
// they are of.
static uint64_t room_of(uint64_t there, uint64_t room, uint64_t each)
{
    return there + room * each + FEW;
}

// `room_of(0, ...)` as HDI_ROOM counts from what is there.
static bool make_room(struct hd_graph *graph, uint64_t room)
{
    uint64_t args = graph->args.count, passes = graph->passes.count;
    bool good = true;

#define DO(array, each) \
    good = good && HDI_ROOM(graph->array, room_of(0, room, each));
    graph->followers.count = 0;
    FOR_ALL(DO)
#undef DO
    return good && HDI_KEEP(graph, packed, room_of(args, room, ARGS)) &&
           hdi_graph_room((void **)&graph->packed_values,
                          &graph->rooms.packed_values,
                          room_of(args, room, ARGS), HDI_VALUE_SIZE) &&
           HDI_KEEP(graph, tasks, room_of(passes, room, 1)) &&
           HDI_KEEP(graph, weights, room_of(passes, room, 1)) &&
           HDI_KEEP(graph, rank, room_of(passes, room, 1)) &&
           HDI_KEEP(graph, ready, room_of(passes, room, 1));
}

// open.room stays 0 after a failure: the run is not open.
hd_status hdi_open_make_room(struct hd_graph *graph, unsigned room,
                             struct hd_error *error)
{
    if (room > MAX_ROOM)
        return hdi_fail(error, HD_ELIMIT,
                        "no run is open for %u passes; %d are the most", room,
                        MAX_ROOM);
    graph->open.room = room ? room : ROOM;
    if (make_room(graph, graph->open.room))
        return HD_OK;
    hd_status status =
        hdi_fail(error, HD_ENOMEM,
                 "no memory for %u pass%s to join the run; ask "
                 "for less `room`",
                 graph->open.room, hdi_plural(graph->open.room, "es"));
    graph->open.room = 0;
    return status;
}

// Linking has made its own array anew.
hd_status hdi_open_begin(struct hd_graph *graph, struct hd_error *error)
{
    if (!HDI_ROOM(graph->slots, room_of(0, graph->open.room, 2))) {
        graph->open.room = 0;
        return hdi_fail(error, HD_ENOMEM, "no memory to open a run");
    }
#define DO(array, each) graph->array.capacity |= HDI_STAYS;
    FOR_ALL(DO)
#undef DO
#define DO(array, each) graph->rooms.array |= HDI_STAYS;
    FOR_KEPT(DO)
#undef DO
    graph->open =
        (struct hdi_open_run){.is = true,
                              .room = graph->open.room,
                              .limit = graph->passes.count + graph->open.room,
                              .passes = graph->passes.count,
                              .resources = graph->resources.count,
                              .orders = graph->orders.count};
    // One until it is closed, one until it has begun.
    atomic_fetch_add_explicit(&graph->unfinished, 2, memory_order_relaxed);
    return HD_OK;
}

// The run has ended, or never began: nobody reads the arrays any more.
void hdi_open_end(struct hd_graph *graph)
{
#define DO(array, each) graph->array.capacity &= ~HDI_STAYS;
    FOR_ALL(DO)
#undef DO
#define DO(array, each) graph->rooms.array &= ~HDI_STAYS;
    FOR_KEPT(DO)
#undef DO
    uint32_t joined = graph->open.passes;
    graph->open = (struct hdi_open_run){.is = false};
    hdi_graph_judge(graph, joined);
    // What has joined is part of the graph, and the next run knows all of it.
    hdi_graph_unprepare(graph);
    graph->was_open = true;
    hd_graph_stats(graph, &graph->ended);
}

// Followers -------------------------------------------------------------------

static void ended_one(struct hd_graph *graph, uint32_t task)
{
    if (atomic_fetch_sub_explicit(&graph->tasks[task].waiting, 1,
                                  memory_order_acq_rel) == 1)
        hdi_graph_give(graph, task);
}

// Release: what the pass wrote is seen by those who find HDI_ENDED. Acquire:
// the entries of those that put themselves in are seen here. The exchange
// happens once, so each follower is told once.
//
//     followers   NONE --> n --> m, n --> ... --> ENDED
//                 joining passes put themselves   the end takes all, and
//                 in front (compare, exchange)    nobody comes in any more
void hdi_open_end_task(struct hd_graph *graph, struct hdi_task *task)
{
    uint32_t at = atomic_exchange_explicit(&task->followers, HDI_ENDED,
                                           memory_order_acq_rel);

    // A follower may end and its array entry stays: nobody takes it again.
    while (at != HDI_NONE) {
        const struct hdi_follower *f = &graph->followers.at[at];
        at = f->next;
        if (f->task == HDI_NONE)
            hd_event_end(graph->context.launcher->pool, graph->open.awaited,
                         HD_OK, NULL, NULL);
        else
            ended_one(graph, f->task);
    }
}

// Let the end of `from` tell a task, or who awaits it. False: it has ended.
//
// Release: who takes the list sees the entry. Acquire, of HDI_ENDED: what the
// pass wrote is seen. An entry that was not put in is lost: that is what room
// for EDGES is for.
static bool put_behind(struct hd_graph *graph, struct hdi_task *from,
                       uint32_t task)
{
    uint32_t number = graph->followers.count;
    struct hdi_follower *f = &graph->followers.at[number];
    uint32_t head =
        atomic_load_explicit(&from->followers, memory_order_acquire);

    if (head == HDI_ENDED)
        return false;
    graph->followers.count++;
    f->task = task;
    do {
        if (head == HDI_ENDED)
            return false;
        f->next = head;
    } while (!atomic_compare_exchange_weak_explicit(
        &from->followers, &head, number, memory_order_release,
        memory_order_acquire));
    return true;
}

// One edge of a task that joins.
//
// Counted before the entry is put in, as the end may come at once. Relaxed: one
// more wait keeps the task from starting.
static void follow(struct hd_graph *graph, const struct hdi_edge *edge)
{
    struct hdi_task *to = &graph->tasks[edge->to];

    atomic_fetch_add_explicit(&to->waiting, 1, memory_order_relaxed);
    if (!put_behind(graph, &graph->tasks[edge->from], edge->to))
        atomic_fetch_sub_explicit(&to->waiting, 1, memory_order_relaxed);
}

// Joining ---------------------------------------------------------------------

// The run holds the last version of a resource instead of what it held before.
//
// So that memory is there for passes that join later. Each resource holds one
// slot: a use more, which is given up when a newer version comes.
static void hold(struct hd_graph *graph, struct hdi_resource *r)
{
    struct hdi_graph_slot *held =
        r->held == HDI_NONE ? NULL : &graph->slots.at[r->held];

    if (r->slot == r->held)
        return;
    r->held = r->slot;
    graph->slots.at[r->slot].uses++;
    // Acquire and release: whoever comes last frees what the others used.
    if (held &&
        atomic_fetch_sub_explicit(&held->left, 1, memory_order_acq_rel) == 1)
        hdi_graph_slot_release(graph, held);
}

// Everything that was added uses its slots once more.
//
// Old slots first: the run holds them, so `left` is not 0. New ones are
// nobody's yet, and begin with their uses, of which the hold is one.
static void count_uses(struct hd_graph *graph, uint32_t first_slot)
{
    uint32_t from = graph->open.passes < graph->passes.count
                        ? graph->passes.at[graph->open.passes].accesses
                        : graph->accesses.count;

    for (uint32_t i = from; i < graph->accesses.count; i++)
        if (graph->accesses.at[i].slot < first_slot)
            atomic_fetch_add_explicit(
                &graph->slots.at[graph->accesses.at[i].slot].left, 1,
                memory_order_relaxed);
    for (uint32_t i = from; i < graph->accesses.count; i++)
        hold(graph, &graph->resources.at[graph->accesses.at[i].resource]);
    for (uint32_t i = graph->open.resources; i < graph->resources.count; i++)
        hold(graph, &graph->resources.at[i]);
    for (uint32_t i = first_slot; i < graph->slots.count; i++) {
        struct hdi_graph_slot *slot = &graph->slots.at[i];
        slot->part = HDI_NONE;
        slot->memory = slot->first == HDI_NONE
                           ? graph->resources.at[slot->resource].input
                           : NULL;
        atomic_store_explicit(&slot->left, slot->uses, memory_order_relaxed);
    }
}

static hd_status check_inputs(const struct hd_graph *graph,
                              struct hd_error *error)
{
    for (uint32_t i = graph->open.resources; i < graph->resources.count; i++) {
        const struct hdi_resource *r = &graph->resources.at[i];
        if (r->is_input && !r->input)
            return hdi_fail(error, HD_EINVAL,
                            "input '%s' has no buffer; hand one in with "
                            "hd_graph_input()",
                            r->name);
    }
    return HD_OK;
}

// In this order: checked and packed, linked, ranked; slots; tasks, each waiting
// for one thing more than its edges; followers; then, under the lock, they
// count as passes of the run; at last the extra wait is counted down. If the
// run has not begun, hdi_open_start() does that.
static hd_status join(struct hd_graph *graph, struct hd_error *error)
{
    struct hdi_open_run *open = &graph->open;
    uint32_t edges = graph->edges.count, slots = graph->slots.count;

    HDI_TRY(check_inputs(graph, error));
    HDI_TRY(hdi_graph_prepare_more(graph, error));
    if (!hdi_graph_link_more(graph) ||
        !HDI_ROOM(graph->followers, graph->edges.count - edges))
        return hdi_graph_no_room(graph, error);
    graph->barriers += graph->edges.count - edges;
    hdi_graph_rank_more(graph, edges);
    count_uses(graph, slots);
    for (uint32_t i = open->passes; i < graph->passes.count; i++) {
        graph->passes.at[i].split = HDI_NONE;
        hdi_graph_reset_task(graph, i, i, 1);
    }
    for (uint32_t i = edges; i < graph->edges.count; i++)
        follow(graph, &graph->edges.at[i]);

    pthread_mutex_lock(&graph->lock);
    uint32_t from = open->passes;
    bool began = open->began;
    open->passes = graph->passes.count;
    atomic_fetch_add_explicit(&graph->unfinished, open->passes - from,
                              memory_order_relaxed);
    pthread_mutex_unlock(&graph->lock);
    open->resources = graph->resources.count;
    open->orders = graph->orders.count;
    for (uint32_t i = from; i < open->passes && began; i++)
        ended_one(graph, i);
    return HD_OK;
}

// `joined`: passes from there on have joined since the run was made ready.
// Under the lock it is decided who counts down the extra wait of a pass: this
// function, or join().
void hdi_open_start(struct hd_graph *graph, uint32_t joined)
{
    pthread_mutex_lock(&graph->lock);
    graph->open.began = true;
    uint32_t passes = graph->open.passes;
    pthread_mutex_unlock(&graph->lock);
    for (uint32_t i = joined; i < passes; i++)
        ended_one(graph, i);
    hdi_graph_count_down(graph); // the caller holds the run
}

// As if all passes that have joined had been counted down without running. Who
// closes the run counts down what is left.
//
// Their ends are told all the same: somebody may wait for one of them, or be
// joining behind one. What joined before keeps its extra wait, so only what
// joins afterwards is started by that.
void hdi_open_give_up(struct hd_graph *graph)
{
    pthread_mutex_lock(&graph->lock);
    graph->failed = HD_ECANCELED;
    hdi_fail(&graph->failure, HD_ECANCELED, "the run never began");
    atomic_store(&graph->stopped, true);
    graph->open.began = true; // what joins from now on ends by itself
    uint32_t passes = graph->open.passes;
    pthread_mutex_unlock(&graph->lock);
    atomic_fetch_add(&graph->not_run, passes - graph->first);
    atomic_fetch_sub(&graph->unfinished, passes - graph->first);
    for (uint32_t i = graph->first; i < passes; i++)
        hdi_open_end_task(graph, &graph->tasks[i]);
    hdi_graph_count_down(graph);
}

// What could not join ends the run, with that error, as a pass that fails does.
static void fail_run(struct hd_graph *graph, hd_status status,
                     const struct hd_error *why)
{
    pthread_mutex_lock(&graph->lock);
    if (graph->failed == HD_OK) {
        graph->failed = status;
        graph->failure = *why;
        graph->failure.status = status;
    }
    pthread_mutex_unlock(&graph->lock);
    atomic_store_explicit(&graph->stopped, true, memory_order_relaxed);
}

static hd_status check_open(const struct hd_graph *graph, const char *function,
                            struct hd_error *error)
{
    if (graph && atomic_load_explicit(&graph->running, memory_order_acquire) &&
        graph->open.is && !graph->open.closed)
        return HD_OK;
    return hdi_fail(error, HD_EINVAL,
                    "%s() takes a graph whose run is open: see "
                    "hd_graph_run_params.open",
                    function);
}

static hd_status extend(struct hd_graph *graph, struct hd_error *error)
{
    struct hd_error why = {.status = HD_OK};

    if (hdi_graph_is_stopped(graph))
        return hdi_graph_why_stopped(graph, error);
    if (graph->passes.count == graph->open.passes &&
        graph->orders.count == graph->open.orders)
        return HD_OK;
    hd_status status = join(graph, &why);
    if (status == HD_OK)
        return HD_OK;
    fail_run(graph, status, &why);
    return hdi_fail_text(error, status, why.text, strlen(why.text));
}

hd_status hd_graph_extend(struct hd_graph *graph, struct hd_error *error)
{
    HDI_TRY(check_open(graph, "hd_graph_extend", error));
    return extend(graph, error);
}

// The run is held by who waits, so its end cannot come before.
//
// So the awaited pass may be waited for by this one thread at a time: `awaited`
// is one event. If the pass has ended the event is ended here, so that
// releasing it is the same in both cases.
hd_status hdi_open_wait(struct hd_graph *graph, uint32_t pass,
                        struct hd_error *error)
{
    struct hd_pool *pool = graph->context.launcher->pool;

    HDI_TRY(extend(graph, error));
    if (!HDI_ROOM(graph->followers, 1))
        return hdi_graph_no_room(graph, error);
    HDI_TRY(hd_event_create(pool, &graph->open.awaited, error));
    if (put_behind(graph, &graph->tasks[pass], HDI_NONE))
        hd_event_wait(pool, &graph->open.awaited, 1, HD_FOREVER, NULL);
    else
        hd_event_end(pool, graph->open.awaited, HD_OK, NULL, NULL);
    hd_event_release(pool, graph->open.awaited);
    return hdi_graph_is_stopped(graph) ? hdi_graph_why_stopped(graph, error)
                                       : HD_OK;
}

// `unfinished` held one for this. What could not join counts as not run, so
// that the run fails, and total() knows of it.
hd_status hd_graph_close(struct hd_graph *graph, struct hd_error *error)
{
    HDI_TRY(check_open(graph, "hd_graph_close", error));
    hd_status status = extend(graph, error);
    graph->open.closed = true;
    if (status != HD_OK) {
        // The run may begin only now: it must not count down what never joined.
        pthread_mutex_lock(&graph->lock);
        uint32_t refused = graph->passes.count - graph->open.passes;
        graph->open.refused = refused;
        pthread_mutex_unlock(&graph->lock);
        atomic_fetch_add_explicit(&graph->not_run, refused,
                                  memory_order_relaxed);
    }
    hdi_graph_count_down(graph);
    return status;
}
