// Images on the GPU, on the fake driver: of memory of their own and of buffers,
// made for a GPU or brought there; what is written comes back, and no more is
// copied than texels. Every way to read and write them is in tests/images.
#include <math.h>

#include "heddle/heddle.h"
#include "kernel/program.h"
#include "runtime/runtime.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    CPU,
    GPU,
    ON_CPU = 1 << CPU,
    ON_GPU = 1 << GPU,
    WIDE = 20,
    HIGH = 12,
    LAYERS = 3,
    MARGIN = 4,                 // texels between rows that are the image's
    PITCH = 4 * (WIDE + MARGIN) // [bytes]
};

static const struct fake_cuda *fake;
static struct hd_error error;

static const char source[] =
    "kernel void fill(write_only image2d_array_t to, uint by) {\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1),\n"
    "                     get_global_id(2), 0);\n"
    "    write_imageui(to, at, (uint4)(by + at.x + 100 * at.y + \n"
    "                                  10000 * at.z, 0, 0, 1));\n"
    "}\n"
    "kernel void take(read_only image2d_array_t from, global uint *to) {\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1),\n"
    "                     get_global_id(2), 0);\n"
    "    to[(at.z * get_global_size(1) + at.y) * get_global_size(0) + at.x] =\n"
    "        read_imageui(from, at).x;\n"
    "}\n"
    "kernel void more(read_write image2d_array_t x) {\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1),\n"
    "                     get_global_id(2), 0);\n"
    "    write_imageui(x, at, read_imageui(x, at) + 1u);\n"
    "}\n"
    "kernel void turn(write_only image2d_t to, read_only image2d_t from) {\n"
    "    const sampler_t edge = CLK_ADDRESS_CLAMP_TO_EDGE | "
    "CLK_FILTER_NEAREST;\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    uint4 texel = read_imageui(from, edge, at + (int2)(0, 1));\n"
    "    write_imageui(to, at, (texel + (uint4)(1, 0, 0, 0)) & 255u);\n"
    "}\n"
    "kernel void bytes(global uint *x, uint by) {\n"
    "    x[get_global_id(0)] += by;\n"
    "}\n"
    "kernel void light(read_only image2d_t from, sampler_t s,\n"
    "                  global float4 *to) {\n"
    "    int x = get_global_id(0);\n"
    "    to[x] = read_imagef(from, s, (float2)((x + 0.5f) / 16, 0.5f));\n"
    "}\n";

static struct hd_runtime *runtime;
static struct hd_program *program;

static void open_on(const char *device)
{
    const struct hd_runtime_params params = {
        .device = device, .workers = 2, .no_cache = true};
    const struct hd_program_params what = {
        .path = "image.cl", .source = source, .options = "-cl-std=CL3.0"};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    CHECK_OK(hd_program_create(runtime, &what, &program, &error), error);
}

static void close_it(void)
{
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
}

static void run(const char *name, const struct hd_arg *args, unsigned count,
                uint64_t devices)
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    const struct hd_launch_params how = {.devices = devices};
    const struct hd_range range = {.dims = 3, .global = {WIDE, HIGH, LAYERS}};

    CHECK(kernel);
    CHECK_OK(hd_launch_with(runtime, &how, kernel, &range, args, count, &error),
             error);
}

static struct hd_buffer *buffer_of(uint64_t size)
{
    struct hd_buffer *b;

    CHECK_OK(hd_buffer_create(runtime, size, &b, &error), error);
    return b;
}

// Of `buffer` from `offset` on, or of memory of its own.
static struct hd_image *image_of(struct hd_buffer *buffer, uint64_t offset)
{
    const struct hd_image_params params = {.kind = HD_IMAGE_2D_ARRAY,
                                           .order = HD_R,
                                           .type = HD_UNSIGNED_INT32,
                                           .width = WIDE,
                                           .height = HIGH,
                                           .layers = LAYERS,
                                           .row_pitch = buffer ? PITCH : 0,
                                           .buffer = buffer,
                                           .offset = offset};
    struct hd_image *image;

    CHECK_OK(hd_image_create(runtime, &params, &image, &error), error);
    return image;
}

static uint64_t copied(unsigned device)
{
    struct hd_device_info info;

    CHECK_OK(hd_runtime_device_info(runtime, device, &info, &error), error);
    return info.copied;
}

static void check_texels(const uint32_t *x, uint32_t by)
{
    for (uint32_t i = 0; i < WIDE * HIGH * LAYERS; i++)
        CHECK(x[i] == by + i % WIDE + 100 * (i / WIDE % HIGH) +
                          10000 * (i / WIDE / HIGH));
}

// Written on one device, read on another.
static void texels_go_from(uint64_t first, uint64_t second)
{
    static uint32_t seen[WIDE * HIGH * LAYERS];
    uint32_t by = 7;
    struct hd_image *image = image_of(NULL, 0);
    struct hd_buffer *to = buffer_of(sizeof(seen));
    const struct hd_arg fill[] = {HD_IMAGE(image), HD_VALUE(by)};
    const struct hd_arg take[] = {HD_IMAGE(image), HD_BUFFER(to)};

    run("fill", fill, 2, first);
    run("more", fill, 1, second);
    run("more", fill, 1, first);
    run("take", take, 2, second);
    CHECK_OK(hd_buffer_read(to, 0, seen, sizeof(seen), &error), error);
    check_texels(seen, 9);
    hd_image_destroy(image);
    hd_buffer_destroy(to);
}

// The image lies in a part of a buffer, with margins that are not its own.
static void only_texels_are_copied(void)
{
    const uint64_t size = PITCH * HIGH * LAYERS;
    static uint32_t seen[PITCH * HIGH * LAYERS / 4 + 64];
    struct hd_buffer *whole = buffer_of(sizeof(seen)), *part;
    uint32_t by = 1;

    CHECK_OK(hd_buffer_sub(whole, 128, sizeof(seen) - 128, &part, &error),
             error);
    struct hd_image *image = image_of(part, 64);
    const struct hd_arg fill[] = {HD_IMAGE(image), HD_VALUE(by)};
    const struct hd_arg bytes[] = {HD_BUFFER(whole), HD_VALUE(by)};
    const struct hd_range all = {.dims = 1, .global = {sizeof(seen) / 4}};
    const struct hd_launch_params on_cpu = {.devices = ON_CPU};

    uint64_t before[] = {copied(CPU), copied(GPU)};
    run("more", fill, 1, ON_GPU);
    CHECK(copied(GPU) - before[GPU] == 4 * WIDE * HIGH * LAYERS);
    run("fill", fill, 2, ON_GPU);
    run("more", fill, 1, ON_GPU);
    CHECK(copied(GPU) - before[GPU] == 4 * WIDE * HIGH * LAYERS);
    CHECK(copied(CPU) == before[CPU]);
    // All of the buffer is changed where its other bytes are.
    CHECK_OK(hd_launch_with(runtime, &on_cpu, hd_program_find(program, "bytes"),
                            &all, bytes, 2, &error),
             error);
    CHECK(copied(CPU) - before[CPU] == 4 * WIDE * HIGH * LAYERS);
    CHECK_OK(hd_buffer_read(whole, 0, seen, sizeof(seen), &error), error);
    for (uint32_t i = 0; i < sizeof(seen) / 4; i++) {
        uint32_t at = i - (128 + 64) / 4, x = at % (PITCH / 4),
                 y = at / (PITCH / 4);
        CHECK(seen[i] == (at < size / 4 && x < WIDE
                              ? 3 + x + 100 * (y % HIGH) + 10000 * (y / HIGH)
                              : 1));
    }
    hd_image_destroy(image);
    hd_buffer_destroy(part);
    hd_buffer_destroy(whole);
}

// The table of sRGB's values is on the GPU, too.
static void srgb_is_light(uint64_t devices)
{
    const struct hd_image_params params = {.kind = HD_IMAGE_2D,
                                           .order = HD_SRGBA,
                                           .type = HD_UNORM_INT8,
                                           .width = 16,
                                           .height = 1};
    const struct hd_range range = {.dims = 1, .global = {16}};
    const struct hd_launch_params how = {.devices = devices};
    struct hd_buffer *to = buffer_of(16 * 16);
    unsigned char texels[16][4];
    struct hd_image *image;
    float seen[16][4];

    for (int i = 0; i < 16; i++)
        for (int c = 0; c < 4; c++)
            texels[i][c] = (unsigned char)(17 * i + (c == 3 ? 0 : c));
    texels[15][1] = texels[15][2] = 0;
    CHECK_OK(hd_image_create(runtime, &params, &image, &error), error);
    CHECK_OK(hd_buffer_write(hd_image_params(image)->buffer, 0, texels,
                             sizeof(texels), &error),
             error);
    const struct hd_arg args[] = {HD_IMAGE(image),
                                  HD_SAMPLER(HD_COORDINATES_NORMALISED |
                                             HD_ADDRESS_REPEAT |
                                             HD_FILTER_NEAREST),
                                  HD_BUFFER(to)};
    CHECK_OK(hd_launch_with(runtime, &how, hd_program_find(program, "light"),
                            &range, args, 3, &error),
             error);
    CHECK_OK(hd_buffer_read(to, 0, seen, sizeof(seen), &error), error);
    for (int i = 0; i < 16; i++)
        for (int c = 0; c < 4; c++) {
            double x = texels[i][c] / 255.0;
            double right = c == 3         ? x
                           : x <= 0.04045 ? x / 12.92
                                          : pow((x + 0.055) / 1.055, 2.4);
            CHECK(fabs((double)seen[i][c] - right) < 1e-6);
        }
    hd_image_destroy(image);
    hd_buffer_destroy(to);
}

// As if it had been measured: so long a work-item takes [ns].
static void pretend(const char *name, uint64_t cpu, uint64_t gpu)
{
    const uint64_t paces[] = {cpu, gpu};

    for (unsigned i = 0; i < 2; i++)
        atomic_store(
            &hdi_kernel_on(hd_program_find(program, name), runtime->devices[i])
                 ->learned->pace,
            paces[i] * 1024);
}

static struct hd_device_info info_of(unsigned device)
{
    struct hd_device_info info;

    CHECK_OK(hd_runtime_device_info(runtime, device, &info, &error), error);
    return info;
}

// A part needs the texels of its own rows alone, and writes no others: so the
// launch is divided, and each device has copied no more than its part.
static void launches_that_write_are_divided(void)
{
    enum {
        SIDE = 64,
        BYTES = SIDE * SIDE * 4
    };
    static uint32_t first[SIDE * SIDE], seen[SIDE * SIDE];
    const struct hd_image_params params = {.kind = HD_IMAGE_2D,
                                           .order = HD_RGBA,
                                           .type = HD_UNSIGNED_INT8,
                                           .width = SIDE,
                                           .height = SIDE};
    const struct hd_range range = {
        .dims = 2, .global = {SIDE, SIDE}, .local = {SIDE, 1}};
    const struct hd_launch_params on_cpu = {.devices = ON_CPU};
    const struct hd_kernel *turn = hd_program_find(program, "turn");
    struct hd_image *from, *to;

    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        first[i] = (i * 2654435761u) & 0xffffff00u;
    CHECK_OK(hd_image_create(runtime, &params, &from, &error), error);
    CHECK_OK(hd_image_create(runtime, &params, &to, &error), error);
    const struct hd_arg args[] = {HD_IMAGE(to), HD_IMAGE(from)};
    const struct hd_arg back[] = {HD_IMAGE(from), HD_IMAGE(to)};
    CHECK_OK(
        hd_buffer_write(hd_image_params(from)->buffer, 0, first, BYTES, &error),
        error);
    pretend("turn", 100000, 100000);
    struct hd_device_info cpu = info_of(CPU), gpu = info_of(GPU);
    CHECK_OK(hd_launch(runtime, turn, &range, args, 2, &error), error);
    uint64_t there = info_of(GPU).groups - gpu.groups;
    CHECK(info_of(CPU).groups > cpu.groups && there > 0);
    CHECK(info_of(GPU).copied - gpu.copied <= (there + 2) * SIDE * 4);
    CHECK(info_of(CPU).copied == cpu.copied);
    // What the GPU wrote, and no more, comes back for the other way round.
    CHECK_OK(hd_launch_with(runtime, &on_cpu, turn, &range, back, 2, &error),
             error);
    CHECK(info_of(CPU).copied - cpu.copied == there * SIDE * 4);
    CHECK_OK(
        hd_buffer_read(hd_image_params(from)->buffer, 0, seen, BYTES, &error),
        error);
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            uint32_t down = y + 2 < SIDE ? y + 2 : SIDE - 1;
            CHECK(seen[y * SIDE + x] == first[down * SIDE + x] + 2);
        }
    hd_image_destroy(from);
    hd_image_destroy(to);
}

static void the_faster_device_is_chosen(void)
{
    static uint32_t seen[WIDE * HIGH * LAYERS];
    uint32_t by = 40;
    struct hd_image *image = image_of(NULL, 0);
    struct hd_buffer *to = buffer_of(sizeof(seen));
    const struct hd_arg fill[] = {HD_IMAGE(image), HD_VALUE(by)};
    const struct hd_arg take[] = {HD_IMAGE(image), HD_BUFFER(to)};

    for (int gpu = 0; gpu < 2; gpu++) {
        struct hd_device_info cpu = info_of(CPU), other = info_of(GPU);
        pretend("fill", gpu ? 100000 : 10, gpu ? 10 : 100000);
        run("fill", fill, 2, 0);
        CHECK((info_of(CPU).groups > cpu.groups) == !gpu);
        CHECK((info_of(GPU).groups > other.groups) == gpu);
    }
    struct hd_device_info cpu = info_of(CPU), gpu = info_of(GPU);
    pretend("take", 100000, 100000);
    run("take", take, 2, 0);
    CHECK(info_of(CPU).groups > cpu.groups);
    CHECK(info_of(GPU).groups > gpu.groups);
    CHECK_OK(hd_buffer_read(to, 0, seen, sizeof(seen), &error), error);
    check_texels(seen, 40);
    hd_image_destroy(image);
    hd_buffer_destroy(to);
}

static void images_of_another_runtime_are_refused(void)
{
    const struct hd_runtime_params params = {.device = "cpu", .workers = 1};
    const struct hd_range range = {.dims = 1, .global = {1}};
    struct hd_runtime *other;
    uint32_t by = 0;
    struct hd_image *image;
    const struct hd_image_params shape = {.kind = HD_IMAGE_2D_ARRAY,
                                          .order = HD_R,
                                          .type = HD_UNSIGNED_INT32,
                                          .width = 4,
                                          .height = 4,
                                          .layers = 1};

    CHECK_OK(hd_runtime_create(&params, &other, &error), error);
    CHECK_OK(hd_image_create(other, &shape, &image, &error), error);
    const struct hd_arg args[] = {HD_IMAGE(image), HD_VALUE(by)};
    CHECK_FAILS(hd_launch(runtime, hd_program_find(program, "fill"), &range,
                          args, 2, &error),
                HD_EINVAL, error, "argument 'to' belongs to another runtime");
    hd_image_destroy(image);
    hd_runtime_destroy(other);
}

int main(void)
{
    fake = fake_cuda();
    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    open_on("gpu");
    texels_go_from(0, 0);
    srgb_is_light(0);
    images_of_another_runtime_are_refused();
    close_it();
    open_on("all");
    for (uint64_t first = ON_CPU; first <= ON_GPU; first *= 2)
        for (uint64_t second = ON_CPU; second <= ON_GPU; second *= 2)
            texels_go_from(first, second);
    only_texels_are_copied();
    srgb_is_light(ON_GPU);
    srgb_is_light(ON_CPU);
    launches_that_write_are_divided();
    the_faster_device_is_chosen();
    images_of_another_runtime_are_refused();
    close_it();
    return 0;
}
