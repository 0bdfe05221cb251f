// Nodes that are parts of the machine: which there are, who does their tasks,
// where their memory lies.
#include "heddle/agile.h"
#include "heddle/runtime.h"
#include "heddle/task.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "field/cluster/cluster.h"
#include "steal/worker.h"
#include "tests/check.h"

static struct hd_error error;
static struct hd_runtime *runtime;

static struct hd_cluster *join(const char *topology, const char *parts)
{
    struct hd_runtime_params machine = {.topology = topology};
    struct hd_cluster_params params = {.parts = parts};
    struct hd_cluster *cluster;

    CHECK_OK(hd_runtime_create(&machine, &runtime, &error), error);
    params.runtime = runtime;
    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    return cluster;
}

static void leave(struct hd_cluster *cluster)
{
    hd_cluster_leave(cluster);
    hd_runtime_destroy(runtime);
}

static void each_domain_with_workers_is_a_node(void)
{
    struct hd_cluster *c = join("node:3 core:2 pu:1", "numa");
    struct hd_node_info info;

    CHECK(hd_cluster_nodes(c) == 3);
    for (uint32_t n = 0; n < 3; n++) {
        CHECK_OK(hd_cluster_node(c, n, &info, &error), error);
        CHECK(info.part && info.domain == n && info.workers == 2);
        CHECK(info.worker[0] == 2 * n && info.worker[1] == 2 * n + 1);
    }
    CHECK_FAILS(hd_cluster_node(c, 3, &info, &error), HD_EINVAL, error,
                "node 3");
    leave(c);

    c = join("node:2 core:2 pu:1", "cpu,numa");
    CHECK(hd_cluster_nodes(c) == 3);
    CHECK_OK(hd_cluster_node(c, 0, &info, &error), error);
    CHECK(info.part && info.domain == UINT_MAX && info.workers == 4);
    CHECK_OK(hd_cluster_node(c, 2, &info, &error), error);
    CHECK(info.domain == 1 && info.worker[0] == 2);
    leave(c);

    // Two domains, workers in one.
    struct hd_runtime_params few = {.topology = "node:2 core:2 pu:1",
                                    .workers = 2};
    struct hd_cluster_params numa = {.parts = "numa"};
    CHECK_OK(hd_runtime_create(&few, &runtime, &error), error);
    numa.runtime = runtime;
    CHECK_OK(hd_cluster_join(&numa, &c, &error), error);
    CHECK(hd_cluster_nodes(c) == 1);
    leave(c);
}

static void near_nodes_share_a_package(void)
{
    struct hd_cluster *c = join("pack:2 node:2 core:1 pu:1", "numa");

    CHECK(hd_cluster_nodes(c) == 4);
    CHECK(hdi_domains_near(&c->domains, 0, 1) &&
          hdi_domains_near(&c->domains, 2, 3));
    CHECK(!hdi_domains_near(&c->domains, 1, 2) &&
          !hdi_domains_near(&c->domains, 3, 0));
    leave(c);
}

static void what_is_no_part_is_refused(void)
{
    struct hd_cluster_params params = {.parts = "numa"};
    struct hd_cluster *c;
    struct hd_node_info info;

    CHECK_FAILS(hd_cluster_join(&params, &c, &error), HD_EINVAL, error,
                "need a runtime");
    CHECK_OK(hd_runtime_create(NULL, &runtime, &error), error);
    params.runtime = runtime;
    params.parts = "numa,disk";
    CHECK_FAILS(hd_cluster_join(&params, &c, &error), HD_EINVAL, error,
                "'disk'");
    params.parts = "";
    CHECK_FAILS(hd_cluster_join(&params, &c, &error), HD_EINVAL, error, "''");
    params.parts = "numa";
    params.nodes = 2;
    CHECK_FAILS(hd_cluster_join(&params, &c, &error), HD_EINVAL, error,
                "not both");
    params.parts = NULL;
    CHECK_OK(hd_cluster_join(&params, &c, &error), error);
    CHECK_OK(hd_cluster_node(c, 1, &info, &error), error);
    CHECK(!info.part);
    leave(c);
}

// Tasks -----------------------------------------------------------------------

enum {
    BLOCKS = 240
};

static atomic_uint times[BLOCKS];
static atomic_uint strangers;

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(int64_t *)value = index[0];
}

// Each block is its input and the one before.
static hd_status add(struct hd_task *task, const struct hd_tile *output,
                     const struct hd_tile *inputs, void *data,
                     struct hd_error *why)
{
    const struct hd_worker *worker = hd_pool_worker(hd_runtime_pool(runtime));
    struct hd_cluster *c = data;
    struct hd_node_info info;
    int64_t at = output->grid.offset[0];
    const int64_t *in = inputs[0].data;
    bool mine = false;

    (void)why;
    atomic_fetch_add(&times[at], 1);
    CHECK_OK(hd_cluster_node(c, hd_task_node(task), &info, NULL),
             (struct hd_error){0});
    for (unsigned w = 0; worker && w < info.workers; w++)
        mine = mine || info.worker[w] == hd_worker_index(worker);
    if (!mine)
        atomic_fetch_add(&strangers, 1);
    *(int64_t *)output->data =
        inputs[0].grid.offset[0] < at ? in[0] + in[1] : in[0];
    return HD_OK;
}

static void tasks_run_on_the_workers_of_their_node(const char *topology,
                                                   const char *parts,
                                                   const char *words)
{
    struct hd_cluster *c = join(topology, parts);
    char text[64];
    struct hd_map *map;
    struct hd_view view;
    struct hd_field *a, *b;

    snprintf(text, sizeof(text), words, BLOCKS, hd_cluster_nodes(c));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    CHECK_OK(hd_view_function(hd_map_grid(map), 8, number, NULL, &view, &error),
             error);
    CHECK_OK(hd_agile(c, &view, map, &a, &error), error);
    CHECK_OK(hd_field_create(c, 8, map, &b, &error), error);
    struct hd_input input = {.view = hd_view_field(a), .before = {1}};
    struct hd_forall forall = {.output = b,
                               .inputs = &input,
                               .input_count = 1,
                               .function = add,
                               .data = c};
    for (unsigned round = 1; round <= 20; round++) {
        forall.stay = round % 2 == 0; // else one node may do all
        CHECK_OK(hd_forall(&forall, &error), error);
        for (unsigned i = 0; i < BLOCKS; i++)
            CHECK(times[i] == round);
    }
    CHECK(strangers == 0);
    int64_t *all = calloc(BLOCKS, sizeof(*all));
    CHECK_OK(hd_field_read(b, all, true, &error), error);
    for (int64_t i = 0; i < BLOCKS; i++)
        CHECK(all[i] == (i ? 2 * i - 1 : 0));
    memset(times, 0, sizeof(times));
    free(all);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_map_destroy(map);
    leave(c);
}

// Memory ----------------------------------------------------------------------

static void segments_do_not_share_pages(void)
{
    struct hd_cluster *c = join("node:3 core:1 pu:1", "numa");
    struct hd_map *map;
    struct hd_field *f;
    struct hd_tile tile;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), last = 0;

    CHECK_OK(hd_map_parse("9 tiles 3 block nodes 3", &map, &error), error);
    CHECK_OK(hd_field_create(c, 1, map, &f, &error), error);
    for (int64_t i = 0; i < 9; i += 3) {
        CHECK(hd_field_segment(f, &i, &tile));
        CHECK((uintptr_t)tile.data / page != last);
        last = (uintptr_t)tile.data / page;
        for (unsigned b = 0; b < 3; b++)
            CHECK(((char *)tile.data)[b] == 0);
    }
    hd_field_destroy(f);
    hd_map_destroy(map);
    leave(c);
}

static void memory_is_bound_to_its_domain(void)
{
    struct hd_cluster *c = join(NULL, "numa");
    size_t size = 64 * (size_t)sysconf(_SC_PAGESIZE);
    char text[64];
    struct hd_map *map;
    struct hd_field *f;
    struct hd_tile tile;
    int mode = 0;
    unsigned long nodes = 0;
    char *probe = calloc(1, size);

    if (!hdi_topology_bind(hdi_pool_topology(hd_runtime_pool(runtime)), 0,
                           probe, size)) {
        fprintf(stderr, "the system does not bind memory: not looked at\n");
        free(probe);
        leave(c);
        return;
    }
    snprintf(text, sizeof(text), "%zu block nodes %u", size,
             hd_cluster_nodes(c));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    CHECK_OK(hd_field_create(c, 1, map, &f, &error), error);
    CHECK(hd_field_segment(f, (int64_t[]){0}, &tile));
    if (syscall(SYS_get_mempolicy, &mode, &nodes, 64ul,
                (char *)tile.data + 2 * sysconf(_SC_PAGESIZE),
                2ul /* MPOL_F_ADDR */) == 0)
        CHECK(mode != 0 && nodes != 0 && (nodes & (nodes - 1)) == 0);
    hd_field_destroy(f);
    hd_map_destroy(map);
    free(probe);
    leave(c);
}

int main(void)
{
    each_domain_with_workers_is_a_node();
    near_nodes_share_a_package();
    what_is_no_part_is_refused();
    tasks_run_on_the_workers_of_their_node("node:2 core:2 pu:1", "numa",
                                           "%d tiles 1 block nodes %u");
    tasks_run_on_the_workers_of_their_node("pack:2 node:2 core:1 pu:1", "numa",
                                           "%d tiles 1 cyclic nodes %u");
    // One owns most: the others steal.
    tasks_run_on_the_workers_of_their_node("node:3 core:1 pu:1", "numa",
                                           "%d tiles 1 nodes %u weights 8,1,1");
    tasks_run_on_the_workers_of_their_node(NULL, "numa",
                                           "%d tiles 1 block nodes %u");
    segments_do_not_share_pages();
    memory_is_bound_to_its_domain();
    return 0;
}
