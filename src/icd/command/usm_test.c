// Unified shared memory through the loader.
#include "tests/opencl/driver.h"

static const char source[] =
    "kernel void add(global int *p, global const int *q)"
    "{ size_t i = get_global_id(0); p[i] += q[i]; }"
    // Through a pointer that is in memory itself.
    "struct node { global struct node *next; int value; };"
    "kernel void sum(global struct node *n, global int *to)"
    "{ int s = 0; for (; n; n = n->next) s += n->value; *to = s; }";

#define LIST(X)                      \
    X(clHostMemAllocINTEL)           \
    X(clDeviceMemAllocINTEL)         \
    X(clSharedMemAllocINTEL)         \
    X(clMemFreeINTEL)                \
    X(clMemBlockingFreeINTEL)        \
    X(clGetMemAllocInfoINTEL)        \
    X(clSetKernelArgMemPointerINTEL) \
    X(clEnqueueMemFillINTEL)         \
    X(clEnqueueMemcpyINTEL)          \
    X(clEnqueueMigrateMemINTEL)      \
    X(clEnqueueMemAdviseINTEL)
#define FUNCTION(name) static name##_fn name##_;
LIST(FUNCTION)

static void find_functions(cl_platform_id platform)
{
#define FIND(name)                                                 \
    void *at_##name =                                              \
        clGetExtensionFunctionAddressForPlatform(platform, #name); \
    CHECK(at_##name);                                              \
    memcpy(&name##_, &at_##name, sizeof(name##_));
    LIST(FIND)
}

enum {
    N = 1000
};

// Memory of the host and of the device, in one kernel, in copies and fills; and
// freed only when it is used no more.
static void kernels_and_copies_use_it(struct driver *d, cl_program program)
{
    cl_kernel kernel = driver_kernel(program, "add");
    const size_t n = N;
    const int three = 3;
    cl_int error;
    int *host =
        clHostMemAllocINTEL_(d->context, NULL, N * sizeof(int), 64, &error);
    CL_OK(error);
    int *device = clDeviceMemAllocINTEL_(d->context, d->device, NULL,
                                         N * sizeof(int), 0, &error);
    CL_OK(error);

    for (int i = 0; i < N; i++)
        host[i] = i;
    CL_OK(clEnqueueMemFillINTEL_(d->queue, device, &three, sizeof(three),
                                 N * sizeof(int), 0, NULL, NULL));
    CL_OK(clSetKernelArgMemPointerINTEL_(kernel, 0, device));
    CL_OK(clSetKernelArgMemPointerINTEL_(kernel, 1, host));
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 NULL));
    CL_OK(clEnqueueMemAdviseINTEL_(d->queue, device, 4, 0, 0, NULL, NULL));
    CL_OK(clEnqueueMigrateMemINTEL_(d->queue, device, 4,
                                    CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    CL_OK(clEnqueueMemcpyINTEL_(d->queue, CL_TRUE, host, device,
                                N * sizeof(int), 0, NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(host[i] == i + 3);
    // It is in use until then.
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 NULL));
    CL_OK(clMemBlockingFreeINTEL_(d->context, device));
    CL_OK(clMemFreeINTEL_(d->context, host));
    CL_IS(clMemFreeINTEL_(d->context, host), CL_INVALID_VALUE);
    CL_OK(clMemFreeINTEL_(d->context, NULL));
    CL_OK(clReleaseKernel(kernel));
}

// As the kernel has it.
struct node {
    struct node *next;
    int value;
};

// A list through a hundred allocations, of which the kernel is given the first
// alone.
static void pointers_in_it_are_followed(struct driver *d, cl_program program)
{
    cl_kernel kernel = driver_kernel(program, "sum");
    const size_t one = 1;
    const cl_bool yes = CL_TRUE;
    cl_int error;
    struct node *first = NULL;
    int *to =
        clSharedMemAllocINTEL_(d->context, NULL, NULL, sizeof(int), 0, &error);

    CL_OK(error);
    for (int i = 1; i <= 100; i++) {
        struct node *node = clSharedMemAllocINTEL_(d->context, d->device, NULL,
                                                   sizeof(*node), 0, &error);
        CL_OK(error);
        *node = (struct node){first, i};
        first = node;
    }
    CL_OK(clSetKernelExecInfo(kernel,
                              CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
                              sizeof(yes), &yes));
    CL_OK(clSetKernelArgMemPointerINTEL_(kernel, 0, first));
    CL_OK(clSetKernelArgMemPointerINTEL_(kernel, 1, to));
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &one, NULL, 0, NULL,
                                 NULL));
    CL_OK(clFinish(d->queue));
    CHECK(*to == 5050);
    while (first) {
        struct node *next = first->next;
        CL_OK(clMemFreeINTEL_(d->context, first));
        first = next;
    }
    CL_OK(clMemFreeINTEL_(d->context, to));
    CL_OK(clReleaseKernel(kernel));
}

static cl_unified_shared_memory_type_intel type_of(struct driver *d,
                                                   const void *pointer)
{
    cl_unified_shared_memory_type_intel type;

    CL_OK(clGetMemAllocInfoINTEL_(d->context, pointer, CL_MEM_ALLOC_TYPE_INTEL,
                                  sizeof(type), &type, NULL));
    return type;
}

static void it_is_told_what_was_allocated(struct driver *d)
{
    const cl_mem_properties_intel placed[] = {
        CL_MEM_ALLOC_FLAGS_INTEL, CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL, 0};
    cl_int error;
    char *p =
        clSharedMemAllocINTEL_(d->context, d->device, placed, 100, 128, &error);
    void *base;
    size_t size;
    cl_device_id device;
    cl_mem_alloc_flags_intel flags;

    CL_OK(error);
    CHECK((size_t)p % 128 == 0);
    CHECK(type_of(d, p + 99) == CL_MEM_TYPE_SHARED_INTEL);
    CHECK(type_of(d, p + 100) == CL_MEM_TYPE_UNKNOWN_INTEL);
    CHECK(type_of(d, &error) == CL_MEM_TYPE_UNKNOWN_INTEL);
    CL_OK(clGetMemAllocInfoINTEL_(d->context, p + 5,
                                  CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof(base),
                                  &base, NULL));
    CL_OK(clGetMemAllocInfoINTEL_(d->context, p + 5, CL_MEM_ALLOC_SIZE_INTEL,
                                  sizeof(size), &size, NULL));
    CL_OK(clGetMemAllocInfoINTEL_(d->context, p + 5, CL_MEM_ALLOC_DEVICE_INTEL,
                                  sizeof(device), &device, NULL));
    CL_OK(clGetMemAllocInfoINTEL_(d->context, p + 5, CL_MEM_ALLOC_FLAGS_INTEL,
                                  sizeof(flags), &flags, NULL));
    CHECK(base == p && size == 100 && device == d->device &&
          flags == placed[1]);
    CL_IS(clMemFreeINTEL_(d->context, p + 1), CL_INVALID_VALUE);
    CL_OK(clMemFreeINTEL_(d->context, p));

    CHECK(!clHostMemAllocINTEL_(d->context, placed, 100, 0, &error) &&
          error == CL_INVALID_PROPERTY);
    CHECK(!clHostMemAllocINTEL_(d->context, NULL, 0, 0, &error) &&
          error == CL_INVALID_BUFFER_SIZE);
    CHECK(!clHostMemAllocINTEL_(d->context, NULL, 1, 3, &error) &&
          error == CL_INVALID_VALUE);
    CHECK(!clDeviceMemAllocINTEL_(d->context, NULL, NULL, 1, 0, &error) &&
          error == CL_INVALID_DEVICE);
    CHECK(!clHostMemAllocINTEL_(NULL, NULL, 1, 0, &error) &&
          error == CL_INVALID_CONTEXT);
}

int main(void)
{
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, "-cl-std=CL3.0");

    find_functions(d.platform);
    kernels_and_copies_use_it(&d, program);
    pointers_in_it_are_followed(&d, program);
    it_is_told_what_was_allocated(&d);
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
    return 0;
}
