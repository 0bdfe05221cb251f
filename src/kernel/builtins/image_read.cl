// Reading images: section 8 of the OpenCL C specification, "Image addressing
// and filtering".
#include "texel.h"

__attribute__((always_inline)) int hdi_image_layout(image i)
{
    return i->layout;
}

__attribute__((always_inline)) void hdi_image_visit(image i, int x, int y,
                                                    int z, int layer, int how)
{
}

// Where along one axis: one texel, or two to be mixed.
struct axis {
    int near, far;
    float weight; // of the far one
};

// What of a sampler one axis needs. Repeating needs normalised coordinates.
INNER bool is_normalised(uint sampler)
{
    return (sampler & CLK_NORMALIZED_COORDS_TRUE) != 0;
}
INNER bool is_linear(uint sampler)
{
    return (sampler & CLK_FILTER_LINEAR) != 0;
}
INNER uint addressing(uint sampler)
{
    return sampler & 14;
}
INNER bool repeats(uint sampler)
{
    return addressing(sampler) == CLK_ADDRESS_REPEAT && is_normalised(sampler);
}
INNER bool mirrors(uint sampler)
{
    return addressing(sampler) == CLK_ADDRESS_MIRRORED_REPEAT &&
           is_normalised(sampler);
}
INNER bool has_border(uint sampler)
{
    return addressing(sampler) == CLK_ADDRESS_CLAMP;
}

// The coordinate in texels, folded into the image where the sampler repeats.
INNER float unfold(uint sampler, float s, float size)
{
    if (repeats(sampler))
        s = s - __builtin_floorf(s);
    if (mirrors(sampler))
        s = __builtin_fabsf(s - 2 * __builtin_rintf(0.5f * s));
    return is_normalised(sampler) ? s * size : s;
}

// Keep it in the image, or one texel outside where there is a border.
INNER int limit(uint sampler, float at, float size)
{
    float border = has_border(sampler) ? 1 : 0;
    return (int)clamp_float(at, -border, size - 1 + border);
}

INNER struct axis nearest_axis(uint sampler, float s, int texels)
{
    float size = (float)texels;
    float at = __builtin_floorf(unfold(sampler, s, size));

    if (repeats(sampler))
        at = choose(at > size - 1, at - size, at);
    int x = limit(sampler, at, size);
    return (struct axis){x, x, 0};
}

INNER struct axis linear_axis(uint sampler, float s, int texels)
{
    float size = (float)texels;
    float at = unfold(sampler, s, size) - 0.5f;
    float low = __builtin_floorf(at), high = low + 1;
    float weight = at - low;

    if (repeats(sampler)) {
        low = choose(low < 0, low + size, low);
        high = choose(high > size - 1, high - size, high);
    }
    return (struct axis){limit(sampler, low, size), limit(sampler, high, size),
                         weight};
}

INNER struct axis axis_of(uint sampler, float s, int texels)
{
    return is_linear(sampler) ? linear_axis(sampler, s, texels)
                              : nearest_axis(sampler, s, texels);
}

// Of coordinates that are integers, which are texels.
INNER struct axis axis_of(uint sampler, int s, int texels)
{
    int border = has_border(sampler) ? 1 : 0;
    int x = clamp_int(s, -border, texels - 1 + border);
    return (struct axis){x, x, 0};
}

INNER int layer_of(float layer, int layers)
{
    return (int)clamp_float(__builtin_rintf(layer), 0, (float)(layers - 1));
}
INNER int layer_of(int layer, int layers)
{
    return clamp_int(layer, 0, layers - 1);
}

// The texels of one read. What an image does not have is 0 in all of them.
struct spot {
    struct axis x, y, z;
    int layer;
};

#define SPOT(T)                                                            \
    INNER struct spot spot_of(image i, uint sampler, int dims, bool array, \
                              T##4 c)                                      \
    {                                                                      \
        struct axis none = {0, 0, 0};                                      \
        return (struct spot){                                              \
            axis_of(sampler, c.x, i->width),                               \
            dims > 1 ? axis_of(sampler, c.y, i->height) : none,            \
            dims > 2 ? axis_of(sampler, c.z, i->depth) : none,             \
            array ? layer_of(c.w, i->layers) : 0};                         \
    }
SPOT(float)
SPOT(int)

// What a sampler of CLK_ADDRESS_NONE lets out, the checker is told of: the texel
// that the coordinates are in. Layers are kept inside by all samplers.
INNER int texel_of(uint sampler, float s, int texels)
{
    const float far = 1 << 30;
    float at = __builtin_floorf(unfold(sampler, s, (float)texels));
    return (int)clamp_float(at, -far, far);
}
INNER int texel_of(uint sampler, int s, int texels)
{
    return s;
}

#define LOOK(T)                                                             \
    INNER void look(image i, uint sampler, T##4 c)                          \
    {                                                                       \
        if (addressing(sampler) == CLK_ADDRESS_NONE)                        \
            hdi_image_visit(i, texel_of(sampler, c.x, i->width),            \
                            texel_of(sampler, c.y, i->height),              \
                            texel_of(sampler, c.z, i->depth),               \
                            layer_of(c.w, i->layers), 1);                   \
    }
LOOK(float)
LOOK(int)

// A texel of the spot: its address, and whether it is in the image.
struct texel {
    global uchar *at;
    bool inside;
};

INNER struct texel find(image i, uint sampler, int layout, int x, int y, int z,
                        int layer)
{
    bool inside = true;

    if (has_border(sampler)) {
        inside = ((uint)x < (uint)i->width) & ((uint)y < (uint)i->height) &
                 ((uint)z < (uint)i->depth);
        x = clamp_int(x, 0, i->width - 1);
        y = clamp_int(y, 0, i->height - 1);
        z = clamp_int(z, 0, i->depth - 1);
    }
    return (struct texel){texel_at(i, layout, x, y, z + layer), inside};
}

// Stored components -----------------------------------------------------------

// The bits of one component; 0 outside.
INNER uint component(image i, struct texel t, int index)
{
    global uchar *p = t.at + index * i->component_size;
    uint bits;

    if (i->component_size == 1)
        bits = *p;
    else if (i->component_size == 2)
        bits = *(global ushort *)p;
    else
        bits = *(global uint *)p;
    return choose(t.inside, bits, 0u);
}

INNER int signed_component(image i, uint bits)
{
    int shift = 32 - 8 * i->component_size;
    return i->number == HDI_NUMBER_SIGNED ? (int)(bits << shift) >> shift
                                          : (int)bits;
}

INNER float float_channel(image i, struct texel t, int channel)
{
    int place = i->place[channel];
    if (place >= HDI_CHANNEL_ZERO)
        return place == HDI_CHANNEL_ONE      ? 1
               : place == HDI_CHANNEL_INSIDE ? choose(t.inside, 1.0f, 0.0f)
                                             : 0;

    uint bits = component(i, t, place);
    if (i->number == HDI_NUMBER_PACKED) {
        int most = (1 << i->bits[channel]) - 1;
        return (float)((int)(bits >> i->shift[channel]) & most) / (float)most;
    }
    if (i->number == HDI_NUMBER_FLOAT)
        return as_float(bits);
    if (i->number == HDI_NUMBER_HALF)
        return of_half_bits(bits);
    if (i->linear && channel < 3)
        return i->linear[bits];
    // The lowest number of a signed format is less than -1.
    float x = (float)signed_component(i, bits) * i->scale;
    return choose(x > -1, x, -1.0f);
}

INNER int int_channel(image i, struct texel t, int channel)
{
    int place = i->place[channel];
    if (place >= HDI_CHANNEL_ZERO)
        return place == HDI_CHANNEL_ONE;
    return signed_component(i, component(i, t, place));
}

// Filtering -------------------------------------------------------------------

// Four channels as stored, not scaled.
INNER float4 load(struct texel t, int layout)
{
    if (layout == HDI_LAYOUT_8888) {
        uint v = choose(t.inside, *(global uint *)t.at, 0u);
        return (float4)((float)(int)(v & 255), (float)(int)(v >> 8 & 255),
                        (float)(int)(v >> 16 & 255), (float)(int)(v >> 24));
    }
    if (layout == HDI_LAYOUT_8)
        return (float4)((float)choose(t.inside, (int)*t.at, 0), 0, 0, 0);

    global float *p = (global float *)t.at;
    float x = choose(t.inside, p[0], 0.0f);
    if (layout == HDI_LAYOUT_32)
        return (float4)(x, 0, 0, 0);
    return (float4)(x, choose(t.inside, p[1], 0.0f),
                    choose(t.inside, p[2], 0.0f), choose(t.inside, p[3], 0.0f));
}

INNER float4 add(float4 sum, float weight, float4 c)
{
    return (float4)(MAD(weight, c.x, sum.x), MAD(weight, c.y, sum.y),
                    MAD(weight, c.z, sum.z), MAD(weight, c.w, sum.w));
}

// Two texels along x.
INNER float4 mix_row(image i, uint sampler, int layout, struct spot s, int y,
                     int z, float weight, float4 sum)
{
    struct texel a = find(i, sampler, layout, s.x.near, y, z, s.layer);
    struct texel b = find(i, sampler, layout, s.x.far, y, z, s.layer);
    float far = weight * s.x.weight;

    sum = add(sum, weight - far, load(a, layout));
    return add(sum, far, load(b, layout));
}

// Two rows, or one, along y.
INNER float4 mix_plane(image i, uint sampler, int layout, int dims,
                       struct spot s, int z, float weight, float4 sum)
{
    if (dims < 2)
        return mix_row(i, sampler, layout, s, 0, z, weight, sum);
    float far = weight * s.y.weight;
    sum = mix_row(i, sampler, layout, s, s.y.near, z, weight - far, sum);
    return mix_row(i, sampler, layout, s, s.y.far, z, far, sum);
}

// A layout that has code of its own.
INNER float4 read_layout(image i, uint sampler, int layout, int dims,
                         bool linear, struct spot s)
{
    if (!linear)
        return load(
            find(i, sampler, layout, s.x.near, s.y.near, s.z.near, s.layer),
            layout);
    if (dims < 3)
        return mix_plane(i, sampler, layout, dims, s, 0, 1, 0);
    float4 sum =
        mix_plane(i, sampler, layout, dims, s, s.z.near, 1 - s.z.weight, 0);
    return mix_plane(i, sampler, layout, dims, s, s.z.far, s.z.weight, sum);
}

// Any format: a loop over the texels, since its body is long.
INNER float4 read_any(image i, uint sampler, int dims, bool linear,
                      struct spot s)
{
    uint count = linear ? 1u << dims : 1;
    float4 sum = 0;

#pragma clang loop unroll(disable)
    for (uint n = 0; n < count; n++) {
        bool x = n & 1, y = n >> 1 & 1, z = n >> 2 & 1;
        struct texel t =
            find(i, sampler, HDI_LAYOUT_ANY, x ? s.x.far : s.x.near,
                 y ? s.y.far : s.y.near, z ? s.z.far : s.z.near, s.layer);
        float weight = linear ? (x ? s.x.weight : 1 - s.x.weight) : 1;
        if (linear && dims > 1)
            weight *= y ? s.y.weight : 1 - s.y.weight;
        if (linear && dims > 2)
            weight *= z ? s.z.weight : 1 - s.z.weight;
        sum = add(sum, weight,
                  (float4)(float_channel(i, t, 0), float_channel(i, t, 1),
                           float_channel(i, t, 2), float_channel(i, t, 3)));
    }
    return sum;
}

INNER float4 read_float(image i, uint sampler, int dims, bool linear,
                        struct spot s)
{
#define READ(layout) read_layout(i, sampler, layout, dims, linear, s)
    if (hdi_image_layout(i) == HDI_LAYOUT_8888) {
        float4 c = READ(HDI_LAYOUT_8888) * (1.0f / 255);
        return i->swapped ? c.zyxw : c;
    }
    if (hdi_image_layout(i) == HDI_LAYOUT_4_X_32)
        return READ(HDI_LAYOUT_4_X_32);
    if (hdi_image_layout(i) == HDI_LAYOUT_32)
        return (float4)(READ(HDI_LAYOUT_32).x, 0, 0, 1);
    if (hdi_image_layout(i) == HDI_LAYOUT_8)
        return (float4)(READ(HDI_LAYOUT_8).x * (1.0f / 255), 0, 0, 1);
    return read_any(i, sampler, dims, linear, s);
#undef READ
}

// Integers are not filtered.
INNER int4 read_int(image i, uint sampler, struct spot s)
{
#define FIND(layout) \
    find(i, sampler, layout, s.x.near, s.y.near, s.z.near, s.layer)
    if (hdi_image_layout(i) == HDI_LAYOUT_8888) {
        struct texel t = FIND(HDI_LAYOUT_8888);
        uint v = choose(t.inside, *(global uint *)t.at, 0u);
        int4 c = (int4)(v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24);
        return i->swapped ? c.zyxw : c;
    }
    if (hdi_image_layout(i) == HDI_LAYOUT_4_X_32) {
        struct texel t = FIND(HDI_LAYOUT_4_X_32);
        global int *p = (global int *)t.at;
        return (int4)(choose(t.inside, p[0], 0), choose(t.inside, p[1], 0),
                      choose(t.inside, p[2], 0), choose(t.inside, p[3], 0));
    }
    if (hdi_image_layout(i) == HDI_LAYOUT_8) {
        struct texel t = FIND(HDI_LAYOUT_8);
        return (int4)(choose(t.inside, (int)*t.at, 0), 0, 0, 1);
    }
    if (hdi_image_layout(i) == HDI_LAYOUT_32) {
        struct texel t = FIND(HDI_LAYOUT_32);
        return (int4)(choose(t.inside, *(global int *)t.at, 0), 0, 0, 1);
    }
    struct texel t = FIND(HDI_LAYOUT_ANY);
    return (int4)(int_channel(i, t, 0), int_channel(i, t, 1),
                  int_channel(i, t, 2), int_channel(i, t, 3));
#undef FIND
}

// The functions ---------------------------------------------------------------

// Of the program's constants.
uint sampler_of(uint bits) __asm__("__translate_sampler_initializer");
__attribute__((always_inline)) uint sampler_of(uint bits)
{
    return bits;
}

enum {
    NO_SAMPLER = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST
};

// What the functions make of four channels.
#define ALL(c)    (c)
#define RED(c)    (c).x
#define HALVES(c) __builtin_convertvector(c, half4)

#define READ_FLOATS(kind, name, dims, array, R, function, RESULT)             \
    NAMED(R, function##_f_##kind,                                             \
          function##_NAME name "_ro11ocl_sampler" FLOAT_NAME_##kind, image i, \
          uint sampler, FLOAT_##kind c)                                       \
    {                                                                         \
        look(i, sampler, SPREAD_##kind(float4, c));                           \
        struct spot s =                                                       \
            spot_of(i, sampler, dims, array, SPREAD_##kind(float4, c));       \
        return RESULT(read_float(i, sampler, dims, is_linear(sampler), s));   \
    }                                                                         \
    NAMED(R, function##_i_##kind,                                             \
          function##_NAME name "_ro11ocl_sampler" INT_NAME_##kind, image i,   \
          uint sampler, INT_##kind c)                                         \
    {                                                                         \
        look(i, sampler, SPREAD_##kind(int4, c));                             \
        struct spot s =                                                       \
            spot_of(i, sampler, dims, array, SPREAD_##kind(int4, c));         \
        return RESULT(read_float(i, sampler, dims, false, s));                \
    }
#define read_f_NAME "_Z11read_imagef"
#define read_h_NAME "_Z11read_imageh"
PLAIN_KINDS(READ_FLOATS, float4, read_f, ALL)
PLAIN_KINDS(READ_FLOATS, half4, read_h, HALVES)
DEPTH_KINDS(READ_FLOATS, float, read_f, RED)

#define READ_INTEGERS(kind, name, dims, array, R, function)                   \
    NAMED(R, function##_f_##kind,                                             \
          function##_NAME name "_ro11ocl_sampler" FLOAT_NAME_##kind, image i, \
          uint sampler, FLOAT_##kind c)                                       \
    {                                                                         \
        uint nearest = sampler & ~(uint)CLK_FILTER_LINEAR;                    \
        look(i, nearest, SPREAD_##kind(float4, c));                           \
        struct spot s =                                                       \
            spot_of(i, nearest, dims, array, SPREAD_##kind(float4, c));       \
        return __builtin_astype(read_int(i, sampler, s), R);                  \
    }                                                                         \
    NAMED(R, function##_i_##kind,                                             \
          function##_NAME name "_ro11ocl_sampler" INT_NAME_##kind, image i,   \
          uint sampler, INT_##kind c)                                         \
    {                                                                         \
        look(i, sampler, SPREAD_##kind(int4, c));                             \
        struct spot s =                                                       \
            spot_of(i, sampler, dims, array, SPREAD_##kind(int4, c));         \
        return __builtin_astype(read_int(i, sampler, s), R);                  \
    }
#define read_i_NAME "_Z11read_imagei"
#define read_u_NAME "_Z12read_imageui"
PLAIN_KINDS(READ_INTEGERS, int4, read_i)
PLAIN_KINDS(READ_INTEGERS, uint4, read_u)

// Without a sampler: coordinates outside the image are moved to its edge.
#define READ_PLAIN(kind, name, dims, array, access, R, function, ...)    \
    NAMED(R, function##_plain_##kind##_##access,                         \
          function##_NAME name "_" #access INT_NAME_##kind, image i,     \
          INT_##kind c)                                                  \
    {                                                                    \
        int4 place = SPREAD_##kind(int4, c);                             \
        hdi_image_visit(i, place.x, place.y, place.z, place.w, 1);       \
        struct spot s = spot_of(i, NO_SAMPLER, dims, array, place);      \
        return __VA_ARGS__;                                              \
    }
#define PLAIN_FLOATS read_float(i, NO_SAMPLER, 3, false, s)
#define PLAIN_INTS   read_int(i, NO_SAMPLER, s)
#define READ_PLAINS(kind, name, dims, array, access)                          \
    READ_PLAIN(kind, name, dims, array, access, float4, read_f, PLAIN_FLOATS) \
    READ_PLAIN(kind, name, dims, array, access, half4, read_h,                \
               HALVES(PLAIN_FLOATS))                                          \
    READ_PLAIN(kind, name, dims, array, access, int4, read_i, PLAIN_INTS)     \
    READ_PLAIN(kind, name, dims, array, access, uint4, read_u,                \
               as_uint4(PLAIN_INTS))
#define READ_PLAIN_DEPTH(kind, name, dims, array, access) \
    READ_PLAIN(kind, name, dims, array, access, float, read_f, PLAIN_FLOATS.x)
PLAIN_KINDS(READ_PLAINS, ro)
PLAIN_KINDS(READ_PLAINS, rw)
BUFFER_KIND(READ_PLAINS, ro)
BUFFER_KIND(READ_PLAINS, rw)
DEPTH_KINDS(READ_PLAIN_DEPTH, ro)
DEPTH_KINDS(READ_PLAIN_DEPTH, rw)
