// Binaries: a first byte that is odd says that the rest stands behind a head
// and a digest that are right, so that all of it is read. What is read is
// written again and must not change; it is then loaded, alone and as parts of a
// program, and launched on the device that runs nothing. Libraries become
// libraries again: what reads their bitcode is LLVM. SPIR-V modules are
// binaries too.
#include "kernel/binary/container.h"

#include <inttypes.h>

#include "backend/frame.h"
#include "heddle/image.h"
#include "heddle/runtime.h"
#include "tests/fuzz/fuzz.h"

enum {
    MAX_ARGS = 64
};

static struct hd_runtime *runtime;
static struct hd_buffer *buffer;
static struct hd_image *image;

static void open_runtime(void)
{
    const struct hd_runtime_params params = {
        .device = "null", .workers = 1, .caller_only = true, .no_cache = true};
    const struct hd_image_params picture = {.kind = HD_IMAGE_2D,
                                            .order = HD_RGBA,
                                            .type = HD_FLOAT,
                                            .width = 4,
                                            .height = 4};
    struct hd_error error;

    if (runtime)
        return;
    // SPIR-V is looked over; what reads its instructions is another program.
    setenv("HEDDLE_LLVM_SPIRV", "/no/translator", 1);
    HOLDS(hd_runtime_create(&params, &runtime, &error) == HD_OK);
    HOLDS(hd_buffer_create(runtime, 256, &buffer, &error) == HD_OK);
    HOLDS(hd_image_create(runtime, &picture, &image, &error) == HD_OK);
}

static void put(struct hdi_text *text, uint64_t n, int size)
{
    for (int i = 0; i < size; i++)
        hdi_text_append(text, &(char){(char)(n >> 8 * i)}, 1);
}

static struct hdi_text sealed(const uint8_t *body, size_t size)
{
    struct hdi_text text = {0};
    uint8_t digest[HDI_DIGEST_SIZE];

    hdi_text_append(&text, "HEDDLE\r\n", 8);
    put(&text, HDI_CONTAINER_VERSION, 4);
    put(&text, HDI_FRAME_VERSION, 4);
    put(&text, size, 8);
    hdi_digest(NULL, (struct hdi_bytes[]){{text.data, text.size}, {body, size}},
               2, digest);
    hdi_text_append(&text, digest, sizeof(digest));
    hdi_text_append(&text, body, size);
    HOLDS(!text.failed);
    return text;
}

// Reading gives the same as what was written of it. True: it is a library.
static bool write_again(const struct hdi_text *first)
{
    bool library = false;

    struct hdi_text texts[2] = {{0}, {0}};
    struct hdi_build *builds = NULL;
    uint32_t count;
    struct hd_error error = {0};
    uint8_t(*digests)[HDI_DIGEST_SIZE] = NULL;

    for (int i = 0; i < 2; i++) {
        const struct hdi_text *from = i == 0 ? first : &texts[0];
        hd_status status =
            hdi_container_read_all(from->data, from->size, NULL, "input",
                                   &builds, &count, &digests, &error);
        fuzz_check_error(status, &error);
        if (status != HD_OK) {
            HOLDS(i == 0);
            break;
        }
        HOLDS(hdi_container_write(builds, count,
                                  (const uint8_t(*)[HDI_DIGEST_SIZE])digests,
                                  NULL, &texts[i]));
        free(digests);
        library = builds->bitcode != NULL;
        for (uint32_t b = 0; b < count; b++)
            hdi_build_clear(&builds[b]);
        free(builds);
    }
    HOLDS(texts[0].size == texts[1].size);
    HOLDS(texts[0].size == 0 ||
          memcmp(texts[0].data, texts[1].data, texts[0].size) == 0);
    hdi_text_free(&texts[0]);
    hdi_text_free(&texts[1]);
    return library;
}

static void launch(const struct hd_kernel *kernel)
{
    static const char zeros[1 << 16];
    const struct hd_kernel_info *info = hd_kernel_info(kernel);
    const struct hd_range range = {.dims = 1, .global = {4}};
    struct hd_arg args[MAX_ARGS];
    struct hd_error error = {0};

    if (info->arg_count > MAX_ARGS)
        return;
    for (unsigned i = 0; i < info->arg_count; i++) {
        const struct hd_kernel_arg *arg = hd_kernel_arg(kernel, i);
        if (arg->kind == HD_ARG_VALUE)
            args[i] = (struct hd_arg){
                .is = HD_IS_VALUE, .value = zeros, .size = arg->size};
        else if (arg->kind == HD_ARG_LOCAL)
            args[i] = (struct hd_arg)HD_LOCAL(8);
        else if (arg->kind == HD_ARG_IMAGE)
            args[i] = (struct hd_arg)HD_IMAGE(image);
        else if (arg->kind == HD_ARG_SAMPLER)
            args[i] = (struct hd_arg)HD_SAMPLER(HD_FILTER_NEAREST);
        else
            args[i] = (struct hd_arg)HD_BUFFER(buffer);
        if (arg->kind == HD_ARG_VALUE && arg->size > sizeof(zeros))
            return;
    }
    fuzz_check_error(
        hd_launch(runtime, kernel, &range, args, info->arg_count, &error),
        &error);
}

// As `count` parts of one program.
static void load(const struct hdi_text *text, unsigned count, bool library)
{
    const struct hd_program_part part = {.binary = text->data,
                                         .binary_size = text->size};
    const struct hd_program_params params = {
        .parts = (struct hd_program_part[]){part, part},
        .part_count = count,
        .library = library};
    struct hd_program *program;
    struct hd_error error = {0};
    hd_status status = hd_program_create(runtime, &params, &program, &error);

    fuzz_check_error(status, &error);
    if (status != HD_OK)
        return;
    for (unsigned i = 0; i < hd_program_kernel_count(program); i++)
        launch(hd_program_kernel(program, i));
    hd_program_destroy(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hdi_text text = {0};

    if (!hdi_digest_is_there()) {
        puts("skipped: a build without libb2 has no binaries");
        exit(77);
    }
    if (size == 0)
        return 0;
    open_runtime();
    if (*data & 1)
        text = sealed(data + 1, size - 1);
    else
        hdi_text_append(&text, data + 1, size - 1);
    bool library = write_again(&text);
    load(&text, 1, library);
    if (!library)
        load(&text, 2, false);
    hdi_text_free(&text);
    return 0;
}
