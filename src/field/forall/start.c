// forall with a function, started and not waited for.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/forall/run.h"
#include "field/forall/runner.h"

// What the caller gave, which may be gone when it begins.
struct kept {
    struct hd_forall forall;
    struct hd_input inputs[];
};

static struct kept *keep(const struct hd_forall *forall)
{
    size_t size = forall->input_count * sizeof(struct hd_input);
    struct kept *k = malloc(sizeof(*k) + size);

    if (!k)
        return NULL;
    k->forall = *forall;
    k->forall.inputs = k->inputs;
    if (size)
        memcpy(k->inputs, forall->inputs, size);
    return k;
}

// By a thread of the lane.
static hd_status compute(void *data, struct hdi_lane *lane, hd_status before,
                         struct hd_error *error)
{
    const struct hdi_forall_way way = {.call = "hd_forall_start()",
                                       .crew = HDI_BY_ALL};
    struct kept *k = data;
    hd_status status = hdi_forall(&k->forall, lane, &way, before, error);

    free(k);
    return status;
}

hd_status hd_forall_start(struct hd_pool *pool, const struct hd_start *start,
                          const struct hd_forall *forall, hd_event *event,
                          struct hd_error *error)
{
    struct hd_cluster *cluster = forall->output->cluster;
    const struct hd_start at_once = {.after_count = 0};
    struct hdi_forall_job job = {.call = "hd_forall_start()",
                                 .function = compute};

    if (!hdi_cluster_has_lanes(cluster))
        return hdi_fail(error, HD_ENOTSUP,
                        "a cluster with GPUs, or without threads: call "
                        "hd_forall()");
    hd_status status = hdi_forall_check_function(forall, &job.digest, error);
    struct kept *k = status == HD_OK ? keep(forall) : NULL;
    if (status == HD_OK && !k)
        status = hdi_fail(error, HD_ENOMEM, "no memory to start a forall");
    job.data = k;
    status = hdi_forall_start(cluster, pool, start ? start : &at_once, &job,
                              status, event, error);
    if (status != HD_OK)
        free(k);
    return status;
}
