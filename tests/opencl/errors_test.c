// Errors: for every function of the driver, every code that the standard names
// for it, and which of two comes first.
//
// Where a call has two faults, the standard's list says which code it gets,
// from top to bottom: what is asked of, what is asked, events to wait for.
#include <stdbool.h>

#include "tests/opencl/errors.h"

// Functions, and how many rows they have.
static struct {
    const char *name;
    unsigned rows;
} entries[] = {
#define NAME(name) {#name, 0},
    HDI_CL_ENTRIES(NAME) HDI_CL_EXTENSIONS(NAME)
#undef NAME
};

enum {
    ENTRIES = sizeof(entries) / sizeof(entries[0]),
    SPARES = 16,
    SPARES_OF_EVENTS = 1000
};

void errors_row(struct errors *r, const char *name, const char *file, int line,
                cl_int expected, cl_int got)
{
    bool known = false;

    for (unsigned i = 0; i < ENTRIES; i++)
        if (strcmp(entries[i].name, name) == 0) {
            entries[i].rows++;
            known = true;
        }
    r->rows++;
    if (known && expected == got)
        return;
    r->wrong++;
    fprintf(stderr, "%s:%d: %s: got %d, wanted %d\n", file, line, name, got,
            expected);
}

bool errors_next(struct errors *r, const char *kind, unsigned *at)
{
    while (*at < r->junk_count && strcmp(r->junk[*at].kind, kind) == 0)
        ++*at;
    if (*at >= r->junk_count)
        return false;
    r->bad = r->junk[(*at)++].handle;
    return true;
}

// The rig ---------------------------------------------------------------------

static void add_junk(struct errors *r, void *handle, const char *kind)
{
    CHECK(r->junk_count < ERRORS_JUNK);
    r->junk[r->junk_count++] = (struct junk){handle, kind};
}

static const char source[] =
    "kernel void set(global int *b, int v, local int *l, read_only image2d_t i,"
    " write_only image2d_t w, sampler_t s) { l[0] = v; b[0] = l[0];"
    " write_imagef(w, (int2)(0), read_imagef(i, s, (int2)(0))); }"
    "kernel void shaped(int v) __attribute__((reqd_work_group_size(4, 1, 1)));"
    "kernel void shaped(int v) { }"
    "kernel void none(void) { }";

static const cl_image_format rgba = {CL_RGBA, CL_UNORM_INT8};

static cl_mem make_image(struct driver *d, cl_mem_flags flags)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = ERRORS_SIDE,
                                .image_height = ERRORS_SIDE};
    cl_int e;
    cl_mem image = clCreateImage(d->context, flags, &rgba, &desc, NULL, &e);

    CL_OK(e);
    return image;
}

static cl_mem make_buffer(struct errors *r, cl_mem_flags flags)
{
    cl_mem mem = clCreateBuffer(r->context, flags, ERRORS_BYTES, NULL, &r->e);

    CL_OK(r->e);
    return mem;
}

static cl_program make_program(struct driver *d)
{
    const char *text = source;
    cl_int e;
    cl_program program =
        clCreateProgramWithSource(d->context, 1, &text, NULL, &e);

    CL_OK(e);
    return program;
}

static void open_programs(struct errors *r)
{
    cl_mem mems[] = {r->mem, r->image, r->image};
    const int value = 0;

    r->program = driver_build(&r->d, source, "-cl-std=CL1.2");
    r->raw = make_program(&r->d);
    r->object = make_program(&r->d);
    CL_OK(
        clCompileProgram(r->object, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    r->kernel = driver_kernel(r->program, "set");
    r->unset = driver_kernel(r->program, "set");
    r->shaped = driver_kernel(r->program, "shaped");
    r->none = driver_kernel(r->program, "none");
    CL_OK(clSetKernelArg(r->kernel, 0, sizeof(cl_mem), &mems[0]));
    CL_OK(clSetKernelArg(r->kernel, 1, sizeof(value), &value));
    CL_OK(clSetKernelArg(r->kernel, 2, 64, NULL));
    CL_OK(clSetKernelArg(r->kernel, 3, sizeof(cl_mem), &mems[1]));
    CL_OK(clSetKernelArg(r->kernel, 4, sizeof(cl_mem), &mems[2]));
    CL_OK(clSetKernelArg(r->kernel, 5, sizeof(r->sampler), &r->sampler));
    CL_OK(clSetKernelArg(r->shaped, 0, sizeof(value), &value));
}

static void open_other(struct errors *r)
{
    struct driver *o = &r->other;

    *o = driver_open(0);
    r->other_mem = driver_buffer(o, ERRORS_BYTES, NULL);
    r->other_image = make_image(o, 0);
    r->other_sampler = clCreateSampler(o->context, CL_TRUE, CL_ADDRESS_CLAMP,
                                       CL_FILTER_NEAREST, &r->e);
    CL_OK(r->e);
    r->other_object = make_program(o);
    CL_OK(clCompileProgram(r->other_object, 0, NULL, NULL, 0, NULL, NULL, NULL,
                           NULL));
    cl_program program = driver_build(o, source, NULL);
    r->other_kernel = driver_kernel(program, "none");
    CL_OK(clReleaseProgram(program));
    r->other_event = clCreateUserEvent(o->context, &r->e);
    CL_OK(r->e);
}

// Slots are used again, oldest first: objects made later are to come to those
// of spares, and what is gone stays gone.
static void add_gone(struct errors *r)
{
    static cl_event events[SPARES_OF_EVENTS];
    struct driver d[SPARES];
    cl_mem mems[SPARES];
    cl_program programs[SPARES];
    cl_kernel kernels[SPARES];
    cl_sampler samplers[SPARES];
    const unsigned last = SPARES - 1;

    for (unsigned i = 0; i < SPARES; i++) {
        d[i] = driver_open(0);
        mems[i] = driver_buffer(&d[i], 64, NULL);
        programs[i] = driver_build(&d[i], "kernel void k(void) { }", NULL);
        kernels[i] = driver_kernel(programs[i], "k");
        samplers[i] = clCreateSampler(d[i].context, CL_TRUE, CL_ADDRESS_CLAMP,
                                      CL_FILTER_NEAREST, &r->e);
        CL_OK(r->e);
    }
    for (unsigned i = 0; i < SPARES_OF_EVENTS; i++) {
        events[i] = clCreateUserEvent(r->context, &r->e);
        CL_OK(r->e);
    }
    for (unsigned i = 0; i < SPARES_OF_EVENTS; i++)
        CL_OK(clReleaseEvent(events[i]));
    for (unsigned i = 0; i < SPARES; i++) {
        CL_OK(clReleaseMemObject(mems[i]));
        CL_OK(clReleaseKernel(kernels[i]));
        CL_OK(clReleaseProgram(programs[i]));
        CL_OK(clReleaseSampler(samplers[i]));
        driver_close(&d[i]);
    }
    add_junk(r, mems[last], "");
    add_junk(r, programs[last], "");
    add_junk(r, kernels[last], "");
    add_junk(r, samplers[last], "");
    add_junk(r, d[last].queue, "");
    add_junk(r, d[last].context, "");
    add_junk(r, events[SPARES_OF_EVENTS - 1], "");
}

// What is no handle: nothing, numbers, memory of ours, the middle of an object,
// live ones of three kinds, and objects that are gone.
static void open_junk(struct errors *r)
{
    static _Alignas(64) char memory[256];

    add_junk(r, NULL, "");
    add_junk(r, (void *)(uintptr_t)64, "");
    add_junk(r, (void *)(UINTPTR_MAX - 63), "");
    add_junk(r, memory + 64, "");
    add_junk(r, (char *)r->queue + 8, "");
    add_junk(r, (char *)r->mem + 8, "");
    add_junk(r, (char *)r->event + 64, "event"); // it may be another one
    add_junk(r, r->device, "device");
    add_junk(r, r->queue, "queue");
    add_junk(r, r->mem, "mem");
    add_gone(r);
}

static void open_commands(struct errors *r)
{
    r->commands = r->ext.clCreateCommandBufferKHR(1, &r->queue, NULL, &r->e);
    CL_OK(r->e);
    CL_OK(clEnqueueMarkerWithWaitList(r->queue, 0, NULL, &r->event));
    CL_OK(clFinish(r->queue));
    r->user = clCreateUserEvent(r->context, &r->e);
    CL_OK(r->e);
}

static void open_rig(struct errors *r)
{
    r->d = driver_open(0);
    r->platform = r->d.platform;
    r->device = r->d.device;
    r->context = r->d.context;
    r->queue = r->d.queue;
    r->api = *(const cl_icd_dispatch **)(void *)r->device;
#define FIND(name)                                                            \
    *(void **)(void *)&r->ext.name =                                          \
        r->api->clGetExtensionFunctionAddressForPlatform(r->platform, #name); \
    CHECK(r->ext.name);
    HDI_CL_EXTENSIONS(FIND)
#undef FIND
    r->mem = make_buffer(r, 0);
    r->hidden = make_buffer(r, CL_MEM_HOST_NO_ACCESS);
    r->unread = make_buffer(r, CL_MEM_HOST_READ_ONLY);
    r->image = make_image(&r->d, 0);
    r->hidden_image = make_image(&r->d, CL_MEM_HOST_NO_ACCESS);
    r->unread_image = make_image(&r->d, CL_MEM_HOST_READ_ONLY);
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                .image_width = ERRORS_SIDE,
                                .mem_object = r->mem};
    r->line = clCreateImage(r->context, 0, &rgba, &desc, NULL, &r->e);
    CL_OK(r->e);
    const cl_buffer_region half = {0, ERRORS_BYTES / 2};
    r->part = clCreateSubBuffer(r->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &half,
                                &r->e);
    CL_OK(r->e);
    r->sampler = clCreateSampler(r->context, CL_TRUE, CL_ADDRESS_CLAMP,
                                 CL_FILTER_NEAREST, &r->e);
    CL_OK(r->e);
    open_programs(r);
    open_other(r);
    open_commands(r);
    open_junk(r);
}

static void close_rig(struct errors *r)
{
    cl_mem mems[] = {r->part,      r->line,         r->mem,          r->image,
                     r->hidden,    r->hidden_image, r->unread_image, r->unread,
                     r->other_mem, r->other_image};
    cl_kernel kernels[] = {r->kernel, r->unset, r->shaped, r->none,
                           r->other_kernel};
    cl_program programs[] = {r->program, r->raw, r->object, r->other_object};

    CL_OK(r->ext.clReleaseCommandBufferKHR(r->commands));
    for (unsigned i = 0; i < sizeof(mems) / sizeof(mems[0]); i++)
        CL_OK(clReleaseMemObject(mems[i]));
    for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        CL_OK(clReleaseKernel(kernels[i]));
    for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        CL_OK(clReleaseProgram(programs[i]));
    CL_OK(clReleaseSampler(r->sampler));
    CL_OK(clReleaseSampler(r->other_sampler));
    CL_OK(clReleaseEvent(r->event));
    CL_OK(clReleaseEvent(r->user));
    CL_OK(clReleaseEvent(r->other_event));
    driver_close(&r->d);
    driver_close(&r->other);
}

// Whole -----------------------------------------------------------------------

// What the loader finds in the table is what has rows.
static void every_function_of_the_table_is_known(const struct errors *r)
{
    void *const *slots = (void *const *)(const void *)r->api;
    unsigned there = 0, known = 0;

    for (size_t i = 0; i < sizeof(*r->api) / sizeof(*slots); i++)
        there += slots[i] != NULL;
#define COUNT(name) known++;
    HDI_CL_ENTRIES(COUNT)
#undef COUNT
    CHECK(there == known);
}

static void every_function_has_rows(void)
{
    unsigned without = 0;

    for (unsigned i = 0; i < ENTRIES; i++)
        if (entries[i].rows == 0) {
            fprintf(stderr, "%s has no row\n", entries[i].name);
            without++;
        }
    CHECK(without == 0);
}

int main(void)
{
    static struct errors r;

    open_rig(&r);
    every_function_of_the_table_is_known(&r);
    errors_platform(&r);
    errors_memory(&r);
    errors_image(&r);
    errors_program(&r);
    errors_kernel(&r);
    errors_copy(&r);
    errors_map(&r);
    errors_launch(&r);
    errors_event(&r);
    errors_extension(&r);
    CL_OK(clFinish(r.queue));
    every_function_has_rows();
    printf("%u rows, %u functions\n", r.rows, (unsigned)ENTRIES);
    CHECK(r.wrong == 0);
    close_rig(&r);
    return 0;
}
