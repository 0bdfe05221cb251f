// What the two views cost: elements by index through hd_access_at_2() beside a
// plain array, and the same stencil written in the full view and in the partial
// one.
#include <stdio.h>
#include <stdlib.h>

#include "bench/field/field.h"

struct access {
    struct hd_field *from, *to;
    double *plain;
    long n;
    double sum;
    bool whole; // the full view
};

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

static void agile_sum(struct rig *rig, void *data)
{
    struct access *a = data;
    struct hd_input input = {.view = hd_view_field(a->from), .touched = true};
    struct hd_forall forall = {.output = a->to,
                               .inputs = &input,
                               .input_count = 1,
                               .function = sum_by_index,
                               .data = a,
                               .stay = true};

    a->sum = 0;
    must(rig, hd_forall(&forall, &rig->error));
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

static void stencil(struct rig *rig, void *data)
{
    struct access *a = data;
    struct hd_input input = {.view = hd_view_field(a->from),
                             .before = {1, 1},
                             .after = {1, 1},
                             .touched = a->whole};
    struct hd_forall forall = {.output = a->to,
                               .inputs = &input,
                               .input_count = 1,
                               .function = a->whole ? spread_by_index : spread,
                               .data = a,
                               .stay = true};

    if (a->whole)
        input.before[0] = input.before[1] = input.after[0] = input.after[1] = 0;
    must(rig, hd_forall(&forall, &rig->error));
}

static void stencil_by_index(struct rig *rig, void *data)
{
    struct access *a = data;

    a->whole = true;
    stencil(rig, data);
    a->whole = false;
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
    long n = 2048;
    struct hd_map *map =
        parse(rig, "%ldx%ld tiles 256x256 mesh 2x1 memory 256x256", n, n);
    struct access a = {
        numbered(rig, map), numbered(rig, map), NULL, n, 0, false};
    size_t size;

    // As much as one of the two nodes has.
    a.plain = memory_of(a.from, hd_cluster_process(rig->cluster), &size);
    compare(rig, "agile access, a sum in order", "time over a plain array",
            "plain array", &a, agile_sum, plain_sum);
    compare(rig, "stencil of five points", "full view over partial view",
            "partial view", &a, stencil_by_index, stencil);
    hd_field_destroy(a.from);
    hd_field_destroy(a.to);
    hd_map_destroy(map);
}
