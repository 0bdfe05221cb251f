// Processes that are dealt to machines in turn: those of a machine have numbers
// that follow each other, and reach each other's memory. HEDDLE_MACHINE says on
// which machine a process is. Arguments: how many processes a machine has.
#include "heddle/agile.h"
#include "tests/check.h"

static struct hd_error error;
static struct hd_cluster *cluster;

static void zero(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(uint64_t *)value = (uint64_t)index[0];
}

// Give what one process owns to another; return what came in messages.
static uint64_t moved_in_messages(uint32_t from, uint32_t to)
{
    struct hd_grid grid = {1, {100}, {0}};
    struct hd_segment segment = {.node = from, .grid = grid};
    struct hd_map_params grains = {.grid = grid,
                                   .nodes = hd_cluster_nodes(cluster)};
    struct hd_cluster_counters counters;
    struct hd_map *source, *target;
    struct hd_field *a, *b;
    struct hd_view view;

    CHECK_OK(hd_map_create_segments(&grid, &segment, 1, false, &grains, &source,
                                    &error),
             error);
    segment.node = to;
    CHECK_OK(hd_map_create_segments(&grid, &segment, 1, false, &grains, &target,
                                    &error),
             error);
    CHECK_OK(hd_view_function(&grid, 8, zero, NULL, &view, &error), error);
    CHECK_OK(hd_agile(cluster, &view, source, &a, &error), error);
    view = hd_view_field(a);
    hd_cluster_reset_counters(cluster);
    CHECK_OK(hd_agile(cluster, &view, target, &b, &error), error);
    hd_cluster_counters(cluster, &counters);
    CHECK(counters.moved == (hd_cluster_process(cluster) == to ? 800 : 0));
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_map_destroy(source);
    hd_map_destroy(target);
    return counters.received;
}

int main(int count, char **arguments)
{
    uint32_t each = count > 1 ? (uint32_t)atoi(arguments[1]) : 0;
    const char *name = getenv("HEDDLE_MACHINE");

    CHECK(each > 0);
    CHECK_OK(hd_cluster_join(NULL, &cluster, &error), error);
    uint32_t me = hd_cluster_process(cluster);
    for (uint32_t p = 0; p + 1 < hd_cluster_processes(cluster); p++) {
        bool apart = (p + 1) % each == 0;

        CHECK(moved_in_messages(p, p + 1) == (apart && me == p + 1 ? 800 : 0));
    }
    printf("process %u is on %s\n", me, name ? name : "nothing");
    hd_cluster_leave(cluster);
    return 0;
}
