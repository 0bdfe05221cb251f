// Every example in docs/graphs.md generates a graph that runs.
#include "tests/graph/fake_launch.h"

#include <unistd.h>

#include "base/text.h"
#include "tests/check.h"

// What image.cl has, as the page uses it.
struct fake_kernel fake_kernels[] = {
    {.name = "linear",
     .args = {{"from", "const uchar4*", HD_ARG_GLOBAL, true},
              {"to", "float4*", HD_ARG_GLOBAL, false}}},
    {.name = "blur",
     .args = {{"from", "const float4*", HD_ARG_GLOBAL, true},
              {"to", "float4*", HD_ARG_GLOBAL, false},
              {"strength", "float", HD_ARG_VALUE, false},
              {"rows", "float4*", HD_ARG_LOCAL, false}}},
    {.name = "pixels",
     .args = {{"from", "const float4*", HD_ARG_GLOBAL, true},
              {"to", "uchar4*", HD_ARG_GLOBAL, false}}},
    {.name = NULL}};

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;
static char path[128];

static void run_example(const char *text, size_t size, struct hd_buffer *map)
{
    struct hd_graph_source source = {
        .name = "map",
        .shape = {.type = "uchar4", .axes = 2, .extent = {32, 16}},
        .buffer = map};
    struct hd_graph_program program = {.path = path};
    struct hd_graph *graph;
    FILE *file = fopen(path, "w");
    CHECK(file);
    CHECK(fwrite(text, 1, size, file) == size);
    CHECK(fclose(file) == 0);
    if (memmem(text, size, "input(\"map\"", 11)) {
        program.inputs = &source;
        program.input_count = 1;
    }
    CHECK_OK(hdi_graph_generate(&context, &program, &graph, &error), error);
    CHECK(hd_graph_pass_count(graph) > 0);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    hd_graph_destroy(graph);
}

int main(void)
{
    char folder[] = "graph_docs_XXXXXX", part[4096];
    struct hd_pool_params params = {.caller_only = true};
    struct hd_pool *pool;
    struct hd_buffer *map;
    struct hdi_text page = {0};
    unsigned examples = 0;
    size_t got;

    CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/example.lua", folder);
    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    fake_open(&launcher, pool, &context);
    CHECK_OK(hdi_buffer_create(&launcher, 32 * 16 * 4, &map, &error), error);

    FILE *file = fopen(DOCS_PAGE, "r");
    CHECK(file);
    while ((got = fread(part, 1, sizeof(part), file)) > 0)
        hdi_text_append(&page, part, got);
    fclose(file);
    const char *at = page.data;
    while ((at = strstr(at, "```lua\n"))) {
        at += 7;
        const char *end = strstr(at, "\n```");
        CHECK(end);
        run_example(at, (size_t)(end - at) + 1, map);
        examples++;
        at = end + 4;
    }
    CHECK(examples == 5);

    hdi_text_free(&page);
    hd_buffer_destroy(map);
    hd_pool_destroy(pool);
    fake_close(&launcher);
    unlink(path);
    rmdir(folder);
    return 0;
}
