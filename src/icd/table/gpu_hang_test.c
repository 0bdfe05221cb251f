// A kernel that hangs on the GPU, with a time limit: its command fails, and
// those behind it; the GPU is not available any more, the processor goes on.
#include <unistd.h>

#include "tests/opencl/devices.h"

static const char source[] = "kernel void add(global int *x, int by) {\n"
                             "    x[get_global_id(0)] += by;\n"
                             "}\n"
                             "kernel void hang(global int *x) {\n"
                             "    volatile global int *word = x;\n"
                             "    while (word[get_global_id(0)] == 0) ;\n"
                             "}\n";

// It waits first, whatever comes of that.
static cl_int end_of(cl_event event)
{
    clWaitForEvents(1, &event);
    cl_int status = devices_status(event);
    CL_OK(clReleaseEvent(event));
    return status;
}

int main(void)
{
    cl_bool there;

    setenv("HEDDLE_GPU_TIMEOUT", "0.3", 1);
    struct devices d = devices_open(source);
    cl_command_queue cpu = devices_queue(&d, CPU, 0);
    cl_command_queue gpu = devices_queue(&d, GPU, 0);
    cl_mem x = devices_zeros(&d), y = devices_zeros(&d);

    cl_event hung = devices_run(&d, gpu, "hang", x, 0);
    cl_event behind = devices_run(&d, gpu, "add", y, 1);
    CHECK(end_of(hung) == CL_OUT_OF_RESOURCES);
    CHECK(end_of(behind) < 0);
    CL_OK(clFinish(gpu));
    CL_OK(clGetDeviceInfo(d.device[GPU], CL_DEVICE_AVAILABLE, sizeof(there),
                          &there, NULL));
    CHECK(!there);
    CHECK(end_of(devices_run(&d, cpu, "add", y, 2)) == CL_COMPLETE);
    devices_check(cpu, y, 2);
    CL_OK(clReleaseMemObject(x));
    CL_OK(clReleaseCommandQueue(cpu));
    CL_OK(clReleaseCommandQueue(gpu));
    devices_close(&d);
    fflush(stdout);
    _exit(0); // the kernel hangs in a thread of the fake driver
}
