// A GPU through the public interface, on the fake driver.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

static const struct fake_cuda *fake;

enum {
    N = 10000
};

static const char source[] =
    "kernel void twice(global float *to, global const float *from, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n) to[i] = 2 * from[i] + get_local_size(0);\n"
    "}\n"
    "kernel void edges(global int *x) {\n"
    "    size_t at = (get_global_id(2) * get_global_size(1) +\n"
    "                 get_global_id(1)) * get_global_size(0) +\n"
    "                get_global_id(0);\n"
    "    x[at] += get_local_size(0) + 10 * get_local_size(1) +\n"
    "             100 * get_local_size(2) + 1000 * get_group_id(0);\n"
    "}\n"
    "kernel void joined(global int *x) {\n"
    "    int i = get_global_id(0), v;\n"
    "    if (i & 1) v = x[i] + 1; else v = 2 * x[i];\n"
    "    x[i] = v;\n"
    "    for (int k = 0; k < 3; k++)\n"
    "        v = sub_group_shuffle(v, get_sub_group_local_id() ^ 1);\n"
    "    x[i] = sub_group_non_uniform_reduce_add(v);\n"
    "}\n"
    "kernel void alone(global int *x) {\n"
    "    int i = get_global_id(0);\n"
    "    if (x[i] > 0) x[i] = sub_group_non_uniform_reduce_add(i);\n"
    "}\n"
    "kernel void wild(global int *x) { x[1 << 28] = 3; }\n"
    "kernel void say(int n) {\n"
    "    printf(\"item %d of %s\\n\", (int)get_global_id(0) + n, \"these\");\n"
    "}\n";

static struct hd_runtime *start(const char *device)
{
    const struct hd_runtime_params params = {.device = device, .workers = 2};
    struct hd_runtime *runtime;
    struct hd_error error;

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    return runtime;
}

static struct hd_program *build(struct hd_runtime *runtime)
{
    const struct hd_program_params params = {
        .path = "gpu.cl", .source = source, .options = "-cl-std=CL3.0"};
    struct hd_program *program;
    struct hd_error error;

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    return program;
}

static struct hd_buffer *buffer(struct hd_runtime *runtime, uint64_t size)
{
    struct hd_buffer *b;
    struct hd_error error;

    CHECK_OK(hd_buffer_create(runtime, size, &b, &error), error);
    return b;
}

static void run_twice(struct hd_runtime *runtime, struct hd_program *program,
                      uint64_t devices)
{
    static float in[N], out[N];
    struct hd_buffer *from = buffer(runtime, sizeof(in)),
                     *to = buffer(runtime, sizeof(out));
    int n = N;
    struct hd_error error;
    const struct hd_arg args[] = {HD_BUFFER(to), HD_BUFFER(from), HD_VALUE(n)};
    const struct hd_range range = {.dims = 1, .global = {N}, .local = {64}};
    const struct hd_launch_params how = {.devices = devices};

    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    CHECK_OK(hd_buffer_write(from, 0, in, sizeof(in), &error), error);
    CHECK_OK(hd_launch_with(runtime, &how, hd_program_find(program, "twice"),
                            &range, args, 3, &error),
             error);
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    for (int i = 0; i < N; i++) {
        float size = i < N / 64 * 64 ? 64 : N % 64;
        CHECK(out[i] == 2 * (float)i + size);
    }
    hd_buffer_destroy(to);
    hd_buffer_destroy(from);
}

static void a_launch_runs_on_the_gpu(void)
{
    struct hd_runtime *runtime = start("gpu");
    struct hd_program *program = build(runtime);

    CHECK(hd_runtime_device_count(runtime) == 1);
    for (int round = 0; round < 3; round++)
        run_twice(runtime, program, 0);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

static void edges_have_smaller_groups(void)
{
    enum {
        X = 37,
        Y = 10,
        Z = 5,
        LX = 8,
        LY = 4,
        LZ = 2
    };
    struct hd_runtime *runtime = start("gpu");
    struct hd_program *program = build(runtime);
    static int seen[X * Y * Z];
    struct hd_buffer *x = buffer(runtime, sizeof(seen));
    const struct hd_arg args[] = {HD_BUFFER(x)};
    const struct hd_range range = {
        .dims = 3, .global = {X, Y, Z}, .local = {LX, LY, LZ}};
    struct hd_error error;

    CHECK_OK(hd_launch(runtime, hd_program_find(program, "edges"), &range, args,
                       1, &error),
             error);
    CHECK_OK(hd_buffer_read(x, 0, seen, sizeof(seen), &error), error);
    for (int i = 0; i < X * Y * Z; i++) {
        int a = i % X, b = i / X % Y, c = i / X / Y;
        int right = (a < X / LX * LX ? LX : X % LX) +
                    10 * (b < Y / LY * LY ? LY : Y % LY) +
                    100 * (c < Z / LZ * LZ ? LZ : Z % LZ) + 1000 * (a / LX);
        CHECK(seen[i] == right);
    }
    hd_buffer_destroy(x);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

// The first device is the CPU: buffers are made there and copied.
static void cpu_and_gpu_are_two_devices(void)
{
    struct hd_runtime *runtime = start("all");
    struct hd_program *program = build(runtime);
    struct hd_device_info info;
    struct hd_error error;

    CHECK(hd_runtime_device_count(runtime) == 2);
    CHECK_OK(hd_runtime_device_info(runtime, 1, &info, &error), error);
    CHECK(strcmp(info.backend, "cuda") == 0 && !info.host_memory);
    for (uint64_t devices = 0; devices < 4; devices++)
        run_twice(runtime, program, devices);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

// Its context is gone then, and with it the GPU for this process; the CPU goes
// on.
static void a_fault_names_its_kernel(void)
{
    struct hd_runtime *runtime = start("all");
    struct hd_program *program = build(runtime);
    struct hd_buffer *x = buffer(runtime, 64);
    const struct hd_arg args[] = {HD_BUFFER(x)};
    const struct hd_range range = {.dims = 1, .global = {1}, .local = {1}};
    const struct hd_launch_params on_gpu = {.devices = 2};
    struct hd_error error;

    CHECK_FAILS(hd_launch_with(runtime, &on_gpu,
                               hd_program_find(program, "wild"), &range, args,
                               1, &error),
                HD_EFAULT, error, "wild");
    CHECK(hd_launch_with(runtime, &on_gpu, hd_program_find(program, "edges"),
                         &range, args, 1, &error) != HD_OK);
    run_twice(runtime, program, 1);
    hd_buffer_destroy(x);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

// Where all lanes come after they went different ways they are waited for, even
// if the GPU runs each of them alone; where only some come, those that are
// active take part.
static void lanes_wait_for_those_that_come(const char *kernel)
{
    struct hd_runtime *runtime = start("gpu");
    struct hd_program *program = build(runtime);
    int numbers[64], right = 0;
    struct hd_buffer *x = buffer(runtime, sizeof(numbers));
    const struct hd_arg args[] = {HD_BUFFER(x)};
    const struct hd_range range = {.dims = 1, .global = {64}, .local = {64}};
    bool all = strcmp(kernel, "joined") == 0;
    struct hd_error error;

    for (int i = 0; i < 64; i++)
        numbers[i] = i % 32;
    for (int i = 0; i < 32; i++)
        right += i % 2 ? i + 1 : 2 * i;
    CHECK_OK(hd_buffer_write(x, 0, numbers, sizeof(numbers), &error), error);
    CHECK(setenv("FAKE_CUDA_APART", "1", 1) == 0);
    CHECK_OK(hd_launch(runtime, hd_program_find(program, kernel), &range, args,
                       1, &error),
             error);
    CHECK(unsetenv("FAKE_CUDA_APART") == 0);
    CHECK_OK(hd_buffer_read(x, 0, numbers, sizeof(numbers), &error), error);
    for (int i = 0; i < 64; i++)
        CHECK(numbers[i] == (all ? right : i % 32 ? i : 0));
    hd_buffer_destroy(x);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

static char printed[100000];
static size_t printed_size;

static void keep(void *data, const char *text, size_t size)
{
    (void)data;
    memcpy(printed + printed_size, text, size);
    printed_size += size;
}

static void kernels_print(void)
{
    const struct hd_runtime_params params = {
        .device = "gpu", .workers = 1, .print = keep};
    struct hd_runtime *runtime;
    struct hd_error error;
    int n = 1000;
    const struct hd_arg args[] = {HD_VALUE(n)};
    const struct hd_range range = {.dims = 1, .global = {300}, .local = {60}};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    struct hd_program *program = build(runtime);
    CHECK_OK(hd_launch(runtime, hd_program_find(program, "say"), &range, args,
                       1, &error),
             error);
    for (int i = 0; i < 300; i++) {
        char line[64];
        snprintf(line, sizeof(line), "item %d of these\n", 1000 + i);
        CHECK(memmem(printed, printed_size, line, strlen(line)));
    }
    CHECK(printed_size == 300 * strlen("item 1000 of these\n"));
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

int main(void)
{
    fake = fake_cuda();
    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    a_launch_runs_on_the_gpu();
    edges_have_smaller_groups();
    cpu_and_gpu_are_two_devices();
    lanes_wait_for_those_that_come("joined");
    lanes_wait_for_those_that_come("alone");
    kernels_print();
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    a_fault_names_its_kernel();
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    return 0;
}
