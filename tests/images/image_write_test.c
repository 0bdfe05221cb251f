// Images of every format and kind are written, and kernels are told what they
// are.
#include <math.h>

#include "tests/images/picture.h"

static double random_value(enum hd_channel_type type)
{
    switch (type) {
    case HD_SIGNED_INT8:
    case HD_SIGNED_INT16:
    case HD_SIGNED_INT32:
        return (int32_t)random_word() >> random_word() % 30;
    case HD_UNSIGNED_INT8:
    case HD_UNSIGNED_INT16:
    case HD_UNSIGNED_INT32:
        return random_word() >> random_word() % 30;
    case HD_HALF_FLOAT:
        return (double)(float)ldexp(random_between(-2, 2),
                                    (int)(random_word() % 45) - 27);
    default:
        return (double)(float)random_between(-1.5, 1.5);
    }
}

// A rounding that a float may decide the other way.
static bool is_close(enum hd_channel_type type, double x)
{
    double most = type == HD_SNORM_INT8    ? 127
                  : type == HD_SNORM_INT16 ? 32767
                  : type == HD_UNORM_INT8  ? 255
                  : type == HD_UNORM_INT16 ? 65535
                                           : 0;
    return most > 0 && fabs(fabs(x * most - rint(x * most)) - 0.5) < 0.01;
}

// Every texel once, then places outside, which nothing happens to.
static void place_writes(const struct hd_image_params *p)
{
    int sizes[MAX_AXES], axes = reference_sizes(p, sizes);

    for (int i = 0; i < POINTS; i++) {
        float *at = host_points() + 4 * i;
        int n = i;
        for (int a = 0; a < 4; a++) {
            int size = a < axes && a < MAX_AXES ? sizes[a]
                       : a == axes              ? (int)p->layers
                                                : 1;
            at[a] = (float)(n % size);
            n /= size;
        }
        if (n > 0)
            at[random_word() % (unsigned)axes] = i % 2 ? -1 : 9;
    }
}

static void compare_packed(const struct picture *p, const unsigned char *texel,
                           int point)
{
    const struct hd_image_params *params = p->reference.params;
    uint32_t most;

    for (int c = 0; c < 4; c++) {
        double x = value_at(params->type, 4 * point + c);
        if (reference_place(params->order, c) < 0)
            continue;
        double got = reference_unpack(params->type, texel, c, &most);
        double right = fmin(fmax(x, 0), 1) * most;
        if (fabs(got - right) <= 0.5 + 1e-4)
            continue;
        fprintf(stderr,
                "write order 0x%x, type 0x%x, texel %d, channel %d: %.9g is "
                "stored as %g\n",
                params->order, params->type, point, c, x, got);
        exit(1);
    }
    if (params->type == HD_UNORM_SHORT_555)
        CHECK(texel[1] >> 7 == 0);
    if (params->type == HD_UNORM_INT_101010)
        CHECK(texel[3] >> 6 == 0);
}

static void compare_writes(const struct picture *p)
{
    const struct hd_image_params *params = p->reference.params;
    uint32_t size = hd_texel_size(params->order, params->type);
    int sizes[MAX_AXES], axes = reference_sizes(params, sizes);

    for (int i = 0;
         i < (int)params->layers * sizes[0] * (axes > 1 ? sizes[1] : 1) *
                 (axes > 2 ? sizes[2] : 1);
         i++) {
        const float *at = host_points() + 4 * i;
        const unsigned char *texel =
            p->reference.texels + (uint64_t)at[0] * size +
            (axes > 1 ? (uint64_t)at[1] * params->row_pitch : 0) +
            (axes > 2 ? (uint64_t)at[2] * params->slice_pitch : 0) +
            (reference_is_array(params) ? (uint64_t)at[axes] : 0) *
                params->slice_pitch;
        if (reference_is_packed(params->type)) {
            compare_packed(p, texel, i);
            continue;
        }
        for (int c = 0; c < 4; c++) {
            int place = reference_place(params->order, c);
            double x = value_at(params->type, 4 * i + c);
            unsigned char right[4];
            if (place < 0 || is_close(params->type, x) ||
                (c > 0 && (params->order == HD_INTENSITY ||
                           params->order == HD_LUMINANCE)))
                continue;
            size_t bytes = (size_t)reference_encode(params->type, x, right);
            if (memcmp(texel + (size_t)place * bytes, right, bytes) == 0)
                continue;
            fprintf(stderr,
                    "write %s, order 0x%x, type 0x%x, texel %d, channel %d: "
                    "%.9g is stored as %02x %02x\n",
                    kind_name(params), params->order, params->type, i, c, x,
                    texel[(size_t)place * bytes],
                    texel[(size_t)place * bytes + (bytes > 1)]);
            exit(1);
        }
    }
}

// What is not a texel is still as picture_of() left it.
static void check_gaps(const struct picture *p)
{
    const struct hd_image_params *params = p->reference.params;
    uint32_t size = hd_texel_size(params->order, params->type);
    const unsigned char *bytes = hd_buffer_host(p->buffer);

    for (uint64_t i = 0; i < 2 * GAP + MAX_BYTES; i++) {
        uint64_t at = i - GAP,
                 slices = (uint64_t)params->depth * params->layers;
        bool texel =
            i >= GAP && at / params->slice_pitch < slices &&
            at % params->slice_pitch / params->row_pitch < params->height &&
            at % params->slice_pitch % params->row_pitch <
                (uint64_t)params->width * size;
        CHECK(texel || bytes[i] == 0x7b);
    }
}

static const char *write_name(enum hd_channel_type type)
{
    return reference_is_signed(type)     ? "write_int"
           : reference_is_unsigned(type) ? "write_uint"
                                         : "write_float";
}

static void write_once(struct hd_program *program,
                       struct hd_image_params params, const char *name)
{
    struct picture p = picture_of(params);
    const struct hd_arg args[] = {HD_IMAGE(p.image), HD_BUFFER(points),
                                  HD_BUFFER(values)};

    place_writes(p.reference.params);
    for (int i = 0; i < 4 * POINTS; i++) {
        void *host = hd_buffer_host(values);
        double x = random_value(params.type);
        if (reference_is_signed(params.type))
            ((int32_t *)host)[i] = (int32_t)x;
        else if (reference_is_unsigned(params.type))
            ((uint32_t *)host)[i] = (uint32_t)x;
        else
            ((float *)host)[i] = (float)x;
    }
    CHECK_OK(launch(program, name, kind_name(p.reference.params), args, 3),
             error);
    compare_writes(&p);
    check_gaps(&p);
    picture_clear(&p);
}

static void every_format_is_written_right(struct hd_program *program)
{
    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++)
        for (int t = HD_SNORM_INT8; t <= HD_UNORM_INT_101010_2; t++)
            for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++) {
                enum hd_channel_type type = (enum hd_channel_type)t;
                if (hd_texel_size(orders[o], type) == 0 ||
                    !is_tried(o, t, kind) ||
                    (orders[o] == HD_DEPTH && kind != HD_IMAGE_2D) ||
                    orders[o] == HD_SRGBA || orders[o] == HD_SBGRA)
                    continue;
                write_once(program,
                           params_of((enum hd_image_kind)kind, orders[o], type),
                           write_name(type));
            }
}

static void halves_are_written_right(struct hd_program *program)
{
    for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++)
        write_once(program,
                   params_of((enum hd_image_kind)kind, HD_RGBA, HD_HALF_FLOAT),
                   "write_half");
}

static void images_are_read_and_written_at_once(struct hd_program *program)
{
    for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++) {
        struct picture p = picture_of(
            params_of((enum hd_image_kind)kind, HD_RG, HD_UNORM_INT16));
        const struct hd_arg args[] = {HD_IMAGE(p.image), HD_BUFFER(points)};
        uint16_t before[MAX_BYTES / 2], *after;

        memcpy(before, p.reference.texels, sizeof(before));
        place_writes(p.reference.params);
        CHECK_OK(launch(program, "both", kind_names[kind], args, 2), error);
        after = (uint16_t *)(void *)((char *)hd_buffer_host(p.buffer) + GAP);
        for (int x = 0; x < 7; x++)
            CHECK(before[2 * x] == after[2 * x + 1] &&
                  before[2 * x + 1] == after[2 * x]);
        check_gaps(&p);
        picture_clear(&p);
    }
}

// Three pictures of the same sizes: the third becomes the sum of the others.
static void add_pictures(struct hd_program *program, struct picture *a,
                         struct picture *b, struct picture *c)
{
    const struct hd_arg args[] = {HD_IMAGE(a->image), HD_IMAGE(b->image),
                                  HD_IMAGE(c->image), HD_BUFFER(points)};
    const struct hd_image_params *made = c->reference.params;
    double most = made->type == HD_UNORM_INT8 ? 1 : 8;

    place_writes(made);
    CHECK_OK(launch(program, "sum", "2d", args, 4), error);
    for (int y = 0; y < (int)made->height; y++)
        for (int x = 0; x < (int)made->width; x++)
            for (int channel = 0; channel < 4; channel++) {
                int at[MAX_AXES] = {x, y, 0};
                double right = reference_texel(&a->reference, at, 0, channel) +
                               reference_texel(&b->reference, at, 0, channel);
                double got = reference_texel(&c->reference, at, 0, channel);
                right = right > most ? most : right;
                right = right < 0 && most < 2 ? 0 : right;
                CHECK(reference_place(made->order, channel) < 0 ||
                      fabs(got - right) <= 0.0021);
            }
}

static void images_of_all_layouts_meet(struct hd_program *program)
{
    static const struct {
        enum hd_channel_order order;
        enum hd_channel_type type;
    } formats[] = {{HD_RGBA, HD_UNORM_INT8},
                   {HD_R, HD_UNORM_INT8},
                   {HD_R, HD_FLOAT},
                   {HD_RGBA, HD_FLOAT},
                   {HD_RG, HD_HALF_FLOAT}};
    const int count = sizeof(formats) / sizeof(formats[0]);

    for (int i = 0; i < count * count * count; i++) {
        struct picture p[3];
        for (int k = 0, n = i; k < 3; k++, n /= count)
            p[k] = picture_of(params_of(HD_IMAGE_2D, formats[n % count].order,
                                        formats[n % count].type));
        add_pictures(program, &p[0], &p[1], &p[2]);
        for (int k = 0; k < 3; k++)
            picture_clear(&p[k]);
    }
}

static void kernels_know_what_images_are(void)
{
    struct hd_program *program = build("-D ASKING -cl-std=CL3.0");

    for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++) {
        struct picture p = picture_of(
            params_of((enum hd_image_kind)kind, HD_RG, HD_SNORM_INT16));
        const struct hd_image_params *made = p.reference.params;
        const struct hd_arg args[] = {HD_IMAGE(p.image), HD_IMAGE(p.image),
                                      HD_IMAGE(p.image), HD_BUFFER(values)};
        const int *out = hd_buffer_host(values);
        CHECK_OK(launch(program, "ask", kind_names[kind], args, 4), error);
        CHECK(out[0] == 7 && out[1] == HD_SNORM_INT16 && out[2] == HD_RG);
        CHECK(out[3] == (int)made->height && out[4] == (int)made->depth);
        CHECK(out[5] == (int)made->layers);
        int dim = kind == HD_IMAGE_3D         ? 3007
                  : kind == HD_IMAGE_2D       ? 5007
                  : kind == HD_IMAGE_2D_ARRAY ? 5007
                                              : 0;
        CHECK(out[6] == dim);
        picture_clear(&p);
    }
    hd_program_destroy(program);
}

static void srgb_is_not_written(struct hd_program *program)
{
    struct picture p =
        picture_of(params_of(HD_IMAGE_2D, HD_SRGBA, HD_UNORM_INT8));
    const struct hd_arg args[] = {HD_IMAGE(p.image), HD_BUFFER(points),
                                  HD_BUFFER(values)};

    CHECK_FAILS(launch(program, "write_float", "2d", args, 3), HD_EINVAL, error,
                "sRGB");
    picture_clear(&p);
}

int main(int count, char **words)
{
    start(count, words);
    struct hd_program *writing = build("-D WRITING -cl-std=CL3.0");
    every_format_is_written_right(writing);
    halves_are_written_right(writing);
    images_are_read_and_written_at_once(writing);
    images_of_all_layouts_meet(writing);
    srgb_is_not_written(writing);
    hd_program_destroy(writing);
    kernels_know_what_images_are();
    stop();
    return 0;
}
