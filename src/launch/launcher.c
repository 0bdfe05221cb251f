#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "launch/launch.h"

hd_status hdi_launcher_create(struct hd_pool *pool, struct hdi_device *device,
                              struct hdi_trace *trace,
                              struct hdi_launcher **launcher,
                              struct hd_error *error)
{
    unsigned workers = hd_pool_workers(pool) + HD_MAX_STAND_INS;
    struct hdi_launcher *l = calloc(1, sizeof(*l));
    if (!l)
        goto err;

    l->units = calloc(workers, sizeof(struct hdi_unit *));
    l->tracks = calloc(workers, sizeof(struct hdi_track *));
    if (!l->units || !l->tracks)
        goto err_arrays;

    l->pool = pool;
    l->workers = workers;
    l->device = device;
    l->trace = trace;
    for (unsigned i = 0; i < hd_pool_workers(pool); i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker %u", i);
        l->tracks[i] = hdi_track_create(trace, name);
    }
    *launcher = l;
    return HD_OK;

err_arrays:
    free(l->tracks);
    free(l->units);
    free(l);
err:
    return hdi_fail(error, HD_ENOMEM, "no memory for %u workers", workers);
}

void hdi_launcher_destroy(struct hdi_launcher *launcher)
{
    if (!launcher)
        return;

    for (unsigned i = 0; i < launcher->workers; i++)
        if (launcher->units[i])
            launcher->device->backend->unit_close(launcher->units[i]);
    free(launcher->tracks);
    free(launcher->units);
    free(launcher);
}
