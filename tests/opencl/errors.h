// For the test of errors: what its rows call with, and how a row is judged.
//
// A row is one call with what is wrong in it, and the code that the standard
// names for that. Rows go through the driver's own table and not through a
// loader, which would look into handles that are none.
#ifndef HDI_TESTS_OPENCL_ERRORS_H
#define HDI_TESTS_OPENCL_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "icd/table/entries.h"
#include "tests/opencl/driver.h"

enum {
    ERRORS_BYTES = 1024, // of a buffer
    ERRORS_SIDE = 16,    // of an image [texels]
    ERRORS_JUNK = 24
};

struct junk {
    void *handle;
    const char *kind; // that it is of, or was; else ""
};

struct errors {
    struct driver d;
    const cl_icd_dispatch *api;
    struct {
#define MEMBER(name) __typeof__(&name) name;
        HDI_CL_EXTENSIONS(MEMBER)
#undef MEMBER
    } ext;
    // What is alive, of the kinds' names.
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem mem, image, line; // a buffer; an image; an image of the buffer
    cl_mem part;             // of the buffer
    cl_mem hidden, unread;   // buffers that the host may not see, not write
    cl_mem hidden_image, unread_image;
    cl_sampler sampler;
    cl_program program, raw, object; // built; not built; compiled
    cl_kernel kernel, shaped, none;  // set; of 4 work-items; without arguments
    cl_kernel unset;
    cl_event event, user; // of a command; a user's, not ended
    cl_command_buffer_khr commands;
    // Of another context.
    struct driver other;
    cl_mem other_mem, other_image;
    cl_sampler other_sampler;
    cl_program other_object;
    cl_kernel other_kernel;
    cl_event other_event;
    // What is no handle.
    struct junk junk[ERRORS_JUNK];
    unsigned junk_count, rows, wrong;

    void *bad; // the one in turn
    cl_int e;
    cl_uint n;
    size_t size;
    unsigned char host[4 * ERRORS_SIDE * ERRORS_SIDE * 4];
};

// Count the row under its function's name, and say what is wrong with it.
void errors_row(struct errors *r, const char *name, const char *file, int line,
                cl_int expected, cl_int got);

// The next that is no handle of that kind; false: those were all.
bool errors_next(struct errors *r, const char *kind, unsigned *at);

#define ROW(name, expected, got) \
    errors_row(r, #name, __FILE__, __LINE__, expected, got)

// A function that returns its code.
#define IS(expected, name, ...)  ROW(name, expected, r->api->name(__VA_ARGS__))
#define EXT(expected, name, ...) ROW(name, expected, r->ext.name(__VA_ARGS__))

// One that makes something and gives its code last: NULL, with the code, and
// without a place for it too.
#define MADE_OF(table, expected, name, ...)                         \
    do {                                                            \
        r->e = 1;                                                   \
        void *made_ = (void *)r->table.name(__VA_ARGS__, &r->e);    \
        ROW(name, expected, made_ ? 1 : r->e);                      \
        if (!made_)                                                 \
            ROW(name, 0, r->table.name(__VA_ARGS__, NULL) ? 1 : 0); \
    } while (0)
#define NONE(expected, name, ...)     MADE_OF(api[0], expected, name, __VA_ARGS__)
#define EXT_NONE(expected, name, ...) MADE_OF(ext, expected, name, __VA_ARGS__)

// One that has no codes.
#define HOLDS(name, condition) ROW(name, 1, (condition) ? 1 : 0)

// The row once for each r->bad that is no handle of the kind.
#define EACH(kind, ...)                                    \
    for (unsigned at_ = 0; errors_next(r, #kind, &at_);) { \
        __VA_ARGS__;                                       \
    }

// Functions that tell something: a handle that is none, a name that is none,
// too little room for what is known.
#define TELLS(kind, code, name, handle, known)                        \
    do {                                                              \
        EACH(kind, IS(code, name, r->bad, known, 64, r->host, NULL))  \
        EACH(kind, IS(code, name, r->bad, 1, 0, r->host, NULL))       \
        IS(CL_INVALID_VALUE, name, handle, 1, 64, r->host, &r->size); \
        IS(CL_INVALID_VALUE, name, handle, known, 0, r->host, NULL);  \
        IS(CL_SUCCESS, name, handle, known, 0, NULL, &r->size);       \
    } while (0)

// Counting of references: what is no object has none.
#define COUNTS(kind, code, retain, release)   \
    do {                                      \
        EACH(kind, IS(code, retain, r->bad))  \
        EACH(kind, IS(code, release, r->bad)) \
    } while (0)

// What is wrong with wait lists, of which `call` is the rest of the call.
#define WAITS(name, ...)                                                       \
    do {                                                                       \
        cl_event other_ = r->other_event;                                      \
        IS(CL_INVALID_EVENT_WAIT_LIST, name, __VA_ARGS__, 1, NULL, NULL);      \
        IS(CL_INVALID_EVENT_WAIT_LIST, name, __VA_ARGS__, 0, &r->event, NULL); \
        EACH(event, IS(CL_INVALID_EVENT_WAIT_LIST, name, __VA_ARGS__, 1,       \
                       (cl_event *)&r->bad, NULL))                             \
        IS(CL_INVALID_CONTEXT, name, __VA_ARGS__, 1, &other_, NULL);           \
    } while (0)

// The rows, by noun.
void errors_platform(struct errors *r);
void errors_memory(struct errors *r);
void errors_image(struct errors *r);
void errors_program(struct errors *r);
void errors_kernel(struct errors *r);
void errors_copy(struct errors *r);
void errors_map(struct errors *r);
void errors_launch(struct errors *r);
void errors_event(struct errors *r);
void errors_extension(struct errors *r);

#endif
