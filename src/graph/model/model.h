// What a graph is in memory: what the builder made (build.c, pass.c), the edges
// and memory that follow from it (link.c), what preparing adds (prepare.c,
// order.c), and the state of a run (run.c).
//
// Everything is in growing arrays and named by index, so that a graph of many
// thousand passes is built without an allocation per pass. Data edges always
// lead forward in program order; only an explicit order can make a cycle.
#ifndef HDI_GRAPH_MODEL_MODEL_H
#define HDI_GRAPH_MODEL_MODEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/appends.h"
#include "graph/model/feedback.h"
#include "graph/model/graph.h"
#include "graph/model/memory.h"
#include "graph/model/type.h"
#include "heddle/event.h"
#include "heddle/task.h"
#include "launch/box.h"

#define HDI_NONE       UINT32_MAX          // no index
#define HDI_ENDED      (UINT32_MAX - 1)    // nor this
#define HDI_SIZE_LIMIT (UINT64_C(1) << 48) // of resources, scratch [bytes]

// A growing array of `count` items, whose type the name tells.
#define HDI_ARRAY(type)           \
    struct {                      \
        type *at;                 \
        uint32_t count, capacity; \
    }

// Make room for `more` items. False: errno is ENOMEM, or ENOSPC where there may
// be no more of them.
#define HDI_ROOM(array, more)                               \
    hdi_graph_room((void **)&(array).at, &(array).capacity, \
                   (uint64_t)(array).count + (more), sizeof(*(array).at))

// The same for an array of a graph that is made by preparing, which stays for
// the next time: what is built on by results is prepared again and again.
#define HDI_KEEP(graph, array, needed)                                        \
    hdi_graph_room((void **)&(graph)->array, &(graph)->rooms.array, (needed), \
                   sizeof(*(graph)->array))

bool hdi_graph_room(void **items, uint32_t *capacity, uint64_t needed,
                    size_t size);

// Set in a capacity while workers read what is there and more is added behind
// it: then the array stays where it is, and no room is made beyond what it has.
#define HDI_STAYS (UINT32_C(1) << 31)

// A resource. Indices lead to everything else:
//
//     pass --accesses--> access --resource--> resource
//                          |                     |
//                          +------slot-----> graph_slot --memory--> buffer
//
// Names and places are texts of the graph (hdi_graph_string), never NULL; the
// same below.
struct hdi_resource {
    const char *name, *where;
    struct hd_shape shape; // its type is that of `type`
    const struct hdi_type *type;
    uint64_t size;           // [bytes]
    struct hd_buffer *input; // the caller's
    bool is_input, is_output;
    struct hd_map *map;     // of a field, which has no memory here; else NULL
    struct hd_field *field; // while it is used by a run
    // Of a field, set by linking: passes, or HDI_NONE; and the next field that
    // goes with the same one.
    uint32_t last_user, gone, next_gone;
    // While building.
    uint32_t versions; // written so far; version 0 is what was handed in
    uint32_t writer;   // pass that wrote the newest version, or HDI_NONE
    uint32_t users;    // passes that use it
    uint32_t stamp;    // of the last pass that named it
    uint32_t access;   // index of that pass's access
    // While linking: of the version that the next pass finds. When linked:
    // `slot` is that of the last version.
    uint32_t last_writer;
    uint32_t readers; // list in hd_graph.readers
    uint32_t slot;    // or HDI_NONE
    uint32_t held; // slot that an open run keeps from being freed, or HDI_NONE
    bool needed;
    // After a run: of the last version, if it was an output or kept.
    struct hd_buffer *kept;
    bool kept_is_ours;
};

// Memory of one or more versions of a resource. A version that a pass makes out
// of the one before, in place, shares its slot; one that overwrites it as a
// whole has a slot of its own, and need not wait for readers of the one before.
struct hdi_graph_slot {
    uint32_t resource;
    uint32_t uses;  // by passes, and one if it is an output
    uint32_t first; // pass that takes it; HDI_NONE: the caller's
    bool copies;    // the input, when it is taken
    bool carried;   // was there before the run, and is ours
    uint32_t part;  // of the arena, or HDI_NONE
    // While running. The edges of the graph order all accesses to `memory`.
    bool owned;            // memory is ours, not the caller's
    _Atomic uint32_t left; // uses to come
    struct hd_buffer *memory;
    uint64_t offset; // in `memory` [bytes]
};

// One resource of one pass.
struct hdi_access {
    uint32_t resource;
    bool reads, writes;
    bool whole;       // writes all of it, whatever was there
    bool copied;      // a command copies from it: what was there may be needed
    uint32_t version; // that is read; a write makes the next
    uint32_t slot;    // set by linking
};

struct hdi_argument {
    uint8_t is;      // as in hd_pass_arg
    uint8_t numbers; // HD_PASS_NUMBERS: how many
    uint32_t index;  // of the resource or the scratch, or into `values` [bytes]
    // HD_PASS_BYTES, HD_PASS_LOCAL: [bytes]. HD_PASS_NUMBERS: behind its place
    // in packed_values, 0: it has none yet.
    uint64_t size;
};

// What happens in a pass, in the order of the list. What a kind has no use for
// means nothing in it.
struct hdi_command {
    uint8_t is;      // as in hd_command
    bool appended;   // it runs when a kernel of its pass asks for it
    bool bytewise;   // the region is of bytes: all of both resources
    uint32_t kernel; // HD_DISPATCH: index of a hdi_kernel_use
    uint32_t from, to;
    uint32_t args, arg_count;
    union {
        struct hd_range range;   // HD_DISPATCH
        struct hd_region region; // the others: a count of 0 became all
        struct {                 // HD_CALL
            hd_status (*function)(void *data, struct hd_error *error);
            void *data;
        } call;
    };
    uint32_t pattern, pattern_size; // HD_FILL: into `values` [bytes]
};

// Memory of one pass, zeroed when it begins.
struct hdi_scratch {
    uint64_t size;            // [bytes]
    bool appends;             // it takes requests: backend/appends.h
    uint32_t part;            // of the arena, or HDI_NONE
    struct hd_buffer *memory; // while its pass runs
};

// What a dispatch is thought to do before it has run.
struct hdi_guess {
    uint64_t bytes; // touched; 0: not known
    uint64_t steps; // operations; 0: not known
};

// A kernel, once for all dispatches of it (define/kernels.c). It belongs to a
// program in `programs`, or to the caller.
struct hdi_kernel_use {
    const char *path, *name, *options; // path NULL: `kernel` was handed in
    const char *with;                  // more files, one per line
    const struct hd_kernel *kernel;    // NULL until it is built
    uint64_t content;                  // of its program, when it is built
};

// A program that the graph built, or borrowed of a shelf; either way it holds
// one reference.
struct hdi_program_use {
    const char *path, *options, *with;
    struct hd_program *program;
    uint64_t files; // what they held when it was built: shelf.h
};

// What kernels of a pass have appended in this run, in the order in which it
// was found; `next` is what runs next.
struct hdi_appending {
    uint32_t count, next;
    struct hdi_append at[]; // as many as the pass may append
};

// A pass: ranges of other arrays, and what linking, preparing and the run find
// out about it.
struct hdi_pass {
    const char *name, *where;
    uint32_t accesses, access_count;
    uint32_t commands, command_count;
    uint32_t scratch, scratch_count;
    uint32_t stamp;      // of the last pass that got an edge from this one
    uint32_t trace_name; // set by preparing
    uint8_t priority;    // enum hd_priority
    bool keeps;          // is never dropped
    uint64_t devices;    // of its kernels, as hd_start.devices
    bool syncs;          // all passes before it, and then all after it
    bool agile;          // uses fields: all processes run it
    uint32_t turn;       // the pass over fields that may begin when all of this
                         // one has been started, or HDI_NONE; then
    uint32_t over;       // the first one that begins when this one has ended
    uint32_t gone;       // the first field that goes with it, or HDI_NONE
    uint16_t class_index; // into classes, from 1 on; 0: none
    bool out;             // of the graph, for the time being
    bool packed;          // its launches are checked, and packed
    bool weighed;         // it has a weight, and a key
    bool dropped;   // out, or nothing needs what it writes; set by linking
    uint32_t split; // index into splits, or HDI_NONE
    uint64_t work_items;
    uint64_t bytes; // that its dispatches touch, by their footprints; 0: not
                    // known, or it does something else, too
    uint64_t steps; // operations of its dispatches, by the compiler's estimate;
                    // 0: of some they are not known
    uint64_t begin, end;    // since graph->start [ns]
    _Atomic uint64_t busy;  // over all workers, of the last run [ns]
    _Atomic uint64_t moved; // by its launches, as the hardware has counted it,
    atomic_bool uncounted;  // or of some it has not [bytes]
    uint32_t append_most;   // dispatches its kernels may append; 0: none
    struct hdi_appending *appending; // while it runs, and something was; NULL
};

// The job that goes on with a run whose passes have ended.
struct hdi_graph_growth {
    struct hd_work work;
    struct hd_graph *graph;
    bool again; // it begins from the beginning, with less memory
};

// A run that is open: passes join it while others of it run. What is said to be
// under the lock is so under hd_graph.lock; the rest is the builder's.
struct hdi_open_run {
    bool is;          // this run is open, or was
    bool began;       // passes may start; under the lock
    uint32_t passes;  // that have joined; written under the lock
    uint32_t refused; // that could not; under the lock
    uint32_t resources, orders;
    unsigned room;  // for passes to join
    uint32_t limit; // of passes, those too that were there before
    bool closed;
    hd_event awaited; // ends with the pass that hdi_open_wait() waits for
};

// A pass that waits for another, which was there before: a list for each task
// that its followers are put in until it has ended. Task HDI_NONE is who waits
// for it with hdi_open_wait().
struct hdi_follower {
    uint32_t task, next;
};

// Passes of which only so many may be under way.
struct hdi_pass_class {
    const char *name;
    uint32_t most;    // 0: no limit
    uint32_t now;     // let in and not ended
    uint32_t outside; // the newest task that waits to be let in, or HDI_NONE
};

enum hdi_edge_kind {
    HDI_EDGE_READ,      // writes what the other reads
    HDI_EDGE_OVERWRITE, // reads what the other overwrites
    HDI_EDGE_WRITE,     // writes what the other overwrites
    HDI_EDGE_ORDER,     // stated by the program
    HDI_EDGE_MEMORY,    // uses memory that the other takes
    HDI_EDGE_TURN       // begins before the other, which need not wait for its
                        // end: of passes over fields
};

// `to` waits for the end of `from`, but for HDI_EDGE_TURN.
struct hdi_edge {
    uint32_t from, to;
    uint16_t kind;
    bool implied;   // by others: nothing waits for it
    uint32_t order; // HDI_EDGE_ORDER: index into orders
};

// One pass before another, because the program says so.
struct hdi_stated_order {
    uint32_t from, to;
    const char *where;
};

// A pass that reads the newest version of a resource, and the one before it in
// that list; HDI_NONE ends it.
struct hdi_reader {
    uint32_t pass, next;
};

struct hdi_output {
    const char *name, *where;
    uint32_t resource;
};

// How a pass is split, and its parts while they run.
struct hdi_split {
    uint32_t pass, parts, first_task;
    unsigned axis; // along which parts follow each other
    uint32_t groups[3];
    struct hd_range range; // with the work-group size
    enum {
        HDI_SPLIT_CLOSED,
        HDI_SPLIT_OPEN,
        HDI_SPLIT_FAILED
    } state;
    uint64_t begin;        // of the first part [ns]
    _Atomic uint32_t left; // parts
    atomic_bool broken;    // a part failed, or did not run
};

// What is scheduled: passes or, where some are split, parts, or batches of tiny
// passes. Without `pass` each is the pass of its number, and the arrays are
// those of the passes.
struct hdi_task_graph {
    uint32_t count;
    uint32_t *successors, *first, *waits;
    struct hdi_weight *weights;
    uint32_t *pass;      // the first of a batch
    struct hdi_box *box; // of parts
    // Passes of each task, in the order in which it runs them; NULL: each has
    // one.
    uint32_t *first_member, *member;
};

// One of these while it runs. `waiting` counts what it still waits for.
struct hdi_task {
    struct hd_work work;
    struct hd_graph *graph;
    _Atomic uint32_t waiting;
    uint32_t pass;    // the one that runs, or the first
    uint32_t member;  // of a batch, the next one
    uint32_t command; // the next one
    uint32_t ended;   // the one that has run, and is to be looked at; HDI_NONE
    uint32_t behind;  // in the list of those outside of its class
    bool streamed;    // it is counted in hd_graph.streaming
    bool begins;      // the run begins with it, and others
    uint32_t turned;  // the task that had its turn before this one's end, or
                      // HDI_NONE
    hd_event event;   // the launch that it goes on after
    uint64_t begin;   // [ns]
    // In an open run: the newest of those that wait for it, or HDI_NONE;
    // HDI_ENDED when it has ended. Who joins adds itself (release, paired with
    // the acquire of the task's end), or sees the end (acquire, paired with its
    // release).
    _Atomic uint32_t followers;
};

// What a pass takes, or is thought to [ns].
struct hdi_weight {
    uint64_t time; // from begin to end, with the workers that it finds use for
    uint64_t work; // over all of these
    // What the last run measured. `time` and `work` are the lesser of the last
    // two, as one of them may have lost its core for a while. 0: none.
    uint64_t last_time, last_work;
    bool known;    // it ran before
    bool measured; // or all that it does is known from other runs
    bool streams;  // it is bound by memory, as far as is known
};

// What a run should take, by what its passes took before [ns].
struct hdi_forecast {
    uint64_t makespan;      // on the workers there are
    uint64_t area;          // work over workers
    uint64_t critical_path; // the longest chain
    uint32_t known;         // passes that have run before
};

struct hdi_byte_range {
    uint64_t offset, size; // [bytes]
};

// One block for all resources and scratch: arena.h.
struct hdi_arena {
    bool planned;          // slots and scratch have their parts
    bool current;          // the block is as planned
    bool recalled;         // the plan was kept by a process before
    uint64_t height, live; // of the block; most in it at one time [bytes]
    struct hdi_byte_range *parts;
    uint32_t part_count, made_count;
    struct hd_buffer *block, **made; // parts, while there is a block
};

// What a device works off by itself: offload.h.
struct hdi_offload {
    enum hd_graph_scheduler by; // the last run
    char why[320];              // it was not by a device; ""
    // By enum hd_graph_scheduler: the shortest run [ns]; 0: there was none,
    // UINT64_MAX: it cannot.
    uint64_t took[HD_GRAPH_BY_LAUNCHES + 1];
    struct hdi_sequence *sequences[HD_GRAPH_BY_LAUNCHES + 1];
    struct hdi_sequence *running;
    uint32_t *first_step;     // of each pass, and behind the last
    uint32_t *pass_of;        // of each step
    struct hd_image **images; // of arguments, from the last run; or NULL
    uint32_t image_count;
    uint32_t steps, left;
    uint64_t more;  // steps that are appended in a run, at most
    uint64_t begin; // of the run at hand [ns]
    hd_event event;
};

struct hdi_calls;
struct hdi_string_block;

enum {
    // Places of tables by hash: what comes later takes the place.
    HDI_STRINGS = 64, // texts remembered, so that equal ones are stored once
    HDI_FITTING = 256 // dispatches remembered that fit their resources
};

// A graph. One thread at a time builds, prepares and starts it; during a run
// workers read what those have made, and change only what stands under "A run",
// slots, splits and tasks. `running` says which of both it is.
//
//     built --prepare--> linked, prepared --run--> running --> prepared
//       ^                      |                                  |
//       +---- any change (hdi_graph_unprepare) ------------------+
struct hd_graph {
    struct hdi_graph_context context;
    struct hdi_calls *calls; // all passes and resources there are; or NULL:
                             // they are in the arrays, see compact.h
    HDI_ARRAY(struct hdi_resource) resources;
    HDI_ARRAY(struct hdi_pass) passes;
    HDI_ARRAY(struct hdi_access) accesses;
    HDI_ARRAY(struct hdi_command) commands;
    HDI_ARRAY(struct hdi_argument) args;
    HDI_ARRAY(struct hdi_scratch) scratch;
    HDI_ARRAY(char) values; // of arguments; items start at multiples of 16
    HDI_ARRAY(struct hdi_stated_order) orders;
    HDI_ARRAY(struct hdi_output) outputs;
    HDI_ARRAY(struct hdi_pass_class) classes;
    HDI_ARRAY(struct hdi_kernel_use) kernels;
    HDI_ARRAY(struct hdi_program_use) programs;
    HDI_ARRAY(uint32_t) kernel_slots; // open addressing; count is a power of 2
    HDI_ARRAY(uint32_t) pass_of; // of each handle less 1; empty: they are equal
    uint32_t waste;              // commands and arguments of passes replaced
    struct hdi_string_block *strings;
    uint64_t string_bytes;
    const char *recent[HDI_STRINGS];
    struct {
        uint64_t hash; // of a dispatch that was looked at: fit.h
        struct hdi_guess guess;
    } fitting[HDI_FITTING];
    uint32_t stamp;             // of the pass being added; grows with every try
    struct hd_cluster *cluster; // that fields lie on; the caller's, or NULL
    struct hd_graph_keeping keeping; // folder NULL: nothing is kept
    uint32_t resume_after;           // pass of the checkpoint to go on from
    uint64_t kept_at;                // the last checkpoint [ns]
    bool keeps_no_more;              // what a pass brought is not on the disk

    // Set by linking.
    bool linked;
    HDI_ARRAY(struct hdi_edge) edges;
    HDI_ARRAY(struct hdi_reader) readers;
    HDI_ARRAY(struct hdi_graph_slot) slots;
    uint32_t last_sync;  // the last pass that synchronises, or HDI_NONE
    uint32_t last_agile; // the last pass over fields, or HDI_NONE
    uint32_t data_edges; // the first of them, by where they lead to
    uint32_t dropped;    // passes

    // Set by preparing; of the passes of the next run, from `first` on.
    bool prepared;
    bool was_open; // the latest run, after which nothing has changed
    struct {
        uint32_t successors, first_successor, waits, packed, packed_values,
            tasks, weights, rank, keys, ready;
    } rooms;                   // of arrays
    uint32_t *successors;      // of all passes, one pass after another
    uint32_t *first_successor; // passes.count + 1
    uint32_t *waits;           // passes that a pass waits for
    uint32_t barriers;         // edges that are waited for
    struct hd_arg *packed;     // as many as args; buffers are filled in late
    char *packed_values;       // what HD_PASS_NUMBERS became
    uint32_t values_used;      // of them [bytes]
    const char *packed_at, *values_at; // where values were that `packed` names
    uint32_t checked;                  // passes that the last preparing packed
    HDI_ARRAY(struct hdi_split) splits;
    struct hdi_task_graph flow;
    struct hdi_task *tasks;     // as many as in the flow
    uint32_t first;             // pass that the run begins with
    struct hdi_weight *weights; // of each pass
    uint64_t *rank;             // of each task: see order.h [ns]
    bool reweigh;               // the weights are not what the rank was made of
    uint64_t handover; // between workers: handover.h; 0: not looked up [ns]
    struct hdi_forecast forecast;
    struct hdi_feedback_key *keys; // of each pass; NULL: nothing is kept
    struct hdi_offload offload;

    struct hd_graph_policy policy;
    bool ran_short; // of memory: the next run takes as little as it can
    struct hdi_arena arena;

    // Of a generated graph: what makes it, its inputs in the order in which
    // they were handed in, and how much of everything it had.
    struct hdi_feedback_key recipe;
    hd_resource *given;
    struct {
        uint32_t passes, resources, orders, outputs;
    } made_of;

    // A run. `ended` is what hd_graph_stats() tells when a run has ended,
    // `earlier` the same of the runs that this one, or the last, goes on from.
    struct hd_graph_statistics earlier, ended;
    uint32_t done;  // passes that runs of what had been built have run
    bool keeps_all; // resources that no pass uses any more
    bool parted;    // processes have failed together: see hdi_agile_agree()
    pthread_mutex_t split_lock; // for what the first part does for all
    pthread_mutex_t ready_lock;
    uint32_t *ready; // a heap of tasks that wait for a worker only
    _Atomic uint32_t ready_count;
    uint32_t streaming; // tasks under way that are bound by memory
    bool flat;          // tasks are so small that any order will do: see task.c
    uint32_t jobs;      // of the run, where it is flat
    struct hd_group group;   // counts the run and its launches
    struct hdi_event *event; // of the run; NULL: nobody asked for one
    atomic_bool running;
    atomic_bool cancel;   // asked for by hd_graph_cancel()
    atomic_bool stopped;  // no further pass starts
    pthread_mutex_t lock; // for `failure` and the progress function
    hd_status failed;
    struct hd_error failure; // the first
    struct hd_graph_run_params params;
    struct hdi_graph_growth growth;
    struct hdi_open_run open;
    HDI_ARRAY(struct hdi_follower) followers;
    uint64_t start;              // of the first run that this one goes on from,
    uint64_t began;              // and of itself [ns]
    uint64_t took;               // the last run [ns]
    _Atomic uint32_t unfinished; // tasks, and jobs where it is flat
    _Atomic uint32_t not_run;    // passes that failed, or did not start
    _Atomic uint32_t appended;   // dispatches, by kernels
    uint32_t told;               // passes, to the progress function
    struct hdi_memory memory;
};

static inline struct hdi_resource *hdi_graph_find(const struct hd_graph *graph,
                                                  hd_resource resource)
{
    if (resource == 0 || resource > graph->resources.count)
        return NULL;
    return &graph->resources.at[resource - 1];
}

// The index of a pass; HDI_NONE: it is none of the graph's.
static inline uint32_t hdi_graph_find_pass(const struct hd_graph *graph,
                                           hd_pass pass)
{
    uint32_t count =
        graph->pass_of.at ? graph->pass_of.count : graph->passes.count;

    if (pass == 0 || pass > count)
        return HDI_NONE;
    return graph->pass_of.at ? graph->pass_of.at[pass - 1] : pass - 1;
}

// Index of the one hdi_kernel_use of this kernel, or HDI_NONE: no memory.
uint32_t hdi_graph_find_kernel(struct hd_graph *graph,
                               const struct hd_kernel_ref *ref);

// Append a pass, as hd_graph_pass() does; its handle is not made. The graph is
// not compact.
hd_status hdi_graph_add_pass(struct hd_graph *graph,
                             const struct hd_pass_params *params,
                             struct hd_error *error);

// Give resources and accesses their versions by program order, as if all passes
// were added again.
//
// Errors: HD_EGRAPH (a pass would read what nobody has written)
hd_status hdi_graph_number_versions(struct hd_graph *graph,
                                    struct hd_error *error);

// Nothing is packed any more: kernels are others.
void hdi_graph_forget_packed(struct hd_graph *graph);

// Derive edges and slots from what passes read and write, if that is not done.
// False without memory.
bool hdi_graph_link(struct hd_graph *graph);

// The same for what was added since open.passes joined: edges from
// `graph->edges.count` on, and new slots. False without memory.
bool hdi_graph_link_more(struct hd_graph *graph);

// Whether all edges lead forward in program order, which is then an order to
// run in: those of data do, those that the program states need not.
bool hdi_graph_leads_forward(const struct hd_graph *graph);

// Mark edges that others imply. False without memory.
bool hdi_graph_reduce(struct hd_graph *graph);

// The class of that name, from 1 on, which is made if need be; NULL: 0. Errors
// as hd_graph_limit().
hd_status hdi_graph_find_class(struct hd_graph *graph, const char *name,
                               uint16_t *index, struct hd_error *error);

// Copy a text into the graph; "" for NULL, NULL when there is no memory.
const char *hdi_graph_string(struct hd_graph *graph, const char *text);

// What the builder has taken for the graph [bytes].
uint64_t hdi_graph_memory(const struct hd_graph *graph);

// FNV-1a, going on from `seed`.
#define HDI_HASH UINT64_C(0xcbf29ce484222325)
uint64_t hdi_graph_hash(uint64_t seed, const char *text);

// As hd_graph_destroy(), for good.
void hdi_graph_free(struct hd_graph *graph);

// Check and pack what was added since open.passes joined, as hd_graph_prepare()
// does.
hd_status hdi_graph_prepare_more(struct hd_graph *graph,
                                 struct hd_error *error);

// No room could be made, or no memory was got: HD_ENOMEM; or HD_ELIMIT, because
// the run is open and has no more room.
hd_status hdi_graph_no_room(const struct hd_graph *graph,
                            struct hd_error *error);
hd_status hdi_graph_full(const struct hd_graph *graph, struct hd_error *error);

// Undo hd_graph_prepare(), but keep the programs. An open run goes on.
void hdi_graph_unprepare(struct hd_graph *graph);

// Give back all memory of the last run, outputs and what was kept too.
void hdi_graph_release(struct hd_graph *graph);

// Messages about a pass begin with its place: "planet.lua:12: pass 'blur': ".
#define HDI_PASS                 "%s%spass '%s': "
#define HDI_PASS_OF(where, name) (where), (where)[0] ? ": " : "", (name)

#endif
