// Access by index, by row and by box: what is seen through any view are the
// field's elements, wherever their blocks are; what a view does not have is an
// error. Started by mpirun it is the same.
#include "heddle/agile.h"

#include <stdatomic.h>

#include "tests/check.h"

enum {
    ROWS = 40,
    COLUMNS = 30
};

static struct hd_error error;
static struct hd_cluster *cluster;

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(uint32_t *)value = (uint32_t)(index[0] * 100 + index[1]);
}

static struct hd_map *parse(const char *text)
{
    struct hd_map *map;

    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

struct look {
    struct hd_view view; // of the input
    // The field's index of the view's element (i, j).
    void (*below)(int64_t i, int64_t j, int64_t *index);
    int64_t row[3];     // i, j, count: of a view that does not have it
    struct hd_grid box; // the same
    _Atomic uint64_t wrong, looked;
};

static uint32_t should_be(const struct look *look, int64_t i, int64_t j)
{
    int64_t index[2];
    uint32_t value;

    look->below(i, j, index);
    number(NULL, index, &value);
    return value;
}

static bool look_at_row(struct look *look, struct hd_access *access, int64_t i,
                        int64_t first, int64_t count)
{
    const uint32_t *row = hd_access_row(access, (int64_t[]){i, first}, count);

    for (int64_t j = 0; row && j < count; j++)
        look->wrong += row[j] != should_be(look, i, first + j);
    look->looked += (uint64_t)count;
    return row != NULL;
}

// All elements of a box, which is an array of rows.
static bool look_at_box(struct look *look, struct hd_access *access,
                        const struct hd_grid *box)
{
    struct hd_tile tile;
    int64_t end[] = {box->offset[0] + box->extent[0],
                     box->offset[1] + box->extent[1]};

    if (!hd_access_box(access, box, &tile))
        return false;
    look->wrong += tile.step[1] != 1 || !hd_grid_encloses(&tile.grid, box) ||
                   !hd_grid_encloses(box, &tile.grid);
    for (int64_t i = box->offset[0]; i < end[0]; i++)
        for (int64_t j = box->offset[1]; j < end[1]; j++) {
            const uint32_t *one =
                hd_tile_at(&tile, (int64_t[]){i, j}, sizeof(*one));

            look->wrong += *one != should_be(look, i, j);
        }
    look->looked += (uint64_t)hd_grid_size(box);
    return true;
}

// A cursor that steps between rows and tiles, with an access of its own.
static bool look_by_cursor(struct look *look, struct hd_cursor *cursor,
                           int64_t i, int64_t j)
{
    const uint32_t *one = hd_cursor_at_2(cursor, i, j);

    if (one)
        look->wrong += *one != should_be(look, i, j);
    look->looked++;
    return one != NULL;
}

static bool look_at(struct look *look, struct hd_access *access, int64_t i,
                    int64_t j)
{
    const uint32_t *one = hd_access_at_2(access, i, j, sizeof(*one));

    if (one)
        look->wrong += *one != should_be(look, i, j) ||
                       !hd_grid_contains(&access->tile.grid, (int64_t[]){i, j});
    look->looked++;
    return one != NULL;
}

// Along and across rows, rows of all lengths, boxes, with one access, so that
// it steps between tiles all the time.
static hd_status look_everywhere(struct hd_task *task, const struct hd_tile *c,
                                 const struct hd_tile *in, void *data,
                                 struct hd_error *why)
{
    struct look *look = data;
    const struct hd_grid *grid = &look->view.grid;
    int64_t top = grid->offset[0], left = grid->offset[1];
    int64_t height = grid->extent[0], width = grid->extent[1];
    struct hd_access access, other;
    bool good = true;

    (void)c;
    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    hd_access_begin(&other, task, 0);
    struct hd_cursor cursor = hd_cursor_of(&other);
    for (int64_t i = 0; i < height && good; i++) {
        for (int64_t j = 0; j < width && good; j++) {
            int64_t rest = 1 + (i * 7 + j * 3) % (width - j);

            good = look_at(look, &access, top + i, left + j) &&
                   look_by_cursor(look, &cursor, top + i, left + j) &&
                   look_by_cursor(look, &cursor, top + (i * j) % height,
                                  left + j) &&
                   look_at(look, &access, top + (i + j) % height,
                           left + (j * 11) % width) &&
                   look_at_row(look, &access, top + i, left + j, rest);
        }
        int64_t from = i % width;
        struct hd_grid box = {
            2,
            {1 + i * 5 % (height - i), 1 + i * 3 % (width - from)},
            {top + i, left + from}};

        good = good && look_at_row(look, &access, top + i, left, width) &&
               look_at_box(look, &access, &box);
    }
    good = good && look_at_box(look, &access, grid);
    return access.status ? access.status : other.status;
}

static void same(int64_t i, int64_t j, int64_t *index)
{
    index[0] = i;
    index[1] = j;
}

static void swapped(int64_t i, int64_t j, int64_t *index)
{
    same(j, i, index);
}

static void turned(int64_t i, int64_t j, int64_t *index)
{
    same(ROWS - 1 - i, COLUMNS - 1 - j, index);
}

static void moved(int64_t i, int64_t j, int64_t *index)
{
    same(i - 5, j + 8, index);
}

// The output has one element for each node, and looks at all of the input.
static hd_status try(struct look *look, bool in_place,
                     hd_status (*function)(struct hd_task *task,
                                           const struct hd_tile *output,
                                           const struct hd_tile *inputs,
                                           void *data, struct hd_error *error))
{
    char text[64];
    uint32_t nodes = hd_cluster_nodes(cluster);
    struct hd_input input = {.view = look->view, .touched = true};
    struct hd_forall forall = {.inputs = &input,
                               .input_count = 1,
                               .function = function,
                               .data = look,
                               .stay = true,
                               .in_place = in_place};

    snprintf(text, sizeof(text),
             look->view.grid.rank == 1 ? "%u tiles 1 cyclic nodes %u"
                                       : "%ux1 tiles 1x1 cyclic nodes %u",
             nodes, nodes);
    struct hd_map *map = parse(text);
    CHECK_OK(hd_field_create(cluster, 1, map, &forall.output, &error), error);
    look->wrong = look->looked = 0;
    hd_status status = hd_forall(&forall, &error);
    hd_field_destroy(forall.output);
    hd_map_destroy(map);
    return status;
}

static void elements_are_the_fields(const struct hd_view *view,
                                    void (*below)(int64_t, int64_t, int64_t *))
{
    struct look look = {.view = *view, .below = below};

    for (int in_place = 0; in_place < 2; in_place++) {
        CHECK_OK(try(&look, in_place, look_everywhere), error);
        CHECK(look.looked >= ROWS * COLUMNS);
        CHECK(look.wrong == 0);
    }
}

static hd_status look_beside(struct hd_task *task, const struct hd_tile *c,
                             const struct hd_tile *in, void *data,
                             struct hd_error *why)
{
    const struct look *look = data;
    struct hd_access access;

    (void)c;
    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    if (hd_access_row(&access, look->row, look->row[2]))
        return HD_OK;
    struct hd_cursor cursor = hd_cursor_of(&access);
    CHECK(!hd_access_at_2(&access, 0, 0, 4)); // nor anything after it
    CHECK(!hd_cursor_at_2(&cursor, 0, 0));
    return access.status;
}

static hd_status look_at_box_beside(struct hd_task *task,
                                    const struct hd_tile *c,
                                    const struct hd_tile *in, void *data,
                                    struct hd_error *why)
{
    const struct look *look = data;
    struct hd_access access;
    struct hd_tile tile;

    (void)c;
    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    if (hd_access_box(&access, &look->box, &tile))
        return HD_OK;
    CHECK(!hd_access_box(&access, &look->view.grid, &tile)); // nor after it
    CHECK(!tile.data);
    return access.status;
}

static hd_status look_with_two(struct hd_task *task, const struct hd_tile *c,
                               const struct hd_tile *in, void *data,
                               struct hd_error *why)
{
    struct hd_access access;

    (void)c;
    (void)in;
    (void)data;
    (void)why;
    hd_access_begin(&access, task, 0);
    return hd_access_at_2(&access, 0, 0, 4) ? HD_OK : access.status;
}

static void what_a_view_does_not_have_is_an_error(struct hd_field *field)
{
    static const int64_t beside[][3] = {
        {0, 0, COLUMNS + 1}, {3, COLUMNS - 1, 2}, {3, 4, 0},        {3, 4, -1},
        {ROWS, 0, 1},        {0, -1, 2},          {0, 1, INT64_MAX}};
    struct look look = {.view = hd_view_field(field)};

    for (unsigned i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
        memcpy(look.row, beside[i], sizeof(look.row));
        CHECK_FAILS(try(&look, false, look_beside), HD_EINVAL, error,
                    "that the view does not have");
    }
    static const struct hd_grid boxes[] = {{2, {1, COLUMNS + 1}, {0, 0}},
                                           {2, {1, 2}, {3, COLUMNS - 1}},
                                           {2, {0, 1}, {3, 4}},
                                           {2, {1, -1}, {3, 4}},
                                           {2, {1, 1}, {ROWS, 0}},
                                           {2, {2, 1}, {-1, 0}},
                                           {2, {INT64_MAX, 1}, {1, 0}},
                                           {1, {1}, {0}},
                                           {0, {1}, {0}},
                                           {3, {1, 1, 1}, {0}}};

    for (unsigned i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        look.box = boxes[i];
        CHECK_FAILS(try(&look, false, look_at_box_beside), HD_EINVAL, error,
                    "that the view does not have");
    }
    CHECK_OK(hd_view_project(&look.view, 0, 3, &look.view, &error), error);
    CHECK_FAILS(try(&look, false, look_with_two), HD_EINVAL, error,
                "two indices");
}

static void try_all(void)
{
    static const char *const words[] = {
        "40x30 tiles 40x30 nodes %u", "40x30 tiles 8x10 cyclic nodes %u",
        "40x30 tiles 7x9 columns block nodes %u memory 7x4",
        "40x30 tiles 40x1 cyclic nodes %u"};
    char text[128];

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        snprintf(text, sizeof(text), words[i], hd_cluster_nodes(cluster));
        struct hd_map *map = parse(text);
        struct hd_view view, other;
        struct hd_field *field;

        CHECK_OK(
            hd_view_function(hd_map_grid(map), 4, number, NULL, &view, &error),
            error);
        CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
        view = hd_view_field(field);
        elements_are_the_fields(&view, same);
        CHECK_OK(hd_view_transpose(&view, (unsigned[]){1, 0}, &other, &error),
                 error);
        elements_are_the_fields(&other, swapped);
        CHECK_OK(hd_view_stride(&view, (int64_t[]){-1, -1}, &other, &error),
                 error);
        elements_are_the_fields(&other, turned);
        CHECK_OK(hd_view_shift(&view, (int64_t[]){5, -8}, &other, &error),
                 error);
        elements_are_the_fields(&other, moved);
        if (i == 0) // wherever blocks are
            what_a_view_does_not_have_is_an_error(field);
        hd_field_destroy(field);
        hd_map_destroy(map);
    }
}

int main(void)
{
    static const unsigned nodes[] = {1, 2, 3};

    for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        for (int messages = 0; messages < 2; messages++) {
            struct hd_cluster_params params = {.nodes = nodes[i],
                                               .messages = messages};

            CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
            try_all();
            hd_cluster_leave(cluster);
        }
    return 0;
}
