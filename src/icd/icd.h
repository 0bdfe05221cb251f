// The objects of the OpenCL API, and what its files give each other.
//
// Every function of the API is in the file of its noun, under its own name; the
// symbols are hidden and reached through the dispatch table alone.
//
// How the parts belong together; an arrow is a hold (object.h), which is given
// back in the destructor:
//
//     event --> queue --> context --> device --> parent device
//     kernel --> program --> context, devices
//     mem, sampler, command buffer --> context or queue; mem --> parent mem
//     command --> what it uses, from enqueueing to its end
//
// Holds only go this way, so there are no circles. The way back is a list that
// holds nothing (queues of a context).
//
// A function of the API first checks its handles with hdi_cl_is(), the only
// thing that may be done with one that is not known to be live, then its other
// arguments, then acts.
#ifndef HDI_ICD_ICD_H
#define HDI_ICD_ICD_H

#include <pthread.h>
#include <stdlib.h>

#include "heddle/event.h"
#include "heddle/image.h"
#include "heddle/kernel.h"
#include "heddle/task.h"
#include "icd/object.h"
#include "launch/launch.h"
#include "launch/memory/spread.h"

struct hd_runtime;
struct hdi_cost;
struct hdi_event;

// Platform and devices --------------------------------------------------------

// There is one; it is made when the loader first asks and stays until the
// process ends, in children of fork() too.
struct _cl_platform_id {
    struct hdi_cl_object object;
};

// Which of the runtime's devices; the code of a program is for one of them.
enum {
    HDI_CL_CPU,
    HDI_CL_GPU,
    HDI_CL_SIDES
};

// Invariant: `runtime` is NULL until a command or a build needs it, then it
// stays. Devices of parts have runtimes of their own, with the parts' cores.
//
// `lock` guards the start of the runtime alone; `runtime` is read without it.
// All else is written before the handle is given out and constant after that.
struct _cl_device_id {
    struct hdi_cl_object object;
    struct _cl_device_id *parent; // of a part of the processor, else NULL
    unsigned side;                // HDI_CL_CPU, or HDI_CL_GPU
    struct hd_runtime *runtime;   // made when it is first needed; the GPU's is
                                  // that of the whole machine
    pthread_mutex_t lock;
    unsigned units; // workers
    // Of a part of the machine, else NULL: its cores, and how it was made.
    cpu_set_t *cores;
    cl_device_partition_property *partition;
    unsigned partition_size; // with the final 0
};

// The one platform, its processor and its GPU. NULL: no memory, or no GPU.
struct _cl_platform_id *hdi_cl_platform(void);
struct _cl_device_id *hdi_cl_root_device(void);
struct _cl_device_id *hdi_cl_gpu_device(void);

// What runs the device's commands. NULL: it cannot be started; said in the log.
struct hd_runtime *hdi_cl_runtime(struct _cl_device_id *device);

// What launches its kernels; NULL: it is not there any more.
struct hdi_launcher *hdi_cl_device_launcher(struct _cl_device_id *device);

// Local memory, largest buffer and the like, which other files check against.
//
// What one application may ask of images, samplers and arguments. They are what
// is told and what is checked; the core may take more.
enum {
    HDI_CL_IMAGE_MAX = 16384,   // width, height [texels]
    HDI_CL_IMAGE_3D_MAX = 2048, // width, height, depth [texels]
    HDI_CL_IMAGE_LAYERS = 2048,
    HDI_CL_SAMPLERS = 16,
    HDI_CL_IMAGES = 128,     // that a kernel takes
    HDI_CL_ARGUMENTS = 2048, // of a kernel [bytes]
    HDI_CL_ALIGN = 128,      // of buffers [bytes]
};

uint64_t hdi_cl_device_memory(void); // of the machine [bytes]
uint64_t hdi_cl_device_largest(const struct _cl_device_id *device); // buffer
                                                                    // [bytes]
size_t hdi_cl_device_group_items(const struct _cl_device_id *device);
size_t hdi_cl_device_sub_group(const struct _cl_device_id *device); // its items
uint64_t hdi_cl_device_local(const struct _cl_device_id *device);   // [bytes]
bool hdi_cl_device_takes_il(void);

void hdi_cl_device_destroy(void *object);

// In the child of fork(): its workers are the parent's, as is a trace that is
// to be written. The child starts some of its own.
void hdi_cl_device_forget(struct _cl_device_id *device);

// Contexts --------------------------------------------------------------------

// A callback for the end of an object. It is in the list of a context or a
// memory object, newest first, which is the order in which they are called; of
// the two functions the one that fits is set. Owned by that object; the list is
// under its lock.
struct hdi_cl_destructor {
    struct hdi_cl_destructor *next;
    void(CL_CALLBACK *context)(cl_context context, void *data);
    void(CL_CALLBACK *mem)(cl_mem mem, void *data);
    void *data;
};

// Invariant: `devices` has no duplicates, and they are held; it and the
// properties are constant. `lock` is over the three lists. `notify` may be
// called from any thread, workers too.
struct _cl_context {
    struct hdi_cl_object object;
    struct _cl_device_id **devices;
    unsigned device_count;
    cl_context_properties *properties; // with the final 0; or NULL
    unsigned property_count;
    void(CL_CALLBACK *notify)(const char *text, const void *info, size_t size,
                              void *data);
    void *data;
    pthread_mutex_t lock;
    struct hdi_cl_destructor *destructors;
    struct hdi_cl_svm *svm;           // what was allocated, newest first
    struct _cl_command_queue *queues; // all of them, newest first
};

bool hdi_cl_context_has(const struct _cl_context *context,
                        const struct _cl_device_id *device);

// Buffer that one of its devices takes [bytes].
uint64_t hdi_cl_context_largest(const struct _cl_context *context);

// Whether one of them shares the process's memory.
bool hdi_cl_context_shares(const struct _cl_context *context);

// The launcher whose memory the context's objects are in: the processor's. They
// are brought to the GPU, and back, by what uses them there.
struct hdi_launcher *hdi_cl_launcher(const struct _cl_context *context);

// Tell the application why something went wrong, as far as it asked to know.
void hdi_cl_context_tell(struct _cl_context *context, const char *text);

void hdi_cl_context_destroy(void *object);

// Wait until its queues are empty.
cl_int hdi_cl_context_finish(struct _cl_context *context);

// Queues and commands ---------------------------------------------------------

struct hdi_cl_command; // see command.c

// Invariant, with the lock: without a gate no command is behind one,
// `unflushed` is 0 and `newest` means nothing. `last` may have ended and be
// gone: that is as if nothing was before.
//
// The lock is over all from `gate` to `open_room`; `flushes` is written with it
// and read without. What comes before `lock` is constant, but for `modes`,
// which clSetCommandQueueProperty() changes with the lock when the queue is
// empty. `records` is set before the queue is used. `next` is under the
// context's lock.
struct _cl_command_queue {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_device_id *device;
    cl_command_queue_properties modes;
    cl_queue_properties *properties; // as given, with the final 0; or NULL
    unsigned property_count;

    pthread_mutex_t lock;
    hd_event gate; // what was enqueued after the last flush waits for it; 0:
                   // nothing was
    hd_event last; // what the next one waits for: the one before, or a barrier
    unsigned unflushed;            // commands behind the gate
    struct hdi_cl_command *newest; // of these, the last
    unsigned bursts;          // times it flushed itself, as far as that counts
    _Atomic uint64_t flushes; // that had something to do
    hd_event *open;           // out of order: what has not ended, and others
    unsigned open_count, open_room;
    bool records; // what is enqueued is given back, see hdi_cl_record()
    struct _cl_command_queue *next; // of the context
};

void hdi_cl_queue_destroy(void *object);

// Where and for what a command runs.
//
// It lives on the stack of who runs the command; `worker` is the one that this
// thread is.
struct hdi_cl_running {
    struct hd_worker *worker;
    struct _cl_command_queue *queue;
    struct hdi_event *record; // of the command; NULL: it has to end here
    struct hdi_cost *cost;    // optional: what its launches take is added there
};

enum {
    HDI_CL_LATER = CL_QUEUED // hdi_cl_end_later() ends the record
};

// What a command does. Everything it needs is in its payload, which `end` frees
// when it is over or could not begin. `run` returns the command's status, or
// HDI_CL_LATER, after which the payload may be gone.
//
// A static table, one per type of command; nothing in it changes. `run` NULL:
// it does nothing, and out of order without a wait list it comes after
// everything (markers and barriers).
struct hdi_cl_work {
    cl_command_type type;
    cl_int (*run)(const struct hdi_cl_running *at, void *payload); // or NULL
    void (*end)(void *payload);
};

// A command that went on without a worker has ended, at this time [ns].
void hdi_cl_end_later(struct hdi_event *record, cl_int result, uint64_t ended);

struct hd_start;

// Start a part of a command, which ends after its parts. `record` is of
// hdi_cl_take(); `end` gets the payload in any case, and hdi_cl_result() says
// there how it ended. False: no memory; it has ended.
bool hdi_cl_start_part(struct _cl_command_queue *queue,
                       struct hdi_event *record, const struct hdi_cl_work *work,
                       void *payload, const struct hd_start *how,
                       hd_event *event);
cl_int hdi_cl_result(const struct hdi_event *record);

struct hdi_cl_callback;

// What the application has of a command that it asked for, or a user's event.
// It is held until the command has ended.
//
// Life: made with the command, one reference of the application, one hold of
// the command. `status` is the only word that other threads wait for:
//
//     CL_QUEUED --> CL_RUNNING --> CL_COMPLETE, or an error (< 0)
//     CL_QUEUED --> an error, without running, when its wait list failed
//     CL_SUBMITTED --> CL_COMPLETE, or an error        of a user's event
//
// CL_SUBMITTED of a command is not stored: it is CL_QUEUED after the flush of
// its queue. The four times are written before the last status is stored and
// read by who has seen that. `callbacks` are under the lock of all callbacks
// (event.c).
struct _cl_event {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_command_queue *queue; // NULL: a user's
    cl_command_type type;
    struct hd_pool *pool;
    hd_event handle; // in the pool; one that has ended well may be gone there
    bool holds;      // the handle
    hd_event gate;   // of the queue, when it was enqueued
    uint64_t flush;  // how often that had been flushed
    _Atomic cl_int status; // as CL_EVENT_COMMAND_EXECUTION_STATUS, but for
                           // CL_SUBMITTED of a command
    uint64_t queued, submitted, started, ended; // [ns]
    struct hdi_cl_callback *callbacks;          // in the order of registration
    _Atomic uint32_t callback_count;
};

void hdi_cl_event_destroy(void *object);

// CL_SUCCESS, or what is wrong with a wait list.
cl_int hdi_cl_check_wait(const struct _cl_context *context, cl_uint count,
                         const cl_event *list);

// Enqueue a command, and wait for it if it is to block. The wait list has been
// checked. `end` gets the payload in any case. `event` is optional.
cl_int hdi_cl_enqueue(struct _cl_command_queue *queue,
                      const struct hdi_cl_work *work, void *payload,
                      cl_bool blocks, cl_uint wait_count,
                      const cl_event *wait_list, cl_event *event);

// The same in two steps, for a payload that is made where the command will be:
// room for it, aligned to 16, and the record, or NULL where the queue keeps
// commands (then it is allocated). NULL: no memory. Give an unused record back
// with hdi_event_give_back().
void *hdi_cl_take(struct _cl_command_queue *queue, size_t size,
                  struct hdi_event **record);
cl_int hdi_cl_enqueue_taken(struct _cl_command_queue *queue,
                            struct hdi_event *record,
                            const struct hdi_cl_work *work, void *payload,
                            cl_uint wait_count, const cl_event *wait_list,
                            cl_event *event);

// Let everything that was enqueued begin.
void hdi_cl_flush(struct _cl_command_queue *queue);

// Wait until it has ended; its status.
cl_int hdi_cl_wait(struct _cl_event *event);
cl_int hdi_cl_finish(struct _cl_command_queue *queue);

// Whether no command is left to be run, now or within a second.
bool hdi_cl_commands_rest(void);

// As the application is told it.
cl_int hdi_cl_event_status(const struct _cl_event *event);

// A user's event begins to wait for its end, and ends. False: no memory; it has
// ended.
bool hdi_cl_event_begin(struct _cl_event *event);
bool hdi_cl_event_end(struct _cl_event *event, cl_int status);

// Command buffers -------------------------------------------------------------

// A recorded command. Sync point n is the n-th command, counted from 1.
//
// `payload` is the buffer's and is freed with it, not after a run. `after` is
// filled where commands run out of order; the indices are smaller than its own.
struct hdi_cl_recorded {
    const struct hdi_cl_work *work;
    void *payload;
    unsigned *after; // commands, as indices
    unsigned after_count;
};

// What is recorded lies in `commands`, under `lock` until `is_final`, then
// constant: runs read it without a lock.
//
//     recording --finalize--> executable --enqueue--> pending
//                                  ^------------------'  last run has ended
struct _cl_command_buffer_khr {
    struct hdi_cl_object object;
    struct _cl_command_queue *queue;    // held: where it runs unless told
    struct _cl_command_queue *recorder; // its own
    cl_command_buffer_properties_khr properties[3];
    unsigned property_count;
    cl_command_buffer_flags_khr flags;

    pthread_mutex_t lock;
    bool is_final;
    struct hdi_cl_recorded **commands;
    unsigned count, room;
    unsigned barrier;         // what all later ones wait for, from 1; 0: none
    unsigned most_after;      // that one of them comes after
    _Atomic unsigned pending; // times that it is under way
};

// What a queue that records does with a command: `*made` is no event but a
// struct hdi_cl_recorded, for who enqueued it. As with hdi_cl_enqueue(), `end`
// gets the payload in any case.
cl_int hdi_cl_record(const struct hdi_cl_work *work, void *payload,
                     cl_event *made);
void hdi_cl_command_buffer_destroy(void *object);

// Memory ----------------------------------------------------------------------

// An address that is mapped, and how many times: each is unmapped by itself. In
// the list of its memory object, under its lock.
struct hdi_cl_map {
    struct hdi_cl_map *next;
    void *address;
    unsigned count;
};

// Invariant, once it is made: `buffer` is the runtime's (`owns`), or `own`,
// round memory of the application, or the parent's, which is held.
//
// Invariant: nothing but `maps`, `map_count` and `destructors`, which are under
// `lock`, changes after it was made.
struct _cl_mem {
    struct hdi_cl_object object;
    struct _cl_context *context;
    cl_mem_object_type type;
    cl_mem_flags flags;
    size_t size;              // [bytes]
    void *host_ptr;           // with CL_MEM_USE_HOST_PTR, else NULL
    struct _cl_mem *parent;   // of a sub-buffer, or an image of a buffer
    size_t offset;            // into the parent [bytes]
    struct hd_buffer *buffer; // where the bytes are: the parent's, or its own
    struct hd_buffer own;     // of memory that is not the runtime's
    bool owns;                // `buffer` goes with it
    bool is_svm;              // host_ptr is of clSVMAlloc()
    struct hd_image *image;
    cl_image_format format;
    cl_image_desc desc;
    cl_mem_properties *properties;
    unsigned property_count;
    pthread_mutex_t lock;
    struct hdi_cl_map *maps;
    cl_uint map_count;
    struct hdi_cl_destructor *destructors;
};

static inline bool hdi_cl_is_image(const struct _cl_mem *mem)
{
    return mem->type != CL_MEM_OBJECT_BUFFER && mem->type != CL_MEM_OBJECT_PIPE;
}

// The first byte of the object, where the host has it.
char *hdi_cl_mem_bytes(const struct _cl_mem *mem);

// The host uses bytes of it from now on, a command at a time: rows and slices
// from `at` on. They come from where they are. Else the context is told.
cl_int hdi_cl_mem_use(const struct _cl_mem *mem, const char *at,
                      const size_t region[3], size_t row, size_t slice,
                      enum hdi_use use);
cl_int hdi_cl_mem_use_all(const struct _cl_mem *mem, enum hdi_use use);

// What can be wrong with flags, besides being of another object's.
bool hdi_cl_flags_are_valid(cl_mem_flags flags);

// A part may be used for less than the whole; what it does not say is as there.
// False: it is asked for more.
bool hdi_cl_flags_inherit(cl_mem_flags whole, cl_mem_flags *flags);

// A buffer of the runtime's kind round memory that is not its own.
void hdi_cl_wrap(struct hdi_launcher *launcher, void *memory, uint64_t size,
                 struct hd_buffer *buffer);

// A new object, held by nobody, with flags, size and properties; of memory of
// the runtime or the host's.
struct _cl_mem *hdi_cl_mem_create(struct _cl_context *context,
                                  cl_mem_object_type type, cl_mem_flags flags,
                                  const cl_mem_properties *properties,
                                  cl_int *error);
cl_int hdi_cl_mem_fill(struct _cl_mem *mem, size_t size, void *host_ptr);

void hdi_cl_mem_destroy(void *object);

// What an image is made of.
struct hdi_cl_extent {
    size_t texel;      // [bytes]
    size_t size[3];    // [texels, rows, slices]
    size_t row, slice; // pitches [bytes]
};

void hdi_cl_image_extent(const struct _cl_mem *image,
                         struct hdi_cl_extent *extent);

// Whether origin and region lie in the image; else an error.
cl_int hdi_cl_image_region(const struct _cl_mem *image, const size_t *origin,
                           const size_t *region);

// One texel of `color`, as the image keeps it.
bool hdi_cl_image_pack(const cl_image_format *format, const void *color,
                       unsigned char texel[16]);

// Shared virtual memory -------------------------------------------------------

// An allocation that is told by its address. In the list of its context, under
// its lock; others get copies (hdi_cl_svm_find()), whose `buffer` may be gone
// when they look. `device` is not held: it is of the context, which outlives
// its memory.
struct hdi_cl_svm {
    struct hdi_cl_svm *next;
    struct hd_buffer *buffer;
    char *address;
    size_t size; // [bytes]
    cl_svm_mem_flags flags;
    // Of unified shared memory:
    cl_unified_shared_memory_type_intel type; // 0: it is none
    cl_mem_alloc_flags_intel alloc_flags;
    struct _cl_device_id *device; // or NULL
};

// Allocate `size` bytes with the other fields as they are. NULL: no memory.
void *hdi_cl_svm_allocate(struct _cl_context *context,
                          const struct hdi_cl_svm *what);

// The allocation that holds the address; size 0: there is none.
struct hdi_cl_svm hdi_cl_svm_find(struct _cl_context *context,
                                  const void *address);
void hdi_cl_svm_free_all(struct _cl_context *context);

// Samplers --------------------------------------------------------------------

// Constant once made. `bits` are all that kernels need, so that a launch holds
// no sampler.
struct _cl_sampler {
    struct hdi_cl_object object;
    struct _cl_context *context;
    cl_bool normalized;
    cl_addressing_mode addressing;
    cl_filter_mode filter;
    uint32_t bits; // as HD_SAMPLER() takes them
    cl_sampler_properties *properties;
    unsigned property_count;
};

void hdi_cl_sampler_destroy(void *object);

// Programs and kernels --------------------------------------------------------

// A build on a part of the machine: loaded from the binary when it is needed.
//
// Owned by its build, in a list under that one's lock; it stays until the build
// goes, since kernels of it are in use.
struct hdi_cl_loaded {
    struct hdi_cl_loaded *next;
    struct _cl_device_id *device; // held
    struct hd_program *program;
};

// Bytes of a program's code for one side; owned by whoever has the structure.
// NULL: none.
struct hdi_cl_binary {
    unsigned char *data;
    size_t size; // [bytes]
};

// A build that kernels may outlive.
//
// `users` counts the program, its kernels and their launches; who takes it to 0
// frees all. `program`, `uniform`: constant. `loaded` is under `lock`,
// `binaries` under the lock of the program object.
struct hdi_cl_built {
    atomic_uint users;
    struct hd_program *program; // on all devices that it was built for
    pthread_mutex_t lock;
    struct hdi_cl_loaded *loaded;
    bool uniform; // its work-groups are all of one size
    // For the application; NULL: not asked for yet.
    struct hdi_cl_binary binaries[HDI_CL_SIDES];
};

// A specialisation constant of SPIR-V that was set. Owned by the program
// object, under its lock.
struct hdi_cl_constant {
    cl_uint id;
    char *value; // as in an option
};

// Invariants: one of `source`, `il` and `binaries` is there, or none, if it was
// linked. While `builds` is set nobody else begins a build; while `kernels` is
// above 0, or `builds` is set, `built` stays what it is but for the thread that
// builds.
struct _cl_program {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_device_id **devices; // the context's, or those with binaries
    unsigned device_count;
    char *source;
    void *il;
    size_t il_size;                              // [bytes]
    struct hdi_cl_binary binaries[HDI_CL_SIDES]; // given by the application
    cl_program_binary_type given;                // what they are

    struct hdi_cl_constant *constants;
    unsigned constant_count;

    pthread_mutex_t lock; // over what follows
    struct hdi_cl_built *built;
    unsigned sides;         // bits: those that it was built for, or in vain
    cl_build_status status; // of these
    cl_program_binary_type type;
    char *options;
    char *log;
    bool builds;         // just now
    atomic_uint kernels; // made of it
};

void hdi_cl_program_destroy(void *object);
void hdi_cl_built_release(struct hdi_cl_built *built);

// Its program on a side; NULL: it was not built for that.
const struct hd_program *hdi_cl_built_program(const struct hdi_cl_built *built,
                                              unsigned side);

// The kernel of that name on a device. NULL: it was not built for it, or cannot
// be loaded there.
const struct hd_kernel *hdi_cl_built_kernel(struct hdi_cl_built *built,
                                            const struct hd_kernel *kernel,
                                            struct _cl_device_id *device);

struct hdi_cl_form;

// What an argument was set to.
struct hdi_cl_argument {
    bool is_set;
    struct hd_arg arg; // as far as it does not depend on what is below
    void *value;       // of a value: a copy
    // Not held, as the standard has it: looked up again when it is used.
    struct _cl_mem *mem;
    uint64_t serial;     // of `mem`
    const void *pointer; // of shared virtual memory
    bool is_pointer;
};

// Threads: any number may launch it at the same time; while one sets an
// argument no other uses it, as the standard has it. `form` is the one word
// that launches share.
struct _cl_kernel {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_program *program;
    struct hdi_cl_built *built;
    const struct hd_kernel *kernel;
    struct hdi_cl_argument *arguments;
    unsigned count;
    uint64_t changes; // of arguments, but for values that were there
    // Of its last launch, see launch.c; or NULL. Whoever takes it has it alone.
    _Atomic(struct hdi_cl_form *) form;
};

void hdi_cl_kernel_destroy(void *object);

#endif
