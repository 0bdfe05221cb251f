// Fields: redistribution and transposed addition between two processes of this
// machine, in time over copying, or adding, as many bytes of the other
// process's memory. Starts itself again under mpirun.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/figure.h"
#include "field/field.h"

enum {
    MAX_ROUNDS = 15
};

static struct hd_error error;
static struct hd_cluster *cluster;
static int rounds = 9;

static void must(hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench_field: %s\n", error.text);
    exit(1);
}

static struct hd_map *parse(const char *format, long n)
{
    char text[128];
    struct hd_map *map;

    snprintf(text, sizeof(text), format, n, n);
    must(hd_map_parse(text, &map, &error));
    return map;
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(double *)value = (double)(index[0] * 100003 + index[1]);
}

static struct hd_field *make(const struct hd_map *map)
{
    struct hd_view view;
    struct hd_field *field;

    must(hd_view_function(hd_map_grid(map), sizeof(double), number, NULL, &view,
                          &error));
    must(hd_agile(cluster, &view, map, &field, &error));
    return field;
}

static char *memory_of(struct hd_field *field, uint32_t node, size_t *size)
{
    const struct hdi_store *store;
    char *memory = hdi_field_memory(field, node, &store);

    *size = (size_t)store->size * sizeof(double);
    return memory;
}

// What is compared: copying, or adding, as much from the other's memory.
static void copy_from_peer(struct hd_field *to, struct hd_field *from)
{
    uint32_t me = hd_cluster_process(cluster);
    size_t mine, others;
    char *target = memory_of(to, me, &mine);
    const char *source = memory_of(from, 1 - me, &others);

    memcpy(target, source, mine < others ? mine : others);
}

static void add_from_peer(struct hd_field *c, struct hd_field *a,
                          struct hd_field *b)
{
    uint32_t me = hd_cluster_process(cluster);
    size_t size, same;
    double *restrict to = (double *)memory_of(c, me, &size);
    const double *restrict x = (double *)memory_of(a, me, &same);
    const double *restrict y = (double *)memory_of(b, 1 - me, &same);

    for (size_t i = 0; i < size / sizeof(double); i++)
        to[i] = x[i] + y[i];
}

static double timed(void (*work)(void *data), void *data)
{
    must(hd_cluster_meet(cluster, &error));
    double begin = figure_now();
    work(data);
    must(hd_cluster_meet(cluster, &error));
    return figure_now() - begin;
}

struct fields {
    struct hd_field *a, *b, *c;
};

static void bare_copy(void *data)
{
    struct fields *f = data;

    copy_from_peer(f->b, f->a);
}

static void redistribute(void *data)
{
    struct fields *f = data;
    struct hd_view view = hd_view_field(f->a);

    must(hd_field_assign(f->b, &view, &error));
}

static void bare_add(void *data)
{
    struct fields *f = data;

    add_from_peer(f->c, f->a, f->b);
}

static hd_status add_tile(struct hd_task *task, const struct hd_tile *c,
                          const struct hd_tile *in, void *data,
                          struct hd_error *why)
{
    enum {
        TILE = 8
    };
    int64_t rows = c->grid.extent[0], columns = c->grid.extent[1];

    (void)task;
    (void)data;
    (void)why;
    for (int64_t r = 0; r < rows; r += TILE)
        for (int64_t k = 0; k < columns; k += TILE)
            for (int64_t i = r; i < rows && i < r + TILE; i++) {
                double *to = (double *)c->data + i * c->step[0];
                const double *x = (double *)in[0].data + i * in[0].step[0];
                const double *y = (double *)in[1].data + i * in[1].step[0];

                for (int64_t j = k; j < columns && j < k + TILE; j++)
                    to[j] = x[j] + y[j * in[1].step[1]];
            }
    return HD_OK;
}

static void transposed_add(void *data)
{
    struct fields *f = data;
    struct hd_input inputs[] = {{.view = hd_view_field(f->a)},
                                {.view = hd_view_field(f->b)}};
    struct hd_forall forall = {.output = f->c,
                               .inputs = inputs,
                               .input_count = 2,
                               .function = add_tile,
                               .stay = true};

    must(hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0}, &inputs[1].view,
                           &error));
    f->b->version++; // as if it had been written: everything moves again
    must(hd_forall(&forall, &error));
}

// Interleaved, medians; both processes' times are the same, by the meetings.
static void compare(const char *name, const char *metric, double bar,
                    void (*work)(void *), void (*bare)(void *),
                    struct fields *fields)
{
    double ours[MAX_ROUNDS], theirs[MAX_ROUNDS];

    work(fields);
    bare(fields);
    for (int r = 0; r < rounds; r++) {
        theirs[r] = timed(bare, fields);
        ours[r] = timed(work, fields);
    }
    if (hd_cluster_process(cluster) == 0)
        figure_print(&(struct figure){"field", name, metric,
                                      figure_median(ours, rounds) /
                                          figure_median(theirs, rounds),
                                      "ratio", "memcpy", "<=", bar});
}

static void redistribution(const char *name, long n, const char *from,
                           const char *to, double bar)
{
    struct hd_map *x = parse(from, n), *y = parse(to, n);
    struct fields fields = {make(x), NULL, NULL};
    struct hd_cluster_counters counters;
    uint64_t least = 0;
    int64_t index[2];
    char label[64];

    must(hd_field_create(cluster, sizeof(double), y, &fields.b, &error));
    snprintf(label, sizeof(label), "%s, N = %ld", name, n);
    hd_cluster_reset_counters(cluster);
    redistribute(&fields);
    hd_cluster_counters(cluster, &counters);
    for (index[0] = 0; index[0] < n; index[0]++)
        for (index[1] = 0; index[1] < n; index[1]++) {
            uint32_t node = hd_map_node(y, index);

            if (hd_cluster_has(cluster, node) && hd_map_node(x, index) != node)
                least += sizeof(double);
        }
    if (hd_cluster_process(cluster) == 0)
        figure_print(
            &(struct figure){"field", label, "bytes over those that must move",
                             least ? (double)counters.moved / (double)least : 1,
                             "ratio", "lower bound", "<=", 1});
    compare(label, "time over copying", bar, redistribute, bare_copy, &fields);
    hd_field_destroy(fields.a);
    hd_field_destroy(fields.b);
    hd_map_destroy(x);
    hd_map_destroy(y);
}

static void transposition(long n)
{
    struct hd_map *map =
        parse("%ldx%ld tiles 64x64 mesh 2x1 memory 64x64 tasks 64x64", n);
    struct fields fields = {make(map), make(map), NULL};
    char label[64];

    must(hd_field_create(cluster, sizeof(double), map, &fields.c, &error));
    snprintf(label, sizeof(label), "A + B^T, N = %ld", n);
    compare(label, "time over adding", 1.8, transposed_add, bare_add, &fields);
    hd_field_destroy(fields.a);
    hd_field_destroy(fields.b);
    hd_field_destroy(fields.c);
    hd_map_destroy(map);
}

static int start_again(int count, char **words)
{
    char *list[16] = {"mpirun.openmpi", "--oversubscribe", "-n", "2", words[0]};
    int at = 5;

    for (int i = 1; i < count && at < 15; i++)
        list[at++] = words[i];
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    fflush(stdout);
    execvp(list[0], list);
    figure_skip(&(struct figure){"field", "all", "time over copying", 0,
                                 "ratio", "memcpy", "<=", 1.1},
                "mpirun.openmpi is not installed");
    return 0;
}

int main(int count, char **words)
{
    bool quick = count > 1 && strcmp(words[1], "--quick") == 0;

    if (!getenv("OMPI_COMM_WORLD_SIZE"))
        return start_again(count, words);
    must(hd_cluster_join(NULL, &cluster, &error));
    if (hd_cluster_nodes(cluster) != 2) {
        fprintf(stderr, "bench_field: two processes are needed\n");
        return 1;
    }
    if (quick)
        rounds = 5;
    for (long n = 4096; n <= (quick ? 4096 : 8192); n *= 2) {
        redistribution("block to 64 x 64 block-cyclic", n, "%ldx%ld mesh 2x1",
                       "%ldx%ld tiles 64x64 mesh 2x1", n == 4096 ? 1.8 : 1.3);
        redistribution("row blocks to column blocks", n, "%ldx%ld mesh 2x1",
                       "%ldx%ld mesh 1x2", 1.1);
        transposition(n);
    }
    hd_cluster_leave(cluster);
    return 0;
}
