// Whom idle nodes ask: all in a small cluster; few in a large one, where those
// who have much are asked by all, or by enough.
#include "field/forall/givers.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"

static struct hd_error error;

static struct hd_map *parse(const char *words, uint32_t nodes)
{
    char text[128];
    struct hd_map *map;

    snprintf(text, sizeof(text), words, nodes);
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

static struct hdi_givers list(const struct hd_map *map, uint32_t node)
{
    struct hdi_givers v;

    CHECK(hdi_givers_list(map, node, &v));
    for (uint32_t i = 0; i < v.count; i++) {
        CHECK(v.node[i] < map->nodes && v.node[i] != node);
        for (uint32_t j = 0; j < i; j++)
            CHECK(v.node[i] != v.node[j]);
    }
    return v;
}

static void few_nodes_ask_all_near_ones_first(void)
{
    for (uint32_t nodes = 1; nodes <= HDI_ASK_ALL; nodes++) {
        struct hd_map *map =
            parse("64x64 tiles 64x64 tasks 4x4 nodes %u", nodes);
        struct hdi_givers v = list(map, nodes / 2);

        CHECK(v.count == nodes - 1);
        for (uint32_t i = 0; i < v.count; i++)
            CHECK(v.node[i] == (nodes / 2 + 1 + i) % nodes);
        hdi_givers_free(&v);
        hd_map_destroy(map);
    }
}

static void many_nodes_ask_at_powers_of_two(void)
{
    static const uint32_t near[] = {1,  99, 2,  98, 4,  96, 8,
                                    92, 16, 84, 32, 68, 64, 36};
    struct hd_map *map = parse("100x100 tiles 1x100 block nodes %u", 100);
    struct hdi_givers v = list(map, 0);

    CHECK(v.count == 14);
    for (uint32_t i = 0; i < v.count; i++)
        CHECK(v.node[i] == near[i]);
    hdi_givers_free(&v);
    hd_map_destroy(map);
}

// What all do on their own reaches everybody, and costs the logarithm.
static void whoever_has_all_is_asked_by_all(void)
{
    static const uint32_t nodes[] = {17, 64, 1000, 4096};
    static const uint32_t most[] = {15, 18, 30, 36};

    for (unsigned i = 0; i < 4; i++) {
        struct hd_map *map =
            parse("64x64 tiles 64x64 tasks 1x1 cyclic nodes %u", nodes[i]);

        for (uint32_t n = 1; n < nodes[i]; n++) {
            struct hdi_givers v = list(map, n);

            CHECK(v.node[0] == 0);
            CHECK(v.count <= most[i]);
            hdi_givers_free(&v);
        }
        hd_map_destroy(map);
    }
}

// 64 of 256 nodes have all: each of them is asked by several.
static void those_who_ask_spread(void)
{
    enum {
        NODES = 256,
        RICH = 64
    };
    struct hd_map *map =
        parse("64x64 tiles 1x64 tasks 1x1 cyclic nodes %u", NODES);
    unsigned asked[RICH] = {0};

    for (uint32_t n = RICH; n < NODES; n++) {
        struct hdi_givers v = list(map, n);
        unsigned rich = 0;

        for (uint32_t i = 0; i < v.count; i++)
            if (v.node[i] < RICH) {
                asked[v.node[i]]++;
                rich++;
            }
        CHECK(rich >= 8);
        hdi_givers_free(&v);
    }
    for (unsigned r = 0; r < RICH; r++)
        CHECK(asked[r] >= 8);
    hd_map_destroy(map);
}

int main(void)
{
    few_nodes_ask_all_near_ones_first();
    many_nodes_ask_at_powers_of_two();
    whoever_has_all_is_asked_by_all();
    those_who_ask_spread();
    return 0;
}
