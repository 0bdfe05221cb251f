// The runtime: one handle for workers, devices, the kernel cache and the trace.
#ifndef HEDDLE_RUNTIME_H
#define HEDDLE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_pool;
struct hd_runtime;

/// How a runtime is made. All zero: the defaults.
///
/// Owner: the caller; strings are copied, `print_data` must stay as long as the
/// runtime
struct hd_runtime_params {
    unsigned workers;    // 0: one per core this process may use
    bool caller_only;    // no threads of its own: the caller works
    unsigned units;      // threads of their own for leaves, see heddle/unit.h;
                         // 0: workers run leaves themselves
    unsigned unit_cores; // threads of each unit; 0: 1 on processors, 128 on
                         // GPUs
    bool unit_doorbell;  // a unit takes one leaf at a time, through one
                         // doorbell, instead of a ring of up to eight
    uint64_t unit_timeout; // a unit that takes longer for a leaf hangs and is
                           // detached [ns]; 0: wait for ever
    // "cpu", "null", "gpu" or "all", or several with commas between, of which
    // buffers are made on the first; NULL: the best there is
    const char *device;
    const char *topology; // hwloc synthetic description; NULL: this machine
    // The part of the machine it is given: processors as the system numbers
    // them, "0-3,8"; NULL: all that this process may use.
    const char *cores;
    const char *cache;   // folder of compiled kernels; NULL: the user's own
    bool no_cache;       // compile everything anew
    uint64_t time_limit; // of each launch [ns]; 0: none
    unsigned events;     // under way, as in hd_pool_params; 0: 16,384
    bool guard;          // buffers end where inaccessible memory begins: an
                         // access one element past the end is an error of
                         // its launch; constant arguments are read-only
                         // whatever their size
    bool trace;          // record events for hd_runtime_trace_write()
    const char *build_options; // added to those of every program, such as
                               // "-heddle-form=thread"; NULL: none
    // Gets what kernels print with printf(), in whole lines; several workers
    // may call it at the same time. NULL: it goes to stdout.
    void (*print)(void *data, const char *text, size_t size);
    void *print_data;
};

/// Start a runtime. `params` may be NULL for the defaults. Several runtimes may
/// live in one process; they share nothing.
///
/// Errors:  HD_EINVAL (also a build option, cores that are not there),
/// HD_ENODEV (the device asked for is not there),
///          HD_ENOMEM, HD_ELIMIT
/// Owner:   the caller; hd_runtime_destroy()
/// Threads: any
HD_API hd_status hd_runtime_create(const struct hd_runtime_params *params,
                                   struct hd_runtime **runtime,
                                   struct hd_error *error);

/// Stop the runtime; programs, buffers and graphs made with it must be gone.
/// NULL is allowed.
///
/// Threads: one that is no worker of it; nobody may use the runtime after
HD_API void hd_runtime_destroy(struct hd_runtime *runtime);

/// End the builds of programs that are under way, in graphs too, and refuse
/// those that come after, with HD_ECANCELED: the compiler's processes are
/// killed.
///
/// Threads: any; may be called from a signal handler
HD_API void hd_runtime_cancel_builds(struct hd_runtime *runtime);

/// The pool whose workers run everything. Owner: the runtime.
/// Threads: any.
HD_API struct hd_pool *hd_runtime_pool(struct hd_runtime *runtime);

/// A device and what it did. Owner of strings: the runtime.
struct hd_device_info {
    const char *backend;     // "cpu"
    const char *description; // for people; both belong to the runtime
    uint32_t units;          // with threads of their own
    uint32_t group_items;    // most of a work-group
    uint64_t local_bytes;    // most local memory of a work-group
    uint64_t memory;         // held by buffers now [bytes]
    // Of a runtime with several devices, since its start:
    uint64_t groups; // work-groups that ran there
    uint64_t copied; // what launches there, and whoever reads or writes buffers
                     // on the first, needed from elsewhere [bytes]
    bool host_memory; // its memory is the host's
    bool discards;    // it runs nothing ("null")
};

/// How many devices the runtime has, and what they are. Buffers are made on
/// device 0; what a launch elsewhere needs of them is copied there, and back.
///
/// Errors:  HD_ENODEV (there is none of this number)
/// Threads: any
HD_API unsigned hd_runtime_device_count(const struct hd_runtime *runtime);
HD_API hd_status hd_runtime_device_info(const struct hd_runtime *runtime,
                                        unsigned device,
                                        struct hd_device_info *info,
                                        struct hd_error *error);

/// Most buffer memory held at one time since the start or the last reset
/// [bytes].
///
/// Threads: any
HD_API uint64_t hd_runtime_peak_memory(const struct hd_runtime *runtime);

/// Begin to measure anew, from what is held now.
///
/// Threads: any
HD_API void hd_runtime_reset_peak_memory(struct hd_runtime *runtime);

/// Write what was recorded as Chrome trace JSON, which Perfetto and
/// chrome://tracing open.
///
/// Errors:  HD_EINVAL (made without `trace`), HD_EIO
/// Threads: nothing may run meanwhile
HD_API hd_status hd_runtime_trace_write(struct hd_runtime *runtime, FILE *file,
                                        struct hd_error *error);

/// Print what this machine offers and what is built in, for people or as one
/// JSON object.
///
/// Errors:  HD_EIO
/// Threads: any
HD_API hd_status hd_runtime_describe(const struct hd_runtime *runtime,
                                     FILE *file, bool json);

/// Print what a binary holds (see hd_program_save()), for people or as one JSON
/// object: for which processors there is code and which of it would run here,
/// and its kernels.
///
/// Errors:  HD_ENOENT, HD_EIO, HD_EFORMAT (no binary, or damaged), HD_ENOMEM
/// Threads: any
HD_API hd_status hd_runtime_describe_binary(const struct hd_runtime *runtime,
                                            const char *path, FILE *file,
                                            bool json, struct hd_error *error);

/// Print what resources and instructions cost on this machine, as a machine
/// file of `heddle sim`: energy where the system's counters can be read, else
/// time. Measured once, in about a second during which the machine should be
/// idle, and kept with the compiled kernels; `again` measures anew.
///
/// Errors:  HD_EIO, HD_ENOMEM
/// Threads: any
HD_API hd_status hd_runtime_calibrate(const struct hd_runtime *runtime,
                                      FILE *file, bool again,
                                      struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
