// Each call of the CUDA driver fails in turn (each_call.h) while a program uses
// the GPU through OpenCL: buffers, an image, commands that wait for each other
// on queues of both devices.
//
//     gpu_failing_test [CALL]
#include <string.h>

#include "tests/cuda/each_call.h"
#include "tests/opencl/driver.h"

enum {
    N = 128
};

static const char source[] =
    "kernel void add(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by;\n"
    "}\n"
    "kernel void paint(write_only image2d_t to, global const int *x) {\n"
    "    int i = get_global_id(0);\n"
    "    write_imagei(to, (int2)(i % 16, i / 16), (int4)(2 * x[i]));\n"
    "}\n";

// The first error of a chain of calls: those behind it are not made.
static cl_int error;

// Calls are chained with &&: after an error nothing more is done, and all that
// was made is released.
static bool good(cl_int result)
{
    if (error == CL_SUCCESS)
        error = result;
    return error == CL_SUCCESS;
}

// What a run makes; NULL is what it did not get to.
struct all {
    cl_context context;
    cl_command_queue queue[2];
    cl_program program;
    cl_kernel add, paint;
    cl_mem buffer, image;
    cl_event added[2], painted;
};

// In reverse order of making. A queue is finished here, since commands may be
// under way whose wait has failed.
static void release(struct all *a)
{
    for (int i = 0; i < 2; i++)
        if (a->added[i])
            CL_OK(clReleaseEvent(a->added[i]));
    if (a->painted)
        CL_OK(clReleaseEvent(a->painted));
    if (a->image)
        CL_OK(clReleaseMemObject(a->image));
    if (a->buffer)
        CL_OK(clReleaseMemObject(a->buffer));
    if (a->paint)
        CL_OK(clReleaseKernel(a->paint));
    if (a->add)
        CL_OK(clReleaseKernel(a->add));
    if (a->program)
        CL_OK(clReleaseProgram(a->program));
    for (int i = 0; i < 2; i++)
        if (a->queue[i]) {
            clFinish(a->queue[i]); // says what it will
            CL_OK(clReleaseCommandQueue(a->queue[i]));
        }
    if (a->context)
        CL_OK(clReleaseContext(a->context));
}

// A queue on the first device, and on the last.
static bool create(struct all *a, const cl_device_id *devices, cl_uint count)
{
    static const cl_image_format format = {CL_R, CL_SIGNED_INT32};
    static const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                        .image_width = 16,
                                        .image_height = N / 16};
    static int zeros[N];
    const char *text = source;
    cl_int result;

    a->context = clCreateContext(NULL, count, devices, NULL, NULL, &result);
    if (!good(result))
        return false;
    for (int i = 0; i < 2 && error == CL_SUCCESS; i++) {
        a->queue[i] = clCreateCommandQueueWithProperties(
            a->context, devices[i % count], NULL, &result);
        good(result);
    }
    a->program = clCreateProgramWithSource(a->context, 1, &text, NULL, &result);
    if (!good(result) ||
        !good(clBuildProgram(a->program, count, devices, "", NULL, NULL)))
        return false;
    a->add = clCreateKernel(a->program, "add", &result);
    if (good(result))
        a->paint = clCreateKernel(a->program, "paint", &result);
    if (good(result))
        a->buffer =
            clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                           sizeof(zeros), zeros, &result);
    if (good(result))
        a->image = clCreateImage(a->context, CL_MEM_READ_WRITE, &format, &shape,
                                 NULL, &result);
    return good(result);
}

// False: an error was noted.
static bool add(struct all *a, cl_command_queue queue, int by, cl_event *added)
{
    const size_t n = N;

    return good(clSetKernelArg(a->add, 0, sizeof(a->buffer), &a->buffer)) &&
           good(clSetKernelArg(a->add, 1, sizeof(by), &by)) &&
           good(clEnqueueNDRangeKernel(queue, a->add, 1, NULL, &n, NULL, 0,
                                       NULL, added));
}

// On the first queue, then an image on the second.
static void run(struct all *a, cl_command_queue one, cl_command_queue two)
{
    const size_t n = N, origin[3] = {0}, region[3] = {16, N / 16, 1};
    int seen[N];

    if (!add(a, one, 1, &a->added[0]) || !add(a, one, 2, &a->added[1]) ||
        !good(clWaitForEvents(2, a->added)) ||
        !good(clSetKernelArg(a->paint, 0, sizeof(a->image), &a->image)) ||
        !good(clSetKernelArg(a->paint, 1, sizeof(a->buffer), &a->buffer)) ||
        !good(clEnqueueNDRangeKernel(one, a->paint, 1, NULL, &n, NULL, 0, NULL,
                                     &a->painted)) ||
        !good(clEnqueueReadImage(two, a->image, CL_TRUE, origin, region, 0, 0,
                                 seen, 1, &a->painted, NULL)))
        return;
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == 6);
}

static cl_platform_id platform(void)
{
    cl_platform_id found = driver_find("Heddle");

    CHECK(found);
    return found;
}

// What the devices are told before anything is made of them is the driver's own
// until the process ends.
static bool use_gpu(bool all_is_well, uint64_t *first)
{
    cl_device_id devices[2];
    struct all a = {0};

    (void)first;
    error = CL_SUCCESS;
    CL_OK(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_CPU, 1, &devices[0], NULL));
    if (good(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_GPU, 1, &devices[1],
                            NULL)) &&
        create(&a, devices, 2))
        run(&a, a.queue[1], a.queue[0]);
    release(&a);
    CHECK(!all_is_well || error == CL_SUCCESS);
    return error == CL_SUCCESS;
}

// After a failure of the GPU the processor alone has to be as good as ever, in
// the same process.
static void use_cpu(void)
{
    cl_device_id device;
    struct all a = {0};

    error = CL_SUCCESS;
    CL_OK(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_CPU, 1, &device, NULL));
    if (create(&a, &device, 1))
        run(&a, a.queue[0], a.queue[1]);
    release(&a);
    CL_OK(error);
}

// The driver keeps its own context and streams; modules and graphs of programs
// are not to be there any more, and nothing was done that a driver dislikes.
static const char *left(void)
{
    static const char *const kept[] = {" contexts left", " streams left",
                                       " events left", " device memory left",
                                       " host memory left"};
    static char text[16384];
    char *to = text;

    for (const char *line = fake_cuda()->report(); *line;) {
        size_t length = strcspn(line, "\n");
        bool is_kept = false;
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
            is_kept = is_kept || memmem(line, length, kept[i], strlen(kept[i]));
        if (!is_kept)
            to += sprintf(to, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    *to = '\0';
    return text;
}

int main(int argc, char **argv)
{
    const struct each_call what = {use_gpu, use_cpu, left};

    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    each_call_fails(&what, argc > 1 ? argv[1] : NULL, 10);
    return 0;
}
