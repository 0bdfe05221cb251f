// For tests: kernels that are C functions, programs that are tables of them,
// and failures on demand. The linker puts these in the place of the launch and
// kernel layers (--wrap in CMakeLists.txt); builder and pool are the real ones.
#ifndef HDI_TESTS_GRAPH_FAKE_LAUNCH_H
#define HDI_TESTS_GRAPH_FAKE_LAUNCH_H

#include <stdatomic.h>

#include "graph/model/graph.h"
#include "launch/start/start.h"

enum {
    FAKE_ARGS = 8
};

struct fake_arg {
    const char *name, *type;
    enum hd_arg_kind kind;
    bool pointee_const;
};

struct fake_kernel {
    const char *name;
    // Returns what the launch returns. Optional. Of a part of a launch the
    // range has the offset and size, in one dimension.
    hd_status (*run)(const struct hd_range *range, const struct hd_arg *args);
    // What run() touches with this range. Optional: anything.
    void (*touch)(const struct hd_range *range,
                  struct hd_footprint *footprints);
    struct fake_arg args[FAKE_ARGS]; // up to the first without a name
    // Filled in when a program is made.
    struct hd_kernel kernel;
    struct hdi_learned learned;
    struct hdi_kernel_arg shown[FAKE_ARGS];
};

// What every program contains, ended by one without a name.
extern struct fake_kernel fake_kernels[];

struct fake_counts {
    atomic_uint programs, programs_alive, launches, buffers_alive;
    atomic_ullong bytes_alive, bytes_peak;
    atomic_uint fail_launch, fail_buffer; // the n-th from now fails; 0: none
    atomic_uint by_priority[3];           // launches
    // With `peers` of 2, launches are started and not waited for. They come
    // after this event, if it is none, and the `hold`-th of them ends it.
    hd_event gate;
    unsigned hold;
    atomic_uint held;
    bool device_memory; // host addresses are not device addresses
    unsigned parts;     // of the last program; 0: it has a path
    char options[256];  // of the last program
};
extern struct fake_counts fake;

// A launcher over a pool, and a context with it. The device is a stand-in.
void fake_open(struct hdi_launcher *launcher, struct hd_pool *pool,
               struct hdi_graph_context *context);
void fake_close(struct hdi_launcher *launcher);

#endif
