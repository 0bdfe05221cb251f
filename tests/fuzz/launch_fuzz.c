// Images and launches with any numbers in them, of a kernel with arguments of
// every kind, on the device that runs nothing. What is refused is refused with
// a text; what is allowed is launched where it is not too large.
#include <inttypes.h>

#include "heddle/image.h"
#include "kernel/binary/container.h"
#include "runtime/runtime.h"
#include "tests/fuzz/fuzz.h"

enum {
    MAX_ITEMS = 1 << 20, // of a launch that is run
    MAX_ARGS = 9
};

static char global_type[] = "int*", value_type[] = "int",
            wide_type[] = "double4", image_type[] = "read_only image2d_t",
            written_type[] = "write_only image3d_t",
            sampler_type[] = "sampler_t", name[] = "x", empty[] = "";
static struct hdi_build_arg arguments[] = {
    {name, value_type, HD_ARG_VALUE, 4, 0, false, 0},
    {name, wide_type, HD_ARG_VALUE, 32, 32, false, 0},
    {name, global_type, HD_ARG_GLOBAL, 4, 64, false, 0},
    {name, global_type, HD_ARG_CONSTANT, 4, 72, true, 0},
    {name, global_type, HD_ARG_LOCAL, 4, 80, false, 0},
    {name, image_type, HD_ARG_IMAGE, 8, 88, true, 0},
    {name, written_type, HD_ARG_IMAGE, 8, 96, false, 0},
    {name, sampler_type, HD_ARG_SAMPLER, 4, 104, false, 0},
};
static struct hdi_build_kernel kernels[] = {
    {.name = (char[]){"plain"},
     .file = empty,
     .explanation = empty,
     .hinted_type = empty,
     .saved_bytes = 24,
     .local_bytes = 12,
     .args_size = 112,
     .arg_count = sizeof(arguments) / sizeof(arguments[0]),
     .args = arguments},
    {.name = (char[]){"required"},
     .file = empty,
     .explanation = empty,
     .hinted_type = empty,
     .required_local = {8, 4, 2},
     .hinted_local = {3, 1, 1},
     .args_size = 112,
     .arg_count = sizeof(arguments) / sizeof(arguments[0]),
     .args = arguments},
    {.name = (char[]){"nothing"},
     .file = empty,
     .explanation = empty,
     .hinted_type = empty,
     .hinted_local = {UINT32_MAX, 1, 1},
     .args_size = 0},
};

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_buffer *buffer;

static void open_runtime(void)
{
    const struct hd_runtime_params params = {
        .device = "null", .workers = 1, .caller_only = true, .no_cache = true};
    const struct hdi_build build = {.target = empty,
                                    .cpu = empty,
                                    .features = empty,
                                    .image = empty,
                                    .kernels = kernels,
                                    .kernel_count =
                                        sizeof(kernels) / sizeof(kernels[0])};
    struct hdi_text text = {0};
    struct hd_error error;

    if (runtime)
        return;
    HOLDS(hd_runtime_create(&params, &runtime, &error) == HD_OK);
    HOLDS(hd_buffer_create(runtime, 4096, &buffer, &error) == HD_OK);
    HOLDS(hdi_container_write(&build, 1, NULL, NULL, &text));
    const struct hd_program_params from = {.binary = text.data,
                                           .binary_size = text.size};
    HOLDS(hd_program_create(runtime, &from, &program, &error) == HD_OK);
    hdi_text_free(&text);
}

// Mostly one that there is.
static struct hd_image *make_image(struct fuzz_bytes *in)
{
    uint64_t bits = fuzz_take(in, 1);
    struct hd_image *image = NULL;
    struct hd_error error = {0};
    struct hd_image_params params = {
        .kind = (enum hd_image_kind)fuzz_take(in, 1),
        .order = (enum hd_channel_order)(HD_R + fuzz_take(in, 1)),
        .type = (enum hd_channel_type)(HD_SNORM_INT8 + fuzz_take(in, 1)),
        .width = (uint32_t)fuzz_take_size(in),
        .height = (uint32_t)fuzz_take_size(in)};

    if (bits & 1) {
        params.depth = (uint32_t)fuzz_take_size(in);
        params.layers = (uint32_t)fuzz_take_size(in);
    }
    if (bits & 2) {
        params.row_pitch = fuzz_take_size(in);
        params.slice_pitch = fuzz_take_size(in);
    }
    if (bits & 4)
        params.offset = fuzz_take_size(in);
    if (bits & 8)
        params.buffer = buffer;
    hd_status status = hd_image_create(runtime, &params, &image, &error);
    fuzz_check_error(status, &error);
    if (status != HD_OK)
        return NULL;
    const struct hd_image_params *made = hd_image_params(image);
    uint64_t texel = hd_texel_size(made->order, made->type);
    HOLDS(made->row_pitch >= texel * made->width);
    HOLDS(made->offset + texel * made->width <= hd_buffer_size(made->buffer));
    return image;
}

static void take_arg(struct fuzz_bytes *in, const struct hd_image *image,
                     unsigned index, struct hd_arg *arg)
{
    static const char value[64];
    static const uint8_t kinds[MAX_ARGS] = {
        HD_IS_VALUE, HD_IS_VALUE, HD_IS_BUFFER, HD_IS_BUFFER,
        HD_IS_LOCAL, HD_IS_IMAGE, HD_IS_IMAGE,  HD_IS_SAMPLER};
    uint64_t bits = fuzz_take(in, 1);

    *arg = (struct hd_arg){.value = value,
                           .buffer = buffer,
                           .image = image,
                           .sampler = HD_FILTER_NEAREST,
                           .size = index == 1 ? 32 : 4};
    memcpy(&arg->is, &(unsigned){kinds[index]}, sizeof(arg->is));
    if (bits & 1)
        memcpy(&arg->is, &(unsigned){(unsigned)fuzz_take(in, 1)},
               sizeof(arg->is));
    if (bits & 2)
        arg->size = fuzz_take_size(in);
    if (bits & 4)
        arg->offset = fuzz_take_size(in);
    if (bits & 8)
        arg->sampler = (uint32_t)fuzz_take(in, 4);
    if (bits & 16)
        arg->buffer = NULL;
    if (bits & 32)
        arg->image = NULL;
    if (bits & 64)
        arg->value = NULL;
}

static struct hd_range take_range(struct fuzz_bytes *in)
{
    struct hd_range range = {.dims = (unsigned)fuzz_take(in, 1) % 8};
    uint64_t bits = fuzz_take(in, 1);

    for (int d = 0; d < 3; d++) {
        range.global[d] = bits & 1 ? fuzz_take_size(in) : fuzz_take(in, 1) + 1;
        if (bits & 2)
            range.local[d] =
                (uint32_t)(bits & 4 ? fuzz_take_size(in) : fuzz_take(in, 1));
        if (bits & 8)
            range.offset[d] = fuzz_take_size(in);
    }
    return range;
}

static bool is_small(const struct hd_range *range)
{
    uint64_t items = 1;

    for (unsigned d = 0; d < range->dims && d < 3; d++) {
        if (range->global[d] > MAX_ITEMS)
            return false;
        items *= range->global[d];
        if (items > MAX_ITEMS)
            return false;
    }
    return true;
}

static void launch(struct fuzz_bytes *in, const struct hd_image *image)
{
    const struct hd_kernel *kernel =
        hd_program_kernel(program, (unsigned)fuzz_take(in, 1) % 3);
    struct hd_range range = take_range(in);
    struct hd_arg args[MAX_ARGS];
    uint64_t bits = fuzz_take(in, 1);
    unsigned count = hd_kernel_info(kernel)->arg_count;
    struct hd_launch_params params = {.priority =
                                          (enum hd_priority)(bits >> 4)};
    struct hd_error error = {0};

    if (bits & 1)
        count = (unsigned)fuzz_take(in, 1) % (MAX_ARGS + 1);
    if (bits & 2)
        params.time_limit = UINT64_MAX - fuzz_take(in, 1);
    for (unsigned i = 0; i < count; i++)
        take_arg(in, image, i, &args[i]);
    hd_status status = hdi_launch_check(
        runtime->launcher, &(struct hdi_request){kernel, &range, args, count},
        &error);
    fuzz_check_error(status, &error);
    if (status != HD_OK || is_small(&range)) {
        hd_status again = hd_launch_with(runtime, &params, kernel, &range, args,
                                         count, &error);
        fuzz_check_error(again, &error);
        HOLDS(status == HD_OK || status == again || again == HD_EINVAL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};

    if (!hdi_digest_is_there()) {
        puts("skipped: a build without libb2 has no binaries");
        exit(77);
    }
    open_runtime();
    struct hd_image *image = make_image(&in);
    while (in.left > 0)
        launch(&in, image);
    hd_image_destroy(image);
    return 0;
}
