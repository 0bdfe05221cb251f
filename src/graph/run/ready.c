// Invariant: all is guarded by ready_lock. The heap is in order of is_before();
// a class has let in `now` tasks that have not ended, at most `most`, and where
// tasks wait outside it has let in as many as it may.
#include "graph/run/ready.h"

enum {
    // Of the heap, that are looked at where urgency is not all: so many of the
    // most urgent, and so many that came last or are near these.
    CANDIDATES = 32
};

static struct hdi_pass *pass_of(const struct hd_graph *graph, uint32_t task)
{
    return &graph->passes.at[graph->tasks[task].pass];
}

// 0 goes first.
static int level_of(const struct hd_graph *graph, uint32_t task)
{
    // HD_PRIORITY_NORMAL is 0, so that it is the default.
    static const int order[] = {[HD_PRIORITY_HIGH] = 0,
                                [HD_PRIORITY_NORMAL] = 1,
                                [HD_PRIORITY_LOW] = 2};

    return order[pass_of(graph, task)->priority];
}

// The number of the task decides at last, so that of two passes that are alike
// the earlier of the program goes first.
static bool is_before(const struct hd_graph *graph, uint32_t a, uint32_t b)
{
    int one = level_of(graph, a), other = level_of(graph, b);

    if (one != other)
        return one < other;
    return graph->rank[a] != graph->rank[b] ? graph->rank[a] > graph->rank[b]
                                            : a < b;
}

// The heap --------------------------------------------------------------------

// Written under the lock only; hdi_ready_exchange() reads it without.
static uint32_t count_of(const struct hd_graph *graph)
{
    return atomic_load_explicit(&graph->ready_count, memory_order_relaxed);
}

static void rise(struct hd_graph *graph, uint32_t at, uint32_t task)
{
    uint32_t *heap = graph->ready;

    for (; at > 0 && is_before(graph, task, heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = task;
}

static void push(struct hd_graph *graph, uint32_t task)
{
    uint32_t at = count_of(graph);

    atomic_store_explicit(&graph->ready_count, at + 1, memory_order_relaxed);
    rise(graph, at, task);
}

// From any place: what takes the place sinks, or rises, to where it belongs.
static uint32_t remove_at(struct hd_graph *graph, uint32_t at)
{
    uint32_t *heap = graph->ready;
    uint32_t count = count_of(graph) - 1;
    uint32_t taken = heap[at], last = heap[count];

    atomic_store_explicit(&graph->ready_count, count, memory_order_relaxed);
    if (at == count)
        return taken;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(graph, heap[child + 1], heap[child]))
            child++;
        if (!is_before(graph, heap[child], last))
            break;
        heap[at] = heap[child];
    }
    rise(graph, at, last);
    return taken;
}

// Which one -------------------------------------------------------------------

static bool streams(const struct hd_graph *graph, uint32_t task)
{
    return graph->weights[graph->tasks[task].pass].streams;
}

// What a task takes of memory, less what dies with it, as things are [bytes].
static int64_t growth(const struct hd_graph *graph, uint32_t task)
{
    uint32_t index = graph->tasks[task].pass;
    const struct hdi_pass *pass = &graph->passes.at[index];
    int64_t bytes = 0;

    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_graph_slot *slot =
            &graph->slots.at[graph->accesses.at[pass->accesses + i].slot];
        int64_t size = (int64_t)graph->resources.at[slot->resource].size;
        if (slot->first == index)
            bytes += size;
        // Of a slot that is somebody else's nothing dies.
        if (slot->first != HDI_NONE &&
            atomic_load_explicit(&slot->left, memory_order_relaxed) == 1)
            bytes -= size;
    }
    return bytes;
}

// The place in the heap of the task that goes next.
//
// The top, unless memory or bandwidth is short (`small`, `pairs`). Then a
// linear look at some of the heap, never below the level of the top. Its array
// is in order only roughly, but the first CANDIDATES hold the most urgent, and
// the last ones came last.
static uint32_t choose(struct hd_graph *graph)
{
    const uint32_t *heap = graph->ready;
    uint32_t count = count_of(graph), best = 0;
    int64_t least = graph->policy.working_set > 0 ? growth(graph, heap[0]) : 0;
    bool small =
        least > 0 && hdi_memory_live(&graph->memory) + (uint64_t)least >
                         graph->policy.working_set;
    bool pairs = graph->streaming > 0 && streams(graph, heap[0]);
    int level = level_of(graph, heap[0]);

    if (!small && !pairs)
        return 0;
    for (uint32_t i = 1; i < count; i++) {
        if (i == CANDIDATES && count > 2 * CANDIDATES)
            i = count - CANDIDATES;
        if (level_of(graph, heap[i]) != level)
            continue;
        if (small) {
            int64_t bytes = growth(graph, heap[i]);
            if (bytes < least ||
                (bytes == least && is_before(graph, heap[i], heap[best]))) {
                least = bytes;
                best = i;
            }
        } else if (!streams(graph, heap[i]) &&
                   graph->rank[heap[i]] >= graph->rank[heap[0]] / 2 &&
                   (best == 0 || is_before(graph, heap[i], heap[best]))) {
            best = i;
        }
    }
    return best;
}

// Counts the task as streaming until hdi_ready_end().
static uint32_t take(struct hd_graph *graph)
{
    uint32_t task = remove_at(graph, choose(graph));

    graph->streaming += streams(graph, task);
    graph->tasks[task].streamed = streams(graph, task);
    return task;
}

void hdi_ready_add(struct hd_graph *graph, uint32_t task)
{
    pthread_mutex_lock(&graph->ready_lock);
    push(graph, task);
    pthread_mutex_unlock(&graph->ready_lock);
}

uint32_t hdi_ready_take(struct hd_graph *graph)
{
    pthread_mutex_lock(&graph->ready_lock);
    uint32_t task = take(graph);
    pthread_mutex_unlock(&graph->ready_lock);
    return task;
}

// Without the lock where nothing else is ready, as in a chain of passes. A task
// that comes in at this moment has a job of its own, so it is not lost; at most
// a more urgent one waits for the next worker. A task that streams takes the
// lock to be counted.
uint32_t hdi_ready_exchange(struct hd_graph *graph, uint32_t task)
{
    if (count_of(graph) == 0 && !streams(graph, task))
        return task;
    pthread_mutex_lock(&graph->ready_lock);
    push(graph, task);
    task = take(graph);
    pthread_mutex_unlock(&graph->ready_lock);
    return task;
}

// Classes ---------------------------------------------------------------------

void hdi_ready_reset(struct hd_graph *graph)
{
    atomic_store(&graph->ready_count, 0);
    graph->streaming = 0;
    for (uint32_t i = 0; i < graph->classes.count; i++) {
        graph->classes.at[i].now = 0;
        graph->classes.at[i].outside = HDI_NONE;
    }
}

static struct hdi_pass_class *class_of(const struct hd_graph *graph,
                                       uint32_t task)
{
    uint32_t index = pass_of(graph, task)->class_index;

    return index == 0 ? NULL : &graph->classes.at[index - 1];
}

// Those outside are a list through task.behind, the newest first; the class is
// full, so one of its tasks will end and let one in.
bool hdi_ready_admit(struct hd_graph *graph, uint32_t task)
{
    struct hdi_pass_class *class = class_of(graph, task);

    if (!class || class->most == 0)
        return true;
    pthread_mutex_lock(&graph->ready_lock);
    bool in = class->now < class->most;
    if (in) {
        class->now++;
    } else {
        graph->tasks[task].behind = class->outside;
        class->outside = task;
    }
    pthread_mutex_unlock(&graph->ready_lock);
    return in;
}

// The one of those outside that is to go first.
//
// HDI_NONE: nobody waits. A walk along the list, since classes with a limit are
// few.
static uint32_t let_in(struct hd_graph *graph, struct hdi_pass_class *class)
{
    uint32_t *best = &class->outside;

    for (uint32_t *at = best; *at != HDI_NONE; at = &graph->tasks[*at].behind)
        if (is_before(graph, *at, *best))
            best = at;
    uint32_t task = *best;
    if (task != HDI_NONE)
        *best = graph->tasks[task].behind;
    return task;
}

// The place of the task goes to the next: `now` stays as it is then. Without
// the lock for all tasks that were counted nowhere.
uint32_t hdi_ready_end(struct hd_graph *graph, uint32_t task)
{
    struct hdi_pass_class *class = class_of(graph, task);
    bool limited = class && class->most > 0;
    uint32_t next = HDI_NONE;

    if (!limited && !graph->tasks[task].streamed)
        return HDI_NONE;
    pthread_mutex_lock(&graph->ready_lock);
    graph->streaming -= graph->tasks[task].streamed;
    graph->tasks[task].streamed = false;
    if (limited) {
        next = let_in(graph, class);
        class->now -= next == HDI_NONE;
    }
    pthread_mutex_unlock(&graph->ready_lock);
    return next;
}
