#include "tests/images/reference.h"

#include <math.h>
#include <string.h>

int reference_sizes(const struct hd_image_params *p, int sizes[MAX_AXES])
{
    sizes[0] = (int)p->width;
    sizes[1] = (int)p->height;
    sizes[2] = (int)p->depth;
    switch (p->kind) {
    case HD_IMAGE_3D:
        return 3;
    case HD_IMAGE_2D:
    case HD_IMAGE_2D_ARRAY:
        return 2;
    default:
        return 1;
    }
}

bool reference_is_array(const struct hd_image_params *p)
{
    return p->kind == HD_IMAGE_1D_ARRAY || p->kind == HD_IMAGE_2D_ARRAY;
}

bool reference_is_signed(enum hd_channel_type type)
{
    return type == HD_SIGNED_INT8 || type == HD_SIGNED_INT16 ||
           type == HD_SIGNED_INT32;
}

bool reference_is_unsigned(enum hd_channel_type type)
{
    return type == HD_UNSIGNED_INT8 || type == HD_UNSIGNED_INT16 ||
           type == HD_UNSIGNED_INT32;
}

// Stored channels, first to last.
static const char *stored(enum hd_channel_order order)
{
    switch (order) {
    case HD_A:
        return "a";
    case HD_RG:
        return "rg";
    case HD_RA:
        return "ra";
    case HD_RGB:
    case HD_RGBX:
        return "rgb";
    case HD_RGBA:
    case HD_SRGBA:
        return "rgba";
    case HD_BGRA:
    case HD_SBGRA:
        return "bgra";
    case HD_ARGB:
        return "argb";
    case HD_ABGR:
        return "abgr";
    default:
        return "r";
    }
}

int reference_place(enum hd_channel_order order, int channel)
{
    const char *names = stored(order);
    const char *place = strchr(names, "rgba"[channel]);

    if (order == HD_INTENSITY || (order == HD_LUMINANCE && channel < 3))
        return 0;
    return place ? (int)(place - names) : -1;
}

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double x = exponent == 31  ? (fraction > 0 ? (double)NAN : (double)INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -x : x;
}

static double decode(enum hd_channel_type type, const unsigned char *p)
{
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    uint32_t u32;
    float f;

    memcpy(&s16, p, 2);
    memcpy(&u16, p, 2);
    memcpy(&s32, p, 4);
    memcpy(&u32, p, 4);
    memcpy(&f, p, 4);
    switch (type) {
    case HD_SNORM_INT8:
        return fmax((int8_t)*p / 127.0, -1);
    case HD_SNORM_INT16:
        return fmax(s16 / 32767.0, -1);
    case HD_UNORM_INT8:
        return *p / 255.0;
    case HD_UNORM_INT16:
        return u16 / 65535.0;
    case HD_SIGNED_INT8:
        return (int8_t)*p;
    case HD_SIGNED_INT16:
        return s16;
    case HD_SIGNED_INT32:
        return s32;
    case HD_UNSIGNED_INT8:
        return *p;
    case HD_UNSIGNED_INT16:
        return u16;
    case HD_UNSIGNED_INT32:
        return u32;
    case HD_HALF_FLOAT:
        return half_value(u16);
    case HD_FLOAT:
        return (double)f;
    default: // packed
        return 0;
    }
}

bool reference_is_packed(enum hd_channel_type type)
{
    return type == HD_UNORM_SHORT_565 || type == HD_UNORM_SHORT_555 ||
           type == HD_UNORM_INT_101010 || type == HD_UNORM_INT_101010_2;
}

// "With the first channel in the most significant bits": the value of every
// channel from the number that a texel is, and the largest it can have.
static uint32_t unpack(enum hd_channel_type type, uint32_t texel, int channel,
                       uint32_t *most)
{
    switch (type) {
    case HD_UNORM_SHORT_565:
        *most = channel == 1 ? 63 : 31;
        return channel == 0   ? texel / 2048 % 32
               : channel == 1 ? texel / 32 % 64
                              : texel % 32;
    case HD_UNORM_SHORT_555:
        *most = 31;
        return channel == 0   ? texel / 1024 % 32
               : channel == 1 ? texel / 32 % 32
                              : texel % 32;
    case HD_UNORM_INT_101010:
        *most = 1023;
        return channel == 0   ? texel / 1048576 % 1024
               : channel == 1 ? texel / 1024 % 1024
                              : texel % 1024;
    default:
        *most = channel == 3 ? 3 : 1023;
        return channel == 0   ? texel / 4194304
               : channel == 1 ? texel / 4096 % 1024
               : channel == 2 ? texel / 4 % 1024
                              : texel % 4;
    }
}

double reference_unpack(enum hd_channel_type type, const unsigned char *texel,
                        int channel, uint32_t *most)
{
    bool is_short = type == HD_UNORM_SHORT_565 || type == HD_UNORM_SHORT_555;
    uint32_t word = (uint32_t)(texel[0] | texel[1] << 8);

    if (!is_short)
        word |= (uint32_t)texel[2] << 16 | (uint32_t)texel[3] << 24;
    return unpack(type, word, channel, most);
}

static int size_of(enum hd_channel_type type)
{
    switch (type) {
    case HD_SNORM_INT8:
    case HD_UNORM_INT8:
    case HD_SIGNED_INT8:
    case HD_UNSIGNED_INT8:
        return 1;
    case HD_SIGNED_INT32:
    case HD_UNSIGNED_INT32:
    case HD_FLOAT:
    case HD_UNORM_INT_101010:
    case HD_UNORM_INT_101010_2:
        return 4;
    default:
        return 2;
    }
}

static double from_srgb(double x)
{
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

static bool is_outside(const struct hd_image_params *p, const int at[MAX_AXES])
{
    int sizes[MAX_AXES], axes = reference_sizes(p, sizes);

    for (int a = 0; a < axes; a++)
        if (at[a] < 0 || at[a] >= sizes[a])
            return true;
    return false;
}

static bool has_alpha(enum hd_channel_order order)
{
    return reference_place(order, 3) >= 0;
}

double reference_texel(const struct reference *image, const int at[MAX_AXES],
                       int layer, int channel)
{
    const struct hd_image_params *p = image->params;
    int place = reference_place(p->order, channel);

    if (is_outside(p, at)) // of RGBx alpha counts as there
        return channel == 3 && !has_alpha(p->order) && p->order != HD_RGBX;
    if (place < 0)
        return channel == 3;
    int sizes[MAX_AXES], axes = reference_sizes(p, sizes);
    bool packed = reference_is_packed(p->type);
    int count = packed ? 1 : (int)strlen(stored(p->order));
    int size = size_of(p->type);
    const unsigned char *texel =
        image->texels + (uint64_t)at[0] * (uint64_t)(count * size) +
        (axes > 1 ? (uint64_t)at[1] * p->row_pitch : 0) +
        (axes > 2 ? (uint64_t)at[2] * p->slice_pitch : 0) +
        (uint64_t)layer * p->slice_pitch;
    if (packed) {
        uint32_t most;
        double x = reference_unpack(p->type, texel, channel, &most);
        return x / most;
    }
    unsigned char bytes[4] = {0};
    memcpy(bytes, texel + place * size, (size_t)size);
    double x = decode(p->type, bytes);
    bool srgb = p->order == HD_SRGBA || p->order == HD_SBGRA;
    return srgb && channel < 3 ? from_srgb(x) : x;
}

// One or two texels along an axis, and the weight of the second.
struct along {
    int first, second;
    double weight;
};

static int address_mode(uint32_t addressing, int i, int size)
{
    int low = addressing == HD_ADDRESS_CLAMP ? -1 : 0;
    int high = addressing == HD_ADDRESS_CLAMP ? size : size - 1;

    if (addressing == HD_ADDRESS_NONE)
        return i;
    return i < low ? low : i > high ? high : i;
}

static struct along nearest_along(uint32_t addressing, double s, double u,
                                  int size)
{
    int i;

    if (addressing == HD_ADDRESS_REPEAT) {
        i = (int)floor((s - floor(s)) * size);
        i = i > size - 1 ? i - size : i;
    } else if (addressing == HD_ADDRESS_MIRRORED_REPEAT) {
        i = (int)floor(fabs(s - 2 * rint(0.5 * s)) * size);
        i = i < size - 1 ? i : size - 1;
    } else {
        i = address_mode(addressing, (int)floor(u), size);
    }
    return (struct along){i, i, 0};
}

static struct along linear_along(uint32_t addressing, double s, double u,
                                 int size)
{
    struct along a;

    if (addressing == HD_ADDRESS_REPEAT) {
        u = (s - floor(s)) * size;
        a.first = (int)floor(u - 0.5);
        a.second = a.first + 1;
        a.first = a.first < 0 ? size + a.first : a.first;
        a.second = a.second > size - 1 ? a.second - size : a.second;
    } else if (addressing == HD_ADDRESS_MIRRORED_REPEAT) {
        u = fabs(s - 2 * rint(0.5 * s)) * size;
        a.first = (int)floor(u - 0.5);
        a.second = a.first + 1;
        a.first = a.first < 0 ? 0 : a.first;
        a.second = a.second > size - 1 ? size - 1 : a.second;
    } else {
        a.first = address_mode(addressing, (int)floor(u - 0.5), size);
        a.second = address_mode(addressing, (int)floor(u - 0.5) + 1, size);
    }
    a.weight = (u - 0.5) - floor(u - 0.5);
    return a;
}

double reference_read(const struct reference *image, uint32_t sampler,
                      const double *at, int channel)
{
    const uint32_t addressing = sampler & 14;
    const bool linear = sampler & HD_FILTER_LINEAR;
    int sizes[MAX_AXES], axes = reference_sizes(image->params, sizes);
    int layer = 0, layers = (int)image->params->layers;
    struct along along[MAX_AXES] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};

    for (int a = 0; a < axes; a++) {
        double u =
            sampler & HD_COORDINATES_NORMALISED ? at[a] * sizes[a] : at[a];
        along[a] = linear ? linear_along(addressing, at[a], u, sizes[a])
                          : nearest_along(addressing, at[a], u, sizes[a]);
    }
    if (reference_is_array(image->params))
        layer = (int)fmax(0, fmin(rint(at[axes]), layers - 1));

    double sum = 0;
    for (int corner = 0; corner < (linear ? 1 << axes : 1); corner++) {
        int texel[MAX_AXES] = {0};
        double weight = 1;
        for (int a = 0; a < axes; a++) {
            bool second = corner >> a & 1;
            texel[a] = second ? along[a].second : along[a].first;
            weight *= second ? along[a].weight : 1 - along[a].weight;
        }
        sum += weight * reference_texel(image, texel, layer, channel);
    }
    return sum;
}

// To the nearest, ties to even, saturated.
static long normal(double x, double low, double high)
{
    x = rint(x * high);
    return (long)(x > low ? x < high ? x : high : low);
}

static uint16_t half_bits(double x)
{
    double size = fabs(x);
    int exponent;

    frexp(size, &exponent);
    exponent = exponent - 1 < -14 ? -14 : exponent - 1;
    double fraction = rint(ldexp(size, 10 - exponent));
    uint32_t bits = (uint32_t)(exponent + 14) * 1024 + (uint32_t)fraction;
    bits = size >= 65520 ? 0x7c00 : bits;
    return (uint16_t)(bits | (signbit(x) ? 0x8000 : 0));
}

int reference_encode(enum hd_channel_type type, double x,
                     unsigned char bytes[4])
{
    long whole = 0;
    float f = (float)x;

    switch (type) {
    case HD_SNORM_INT8:
        whole = normal(x, -127, 127);
        break;
    case HD_SNORM_INT16:
        whole = normal(x, -32767, 32767);
        break;
    case HD_UNORM_INT8:
        whole = normal(x, 0, 255);
        break;
    case HD_UNORM_INT16:
        whole = normal(x, 0, 65535);
        break;
    case HD_SIGNED_INT8:
        whole = (long)fmax(-128, fmin(x, 127));
        break;
    case HD_SIGNED_INT16:
        whole = (long)fmax(-32768, fmin(x, 32767));
        break;
    case HD_UNSIGNED_INT8:
        whole = (long)fmin(x, 255);
        break;
    case HD_UNSIGNED_INT16:
        whole = (long)fmin(x, 65535);
        break;
    case HD_SIGNED_INT32:
    case HD_UNSIGNED_INT32:
        whole = (long)x;
        break;
    case HD_HALF_FLOAT:
        whole = half_bits(x);
        break;
    case HD_FLOAT:
        memcpy(bytes, &f, sizeof(f));
        return 4;
    default: // packed
        return 0;
    }
    uint32_t word = (uint32_t)whole;
    memcpy(bytes, &word, sizeof(word));
    return size_of(type);
}
