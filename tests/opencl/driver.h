// For tests: the driver through the system's loader, on a platform by name.
#ifndef HEDDLE_TESTS_OPENCL_DRIVER_H
#define HEDDLE_TESTS_OPENCL_DRIVER_H

#include "icd/object/api.h"
#include "tests/check.h"

// A test ends at the first call that fails: what follows would only hide it.
#define CL_OK(call)                                                      \
    do {                                                                 \
        cl_int cl_ok_ = (call);                                          \
        if (cl_ok_ != CL_SUCCESS) {                                      \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, \
                    #call, cl_ok_);                                      \
            exit(1);                                                     \
        }                                                                \
    } while (0)

#define CL_IS(call, expected)                                           \
    do {                                                                \
        cl_int cl_is_ = (call);                                         \
        if (cl_is_ != (expected)) {                                     \
            fprintf(stderr, "%s:%d: %s: got %d, wanted %d\n", __FILE__, \
                    __LINE__, #call, cl_is_, (int)(expected));          \
            exit(1);                                                    \
        }                                                               \
    } while (0)

// What most tests need of a platform.
//
// Owned by the test: driver_open() makes it, driver_close() releases it.
struct driver {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
};

// The platform whose name begins so; NULL: there is none.
static inline cl_platform_id driver_find(const char *name)
{
    cl_platform_id list[16];
    cl_uint count = 0;
    char text[256];

    if (clGetPlatformIDs(16, list, &count) != CL_SUCCESS)
        return NULL;
    for (cl_uint i = 0; i < count && i < 16; i++)
        if (clGetPlatformInfo(list[i], CL_PLATFORM_NAME, sizeof(text), text,
                              NULL) == CL_SUCCESS &&
            strncmp(text, name, strlen(name)) == 0)
            return list[i];
    return NULL;
}

// On the first device of the platform. A build without a compiler skips the
// test.
static inline struct driver driver_open_on(cl_platform_id platform,
                                           cl_command_queue_properties modes)
{
    struct driver d = {.platform = platform};
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, modes, 0};
    cl_bool compiles;
    cl_int error;

    CL_OK(clGetDeviceIDs(d.platform, CL_DEVICE_TYPE_ALL, 1, &d.device, NULL));
    CL_OK(clGetDeviceInfo(d.device, CL_DEVICE_COMPILER_AVAILABLE,
                          sizeof(compiles), &compiles, NULL));
    if (!compiles)
        SKIP("no compiler is built in");
    d.context = clCreateContext(NULL, 1, &d.device, NULL, NULL, &error);
    CL_OK(error);
    d.queue = clCreateCommandQueueWithProperties(d.context, d.device,
                                                 properties, &error);
    CL_OK(error);
    return d;
}

static inline struct driver driver_open(cl_command_queue_properties modes)
{
    cl_platform_id platform = driver_find("Heddle");

    CHECK(platform);
    return driver_open_on(platform, modes);
}

static inline void driver_close(struct driver *d)
{
    CL_OK(clReleaseCommandQueue(d->queue));
    CL_OK(clReleaseContext(d->context));
}

// The log is printed before the test ends, or nobody would know why.
static inline cl_program driver_build(const struct driver *d,
                                      const char *source, const char *options)
{
    char log[4096] = "";
    cl_int error;
    cl_program program =
        clCreateProgramWithSource(d->context, 1, &source, NULL, &error);

    CL_OK(error);
    error = clBuildProgram(program, 1, &d->device, options, NULL, NULL);
    clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, sizeof(log),
                          log, NULL);
    if (error != CL_SUCCESS)
        fprintf(stderr, "%s\n", log);
    CL_OK(error);
    return program;
}

static inline cl_kernel driver_kernel(cl_program program, const char *name)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);

    CL_OK(error);
    return kernel;
}

// Of `size` bytes, read and written by kernels; `data` NULL: its contents are
// not defined.
static inline cl_mem driver_buffer(const struct driver *d, size_t size,
                                   void *data)
{
    cl_int error;
    cl_mem mem = clCreateBuffer(
        d->context, CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0), size,
        data, &error);

    CL_OK(error);
    return mem;
}

#endif
