// The GPU beside the processor, on the fake driver: what is told of it, memory
// that goes from one to the other, programs for one and for both.
#include "tests/opencl/driver.h"

#include <stdbool.h>
#include <string.h>

enum {
    CPU,
    GPU,
    N = 1000
};

static const char source[] =
    "kernel void add(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by * (int)get_global_id(0);\n"
    "}\n"
    "kernel void sizes(global uint *x) {\n"
    "    if (get_global_id(0) == 0) x[0] = get_max_sub_group_size();\n"
    "}\n"
    "kernel void paint(write_only image2d_t to) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, (uint4)(at.x, at.y, 3, 4));\n"
    "}\n"
    "kernel void wild(global int *x) { x[1 << 28] = 3; }\n"
    "kernel void look(read_only image2d_t from, global uint4 *to) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    to[at.y * get_global_size(0) + at.x] = read_imageui(from, at);\n"
    "}\n";

static cl_platform_id platform;
static cl_device_id devices[2];
static cl_context context; // of both
static cl_command_queue queues[2];
static cl_program program;

// Any answer of at most 8 bytes.
static cl_ulong number(cl_device_id device, cl_device_info name)
{
    cl_ulong value = 0; // little endian: smaller types, too

    CL_OK(clGetDeviceInfo(device, name, sizeof(value), &value, NULL));
    return value;
}

// One place per device: an answer holds until the next question to the same.
static const char *text(cl_device_id device, cl_device_info name)
{
    static char texts[2][4096];
    char *to = texts[device == devices[GPU]];

    CL_OK(clGetDeviceInfo(device, name, sizeof(texts[0]), to, NULL));
    return to;
}

static void there_are_two_devices(void)
{
    cl_uint count;
    cl_device_id one;

    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count));
    CHECK(count == 2);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &one, &count));
    CHECK(count == 1 && one == devices[GPU]);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &one, &count));
    CHECK(count == 1 && one == devices[CPU]);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &one, &count));
    CHECK(count == 1 && one == devices[CPU]);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &one, &count));
    CHECK(count == 2 && one == devices[CPU]);
    CL_IS(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &one, &count),
          CL_DEVICE_NOT_FOUND);
    CL_OK(clRetainDevice(devices[GPU]));
    CL_OK(clReleaseDevice(devices[GPU]));
}

// The numbers are those of the fake driver's GPU, or bounds that any has to
// keep.
static void what_is_told_agrees(void)
{
    cl_device_id gpu = devices[GPU];
    char extensions[4096], *word, *rest;
    size_t size;

    CHECK(number(gpu, CL_DEVICE_TYPE) == CL_DEVICE_TYPE_GPU);
    CHECK(number(devices[CPU], CL_DEVICE_TYPE) == CL_DEVICE_TYPE_CPU);
    CHECK(strcmp(text(gpu, CL_DEVICE_NAME), "fake GPU") == 0);
    CHECK(number(gpu, CL_DEVICE_MAX_COMPUTE_UNITS) == 4);
    CHECK(number(gpu, CL_DEVICE_MAX_WORK_GROUP_SIZE) == 1024);
    CHECK(number(gpu, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) == 32);
    CHECK(number(gpu, CL_DEVICE_MAX_NUM_SUB_GROUPS) == 32);
    CHECK(number(devices[CPU], CL_DEVICE_MAX_NUM_SUB_GROUPS) * 16 ==
          number(devices[CPU], CL_DEVICE_MAX_WORK_GROUP_SIZE));
    CHECK(number(gpu, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL);
    CHECK(number(gpu, CL_DEVICE_LOCAL_MEM_SIZE) >= 48 << 10);
    CHECK(number(gpu, CL_DEVICE_GLOBAL_MEM_SIZE) >=
          number(gpu, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    CHECK(number(gpu, CL_DEVICE_MAX_MEM_ALLOC_SIZE) >= 32 << 20);
    CHECK(number(gpu, CL_DEVICE_IMAGE_SUPPORT));
    CHECK(number(gpu, CL_DEVICE_MAX_CLOCK_FREQUENCY) > 0);
    CHECK(number(gpu, CL_DEVICE_HOST_UNIFIED_MEMORY) == 0);
    CHECK(number(gpu, CL_DEVICE_SVM_CAPABILITIES) == 0);
    CHECK(number(gpu, CL_DEVICE_EXECUTION_CAPABILITIES) == CL_EXEC_KERNEL);
    CHECK(number(gpu, CL_DEVICE_PARTITION_MAX_SUB_DEVICES) == 0);
    CHECK(number(gpu, CL_DEVICE_PLATFORM) == (cl_ulong)(uintptr_t)platform);
    // An answer that does not fit is not another one's.
    CL_IS(clGetDeviceInfo(gpu, CL_DEVICE_NAME, 2, extensions, NULL),
          CL_INVALID_VALUE);
    CL_OK(clGetDeviceInfo(gpu, CL_DEVICE_NAME, 0, NULL, &size));
    CHECK(size == sizeof("fake GPU"));
    // The platform has what both have.
    CL_OK(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS,
                            sizeof(extensions), extensions, NULL));
    CHECK(strcmp(text(gpu, CL_DEVICE_EXTENSIONS), extensions) == 0);
    CHECK(!strstr(extensions, "unified_shared_memory"));
    text(devices[CPU], CL_DEVICE_EXTENSIONS);
    for (word = strtok_r(extensions, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        CHECK(strstr(text(devices[CPU], CL_DEVICE_EXTENSIONS), word));
}

static void open_both(void)
{
    cl_int error;

    context = clCreateContext(NULL, 2, devices, NULL, NULL, &error);
    CL_OK(error);
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i],
                                                       NULL, &error);
        CL_OK(error);
    }
    const char *text_of = source;
    program = clCreateProgramWithSource(context, 1, &text_of, NULL, &error);
    CL_OK(error);
    CL_OK(clBuildProgram(program, 0, NULL, "-cl-std=CL3.0", NULL, NULL));
    for (int i = 0; i < 2; i++) {
        cl_build_status status;
        CL_OK(clGetProgramBuildInfo(program, devices[i],
                                    CL_PROGRAM_BUILD_STATUS, sizeof(status),
                                    &status, NULL));
        CHECK(status == CL_BUILD_SUCCESS);
    }
}

static cl_mem buffer(cl_mem_flags flags, void *data)
{
    cl_int error;
    cl_mem mem = clCreateBuffer(context, flags, N * sizeof(int), data, &error);

    CL_OK(error);
    return mem;
}

// Each work-item adds a multiple of its id: which launches have run, and how
// often, is seen in each element.
static cl_event add(int device, cl_mem mem, int by, const cl_event *after)
{
    const size_t n = N;
    cl_event event;
    cl_kernel kernel = driver_kernel(program, "add");

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    CL_OK(clEnqueueNDRangeKernel(queues[device], kernel, 1, NULL, &n, NULL,
                                 after ? 1 : 0, after, &event));
    CL_OK(clFlush(queues[device]));
    CL_OK(clReleaseKernel(kernel));
    return event;
}

// Element i is to be `times` * i + `plus`.
static void check(const int *x, int times, int plus)
{
    for (int i = 0; i < N; i++)
        CHECK(x[i] == times * i + plus);
}

// From one to the other, each after the other's event, whose queue is another.
static void a_buffer_goes_to_and_fro(cl_mem mem, int plus)
{
    static int seen[N];
    cl_event event = add(GPU, mem, 1, NULL);

    for (int i = 0; i < 5; i++) {
        cl_event next = add(i % 2 ? GPU : CPU, mem, 10, &event);
        CL_OK(clReleaseEvent(event));
        event = next;
    }
    CL_OK(clEnqueueReadBuffer(queues[GPU], mem, CL_TRUE, 0, sizeof(seen), seen,
                              1, &event, NULL));
    CL_OK(clReleaseEvent(event));
    check(seen, 51, plus);
}

// The GPU has the newest bytes before each look of the host: what is not
// brought back would be seen as an old number.
static void buffers_of_all_kinds_move(void)
{
    static int data[N], seen[N];
    const cl_buffer_region half = {512, 512};
    cl_int error, minus = -1;

    for (int i = 0; i < N; i++)
        data[i] = 7;
    cl_mem mem = buffer(CL_MEM_COPY_HOST_PTR, data);
    a_buffer_goes_to_and_fro(mem, 7);
    // What the host and copies write reaches the GPU, and comes back.
    cl_mem part =
        clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
    CL_OK(error);
    CL_OK(clReleaseEvent(add(GPU, mem, 0, NULL)));
    CL_OK(clEnqueueFillBuffer(queues[GPU], part, &minus, 4, 0, 512, 0, NULL,
                              NULL));
    CL_OK(clReleaseEvent(add(GPU, mem, 1, NULL)));
    CL_OK(clEnqueueMigrateMemObjects(
        queues[GPU], 1, &mem, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    CL_OK(clEnqueueMigrateMemObjects(queues[GPU], 1, &mem, 0, 0, NULL, NULL));
    CL_OK(clEnqueueReadBuffer(queues[GPU], mem, CL_TRUE, 0, sizeof(seen), seen,
                              0, NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == (i < 128 || i >= 256 ? 52 * i + 7 : i - 1));
    CL_OK(clReleaseMemObject(part));
    CL_OK(clReleaseMemObject(mem));

    // Memory of the application, looked at through maps.
    mem = buffer(CL_MEM_USE_HOST_PTR, data);
    a_buffer_goes_to_and_fro(mem, 7);
    CL_OK(clReleaseEvent(add(GPU, mem, 1, NULL)));
    int *at = clEnqueueMapBuffer(queues[GPU], mem, CL_TRUE,
                                 CL_MAP_READ | CL_MAP_WRITE, 0, sizeof(data), 0,
                                 NULL, NULL, &error);
    CL_OK(error);
    CHECK(at == data);
    check(data, 52, 7);
    for (int i = 0; i < N; i++)
        at[i] = i;
    CL_OK(clEnqueueUnmapMemObject(queues[GPU], mem, at, 0, NULL, NULL));
    CL_OK(clReleaseEvent(add(GPU, mem, 1, NULL)));
    CL_OK(clEnqueueReadBuffer(queues[GPU], mem, CL_TRUE, 0, sizeof(seen), seen,
                              0, NULL, NULL));
    check(seen, 2, 0);
    CL_OK(clReleaseMemObject(mem));
}

// A box of 4 by 5 elements at (2, 2), in rows of 40: only its bytes may be the
// host's afterwards.
static void rectangles_come_from_the_gpu(void)
{
    enum {
        ROW = 40
    };
    static int seen[N];
    const size_t origin[3] = {8, 2, 0}, none[3] = {0}, region[3] = {16, 5, 1};
    const size_t pitch = ROW * sizeof(int);
    int zero[N] = {0};
    cl_mem mem = buffer(CL_MEM_COPY_HOST_PTR, zero);

    CL_OK(clReleaseEvent(add(GPU, mem, 1, NULL)));
    CL_OK(clEnqueueReadBufferRect(queues[GPU], mem, CL_TRUE, origin, none,
                                  region, pitch, 0, 16, 0, seen, 0, NULL,
                                  NULL));
    for (int i = 0; i < 20; i++)
        CHECK(seen[i] == (2 + i / 4) * ROW + 2 + i % 4);
    CL_OK(clEnqueueWriteBufferRect(queues[GPU], mem, CL_TRUE, origin, none,
                                   region, pitch, 0, 16, 0, zero, 0, NULL,
                                   NULL));
    cl_event event = add(GPU, mem, 1, NULL);
    CL_OK(clEnqueueReadBuffer(queues[CPU], mem, CL_TRUE, 0, sizeof(seen), seen,
                              1, &event, NULL));
    CL_OK(clReleaseEvent(event));
    for (int i = 0; i < N; i++) {
        int x = i % ROW, y = i / ROW;
        bool inside = x >= 2 && x < 6 && y >= 2 && y < 7;
        CHECK(seen[i] == (inside ? i : 2 * i));
    }
    CL_OK(clReleaseMemObject(mem));
}

// Painted on one device and looked at on the other, both ways.
static void images_move(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = 20,
                                .image_height = 10};
    const size_t size[2] = {20, 10}, origin[3] = {0}, all[3] = {20, 10, 1};
    static cl_uint seen[200][4];
    static cl_uchar texels[200][4];
    cl_int error;

    for (int first = 0; first < 2; first++) {
        cl_event painted;
        cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc,
                                     NULL, &error);
        CL_OK(error);
        cl_mem to = clCreateBuffer(context, 0, sizeof(seen), NULL, &error);
        CL_OK(error);
        cl_kernel paint = driver_kernel(program, "paint");
        cl_kernel look = driver_kernel(program, "look");
        CL_OK(clSetKernelArg(paint, 0, sizeof(image), &image));
        CL_OK(clSetKernelArg(look, 0, sizeof(image), &image));
        CL_OK(clSetKernelArg(look, 1, sizeof(to), &to));
        CL_OK(clEnqueueNDRangeKernel(queues[first], paint, 2, NULL, size, NULL,
                                     0, NULL, &painted));
        CL_OK(clFlush(queues[first]));
        CL_OK(clEnqueueNDRangeKernel(queues[!first], look, 2, NULL, size, NULL,
                                     1, &painted, NULL));
        CL_OK(clEnqueueReadBuffer(queues[!first], to, CL_TRUE, 0, sizeof(seen),
                                  seen, 0, NULL, NULL));
        CL_OK(clEnqueueReadImage(queues[first], image, CL_TRUE, origin, all, 0,
                                 0, texels, 0, NULL, NULL));
        for (cl_uint i = 0; i < 200; i++) {
            const cl_uint right[4] = {i % 20, i / 20, 3, 4};
            for (int c = 0; c < 4; c++)
                CHECK(seen[i][c] == right[c] && texels[i][c] == right[c]);
        }
        CL_OK(clReleaseEvent(painted));
        CL_OK(clReleaseKernel(paint));
        CL_OK(clReleaseKernel(look));
        CL_OK(clReleaseMemObject(to));
        CL_OK(clReleaseMemObject(image));
    }
}

// On the processor they have 16 items. What kernels see, and what is told of
// them, is the same number.
static void sub_groups_are_warps(void)
{
    const size_t n = 64;
    cl_kernel kernel = driver_kernel(program, "sizes");

    for (int i = 0; i < 2; i++) {
        cl_mem mem = buffer(0, NULL);
        cl_uint seen;
        size_t told, multiple;
        CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
        CL_OK(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &n, &n, 0,
                                     NULL, NULL));
        CL_OK(clEnqueueReadBuffer(queues[i], mem, CL_TRUE, 0, sizeof(seen),
                                  &seen, 0, NULL, NULL));
        CL_OK(clGetKernelSubGroupInfo(
            kernel, devices[i], CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
            sizeof(n), &n, sizeof(told), &told, NULL));
        CL_OK(clGetKernelWorkGroupInfo(
            kernel, devices[i], CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
            sizeof(multiple), &multiple, NULL));
        CHECK(seen == (i == GPU ? 32 : 16));
        CHECK(told == seen && multiple == seen);
        CL_OK(clReleaseMemObject(mem));
    }
    CL_OK(clReleaseKernel(kernel));
}

// What enqueueing says; if it went well, the result is checked.
static cl_int try_on(cl_program made, int device)
{
    const size_t n = N;
    cl_mem mem = buffer(0, NULL);
    cl_kernel kernel = driver_kernel(made, "add");
    cl_int by = 3;

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    cl_int status = clEnqueueNDRangeKernel(queues[device], kernel, 1, NULL, &n,
                                           NULL, 0, NULL, NULL);
    if (status == CL_SUCCESS) {
        static int seen[N];
        CL_OK(clEnqueueReadBuffer(queues[device], mem, CL_TRUE, 0, sizeof(seen),
                                  seen, 0, NULL, NULL));
        check(seen, 3, 0);
    }
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseMemObject(mem));
    return status;
}

// The GPU's holds PTX, by which the two are told apart.
static void binaries_are_of_each(void)
{
    size_t sizes[2];
    unsigned char *binaries[2];
    cl_int states[2], error;

    CL_OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes),
                           sizes, NULL));
    for (int i = 0; i < 2; i++)
        CHECK(sizes[i] > 0 && (binaries[i] = malloc(sizes[i])));
    CL_OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binaries),
                           binaries, NULL));
    CHECK(memmem(binaries[GPU], sizes[GPU], ".visible .entry hdk_add", 23));
    CHECK(!memmem(binaries[CPU], sizes[CPU], ".visible .entry hdk_add", 23));
    cl_program again = clCreateProgramWithBinary(
        context, 2, devices, sizes, (const unsigned char **)binaries, states,
        &error);
    CL_OK(error);
    CHECK(states[0] == CL_SUCCESS && states[1] == CL_SUCCESS);
    CL_OK(clBuildProgram(again, 0, NULL, NULL, NULL, NULL));
    CL_OK(try_on(again, CPU));
    CL_OK(try_on(again, GPU));
    CL_OK(clReleaseProgram(again));
    // The GPU's alone is none for the processor.
    again = clCreateProgramWithBinary(context, 1, &devices[GPU], &sizes[GPU],
                                      (const unsigned char **)&binaries[GPU],
                                      states, &error);
    CL_OK(error);
    CL_OK(clBuildProgram(again, 0, NULL, NULL, NULL, NULL));
    CL_OK(try_on(again, GPU));
    CL_IS(try_on(again, CPU), CL_INVALID_PROGRAM_EXECUTABLE);
    CL_OK(clReleaseProgram(again));
    free(binaries[0]);
    free(binaries[1]);
}

// Building for the other device later keeps the code for the first.
static void a_program_may_be_for_one(void)
{
    const char *text_of = source;
    cl_build_status status;
    cl_int error;

    for (int i = 0; i < 2; i++) {
        cl_program one =
            clCreateProgramWithSource(context, 1, &text_of, NULL, &error);
        CL_OK(error);
        CL_OK(clBuildProgram(one, 1, &devices[i], "-cl-std=CL3.0", NULL, NULL));
        CL_OK(clGetProgramBuildInfo(one, devices[!i], CL_PROGRAM_BUILD_STATUS,
                                    sizeof(status), &status, NULL));
        CHECK(status == CL_BUILD_NONE);
        CL_OK(try_on(one, i));
        CL_IS(try_on(one, !i), CL_INVALID_PROGRAM_EXECUTABLE);
        // The other may come later.
        CL_OK(
            clBuildProgram(one, 1, &devices[!i], "-cl-std=CL3.0", NULL, NULL));
        CL_OK(try_on(one, 0));
        CL_OK(try_on(one, 1));
        CL_OK(clReleaseProgram(one));
    }
}

// Each part is compiled for both, and each side linked from its own.
static void programs_are_linked_for_both(void)
{
    const char *texts[] = {
        "int factor(void) { return 1; }\n",
        "int factor(void);\n"
        "kernel void add(global int *x, int by) {\n"
        "    x[get_global_id(0)] += factor() * by * (int)get_global_id(0);\n"
        "}\n"};
    cl_program parts[2];
    cl_int error;

    for (int i = 0; i < 2; i++) {
        parts[i] =
            clCreateProgramWithSource(context, 1, &texts[i], NULL, &error);
        CL_OK(error);
        CL_OK(clCompileProgram(parts[i], 0, NULL, NULL, 0, NULL, NULL, NULL,
                               NULL));
    }
    cl_program whole =
        clLinkProgram(context, 0, NULL, NULL, 2, parts, NULL, NULL, &error);
    CL_OK(error);
    CL_OK(try_on(whole, CPU));
    CL_OK(try_on(whole, GPU));
    CL_OK(clReleaseProgram(whole));
    CL_OK(clReleaseProgram(parts[0]));
    CL_OK(clReleaseProgram(parts[1]));
}

static void CL_CALLBACK nothing(void *data)
{
    (void)data;
}

// Partitions, functions of the host, and the process's memory; on the
// processor's queue of the same context they work.
static void what_the_gpu_has_not_is_refused(void)
{
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                    1, 0};
    cl_device_id part;
    cl_uint count;
    int by = 1;
    const size_t n = N;

    CL_IS(clCreateSubDevices(devices[GPU], equally, 1, &part, &count),
          CL_INVALID_VALUE);
    CL_IS(clEnqueueNativeKernel(queues[GPU], nothing, NULL, 0, 0, NULL, NULL, 0,
                                NULL, NULL),
          CL_INVALID_OPERATION);
    int *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, N * sizeof(int), 0);
    CHECK(shared);
    cl_kernel kernel = driver_kernel(program, "add");
    CL_OK(clSetKernelArgSVMPointer(kernel, 0, shared));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    CL_IS(clEnqueueNDRangeKernel(queues[GPU], kernel, 1, NULL, &n, NULL, 0,
                                 NULL, NULL),
          CL_INVALID_OPERATION);
    CL_OK(clEnqueueNDRangeKernel(queues[CPU], kernel, 1, NULL, &n, NULL, 0,
                                 NULL, NULL));
    CL_OK(clFinish(queues[CPU]));
    CL_IS(clEnqueueSVMMap(queues[GPU], CL_TRUE, CL_MAP_READ, shared, 4, 0, NULL,
                          NULL),
          CL_INVALID_OPERATION);
    CL_OK(clReleaseKernel(kernel));
    clSVMFree(context, shared);
}

// Types choose devices as clGetDeviceIDs() does, the default being the
// processor.
static void contexts_are_of_types(void)
{
    static const struct {
        cl_device_type type;
        cl_uint count;
        int first;
    } types[] = {{CL_DEVICE_TYPE_GPU, 1, GPU},
                 {CL_DEVICE_TYPE_CPU, 1, CPU},
                 {CL_DEVICE_TYPE_DEFAULT, 1, CPU},
                 {CL_DEVICE_TYPE_ALL, 2, CPU}};
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_int error;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        cl_uint count;
        cl_device_id list[2];
        cl_context c = clCreateContextFromType(properties, types[i].type, NULL,
                                               NULL, &error);
        CL_OK(error);
        CL_OK(clGetContextInfo(c, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count,
                               NULL));
        CL_OK(
            clGetContextInfo(c, CL_CONTEXT_DEVICES, sizeof(list), list, NULL));
        CHECK(count == types[i].count && list[0] == devices[types[i].first]);
        if (types[i].type == CL_DEVICE_TYPE_GPU)
            CHECK(!clSVMAlloc(c, CL_MEM_READ_WRITE, 64, 0));
        CL_OK(clReleaseContext(c));
    }
}

// A context of the GPU alone.
static void the_gpu_works_alone(void)
{
    struct driver d = {.platform = platform, .device = devices[GPU]};
    static int seen[N];
    const size_t n = N;
    int by = 2;
    cl_int error;

    d.context = clCreateContext(NULL, 1, &d.device, NULL, NULL, &error);
    CL_OK(error);
    d.queue =
        clCreateCommandQueueWithProperties(d.context, d.device, NULL, &error);
    CL_OK(error);
    cl_program made = driver_build(&d, source, "-cl-std=CL3.0");
    cl_kernel kernel = driver_kernel(made, "add");
    cl_mem mem = driver_buffer(&d, sizeof(seen), seen);
    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    CL_OK(clEnqueueNDRangeKernel(d.queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 NULL));
    CL_OK(clEnqueueReadBuffer(d.queue, mem, CL_TRUE, 0, sizeof(seen), seen, 0,
                              NULL, NULL));
    check(seen, 2, 0);
    // No device of the context shares the process's memory.
    CL_IS(clSetKernelArgSVMPointer(kernel, 0, seen), CL_INVALID_OPERATION);
    CL_IS(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS,
                              sizeof(void *), &(void *){seen}),
          CL_INVALID_OPERATION);
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(made));
    driver_close(&d);
}

// A fault ends the command and the GPU; the processor goes on, and what the
// host has is not lost.
static void a_fault_ends_the_gpu(void)
{
    static int data[N], seen[N];
    const size_t n = N;
    cl_event event;
    cl_int status;
    cl_mem mem = buffer(CL_MEM_COPY_HOST_PTR, data);
    cl_kernel kernel = driver_kernel(program, "wild");

    CHECK(number(devices[GPU], CL_DEVICE_AVAILABLE));
    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clEnqueueNDRangeKernel(queues[GPU], kernel, 1, NULL, &n, NULL, 0,
                                 NULL, &event));
    CL_IS(clWaitForEvents(1, &event),
          CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    CHECK(status == CL_OUT_OF_RESOURCES);
    CL_OK(clReleaseEvent(event));
    CHECK(!number(devices[GPU], CL_DEVICE_AVAILABLE));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseMemObject(mem));

    mem = buffer(CL_MEM_COPY_HOST_PTR, data);
    event = add(GPU, mem, 1, NULL);
    CL_IS(clWaitForEvents(1, &event),
          CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CL_OK(clReleaseEvent(event));
    CL_OK(clFinish(queues[GPU]));
    CL_OK(clReleaseEvent(add(CPU, mem, 1, NULL)));
    CL_OK(clEnqueueReadBuffer(queues[CPU], mem, CL_TRUE, 0, sizeof(seen), seen,
                              0, NULL, NULL));
    check(seen, 1, 0);
    CL_OK(clReleaseMemObject(mem));
}

int main(void)
{
    cl_bool compiles;

    platform = driver_find("Heddle");
    CHECK(platform);
    there_are_two_devices();
    what_is_told_agrees();
    CL_OK(clGetDeviceInfo(devices[GPU], CL_DEVICE_COMPILER_AVAILABLE,
                          sizeof(compiles), &compiles, NULL));
    if (!compiles)
        SKIP("no compiler is built in");
    open_both();
    buffers_of_all_kinds_move();
    rectangles_come_from_the_gpu();
    images_move();
    sub_groups_are_warps();
    binaries_are_of_each();
    a_program_may_be_for_one();
    programs_are_linked_for_both();
    what_the_gpu_has_not_is_refused();
    contexts_are_of_types();
    the_gpu_works_alone();
    a_fault_ends_the_gpu();
    CL_OK(clReleaseProgram(program));
    for (int i = 0; i < 2; i++)
        CL_OK(clReleaseCommandQueue(queues[i]));
    CL_OK(clReleaseContext(context));
    return 0;
}
