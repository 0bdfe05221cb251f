// A process that dies, and processes that do not call the same: the job ends
// soon, on all, with a message. argv[1] says which; the script reads the rest.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "heddle/agile.h"

int main(int count, char **words)
{
    struct hd_cluster *cluster;
    struct hd_error error = {0};
    struct hd_map *map;
    struct hd_field *field;
    struct hd_cluster_params params = {.timeout = 5000000000u};

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
