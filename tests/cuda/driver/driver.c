// A CUDA driver without a GPU: kernels' PTX is run by run.c, one thread for
// each stream, and every call is checked. Made into a shared library that tests
// name in HEDDLE_CUDA_DRIVER.
//
// It holds the caller to rules that a real driver does not check: nothing is
// used after it was destroyed or before it was made, a context is current, what
// blocks while a kernel is resident (hdx_serve) is not called then.
#include "tests/cuda/driver/objects.h"

#include <stdarg.h>

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
struct object *fake_objects[KINDS]; // newest first
static struct object *gone_objects; // out of everybody's way, but remembered
static struct cuda_context_ *primary;
static _Thread_local struct cuda_context_ *current[16];
static _Thread_local unsigned depth;
atomic_uint_fast64_t fake_calls, fake_launches, fake_links;
static atomic_uint_fast64_t failing;
static char broken[64]; // calls of this name fail
atomic_int fake_sticky; // what went wrong on the device
atomic_uint fake_resident;
atomic_uint fake_resident_blocks;
static char greedy[64]; // functions that need
static int greed;       // so many registers
atomic_bool fake_stop;
atomic_bool fake_held;
atomic_bool fake_copies_held;
atomic_uint_fast64_t fake_pageable;
static atomic_bool any;
static bool initialized, free_failed, release_failed;
static char complaints[8192];

void fake_complain(const char *format, ...)
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

// Every look goes through the list: what is gone leaves it now and then.
static void sweep(enum kind kind)
{
    for (struct object *o, **at = &fake_objects[kind]; (o = *at);) {
        if (!o->gone) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        o->next = gone_objects;
        gone_objects = o;
    }
}

void *fake_make(enum kind kind, size_t size)
{
    static unsigned made;
    struct object *o = calloc(1, size);
    if (++made % 64 == 0)
        sweep(kind);
    o->kind = kind;
    o->next = fake_objects[kind];
    fake_objects[kind] = o;
    return o;
}

bool fake_is_live(const void *handle, enum kind kind, const char *call)
{
    const struct object *o = fake_objects[kind];
    while (o && o != handle)
        o = o->next;
    if (o && !o->gone)
        return true;
    for (int other = 0; other < KINDS && !o; other++)
        for (o = fake_objects[other]; o && o != handle;)
            o = o->next;
    for (const struct object *g = gone_objects; g && !o; g = g->next)
        if (g == handle)
            o = g;
    fake_complain(o ? "%s: what is gone, or is something else"
                    : "%s: no such handle",
                  call);
    return false;
}

// Every call begins so: counted, made to fail, and with the lock.
cuda_result fake_enter(const char *name, bool needs_context)
{
    uint64_t number = atomic_fetch_add(&fake_calls, 1) + 1;

    pthread_mutex_lock(&fake_lock);
    if (!initialized && strcmp(name, "cuInit") != 0 &&
        strcmp(name, "cuDriverGetVersion") != 0) {
        fake_complain("%s before cuInit", name);
        return NOT_INITIALIZED;
    }
    if (number == atomic_load(&failing) || strcmp(name, broken) == 0) {
        if (getenv("FAKE_CUDA_LOG"))
            fprintf(stderr, "fake cuda: %s fails\n", name);
        free_failed = free_failed || strncmp(name, "cuMemFree", 9) == 0 ||
                      strcmp(name, "cuMemHostUnregister") == 0;
        release_failed =
            release_failed || strcmp(name, "cuDevicePrimaryCtxRelease") == 0;
        return UNKNOWN;
    }
    if (needs_context && depth == 0) {
        fake_complain("%s without a context", name);
        return 201;
    }
    return needs_context ? atomic_load(&fake_sticky) : 0;
}

void fake_blocks(const char *name)
{
    // What went wrong ends everything that runs.
    while (atomic_load(&fake_sticky) != 0 && atomic_load(&fake_resident) > 0) {
        pthread_mutex_unlock(&fake_lock);
        sched_yield();
        pthread_mutex_lock(&fake_lock);
    }
    if (atomic_load(&fake_resident) > 0)
        fake_complain("%s while a kernel is resident", name);
    else
        fake_await_all();
}

// Devices ---------------------------------------------------------------------

cuda_result cuInit(unsigned flags)
{
    BEGIN(cuInit, false);
    initialized = true;
    return leave(flags == 0 ? 0 : INVALID_VALUE);
}

int fake_setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

cuda_result cuDriverGetVersion(int *version)
{
    BEGIN(cuDriverGetVersion, false);
    *version = fake_setting("FAKE_CUDA_VERSION", 12040);
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
    *count = fake_setting("FAKE_CUDA_DEVICES", 1);
    return leave(0);
}

cuda_result cuDeviceGet(cuda_device *device, int index)
{
    BEGIN(cuDeviceGet, false);
    *device = index;
    return leave(index >= 0 && index < fake_setting("FAKE_CUDA_DEVICES", 1)
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
    int capability = fake_setting("FAKE_CUDA_CAPABILITY", 80);

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
    case CUDA_CLOCK_RATE:
        *value = 1410000;
        break;
    case CUDA_L2_CACHE:
        *value = 4 << 20;
        break;
    case CUDA_CORRECTS_ERRORS:
    case CUDA_CAN_MAP_HOST_MEMORY:
    case CUDA_CAN_REGISTER_HOST_MEMORY:
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
        *value = REGISTERS;
        break;
    case CUDA_SHARED_PER_BLOCK_OPTIN:
        *value = MAX_SHARED;
        break;
    default:
        fake_complain("attribute %d is not known here", attribute);
        return leave(INVALID_VALUE);
    }
    return leave(0);
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
    (void)device;
    BEGIN(cuDevicePrimaryCtxRetain, false);
    if (!primary)
        primary = fake_make(CONTEXT, sizeof(*primary));
    primary->users++;
    *context = primary;
    return leave(0);
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    (void)device;
    BEGIN(cuDevicePrimaryCtxRelease, false);
    if (!primary || primary->users == 0) {
        fake_complain("a context is released that nobody has");
        return leave(INVALID_VALUE);
    }
    if (--primary->users == 0) {
        primary->object.gone = true;
        primary = NULL;
        // What could not be freed any more goes with it.
        bool could_not = atomic_load(&fake_sticky) != 0 || free_failed;
        for (int kind = 0; kind < KINDS; kind++)
            for (struct object *o = fake_objects[kind]; o; o = o->next)
                if (could_not && kind >= DEVICE_MEMORY)
                    o->gone = true;
        // Whatever ran on it is over, and so is what went wrong.
        atomic_store(&fake_stop, true);
        pthread_mutex_unlock(&fake_lock);
        while (atomic_load(&fake_resident) > 0)
            sched_yield();
        pthread_mutex_lock(&fake_lock);
        fake_await_all();
        atomic_store(&fake_stop, false);
        atomic_store(&fake_sticky, 0);
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
    pthread_mutex_lock(&fake_lock); // what cannot fail does not
    if (depth == 0) {
        fake_complain("a context is popped that nobody pushed");
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
    fake_blocks("cuMemAlloc");
    if (bytes == 0 || bytes > (size_t)1 << 30)
        return leave(bytes ? CUDA_OUT_OF_MEMORY : INVALID_VALUE);
    struct memory *m = fake_make(DEVICE_MEMORY, sizeof(*m));
    m->size = bytes;
    m->bytes = aligned_alloc(512, (bytes + 511) / 512 * 512);
    memset(m->bytes, 0xee, bytes);
    *address = (uint64_t)(uintptr_t)m->bytes | DEVICE_BIT;
    return leave(0);
}

static struct memory *memory_at(enum kind kind, const void *begin)
{
    for (struct object *o = fake_objects[kind]; o; o = o->next)
        if (!o->gone && ((struct memory *)o)->bytes == begin)
            return (struct memory *)o;
    return NULL;
}

static cuda_result free_memory(enum kind kind, void *begin, const char *name)
{
    struct memory *m = memory_at(kind, begin);

    if (!m) {
        fake_complain("%s of what is not allocated", name);
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
    fake_blocks("cuMemFree");
    return leave(free_memory(DEVICE_MEMORY,
                             (void *)(uintptr_t)(address & ~DEVICE_BIT),
                             "cuMemFree"));
}

cuda_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    BEGIN(cuMemHostAlloc, true);
    fake_blocks("cuMemHostAlloc");
    if (!(flags & CUDA_HOST_MAPPED))
        fake_complain("host memory that is not mapped");
    struct memory *m = fake_make(HOST_MEMORY, sizeof(*m));
    m->size = bytes;
    m->bytes = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    memset(m->bytes, 0xdd, bytes);
    *memory = m->bytes;
    return leave(0);
}

cuda_result cuMemAllocHost_v2(void **memory, size_t bytes)
{
    BEGIN(cuMemAllocHost, true);
    fake_blocks("cuMemAllocHost");
    struct memory *m = fake_make(HOST_MEMORY, sizeof(*m));
    m->size = bytes;
    m->bytes = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    *memory = m->bytes;
    return leave(0);
}

cuda_result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    BEGIN(cuMemHostRegister, true);
    fake_blocks("cuMemHostRegister");
    if (bytes == 0 || flags != CUDA_REGISTER_PORTABLE ||
        fake_is_pinned(memory, 1)) {
        fake_complain("cuMemHostRegister of %zu bytes, flags %u", bytes, flags);
        return leave(INVALID_VALUE);
    }
    struct memory *m = fake_make(REGISTERED, sizeof(*m));
    m->size = bytes;
    m->bytes = memory;
    return leave(0);
}

cuda_result cuMemHostUnregister(void *memory)
{
    BEGIN(cuMemHostUnregister, true);
    fake_blocks("cuMemHostUnregister");
    struct memory *m = memory_at(REGISTERED, memory);
    if (!m) {
        fake_complain("cuMemHostUnregister of what is not registered");
        return leave(INVALID_VALUE);
    }
    m->object.gone = true;
    return leave(0);
}

cuda_result cuPointerGetAttribute(void *value, int attribute,
                                  cuda_address pointer)
{
    BEGIN(cuPointerGetAttribute, true);
    if (attribute != CUDA_POINTER_MEMORY_TYPE)
        fake_complain("attribute %d of a pointer is not known here", attribute);
    if (!(pointer & DEVICE_BIT) &&
        !fake_is_pinned((void *)(uintptr_t)pointer, 1))
        return leave(INVALID_VALUE);
    *(int *)value =
        pointer & DEVICE_BIT ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST;
    return leave(0);
}

cuda_result cuMemFreeHost(void *memory)
{
    BEGIN(cuMemFreeHost, true);
    fake_blocks("cuMemFreeHost");
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

// With the lock. Whether it is page-locked, all of it.
bool fake_is_pinned(const void *memory, size_t bytes)
{
    const char *begin = memory;

    for (int kind = HOST_MEMORY; kind <= REGISTERED; kind++)
        for (const struct object *o = fake_objects[kind]; o; o = o->next) {
            const struct memory *m = (const struct memory *)o;
            if (!o->gone && begin >= m->bytes &&
                begin + bytes <= m->bytes + m->size)
                return true;
        }
    return false;
}

// With the lock. `size` bytes of memory that is there, or NULL.
static void *locked_find(const struct cuda_module_ *module, uint64_t address,
                         uint64_t size)
{
    char *real = (char *)(uintptr_t)(address & ~DEVICE_BIT);
    enum kind kind = address & DEVICE_BIT ? DEVICE_MEMORY : HOST_MEMORY;

    for (struct object *o = fake_objects[kind]; o; o = o->next) {
        const struct memory *m = (struct memory *)o;
        if (!o->gone && real >= m->bytes &&
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

void *fake_find(void *data, uint64_t address, uint64_t size)
{
    if (atomic_load_explicit(&any, memory_order_relaxed))
        return (void *)(uintptr_t)(address & ~DEVICE_BIT);
    pthread_mutex_lock(&fake_lock);
    void *found = locked_find(data, address, size);
    pthread_mutex_unlock(&fake_lock);
    return found;
}

// A device's address must be one; others are taken for the host's.
void *fake_copied(uint64_t address, size_t bytes, const char *name)
{
    if (!(address & DEVICE_BIT))
        return (void *)(uintptr_t)address;
    void *real = locked_find(NULL, address, bytes);
    if (!real)
        fake_complain("%s outside of what is allocated", name);
    return real;
}

// For tests -------------------------------------------------------------------

static uint64_t count_calls(void)
{
    return atomic_load(&fake_calls);
}

static void fail_at(uint64_t call)
{
    atomic_store(&fake_calls, 0);
    atomic_store(&failing, call);
}

static const char *report(void)
{
    static const char *const names[] = {"",
                                        "contexts",
                                        "modules",
                                        "functions",
                                        "streams",
                                        "events",
                                        "links",
                                        "graphs",
                                        "graphs to run",
                                        "device memory",
                                        "host memory",
                                        "registered memory"};
    static char text[16384];
    unsigned left[KINDS] = {0};

    pthread_mutex_lock(&fake_lock);
    for (int kind = 0; kind < KINDS; kind++)
        for (const struct object *o = fake_objects[kind]; o; o = o->next)
            left[kind] += !o->gone && !release_failed; // nobody can
    int n = snprintf(text, sizeof(text), "%s", complaints);
    for (int kind = CONTEXT; kind < KINDS; kind++)
        if (left[kind] > 0)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "%u %s left\n",
                          left[kind], names[kind]);
    pthread_mutex_unlock(&fake_lock);
    return text;
}

static void any_address(bool on)
{
    atomic_store(&any, on);
}

static void set_registers(const char *name, int count)
{
    pthread_mutex_lock(&fake_lock);
    snprintf(greedy, sizeof(greedy), "%s", name);
    greed = count;
    pthread_mutex_unlock(&fake_lock);
}

// As a linker does: those of the function and of all that it calls.
int fake_registers_of(const struct ptx_function *f)
{
    int most = *greedy && strstr(f->name, greedy) ? greed : 32;

    for (uint32_t i = 0; i < f->count; i++) {
        const struct ptx_function *callee = f->code[i].callee;
        int more = callee && callee != f ? fake_registers_of(callee) : 0;
        most = more > most ? more : most;
    }
    return most;
}

static unsigned count_resident(void)
{
    return atomic_load(&fake_resident);
}

static uint64_t count_launches(void)
{
    return atomic_load(&fake_launches);
}

static uint64_t count_links(void)
{
    return atomic_load(&fake_links);
}

static void break_calls(const char *name)
{
    pthread_mutex_lock(&fake_lock);
    snprintf(broken, sizeof(broken), "%s", name);
    pthread_mutex_unlock(&fake_lock);
}

static void hold_launches(bool on)
{
    atomic_store(&fake_held, on);
}

static void hold_copies(bool on)
{
    atomic_store(&fake_copies_held, on);
}

static uint64_t count_pageable(void)
{
    return atomic_load(&fake_pageable);
}

static uint64_t count_registered(void)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&fake_lock);
    for (const struct object *o = fake_objects[REGISTERED]; o; o = o->next)
        bytes += o->gone ? 0 : ((const struct memory *)o)->size;
    pthread_mutex_unlock(&fake_lock);
    return bytes;
}

extern const struct fake_cuda fake_cuda_table;
EXPORT const struct fake_cuda fake_cuda_table = {.calls = count_calls,
                                                 .fail_at = fail_at,
                                                 .report = report,
                                                 .any_address = any_address,
                                                 .resident = count_resident,
                                                 .launches = count_launches,
                                                 .registers = set_registers,
                                                 .hold = hold_launches,
                                                 .fail_always = break_calls,
                                                 .links = count_links,
                                                 .hold_copies = hold_copies,
                                                 .pageable = count_pageable,
                                                 .registered =
                                                     count_registered};
