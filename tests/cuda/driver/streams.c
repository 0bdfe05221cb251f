// The fake driver: streams, each with a thread, events and launches.
#include <sched.h>
#include <unistd.h>

#include "tests/cuda/driver/objects.h"

// Streams ---------------------------------------------------------------------

static void go(const struct operation *o)
{
    atomic_fetch_sub(&fake_resident_blocks, o->grid[0]);
    atomic_fetch_sub(&fake_resident, 1);
}

static void run_kernel(const struct operation *o)
{
    char why[256];
    bool stays = strcmp(o->function->ptx->name, "hdx_serve") == 0;
    const struct ptx_machine machine = {
        .find = fake_find,
        .data = o->function->module,
        .stop = &fake_stop,
        .blocks_at_once = BLOCKS,
        .apart = fake_setting("FAKE_CUDA_APART", 0) != 0};
    const struct ptx_launch launch = {
        .entry = o->function->ptx,
        .grid = {o->grid[0], o->grid[1], o->grid[2]},
        .block = {o->block[0], o->block[1], o->block[2]},
        .shared_bytes = o->shared,
        .parameters = o->parameters,
        .why = why};

    while (!stays && atomic_load(&fake_held) && !atomic_load(&fake_stop))
        usleep(200);
    enum ptx_outcome outcome = ptx_run(&machine, &launch);
    int result = outcome == PTX_DONE || outcome == PTX_STOPPED ? 0
                 : outcome == PTX_ILLEGAL_ADDRESS ? CUDA_ILLEGAL_ADDRESS
                 : outcome == PTX_MISALIGNED      ? CUDA_MISALIGNED_ADDRESS
                                                  : CUDA_LAUNCH_FAILED;
    if (result != 0) {
        int none = 0;
        atomic_compare_exchange_strong(&fake_sticky, &none, result);
        atomic_store(&fake_stop, true); // others do not outlive it
        if (getenv("FAKE_CUDA_LOG"))
            fprintf(stderr, "fake cuda: %s: %s\n", o->function->ptx->name, why);
    }
    if (outcome == PTX_UNKNOWN) {
        pthread_mutex_lock(&fake_lock);
        fake_complain("kernel %s: %s", o->function->ptx->name, why);
        pthread_mutex_unlock(&fake_lock);
    }
    if (stays)
        go(o);
}

static void await_event(const struct cuda_event_ *event, uint64_t number)
{
    pthread_mutex_lock(&fake_lock);
    while (event->reached < number) {
        pthread_mutex_unlock(&fake_lock);
        usleep(50);
        pthread_mutex_lock(&fake_lock);
    }
    pthread_mutex_unlock(&fake_lock);
}

static uint64_t sum_of(const void *memory, size_t bytes)
{
    const unsigned char *at = memory;
    uint64_t sum = bytes, word;

    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    while (bytes-- > 0)
        sum = (sum ^ *at++) * UINT64_C(0x100000001b3);
    return sum;
}

static void copy(const struct operation *o)
{
    while (o->host && atomic_load(&fake_copies_held))
        usleep(200);
    if (o->checked && sum_of(o->from, o->bytes) != o->sum) {
        pthread_mutex_lock(&fake_lock);
        fake_complain("%zu bytes of the host have changed before they were "
                      "copied",
                      o->bytes);
        pthread_mutex_unlock(&fake_lock);
    }
    memmove(o->to, o->from, o->bytes);
}

void fake_run_operation(const struct operation *o)
{
    if (o->kind == RECORD) {
        pthread_mutex_lock(&fake_lock);
        if (o->number > o->event->reached)
            o->event->reached = o->number;
        pthread_mutex_unlock(&fake_lock);
    } else if (atomic_load(&fake_sticky) != 0) {
        if (o->kind == LAUNCH &&
            strcmp(o->function->ptx->name, "hdx_serve") == 0)
            go(o);
    } else if (o->kind == LAUNCH) {
        run_kernel(o);
    } else if (o->kind == WAIT) {
        await_event(o->event, o->number);
    } else if (o->kind == COPY) {
        copy(o);
    } else if (o->kind == RUN_GRAPH) {
        fake_run_graph(o->graph);
    } else {
        memset(o->to, o->value, o->bytes);
    }
}

static void *serve(void *data)
{
    struct cuda_stream_ *s = data;

    pthread_mutex_lock(&fake_lock);
    for (;;) {
        while (!s->first && !s->ends)
            pthread_cond_wait(&s->changed, &fake_lock);
        struct operation *o = s->first;
        if (!o)
            break;
        s->first = o->next;
        if (!s->first)
            s->last = &s->first;
        s->busy = true;
        pthread_mutex_unlock(&fake_lock);
        fake_run_operation(o);
        free(o->parameters);
        free(o);
        pthread_mutex_lock(&fake_lock);
        s->busy = false;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

void fake_await_all(void)
{
    struct object *o = fake_objects[STREAM];

    while (o) {
        struct cuda_stream_ *s = (struct cuda_stream_ *)o;
        if (!o->gone && (s->first || s->busy)) {
            pthread_cond_wait(&s->changed, &fake_lock);
            o = fake_objects[STREAM]; // the list may be another by now
        } else {
            o = o->next;
        }
    }
}

void fake_enqueue(struct cuda_stream_ *s, struct operation o)
{
    struct operation *copy = malloc(sizeof(*copy));

    *copy = o;
    copy->next = NULL;
    s->enqueued++;
    *s->last = copy;
    s->last = &copy->next;
    pthread_cond_broadcast(&s->changed);
}

cuda_result cuStreamCreate(cuda_stream *stream, unsigned flags)
{
    BEGIN(cuStreamCreate, true);
    if (flags != CUDA_STREAM_NON_BLOCKING)
        fake_complain("a stream that waits for the default stream");
    struct cuda_stream_ *s = fake_make(STREAM, sizeof(*s));
    s->last = &s->first;
    pthread_cond_init(&s->changed, NULL);
    pthread_create(&s->thread, NULL, serve, s);
    *stream = s;
    return leave(0);
}

cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
    pthread_mutex_lock(&fake_lock);
    atomic_fetch_add(&fake_calls, 1);
    CHECK_LIVE(stream, STREAM, cuStreamDestroy);
    stream->object.gone = true;
    stream->ends = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&fake_lock);
    pthread_join(stream->thread, NULL);
    return 0;
}

static void drain(struct cuda_stream_ *stream)
{
    uint64_t enqueued = stream->enqueued;

    while (stream->first || stream->busy)
        pthread_cond_wait(&stream->changed, &fake_lock);
    if (enqueued > stream->seen)
        stream->seen = enqueued;
}

cuda_result cuStreamSynchronize(cuda_stream stream)
{
    BEGIN(cuStreamSynchronize, true);
    CHECK_LIVE(stream, STREAM, cuStreamSynchronize);
    drain(stream);
    return leave(atomic_load(&fake_sticky));
}

cuda_result cuMemsetD8Async(cuda_address address, unsigned char value,
                            size_t bytes, cuda_stream stream)
{
    BEGIN(cuMemsetD8Async, true);
    CHECK_LIVE(stream, STREAM, cuMemsetD8Async);
    void *to = fake_copied(address, bytes, "cuMemsetD8Async");
    if (!to)
        return leave(INVALID_VALUE);
    fake_enqueue(stream,
                 (struct operation){
                     .kind = FILL, .to = to, .value = value, .bytes = bytes});
    return leave(0);
}

cuda_result cuMemcpyAsync(cuda_address to, cuda_address from, size_t bytes,
                          cuda_stream stream)
{
    BEGIN(cuMemcpyAsync, true);
    CHECK_LIVE(stream, STREAM, cuMemcpyAsync);
    void *real_to = fake_copied(to, bytes, "cuMemcpyAsync"),
         *real_from = fake_copied(from, bytes, "cuMemcpyAsync");
    if (!real_to || !real_from)
        return leave(INVALID_VALUE);
    fake_enqueue(stream, (struct operation){.kind = COPY,
                                            .to = real_to,
                                            .from = real_from,
                                            .bytes = bytes});
    return leave(0);
}

// Page-locked memory that a copy has used: until the caller has seen it end, no
// other may use it.
struct use {
    struct use *next;
    const char *begin;
    size_t bytes;
    const struct cuda_stream_ *stream;
    uint64_t number; // of its operation there
};

static struct use *uses;

static void use(const void *memory, size_t bytes,
                const struct cuda_stream_ *stream, const char *name)
{
    const char *begin = memory;

    for (struct use *u, **at = &uses; (u = *at);) {
        if (u->stream->seen >= u->number) {
            *at = u->next;
            free(u);
            continue;
        }
        if (begin < u->begin + u->bytes && u->begin < begin + bytes)
            fake_complain("%s: memory that a copy may still use", name);
        at = &u->next;
    }
    struct use *mine = malloc(sizeof(*mine));
    *mine = (struct use){uses, begin, bytes, stream, stream->enqueued + 1};
    uses = mine;
}

// The caller is kept waiting for a copy from or to pageable memory. None may go
// beyond the page-locked memory in which it begins.
static cuda_result copy_host(struct cuda_stream_ *stream, struct operation o,
                             void *host, bool from_host, const char *name)
{
    if (!fake_is_pinned(host, o.bytes)) {
        if (fake_is_pinned(host, 1))
            return INVALID_VALUE;
        atomic_fetch_add(&fake_pageable, 1);
        fake_enqueue(stream, o);
        drain(stream);
        return 0;
    }
    use(host, o.bytes, stream, name);
    o.host = true;
    o.checked = from_host;
    if (from_host)
        o.sum = sum_of(host, o.bytes);
    else // who does not wait finds this
        memset(host, 0xdd, o.bytes);
    fake_enqueue(stream, o);
    return 0;
}

cuda_result cuMemcpyHtoDAsync_v2(cuda_address to, const void *from,
                                 size_t bytes, cuda_stream stream)
{
    BEGIN(cuMemcpyHtoDAsync, true);
    CHECK_LIVE(stream, STREAM, cuMemcpyHtoDAsync);
    void *real = fake_copied(to, bytes, "cuMemcpyHtoDAsync");
    if (!real || !(to & DEVICE_BIT))
        return leave(INVALID_VALUE);
    return leave(
        copy_host(stream,
                  (struct operation){
                      .kind = COPY, .to = real, .from = from, .bytes = bytes},
                  (void *)(uintptr_t)from, true, "cuMemcpyHtoDAsync"));
}

cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t bytes,
                                 cuda_stream stream)
{
    BEGIN(cuMemcpyDtoHAsync, true);
    CHECK_LIVE(stream, STREAM, cuMemcpyDtoHAsync);
    void *real = fake_copied(from, bytes, "cuMemcpyDtoHAsync");
    if (!real || !(from & DEVICE_BIT))
        return leave(INVALID_VALUE);
    return leave(
        copy_host(stream,
                  (struct operation){
                      .kind = COPY, .to = to, .from = real, .bytes = bytes},
                  to, false, "cuMemcpyDtoHAsync"));
}

cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event,
                              unsigned flags)
{
    BEGIN(cuStreamWaitEvent, true);
    CHECK_LIVE(stream, STREAM, cuStreamWaitEvent);
    CHECK_LIVE(event, EVENT, cuStreamWaitEvent);
    if (flags != 0)
        fake_complain("cuStreamWaitEvent with flags %u", flags);
    fake_enqueue(stream, (struct operation){.kind = WAIT,
                                            .event = event,
                                            .number = event->recorded});
    return leave(0);
}

cuda_result cuEventCreate(cuda_event *event, unsigned flags)
{
    (void)flags;
    BEGIN(cuEventCreate, true);
    *event = fake_make(EVENT, sizeof(**event));
    return leave(0);
}

cuda_result cuEventDestroy_v2(cuda_event event)
{
    pthread_mutex_lock(&fake_lock);
    atomic_fetch_add(&fake_calls, 1);
    CHECK_LIVE(event, EVENT, cuEventDestroy);
    event->object.gone = true;
    return leave(0);
}

cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
    BEGIN(cuEventRecord, true);
    CHECK_LIVE(event, EVENT, cuEventRecord);
    CHECK_LIVE(stream, STREAM, cuEventRecord);
    fake_enqueue(stream, (struct operation){.kind = RECORD,
                                            .event = event,
                                            .number = ++event->recorded});
    event->stream = stream;
    event->place = stream->enqueued;
    return leave(0);
}

// Asked again and again: only a call that finds the event is one to fail, and
// the others, whose contexts are entered and left, are not to be too many.
cuda_result cuEventQuery(cuda_event event)
{
    pthread_mutex_lock(&fake_lock);
    CHECK_LIVE(event, EVENT, cuEventQuery);
    bool ready = event->reached >= event->recorded;
    if (ready && event->stream && event->place > event->stream->seen)
        event->stream->seen = event->place;
    pthread_mutex_unlock(&fake_lock);
    if (!ready) {
        usleep(200);
        return CUDA_NOT_READY;
    }
    BEGIN(cuEventQuery, true);
    return leave(0);
}

// Launches --------------------------------------------------------------------

bool fake_describe(cuda_function function, const unsigned *grid,
                   const unsigned *block, unsigned shared_bytes,
                   void **parameters, void **extra, struct operation *o)
{
    const struct ptx_function *f = function->ptx;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    unsigned most =
        (unsigned)(function->dynamic_shared > 49152 ? function->dynamic_shared
                                                    : 49152);

    if (threads == 0 || threads > (f->most_threads ? f->most_threads : 1024) ||
        block[2] > 64 || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 ||
        grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535 ||
        shared_bytes > most || extra) {
        fake_complain("%s: a launch of blocks of %u x %u x %u, %u bytes",
                      f->name, block[0], block[1], block[2], shared_bytes);
        return false;
    }
    *o = (struct operation){
        .kind = LAUNCH,
        .function = function,
        .grid = {grid[0], grid[1], grid[2]},
        .block = {block[0], block[1], block[2]},
        .shared = shared_bytes,
        .parameters = aligned_alloc(64, (f->parameter_bytes + 127) / 64 * 64)};
    for (uint32_t i = 0; i < f->parameter_count; i++)
        memcpy(o->parameters + f->parameters[i].offset, parameters[i],
               f->parameters[i].size);
    return true;
}

cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x,
                           unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, cuda_stream stream,
                           void **parameters, void **extra)
{
    const unsigned grid[] = {grid_x, grid_y, grid_z};
    const unsigned block[] = {block_x, block_y, block_z};
    struct operation o;

    BEGIN(cuLaunchKernel, true);
    CHECK_LIVE(function, FUNCTION, cuLaunchKernel);
    CHECK_LIVE(stream, STREAM, cuLaunchKernel);
    if (!fake_describe(function, grid, block, shared_bytes, parameters, extra,
                       &o))
        return leave(INVALID_VALUE);
    int registers = fake_registers_of(function->ptx);
    if ((uint64_t)registers * block_x * block_y * block_z > REGISTERS) {
        fake_complain("%s: blocks of %u threads of %d registers",
                      function->ptx->name, block_x * block_y * block_z,
                      registers);
        free(o.parameters);
        return leave(CUDA_LAUNCH_OUT_OF_RESOURCES);
    }
    if (strcmp(function->ptx->name, "hdx_serve") == 0) {
        atomic_fetch_add(&fake_resident, 1);
        if (atomic_fetch_add(&fake_resident_blocks, grid_x) + grid_x >
            MULTIPROCESSORS)
            fake_complain("%u blocks of a persistent kernel, and others: they "
                          "are not there all at once",
                          grid_x);
    }
    atomic_fetch_add(&fake_launches, 1);
    fake_enqueue(stream, o);
    return leave(0);
}
