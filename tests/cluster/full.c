// A disk for shared memory that is full (full.sh makes it small): the field
// that finds no room fails on all processes, and those before it are as usable
// as ever. `full FIELDS`: so many have room, as for a process that shares with
// no other.
#include <stdio.h>
#include <stdlib.h>
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

// As many as have room, `most` at most; they keep their values.
static int fill(struct hd_cluster *cluster, const struct hd_map *map, int most)
{
    struct hd_field *fields[FIELDS];
    struct hd_error error;
    uint32_t none = 0, total, all = SIDE * SIDE;
    hd_status status = HD_OK;
    int count = 0;

    for (; count < most; count++) {
        struct hd_view view;

        CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(uint32_t), number,
                                  &count, &view, &error),
                 error);
        status = hd_agile(cluster, &view, map, &fields[count], &error);
        if (status != HD_OK)
            break;
    }
    CHECK(count > 0);
    CHECK(count == most ||
          (status == HD_ENOMEM && strstr(error.text, "no memory")));
    for (int i = 0; i < count; i++) {
        CHECK_OK(hd_field_reduce(fields[i], sum, NULL, &none, &total, &error),
                 error);
        CHECK(total == all / 2 * (all - 1) + all * (uint32_t)i);
        hd_field_destroy(fields[i]);
    }
    return count;
}

int main(int argc, char **argv)
{
    int room = argc > 1 ? atoi(argv[1]) : 0;
    struct hd_cluster *cluster;
    struct hd_error error;
    struct hd_map *map;
    char words[64];

    CHECK_OK(hd_cluster_join(NULL, &cluster, &error), error);
    snprintf(words, sizeof(words), "%dx%d block nodes %u", SIDE, SIDE,
             hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(words, &map, &error), error);
    int count = fill(cluster, map, room ? room : FIELDS);
    CHECK(room ? count == room : count < FIELDS);
    CHECK(fill(cluster, map, count + !room) == count);
    hd_map_destroy(map);
    hd_cluster_leave(cluster);
    return 0;
}
