// Every allocation of the driver's fails in turn while a program is built of a
// binary: what is returned, and what is told of the program, say the same.
#include "tests/shortage.h"

#include "tests/opencl/driver.h"

enum {
    LEAST = 10 // allocations that a build makes at least
};

// The caller's to free.
struct binary {
    unsigned char *data;
    size_t size; // [bytes]
};

static struct binary binary_of(cl_program program)
{
    struct binary b;

    CL_OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(b.size),
                           &b.size, NULL));
    b.data = malloc(b.size);
    CHECK(b.data);
    CL_OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(b.data),
                           &b.data, NULL));
    return b;
}

static cl_program load(const struct driver *d, const struct binary *b,
                       cl_int *error)
{
    return clCreateProgramWithBinary(d->context, 1, &d->device, &b->size,
                                     (const unsigned char **)&b->data, NULL,
                                     error);
}

static cl_build_status status_of(const struct driver *d, cl_program program)
{
    cl_build_status status;

    CL_OK(clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_STATUS,
                                sizeof(status), &status, NULL));
    return status;
}

// True when an allocation failed.
static bool build(const struct driver *d, const struct binary *b,
                  long successes)
{
    cl_int error;
    cl_program program = load(d, b, &error);

    CL_OK(error);
    shortage_begin(successes);
    cl_int status = clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
    bool failed = shortage_end();
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    if (status == CL_SUCCESS) {
        CHECK(status_of(d, program) == CL_BUILD_SUCCESS);
        CL_OK(error);
        CL_OK(clReleaseKernel(kernel));
    } else {
        CHECK(failed);
        CL_IS(status, CL_OUT_OF_HOST_MEMORY);
        CHECK(status_of(d, program) != CL_BUILD_SUCCESS);
        CL_IS(error, CL_INVALID_PROGRAM_EXECUTABLE);
    }
    CL_OK(clReleaseProgram(program));
    return failed;
}

// Of an object, which is ready when it is there.
static bool make(const struct driver *d, const struct binary *b, long successes)
{
    cl_int error;

    shortage_begin(successes);
    cl_program program = load(d, b, &error);
    bool failed = shortage_end();
    if (!program) {
        CHECK(failed);
        CL_IS(error, CL_OUT_OF_HOST_MEMORY);
        return failed;
    }
    cl_program linked = clLinkProgram(d->context, 1, &d->device, NULL, 1,
                                      &program, NULL, NULL, &error);
    CL_OK(error);
    CL_OK(clReleaseProgram(linked));
    CL_OK(clReleaseProgram(program));
    return failed;
}

int main(void)
{
    static const char *source = "kernel void k(global int *p) { p[0] = 1; }";
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, NULL);
    struct binary executable = binary_of(program);
    cl_int error;
    long n = 0;

    CL_OK(clReleaseProgram(program));
    program = clCreateProgramWithSource(d.context, 1, &source, NULL, &error);
    CL_OK(error);
    CL_OK(clCompileProgram(program, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    struct binary object = binary_of(program);
    CL_OK(clReleaseProgram(program));
    CHECK(shortage_watch("libheddle-opencl"));
    while (build(&d, &executable, n))
        n++;
    CHECK(n >= LEAST);
    for (n = 0; make(&d, &object, n);)
        n++;
    CHECK(n >= LEAST);
    free(executable.data);
    free(object.data);
    driver_close(&d);
    return 0;
}
