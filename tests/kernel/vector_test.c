// The loops over work-items of reference kernels are vectorised: one change of
// metadata or pass order can cost a factor of ten without any wrong result.
#include "tests/kernel/widths.h"

enum {
    N = 256
};

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

// With barriers, or loops that are longer for some.
static const char lanes[] =
    "__kernel void escape(__global int *to, int w, int most) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), n = 0;\n"
    "    float a = x / 100.0f - 2, b = y / 100.0f - 1, u = 0, v = 0;\n"
    "    while (n < most && u * u + v * v < 4) {\n"
    "        float t = u * u - v * v + a;\n"
    "        v = 2 * u * v + b; u = t; n++;\n"
    "    }\n"
    "    to[y * w + x] = n;\n"
    "}\n"
    "__kernel void total(__global const float *from, __global float *to,\n"
    "                    __local float *part) {\n"
    "    size_t l = get_local_id(0);\n"
    "    part[l] = from[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {\n"
    "        if (l < n) part[l] += part[l + n];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (l == 0) to[get_group_id(0)] = part[0];\n"
    "}\n"
    "__kernel void restless(__global const float *from, __global float *to) {\n"
    "    __local volatile float part[64];\n"
    "    int l = get_local_id(0), k = l & 31;\n"
    "    part[l] = from[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int n = 16; n > 0; n /= 2) {\n"
    "        if (k < n) part[l] += part[l + n];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (k == 0) to[get_global_id(0) / 32] = part[l];\n"
    "}\n"
    "__kernel void sums(__global uint *x, __local uint *part) {\n"
    "    int l = get_local_id(0), size = get_local_size(0);\n"
    "    part[l] = x[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int step = 1; step < size; step *= 2) {\n"
    "        uint before = l >= step ? part[l - step] : 0;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        part[l] += before;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    x[get_global_id(0)] = part[l];\n"
    "}\n"
    "__kernel void pull(__global const float4 *at, __global float *to, int n,\n"
    "                   __local float4 *tile) {\n"
    "    int i = get_global_id(0), l = get_local_id(0);\n"
    "    int size = get_local_size(0);\n"
    "    float mine = at[i].x, sum = 0;\n"
    "    for (int from = 0; from < n; from += size) {\n"
    "        tile[l] = at[from + l];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int k = 0; k < size; k++) {\n"
    "            float d = tile[k].x - mine;\n"
    "            sum += tile[k].w * d * rsqrt(d * d + 1);\n"
    "        }\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    to[i] = sum;\n"
    "}\n"
    "__attribute__((reqd_work_group_size(16, 16, 1)))\n"
    "__kernel void product(__global const float *a, __global const float *b,\n"
    "                      __global float *c, int n) {\n"
    "    __local float p[16][16], q[16][16];\n"
    "    int x = get_local_id(0), y = get_local_id(1);\n"
    "    int column = get_global_id(0), row = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k += 16) {\n"
    "        p[y][x] = a[row * n + k + x];\n"
    "        q[y][x] = b[(k + y) * n + column];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int j = 0; j < 16; j++) sum += p[y][j] * q[j][x];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    c[row * n + column] = sum;\n"
    "}\n"
    "__kernel void order(__global uint *data, __local uint *mine) {\n"
    "    uint l = get_local_id(0), size = get_local_size(0);\n"
    "    mine[l] = data[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint k = 2; k <= size; k *= 2)\n"
    "        for (uint j = k / 2; j > 0; j /= 2) {\n"
    "            uint other = l ^ j;\n"
    "            if (other > l) {\n"
    "                uint a = mine[l], b = mine[other];\n"
    "                if ((a > b) == ((l & k) == 0)) {\n"
    "                    mine[l] = b; mine[other] = a;\n"
    "                }\n"
    "            }\n"
    "            barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        }\n"
    "    data[get_global_id(0)] = mine[l];\n"
    "}\n";

// Where only lanes make vectors, or would not pay for a loop alone.
static const char mixed[] =
    "__kernel void turn(__global const float2 *from, __global float2 *to,\n"
    "                   __local float2 *part, int skip) {\n"
    "    int l = get_local_id(0), size = get_local_size(0);\n"
    "    for (int i = l; i < 2 * size - skip; i += size) part[i] = from[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int n = 1; n < 2 * size; n *= 2) {\n"
    "        int k = l & (n - 1), at = 2 * (l - k) + k;\n"
    "        float angle = -M_PI_F * k / n, c = cos(angle), s = sin(angle);\n"
    "        float2 a = part[at], b = part[at + n];\n"
    "        b = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);\n"
    "        part[at] = a + b;\n"
    "        part[at + n] = a - b;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    to[l] = part[l];\n"
    "}\n"
    "__kernel void butterfly(__global const float2 *x, __global float2 *y,\n"
    "                        int n) {\n"
    "    int i = get_global_id(0), size = get_global_size(0);\n"
    "    int k = i & (n - 1), at = 2 * (i - k) + k;\n"
    "    float angle = -M_PI_F * k / n, c = cos(angle), s = sin(angle);\n"
    "    float2 a = x[i], b = x[i + size];\n"
    "    b = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);\n"
    "    y[at] = a + b;\n"
    "    y[at + n] = a - b;\n"
    "}\n"
    "__kernel void count(__global const float *x, __global int *n) {\n"
    "    if (x[get_global_id(0)] > 0) atomic_inc(n);\n"
    "}\n"
    "__kernel void rows(__global const float *x, __global float *y, int w) {\n"
    "    int i = get_global_id(0);\n"
    "    y[i % w] = x[i / w];\n"
    "}\n"
    "__kernel void own_rows(__global const float *x, __global float *y,\n"
    "                       int w) {\n"
    "    int i = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < w; k++) sum += x[i * w + k];\n"
    "    y[i] = sum;\n"
    "}\n"
    "__kernel void leaps(__global const float *x, __global float *y, int n,\n"
    "                    int by, __local float *part) {\n"
    "    int l = get_local_id(0), groups = get_num_groups(0);\n"
    "    float sum = 0;\n"
    "    int k = get_group_id(0) * 64 + l;\n"
    "    while (k < n) {\n"
    "        sum += x[k * by];\n"
    "        k += 64 * groups;\n"
    "    }\n"
    "    part[l] = sum;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    y[get_global_id(0)] = part[l ^ 1];\n"
    "}\n"
    "__kernel void sparse_columns(__global const float *x,\n"
    "                             __global const int *at,\n"
    "                             __global const int *count,\n"
    "                             __global const float *v,\n"
    "                             __global float *y, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < count[i]; k++)\n"
    "        sum += x[k * n + i] * v[at[k * n + i]];\n"
    "    y[i] = sum;\n"
    "}\n"
    "__kernel void bound(__global const int *x, __global int *most) {\n"
    "    atomic_max(most, x[get_global_id(0)]);\n"
    "}\n";

// Where each work-item alone goes through memory as it lies, for as long as it
// has to, or what LLVM makes vectors of.
static const char alone[] =
    "__kernel void sparse_rows(__global const float *x, __global const int "
    "*at,\n"
    "                          __global const int *begin,\n"
    "                          __global const float *v, __global float *y) {\n"
    "    int i = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = begin[i]; k < begin[i + 1]; k++)\n"
    "        sum += x[k] * v[at[k]];\n"
    "    y[i] = sum;\n"
    "}\n"
    "__kernel void own_counts(__global const int *x, __global int *y, int w) "
    "{\n"
    "    int i = get_global_id(0), sum = 0;\n"
    "    for (int k = 0; k < w; k++) sum += x[i * w + k];\n"
    "    y[i] = sum;\n"
    "}\n"
    "__kernel void sweep(__global float *x, __global const float *a, int w) {\n"
    "    int i = get_global_id(0);\n"
    "    for (int k = 1; k < w; k++)\n"
    "        x[i * w + k] -= x[i * w + k - 1] * a[i * w + k];\n"
    "}\n";

struct reference {
    const char *name;
    unsigned part; // of that width is the least of its regions
};

static void is_vectors(struct try *t, const char *text,
                       const struct reference *kernels, size_t count)
{
    bool named = t->device->can.features != NULL;
    static const struct processor native = {"native", 4};
    size_t kinds = sizeof(processors) / sizeof(processors[0]);

    for (size_t k = 0; k < (named ? kinds : 1); k++) {
        const struct processor *on = named ? &processors[k] : &native;
        struct hd_program *p = build_for(t, text, on->cpu);
        printf("for %s:\n", on->cpu);
        for (size_t i = 0; i < count; i++)
            CHECK(named
                      ? is_wide(p, kernels[i].name, on->width / kernels[i].part)
                      : width(p, kernels[i].name) >=
                            on->width / kernels[i].part);
        hd_program_destroy(p);
    }
}

static void some_go_alone(struct try *t)
{
    static const char *const names[] = {"sparse_rows", "own_counts", "sweep"};
    struct hd_program *p = try_build(t, alone, NULL);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct hd_kernel *kernel = hd_program_find(p, names[i]);
        CHECK(kernel &&
              !strstr(hd_kernel_info(kernel)->explanation, "masked lanes\n"));
    }
    hd_program_destroy(p);
}

// Lanes would each wait for all others.
static void exchanges_are_tried_one_by_one(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const float *x, __global uint *sum) {\n"
        "    float v = x[get_global_id(0)];\n"
        "    uint old, new;\n"
        "    do {\n"
        "        old = *(volatile __global uint *)sum;\n"
        "        new = as_uint(as_float(old) + v);\n"
        "    } while (atomic_cmpxchg(sum, old, new) != old);\n"
        "}\n",
        NULL);
    static float x[N], *px = x, sum, *ps = &sum;

    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    CHECK(width(p, "k") == 1);
    TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {64}, {0}}), TRY_VALUE(px),
            TRY_VALUE(ps));
    CHECK(sum == N * (N - 1) / 2);
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();
    // Texels as float4 are as wide as a vector sooner.
    static const struct reference plain[] = {
        {"saxpy", 1},  {"blur", 1},    {"sample", 2},  {"sample4", 1},
        {"scale4", 2}, {"strided", 1}, {"nearest", 1}, {"picture", 1}};
    static const struct reference masked[] = {
        {"escape", 1}, {"total", 1},   {"restless", 1}, {"sums", 1},
        {"pull", 1},   {"product", 1}, {"order", 1}};
    static const struct reference made[] = {
        {"turn", 1},  {"butterfly", 1}, {"count", 1}, {"rows", 1},
        {"bound", 1}, {"own_rows", 1},  {"leaps", 1}, {"sparse_columns", 1}};

    is_vectors(&t, source, plain, sizeof(plain) / sizeof(plain[0]));
    is_vectors(&t, lanes, masked, sizeof(masked) / sizeof(masked[0]));
    is_vectors(&t, mixed, made, sizeof(made) / sizeof(made[0]));
    some_go_alone(&t);
    exchanges_are_tried_one_by_one(&t);
    try_close(&t);
    return 0;
}
