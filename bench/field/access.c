// What the two views cost: elements by index (hd_access_at_2()), by index in a
// row that registers hold (hd_cursor_at_2()), by row (hd_access_row()) and by
// box (hd_access_box()) beside a plain array, and the same stencil written in
// the full view, in these ways, and in the partial one.
#include <stdio.h>
#include <stdlib.h>

#include "bench/field/field.h"

struct access {
    struct hd_field *from, *to;
    double *plain;
    long n;
    double sum;
};

typedef hd_status (*task_function)(struct hd_task *task,
                                   const struct hd_tile *c,
                                   const struct hd_tile *in, void *data,
                                   struct hd_error *why);

// The sum of all elements, in order ---------------------------------------

static hd_status sum_by_index(struct hd_task *task, const struct hd_tile *c,
                              const struct hd_tile *in, void *data,
                              struct hd_error *why)
{
    struct access *a = data;
    struct hd_access access;
    double sum = 0;

    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            const double *at =
                hd_access_at_2(&access, c->grid.offset[0] + i,
                               c->grid.offset[1] + j, sizeof(double));

            if (!at)
                return access.status;
            sum += *at;
        }
    a->sum += sum;
    return HD_OK;
}

static hd_status sum_by_cursor(struct hd_task *task, const struct hd_tile *c,
                               const struct hd_tile *in, void *data,
                               struct hd_error *why)
{
    struct access *a = data;
    struct hd_access access;
    struct hd_grid g = c->grid;
    double sum = 0;

    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    struct hd_cursor cursor = hd_cursor_of(&access);
    for (int64_t i = g.offset[0]; i < g.offset[0] + g.extent[0]; i++)
        for (int64_t j = g.offset[1]; j < g.offset[1] + g.extent[1]; j++) {
            const double *at = hd_cursor_at_2(&cursor, i, j);

            if (!at)
                return access.status;
            sum += *at;
        }
    a->sum += sum;
    return HD_OK;
}

static hd_status sum_by_row(struct hd_task *task, const struct hd_tile *c,
                            const struct hd_tile *in, void *data,
                            struct hd_error *why)
{
    struct access *a = data;
    struct hd_access access;
    double sum = 0;

    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    for (int64_t i = 0; i < c->grid.extent[0]; i++) {
        const int64_t from[] = {c->grid.offset[0] + i, c->grid.offset[1]};
        const double *row = hd_access_row(&access, from, c->grid.extent[1]);

        if (!row)
            return access.status;
        for (int64_t j = 0; j < c->grid.extent[1]; j++)
            sum += row[j];
    }
    a->sum += sum;
    return HD_OK;
}

static hd_status sum_by_box(struct hd_task *task, const struct hd_tile *c,
                            const struct hd_tile *in, void *data,
                            struct hd_error *why)
{
    struct access *a = data;
    struct hd_access access;
    struct hd_grid g = c->grid;
    struct hd_tile tile;
    double sum = 0;

    (void)in;
    (void)why;
    hd_access_begin(&access, task, 0);
    if (!hd_access_box(&access, &g, &tile))
        return access.status;
    for (int64_t i = g.offset[0]; i < g.offset[0] + g.extent[0]; i++) {
        const double *row = hd_tile_at(&tile, (int64_t[]){i, g.offset[1]}, 8);

        for (int64_t j = 0; j < g.extent[1]; j++)
            sum += row[j];
    }
    a->sum += sum;
    return HD_OK;
}

static void agile_sum(struct rig *rig, struct access *a, task_function function)
{
    struct hd_input input = {.view = hd_view_field(a->from), .touched = true};
    struct hd_forall forall = {.output = a->to,
                               .inputs = &input,
                               .input_count = 1,
                               .function = function,
                               .data = a,
                               .stay = true};

    a->sum = 0;
    must(rig, hd_forall(&forall, &rig->error));
}

static void sum_all_by_index(struct rig *rig, void *data)
{
    agile_sum(rig, data, sum_by_index);
}

static void sum_all_by_cursor(struct rig *rig, void *data)
{
    agile_sum(rig, data, sum_by_cursor);
}

static void sum_all_by_row(struct rig *rig, void *data)
{
    agile_sum(rig, data, sum_by_row);
}

static void sum_all_by_box(struct rig *rig, void *data)
{
    agile_sum(rig, data, sum_by_box);
}

static void plain_sum(struct rig *rig, void *data)
{
    struct access *a = data;
    double sum = 0;

    (void)rig;
    for (long i = 0; i < a->n / 2; i++)
        for (long j = 0; j < a->n; j++)
            sum += a->plain[i * a->n + j];
    a->sum = sum;
}

// A stencil of five points ------------------------------------------------

static hd_status spread(struct hd_task *task, const struct hd_tile *c,
                        const struct hd_tile *in, void *data,
                        struct hd_error *why)
{
    struct access *a = data;
    int64_t last = a->n - 1;
    const struct hd_tile *from = &in[0];

    (void)task;
    (void)why;
    for (int64_t i = 0; i < c->grid.extent[0]; i++) {
        int64_t y = c->grid.offset[0] + i, x = c->grid.offset[1];
        int64_t step = from->step[0], width = c->grid.extent[1];
        int64_t up = y > 0 ? step : 0, down = y < last ? step : 0;
        double *to = (double *)c->data + i * c->step[0];
        const double *here = (const double *)from->data +
                             (y - from->grid.offset[0]) * step +
                             (x - from->grid.offset[1]);

        for (int64_t j = 0; j < width; j++) {
            int64_t left = x + j > 0, right = x + j < last;

            to[j] =
                here[j] + 0.2 * (here[j - left] + here[j + right] +
                                 here[j - up] + here[j + down] - 4 * here[j]);
        }
    }
    return HD_OK;
}

static const double *at(struct hd_access *access, int64_t i, int64_t j)
{
    return hd_access_at_2(access, i, j, sizeof(double));
}

static hd_status spread_by_index(struct hd_task *task, const struct hd_tile *c,
                                 const struct hd_tile *in, void *data,
                                 struct hd_error *why)
{
    struct access *a = data;
    int64_t last = a->n - 1;
    struct hd_access row, above, below;

    (void)in;
    (void)why;
    hd_access_begin(&row, task, 0);
    hd_access_begin(&above, task, 0);
    hd_access_begin(&below, task, 0);
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            int64_t y = c->grid.offset[0] + i, x = c->grid.offset[1] + j;
            const double *here = at(&row, y, x);
            const double *left = at(&row, y, x - (x > 0));
            const double *right = at(&row, y, x + (x < last));
            const double *up = at(&above, y - (y > 0), x);
            const double *down = at(&below, y + (y < last), x);

            if (!here || !left || !right || !up || !down)
                return HD_EINVAL;
            ((double *)c->data)[i * c->step[0] + j * c->step[1]] =
                *here + 0.2 * (*left + *right + *up + *down - 4 * *here);
        }
    return HD_OK;
}

static hd_status spread_by_cursor(struct hd_task *task, const struct hd_tile *c,
                                  const struct hd_tile *in, void *data,
                                  struct hd_error *why)
{
    struct access *a = data;
    int64_t last = a->n - 1;
    struct hd_access accesses[3];
    struct hd_grid g = c->grid;

    (void)in;
    (void)why;
    for (int i = 0; i < 3; i++)
        hd_access_begin(&accesses[i], task, 0);
    struct hd_cursor row = hd_cursor_of(&accesses[0]);
    struct hd_cursor above = hd_cursor_of(&accesses[1]);
    struct hd_cursor below = hd_cursor_of(&accesses[2]);
    for (int64_t i = 0; i < g.extent[0]; i++) {
        double *to = (double *)c->data + i * c->step[0];
        int64_t y = g.offset[0] + i;

        for (int64_t j = 0; j < g.extent[1]; j++) {
            int64_t x = g.offset[1] + j;
            const double *here = hd_cursor_at_2(&row, y, x);
            const double *left = hd_cursor_at_2(&row, y, x - (x > 0));
            const double *right = hd_cursor_at_2(&row, y, x + (x < last));
            const double *up = hd_cursor_at_2(&above, y - (y > 0), x);
            const double *down = hd_cursor_at_2(&below, y + (y < last), x);

            if (!here || !left || !right || !up || !down)
                return HD_EINVAL;
            to[j] = *here + 0.2 * (*left + *right + *up + *down - 4 * *here);
        }
    }
    return HD_OK;
}

// `count` elements of row y, from x on.
static const double *row_at(struct hd_access *access, int64_t y, int64_t x,
                            int64_t count)
{
    return hd_access_row(access, (int64_t[]){y, x}, count);
}

static hd_status spread_by_row(struct hd_task *task, const struct hd_tile *c,
                               const struct hd_tile *in, void *data,
                               struct hd_error *why)
{
    struct access *a = data;
    int64_t last = a->n - 1;
    int64_t x = c->grid.offset[1], width = c->grid.extent[1];
    int64_t before = x > 0, after = x + width <= last;
    struct hd_access row, above, below;

    (void)in;
    (void)why;
    hd_access_begin(&row, task, 0);
    hd_access_begin(&above, task, 0);
    hd_access_begin(&below, task, 0);
    for (int64_t i = 0; i < c->grid.extent[0]; i++) {
        int64_t y = c->grid.offset[0] + i;
        double *to = (double *)c->data + i * c->step[0];
        const double *here =
            row_at(&row, y, x - before, before + width + after);
        const double *up = row_at(&above, y - (y > 0), x, width);
        const double *down = row_at(&below, y + (y < last), x, width);

        if (!here || !up || !down)
            return HD_EINVAL;
        here += before;
        for (int64_t j = 0; j < width; j++) {
            int64_t left = x + j > 0, right = x + j < last;

            to[j] = here[j] + 0.2 * (here[j - left] + here[j + right] + up[j] +
                                     down[j] - 4 * here[j]);
        }
    }
    return HD_OK;
}

// The partial view's function, of a box with the margin that it would have.
static hd_status spread_by_box(struct hd_task *task, const struct hd_tile *c,
                               const struct hd_tile *in, void *data,
                               struct hd_error *why)
{
    struct access *a = data;
    struct hd_grid around = c->grid;
    struct hd_access access;
    struct hd_tile tile;

    (void)in;
    for (int k = 0; k < 2; k++) {
        int64_t before = around.offset[k] > 0;
        int64_t after = around.offset[k] + around.extent[k] < a->n;

        around.offset[k] -= before;
        around.extent[k] += before + after;
    }
    hd_access_begin(&access, task, 0);
    return hd_access_box(&access, &around, &tile)
               ? spread(task, c, &tile, data, why)
               : access.status;
}

static void stencil(struct rig *rig, struct access *a, bool whole,
                    task_function function)
{
    struct hd_input input = {.view = hd_view_field(a->from), .touched = whole};
    struct hd_forall forall = {.output = a->to,
                               .inputs = &input,
                               .input_count = 1,
                               .function = function,
                               .data = a,
                               .stay = true};

    for (int i = 0; i < 2 && !whole; i++)
        input.before[i] = input.after[i] = 1;
    must(rig, hd_forall(&forall, &rig->error));
}

static void stencil_by_tile(struct rig *rig, void *data)
{
    stencil(rig, data, false, spread);
}

static void stencil_by_index(struct rig *rig, void *data)
{
    stencil(rig, data, true, spread_by_index);
}

static void stencil_by_cursor(struct rig *rig, void *data)
{
    stencil(rig, data, true, spread_by_cursor);
}

static void stencil_by_row(struct rig *rig, void *data)
{
    stencil(rig, data, true, spread_by_row);
}

static void stencil_by_box(struct rig *rig, void *data)
{
    stencil(rig, data, true, spread_by_box);
}

static void compare(struct rig *rig, const char *name, const char *metric,
                    const char *peer, struct access *a,
                    void (*ours)(struct rig *, void *),
                    void (*theirs)(struct rig *, void *))
{
    double x[MAX_ROUNDS], y[MAX_ROUNDS];

    ours(rig, a);
    theirs(rig, a);
    for (int r = 0; r < rig->rounds; r++) {
        x[r] = timed(rig, ours, a);
        y[r] = timed(rig, theirs, a);
    }
    report(rig, name, metric,
           figure_median(x, rig->rounds) / figure_median(y, rig->rounds),
           "ratio", peer, "<=", 1.1);
}

void measure_access(struct rig *rig)
{
    long n = rig->quick ? 2048 : 4096;
    struct hd_map *map =
        parse(rig, "%ldx%ld tiles 256x256 mesh 2x1 memory 256x256", n, n);
    struct access a = {numbered(rig, map), numbered(rig, map), NULL, n, 0};
    size_t size;

    // As much as one of the two nodes has.
    a.plain = memory_of(a.from, hd_cluster_process(rig->cluster), &size);
    compare(rig, "agile access, a sum in order", "time over a plain array",
            "plain array", &a, sum_all_by_index, plain_sum);
    compare(rig, "agile access, a sum by a cursor", "time over a plain array",
            "plain array", &a, sum_all_by_cursor, plain_sum);
    compare(rig, "agile access, a sum by rows", "time over a plain array",
            "plain array", &a, sum_all_by_row, plain_sum);
    compare(rig, "agile access, a sum by boxes", "time over a plain array",
            "plain array", &a, sum_all_by_box, plain_sum);
    compare(rig, "stencil of five points, by index",
            "full view over partial view", "partial view", &a, stencil_by_index,
            stencil_by_tile);
    compare(rig, "stencil of five points, by cursors",
            "full view over partial view", "partial view", &a,
            stencil_by_cursor, stencil_by_tile);
    compare(rig, "stencil of five points, by rows",
            "full view over partial view", "partial view", &a, stencil_by_row,
            stencil_by_tile);
    compare(rig, "stencil of five points, by boxes",
            "full view over partial view", "partial view", &a, stencil_by_box,
            stencil_by_tile);
    hd_field_destroy(a.from);
    hd_field_destroy(a.to);
    hd_map_destroy(map);
}
