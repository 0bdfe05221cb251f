// The loops over work-items of reference kernels are vectorised: one change of
// metadata or pass order can cost a factor of ten without any wrong result.
#include <stdio.h>

#include "kernel/try.h"

static const char source[] =
    "__kernel void saxpy(__global float *y, __global const float *x, float a,\n"
    "                    uint n) {\n"
    "    uint i = get_global_id(0);\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n"
    "__constant float weights[9] = {1, 8, 28, 56, 70, 56, 28, 8, 1};\n"
    "__kernel void blur(__global const float *in, __global float *out, int w,\n"
    "                   __local float *row) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), l = get_local_id(0);\n"
    "    int n = get_local_size(0);\n"
    "    row[l + 4] = in[y * w + x];\n"
    "    if (l < 4) {\n"
    "        row[l] = in[y * w + max(x - 4, 0)];\n"
    "        row[l + n + 4] = in[y * w + min(x + n, w - 1)];\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < 9; k++) sum += weights[k] * row[l + k];\n"
    "    out[y * w + x] = sum / 256;\n"
    "}\n"
    "__kernel void sample(__global const uchar4 *image, int w, int h,\n"
    "                     __global const float2 *where, __global float4 *out) "
    "{\n"
    "    int i = get_global_id(0);\n"
    "    float2 p = where[i];\n"
    "    float2 q = floor(p), f = p - q;\n"
    "    int x0 = clamp((int)q.x, 0, w - 1), x1 = clamp((int)q.x + 1, 0, w - "
    "1);\n"
    "    int y0 = clamp((int)q.y, 0, h - 1), y1 = clamp((int)q.y + 1, 0, h - "
    "1);\n"
    "    float4 a = convert_float4(image[y0 * w + x0]);\n"
    "    float4 b = convert_float4(image[y0 * w + x1]);\n"
    "    float4 c = convert_float4(image[y1 * w + x0]);\n"
    "    float4 d = convert_float4(image[y1 * w + x1]);\n"
    "    out[i] = mix(mix(a, b, f.x), mix(c, d, f.x), f.y);\n"
    "}\n"
    "__kernel void sample4(__global const float4 *image, int w, int h,\n"
    "                     __global const float2 *where, __global float4 *out) "
    "{\n"
    "    int i = get_global_id(0);\n"
    "    float2 p = where[i];\n"
    "    float2 q = floor(p), f = p - q;\n"
    "    int x0 = clamp((int)q.x, 0, w - 1), x1 = clamp((int)q.x + 1, 0, w - "
    "1);\n"
    "    int y0 = clamp((int)q.y, 0, h - 1), y1 = clamp((int)q.y + 1, 0, h - "
    "1);\n"
    "    float4 a = image[y0 * w + x0], b = image[y0 * w + x1];\n"
    "    float4 c = image[y1 * w + x0], d = image[y1 * w + x1];\n"
    "    out[i] = mix(mix(a, b, f.x), mix(c, d, f.x), f.y);\n"
    "}\n"
    "__kernel void strided(__global float *y, __global const float *x, int n) "
    "{\n"
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        y[i] += x[i];\n"
    "}\n"
    "__kernel void nearest(__global const float *x, __global const float *at,\n"
    "                      __global float *least, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    float d = 1e9f;\n"
    "    for (int k = 0; k < n; k++) d = fmin(d, fabs(x[i] - at[k]));\n"
    "    least[i] = d;\n"
    "}\n"
    "__constant sampler_t linear = CLK_FILTER_LINEAR | CLK_ADDRESS_CLAMP;\n"
    "__kernel void picture(read_only image2d_t image,\n"
    "                      __global const float2 *at, __global float4 *out) {\n"
    "    int i = get_global_id(0);\n"
    "    out[i] = read_imagef(image, linear, at[i]);\n"
    "}\n"
    "__kernel void scale4(__global float4 *x, float a) {\n"
    "    x[get_global_id(0)] *= a;\n"
    "}\n";

// The narrowest vector of the kernel's regions that have work to do.
static unsigned width(const struct hd_program *p, const char *name)
{
    const struct hd_kernel *kernel = hd_program_find(p, name);
    unsigned least = 1000;

    CHECK(kernel);
    const char *text = hd_kernel_info(kernel)->explanation;
    printf("%s:\n%s\n", name, text);
    for (const char *line = strstr(text, "\nregion "); line;
         line = strstr(line + 1, "\nregion ")) {
        unsigned region, w = 1;
        if (strstr(line, "nothing to do") &&
            strstr(line, "nothing to do") < strchr(line + 1, '\n'))
            continue;
        if (sscanf(line, "\nregion %u: vector width %u", &region, &w) < 2)
            w = 1;
        least = w < least ? w : least;
    }
    return least;
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, NULL);
    static const char *const names[] = {"saxpy",   "blur",   "sample",
                                        "sample4", "scale4", "strided",
                                        "nearest", "picture"};

    // The least that every processor with vectors can do.
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK(width(p, names[i]) >= (__builtin_cpu_supports("avx2") ? 8 : 4));
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
