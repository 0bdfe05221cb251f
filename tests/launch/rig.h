// For tests: a pool, the CPU and one program on it. What one rig has compiled,
// also to look for who has faulted, others of the process find in a cache.
#ifndef HDI_TESTS_LAUNCH_RIG_H
#define HDI_TESTS_LAUNCH_RIG_H

#include <dirent.h>
#include <unistd.h>

#include "base/topology.h"
#include "kernel/binary/cache.h"
#include "launch/launch.h"
#include "tests/check.h"
#include "tests/folder.h"

static struct hd_error error;

struct rig {
    struct hdi_topology *topology;
    struct hdi_device *device;
    struct hd_pool *pool;
    struct hdi_launcher *launcher;
    struct hd_program *program;
};

static const char *rig_folder;
static struct hdi_cache *rig_kept;

static inline void rig_forget(void)
{
    DIR *all = opendir(rig_folder);

    hdi_cache_close(rig_kept);
    for (struct dirent *one; all && (one = readdir(all));)
        unlinkat(dirfd(all), one->d_name, 0);
    if (all)
        closedir(all);
    rmdir(rig_folder);
}

// NULL where there is none in this build.
static inline struct hdi_cache *rig_cache(void)
{
    if (!rig_folder && hdi_digest_is_there()) {
        rig_folder = make_folder();
        CHECK_OK(hdi_cache_open(rig_folder, &rig_kept, &error), error);
        atexit(rig_forget);
    }
    return rig_kept;
}

// Skips where the program cannot be compiled. `source` NULL: there is none.
static inline struct rig rig_set_up(struct hd_pool_params pool,
                                    struct hdi_device_params device,
                                    const char *source)
{
    struct rig rig = {0};
    struct hd_program_params params = {.path = "rig.cl", .source = source};

    CHECK_OK(hdi_topology_create(NULL, &rig.topology, &error), error);
    CHECK_OK(hdi_backend_find("cpu")->open(rig.topology, 0, &device,
                                           &rig.device, &error),
             error);
    CHECK_OK(hd_pool_create(&pool, &rig.pool, &error), error);
    CHECK_OK(
        hdi_launcher_create(rig.pool, rig.device, NULL, &rig.launcher, &error),
        error);
    if (!source)
        return rig;
    struct hdi_program_context context = {.device = rig.device,
                                          .cache = rig_cache()};
    hd_status status =
        hdi_program_create(&context, &params, &rig.program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    return rig;
}

static inline void rig_tear_down(struct rig *rig)
{
    hd_pool_destroy(rig->pool);
    CHECK(atomic_load(&rig->launcher->memory) == 0);
    hdi_launcher_destroy(rig->launcher);
    hd_program_destroy(rig->program);
    rig->device->backend->close(rig->device);
    hdi_topology_destroy(rig->topology);
}

#endif
