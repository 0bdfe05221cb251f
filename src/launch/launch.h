// An NDRange becomes tasks: checks a launch, binds its arguments, chooses the
// work-group size and divides the groups recursively down to a cutoff; the
// leaves run on the unit of the worker that takes them.
#ifndef HDI_LAUNCH_LAUNCH_H
#define HDI_LAUNCH_LAUNCH_H

#include "heddle/kernel.h"
#include "heddle/task.h"
#include "launch/launcher.h"
#include "launch/memory/buffer.h"

struct hdi_box;
struct hdi_cost;
struct hdi_plan;
struct hdi_search;

// What is to be launched, as the caller gives it; nothing of it is kept.
// Valid for the call only; who runs it later copies what it needs (start.c).
struct hdi_request {
    const struct hd_kernel *kernel;
    const struct hd_range *range;
    const struct hd_arg *args;
    unsigned arg_count;
};

// Where the leaves of a launch run: anywhere, on one unit, or on the
// units of one's module. HD_ENODEV when none of these is attached.
struct hdi_place {
    enum hd_place kind;
    unsigned unit;
};

// What a launch is subject to; all zero: nothing.
// Everything it points to stays the caller's and lives until the launch has
// ended.
struct hdi_terms {
    const atomic_bool *cancel; // true: it ends with HD_ECANCELED; optional
    struct hd_group *group;    // as does cancelling this; NULL: the caller's
    uint64_t time_limit;       // [ns]; 0: the launcher's
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
    bool in_row;     // as a rule another one was just before, and since then no
                     // code of the application has run but where somebody calls
                     // hdi_launch_expect(): see hdi_launch_prepare()
    const unsigned *workers;    // as in hd_launch_params
    unsigned worker_count;      // as well
    const struct hdi_box *part; // these work-groups alone; optional
    struct hdi_cost *cost;      // add what it cost; optional
    // Set to what it moved, with HDI_COUNTED, if the hardware has counted any
    // of that; optional.
    _Atomic uint64_t *moved;
};

hd_status hdi_launch_with(struct hdi_launcher *launcher,
                          const struct hdi_request *request,
                          const struct hdi_terms *terms,
                          struct hd_error *error);

// The same on this worker of the launcher's pool, for launches that come one
// after another: somebody calls hdi_launch_prepare() before them. `plan` is
// what hdi_plan_check() made of the request (launch/args/plan.h); the terms
// name neither tasks, part, workers nor unit.
hd_status hdi_launch_planned(struct hd_worker *worker,
                             struct hdi_launcher *launcher,
                             const struct hdi_request *request,
                             const struct hdi_plan *plan,
                             const struct hdi_terms *terms,
                             struct hd_error *error);

// The range of a task-parallel launch: work-groups of one work-item. HD_EINVAL:
// the kernel or the range has larger ones.
hd_status hdi_launch_make_tasks(const struct hd_kernel *kernel,
                                const struct hd_range *range,
                                struct hd_range *tasks, struct hd_error *error);

// A bound for tables on the stack.
enum {
    HDI_GANG = 256 // most members
};

struct hdi_member {
    struct hdi_request request;
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
                     const struct hdi_request *request,
                     const atomic_bool *cancel, enum hd_priority priority,
                     struct hd_error *error);

// Every check of hdi_launch() that needs no values: argument count, kinds and
// sizes, the range against the kernel and the device.
hd_status hdi_launch_check(const struct hdi_launcher *launcher,
                           const struct hdi_request *request,
                           struct hd_error *error);

#endif
