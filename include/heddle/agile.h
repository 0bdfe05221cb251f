// Agile fields: arrays laid over compute nodes, whose layout can change.
//
// A program that uses a cluster runs unchanged on one machine and, started by
// mpirun, as many processes of which each holds some of the nodes. All
// processes call the functions marked "collective" in the same order with equal
// arguments; what differs is found and told to all of them.
#ifndef HEDDLE_AGILE_H
#define HEDDLE_AGILE_H

#include "heddle/event.h"
#include "heddle/field.h"
#include "heddle/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_cluster; // the compute nodes of a program
struct hd_runtime;
struct hd_field; // an agile field: elements over the nodes of a map

// Clusters ------------------------------------------------------------------
//
// Threads: one call at a time per cluster.

/// How to join. All zero: the defaults.
///
/// Owner: the caller; nothing is kept of it
struct hd_cluster_params {
    const char *transport; // "self" or "mpi"; NULL: what the program was
                           // started with
    unsigned nodes;        // of each process; 0: 1. Several simulate a cluster
    // Or the parts of the machine that are its nodes, as many in all processes:
    // "cpu", all cores; "numa", each NUMA domain that has workers; "gpu", each
    // GPU of the runtime; or several, "cpu,gpu". NULL: `nodes` nodes that are
    // no part of it in particular.
    const char *parts;
    struct hd_runtime *runtime; // whose workers do the tasks of such nodes;
                                // outlives the cluster
    bool messages;    // processes of one machine send messages as if they were
                      // not, instead of reading each other's memory
    bool sequential;  // one thread does the tasks of all nodes here, in turn
    uint64_t timeout; // a process that does not answer for so long is lost
                      // [ns]; 0: 60 s; a task may take longer, unless it is
                      // `sequential` or without threads, and another machine's
    uint64_t piece;   // what moves between processes at a time, at most
                      // [bytes]; 0: 256 KiB
};

/// Join the cluster. `params` may be NULL for the defaults. Collective.
///
/// Errors:  HD_ENODEV (not started with that transport, no such part),
/// HD_EINVAL
///          (also parts without a runtime, or processes with different numbers
///          of nodes), HD_ENOMEM
/// Owner:   the caller; hd_cluster_leave() after all of its fields are gone
HD_API hd_status hd_cluster_join(const struct hd_cluster_params *params,
                                 struct hd_cluster **cluster,
                                 struct hd_error *error);

/// Leave the cluster. Waits for what was started there. Collective. NULL is
/// allowed.
HD_API void hd_cluster_leave(struct hd_cluster *cluster);

/// Return how many nodes the cluster has, those of all processes.
HD_API uint32_t hd_cluster_nodes(const struct hd_cluster *cluster);

/// Whether a node is one of this process.
HD_API bool hd_cluster_has(const struct hd_cluster *cluster, uint32_t node);

/// Which process this is, 0 for the one that does what is done once. Those of a
/// machine follow each other, whatever their ranks in MPI.
HD_API uint32_t hd_cluster_process(const struct hd_cluster *cluster);

/// Return how many processes the cluster has.
HD_API uint32_t hd_cluster_processes(const struct hd_cluster *cluster);

/// What a node of this process is.
///
/// Owner:   the cluster, of `worker`; it is there until hd_cluster_leave()
struct hd_node_info {
    bool part;        // of the machine; else nothing of the rest is set
    unsigned domain;  // the NUMA domain that its memory lies in, counted from 0
                      // as in a topology; UINT_MAX: none in particular
    unsigned workers; // of the runtime, that do its tasks
    const unsigned *worker; // their numbers
    bool gpu;               // it is a device of the runtime, of this number
    unsigned device;
};

/// Errors:  HD_EINVAL (the node is another process's)
HD_API hd_status hd_cluster_node(const struct hd_cluster *cluster,
                                 uint32_t node, struct hd_node_info *info,
                                 struct hd_error *error);

/// Get a weight for each node, for hd_map_params.weights, by how fast it did
/// tasks of the last forall, which should be alike: 100 for the fastest, 50 for
/// one that took twice as long for a task. One that did none gets 100. The same
/// on all processes. Collective.
///
/// Errors:  HD_ENOMEM, HD_EPEER
HD_API hd_status hd_cluster_weights(struct hd_cluster *cluster,
                                    uint32_t *weights, struct hd_error *error);

/// Wait until all processes are here. Collective.
///
/// Errors:  HD_EPEER (a process is lost), HD_EINVAL (another process called
///          something else)
HD_API hd_status hd_cluster_meet(struct hd_cluster *cluster,
                                 struct hd_error *error);

/// What this process's nodes did since the start or the last reset.
struct hd_cluster_counters {
    uint64_t moved;    // to its nodes from others, by any way [bytes]
    uint64_t received; // of these, in messages from other processes [bytes]
    uint64_t messages; // in which they came
    uint64_t blocks;   // memory blocks among what was moved for tasks
    uint64_t plans;    // redistributions planned, not found in the cache
    uint64_t steals;   // blocks computed for other nodes
    uint64_t asks;     // messages that asked a node for a task
    uint64_t scratch;  // most memory beside the fields at a time [bytes]
};

/// Read the counters of this process; other processes have their own.
HD_API void hd_cluster_counters(const struct hd_cluster *cluster,
                                struct hd_cluster_counters *counters);

/// Set the counters of this process to 0.
HD_API void hd_cluster_reset_counters(struct hd_cluster *cluster);

// Views -----------------------------------------------------------------------
//
// A view is anything with a rank, an element type and a subscript: memory, an
// agile field, a function of an index, or another look at one of these. None of
// the functions below moves data; a view is a value and may be copied. What it
// looks at must stay.
//
// Threads: any; reading a field is one call at a time per cluster.

/// A look at elements that lie somewhere else.
///
/// Owner: the caller, by value; memory, field and data that it looks at must
/// stay
struct hd_view {
    struct hd_grid grid; // of its indices
    uint64_t element;    // [bytes]

    // Private: index k of what is below is start[k] + step[k] * index[axis[k]].
    unsigned rank_;
    unsigned axis_[HD_MAX_RANK];
    int64_t start_[HD_MAX_RANK], step_[HD_MAX_RANK];
    const char *memory_;              // of the element whose indices are all 0
    int64_t multiplier_[HD_MAX_RANK]; // [elements]
    struct hd_field *field_;
    void (*function_)(void *data, const int64_t *index, void *value);
    void *data_;
};

/// Look at memory in which elements follow each other, the last axis fastest,
/// or the first one with `columns`.
///
/// Errors:  HD_EINVAL, HD_ELIMIT (the grid)
HD_API hd_status hd_view_memory(const struct hd_grid *grid, uint64_t element,
                                const void *memory, bool columns,
                                struct hd_view *view, struct hd_error *error);

/// Look at a function, which writes the element at `index` to `value`. It is
/// called by any thread that computes, several at a time.
///
/// Errors:  HD_EINVAL, HD_ELIMIT
HD_API hd_status hd_view_function(
    const struct hd_grid *grid, uint64_t element,
    void (*function)(void *data, const int64_t *index, void *value), void *data,
    struct hd_view *view, struct hd_error *error);

/// Look at a whole field: the element at each index of its grid.
///
/// Owner: the field must stay as long as the view is used
HD_API struct hd_view hd_view_field(struct hd_field *field);

/// Axis i of the result is axis `order[i]` of the view: {1, 0} transposes.
///
/// Errors:  HD_EINVAL (`order` is no permutation of the axes)
HD_API hd_status hd_view_transpose(const struct hd_view *view,
                                   const unsigned *order,
                                   struct hd_view *result,
                                   struct hd_error *error);

/// Only the elements of a part of the grid; indices stay the same.
///
/// Errors:  HD_EINVAL (a part that the grid does not have)
HD_API hd_status hd_view_section(const struct hd_view *view,
                                 const struct hd_grid *part,
                                 struct hd_view *result,
                                 struct hd_error *error);

/// Only every step[i]-th index from the first one on; these are counted from 0.
/// A negative step counts from the last one backwards.
///
/// Errors:  HD_EINVAL (a step of 0)
HD_API hd_status hd_view_stride(const struct hd_view *view, const int64_t *step,
                                struct hd_view *result, struct hd_error *error);

/// The same elements at indices that are `by` larger.
///
/// Errors:  HD_ELIMIT (indices of more than 63 bits)
HD_API hd_status hd_view_shift(const struct hd_view *view, const int64_t *by,
                               struct hd_view *result, struct hd_error *error);

/// Only the elements whose index on `axis` is `at`; the axis is gone.
///
/// Errors:  HD_EINVAL (no such axis, an index outside it, the only axis)
HD_API hd_status hd_view_project(const struct hd_view *view, unsigned axis,
                                 int64_t at, struct hd_view *result,
                                 struct hd_error *error);

/// Read one element. Of a field, one that a node of this process owns.
///
/// Errors:  HD_EINVAL (outside the grid, or another process's)
HD_API hd_status hd_view_read(const struct hd_view *view, const int64_t *index,
                              void *value, struct hd_error *error);

// Fields ----------------------------------------------------------------------
//
// Threads: one call at a time per cluster; hd_field_segment() and
// hd_field_block() any, while nothing is assigned to the field.

/// Make a field of zeros, laid over the nodes by `map`, which may go
/// afterwards. Collective.
///
/// Errors:  HD_EINVAL (a map for more nodes than there are), HD_ENOMEM (also on
///          another process), HD_EPEER
/// Owner:   the caller; hd_field_destroy()
HD_API hd_status hd_field_create(struct hd_cluster *cluster, uint64_t element,
                                 const struct hd_map *map,
                                 struct hd_field **field,
                                 struct hd_error *error);

/// The agile operator: lay the elements of a view over the nodes. Of a field
/// this redistributes; the plan is kept for the next time. Collective.
///
/// Errors:  as hd_field_create(); HD_EINVAL (map and view have different grids)
/// Owner:   the caller; hd_field_destroy()
HD_API hd_status hd_agile(struct hd_cluster *cluster,
                          const struct hd_view *view, const struct hd_map *map,
                          struct hd_field **field, struct hd_error *error);

/// Give all elements of a field the values of a view, which has the same grid
/// and does not look at the field itself. Collective.
///
/// Errors:  HD_EINVAL (another grid or element; the field itself), HD_ENOMEM,
///          HD_EPEER
HD_API hd_status hd_field_assign(struct hd_field *field,
                                 const struct hd_view *view,
                                 struct hd_error *error);

/// As hd_field_assign(), but do not wait: it begins when all that it comes
/// after has ended, on all processes, and gives an event. Workers of the pool
/// copy; a thread of the cluster sees to the messages. It is started in the
/// same order on all processes, and may begin in any order: those with other
/// fields do not wait for each other. Until it has ended, both fields and what
/// the view looks at must stay, nothing may write what it reads, and nothing
/// may look at what it writes; other fields may be used.
///
/// If on one process what it comes after has failed, or it is cancelled before
/// that has ended, its event ends on all processes with that error and a text
/// that names the process; nothing is written. Later it cannot be cancelled.
/// A process that does not start it within the cluster's `timeout` is HD_EPEER.
///
/// Errors:  as hd_field_assign() and hd_copy_start(); HD_ENOTSUP (a network
///          without threads, as a simulated one). What another process finds is
///          the error of the event
/// Threads: one call at a time per cluster
HD_API hd_status hd_field_assign_start(struct hd_pool *pool,
                                       const struct hd_start *start,
                                       struct hd_field *field,
                                       const struct hd_view *view,
                                       hd_event *event, struct hd_error *error);

/// As hd_agile(), but do not wait for the elements: the field is there at once
/// and may be used after the event.
///
/// Errors:  as hd_field_assign_start()
/// Owner:   the caller; hd_field_destroy(), after the event has ended
/// Threads: one call at a time per cluster
HD_API hd_status hd_agile_start(struct hd_pool *pool,
                                const struct hd_start *start,
                                struct hd_cluster *cluster,
                                const struct hd_view *view,
                                const struct hd_map *map,
                                struct hd_field **field, hd_event *event,
                                struct hd_error *error);

/// Copy all elements to memory, the last axis fastest, in every process, or
/// with `all` false in process 0 only. Where nobody owns an element nothing is
/// written. Collective.
///
/// Errors:  HD_ENOMEM, HD_EPEER
HD_API hd_status hd_field_read(struct hd_field *field, void *memory, bool all,
                               struct hd_error *error);

/// Write all elements to a file that NumPy reads, in the order of the indices;
/// each process writes what its nodes have, so the file system must be shared.
/// `dtype` is NumPy's name of what elements are made of, such as "<f4"; an
/// element of several is an axis more. `*sum` becomes a checksum, which does
/// not depend on how the field was laid out. The file is on the disk when it
/// returns. It is written beside, to `path` with ".part" at its end, and takes
/// the place of an older one when it is whole; on failure that stays. A link or
/// device is written where it is. Collective.
///
/// Errors:  HD_EINVAL (a dtype that does not divide the element, a stride or
///          elements that nobody owns), HD_EIO (with the path and why),
///          HD_ENOMEM, HD_EPEER
HD_API hd_status hd_field_save(struct hd_field *field, const char *path,
                               const char *dtype, uint64_t *sum,
                               struct hd_error *error);

/// Read all elements from a file that hd_field_save() wrote, from a field of
/// the same grid and elements, laid out in any way. `sum` is what it must have,
/// or NULL. Collective.
///
/// Errors:  HD_EINVAL, HD_ENOENT, HD_EIO (another shape or size, damaged: the
///          field then has any values), HD_ENOMEM, HD_EPEER
HD_API hd_status hd_field_load(struct hd_field *field, const char *path,
                               const char *dtype, const uint64_t *sum,
                               struct hd_error *error);

/// Give the field and its memory up. Collective. NULL is allowed.
HD_API void hd_field_destroy(struct hd_field *field);

/// Return the map that the field is laid out by. Owner: the field.
HD_API const struct hd_map *hd_field_map(const struct hd_field *field);

/// Return the size of an element [bytes].
HD_API uint64_t hd_field_element(const struct hd_field *field);

/// Elements that lie in the memory of one node, as an array.
///
/// Owner: the field; good until it is destroyed, those of a task until it
/// returns
struct hd_tile {
    struct hd_grid grid;
    void *data;                // the element at the grid's offset
    int64_t step[HD_MAX_RANK]; // to the next one along each axis [elements]
};

/// Return the address of an element that the tile has, of `size` bytes: without
/// a check, as of an array.
static inline void *hd_tile_at(const struct hd_tile *tile, const int64_t *index,
                               size_t size)
{
    int64_t place = 0;

    for (unsigned i = 0; i < tile->grid.rank; i++)
        place += (index[i] - tile->grid.offset[i]) * tile->step[i];
    return (char *)tile->data + place * (int64_t)size;
}

/// Get the segment, or the memory block, that an index is in; false when the
/// owner is no node of this process.
HD_API bool hd_field_segment(struct hd_field *field, const int64_t *index,
                             struct hd_tile *tile);
HD_API bool hd_field_block(struct hd_field *field, const int64_t *index,
                           struct hd_tile *tile);

// Computing -------------------------------------------------------------------
//
// A task computes one task block of an output, on the node that owns it. What
// it reads of other nodes is copied there first, by memory block, and kept
// until the field is written: nothing moves twice. Each node has a queue of
// tasks, by segment, memory block and task block, and takes from its top; a
// node that has none left takes from the bottom of another's, if that takes
// less time than the other needs for what is in its queue. Results go back to
// the owner.
//
// Threads: one call at a time per cluster; what is asked of a map, any; what is
// asked of a task, or done with an access, the thread that runs the task.

/// Tasks of a node when a field with this map is computed, and the k-th of its
/// queue.
HD_API uint64_t hd_map_tasks(const struct hd_map *map, uint32_t node);
HD_API bool hd_map_task(const struct hd_map *map, uint32_t node, uint64_t k,
                        struct hd_grid *block);

/// What tasks read. A task is given the elements at its own indices, and a
/// margin round them as far as the view's grid goes: `move C <- B`. With
/// `touched` nothing is moved in advance: see hd_access.
struct hd_input {
    struct hd_view view;                             // of a field
    int64_t before[HD_MAX_RANK], after[HD_MAX_RANK]; // the margin
    bool touched;
    bool rows;      // the tile's last axis has step 1: what lies otherwise, as
                    // seen transposed, is copied to memory of the task
    bool footprint; // of a kernel, and a whole field, of any grid: what
                    // hd_kernel_footprint() says of each task, instead
};

struct hd_task; // one that runs

/// What hd_forall() computes, and of what. Only the first three members and the
/// function have no default.
///
/// Owner: the caller; all of it must stay until hd_forall() has returned
struct hd_forall {
    struct hd_field *output;
    const struct hd_input *inputs;
    unsigned input_count;

    // Compute `output`. `inputs` are in the order above; their grids have the
    // indices of the views, with the margin. On different nodes it runs at the
    // same time. Returns HD_OK, or hd_status with a text in `error`, which ends
    // all.
    hd_status (*function)(struct hd_task *task, const struct hd_tile *output,
                          const struct hd_tile *inputs, void *data,
                          struct hd_error *error);
    void *data;

    bool update;      // the output is read as well
    bool stay;        // nothing is stolen
    bool past_caches; // what is computed is too much for the caches, and not
                      // read soon: a task writes to memory of its own, not
                      // filled before unless `update`, that is then copied
                      // past them
    bool in_place; // what nodes of this machine have is read in their memory,
                   // not copied: for what is read once, and near
};

/// Run a task for every task block of the output. Collective.
///
/// Errors:  HD_EINVAL (views that do not have the output's indices, or look at
///          the output itself), HD_ENOMEM, HD_EPEER, what a task returns
HD_API hd_status hd_forall(const struct hd_forall *forall,
                           struct hd_error *error);

/// As hd_forall(), but do not wait: it begins when all that it comes after has
/// ended, on all processes, and gives an event. Threads of the cluster run it,
/// those of three such foralls at a time; they begin in the order in which they
/// were started, so one that waits holds up every third behind it. `forall` and
/// its inputs are copied; its data, and the fields, must stay until the event
/// has ended. Until then nothing may look at its output or write what it reads;
/// other fields may be used, and may be computed meanwhile. Returns when all
/// processes have called it. Collective.
///
/// If on one process what it comes after has failed, or it is cancelled before
/// that has ended, its event ends on all processes with that error and a text
/// that names the process, and nothing is computed. Later it cannot be
/// cancelled.
///
/// Errors:  as hd_forall() and hd_call_start(), on all processes or on none;
///          HD_ENOTSUP (nodes that are GPUs, a `sequential` cluster, a network
///          without threads). What a task finds is the error of the event
/// Threads: one call at a time per cluster
HD_API hd_status hd_forall_start(struct hd_pool *pool,
                                 const struct hd_start *start,
                                 const struct hd_forall *forall,
                                 hd_event *event, struct hd_error *error);

// How an argument of a kernel is given.
enum hd_field_arg_is {
    HD_FIELD_OUTPUT, // the output's elements
    HD_FIELD_INPUT,  // those of the field that input `input` looks at
    HD_FIELD_ARG     // any other, as in a launch: `arg`
};

/// One argument of a kernel over a field.
struct hd_field_arg {
    enum hd_field_arg_is is;
    unsigned input;
    struct hd_arg arg;
};

/// The same with an OpenCL C kernel, written for one node: its global size is
/// the output's extents, the last axis first, and its pointers are to whole
/// arrays with the last axis fastest, of which a task sees what its inputs say:
/// other elements read as 0. It writes what its global id is the index of; one
/// that is built for checking fails with HD_ECHECK when it writes more. The
/// function and the data of `forall` are not looked at; views of inputs are
/// fields, transposed or shifted. An argument that is not the output may be a
/// buffer, the same in all processes, that the kernel only reads. Nodes that
/// are GPUs run it there; what a GPU owns stays in its memory until somebody
/// reads it elsewhere. Functions run on the host for them. Collective.
///
/// Errors:  as hd_forall(); HD_EINVAL (an output of more than 3 axes, with an
///          offset; an input with a stride or a projection), HD_ENODEV (a GPU
///          is a node and the program was not built for it), those of
///          hd_launch()
HD_API hd_status hd_forall_kernel(struct hd_runtime *runtime,
                                  const struct hd_forall *forall,
                                  const struct hd_kernel *kernel,
                                  const struct hd_field_arg *args,
                                  unsigned arg_count, struct hd_error *error);

/// Combine all elements of a field to one value: `combine` takes an element, or
/// a value of other elements, into `value`, which begins as `neutral`. It must
/// be associative and commutative, since the order is not that of the indices.
/// All processes get the result. Collective.
///
/// Errors:  HD_ENOMEM, HD_EPEER
HD_API hd_status hd_field_reduce(
    struct hd_field *field,
    void (*combine)(void *value, const void *element, void *data), void *data,
    const void *neutral, void *result, struct hd_error *error);

/// Replace each element of a field of one axis by all up to it, in the order of
/// the indices; `combine` is associative. Collective.
///
/// Errors:  HD_EINVAL (more axes), HD_ENOMEM, HD_EPEER
HD_API hd_status hd_field_scan(struct hd_field *field,
                               void (*combine)(void *value, const void *element,
                                               void *data),
                               void *data, struct hd_error *error);

/// Sort a field of one axis by the unsigned number of 8 bytes that each element
/// begins with, smallest first. Elements with equal keys may change places.
/// Collective.
///
/// Errors:  HD_EINVAL (more axes, elements of less than 8 bytes), HD_ENOMEM,
///          HD_EPEER
HD_API hd_status hd_field_sort(struct hd_field *field, struct hd_error *error);

/// The node that a task runs on, and the one that owns what it computes.
HD_API uint32_t hd_task_node(const struct hd_task *task);
HD_API uint32_t hd_task_owner(const struct hd_task *task);

/// Access to the elements of an input by index, as if all were here: a touch of
/// one that is elsewhere brings its memory block. It begins with a task and
/// ends with it.
///
/// Invariant: `row_count_` is 0, or the elements (row_, row_first_) to
/// (row_, row_first_ + row_count_ - 1) are in `tile`, from `row_start_` on,
/// `row_step_` elements apart.
///
/// Owner: the task's function; what it points to is good until the next touch
struct hd_access {
    struct hd_tile tile; // what was touched last
    hd_status status;    // of the first touch that failed; HD_OK

    // Private: the row of a view of two axes that was touched last.
    int64_t row_, row_first_, row_step_;
    uint64_t row_count_;
    const char *row_start_;

    struct hd_tile kept_[4]; // touched before it, in any order
    unsigned kept_count_, kept_next_;
    unsigned input_;
    struct hd_task *task_;
    uint64_t element_; // of the view [bytes]
    void *room_;       // of the task: a row that was put together
    uint64_t room_size_;
};

/// Begin access to input number `input` of a task, as the call that computes
/// lists them. Nothing is copied yet.
HD_API void hd_access_begin(struct hd_access *access, struct hd_task *task,
                            unsigned input);

/// Go to the block of an index. NULL when that fails: see `status`. The second
/// one is for a view of two axes, the third one for a row, see hd_access_row().
HD_API const void *hd_access_move(struct hd_access *access,
                                  const int64_t *index) __attribute__((cold));
HD_API const void *hd_access_move_2(struct hd_access *access, int64_t i,
                                    int64_t j) __attribute__((cold));
HD_API const void *hd_access_move_row(struct hd_access *access,
                                      const int64_t *index, int64_t count)
    __attribute__((cold));

/// Return the address of an element, of `size` bytes, to read it.
static inline const void *hd_access_at(struct hd_access *access,
                                       const int64_t *index, size_t size)
{
    const struct hd_tile *tile = &access->tile;
    int64_t place = 0;

    for (unsigned i = 0; i < tile->grid.rank; i++) {
        int64_t at = index[i] - tile->grid.offset[i];

        if ((uint64_t)at >= (uint64_t)tile->grid.extent[i])
            return hd_access_move(access, index);
        place += at * tile->step[i];
    }
    return tile->grid.rank ? (const char *)tile->data + place * (int64_t)size
                           : hd_access_move(access, index);
}

/// The same with two indices, of a view of two axes. In the row that was
/// touched last, that is two comparisons, and no call; so go along the last
/// axis.
static inline const void *hd_access_at_2(struct hd_access *access, int64_t i,
                                         int64_t j, size_t size)
{
    uint64_t at = (uint64_t)j - (uint64_t)access->row_first_;

    if (i == access->row_ && at < access->row_count_)
        return access->row_start_ +
               (int64_t)at * access->row_step_ * (int64_t)size;
    return hd_access_move_2(access, i, j);
}

/// A row of a view of two axes that a loop keeps in registers: hd_access_at_2()
/// reads the row of its access from memory at every touch, since a call may
/// have changed it. Begin one with hd_cursor_of() and give it to no function
/// but hd_cursor_at_2(). Of one access there is one cursor, and nothing else
/// touches through it.
///
/// Invariant: `count_` is 0, or the elements (row_, first_) to
/// (row_, first_ + count_ - 1) lie from `start_` on, `step_` bytes apart.
///
/// Owner: the task's function, as of its access, which must outlive it
struct hd_cursor {
    struct hd_access *access_;
    const char *start_;
    int64_t row_, first_, step_;
    uint64_t count_;
};

static inline struct hd_cursor hd_cursor_of(struct hd_access *access)
{
    struct hd_cursor cursor = {access, 0, 0, 0, 0, 0};

    return cursor;
}

/// Return the cursor in the row of an element; without elements when that
/// fails: see the `status` of its access.
HD_API struct hd_cursor hd_cursor_move_2(struct hd_access *access, int64_t i,
                                         int64_t j) __attribute__((cold));

/// Return the address of an element, to read it, as hd_access_at_2() does; NULL
/// when that fails. A loop along the last axis loads nothing but the elements.
__attribute__((always_inline)) static inline const void *hd_cursor_at_2(
    struct hd_cursor *cursor, int64_t i, int64_t j)
{
    uint64_t at = (uint64_t)j - (uint64_t)cursor->first_;

    if (__builtin_expect(i != cursor->row_ || at >= cursor->count_, 0)) {
        // Member by member: what a call returns whole it writes to memory.
        const struct hd_cursor next = hd_cursor_move_2(cursor->access_, i, j);
        cursor->start_ = next.start_;
        cursor->row_ = next.row_;
        cursor->first_ = next.first_;
        cursor->step_ = next.step_;
        cursor->count_ = next.count_;
        if (next.count_ == 0)
            return 0;
        at = (uint64_t)j - (uint64_t)cursor->first_;
    }
    return cursor->start_ + (int64_t)at * cursor->step_;
}

/// Get `count` elements, from an index on along the last axis, that follow each
/// other: where they lie if they are in one block, else copied to memory of the
/// task, where they stay until the next call with this access. One check for
/// all of them, and a loop over them is one over an array. NULL when that
/// fails: see `status`.
///
/// Errors:  HD_EINVAL (`count` below 1, elements that the view does not have),
///          HD_ENOMEM, HD_EPEER
static inline const void *hd_access_row(struct hd_access *access,
                                        const int64_t *index, int64_t count)
{
    const struct hd_tile *tile = &access->tile;
    int64_t place = 0, rest = 0, step = 0;

    for (unsigned i = 0; i < tile->grid.rank; i++) {
        int64_t at = index[i] - tile->grid.offset[i];

        if ((uint64_t)at >= (uint64_t)tile->grid.extent[i])
            return hd_access_move_row(access, index, count);
        step = tile->step[i];
        rest = tile->grid.extent[i] - at;
        place += at * step;
    }
    if (count < 1 || count > rest || step != 1)
        return hd_access_move_row(access, index, count);
    return (const char *)tile->data + place * (int64_t)access->element_;
}

/// Get the elements of a box of the view's indices as an array, whose last axis
/// has step 1: where they lie if they are in one block, else put together in
/// memory of the task, where they stay until the next call with this access.
/// One check for all of them, however often, and in whatever order, a task then
/// touches them. False when that fails: see `status`.
///
///     hd_access_box(&access, &around, &tile);
///     const double *row = hd_tile_at(&tile, (int64_t[]){i, j}, sizeof(*row));
///
/// Errors:  HD_EINVAL (elements that the view does not have, or none),
///          HD_ENOMEM, HD_EPEER
HD_API bool hd_access_box(struct hd_access *access, const struct hd_grid *box,
                          struct hd_tile *tile);

/// Find the labels of a map's nodes, `to`, with which a redistribution of
/// `field` to it moves the fewest bytes (an assignment problem, solved
/// exactly), for hd_map_relabel(). The same on all processes.
///
/// Errors:  HD_EINVAL (the grids differ), HD_ENOMEM
HD_API hd_status hd_map_best_labels(const struct hd_map *from,
                                    const struct hd_map *map, uint32_t *to,
                                    struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
