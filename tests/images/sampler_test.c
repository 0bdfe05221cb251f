// Images of every format and kind through every sampler, against the reference
// beside this file; and what is refused.
#include <math.h>

#include "tests/images/picture.h"

// Numbers of few bits, so that nothing on the way to a texel is rounded: all
// borders and middles of texels, up to three images away.
static void place_points(const struct hd_image_params *p, uint32_t sampler)
{
    int sizes[MAX_AXES], axes = reference_sizes(p, sizes);
    bool normalised = sampler & HD_COORDINATES_NORMALISED;
    bool inside = (sampler & 14) == HD_ADDRESS_NONE;

    for (int i = 0; i < POINTS; i++) {
        float *at = host_points() + 4 * i;
        for (int a = 0; a < 4; a++) {
            // None: nothing outside may be asked for.
            double most = sizes[a < axes ? a : 0];
            double low = inside ? 0.5 : -2.5 * most;
            double high = inside ? most - 0.5 : 3.5 * most;
            double x = random_between(low, high);
            at[a] = normalised ? (float)(ceil(x / most * 64) / 64)
                               : (float)(ceil(x * 4) / 4);
            if (inside && normalised && at[a] > 1 - 0.5 / most)
                at[a] = 0.5f;
            if (inside && !normalised && at[a] > most - 0.5)
                at[a] = 1;
        }
        if (reference_is_array(p))
            at[axes] = (float)(random_word() % 40) / 8 - 1;
    }
}

static double scale_of(enum hd_channel_type type)
{
    return type == HD_FLOAT || type == HD_HALF_FLOAT ? 2 : 1;
}

// Of numbers up to 1, in float.
static double tolerance_of(uint32_t sampler)
{
    return sampler & HD_FILTER_LINEAR ? 2e-6 : 1.2e-7;
}

static void compare_reads(const struct picture *p, uint32_t sampler,
                          double tolerance, const char *what)
{
    const struct hd_image_params *params = p->reference.params;

    for (int i = 0; i < POINTS; i++) {
        const float *at = host_points() + 4 * i;
        double exact[4] = {at[0], at[1], at[2], at[3]};
        for (int c = 0; c < 4; c++) {
            double right = reference_read(&p->reference, sampler, exact, c);
            double got = value_at(params->type, 4 * i + c);
            double allowed =
                is_whole(params->type) ? 0 : tolerance * scale_of(params->type);
            if (fabs(got - right) <= allowed)
                continue;
            fprintf(stderr,
                    "%s %s, order 0x%x, type 0x%x, sampler 0x%x, at %g %g %g "
                    "%g, channel %d: %.9g, not %.9g\n",
                    what, kind_name(params), params->order, params->type,
                    sampler, exact[0], exact[1], exact[2], exact[3], c, got,
                    right);
            exit(1);
        }
    }
}

static const char *read_name(enum hd_channel_type type, const char *suffix)
{
    static char name[32];

    snprintf(name, sizeof(name), "%s%s",
             reference_is_signed(type)     ? "int"
             : reference_is_unsigned(type) ? "uint"
                                           : "float",
             suffix);
    return name;
}

static void read_through(struct hd_program *program, struct picture *p,
                         uint32_t sampler)
{
    const struct hd_image_params *params = p->reference.params;
    const struct hd_arg args[] = {HD_IMAGE(p->image), HD_SAMPLER(sampler),
                                  HD_BUFFER(points), HD_BUFFER(values)};
    const char *name = read_name(params->type, "");

    place_points(params, sampler);
    CHECK_OK(launch(program, name, kind_name(params), args, 4), error);
    compare_reads(p, sampler, tolerance_of(sampler), name);
}

// Coordinates that are integers, with a sampler and without.
static void read_texels(struct hd_program *program, struct picture *p)
{
    const struct hd_image_params *params = p->reference.params;
    int sizes[MAX_AXES], axes = reference_sizes(params, sizes);
    uint32_t sampler = HD_FILTER_NEAREST | HD_ADDRESS_CLAMP;
    const struct hd_arg args[] = {HD_IMAGE(p->image), HD_SAMPLER(sampler),
                                  HD_BUFFER(points), HD_BUFFER(values)};
    const struct hd_arg plain[] = {args[0], args[2], args[3]};

    for (int i = 0; i < 4 * POINTS; i++)
        host_points()[i] = (float)(random_word() % 12) - 2;
    if (params->kind != HD_IMAGE_1D_BUFFER) {
        const char *name = read_name(params->type, "_at");
        CHECK_OK(launch(program, name, kind_name(params), args, 4), error);
        compare_reads(p, sampler, tolerance_of(sampler), name);
    }
    for (int i = 0; i < POINTS; i++)
        for (int a = 0; a < 4; a++)
            host_points()[4 * i + a] =
                (float)(random_word() % (a < axes ? params->width < 7 || a == 0
                                                        ? 7u
                                                        : (uint32_t)sizes[a]
                                                  : 4u));
    const char *name = read_name(params->type, "_plain");
    CHECK_OK(launch(program, name, kind_name(params), plain, 3), error);
    compare_reads(p, sampler, tolerance_of(sampler), name);
}

static void read_every_way(struct hd_program *program,
                           struct hd_image_params params)
{
    struct picture p = picture_of(params);

    for (uint32_t address = HD_ADDRESS_NONE;
         address <= HD_ADDRESS_MIRRORED_REPEAT &&
         params.kind != HD_IMAGE_1D_BUFFER;
         address += 2)
        for (int mode = 0; mode < 4; mode++) {
            uint32_t sampler =
                address | (mode & 1 ? HD_COORDINATES_NORMALISED : 0) |
                (mode & 2 ? HD_FILTER_LINEAR : HD_FILTER_NEAREST);
            if (address >= HD_ADDRESS_REPEAT && !(mode & 1))
                continue;
            if (is_whole(params.type) && mode & 2)
                continue;
            read_through(program, &p, sampler);
        }
    if (params.order != HD_DEPTH)
        read_texels(program, &p);
    picture_clear(&p);
}

static void every_format_is_read_right(struct hd_program *program)
{
    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++)
        for (int t = HD_SNORM_INT8; t <= HD_UNORM_INT_101010_2; t++)
            for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++) {
                bool plane = kind == HD_IMAGE_2D || kind == HD_IMAGE_2D_ARRAY;
                enum hd_channel_type type = (enum hd_channel_type)t;
                if (hd_texel_size(orders[o], type) == 0 ||
                    (orders[o] == HD_DEPTH && !plane) || !is_tried(o, t, kind))
                    continue;
                read_every_way(program, params_of((enum hd_image_kind)kind,
                                                  orders[o], type));
            }
}

// Rounding to a half is the last thing that happens.
static void halves_are_read_right(struct hd_program *program)
{
    uint32_t sampler = HD_FILTER_LINEAR | HD_ADDRESS_CLAMP;

    for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++) {
        if (kind == HD_IMAGE_1D_BUFFER)
            continue;
        struct picture p = picture_of(
            params_of((enum hd_image_kind)kind, HD_RGBA, HD_UNORM_INT8));
        const struct hd_arg args[] = {HD_IMAGE(p.image), HD_SAMPLER(sampler),
                                      HD_BUFFER(points), HD_BUFFER(values)};
        place_points(p.reference.params, sampler);
        CHECK_OK(launch(program, "half", kind_names[kind], args, 4), error);
        compare_reads(&p, sampler, 0x1p-11, "half");
        picture_clear(&p);
    }
}

static void samplers_in_kernels_are_read_right(void)
{
    static const char samplers[] = {
        HD_FILTER_LINEAR | HD_ADDRESS_CLAMP_TO_EDGE,
        HD_FILTER_LINEAR | HD_ADDRESS_CLAMP,
        HD_FILTER_LINEAR | HD_ADDRESS_REPEAT | HD_COORDINATES_NORMALISED,
        HD_FILTER_NEAREST | HD_ADDRESS_CLAMP | HD_COORDINATES_NORMALISED};

    for (size_t i = 0; i < sizeof(samplers); i++) {
        uint32_t sampler = (uint32_t)samplers[i];
        char options[64];
        snprintf(options, sizeof(options), "-D CONSTANT -D SAMPLER=0x%x",
                 sampler);
        struct hd_program *program = build(options);
        for (int type = HD_UNORM_INT8; type <= HD_FLOAT; type += 12) {
            struct picture p = picture_of(
                params_of(HD_IMAGE_2D, HD_RGBA, (enum hd_channel_type)type));
            const struct hd_arg args[] = {HD_IMAGE(p.image), HD_BUFFER(points),
                                          HD_BUFFER(values)};
            place_points(p.reference.params, sampler);
            CHECK_OK(launch(program, "constant", "2d", args, 3), error);
            compare_reads(&p, sampler, tolerance_of(sampler), "constant");
            picture_clear(&p);
        }
        hd_program_destroy(program);
    }
}

// Around the image lie numbers that are larger than any texel.
static void no_coordinate_leads_outside(struct hd_program *program)
{
    static const float far[] = {
        NAN,   -NAN,          INFINITY,       -INFINITY, 1e30f,  -1e30f, 3e9f,
        -3e9f, 2147483647.0f, -2147483648.0f, -0.0f,     1e-40f, -1e-40f};
    const int count = sizeof(far) / sizeof(far[0]);

    for (int kind = HD_IMAGE_1D; kind <= HD_IMAGE_3D; kind++)
        for (uint32_t sampler = 0; sampler < 10 * 4; sampler++) {
            uint32_t bits = sampler % 10 | (sampler / 10 & 1 ? 0x10 : 0x20);
            if (kind == HD_IMAGE_1D_BUFFER)
                break;
            struct picture p =
                picture_of(params_of((enum hd_image_kind)kind, HD_RGBA,
                                     sampler / 20 ? HD_UNORM_INT16 : HD_FLOAT));
            const struct hd_arg args[] = {HD_IMAGE(p.image), HD_SAMPLER(bits),
                                          HD_BUFFER(points), HD_BUFFER(values)};
            for (int i = 0; i < 4 * POINTS; i++)
                host_points()[i] = random_word() % 4
                                       ? far[random_word() % (unsigned)count]
                                       : 0.25f;
            hd_status status =
                launch(program, "float", kind_names[kind], args, 4);
            if (status == HD_OK)
                for (int i = 0; i < 4 * POINTS; i++)
                    CHECK(!(fabsf(((float *)hd_buffer_host(values))[i]) > 3));
            else
                CHECK(!(bits & 1) && (bits & 14) >= HD_ADDRESS_REPEAT);
            picture_clear(&p);
        }
}

// Refusing --------------------------------------------------------------------

static void bad_images_are_refused(void)
{
    const struct hd_image_params good = {.kind = HD_IMAGE_2D,
                                         .order = HD_RGBA,
                                         .type = HD_FLOAT,
                                         .width = 8,
                                         .height = 8};
    struct hd_image_params bad;
    struct hd_image *image;

#define REFUSED(status, text, ...)                                             \
    bad = good;                                                                \
    __VA_ARGS__;                                                               \
    CHECK_FAILS(hd_image_create(runtime, &bad, &image, &error), status, error, \
                text)
    REFUSED(HD_EINVAL, "order 0x5", bad.order = (enum hd_channel_order)5);
    REFUSED(HD_EINVAL, "no image format", bad.order = HD_BGRA);
    REFUSED(HD_EINVAL, "unknown kind", bad.kind = (enum hd_image_kind)9);
    REFUSED(HD_EINVAL, "width 0", bad.width = 0);
    REFUSED(HD_EINVAL, "layers 0", bad.kind = HD_IMAGE_2D_ARRAY);
    REFUSED(HD_ELIMIT, "65536 at most", bad.height = 65537);
    REFUSED(HD_EINVAL, "row_pitch 100", bad.row_pitch = 100);
    REFUSED(HD_EINVAL, "row_pitch 130", bad.row_pitch = 130);
    REFUSED(HD_EINVAL, "slice_pitch 16", bad.kind = HD_IMAGE_3D, bad.depth = 2,
            bad.slice_pitch = 16);
    REFUSED(HD_ELIMIT, "2^63", bad.row_pitch = UINT64_MAX / 16 * 16);
    REFUSED(HD_EINVAL, "bytes at offset 0", bad.width = 80, bad.buffer = points,
            bad.row_pitch = 80 * 16);
    REFUSED(HD_EINVAL, "multiple of 16", bad.buffer = points, bad.offset = 8);
    REFUSED(HD_EINVAL, "depth is 2D", bad.order = HD_DEPTH,
            bad.kind = HD_IMAGE_3D, bad.depth = 1);
#undef REFUSED
}

static void bad_arguments_are_refused(struct hd_program *program)
{
    struct picture flat = picture_of(params_of(HD_IMAGE_2D, HD_R, HD_FLOAT));
    struct picture solid = picture_of(params_of(HD_IMAGE_3D, HD_R, HD_FLOAT));
    struct hd_arg args[] = {HD_IMAGE(solid.image), HD_SAMPLER(0x10),
                            HD_BUFFER(points), HD_BUFFER(values)};

    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "argument 'i' of type read_only image2d_t is given an image "
                "for image3d_t");
    args[0] = (struct hd_arg)HD_IMAGE(NULL);
    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "needs an image");
    args[0] = (struct hd_arg)HD_BUFFER(points);
    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "takes an image, not a buffer");
    args[0] = (struct hd_arg)HD_IMAGE(flat.image);
    args[1] = (struct hd_arg)HD_SAMPLER(HD_ADDRESS_REPEAT | HD_FILTER_LINEAR);
    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "normalised");
    args[1] = (struct hd_arg)HD_SAMPLER(0x30);
    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "'s' is given 0x30, which is no sampler");
    args[1] = (struct hd_arg)HD_BUFFER(points);
    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "takes a sampler, not a buffer");
    args[1] = (struct hd_arg)HD_SAMPLER(0x10);
    args[2] = (struct hd_arg)HD_IMAGE(flat.image);
    CHECK_FAILS(launch(program, "float", "2d", args, 4), HD_EINVAL, error,
                "takes a buffer, not an image");
    picture_clear(&solid);
    picture_clear(&flat);
}

static void images_have_memory_of_their_own(void)
{
    const struct hd_image_params params = {.kind = HD_IMAGE_2D_ARRAY,
                                           .order = HD_RG,
                                           .type = HD_HALF_FLOAT,
                                           .width = 3,
                                           .height = 5,
                                           .layers = 2};
    struct hd_image *image;

    CHECK_OK(hd_image_create(runtime, &params, &image, &error), error);
    const struct hd_image_params *made = hd_image_params(image);
    CHECK(made->row_pitch == 12 && made->slice_pitch == 60);
    CHECK(made->depth == 1 && hd_buffer_size(made->buffer) == 120);
    hd_image_destroy(image);
    hd_image_destroy(NULL);
}

int main(int count, char **words)
{
    start(count, words);
    bad_images_are_refused();
    images_have_memory_of_their_own();

    struct hd_program *reading = build("-D READING");
    every_format_is_read_right(reading);
    halves_are_read_right(reading);
    no_coordinate_leads_outside(reading);
    bad_arguments_are_refused(reading);
    hd_program_destroy(reading);
    samplers_in_kernels_are_read_right();
    stop();
    return 0;
}
