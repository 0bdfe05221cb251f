// Sorts random keys that lie on all nodes, and proves it: no key is smaller
// than the one before it, and the keys are those that were there.
//
//     order COUNT
//     mpirun -n 4 order 100000000
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heddle/agile.h"

static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

static void random_key(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(uint64_t *)value = mix(((uint64_t)index[0] + 1) * 0x9e3779b97f4a7c15u);
}

// Whether each key is smaller than the one before it, and its hash.
struct proof {
    uint64_t wrong, sum;
};

static hd_status prove(struct hd_task *task, const struct hd_tile *out,
                       const struct hd_tile *in, void *data,
                       struct hd_error *error)
{
    int64_t begin = out->grid.offset[0] - in[0].grid.offset[0];
    const uint64_t *key = (const uint64_t *)in[0].data + begin;
    struct proof *proof = out->data;

    (void)task;
    (void)data;
    (void)error;
    for (int64_t i = 0; i < out->grid.extent[0]; i++) {
        proof[i].wrong = i + begin > 0 && key[i] < key[i - 1];
        proof[i].sum = mix(key[i]);
    }
    return HD_OK;
}

static void add_proofs(void *value, const void *element, void *data)
{
    struct proof *to = value;
    const struct proof *from = element;

    (void)data;
    to->wrong += from->wrong;
    to->sum += from->sum;
}

static hd_status prove_all(struct hd_field *keys, struct proof *all,
                           struct hd_cluster *cluster, struct hd_error *error)
{
    struct hd_field *proofs;
    struct hd_input input = {.view = hd_view_field(keys), .before = {1}};
    struct proof none = {0, 0};
    hd_status status = hd_field_create(cluster, sizeof(none),
                                       hd_field_map(keys), &proofs, error);

    if (status != HD_OK)
        return status;
    struct hd_forall forall = {.output = proofs,
                               .inputs = &input,
                               .input_count = 1,
                               .function = prove};
    status = hd_forall(&forall, error);
    if (status == HD_OK)
        status = hd_field_reduce(proofs, add_proofs, NULL, &none, all, error);
    hd_field_destroy(proofs);
    return status;
}

static hd_status run(struct hd_cluster *cluster, int64_t count,
                     struct hd_error *error)
{
    struct hd_map *map;
    struct hd_view view;
    struct hd_field *keys = NULL;
    struct proof before, after;
    struct timespec begin, end;
    char words[96];

    snprintf(words, sizeof(words),
             "%" PRId64 " nodes %u memory 65536 tasks 65536", count,
             hd_cluster_nodes(cluster));
    hd_status status = hd_map_parse(words, &map, error);
    if (status != HD_OK)
        return status;
    status = hd_view_function(hd_map_grid(map), sizeof(uint64_t), random_key,
                              NULL, &view, error);
    if (status == HD_OK)
        status = hd_agile(cluster, &view, map, &keys, error);
    if (status == HD_OK)
        status = prove_all(keys, &before, cluster, error);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (status == HD_OK)
        status = hd_field_sort(keys, error);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (status == HD_OK)
        status = prove_all(keys, &after, cluster, error);
    hd_field_destroy(keys);
    hd_map_destroy(map);
    if (status != HD_OK)
        return status;
    double time = (double)(end.tv_sec - begin.tv_sec) +
                  (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    if (hd_cluster_process(cluster) == 0)
        printf("%" PRId64 " keys on %u nodes: %" PRIu64 " were out of order, "
               "%" PRIu64 " are; %s; %.1f million a second\n",
               count, hd_cluster_nodes(cluster), before.wrong, after.wrong,
               before.sum == after.sum ? "the same keys" : "OTHER KEYS",
               (double)count / time / 1e6);
    if (after.wrong == 0 && before.sum == after.sum)
        return HD_OK;
    snprintf(error->text, sizeof(error->text), "the keys are not sorted");
    return HD_EINVAL;
}

int main(int count, char **words)
{
    struct hd_error error = {0};
    struct hd_cluster *cluster;
    int64_t keys = count == 2 ? atoll(words[1]) : 0;

    if (keys < 1) {
        fprintf(stderr, "usage: order COUNT\n");
        return 2;
    }
    hd_status status = hd_cluster_join(NULL, &cluster, &error);
    if (status == HD_OK) {
        status = run(cluster, keys, &error);
        hd_cluster_leave(cluster);
    }
    if (status != HD_OK)
        fprintf(stderr, "order: %s\n", error.text);
    return status != HD_OK;
}
