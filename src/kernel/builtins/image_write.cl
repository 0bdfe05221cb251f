// Writing images, and asking what they are.
#include "texel.h"

// One channel of four, by a number that is the image's.
#define CHANNEL(T)                                               \
    INNER T channel(T##4 c, int n)                               \
    {                                                            \
        return n == 0 ? c.x : n == 1 ? c.y : n == 2 ? c.z : c.w; \
    }
CHANNEL(float)
CHANNEL(int)
CHANNEL(uint)

// The nearest number of the format, saturated; NaN is 0 there. Floats that are
// to become integers are limited to what both have.
INNER uint bits_of(image i, float x)
{
    if (i->number == HDI_NUMBER_FLOAT)
        return as_uint(x);
    if (i->number == HDI_NUMBER_HALF)
        return half_bits_of(x);
    int most = i->component_size == 1 ? 255 : 65535;
    most = i->number == HDI_NUMBER_SIGNED ? most >> 1 : most;
    float low = i->number == HDI_NUMBER_SIGNED ? (float)-most : 0;
    x = choose(x == x, x * (float)most, 0.0f);
    return (uint)(int)__builtin_rintf(clamp_float(x, low, (float)most));
}

INNER uint bits_of(image i, int x)
{
    int most = i->component_size == 1   ? CHAR_MAX
               : i->component_size == 2 ? SHRT_MAX
                                        : INT_MAX;
    return (uint)clamp_int(x, -most - 1, most);
}

INNER uint bits_of(image i, uint x)
{
    uint most = i->component_size == 1   ? UCHAR_MAX
                : i->component_size == 2 ? USHRT_MAX
                                         : UINT_MAX;
    return choose(x < most, x, most);
}

INNER void store(image i, global uchar *at, int index, uint bits)
{
    global uchar *p = at + index * i->component_size;

    if (i->component_size == 1)
        *p = (uchar)bits;
    else if (i->component_size == 2)
        *(global ushort *)p = (ushort)bits;
    else
        *(global uint *)p = bits;
}

INNER uint packed_channel(image i, float x, int channel)
{
    float most = (float)((1 << i->bits[channel]) - 1);
    return (uint)(int)__builtin_rintf(clamp_float(x * most, 0, most))
           << i->shift[channel];
}

INNER void store_packed(image i, global uchar *at, float4 c)
{
    store(i, at, 0,
          packed_channel(i, c.x, 0) | packed_channel(i, c.y, 1) |
              packed_channel(i, c.z, 2) | packed_channel(i, c.w, 3));
}

#define STORE_ANY(T)                                               \
    INNER void store_any(image i, global uchar *at, T##4 c)        \
    {                                                              \
        store(i, at, 0, bits_of(i, channel(c, i->source[0])));     \
        if (i->components > 1)                                     \
            store(i, at, 1, bits_of(i, channel(c, i->source[1]))); \
        if (i->components > 2) {                                   \
            store(i, at, 2, bits_of(i, channel(c, i->source[2]))); \
            store(i, at, 3, bits_of(i, channel(c, i->source[3]))); \
        }                                                          \
    }
STORE_ANY(float)
STORE_ANY(int)
STORE_ANY(uint)

INNER uint byte_of(float x)
{
    return (uint)(int)__builtin_rintf(clamp_float(x * 255, 0, 255));
}
INNER uint byte_of(uint x)
{
    return choose(x < 255, x, 255u);
}

#define STORE_BYTES(T)                                                \
    INNER void store_bytes(image i, global uchar *at, T##4 c)         \
    {                                                                 \
        c = i->swapped ? c.zyxw : c;                                  \
        *(global uint *)at = byte_of(c.x) | byte_of(c.y) << 8 |       \
                             byte_of(c.z) << 16 | byte_of(c.w) << 24; \
    }
STORE_BYTES(float)
STORE_BYTES(uint)

#define STORE_WORDS(T)                               \
    INNER void store_words(global uchar *at, T##4 c) \
    {                                                \
        global T *p = (global T *)at;                \
        p[0] = c.x;                                  \
        p[1] = c.y;                                  \
        p[2] = c.z;                                  \
        p[3] = c.w;                                  \
    }
STORE_WORDS(float)
STORE_WORDS(int)
STORE_WORDS(uint)

// A texel outside the image is not written.
struct target {
    bool inside;
    int x, y, z;
};

INNER struct target target_of(image i, int4 c)
{
    hdi_image_visit(i, c.x, c.y, c.z, c.w, 2);
    bool inside = ((uint)c.x < (uint)i->width) & ((uint)c.y < (uint)i->height) &
                  ((uint)c.z < (uint)i->depth) & ((uint)c.w < (uint)i->layers);
    return (struct target){inside, c.x, c.y, c.z + c.w};
}

#define AT(layout) texel_at(i, layout, t.x, t.y, t.z)
INNER void write(image i, int4 place, float4 c)
{
    struct target t = target_of(i, place);
    if (!t.inside)
        return;
    if (hdi_image_layout(i) == HDI_LAYOUT_8888)
        store_bytes(i, AT(HDI_LAYOUT_8888), c);
    else if (hdi_image_layout(i) == HDI_LAYOUT_4_X_32)
        store_words(AT(HDI_LAYOUT_4_X_32), c);
    else if (hdi_image_layout(i) == HDI_LAYOUT_32)
        *(global float *)AT(HDI_LAYOUT_32) = c.x;
    else if (hdi_image_layout(i) == HDI_LAYOUT_8)
        *AT(HDI_LAYOUT_8) = (uchar)byte_of(c.x);
    else if (i->number == HDI_NUMBER_PACKED)
        store_packed(i, AT(HDI_LAYOUT_ANY), c);
    else
        store_any(i, AT(HDI_LAYOUT_ANY), c);
}

INNER void write(image i, int4 place, uint4 c)
{
    struct target t = target_of(i, place);
    if (!t.inside)
        return;
    if (hdi_image_layout(i) == HDI_LAYOUT_8888)
        store_bytes(i, AT(HDI_LAYOUT_8888), c);
    else if (hdi_image_layout(i) == HDI_LAYOUT_4_X_32)
        store_words(AT(HDI_LAYOUT_4_X_32), c);
    else if (hdi_image_layout(i) == HDI_LAYOUT_32)
        *(global uint *)AT(HDI_LAYOUT_32) = c.x;
    else if (hdi_image_layout(i) == HDI_LAYOUT_8)
        *AT(HDI_LAYOUT_8) = (uchar)byte_of(c.x);
    else
        store_any(i, AT(HDI_LAYOUT_ANY), c);
}

INNER void write(image i, int4 place, int4 c)
{
    struct target t = target_of(i, place);
    if (!t.inside)
        return;
    if (hdi_image_layout(i) == HDI_LAYOUT_4_X_32)
        store_words(AT(HDI_LAYOUT_4_X_32), c);
    else if (hdi_image_layout(i) == HDI_LAYOUT_32)
        *(global int *)AT(HDI_LAYOUT_32) = c.x;
    else
        store_any(i, AT(HDI_LAYOUT_ANY), c);
}
#undef AT

// The functions ---------------------------------------------------------------

// clang abbreviates coordinates of type int4 when it repeats them.
#define REPEATED_1d        "Dv4_i"
#define REPEATED_1d_buffer "Dv4_i"
#define REPEATED_2d        "Dv4_i"
#define REPEATED_3d        "S0_"
#define REPEATED_1d_array  "Dv4_i"
#define REPEATED_2d_array  "S0_"

#define WRITE(kind, name, access, id, function, T, T_name, value)    \
    NAMED(void, id##_##kind##_##access,                              \
          function name "_" #access INT_NAME_##kind T_name, image i, \
          INT_##kind c, T v)                                         \
    {                                                                \
        write(i, SPREAD_##kind(int4, c), value);                     \
    }
#define WRITES(kind, name, dims, array, access)                                \
    WRITE(kind, name, access, write_f, "_Z12write_imagef", float4, "Dv4_f", v) \
    WRITE(kind, name, access, write_h, "_Z12write_imageh", half4, "Dv4_Dh",    \
          __builtin_convertvector(v, float4))                                  \
    WRITE(kind, name, access, write_i, "_Z12write_imagei", int4,               \
          REPEATED_##kind, v)                                                  \
    WRITE(kind, name, access, write_u, "_Z13write_imageui", uint4, "Dv4_j", v)
#define WRITES_DEPTH(kind, name, dims, array, access)                  \
    WRITE(kind, name, access, write_f, "_Z12write_imagef", float, "f", \
          ((float4)(v, 0, 0, 1)))
PLAIN_KINDS(WRITES, wo)
PLAIN_KINDS(WRITES, rw)
BUFFER_KIND(WRITES, wo)
BUFFER_KIND(WRITES, rw)
DEPTH_KINDS(WRITES_DEPTH, wo)
DEPTH_KINDS(WRITES_DEPTH, rw)

#define ASK(R, kind, name, access, id, function, value)                  \
    NAMED(R, id##_##kind##_##access, function name "_" #access, image i) \
    {                                                                    \
        return value;                                                    \
    }
#define ASK_ALL(kind, name, dims, array, access)                          \
    ASK(int, kind, name, access, width, "_Z15get_image_width", i->width)  \
    ASK(int, kind, name, access, type, "_Z27get_image_channel_data_type", \
        i->type)                                                          \
    ASK(int, kind, name, access, order, "_Z23get_image_channel_order", i->order)
#define ASK_HEIGHT(kind, name, access) \
    ASK(int, kind, name, access, height, "_Z16get_image_height", i->height)
#define ASK_DIM(kind, name, access)                         \
    ASK(int2, kind, name, access, dim, "_Z13get_image_dim", \
        ((int2)(i->width, i->height)))
#define ASK_LAYERS(kind, name, access)                                 \
    ASK(ulong, kind, name, access, layers, "_Z20get_image_array_size", \
        (ulong)i->layers)
#define ASKS(access)                                                    \
    PLAIN_KINDS(ASK_ALL, access)                                        \
    DEPTH_KINDS(ASK_ALL, access)                                        \
    BUFFER_KIND(ASK_ALL, access)                                        \
    ASK_HEIGHT(2d, "14ocl_image2d", access)                             \
    ASK_HEIGHT(3d, "14ocl_image3d", access)                             \
    ASK_HEIGHT(2d_array, "20ocl_image2d_array", access)                 \
    ASK_HEIGHT(2d_depth, "20ocl_image2d_depth", access)                 \
    ASK_HEIGHT(2d_array_depth, "26ocl_image2d_array_depth", access)     \
    ASK(int, 3d, "14ocl_image3d", access, depth, "_Z15get_image_depth", \
        i->depth)                                                       \
    ASK_DIM(2d, "14ocl_image2d", access)                                \
    ASK_DIM(2d_array, "20ocl_image2d_array", access)                    \
    ASK_DIM(2d_depth, "20ocl_image2d_depth", access)                    \
    ASK_DIM(2d_array_depth, "26ocl_image2d_array_depth", access)        \
    ASK(int4, 3d, "14ocl_image3d", access, dim, "_Z13get_image_dim",    \
        ((int4)(i->width, i->height, i->depth, 0)))                     \
    ASK_LAYERS(1d_array, "20ocl_image1d_array", access)                 \
    ASK_LAYERS(2d_array, "20ocl_image2d_array", access)                 \
    ASK_LAYERS(2d_array_depth, "26ocl_image2d_array_depth", access)
ASKS(ro)
ASKS(wo)
ASKS(rw)
