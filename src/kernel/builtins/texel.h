// Images as builtins see them: where a texel is, and what lies there.
//
// Images and samplers are pointers and numbers here: the compiler makes them so
// in programs, and clang's names of the functions are written out. Choices that
// depend on the image or the sampler alone are branches, since all work-items
// take the same one; all others are selects. No coordinate, NaN included, leads
// to memory outside the image.
#ifndef HDI_BUILTINS_TEXEL_H
#define HDI_BUILTINS_TEXEL_H

#include "../image.h"
#include "real.h"

typedef constant struct hdi_image *image;

// Its layout. Alone in asking: the compiler lets it say one of them, for a
// version of the kernel that is for such images.
int hdi_image_layout(image i);

// A texel that the kernel itself is to keep inside the image is touched: reads
// 1, writes 2. Of kernels that are built for checking, the checker hears of it.
void hdi_image_visit(image i, int x, int y, int z, int layer, int how);

// A builtin under clang's name for it.
#define NAMED(R, id, name, ...)      \
    R id(__VA_ARGS__) __asm__(name); \
    __attribute__((always_inline)) R id(__VA_ARGS__)

// The kinds: X(kind, mangled name, dimensions, is an array, ...).
#define PLAIN_KINDS(X, ...)                                  \
    X(1d, "14ocl_image1d", 1, false, __VA_ARGS__)            \
    X(2d, "14ocl_image2d", 2, false, __VA_ARGS__)            \
    X(3d, "14ocl_image3d", 3, false, __VA_ARGS__)            \
    X(1d_array, "20ocl_image1d_array", 1, true, __VA_ARGS__) \
    X(2d_array, "20ocl_image2d_array", 2, true, __VA_ARGS__)
#define DEPTH_KINDS(X, ...)                                   \
    X(2d_depth, "20ocl_image2d_depth", 2, false, __VA_ARGS__) \
    X(2d_array_depth, "26ocl_image2d_array_depth", 2, true, __VA_ARGS__)
#define BUFFER_KIND(X, ...) \
    X(1d_buffer, "21ocl_image1d_buffer", 1, false, __VA_ARGS__)

// Coordinates as the user gives them, by kind: type, clang's name, and as x, y,
// z and layer.
#define FLOAT_1d             float
#define FLOAT_2d             float2
#define FLOAT_3d             float4
#define FLOAT_1d_array       float2
#define FLOAT_2d_array       float4
#define FLOAT_2d_depth       float2
#define FLOAT_2d_array_depth float4
#define INT_1d               int
#define INT_1d_buffer        int
#define INT_2d               int2
#define INT_3d               int4
#define INT_1d_array         int2
#define INT_2d_array         int4
#define INT_2d_depth         int2
#define INT_2d_array_depth   int4

#define FLOAT_NAME_1d             "f"
#define FLOAT_NAME_2d             "Dv2_f"
#define FLOAT_NAME_3d             "Dv4_f"
#define FLOAT_NAME_1d_array       "Dv2_f"
#define FLOAT_NAME_2d_array       "Dv4_f"
#define FLOAT_NAME_2d_depth       "Dv2_f"
#define FLOAT_NAME_2d_array_depth "Dv4_f"
#define INT_NAME_1d               "i"
#define INT_NAME_1d_buffer        "i"
#define INT_NAME_2d               "Dv2_i"
#define INT_NAME_3d               "Dv4_i"
#define INT_NAME_1d_array         "Dv2_i"
#define INT_NAME_2d_array         "Dv4_i"
#define INT_NAME_2d_depth         "Dv2_i"
#define INT_NAME_2d_array_depth   "Dv4_i"

#define SPREAD_1d(T, c)             ((T)(c, 0, 0, 0))
#define SPREAD_1d_buffer(T, c)      ((T)(c, 0, 0, 0))
#define SPREAD_2d(T, c)             ((T)(c.x, c.y, 0, 0))
#define SPREAD_3d(T, c)             ((T)(c.x, c.y, c.z, 0))
#define SPREAD_1d_array(T, c)       ((T)(c.x, 0, 0, c.y))
#define SPREAD_2d_array(T, c)       ((T)(c.x, c.y, 0, c.z))
#define SPREAD_2d_depth(T, c)       ((T)(c.x, c.y, 0, 0))
#define SPREAD_2d_array_depth(T, c) ((T)(c.x, c.y, 0, c.z))

INNER float of_half_bits(uint bits)
{
    ushort h = (ushort)bits;
    return __builtin_load_halff((const half *)&h);
}

INNER uint half_bits_of(float x)
{
    ushort h;
    __builtin_store_halff(x, (half *)&h);
    return h;
}

// NaN becomes `low`.
INNER float clamp_float(float x, float low, float high)
{
    x = choose(x > low, x, low);
    return choose(x < high, x, high);
}

INNER int clamp_int(int x, int low, int high)
{
    x = choose(x > low, x, low);
    return choose(x < high, x, high);
}

// In bytes; constant where the layout says so: then neighbours are read side by
// side.
INNER int texel_size(image i, int layout)
{
    switch (layout) {
    case HDI_LAYOUT_8:
        return 1;
    case HDI_LAYOUT_8888:
    case HDI_LAYOUT_32:
        return 4;
    case HDI_LAYOUT_4_X_32:
        return 16;
    default:
        return i->texel_size;
    }
}

// The address of a texel inside the image. In bytes, of 32 bits where the
// layout says that they are enough: then gathers take half the time.
INNER global uchar *texel_at(image i, int layout, int x, int y, int z)
{
    if (layout != HDI_LAYOUT_ANY)
        return i->texels + (x * texel_size(i, layout) + y * (int)i->row +
                            z * (int)i->slice);
    return i->texels + ((long)x * i->texel_size + (long)y * (long)i->row +
                        (long)z * (long)i->slice);
}

#endif
