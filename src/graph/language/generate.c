// From a Lua file to a graph.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/arena/shelf.h"
#include "graph/language/language.h"
#include "graph/model/compact.h"

// Far more than anybody writes; it keeps a wrong file from filling memory.
enum {
    MAX_TEXT = 16 << 20 // of a program [bytes]
};

// Some seconds of instructions.
static const uint64_t default_steps = 200000000;
static const uint64_t default_memory = UINT64_C(256) << 20; // [bytes]

static hd_status read_program(const char *path, struct hdi_text *text,
                              struct hd_error *error)
{
    char part[16384];
    FILE *file = fopen(path, "rb");
    if (!file)
        return hdi_fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO,
                        "cannot open graph program %s: %s", path,
                        strerror(errno));

    size_t got;
    while ((got = fread(part, 1, sizeof(part), file)) > 0 &&
           text->size <= MAX_TEXT)
        hdi_text_append(text, part, got);
    int failure = ferror(file) ? errno : 0;
    fclose(file);
    if (failure)
        return hdi_fail(error, HD_EIO, "cannot read graph program %s: %s", path,
                        strerror(failure));
    if (text->failed)
        return hdi_fail(error, HD_ENOMEM, "no memory to read %s", path);
    if (text->size > MAX_TEXT)
        return hdi_fail(error, HD_ELIMIT, "%s is longer than 16 MiB", path);
    return HD_OK;
}

// Lua programs may begin with "#!"; the line stays, so that lines keep their
// numbers.
static void hide_first_line(struct hdi_text *text)
{
    size_t mark = hdi_text_mark(text->data, text->size);

    for (size_t i = 0; i < mark; i++)
        text->data[i] = ' ';
    if (text->size == mark || text->data[mark] != '#')
        return;
    for (char *c = text->data + mark; *c && *c != '\n'; c++)
        *c = ' ';
}

static hd_status check_program(const struct hd_graph_program *program,
                               struct hd_error *error)
{
    if (!program || !program->path)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_generate() takes a program with a path");
    for (unsigned i = 0; i < program->setting_count; i++)
        if (!program->settings[i].name || !program->settings[i].value)
            return hdi_fail(error, HD_EINVAL, "setting %u has no name or value",
                            i);
    for (unsigned i = 0; i < program->input_count; i++)
        if (!program->inputs[i].name || !program->inputs[i].shape.type)
            return hdi_fail(error, HD_EINVAL, "input %u has no name or type",
                            i);
    return HD_OK;
}

// The state is gone when this returns: what is to last is in the graph.
static hd_status run_program(struct hdi_language *language,
                             const struct hdi_text *text,
                             struct hd_error *error)
{
    const struct hd_graph_program *program = language->program;
    struct hdi_sandbox sandbox;
    hd_status status = hdi_sandbox_open(
        &sandbox, program->path,
        program->max_memory ? program->max_memory : default_memory,
        program->max_steps ? program->max_steps : default_steps, error);
    if (status != HD_OK)
        return status;

    sandbox.owner = language;
    status = hdi_sandbox_run(&sandbox, hdi_language_start,
                             text->data ? text->data : "", text->size,
                             hdi_language_end, error);
    hdi_sandbox_close(&sandbox);
    return status;
}

// From here on it may be kept when it is destroyed. The inputs are the graph's.
//
// What the graph has now is noted, to see at its end whether it was changed.
static void make_known(struct hdi_language *language,
                       const struct hdi_feedback_key *recipe)
{
    struct hd_graph *g = language->graph;

    if (!g->context.shelf || g->keeps_all) // results have steered it
        return;
    g->recipe = *recipe;
    g->given = language->inputs;
    language->inputs = NULL;
    g->made_of.passes = g->passes.count;
    g->made_of.resources = g->resources.count;
    g->made_of.orders = g->orders.count;
    g->made_of.outputs = g->outputs.count;
}

// Run the program in a graph of its own.
//
// The owner is told of the graph before the program runs, since the program may
// start it, and that it is gone after a failure.
static hd_status make_graph(const struct hdi_graph_context *context,
                            struct hdi_language *language,
                            struct hdi_text *text, struct hd_error *error)
{
    const struct hd_graph_program *program = language->program;

    HDI_TRY(hdi_graph_create(context, &language->graph, error));
    hdi_graph_expand(language->graph, NULL); // it has nothing: that is easy
    language->graph->cluster = program->cluster;
    hide_first_line(text);
    if (program->started)
        program->started(program->started_data, language->graph);
    hd_status status = HD_OK;
    if (program->keeping)
        status = hd_graph_keep(language->graph, program->keeping, error);
    if (status == HD_OK)
        status = run_program(language, text, error);
    status = hdi_language_finish(language, status, error);
    if (status == HD_OK)
        return HD_OK;
    if (program->started)
        program->started(program->started_data, NULL);
    hd_graph_destroy(language->graph);
    return status;
}

// From the shelf, where the program need not run again, nor preparing, or else
// made.
static hd_status get_graph(const struct hdi_graph_context *context,
                           struct hdi_language *language, struct hdi_text *text,
                           struct hd_error *error)
{
    const struct hd_graph_program *program = language->program;
    struct hdi_feedback_key recipe = {{0, 0}};

    // Fields lie on a cluster, which the caller leaves.
    if (context->shelf && !program->cluster) {
        recipe =
            hdi_shelf_recipe(program, text->data ? text->data : "", text->size);
        HDI_TRY(hdi_shelf_take(context->shelf, &recipe, program,
                               &language->graph, error));
    }
    if (language->graph) {
        if (program->started)
            program->started(program->started_data, language->graph);
        return HD_OK;
    }
    HDI_TRY(make_graph(context, language, text, error));
    make_known(language, &recipe);
    return HD_OK;
}

// `*graph` is set on success only. What make_known() takes over is NULL here.
hd_status hdi_graph_generate(const struct hdi_graph_context *context,
                             const struct hd_graph_program *program,
                             struct hd_graph **graph, struct hd_error *error)
{
    HDI_TRY(check_program(program, error));

    struct hdi_text text = {0}, folder = {0};
    const char *slash = strrchr(program->path, '/');
    hdi_text_append(&folder, program->path,
                    slash ? (size_t)(slash - program->path) + 1 : 0);
    struct hdi_language language = {
        .program = program,
        .inputs = calloc(program->input_count + (size_t)1, sizeof(hd_resource)),
        .settings = calloc(program->setting_count + (size_t)1, sizeof(bool)),
        .folder = folder.data,
    };
    hd_status status = HD_OK;
    if (!language.inputs || !language.settings || folder.failed)
        status = hdi_fail(error, HD_ENOMEM, "no memory for %s", program->path);
    if (status == HD_OK)
        status = read_program(program->path, &text, error);
    if (status == HD_OK)
        status = get_graph(context, &language, &text, error);
    if (status == HD_OK)
        *graph = language.graph;

    hdi_block_free(&language.block);
    hdi_text_free(&text);
    hdi_text_free(&folder);
    free(language.inputs);
    free(language.settings);
    return status;
}

const char *hdi_graph_language(void)
{
    return LUA_RELEASE;
}

bool hdi_graph_has_language(void)
{
    return true;
}
