// Every way to read, write and ask about every kind of image.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define FLOAT_1d          at[g].x
#define FLOAT_2d          at[g].xy
#define FLOAT_3d          at[g]
#define FLOAT_1d_array    at[g].xy
#define FLOAT_2d_array    at[g]
#define INT_1d            (int)at[g].x
#define INT_1d_buffer     (int)at[g].x
#define INT_2d            convert_int2(at[g].xy)
#define INT_3d            convert_int4(at[g])
#define INT_1d_array      convert_int2(at[g].xy)
#define INT_2d_array      convert_int4(at[g])

#define PLAIN_KINDS(X, ...)                                      \
    X(1d, image1d_t, __VA_ARGS__)                                \
    X(2d, image2d_t, __VA_ARGS__)                                \
    X(3d, image3d_t, __VA_ARGS__)                                \
    X(1d_array, image1d_array_t, __VA_ARGS__)                    \
    X(2d_array, image2d_array_t, __VA_ARGS__)
#define ALL_KINDS(X, ...)       \
    PLAIN_KINDS(X, __VA_ARGS__) \
    X(1d_buffer, image1d_buffer_t, __VA_ARGS__)

// T read(image, at)
#define READ(kind, I, T, read, name, ...)                                  \
    kernel void name##_##kind(read_only I i, sampler_t s,                  \
                              global const float4 *at, global T *out)      \
    {                                                                      \
        size_t g = get_global_id(0);                                       \
        out[g] = read(__VA_ARGS__);                                        \
    }
#define READS(kind, I, unused)                                      \
    READ(kind, I, float4, read_imagef, float, i, s, FLOAT_##kind)   \
    READ(kind, I, int4, read_imagei, int, i, s, FLOAT_##kind)       \
    READ(kind, I, uint4, read_imageui, uint, i, s, FLOAT_##kind)    \
    READ(kind, I, float4, read_imagef, float_at, i, s, INT_##kind)  \
    READ(kind, I, int4, read_imagei, int_at, i, s, INT_##kind)      \
    READ(kind, I, uint4, read_imageui, uint_at, i, s, INT_##kind)
#define PLAIN_READ(kind, I, T, read, name)                                 \
    kernel void name##_##kind(read_only I i, global const float4 *at,      \
                              global T *out)                               \
    {                                                                      \
        size_t g = get_global_id(0);                                       \
        out[g] = read(i, INT_##kind);                                      \
    }
#define HALF_READ(kind, I, unused)                                           \
    kernel void half_##kind(read_only I i, sampler_t s,                      \
                            global const float4 *at, global float4 *out)     \
    {                                                                        \
        size_t g = get_global_id(0);                                         \
        out[g] = convert_float4(read_imageh(i, s, FLOAT_##kind));            \
    }
#define HALF_WRITE(kind, I, unused)                                          \
    kernel void write_half_##kind(write_only I i, global const float4 *at,   \
                                  global const float4 *in)                   \
    {                                                                        \
        size_t g = get_global_id(0);                                         \
        write_imageh(i, INT_##kind, convert_half4(in[g]));                   \
    }
#define PLAIN_READS(kind, I, unused)                         \
    PLAIN_READ(kind, I, float4, read_imagef, float_plain)    \
    PLAIN_READ(kind, I, int4, read_imagei, int_plain)        \
    PLAIN_READ(kind, I, uint4, read_imageui, uint_plain)

#define WRITE(kind, I, T, write, name)                                     \
    kernel void name##_##kind(write_only I i, global const float4 *at,     \
                              global const T *in)                          \
    {                                                                      \
        size_t g = get_global_id(0);                                       \
        write(i, INT_##kind, in[g]);                                       \
    }
#define WRITES(kind, I, unused)                         \
    WRITE(kind, I, float4, write_imagef, write_float)   \
    WRITE(kind, I, int4, write_imagei, write_int)       \
    WRITE(kind, I, uint4, write_imageui, write_uint)

// Red and green change places.
#define BOTH(kind, I, unused)                                             \
    kernel void both_##kind(read_write I i, global const float4 *at)      \
    {                                                                     \
        size_t g = get_global_id(0);                                      \
        float4 c = read_imagef(i, INT_##kind);                            \
        write_imagef(i, INT_##kind, c.yxzw);                              \
    }

#ifdef READING
PLAIN_KINDS(READS, )
ALL_KINDS(PLAIN_READS, )
PLAIN_KINDS(HALF_READ, )
kernel void float_2d_depth(read_only image2d_depth_t i, sampler_t s,
                           global const float4 *at, global float4 *out)
{
    size_t g = get_global_id(0);
    out[g] = (float4)(read_imagef(i, s, at[g].xy), 0, 0, 1);
}
kernel void float_2d_array_depth(read_only image2d_array_depth_t i, sampler_t s,
                                 global const float4 *at, global float4 *out)
{
    size_t g = get_global_id(0);
    out[g] = (float4)(read_imagef(i, s, at[g]), 0, 0, 1);
}
#endif
#ifdef WRITING
ALL_KINDS(WRITES, )
ALL_KINDS(BOTH, )
ALL_KINDS(HALF_WRITE, )
kernel void sum_2d(read_only image2d_t a, read_only image2d_t b,
                   write_only image2d_t c, global const float4 *at)
{
    size_t g = get_global_id(0);
    write_imagef(c, INT_2d, read_imagef(a, INT_2d) + read_imagef(b, INT_2d));
}
kernel void write_float_2d_depth(write_only image2d_depth_t i,
                                 global const float4 *at,
                                 global const float4 *in)
{
    size_t g = get_global_id(0);
    write_imagef(i, INT_2d, in[g].x);
}
#endif
#ifdef CONSTANT
// The sampler is in the kernel: SAMPLER.
constant sampler_t fixed = SAMPLER;
kernel void constant_2d(read_only image2d_t i, global const float4 *at,
                        global float4 *out)
{
    size_t g = get_global_id(0);
    out[g] = read_imagef(i, fixed, at[g].xy);
}
#endif
#ifdef ASKING
#define ASK(kind, I, unused)                                            \
    kernel void ask_##kind(read_only I a, write_only I b,               \
                           read_write I c, global int *out)             \
    {                                                                   \
        out[0] = get_image_width(a);                                    \
        out[1] = get_image_channel_data_type(b);                        \
        out[2] = get_image_channel_order(c);                            \
        out[3] = HEIGHT_##kind;                                         \
        out[4] = DEPTH_##kind;                                          \
        out[5] = LAYERS_##kind;                                         \
        out[6] = DIM_##kind;                                            \
    }
#define HEIGHT_1d        1
#define HEIGHT_1d_buffer 1
#define HEIGHT_1d_array  1
#define HEIGHT_2d        get_image_height(b)
#define HEIGHT_3d        get_image_height(c)
#define HEIGHT_2d_array  get_image_height(a)
#define DEPTH_1d         1
#define DEPTH_1d_buffer  1
#define DEPTH_1d_array   1
#define DEPTH_2d         1
#define DEPTH_3d         get_image_depth(a)
#define DEPTH_2d_array   1
#define LAYERS_1d        1
#define LAYERS_1d_buffer 1
#define LAYERS_2d        1
#define LAYERS_3d        1
#define LAYERS_1d_array  (int)get_image_array_size(c)
#define LAYERS_2d_array  (int)get_image_array_size(b)
#define DIM_1d           0
#define DIM_1d_buffer    0
#define DIM_1d_array     0
#define DIM_2d           get_image_dim(a).y * 1000 + get_image_dim(a).x
#define DIM_2d_array     get_image_dim(b).y * 1000 + get_image_dim(b).x
#define DIM_3d           get_image_dim(c).z * 1000 + get_image_dim(c).x
ALL_KINDS(ASK, )
#endif
