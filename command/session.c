#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "failure.h"
#include "image.h"
#include "interrupt.h"
#include "progress.h"
#include "start.h"
#include "stopwatch.h"

// Read one array into a buffer.
static hd_status add_array(struct session *session, const char *name,
                           const char *place, struct hd_error *error)
{
    struct array array;
    struct hd_buffer *buffer;

    hd_status status = array_read(place, &array, error);
    if (status != HD_OK)
        return status;
    status = hd_buffer_create(session->runtime, array.size, &buffer, error);
    if (status == HD_OK) {
        session->inputs[session->input_count++] = (struct hd_graph_source){
            .name = name, .shape = array.shape, .buffer = buffer};
        status = hd_buffer_write(buffer, 0, array.data, array.size, error);
    }
    free(array.data);
    return status;
}

// Read one image into a buffer.
static hd_status add_image(struct session *session, const char *name,
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

// The user's data, whole.
static hd_status read_data(const char *path, char **text,
                           struct hd_error *error)
{
    enum {
        MAX = 64 << 20 // [bytes]
    };
    FILE *file = fopen(path, "rbe");
    size_t size = 0, room = 0, got = 0;
    char *data = NULL;

    if (!file)
        return fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO,
                    "cannot open %s: %s", path, strerror(errno));
    do {
        size += got;
        if (room - size < 2) {
            room = room ? 2 * room : 65536;
            char *more = room > MAX ? NULL : realloc(data, room);
            if (!more)
                break;
            data = more;
        }
        got = fread(data + size, 1, room - size - 1, file);
    } while (got > 0);
    hd_status status = HD_OK;
    if (ferror(file))
        status =
            fail(error, HD_EIO, "cannot read %s: %s", path, strerror(errno));
    else if (!feof(file))
        status = fail(error, HD_ELIMIT, "%s: more than %d bytes", path, MAX);
    fclose(file);
    if (status != HD_OK) {
        free(data);
        return status;
    }
    data[size] = '\0';
    *text = data;
    return HD_OK;
}

// The program may run passes for their results: a signal reaches them.
static void note_graph(void *session, struct hd_graph *graph)
{
    (void)session;
    interrupt_graph(graph);
}

static hd_status generate(struct session *session, const struct options *given,
                          struct hd_error *error)
{
    const char *every = option_value(given, "--every");
    const struct hd_graph_keeping keeping = {
        .folder = option_value(given, "--checkpoint"),
        .every = (uint64_t)((every ? strtod(every, NULL) : 60) * 1e9),
        .resume = option_given(given, "--resume")};
    struct hd_graph_program program = {
        .path = given->operand,
        .settings = session->settings,
        .inputs = session->inputs,
        .input_count = session->input_count,
        .started = note_graph,
        .cluster = session->cluster,
        .keeping = keeping.folder ? &keeping : NULL,
        .data_name = option_value(given, "--data")};
    struct hd_graph *graph;
    char *data = NULL;

    if (program.data_name) {
        hd_status status = read_data(program.data_name, &data, error);
        if (status != HD_OK)
            return status;
        program.data = data;
    }

    for (const struct given *one = NULL;
         (one = option_next(given, "--set", one)) != NULL;)
        session->settings[program.setting_count++] =
            (struct hd_setting){one->name, one->value};
    hd_status status =
        hd_graph_generate(session->runtime, &program, &graph, error);
    free(data);
    if (status != HD_OK)
        return status;
    session->graph = graph;
    interrupt_graph(graph);
    return interrupted() ? fail(error, HD_ECANCELED, "cancelled") : HD_OK;
}

// Of `nodes`, a number or the parts of the machine, in each process.
static hd_status join(struct session *session, const char *nodes,
                      struct hd_error *error)
{
    struct hd_cluster_params params = {.runtime = session->runtime};

    if (nodes && option_is_number(nodes))
        params.nodes = (unsigned)strtoul(nodes, NULL, 10);
    else
        params.parts = nodes;
    return hd_cluster_join(&params, &session->cluster, error);
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
    if (status == HD_OK)
        status = join(session, option_value(given, "--nodes"), error);
    session->start_time = lap(&mark);
    for (const struct given *one = NULL;
         status == HD_OK && (one = option_next(given, "--in", one)) != NULL;) {
        progress_stage("reading inputs");
        status = array_is_one(one->value)
                     ? add_array(session, one->name, one->value, error)
                     : add_image(session, one->name, one->value, error);
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
    hd_cluster_leave(session->cluster);
    interrupt_runtime(NULL);
    hd_runtime_destroy(session->runtime);
    free(session->inputs);
    free(session->settings);
}

bool session_writes(const struct session *session)
{
    return !session->cluster || hd_cluster_process(session->cluster) == 0;
}
