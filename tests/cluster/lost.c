// A process that dies, and processes that do not call the same: the job ends
// soon, on all, with a message. argv[1] says which; the script reads the rest.
// `thief HOW`: what becomes of a task that another process took. `late`: what
// becomes of a message that nobody waits for any more.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "heddle/agile.h"

// A task of process 0 that process 1 took is long, or stops its process.
static hd_status linger(struct hd_task *task, const struct hd_tile *c,
                        const struct hd_tile *in, void *data,
                        struct hd_error *error)
{
    const char *how = data;

    (void)c;
    (void)in;
    (void)error;
    if (hd_task_node(task) == 1 && hd_task_owner(task) == 0) {
        if (strcmp(how, "stopped") == 0)
            raise(SIGSTOP);
        sleep(3);
    } else {
        usleep(10000);
    }
    return HD_OK;
}

static int compute(const char *how)
{
    struct hd_cluster_params params = {.timeout = 500000000,
                                       .messages = strcmp(how, "near") != 0};
    struct hd_cluster *cluster;
    struct hd_error error = {0};
    struct hd_map *map;
    struct hd_field *field;
    struct hd_cluster_counters counters;

    if (hd_cluster_join(&params, &cluster, &error) != HD_OK ||
        hd_map_parse("40 tiles 40 tasks 1 cyclic nodes 2", &map, &error) !=
            HD_OK ||
        hd_field_create(cluster, 1, map, &field, &error) != HD_OK) {
        fprintf(stderr, "lost: %s\n", error.text);
        return 2;
    }
    struct hd_forall forall = {
        .output = field, .function = linger, .data = (void *)(uintptr_t)how};
    hd_status status = hd_forall(&forall, &error);
    unsigned me = hd_cluster_process(cluster);
    hd_cluster_counters(cluster, &counters);
    fprintf(stderr, "process %u: %s, %lu stolen\n", me,
            status == HD_OK ? "done" : error.text,
            (unsigned long)counters.steals);
    if (status != HD_OK)
        return 1;
    hd_field_destroy(field);
    hd_map_destroy(map);
    hd_cluster_leave(cluster);
    return 0;
}

// Where the frames of a call that has failed were is an array now: what comes
// late is not written to it.
static int meet_again(struct hd_cluster *cluster)
{
    enum {
        SIZE = 64 << 10
    };
    volatile char room[SIZE];
    struct hd_error error;

    for (int i = 0; i < SIZE; i++)
        room[i] = 7;
    if (hd_cluster_meet(cluster, &error) != HD_OK) {
        fprintf(stderr, "late: %s\n", error.text);
        return 1;
    }
    for (int i = 0; i < SIZE; i++)
        if (room[i] != 7) {
            fprintf(stderr, "late: a message was written to byte %d\n", i);
            return 1;
        }
    return 0;
}

// Process 1 answers when process 0 has given it up, and is in the next call: it
// comes for both calls then.
static int be_late(void)
{
    struct hd_cluster_params params = {.timeout = 4000000000};
    struct hd_cluster *cluster;
    struct hd_error error;

    if (hd_cluster_join(&params, &cluster, &error) != HD_OK) {
        fprintf(stderr, "late: %s\n", error.text);
        return 2;
    }
    bool late = hd_cluster_process(cluster) == 1;
    if (late)
        sleep(6);
    hd_status status = hd_cluster_meet(cluster, &error);
    if (status != (late ? HD_OK : HD_EPEER) || meet_again(cluster) != 0)
        return 1;
    hd_cluster_leave(cluster);
    return 0;
}

int main(int count, char **words)
{
    struct hd_cluster *cluster;
    struct hd_error error = {0};
    struct hd_map *map;
    struct hd_field *field;
    struct hd_cluster_params params = {.timeout = 5000000000u};

    if (count == 3)
        return compute(words[2]);
    if (count == 2 && strcmp(words[1], "late") == 0)
        return be_late();
    if (count != 2 || hd_cluster_join(&params, &cluster, &error) != HD_OK ||
        hd_map_parse("100x100 tiles 10x10 cyclic nodes 2", &map, &error) !=
            HD_OK ||
        hd_field_create(cluster, 8, map, &field, &error) != HD_OK) {
        fprintf(stderr, "lost: %s\n", error.text);
        return 2;
    }
    if (hd_cluster_process(cluster) == 1) {
        if (strcmp(words[1], "killed") == 0)
            raise(SIGKILL);
        if (strcmp(words[1], "gone") == 0)
            return 0; // without leaving
        if (strcmp(words[1], "silent") == 0)
            sleep(60);
        hd_status status = hd_cluster_meet(cluster, &error);
        fprintf(stderr, "process 1: %s\n", error.text);
        return status != HD_OK;
    }

    struct hd_view view = hd_view_field(field);
    struct hd_field *other;
    hd_status status = hd_agile(cluster, &view, map, &other, &error);
    fprintf(stderr, "process 0: %s\n", error.text);
    return status != HD_OK;
}
