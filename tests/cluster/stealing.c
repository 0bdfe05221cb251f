// Uneven work, for ranks that a simulator makes (simulated.sh): one node has
// all tasks, or one is slow. Process 0 prints a line for each: the nodes that
// did a task, the most that one asked for, in messages, what it got of that,
// and how long it took in hundredths of what the work takes when it is divided
// evenly.
#include <dlfcn.h>
#include <stdio.h>

#include "heddle/agile.h"

enum {
    EACH = 8 // tasks, on average
};

static const double SECONDS = 1e-3; // of a task

struct study {
    struct hd_error error;
    unsigned done; // tasks of this rank's node
    bool slow;     // four times
    double (*now)(void);
    void (*compute)(double seconds);
};

static hd_status count(struct hd_task *task, const struct hd_tile *c,
                       const struct hd_tile *in, void *data,
                       struct hd_error *error)
{
    struct study *s = data;

    (void)in;
    (void)error;
    s->done++;
    *(double *)c->data += 1;
    s->compute(SECONDS * (s->slow && hd_task_node(task) == 0 ? 4 : 1));
    return HD_OK;
}

static void most(void *value, const void *element, void *data)
{
    (void)data;
    if (*(double *)value < *(const double *)element)
        *(double *)value = *(const double *)element;
}

static void sum(void *value, const void *element, void *data)
{
    (void)data;
    *(double *)value += *(const double *)element;
}

struct mine {
    double value;
};

static void read_mine(void *data, const int64_t *index, void *value)
{
    (void)index;
    *(double *)value = ((struct mine *)data)->value;
}

// Combine a value of each rank.
static hd_status combine(struct hd_cluster *cluster, struct study *s,
                         double mine, bool add, double *result)
{
    struct mine m = {mine};
    struct hd_map *map;
    struct hd_field *field;
    struct hd_view view;
    char words[64];
    double none = 0;

    snprintf(words, sizeof(words), "%u nodes %u", hd_cluster_nodes(cluster),
             hd_cluster_nodes(cluster));
    hd_status status = hd_map_parse(words, &map, &s->error);
    if (status != HD_OK)
        return status;
    status = hd_view_function(hd_map_grid(map), sizeof(double), read_mine, &m,
                              &view, &s->error);
    if (status == HD_OK)
        status = hd_agile(cluster, &view, map, &field, &s->error);
    hd_map_destroy(map);
    if (status != HD_OK)
        return status;
    status = hd_field_reduce(field, add ? sum : most, NULL, &none, result,
                             &s->error);
    hd_field_destroy(field);
    return status;
}

static hd_status measure(struct hd_cluster *cluster, struct study *s, bool slow)
{
    unsigned nodes = hd_cluster_nodes(cluster), tasks = nodes * EACH;
    struct hd_cluster_counters counters;
    struct hd_map *map;
    struct hd_field *field;
    char words[128];
    double workers = 0, asks = 0, vain = 0, total = 0, none = 0;

    snprintf(words, sizeof(words), "%u tiles %u tasks 1 cyclic nodes %u", tasks,
             slow ? EACH : tasks, nodes);
    s->slow = slow;
    hd_status status = hd_map_parse(words, &map, &s->error);
    if (status != HD_OK)
        return status;
    status = hd_field_create(cluster, sizeof(double), map, &field, &s->error);
    hd_map_destroy(map);
    if (status != HD_OK)
        return status;

    struct hd_forall forall = {
        .output = field, .function = count, .data = s, .update = true};
    s->done = 0;
    hd_cluster_reset_counters(cluster);
    status = hd_cluster_meet(cluster, &s->error);
    double begin = s->now();
    if (status == HD_OK)
        status = hd_forall(&forall, &s->error);
    double time = s->now() - begin;
    hd_cluster_counters(cluster, &counters);
    if (status == HD_OK)
        status = combine(cluster, s, s->done > 0, true, &workers);
    if (status == HD_OK)
        status = combine(cluster, s, (double)counters.asks, false, &asks);
    if (status == HD_OK)
        status = combine(cluster, s, (double)(counters.asks - counters.steals),
                         false, &vain);
    if (status == HD_OK)
        status = hd_field_reduce(field, sum, NULL, &none, &total, &s->error);
    hd_field_destroy(field);
    if (status == HD_OK && hd_cluster_process(cluster) == 0)
        printf("%u ranks, %s: %.0f of %u tasks once, %.0f nodes, %.0f asked, "
               "%.0f in vain, time %.0f\n",
               nodes, slow ? "a slow one" : "all on one", total, tasks, workers,
               asks, vain, 100 * time / (EACH * SECONDS));
    return status;
}

int main(void)
{
    struct hd_cluster_params params = {.timeout = 3600000000000,
                                       .sequential = true};
    struct study s = {0};
    struct hd_cluster *cluster;

    *(void **)&s.now = dlsym(RTLD_DEFAULT, "PMPI_Wtime");
    *(void **)&s.compute = dlsym(RTLD_DEFAULT, "smpi_execute");
    if (!s.now || !s.compute) {
        fprintf(stderr, "stealing: this needs SimGrid\n");
        return 1;
    }
    hd_status status = hd_cluster_join(&params, &cluster, &s.error);
    if (status != HD_OK) {
        fprintf(stderr, "%s\n", s.error.text);
        return 1;
    }
    status = measure(cluster, &s, false);
    if (status == HD_OK)
        status = measure(cluster, &s, true);
    if (status != HD_OK)
        fprintf(stderr, "%s\n", s.error.text);
    hd_cluster_leave(cluster);
    return status != HD_OK;
}
