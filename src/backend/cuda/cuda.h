// A GPU as a device, and what the files of this backend share.
//
// Every call of the driver is made with the device's context current, between
// cuda_enter() and cuda_leave(), on any thread. What once went wrong on the GPU
// stays wrong for its context (`lost`): from then on launches are refused, and
// what is left is only to close. A kernel that hangs is worse (`hangs`): the
// driver would wait for it when memory or code is freed, so it is not called
// any more, and what the kernel may use stays until the process ends.
#ifndef HDI_BACKEND_CUDA_CUDA_H
#define HDI_BACKEND_CUDA_CUDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/names.h"
#include "backend/device_launch.h"

enum {
    CUDA_STREAMS = 8,   // units: launches that run at the same time
    CUDA_IN_FLIGHT = 4, // of one stream, HDI_PORT_LEAVES at most
    CUDA_MAX_UNITS = 256,
    CUDA_NAME = 256,
    CUDA_CHUNK = 1 << 20, // [bytes]
    CUDA_CHUNKS = 8
};

// Device memory that was given back is kept, by size: freeing waits for all
// that runs.
struct cuda_block {
    struct cuda_block *next;
    cuda_address address;
    uint64_t size;
};

// Page-locked memory of the host that copies go through (staging.c).
struct cuda_chunk {
    char *memory;
    cuda_event event; // behind the copy that uses it
    enum {
        CUDA_CHUNK_FREE,
        CUDA_CHUNK_TAKEN, // by a move
        CUDA_CHUNK_LEFT   // to its copy: free when the event is reached
    } state;
};

struct cuda_staging {
    pthread_mutex_t lock; // of all below, and of calls that need their order
    struct cuda_chunk chunks[CUDA_CHUNKS];
    unsigned count;   // of chunks; 0: there is no such memory
    cuda_event plain; // behind copies that need no chunk
    // Behind the latest copy to the GPU, unless that is known to have ended.
    // Written under the lock; NULL is read without it: all have ended.
    _Atomic(cuda_event) newest;
    uint64_t registered; // memory of the host [bytes]
};

struct cuda_executor;

struct cuda_gpu {
    struct hdi_device device;
    struct cuda_executor *executor; // NULL: units are streams
    const struct cuda_driver *driver;
    cuda_device number;
    cuda_context context;
    char name[CUDA_NAME], features[CUDA_NAME], cpu[16];
    int capability; // 90: 9.0
    struct hdi_print_sink print;
    const struct hdi_archive *archive; // NULL: nothing is kept
    uint64_t timeout;                  // of a chunk [ns]; 0: none
    int multiprocessors;
    int shared_optin; // shared memory that a block may ask for [bytes]
    _Atomic int lost; // the driver's result that ended it; 0: none
    atomic_bool hangs;
    _Atomic uint64_t open[CUDA_MAX_UNITS / 64]; // units: bits
    cuda_stream copies;
    struct cuda_staging staging;
    bool registers;       // memory of the host, if asked to
    pthread_mutex_t lock; // of the blocks, and who waits for `copies`
    struct cuda_block *kept;
    uint64_t kept_bytes;
};

struct cuda_code {
    struct hdi_code code;
    cuda_module module;
    struct hdi_entry *entries;
    unsigned count;
    char *tiles; // PTX of its kernels for tiles; NULL: there is none
    struct cuda_code *next_code; // of the executor's
};

// A kernel of loaded code.
struct hdi_entry {
    char *name;
    const struct cuda_code *code;
    cuda_function function;
    uint32_t args_bytes;
    uint32_t most_items; // of a work-group
    uint32_t classes;    // of tiles that can run it (tile.h): bits
    int registers;       // of a thread, in a tile; 0: not known
    int number;          // in the executor, once it is linked
};

static inline struct cuda_gpu *cuda_gpu_of(const struct hdi_device *device)
{
    return (struct cuda_gpu *)(uintptr_t)device;
}

// False: the context cannot be used, as after cuda_give_up(), and cuda_leave()
// is not to be called. The GPU is lost then.
bool cuda_enter(struct cuda_gpu *gpu);
void cuda_leave(struct cuda_gpu *gpu);

// The context can run nothing any more, because of this; the first one counts.
static inline void cuda_lose(struct cuda_gpu *gpu, cuda_result result)
{
    int none = 0;

    atomic_compare_exchange_strong(&gpu->lost, &none, result);
    atomic_store(&gpu->device.lost, true);
}

// A kernel hangs: the driver is not called any more for this GPU, which no
// runtime of this process opens again.
void cuda_give_up(struct cuda_gpu *gpu);

// What a result means; what ends the context is remembered.
hd_status cuda_status(struct cuda_gpu *gpu, cuda_result result);

// memory.c
hd_status cuda_memory_alloc(struct hdi_device *device, uint64_t size,
                            void **memory);
void cuda_memory_free(struct hdi_device *device, void *memory, uint64_t size);
hd_status cuda_memory_copy(struct hdi_device *device, void *to,
                           const void *from, uint64_t size);
// With the context: what calls of the copies' stream gave, or what waiting for
// it gives.
cuda_result cuda_memory_finish(struct cuda_gpu *gpu, cuda_result result);
void cuda_memory_clear(struct cuda_gpu *gpu); // gives what is kept back

// Memory of the host that the GPU sees, cleared; NULL: there is none.
void *cuda_host_alloc(struct cuda_gpu *gpu, uint64_t size,
                      cuda_address *address);
void cuda_host_free(struct cuda_gpu *gpu, void *memory);

// staging.c. With the context.
bool cuda_staging_open(struct cuda_gpu *gpu);
void cuda_staging_close(struct cuda_gpu *gpu);

// How many chunks there may be where a thread may take so much memory.
unsigned cuda_staging_chunks(uint64_t share);

// Whether so many bytes more of the caller's may be page-locked there.
bool cuda_staging_has_room(uint64_t share, uint64_t registered, uint64_t size);

// Copies to the GPU that copy() has left under way: let what comes next in a
// stream wait for them; without the context, whether there are none any more,
// and wait until then.
cuda_result cuda_staging_precede(struct cuda_gpu *gpu, cuda_stream stream);
bool cuda_staging_is_settled(struct cuda_gpu *gpu);
void cuda_staging_settle(struct cuda_gpu *gpu);

// As the backend's.
bool cuda_memory_move(struct hdi_device *device, struct hdi_device_copy *move);
bool cuda_memory_pin(struct hdi_device *device, void *memory, uint64_t size);
void cuda_memory_unpin(struct hdi_device *device, void *memory, uint64_t size);

// code.c
hd_status cuda_code_load(struct hdi_device *device, const void *image,
                         size_t size, struct hdi_code **code,
                         struct hd_error *error);
void cuda_code_unload(struct hdi_code *code);
const struct hdi_entry *cuda_code_find(struct hdi_code *code,
                                       const char *kernel);

// unit.c
hd_status cuda_unit_open(struct hdi_device *device, unsigned index,
                         struct hdi_unit **unit);
void cuda_unit_close(struct hdi_unit *unit);
bool cuda_unit_submit(struct hdi_unit *unit, const struct hdi_chunk *chunk);
uint64_t cuda_unit_submitted(const struct hdi_unit *unit);
uint64_t cuda_unit_done(struct hdi_unit *unit);
hd_status cuda_unit_status(const struct hdi_unit *unit, uint64_t chunk);
void cuda_unit_explain(const struct hdi_unit *unit, uint64_t chunk, char *text,
                       size_t size);
bool cuda_unit_fault(const struct hdi_unit *unit, uint64_t chunk,
                     struct hdi_fault *fault);
void cuda_unit_interrupt(struct hdi_unit *unit);
uint32_t cuda_unit_classes(const struct hdi_device *device,
                           const struct hdi_chunk *chunk);

// list.c
extern const struct hdi_lists cuda_lists;

// Make it good for kernels with the numbers of this link, from 1, on this unit;
// where it is on the GPU. HD_ENOTSUP: it is not for the unit.
hd_status cuda_list_prepare(struct hdi_device_list *list, unsigned unit,
                            uint64_t linked, uint64_t *address);

// The kernel of a pass, if it is the list at this address; of one that is
// launched, all kernels, as nobody tells which it was.
void cuda_list_name(const struct hdi_device_list *list, uint64_t address,
                    uint32_t pass, struct cuda_names *names);

// The classes of units that it is for; 0: it is launched (graph.h).
uint32_t cuda_list_classes(const struct hdi_device_list *list);

#endif
