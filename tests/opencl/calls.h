// For tests that call the driver at random: what a thread has, and how it
// chooses handles and values, most of them valid, some not.
#ifndef HDI_TESTS_OPENCL_CALLS_H
#define HDI_TESTS_OPENCL_CALLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/opencl/driver.h"

enum {
    THREADS = 4,
    CALLS = 6000, // per thread
    HELD = 8,     // objects of a kind that a thread holds
    GONE = 16,    // addresses of those it had
    BYTES = 4096  // of a buffer
};

enum kind {
    CONTEXT,
    QUEUE,
    MEM,
    SAMPLER,
    PROGRAM,
    KERNEL,
    EVENT,
    DEVICE,
    KINDS
};

struct held {
    void *live[HELD];
    void *gone[GONE];
    unsigned gone_count;
};

struct shared {
    struct driver d;
    const cl_icd_dispatch *api;
    cl_program program;
};

struct thread {
    pthread_t id;
    const struct shared *shared;
    const cl_icd_dispatch *api;
    uint64_t state;
    struct held kinds[KINDS];
    cl_command_queue copies; // in order: for what the host's memory is used in
    unsigned char host[BYTES];  // of copies alone
    unsigned char given[BYTES]; // that nobody writes
    cl_event user;              // whose end is still to come, or NULL
    uint64_t refused, passed;   // calls
    bool alone;                 // no other thread is there
};

// Choosing --------------------------------------------------------------------

static inline uint32_t next(struct thread *t, uint32_t below)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->state >> 33) % below;
}

static inline void note(struct thread *t, cl_int status)
{
    if (status == CL_SUCCESS)
        t->passed++;
    else
        t->refused++;
}

static inline bool is_live(const struct thread *t, const void *handle)
{
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < HELD; i++)
            if (t->kinds[k].live[i] == handle)
                return true;
    return false;
}

// What is no object of any kind: *handle is not even looked at.
static inline void *junk(struct thread *t)
{
    static char anything[64];
    void *live = t->kinds[next(t, KINDS)].live[next(t, HELD)];

    switch (next(t, 6)) {
    case 0:
        return NULL;
    case 1:
        return anything + next(t, 64);
    case 2: // into the middle of an object
        return live ? (char *)live + 1 + next(t, 62) : NULL;
    case 3:
        return (void *)(uintptr_t)next(t, 4096);
    case 4:
        return (void *)(UINTPTR_MAX - next(t, 4096));
    default: // far behind all objects of a kind
        return live ? (char *)live + (1 << 26) : NULL;
    }
}

// An object of the kind, or, seldom, none.
static inline void *any(struct thread *t, enum kind kind)
{
    const struct held *h = &t->kinds[kind];
    unsigned at = next(t, 24);

    if (at == 0)
        return junk(t);
    if (at == 1)
        return t->kinds[next(t, KINDS)].live[next(t, HELD)];
    // Another thread's object may be where one was.
    if (at == 2 && t->alone && h->gone_count > 0) {
        void *gone = h->gone[next(t, h->gone_count)];
        return is_live(t, gone) ? NULL : gone;
    }
    // Objects of several contexts do not mix.
    if (kind == CONTEXT && next(t, 16))
        return t->shared->d.context;
    if (kind == DEVICE && next(t, 16))
        return t->shared->d.device;
    for (int i = 0; i < 4; i++) {
        void *live = h->live[next(t, HELD)];
        if (live)
            return live;
    }
    return NULL;
}

static inline size_t a_size(struct thread *t)
{
    static const size_t sizes[] = {0,    1,    2,    3,       4,   8,
                                   12,   16,   64,   100,     256, 1024,
                                   4095, 4096, 4097, SIZE_MAX};
    return sizes[next(t, next(t, 8) ? 12 : 16)];
}

static inline cl_uint a_count(struct thread *t, cl_uint most)
{
    return next(t, 16) ? next(t, most + 1) : UINT32_MAX;
}

static inline uint64_t some_flags(struct thread *t)
{
    return next(t, 4) ? (uint64_t)1 << next(t, 12) : next(t, 1 << 14);
}

// Up to 3 events, and now and then a list that does not fit its count.
static inline cl_uint waits(struct thread *t, cl_event list[3],
                            const cl_event **given)
{
    cl_uint count = next(t, 3) ? 0 : next(t, 4);

    for (cl_uint i = 0; i < count; i++)
        list[i] = any(t, EVENT);
    *given = count > 0 ? list : NULL;
    if (next(t, 64) == 0)
        *given = *given ? NULL : list;
    return count;
}

// Keeping ---------------------------------------------------------------------

static inline void forget(struct thread *t, enum kind kind, void *handle)
{
    struct held *h = &t->kinds[kind];

    h->gone[h->gone_count < GONE ? h->gone_count++ : next(t, GONE)] = handle;
}

static inline cl_int hold(struct thread *t, enum kind kind, void *handle)
{
    switch (kind) {
    case CONTEXT:
        return t->api->clRetainContext(handle);
    case QUEUE:
        return t->api->clRetainCommandQueue(handle);
    case MEM:
        return t->api->clRetainMemObject(handle);
    case SAMPLER:
        return t->api->clRetainSampler(handle);
    case PROGRAM:
        return t->api->clRetainProgram(handle);
    case KERNEL:
        return t->api->clRetainKernel(handle);
    case EVENT:
        return t->api->clRetainEvent(handle);
    default:
        return t->api->clRetainDevice(handle);
    }
}

static inline cl_int let_go(struct thread *t, enum kind kind, void *handle)
{
    switch (kind) {
    case CONTEXT:
        return t->api->clReleaseContext(handle);
    case QUEUE:
        return t->api->clReleaseCommandQueue(handle);
    case MEM:
        return t->api->clReleaseMemObject(handle);
    case SAMPLER:
        return t->api->clReleaseSampler(handle);
    case PROGRAM:
        return t->api->clReleaseProgram(handle);
    case KERNEL:
        return t->api->clReleaseKernel(handle);
    case EVENT:
        return t->api->clReleaseEvent(handle);
    default:
        return t->api->clReleaseDevice(handle);
    }
}

// Whoever waits would wait for this thread.
static inline void end_user_event(struct thread *t)
{
    if (t->user) {
        note(t, t->api->clSetUserEventStatus(
                    t->user, next(t, 4) ? CL_COMPLETE : -(int)next(t, 50)));
        CL_OK(t->api->clReleaseEvent(t->user));
    }
    t->user = NULL;
}

// In the place of another, which is released.
static inline void keep(struct thread *t, enum kind kind, void *handle)
{
    void **at = &t->kinds[kind].live[next(t, HELD)];

    if (!handle)
        return;
    if (*at) {
        void *old = *at;
        *at = NULL;
        CL_OK(let_go(t, kind, old));
        forget(t, kind, old);
    }
    *at = handle;
}

#endif
