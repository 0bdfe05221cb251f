// Devices that are parts of a machine with many cores, which need not be there:
// nothing runs on them.
#include "tests/opencl/driver.h"

enum {
    CORES = 24
};

static cl_device_id find(void)
{
    cl_platform_id platform = driver_find("Heddle");
    cl_device_id device;
    cl_uint units;

    CHECK(platform);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL));
    CL_OK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units),
                          &units, NULL));
    CHECK(units == CORES);
    return device;
}

// Into so many parts of one core: what each tells is what was asked for, with
// the end of the counts and of the list.
static void a_part_tells_how_it_was_made(cl_device_id whole, unsigned count)
{
    cl_device_partition_property how[CORES + 3] = {
        CL_DEVICE_PARTITION_BY_COUNTS};
    cl_device_partition_property told[CORES + 8];
    cl_device_id parts[CORES];
    cl_uint made;
    size_t size;

    for (unsigned i = 1; i <= count; i++)
        how[i] = 1;
    CL_OK(clCreateSubDevices(whole, how, CORES, parts, &made));
    CHECK(made == count);
    for (unsigned i = 0; i < count; i++) {
        CL_OK(clGetDeviceInfo(parts[i], CL_DEVICE_PARTITION_TYPE, sizeof(told),
                              told, &size));
        CHECK(size == (count + 3) * sizeof(told[0]));
        CHECK(memcmp(told, how, size) == 0);
        CL_OK(clReleaseDevice(parts[i]));
    }
}

static void equal_parts_tell_their_size(cl_device_id whole)
{
    const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, 5,
                                                0};
    cl_device_partition_property told[3];
    cl_device_id parts[CORES];
    cl_uint made;
    size_t size;

    CL_OK(clCreateSubDevices(whole, how, CORES, parts, &made));
    CHECK(made == CORES / 5);
    for (unsigned i = 0; i < made; i++) {
        CL_OK(clGetDeviceInfo(parts[i], CL_DEVICE_PARTITION_TYPE, sizeof(told),
                              told, &size));
        CHECK(size == sizeof(how) && memcmp(told, how, size) == 0);
        CL_OK(clReleaseDevice(parts[i]));
    }
}

int main(void)
{
    setenv("HWLOC_SYNTHETIC", "core:24 pu:1", 1);
    cl_device_id whole = find();

    for (unsigned count = 1; count <= CORES; count++)
        a_part_tells_how_it_was_made(whole, count);
    equal_parts_tell_their_size(whole);
    return 0;
}
