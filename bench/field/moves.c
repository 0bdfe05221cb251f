// Redistribution and transposed addition, in time over copying, or adding, as
// many bytes of the other process's memory; and what is counted.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/field/field.h"
#include "field/plan/nontemporal.h"

struct fields {
    struct hd_field *a, *b, *c;
};

// What is compared with -------------------------------------------------------

static void bare_copy(struct rig *rig, void *data)
{
    struct fields *f = data;
    uint32_t me = hd_cluster_process(rig->cluster);
    size_t mine, others;
    double *target = memory_of(f->b, me, &mine);
    const double *source = memory_of(f->a, 1 - me, &others);

    memcpy(target, source, (mine < others ? mine : others) * sizeof(double));
}

static void bare_add(struct rig *rig, void *data)
{
    struct fields *f = data;
    uint32_t me = hd_cluster_process(rig->cluster);
    size_t size, same;
    double *restrict to = memory_of(f->c, me, &size);
    const double *restrict x = memory_of(f->a, me, &same);
    const double *restrict y = memory_of(f->b, 1 - me, &same);

    for (size_t i = 0; i < size; i++)
        to[i] = x[i] + y[i];
}

// As ours stores: not to lines that are fetched first.
static void bare_add_past_caches(struct rig *rig, void *data)
{
    enum {
        PIECE = 512 // elements, in the first cache
    };
    _Alignas(64) double sums[PIECE];
    struct fields *f = data;
    uint32_t me = hd_cluster_process(rig->cluster);
    size_t size, same;
    double *to = memory_of(f->c, me, &size);
    const double *x = memory_of(f->a, me, &same);
    const double *y = memory_of(f->b, 1 - me, &same);

    for (size_t begin = 0; begin < size; begin += PIECE) {
        size_t count = size - begin < PIECE ? size - begin : PIECE;

        for (size_t i = 0; i < count; i++)
            sums[i] = x[begin + i] + y[begin + i];
        hdi_nontemporal_copy((char *)(to + begin), (const char *)sums,
                             count * sizeof(*sums));
    }
    hdi_nontemporal_end();
}

// Ours ------------------------------------------------------------------------

static void redistribute(struct rig *rig, void *data)
{
    struct fields *f = data;
    struct hd_view view = hd_view_field(f->a);

    must(rig, hd_field_assign(f->b, &view, &rig->error));
}

static hd_status add_tile(struct hd_task *task, const struct hd_tile *c,
                          const struct hd_tile *in, void *data,
                          struct hd_error *why)
{
    (void)task;
    (void)data;
    (void)why;
    for (int64_t i = 0; i < c->grid.extent[0]; i++) {
        double *restrict to = (double *)c->data + i * c->step[0];
        const double *x = (const double *)in[0].data + i * in[0].step[0];
        const double *y = (const double *)in[1].data + i * in[1].step[0];

        for (int64_t j = 0; j < c->grid.extent[1]; j++)
            to[j] = x[j] + y[j];
    }
    return HD_OK;
}

static void transposed_add(struct rig *rig, void *data)
{
    struct fields *f = data;
    struct hd_input inputs[] = {{.view = hd_view_field(f->a)},
                                {.view = hd_view_field(f->b), .rows = true}};
    struct hd_forall forall = {.output = f->c,
                               .inputs = inputs,
                               .input_count = 2,
                               .function = add_tile,
                               .stay = true,
                               .in_place = true,
                               .past_caches = true};

    must(rig, hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0},
                                &inputs[1].view, &rig->error));
    must(rig, hd_forall(&forall, &rig->error));
}

// Interleaved, medians; both processes' times are the same, by the meetings.
static void compare(struct rig *rig, const char *name, const char *metric,
                    double bar, void (*work)(struct rig *, void *),
                    void (*bare)(struct rig *, void *), struct fields *fields)
{
    double ours[MAX_ROUNDS], theirs[MAX_ROUNDS];

    work(rig, fields);
    bare(rig, fields);
    for (int r = 0; r < rig->rounds; r++) {
        theirs[r] = timed(rig, bare, fields);
        ours[r] = timed(rig, work, fields);
    }
    report(rig, name, metric,
           figure_median(ours, rig->rounds) /
               figure_median(theirs, rig->rounds),
           "ratio", "memcpy", "<=", bar);
}

static void redistribution(struct rig *rig, const char *name, long n,
                           const char *from, const char *to, double bar)
{
    struct hd_map *x = parse(rig, from, n, n), *y = parse(rig, to, n, n);
    struct fields fields = {numbered(rig, x), NULL, NULL};
    char label[64];

    must(rig, hd_field_create(rig->cluster, sizeof(double), y, &fields.b,
                              &rig->error));
    snprintf(label, sizeof(label), "%s, N = %ld", name, n);
    compare(rig, label, "time over copying", bar, redistribute, bare_copy,
            &fields);
    hd_field_destroy(fields.a);
    hd_field_destroy(fields.b);
    hd_map_destroy(x);
    hd_map_destroy(y);
}

static void transposition(struct rig *rig, long n)
{
    struct hd_map *map = parse(
        rig, "%ldx%ld tiles 64x64 mesh 2x1 memory 64x64 tasks 64x64", n, n);
    struct fields fields = {numbered(rig, map), numbered(rig, map), NULL};
    char label[64];

    must(rig, hd_field_create(rig->cluster, sizeof(double), map, &fields.c,
                              &rig->error));
    snprintf(label, sizeof(label), "A + B^T, N = %ld", n);
    compare(rig, label, "time over adding", 1.8, transposed_add, bare_add,
            &fields);
    compare(rig, label, "time over adding past the caches", 1.8, transposed_add,
            bare_add_past_caches, &fields);
    hd_field_destroy(fields.a);
    hd_field_destroy(fields.b);
    hd_field_destroy(fields.c);
    hd_map_destroy(map);
}

void measure_moves(struct rig *rig)
{
    for (long n = 4096; n <= (rig->quick ? 4096 : 8192); n *= 2) {
        redistribution(rig, "block to 64 x 64 block-cyclic", n,
                       "%ldx%ld mesh 2x1", "%ldx%ld tiles 64x64 mesh 2x1",
                       n == 4096 ? 1.8 : 1.3);
        redistribution(rig, "row blocks to column blocks", n,
                       "%ldx%ld mesh 2x1", "%ldx%ld mesh 1x2", 1.1);
        transposition(rig, n);
    }
}

// Counted ---------------------------------------------------------------------

static double sum_of(struct rig *rig, double mine)
{
    double all[64] = {0}, sum = 0;

    must(rig, hdi_cluster_gather(rig->cluster, &mine, sizeof(mine), (char *)all,
                                 &rig->error));
    for (uint32_t p = 0; p < hd_cluster_processes(rig->cluster); p++)
        sum += all[p];
    return sum;
}

// Bytes that change their node, between two maps.
static double least_bytes(const struct hd_map *x, const struct hd_map *y,
                          long n, const uint32_t *labels)
{
    double least = 0;
    int64_t index[2];

    for (index[0] = 0; index[0] < n; index[0]++)
        for (index[1] = 0; index[1] < n; index[1]++) {
            uint32_t node = hd_map_node(y, index);

            if (labels)
                node = labels[node];
            if (hd_map_node(x, index) != node)
                least += sizeof(double);
        }
    return least;
}

static double moved_bytes(struct rig *rig, const struct hd_map *x,
                          const struct hd_map *y)
{
    struct fields fields = {numbered(rig, x), NULL, NULL};
    struct hd_cluster_counters counters;

    must(rig, hd_field_create(rig->cluster, sizeof(double), y, &fields.b,
                              &rig->error));
    hd_cluster_reset_counters(rig->cluster);
    redistribute(rig, &fields);
    hd_cluster_counters(rig->cluster, &counters);
    hd_field_destroy(fields.a);
    hd_field_destroy(fields.b);
    return sum_of(rig, (double)counters.received);
}

static void try_labels(const struct hd_map *x, const struct hd_map *y, long n,
                       uint32_t *labels, uint32_t fixed, uint32_t nodes,
                       double *best)
{
    if (fixed == nodes) {
        double bytes = least_bytes(x, y, n, labels);

        if (bytes < *best)
            *best = bytes;
        return;
    }
    for (uint32_t i = fixed; i < nodes; i++) {
        uint32_t kept = labels[fixed];

        labels[fixed] = labels[i];
        labels[i] = kept;
        try_labels(x, y, n, labels, fixed + 1, nodes, best);
        labels[i] = labels[fixed];
        labels[fixed] = kept;
    }
}

// All orders of the nodes are tried, on a grid that is small enough for it.
static void relabelling(struct rig *rig, uint32_t nodes)
{
    long n = 28;
    struct hd_map *x =
        parse(rig, "%ldx%ld tiles 4x7 cyclic nodes %u", n, n, nodes);
    struct hd_map *y =
        parse(rig, "%ldx%ld tiles 3x5 columns block nodes %u", n, n, nodes);
    struct hd_map *best;
    uint32_t to[64], labels[64];
    double least = 1e300;
    char label[64];

    must(rig, hd_map_best_labels(x, y, to, &rig->error));
    must(rig, hd_map_relabel(y, to, &best, &rig->error));
    for (uint32_t i = 0; i < nodes; i++)
        labels[i] = i;
    try_labels(x, y, n, labels, 0, nodes, &least);
    snprintf(label, sizeof(label), "relabelling, %u nodes", nodes);
    report(rig, label, "bytes over the fewest",
           least > 0 ? moved_bytes(rig, x, best) / least : 1, "ratio",
           "all orders", "<=", 1);
    hd_map_destroy(x);
    hd_map_destroy(y);
    hd_map_destroy(best);
}

void measure_bytes(struct rig *rig)
{
    uint32_t nodes = hd_cluster_nodes(rig->cluster);
    struct hd_cluster_counters counters;
    long n = 1024;
    struct hd_map *blocks = parse(rig, "%ldx%ld mesh %ux1", n, n, nodes);
    const char *names[] = {"block to 64 x 64 block-cyclic",
                           "row blocks to column blocks"};
    struct hd_map *to[] = {
        parse(rig, "%ldx%ld tiles 64x64 cyclic nodes %u", n, n, nodes),
        parse(rig, "%ldx%ld mesh 1x%u", n, n, nodes)};
    char label[64];

    for (int i = 0; i < 2; i++) {
        snprintf(label, sizeof(label), "%s, %u processes", names[i], nodes);
        report(rig, label, "bytes sent over those that must",
               moved_bytes(rig, blocks, to[i]) /
                   least_bytes(blocks, to[i], n, NULL),
               "ratio", "lower bound", "<=", 1);
        hd_cluster_counters(rig->cluster, &counters);
        report(rig, label, "memory beyond fields, per peer",
               sum_of(rig, (double)counters.scratch) / nodes /
                   (64 * 64 * sizeof(double)) / (nodes - 1),
               "blocks", NULL, "<=", 4);
        hd_map_destroy(to[i]);
    }
    hd_map_destroy(blocks);
    relabelling(rig, nodes);
}
