// Random calls of the whole API, straight through the driver's own table, so
// that any pointer may be given as a handle: valid ones, ones of another kind,
// ones that were released, ones that point anywhere. None may crash or hang;
// what is no object is always refused.
//
// Several threads share a context, a program and memory, and have queues,
// kernels and events of their own. OPENCL_CALLS_SECONDS makes it a soak.
#include "tests/opencl/calls.h"

#include <stdatomic.h>
#include <time.h>

// Kernels stay within what every buffer has, whatever they are given.
static const char source[] =
    "global int kept = 3;\n"
    "kernel void add(global int *p, int n)"
    "{ size_t i = get_global_id(0); if (p && i < 16) p[i] += n + kept; }\n"
    "kernel void turn(global const float4 *a, global float4 *b,"
    " int n) { local float4 l[4]; size_t i = get_local_id(0);"
    " if (a && b && i < 4) l[i] = a[i];"
    " barrier(CLK_LOCAL_MEM_FENCE);"
    " if (a && b && i < 4) b[i] = l[n & 3]; }\n"
    "kernel void show(read_only image2d_t a, sampler_t s, global float4 *b)"
    "{ if (b) b[get_local_id(0) % 4] = read_imagef(a, s, (int2)(0)); }\n"
    "struct many { char c[24]; };\n"
    "kernel void value(struct many m, char3 v, global char *p)"
    "{ if (p) p[0] = m.c[2] + v.x; }\n";

static atomic_bool stop;

// Calls -----------------------------------------------------------------------

static void make_context(struct thread *t)
{
    const cl_context_properties properties[] = {
        next(t, 8) ? CL_CONTEXT_PLATFORM : next(t, 0x2000),
        (cl_context_properties)t->shared->d.platform, 0};
    cl_device_id devices[] = {any(t, DEVICE), any(t, DEVICE)};
    cl_int status = CL_SUCCESS;
    cl_context made = t->api->clCreateContext(
        next(t, 2) ? properties : NULL, a_count(t, 2) % 3, devices, NULL,
        next(t, 8) ? NULL : t, next(t, 4) ? &status : NULL);

    note(t, status);
    keep(t, CONTEXT, made);
}

static void make_devices(struct thread *t)
{
    const cl_device_partition_property ways[][4] = {
        {CL_DEVICE_PARTITION_EQUALLY, next(t, 3), 0, 0},
        {CL_DEVICE_PARTITION_BY_COUNTS, next(t, 3), next(t, 3), 0},
        {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
         (cl_device_partition_property)some_flags(t), 0, 0},
        {(cl_device_partition_property)next(t, 0x2000), 0, 0, 0}};
    cl_device_id made[64];
    cl_uint count = 0;
    cl_int status = t->api->clCreateSubDevices(any(t, DEVICE), ways[next(t, 4)],
                                               64, made, &count);

    note(t, status);
    for (cl_uint i = 0; status == CL_SUCCESS && i < count; i++)
        keep(t, DEVICE, made[i]);
}

static void make_queue(struct thread *t)
{
    const cl_queue_properties properties[] = {
        next(t, 8) ? CL_QUEUE_PROPERTIES : CL_QUEUE_SIZE + next(t, 9),
        next(t, 8) ? next(t, 4) : some_flags(t), 0};
    cl_int status = CL_SUCCESS;

    keep(t, QUEUE,
         t->api->clCreateCommandQueueWithProperties(
             any(t, CONTEXT), any(t, DEVICE), next(t, 4) ? properties : NULL,
             &status));
    note(t, status);
}

static void make_buffer(struct thread *t)
{
    cl_int status = CL_SUCCESS;
    static const size_t sizes[] = {0, 64, 100, 4095, BYTES, SIZE_MAX};
    uint64_t flags = next(t, 2) ? 0 : some_flags(t);
    void *host = flags & CL_MEM_USE_HOST_PTR    ? t->host
                 : flags & CL_MEM_COPY_HOST_PTR ? t->given
                                                : NULL;
    size_t size = sizes[next(t, 8) ? 4 : next(t, 6)];

    if (next(t, 16) == 0)
        host = host ? NULL : t->given;
    keep(t, MEM,
         t->api->clCreateBuffer(any(t, CONTEXT), flags, size, host, &status));
    note(t, status);
}

static void make_part(struct thread *t)
{
    const cl_buffer_region region = {128 * next(t, 40),
                                     next(t, 16) ? 64 + next(t, 4200) : 0};
    cl_int status = CL_SUCCESS;

    keep(t, MEM,
         t->api->clCreateSubBuffer(any(t, MEM), next(t, 2) ? 0 : some_flags(t),
                                   next(t, 16) ? CL_BUFFER_CREATE_TYPE_REGION
                                               : next(t, 0x2000),
                                   next(t, 32) ? &region : NULL, &status));
    note(t, status);
}

static void make_image(struct thread *t)
{
    const cl_image_format format = {CL_R + next(t, 16),
                                    CL_SNORM_INT8 + next(t, 18)};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_BUFFER + next(t, 9),
                                .image_width = next(t, 20),
                                .image_height = next(t, 20),
                                .image_depth = next(t, 4),
                                .image_array_size = next(t, 4),
                                .image_row_pitch = next(t, 4) ? 0 : a_size(t),
                                .image_slice_pitch = next(t, 4) ? 0 : a_size(t),
                                .num_mip_levels = next(t, 16) ? 0 : 1,
                                .mem_object = next(t, 4) ? NULL : any(t, MEM)};
    cl_int status = CL_SUCCESS;

    keep(t, MEM,
         t->api->clCreateImage(any(t, CONTEXT),
                               next(t, 2) ? 0
                                          : some_flags(t) &
                                                ~(uint64_t)CL_MEM_USE_HOST_PTR &
                                                ~(uint64_t)CL_MEM_COPY_HOST_PTR,
                               next(t, 32) ? &format : NULL,
                               next(t, 32) ? &desc : NULL, NULL, &status));
    note(t, status);
}

static void make_sampler(struct thread *t)
{
    cl_int status = CL_SUCCESS;

    keep(t, SAMPLER,
         t->api->clCreateSampler(any(t, CONTEXT), next(t, 3),
                                 CL_ADDRESS_NONE + next(t, 7),
                                 CL_FILTER_NEAREST + next(t, 3), &status));
    note(t, status);
}

static void make_program(struct thread *t)
{
    static const char *const texts[] = {
        "kernel void add(global int *p, int n) { if (p) p[0] = n; }",
        "int f(int n) { return n; }", "kernel void wrong(", "", source};
    static const char *const options[] = {NULL,
                                          "",
                                          "-cl-std=CL3.0",
                                          "-D",
                                          "-D A=1 -w",
                                          "-cl-fast-relaxed-math",
                                          "-I",
                                          "\"",
                                          "-cl-std=CL9",
                                          "-create-library",
                                          "-x"};
    const char *text = texts[next(t, 5)];
    size_t length = next(t, 2) ? 0 : next(t, (uint32_t)strlen(text) + 1);
    cl_int status = CL_SUCCESS;
    cl_program made = t->api->clCreateProgramWithSource(
        any(t, CONTEXT), next(t, 16) ? 1 : 0, &text, &length, &status);
    const char *words = options[next(t, 11)];

    note(t, status);
    keep(t, PROGRAM, made);
    cl_program program = any(t, PROGRAM);
    // What is shared is used as it is.
    if (program == t->shared->program)
        return;
    if (next(t, 2)) {
        note(t, t->api->clBuildProgram(program, 0, NULL, words, NULL, NULL));
        return;
    }
    cl_program others[] = {any(t, PROGRAM), any(t, PROGRAM)};
    const char *names[] = {next(t, 8) ? "a.h" : "../a.h", "b/c.h"};
    cl_uint count = next(t, 3);
    note(t, t->api->clCompileProgram(program, 0, NULL, words, count,
                                     count ? others : NULL,
                                     count ? names : NULL, NULL, NULL));
    made = t->api->clLinkProgram(any(t, CONTEXT), 0, NULL,
                                 next(t, 2) ? NULL : "-create-library",
                                 next(t, 3), others, NULL, NULL, &status);
    note(t, status);
    keep(t, PROGRAM, made);
}

// A binary, whole, cut short or damaged.
static void load_program(struct thread *t)
{
    cl_program from = any(t, PROGRAM);
    size_t size = 0;
    cl_int status = t->api->clGetProgramInfo(from, CL_PROGRAM_BINARY_SIZES,
                                             sizeof(size), &size, NULL);
    note(t, status);
    if (status != CL_SUCCESS || size == 0)
        return;
    unsigned char *binary = malloc(size);
    CHECK(binary);
    note(t, t->api->clGetProgramInfo(from, CL_PROGRAM_BINARIES, sizeof(binary),
                                     &binary, NULL));
    if (next(t, 2))
        binary[next(t, (uint32_t)size)] ^= (unsigned char)(1 << next(t, 8));
    size_t given = next(t, 4) ? size : next(t, (uint32_t)size + 1);
    cl_device_id device = any(t, DEVICE);
    cl_int state;
    cl_program made = t->api->clCreateProgramWithBinary(
        any(t, CONTEXT), 1, &device, &given, (const unsigned char **)&binary,
        next(t, 2) ? &state : NULL, &status);
    note(t, status);
    if (made)
        note(t, t->api->clBuildProgram(made, 0, NULL, NULL, NULL, NULL));
    keep(t, PROGRAM, made);
    free(binary);
}

static void make_kernel(struct thread *t)
{
    static const char *const names[] = {"add",   "turn", "show",
                                        "value", "none", ""};
    cl_int status = CL_SUCCESS;

    if (next(t, 4) == 0)
        keep(t, KERNEL, t->api->clCloneKernel(any(t, KERNEL), &status));
    else
        keep(t, KERNEL,
             t->api->clCreateKernel(
                 next(t, 2) ? t->shared->program : any(t, PROGRAM),
                 next(t, 32) ? names[next(t, 6)] : NULL, &status));
    note(t, status);
}

static void make_event(struct thread *t)
{
    cl_int status = CL_SUCCESS;

    if (t->user)
        return;
    t->user = t->api->clCreateUserEvent(any(t, CONTEXT), &status);
    note(t, status);
    if (t->user)
        CL_OK(t->api->clRetainEvent(t->user));
    keep(t, EVENT, t->user);
}

static void set_argument(struct thread *t)
{
    cl_kernel kernel = any(t, KERNEL);
    unsigned char value[64]; // of an argument
    void *object = any(t, (enum kind)next(t, KINDS));

    memset(value, (int)next(t, 256), sizeof(value));
    switch (next(t, 4)) {
    case 0:
        note(t, t->api->clSetKernelArg(kernel, a_count(t, 4), next(t, 65),
                                       next(t, 8) ? value : NULL));
        break;
    case 1:
        note(t, t->api->clSetKernelArgSVMPointer(kernel, a_count(t, 4),
                                                 next(t, 4) ? NULL : t->host));
        break;
    default:
        note(t, t->api->clSetKernelArg(kernel, a_count(t, 3),
                                       next(t, 16) ? sizeof(object) : 4,
                                       next(t, 16) ? &object : NULL));
    }
}

static void fill_arguments(struct thread *t, cl_kernel kernel)
{
    const float bytes[6] = {0};
    cl_uint count = 0;

    if (t->api->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count),
                                &count, NULL) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < count; i++)
        for (int tries = 0; tries < 6; tries++) {
            void *object = any(t, next(t, 4) ? MEM : SAMPLER);
            static const size_t sizes[] = {4, 24, 3};
            cl_int status =
                tries < 3
                    ? t->api->clSetKernelArg(kernel, i, sizes[tries], bytes)
                    : t->api->clSetKernelArg(kernel, i, sizeof(object),
                                             &object);
            if (status == CL_SUCCESS)
                break;
        }
}

static void launch(struct thread *t)
{
    size_t global[] = {a_size(t), next(t, 5), next(t, 3)};
    const size_t local[] = {next(t, 40), next(t, 3), 1},
                 offset[] = {a_size(t), 0, 3};
    cl_kernel kernel = any(t, KERNEL);
    cl_event list[3], made = NULL;
    const cl_event *given;
    cl_uint count = waits(t, list, &given);

    // As many as that would run for years.
    if (global[0] > BYTES)
        global[0] = 64;
    if (next(t, 2))
        fill_arguments(t, kernel);
    note(t, t->api->clEnqueueNDRangeKernel(
                any(t, QUEUE), kernel, next(t, 16) ? 1 + next(t, 3) : 7,
                next(t, 2) ? NULL : offset, next(t, 32) ? global : NULL,
                next(t, 2) ? NULL : local, count, given,
                next(t, 2) ? NULL : &made));
    keep(t, EVENT, made);
}

static void move_buffer(struct thread *t)
{
    cl_command_queue queue = next(t, 16) ? t->copies : junk(t);
    cl_mem a = any(t, MEM), b = any(t, MEM), both[] = {a, b};
    size_t offset = a_size(t), size = a_size(t);
    cl_event list[3], made = NULL;
    const cl_event *given;
    const size_t at[] = {next(t, 16), next(t, 4), next(t, 3)},
                 to[] = {next(t, 16), next(t, 4), next(t, 3)},
                 region[] = {next(t, 16), next(t, 4), next(t, 3)};
    size_t row = next(t, 2) ? 0 : next(t, 64), slice = next(t, 2) ? 0 : 256;
    void *host = next(t, 32) ? t->host : NULL;
    cl_bool blocks = next(t, 2);
    cl_event *event = next(t, 2) ? NULL : &made;

    if (blocks)
        end_user_event(t);
    cl_uint count = waits(t, list, &given);
    // The host's memory is no larger.
    if (size > BYTES && size != SIZE_MAX)
        size = BYTES;
    switch (next(t, 9)) {
    case 0:
        note(t, t->api->clEnqueueReadBuffer(queue, a, blocks, offset, size,
                                            host, count, given, event));
        break;
    case 1:
        note(t, t->api->clEnqueueWriteBuffer(queue, a, blocks, offset, size,
                                             host, count, given, event));
        break;
    case 2:
        note(t, t->api->clEnqueueCopyBuffer(queue, a, b, offset, a_size(t),
                                            size, count, given, event));
        break;
    case 3:
        note(t, t->api->clEnqueueFillBuffer(queue, a, t->given, a_size(t),
                                            offset, size, count, given, event));
        break;
    case 4:
        note(t, t->api->clEnqueueReadBufferRect(queue, a, blocks, at, to,
                                                region, row, slice, row, slice,
                                                host, count, given, event));
        break;
    case 5:
        note(t, t->api->clEnqueueCopyBufferRect(queue, a, b, at, to, region,
                                                row, slice, row, slice, count,
                                                given, event));
        break;
    case 6:
        note(t, t->api->clEnqueueCopyBufferToImage(
                    queue, a, b, offset, at, region, count, given, event));
        break;
    case 7:
        note(t, t->api->clEnqueueCopyImageToBuffer(
                    queue, a, b, at, region, offset, count, given, event));
        break;
    default:
        note(t, t->api->clEnqueueMigrateMemObjects(
                    queue, next(t, 3), next(t, 8) ? both : NULL, some_flags(t),
                    count, given, event));
    }
    keep(t, EVENT, made);
}

static void move_image(struct thread *t)
{
    static const float color[4] = {1, 2, 3, 4};
    cl_command_queue queue = next(t, 16) ? t->copies : junk(t);
    cl_mem a = any(t, MEM), b = any(t, MEM);
    const size_t at[] = {next(t, 4), next(t, 4), next(t, 3)},
                 to[] = {next(t, 4), next(t, 4), next(t, 3)},
                 region[] = {next(t, 6), next(t, 6), next(t, 3)};
    cl_bool blocks = next(t, 2);
    cl_event list[3], made = NULL;
    const cl_event *given;

    if (blocks)
        end_user_event(t);
    cl_uint count = waits(t, list, &given);
    switch (next(t, 4)) {
    case 0: // at most 6 rows of 6 texels of 16 bytes in 3 layers
        note(t, t->api->clEnqueueReadImage(queue, a, blocks, at, region, 0, 0,
                                           t->host, count, given, &made));
        break;
    case 1:
        note(t, t->api->clEnqueueWriteImage(queue, a, blocks, at, region, 0, 0,
                                            t->host, count, given, &made));
        break;
    case 2:
        note(t, t->api->clEnqueueCopyImage(queue, a, b, at, to, region, count,
                                           given, &made));
        break;
    default:
        note(t, t->api->clEnqueueFillImage(queue, a, color, at, region, count,
                                           given, &made));
    }
    keep(t, EVENT, made);
}

static void map(struct thread *t)
{
    cl_mem mem = any(t, MEM);
    const size_t at[] = {next(t, 4), next(t, 4), next(t, 3)},
                 region[] = {next(t, 6), next(t, 6), next(t, 3)};
    size_t row, slice;
    cl_int status = CL_SUCCESS;

    end_user_event(t);
    void *address =
        next(t, 2)
            ? t->api->clEnqueueMapBuffer(t->copies, mem, CL_TRUE, some_flags(t),
                                         a_size(t), a_size(t), 0, NULL, NULL,
                                         &status)
            : t->api->clEnqueueMapImage(t->copies, mem, CL_TRUE, some_flags(t),
                                        at, region, next(t, 8) ? &row : NULL,
                                        &slice, 0, NULL, NULL, &status);
    note(t, status);
    if (address || next(t, 4) == 0)
        note(t, t->api->clEnqueueUnmapMemObject(
                    t->copies, next(t, 8) && address ? mem : any(t, MEM),
                    next(t, 8) ? address : t->host, 0, NULL, NULL));
}

static void use_shared_memory(struct thread *t)
{
    cl_context context = next(t, 4) ? t->shared->d.context : any(t, CONTEXT);
    size_t size = a_size(t);
    char *memory =
        t->api->clSVMAlloc(context, some_flags(t), size, (cl_uint)a_size(t));
    cl_command_queue queue = t->copies;

    end_user_event(t);
    if (!memory)
        return;
    note(t, t->api->clEnqueueSVMMemFill(queue, memory, t->given, a_size(t),
                                        a_size(t) % (size + 1), 0, NULL, NULL));
    note(t, t->api->clEnqueueSVMMap(queue, CL_TRUE, some_flags(t), memory,
                                    next(t, 8) ? size : 0, 0, NULL, NULL));
    note(t, t->api->clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
    note(t, t->api->clEnqueueSVMMemcpy(queue, CL_TRUE, t->host, memory,
                                       size < BYTES ? size : BYTES, 0, NULL,
                                       NULL));
    note(t, t->api->clFinish(queue));
    t->api->clSVMFree(context, memory);
}

static void CL_CALLBACK called(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status;
    atomic_fetch_add((atomic_uint *)data, 1);
}

static void CL_CALLBACK nothing(void *data)
{
    (void)data;
}

static void use_events(struct thread *t)
{
    static atomic_uint calls;
    cl_event list[3], made = NULL;
    const cl_event *given;
    cl_int status = CL_SUCCESS;

    switch (next(t, 8)) {
    case 0:
        note(t,
             t->api->clSetEventCallback(any(t, EVENT), (cl_int)next(t, 5),
                                        next(t, 16) ? called : NULL, &calls));
        break;
    case 1:
        end_user_event(t);
        for (int i = 0; i < 3; i++)
            list[i] = any(t, EVENT);
        note(t, t->api->clWaitForEvents(next(t, 4), next(t, 32) ? list : NULL));
        break;
    case 2:
        // Not the one that somebody is to end: see end_user_event().
        list[0] = any(t, EVENT);
        if (list[0] != t->user)
            note(t, t->api->clSetUserEventStatus(list[0], 1 - (int)next(t, 3)));
        break;
    case 3:
        end_user_event(t);
        break;
    case 4: {
        cl_uint count = waits(t, list, &given);
        note(t, t->api->clEnqueueMarkerWithWaitList(any(t, QUEUE), count, given,
                                                    &made));
        break;
    }
    case 5: {
        cl_uint count = waits(t, list, &given);
        note(t, t->api->clEnqueueBarrierWithWaitList(any(t, QUEUE), count,
                                                     given, &made));
        break;
    }
    case 6: {
        cl_mem mem = any(t, MEM);
        void *arguments[2] = {NULL, NULL};
        const void *place = &arguments[next(t, 4) ? 1 : 0] + next(t, 2);
        cl_uint count = waits(t, list, &given);
        status = t->api->clEnqueueNativeKernel(
            any(t, QUEUE), next(t, 16) ? nothing : NULL, arguments,
            next(t, 16) ? sizeof(arguments) : 0, next(t, 2), &mem, &place,
            count, given, &made);
        note(t, status);
        break;
    }
    default:
        end_user_event(t);
        note(t, next(t, 2) ? t->api->clFinish(any(t, QUEUE))
                           : t->api->clFlush(any(t, QUEUE)));
    }
    keep(t, EVENT, made);
}

static void ask(struct thread *t)
{
    unsigned char value[5000];
    size_t size = a_size(t) % sizeof(value), needed;
    void *to = next(t, 8) ? value : NULL;
    size_t *needs = next(t, 2) ? &needed : NULL;
    const cl_icd_dispatch *api = t->api;
    cl_uint at = next(t, 20);

    switch (next(t, 14)) {
    case 0:
        note(t, api->clGetDeviceInfo(any(t, DEVICE), 0x1000 + next(t, 0x80),
                                     size, to, needs));
        break;
    case 1:
        note(t, api->clGetContextInfo(any(t, CONTEXT), 0x1080 + at, size, to,
                                      needs));
        break;
    case 2:
        note(t, api->clGetCommandQueueInfo(any(t, QUEUE), 0x1090 + at, size, to,
                                           needs));
        break;
    case 3:
        note(t, api->clGetMemObjectInfo(any(t, MEM), 0x1100 + at, size, to,
                                        needs));
        break;
    case 4:
        note(t, api->clGetImageInfo(any(t, MEM), 0x1110 + at, size, to, needs));
        break;
    case 5:
        note(t, api->clGetSamplerInfo(any(t, SAMPLER), 0x1150 + at, size, to,
                                      needs));
        break;
    case 6: // binaries go to pointers in the value
        if (at != 6)
            note(t, api->clGetProgramInfo(any(t, PROGRAM), 0x1160 + at, size,
                                          to, needs));
        break;
    case 7:
        note(t, api->clGetProgramBuildInfo(any(t, PROGRAM), any(t, DEVICE),
                                           0x1181 + at, size, to, needs));
        break;
    case 8:
        note(t, api->clGetKernelInfo(any(t, KERNEL), 0x1190 + at, size, to,
                                     needs));
        break;
    case 9:
        note(t, api->clGetKernelArgInfo(any(t, KERNEL), a_count(t, 3),
                                        0x1196 + next(t, 6), size, to, needs));
        break;
    case 10:
        note(t, api->clGetKernelWorkGroupInfo(any(t, KERNEL), any(t, DEVICE),
                                              0x11b0 + at, size, to, needs));
        break;
    case 11:
        note(t,
             api->clGetEventInfo(any(t, EVENT), 0x11d0 + at, size, to, needs));
        break;
    case 12:
        note(t, api->clGetEventProfilingInfo(any(t, EVENT), 0x1280 + at, size,
                                             to, needs));
        break;
    default:
        note(t, api->clGetSupportedImageFormats(
                    any(t, CONTEXT), some_flags(t),
                    CL_MEM_OBJECT_BUFFER + next(t, 9), 100,
                    (cl_image_format *)(void *)value, NULL));
    }
}

// With one reference more or less than the thread has.
static void count(struct thread *t)
{
    enum kind kind = (enum kind)next(t, KINDS);
    void *handle = any(t, kind);
    cl_int status = hold(t, kind, handle);

    note(t, status);
    if (status == CL_SUCCESS)
        CL_OK(let_go(t, kind, handle));
    else if (!is_live(t, handle) && t->alone)
        CHECK(let_go(t, kind, handle) != CL_SUCCESS);
}

static void (*const calls[])(struct thread *t) = {
    make_context, make_devices, make_queue,  make_buffer,
    make_buffer,  make_part,    make_image,  make_image,
    make_sampler, make_kernel,  make_kernel, make_event,
    set_argument, set_argument, launch,      launch,
    launch,       launch,       move_buffer, move_buffer,
    move_buffer,  move_image,   move_image,  use_shared_memory,
    map,          use_events,   use_events,  use_events,
    ask,          ask,          ask,         ask,
    count,        count};

static void *run(void *data)
{
    struct thread *t = data;

    for (int i = 0; i < CALLS || (!atomic_load(&stop) && i < 1 << 30); i++) {
        // Building takes longer than all else.
        if (next(t, 400) == 0)
            (next(t, 2) ? make_program : load_program)(t);
        calls[next(t, sizeof(calls) / sizeof(calls[0]))](t);
    }
    return NULL;
}

// Threads ---------------------------------------------------------------------

static void start(struct thread *t, const struct shared *shared, unsigned seed)
{
    const struct driver *d = &shared->d;
    cl_int error;

    *t = (struct thread){
        .shared = shared, .api = shared->api, .state = seed * 7919 + 1};
    CL_OK(clRetainContext(d->context));
    CL_OK(clRetainProgram(shared->program));
    t->kinds[CONTEXT].live[0] = d->context;
    t->kinds[PROGRAM].live[0] = shared->program;
    t->kinds[DEVICE].live[0] = d->device;
    t->copies =
        clCreateCommandQueueWithProperties(d->context, d->device, NULL, &error);
    CL_OK(error);
    for (int i = 0; i < HELD; i++) {
        keep(t, QUEUE,
             clCreateCommandQueueWithProperties(d->context, d->device, NULL,
                                                &error));
        CL_OK(error);
        keep(t, MEM, clCreateBuffer(d->context, 0, BYTES, NULL, &error));
        CL_OK(error);
        make_kernel(t);
    }
}

static void end(struct thread *t)
{
    end_user_event(t);
    CHECK(t->refused > 0 && t->passed > t->refused / 8);
    CL_OK(clFinish(t->copies));
    for (int i = 0; i < HELD; i++)
        if (t->kinds[QUEUE].live[i])
            CL_OK(clFinish(t->kinds[QUEUE].live[i]));
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < HELD; i++)
            if (t->kinds[k].live[i])
                CL_OK(let_go(t, (enum kind)k, t->kinds[k].live[i]));
    CL_OK(clReleaseCommandQueue(t->copies));
}

int main(void)
{
    struct shared shared = {.d = driver_open(0)};
    static struct thread threads[THREADS], alone;
    const char *seconds = getenv("OPENCL_CALLS_SECONDS");
    const char *seed = getenv("OPENCL_CALLS_SEED");
    unsigned first = seed ? (unsigned)atoi(seed) : 0;

    shared.api = *(const cl_icd_dispatch **)(void *)shared.d.device;
    shared.program = driver_build(&shared.d, source, "-cl-std=CL3.0");
    atomic_store(&stop, true);
    start(&alone, &shared, first + THREADS);
    alone.alone = true;
    run(&alone);
    end(&alone);

    atomic_store(&stop, !seconds);
    for (unsigned i = 0; i < THREADS; i++) {
        start(&threads[i], &shared, first + i);
        CHECK(pthread_create(&threads[i].id, NULL, run, &threads[i]) == 0);
    }
    if (seconds) {
        nanosleep(&(struct timespec){.tv_sec = atoi(seconds)}, NULL);
        atomic_store(&stop, true);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i].id, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        end(&threads[i]);
    CL_OK(clReleaseProgram(shared.program));
    driver_close(&shared.d);
    return 0;
}
