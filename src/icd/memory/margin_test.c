// What lies around a buffer: programs read a little in front of it and behind,
// and mean nothing by it.
#include "tests/opencl/driver.h"

enum {
    ITEMS = 64,
    MARGIN = 64 << 10, // [bytes]
    PAGE = 64 << 10,   // the largest there is [bytes]
    FILL = 0x55555555
};

static const char source[] =
    "kernel void read(global const int *p, global int *to, long at)"
    "{ to[get_global_id(0)] = p[at + get_global_id(0)]; }"
    "kernel void read_constant(constant int *p, global int *to, long at)"
    "{ to[get_global_id(0)] = p[at + get_global_id(0)]; }"
    "kernel void write_constant(constant int *p, global int *to, long at)"
    "{ ((global int *)(ulong)p)[at + get_global_id(0)] = 7; to[0] = 0; }"
    "kernel void write(global int *p, global int *to, long at)"
    "{ p[at + get_global_id(0)] = 7; to[get_global_id(0)] = 0; }";

// What is said of the last fault.
static char told[1024];

static void CL_CALLBACK hear(const char *text, const void *info, size_t size,
                             void *data)
{
    (void)info, (void)size, (void)data;
    snprintf(told, sizeof(told), "%s", text);
}

static cl_mem filled(const struct driver *d, cl_mem_flags flags, size_t size)
{
    const int fill = FILL;
    cl_int error;
    cl_mem mem = clCreateBuffer(d->context, flags, size, NULL, &error);

    CL_OK(error);
    CL_OK(clEnqueueFillBuffer(d->queue, mem, &fill, sizeof(fill), 0, size, 0,
                              NULL, NULL));
    return mem;
}

// One work-item per element from element `at` on; how the launch ends, and what
// it has read.
static cl_int run(const struct driver *d, cl_program program, const char *name,
                  cl_mem mem, long at, int got[ITEMS])
{
    const size_t items = ITEMS;
    cl_kernel kernel = driver_kernel(program, name);
    cl_mem to = filled(d, CL_MEM_READ_WRITE, ITEMS * sizeof(int));
    cl_long first = at;
    cl_event event;
    cl_int status;

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(to), &to));
    CL_OK(clSetKernelArg(kernel, 2, sizeof(first), &first));
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &items, NULL, 0,
                                 NULL, &event));
    CL_OK(clFinish(d->queue));
    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    CL_OK(clEnqueueReadBuffer(d->queue, to, CL_TRUE, 0, ITEMS * sizeof(int),
                              got, 0, NULL, NULL));
    CL_OK(clReleaseEvent(event));
    CL_OK(clReleaseMemObject(to));
    CL_OK(clReleaseKernel(kernel));
    return status;
}

static void reads_zeros(const struct driver *d, cl_program program,
                        const char *name, cl_mem mem, long at)
{
    int got[ITEMS];

    CL_IS(run(d, program, name, mem, at, got), CL_COMPLETE);
    for (int i = 0; i < ITEMS; i++)
        CHECK(got[i] == 0);
}

// From its last page and from pages of its own; buffers that are shared memory
// and those that have huge pages; where it is, and its read-only address.
static void zeros_lie_around(const struct driver *d, cl_program program)
{
    static const size_t sizes[] = {4,       100,     4096,   4100,
                                   1000000, 2 << 20, 5 << 20};
    static const char *const names[] = {"read", "read_constant"};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        long count = (long)(sizes[i] / 4), far = MARGIN / 4;
        cl_mem mem = filled(d, CL_MEM_READ_WRITE, sizes[i]);
        for (int k = 0; k < 2; k++) {
            reads_zeros(d, program, names[k], mem, -ITEMS);
            reads_zeros(d, program, names[k], mem, -far);
            reads_zeros(d, program, names[k], mem, count);
            reads_zeros(d, program, names[k], mem, count + far - ITEMS);
        }
        CL_OK(clReleaseMemObject(mem));
    }
}

// Of up to 2 MiB, whatever lies around them.
static void constants_are_read_only(const struct driver *d, cl_program program)
{
    cl_mem mem = filled(d, CL_MEM_READ_WRITE, 2 << 20);
    int got[ITEMS];

    CL_IS(run(d, program, "write_constant", mem, 0, got), CL_OUT_OF_RESOURCES);
    CHECK(strstr(told, "constant argument 0, 'p', is read-only"));
    CL_OK(clReleaseMemObject(mem));
}

// Half inside and half outside: the same values as ever inside.
static void the_bytes_of_the_buffer_are_its_own(const struct driver *d,
                                                cl_program program)
{
    cl_mem mem = filled(d, CL_MEM_READ_WRITE, 4096);
    int got[ITEMS];

    CL_IS(run(d, program, "read", mem, -ITEMS / 2, got), CL_COMPLETE);
    for (int i = 0; i < ITEMS; i++)
        CHECK(got[i] == (i < ITEMS / 2 ? 0 : FILL));
    CL_OK(clReleaseMemObject(mem));
}

// Nobody else's bytes change.
static void writes_around_do_no_harm(const struct driver *d, cl_program program)
{
    enum {
        COUNT = 8
    };
    cl_mem mems[COUNT];
    int got[ITEMS];

    for (int i = 0; i < COUNT; i++)
        mems[i] = filled(d, CL_MEM_READ_WRITE, ITEMS * sizeof(int));
    for (int i = 0; i < COUNT; i++) {
        CL_IS(run(d, program, "write", mems[i], -ITEMS, got), CL_COMPLETE);
        CL_IS(run(d, program, "write", mems[i], ITEMS, got), CL_COMPLETE);
    }
    for (int i = 0; i < COUNT; i++) {
        CL_OK(clEnqueueReadBuffer(d->queue, mems[i], CL_TRUE, 0, sizeof(got),
                                  got, 0, NULL, NULL));
        for (int k = 0; k < ITEMS; k++)
            CHECK(got[k] == FILL);
        CL_OK(clReleaseMemObject(mems[i]));
    }
}

// Beyond the margin: an error that names the buffer and how far off it was.
static void farther_away_is_an_error(const struct driver *d, cl_program program)
{
    static const size_t sizes[] = {4096, 1000000, 5 << 20};
    static const char *const names[] = {"read", "write"};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        long count = (long)(sizes[i] / 4);
        const long places[] = {-MARGIN / 4 - 1 - ITEMS, -(1 << 18),
                               count + (MARGIN + PAGE) / 4, count + (1 << 18)};
        cl_mem mem = filled(d, CL_MEM_READ_WRITE, sizes[i]);
        for (size_t k = 0; k < 2 * sizeof(places) / sizeof(places[0]); k++) {
            int got[ITEMS];
            *told = '\0';
            CL_IS(run(d, program, names[k % 2], mem, places[k / 2], got),
                  CL_OUT_OF_RESOURCES);
            CHECK(strstr(told, k / 2 < 2 ? "before the begin of argument 0, 'p'"
                                         : "past the end of argument 0, 'p'"));
        }
        CL_OK(clReleaseMemObject(mem));
    }
}

// The host's memory has what lies around it there, and a part the whole.
static void a_part_lies_in_the_whole(const struct driver *d, cl_program program)
{
    const cl_buffer_region region = {1024, 256};
    static int host[1024];
    int got[ITEMS];
    cl_int error;

    for (int i = 0; i < 1024; i++)
        host[i] = i;
    cl_mem mem =
        clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                       256 * sizeof(int), host + 512, &error);
    CL_OK(error);
    CL_IS(run(d, program, "read", mem, -ITEMS, got), CL_COMPLETE);
    CHECK(got[0] == 512 - ITEMS);
    CL_OK(clReleaseMemObject(mem));
    mem = filled(d, CL_MEM_READ_WRITE, 4096);
    cl_mem part = clCreateSubBuffer(
        mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    CL_OK(error);
    CL_IS(run(d, program, "read", part, -ITEMS, got), CL_COMPLETE);
    CHECK(got[0] == FILL);
    CL_OK(clReleaseMemObject(part));
    CL_OK(clReleaseMemObject(mem));
}

// Who asks for checks is told of the first byte outside.
static void checks_find_it(const struct driver *d)
{
    cl_program program = driver_build(d, source, "-heddle-check");
    cl_mem mem = filled(d, CL_MEM_READ_WRITE, 4096);
    int got[ITEMS];

    for (int behind = 0; behind < 2; behind++) {
        *told = '\0';
        CL_IS(run(d, program, "read", mem, behind ? 1025 - ITEMS : -1, got),
              CL_OUT_OF_RESOURCES);
        CHECK(strstr(told, behind ? "of buffer 'p', which has 4096 bytes"
                                  : "4 bytes before buffer 'p'"));
    }
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseProgram(program));
}

int main(void)
{
    struct driver d = driver_open(0);
    cl_int error;

    CL_OK(clReleaseCommandQueue(d.queue));
    CL_OK(clReleaseContext(d.context));
    d.context = clCreateContext(NULL, 1, &d.device, hear, NULL, &error);
    CL_OK(error);
    d.queue =
        clCreateCommandQueueWithProperties(d.context, d.device, NULL, &error);
    CL_OK(error);
    cl_program program = driver_build(&d, source, NULL);
    zeros_lie_around(&d, program);
    constants_are_read_only(&d, program);
    the_bytes_of_the_buffer_are_its_own(&d, program);
    writes_around_do_no_harm(&d, program);
    farther_away_is_an_error(&d, program);
    a_part_lies_in_the_whole(&d, program);
    CL_OK(clReleaseProgram(program));
    checks_find_it(&d);
    driver_close(&d);
    return 0;
}
