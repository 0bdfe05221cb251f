// The builder: graphs, resources, inputs, outputs, order. Every call checks all
// of its input, gets all the memory it may need, and only then changes the
// graph, so a failed call leaves no trace.
#include "graph/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/arena/arena.h"
#include "graph/arena/shelf.h"
#include "graph/model/agile.h"
#include "graph/model/compact.h"

// A block serves some thousand names, so that naming a pass seldom allocates;
// what is left at the end of a block is lost. A longer text gets a block of its
// own.
enum {
    BLOCK_SIZE = 64 * 1024 // of strings [bytes]
};

// Texts of a graph, one behind the other, each with its end. Blocks are a list,
// the newest first; only the newest is added to.
//
// Invariant: a text never moves and lives as long as the graph, so that passes,
// resources and messages may keep its address.
struct hdi_string_block {
    struct hdi_string_block *next;
    size_t used, size; // [bytes]
    char text[];
};

// Arrays, strings -------------------------------------------------------------

// Without HDI_STAYS the array doubles, so that adding one at a time costs a
// constant, and begins with 16 items. With HDI_STAYS it may not move: what
// there is will do, or the call fails. Half of UINT32_MAX is the limit because
// the top bit of a capacity is the flag.
bool hdi_graph_room(void **items, uint32_t *capacity, uint64_t needed,
                    size_t size)
{
    if (needed <= (*capacity & ~HDI_STAYS))
        return true;
    if (needed > UINT32_MAX / 2 || *capacity & HDI_STAYS) {
        errno = ENOSPC;
        return false;
    }

    uint64_t wanted = *capacity ? (uint64_t)*capacity * 2 : 16;
    if (wanted < needed)
        wanted = needed;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = (uint32_t)wanted;
    return true;
}

// The shift at the end mixes high bits into the low ones, which are what tables
// of a power of 2 look at.
uint64_t hdi_graph_hash(uint64_t seed, const char *text)
{
    for (; *text; text++)
        seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return seed ^ (seed >> 29);
}

// Equal texts come in a row, as passes that are made in a loop have one name
// and one place. So a text is compared with one other only, the latest that had
// its place in `recent`: that finds nearly all of them, and needs no table that
// grows. Two addresses may differ for equal texts.
const char *hdi_graph_string(struct hd_graph *graph, const char *text)
{
    if (!text || !text[0])
        return "";

    const char **recent =
        &graph->recent[hdi_graph_hash(HDI_HASH, text) % HDI_STRINGS];
    if (*recent && strcmp(*recent, text) == 0)
        return *recent;

    size_t size = strlen(text) + 1;
    struct hdi_string_block *block = graph->strings;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        block->next = graph->strings;
        block->used = 0;
        block->size = room;
        graph->string_bytes += room;
        graph->strings = block;
    }
    char *copy = block->text + block->used;
    memcpy(copy, text, size);
    block->used += size;
    *recent = copy;
    return copy;
}

// What linking and preparing add is not counted: it is made anew, and may be
// given back.
uint64_t hdi_graph_memory(const struct hd_graph *graph)
{
#define BYTES(array) \
    (uint64_t)(graph->array.capacity & ~HDI_STAYS) * sizeof(*graph->array.at)
    return graph->string_bytes + BYTES(resources) + BYTES(passes) +
           BYTES(accesses) + BYTES(commands) + BYTES(args) + BYTES(scratch) +
           BYTES(values) + BYTES(orders) + BYTES(outputs) + BYTES(kernels);
#undef BYTES
}

// Graphs ----------------------------------------------------------------------

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory for the graph");
}

// Whatever failed has set errno.
hd_status hdi_graph_no_room(const struct hd_graph *graph,
                            struct hd_error *error)
{
    return graph->open.is && errno == ENOSPC ? hdi_graph_full(graph, error)
                                             : no_memory(error);
}

hd_status hdi_graph_full(const struct hd_graph *graph, struct hd_error *error)
{
    return hdi_fail(error, HD_ELIMIT,
                    "the run was opened with room for %u pass%s of common "
                    "size, and this is more; open it with more `room`",
                    graph->open.room, hdi_plural(graph->open.room, "es"));
}

// The mutexes come first, one after another, since hdi_graph_free() destroys
// all of them: from then on a failure goes through it. Each graph begins
// compact, with `calls` (compact.h).
hd_status hdi_graph_create(const struct hdi_graph_context *context,
                           struct hd_graph **graph, struct hd_error *error)
{
    struct hd_graph *g = calloc(1, sizeof(*g));
    if (!g)
        return no_memory(error);
    if (pthread_mutex_init(&g->lock, NULL) != 0) {
        free(g);
        return no_memory(error);
    }
    if (pthread_mutex_init(&g->ready_lock, NULL) != 0) {
        pthread_mutex_destroy(&g->lock);
        free(g);
        return no_memory(error);
    }
    if (pthread_mutex_init(&g->split_lock, NULL) != 0) {
        pthread_mutex_destroy(&g->ready_lock);
        pthread_mutex_destroy(&g->lock);
        free(g);
        return no_memory(error);
    }
    if (!hdi_memory_init(&g->memory)) {
        pthread_mutex_destroy(&g->split_lock);
        pthread_mutex_destroy(&g->ready_lock);
        pthread_mutex_destroy(&g->lock);
        free(g);
        return no_memory(error);
    }
    g->context = *context;
    hd_group_init(&g->group);
    g->calls = hdi_calls_create();
    if (!g->calls) {
        hdi_graph_free(g);
        return no_memory(error);
    }
    *graph = g;
    return HD_OK;
}

// Waits for the run, if one is under way: its jobs point into the graph. A
// shelf may keep the graph for a later one of the same recipe (arena/shelf.h);
// it owns the graph then.
void hd_graph_destroy(struct hd_graph *graph)
{
    if (!graph)
        return;
    if (graph->context.launcher && graph->context.launcher->pool)
        hd_group_wait(graph->context.launcher->pool, &graph->group);
    if (!hdi_shelf_put(graph))
        hdi_graph_free(graph);
}

// Buffers go before the memory that they came from: what runs left, fields,
// parts of the arena and its block, then what is spare. Sequences of a device
// (hdi_graph_unprepare) name kernels, so programs go after them.
void hdi_graph_free(struct hd_graph *graph)
{
    if (!graph)
        return;

    hdi_graph_release(graph);
    hdi_agile_release(graph);
    hdi_agile_forget(graph);
    hdi_arena_free(graph);
    hdi_arena_forget(graph);
    hdi_memory_destroy(&graph->memory);
    hdi_graph_unprepare(graph);
    for (uint32_t i = 0; i < graph->programs.count; i++)
        hd_program_destroy(graph->programs.at[i].program);
    while (graph->strings) {
        struct hdi_string_block *next = graph->strings->next;
        free(graph->strings);
        graph->strings = next;
    }
    free(graph->resources.at);
    free(graph->passes.at);
    free(graph->accesses.at);
    free(graph->commands.at);
    free(graph->args.at);
    free(graph->scratch.at);
    free(graph->values.at);
    free(graph->edges.at);
    free(graph->orders.at);
    free(graph->slots.at);
    free(graph->readers.at);
    free(graph->followers.at);
    free(graph->pass_of.at);
    free(graph->outputs.at);
    free(graph->kernels.at);
    free(graph->programs.at);
    free(graph->kernel_slots.at);
    free(graph->successors);
    free(graph->first_successor);
    free(graph->waits);
    free(graph->packed);
    free(graph->packed_values);
    free(graph->tasks);
    free(graph->weights);
    free(graph->rank);
    free(graph->keys);
    free(graph->ready);
    free(graph->splits.at);
    free(graph->given);
    free(graph->classes.at);
    hdi_calls_free(graph->calls);
    pthread_mutex_destroy(&graph->split_lock);
    pthread_mutex_destroy(&graph->ready_lock);
    pthread_mutex_destroy(&graph->lock);
    free(graph);
}

// NULL is the policy that every graph begins with, and leaves a compact graph
// compact. Any other needs what only the arrays tell. `ran_short` is forgotten
// because the new policy may need less memory.
hd_status hd_graph_set_policy(struct hd_graph *graph,
                              const struct hd_graph_policy *policy,
                              struct hd_error *error)
{
    static const struct hd_graph_policy defaults;

    if (!graph || (policy && ((unsigned)policy->goal > HD_GRAPH_MEMORY ||
                              (unsigned)policy->by > HD_GRAPH_BY_LAUNCHES)))
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_set_policy() takes a graph, a goal of enum "
                        "hd_graph_goal and a scheduler of enum "
                        "hd_graph_scheduler");
    if (atomic_load_explicit(&graph->running, memory_order_acquire))
        return hdi_fail(error, HD_EINVAL,
                        "the graph is running: wait for its event first");
    HDI_TRY(policy ? hdi_graph_expand(graph, error) : HD_OK);
    graph->policy = policy ? *policy : defaults;
    graph->ran_short = false;
    hdi_graph_unprepare(graph);
    return HD_OK;
}

// Classes ---------------------------------------------------------------------

// Classes are few, so they are searched one by one. A class that a failed call
// has made stays: without passes it limits nothing.
hd_status hdi_graph_find_class(struct hd_graph *graph, const char *name,
                               uint16_t *index, struct hd_error *error)
{
    *index = 0;
    if (!name)
        return HD_OK;
    if (!*name)
        return hdi_fail(error, HD_EINVAL, "a class of passes has a name");
    for (uint32_t i = 0; i < graph->classes.count; i++)
        if (strcmp(graph->classes.at[i].name, name) == 0) {
            *index = (uint16_t)(i + 1);
            return HD_OK;
        }
    if (graph->classes.count == UINT16_MAX)
        return hdi_fail(error, HD_ELIMIT,
                        "class '%s': a graph has %u classes of passes at most",
                        name, UINT16_MAX);
    const char *copy = hdi_graph_string(graph, name);
    if (!copy || !HDI_ROOM(graph->classes, 1))
        return hdi_fail(error, HD_ENOMEM, "no memory for class '%s'", name);
    graph->classes.at[graph->classes.count++] =
        (struct hdi_pass_class){.name = copy, .outside = HDI_NONE};
    *index = (uint16_t)graph->classes.count;
    return HD_OK;
}

// The recipe is forgotten: the graph is not any more what its program alone
// makes, so a shelf may not hand it out for that program.
hd_status hd_graph_limit(struct hd_graph *graph, const char *pass_class,
                         unsigned most, struct hd_error *error)
{
    uint16_t index;

    if (!graph || !pass_class)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_limit() takes a graph and the name of a "
                        "class of passes");
    if (atomic_load_explicit(&graph->running, memory_order_acquire))
        return hdi_fail(error, HD_EINVAL,
                        "the graph is running: wait for its event first");
    HDI_TRY(hdi_graph_find_class(graph, pass_class, &index, error));
    graph->classes.at[index - 1].most = most;
    graph->recipe = (struct hdi_feedback_key){{0, 0}};
    return HD_OK;
}

// Resources -------------------------------------------------------------------

static const char *place(const char *where)
{
    return where ? where : "";
}

static const char *colon(const char *where)
{
    return where && where[0] ? ": " : "";
}

// Sets `*type` and `*size` [bytes] even when it fails; the caller uses them on
// success only. The product is checked axis by axis, so it cannot overflow.
static hd_status check_shape(const struct hd_shape *shape, const char *name,
                             const char *where, const struct hdi_type **type,
                             uint64_t *size, struct hd_error *error)
{
    *type = shape->type ? hdi_type_find(shape->type) : NULL;
    if (!*type)
        return hdi_fail(error, HD_EINVAL,
                        "%s%sresource '%s': '%s' is no scalar or vector type "
                        "of OpenCL C, such as uint or float4",
                        place(where), colon(where), name,
                        shape->type ? shape->type : "");
    if (shape->axes < 1 || shape->axes > 3)
        return hdi_fail(error, HD_EINVAL,
                        "%s%sresource '%s': it has %u axes; give 1, 2 or 3",
                        place(where), colon(where), name, shape->axes);
    *size = (*type)->size;
    for (unsigned i = 0; i < shape->axes; i++) {
        if (shape->extent[i] == 0)
            return hdi_fail(error, HD_EINVAL,
                            "%s%sresource '%s': extent %u is 0", place(where),
                            colon(where), name, i + 1);
        if (!hdi_multiply(*size, shape->extent[i], size) ||
            *size > HDI_SIZE_LIMIT)
            return hdi_fail(error, HD_ELIMIT,
                            "%s%sresource '%s': it is larger than 2^48 bytes",
                            place(where), colon(where), name);
    }
    return HD_OK;
}

// Three ways, the cheapest first: a resource like the newest one costs a few
// comparisons; another one of a compact graph becomes a new kind of it; the
// rest goes to the array, and expands a compact graph.
hd_status hd_graph_resource(struct hd_graph *graph, const char *name,
                            const struct hd_shape *shape, const char *where,
                            hd_resource *resource, struct hd_error *error)
{
    if (!graph || !name || !shape || !resource)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_resource() takes a graph, a name, a shape "
                        "and a place for the handle");

    if (hdi_compact_same(graph, name, shape, where)) {
        *resource = graph->calls->resources.count;
        return HD_OK;
    }

    const struct hdi_type *type = NULL;
    uint64_t size = 0;
    HDI_TRY(check_shape(shape, name, where, &type, &size, error));

    const char *name_copy = hdi_graph_string(graph, name);
    const char *where_copy = hdi_graph_string(graph, where);
    if (!name_copy || !where_copy)
        return hdi_graph_no_room(graph, error);

    struct hdi_resource r = {
        .name = name_copy,
        .where = where_copy,
        .type = type,
        .size = size,
        .shape = {.type = type->name, .axes = shape->axes, .extent = {1, 1, 1}},
        .writer = HDI_NONE,
        .slot = HDI_NONE, // until it is linked: it may not join an open run
        .held = HDI_NONE};
    for (unsigned i = 0; i < shape->axes; i++)
        r.shape.extent[i] = shape->extent[i];
    if (hdi_compact_resource(graph, &r)) {
        *resource = graph->calls->resources.count;
        return HD_OK;
    }
    HDI_TRY(hdi_graph_expand(graph, error));
    if (!HDI_ROOM(graph->resources, 1))
        return hdi_graph_no_room(graph, error);
    graph->resources.at[graph->resources.count] = r;
    *resource = ++graph->resources.count;
    return HD_OK;
}

static hd_status no_resource(hd_resource resource, struct hd_error *error)
{
    return hdi_fail(error, HD_EINVAL, "%u is no resource of this graph",
                    resource);
}

// A buffer may be replaced at any time between runs: edges and slots do not
// depend on it, only on whether there is an input, so nothing is unprepared
// here. The first time comes before passes that use the resource, whose
// versions would be others otherwise.
hd_status hd_graph_input(struct hd_graph *graph, hd_resource resource,
                         struct hd_buffer *buffer, struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_input() takes a graph");
    HDI_TRY(hdi_graph_expand(graph, error));

    struct hdi_resource *r = hdi_graph_find(graph, resource);
    if (!r)
        return no_resource(resource, error);
    if (r->map)
        return hdi_fail(error, HD_EINVAL,
                        "field '%s' cannot be an input: copy one to it",
                        r->name);
    if (buffer && buffer->launcher != graph->context.launcher)
        return hdi_fail(error, HD_EINVAL,
                        "the buffer for input '%s' belongs to another runtime",
                        r->name);
    if (buffer && buffer->size < r->size)
        return hdi_fail(error, HD_EINVAL,
                        "the buffer for input '%s' has %llu bytes; %llu are "
                        "needed",
                        r->name, (unsigned long long)buffer->size,
                        (unsigned long long)r->size);
    if (!r->is_input && r->versions > 0)
        return hdi_fail(error, HD_EINVAL,
                        "resource '%s' is already written by pass '%s': hand "
                        "it in before the passes that use it",
                        r->name, graph->passes.at[r->writer].name);
    r->is_input = true;
    r->input = buffer;
    return HD_OK;
}

// `is_output` is set last, when nothing can fail any more. Outputs are few, so
// names are compared one by one.
hd_status hd_graph_output(struct hd_graph *graph, const char *name,
                          hd_resource resource, const char *where,
                          struct hd_error *error)
{
    if (!graph || !name)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_output() takes a graph and a name");
    HDI_TRY(hdi_graph_expand(graph, error));

    struct hdi_resource *r = hdi_graph_find(graph, resource);
    if (!r)
        return no_resource(resource, error);
    if (r->map)
        return hdi_fail(error, HD_EINVAL,
                        "%s%sfield '%s' cannot be an output: copy it to a "
                        "resource",
                        place(where), colon(where), r->name);
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        const struct hdi_output *o = &graph->outputs.at[i];
        if (strcmp(o->name, name) == 0)
            return hdi_fail(error, HD_EINVAL,
                            "%s%sthere is an output '%s' already%s%s",
                            place(where), colon(where), name,
                            o->where[0] ? ", made at " : "", o->where);
    }
    const char *name_copy = hdi_graph_string(graph, name);
    const char *where_copy = hdi_graph_string(graph, where);
    if (!name_copy || !where_copy || !HDI_ROOM(graph->outputs, 1))
        return hdi_graph_no_room(graph, error);

    hdi_graph_unprepare(graph);
    graph->outputs.at[graph->outputs.count++] = (struct hdi_output){
        .name = name_copy, .where = where_copy, .resource = resource - 1};
    r->is_output = true;
    return HD_OK;
}

// Order -----------------------------------------------------------------------

// Whether the order closes a cycle is not looked at here, where it would cost a
// walk each time, but once, by preparing.
hd_status hd_graph_order(struct hd_graph *graph, hd_pass before, hd_pass after,
                         const char *where, struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_order() takes a graph");
    if (hdi_compact_order(graph, before, after, where))
        return HD_OK;
    HDI_TRY(hdi_graph_expand(graph, error));
    uint32_t from = hdi_graph_find_pass(graph, before),
             to = hdi_graph_find_pass(graph, after);
    if (from == HDI_NONE || to == HDI_NONE)
        return hdi_fail(error, HD_EINVAL,
                        "%s%s%u and %u are not both passes of this graph",
                        place(where), colon(where), before, after);
    if (before == after)
        return hdi_fail(
            error, HD_EINVAL, "%s%spass '%s' cannot be ordered before itself",
            place(where), colon(where), graph->passes.at[from].name);

    const char *where_copy = hdi_graph_string(graph, where);
    if (!where_copy || !HDI_ROOM(graph->orders, 1))
        return hdi_graph_no_room(graph, error);

    hdi_graph_unprepare(graph);
    graph->orders.at[graph->orders.count++] =
        (struct hdi_stated_order){.from = from, .to = to, .where = where_copy};
    return HD_OK;
}
