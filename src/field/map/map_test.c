// Maps: who owns what. The 6 x 6 field is cut into nine 2 x 2 pieces p1 to p9.
#include "heddle/field.h"

#include "field/map/map.h"
#include "tests/check.h"

static struct hd_error error;

static struct hd_map *parse(const char *text)
{
    struct hd_map *map;

    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

// The owners of all elements of a plane, row by row, are the digits of `text`.
static void owners_are(const char *words, const char *text)
{
    struct hd_map *map = parse(words);
    const struct hd_grid *grid = hd_map_grid(map);
    int64_t size[10] = {0};

    for (int64_t i = 0; i < grid->extent[0]; i++)
        for (int64_t j = 0; j < grid->extent[1]; j++) {
            int64_t index[] = {grid->offset[0] + i, grid->offset[1] + j};
            uint32_t node = hd_map_node(map, index);
            char wanted = *text++;

            if ((node == HD_NO_NODE ? '.' : (char)('0' + node)) != wanted) {
                fprintf(stderr, "%s: {%d, %d}: node %d, wanted %c\n", words,
                        (int)i, (int)j, (int)node, wanted);
                exit(1);
            }
            if (node != HD_NO_NODE)
                size[node]++;
        }
    for (uint32_t n = 0; n < hd_map_nodes(map); n++)
        // Tiles that a shape's border goes through are stored whole.
        CHECK(strstr(words, "lower") ? hd_map_size(map, n) >= size[n]
                                     : hd_map_size(map, n) == size[n]);
    hd_map_destroy(map);
}

static void decompositions_of_the_6_x_6_field(void)
{
    // Row block: 0-11, 12-23, 24-35; and on four nodes 0-8, 9-17, 18-26, 27-35.
    owners_are("6x6 rows block nodes 3", "000000000000"
                                         "111111111111"
                                         "222222222222");
    owners_are("6x6 rows block nodes 4", "000000000"
                                         "111111111"
                                         "222222222"
                                         "333333333");
    // Column block: p1 p4 p7, p2 p5 p8, p3 p6 p9.
    owners_are("6x6 columns block nodes 3", "001122001122"
                                            "001122001122"
                                            "001122001122");
    // Row cyclic: 3k, 3k+1, 3k+2; and 4k, 4k+1, 4k+2, 4k+3.
    owners_are("6x6 rows cyclic nodes 3", "012012012012"
                                          "012012012012"
                                          "012012012012");
    owners_are("6x6 rows cyclic nodes 4", "012301230123"
                                          "012301230123"
                                          "012301230123");
    // Row block-cyclic: p1 p4 p7, p2 p5 p8, p3 p6 p9; p1 p5 p9, p2 p6, p3 p7,
    // p4 p8.
    owners_are("6x6 tiles 2x2 rows cyclic nodes 3", "001122001122"
                                                    "001122001122"
                                                    "001122001122");
    owners_are("6x6 tiles 2x2 rows cyclic nodes 4", "001122001122"
                                                    "330011330011"
                                                    "223300223300");
    // Row block-block: p1-p3, p4-p6, p7-p9.
    owners_are("6x6 tiles 2x2 rows block nodes 3", "000000000000"
                                                   "111111111111"
                                                   "222222222222");
}

static void pieces_have_extents_and_offsets(void)
{
    struct hd_map *map = parse("6x6 tiles 2x2 rows cyclic nodes 4");
    struct hd_segment p;

    // p2: extent {2,2} at tile {0,1}, offset {0,2}; p6: tile {1,2}, {2,4}.
    CHECK(hd_map_segments(map) == 9);
    CHECK(hd_map_segment(map, 1, &p) && p.node == 1);
    CHECK(p.grid.extent[0] == 2 && p.grid.extent[1] == 2);
    CHECK(p.grid.offset[0] == 0 && p.grid.offset[1] == 2);
    CHECK(hd_map_segment(map, 5, &p) && p.node == 1);
    CHECK(p.grid.extent[0] == 2 && p.grid.extent[1] == 2);
    CHECK(p.grid.offset[0] == 2 && p.grid.offset[1] == 4);
    // Inside while index - offset is less than the extent on each axis.
    CHECK(hd_grid_contains(&p.grid, (int64_t[]){3, 5}));
    CHECK(!hd_grid_contains(&p.grid, (int64_t[]){4, 5}));
    CHECK(!hd_grid_contains(&p.grid, (int64_t[]){3, 6}));
    CHECK(!hd_grid_contains(&p.grid, (int64_t[]){3, 3}));
    CHECK(hd_map_find(map, (int64_t[]){3, 5}, &p) && p.id == 5);
    CHECK(!hd_map_find(map, (int64_t[]){6, 0}, &p));
    CHECK(!hd_map_segment(map, 9, &p));
    hd_map_destroy(map);
}

static void split_points_cut_unequal_segments(void)
{
    static const int64_t extents[4][2] = {
        {16, 16}, {16, 20}, {20, 16}, {20, 20}};
    struct hd_map *map = parse("36x36 splits 16/16 nodes 4");
    struct hd_segment s;

    CHECK(hd_map_segments(map) == 4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(hd_map_segment(map, i, &s) && s.node == i);
        CHECK(s.grid.extent[0] == extents[i][0]);
        CHECK(s.grid.extent[1] == extents[i][1]);
    }
    CHECK(hd_map_node(map, (int64_t[]){15, 15}) == 0);
    CHECK(hd_map_node(map, (int64_t[]){15, 16}) == 1);
    CHECK(hd_map_node(map, (int64_t[]){16, 15}) == 2);
    CHECK(hd_map_node(map, (int64_t[]){35, 35}) == 3);
    hd_map_destroy(map);

    // n_i points on axis i give the product of n_i + 1 segments.
    map = parse("9x9x9 splits 1,2/-/3,4,8 cyclic nodes 5");
    CHECK(hd_map_segments(map) == 3 * 1 * 4);
    hd_map_destroy(map);
}

static void meshes_deal_axis_by_axis(void)
{
    owners_are("4x8 mesh 2x2", "00001111"
                               "00001111"
                               "22223333"
                               "22223333");
    owners_are("4x8 tiles 1x2 mesh 2x2", "00110011"
                                         "22332233"
                                         "00110011"
                                         "22332233");
    owners_are("2x8 tiles 1x2 mesh 1x2 block", "00001111"
                                               "00001111");
    owners_are("3x7 mesh 2x3", "0011222"
                               "3344555"
                               "3344555");
    owners_are("2x7 mesh 2x2 cyclic", "0101010"
                                      "2323232");
    // Unequal blocks in turn.
    owners_are("1x8 splits -/1,4,5 mesh 1x2", "01110111");
}

static void weighted_nodes_get_their_share(void)
{
    owners_are("4x4 tiles 1x1 cyclic weights 2,1,1", "0120012001200120");
    owners_are("4x4 tiles 1x1 block weights 2,1,1", "0000000011112222");
    owners_are("2x4 block weights 3,1", "00000011");
    owners_are("2x2 tiles 1x1 cyclic weights 0,1", "1111");
}

static void maps_need_not_be_full(void)
{
    // Every second column; a sparse one; a triangle and a band.
    owners_are("2x6 stride 1x2 cyclic nodes 2", "0.1.0.1.0.1.");
    owners_are("2x6 stride 1x2 tiles 1x2 cyclic nodes 2", "0.0.1.0.0.1.");
    owners_are("4x4 tiles 2x2 lower cyclic nodes 3", "0..."
                                                     "00.."
                                                     "112."
                                                     "1122");
    owners_are("3x3 tiles 1x1 band 1 block nodes 7", "01."
                                                     "234"
                                                     ".56");
    const uint32_t owners[] = {0, HD_NO_NODE, 1, 0};
    struct hd_map_params params = {.grid = {2, {4, 4}, {0}},
                                   .nodes = 2,
                                   .tiles = {{.extent = 2}, {.extent = 2}},
                                   .owners = owners,
                                   .owner_count = 4};
    struct hd_map *map;

    CHECK_OK(hd_map_create(&params, &map, &error), error);
    CHECK(hd_map_node(map, (int64_t[]){1, 1}) == 0);
    CHECK(hd_map_node(map, (int64_t[]){1, 2}) == HD_NO_NODE);
    CHECK(hd_map_node(map, (int64_t[]){2, 1}) == 1);
    CHECK(hd_map_size(map, 0) == 8 && hd_map_size(map, 1) == 4);
    hd_map_destroy(map);
}

static void unstructured_maps_name_each_owner(void)
{
    struct hd_map *map = parse("8 tiles 1 owners 2,0,0,1,2,2,1,0 nodes 3");
    struct hd_segment s;

    CHECK(hd_map_node(map, (int64_t[]){4}) == 2);
    CHECK(hd_map_size(map, 0) == 3 && hd_map_size(map, 1) == 2);
    CHECK(hd_map_find(map, (int64_t[]){3}, &s) && s.id == 3 && s.node == 1);
    hd_map_destroy(map);
}

static struct hd_segment segment(uint32_t node, int64_t row, int64_t column,
                                 int64_t rows, int64_t columns)
{
    return (struct hd_segment){.node = node,
                               .grid = {2, {rows, columns}, {row, column}}};
}

static void any_boxes_make_a_map(void)
{
    const struct hd_grid grid = {2, {6, 6}, {10, 0}};
    struct hd_segment list[] = {segment(0, 10, 0, 2, 6),
                                segment(1, 12, 0, 4, 3),
                                segment(2, 12, 3, 4, 3)};
    struct hd_map *map;

    CHECK_OK(hd_map_create_segments(&grid, list, 3, false, NULL, &map, &error),
             error);
    CHECK(hd_map_nodes(map) == 3);
    CHECK(hd_map_node(map, (int64_t[]){11, 5}) == 0);
    CHECK(hd_map_node(map, (int64_t[]){15, 2}) == 1);
    CHECK(hd_map_node(map, (int64_t[]){12, 3}) == 2);
    CHECK(hd_map_node(map, (int64_t[]){9, 3}) == HD_NO_NODE);
    hd_map_destroy(map);

    list[2].grid.offset[1] = 2;
    CHECK_FAILS(
        hd_map_create_segments(&grid, list, 3, true, NULL, &map, &error),
        HD_EINVAL, error, "segments 1 and 2 overlap: both own index {12, 2}");
    list[2] = segment(2, 12, 4, 4, 2);
    CHECK_FAILS(
        hd_map_create_segments(&grid, list, 3, false, NULL, &map, &error),
        HD_EINVAL, error, "no segment owns index {12, 3}");
    CHECK_OK(hd_map_create_segments(&grid, list, 3, true, NULL, &map, &error),
             error);
    CHECK(hd_map_node(map, (int64_t[]){12, 3}) == HD_NO_NODE);
    hd_map_destroy(map);
    list[2] = segment(2, 12, 3, 5, 3);
    CHECK_FAILS(
        hd_map_create_segments(&grid, list, 3, true, NULL, &map, &error),
        HD_EINVAL, error, "segment 2 is not a box inside the grid");

    const struct hd_map_params many = {.nodes = UINT32_MAX};
    CHECK_FAILS(
        hd_map_create_segments(&grid, list, 2, true, &many, &map, &error),
        HD_ELIMIT, error, "4294967295 nodes");
}

// Three products of nearly 2^126 and of the same sign are more than 2^127.
static void sums_that_do_not_fit_are_refused(void)
{
    const int64_t far = INT64_MAX - 8, big = INT64_MAX;
    struct hd_half_space shape[] = {{{1, 1, 1}, 0}, {{big, big, big}, 7}};
    struct hd_map_params params = {
        .grid = {3, {8, 8, 8}, {far, far, far}},
        .tiles = {{.extent = 8}, {.extent = 8}, {.extent = 8}},
        .shape = shape,
        .shape_count = 2};
    struct hd_map *map;

    CHECK_FAILS(hd_map_create(&params, &map, &error), HD_ELIMIT, error,
                "condition 1 of the shape");
    for (int i = 0; i < 3; i++)
        shape[1].factor[i] = INT64_MIN;
    CHECK_FAILS(hd_map_create(&params, &map, &error), HD_ELIMIT, error,
                "condition 1 of the shape");

    // Two and one less fit, and all indices meet the condition.
    shape[1] = (struct hd_half_space){{-big, -big, big}, -big};
    shape[0].most = INT64_MAX;
    shape[0].factor[1] = shape[0].factor[2] = 0;
    CHECK_OK(hd_map_create(&params, &map, &error), error);
    CHECK(hd_map_node(map, (int64_t[]){far, far + 1, far}) == 0);
    hd_map_destroy(map);
}

static void grains_nest(void)
{
    struct hd_map *map =
        parse("6144x6144 tiles 2048x2048 cyclic nodes 4 memory 2048x1024 tasks "
              "1024x1024");
    struct hd_grid block;

    CHECK(hd_map_memory_block(map, (int64_t[]){5000, 1500}, &block));
    CHECK(block.offset[0] == 4096 && block.extent[0] == 2048);
    CHECK(block.offset[1] == 1024 && block.extent[1] == 1024);
    CHECK(hd_map_task_block(map, (int64_t[]){5121, 1500}, &block));
    CHECK(block.offset[0] == 5120 && block.extent[0] == 1024);
    CHECK(block.offset[1] == 1024 && block.extent[1] == 1024);
    hd_map_destroy(map);

    // Blocks end where their segment ends.
    map = parse("10 splits 7 nodes 2 memory 4 tasks 2");
    CHECK(hd_map_memory_block(map, (int64_t[]){6}, &block));
    CHECK(block.offset[0] == 4 && block.extent[0] == 3);
    CHECK(hd_map_task_block(map, (int64_t[]){6}, &block));
    CHECK(block.offset[0] == 6 && block.extent[0] == 1);
    CHECK(hd_map_memory_block(map, (int64_t[]){7}, &block));
    CHECK(block.offset[0] == 7 && block.extent[0] == 3);
    hd_map_destroy(map);
    CHECK_FAILS(hd_map_parse("8x8 tiles 4x4 nodes 2 memory 4x4 tasks 3x4", &map,
                             &error),
                HD_EINVAL, error, "axis 0");
}

// What a node owns is found without a look at what others own: else this takes
// an hour.
static void many_nodes_are_counted(void)
{
    static const char *const words[] = {
        "2000000 tiles 1 cyclic nodes 1000000",
        "1000x2000 tiles 1x1 cyclic order 1,0 nodes 1000000",
    };

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct hd_map *map = parse(words[i]);
        int64_t all = 0, step = i == 1 ? 1000 : 1;

        for (uint32_t n = 0; n < 1000000; n += (uint32_t)step) {
            CHECK(hd_map_size(map, n) == 2);
            all += 2 * step;
        }
        CHECK(all == 2000000);
        hd_map_destroy(map);
    }
}

static void large_grids_are_counted_in_64_bits(void)
{
    struct hd_map *map =
        parse("6000000000x4 tiles 1000000000x4 cyclic nodes 3");
    struct hd_segment s;

    CHECK(hd_map_size(map, 2) == 8000000000);
    CHECK(hd_map_find(map, (int64_t[]){5999999999, 3}, &s));
    CHECK(s.node == 2 && s.grid.offset[0] == 5000000000);
    hd_map_destroy(map);
    map = parse("3000000x3000000 rows cyclic nodes 7");
    CHECK(hd_map_node(map, (int64_t[]){2999999, 2999999}) ==
          (3000000ull * 3000000 - 1) % 7);
    hd_map_destroy(map);

    // Two tiles that together would be larger than the axis can be.
    map = parse("9223372036854775807 tiles 4611686018427387905 cyclic nodes 2");
    CHECK(hd_map_size(map, 0) == 4611686018427387905);
    CHECK(hd_map_size(map, 1) == 4611686018427387902);
    hd_map_destroy(map);
}

// From one end of what 63 bits hold to the other is further than they hold.
static void far_corners_are_outside(void)
{
    const struct hd_grid low = {1, {5}, {INT64_MIN}}, far = {1, {1}, {5}};
    const struct hd_map_params cut = {
        .grid = low, .tiles = {{.splits = (int64_t[]){5}, .split_count = 1}}};
    struct hd_map *map;

    CHECK(!hd_grid_encloses(&low, &far));
    CHECK(hd_grid_encloses(&low, &(struct hd_grid){1, {4}, {INT64_MIN + 1}}));
    CHECK(!hd_grid_encloses(&low, &(struct hd_grid){1, {5}, {INT64_MIN + 1}}));
    CHECK_FAILS(hd_map_create(&cut, &map, &error), HD_EINVAL, error,
                "split point 5");
}

static void relabelled_maps_are_other_maps(void)
{
    const uint32_t to[] = {2, 0, 1}, back[] = {1, 2, 0}, bad[] = {0, 1, 1};
    struct hd_map *map = parse("6x6 tiles 2x2 rows block nodes 3"), *other,
                  *same;

    CHECK_OK(hd_map_relabel(map, to, &other, &error), error);
    CHECK(!hd_map_equal(map, other));
    CHECK(hd_map_node(other, (int64_t[]){0, 0}) == 2);
    CHECK(hd_map_node(other, (int64_t[]){5, 0}) == 1);
    CHECK(hd_map_size(other, 2) == 12);
    CHECK_FAILS(hd_map_relabel(map, bad, &same, &error), HD_EINVAL, error,
                "another becomes too");
    CHECK_OK(hd_map_relabel(other, back, &same, &error), error);
    hd_map_destroy(other);
    hd_map_destroy(map); // the relabelled one still has what it needs
    for (int64_t i = 0; i < 6; i++)
        CHECK(hd_map_node(same, (int64_t[]){i, i}) == i / 2);
    hd_map_destroy(same);
}

static void bad_maps_are_refused_by_name(void)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "begins with the extents"},
        {"6y6", "'6y6': extents"},
        {"0x6", "the extent of axis 0 is 0"},
        {"1x2x3x4x5x6x7", "too many axes"},
        {"6x6 tile 2x2", "'tile': is no word of a map"},
        {"6x6 tiles 2", "one number per axis"},
        {"6x6 tiles", "a value is missing after 'tiles'"},
        {"6x6 tiles -1x2 nodes 2", "'-1x2': each number must be 1 or more"},
        {"6x6 tiles 0x3 nodes 2", "'0x3': each number must be 1 or more"},
        {"6x6 tiles 2x2 memory 0x2", "'0x2': each number must be 1 or more"},
        {"6x6 tasks 2x0", "'2x0': each number must be 1 or more"},
        {"6x6 stride 0x1", "'0x1': each number must be 1 or more"},
        {"6x6 mesh 0x1", "'0x1': each number must be 1 or more"},
        {"36x36 splits 16/40", "split point 40 of axis 1"},
        {"36x36 splits 16,16/4", "split point 16 of axis 0"},
        {"36x36 splits 0/4", "split point 0 of axis 0"},
        {"36x36 splits 16/", "a whole number"},
        {"36x36 splits 16/4,x", "a whole number"},
        {"6x6 nodes 0", "1 or more"},
        {"6x6 mesh 2x2 nodes 5", "the mesh has 4 nodes, not 5"},
        {"6x6 order 1,1 cyclic", "axis 1, which was named before"},
        {"6x6 order 1,2 cyclic", "axis 2, which is not there"},
        {"6x6 tiles 2x2 nodes 3 weights 1,1", "one weight per node"},
        {"6x6 tiles 2x2 weights 0,0", "the weights sum to 0"},
        {"6x6 tiles 3x3 owners 0,1 nodes 2", "2 owners are listed for 4"},
        {"6x6 tiles 3x3 owners 0,1,2,1 nodes 2", "tile 2 is node 2"},
        {"6 tiles 1 lower", "two axes"},
        {"9999999999x9999999999", "too large"},
        {"99999999999999999999", "a whole number"},
    };
    struct hd_map *map;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_FAILS(hd_map_parse(bad[i].text, &map, &error), error.status,
                    error, bad[i].part);
}

// 10^12 segments: a few are drawn, and none is walked over.
static void large_maps_are_drawn_soon(void)
{
    struct hd_map *map = parse("1000000x1000000 tiles 1x1 cyclic nodes 7");
    char drawing[8192] = {0};
    FILE *file = fmemopen(drawing, sizeof(drawing) - 1, "w");

    CHECK(file);
    CHECK_OK(hd_map_draw(map, file, &error), error);
    CHECK(fclose(file) == 0);
    CHECK(strstr(drawing, "1000000000000 segments, 7 nodes"));
    CHECK(strstr(drawing, "segments are not counted"));
    hd_map_destroy(map);
}

// Each pair differs in one thing, and so in who owns what or in what moves.
static void digests_tell_maps_apart(void)
{
    static const char *pairs[][2] = {
        {"100 tiles 5 cyclic weights 2,1,1",
         "100 tiles 5 cyclic weights 1,2,1"},
        {"100 tiles 5 block weights 2,1,1", "100 tiles 5 block weights 1,2,1"},
        {"100 block weights 2,1,1", "100 block weights 1,2,1"},
        {"36x36 splits 16/16 nodes 4", "36x36 splits 15/16 nodes 4"},
        {"36x36 splits 16/16 mesh 2x2", "36x36 splits 16/15 mesh 2x2"},
        {"9 tiles 3 cyclic nodes 3", "9 tiles 4 cyclic nodes 3"},
        {"6x6 tiles 2x2 rows cyclic nodes 4",
         "6x6 tiles 2x2 columns cyclic nodes 4"},
        {"8x8 tiles 4x4 nodes 4 memory 2x2 tasks 1x1",
         "8x8 tiles 4x4 nodes 4 memory 2x2 tasks 2x2"},
        {"8x8 tiles 2x2 lower nodes 2", "8x8 tiles 2x2 upper nodes 2"},
        {"6 tiles 2 owners 0,1,0 nodes 2", "6 tiles 2 owners 0,0,1 nodes 2"},
    };
    uint32_t turned[] = {1, 2, 0}, back[] = {2, 0, 1}, same[] = {0, 1, 2};
    struct hd_map *map, *once, *twice, *named;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct hd_map *a = parse(pairs[i][0]), *b = parse(pairs[i][1]);
        struct hd_map *c = parse(pairs[i][0]);

        CHECK(a->digest != b->digest && a->digest == c->digest);
        hd_map_destroy(a);
        hd_map_destroy(b);
        hd_map_destroy(c);
    }
    map = parse("100 tiles 5 cyclic nodes 3");
    CHECK_OK(hd_map_relabel(map, turned, &once, &error), error);
    CHECK_OK(hd_map_relabel(once, back, &twice, &error), error);
    CHECK_OK(hd_map_relabel(map, same, &named, &error), error);
    CHECK(once->digest != map->digest && twice->digest == named->digest);
    hd_map_destroy(map);
    hd_map_destroy(once);
    hd_map_destroy(twice);
    hd_map_destroy(named);
}

static void drawings_show_owners(void)
{
    char text[4096] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");
    struct hd_map *map = parse("6x6 tiles 2x2 rows cyclic nodes 4");

    CHECK_OK(hd_map_draw(map, file, &error), error);
    fclose(file);
    CHECK(strstr(text, "001122\n001122\n330011\n330011\n223300\n223300\n"));
    CHECK(strstr(text, "   0  12\n   1  8\n"));
    file = fmemopen(text, sizeof(text), "w");
    CHECK_OK(hd_map_draw_svg(map, file, &error), error);
    fclose(file);
    unsigned rects = 0;
    for (const char *at = text; (at = strstr(at, "<rect")); at++)
        rects++;
    CHECK(rects == 9);
    CHECK(strstr(text, "node 3</title></rect>\n<rect"));
    CHECK(strstr(text, "</svg>\n"));
    hd_map_destroy(map);
}

int main(void)
{
    decompositions_of_the_6_x_6_field();
    pieces_have_extents_and_offsets();
    split_points_cut_unequal_segments();
    meshes_deal_axis_by_axis();
    weighted_nodes_get_their_share();
    maps_need_not_be_full();
    unstructured_maps_name_each_owner();
    any_boxes_make_a_map();
    sums_that_do_not_fit_are_refused();
    grains_nest();
    many_nodes_are_counted();
    large_grids_are_counted_in_64_bits();
    far_corners_are_outside();
    relabelled_maps_are_other_maps();
    digests_tell_maps_apart();
    bad_maps_are_refused_by_name();
    large_maps_are_drawn_soon();
    drawings_show_owners();
    return 0;
}
