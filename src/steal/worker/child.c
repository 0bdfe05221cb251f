// Refuses a pool in a child of fork(), which has none of its threads.
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "steal/worker/state.h"

// A caller-only pool has no threads that fork() could lose.
static bool has_its_workers(const struct hd_pool *pool)
{
    return hdi_origin_is_here(&pool->origin) || pool->caller_only;
}

hd_status hdi_pool_check(const struct hd_pool *pool, struct hd_error *error)
{
    return has_its_workers(pool)
               ? HD_OK
               : hdi_fail(error, HD_EINVAL,
                          "a runtime was used in a child of fork(), which has "
                          "none of its threads; make a new runtime there");
}

void hdi_pool_check_origin(const struct hd_pool *pool)
{
    if (has_its_workers(pool))
        return;
    hdi_error("a pool was used in a child of fork(), which has none of its "
              "workers; make a new pool there");
    abort();
}
