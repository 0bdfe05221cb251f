// HEDDLE_AS_GPU: programs that ask for a GPU and nothing else find the
// processor.
#include <stdlib.h>

#include "tests/opencl/driver.h"

static cl_device_id ask(cl_platform_id platform, cl_device_type type)
{
    cl_device_id device = NULL;

    CL_OK(clGetDeviceIDs(platform, type, 1, &device, NULL));
    return device;
}

int main(void)
{
    CHECK(setenv("HEDDLE_AS_GPU", "1", 1) == 0);
    cl_platform_id platform = driver_find("Heddle");
    CHECK(platform);
    cl_device_id device = ask(platform, CL_DEVICE_TYPE_GPU);
    CHECK(device == ask(platform, CL_DEVICE_TYPE_CPU));
    CHECK(device == ask(platform, CL_DEVICE_TYPE_DEFAULT));
    cl_device_id none;
    CL_IS(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &none, NULL),
          CL_DEVICE_NOT_FOUND);

    cl_device_type type;
    CL_OK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL));
    CHECK(type == (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU));

    const cl_context_properties of[] = {CL_CONTEXT_PLATFORM,
                                        (cl_context_properties)platform, 0};
    cl_int error;
    cl_context context =
        clCreateContextFromType(of, CL_DEVICE_TYPE_GPU, NULL, NULL, &error);
    CL_OK(error);
    CL_OK(clReleaseContext(context));
    return 0;
}
