// A graph on CPU and GPU, on the fake driver: passes run where they say, and
// find what others have left elsewhere.
#include <stdint.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    N = 4096,
    STEPS = 5
};

static struct hd_error error;

static uint64_t groups_on(const struct hd_runtime *runtime, unsigned device)
{
    struct hd_device_info info;

    CHECK_OK(hd_runtime_device_info(runtime, device, &info, &error), error);
    return info.groups;
}

static void check(const int *result)
{
    for (int i = 0; i < N; i++) {
        int right = 7;
        for (int step = 0; step < STEPS; step++)
            right = right * 3 + i;
        CHECK(result[i] == right);
    }
}

static void passes_run_where_they_say(const char *device, const char *path)
{
    const struct hd_runtime_params params = {
        .device = device, .workers = 2, .no_cache = true};
    const struct hd_graph_program program = {.path = path};
    struct hd_runtime *runtime;
    struct hd_graph *graph;
    static int result[N];

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_graph_generate(runtime, &program, &graph, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    for (int round = 0; round < 3; round++) {
        uint64_t before =
            strcmp(device, "all") == 0 ? groups_on(runtime, 1) : 0;
        CHECK_OK(hd_graph_run(graph, NULL, &error), error);
        struct hd_graph_result output;
        CHECK(hd_graph_result(graph, 0, &output));
        CHECK_OK(
            hd_buffer_read(output.buffer, 0, result, sizeof(result), &error),
            error);
        check(result);
        if (strcmp(device, "all") == 0)
            CHECK(groups_on(runtime, 1) - before >= 2 * N / 32);
    }
    hd_graph_destroy(graph);
    hd_runtime_destroy(runtime);
}

int main(int argc, char **argv)
{
    const struct fake_cuda *fake = fake_cuda();

    CHECK(argc > 1);
    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    passes_run_where_they_say("all", argv[1]);
    passes_run_where_they_say("cpu", argv[1]);
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    return 0;
}
