// HEDDLE_GUARD: a launch that touches the element behind its buffer ends with
// an error.
#include "tests/opencl/driver.h"

static const char source[] =
    "kernel void write(global int *p, long at) { p[at] = 7; }";

static cl_int run(const struct driver *d, cl_kernel kernel, cl_long at)
{
    const size_t one = 1;
    cl_event event;
    cl_int status;

    CL_OK(clSetKernelArg(kernel, 1, sizeof(at), &at));
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &one, NULL, 0, NULL,
                                 &event));
    CL_OK(clFinish(d->queue));
    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    CL_OK(clReleaseEvent(event));
    return status;
}

int main(void)
{
    static const size_t sizes[] = {4, 4096, 4100, 1000000, 5 << 20};

    CHECK(setenv("HEDDLE_GUARD", "1", 1) == 0);
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, NULL);
    cl_kernel kernel = driver_kernel(program, "write");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        cl_mem mem = driver_buffer(&d, sizes[i], NULL);
        cl_long count = (cl_long)(sizes[i] / 4), page = 65536 / 4;
        CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
        CL_IS(run(&d, kernel, count - 1), CL_COMPLETE);
        CL_IS(run(&d, kernel, count), CL_OUT_OF_RESOURCES);
        CL_IS(run(&d, kernel, -page), CL_OUT_OF_RESOURCES);
        CL_OK(clReleaseMemObject(mem));
    }
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
    return 0;
}
