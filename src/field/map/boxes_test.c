#include "field/map/boxes.h"

#include "tests/check.h"

static struct hd_grid box(int64_t row, int64_t column, int64_t rows,
                          int64_t columns)
{
    return (struct hd_grid){2, {rows, columns}, {row, column}};
}

static const struct hd_grid plane = {2, {100, 100}, {0}};

static void cover_is_found_and_every_point_too(void)
{
    // Five boxes round a pinwheel: no cut is free of a crossing.
    const struct hd_grid boxes[] = {box(0, 0, 30, 60), box(0, 60, 60, 40),
                                    box(60, 30, 40, 70), box(30, 0, 70, 30),
                                    box(30, 30, 30, 30)};
    struct hdi_boxes_fault fault;
    struct hdi_box_tree *tree =
        hdi_boxes_build(&plane, boxes, 5, false, &fault);

    CHECK(tree);
    for (int64_t i = 0; i < 100; i++)
        for (int64_t j = 0; j < 100; j++) {
            uint32_t found = hdi_boxes_find(tree, (int64_t[]){i, j});

            CHECK(found < 5);
            CHECK(hd_grid_contains(&boxes[found], (int64_t[]){i, j}));
        }
    hdi_boxes_free(tree);
}

static void gap_and_overlap_are_named(void)
{
    struct hd_grid boxes[] = {box(0, 0, 50, 100), box(50, 0, 49, 100),
                              box(99, 0, 1, 99)};
    struct hdi_boxes_fault fault;

    CHECK(!hdi_boxes_build(&plane, boxes, 3, false, &fault));
    CHECK(fault.what == HDI_BOXES_GAP);
    CHECK(fault.where.offset[0] == 99 && fault.where.offset[1] == 99);
    struct hdi_box_tree *tree = hdi_boxes_build(&plane, boxes, 3, true, &fault);
    CHECK(tree);
    CHECK(hdi_boxes_find(tree, (int64_t[]){99, 99}) == HDI_NO_BOX);
    CHECK(hdi_boxes_find(tree, (int64_t[]){99, 98}) == 2);
    hdi_boxes_free(tree);

    boxes[2] = box(98, 99, 2, 1);
    CHECK(!hdi_boxes_build(&plane, boxes, 3, true, &fault));
    CHECK(fault.what == HDI_BOXES_OVERLAP);
    CHECK(fault.first == 1 && fault.second == 2);
    CHECK(fault.where.offset[0] == 98 && fault.where.offset[1] == 99);
}

static void many_boxes_take_no_square_of_time(void)
{
    // 250,000 boxes: a look at every pair would take minutes.
    enum {
        SIDE = 500
    };
    struct hd_grid *boxes = malloc(SIDE * SIDE * sizeof(*boxes));
    struct hd_grid big = {2, {SIDE * 3, SIDE * 2}, {0}};
    struct hdi_boxes_fault fault;

    for (int64_t i = 0; i < SIDE * SIDE; i++)
        boxes[i] = box(i / SIDE * 3, i % SIDE * 2, 3, 2);
    struct hdi_box_tree *tree =
        hdi_boxes_build(&big, boxes, SIDE * SIDE, false, &fault);
    CHECK(tree);
    CHECK(hdi_boxes_find(tree, (int64_t[]){3 * 77 + 1, 2 * 99}) ==
          77 * SIDE + 99);
    hdi_boxes_free(tree);
    boxes[1234].extent[1] = 3;
    CHECK(!hdi_boxes_build(&big, boxes, SIDE * SIDE, false, &fault));
    CHECK(fault.what == HDI_BOXES_OVERLAP && fault.first == 1234 &&
          fault.second == 1235);
    free(boxes);
}

struct meeting {
    uint32_t seen;
};

static void see(void *data, uint32_t which)
{
    ((struct meeting *)data)->seen |= 1u << which;
}

static void boxes_that_meet_are_found(void)
{
    const struct hd_grid boxes[] = {box(0, 0, 50, 50), box(0, 50, 50, 50),
                                    box(50, 0, 50, 100)};
    struct hdi_boxes_fault fault;
    struct hdi_box_tree *tree =
        hdi_boxes_build(&plane, boxes, 3, false, &fault);
    struct meeting m = {0};
    struct hd_grid asked = box(49, 0, 2, 50);

    CHECK(tree);
    hdi_boxes_meet(tree, &asked, see, &m);
    CHECK(m.seen == 5);
    hdi_boxes_free(tree);
}

int main(void)
{
    cover_is_found_and_every_point_too();
    gap_and_overlap_are_named();
    many_boxes_take_no_square_of_time();
    boxes_that_meet_are_found();
    return 0;
}
