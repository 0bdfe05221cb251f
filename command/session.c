#include "session.h"

#include <stdlib.h>

#include "failure.h"
#include "image.h"
#include "interrupt.h"
#include "progress.h"
#include "start.h"
#include "stopwatch.h"

// Read one image into a buffer.
static hd_status add_input(struct session *session, const char *name,
                           const char *path, struct hd_error *error)
{
    struct hd_graph_source *input = &session->inputs[session->input_count];
    struct image image;
    struct hd_buffer *buffer;

    hd_status status = image_read(path, &image, error);
    if (status != HD_OK)
        return status;
    uint64_t size = (uint64_t)image.width * image.height * 4;
    status = hd_buffer_create(session->runtime, size, &buffer, error);
    if (status != HD_OK) {
        free(image.pixels);
        return status;
    }
    *input = (struct hd_graph_source){
        .name = name,
        .shape = {.type = "uchar4",
                  .axes = 2,
                  .extent = {image.width, image.height, 1}},
        .buffer = buffer};
    session->input_count++;
    status = hd_buffer_write(buffer, 0, image.pixels, size, error);
    free(image.pixels);
    return status;
}

static hd_status generate(struct session *session, const struct options *given,
                          struct hd_error *error)
{
    struct hd_graph_program program = {.path = given->operand,
                                       .settings = session->settings,
                                       .inputs = session->inputs,
                                       .input_count = session->input_count};
    struct hd_graph *graph;

    for (const struct given *one = NULL;
         (one = option_next(given, "--set", one)) != NULL;)
        session->settings[program.setting_count++] =
            (struct hd_setting){one->name, one->value};
    hd_status status =
        hd_graph_generate(session->runtime, &program, &graph, error);
    if (status != HD_OK)
        return status;
    session->graph = graph;
    interrupt_graph(graph);
    return interrupted() ? fail(error, HD_ECANCELED, "cancelled") : HD_OK;
}

hd_status session_open(struct session *session, const struct options *given,
                       const struct hd_runtime_params *params,
                       struct hd_error *error)
{
    uint64_t mark = now();

    *session = (struct session){0};
    // One more, since nothing of size 0 is asked for.
    session->inputs =
        calloc(option_count(given, "--in") + 1, sizeof(*session->inputs));
    session->settings =
        calloc(option_count(given, "--set") + 1, sizeof(*session->settings));
    if (!session->inputs || !session->settings)
        return fail(error, HD_ENOMEM, "out of memory");

    hd_status status = start_runtime(*params, &session->runtime, error);
    interrupt_runtime(session->runtime);
    session->start_time = lap(&mark);
    for (const struct given *one = NULL;
         status == HD_OK && (one = option_next(given, "--in", one)) != NULL;) {
        progress_stage("reading images");
        status = add_input(session, one->name, one->value, error);
        if (status == HD_OK && interrupted())
            status = fail(error, HD_ECANCELED, "cancelled");
    }
    session->decode_time = lap(&mark);
    if (status == HD_OK) {
        progress_stage("generating the graph");
        status = generate(session, given, error);
    }
    session->generate_time = lap(&mark);
    progress_erase();
    return status;
}

void session_close(struct session *session)
{
    interrupt_graph(NULL);
    hd_graph_destroy(session->graph);
    for (unsigned i = 0; i < session->input_count; i++)
        hd_buffer_destroy(session->inputs[i].buffer);
    interrupt_runtime(NULL);
    hd_runtime_destroy(session->runtime);
    free(session->inputs);
    free(session->settings);
}
