// reduce, scan and sort on any number of nodes give what one node gives.
#include "heddle/agile.h"

#include "tests/check.h"

static struct hd_error error;
static struct hd_cluster *cluster;

static uint64_t value_of(int64_t i)
{
    uint64_t v = (uint64_t)i * 0x9e3779b97f4a7c15u;

    return i % 5 == 0 ? 7 : (v ^ v >> 31) * 0xbf58476d1ce4e5b9u;
}

struct pair {
    uint64_t key, index;
};

static void fill(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(struct pair *)value = (struct pair){value_of(*index), (uint64_t)*index};
}

static struct hd_field *make(const char *words)
{
    char text[128];
    struct hd_map *map;
    struct hd_view view;
    struct hd_field *field;

    snprintf(text, sizeof(text), words, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(struct pair), fill, NULL,
                              &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    hd_map_destroy(map);
    return field;
}

static const char *const maps[] = {
    "1000 block nodes %u",
    "1000 cyclic nodes %u",
    "1000@-3 tiles 7 cyclic nodes %u",
    "3 block nodes %u",
    "1 block nodes %u",
    "20000 tiles 3000 cyclic nodes %u",
};
enum {
    MAPS = sizeof(maps) / sizeof(maps[0])
};

static void sum(void *value, const void *element, void *data)
{
    struct pair *v = value;
    const struct pair *e = element;

    (void)data;
    v->key += e->key;
    v->index += e->index;
}

static void sums_of_all_elements(void)
{
    for (unsigned m = 0; m < MAPS; m++) {
        struct hd_field *field = make(maps[m]);
        const struct hd_grid *grid = hd_map_grid(hd_field_map(field));
        struct pair none = {0}, result, should = {0};

        CHECK_OK(hd_field_reduce(field, sum, NULL, &none, &result, &error),
                 error);
        for (int64_t i = 0; i < grid->extent[0]; i++) {
            should.key += value_of(grid->offset[0] + i);
            should.index += (uint64_t)(grid->offset[0] + i);
        }
        CHECK(result.key == should.key && result.index == should.index);
        hd_field_destroy(field);
    }
}

// Not commutative: the maps i -> a i + b, one after another.
static void compose(void *value, const void *element, void *data)
{
    struct pair *v = value;
    const struct pair *e = element;

    (void)data;
    v->index = v->index * (e->key | 1) + e->index;
    v->key = (v->key | 1) * (e->key | 1);
}

static void scans_in_order_of_the_indices(void)
{
    for (unsigned m = 0; m < MAPS; m++) {
        struct hd_field *field = make(maps[m]);
        const struct hd_map *map = hd_field_map(field);
        const struct hd_grid *grid = hd_map_grid(map);
        struct hd_view view = hd_view_field(field);
        struct pair should, next, is;

        CHECK_OK(hd_field_scan(field, compose, NULL, &error), error);
        for (int64_t k = 0; k < grid->extent[0]; k++) {
            int64_t i = grid->offset[0] + k;

            fill(NULL, &i, k ? &next : &should);
            if (k)
                compose(&should, &next, NULL);
            if (!hd_cluster_has(cluster, hd_map_node(map, &i)))
                continue;
            CHECK_OK(hd_view_read(&view, &i, &is, &error), error);
            CHECK(is.key == should.key && is.index == should.index);
        }
        hd_field_destroy(field);
    }
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct pair *)a)->key;
    uint64_t y = ((const struct pair *)b)->key;

    return x < y ? -1 : x > y;
}

static void sorts_all_elements(void)
{
    for (unsigned m = 0; m < MAPS; m++) {
        struct hd_field *field = make(maps[m]);
        const struct hd_map *map = hd_field_map(field);
        const struct hd_grid *grid = hd_map_grid(map);
        struct hd_view view = hd_view_field(field);
        struct pair is, none = {0}, total;
        size_t count = (size_t)grid->extent[0];
        struct pair *should = malloc(count * sizeof(*should));
        uint64_t indices = 0;

        CHECK(should);
        CHECK_OK(hd_field_sort(field, &error), error);
        for (int64_t k = 0; k < grid->extent[0]; k++) {
            int64_t i = grid->offset[0] + k;

            fill(NULL, &i, &should[k]);
            indices += should[k].index;
        }
        qsort(should, count, sizeof(*should), by_key);
        for (int64_t k = 0; k < grid->extent[0]; k++) {
            int64_t i = grid->offset[0] + k;

            if (!hd_cluster_has(cluster, hd_map_node(map, &i)))
                continue;
            CHECK_OK(hd_view_read(&view, &i, &is, &error), error);
            CHECK(is.key == should[k].key);
            // Whole elements moved.
            CHECK(is.key == value_of((int64_t)is.index));
        }
        CHECK_OK(hd_field_reduce(field, sum, NULL, &none, &total, &error),
                 error);
        CHECK(total.index == indices);
        free(should);
        hd_field_destroy(field);
    }
}

static void bad_fields_are_refused(void)
{
    struct hd_field *field = make("4x4 tiles 1x4 cyclic nodes %u");

    CHECK_FAILS(hd_field_scan(field, sum, NULL, &error), HD_EINVAL, error,
                "one axis is needed");
    CHECK_FAILS(hd_field_sort(field, &error), HD_EINVAL, error,
                "one axis is needed");
    hd_field_destroy(field);
}

int main(void)
{
    static const unsigned counts[] = {1, 2, 3, 4, 7};

    for (unsigned i = 0; i < 5; i++) {
        struct hd_cluster_params params = {.nodes = counts[i],
                                           .messages = i % 2};

        CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
        bool alone = hd_cluster_processes(cluster) == 1;
        sums_of_all_elements();
        scans_in_order_of_the_indices();
        sorts_all_elements();
        bad_fields_are_refused();
        hd_cluster_leave(cluster);
        if (!alone && i == 1)
            break;
    }
    return 0;
}
