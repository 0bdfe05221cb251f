// What tests of images share: a runtime, the kernels of images.cl, two buffers
// (coordinates, and what is read or written there) and pictures.
#ifndef HDI_TESTS_IMAGES_PICTURE_H
#define HDI_TESTS_IMAGES_PICTURE_H

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/images/reference.h"

enum {
    POINTS = 256,       // coordinates of one launch
    GAP = 4096,         // before and behind an image in its buffer [bytes]
    MAX_BYTES = 1 << 16 // of an image
};

static struct hd_error error;
static struct hd_runtime *runtime;
static const char *path; // of images.cl
static bool on_gpu;      // while buffers stay the CPU's
// A format has two kinds, in turn: a GPU that is none takes its time, and how a
// kernel's work-items follow each other does not matter to a format.
static bool in_turn;
static struct hd_buffer *points, *values;

static const enum hd_channel_order orders[] = {
    HD_R,         HD_A,         HD_RG,    HD_RA,    HD_RGBA,
    HD_BGRA,      HD_ARGB,      HD_RGB,   HD_RGBX,  HD_ABGR,
    HD_INTENSITY, HD_LUMINANCE, HD_DEPTH, HD_SRGBA, HD_SBGRA};
static const char *const kind_names[] = {"1d", "1d_buffer", "1d_array",
                                         "2d", "2d_array",  "3d"};

static inline uint32_t random_word(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static inline double random_between(double low, double high)
{
    return low + (high - low) * random_word() / 0x1p32;
}

// Programs --------------------------------------------------------------------

static inline struct hd_program *build(const char *options)
{
    const struct hd_program_params params = {.path = path, .options = options};
    struct hd_program *program;
    hd_status status = hd_program_create(runtime, &params, &program, &error);

    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    return program;
}

// What the host has is old after a launch elsewhere.
static inline void bring_home(const struct hd_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (args[i].is == HD_IS_BUFFER)
            CHECK(
                hd_buffer_host((struct hd_buffer *)(uintptr_t)args[i].buffer));
        if (args[i].is == HD_IS_IMAGE)
            CHECK(hd_buffer_host(hd_image_params(args[i].image)->buffer));
    }
}

static inline hd_status launch(struct hd_program *program, const char *what,
                               const char *kind, const struct hd_arg *args,
                               unsigned count)
{
    char name[64];
    const struct hd_range range = {.dims = 1, .global = {POINTS}};

    snprintf(name, sizeof(name), "%s_%s", what, kind);
    const struct hd_kernel *kernel = hd_program_find(program, name);
    CHECK(kernel);
    const struct hd_launch_params how = {.devices = on_gpu ? 2 : 1};
    hd_status status =
        hd_launch_with(runtime, &how, kernel, &range, args, count, &error);
    if (status == HD_OK)
        bring_home(args, count);
    return status;
}

// Images ----------------------------------------------------------------------

struct picture {
    struct hd_buffer *buffer;
    struct hd_image *image;
    struct reference reference;
};

// Random texels, none of them infinite, in a buffer full of 0x7b.
static inline struct picture picture_of(struct hd_image_params params)
{
    struct picture p;
    uint32_t size = hd_texel_size(params.order, params.type);

    CHECK_OK(hd_buffer_create(runtime, 2 * GAP + MAX_BYTES, &p.buffer, &error),
             error);
    memset(hd_buffer_host(p.buffer), 0x7b, 2 * GAP + MAX_BYTES);
    params.buffer = p.buffer;
    params.offset = GAP;
    CHECK_OK(hd_image_create(runtime, &params, &p.image, &error), error);

    const struct hd_image_params *made = hd_image_params(p.image);
    unsigned char *texels = (unsigned char *)hd_buffer_host(p.buffer) + GAP;
    p.reference = (struct reference){made, texels};
    for (uint64_t z = 0; z < (uint64_t)made->depth * made->layers; z++)
        for (uint64_t y = 0; y < made->height; y++) {
            unsigned char *row =
                texels + z * made->slice_pitch + y * made->row_pitch;
            for (uint64_t b = 0; b < (uint64_t)made->width * size; b++)
                row[b] = (unsigned char)random_word();
            for (uint64_t b = 1; b < (uint64_t)made->width * size; b += 2)
                if (params.type == HD_HALF_FLOAT ||
                    (params.type == HD_FLOAT && b % 4 == 3))
                    row[b] = (unsigned char)(0x3c | (row[b] & 0x83));
        }
    return p;
}

static inline void picture_clear(struct picture *p)
{
    hd_image_destroy(p->image);
    hd_buffer_destroy(p->buffer);
}

static inline struct hd_image_params params_of(enum hd_image_kind kind,
                                               enum hd_channel_order order,
                                               enum hd_channel_type type)
{
    struct hd_image_params params = {.kind = kind,
                                     .order = order,
                                     .type = type,
                                     .width = 7,
                                     .height = 5,
                                     .depth = 3,
                                     .layers = 4};
    uint64_t texel = hd_texel_size(order, type);

    params.row_pitch = (7 + 2) * texel;
    params.slice_pitch = kind == HD_IMAGE_1D_ARRAY ? 0 : (7 + 2) * 6 * texel;
    return params;
}

static inline const char *kind_name(const struct hd_image_params *p)
{
    if (p->order == HD_DEPTH)
        return p->kind == HD_IMAGE_2D ? "2d_depth" : "2d_array_depth";
    return kind_names[p->kind];
}

// One number of `values`, as kernels read or wrote it.
static inline double value_at(enum hd_channel_type type, int index)
{
    const void *host = hd_buffer_host(values);

    if (reference_is_signed(type))
        return ((const int32_t *)host)[index];
    if (reference_is_unsigned(type))
        return ((const uint32_t *)host)[index];
    return (double)((const float *)host)[index];
}

static inline float *host_points(void)
{
    return hd_buffer_host(points);
}

static inline bool is_tried(size_t order, int type, int kind)
{
    return !in_turn || orders[order] == HD_DEPTH ||
           ((int)order + type + kind) % 3 == 0;
}

static inline bool is_whole(enum hd_channel_type type)
{
    return reference_is_signed(type) || reference_is_unsigned(type);
}

// `words[1]` is the path of images.cl, `words[2]` an option of all programs,
// `words[3]` may be "gpu": kernels run there.
static inline void start(int count, char **words)
{
    on_gpu = count > 3 && strcmp(words[3], "gpu") == 0;
    in_turn = on_gpu || (count > 2 && strstr(words[2], "thread"));
    const struct hd_runtime_params params = {.device = on_gpu ? "all" : NULL,
                                             .build_options =
                                                 count > 2 ? words[2] : NULL};

    CHECK(count >= 2);
    path = words[1];
    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    CHECK_OK(hd_buffer_create(runtime, POINTS * 16, &points, &error), error);
    CHECK_OK(hd_buffer_create(runtime, POINTS * 16, &values, &error), error);
}

static inline void stop(void)
{
    hd_buffer_destroy(values);
    hd_buffer_destroy(points);
    hd_runtime_destroy(runtime);
}

#endif
