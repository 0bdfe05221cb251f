// A disk for shared memory that is full (full.sh makes it small): the field
// that finds no room fails on all processes, and those before it are as usable
// as ever.
#include <stdio.h>
#include <string.h>

#include "heddle/agile.h"
#include "tests/check.h"

enum {
    FIELDS = 16, // more than there is room for
    SIDE = 4096
};

static void number(void *data, const int64_t *index, void *value)
{
    *(uint32_t *)value = (uint32_t)(index[0] * SIDE + index[1]) + *(int *)data;
}

static void sum(void *value, const void *element, void *data)
{
    (void)data;
    *(uint32_t *)value += *(const uint32_t *)element;
}

// As many as have room; they keep their values.
static int fill(struct hd_cluster *cluster, const struct hd_map *map)
{
    struct hd_field *fields[FIELDS];
    struct hd_error error;
    uint32_t none = 0, total, all = SIDE * SIDE;
    hd_status status = HD_OK;
    int count = 0;

    for (; count < FIELDS; count++) {
        struct hd_view view;

        CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(uint32_t), number,
                                  &count, &view, &error),
                 error);
        status = hd_agile(cluster, &view, map, &fields[count], &error);
        if (status != HD_OK)
            break;
    }
    CHECK(count > 0 && status == HD_ENOMEM && strstr(error.text, "no memory"));
    for (int i = 0; i < count; i++) {
        CHECK_OK(hd_field_reduce(fields[i], sum, NULL, &none, &total, &error),
                 error);
        CHECK(total == all / 2 * (all - 1) + all * (uint32_t)i);
        hd_field_destroy(fields[i]);
    }
    return count;
}

int main(void)
{
    struct hd_cluster *cluster;
    struct hd_error error;
    struct hd_map *map;

    CHECK_OK(hd_cluster_join(NULL, &cluster, &error), error);
    CHECK_OK(hd_map_parse("4096x4096 block nodes 3", &map, &error), error);
    int count = fill(cluster, map);
    CHECK(fill(cluster, map) == count);
    hd_map_destroy(map);
    hd_cluster_leave(cluster);
    return 0;
}
