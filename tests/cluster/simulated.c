// A redistribution and a sum, for ranks that a simulator makes (simulated.sh).
#include <stdio.h>

#include "heddle/agile.h"

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(double *)value = (double)(index[0] * 7 + index[1]);
}

static void sum(void *value, const void *element, void *data)
{
    (void)data;
    *(double *)value += *(const double *)element;
}

int main(void)
{
    struct hd_error error = {0};
    struct hd_cluster *cluster;
    struct hd_map *blocks = NULL, *columns = NULL;
    struct hd_field *from = NULL, *to = NULL;
    struct hd_view view;
    char words[128];
    double none = 0, total = 0;

    hd_status status = hd_cluster_join(NULL, &cluster, &error);
    if (status != HD_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    unsigned nodes = hd_cluster_nodes(cluster), side = 1;
    while (side * side < nodes)
        side++;
    snprintf(words, sizeof(words), "2048x2048 tiles 64x64 mesh %ux%u", side,
             nodes / side);
    status = hd_map_parse(words, &blocks, &error);
    snprintf(words, sizeof(words),
             "2048x2048 tiles 64x64 columns block nodes %u", nodes);
    if (status == HD_OK)
        status = hd_map_parse(words, &columns, &error);
    if (status == HD_OK)
        status = hd_view_function(hd_map_grid(blocks), sizeof(double), number,
                                  NULL, &view, &error);
    if (status == HD_OK)
        status = hd_agile(cluster, &view, blocks, &from, &error);
    if (status == HD_OK) {
        view = hd_view_field(from);
        status = hd_agile(cluster, &view, columns, &to, &error);
    }
    if (status == HD_OK)
        status = hd_field_reduce(to, sum, NULL, &none, &total, &error);
    if (status != HD_OK)
        fprintf(stderr, "%s\n", error.text);
    else if (hd_cluster_process(cluster) == 0)
        printf("%u ranks: sum %.0f\n", nodes, total);
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(blocks);
    hd_map_destroy(columns);
    hd_cluster_leave(cluster);
    return status != HD_OK;
}
