// Kept graphs whose passes are given other resources, and layouts of these.
#include "heddle/heddle.h"
#include "tests/check.h"

static struct hd_runtime *runtime;
static struct hd_error error;

static hd_resource add_resource(struct hd_graph *graph, const char *name,
                                uint64_t extent)
{
    const struct hd_shape shape = {
        .type = "uchar", .axes = 1, .extent = {extent}};
    hd_resource resource;

    CHECK_OK(hd_graph_resource(graph, name, &shape, NULL, &resource, &error),
             error);
    return resource;
}

static hd_pass add_fill(struct hd_graph *graph, hd_resource to, double value)
{
    const struct hd_command command = {
        .is = HD_FILL, .to = to, .pattern = &value, .pattern_count = 1};
    const struct hd_pass_params params = {.name = "fill",
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

static hd_pass add_copy(struct hd_graph *graph, hd_resource from,
                        hd_resource to)
{
    const struct hd_command command = {.is = HD_COPY, .from = from, .to = to};
    const struct hd_pass_params params = {.name = "copy",
                                          .where = "g.c:9",
                                          .reads = &from,
                                          .read_count = 1,
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

// Two resources are filled, one of them is copied to the output.
struct example {
    struct hd_graph *graph;
    hd_resource a, b, late, large, out;
    hd_pass fill_a, copy;
};

static struct example make(void)
{
    struct example e;

    CHECK_OK(hd_graph_create(runtime, &e.graph, &error), error);
    e.a = add_resource(e.graph, "a", 8);
    e.b = add_resource(e.graph, "b", 8);
    e.late = add_resource(e.graph, "late", 8);
    e.large = add_resource(e.graph, "large", 9);
    e.out = add_resource(e.graph, "out", 8);
    e.fill_a = add_fill(e.graph, e.a, 1);
    add_fill(e.graph, e.b, 2);
    e.copy = add_copy(e.graph, e.a, e.out);
    add_fill(e.graph, e.late, 3);
    CHECK_OK(hd_graph_output(e.graph, "out", e.out, NULL, &error), error);
    CHECK_OK(hd_graph_output(e.graph, "late", e.late, NULL, &error), error);
    return e;
}

static int result(const struct example *e)
{
    unsigned char seen[8];

    CHECK_OK(hd_graph_run(e->graph, NULL, &error), error);
    CHECK_OK(hd_graph_contents(e->graph, e->out, 0, seen, 8, &error), error);
    for (int i = 1; i < 8; i++)
        CHECK(seen[i] == seen[0]);
    return seen[0];
}

static void a_pass_uses_another_resource(void)
{
    struct example e = make();
    struct hd_pass_info info;

    CHECK(result(&e) == 1);
    CHECK_OK(hd_graph_set_resource(e.graph, e.copy, e.a, e.b, &error), error);
    CHECK(result(&e) == 2);
    // Nobody needs the other any more.
    CHECK(hd_graph_pass_info(e.graph, e.fill_a - 1, &info) && info.dropped);
    CHECK_OK(hd_graph_set_resource(e.graph, e.copy, e.b, e.a, &error), error);
    CHECK(result(&e) == 1);
    CHECK(hd_graph_pass_info(e.graph, e.fill_a - 1, &info) && !info.dropped);
    hd_graph_destroy(e.graph);
}

// The pass that wrote one writes the other: its readers would find nothing.
static void what_would_break_the_graph_is_refused(void)
{
    struct example e = make();

    CHECK_FAILS(hd_graph_set_resource(e.graph, 99, e.a, e.b, &error), HD_EINVAL,
                error, "one of its passes");
    CHECK_FAILS(hd_graph_set_resource(e.graph, e.copy, e.b, e.a, &error),
                HD_EINVAL, error,
                "g.c:9: pass 'copy': it does not use resource 'b'");
    CHECK_FAILS(hd_graph_set_resource(e.graph, e.copy, e.a, e.out, &error),
                HD_EINVAL, error, "also 'out'");
    CHECK_FAILS(hd_graph_set_resource(e.graph, e.copy, e.a, e.large, &error),
                HD_EGRAPH, error, "another size than 'a'");
    CHECK_FAILS(hd_graph_set_resource(e.graph, e.copy, e.a, e.late, &error),
                HD_EGRAPH, error, "it would read resource 'late'");
    CHECK_FAILS(hd_graph_set_resource(e.graph, e.fill_a, e.a, e.late, &error),
                HD_EGRAPH, error, "it would read resource 'a'");
    CHECK(result(&e) == 1); // as it was
    hd_graph_destroy(e.graph);
}

static hd_resource add_typed(struct hd_graph *graph, const char *type,
                             unsigned axes, uint64_t last)
{
    const struct hd_shape shape = {
        .type = type, .axes = axes, .extent = {5, axes > 1 ? 3 : 1, last}};
    hd_resource resource;

    CHECK_OK(hd_graph_resource(graph, type, &shape, NULL, &resource, &error),
             error);
    return resource;
}

static hd_status add_layout(struct hd_graph *graph, hd_resource from,
                            hd_resource to)
{
    const struct hd_command command = {.is = HD_LAYOUT, .from = from, .to = to};
    const struct hd_pass_params params = {.name = "layout",
                                          .reads = &from,
                                          .read_count = 1,
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    return hd_graph_pass(graph, &params, &pass, &error);
}

// Vectors become planes, and these the vectors that were.
static void layouts_change_there_and_back(const char *vector,
                                          const char *scalar, unsigned width,
                                          unsigned padded, unsigned size)
{
    struct hd_graph *graph;
    struct hd_graph_result r;
    struct hd_buffer *buffer;
    unsigned char *in;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    hd_resource a = add_typed(graph, vector, 2, 1);
    hd_resource b = add_typed(graph, scalar, 3, width);
    hd_resource c = add_typed(graph, vector, 2, 1);
    uint64_t bytes = 15ull * padded * size;
    CHECK_OK(hd_buffer_create(runtime, bytes, &buffer, &error), error);
    in = hd_buffer_host(buffer);
    for (uint64_t i = 0; i < bytes; i++)
        in[i] = (unsigned char)(i * 7 + 1);
    CHECK_OK(hd_graph_input(graph, a, buffer, &error), error);
    CHECK_OK(add_layout(graph, a, b), error);
    CHECK_OK(add_layout(graph, b, c), error);
    CHECK_OK(hd_graph_output(graph, "b", b, NULL, &error), error);
    CHECK_OK(hd_graph_output(graph, "c", c, NULL, &error), error);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(hd_graph_result(graph, 0, &r));
    const unsigned char *planes = hd_buffer_host(r.buffer);
    CHECK(hd_graph_result(graph, 1, &r));
    const unsigned char *vectors = hd_buffer_host(r.buffer);
    for (unsigned i = 0; i < 15; i++)
        for (unsigned k = 0; k < width; k++) {
            const unsigned char *at = in + (i * padded + k) * size;
            CHECK(memcmp(planes + (k * 15 + i) * size, at, size) == 0);
            CHECK(memcmp(vectors + (i * padded + k) * size, at, size) == 0);
        }
    CHECK_FAILS(add_layout(graph, a, c), HD_EGRAPH, error,
                "one has vectors, and the other");
    CHECK_FAILS(add_layout(graph, b, b), HD_EINVAL, error, "the same");
    hd_graph_destroy(graph);
    hd_buffer_destroy(buffer);
}

int main(void)
{
    const struct hd_runtime_params params = {
        .workers = 2, .device = "cpu", .no_cache = true};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    a_pass_uses_another_resource();
    what_would_break_the_graph_is_refused();
    layouts_change_there_and_back("uchar4", "uchar", 4, 4, 1);
    layouts_change_there_and_back("half2", "half", 2, 2, 2);
    layouts_change_there_and_back("float3", "float", 3, 4, 4);
    layouts_change_there_and_back("double16", "double", 16, 16, 8);
    hd_runtime_destroy(runtime);
    return 0;
}
