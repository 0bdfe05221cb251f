// The tasks of a queue, looked up one by one, are those that one finds by
// walking: over the segments, the memory blocks in them and the task blocks in
// these.
#include "heddle/agile.h"

#include "tests/check.h"

struct walk {
    const struct hd_map *map;
    uint32_t node;
    uint64_t count;
};

static void is_next(struct walk *walk, const struct hd_grid *block)
{
    struct hd_grid is;

    CHECK(hd_map_task(walk->map, walk->node, walk->count++, &is));
    CHECK(is.rank == block->rank);
    for (unsigned i = 0; i < is.rank; i++)
        CHECK(is.offset[i] == block->offset[i] &&
              is.extent[i] == block->extent[i]);
}

// Go over the blocks of a box, the last axis fastest.
static void walk_blocks(struct walk *walk, const struct hd_grid *box,
                        bool (*block_of)(const struct hd_map *, const int64_t *,
                                         struct hd_grid *),
                        void (*visit)(struct walk *, const struct hd_grid *))
{
    int64_t at[HD_MAX_RANK];
    struct hd_grid block;

    memcpy(at, box->offset, sizeof(at));
    for (unsigned i = 1; i > 0;) {
        CHECK(block_of(walk->map, at, &block));
        visit(walk, &block);
        for (i = box->rank; i > 0; i--) {
            at[i - 1] += block.extent[i - 1];
            if (at[i - 1] < box->offset[i - 1] + box->extent[i - 1])
                break;
            at[i - 1] = box->offset[i - 1];
        }
    }
}

static void walk_tasks(struct walk *walk, const struct hd_grid *block)
{
    walk_blocks(walk, block, hd_map_task_block, is_next);
}

static void queue_is_as_walked(const char *words)
{
    struct hd_error error;
    struct hd_map *map;

    CHECK_OK(hd_map_parse(words, &map, &error), error);
    for (uint32_t n = 0; n < hd_map_nodes(map); n++) {
        struct walk walk = {map, n, 0};
        struct hd_grid block;

        for (uint64_t s = 0; s < hd_map_segments(map); s++) {
            struct hd_segment segment;

            if (hd_map_segment(map, s, &segment) && segment.node == n)
                walk_blocks(&walk, &segment.grid, hd_map_memory_block,
                            walk_tasks);
        }
        CHECK(walk.count == hd_map_tasks(map, n));
        CHECK(!hd_map_task(map, n, walk.count, &block));
    }
    hd_map_destroy(map);
}

int main(void)
{
    static const char *const words[] = {
        "100 nodes 3",
        "100 splits 7,40,53 nodes 3 memory 6 tasks 2",
        "101@-7 tiles 17 cyclic nodes 3 memory 5 tasks 5",
        "37x29 tiles 37x29 memory 8x6 tasks 4x3",
        "37x29 tiles 11x13 cyclic nodes 4 memory 4x6 tasks 2x3",
        "37x29 tiles 11x13 cyclic nodes 4 tasks 2x3",
        "37x29 tiles 37x1 cyclic nodes 4 memory 5x1",
        "9x14x11 tiles 9x7x11 nodes 2 memory 4x2x6 tasks 2x1x3",
        "5x4x6x7 tiles 5x4x6x7 memory 2x3x4x4 tasks 1x3x2x2",
    };

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        queue_is_as_walked(words[i]);
    return 0;
}
