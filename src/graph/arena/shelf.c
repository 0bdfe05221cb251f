// Graphs that programs have made, kept when they are destroyed, so that a
// program that is generated again with the same settings finds its graph,
// prepared and with its kernels.
//
//     hd_graph_destroy() -- put --> | newest |   |   | oldest | --> freed
//     hdi_graph_generate() <- take -- any of these, which leaves the shelf
//
// A graph on the shelf is nobody's: no buffer of a caller is used by it, and
// only memory that describes it is held.
#include "graph/arena/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "graph/arena/arena.h"

bool hdi_shelf_init(struct hdi_shelf *shelf)
{
    *shelf = (struct hdi_shelf){0};
    return pthread_mutex_init(&shelf->lock, NULL) == 0;
}

void hdi_shelf_destroy(struct hdi_shelf *shelf)
{
    for (int i = 0; i < HDI_SHELF_MAX; i++)
        hdi_graph_free(shelf->graphs[i]);
    pthread_mutex_destroy(&shelf->lock);
}

static void mix_text(struct hdi_feedback_key *key, const char *text)
{
    text = text ? text : "";
    hdi_feedback_mix(key, text, strlen(text) + 1);
}

// All that a program can see goes in, each text with its end, so that no two
// inputs run together. Contents of inputs do not: a program sees their shapes
// only.
struct hdi_feedback_key hdi_shelf_recipe(const struct hd_graph_program *program,
                                         const char *text, size_t size)
{
    struct hdi_feedback_key key = hdi_feedback_key("program");

    mix_text(&key, program->path); // kernels are sought beside it
    hdi_feedback_mix(&key, &size, sizeof(size));
    hdi_feedback_mix(&key, text, size);
    hdi_feedback_mix(&key, &program->setting_count,
                     sizeof(program->setting_count));
    for (unsigned i = 0; i < program->setting_count; i++) {
        mix_text(&key, program->settings[i].name);
        mix_text(&key, program->settings[i].value);
    }
    hdi_feedback_mix(&key, &program->input_count, sizeof(program->input_count));
    for (unsigned i = 0; i < program->input_count; i++) {
        const struct hd_graph_source *source = &program->inputs[i];
        mix_text(&key, source->name);
        mix_text(&key, source->shape.type);
        hdi_feedback_mix(&key, &source->shape.axes, sizeof(source->shape.axes));
        hdi_feedback_mix(&key, source->shape.extent,
                         sizeof(source->shape.extent));
    }
    mix_text(&key, program->data);
    hdi_feedback_mix(&key, &program->max_steps, sizeof(program->max_steps));
    hdi_feedback_mix(&key, &program->max_memory, sizeof(program->max_memory));
    return key;
}

static bool same(const struct hdi_feedback_key *a,
                 const struct hdi_feedback_key *b)
{
    return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

// Kernels -------------------------------------------------------------------

// False: it cannot be read, or the word "include" is in it, anywhere: then
// other files may be part of it, which nobody looks at. Read in parts, since
// files may be large; the last bytes stay for the word that lies across.
static bool look_at(const char *path, uint64_t *hash)
{
    char part[4096 + 8] = {0};
    FILE *file = fopen(path, "rb");
    size_t got, kept = 0;

    if (!file)
        return false;
    // The last bytes of a part are looked at again with the next one.
    while ((got = fread(part + kept, 1, sizeof(part) - kept, file)) > 0) {
        size_t size = kept + got;
        if (memmem(part, size, "include", 7)) {
            fclose(file);
            return false;
        }
        for (size_t i = kept; i < size; i++)
            *hash = (*hash ^ (unsigned char)part[i]) * UINT64_C(0x100000001b3);
        kept = size < 7 ? size : 7;
        memmove(part, part + size - kept, kept);
    }
    fclose(file);
    return true;
}

// A hash of what is in the files, not their times: a file that was written
// again with the same text is the same.
uint64_t hdi_shelf_look(const char *path, const char *with)
{
    uint64_t hash = HDI_HASH;
    bool good = look_at(path, &hash);
    char *files = strdup(with), *rest = files;

    good = good && files;
    for (char *file; good && *with && (file = strsep(&rest, "\n"));)
        good = look_at(file, &hash);
    free(files);
    return !good ? 0 : hash ? hash : 1;
}

// Kernels may have changed since: then they are built again.
//
// Only the programs go; passes, edges and memory plans follow from the graph
// program, which is the same. `kernel` of each use becomes NULL, so preparing
// builds it; kernels that were handed in stay.
static void look_at_kernels(struct hd_graph *graph)
{
    bool changed = false;

    for (uint32_t i = 0; i < graph->programs.count; i++) {
        const struct hdi_program_use *use = &graph->programs.at[i];
        changed |= use->files == 0 ||
                   use->files != hdi_shelf_look(use->path, use->with);
    }
    if (!changed)
        return;
    hdi_graph_unprepare(graph);
    hdi_graph_forget_packed(graph);
    for (uint32_t i = 0; i < graph->programs.count; i++)
        hd_program_destroy(graph->programs.at[i].program);
    graph->programs.count = 0;
    for (uint32_t i = 0; i < graph->kernels.count; i++)
        if (graph->kernels.at[i].path)
            graph->kernels.at[i].kernel = NULL;
}

// Variables of a program would be shared by two graphs that know nothing of
// each other.
static bool keeps_nothing(const struct hd_program *program)
{
    for (unsigned i = 0; i < hd_program_kernel_count(program); i++)
        if (hd_program_kernel(program, i)->keeps)
            return false;
    return true;
}

static struct hd_program *find_program(const struct hd_graph *graph,
                                       const struct hdi_kernel_use *use,
                                       uint64_t files)
{
    for (uint32_t i = 0; graph && i < graph->programs.count; i++) {
        const struct hdi_program_use *p = &graph->programs.at[i];
        if (p->files == files && strcmp(p->path, use->path) == 0 &&
            strcmp(p->options, use->options) == 0 &&
            strcmp(p->with, use->with) == 0 && keeps_nothing(p->program))
            return p->program;
    }
    return NULL;
}

// Under the lock, as the graph may be taken meanwhile; the reference outlives
// that.
struct hd_program *hdi_shelf_borrow(struct hdi_shelf *shelf,
                                    const struct hdi_kernel_use *use,
                                    uint64_t files)
{
    struct hd_program *program = NULL;

    if (files == 0)
        return NULL;
    pthread_mutex_lock(&shelf->lock);
    for (int i = 0; i < HDI_SHELF_MAX && !program; i++)
        program = find_program(shelf->graphs[i], use, files);
    if (program)
        hdi_program_hold(program);
    pthread_mutex_unlock(&shelf->lock);
    return program;
}

// Taking and putting --------------------------------------------------------

// Inputs are handed in anew, in the order in which the program was given them:
// those that the graph has are of its owner before. With one that is wrong the
// graph goes back.
hd_status hdi_shelf_take(struct hdi_shelf *shelf,
                         const struct hdi_feedback_key *recipe,
                         const struct hd_graph_program *program,
                         struct hd_graph **taken, struct hd_error *error)
{
    struct hd_graph *graph = NULL;
    hd_status status = HD_OK;

    pthread_mutex_lock(&shelf->lock);
    for (int i = 0; i < HDI_SHELF_MAX && !graph; i++)
        if (shelf->graphs[i] && same(&shelf->graphs[i]->recipe, recipe)) {
            graph = shelf->graphs[i];
            memmove(&shelf->graphs[i], &shelf->graphs[i + 1],
                    (size_t)(HDI_SHELF_MAX - 1 - i) * sizeof(graph));
            shelf->graphs[HDI_SHELF_MAX - 1] = NULL;
        }
    pthread_mutex_unlock(&shelf->lock);
    *taken = NULL;
    if (!graph)
        return HD_OK;
    look_at_kernels(graph);
    for (unsigned i = 0; i < program->input_count && status == HD_OK; i++)
        status = hd_graph_input(graph, graph->given[i],
                                program->inputs[i].buffer, error);
    if (status != HD_OK) {
        hd_graph_destroy(graph);
        return status;
    }
    *taken = graph;
    return HD_OK;
}

// Counts as well as the recipe: what was added through the public functions
// does not change that.
static bool is_as_made(const struct hd_graph *graph)
{
    static const struct hdi_feedback_key none;

    return !same(&graph->recipe, &none) &&
           graph->made_of.passes == graph->passes.count &&
           graph->made_of.resources == graph->resources.count &&
           graph->made_of.orders == graph->orders.count &&
           graph->made_of.outputs == graph->outputs.count;
}

static bool is_default(const struct hd_graph_policy *p)
{
    return p->goal == HD_GRAPH_AUTO && p->memory == 0 && !p->whole &&
           !p->single && p->working_set == 0 && !p->times &&
           p->by == HD_GRAPH_BY_ANY;
}

// What a run has left is given back, and what the owner has set is set back:
// the next owner gets the graph as if it were new. The one that falls off the
// shelf is freed outside the lock, as that takes time.
bool hdi_shelf_put(struct hd_graph *graph)
{
    struct hdi_shelf *shelf = graph->context.shelf;

    if (!shelf || graph->cluster || !is_as_made(graph))
        return false;
    hdi_graph_release(graph);
    hdi_arena_free(graph);
    hdi_memory_drop(&graph->memory);
    if (!is_default(&graph->policy) || graph->keeps_all || graph->ran_short)
        hd_graph_set_policy(graph, NULL, NULL);
    graph->keeps_all = false;
    graph->done = 0;
    graph->took = 0;
    graph->arena.current = false;
    atomic_store(&graph->cancel, false);

    pthread_mutex_lock(&shelf->lock);
    struct hd_graph *oldest = shelf->graphs[HDI_SHELF_MAX - 1];
    memmove(&shelf->graphs[1], &shelf->graphs[0],
            (HDI_SHELF_MAX - 1) * sizeof(graph));
    shelf->graphs[0] = graph;
    pthread_mutex_unlock(&shelf->lock);
    hdi_graph_free(oldest);
    return true;
}
