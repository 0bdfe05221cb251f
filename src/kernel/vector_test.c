// The loops over work-items of reference kernels are vectorised: one change of
// metadata or pass order can cost a factor of ten without any wrong result. And
// where vectors rest on what is only seen while running, they are right.
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

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

static bool line_has(const char *line, const char *text)
{
    const char *at = strstr(line, text);
    return at && at < strchr(line, '\n');
}

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
        if (line_has(line + 1, "nothing to do") ||
            line_has(line + 1, "one work-item of each row"))
            continue;
        if (sscanf(line, "\nregion %u: vector width %u", &region, &w) < 2)
            w = 1;
        least = w < least ? w : least;
    }
    return least;
}

// For a processor that need not be the one at hand.
static struct hd_program *build_for(struct try *t, const char *text,
                                    const char *cpu)
{
    const struct hd_program_params params = {
        .path = "test.cl", .source = text, .cpus = cpu};
    struct hd_error error;
    struct hd_program *p;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    return p;
}

// Of each kind of vectors there is, on every machine that can make them; on
// others of its own.
static const struct processor {
    const char *cpu;
    unsigned width; // of a vector of numbers of 32 bits
} processors[] = {{"x86-64-v2", 4}, {"x86-64-v3", 8}, {"x86-64-v4", 16}};

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
            CHECK(width(p, kernels[i].name) >= on->width / kernels[i].part);
        hd_program_destroy(p);
    }
}

enum {
    N = 256
};

// Lanes whose index wraps have neighbours elsewhere.
static void indices_may_wrap(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, uint from, uint n, int rounds) {\n"
        "    for (int r = 0; r < rounds; r++) {\n"
        "        uint i = (uint)get_global_id(0) + from;\n"
        "        if (i < n) x[i] += 1;\n"
        "    }\n"
        "}\n",
        NULL);
    static int x[N], *px = x;
    int rounds = 3;

    for (uint32_t below = 0; below < 40; below++) {
        uint32_t from = 0 - below, n = N;
        memset(x, 0, sizeof(x));
        TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {64}, {0}}),
                TRY_VALUE(px), TRY_VALUE(from), TRY_VALUE(n),
                TRY_VALUE(rounds));
        for (uint32_t i = 0; i < N; i++)
            CHECK(x[i] == (i < N - below ? rounds : 0));
    }
    hd_program_destroy(p);
}

// Ids that are narrowed, widened again and masked far from where they are asked
// for: a sum over a square of a size that is not known.
static void narrowed_ids_keep_their_step(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const int *from, __global int *to, int w,\n"
        "                int h, int r) {\n"
        "    int x = get_global_id(0), y = get_global_id(1), sum = 0;\n"
        "    if (x < r || y < r || x >= w - r || y >= h - r) return;\n"
        "    for (int j = -r; j <= r; j++)\n"
        "        for (int i = -r; i <= r; i++)\n"
        "            sum += from[(y + j) * w + x + i];\n"
        "    to[y * w + x] = sum;\n"
        "}\n",
        NULL);
    enum {
        W = 53,
        H = 19
    };
    static int from[W * H], to[W * H], *pf = from, *pt = to;
    int w = W, h = H;

    for (int i = 0; i < W * H; i++)
        from[i] = i * i % 1009;
    for (int r = 0; r < 4; r++) {
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "k", ((struct try_range){2, {W, H}, {8, 4}, {0}}),
                TRY_VALUE(pf), TRY_VALUE(pt), TRY_VALUE(w), TRY_VALUE(h),
                TRY_VALUE(r));
        for (int y = r; y < H - r; y++)
            for (int x = r; x < W - r; x++) {
                int sum = 0;
                for (int j = -r; j <= r; j++)
                    for (int i = -r; i <= r; i++)
                        sum += from[(y + j) * W + x + i];
                CHECK(to[y * W + x] == sum);
            }
    }
    hd_program_destroy(p);
}

// Whether code has instructions of AVX2 or AVX-512 that load from scattered
// addresses.
static bool gathers(const unsigned char *code, size_t size)
{
    for (size_t i = 0; i + 7 < size; i++) {
        bool is_evex = code[i] == 0x62;
        const unsigned char *rest = code + i + 3 + is_evex;
        if ((is_evex || code[i] == 0xc4) && (code[i + 1] & 7) == 2 &&
            (code[i + 2] & 3) == 1 && rest[0] >= 0x90 && rest[0] <= 0x93 &&
            (rest[1] & 7) == 4 && rest[1] < 0xc0)
            return true;
    }
    return false;
}

static bool has_gathers(struct try *t, const char *text, const char *cpu)
{
    struct hd_program *p = build_for(t, text, cpu);
    struct hd_error error;
    void *binary;
    size_t size;

    CHECK_OK(hd_program_binary(p, &binary, &size, &error), error);
    bool found = gathers(binary, size);
    free(binary);
    hd_program_destroy(p);
    return found;
}

// What is a constant away from an int that holds an id is still of neighbours.
static void ids_keep_their_step_beside_constants(struct try *t)
{
    static const char sum[] =
        "__attribute__((reqd_work_group_size(256, 1, 1)))\n"
        "__kernel void k(__global const float *from, __global float *to,\n"
        "                __global float *part) {\n"
        "    int l = get_local_id(0);\n"
        "    part[l] = from[get_global_id(0)];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int n = 128; n > 0; n >>= 1) {\n"
        "        if (l < n) part[l] += part[l + n];\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    if (l == 0) to[get_group_id(0)] = part[0];\n"
        "}\n";
    static const char scattered[] =
        "__kernel void k(__global const int *from,\n"
        "                __global const int *at, __global int *to) {\n"
        "    int i = get_global_id(0), l = get_local_id(0);\n"
        "    to[i] = from[at[i + l]];\n"
        "}\n";

    if (!t->device->can.features) {
        puts("not looked for: gathers, which only x86-64 has here");
        return;
    }
    CHECK(!has_gathers(t, sum, "x86-64-v3"));
    CHECK(!has_gathers(t, sum, "x86-64-v4"));
    // Else the test would see none.
    CHECK(has_gathers(t, scattered, "x86-64-v4"));
}

// Vectors under masks stop before the end of local memory: those that do not
// are gathered and scattered.
static void vectors_stay_inside_local_memory(struct try *t)
{
    static const char read[] =
        "__kernel void k(__global float *x, __local float *part) {\n"
        "    int l = get_local_id(0);\n"
        "    part[l] = x[l];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (x[l + 64] > 0) x[l] = part[l + 1];\n"
        "}\n";

    if (!t->device->can.features)
        return;
    CHECK(has_gathers(t, read, "x86-64-v4"));
}

// What lanes read and write there is what is there, wherever it ends.
static void the_end_of_local_memory_is_used(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, __local int *part, int step) {\n"
        "    int l = get_local_id(0), n = get_local_size(0);\n"
        "    part[l] = l;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    int next = l + step < n && l % 3 ? part[l + step] : -1;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l + step < n && l % 3) part[l + step] = 1000 * l + next;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    x[get_global_id(0)] = part[l];\n"
        "}\n",
        NULL);
    static int x[N], *px = x;

    for (size_t size = 1; size <= 70; size++)
        for (int step = 0; step < 20; step++) {
            memset(x, 0, sizeof(x));
            TRY_RUN(t, p, "k", ((struct try_range){1, {size * 3}, {size}, {0}}),
                    TRY_VALUE(px), TRY_LOCAL(size * sizeof(int)),
                    TRY_VALUE(step));
            for (int i = 0; i < (int)size * 3; i++) {
                int at = i % (int)size, from = at - step;
                CHECK(x[i] == (from >= 0 && from % 3 ? 1000 * from + at : at));
            }
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

// What lanes bring together for one place is what each would have done.
static void updates_of_one_place_are_folded(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const int *x, __global int *to,\n"
        "                __local int *part, int limit) {\n"
        "    int l = get_local_id(0), v = x[get_global_id(0)];\n"
        "    volatile __global uint *bits = (volatile __global uint *)to;\n"
        "    if (l < 9) part[l] = l == 3 ? -1 : l == 4 ? INT_MAX :\n"
        "                         l == 5 ? INT_MIN : 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (v < limit) {\n"
        "        atomic_add(&to[0], v);\n"
        "        atomic_sub(&to[1], v);\n"
        "        atomic_inc(&to[2]);\n"
        "        atomic_and(&to[3], v);\n"
        "        atomic_min(&to[4], v);\n"
        "        atomic_max(&to[5], v);\n"
        "        atomic_or(&to[6], v);\n"
        "        atomic_xor(&to[7], v);\n"
        "        atomic_max(&bits[8], (uint)v);\n"
        "        atomic_min(&bits[9], (uint)v);\n"
        "        atomic_add(&part[0], v);\n"
        "        atomic_sub(&part[1], v);\n"
        "        atomic_inc(&part[2]);\n"
        "        atomic_and(&part[3], v);\n"
        "        atomic_min(&part[4], v);\n"
        "        atomic_max(&part[5], v);\n"
        "        atomic_or(&part[6], v);\n"
        "        atomic_xor(&part[7], v);\n"
        "    }\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l < 8) to[10 + l] = part[l];\n"
        "}\n",
        NULL);
    static int32_t x[N], *px = x, to[18], *pt = to;
    const struct hd_kernel *kernel = hd_program_find(p, "k");

    CHECK(!strstr(hd_kernel_info(kernel)->explanation, "an atomic operation"));
    for (int size = 9; size <= N; size += 13)
        for (int limit = -40; limit < 40; limit += 7) {
            const int32_t start[10] = {1, 2, 3, -1, 50, -50, 0, 5, 7, -1};
            int32_t is[18], *own = is + 10;
            memcpy(to, start, sizeof(start));
            memcpy(is, start, sizeof(start));
            memcpy(own, (const int32_t[8]){0, 0, 0, -1, INT32_MAX, INT32_MIN},
                   8 * sizeof(*own));
            for (int i = 0; i < size; i++) {
                int32_t v = x[i] = i * 37 % 101 - 50;
                if (v >= limit)
                    continue;
                for (int32_t *at = is; at <= own; at += 10) {
                    at[0] += v;
                    at[1] -= v;
                    at[2]++;
                    at[3] &= v;
                    at[4] = v < at[4] ? v : at[4];
                    at[5] = v > at[5] ? v : at[5];
                    at[6] |= v;
                    at[7] ^= v;
                }
                is[8] = (uint32_t)v > (uint32_t)is[8] ? v : is[8];
                is[9] = (uint32_t)v < (uint32_t)is[9] ? v : is[9];
            }
            TRY_RUN(
                t, p, "k",
                ((struct try_range){1, {(size_t)size}, {(size_t)size}, {0}}),
                TRY_VALUE(px), TRY_VALUE(pt), TRY_LOCAL(9 * sizeof(int)),
                TRY_VALUE(limit));
            CHECK(memcmp(to, is, sizeof(is)) == 0);
        }
    hd_program_destroy(p);
}

// By one number that is not known before: multiplied by what comes from it.
static void quotients_are_exact(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const uint *x, __global uint *to, uint d,\n"
        "                int e) {\n"
        "    size_t i = get_global_id(0), n = get_global_size(0);\n"
        "    uint v = x[i];\n"
        "    int s = (int)v;\n"
        "    to[i] = v / d;\n"
        "    to[i + n] = v % d;\n"
        "    if (e != -1 || s != INT_MIN) {\n"
        "        to[i + 2 * n] = s / e;\n"
        "        to[i + 3 * n] = s % e;\n"
        "    }\n"
        "}\n",
        NULL);
    static uint32_t x[N], *px = x, to[4 * N], *pt = to;
    uint32_t d = 1;

    CHECK(width(p, "k") > 1);
    for (int i = 0; i < N; i++)
        x[i] = i < 64   ? (uint32_t)i
               : i < 96 ? UINT32_C(1) << (i - 64)
               : i < 128
                   ? (UINT32_C(1) << (i - 96)) - 1
                   : UINT32_MAX - (uint32_t)(i - 128) * (uint32_t)i * 4099;
    for (int r = 0; r < 400; r++) {
        // Small ones, those around powers of 2, and any.
        d = r < 40    ? (uint32_t)r + 1
            : r < 136 ? (UINT32_C(1) << (r / 3 % 32)) + (uint32_t)(r % 3) - 1
                      : d * 1664525 + 1013904223;
        if (d == 0)
            d = UINT32_MAX;
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "k", ((struct try_range){1, {N - 3}, {64}, {0}}),
                TRY_VALUE(px), TRY_VALUE(pt), TRY_VALUE(d), TRY_VALUE(d));
        for (int i = 0; i < N - 3; i++) {
            int32_t s = (int32_t)x[i], e = (int32_t)d;
            CHECK(to[i] == x[i] / d);
            CHECK(to[i + N - 3] == x[i] % d);
            if (e == -1 && s == INT32_MIN)
                continue;
            CHECK((int32_t)to[i + 2 * (N - 3)] == s / e);
            CHECK((int32_t)to[i + 3 * (N - 3)] == s % e);
        }
    }
    hd_program_destroy(p);
}

// Where there are no instructions for halves, bit by bit as where there are.
static void halves_need_no_instructions(struct try *t)
{
    static const char text[] =
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "kernel void k(global const ushort *h, global float *f,\n"
        "              global const uint *s, global ushort *fromf,\n"
        "              global const ulong *d, global ushort *fromd) {\n"
        "    size_t i = get_global_id(0);\n"
        "    f[i] = (float)as_half(h[i]);\n"
        "    fromf[i] = as_ushort((half)as_float(s[i]));\n"
        "    fromd[i] = as_ushort((half)as_double(d[i]));\n"
        "}\n";
    enum {
        COUNT = 65536
    };
    static uint16_t h[COUNT], fromf[2][COUNT], fromd[2][COUNT], *ph = h;
    static uint32_t f[2][COUNT], s[COUNT], *ps = s;
    static uint64_t d[COUNT], *pd = d;
    static const char *const cpus[] = {"native", "x86-64"};
    uint64_t random = 1;

    if (!t->device->can.features || !strstr(t->device->can.features, " f16c"))
        return;
    for (uint32_t i = 0; i < COUNT; i++) {
        // Exponents of halves and a little more; most lie at or beside the
        // middle of two halves.
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t sign = i & 1, exponent = 127 - 30 + i / 2 % 50;
        uint32_t top = (uint32_t)(random >> 53), low = i / 100 % 3;
        h[i] = (uint16_t)i;
        s[i] =
            sign << 31 | exponent << 23 | top << 12 | (low == 2 ? 0xfff : low);
        d[i] = (uint64_t)sign << 63 | (uint64_t)(exponent + 896) << 52 |
               (uint64_t)top << 41 | (low == 2 ? 0x1ffffffffff : low);
        if (i % 8192 > 8100) // infinities and others at the end of the range
            s[i] = sign << 31 | (0x7f800000 + (i % 4) * 0x2000);
    }
    for (int c = 0; c < 2; c++) {
        struct hd_program *p = build_for(t, text, cpus[c]);
        uint32_t *pf = f[c];
        uint16_t *pff = fromf[c], *pfd = fromd[c];
        TRY_RUN(t, p, "k", ((struct try_range){1, {COUNT}, {256}, {0}}),
                TRY_VALUE(ph), TRY_VALUE(pf), TRY_VALUE(ps), TRY_VALUE(pff),
                TRY_VALUE(pd), TRY_VALUE(pfd));
        hd_program_destroy(p);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(f[0][i] == f[1][i]);
        CHECK(fromf[0][i] == fromf[1][i]);
        CHECK(fromd[0][i] == fromd[1][i]);
    }
}

// Chunks that a limit keeps out are left out, those behind the limit only.
static void limits_hold(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, __local int *part, int limit) {\n"
        "    int l = get_local_id(0);\n"
        "    part[l] = l;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l < limit) part[l] += 1000;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    x[get_global_id(0)] = part[l];\n"
        "}\n",
        NULL);
    static int x[N], *px = x;

    for (int limit = -1; limit < 70; limit++) {
        memset(x, 0, sizeof(x));
        TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {64}, {0}}),
                TRY_VALUE(px), TRY_LOCAL(64 * sizeof(int)), TRY_VALUE(limit));
        for (int i = 0; i < N; i++)
            CHECK(x[i] == i % 64 + (i % 64 < limit ? 1000 : 0));
    }
    hd_program_destroy(p);
}

static const char together[] =
    "__kernel void columns(__global const uchar *x, __global uint *sums, int w,"
    "\n"
    "                      int h) {\n"
    "    uint i = get_global_id(0), sum = 0;\n"
    "    for (int y = 0; y < h; y++) sum = 3 * sum + x[y * w + i];\n"
    "    sums[i] = sum;\n"
    "}\n"
    "__kernel void average(__global const uchar *x, __global uint *sums, int w,"
    "\n"
    "                      int h) {\n"
    "    int i = get_global_id(0);\n"
    "    uint sum = 0;\n"
    "    for (int y = 0; y < h; y++) sum = 3 * sum + x[y * w + i] / (y + 1);\n"
    "    sums[i] = sum;\n"
    "}\n";

// Where all go round a short loop and touch neighbours, chunks are of some
// vectors; those that are left at the end of a row of one.
static void short_loops_take_some_vectors(struct try *t)
{
    enum {
        MOST = 200,
        ROWS = 9
    };
    static unsigned char x[MOST * ROWS], *px = x;
    static uint32_t sums[MOST], *psums = sums;
    int w = MOST, h = ROWS;

    for (size_t k = 0; t->device->can.features && k < 3; k++) {
        struct hd_program *p = build_for(t, together, processors[k].cpu);
        CHECK(width(p, "columns") == 4 * processors[k].width);
        CHECK(width(p, "average") == processors[k].width);
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, together, NULL);
    for (int i = 0; i < MOST * ROWS; i++)
        x[i] = (unsigned char)(i * i % 251);
    for (uint64_t n = 1; n <= MOST; n += 1 + n % 7) {
        memset(sums, 0xff, sizeof(sums));
        TRY_RUN(t, p, "columns", ((struct try_range){1, {n}, {16}, {0}}),
                TRY_VALUE(px), TRY_VALUE(psums), TRY_VALUE(w), TRY_VALUE(h));
        for (unsigned i = 0; i < MOST; i++) {
            uint32_t sum = 0;
            for (unsigned y = 0; y < ROWS; y++)
                sum = 3 * sum + x[y * MOST + i];
            CHECK(sums[i] == (i < n ? sum : UINT32_MAX));
        }
    }
    hd_program_destroy(p);
}

// What lies along y is gone through with what lies along x in short rows.
static void rows_are_short_across_lines(struct try *t)
{
    static const char text[] =
        "__kernel void turn(__global const uchar *x, __global uchar *to, int w,"
        "\n"
        "                   int h) {\n"
        "    int i = get_global_id(0), j = get_global_id(1);\n"
        "    to[i * h + j] = x[j * w + i];\n"
        "}\n"
        "__kernel void copy(__global const uchar *x, __global uchar *to, int w,"
        "\n"
        "                   int h) {\n"
        "    int i = get_global_id(0), j = get_global_id(1);\n"
        "    to[j * w + i] = x[j * w + i];\n"
        "}\n";
    enum {
        W = 75,
        H = 21
    };
    static const char said[] = "work-groups do not matter: short rows";
    static unsigned char x[W * H], to[W * H], *px = x, *pto = to;
    struct hd_program *p = try_build(t, text, NULL);
    int w = W, h = H;

    CHECK(
        strstr(hd_kernel_info(hd_program_find(p, "turn"))->explanation, said));
    CHECK(
        !strstr(hd_kernel_info(hd_program_find(p, "copy"))->explanation, said));
    for (int i = 0; i < W * H; i++)
        x[i] = (unsigned char)(i * i % 251);
    TRY_RUN(t, p, "turn", ((struct try_range){2, {W, H}, {25, 3}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pto), TRY_VALUE(w), TRY_VALUE(h));
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++)
            CHECK(to[i * H + j] == x[j * W + i]);
    hd_program_destroy(p);
}

static void some_go_alone(struct try *t)
{
    static const char *const names[] = {"sparse_rows", "own_counts", "sweep"};
    struct hd_program *p = try_build(t, alone, NULL);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct hd_kernel *kernel = hd_program_find(p, names[i]);
        CHECK(kernel && !strstr(hd_kernel_info(kernel)->explanation,
                                "lanes under masks\n"));
    }
    hd_program_destroy(p);
}

// Bytes and halves of words at scattered addresses are taken from words, of
// which none is touched beyond the page that its element is in.
static void elements_come_from_their_pages(struct try *t)
{
    static const char text[] =
        "__kernel void k(__global const int *at, __global const uchar *b,\n"
        "                __global const short *s, __global int *to) {\n"
        "    int i = get_global_id(0);\n"
        "    if (at[i] >= 0) to[i] = b[2 * at[i] + 1] * 65536 + s[at[i]];\n"
        "}\n";
    enum {
        COUNT = 100
    };
    static int at[COUNT], to[COUNT];
    const int *pat = at;
    int *pto = to;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int16_t shorts[COUNT];
    unsigned char *map =
        mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(map != MAP_FAILED);
    CHECK(mprotect(map + page, page, PROT_READ | PROT_WRITE) == 0);
    if (t->device->can.features) {
        struct hd_program *p = build_for(t, text, "x86-64-v4");
        CHECK(width(p, "k") == 16);
        CHECK(has_gathers(t, text, "x86-64-v4"));
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, text, NULL);
    for (int i = 0; i < COUNT; i++) {
        shorts[i] = (int16_t)(i * 4711 - 30000);
        at[i] = i % 9 == 4 ? -1 : i * 37 % COUNT;
    }
    for (int end = 0; end < 2; end++) {
        unsigned char *b = map + page + (end ? page - sizeof(shorts) : 0);
        memcpy(b, shorts, sizeof(shorts));
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "k", ((struct try_range){1, {COUNT}, {COUNT}, {0}}),
                TRY_VALUE(pat), TRY_VALUE(b), TRY_VALUE(b), TRY_VALUE(pto));
        for (int i = 0; i < COUNT; i++)
            CHECK(to[i] ==
                  (at[i] < 0 ? 0 : b[2 * at[i] + 1] * 65536 + shorts[at[i]]));
    }
    hd_program_destroy(p);
    munmap(map, 3 * page);
}

// What goes on by the same amount for all stays as far from its neighbour as it
// begins: these loops do not gather, so that lanes pay.
static void walks_keep_their_step(struct try *t)
{
    static const char text[] =
        "__kernel void layers(__global const int *x, __global int *to, int "
        "nx,\n"
        "                     int ny, int nz) {\n"
        "    int i = get_global_id(0), j = get_global_id(1);\n"
        "    int at = j * nx + i, west = i == 0 ? at : at - 1, layer = nx * ny;"
        "\n"
        "    int below = 0;\n"
        "    for (int k = 0; k < nz; k++) {\n"
        "        to[at] = 3 * below + x[at] - x[west];\n"
        "        below = x[at];\n"
        "        at += layer; west += layer;\n"
        "    }\n"
        "}\n"
        "__kernel void lines(__global const int *x, __global int *to, int nx,\n"
        "                    int ny, int nz) {\n"
        "    __global const int *from = x + get_global_id(0);\n"
        "    int sum = 0;\n"
        "    for (int k = 0; k < ny * nz; k++) {\n"
        "        if (*from > 9) sum = 3 * sum + *from;\n"
        "        from += nx;\n"
        "    }\n"
        "    to[get_global_id(0)] = sum;\n"
        "}\n";
    enum {
        X = 45,
        Y = 6,
        Z = 4
    };
    static int x[X * Y * Z], to[X * Y * Z], *px = x, *pto = to;
    int nx = X, ny = Y, nz = Z;

    for (size_t k = 0; t->device->can.features && k < 3; k++) {
        struct hd_program *p = build_for(t, text, processors[k].cpu);
        CHECK(width(p, "layers") >= processors[k].width);
        CHECK(width(p, "lines") >= processors[k].width);
        for (int i = 0; i < 2; i++) {
            const char *name = i ? "lines" : "layers";
            CHECK(strstr(hd_kernel_info(hd_program_find(p, name))->explanation,
                         "region 0: vector width"));
        }
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, text, NULL);
    for (int i = 0; i < X * Y * Z; i++)
        x[i] = i * i % 251;
    TRY_RUN(t, p, "layers", ((struct try_range){2, {X, Y}, {16, 4}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pto), TRY_VALUE(nx), TRY_VALUE(ny),
            TRY_VALUE(nz));
    for (int i = 0; i < X * Y * Z; i++)
        CHECK(to[i] == (i < X * Y ? 0 : 3 * x[i - X * Y]) + x[i] -
                           x[i % X == 0 ? i : i - 1]);
    TRY_RUN(t, p, "lines", ((struct try_range){1, {X}, {16}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pto), TRY_VALUE(nx), TRY_VALUE(ny),
            TRY_VALUE(nz));
    for (int i = 0; i < X; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < Y * Z; k++)
            if (x[k * X + i] > 9)
                sum = 3 * sum + (uint32_t)x[k * X + i];
        CHECK((uint32_t)to[i] == sum);
    }
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
    indices_may_wrap(&t);
    walks_keep_their_step(&t);
    narrowed_ids_keep_their_step(&t);
    limits_hold(&t);
    halves_need_no_instructions(&t);
    ids_keep_their_step_beside_constants(&t);
    vectors_stay_inside_local_memory(&t);
    the_end_of_local_memory_is_used(&t);
    exchanges_are_tried_one_by_one(&t);
    quotients_are_exact(&t);
    updates_of_one_place_are_folded(&t);
    short_loops_take_some_vectors(&t);
    rows_are_short_across_lines(&t);
    elements_come_from_their_pages(&t);
    try_close(&t);
    return 0;
}
