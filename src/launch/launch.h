// An NDRange becomes tasks: checks a launch, packs its arguments, chooses the
// work-group size and divides the groups recursively down to a cutoff
//; the leaves run on the unit of the worker that takes them.
#ifndef HDI_LAUNCH_LAUNCH_H
#define HDI_LAUNCH_LAUNCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "heddle/kernel.h"
#include "heddle/task.h"
#include "kernel/program.h"
#include "launch/broker/broker.h"
#include "launch/fault/stop.h"
#include "launch/unit/port.h"
#include "steal/worker.h"
#include "trace/trace.h"

struct hdi_box;
struct hdi_cost;
struct hdi_feed;
struct hdi_lore;
struct hdi_search;
struct hdi_spread;

struct hdi_stranded {
    void *memory;
    struct hdi_stranded *next;
};

// What launches need of a runtime; one per runtime and device.
struct hdi_launcher {
    struct hd_pool *pool;
    struct hdi_device *device;
    // Of those of the pool, one per device, and how many there are, and which
    // (optional): set before anything is launched.
    unsigned number, peers;
    struct hdi_launcher *const *all;
    uint64_t automatic; // of these, those for launches that name none: bits
    const struct hdi_lore *lore; // optional
    struct hdi_listener listener;
    unsigned workers;
    struct hdi_unit **units;     // one per worker; NULL until it is needed
    struct hdi_stop_slot *slots; // one per worker
    struct hdi_watchdog watchdog;
    uint64_t time_limit;    // of each launch [ns]; 0: none
    bool seals;             // constant arguments without a view too: seal.h
    struct hdi_port *ports; // units of their own threads; NULL: none
    unsigned port_count;
    atomic_bool forming;       // a gang reserves units
    uint64_t division;         // cost of forking a part [ns]
    _Atomic uint64_t giving;   // cost of giving a leaf to a unit [ns]
    struct hdi_feed *feed;     // of units; NULL: there are none
    struct hdi_broker *broker; // NULL: launches come one after another anyway
    // Arguments that a hanging kernel may still read; freed with the launcher.
    _Atomic(struct hdi_stranded *) stranded;
    struct hdi_track **tracks; // one per worker; all NULL without a trace
    struct hdi_trace *trace;   // optional
    _Atomic uint64_t memory;   // held by buffers [bytes]
    _Atomic uint64_t peak;     // most of it at one time [bytes]
    atomic_uint views;         // of buffers: see hdi_buffer_view()
    // Where there are several devices: what launches started there are expected
    // to take yet [ns], work-groups that have run, what was copied there
    // [bytes], and how long a megabyte takes [ns], 0: not known.
    _Atomic uint64_t ahead, ran, brought, bringing;
    _Atomic uint64_t prepared; // for one of these, by a coarse clock [ns]
};

// The device and the trace stay the caller's and must live longer; the pool is
// destroyed before the launcher, so that no worker uses its unit any more. A
// worker opens its unit, on its own thread, when it runs its first leaf.
hd_status hdi_launcher_create(struct hd_pool *pool, struct hdi_device *device,
                              struct hdi_trace *trace,
                              struct hdi_launcher **launcher,
                              struct hd_error *error);
void hdi_launcher_destroy(struct hdi_launcher *launcher);

// Put the counters of workers and units into the trace, if there is one.
// Nothing may run meanwhile.
void hdi_launcher_trace(struct hdi_launcher *launcher);

struct hd_buffer {
    struct hdi_launcher *launcher;
    void *address; // on the launcher's device
    uint64_t size; // [bytes]
    // Of a part: whose memory it has, and held; it has nothing of the rest but
    // holders. NULL: it has memory itself,
    struct hd_buffer *root;
    bool borrowed;                       // or its maker's
    _Atomic(struct hdi_spread *) spread; // NULL: it is on its device alone
    // Where it is for constant arguments; NULL: it never was one.
    _Atomic(void *) view;
    pthread_mutex_t lock;
    atomic_uint holders; // who needs it: see buffer.h
    uint32_t readers;    // launches that have it as a constant: see seal.h
    uint32_t writers;    // who may write it
};

// As hd_buffer_create() and hd_buffer_wrap(). hd_buffer_destroy() and the rest
// take the buffer.
hd_status hdi_buffer_create(struct hdi_launcher *launcher, uint64_t size,
                            struct hd_buffer **buffer, struct hd_error *error);
hd_status hdi_buffer_wrap(struct hdi_launcher *launcher, void *memory,
                          uint64_t size, struct hd_buffer **buffer,
                          struct hd_error *error);

// Where kernels find it as a constant argument: where nobody may write, or
// else its address. Made when it is asked for first. Any thread.
void *hdi_buffer_view(struct hd_buffer *buffer);

// Detach a unit of its own threads while the launcher is in use, attach it
// again. Workers go on with the units left, or alone. Detaching waits for
// what the unit holds: not on a thread that a launch waits for.
//
// Errors: HD_ENOENT (no such unit), HD_ELIMIT (it hangs, or no more threads)
hd_status hdi_launcher_attach(struct hdi_launcher *launcher, unsigned unit,
                              struct hd_error *error);
hd_status hdi_launcher_detach(struct hdi_launcher *launcher, unsigned unit,
                              struct hd_error *error);

// As hd_unit_counters().
hd_status hdi_launcher_count(const struct hdi_launcher *launcher, unsigned unit,
                             struct hd_unit_counters *counters,
                             struct hd_error *error);

// Where the leaves of a launch run: anywhere, on one unit, or on the
// units of one's module. HD_ENODEV when none of these is attached.
struct hdi_place {
    enum hd_place kind;
    unsigned unit;
};

// What a launch is subject to; all zero: nothing.
struct hdi_terms {
    const atomic_bool *cancel;    // true: it ends with HD_ECANCELED; optional
    const struct hd_group *group; // as does cancelling this; NULL: the caller's
    uint64_t time_limit;          // [ns]; 0: the launcher's
    struct hdi_place place;
    uint64_t devices; // bit i: launcher i may run it, or parts of it; 0: this
                      // launcher alone
    enum hd_priority priority;
    // The kernel is a checked one, and runs the work-groups of the fault alone
    // to find the work-item; optional.
    struct hdi_search *search;
    bool (*is_leaf)(const struct hd_piece *piece, void *data); // as in
    void *leaf_data; // hd_launch_params; NULL: the automatic cutoff
    bool tasks;      // every work-item is a work-group and a leaf of its own
    const unsigned *workers;    // as in hd_launch_params
    unsigned worker_count;      // as well
    const struct hdi_box *part; // these work-groups alone; optional
    struct hdi_cost *cost;      // add what it cost; optional
};

hd_status hdi_launch_with(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms,
                          struct hd_error *error);

// The same on this worker of the launcher's pool, for launches that come one
// after another: somebody calls hdi_launch_prepare() before them.
hd_status hdi_launch_on(struct hd_worker *worker, struct hdi_launcher *launcher,
                        const struct hd_kernel *kernel,
                        const struct hd_range *range, const struct hd_arg *args,
                        unsigned arg_count, const struct hdi_terms *terms,
                        struct hd_error *error);

// The range of a task-parallel launch: work-groups of one work-item. HD_EINVAL:
// the kernel or the range has larger ones.
hd_status hdi_launch_make_tasks(const struct hd_kernel *kernel,
                                const struct hd_range *range,
                                struct hd_range *tasks, struct hd_error *error);

enum {
    HDI_GANG = 256 // most members
};

struct hdi_member {
    const struct hd_kernel *kernel;
    const struct hd_range *range;
    const struct hd_arg *args;
    unsigned arg_count;
    unsigned unit; // with HD_ON_UNIT
};

// As hd_launch_gang().
hd_status hdi_launch_gang(struct hdi_launcher *launcher,
                          const struct hdi_member *parts, unsigned count,
                          const struct hdi_terms *terms,
                          struct hd_error *error);

// As hd_launch(). `cancel` is optional: when it becomes true, no further leaf
// starts and the result is HD_ECANCELED; hdi_stop_poke() ends those that run.
// Of several launches at a time the broker lets those of higher priority go
// first.
hd_status hdi_launch(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel,
                     const struct hd_range *range, const struct hd_arg *args,
                     unsigned arg_count, const atomic_bool *cancel,
                     enum hd_priority priority, struct hd_error *error);

// Every check of hdi_launch_with() but whether a named unit is attached.
hd_status hdi_launch_check_with(const struct hdi_launcher *launcher,
                                const struct hd_kernel *kernel,
                                const struct hd_range *range,
                                const struct hd_arg *args, unsigned arg_count,
                                const struct hdi_terms *terms,
                                struct hd_error *error);

// Every check of hdi_launch() that needs no values: argument count, kinds and
// sizes, the range against the kernel and the device.
hd_status hdi_launch_check(const struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct hd_arg *args, unsigned arg_count,
                           struct hd_error *error);

#endif
