// A CUDA driver without a GPU: kernels' PTX is run by run.c, one thread for
// each stream, and every call is checked. Made into a shared library that tests
// name in HEDDLE_CUDA_DRIVER.
//
// It holds the caller to rules that a real driver does not check: nothing is
// used after it was destroyed or before it was made, a context is current, what
// blocks while a kernel is resident (hdx_serve) is not called then.
#include "backend/cuda/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"
#include "tests/cuda/ptx.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    UNKNOWN = 999,
    MULTIPROCESSORS = 4,
    MAX_SHARED = 227 * 1024,
    BLOCKS = 8 // that run at once
};

// Device addresses differ from the host's, so that nobody mixes them up.
#define DEVICE_BIT (UINT64_C(1) << 60)

enum kind {
    CONTEXT = 1,
    MODULE,
    FUNCTION,
    STREAM,
    EVENT,
    LINK,
    DEVICE_MEMORY,
    HOST_MEMORY
};

struct object {
    enum kind kind;
    struct object *next;
    bool gone;
};

struct memory {
    struct object object;
    char *bytes;
    uint64_t size;
};

struct cuda_context_ {
    struct object object;
    unsigned users;
};

struct cuda_module_ {
    struct object object;
    struct ptx_module ptx;
};

struct cuda_function_ {
    struct object object;
    struct cuda_module_ *module;
    const struct ptx_function *ptx;
    int dynamic_shared;
};

struct operation {
    struct operation *next;
    enum {
        LAUNCH,
        COPY,
        FILL,
        RECORD
    } kind;
    struct cuda_function_ *function;
    unsigned grid[3], block[3], shared;
    char *parameters;
    void *to;
    const void *from;
    size_t bytes;
    unsigned char value;
    struct cuda_event_ *event;
    uint64_t number;
};

struct cuda_stream_ {
    struct object object;
    pthread_t thread;
    pthread_cond_t changed;
    struct operation *first, **last;
    bool busy, ends;
};

struct cuda_event_ {
    struct object object;
    uint64_t recorded, reached;
};

struct cuda_link_ {
    struct object object;
    char *text; // PTX files, each with its 0; then another 0
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects; // that were ever made, newest first
static struct cuda_context_ *primary;
static _Thread_local struct cuda_context_ *current[16];
static _Thread_local unsigned depth;
static atomic_uint_fast64_t calls, failing;
static atomic_int sticky; // what went wrong on the device
static atomic_uint resident;
static atomic_bool stop, any;
static bool initialized, free_failed, release_failed;
static char complaints[8192];

static void complain(const char *format, ...)
{
    char text[256];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    size_t used = strlen(complaints);
    snprintf(complaints + used, sizeof(complaints) - used, "%s\n", text);
}

// Objects ---------------------------------------------------------------------

static void *make(enum kind kind, size_t size)
{
    struct object *o = calloc(1, size);
    o->kind = kind;
    o->next = objects;
    objects = o;
    return o;
}

static bool is_live(const void *handle, enum kind kind, const char *call)
{
    for (const struct object *o = objects; o; o = o->next)
        if (o == handle) {
            if (!o->gone && o->kind == kind)
                return true;
            complain("%s: what is gone, or is something else", call);
            return false;
        }
    complain("%s: no such handle", call);
    return false;
}

// Every call begins so: counted, made to fail, and with the lock.
static cuda_result enter(const char *name, bool needs_context)
{
    uint64_t number = atomic_fetch_add(&calls, 1) + 1;

    pthread_mutex_lock(&lock);
    if (!initialized && strcmp(name, "cuInit") != 0 &&
        strcmp(name, "cuDriverGetVersion") != 0) {
        complain("%s before cuInit", name);
        return NOT_INITIALIZED;
    }
    if (number == atomic_load(&failing)) {
        free_failed = free_failed || strncmp(name, "cuMemFree", 9) == 0;
        release_failed =
            release_failed || strcmp(name, "cuDevicePrimaryCtxRelease") == 0;
        return UNKNOWN;
    }
    if (needs_context && depth == 0) {
        complain("%s without a context", name);
        return 201;
    }
    return needs_context ? atomic_load(&sticky) : 0;
}

static cuda_result leave(cuda_result result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

#define BEGIN(name, context)                        \
    do {                                            \
        cuda_result begin_ = enter(#name, context); \
        if (begin_ != 0)                            \
            return leave(begin_);                   \
    } while (0)

#define CHECK_LIVE(handle, kind, name)     \
    do {                                   \
        if (!is_live(handle, kind, #name)) \
            return leave(INVALID_HANDLE);  \
    } while (0)

static void await_all(void);

// What waits on a GPU for all that runs: for ever when a kernel never ends.
static void blocks(const char *name)
{
    if (atomic_load(&resident) > 0)
        complain("%s while a kernel is resident", name);
    else
        await_all();
}

#define DECLARE(name, symbol, parameters) EXPORT cuda_result symbol parameters;
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

// Devices ---------------------------------------------------------------------

cuda_result cuInit(unsigned flags)
{
    BEGIN(cuInit, false);
    initialized = true;
    return leave(flags == 0 ? 0 : INVALID_VALUE);
}

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

cuda_result cuDriverGetVersion(int *version)
{
    BEGIN(cuDriverGetVersion, false);
    *version = setting("FAKE_CUDA_VERSION", 12040);
    return leave(0);
}

cuda_result cuGetErrorName(cuda_result result, const char **name)
{
    *name = result == CUDA_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == UNKNOWN            ? "CUDA_ERROR_UNKNOWN"
            : result == INVALID_PTX        ? "CUDA_ERROR_INVALID_PTX"
                                           : "CUDA_ERROR_FAKE";
    return 0;
}

cuda_result cuGetErrorString(cuda_result result, const char **text)
{
    static _Thread_local char number[32];
    snprintf(number, sizeof(number), "error %d", result);
    *text = number;
    return 0;
}

cuda_result cuDeviceGetCount(int *count)
{
    BEGIN(cuDeviceGetCount, false);
    *count = setting("FAKE_CUDA_DEVICES", 1);
    return leave(0);
}

cuda_result cuDeviceGet(cuda_device *device, int index)
{
    BEGIN(cuDeviceGet, false);
    *device = index;
    return leave(index >= 0 && index < setting("FAKE_CUDA_DEVICES", 1)
                     ? 0
                     : INVALID_VALUE);
}

cuda_result cuDeviceGetName(char *name, int size, cuda_device device)
{
    (void)device;
    BEGIN(cuDeviceGetName, false);
    snprintf(name, (size_t)size, "fake GPU");
    return leave(0);
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device)
{
    (void)device;
    BEGIN(cuDeviceTotalMem, false);
    *bytes = (size_t)1 << 30;
    return leave(0);
}

cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_device device)
{
    int capability = setting("FAKE_CUDA_CAPABILITY", 80);

    (void)device;
    BEGIN(cuDeviceGetAttribute, false);
    switch (attribute) {
    case CUDA_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CUDA_MAX_GRID_Y:
        *value = 65535;
        break;
    case CUDA_MULTIPROCESSORS:
        *value = MULTIPROCESSORS;
        break;
    case CUDA_CAN_MAP_HOST_MEMORY:
    case CUDA_UNIFIED_ADDRESSING:
        *value = 1;
        break;
    case CUDA_CAPABILITY_MAJOR:
        *value = capability / 10;
        break;
    case CUDA_CAPABILITY_MINOR:
        *value = capability % 10;
        break;
    case CUDA_SHARED_PER_MULTIPROCESSOR:
        *value = MAX_SHARED + 1024;
        break;
    case CUDA_REGISTERS_PER_MULTIPROCESSOR:
        *value = 65536;
        break;
    case CUDA_SHARED_PER_BLOCK_OPTIN:
        *value = MAX_SHARED;
        break;
    default:
        complain("attribute %d is not known here", attribute);
        return leave(INVALID_VALUE);
    }
    return leave(0);
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
    (void)device;
    BEGIN(cuDevicePrimaryCtxRetain, false);
    if (!primary)
        primary = make(CONTEXT, sizeof(*primary));
    primary->users++;
    *context = primary;
    return leave(0);
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    (void)device;
    BEGIN(cuDevicePrimaryCtxRelease, false);
    if (!primary || primary->users == 0) {
        complain("a context is released that nobody has");
        return leave(INVALID_VALUE);
    }
    if (--primary->users == 0) {
        primary->object.gone = true;
        primary = NULL;
        // What could not be freed any more goes with it.
        bool could_not = atomic_load(&sticky) != 0 || free_failed;
        for (struct object *o = objects; o && could_not; o = o->next)
            if (o->kind == DEVICE_MEMORY || o->kind == HOST_MEMORY)
                o->gone = true;
        // Whatever ran on it is over, and so is what went wrong.
        atomic_store(&stop, true);
        pthread_mutex_unlock(&lock);
        while (atomic_load(&resident) > 0)
            sched_yield();
        pthread_mutex_lock(&lock);
        atomic_store(&stop, false);
        atomic_store(&sticky, 0);
    }
    return leave(0);
}

cuda_result cuCtxPushCurrent_v2(cuda_context context)
{
    BEGIN(cuCtxPushCurrent, false);
    CHECK_LIVE(context, CONTEXT, cuCtxPushCurrent);
    if (depth == 16)
        return leave(INVALID_VALUE);
    current[depth++] = context;
    return leave(0);
}

cuda_result cuCtxPopCurrent_v2(cuda_context *context)
{
    pthread_mutex_lock(&lock); // what cannot fail does not
    if (depth == 0) {
        complain("a context is popped that nobody pushed");
        return leave(INVALID_VALUE);
    }
    depth--;
    if (context)
        *context = current[depth];
    return leave(0);
}

// Memory ----------------------------------------------------------------------

cuda_result cuMemAlloc_v2(cuda_address *address, size_t bytes)
{
    BEGIN(cuMemAlloc, true);
    blocks("cuMemAlloc");
    if (bytes == 0 || bytes > (size_t)1 << 30)
        return leave(bytes ? CUDA_OUT_OF_MEMORY : INVALID_VALUE);
    struct memory *m = make(DEVICE_MEMORY, sizeof(*m));
    m->size = bytes;
    m->bytes = aligned_alloc(512, (bytes + 511) / 512 * 512);
    memset(m->bytes, 0xee, bytes);
    *address = (uint64_t)(uintptr_t)m->bytes | DEVICE_BIT;
    return leave(0);
}

static struct memory *memory_at(enum kind kind, const void *begin)
{
    for (struct object *o = objects; o; o = o->next)
        if (o->kind == kind && !o->gone && ((struct memory *)o)->bytes == begin)
            return (struct memory *)o;
    return NULL;
}

static cuda_result free_memory(enum kind kind, void *begin, const char *name)
{
    struct memory *m = memory_at(kind, begin);

    if (!m) {
        complain("%s of what is not allocated", name);
        return INVALID_VALUE;
    }
    m->object.gone = true;
    free(m->bytes);
    m->bytes = NULL;
    return 0;
}

cuda_result cuMemFree_v2(cuda_address address)
{
    BEGIN(cuMemFree, true);
    blocks("cuMemFree");
    return leave(free_memory(DEVICE_MEMORY,
                             (void *)(uintptr_t)(address & ~DEVICE_BIT),
                             "cuMemFree"));
}

cuda_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    BEGIN(cuMemHostAlloc, true);
    blocks("cuMemHostAlloc");
    if (!(flags & CUDA_HOST_MAPPED))
        complain("host memory that is not mapped");
    struct memory *m = make(HOST_MEMORY, sizeof(*m));
    m->size = bytes;
    m->bytes = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    memset(m->bytes, 0xdd, bytes);
    *memory = m->bytes;
    return leave(0);
}

cuda_result cuMemFreeHost(void *memory)
{
    BEGIN(cuMemFreeHost, true);
    blocks("cuMemFreeHost");
    return leave(free_memory(HOST_MEMORY, memory, "cuMemFreeHost"));
}

cuda_result cuMemHostGetDevicePointer_v2(cuda_address *address, void *memory,
                                         unsigned flags)
{
    (void)flags;
    BEGIN(cuMemHostGetDevicePointer, true);
    if (!memory_at(HOST_MEMORY, memory))
        return leave(INVALID_VALUE);
    *address = (uint64_t)(uintptr_t)memory;
    return leave(0);
}

// With the lock. `size` bytes of memory that is there, or NULL.
static void *locked_find(const struct cuda_module_ *module, uint64_t address,
                         uint64_t size)
{
    char *real = (char *)(uintptr_t)(address & ~DEVICE_BIT);
    enum kind kind = address & DEVICE_BIT ? DEVICE_MEMORY : HOST_MEMORY;

    for (struct object *o = objects; o; o = o->next) {
        const struct memory *m = (struct memory *)o;
        if (o->kind == kind && !o->gone && real >= m->bytes &&
            (uint64_t)(real - m->bytes) <= m->size &&
            size <= m->size - (uint64_t)(real - m->bytes))
            return real;
    }
    for (const struct ptx_variable *v = module ? module->ptx.variables : NULL;
         v && kind == HOST_MEMORY; v = v->next)
        if (v->memory && real >= v->memory &&
            real + size <= v->memory + v->bytes)
            return real;
    return NULL;
}

static void *find(void *data, uint64_t address, uint64_t size)
{
    if (atomic_load_explicit(&any, memory_order_relaxed))
        return (void *)(uintptr_t)(address & ~DEVICE_BIT);
    pthread_mutex_lock(&lock);
    void *found = locked_find(data, address, size);
    pthread_mutex_unlock(&lock);
    return found;
}

// A device's address must be one; others are taken for the host's.
static void *copied(uint64_t address, size_t bytes, const char *name)
{
    if (!(address & DEVICE_BIT))
        return (void *)(uintptr_t)address;
    void *real = locked_find(NULL, address, bytes);
    if (!real)
        complain("%s outside of what is allocated", name);
    return real;
}

// Streams ---------------------------------------------------------------------

static void run_kernel(const struct operation *o)
{
    char why[256];
    bool stays = strcmp(o->function->ptx->name, "hdx_serve") == 0;
    const struct ptx_machine machine = {.find = find,
                                        .data = o->function->module,
                                        .stop = &stop,
                                        .blocks_at_once = BLOCKS};
    const struct ptx_launch launch = {
        .entry = o->function->ptx,
        .grid = {o->grid[0], o->grid[1], o->grid[2]},
        .block = {o->block[0], o->block[1], o->block[2]},
        .shared_bytes = o->shared,
        .parameters = o->parameters,
        .why = why};

    enum ptx_outcome outcome = ptx_run(&machine, &launch);
    int result = outcome == PTX_DONE || outcome == PTX_STOPPED ? 0
                 : outcome == PTX_ILLEGAL_ADDRESS ? CUDA_ILLEGAL_ADDRESS
                 : outcome == PTX_MISALIGNED      ? CUDA_MISALIGNED_ADDRESS
                                                  : CUDA_LAUNCH_FAILED;
    if (result != 0) {
        int none = 0;
        atomic_compare_exchange_strong(&sticky, &none, result);
        if (getenv("FAKE_CUDA_LOG"))
            fprintf(stderr, "fake cuda: %s: %s\n", o->function->ptx->name, why);
    }
    if (outcome == PTX_UNKNOWN) {
        pthread_mutex_lock(&lock);
        complain("kernel %s: %s", o->function->ptx->name, why);
        pthread_mutex_unlock(&lock);
    }
    if (stays)
        atomic_fetch_sub(&resident, 1);
}

static void run_operation(const struct operation *o)
{
    if (o->kind == RECORD) {
        pthread_mutex_lock(&lock);
        if (o->number > o->event->reached)
            o->event->reached = o->number;
        pthread_mutex_unlock(&lock);
    } else if (atomic_load(&sticky) != 0) {
        if (o->kind == LAUNCH &&
            strcmp(o->function->ptx->name, "hdx_serve") == 0)
            atomic_fetch_sub(&resident, 1);
    } else if (o->kind == LAUNCH) {
        run_kernel(o);
    } else if (o->kind == COPY) {
        memmove(o->to, o->from, o->bytes);
    } else {
        memset(o->to, o->value, o->bytes);
    }
}

static void *serve(void *data)
{
    struct cuda_stream_ *s = data;

    pthread_mutex_lock(&lock);
    for (;;) {
        while (!s->first && !s->ends)
            pthread_cond_wait(&s->changed, &lock);
        struct operation *o = s->first;
        if (!o)
            break;
        s->first = o->next;
        if (!s->first)
            s->last = &s->first;
        s->busy = true;
        pthread_mutex_unlock(&lock);
        run_operation(o);
        free(o->parameters);
        free(o);
        pthread_mutex_lock(&lock);
        s->busy = false;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void await_all(void)
{
    struct object *o = objects;

    while (o) {
        struct cuda_stream_ *s = (struct cuda_stream_ *)o;
        if (o->kind == STREAM && !o->gone && (s->first || s->busy))
            pthread_cond_wait(&s->changed, &lock);
        else
            o = o->next;
    }
}

static void enqueue(struct cuda_stream_ *s, struct operation o)
{
    struct operation *copy = malloc(sizeof(*copy));

    *copy = o;
    copy->next = NULL;
    *s->last = copy;
    s->last = &copy->next;
    pthread_cond_broadcast(&s->changed);
}

cuda_result cuStreamCreate(cuda_stream *stream, unsigned flags)
{
    BEGIN(cuStreamCreate, true);
    if (flags != CUDA_STREAM_NON_BLOCKING)
        complain("a stream that waits for the default stream");
    struct cuda_stream_ *s = make(STREAM, sizeof(*s));
    s->last = &s->first;
    pthread_cond_init(&s->changed, NULL);
    pthread_create(&s->thread, NULL, serve, s);
    *stream = s;
    return leave(0);
}

cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&calls, 1);
    CHECK_LIVE(stream, STREAM, cuStreamDestroy);
    stream->object.gone = true;
    stream->ends = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&lock);
    pthread_join(stream->thread, NULL);
    return 0;
}

cuda_result cuStreamSynchronize(cuda_stream stream)
{
    BEGIN(cuStreamSynchronize, true);
    CHECK_LIVE(stream, STREAM, cuStreamSynchronize);
    while (stream->first || stream->busy)
        pthread_cond_wait(&stream->changed, &lock);
    return leave(atomic_load(&sticky));
}

cuda_result cuMemsetD8Async(cuda_address address, unsigned char value,
                            size_t bytes, cuda_stream stream)
{
    BEGIN(cuMemsetD8Async, true);
    CHECK_LIVE(stream, STREAM, cuMemsetD8Async);
    void *to = copied(address, bytes, "cuMemsetD8Async");
    if (!to)
        return leave(INVALID_VALUE);
    enqueue(stream,
            (struct operation){
                .kind = FILL, .to = to, .value = value, .bytes = bytes});
    return leave(0);
}

cuda_result cuMemcpyAsync(cuda_address to, cuda_address from, size_t bytes,
                          cuda_stream stream)
{
    BEGIN(cuMemcpyAsync, true);
    CHECK_LIVE(stream, STREAM, cuMemcpyAsync);
    void *real_to = copied(to, bytes, "cuMemcpyAsync"),
         *real_from = copied(from, bytes, "cuMemcpyAsync");
    if (!real_to || !real_from)
        return leave(INVALID_VALUE);
    enqueue(stream, (struct operation){.kind = COPY,
                                       .to = real_to,
                                       .from = real_from,
                                       .bytes = bytes});
    return leave(0);
}

cuda_result cuEventCreate(cuda_event *event, unsigned flags)
{
    (void)flags;
    BEGIN(cuEventCreate, true);
    *event = make(EVENT, sizeof(**event));
    return leave(0);
}

cuda_result cuEventDestroy_v2(cuda_event event)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&calls, 1);
    CHECK_LIVE(event, EVENT, cuEventDestroy);
    event->object.gone = true;
    return leave(0);
}

cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
    BEGIN(cuEventRecord, true);
    CHECK_LIVE(event, EVENT, cuEventRecord);
    CHECK_LIVE(stream, STREAM, cuEventRecord);
    enqueue(stream, (struct operation){.kind = RECORD,
                                       .event = event,
                                       .number = ++event->recorded});
    return leave(0);
}

// Asked again and again: only a call that finds the event is one to fail.
cuda_result cuEventQuery(cuda_event event)
{
    pthread_mutex_lock(&lock);
    CHECK_LIVE(event, EVENT, cuEventQuery);
    bool ready = event->reached >= event->recorded;
    pthread_mutex_unlock(&lock);
    if (!ready)
        return CUDA_NOT_READY;
    BEGIN(cuEventQuery, true);
    return leave(0);
}

// Code ------------------------------------------------------------------------

static const char magic[] = "FAKE CUBIN";

static void tell(unsigned count, const int *options, void **values,
                 const char *text)
{
    char *to = NULL;
    size_t size = 0;

    for (unsigned i = 0; i < count; i++)
        if (options[i] == CUDA_OPTION_ERROR_TEXT)
            to = values[i];
        else if (options[i] == CUDA_OPTION_ERROR_TEXT_SIZE)
            size = (size_t)(uintptr_t)values[i];
    if (to && size > 0)
        snprintf(to, size, "%s", text);
}

cuda_result cuModuleLoadDataEx(cuda_module *module, const void *image,
                               unsigned count, int *options, void **values)
{
    BEGIN(cuModuleLoadDataEx, true);
    blocks("cuModuleLoadDataEx");
    struct cuda_module_ *m = make(MODULE, sizeof(*m));
    const char *text = image;
    bool linked = memcmp(text, magic, sizeof(magic)) == 0;

    if (linked)
        text += sizeof(magic);
    do {
        if (!ptx_read(&m->ptx, text)) {
            tell(count, options, values, m->ptx.error);
            m->object.gone = true;
            ptx_clear(&m->ptx);
            return leave(INVALID_PTX);
        }
        text += strlen(text) + 1;
    } while (linked && *text);
    if (!ptx_link(&m->ptx)) {
        tell(count, options, values, m->ptx.error);
        m->object.gone = true;
        ptx_clear(&m->ptx);
        return leave(INVALID_PTX);
    }
    *module = m;
    return leave(0);
}

cuda_result cuModuleUnload(cuda_module module)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&calls, 1);
    blocks("cuModuleUnload");
    CHECK_LIVE(module, MODULE, cuModuleUnload);
    module->object.gone = true;
    for (struct object *o = objects; o; o = o->next)
        if (o->kind == FUNCTION &&
            ((struct cuda_function_ *)o)->module == module)
            o->gone = true;
    ptx_clear(&module->ptx);
    return leave(0);
}

cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module,
                                const char *name)
{
    BEGIN(cuModuleGetFunction, true);
    CHECK_LIVE(module, MODULE, cuModuleGetFunction);
    const struct ptx_function *f = ptx_find(&module->ptx, name);
    if (!f || !f->is_entry)
        return leave(CUDA_NOT_FOUND);
    *function = make(FUNCTION, sizeof(**function));
    (*function)->module = module;
    (*function)->ptx = f;
    return leave(0);
}

cuda_result cuFuncGetAttribute(int *value, int attribute,
                               cuda_function function)
{
    BEGIN(cuFuncGetAttribute, true);
    CHECK_LIVE(function, FUNCTION, cuFuncGetAttribute);
    uint32_t most = function->ptx->most_threads;
    switch (attribute) {
    case CUDA_FUNCTION_MAX_THREADS:
        *value = most ? (int)most : 1024;
        break;
    case CUDA_FUNCTION_SHARED:
        *value = (int)function->module->ptx.shared_bytes;
        break;
    case CUDA_FUNCTION_REGISTERS:
        *value = 32;
        break;
    default:
        return leave(INVALID_VALUE);
    }
    return leave(0);
}

cuda_result cuFuncSetAttribute(cuda_function function, int attribute, int value)
{
    BEGIN(cuFuncSetAttribute, true);
    CHECK_LIVE(function, FUNCTION, cuFuncSetAttribute);
    if (attribute != CUDA_FUNCTION_MAX_DYNAMIC_SHARED || value > MAX_SHARED)
        return leave(INVALID_VALUE);
    function->dynamic_shared = value;
    return leave(0);
}

cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x,
                           unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z,
                           unsigned shared_bytes, cuda_stream stream,
                           void **parameters, void **extra)
{
    BEGIN(cuLaunchKernel, true);
    CHECK_LIVE(function, FUNCTION, cuLaunchKernel);
    CHECK_LIVE(stream, STREAM, cuLaunchKernel);
    const struct ptx_function *f = function->ptx;
    uint64_t threads = (uint64_t)block_x * block_y * block_z;
    unsigned most =
        (unsigned)(function->dynamic_shared > 49152 ? function->dynamic_shared
                                                    : 49152);
    if (threads == 0 || threads > (f->most_threads ? f->most_threads : 1024) ||
        block_z > 64 || grid_x == 0 || grid_y == 0 || grid_z == 0 ||
        grid_y > 65535 || grid_z > 65535 || shared_bytes > most || extra) {
        complain("%s: a launch of blocks of %u x %u x %u, %u bytes", f->name,
                 block_x, block_y, block_z, shared_bytes);
        return leave(INVALID_VALUE);
    }
    struct operation o = {
        .kind = LAUNCH,
        .function = function,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared = shared_bytes,
        .parameters = aligned_alloc(64, (f->parameter_bytes + 127) / 64 * 64)};
    for (uint32_t i = 0; i < f->parameter_count; i++)
        memcpy(o.parameters + f->parameters[i].offset, parameters[i],
               f->parameters[i].size);
    if (strcmp(f->name, "hdx_serve") == 0)
        atomic_fetch_add(&resident, 1);
    enqueue(stream, o);
    return leave(0);
}

cuda_result cuLinkCreate_v2(unsigned count, int *options, void **values,
                            cuda_link *link)
{
    (void)count, (void)options, (void)values;
    BEGIN(cuLinkCreate, true);
    struct cuda_link_ *l = make(LINK, sizeof(*l));
    l->text = malloc(sizeof(magic));
    memcpy(l->text, magic, sizeof(magic));
    l->size = sizeof(magic);
    *link = l;
    return leave(0);
}

cuda_result cuLinkAddData_v2(cuda_link link, int type, void *data, size_t bytes,
                             const char *name, unsigned count, int *options,
                             void **values)
{
    (void)name, (void)count, (void)options, (void)values;
    BEGIN(cuLinkAddData, true);
    CHECK_LIVE(link, LINK, cuLinkAddData);
    if (type != CUDA_INPUT_PTX || ((char *)data)[bytes - 1] != '\0') {
        complain("cuLinkAddData of what is no PTX with its 0");
        return leave(INVALID_VALUE);
    }
    link->text = realloc(link->text, link->size + bytes + 1);
    memcpy(link->text + link->size, data, bytes);
    link->size += bytes;
    return leave(0);
}

cuda_result cuLinkComplete(cuda_link link, void **cubin, size_t *bytes)
{
    BEGIN(cuLinkComplete, true);
    CHECK_LIVE(link, LINK, cuLinkComplete);
    link->text = realloc(link->text, link->size + 1);
    link->text[link->size] = '\0';
    *cubin = link->text;
    *bytes = link->size + 1;
    return leave(0);
}

cuda_result cuLinkDestroy(cuda_link link)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&calls, 1);
    CHECK_LIVE(link, LINK, cuLinkDestroy);
    link->object.gone = true;
    free(link->text);
    return leave(0);
}

// For tests -------------------------------------------------------------------

static uint64_t count_calls(void)
{
    return atomic_load(&calls);
}

static void fail_at(uint64_t call)
{
    atomic_store(&calls, 0);
    atomic_store(&failing, call);
}

static const char *report(void)
{
    static const char *const names[] = {
        "",       "contexts", "modules",       "functions",  "streams",
        "events", "links",    "device memory", "host memory"};
    static char text[16384];
    unsigned left[9] = {0};

    pthread_mutex_lock(&lock);
    for (const struct object *o = objects; o; o = o->next)
        left[o->kind] += !o->gone && !release_failed; // nobody can
    int n = snprintf(text, sizeof(text), "%s", complaints);
    for (int kind = CONTEXT; kind <= HOST_MEMORY; kind++)
        if (left[kind] > 0)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "%u %s left\n",
                          left[kind], names[kind]);
    pthread_mutex_unlock(&lock);
    return text;
}

static void any_address(bool on)
{
    atomic_store(&any, on);
}

static unsigned count_resident(void)
{
    return atomic_load(&resident);
}

extern const struct fake_cuda fake_cuda_table;
EXPORT const struct fake_cuda fake_cuda_table = {count_calls, fail_at, report,
                                                 any_address, count_resident};
