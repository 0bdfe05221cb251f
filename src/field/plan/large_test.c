// Fields of more than 2^31 elements and bytes: what is computed of them without
// their memory.
#include <stdlib.h>

#include "field/map/map.h"
#include "field/map/queue.h"
#include "field/map/store.h"
#include "field/plan/copy.h"
#include "field/plan/plan.h"
#include "heddle/agile.h"
#include "tests/check.h"

#define SIDE INT64_C(3000000000) // a row of it is longer than 2^31

static struct hd_error error;

static struct hd_map *parse(const char *words)
{
    struct hd_map *map;

    CHECK_OK(hd_map_parse(words, &map, &error), error);
    return map;
}

static void maps_find_owners_far_away(void)
{
    // 3e9 columns in 3,000 tiles, four nodes.
    struct hd_map *map =
        parse("5x3000000000 tiles 5x1000000 cyclic nodes 4 memory 5x1000 "
              "tasks 1x1000");
    int64_t sum = 0;

    for (uint32_t n = 0; n < 4; n++)
        sum += hd_map_size(map, n);
    CHECK(sum == 5 * SIDE);
    CHECK(hd_map_tasks(map, 0) == (uint64_t)(5 * SIDE / 1000 / 4));
    for (int64_t x = 0; x < SIDE; x += 299999999)
        CHECK(hd_map_node(map, (int64_t[]){4, x}) == (uint64_t)x / 1000000 % 4);
    CHECK(hd_map_node(map, (int64_t[]){4, SIDE - 1}) == 2999 % 4);

    // The last task of the last node is the last block of the last tile.
    struct hd_grid block;
    uint64_t tasks = hd_map_tasks(map, 3);
    CHECK(hd_map_task(map, 3, tasks - 1, &block));
    CHECK(block.offset[0] == 4 && block.offset[1] == SIDE - 1000);
    CHECK(block.extent[0] == 1 && block.extent[1] == 1000);
    hd_map_destroy(map);

    // Elements that are dealt one by one, and splits beyond 2^32.
    map = parse("9000000000 cyclic nodes 7");
    CHECK(hd_map_node(map, (int64_t[]){8999999999}) == 8999999999 % 7);
    CHECK(hd_map_size(map, 0) == 9000000000 / 7 + 1);
    hd_map_destroy(map);
    map = parse("9000000000 splits 5000000000,8000000000 cyclic nodes 3");
    CHECK(hd_map_node(map, (int64_t[]){4999999999}) == 0);
    CHECK(hd_map_node(map, (int64_t[]){5000000000}) == 1);
    CHECK(hd_map_node(map, (int64_t[]){8000000000}) == 2);
    CHECK(hd_map_size(map, 0) == 5000000000);
    hd_map_destroy(map);
}

// Where an element lies in its node's memory, by the definition: rows of a
// node's tiles after one another.
static void places_in_memory_are_wide(void)
{
    struct hd_map *map = parse("70000x70000 block nodes 1");
    struct hdi_store store = {0};
    struct hdi_spot spot;

    CHECK(hdi_store_build(map, 0, &store));
    CHECK(store.size == INT64_C(4900000000));
    CHECK(hdi_map_spot(map, (int64_t[]){69999, 69998}, &spot));
    CHECK(hdi_store_place(&store, &spot) == INT64_C(4899999998));
    hdi_store_free(&store);
    hd_map_destroy(map);
}

// The volumes of a plan add up to all elements, and parts of a move to the
// move.
static void plans_move_every_element(void)
{
    struct hd_map *from = parse("100000x60000 tiles 25000x60000 block nodes 4");
    struct hd_map *to = parse("60000x100000 tiles 999x1001 mesh 2x2");
    struct hdi_affine affine = {{1, 0}, {0}, {1, 1}};
    struct hdi_move_plan *plan;
    struct hdi_moves moves = {0};
    int64_t sum = 0, largest = 0;

    CHECK_OK(hdi_plan_create(from, to, &affine, &plan, &error), error);
    for (uint32_t n = 0; n < 4; n++)
        CHECK(hdi_plan_to(plan, n, &moves));
    for (size_t m = 0; m < moves.count; m++) {
        struct hdi_part_of_move part = {{0}, {0}};
        int64_t size = 0;

        sum += moves.list[m].size;
        largest = moves.list[m].size > largest ? moves.list[m].size : largest;
        while (hdi_move_next(&moves.list[m], 2, 1 << 24, &part)) {
            CHECK(hdi_part_size(&part, 2) <= 1 << 24);
            size += hdi_part_size(&part, 2);
        }
        CHECK(size == moves.list[m].size);
    }
    CHECK(sum == INT64_C(6000000000) && largest > 100000000);
    free(moves.list);
    moves = (struct hdi_moves){0};
    hdi_plan_destroy(plan);
    hd_map_destroy(from);
    hd_map_destroy(to);

    // One move of 4.9e9 elements, in parts of more than 2^31 too.
    from = parse("70000x70000 nodes 1");
    affine = (struct hdi_affine){{0, 1}, {0}, {1, 1}};
    CHECK_OK(hdi_plan_create(from, from, &affine, &plan, &error), error);
    CHECK(hdi_plan_to(plan, 0, &moves) && moves.count == 1);
    struct hdi_part_of_move part = {{0}, {0}};
    CHECK(hdi_move_next(&moves.list[0], 2, INT64_C(3500000000), &part));
    CHECK(hdi_part_size(&part, 2) == INT64_C(3500000000));
    CHECK(hdi_move_next(&moves.list[0], 2, INT64_C(3500000000), &part));
    CHECK(hdi_part_size(&part, 2) == INT64_C(1400000000));
    CHECK(!hdi_move_next(&moves.list[0], 2, INT64_C(3500000000), &part));
    free(moves.list);
    hdi_plan_destroy(plan);
    hd_map_destroy(from);
}

static void index_of(void *data, const int64_t *index, void *value)
{
    (void)data;
    memcpy(value, index, 2 * sizeof(*index));
}

static void views_have_large_indices(void)
{
    struct hd_grid grid = {2, {SIDE, SIDE}, {0}};
    struct hd_view view, other;
    int64_t at[2] = {0};

    // More bytes than an address has are an error, not a small view. A function
    // has no memory.
    CHECK(hd_view_memory(&grid, 16, at, false, &view, &error) == HD_ELIMIT);
    CHECK_OK(hd_view_function(&grid, 16, index_of, NULL, &view, &error), error);
    CHECK_OK(hd_view_read(&view, (int64_t[]){SIDE - 1, SIDE - 2}, at, &error),
             error);
    CHECK(at[0] == SIDE - 1 && at[1] == SIDE - 2);
    grid.extent[0] = 4;
    CHECK_OK(hd_view_function(&grid, 16, index_of, NULL, &view, &error), error);
    CHECK_OK(hd_view_stride(&view, (int64_t[]){-1, 1000000}, &other, &error),
             error);
    CHECK(other.grid.extent[1] == 3000);
    CHECK_OK(hd_view_read(&other, (int64_t[]){0, 2999}, at, &error), error);
    CHECK(at[0] == 3 && at[1] == INT64_C(2999000000));
    CHECK_OK(hd_view_shift(&view, (int64_t[]){0, SIDE}, &other, &error), error);
    CHECK_OK(hd_view_transpose(&other, (unsigned[]){1, 0}, &other, &error),
             error);
    CHECK_OK(hd_view_read(&other, (int64_t[]){2 * SIDE - 1, 2}, at, &error),
             error);
    CHECK(at[0] == 2 && at[1] == SIDE - 1);
}

// What no index can reach is refused, not wrapped; what can be is read.
static void views_end_where_indices_do(void)
{
    const int64_t far = INT64_C(1) << 62;
    const struct hd_grid grid = {1, {far + 2}, {0}};
    const struct hd_grid low = {1, {2}, {INT64_MIN}};
    struct hd_view view, other;
    int64_t at[2] = {0};

    CHECK(hd_view_memory(&low, 8, at, false, &view, &error) == HD_ELIMIT);
    CHECK_OK(hd_view_function(&grid, 16, index_of, NULL, &view, &error), error);
    CHECK_OK(hd_view_stride(&view, &far, &view, &error), error);
    CHECK_OK(hd_view_read(&view, (int64_t[]){1}, at, &error), error);
    CHECK(at[0] == far);
    CHECK(hd_view_shift(&view, &far, &other, &error) == HD_ELIMIT);
    CHECK(hd_view_shift(&view, (int64_t[]){4}, &other, &error) == HD_ELIMIT);
    CHECK(hd_view_stride(&view, (int64_t[]){2}, &other, &error) == HD_ELIMIT);

    // The start fits, but not what the last index is multiplied to.
    CHECK_OK(hd_view_function(&grid, 16, index_of, NULL, &view, &error), error);
    CHECK_OK(hd_view_stride(&view, (int64_t[]){4}, &view, &error), error);
    CHECK(hd_view_shift(&view, (int64_t[]){INT64_C(1) << 60}, &other, &error) ==
          HD_ELIMIT);
    CHECK_OK(hd_view_shift(&view, (int64_t[]){1000}, &other, &error), error);
    CHECK_OK(hd_view_read(&other, (int64_t[]){1000 + (far >> 2)}, at, &error),
             error);
    CHECK(at[0] == far);
}

int main(void)
{
    maps_find_owners_far_away();
    places_in_memory_are_wide();
    plans_move_every_element();
    views_have_large_indices();
    views_end_where_indices_do();
    return 0;
}
