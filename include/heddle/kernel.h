// Programs of OpenCL C kernels, the memory they work on, and launching them.
#ifndef HEDDLE_KERNEL_H
#define HEDDLE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/priority.h"
#include "heddle/status.h"
#include "heddle/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_group;
struct hd_runtime;
struct hd_program; // compiled source: a set of kernels
struct hd_kernel;  // one of them; owned by its program
struct hd_buffer;  // memory that kernels read and write
struct hd_image;   // the same with texels in it: see image.h

// Programs ------------------------------------------------------------------

/// One part of a program: a source, a library or a finished binary.
///
/// Owner: the caller; nothing is kept of it
struct hd_program_part {
    const char *path;    // as in hd_program_params
    const char *source;  // as well
    const void *binary;  // as well
    size_t binary_size;  // [bytes]
    const char *options; // of this source, after those of the program; optional
};

/// A program: one source or binary, or several parts.
///
/// Owner: the caller; nothing is kept of it, and `*log` is the caller's
struct hd_program_params {
    const char *path;   // file to read: .cl source or Heddle's own .hdb binary;
                        // with `source` only the name used in messages
    const char *source; // OpenCL C text, 0-terminated; NULL: read `path`
    const void *binary; // of hd_program_binary(), instead of both; optional
    size_t binary_size; // [bytes]
    const char *options; // such as "-D N=4 -cl-fast-relaxed-math"; optional
    const char *what;    // who asks ("planet.lua:12"), for messages; optional

    // Instead of the one part above: several, each compiled by itself, which
    // are then linked.
    const struct hd_program_part *parts;
    unsigned part_count;

    // Compile and link the parts as far as that goes without the rest: the
    // program has no kernels to launch, but its binary is a part for others.
    bool library;

    // What the compiler says, warnings of a success too, replaces the text here
    // (NULL: none yet), which the caller frees; without it warnings go to
    // Heddle's log. Of what is in the cache or a binary: what it said then.
    char **log;

    // Processors to make code for, instead of the one at hand: clang's names,
    // "x86-64-v3,skylake-avx512"; "native" is the one at hand, exactly. The
    // program's binary then holds code for each, and of a binary that is loaded
    // the best is taken that runs. NULL: "native".
    const char *cpus;
};

/// Compile OpenCL C, or load what was compiled before; both through the cache.
///
/// `#include` finds files beside `path`. Options are those of OpenCL 1.2
/// (-D, -I, -cl-*, -w, -Werror, -g); others are refused. With -g kernels are
/// built a second time, checked, so that those of the binary can name the
/// work-item of a fault as those of a source do.
///
/// Sources and libraries among the parts use each other's functions and
/// variables as in C: defined once, declared elsewhere. Finished binaries add
/// their kernels, behind the others, and share nothing.
///
/// A program for processors none of which is like the one at hand is good for
/// its binary and for looking at its kernels, the first processor's; launching
/// them is HD_ENOTSUP.
///
/// Errors:  HD_ENOENT, HD_EIO, HD_EINVAL (an option, the parts, kernels of one
///          name in binaries, a processor), HD_EBUILD (the text holds
///          the compiler's messages with the user's file and line), HD_EFORMAT
///          (a damaged binary), HD_ENOTSUP (source, and no compiler built in; a
///          binary without code for this processor), HD_ENOMEM
/// Owner:   the caller; hd_program_destroy() when no launch uses it any more
/// Threads: any
HD_API hd_status hd_program_create(struct hd_runtime *runtime,
                                   const struct hd_program_params *params,
                                   struct hd_program **program,
                                   struct hd_error *error);

/// Give the program and its kernels up. NULL is allowed.
///
/// Threads: any; no launch may use its kernels any more
HD_API void hd_program_destroy(struct hd_program *program);

/// Write the program as a binary that hd_program_create() loads without a
/// compiler. The file appears whole or not at all; a link is followed, and what
/// is no regular file (a pipe, a device) is written into.
///
/// Errors:  HD_EIO
/// Threads: any
HD_API hd_status hd_program_save(const struct hd_program *program,
                                 const char *path, struct hd_error *error);

/// The same binary in memory, for hd_program_params.binary. The caller frees it
/// with free().
///
/// Errors:  HD_ENOMEM, HD_ENOTSUP (built without checksums)
/// Threads: any
HD_API hd_status hd_program_binary(const struct hd_program *program,
                                   void **binary, size_t *size,
                                   struct hd_error *error);

/// True when the code came out of the cache or a binary.
///
/// Threads: any
HD_API bool hd_program_was_cached(const struct hd_program *program);

/// Return how many kernels the program has.
///
/// Threads: any
HD_API unsigned hd_program_kernel_count(const struct hd_program *program);

/// Return kernel `index`, in the order of the source, or NULL.
///
/// Owner: the program. Threads: any.
HD_API const struct hd_kernel *hd_program_kernel(
    const struct hd_program *program, unsigned index);

/// Return the kernel of that name, or NULL. Owner: the program. Threads: any.
HD_API const struct hd_kernel *hd_program_find(const struct hd_program *program,
                                               const char *name);

// What the analyser found out about a kernel.
enum hd_arg_kind {
    HD_ARG_VALUE,    // a number, vector or struct, by value
    HD_ARG_GLOBAL,   // pointer to global memory: a buffer
    HD_ARG_CONSTANT, // pointer to constant memory: a buffer
    HD_ARG_LOCAL,    // pointer to local memory: a size
    HD_ARG_IMAGE,    // an image: see image.h
    HD_ARG_SAMPLER
};

// As written before or behind the type an argument points to.
enum hd_arg_qualifier {
    HD_ARG_CONST = 1,
    HD_ARG_RESTRICT = 2,
    HD_ARG_VOLATILE = 4
};

/// An argument as the kernel declares it. Owner: the program.
struct hd_kernel_arg {
    const char *name;
    const char *type; // as written, such as "float4*"; of images with how they
                      // are used: "read_only image2d_t"
    enum hd_arg_kind kind;
    uint32_t size;       // of a value, or of what a pointer points to [bytes]
    bool pointee_const;  // a pointer or image that is only read through
    uint32_t qualifiers; // enum hd_arg_qualifier, added
};

// What the work-items of a kernel became.
enum hd_kernel_form {
    HD_FORM_LOOPS,   // work-items are loops, split at barriers
    HD_FORM_THREADS, // work-items are user-level threads
    HD_FORM_CHECKED, // the same, every access to memory looked at
    HD_FORM_GRID     // work-items of all work-groups are threads at once, since
                     // they wait for each other: hd_grid_barrier()
};

// Where a kernel should run that nothing else is known of: the compiler's
// guess, from what its work-items do. Measured times count more.
enum hd_suits {
    HD_SUITS_ANY, // it cannot tell
    HD_SUITS_CPU, // work-items are few, alike, or each does another thing
    HD_SUITS_GPU  // data-parallel
};

/// What a kernel is and what became of it. Owner: the program.
struct hd_kernel_info {
    const char *name;
    const char *file; // where it is written
    uint32_t line;
    unsigned arg_count;
    uint32_t required_local[3]; // reqd_work_group_size, else 0
    uint32_t hinted_local[3];   // work_group_size_hint, else 0
    const char *hinted_type;    // vec_type_hint: "float4"; else ""
    uint32_t local_bytes;       // of local variables in the kernel
    uint32_t saved_bytes;       // kept per work-item across barriers
    uint32_t barriers;          // barrier calls after inlining
    enum hd_kernel_form form;
    enum hd_suits suits;     // and `explanation` says why
    const char *explanation; // how it became code, in words; lines end in '\n'
};

/// Owner: the program. Threads: any.
HD_API const struct hd_kernel_info *hd_kernel_info(
    const struct hd_kernel *kernel);

/// Return what is known of argument `index`, or NULL.
///
/// Owner: the program. Threads: any.
HD_API const struct hd_kernel_arg *hd_kernel_arg(const struct hd_kernel *kernel,
                                                 unsigned index);

// Memory --------------------------------------------------------------------

/// Get `size` [bytes] of zeroed memory that kernels can use, aligned to 128. Up
/// to 2 MiB, children of fork() share it; as a `constant` argument it is
/// read-only.
///
/// Errors:  HD_EINVAL (size 0), HD_ENOMEM
/// Owner:   the caller; hd_buffer_destroy() when no launch uses it any more
/// Threads: any
HD_API hd_status hd_buffer_create(struct hd_runtime *runtime, uint64_t size,
                                  struct hd_buffer **buffer,
                                  struct hd_error *error);

/// Make a buffer in memory of the caller's, which it leaves as it is and which
/// must stay until the buffer, and everything that was started with it, is
/// gone. Kernels need it aligned as their types are.
///
/// Errors:  HD_EINVAL (NULL, size 0), HD_ENOMEM, HD_ENOTSUP (the device does
/// not
///          reach it)
/// Owner:   the caller; hd_buffer_destroy()
/// Threads: any
HD_API hd_status hd_buffer_wrap(struct hd_runtime *runtime, void *memory,
                                uint64_t size, struct hd_buffer **buffer,
                                struct hd_error *error);

/// Make a buffer of `size` bytes of another one, from `offset` on: the same
/// memory, which stays as long as either is there. Parts may overlap: a large
/// buffer can be an arena in which a planner places others.
///
/// Errors:  HD_EINVAL (size 0, outside the parent), HD_ENOMEM
/// Owner:   the caller; hd_buffer_destroy(), before or after the parent
/// Threads: any
HD_API hd_status hd_buffer_sub(struct hd_buffer *parent, uint64_t offset,
                               uint64_t size, struct hd_buffer **buffer,
                               struct hd_error *error);

/// Give the buffer up; NULL is allowed. Its memory goes when what was started
/// with it (heddle/event.h) has ended and its parts are gone.
///
/// Threads: any; nobody may use the buffer after
HD_API void hd_buffer_destroy(struct hd_buffer *buffer);

/// Return the size of the buffer [bytes].
///
/// Threads: any
HD_API uint64_t hd_buffer_size(const struct hd_buffer *buffer);

/// Copy `size` [bytes] between host memory and a buffer, from `offset` on.
///
/// Errors:  HD_EINVAL (outside the buffer)
/// Threads: not together with a launch that uses these bytes
HD_API hd_status hd_buffer_write(struct hd_buffer *buffer, uint64_t offset,
                                 const void *from, uint64_t size,
                                 struct hd_error *error);
HD_API hd_status hd_buffer_read(const struct hd_buffer *buffer, uint64_t offset,
                                void *to, uint64_t size,
                                struct hd_error *error);

/// Return the host address of the bytes, or NULL when the memory is not the
/// host's; then only hd_buffer_read() and hd_buffer_write() reach it.
///
/// Owner: the buffer. Threads: any.
HD_API void *hd_buffer_host(struct hd_buffer *buffer);

// Launching -----------------------------------------------------------------

/// The index space of a launch, as in OpenCL.
struct hd_range {
    unsigned dims;      // 1, 2 or 3
    uint64_t global[3]; // [work-items]; 0 in any dimension: nothing to do
    uint32_t local[3];  // [work-items]; all 0: chosen for the kernel and cores
    uint64_t offset[3]; // of the global ids
};

// What an argument of a launch is.
enum hd_arg_is {
    HD_IS_VALUE,
    HD_IS_BUFFER,
    HD_IS_LOCAL,
    HD_IS_IMAGE,
    HD_IS_SAMPLER
};

/// One argument of a launch. Use the macros below.
///
/// Owner: the caller; a value is read during the call, buffer and image must
/// stay until the launch has ended
struct hd_arg {
    enum hd_arg_is is;
    const void *value;              // HD_IS_VALUE: read during the call
    uint64_t size;                  // HD_IS_VALUE, HD_IS_LOCAL [bytes]
    const struct hd_buffer *buffer; // HD_IS_BUFFER; NULL: the null pointer
    uint64_t offset;                // HD_IS_BUFFER: into the buffer [bytes]
    const struct hd_image *image;   // HD_IS_IMAGE
    uint32_t sampler; // HD_IS_SAMPLER: HD_COORDINATES_ | HD_ADDRESS_ |
                      // HD_FILTER_
};

// HD_VALUE takes a variable: HD_VALUE(n).
#define HD_VALUE(variable)                                                \
    {                                                                     \
        .is = HD_IS_VALUE, .value = &(variable), .size = sizeof(variable) \
    }
#define HD_BUFFER(pointer)                      \
    {                                           \
        .is = HD_IS_BUFFER, .buffer = (pointer) \
    }
#define HD_LOCAL(bytes)                    \
    {                                      \
        .is = HD_IS_LOCAL, .size = (bytes) \
    }
#define HD_IMAGE(pointer)                     \
    {                                         \
        .is = HD_IS_IMAGE, .image = (pointer) \
    }
#define HD_SAMPLER(bits)                       \
    {                                          \
        .is = HD_IS_SAMPLER, .sampler = (bits) \
    }

/// Run a kernel over `range` and wait until every work-group has finished.
///
/// The work-groups are divided recursively into tasks that the workers steal
/// from each other. A worker that calls this helps. The last
/// group of a dimension may be smaller (non-uniform work-groups).
///
/// Errors:  HD_EINVAL (count, kind or size of an argument; a work-group size
///          the kernel forbids), HD_ELIMIT (too much local memory, too large a
///          group), HD_EFAULT, HD_ENOTSUP, HD_ENOMEM. On an error found before
///          the start nothing has run.
/// Threads: any
HD_API hd_status hd_launch(struct hd_runtime *runtime,
                           const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct hd_arg *args, unsigned arg_count,
                           struct hd_error *error);

/// A box of the work-groups of a launch.
struct hd_piece {
    uint64_t first[3], count[3]; // [work-groups]
    uint64_t groups;             // in all
    uint64_t items;              // in these, if none is smaller
    uint64_t time; // that they take, by what the kernel took before; 0: not
                   // known [ns]
};

// What is touched of a buffer.
enum hd_touches {
    HD_TOUCHES_NOTHING,
    HD_TOUCHES_ROWS, // some rows of bytes
    HD_TOUCHES_ALL   // it is not known what: it may be all
};

/// Rows of bytes: `bytes` from `begin` on, counted from where the buffer
/// begins, `count[0]` times with `stride[0]` between begins, and all of that
/// `count[1]` times with `stride[1]`. A single row has counts of 1.
struct hd_touched {
    enum hd_touches kind;
    bool exact;    // each of these bytes is touched, if the launch does not
                   // fail; else some may not be, but no others are
    int64_t begin; // may lie before the buffer when the launch is wrong [bytes]
    uint64_t bytes; // of a row
    uint64_t stride[2], count[2];
};

/// What the work-groups of a box read and write through an argument.
struct hd_footprint {
    struct hd_touched read, write;
};

/// Tell which bytes of its buffers a launch, or a box of its work-groups, reads
/// and writes, before anything runs: for dividing a launch, for moving no more
/// than it needs, for refusing one that does not fit its buffers. It is never
/// less than what is touched. Through a buffer that is given for two arguments
/// each has its own.
///
/// `piece` NULL: all work-groups; the range may then leave its work-group size
/// to Heddle. `footprints` has one element per argument; of values and local
/// memory nothing is touched.
///
/// Errors:  HD_EINVAL (number of arguments, dimensions, a box without a
///          work-group size or beyond the range), HD_ELIMIT (more than 2^40
///          work-items along an axis), HD_ENOMEM
/// Threads: any
HD_API hd_status hd_kernel_footprint(
    const struct hd_kernel *kernel, const struct hd_range *range,
    const struct hd_arg *args, unsigned arg_count, const struct hd_piece *piece,
    struct hd_footprint *footprints, struct hd_error *error);

/// How a launch is run. All zero: the defaults.
///
/// Owner: the caller; `group`, `workers` and `leaf_data` must stay until the
/// launch has ended
struct hd_launch_params {
    // Of launches at the same time those of higher priority get most of the
    // workers, the others a part; equals share the time evenly.
    enum hd_priority priority;

    // A launch that takes longer ends with HD_ETIMEOUT, wherever its kernel is
    // then; what it has written stays. 0: the runtime's limit [ns].
    uint64_t time_limit;

    // hd_group_cancel() on this group ends the launch with HD_ECANCELED. NULL:
    // the group that the calling task or job belongs to, if any.
    struct hd_group *group;

    // Where it may run, of a runtime with several devices: bit i is device i.
    // With several it runs where it is done first, by what it took before, what
    // else is under way there, and what would have to be copied; or in parts on
    // all of them, where these can be told apart by what they read and write. A
    // kernel that never ran prefers a GPU. A program whose kernels may write
    // variables of its own stays on one device. 0: any.
    uint64_t devices;

    // Where it runs, of a runtime with units: HD_ENODEV when none of the units
    // there is attached.
    enum hd_place place;
    unsigned unit; // that `place` names

    // The workers that run it, and no others: `worker_count` numbers, as of
    // hd_worker_index(); or, with `workers` NULL, so many at a time, near the
    // caller and each other, whoever is free there. A named one that is busy
    // is waited for. With `worker_count` 0 all that are free.
    const unsigned *workers;
    unsigned worker_count;

    // Task-parallel: every work-item is a task by itself, a work-group of one
    // that any worker may take, for items that differ much or of which each
    // takes long. Its local size is 1.
    bool tasks;

    // The cutoff. A worker takes a piece and asks: true, it is run as
    // one leaf, on a unit of the worker's if it has any; false, it is halved,
    // and the halves are taken in turn, by this worker or another. One
    // work-group is a leaf and not asked about. While launches share the
    // workers a leaf may be smaller than the answers say. Called on workers,
    // several at a time. NULL: the automatic cutoff.
    bool (*is_leaf)(const struct hd_piece *piece, void *data);
    void *leaf_data;
};

/// As hd_launch(). `params` may be NULL for the defaults.
///
/// Errors:  as well HD_ETIMEOUT, HD_ECANCELED, HD_ENODEV (place), HD_EINVAL
///          (workers that are not there, twice or beside a unit; `tasks` with
///          larger work-groups or with a cutoff), HD_ENOTSUP (workers, and
///          work-groups wait for each other)
/// Threads: any
HD_API hd_status hd_launch_with(struct hd_runtime *runtime,
                                const struct hd_launch_params *params,
                                const struct hd_kernel *kernel,
                                const struct hd_range *range,
                                const struct hd_arg *args, unsigned arg_count,
                                struct hd_error *error);

/// A kernel that runs at the same time as others. Owner: the caller.
struct hd_part {
    const struct hd_kernel *kernel;
    struct hd_range range;
    const struct hd_arg *args;
    unsigned arg_count;
    unsigned unit; // where, if the gang's place is HD_ON_UNIT
};

/// Run several kernels at the same time, such as a producer and a consumer that
/// exchange data through a buffer, and wait for all. Each has a unit for
/// itself, all of which are reserved before any kernel starts; in a runtime
/// without units, a worker (see hd_pool_run_gang()). The work-groups of one
/// kernel run one after another, on a unit of several cores so many at a time.
///
/// `params->place`: HD_ANYWHERE; HD_ON_UNIT, each part on its `unit`;
/// HD_ON_MODULE_OF `params->unit`, where they share a cache; or
/// HD_ON_DISTINCT_MODULES. Priority and cutoff are not looked at. The first
/// that fails ends all, and its error is the gang's.
///
/// Errors:  as hd_launch_with(); HD_EINVAL (no parts, a part without
///          work-items, two on one unit; without units also: called on a
///          worker), HD_ENODEV, HD_ELIMIT (not that many units or workers
///          there), HD_ENOTSUP (a checked kernel): nothing has run
/// Threads: any; without units any that is no worker of the runtime
HD_API hd_status hd_launch_gang(struct hd_runtime *runtime,
                                const struct hd_launch_params *params,
                                const struct hd_part *parts, unsigned count,
                                struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
