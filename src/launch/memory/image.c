// Images: descriptions of a buffer's memory.
#include "launch/memory/image.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/memory/buffer.h"

// Formats ---------------------------------------------------------------------

enum {
    Z = HDI_CHANNEL_ZERO,
    ONE = HDI_CHANNEL_ONE,
    INSIDE = HDI_CHANNEL_INSIDE
};

// One line for each channel order of OpenCL. `place` is by channel that is
// read, `source` by component that is stored.
static const struct order {
    enum hd_channel_order order;
    int components;
    unsigned char place[4];  // as hdi_image.place
    unsigned char source[4]; // as hdi_image.source
} orders[] = {
    {HD_R, 1, {0, Z, Z, ONE}, {0}},
    {HD_A, 1, {Z, Z, Z, 0}, {3}},
    {HD_RG, 2, {0, 1, Z, ONE}, {0, 1}},
    {HD_RA, 2, {0, Z, Z, 1}, {0, 3}},
    {HD_RGB, 3, {0, 1, 2, ONE}, {0, 1, 2}},
    {HD_RGBX, 3, {0, 1, 2, INSIDE}, {0, 1, 2}},
    {HD_RGBA, 4, {0, 1, 2, 3}, {0, 1, 2, 3}},
    {HD_BGRA, 4, {2, 1, 0, 3}, {2, 1, 0, 3}},
    {HD_ARGB, 4, {1, 2, 3, 0}, {3, 0, 1, 2}},
    {HD_ABGR, 4, {3, 2, 1, 0}, {3, 2, 1, 0}},
    {HD_INTENSITY, 1, {0, 0, 0, 0}, {0}},
    {HD_LUMINANCE, 1, {0, 0, 0, ONE}, {0}},
    {HD_DEPTH, 1, {0, Z, Z, ONE}, {0}},
    {HD_SRGBA, 4, {0, 1, 2, 3}, {0, 1, 2, 3}},
    {HD_SBGRA, 4, {2, 1, 0, 3}, {2, 1, 0, 3}},
};

// One line for each channel type.
static const struct type {
    enum hd_channel_type type;
    int size; // of a component, or of a whole packed texel [bytes]
    enum hdi_image_number number;
    float most;                      // that stands for 1, normalised; else 0
    unsigned char shift[4], bits[4]; // as those of hdi_image
} types[] = {
    {HD_SNORM_INT8, 1, HDI_NUMBER_SIGNED, 127, {0}, {0}},
    {HD_SNORM_INT16, 2, HDI_NUMBER_SIGNED, 32767, {0}, {0}},
    {HD_UNORM_INT8, 1, HDI_NUMBER_UNSIGNED, 255, {0}, {0}},
    {HD_UNORM_INT16, 2, HDI_NUMBER_UNSIGNED, 65535, {0}, {0}},
    {HD_UNORM_SHORT_565, 2, HDI_NUMBER_PACKED, 0, {11, 5, 0}, {5, 6, 5}},
    {HD_UNORM_SHORT_555, 2, HDI_NUMBER_PACKED, 0, {10, 5, 0}, {5, 5, 5}},
    {HD_UNORM_INT_101010, 4, HDI_NUMBER_PACKED, 0, {20, 10, 0}, {10, 10, 10}},
    {HD_UNORM_INT_101010_2,
     4,
     HDI_NUMBER_PACKED,
     0,
     {22, 12, 2, 0},
     {10, 10, 10, 2}},
    {HD_SIGNED_INT8, 1, HDI_NUMBER_SIGNED, 0, {0}, {0}},
    {HD_SIGNED_INT16, 2, HDI_NUMBER_SIGNED, 0, {0}, {0}},
    {HD_SIGNED_INT32, 4, HDI_NUMBER_SIGNED, 0, {0}, {0}},
    {HD_UNSIGNED_INT8, 1, HDI_NUMBER_UNSIGNED, 0, {0}, {0}},
    {HD_UNSIGNED_INT16, 2, HDI_NUMBER_UNSIGNED, 0, {0}, {0}},
    {HD_UNSIGNED_INT32, 4, HDI_NUMBER_UNSIGNED, 0, {0}, {0}},
    {HD_HALF_FLOAT, 2, HDI_NUMBER_HALF, 0, {0}, {0}},
    {HD_FLOAT, 4, HDI_NUMBER_FLOAT, 0, {0}, {0}},
};

static const struct order *find_order(enum hd_channel_order order)
{
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        if (orders[i].order == order)
            return &orders[i];
    return NULL;
}

static const struct type *find_type(enum hd_channel_type type)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

static bool is_srgb(enum hd_channel_order order)
{
    return order == HD_SRGBA || order == HD_SBGRA;
}

// OpenCL's table of what goes with what.
static bool goes_with(enum hd_channel_order order, const struct type *type)
{
    if (type->number == HDI_NUMBER_PACKED)
        return type->bits[3] > 0 ? order == HD_RGBA
                                 : order == HD_RGB || order == HD_RGBX;
    switch (order) {
    case HD_RGB:
    case HD_RGBX:
        return false;
    case HD_BGRA:
    case HD_ARGB:
    case HD_ABGR:
        return type->size == 1;
    case HD_INTENSITY:
    case HD_LUMINANCE:
        return type->most > 0 || type->type == HD_HALF_FLOAT ||
               type->type == HD_FLOAT;
    case HD_DEPTH:
        return type->type == HD_UNORM_INT16 || type->type == HD_FLOAT;
    case HD_SRGBA:
    case HD_SBGRA:
        return type->type == HD_UNORM_INT8;
    default:
        return true;
    }
}

// Components as they lie in memory.
static int stored(const struct order *order, const struct type *type)
{
    return type->number == HDI_NUMBER_PACKED ? 1 : order->components;
}

uint32_t hd_texel_size(enum hd_channel_order order, enum hd_channel_type type)
{
    const struct order *o = find_order(order);
    const struct type *t = find_type(type);

    return o && t && goes_with(order, t) ? (uint32_t)(stored(o, t) * t->size)
                                         : 0;
}

// The value of every byte of sRGB.
// Filled once per process, and only read afterwards, hence shared by all
// runtimes.
static float linear[256];

static void fill_linear(void)
{
    for (int i = 0; i < 256; i++) {
        double x = i / 255.0;
        linear[i] =
            (float)(x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4));
    }
}

// HDI_LAYOUT_ANY is always right, but slower: the built-in functions look at
// order and type then.
static enum hdi_image_layout layout_of(const struct hd_image_params *p,
                                       const struct type *type)
{
    bool bytes = p->type == HD_UNORM_INT8 || p->type == HD_UNSIGNED_INT8;

    if ((p->order == HD_RGBA || p->order == HD_BGRA) && bytes)
        return HDI_LAYOUT_8888;
    if (type->number == HDI_NUMBER_PACKED)
        return HDI_LAYOUT_ANY;
    if (p->order == HD_RGBA && type->size == 4)
        return HDI_LAYOUT_4_X_32;
    if ((p->order == HD_R || p->order == HD_DEPTH) && type->size == 4)
        return HDI_LAYOUT_32;
    return p->order == HD_R && bytes ? HDI_LAYOUT_8 : HDI_LAYOUT_ANY;
}

// Sizes -----------------------------------------------------------------------

// What the kind has not is 1.
static void complete(struct hd_image_params *p)
{
    bool plane = p->kind == HD_IMAGE_2D || p->kind == HD_IMAGE_2D_ARRAY ||
                 p->kind == HD_IMAGE_3D;

    if (!plane)
        p->height = 1;
    if (p->kind != HD_IMAGE_3D)
        p->depth = 1;
    if (p->kind != HD_IMAGE_1D_ARRAY && p->kind != HD_IMAGE_2D_ARRAY)
        p->layers = 1;
}

static hd_status check_sizes(const struct hd_image_params *p,
                             struct hd_error *error)
{
    const uint32_t sizes[] = {p->width, p->height, p->depth, p->layers};
    static const char *const names[] = {"width", "height", "depth", "layers"};

    for (int i = 0; i < 4; i++) {
        uint32_t most = p->kind == HD_IMAGE_1D_BUFFER ? HD_IMAGE_MAX_BUFFER
                                                      : HD_IMAGE_MAX_EXTENT;
        if (sizes[i] == 0)
            return hdi_fail(error, HD_EINVAL, "an image with %s 0", names[i]);
        if (sizes[i] > most)
            return hdi_fail(error, HD_ELIMIT,
                            "an image with %s %u, which can be %u at most",
                            names[i], sizes[i], most);
    }
    return HD_OK;
}

static hd_status check_pitch(const char *name, uint64_t least, uint32_t texel,
                             uint64_t *pitch, struct hd_error *error)
{
    if (*pitch == 0)
        *pitch = least;
    if (*pitch < least || *pitch % texel != 0)
        return hdi_fail(error, HD_EINVAL,
                        "an image with %s %" PRIu64
                        ", which must be a multiple of %u from %" PRIu64 " on",
                        name, *pitch, texel, least);
    return HD_OK;
}

// The bytes from the first texel to the end of the last.
// All products are checked, since extents and pitches come from the
// application. What was 0 of the pitches is filled in.
static hd_status measure(struct hd_image_params *p, uint32_t texel,
                         uint64_t *size, struct hd_error *error)
{
    HDI_TRY(check_sizes(p, error));
    uint64_t row = (uint64_t)p->width * texel;
    HDI_TRY(check_pitch("row_pitch", row, texel, &p->row_pitch, error));

    uint64_t before_last, slice, slices, end;
    bool fits = hdi_multiply(p->row_pitch, p->height - 1, &before_last) &&
                !__builtin_add_overflow(before_last, row, &slice);
    // A slice that is not the last includes the gap behind its last row.
    uint64_t whole = 0;
    fits = fits && hdi_multiply(p->row_pitch, p->height, &whole);
    if (fits)
        HDI_TRY(
            check_pitch("slice_pitch", whole, texel, &p->slice_pitch, error));
    fits = fits &&
           hdi_multiply(p->slice_pitch, (uint64_t)p->depth * p->layers - 1,
                        &slices) &&
           !__builtin_add_overflow(slices, slice, &end);
    if (!fits || end > INT64_MAX)
        return hdi_fail(error, HD_ELIMIT,
                        "an image of more than 2^63 bytes: see its pitches");
    *size = end;
    return HD_OK;
}

// The buffer's own device decides where the image is at home.
static hd_status check_memory(const struct hdi_launcher *launcher,
                              const struct hd_image_params *p, uint32_t texel,
                              uint64_t size, struct hd_error *error)
{
    if (p->buffer->launcher != launcher)
        return hdi_fail(error, HD_EINVAL,
                        "an image in a buffer of another runtime");
    if (p->offset % texel != 0)
        return hdi_fail(error, HD_EINVAL,
                        "an image at offset %" PRIu64
                        " of its buffer, which must be a multiple of %u",
                        p->offset, texel);
    if (p->offset > p->buffer->size || size > p->buffer->size - p->offset)
        return hdi_fail(error, HD_EINVAL,
                        "an image of %" PRIu64 " bytes at offset %" PRIu64
                        " of a buffer of %" PRIu64,
                        size, p->offset, p->buffer->size);
    return HD_OK;
}

// Making ----------------------------------------------------------------------

static void describe(struct hd_image *image, uint64_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct hd_image_params *p = &image->params;
    const struct order *order = find_order(p->order);
    const struct type *type = find_type(p->type);

    pthread_once(&once, fill_linear);
    image->size = size;
    image->shown = (struct hdi_image){
        .texels = (unsigned char *)p->buffer->address + p->offset,
        .row = p->row_pitch,
        .slice = p->slice_pitch,
        .linear = is_srgb(p->order) ? linear : NULL,
        .width = (int)p->width,
        .height = (int)p->height,
        .depth = (int)p->depth,
        .layers = (int)p->layers,
        .order = p->order,
        .type = p->type,
        .layout = size <= INT32_MAX ? layout_of(p, type) : HDI_LAYOUT_ANY,
        .number = type->number,
        .texel_size = stored(order, type) * type->size,
        .component_size = type->size,
        .components = stored(order, type),
        .swapped = p->order == HD_BGRA,
        .scale = type->most > 0 ? 1 / type->most : 1,
    };
    memcpy(image->shown.place, order->place, sizeof(order->place));
    memcpy(image->shown.source, order->source, sizeof(order->source));
    memcpy(image->shown.shift, type->shift, sizeof(type->shift));
    memcpy(image->shown.bits, type->bits, sizeof(type->bits));
    // What is stored of a packed texel is its first component.
    for (int c = 0; c < 4 && type->number == HDI_NUMBER_PACKED; c++)
        if (image->shown.place[c] < HDI_CHANNEL_ZERO)
            image->shown.place[c] = 0;
}

// A buffer of its own, or one that it holds; the description comes last, and
// hd_image_destroy() undoes the rest when it fails.
hd_status hdi_image_create(struct hdi_launcher *launcher,
                           const struct hd_image_params *params,
                           struct hd_image **image, struct hd_error *error)
{
    uint32_t texel = hd_texel_size(params->order, params->type);
    uint64_t size = 0;

    if ((unsigned)params->kind > HD_IMAGE_3D)
        return hdi_fail(error, HD_EINVAL, "an image of an unknown kind %d",
                        (int)params->kind);
    if (texel == 0)
        return hdi_fail(error, HD_EINVAL,
                        "no image format has channel order 0x%x with channel "
                        "type 0x%x",
                        (unsigned)params->order, (unsigned)params->type);
    bool plane =
        params->kind == HD_IMAGE_2D || params->kind == HD_IMAGE_2D_ARRAY;
    if (params->order == HD_DEPTH && !plane)
        return hdi_fail(error, HD_EINVAL,
                        "an image of depth is 2D or an array of 2D");

    struct hd_image *i = calloc(1, sizeof(*i));
    if (!i)
        return hdi_fail(error, HD_ENOMEM, "no memory for an image");
    i->self = i;
    i->launcher = launcher;
    atomic_init(&i->holders, 1);
    i->params = *params;
    complete(&i->params);
    hd_status status = measure(&i->params, texel, &size, error);
    if (status == HD_OK && !params->buffer) {
        i->params.offset = 0;
        status = hdi_buffer_create(launcher, size, &i->params.buffer, error);
    } else if (status == HD_OK) {
        status = check_memory(launcher, &i->params, texel, size, error);
        if (status == HD_OK)
            hdi_buffer_hold(params->buffer);
    }
    if (status != HD_OK) {
        free(i);
        return status;
    }
    describe(i, size);
    pthread_mutex_init(&i->lock, NULL);
    status = hdi_image_describe(i, launcher, i->shown.texels, &i->home, error);
    if (status != HD_OK) {
        hd_image_destroy(i);
        return status;
    }
    *image = i;
    return HD_OK;
}

void hdi_image_hold(struct hd_image *image)
{
    atomic_fetch_add_explicit(&image->holders, 1, memory_order_relaxed);
}

void hd_image_destroy(struct hd_image *image)
{
    if (!image ||
        atomic_fetch_sub_explicit(&image->holders, 1, memory_order_acq_rel) > 1)
        return;
    hdi_image_undescribe(image);
    pthread_mutex_destroy(&image->lock);
    hd_buffer_destroy(image->params.buffer);
    free(image);
}

const struct hd_image_params *hd_image_params(const struct hd_image *image)
{
    return &image->params;
}

// From the first to the last byte that is touched; all of the image's, if that
// is not known, and none beyond.
static void find_extent(const struct hd_image *image,
                        const struct hd_touched *t, uint64_t *begin,
                        uint64_t *end)
{
    *begin = 0;
    *end = image->size;
    if (t->kind == HD_TOUCHES_ALL)
        return;
    int64_t last =
        t->begin + (int64_t)(t->bytes + (t->count[0] - 1) * t->stride[0] +
                             (t->count[1] - 1) * t->stride[1]);
    if (t->begin > 0)
        *begin = (uint64_t)t->begin;
    if (last < (int64_t)*end)
        *end = last < 0 ? 0 : (uint64_t)last;
}

// The gaps between rows and slices are not the image's: other images may lie
// there.
//
//     within one slice    the rows from that of the first byte to that of the
//                         last
//     else                all rows of the slices
struct hd_touched hdi_image_touched(const struct hd_image *image,
                                    const struct hd_touched *texels)
{
    const struct hd_image_params *p = &image->params;
    struct hd_touched t = *texels;
    uint64_t begin, end, row = p->row_pitch, slice = p->slice_pitch;

    if (t.kind == HD_TOUCHES_NOTHING)
        return t;
    if (t.kind == HD_TOUCHES_ROWS && t.exact) {
        t.begin += (int64_t)p->offset;
        return t;
    }
    find_extent(image, &t, &begin, &end);
    if (begin >= end) // a launch that is wrong
        return (struct hd_touched){.kind = HD_TOUCHES_NOTHING};
    uint64_t first = begin / slice, slices = (end - 1) / slice - first + 1;
    uint64_t top = slices > 1 ? 0 : begin % slice / row;
    uint64_t rows = slices > 1 ? p->height : (end - 1) % slice / row - top + 1;

    return (struct hd_touched){
        .kind = HD_TOUCHES_ROWS,
        .begin = (int64_t)(p->offset + first * slice + top * row),
        .bytes = (uint64_t)p->width * (uint64_t)image->shown.texel_size,
        .stride = {row, slice},
        .count = {rows, slices}};
}

// Checking --------------------------------------------------------------------

static const char *type_name(const struct hd_image_params *p)
{
    static const char *const names[] = {[HD_IMAGE_1D] = "image1d_t",
                                        [HD_IMAGE_1D_BUFFER] =
                                            "image1d_buffer_t",
                                        [HD_IMAGE_1D_ARRAY] = "image1d_array_t",
                                        [HD_IMAGE_2D] = "image2d_t",
                                        [HD_IMAGE_2D_ARRAY] = "image2d_array_t",
                                        [HD_IMAGE_3D] = "image3d_t"};

    if (p->order == HD_DEPTH)
        return p->kind == HD_IMAGE_2D ? "image2d_depth_t"
                                      : "image2d_array_depth_t";
    return names[p->kind];
}

// By the name of the type, without the access qualifier in front of it.
hd_status hdi_image_check(const struct hdi_launcher *launcher,
                          const struct hd_image *image, const char *kernel,
                          const struct hd_kernel_arg *wanted,
                          struct hd_error *error)
{
    if (!image)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument '%s' of type %s needs an image, "
                        "not NULL",
                        kernel, wanted->name, wanted->type);
    // Those of a pool are one runtime's.
    if (image->launcher != launcher && image->launcher->pool != launcher->pool)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': the image for argument '%s' belongs to "
                        "another runtime",
                        kernel, wanted->name);

    const char *space = strchr(wanted->type, ' ');
    const char *given = type_name(&image->params);
    if (strcmp(space ? space + 1 : wanted->type, given) != 0)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument '%s' of type %s is given an "
                        "image for %s",
                        kernel, wanted->name, wanted->type, given);
    if (!wanted->pointee_const && is_srgb(image->params.order))
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument '%s' of type %s is given an "
                        "image of sRGB, which can only be read",
                        kernel, wanted->name, wanted->type);
    return HD_OK;
}

hd_status hdi_sampler_check(uint32_t sampler, const char *kernel,
                            const struct hd_kernel_arg *wanted,
                            struct hd_error *error)
{
    uint32_t address = sampler & 14, filter = sampler & 0x30;
    bool repeats =
        address == HD_ADDRESS_REPEAT || address == HD_ADDRESS_MIRRORED_REPEAT;

    if (sampler > 0x3f || address > HD_ADDRESS_MIRRORED_REPEAT ||
        (filter != HD_FILTER_NEAREST && filter != HD_FILTER_LINEAR))
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument '%s' is given 0x%x, which is no "
                        "sampler",
                        kernel, wanted->name, sampler);
    if (repeats && !(sampler & HD_COORDINATES_NORMALISED))
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': argument '%s' is given a sampler that "
                        "repeats, which needs normalised coordinates",
                        kernel, wanted->name);
    return HD_OK;
}
