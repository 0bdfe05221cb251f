// Graph programs in Lua, with little time and memory, and the graphs they make,
// printed and prepared: kernel files are sought and not there.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heddle/graph.h"
#include "heddle/runtime.h"
#include "tests/fuzz/fuzz.h"

static struct hd_runtime *runtime;
static struct hd_buffer *buffer;
static FILE *nowhere;

static void open_runtime(void)
{
    const struct hd_runtime_params params = {
        .device = "null", .workers = 1, .caller_only = true, .no_cache = true};
    struct hd_error error;

    if (runtime)
        return;
    HOLDS(hd_runtime_create(&params, &runtime, &error) == HD_OK);
    HOLDS(hd_buffer_create(runtime, 16 * 8 * 4, &buffer, &error) == HD_OK);
    nowhere = fopen("/dev/null", "w");
    HOLDS(nowhere);
}

static void look(struct hd_graph *graph)
{
    struct hd_graph_result result;
    struct hd_pass_info pass;
    struct hd_error error = {0};

    for (unsigned i = 0; hd_graph_result(graph, i, &result); i++)
        HOLDS(result.name);
    for (unsigned i = 0; hd_graph_pass_info(graph, i, &pass); i++)
        HOLDS(pass.name && pass.where);
    HOLDS(hd_graph_print(graph, HD_GRAPH_DOT, nowhere) == HD_OK);
    HOLDS(hd_graph_print(graph, HD_GRAPH_JSON, nowhere) == HD_OK);
    fuzz_check_error(hd_graph_prepare(graph, &error), &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];

    open_runtime();
    const struct hd_setting settings[] = {{"n", "12"}, {"name", "word"}};
    const struct hd_graph_source input = {
        .name = "map", .shape = {"uchar4", 2, {16, 8, 1}}, .buffer = buffer};
    const struct hd_graph_program program = {
        .path = path, .max_steps = 20000, .max_memory = 1 << 20};
    struct hd_graph *graph;
    struct hd_error error = {0};

    int file = memfd_create("graph", MFD_CLOEXEC);
    HOLDS(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    for (unsigned given = 0; given <= 2; given += 2) {
        struct hd_graph_program with = program;
        with.settings = settings;
        with.setting_count = given;
        with.inputs = &input;
        with.input_count = given > 0;
        hd_status status = hd_graph_generate(runtime, &with, &graph, &error);
        if (status == HD_ENOTSUP && strstr(error.text, "need Lua")) {
            puts("skipped: built without Lua");
            exit(77);
        }
        fuzz_check_error(status, &error);
        if (status == HD_OK) {
            look(graph);
            hd_graph_destroy(graph);
        }
    }
    close(file);
    return 0;
}
