// Memory that ends while hwloc reads the machine is an error, not the end of
// the process: hwloc does not look at all that it allocates.
#include "tests/shortage.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/topology.h"
#include "tests/check.h"

enum {
    STEPS = 64, // in which the memory left grows
    WORKED = 10 // exit status of a child
};

// What becomes of a process that has so much memory left.
static int try_with(const char *synthetic, long bytes)
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct hdi_topology *topology;
        struct hd_error error = {0};
        shortage_begin_room(bytes);
        hd_status result = hdi_topology_create(synthetic, &topology, &error);
        shortage_end();
        if (result == HD_OK)
            _exit(WORKED);
        _exit(result == HD_ENOMEM && *error.text ? HD_ENOMEM : 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status)) {
        fprintf(stderr, "%ld bytes left: signal %d\n", bytes, WTERMSIG(status));
        CHECK(WIFEXITED(status));
    }
    return WEXITSTATUS(status);
}

// Nothing is enough for nothing, and at some size it is enough for all.
static void memory_may_end_at_any_byte(const char *synthetic)
{
    bool was_enough = false;
    long step = 1024;

    for (int i = 0; i < STEPS && !was_enough; i++) {
        int end = try_with(synthetic, i * step);
        CHECK(end == WORKED || end == HD_ENOMEM);
        was_enough = end == WORKED;
        step += step / 8;
    }
    CHECK(was_enough);
}

int main(void)
{
    CHECK(try_with(NULL, 0) == HD_ENOMEM);
    memory_may_end_at_any_byte(NULL);
    memory_may_end_at_any_byte("pack:2 l3:2 core:8 pu:2");
    return 0;
}
