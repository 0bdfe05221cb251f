// What the files of the fake driver share: its objects, and how every call
// begins and ends.
#ifndef HEDDLE_TESTS_CUDA_DRIVER_OBJECTS_H
#define HEDDLE_TESTS_CUDA_DRIVER_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/driver.h"
#include "tests/cuda/driver/ptx.h"
#include "tests/cuda/fake.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_IMAGE = 200,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    UNKNOWN = 999,
    MULTIPROCESSORS = 4,
    MAX_SHARED = 227 * 1024,
    REGISTERS = 65536, // of each multiprocessor
    BLOCKS = 8         // that run at once
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
    GRAPH,
    GRAPH_RUN,
    DEVICE_MEMORY,
    HOST_MEMORY,
    REGISTERED, // memory of the caller's
    KINDS
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
        RECORD,
        WAIT,
        RUN_GRAPH
    } kind;
    struct cuda_function_ *function;
    unsigned grid[3], block[3], shared;
    char *parameters;
    void *to;
    const void *from;
    size_t bytes;
    unsigned char value;
    struct cuda_event_ *event;
    uint64_t number; // of the event
    struct cuda_graph_run_ *graph;
    bool host;    // a copy from or to page-locked memory
    bool checked; // its bytes are those of the call, if they still have
    uint64_t sum; // this sum
};

struct cuda_stream_ {
    struct object object;
    pthread_t thread;
    pthread_cond_t changed;
    struct operation *first, **last;
    bool busy, ends;
    uint64_t enqueued; // operations
    uint64_t seen;     // the caller knows that so many have ended
};

struct cuda_event_ {
    struct object object;
    uint64_t recorded, reached;
    struct cuda_stream_ *stream; // where it was recorded last, and
    uint64_t place;              // behind how many operations
};

struct cuda_link_ {
    struct object object;
    char *text; // PTX files, each with its 0; then another 0
    size_t size;
};

// A launch of a graph, and what it comes after.
struct cuda_node_ {
    struct cuda_graph_ *graph;
    struct cuda_node_ *next; // older
    struct operation launch;
    struct cuda_node_ **after;
    size_t after_count;
    unsigned number; // in its graph
};

struct cuda_graph_ {
    struct object object;
    struct cuda_node_ *nodes; // newest first
    unsigned count;
};

// A graph that can be run: nodes of its own, with the same numbers.
struct cuda_graph_run_ {
    struct object object;
    struct cuda_graph_ *from;
    struct operation *launches; // by number
    bool uploaded;
};

// driver.c
extern pthread_mutex_t fake_lock;
extern struct object *fake_objects[KINDS]; // newest first; some are gone
extern atomic_uint_fast64_t fake_calls, fake_launches, fake_links;
extern atomic_int fake_sticky;    // what went wrong on the device
extern atomic_uint fake_resident; // kernels, and how many blocks they have
extern atomic_uint fake_resident_blocks;
extern atomic_bool fake_stop;
extern atomic_bool fake_held;              // launches do not begin
extern atomic_bool fake_copies_held;       // nor copies to page-locked memory
extern atomic_uint_fast64_t fake_pageable; // copies whose caller waited

void fake_complain(const char *format, ...);
void *fake_make(enum kind kind, size_t size);
bool fake_is_live(const void *handle, enum kind kind, const char *call);
cuda_result fake_enter(const char *name, bool needs_context);
void *fake_find(void *module, uint64_t address, uint64_t size);
int fake_registers_of(const struct ptx_function *f);
int fake_setting(const char *name, int otherwise); // of the environment
void *fake_copied(uint64_t address, size_t bytes, const char *name);
bool fake_is_pinned(const void *memory, size_t bytes);

// What waits on a GPU for all that runs: for ever when a kernel never ends.
void fake_blocks(const char *name);

// streams.c; with the lock, and without it
void fake_await_all(void);
void fake_enqueue(struct cuda_stream_ *s, struct operation o);
bool fake_describe(cuda_function function, const unsigned *grid,
                   const unsigned *block, unsigned shared_bytes,
                   void **parameters, void **extra, struct operation *o);
void fake_run_operation(const struct operation *o);

// graphs.c
void fake_run_graph(struct cuda_graph_run_ *run);

static inline cuda_result leave(cuda_result result)
{
    pthread_mutex_unlock(&fake_lock);
    return result;
}

#define BEGIN(name, context)                             \
    do {                                                 \
        cuda_result begin_ = fake_enter(#name, context); \
        if (begin_ != 0)                                 \
            return leave(begin_);                        \
    } while (0)

#define CHECK_LIVE(handle, kind, name)          \
    do {                                        \
        if (!fake_is_live(handle, kind, #name)) \
            return leave(INVALID_HANDLE);       \
    } while (0)

#define DECLARE(name, symbol, parameters) EXPORT cuda_result symbol parameters;
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

#endif
