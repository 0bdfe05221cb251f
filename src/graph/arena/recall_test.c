// Plans of memory that are kept between runtimes.
#include "graph/arena/recall.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/folder.h"

enum {
    PASSES = 30
};

static const char *folder;
static struct hd_error error;

static hd_status nothing(void *data, struct hd_error *failure)
{
    (void)data, (void)failure;
    return HD_OK;
}

// Passes that read what two before them made; `last` changes the structure.
static struct hd_graph *make(struct hd_runtime *runtime, uint64_t last)
{
    const struct hd_graph_policy policy = {.goal = HD_GRAPH_MEMORY};
    const struct hd_command command = {.is = HD_CALL, .call = nothing};
    hd_resource r[PASSES];
    struct hd_graph *graph;
    hd_pass pass;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    CHECK_OK(hd_graph_set_policy(graph, &policy, &error), error);
    for (unsigned i = 0; i < PASSES; i++) {
        uint64_t bytes = i + 1 < PASSES ? 1000 * (1 + i * 7 % 5) : last;
        const struct hd_shape shape = {
            .type = "uchar", .axes = 1, .extent = {bytes}};
        CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r[i], &error),
                 error);
        const hd_resource reads[2] = {i > 0 ? r[i - 1] : 0,
                                      i > 1 ? r[i - 2] : 0};
        const struct hd_pass_params params = {.name = "P",
                                              .reads = reads,
                                              .read_count = i < 2 ? i : 2,
                                              .writes = &r[i],
                                              .write_count = 1,
                                              .commands = &command,
                                              .command_count = 1};
        CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    }
    CHECK_OK(hd_graph_output(graph, "last", r[PASSES - 1], NULL, &error),
             error);
    return graph;
}

// Whether a new process would find the plan; its height in any case [bytes].
static bool is_recalled(uint64_t last, uint64_t *heap)
{
    const struct hd_runtime_params params = {
        .workers = 1, .device = "cpu", .cache = folder};
    struct hd_runtime *runtime;
    struct hd_graph_statistics stats;

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    struct hd_graph *graph = make(runtime, last);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    hd_graph_stats(graph, &stats);
    CHECK(stats.planned && stats.live <= stats.heap);
    *heap = stats.heap;
    hd_graph_destroy(graph);
    hd_runtime_destroy(runtime);
    return stats.recalled;
}

static unsigned for_each_plan(void (*act)(const char *path))
{
    DIR *files = opendir(folder);
    const struct dirent *file;
    unsigned count = 0;
    char path[512];

    CHECK(files);
    while ((file = readdir(files)) != NULL)
        if (strncmp(file->d_name, "plan", 4) == 0) {
            snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
            count++;
            if (act)
                act(path);
        }
    closedir(files);
    return count;
}

static void a_plan_is_found_again(void)
{
    uint64_t first, again, other;

    CHECK(!is_recalled(500, &first));
    CHECK(is_recalled(500, &again));
    CHECK(first == again);
    CHECK(!is_recalled(700, &other)); // another structure
    CHECK(is_recalled(700, &again) && other == again);
}

static void cut_short(const char *path)
{
    CHECK(truncate(path, 60) == 0);
}

static void change_byte(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    unsigned char byte;

    CHECK(file >= 0 && pread(file, &byte, 1, 50) == 1);
    byte ^= 4;
    CHECK(pwrite(file, &byte, 1, 50) == 1);
    close(file);
}

static void damage_does_no_harm(void (*damage)(const char *path))
{
    uint64_t heap, again;

    is_recalled(500, &heap);
    CHECK(for_each_plan(damage) > 0);
    CHECK(!is_recalled(500, &again));
    CHECK(heap == again);
    CHECK(is_recalled(500, &again));
}

// One that somebody wrote as it should be written, but that is wrong.
static void a_wrong_plan_is_not_used(void)
{
    struct hdi_cache *cache;
    struct hdi_feedback_key key = hdi_feedback_key("test");
    uint32_t order[2] = {1, 0}, read_order[2];
    uint64_t offset[3] = {0, 128, 256}, read_offset[3];
    const struct hdi_recalled_plan plan = {2, 3, 384, order, offset};
    struct hdi_recalled_plan read = {2, 3, 0, read_order, read_offset};

    CHECK_OK(hdi_cache_open(folder, &cache, &error), error);
    CHECK(!hdi_recall_find(cache, &key, &read));
    hdi_recall_keep(cache, &key, &plan);
    CHECK(hdi_recall_find(cache, &key, &read));
    CHECK(read.height == 384 && read_order[0] == 1 && read_offset[2] == 256);
    read.items = 2;
    CHECK(!hdi_recall_find(cache, &key, &read));
    read.items = 3;
    key.hash[1]++;
    CHECK(!hdi_recall_find(cache, &key, &read)); // another with the same name
    hdi_cache_close(cache);
}

static void there_are_so_many_plans(void)
{
    uint64_t heap;

    for (uint64_t size = 1; size <= 2 * HDI_RECALL_PLANS; size++)
        is_recalled(1000 + size, &heap);
    CHECK(for_each_plan(NULL) <= HDI_RECALL_PLANS);
}

static void remove_all(void)
{
    char command[320];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

int main(void)
{
    folder = make_folder();
    a_plan_is_found_again();
    damage_does_no_harm(cut_short);
    damage_does_no_harm(change_byte);
    a_wrong_plan_is_not_used();
    there_are_so_many_plans();
    remove_all();
    return 0;
}
