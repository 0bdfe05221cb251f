// One case of the scaling study, for ranks that SimGrid makes (scale/run): the
// program runs for real, its messages take simulated time, and what a node
// computes takes as long as it is told to. Process 0 prints a line of JSON.
//
//     study CASE SIDE NS
//
// SIDE: elements of a node along one axis (sort: SIDE^2 keys); 0 divides
// 1,048,576 elements among all nodes. NS: what an element takes to compute.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/agile.h"

enum {
    STEPS = 2,    // of the stencil
    MEETINGS = 9, // besides that which ends the time
    TASKS = 4,    // along each axis of a node's block
    TOTAL = 1 << 20
};

struct study {
    struct hd_cluster *cluster;
    struct hd_error error;
    unsigned nodes, across; // across^2 = nodes
    long side;              // of the whole grid
    double seconds;         // that a node computes
    double (*now)(void);
    void (*compute)(double seconds);
};

static struct hd_map *parse(struct study *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void must(struct study *s, hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "study: %s\n", s->error.text);
    abort();
}

static struct hd_map *parse(struct study *s, const char *format, ...)
{
    char words[200];
    struct hd_map *map;
    va_list list;

    va_start(list, format);
    vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    must(s, hd_map_parse(words, &map, &s->error));
    return map;
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(double *)value = (double)(index[0] * 7 + index[1]);
}

static void key(void *data, const int64_t *index, void *value)
{
    uint64_t v = (uint64_t)index[0] * 0x9e3779b97f4a7c15u;

    (void)data;
    *(uint64_t *)value = (v ^ v >> 31) * 0xbf58476d1ce4e5b9u;
}

static struct hd_field *field(struct study *s, const struct hd_map *map,
                              void (*function)(void *, const int64_t *, void *))
{
    struct hd_view view;
    struct hd_field *made;

    must(s, hd_view_function(hd_map_grid(map), sizeof(double), function, NULL,
                             &view, &s->error));
    must(s, hd_agile(s->cluster, &view, map, &made, &s->error));
    return made;
}

// Cases -----------------------------------------------------------------------

static double timed(struct study *s, void (*work)(struct study *, void *),
                    void *data)
{
    must(s, hd_cluster_meet(s->cluster, &s->error));
    double begin = s->now();
    work(s, data);
    must(s, hd_cluster_meet(s->cluster, &s->error));
    return s->now() - begin;
}

struct pair {
    struct hd_field *from, *to, *more;
};

static void assign(struct study *s, void *data)
{
    struct pair *p = data;
    struct hd_view view = hd_view_field(p->from);

    must(s, hd_field_assign(p->to, &view, &s->error));
}

static double redistribute(struct study *s, bool rows)
{
    struct hd_map *from, *to;

    if (rows) {
        from = parse(s, "%ldx%ld mesh %ux1", s->side, s->side, s->nodes);
        to = parse(s, "%ldx%ld mesh 1x%u", s->side, s->side, s->nodes);
    } else {
        from = parse(s, "%ldx%ld mesh %ux%u", s->side, s->side, s->across,
                     s->across);
        to = parse(s, "%ldx%ld tiles 32x32 mesh %ux%u", s->side, s->side,
                   s->across, s->across);
    }
    struct pair p = {field(s, from, number), field(s, to, number), NULL};
    assign(s, &p); // the plan is kept
    double time = timed(s, assign, &p);
    hd_field_destroy(p.from);
    hd_field_destroy(p.to);
    hd_map_destroy(from);
    hd_map_destroy(to);
    return time;
}

static hd_status add(struct hd_task *task, const struct hd_tile *c,
                     const struct hd_tile *in, void *data,
                     struct hd_error *error)
{
    struct study *s = data;

    (void)task;
    (void)error;
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++)
            ((double *)c->data)[i * c->step[0] + j * c->step[1]] =
                ((double *)in[0].data)[i * in[0].step[0] + j * in[0].step[1]] +
                ((double *)in[1].data)[i * in[1].step[0] + j * in[1].step[1]];
    s->compute(s->seconds / (TASKS * TASKS));
    return HD_OK;
}

static void add_transposed(struct study *s, void *data)
{
    struct pair *p = data;
    struct hd_input inputs[] = {{.view = hd_view_field(p->from)},
                                {.view = hd_view_field(p->to)}};
    struct hd_forall forall = {.output = p->more,
                               .inputs = inputs,
                               .input_count = 2,
                               .function = add,
                               .data = s,
                               .stay = true};

    must(s, hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0},
                              &inputs[1].view, &s->error));
    must(s, hd_forall(&forall, &s->error));
}

static void meet(struct study *s, void *data)
{
    (void)data;
    for (int i = 0; i < MEETINGS; i++)
        must(s, hd_cluster_meet(s->cluster, &s->error));
}

// A block for each node, whose memory and task blocks are small: a simulated
// node answers others between two tasks, and what the next ones read is brought
// meanwhile.
static struct hd_map *blocks(struct study *s)
{
    long own = s->side / s->across, task = own / TASKS;

    return parse(s, "%ldx%ld mesh %ux%u memory %ldx%ld tasks %ldx%ld", s->side,
                 s->side, s->across, s->across, task, task, task, task);
}

static double transposed(struct study *s)
{
    struct hd_map *map = blocks(s);
    struct pair p = {field(s, map, number), field(s, map, number),
                     field(s, map, number)};
    double time = timed(s, add_transposed, &p);

    hd_field_destroy(p.from);
    hd_field_destroy(p.to);
    hd_field_destroy(p.more);
    hd_map_destroy(map);
    return time;
}

static hd_status spread(struct hd_task *task, const struct hd_tile *c,
                        const struct hd_tile *in, void *data,
                        struct hd_error *error)
{
    struct study *s = data;
    int64_t top = c->grid.offset[0] - in[0].grid.offset[0];
    int64_t left = c->grid.offset[1] - in[0].grid.offset[1];

    (void)task;
    (void)error;
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            const double *from = (double *)in[0].data +
                                 (i + top) * in[0].step[0] +
                                 (j + left) * in[0].step[1];
            bool below = i + top + 1 < in[0].grid.extent[0];

            ((double *)c->data)[i * c->step[0] + j * c->step[1]] =
                (*from + (i + top ? from[-in[0].step[0]] : 0) +
                 (below ? from[in[0].step[0]] : 0)) /
                3;
        }
    s->compute(s->seconds / (TASKS * TASKS));
    return HD_OK;
}

static void spread_steps(struct study *s, void *data)
{
    struct pair *p = data;

    for (int step = 0; step < STEPS; step++) {
        struct hd_input input = {.view =
                                     hd_view_field(step % 2 ? p->to : p->from),
                                 .before = {1, 1},
                                 .after = {1, 1}};
        struct hd_forall forall = {.output = step % 2 ? p->from : p->to,
                                   .inputs = &input,
                                   .input_count = 1,
                                   .function = spread,
                                   .data = s,
                                   .stay = true};

        must(s, hd_forall(&forall, &s->error));
    }
}

static double stencil(struct study *s)
{
    struct hd_map *map = blocks(s);
    struct pair p = {field(s, map, number), field(s, map, number), NULL};
    double time = timed(s, spread_steps, &p) / STEPS;

    hd_field_destroy(p.from);
    hd_field_destroy(p.to);
    hd_map_destroy(map);
    return time;
}

static void sort_field(struct study *s, void *data)
{
    s->compute(s->seconds);
    must(s, hd_field_sort(data, &s->error));
}

static double sort(struct study *s)
{
    struct hd_map *map = parse(s, "%ld nodes %u", s->side * s->side, s->nodes);
    struct hd_field *keys = field(s, map, key);
    double time = timed(s, sort_field, keys);

    hd_field_destroy(keys);
    hd_map_destroy(map);
    return time;
}

int main(int count, char **words)
{
    struct hd_cluster_params params = {.timeout = 3600000000000,
                                       .sequential = true};
    struct study s = {0};
    double time = -1;

    if (count < 4)
        return 2;
    *(void **)&s.now = dlsym(RTLD_DEFAULT, "PMPI_Wtime");
    *(void **)&s.compute = dlsym(RTLD_DEFAULT, "smpi_execute");
    if (!s.now || !s.compute) {
        fprintf(stderr, "study: this needs SimGrid\n");
        return 1;
    }
    must(&s, hd_cluster_join(&params, &s.cluster, &s.error));
    s.nodes = hd_cluster_nodes(s.cluster);
    while ((s.across + 1) * (s.across + 1) <= s.nodes)
        s.across++;
    long own = atol(words[2]);
    s.side = own ? own * s.across : 1024;
    s.seconds = atof(words[3]) * 1e-9 * (double)(s.side * s.side) / s.nodes;
    if (strcmp(words[1], "rows") == 0)
        time = redistribute(&s, true);
    else if (strcmp(words[1], "tiles") == 0)
        time = redistribute(&s, false);
    else if (strcmp(words[1], "transposed") == 0)
        time = transposed(&s);
    else if (strcmp(words[1], "stencil") == 0)
        time = stencil(&s);
    else if (strcmp(words[1], "sort") == 0)
        time = sort(&s);
    else if (strcmp(words[1], "agreement") == 0)
        time = timed(&s, meet, NULL) / (MEETINGS + 1);
    if (hd_cluster_process(s.cluster) == 0)
        printf("{\"case\":\"%s\",\"nodes\":%u,\"own\":%ld,\"us\":%.3f}\n",
               words[1], s.nodes, own, time * 1e6);
    hd_cluster_leave(s.cluster);
    return time < 0;
}
