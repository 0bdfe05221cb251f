// Task graphs: passes that feed each other through resources.
//
// A graph is generated at run time, by a program in Lua (hd_graph_generate) or
// in C with the same builder (hd_graph_resource, hd_graph_pass, ...). Program
// order decides which version of a resource a pass reads. Running a graph
// starts every pass as soon as what it needs is there; independent passes
// overlap.
#ifndef HEDDLE_GRAPH_H
#define HEDDLE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/event.h"
#include "heddle/image.h"
#include "heddle/kernel.h"
#include "heddle/priority.h"
#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_cluster;
struct hd_graph;
struct hd_map;
struct hd_runtime;

typedef uint32_t hd_resource; // handle within one graph; 0 is none
typedef uint32_t hd_pass;     // handle within one graph; 0 is none

// Building --------------------------------------------------------------------
//
// Threads: one at a time per graph, where nothing else is said.

/// Make an empty graph.
///
/// Errors:  HD_ENOMEM
/// Owner:   the caller; hd_graph_destroy()
/// Threads: any; one graph is for one thread at a time, but for
///          hd_graph_cancel()
HD_API hd_status hd_graph_create(struct hd_runtime *runtime,
                                 struct hd_graph **graph,
                                 struct hd_error *error);

/// Give the graph, its resources and results up. Waits for what still runs of
/// it. NULL is allowed.
HD_API void hd_graph_destroy(struct hd_graph *graph);

/// An array of `extent[0] x extent[1] x extent[2]` elements, x fastest.
///
/// Owner: of `type`, who fills it in: the caller, or the graph that tells it
struct hd_shape {
    const char *type;   // OpenCL C type of one element: "float4", "uint", ...
    unsigned axes;      // 1, 2 or 3
    uint64_t extent[3]; // [elements]; axes not used are 1
};

/// Return the size of one element of OpenCL C type `type` [bytes], 0 when that
/// is no scalar or vector type. float3 and its like take four components.
HD_API uint32_t hd_type_size(const char *type);

/// Add a resource. Its memory is taken by the first pass that writes it and
/// given back after the last pass that uses it.
///
/// `name` is for messages and traces and need not be unique. `where` says who
/// asks ("planet.lua:12"), optional, here and below; all strings are copied.
///
/// Errors:  HD_EINVAL (an unknown type, an extent of 0), HD_ELIMIT (2^48
///          bytes), HD_ENOMEM
HD_API hd_status hd_graph_resource(struct hd_graph *graph, const char *name,
                                   const struct hd_shape *shape,
                                   const char *where, hd_resource *resource,
                                   struct hd_error *error);

/// Give the graph the nodes on which its fields will lie, once, before it has
/// any. All processes of the cluster must build and run the same graph.
///
/// Errors:  HD_EINVAL
/// Owner:   the cluster stays the caller's, who leaves it after
///          hd_graph_destroy(), which is collective then
HD_API hd_status hd_graph_cluster(struct hd_graph *graph,
                                  struct hd_cluster *cluster,
                                  struct hd_error *error);

/// Add a resource that is a field (heddle/agile.h), laid over the nodes by
/// `map`. Its axes are those of the map backwards: x is the last one. It is
/// used like any other, but that
///
/// - a kernel writes one field, of the extents of its range, and runs on all
///   nodes; what a task reads of others comes by the kernel's footprint;
/// - a copy to it from another resource is the agile operator, a copy from it
///   to one brings all elements to every process;
/// - it is neither input nor output nor image.
///
/// Passes that use fields begin one after another, in program order, on all
/// processes. Each waits until the one before has ended; where that only copies
/// between fields and has nothing to do with it, until that has been started.
///
/// Errors:  those of hd_graph_resource(); HD_EINVAL (no cluster, another grid,
///          an offset, a stride, more nodes than there are)
/// Owner:   the map may go afterwards
HD_API hd_status hd_graph_field(struct hd_graph *graph, const char *name,
                                const struct hd_shape *shape,
                                const struct hd_map *map, const char *where,
                                hd_resource *resource, struct hd_error *error);

/// How a graph over fields is kept, so that its run can go on after an end.
///
/// Owner: the caller; nothing is kept of it
struct hd_graph_keeping {
    const char *folder; // of checkpoints; all processes see it
    uint64_t every;     // at least this long between two of them [ns]
    bool resume;        // begin behind the last one
};

/// Make checkpoints while the graph runs, after passes over fields, or go on
/// from the last one: of the same program with the same settings, on any number
/// of nodes. Only the newest is left. A checkpoint that cannot be
/// made is a warning; one that is damaged fails the run. After
/// hd_graph_cluster(), before a run. Collective.
///
/// Errors:  HD_EINVAL (no cluster; the folder has checkpoints, and `resume` is
///          not set), HD_ENOENT (it has none, and it is), HD_EIO, HD_EPEER
HD_API hd_status hd_graph_keep(struct hd_graph *graph,
                               const struct hd_graph_keeping *keeping,
                               struct hd_error *error);

/// Hand in the contents of a resource: it is an input of the graph and lives in
/// `buffer`, which stays the caller's and must be large enough. Calling again
/// before another run changes the buffer.
///
/// Errors:  HD_EINVAL
HD_API hd_status hd_graph_input(struct hd_graph *graph, hd_resource resource,
                                struct hd_buffer *buffer,
                                struct hd_error *error);

/// Declare an output: the resource lives on after the run under this name.
///
/// Errors:  HD_EINVAL (a name used twice), HD_ENOMEM
HD_API hd_status hd_graph_output(struct hd_graph *graph, const char *name,
                                 hd_resource resource, const char *where,
                                 struct hd_error *error);

// What an argument of a dispatch is.
enum hd_pass_arg_is {
    HD_PASS_NUMBERS,  // numbers, converted to the kernel's argument type
    HD_PASS_BYTES,    // a value as it stands in memory
    HD_PASS_RESOURCE, // one of the pass's reads or writes
    HD_PASS_LOCAL,    // `size` bytes of local memory
    HD_PASS_SCRATCH,  // memory of this pass alone; see scratch_sizes
    HD_PASS_IMAGE,    // one of the pass's reads or writes, as an image
    HD_PASS_SAMPLER,
    HD_PASS_APPENDS // what hd_append() of the kernel takes, a global hd_appends
                    // *; see append_most of hd_pass_params
};

/// One argument of a dispatch in a pass.
///
/// Owner: the caller; what it points to is copied by hd_graph_pass()
struct hd_pass_arg {
    enum hd_pass_arg_is is;
    const double *numbers; // HD_PASS_NUMBERS
    unsigned number_count; // 1, or as many as the vector has components
    const void *bytes;     // HD_PASS_BYTES
    uint64_t size;         // HD_PASS_BYTES, HD_PASS_LOCAL [bytes]
    hd_resource resource;  // HD_PASS_RESOURCE, HD_PASS_IMAGE
    unsigned scratch;      // HD_PASS_SCRATCH: index into scratch_sizes
    // HD_PASS_IMAGE: what a texel is; 0: what an element is, with integers of 8
    // and 16 bits as 0 to 1 or -1 to 1.
    enum hd_channel_order order;
    enum hd_channel_type type;
    uint32_t sampler; // HD_PASS_SAMPLER: as for HD_SAMPLER()
};

/// A kernel of a pass: made already, or a file to build when the graph is
/// prepared. One program is built once per graph, however many passes use it.
///
/// Owner: the caller; strings are copied, the kernel must stay as long as the
/// graph
struct hd_kernel_ref {
    const struct hd_kernel *kernel; // or NULL and:
    const char *path;               // .cl or .hdb file
    const char *name;               // of the kernel
    const char *options;            // as for hd_program_create(); optional
    const char *with;               // more files of the program, one per line;
                                    // optional
};

// What a command of a pass is.
enum hd_command_is {
    HD_DISPATCH, // run a kernel over a range
    HD_COPY,     // copy resource `from` to `to`, or a region of it
    HD_CLEAR,    // set bytes of `to`, or of a region of it, to 0
    HD_FILL,     // set the elements of `to`, or of a region of it, to `pattern`
    HD_PREFETCH, // bring `to`, which is read, into the cache
    HD_FLUSH,    // write what caches have of `to` to memory
    HD_SYNC,     // the pass comes after all before it, and before all after it
    HD_CALL,     // call `call` on the worker that runs the pass; see `here` of
                 // hd_graph_run_params
    // Copy all of `from` to `to` in another layout: vectors ("float4", w x h)
    // to planes of their components ("float", w x h x 4), or back.
    HD_LAYOUT
};

/// A box of elements, in `to` and in `from` [elements]. A count of 0 in the
/// first axis: all of both, which must be of the same size; in the others: 1.
struct hd_region {
    uint64_t to[3], from[3], count[3];
};

/// One command of a pass; members beside `is` are of the kinds named.
///
/// Owner: the caller; arrays and strings are copied by hd_graph_pass()
struct hd_command {
    enum hd_command_is is;
    // HD_DISPATCH
    struct hd_kernel_ref kernel;
    struct hd_range range;
    const struct hd_pass_arg *args;
    unsigned arg_count;
    bool appended; // it does not run in its place, but when a kernel of the
                   // pass asks: append_most of hd_pass_params
    // the others
    hd_resource from, to;
    struct hd_region region;
    const double *pattern; // HD_FILL: an element's components, or one for all
    unsigned pattern_count;
    // HD_CALL: the contents of resources are not its business, but it comes
    // where they say. An error of its own ends the run; it may launch and wait,
    // like any job.
    hd_status (*call)(void *data, struct hd_error *error);
    void *data; // must live as long as the graph is run
};

/// A pass: what it reads and writes, and its commands.
///
/// Owner: the caller; arrays and strings are copied by hd_graph_pass()
struct hd_pass_params {
    const char *name;
    const char *where;
    const hd_resource *reads;
    unsigned read_count;
    const hd_resource *writes;
    unsigned write_count;
    // Of what it writes all, whatever was there: as in `writes`, but the old
    // contents may be read by others meanwhile, and go when these have ended.
    const hd_resource *overwrites;
    unsigned overwrite_count;
    const struct hd_command *commands; // run one after another
    unsigned command_count;
    const uint64_t *scratch_sizes; // [bytes]
    unsigned scratch_count;
    enum hd_priority priority; // against what runs at the same time
    bool keep;                 // run it even if no output needs what it writes
    const char *device; // "cpu" or "gpu": its kernels run there, in a runtime
                        // that has both; NULL: where they are done first
    const char *pass_class; // of hd_graph_limit(), "io" for instance; optional
    // Kernels of the pass that have an argument HD_PASS_APPENDS may append
    // dispatches while it runs, by hd_append(): those of `commands` that are
    // `appended`, by their index there, work-groups of their range, which is
    // the most that can be asked for and names a work-group size. What a
    // dispatch appends runs after it, and before the next command; that may
    // append more. Those appended by the same dispatch run in any order, but
    // one that appends begins after those of the same command before it have
    // ended.
    //
    // So many in one run of the pass; 0: none. A request beyond it ends the run
    // with HD_ELIMIT; one for a command that is not appended, for no
    // work-groups or some beyond the range, with HD_EINVAL.
    unsigned append_most;
};

/// Add a pass, after all passes added before it in program order. A resource
/// that a pass reads and writes is updated in place; of one that it only
/// writes, what it does not write stays.
///
/// When the graph has outputs, passes are dropped on which none of them
/// depends, but for those that write nothing.
///
/// Errors:  HD_EINVAL (a command names a resource that is neither read nor
///          written; commands that are appended without any that appends, or
///          without a bound, or the other way round), HD_EGRAPH (a read of what
///          nobody wrote and nobody handed in), HD_ENOMEM
HD_API hd_status hd_graph_pass(struct hd_graph *graph,
                               const struct hd_pass_params *params,
                               hd_pass *pass, struct hd_error *error);

/// Let no more than `most` passes of a class run at the same time, however many
/// are ready; 0: any number again. The class is what hd_pass_params.pass_class
/// says, and there need not be a pass of it yet. Such passes are not run in
/// parts.
///
/// Errors:  HD_EINVAL (no name; a graph that is running), HD_ELIMIT (more than
///          65,535 classes), HD_ENOMEM
HD_API hd_status hd_graph_limit(struct hd_graph *graph, const char *pass_class,
                                unsigned most, struct hd_error *error);

/// A pass that calls one function, as one with a single HD_CALL does.
///
/// Owner: the caller; arrays and strings are copied, `data` is not
struct hd_call_params {
    hd_status (*call)(void *data, struct hd_error *error);
    void *data;           // must live as long as the graph is run
    const hd_pass *after; // passes that it comes after
    const hd_resource *reads, *writes, *overwrites; // as in hd_pass_params
    unsigned after_count, read_count, write_count, overwrite_count;
    const char *name, *where; // optional
};

/// Add a pass that calls a function: the same as hd_graph_pass() with one
/// HD_CALL, and hd_graph_order() for each pass that it comes after.
///
/// A graph that has nothing but such passes, whichever function added them, no
/// inputs and no outputs, is kept in little memory: some tens of bytes a pass.
/// If there are 64 of them and more for each worker, and they take less than
/// 2.5 us on the average, the runs of it take no times of single passes
/// (hd_pass_info), unless hd_graph_policy asks for them, and no memory for
/// resources; one worker begins in program order, and others join it where
/// passes are so long that this pays.
///
/// Errors:  HD_EINVAL (no function; no such pass or resource), HD_EGRAPH (a
///          read of what nobody wrote and nobody handed in), HD_ENOMEM
HD_API hd_status hd_graph_call(struct hd_graph *graph,
                               const struct hd_call_params *params,
                               hd_pass *pass, struct hd_error *error);

/// Give a dispatch of a graph that is kept another value: argument `argument`
/// of command `command` of a pass, both from 0 on. Numbers become as many other
/// numbers, bytes as many other bytes. Nothing is built or prepared again.
///
/// Errors:  HD_EINVAL (no such pass, command or argument; another kind of
///          argument, or a count that differs; a graph that is running),
///          HD_EGRAPH (numbers that do not fit the kernel's argument)
HD_API hd_status hd_graph_set_argument(struct hd_graph *graph, hd_pass pass,
                                       unsigned command, unsigned argument,
                                       const struct hd_pass_arg *arg,
                                       struct hd_error *error);

/// Let a pass of a graph that is kept use resource `to` in place of `from`:
/// wherever it reads, writes or copies the one, or passes it to a kernel. Both
/// have the same type and size. Which passes depend on which follows from it,
/// by the next run; nothing is built again.
///
/// Errors:  HD_EINVAL (no such pass or resource, one that the pass does not
///          use, or uses already; a graph that is running, a pass that
///          hd_graph_advance() has run), HD_EGRAPH (another type or size; a
///          read of what nobody would write any more), HD_ENOTSUP (a field).
///          Then nothing has changed.
HD_API hd_status hd_graph_set_resource(struct hd_graph *graph, hd_pass pass,
                                       hd_resource from, hd_resource to,
                                       struct hd_error *error);

// The structure of a kept graph can change too. Preparing it again, which the
// next run does, checks those passes only that are new
// (hd_graph_statistics.checked): of 10,000 passes with one that was replaced,
// it takes about 2 % of the time it took to build and prepare all. Handles stay
// what they are. A call that fails has changed nothing.

/// Put another pass in the place of one: `params` say all of it, as for
/// hd_graph_pass().
///
/// Errors:  those of hd_graph_pass(), HD_EINVAL (no such pass; a graph that is
///          running, a pass that hd_graph_advance() has run), HD_EGRAPH (a read
///          of what nobody would write any more)
HD_API hd_status hd_graph_replace(struct hd_graph *graph, hd_pass pass,
                                  const struct hd_pass_params *params,
                                  struct hd_error *error);

/// Leave a pass out of the graph, or let it in again: left out, it is as if it
/// were not there, and the passes behind it find what those before it left.
///
/// Errors:  HD_EINVAL and HD_EGRAPH as hd_graph_replace()
HD_API hd_status hd_graph_leave_out(struct hd_graph *graph, hd_pass pass,
                                    bool out, struct hd_error *error);

/// Add a pass right before another in program order.
///
/// Errors:  as hd_graph_replace()
HD_API hd_status hd_graph_insert(struct hd_graph *graph, hd_pass before,
                                 const struct hd_pass_params *params,
                                 hd_pass *pass, struct hd_error *error);

/// Make `after` start only when `before` has finished, though they share
/// nothing. A cycle is found when the graph is prepared.
///
/// Errors:  HD_EINVAL, HD_ENOMEM
HD_API hd_status hd_graph_order(struct hd_graph *graph, hd_pass before,
                                hd_pass after, const char *where,
                                struct hd_error *error);

// Generating from a Lua program ---------------------------------------------
//
// Threads: one at a time per graph, where nothing else is said.

/// What a graph program reads as setting("name"). Owner: the caller.
struct hd_setting {
    const char *name, *value;
};

/// What a graph program reads as input("name"). Owner: the caller; see
/// `buffer`.
struct hd_graph_source {
    const char *name; // as the program calls it: input("name")
    struct hd_shape shape;
    struct hd_buffer *buffer; // stays the caller's; lives as long as the graph
};

/// A graph program and what it is given. Only `path` has no default.
///
/// Owner: the caller; nothing is kept of it after hd_graph_generate(), but for
/// the inputs' buffers
struct hd_graph_program {
    const char *path; // the Lua file; kernel files are sought beside it
    const struct hd_setting *settings;
    unsigned setting_count;
    const struct hd_graph_source *inputs;
    unsigned input_count;
    const char *data;      // settings that are not in the list: the text of an
                           // object in JSON; optional
    const char *data_name; // for messages; optional
    // Called before the program runs, so that hd_graph_cancel() can reach the
    // passes that it runs for their results, and with NULL before the graph of
    // a program that fails is destroyed; optional.
    void (*started)(void *started_data, struct hd_graph *graph);
    void *started_data;
    struct hd_cluster *cluster; // of hd_graph_cluster(); NULL: no fields
    const struct hd_graph_keeping *keeping; // of hd_graph_keep(); optional
    uint64_t max_steps;                     // Lua instructions; 0: 200 million
    uint64_t max_memory; // of the Lua state [bytes]; 0: 256 MiB
};

/// Run a graph program in its sandbox (no files, no network, bounded memory and
/// instructions) and return the graph it generated. Nothing is built or
/// launched yet, but for what the program itself runs: values() and start().
/// docs/graphs.md describes the language.
///
/// A graph that was generated before from the same text with the same settings
/// and inputs of the same shapes, and has been destroyed since, comes back as
/// it was, prepared if it was: the runtime keeps the last few. It is not kept
/// if results steered the program, or something was added.
///
/// Errors:  HD_ENOENT, HD_EPROGRAM (the program's error with file and line; a
///          setting or input it does not know, or misses), HD_ELIMIT (an
///          endless program, too much memory), HD_EGRAPH, HD_EINVAL,
///          HD_ENOTSUP (built without Lua), HD_ENOMEM
/// Owner:   the caller; hd_graph_destroy()
/// Threads: any
HD_API hd_status hd_graph_generate(struct hd_runtime *runtime,
                                   const struct hd_graph_program *program,
                                   struct hd_graph **graph,
                                   struct hd_error *error);

// Running ---------------------------------------------------------------------
//
// Threads: one at a time per graph, where nothing else is said.

/// Build the kernels and check everything that can be checked before a run:
/// cycles, arguments, types, sizes. hd_graph_run() does it when it was not
/// done.
///
/// Errors:  those of hd_program_create(), HD_EGRAPH, HD_EINVAL, HD_ELIMIT
HD_API hd_status hd_graph_prepare(struct hd_graph *graph,
                                  struct hd_error *error);

// What the scheduler aims at.
enum hd_graph_goal {
    HD_GRAPH_AUTO, // least time; memory when it runs short
    HD_GRAPH_TIME, // no pass waits for memory
    // Resources and scratch lie in one block, in which those share bytes that
    // are not alive together; passes wait for each other where they must.
    HD_GRAPH_MEMORY
};

// Who starts a pass when those that it waits for have ended.
enum hd_graph_scheduler {
    HD_GRAPH_BY_ANY,  // by what took the least time, of those that can
    HD_GRAPH_BY_HOST, // workers
    // A device, without the host: its units claim work-groups of what is ready
    // from a list in its memory, or its driver has a graph of launches. For
    // passes that do nothing but dispatch kernels that may run on that device.
    HD_GRAPH_BY_UNITS,
    HD_GRAPH_BY_LAUNCHES
};

/// How a graph is to be scheduled. All zero: as the scheduler thinks best.
struct hd_graph_policy {
    enum hd_graph_goal goal;
    // HD_GRAPH_AUTO: the goal is memory when a run in least time may hold more
    // than this. 0: than is free when the graph is prepared [bytes]. It is
    // memory too after a run that could not get any, which is run again.
    uint64_t memory;
    bool whole;  // no pass is run in parts
    bool single; // tiny passes are not run in batches
    // Keep what is alive within so many bytes as far as can be, those of a
    // cache for instance: while it is more, of the passes that are ready the
    // one goes first that lets most of it die. 0: urgency alone counts [bytes].
    uint64_t working_set;
    bool times; // of every pass, however short: see hd_graph_call()
    // HD_GRAPH_BY_ANY: the first run is by the host; later ones try what else
    // can, and stay with what was fastest. What cannot leaves it to the host,
    // and hd_graph_stats() says why.
    enum hd_graph_scheduler by;
};

/// Say how to schedule the graph; NULL: as the scheduler thinks best. It is
/// prepared again by the next run.
///
/// Errors:  HD_EINVAL (no such goal or scheduler, a graph that is running)
HD_API hd_status hd_graph_set_policy(struct hd_graph *graph,
                                     const struct hd_graph_policy *policy,
                                     struct hd_error *error);

/// How a graph is run. All zero: the defaults.
///
/// Owner: the caller; `data` must stay until the run has ended
struct hd_graph_run_params {
    // Called when a pass has finished, from any worker, one call at a time. It
    // and `data` must last until the run has ended.
    void (*progress)(void *data, unsigned finished, unsigned total,
                     const char *pass);
    void *data;
    // Called on a worker when all passes there are have ended well: look at
    // results with hd_graph_contents(), and add passes to the graph, which then
    // run as part of this run; it ends when none were added. Resources are all
    // kept until then. An error ends the run with it, hd_graph_cancel() ends it
    // too. Other threads, and passes that call functions, say through `data`
    // what they want added. `data` is that of `progress`; optional.
    hd_status (*grow)(void *data, struct hd_graph *graph,
                      struct hd_error *error);
    // hd_graph_run(): this thread need not only wait, it may run passes of a
    // graph of short calls (see hd_graph_call()) in the place of a worker. No
    // worker is woken then where one is enough. hd_pool_worker() knows such a
    // call as none of a worker.
    bool here;
    // The run stays open: passes that are added while it runs join it, see
    // hd_graph_extend(). Not together with `grow`.
    bool open;
    unsigned room; // for so many passes to join, of common size; 0: 10,000
};

/// Run every pass of the graph and wait. May be called again; each run starts
/// from the inputs. When a pass fails no further pass starts, those that run
/// are finished, and its error names the pass. `params` may be NULL.
///
/// Errors:  those of hd_launch() and hd_graph_prepare(), HD_ECANCELED
HD_API hd_status hd_graph_run(struct hd_graph *graph,
                              const struct hd_graph_run_params *params,
                              struct hd_error *error);

/// As hd_graph_run(), but return at once: `*event` ends with the run, with the
/// error that hd_graph_run() would have returned. The run begins when all that
/// `start` says it comes after has ended (of `start` the events, `anyway`, the
/// group and the priority of its beginning count; it may be NULL). Until the
/// event has ended only hd_graph_cancel() may be called for the graph, which
/// is what hd_event_cancel() does too. The caller releases the event.
///
/// Errors:  those of hd_graph_prepare(), HD_EINVAL (it is running already, an
///          event that is none of the pool's), HD_ENOMEM. Then nothing was
///          started.
HD_API hd_status hd_graph_start(struct hd_graph *graph,
                                const struct hd_start *start,
                                const struct hd_graph_run_params *params,
                                hd_event *event, struct hd_error *error);

/// Let what was added to a graph while its run is open
/// (hd_graph_run_params.open) join that run: passes begin as soon as those that
/// they wait for have ended, while others still run. Resources, inputs with
/// their buffers, outputs, passes and orders may be added, by any thread and by
/// functions that passes of the run call, but by one at a time; nothing else of
/// the graph may be used until the run has ended, but hd_graph_cancel(), and
/// hd_graph_contents() by a function of a pass that comes after the last pass
/// so far that writes the resource, and before the next. Passes over fields
/// cannot join where checkpoints are kept, and order leads to passes that have
/// not joined only, from those before them.
///
/// What cannot join ends the run, as a pass that fails does. After that, and
/// after a cancellation, nothing joins any more, and the run ends when it is
/// closed.
///
/// Errors:  HD_EINVAL (no open run), HD_ELIMIT (no room for so much),
///          HD_ENOTSUP (a field, and checkpoints), those of hd_graph_prepare(),
///          the run's first error, HD_ECANCELED
/// Threads: any; one at a time with all that adds to the graph
HD_API hd_status hd_graph_extend(struct hd_graph *graph,
                                 struct hd_error *error);

/// Close an open run, after extending it with what was added: no more passes
/// join, and it ends when all have. An open run never ends before it is closed,
/// whatever fails; so the graph is there for those who add to it. (Only the
/// event of hd_graph_start() ends before when the run never begins.)
///
/// Errors:  as hd_graph_extend(); but for HD_EINVAL, the run is closed all the
///          same
/// Threads: as hd_graph_extend()
HD_API hd_status hd_graph_close(struct hd_graph *graph, struct hd_error *error);

/// Run the passes added since the graph was made, or was advanced, and wait.
/// All resources are kept, so that passes added afterwards go on from there: a
/// program can look at a result (hd_graph_contents()) and build on by what it
/// sees. hd_graph_run() then runs what is left, and the next hd_graph_run() all
/// passes again.
///
/// Errors:  as hd_graph_run(), after which the graph is as if it never ran
HD_API hd_status hd_graph_advance(struct hd_graph *graph,
                                  const struct hd_graph_run_params *params,
                                  struct hd_error *error);

/// Copy what a resource holds after hd_graph_advance() or, if it is an output,
/// hd_graph_run(), to host memory: `size` bytes from `offset` on.
///
/// Errors:  HD_EINVAL (no such resource, a part outside), HD_EGRAPH (it holds
///          nothing now), those of hd_buffer_read()
HD_API hd_status hd_graph_contents(const struct hd_graph *graph,
                                   hd_resource resource, uint64_t offset,
                                   void *memory, uint64_t size,
                                   struct hd_error *error);

/// Make a running hd_graph_run() end early with HD_ECANCELED; without one
/// running, the next.
///
/// Threads: any; may be called from a signal handler
HD_API void hd_graph_cancel(struct hd_graph *graph);

// Looking at it ---------------------------------------------------------------
//
// Threads: one at a time per graph, where nothing else is said.

/// Return how many outputs the program has declared.
HD_API unsigned hd_graph_output_count(const struct hd_graph *graph);

/// An output of a graph. Owner: the graph; see hd_graph_result().
struct hd_graph_result {
    const char *name;
    struct hd_shape shape;
    struct hd_buffer *buffer; // NULL before the first run
};

/// Describe output `index`; false when there are not so many. Owner: the graph;
/// buffer and contents are good until the next run begins.
HD_API bool hd_graph_result(const struct hd_graph *graph, unsigned index,
                            struct hd_graph_result *result);

/// Return how many passes the graph has. Their numbers go from 0 up.
HD_API unsigned hd_graph_pass_count(const struct hd_graph *graph);

/// What a pass did in the last run. Owner of strings: the graph.
struct hd_pass_info {
    const char *name, *where;
    uint64_t begin, end; // of the last run, since its start, or that of the
                         // first run that it went on from; 0: it took no times,
                         // see hd_graph_call() [ns]
    uint64_t work_items; // over its dispatches
    uint64_t busy;       // in the last run, over all workers and units [ns]
    // What it moved in the last run between memory and caches: by the
    // hardware's counters (`counted`), where they may be read (`heddle info`
    // tells), else estimated from its resources [bytes]; 0: as `end`.
    uint64_t bytes;
    bool counted;
    bool dropped; // no output needs it; known once it is prepared
};

/// The place of a pass in program order, from 0 on; UINT_MAX: it is none of the
/// graph's.
HD_API unsigned hd_graph_pass_index(const struct hd_graph *graph, hd_pass pass);

/// Describe pass `index` in program order. Owner of strings: the graph.
HD_API bool hd_graph_pass_info(const struct hd_graph *graph, unsigned index,
                               struct hd_pass_info *info);

/// Return how many programs of kernels the graph was prepared with, 0 before,
/// and in `*cached` how many of them needed no compiler
/// (hd_program_was_cached()).
HD_API unsigned hd_graph_program_count(const struct hd_graph *graph,
                                       unsigned *cached);

/// Bytes of resources and scratch alive at the worst moment of the last run.
HD_API uint64_t hd_graph_peak_memory(const struct hd_graph *graph);

/// What the scheduler made of a graph. Times are of the last run, or of the
/// next one before the first [ns]. Owner: see `not_by_device`.
struct hd_graph_statistics {
    uint32_t passes, dropped; // of all passes: no output needs them
    uint32_t checked; // by the last preparing, which found the others as it had
                      // checked them before
    uint32_t known;   // passes that have run before, in this process or another
    uint32_t edges;   // between passes, by data and by order
    uint32_t barriers; // of these, that are waited for: others imply the rest
    uint32_t split; // passes in parts, each of which begins when its inputs are
                    // there, though others of its pass wait,
    uint32_t parts; // and how many parts these have
    uint32_t batches;   // of tiny passes, that a worker runs one after another,
    uint32_t batched;   // and how many passes are in these
    uint64_t makespan;  // what the run took; 0: it has not run
    uint64_t predicted; // what it was thought to take,
    uint64_t area;      // at least: work over workers,
    uint64_t critical_path; // and at least: the longest chain
    bool planned;  // resources and scratch share one block: HD_GRAPH_MEMORY
    bool recalled; // where in it they lie was kept, and not planned again
    uint64_t live; // resources and scratch alive at the worst moment [bytes]
    uint64_t heap; // held for them at the worst moment, spare too [bytes]
    enum hd_graph_scheduler by; // the last run; HD_GRAPH_BY_ANY: there was none
    // Why a device did not schedule it, though it was asked or tried; "" else.
    // Owner: the graph; good until the next run begins.
    const char *not_by_device;
    uint32_t appended; // dispatches that kernels appended in the last run
};

/// Tell. All but `passes` are 0 before the graph is prepared, and again when it
/// has been changed. After a run that was open, what is told is of all passes
/// that ran; only `predicted` is of those that it began with. After runs that
/// went on from each other (hd_graph_advance(), a run that grew, values() and
/// start() of a program) it is of all of them: times and bounds are added up.
HD_API void hd_graph_stats(const struct hd_graph *graph,
                           struct hd_graph_statistics *statistics);

/// What hd_graph_print() writes.
enum hd_graph_format {
    HD_GRAPH_DOT, // for Graphviz: boxes are passes, ellipses resources
    HD_GRAPH_JSON
};

/// Print the graph: pass nodes, resource nodes by version, edges; with times
/// when it has run.
///
/// Errors:  HD_EIO
HD_API hd_status hd_graph_print(const struct hd_graph *graph,
                                enum hd_graph_format format, FILE *file);

/// Write the trace of the graph's runtime as hd_runtime_trace_write() does, and
/// in it what the last run of the graph did: its passes in lanes of their own,
/// arrows to the passes that waited for them, memory alive and units busy over
/// time, and as the member "heddle" what hd_graph_print() prints as JSON. This
/// is what `heddle report` reads.
///
/// Errors:  HD_EINVAL (the runtime was made without `trace`), HD_EIO, HD_ENOMEM
HD_API hd_status hd_graph_trace_write(const struct hd_graph *graph, FILE *file,
                                      struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
