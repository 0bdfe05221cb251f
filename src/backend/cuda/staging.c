// Copies between the host and the GPU, through page-locked memory: the driver
// copies from and to other memory only while its caller waits.
//
// A copy to the GPU is cut into chunks. Each is put into page-locked memory,
// from where the GPU fetches it while the next one is put there. When the last
// one is there the caller's memory is of no use any more, so copy() returns:
// launches come after what is still under way (cuda_staging_precede()), and so
// do later copies, as all are in one stream. A copy to the host has two chunks
// under way, and one that has come is taken out while the other comes.
//
// Memory of the host that is page-locked itself needs no chunks, but has to be
// waited for; so short copies take them all the same.
//
// Invariant: a chunk is written, or given to another copy, only when the event
// behind the copy that used it was seen to be reached, or the stream to be
// empty.
//
// A move that nobody waits for keeps its chunks until its worker looks at it
// again, which that worker never does while it waits for a copy itself. So one
// chunk is only for moves that are waited for: whoever has it goes on, and
// gives it back.
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/executor.h"
#include "base/log.h"
#include "base/memory.h"

enum way {
    NOT_KNOWN,
    UP,           // through chunks
    DOWN,         //
    UP_AT_ONCE,   // from, or to, page-locked memory
    DOWN_AT_ONCE, //
    ON_GPU,       //
    UNSTAGED,     // no chunks: the caller waits
    ON_HOST
};

enum {
    SHARE = 64,            // of what a thread may take: chunks, at most
    TURN = 2 * CUDA_CHUNKS // chunks in one call
};

// Opening ---------------------------------------------------------------------

// With one alone nothing would overlap, and moves that nobody waits for would
// have none.
unsigned cuda_staging_chunks(uint64_t share)
{
    uint64_t chunks = share / SHARE / CUDA_CHUNK;

    return chunks < 2             ? 0
           : chunks < CUDA_CHUNKS ? (unsigned)chunks
                                  : CUDA_CHUNKS;
}

static void free_chunks(struct cuda_gpu *gpu)
{
    struct cuda_staging *s = &gpu->staging;

    for (unsigned i = 0; i < CUDA_CHUNKS; i++)
        if (s->chunks[i].event)
            gpu->driver->EventDestroy(s->chunks[i].event);
    if (s->chunks[0].memory)
        gpu->driver->MemFreeHost(s->chunks[0].memory);
    memset(s->chunks, 0, sizeof(s->chunks));
    s->count = 0;
}

// One allocation: the driver rounds each up, and takes its time.
static cuda_result make_chunks(struct cuda_gpu *gpu, unsigned count)
{
    struct cuda_staging *s = &gpu->staging;
    void *memory;
    cuda_result result =
        gpu->driver->MemAllocHost(&memory, count * (size_t)CUDA_CHUNK);

    if (result != 0)
        return result;
    for (unsigned i = 0; i < count; i++)
        s->chunks[i].memory = (char *)memory + i * (size_t)CUDA_CHUNK;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = gpu->driver->EventCreate(&s->chunks[i].event,
                                          CUDA_EVENT_DISABLE_TIMING);
    s->count = count;
    return result;
}

static void say_once(const struct cuda_gpu *gpu, const char *why)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said))
        hdi_warn("%s: no page-locked memory (%s), so copies wait for each "
                 "other",
                 gpu->name, why);
}

// False: not even an event. Without chunks all works, but slower.
bool cuda_staging_open(struct cuda_gpu *gpu)
{
    unsigned count = cuda_staging_chunks(hdi_memory_share());
    char why[256];

    if (gpu->driver->EventCreate(&gpu->staging.plain,
                                 CUDA_EVENT_DISABLE_TIMING) != 0)
        return false;
    cuda_result result = count > 0 ? make_chunks(gpu, count) : 0;
    if (result != 0) {
        free_chunks(gpu);
        cuda_describe(gpu->driver, result, why, sizeof(why));
        say_once(gpu, why);
    } else if (count == 0) {
        say_once(gpu, "this machine has too little memory");
    }
    return true;
}

void cuda_staging_close(struct cuda_gpu *gpu)
{
    cuda_memory_finish(gpu, 0);
    free_chunks(gpu);
    gpu->driver->EventDestroy(gpu->staging.plain);
}

// Events ----------------------------------------------------------------------

// With the lock. What is behind the newest copy is known to be reached, too.
static cuda_result query(struct cuda_gpu *gpu, cuda_event event)
{
    struct cuda_staging *s = &gpu->staging;
    cuda_result result = gpu->driver->EventQuery(event);

    if (result == 0 && event == atomic_load(&s->newest))
        atomic_store(&s->newest, NULL);
    return result;
}

// An error is that of the context, and found by whoever comes next.
bool cuda_staging_is_settled(struct cuda_gpu *gpu)
{
    struct cuda_staging *s = &gpu->staging;
    cuda_result result = 0;

    if (!atomic_load(&s->newest) || !cuda_enter(gpu))
        return true;
    pthread_mutex_lock(&s->lock);
    cuda_event newest = atomic_load(&s->newest);
    if (newest)
        result = query(gpu, newest);
    pthread_mutex_unlock(&s->lock);
    cuda_leave(gpu);
    return result != CUDA_NOT_READY;
}

void cuda_staging_settle(struct cuda_gpu *gpu)
{
    while (!cuda_staging_is_settled(gpu))
        sched_yield();
}

// An event that is recorded anew meanwhile is that of a later copy in the same
// stream, so waiting for it is waiting for this one as well.
cuda_result cuda_staging_precede(struct cuda_gpu *gpu, cuda_stream stream)
{
    struct cuda_staging *s = &gpu->staging;
    cuda_result result = 0;

    if (!atomic_load(&s->newest))
        return 0;
    pthread_mutex_lock(&s->lock);
    cuda_event newest = atomic_load(&s->newest);
    if (newest)
        result = gpu->driver->StreamWaitEvent(stream, newest, 0);
    pthread_mutex_unlock(&s->lock);
    return result;
}

// Chunks ----------------------------------------------------------------------

// With the lock. No chunk and no error: none is free for it now.
static cuda_result take(struct cuda_gpu *gpu, const struct hdi_device_copy *m,
                        struct cuda_chunk **chunk)
{
    struct cuda_staging *s = &gpu->staging;

    *chunk = NULL;
    for (unsigned i = m->waits ? 0 : 1; i < s->count; i++) {
        struct cuda_chunk *c = &s->chunks[i];
        if (c->state == CUDA_CHUNK_LEFT) {
            cuda_result result = query(gpu, c->event);
            if (result == 0)
                c->state = CUDA_CHUNK_FREE;
            else if (result != CUDA_NOT_READY)
                return result;
        }
        if (c->state == CUDA_CHUNK_FREE) {
            c->state = CUDA_CHUNK_TAKEN;
            *chunk = c;
            return 0;
        }
    }
    return 0;
}

static cuda_result take_one(struct cuda_gpu *gpu,
                            const struct hdi_device_copy *m,
                            struct cuda_chunk **chunk)
{
    pthread_mutex_lock(&gpu->staging.lock);
    cuda_result result = take(gpu, m, chunk);
    pthread_mutex_unlock(&gpu->staging.lock);
    return result;
}

static void set_state(struct cuda_gpu *gpu, struct cuda_chunk *chunk, int state)
{
    pthread_mutex_lock(&gpu->staging.lock);
    chunk->state = state;
    pthread_mutex_unlock(&gpu->staging.lock);
}

static cuda_address address_of(const void *memory)
{
    return (cuda_address)(uintptr_t)memory;
}

// With the lock, so that events are recorded in the order of their copies.
// After an error nothing of it is under way.
static cuda_result start(struct cuda_gpu *gpu, enum way way, cuda_event event,
                         void *to, const void *from, uint64_t size)
{
    const struct cuda_driver *driver = gpu->driver;
    struct cuda_staging *s = &gpu->staging;
    bool up = way == UP || way == UP_AT_ONCE,
         down = way == DOWN || way == DOWN_AT_ONCE;

    cuda_result result =
        up ? driver->MemcpyHtoDAsync(address_of(to), from, size, gpu->copies)
        : down
            ? driver->MemcpyDtoHAsync(to, address_of(from), size, gpu->copies)
            : driver->MemcpyAsync(address_of(to), address_of(from), size,
                                  gpu->copies);
    if (result == 0)
        result = driver->EventRecord(event, gpu->copies);
    if (result != 0)
        return cuda_memory_finish(gpu, result);
    if (!down)
        atomic_store(&s->newest, event);
    return 0;
}

// Moving ----------------------------------------------------------------------

static uint64_t piece(const struct hdi_device_copy *m, uint64_t done)
{
    return m->size - done < CUDA_CHUNK ? m->size - done : CUDA_CHUNK;
}

static cuda_result go_up(struct cuda_gpu *gpu, struct hdi_device_copy *m)
{
    for (unsigned i = 0; i < TURN && m->begun < m->size; i++) {
        uint64_t now = piece(m, m->begun);
        struct cuda_chunk *chunk;

        cuda_result result = take_one(gpu, m, &chunk);
        if (result != 0 || !chunk)
            return result;
        memcpy(chunk->memory, (const char *)m->from + m->begun, now);
        pthread_mutex_lock(&gpu->staging.lock);
        result = start(gpu, UP, chunk->event, (char *)m->to + m->begun,
                       chunk->memory, now);
        chunk->state = result == 0 ? CUDA_CHUNK_LEFT : CUDA_CHUNK_FREE;
        pthread_mutex_unlock(&gpu->staging.lock);
        if (result != 0)
            return result;
        m->begun = m->ended += now;
    }
    return 0;
}

// The parts are a ring: of what begins at byte n it is n / CUDA_CHUNK modulo 2.
static void **part_at(struct hdi_device_copy *m, uint64_t byte)
{
    return &m->parts[byte / CUDA_CHUNK % 2];
}

// Ask for as much as there are parts; whether it asked for anything.
static cuda_result ask(struct cuda_gpu *gpu, struct hdi_device_copy *m,
                       bool *any)
{
    while (m->begun < m->size && !*part_at(m, m->begun)) {
        uint64_t now = piece(m, m->begun);
        struct cuda_chunk *chunk;

        pthread_mutex_lock(&gpu->staging.lock);
        cuda_result result = take(gpu, m, &chunk);
        if (chunk) {
            result = start(gpu, DOWN, chunk->event, chunk->memory,
                           (const char *)m->from + m->begun, now);
            if (result != 0)
                chunk->state = CUDA_CHUNK_FREE;
        }
        pthread_mutex_unlock(&gpu->staging.lock);
        if (result != 0 || !chunk)
            return result;
        *part_at(m, m->begun) = chunk;
        m->begun += now;
        *any = true;
    }
    return 0;
}

// Take out the first that was asked for, if it has come.
static cuda_result fetch(struct cuda_gpu *gpu, struct hdi_device_copy *m,
                         bool *any)
{
    struct cuda_chunk *chunk = *part_at(m, m->ended);
    uint64_t now = piece(m, m->ended);

    if (!chunk)
        return 0;
    pthread_mutex_lock(&gpu->staging.lock);
    cuda_result result = query(gpu, chunk->event);
    pthread_mutex_unlock(&gpu->staging.lock);
    if (result != 0)
        return result == CUDA_NOT_READY ? 0 : result;
    memcpy((char *)m->to + m->ended, chunk->memory, now);
    set_state(gpu, chunk, CUDA_CHUNK_FREE);
    *part_at(m, m->ended) = NULL;
    m->ended += now;
    *any = true;
    return 0;
}

static cuda_result go_down(struct cuda_gpu *gpu, struct hdi_device_copy *m)
{
    cuda_result result = 0;
    bool any = true;

    for (unsigned i = 0; i < TURN && any && result == 0; i++) {
        any = false;
        result = ask(gpu, m, &any);
        if (result == 0)
            result = fetch(gpu, m, &any);
    }
    return result;
}

// A chunk is taken for its event. The driver refuses memory of which parts were
// page-locked one by one: that goes through chunks.
static cuda_result go_at_once(struct cuda_gpu *gpu, struct hdi_device_copy *m)
{
    struct cuda_chunk *chunk = m->parts[0];
    cuda_result result = 0;

    pthread_mutex_lock(&gpu->staging.lock);
    if (chunk)
        result = query(gpu, chunk->event);
    else if ((result = take(gpu, m, &chunk)) == 0 && chunk) {
        result =
            start(gpu, (enum way)m->way, chunk->event, m->to, m->from, m->size);
        if (result == 0) {
            m->parts[0] = chunk;
            m->begun = m->size;
            result = CUDA_NOT_READY;
        } else {
            chunk->state = CUDA_CHUNK_FREE;
        }
        if (result == CUDA_INVALID_VALUE) {
            m->way = m->way == UP_AT_ONCE ? UP : DOWN;
            result = CUDA_NOT_READY;
        }
    } else if (result == 0) {
        result = CUDA_NOT_READY;
    }
    if (result == 0) {
        chunk->state = CUDA_CHUNK_FREE;
        m->parts[0] = NULL;
        m->ended = m->begun;
    }
    pthread_mutex_unlock(&gpu->staging.lock);
    return result == CUDA_NOT_READY ? 0 : result;
}

static cuda_result go_on(struct cuda_gpu *gpu, struct hdi_device_copy *m)
{
    cuda_result result;

    switch ((enum way)m->way) {
    case UP:
        return go_up(gpu, m);
    case DOWN:
        return go_down(gpu, m);
    case UP_AT_ONCE:
    case DOWN_AT_ONCE:
        return go_at_once(gpu, m);
    case ON_GPU:
        pthread_mutex_lock(&gpu->staging.lock);
        result =
            start(gpu, ON_GPU, gpu->staging.plain, m->to, m->from, m->size);
        pthread_mutex_unlock(&gpu->staging.lock);
        break;
    case UNSTAGED:
        pthread_mutex_lock(&gpu->lock);
        result = cuda_memory_finish(
            gpu,
            gpu->driver->MemcpyAsync(address_of(m->to), address_of(m->from),
                                     m->size, gpu->copies));
        pthread_mutex_unlock(&gpu->lock);
        break;
    default:
        memcpy(m->to, m->from, m->size);
        result = 0;
    }
    m->begun = m->ended = m->size;
    return result;
}

// What kind of memory it is; 0: pageable.
static cuda_result type_of(struct cuda_gpu *gpu, const void *memory, int *type)
{
    cuda_result result = gpu->driver->PointerGetAttribute(
        type, CUDA_POINTER_MEMORY_TYPE, address_of(memory));

    if (result == CUDA_INVALID_VALUE)
        *type = 0;
    return result == CUDA_INVALID_VALUE ? 0 : result;
}

static cuda_result choose(struct cuda_gpu *gpu, struct hdi_device_copy *m)
{
    const char *host, *bytes = m->from;
    int to = 0, from = 0, last = 0;
    cuda_result result = type_of(gpu, m->to, &to);

    if (result == 0)
        result = type_of(gpu, m->from, &from);
    bool up = to == CUDA_MEMORY_DEVICE, down = from == CUDA_MEMORY_DEVICE;
    host = up ? bytes : m->to;
    if (result != 0)
        return result;
    if (up == down) {
        m->way = up ? ON_GPU : ON_HOST;
        return 0;
    }
    m->way = gpu->staging.count == 0 ? UNSTAGED : up ? UP : DOWN;
    if (m->size <= CUDA_CHUNK || m->way == UNSTAGED ||
        (up ? from : to) != CUDA_MEMORY_HOST)
        return 0;
    result = type_of(gpu, host + m->size - 1, &last);
    if (result == 0 && last == CUDA_MEMORY_HOST)
        m->way = up ? UP_AT_ONCE : DOWN_AT_ONCE;
    return result;
}

static void give_up(struct cuda_gpu *gpu, struct hdi_device_copy *m)
{
    if (m->parts[0] || m->parts[1])
        cuda_memory_finish(gpu, 0);
    for (unsigned i = 0; i < 2; i++)
        if (m->parts[i])
            set_state(gpu, m->parts[i], CUDA_CHUNK_FREE);
}

bool cuda_memory_move(struct hdi_device *device, struct hdi_device_copy *m)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);
    cuda_result result = 0;

    m->status = HD_OK;
    if (m->ended == m->size)
        return true;
    if (!cuda_enter(gpu)) { // its chunks stay taken: nobody may copy any more
        m->status = HD_ENODEV;
        return true;
    }
    if (m->way == NOT_KNOWN)
        result = choose(gpu, m);
    if (result == 0)
        result = go_on(gpu, m);
    if (result != 0)
        give_up(gpu, m);
    cuda_leave(gpu);
    m->status = cuda_status(gpu, result);
    return result != 0 || m->ended == m->size;
}

// Registering -----------------------------------------------------------------

bool cuda_staging_has_room(uint64_t share, uint64_t registered, uint64_t size)
{
    return size <= share && registered <= share - size;
}

// Counted before it is asked for: two threads together stay below the bound.
static bool count_registered(struct cuda_gpu *gpu, uint64_t size)
{
    struct cuda_staging *s = &gpu->staging;

    pthread_mutex_lock(&s->lock);
    bool fits = cuda_staging_has_room(hdi_memory_share(), s->registered, size);
    s->registered += fits ? size : 0;
    pthread_mutex_unlock(&s->lock);
    return fits;
}

static void count_back(struct cuda_gpu *gpu, uint64_t size)
{
    pthread_mutex_lock(&gpu->staging.lock);
    gpu->staging.registered -= size;
    pthread_mutex_unlock(&gpu->staging.lock);
}

bool cuda_memory_pin(struct hdi_device *device, void *memory, uint64_t size)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);

    if (!gpu->registers || gpu->staging.count == 0 || size <= CUDA_CHUNK ||
        !count_registered(gpu, size))
        return false;
    bool registered = cuda_enter_alone(gpu);
    if (registered) {
        registered = gpu->driver->MemHostRegister(memory, size,
                                                  CUDA_REGISTER_PORTABLE) == 0;
        cuda_leave_alone(gpu);
    }
    if (!registered)
        count_back(gpu, size);
    return registered;
}

// Copies from and to it have ended.
void cuda_memory_unpin(struct hdi_device *device, void *memory, uint64_t size)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);

    if (cuda_enter_alone(gpu)) {
        gpu->driver->MemHostUnregister(memory);
        cuda_leave_alone(gpu);
    }
    count_back(gpu, size);
}
