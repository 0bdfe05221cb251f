// An agent that has no memory to listen for a while answers when it has.
#include <stdatomic.h>

#include "field/cluster/cluster.h"
#include "heddle/agile.h"
#include "tests/check.h"

enum {
    SIDE = 24,
    REFUSED = 5 // times
};

static struct hd_error error;
static atomic_int asked;

static hd_status refuse_some(struct hdi_net *net, uint32_t node, uint32_t tag,
                             void *data, uint64_t capacity,
                             struct hdi_transfer **transfer)
{
    if (tag == HDI_TAG_ASK) {
        int before = atomic_fetch_add(&asked, 1);

        if (before > 0 && before <= REFUSED)
            return HD_ENOMEM;
    }
    return net->transport->receive(net, node, tag, data, capacity, transfer);
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(int64_t *)value = SIDE * index[0] + index[1];
}

static hd_status copy(struct hd_task *task, const struct hd_tile *output,
                      const struct hd_tile *inputs, void *data,
                      struct hd_error *why)
{
    (void)task;
    (void)data;
    (void)why;
    for (int64_t i = 0; i < output->grid.extent[0]; i++)
        for (int64_t j = 0; j < output->grid.extent[1]; j++) {
            int64_t index[] = {output->grid.offset[0] + i,
                               output->grid.offset[1] + j};

            *(int64_t *)hd_tile_at(output, index, 8) =
                *(int64_t *)hd_tile_at(inputs, index, 8);
        }
    return HD_OK;
}

int main(void)
{
    struct hd_cluster_params params = {.messages = true};
    struct hd_cluster *cluster;
    struct hd_map *map;
    struct hd_view view;
    struct hd_field *from, *to;
    char words[64];

    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    if (hd_cluster_processes(cluster) == 1) {
        hd_cluster_leave(cluster);
        SKIP("this needs several processes");
    }
    snprintf(words, sizeof(words), "24x24 tiles 4x4 cyclic nodes %u",
             hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(words, &map, &error), error);
    CHECK_OK(hd_view_function(hd_map_grid(map), 8, number, NULL, &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &from, &error), error);
    CHECK_OK(hd_field_create(cluster, 8, map, &to, &error), error);

    struct hd_input input = {.view = hd_view_field(from)};
    struct hd_forall forall = {
        .output = to, .inputs = &input, .input_count = 1, .function = copy};
    const struct hdi_transport *transport = cluster->transport;
    struct hdi_transport refusing = *transport;

    CHECK_OK(
        hd_view_transpose(&input.view, (unsigned[]){1, 0}, &input.view, &error),
        error);
    refusing.receive = refuse_some;
    cluster->transport = &refusing;
    CHECK_OK(hd_forall(&forall, &error), error);
    cluster->transport = transport;
    CHECK(atomic_load(&asked) > REFUSED);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            int64_t index[] = {i, j};
            struct hd_tile tile;

            if (hd_field_segment(to, index, &tile))
                CHECK(*(int64_t *)hd_tile_at(&tile, index, 8) == SIDE * j + i);
        }
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(map);
    hd_cluster_leave(cluster);
    return 0;
}
