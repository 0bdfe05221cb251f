// The contract between Heddle and a kind of hardware.
//
// A backend is one folder that defines one `const struct hdi_backend`, its only
// global symbol. Every member that is not said to be optional is required.
// Calls flow down only: a backend never calls the layers above it, it reports
// through the values it returns. Differences between backends are data, in
// hdi_capabilities.
//
//     device   one piece of hardware: all CPU cores given to us, or one GPU
//     code     an image loaded on a device
//     unit     what runs chunks: a CPU core on its worker's own thread, a team
//              of threads, a tile of a persistent GPU kernel
//
// Who may call at the same time: open/close alone; alloc, free, copy, move,
// pin, unpin, load, unload, find and unit_open/unit_close on one device from
// any thread; submit, done, status and explain of one unit only one thread at a
// time, but for different units freely.
#ifndef HDI_BACKEND_BACKEND_H
#define HDI_BACKEND_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/frame.h"
#include "heddle/status.h"

struct hdi_backend;
struct hdi_device_list;
struct hdi_share;
struct hdi_text;
struct hdi_topology;

// Where what kernels print goes, in whole lines; any thread may call it.
struct hdi_print_sink {
    void (*print)(void *data, const char *text, size_t size); // NULL: stdout
    void *data;
};

// Where a device keeps what it made in much time, for the next process that
// would make it of the same: `key` is all that it depends on. Any thread may
// call these.
struct hdi_archive {
    // Appends what is kept; false: there is nothing, or no more as it was.
    bool (*find)(void *data, const struct hdi_text *key, struct hdi_text *made);
    // What cannot be kept is made again.
    void (*keep)(void *data, const struct hdi_text *key, const void *made,
                 size_t size);
    void *data;
};

// How a device is opened. A backend takes from it what it knows.
struct hdi_device_params {
    unsigned units;        // of its own threads, for a backend whose units run
                           // on the caller otherwise; 0: none
    unsigned unit_cores;   // of each; 0: 1
    uint64_t unit_timeout; // a unit that takes longer for a chunk hangs [ns];
                           // 0: wait for ever
    bool doorbell;         // one chunk at a time, through the doorbell alone
    bool guard;            // buffers end where inaccessible memory begins, as
                           // far as their sizes are aligned
    struct hdi_print_sink print;
    const struct hdi_archive
        *archive; // outlives the device; NULL: nothing is kept
};

enum {
    HDI_UNIT_ON_CALLER = 0x7fffffff // see unit_open()
};

struct hdi_capabilities {
    const char *description; // for people: "AMD EPYC, 2 cores"
    const char *lines;       // what tells the source line of a fault, or why
                             // none does; NULL: no code of it is looked at
    const char *target;      // LLVM triple of its code; "" takes no code
    const char *cpu;         // which processor: code made for one is not used
                             // on another; part of the key of cached code
    const char *features; // instruction sets it has, as LLVM calls them, with
                          // blanks between, later ones being worth more;
                          // NULL: not told, it runs code for `cpu` alone
    uint32_t units;       // units worth opening at the same time
    uint32_t in_flight;   // chunks one unit holds at the same time
    uint32_t group_items; // most work-items of one work-group
    uint64_t local_bytes; // most local memory of one work-group
    const uint32_t *modules; // of each unit: which share a cache; NULL: all
    uint64_t module_bytes;   // local memory that the units of a module share,
                             // handed out by the caller: see hdi_chunk.region;
                             // 0: each unit has its own
    const uint32_t *classes; // of each unit, below 32: see classes(); NULL: 0
    uint32_t unit_threads;   // of all units, on this machine's cores
    bool on_caller;          // submit() has run the chunk when it returns
    bool caller_too;         // unit_open() knows HDI_UNIT_ON_CALLER
    bool host_memory;        // device addresses are host addresses
    bool discards;           // runs nothing: results are undefined (null)
    // Of hardware that is no processor of this machine, else 0.
    uint32_t cores;        // what runs work-groups: multiprocessors
    uint32_t sub_group;    // work-items of one
    uint32_t clock;        // [MHz]
    uint64_t memory_bytes; // its own
    uint64_t cache_bytes;  // of the largest cache
    bool corrects;         // errors of its memory
};

// A backend's own structures begin with these.
struct hdi_device {
    const struct hdi_backend *backend;
    struct hdi_capabilities can;
    atomic_bool lost; // set by the backend: nothing runs on it any more
};

struct hdi_code {
    struct hdi_device *device;
};

struct hdi_unit {
    struct hdi_device *device;
};

struct hdi_entry; // one kernel of loaded code, defined by the backend

// A box of work-groups of one kernel: what one unit runs in one go. The frame's
// `args` point to packed arguments that stay until the chunk is done; `local`
// and `saved` are filled in by the unit.
struct hdi_chunk {
    const struct hdi_entry *entry;
    struct hdi_frame frame;
    uint64_t local_bytes; // local memory of one work-group
    uint64_t saved_bytes; // room for values across barriers, of one work-group
    // With can.module_bytes: where in the unit's module the local memory begins
    // [bytes], a multiple of 128. Nobody else has it until the chunk is done.
    // HDI_NO_REGION: the chunk runs in another way, if it has local memory.
    uint32_t region;
    const atomic_int *stop; // not 0: what runs is not wanted any more; optional
    const struct hdi_check_launch *check; // of checked kernels: checks.h
    // Of work-groups that wait for each other, a share of the box: meeting.h.
    // The memory is of that share. NULL: all of them.
    const struct hdi_share *share;
    struct hdi_device_list *list; // work this off; optional
};

// A graph of launches that a device works off by itself (list.h), as one chunk
// of a unit. Such a chunk has nothing but `list` and `stop`.
struct hdi_device_list {
    struct hdi_device *device;
    // With can.module_bytes, and HDI_LIST_BY_UNITS:
    uint64_t local_bytes; // most of a step
    uint32_t *regions; // of each unit, as hdi_chunk.region; set while it does
                       // not run, as make() does, as if all units had equal
                       // parts. Units with HDI_NO_REGION do not help, and it is
                       // submitted to none of them. NULL: no step has any.
    // Of the last result(): why a step was refused what it appended, as enum
    // hdi_list_failure; 0: it was not.
    uint32_t refused, refused_step;
};

struct hdi_list_step {
    struct hdi_chunk chunk;
    const uint32_t *after; // steps that come after it
    uint32_t after_count;
    // Steps of a family, which are neighbours, append each other: appends.h
    // numbers them from its first on. Appended ones run when a kernel asks for
    // them, before what comes after the step that asks; nothing else leads
    // to them, or from them.
    bool appended;
    uint32_t family, family_count; // steps; of a family of none nobody appends
    uint32_t most;                 // are appended by all of them in one run
    uint32_t appends_at; // place in the arguments of the pointer to the step's
                         // struct hdi_appends, and 1; 0: it asks for nothing
};

// How it is worked off.
enum hdi_list_form {
    HDI_LIST_BY_UNITS,   // units claim work-groups of what is ready
    HDI_LIST_BY_LAUNCHES // the hardware starts launches in their order: no step
                         // appends, and there are no times
};

struct hdi_list_params {
    const struct hdi_list_step *steps;
    enum hdi_list_form form;
    uint32_t count, more; // of a run, those that are appended
};

// By the device's clock, when its first work-group began and its last ended.
struct hdi_list_time {
    uint64_t begin, end; // [ns]
    uint32_t step;       // or what it is a copy of
};

// Optional. All but make() and free() while the list does not run; one thread
// at a time for a list.
struct hdi_lists {
    // Errors: HD_ENOTSUP (a step is not for this device's units, or it has
    // none of its own), HD_EINVAL, HD_ELIMIT, HD_ENOMEM
    hd_status (*make)(struct hdi_device *device,
                      const struct hdi_list_params *params,
                      struct hdi_device_list **list, struct hd_error *error);
    void (*free)(struct hdi_device_list *list);

    // The packed arguments of a step, which may be changed between runs;
    // the step's own were those of the first.
    void *(*args)(struct hdi_device_list *list, uint32_t step);

    // How the last run ended, and the times of the first `*count` passes, those
    // appended behind the steps; sets how many there were, 0 without times.
    hd_status (*result)(struct hdi_device_list *list,
                        struct hdi_list_time *times, uint32_t *count,
                        struct hd_error *error);
};

// A copy that nobody waits for: see move(). All 0 but for the first three.
struct hdi_device_copy {
    void *to;
    const void *from;
    uint64_t size; // may be made as small as `begun` to end it early [bytes]
    hd_status status;
    uint64_t begun, ended; // bytes
    // The backend's:
    bool waits; // its thread does nothing else until it has ended
    unsigned way;
    void *parts[2];
};

// What a kernel did that it may not, as far as the hardware tells.
struct hdi_fault {
    enum hdi_fault_kind {
        HDI_FAULT_ACCESS,     // touched memory that is not there for it
        HDI_FAULT_EXCEPTION,  // of floats, which the application has enabled
        HDI_FAULT_INSTRUCTION // came where the compiler expected nobody
    } kind;
    enum {
        HDI_FAULT_UNKNOWN,
        HDI_FAULT_READS,
        HDI_FAULT_WRITES
    } access;
    bool has_address;
    uint64_t address;
    bool constant; // it is one of a constant at program scope
    struct hdi_fault_block {
        uint64_t begin, bytes;
    } local, saved,              // the unit's own memory
        own, all;                // of the work-item, and of all: their stacks
                                 // or coroutines, and what lies round them
    uint32_t first[3], count[3]; // work-groups, one of which it was
    bool has_item;               // then it was work-item `item` of the first
    uint64_t item[3];            // global id
    uint32_t line;               // of the source; 0: not known
    char file[256];
};

struct hdi_backend {
    const char *name; // "cpu"; also the folder
    // What people choose it by: "gpu"; several backends may be of a kind, of
    // which the first with a device is taken.
    const char *kind;
    bool in_all;       // its device is one of "all"
    const char *title; // of its devices in a list of them, "GPU"; NULL: they
                       // are in none

    // Devices. open() returns HD_ENODEV when there is no device `index`;
    // `params` may be NULL for the defaults. The topology outlives the device.
    hd_status (*open)(const struct hdi_topology *topology, unsigned index,
                      const struct hdi_device_params *params,
                      struct hdi_device **device, struct hd_error *error);
    void (*close)(struct hdi_device *device);

    // Memory: zeroed, aligned to 128, or with `guard` as its size is. copy()
    // takes device or host addresses. When it returns, whatever looks at `to`
    // through this backend, or is the host, finds the bytes there: copies, and
    // chunks submitted from then on; and `from` may be written if it is the
    // host's, or by such copies and chunks.
    hd_status (*alloc)(struct hdi_device *device, uint64_t size, void **memory);
    void (*free)(struct hdi_device *device, void *memory, uint64_t size);
    hd_status (*copy)(struct hdi_device *device, void *to, const void *from,
                      uint64_t size);
    // copy() in steps, for who has better to do than to wait. Goes on with it
    // and returns whether it has ended, with `status`; if not, it is called
    // again, by one thread at a time. Optional: copies wait for nothing.
    bool (*move)(struct hdi_device *device, struct hdi_device_copy *move);
    // Memory of the host is copied often: see to it that this is fast, until
    // unpin(), which comes before the memory goes. False: nothing was done, and
    // unpin() is not called. Optional, both.
    bool (*pin)(struct hdi_device *device, void *memory, uint64_t size);
    void (*unpin)(struct hdi_device *device, void *memory, uint64_t size);
    // Two helps to find mistakes in kernels, of memory that alloc() gave.
    // view() gives its bytes once more, at an address where they cannot be
    // written, or NULL; end_view() comes before free(). seal() lets nobody
    // write it, or everybody again; its content stays: a backend that cannot
    // does nothing.
    void *(*view)(struct hdi_device *device, void *memory, uint64_t size);
    void (*end_view)(struct hdi_device *device, void *view, uint64_t size);
    void (*seal)(struct hdi_device *device, void *memory, uint64_t size,
                 bool sealed);

    // Code. The image is for can.target and is copied. find() returns NULL when
    // the code has no kernel of that name, or there is no memory, which errno
    // then says; entries live as long as the code.
    hd_status (*load)(struct hdi_device *device, const void *image, size_t size,
                      struct hdi_code **code, struct hd_error *error);
    void (*unload)(struct hdi_code *code);
    const struct hdi_entry *(*find)(struct hdi_code *code, const char *kernel);

    // Units. With can.on_caller, `index` is the worker's, and a unit is opened
    // by the thread that will use it. Else units 0 to can.units - 1 are there
    // once each, to be opened (attached) and closed (detached) at any time;
    // HD_ELIMIT: this one is open, or hangs since it was lost. With
    // can.caller_too, HDI_UNIT_ON_CALLER gives one more that runs on the
    // caller. unit_close() waits for what the unit runs.
    hd_status (*unit_open)(struct hdi_device *device, unsigned index,
                           struct hdi_unit **unit);
    void (*unit_close)(struct hdi_unit *unit);

    // submit() never blocks, except to run the chunk where the unit is on the
    // caller. It copies the chunk and returns false when the unit is full.
    // Chunks are numbered from 1 in the order of submission and finish in that
    // order: submitted() and done() are the numbers of the latest. status() is
    // that of a finished chunk, kept until can.in_flight later ones were
    // submitted: HD_OK, HD_ENOMEM (the unit could not get `local_bytes` or
    // `saved_bytes`), HD_EFAULT.
    //
    // A unit that hangs is lost: the chunk it hangs in ends with HD_ETIMEOUT,
    // those that it never started and all later ones with HD_ECANCELED; they
    // have not run and may run elsewhere. Such a unit is good for unit_close().
    //
    // explain() says which parts of a failed chunk failed, and why; "" when
    // there is nothing to say but the status.
    bool (*submit)(struct hdi_unit *unit, const struct hdi_chunk *chunk);
    uint64_t (*submitted)(const struct hdi_unit *unit);
    uint64_t (*done)(struct hdi_unit *unit);
    hd_status (*status)(const struct hdi_unit *unit, uint64_t chunk);
    //
    // fault() tells more of a chunk that ended with HD_EFAULT; false: nothing.
    void (*explain)(const struct hdi_unit *unit, uint64_t chunk, char *text,
                    size_t size);
    bool (*fault)(const struct hdi_unit *unit, uint64_t chunk,
                  struct hdi_fault *fault);

    // A `stop` was set: leave the kernels whose chunks have theirs set, however
    // long they would run. Their status is HD_OK, since who set it knows. Who
    // calls it is as for submit(); but where the unit is on the caller, another
    // thread or a signal handler, before submit() returns.
    void (*interrupt)(struct hdi_unit *unit);

    // The classes of units, as bits, that run the chunk themselves, given its
    // local memory. Other units may be given it too, and run it in another way;
    // but a list for units is only for those. NULL: all units do.
    uint32_t (*classes)(const struct hdi_device *device,
                        const struct hdi_chunk *chunk);

    const struct hdi_lists *lists; // NULL: the device works off none

    // Before a launch: what the application did in the meantime may have to be
    // undone, such as signal handlers that it put in place of ours.
    void (*prepare)(struct hdi_device *device);
};

// The backends of this build, in folder order. Never NULL.
const struct hdi_backend *const *hdi_backends(size_t *count);

// The backend of that name, or NULL.
const struct hdi_backend *hdi_backend_find(const char *name);

#endif
