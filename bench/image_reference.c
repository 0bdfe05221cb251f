#include "bench/image_reference.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SIMD _Pragma("omp simd")

typedef float float4 __attribute__((vector_size(16)));
typedef uint8_t uchar4 __attribute__((vector_size(4)));

// Four texels and their weights.
struct corners {
    int at[4]; // [texels]
    float weight[4];
};

static inline struct corners corners_of(int size, float x, float y)
{
    float u = x - 0.5f, v = y - 0.5f;
    float left = floorf(u), top = floorf(v);
    float a = u - left, b = v - top, last = (float)(size - 1);
    int x0 = (int)fminf(fmaxf(left, 0), last);
    int y0 = (int)fminf(fmaxf(top, 0), last);
    int x1 = (int)fminf(fmaxf(left + 1, 0), last);
    int y1 = (int)fminf(fmaxf(top + 1, 0), last);
    return (struct corners){
        {y0 * size + x0, y0 * size + x1, y1 * size + x0, y1 * size + x1},
        {(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b}};
}

static inline float shade(float r, float g, float b, float a)
{
    return 0.3f * r + 0.5f * g + 0.1f * b + 0.1f * a;
}

void image_bytes_wide(const void *from, float *to, int size, float c, float s)
{
    const uint32_t *texels = from;

    for (int y = 0; y < size; y++)
        SIMD for (int x = 0; x < size; x++)
        {
            float fx = (float)x, fy = (float)y;
            struct corners at =
                corners_of(size, c * fx - s * fy, s * fx + c * fy);
            float r = 0, g = 0, b = 0, a = 0;
            for (int i = 0; i < 4; i++) {
                uint32_t t = texels[at.at[i]];
                r += at.weight[i] * (float)(int)(t & 255);
                g += at.weight[i] * (float)(int)(t >> 8 & 255);
                b += at.weight[i] * (float)(int)(t >> 16 & 255);
                a += at.weight[i] * (float)(int)(t >> 24);
            }
            to[y * size + x] = shade(r, g, b, a) * (1.0f / 255);
        }
}

void image_floats_wide(const void *from, float *to, int size, float c, float s)
{
    const float *texels = from;

    for (int y = 0; y < size; y++)
        SIMD for (int x = 0; x < size; x++)
        {
            float fx = (float)x, fy = (float)y;
            struct corners at =
                corners_of(size, c * fx - s * fy, s * fx + c * fy);
            float r = 0, g = 0, b = 0, a = 0;
            for (int i = 0; i < 4; i++) {
                const float *t = texels + 4 * at.at[i];
                r += at.weight[i] * t[0];
                g += at.weight[i] * t[1];
                b += at.weight[i] * t[2];
                a += at.weight[i] * t[3];
            }
            to[y * size + x] = shade(r, g, b, a);
        }
}

void image_float_wide(const void *from, float *to, int size, float c, float s)
{
    const float *texels = from;

    for (int y = 0; y < size; y++)
        SIMD for (int x = 0; x < size; x++)
        {
            float fx = (float)x, fy = (float)y;
            struct corners at =
                corners_of(size, c * fx - s * fy, s * fx + c * fy);
            float r = 0;
            for (int i = 0; i < 4; i++)
                r += at.weight[i] * texels[at.at[i]];
            to[y * size + x] = shade(r, 0, 0, 1);
        }
}

static inline float shade_vector(float4 color)
{
    color *= (float4){0.3f, 0.5f, 0.1f, 0.1f};
    return color[0] + color[1] + color[2] + color[3];
}

void image_bytes(const void *from, float *to, int size, float c, float s)
{
    const uchar4 *texels = from;

    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            float fx = (float)x, fy = (float)y;
            struct corners at =
                corners_of(size, c * fx - s * fy, s * fx + c * fy);
            float4 color = {0};
            for (int i = 0; i < 4; i++)
                color += at.weight[i] *
                         __builtin_convertvector(texels[at.at[i]], float4);
            to[y * size + x] = shade_vector(color) * (1.0f / 255);
        }
}

void image_floats(const void *from, float *to, int size, float c, float s)
{
    const float4 *texels = from;

    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            float fx = (float)x, fy = (float)y;
            struct corners at =
                corners_of(size, c * fx - s * fy, s * fx + c * fy);
            float4 color = {0};
            for (int i = 0; i < 4; i++)
                color += at.weight[i] * texels[at.at[i]];
            to[y * size + x] = shade_vector(color);
        }
}
