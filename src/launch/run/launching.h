// A launch under way: what divide.c, gang.c and leaf.c share.
#ifndef HDI_LAUNCH_RUN_LAUNCHING_H
#define HDI_LAUNCH_RUN_LAUNCHING_H

#include "launch/fault/fault.h"
#include "launch/launch.h"
#include "launch/memory/plan.h"
#include "steal/event.h"

struct hdi_share;

enum {
    HDI_TIME_UNIT = 1024,    // hdi_learned.item_time counts in 1/1024 ns
    HDI_FAILURE_SIZE = 3500, // of why a launch failed [bytes]
    HDI_STACK_ARGS = 1024    // larger arguments go to the heap [bytes]
};

// A launch, or a member of several that run together. How they end is kept by
// the first of these, `lead`: the first failure ends all.
struct hdi_launch {
    struct hdi_launcher *launcher;
    struct hdi_launch *lead; // itself, if alone
    bool is_member;          // of a gang
    const struct hd_kernel *kernel;
    const struct hd_arg *args;
    struct hdi_chunk chunk; // all but its box
    struct hdi_box box;     // all of it
    uint64_t cutoff;        // most groups of a leaf, see launch/run/cutoff.h
    bool learns;            // no time was known when it began
    bool (*is_leaf)(const struct hd_piece *piece, void *data);
    void *leaf_data; // of this cutoff, the user's; NULL: there is none
    bool tasks;      // every work-group is a leaf
    uint64_t group_items;
    struct hdi_place place;
    const unsigned *workers; // of `worker_count`, those that run it, and no
    unsigned worker_count;   // others; NULL: any so many. 0: all. See chosen.h
    struct hdi_bid bid;
    struct hdi_cost *cost;   // optional
    uint64_t *local_offsets; // of local arguments, behind the packed ones
    // Of the lead:
    struct hdi_stop stop;
    uint64_t time_limit; // [ns]
    const struct hdi_launch
        *failed;             // by who set the status, and why: the text,
    char *text;              // HDI_FAILURE_SIZE,
    struct hdi_fault *fault; // and this, if `has_fault`
    bool has_fault;
    atomic_bool lost; // a unit hangs in it
    atomic_uint held; // leaves on units of their own threads
    // Of one that nobody waits for: feed.h.
    void (*finish)(struct hd_worker *worker, struct hdi_launch *launch);
    struct hdi_box rest[3]; // what no unit has got
    unsigned rest_count;
    struct hdi_launch *behind; // in the list
};

// Leaves (leaf.c) -------------------------------------------------------------

// Its work-groups wait for each other (grid.c): they run on workers.
bool hdi_leaf_is_grid(const struct hd_kernel *kernel);

// Run a leaf on the worker's units, else on its own thread. It is what the
// broker said (else NULL): then return only when a unit has room for more.
void hdi_leaf_run(struct hd_worker *worker, struct hdi_launch *launch,
                  struct hdi_box *box, struct hdi_grant *grant);
void hdi_leaf_run_here(struct hd_worker *worker, struct hdi_launch *launch,
                       const struct hdi_box *box);

// Whether a unit may run leaves of the launch, whoever has them; and whether
// giving so many groups away would take longer than running them here.
bool hdi_leaf_may_be_on(const struct hdi_launch *launch, unsigned unit);
bool hdi_leaf_is_cheaper_here(const struct hdi_launch *launch, uint64_t groups);

// Run the member's part of work-groups that wait for each other.
void hdi_leaf_run_share(struct hd_worker *worker, struct hdi_launch *launch,
                        const struct hdi_share *share);

// Give a leaf to a unit. False: it takes none now.
bool hdi_leaf_submit(struct hdi_launch *launch, struct hdi_port *port,
                     const struct hdi_box *box, struct hdi_grant *grant);

// Take away what the unit has finished, for whichever launch. What a lost unit
// has not run runs here. Whether there was any.
bool hdi_leaf_collect(struct hd_worker *worker, struct hdi_launcher *launcher,
                      struct hdi_port *port);

// Of all units. Those that run what nobody waits for any more are interrupted.
bool hdi_leaf_collect_all(struct hd_worker *worker, struct hdi_launch *launch);

// Collect what is left on units, help others meanwhile.
void hdi_leaf_await(struct hd_worker *worker, struct hdi_launch *launch);

// The first failure has the word, and ends what else runs of the launch.
void hdi_leaf_fail(struct hdi_launch *launch, hd_status status,
                   const char *text, const struct hdi_fault *fault);
bool hdi_leaf_goes_on(struct hdi_launch *launch);

// All work-groups of a launch that wait for each other, on this worker and
// those that are free (grid.c).
void hdi_grid_run(struct hd_worker *worker, struct hdi_launch *launch);

// The whole (divide.c) --------------------------------------------------------

// Check and describe a launch; no groups: there is nothing to do. `small` has
// HDI_STACK_ARGS bytes for the arguments, if there is room there and they need
// not outlive the call; else NULL.
hd_status hdi_launch_begin(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct hd_arg *args, unsigned arg_count,
                           const struct hdi_terms *terms, unsigned char *small,
                           struct hdi_launch *launch, uint64_t *groups,
                           struct hd_error *error);

// The same in steps, for a launch that runs later: what can be refused is; the
// memory its arguments take [bytes], and describe it with them packed there;
// run it, on a worker, or open it, with room for HDI_FAILURE_SIZE of text, run
// it, and close it. What it is made of stays until then.
hd_status hdi_launch_plan(const struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms, struct hdi_plan *plan,
                          struct hd_error *error);
size_t hdi_launch_room(const struct hd_kernel *kernel, unsigned arg_count);
void hdi_launch_fill(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel, const struct hd_arg *args,
                     unsigned arg_count, const struct hdi_terms *terms,
                     const struct hdi_plan *plan, unsigned char *room,
                     struct hdi_launch *launch);
void hdi_launch_open(struct hdi_launch *launch, const struct hdi_terms *terms,
                     char *text, struct hdi_fault *fault);
hd_status hdi_launch_close(struct hdi_launch *launch,
                           const struct hdi_terms *terms,
                           struct hd_error *error);
hd_status hdi_launch_run(struct hd_worker *worker, struct hdi_launch *launch,
                         unsigned arg_count, const struct hdi_terms *terms,
                         struct hd_error *error);

// Keep memory that a hanging kernel may still read.
void hdi_launch_strand(struct hdi_launcher *launcher, void *memory);

// Free the arguments, unless a hanging kernel may read them.
void hdi_launch_end(struct hdi_launch *launch, const unsigned char *small);

// Put it under the watchdog if it has a time limit. False: it has failed.
bool hdi_launch_watch(struct hdi_launcher *launcher, struct hdi_launch *launch);
void hdi_launch_unwatch(struct hdi_launcher *launcher,
                        struct hdi_launch *launch);

hd_status hdi_launch_explain(const struct hdi_launch *launch,
                             struct hd_error *error);

#endif
