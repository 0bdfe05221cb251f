// A launch in flight: what was made of a request, from when its arguments are
// bound to when it is explained why it failed.
#ifndef HDI_LAUNCH_RUN_FLIGHT_H
#define HDI_LAUNCH_RUN_FLIGHT_H

#include "launch/args/bound.h"
#include "launch/args/plan.h"
#include "launch/fault/fault.h"
#include "launch/launch.h"
#include "steal/event.h"

struct hdi_share;

enum {
    HDI_TIME_UNIT = 1024,    // hdi_learned.item_time counts in 1/1024 ns
    HDI_FAILURE_SIZE = 3500, // of why a launch failed [bytes]
    HDI_STACK_ARGS = 2048    // larger arguments go to the heap [bytes]
};

// A launch, or a member of several that run together. How they end is kept by
// the first of these, `lead`: the first failure ends all.
//
//     request -> plan -> bound, packed -> chunk, box -> leaves -> status, text
//               check.c  bound.c          run.c         divide.c  run.c
//
// On the stack of who waits for it, or in the room of its event. Invariant: it
// stays until `held` of its lead is 0 and nothing of it is at the broker or on
// a deque.
struct hdi_flight {
    struct hdi_launcher *launcher;
    struct hdi_flight *lead; // itself, if alone
    bool is_member;          // of a gang
    const struct hd_kernel *kernel;
    const struct hdi_bound *bound; // its arguments, and
    unsigned char *room;           // where they are packed, in front of them
    struct hdi_chunk chunk;        // all but its box
    struct hdi_box box;            // all of it
    uint64_t cutoff; // most groups of a leaf, see launch/run/cutoff.h
    bool learns;     // no time was known when it began
    bool (*is_leaf)(const struct hd_piece *piece, void *data);
    void *leaf_data; // of this cutoff, the user's; NULL: there is none
    bool tasks;      // every work-group is a leaf
    uint64_t group_items;
    struct hdi_place place;
    const unsigned *workers; // of `worker_count`, those that run it, and no
    unsigned worker_count;   // others; NULL: any so many. 0: all. See chosen.h
    struct hdi_bid bid;
    struct hdi_cost *cost; // optional
    bool tells_moved;      // somebody asks
    // What leaves have moved whose cache misses were counted, and their
    // work-groups. Shared by the workers, and no other memory goes by them.
    _Atomic uint64_t moved, counted;
    // Of the lead:
    struct hdi_stop stop;
    uint64_t time_limit; // [ns]
    const struct hdi_flight
        *failed;             // by who set the status, and why: the text,
    char *text;              // HDI_FAILURE_SIZE,
    struct hdi_fault *fault; // and this, if `has_fault`
    bool has_fault;
    atomic_bool lost; // a unit hangs in it
    atomic_uint held; // leaves on units of their own threads
    // Of one that nobody waits for: feed.h.
    void (*finish)(struct hd_worker *worker, struct hdi_flight *launch);
    struct hdi_box rest[3]; // what no unit has got
    unsigned rest_count;
    struct hdi_flight *behind; // in the list
};

// Leaves (leaf.c) -------------------------------------------------------------

// Its work-groups wait for each other (grid.c): they run on workers.
bool hdi_leaf_is_grid(const struct hd_kernel *kernel);

// Run a leaf on the worker's units, else on its own thread. It is what the
// broker said (else NULL): then return only when a unit has room for more.
void hdi_leaf_run(struct hd_worker *worker, struct hdi_flight *launch,
                  struct hdi_box *box, struct hdi_grant *grant);
void hdi_leaf_run_here(struct hd_worker *worker, struct hdi_flight *launch,
                       const struct hdi_box *box);

// Whether a unit may run leaves of the launch, whoever has them; and whether
// giving so many groups away would take longer than running them here.
bool hdi_leaf_may_be_on(const struct hdi_flight *launch, unsigned unit);
bool hdi_leaf_is_cheaper_here(const struct hdi_flight *launch, uint64_t groups);

// Run the member's part of work-groups that wait for each other.
void hdi_leaf_run_share(struct hd_worker *worker, struct hdi_flight *launch,
                        const struct hdi_share *share);

// Give a leaf to a unit; where units share local memory, to whichever has room
// for it (launch/unit/modules.h). False: none takes it now.
bool hdi_leaf_submit(struct hdi_flight *launch, struct hdi_port *port,
                     const struct hdi_box *box, struct hdi_grant *grant);

// Take away what the unit has finished, for whichever launch. What a lost unit
// has not run runs here. Whether there was any.
bool hdi_leaf_collect(struct hd_worker *worker, struct hdi_launcher *launcher,
                      struct hdi_port *port);

// Of all units. Those that run what nobody waits for any more are interrupted.
bool hdi_leaf_collect_all(struct hd_worker *worker, struct hdi_flight *launch);

// Collect what is left on units, help others meanwhile.
void hdi_leaf_await(struct hd_worker *worker, struct hdi_flight *launch);

// The first failure has the word, and ends what else runs of the launch.
void hdi_leaf_fail(struct hdi_flight *launch, hd_status status,
                   const char *text, const struct hdi_fault *fault);
bool hdi_leaf_goes_on(struct hdi_flight *launch);

// All work-groups of a launch that wait for each other, on this worker and
// those that are free (grid.c).
void hdi_grid_run(struct hd_worker *worker, struct hdi_flight *launch);

// Dividing (divide.c) ---------------------------------------------------------

// Run it all, and wait; any thread. `one_leaf`: it is too small to be divided.
void hdi_divide_run(struct hdi_flight *launch, bool one_leaf);

// What the broker asks of a launch.
extern const struct hdi_bidder hdi_divide_bidder;

// The whole (run.c) --------------------------------------------------------

// Everything that can be refused, but for a unit that is not there; and that.
hd_status hdi_flight_plan(const struct hdi_launcher *launcher,
                          const struct hdi_request *request,
                          const struct hdi_terms *terms, struct hdi_plan *plan,
                          struct hd_error *error);
hd_status hdi_flight_check_unit(const struct hdi_launcher *launcher,
                                const struct hd_kernel *kernel,
                                const struct hdi_place *place,
                                struct hd_error *error);

// Bind and pack the arguments of a request that was planned, there is some
// work-group of: buffers are brought to the device. `small` has HDI_STACK_ARGS
// bytes for that, if there is room and they need not outlive the call; else
// NULL. hdi_flight_free() it.
hd_status hdi_flight_make(struct hdi_launcher *launcher,
                          const struct hdi_request *request,
                          const struct hdi_terms *terms,
                          const struct hdi_plan *plan, unsigned char *small,
                          struct hdi_flight *launch, struct hd_error *error);

// Free the arguments, unless a hanging kernel may read them.
void hdi_flight_free(struct hdi_flight *launch, const unsigned char *small);

// The same in steps, for one that runs later: the memory its arguments take
// [bytes], where in it they are bound (hdi_bind()), and describe it.
size_t hdi_flight_room(const struct hd_kernel *kernel);
struct hdi_bound *hdi_flight_bound(const struct hd_kernel *kernel,
                                   unsigned char *room);
void hdi_flight_fill(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel,
                     const struct hdi_terms *terms, const struct hdi_plan *plan,
                     unsigned char *room, struct hdi_flight *launch);

// Open it, with room for HDI_FAILURE_SIZE of text, NULL: its lead has that; run
// it, and wait; close it and say why it failed. What it is made of stays until
// then.
void hdi_flight_open(struct hdi_flight *launch, const struct hdi_terms *terms,
                     char *text, struct hdi_fault *fault);
void hdi_flight_run(struct hdi_flight *launch, const struct hdi_terms *terms);
hd_status hdi_flight_close(struct hdi_flight *launch,
                           const struct hdi_terms *terms,
                           struct hd_error *error);

// All of this on a worker.
hd_status hdi_flight_run_on(struct hd_worker *worker, struct hdi_flight *launch,
                            const struct hdi_terms *terms,
                            struct hd_error *error);

// Keep memory that a hanging kernel may still read.
void hdi_flight_strand(struct hdi_launcher *launcher, void *memory);

// Put it under the watchdog if it has a time limit. False: it has failed.
bool hdi_flight_watch(struct hdi_launcher *launcher, struct hdi_flight *launch);
void hdi_flight_unwatch(struct hdi_launcher *launcher,
                        struct hdi_flight *launch);

hd_status hdi_flight_explain(const struct hdi_flight *launch,
                             struct hd_error *error);

#endif
