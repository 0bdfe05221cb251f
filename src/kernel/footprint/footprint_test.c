// What launches touch is told before they run: exactly for plain kernels, and
// never less than it is.
#include <stdio.h>

#include "heddle/image.h"
#include "kernel/image.h"
#include "tests/kernel/try.h"

enum {
    N = 1024,
    SIDE = 256,
    WIDE = 40, // of images
    HIGH = 24,
    ARGS = 16
};

static struct hd_program *benchmarks(struct try *t)
{
    const struct hd_program_params params = {.path = HDI_BENCH_KERNELS};
    struct hd_program *program;
    struct hd_error error;

    CHECK_OK(hdi_program_create(&t->context, &params, &program, &error), error);
    return program;
}

// Kernels over an image or a matrix of SIDE by SIDE.
static bool is_plane(const char *name)
{
    return strcmp(name, "mandelbrot") == 0 || strcmp(name, "sobel") == 0 ||
           strcmp(name, "matmul") == 0 || strcmp(name, "transpose") == 0;
}

// Ranges and numbers as the benchmark has them, but smaller.
static struct hd_range range_of(const char *name)
{
    if (strcmp(name, "stencil") == 0)
        return (struct hd_range){
            .dims = 3, .global = {64, 16, 16}, .local = {16, 4, 4}};
    return is_plane(name)
               ? (struct hd_range){.dims = 2,
                                   .global = {SIDE, SIDE},
                                   .local = {16, 16}}
               : (struct hd_range){.dims = 1, .global = {N}, .local = {64}};
}

// The numbers that make a kernel of the benchmark run as it does there.
static void fill_args(const struct hd_kernel *kernel, struct hd_arg args[ARGS])
{
    static const float real = 0.5f;
    static const int turns = 4 * N, many = N, side = SIDE;
    static const int sizes[] = {64, 16, 16};
    const struct hd_kernel_info *info = hd_kernel_info(kernel);
    const char *name = info->name;
    const struct hd_range range = range_of(name);
    unsigned n = 0;

    memset(args, 0, ARGS * sizeof(*args));
    for (unsigned i = 0; i < info->arg_count; i++) {
        const struct hd_kernel_arg *arg = hd_kernel_arg(kernel, i);
        bool turning = strcmp(name, "saxpy_strided") == 0 ||
                       strcmp(name, "histogram") == 0;
        if (arg->kind == HD_ARG_LOCAL)
            args[i] = (struct hd_arg)HD_LOCAL(4096);
        else if (arg->kind != HD_ARG_VALUE)
            args[i].is = HD_IS_BUFFER;
        else if (*arg->type == 'f')
            args[i] = (struct hd_arg)HD_VALUE(real);
        else if (range.dims == 3)
            args[i] = (struct hd_arg)HD_VALUE(sizes[n++]);
        else
            args[i] = is_plane(name) ? (struct hd_arg)HD_VALUE(side)
                      : turning      ? (struct hd_arg)HD_VALUE(turns)
                                     : (struct hd_arg)HD_VALUE(many);
    }
}

// `piece` NULL: of all of it.
static void footprints(const struct hd_program *program, const char *name,
                       const struct hd_piece *piece,
                       struct hd_footprint found[ARGS])
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    const struct hd_range range = range_of(name);
    struct hd_arg args[ARGS];
    struct hd_error error;

    CHECK(kernel);
    fill_args(kernel, args);
    CHECK_OK(hd_kernel_footprint(kernel, &range, args,
                                 hd_kernel_info(kernel)->arg_count, piece,
                                 found, &error),
             error);
}

// Of one work-item.
static double steps(const struct hd_program *program, const char *name)
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    const struct hd_range range = range_of(name);
    struct hd_arg args[ARGS];
    double items = 1;

    fill_args(kernel, args);
    for (unsigned d = 0; d < range.dims; d++)
        items *= (double)range.global[d];
    return hdi_kernel_steps(kernel, &range, args) / items;
}

static bool is_between(double x, double least, double most)
{
    if (x < least || x > most)
        fprintf(stderr, "%g is not from %g to %g\n", x, least, most);
    return x >= least && x <= most;
}

// Two loads, an addition and a store; loops as often as they go round; a sum
// over a row whose length stands in memory.
static void work_is_counted_by_turns(const struct hd_program *program)
{
    CHECK(is_between(steps(program, "add"), 4, 4));
    CHECK(is_between(steps(program, "saxpy"), 4, 6));
    CHECK(is_between(steps(program, "saxpy_strided"), 4 * 4, 4 * 10));
    CHECK(is_between(steps(program, "matmul"), SIDE * 3, SIDE * 6));
    CHECK(is_between(steps(program, "nbody"), N * 15, N * 40));
    CHECK(is_between(steps(program, "sparse"), 10, 200));
    CHECK(is_between(steps(program, "black_scholes"), 50, 500));
}

// Nothing is exact as well: it says that not one byte is touched.
static bool is_exact(const struct hd_touched *t)
{
    return t->kind != HD_TOUCHES_ALL && t->exact;
}

// Of the benchmark's kernels all but those that are told where to look by what
// they read, or that leave out the corners of what they look at.
static void most_kernels_are_exact(const struct hd_program *program)
{
    static const char *const others[] = {"sparse", "stencil", "fourier"};
    const struct hd_piece box = {.first = {1}, .count = {2, 1, 1}};
    unsigned exact = 0;

    CHECK(hd_program_kernel_count(program) == 18);
    for (unsigned k = 0; k < 18; k++) {
        const struct hd_kernel *kernel = hd_program_kernel(program, k);
        const struct hd_kernel_info *info = hd_kernel_info(kernel);
        struct hd_footprint all[ARGS], some[ARGS];
        bool good = true, expected = true;
        footprints(program, info->name, NULL, all);
        footprints(program, info->name, &box, some);
        for (unsigned i = 0; i < info->arg_count; i++)
            good = good && is_exact(&all[i].read) && is_exact(&all[i].write) &&
                   is_exact(&some[i].read) && is_exact(&some[i].write);
        for (unsigned i = 0; i < 3; i++)
            expected = expected && strcmp(info->name, others[i]) != 0;
        if (good != expected)
            fprintf(stderr, "%s is %sexact\n", info->name, good ? "" : "not ");
        CHECK(good == expected);
        exact += good;
    }
    CHECK(exact >= 14);
}

// One level of rows; what was found is printed if it is something else.
static bool are_rows(const struct hd_touched *t, int64_t begin, uint64_t bytes,
                     uint64_t stride, uint64_t count)
{
    bool same = t->kind == HD_TOUCHES_ROWS && t->begin == begin &&
                t->bytes == bytes && t->count[0] == count && t->count[1] == 1 &&
                (count == 1 || t->stride[0] == stride);
    if (!same)
        fprintf(
            stderr, "kind %d: %lld and %llu bytes, %llu times, %llu apart\n",
            (int)t->kind, (long long)t->begin, (unsigned long long)t->bytes,
            (unsigned long long)t->count[0], (unsigned long long)t->stride[0]);
    return same;
}

// Numbers by hand: a box of groups, times the size of a group, times the size
// of an element.
static void boxes_have_their_rows(const struct hd_program *program)
{
    struct hd_footprint f[ARGS];
    const struct hd_piece line = {.first = {2}, .count = {3, 1, 1}};
    const struct hd_piece tile = {.first = {2, 1}, .count = {3, 2, 1}};
    const uint64_t row = SIDE * sizeof(float);

    footprints(program, "add_guarded", &line, f);
    CHECK(are_rows(&f[0].read, 2 * 256, 3 * 256, 0, 1));
    CHECK(f[0].write.kind == HD_TOUCHES_NOTHING);
    CHECK(are_rows(&f[2].write, 2 * 256, 3 * 256, 0, 1));
    CHECK(f[3].read.kind == HD_TOUCHES_NOTHING);
    // Each turn of its loop has the box again, a row further.
    footprints(program, "saxpy_strided", &line, f);
    CHECK(are_rows(&f[2].write, 2 * 256, 3 * 256, 4 * N, 4));
    footprints(program, "matmul", &tile, f);
    CHECK(are_rows(&f[0].read, 16 * (int64_t)row, 32 * row, 0, 1));
    CHECK(are_rows(&f[1].read, 32 * 4, 48 * 4, row, SIDE));
    CHECK(are_rows(&f[2].write, 16 * (int64_t)row + 32 * 4, 48 * 4, row, 32));
    // A neighbourhood: one more on each side.
    footprints(program, "sobel", &tile, f);
    CHECK(are_rows(&f[0].read, 15 * (int64_t)row + 31 * 4, 50 * 4, row, 34));
    footprints(program, "transpose", &tile, f);
    CHECK(are_rows(&f[1].write, 32 * (int64_t)row + 16 * 4, 32 * 4, row, 48));
    footprints(program, "reduce", &line, f);
    CHECK(are_rows(&f[1].write, 2 * 4, 3 * 4, 0, 1));
    // Where its elements are stands in memory.
    footprints(program, "sparse", &line, f);
    CHECK(f[3].read.kind == HD_TOUCHES_ALL &&
          are_rows(&f[4].write, 512, 768, 0, 1));
}

// Kernels that could be taken for less than they are.
static const char tricky[] =
    "kernel void wraps(global int *p, uint n) {\n"
    "    uint i = get_global_id(0) + n; p[i] = 1; }\n"
    "kernel void leaves(global int *p, int n) {\n"
    "    for (int i = 0; i < n; i++) { if (p[i] == 7) break; p[i] = 1; } }\n"
    "kernel void either(global int *p, global int *q, int n) {\n"
    "    global int *r = n > 3 ? p : q; r[get_global_id(0)] = 1; }\n"
    "kernel void picks(global int *p, global const int *at) {\n"
    "    p[at[get_global_id(0)] & 15] = 1; }\n"
    "kernel void counts(global int *p, int n) {\n"
    "    int i = get_global_id(0); do { p[i] = 1; i += 2; } while (i < n); }\n"
    "kernel void down(global int *p, int n) {\n"
    "    for (int i = n - 1; i >= 0; i--) p[i] = 1; }\n"
    "kernel void clamps(global const int *p, global int *q, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    q[i] = p[clamp(i - 2, 0, n - 1)] + p[min(i + 2, n - 1)]; }\n"
    "kernel void doubles(global int *p, int n) {\n"
    "    for (int i = 1; i < n; i *= 2) p[i] = 1; }\n"
    "struct two { global int *p; };\n"
    "kernel void hides(global int *p, local int *l) {\n"
    "    local ulong *all = (local ulong *)l; all[get_local_id(0)] = "
    "(ulong)p;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    ((global int *)all[0])[5] = 1; }\n"
    "kernel void offset(global int *p) {\n"
    "    p[get_global_id(0) - get_global_offset(0)] = 1; }\n"
    "kernel void bounded(global int *p, global const int *at) {\n"
    "    int k = at[get_global_id(0)]; if (k >= 0 && k < 16) p[k] = 1; }\n"
    "kernel void stops(global int *p, global const int *q, int n) {\n"
    "    for (int i = 0; i < n; i++) { p[i] = 1; if (q[i]) break; } }\n"
    "kernel void around(global char *p, uint n) {\n"
    "    for (uint i = 0; i < n; i += 0x60000000u) p[i] = 1; }\n"
    "kernel void draws(write_only image2d_t to, read_only image2d_t from,\n"
    "                  global int *p) {\n"
    "    int2 at = (int2)(get_global_id(0), 0);\n"
    "    write_imageui(to, at, read_imageui(from, at));\n"
    "    p[get_global_id(0)] = 1; }\n"
    "kernel void above(global int *p) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0);\n"
    "    if (y > 0) p[(y - 1) * w + x] = 1; }\n"
    "kernel void halves(global int *p, int n) {\n"
    "    for (int i = get_global_id(0) / 2; i < n; i += 3) p[i % 4] = 1; }\n";

// Each number argument is `n`, as an int or a uint.
static struct hd_touched written(const struct hd_program *program,
                                 const char *name, uint32_t n,
                                 const struct hd_range *range, unsigned arg)
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    struct hd_footprint found[ARGS];
    struct hd_arg args[ARGS] = {{0}};
    struct hd_error error;
    unsigned count = hd_kernel_info(kernel)->arg_count;

    for (unsigned i = 0; i < count; i++) {
        args[i].is = HD_IS_BUFFER;
        if (hd_kernel_arg(kernel, i)->kind == HD_ARG_VALUE)
            args[i] = (struct hd_arg)HD_VALUE(n);
        else if (hd_kernel_arg(kernel, i)->kind == HD_ARG_LOCAL)
            args[i] = (struct hd_arg)HD_LOCAL(1024);
    }
    CHECK_OK(
        hd_kernel_footprint(kernel, range, args, count, NULL, found, &error),
        error);
    return found[arg].write;
}

// Each kernel is one that a careless rule gets wrong: wrapping, breaking off,
// choosing a pointer, hiding one. What may be told exactly or not at all is
// allowed both.
static void what_is_not_understood_is_never_too_small(void)
{
    struct try t = try_open();
    struct hd_program *program = try_build(&t, tricky, NULL);
    const struct hd_range ten = {.dims = 1, .global = {10}, .local = {5}};
    const struct hd_range one = {.dims = 1, .global = {1}, .local = {1}};
    const struct hd_range moved = {
        .dims = 1, .global = {10}, .local = {5}, .offset = {100}};
    struct hd_touched w = written(program, "wraps", 4, &ten, 0);

    CHECK(are_rows(&w, 16, 40, 0, 1) && w.exact);
    // 2^32 - 5 + i wraps: ids from 5 on are at the begin again.
    w = written(program, "wraps", UINT32_MAX - 4, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL);
    w = written(program, "leaves", 100, &ten, 0);
    CHECK(are_rows(&w, 0, 400, 0, 1) && !w.exact);
    w = written(program, "either", 5, &ten, 1);
    CHECK(w.kind == HD_TOUCHES_ALL);
    w = written(program, "picks", 0, &ten, 0);
    CHECK(are_rows(&w, 0, 64, 0, 1) && !w.exact);
    // Without a description nothing is told of images, but what is done to
    // buffers beside them.
    w = written(program, "draws", 0, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL);
    w = written(program, "draws", 0, &ten, 1);
    CHECK(w.kind == HD_TOUCHES_NOTHING);
    w = written(program, "draws", 0, &ten, 2);
    CHECK(are_rows(&w, 0, 40, 0, 1) && w.exact);
    // The first turn is done whatever n is.
    w = written(program, "counts", 0, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL || (w.begin <= 0 && w.bytes >= 40));
    w = written(program, "counts", 21, &one, 0);
    CHECK(w.kind == HD_TOUCHES_ALL || are_rows(&w, 0, 4, 8, 11));
    w = written(program, "bounded", 0, &ten, 0);
    CHECK(are_rows(&w, 0, 64, 0, 1) && !w.exact);
    w = written(program, "stops", 100, &ten, 0);
    CHECK(are_rows(&w, 0, 400, 0, 1) && !w.exact);
    // It goes on where numbers of 32 bits begin again.
    w = written(program, "around", 0xfffffff0u, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL);
    w = written(program, "down", 50, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL || are_rows(&w, 0, 200, 0, 1));
    w = written(program, "down", 0, &ten, 0);
    CHECK(w.kind != HD_TOUCHES_ROWS || !w.exact);
    w = written(program, "doubles", 100, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL ||
          (w.begin <= 4 && w.begin + (int64_t)w.bytes >= 65 * 4));
    w = written(program, "hides", 0, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL);
    w = written(program, "offset", 0, &moved, 0);
    CHECK(are_rows(&w, 0, 40, 0, 1) && w.exact);
    // A difference of ints, times an int that is not a constant.
    w = written(program, "above", 0,
                &(struct hd_range){.dims = 2, .global = {8, 4}}, 0);
    CHECK(are_rows(&w, 0, 96, 0, 1));
    w = written(program, "halves", 20, &ten, 0);
    CHECK(w.kind == HD_TOUCHES_ALL || are_rows(&w, 0, 16, 0, 1));
    hd_program_destroy(program);
    try_close(&t);
}

static const char pictures[] =
    "constant sampler_t edge = CLK_ADDRESS_CLAMP_TO_EDGE | "
    "CLK_FILTER_NEAREST;\n"
    "kernel void copies(write_only image2d_t to, read_only image2d_t from) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, read_imageui(from, at)); }\n"
    "kernel void blurs(write_only image2d_t to, read_only image2d_t from) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    float4 sum = 0;\n"
    "    for (int y = -1; y <= 1; y++)\n"
    "        for (int x = -1; x <= 1; x++)\n"
    "            sum += read_imagef(from, edge, at + (int2)(x, y));\n"
    "    write_imagef(to, at, sum / 9); }\n"
    "kernel void asks(write_only image2d_t to, read_only image2d_t from,\n"
    "                 sampler_t s) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, at, read_imagef(from, s, at + 1)); }\n"
    "kernel void floats(write_only image2d_t to, read_only image2d_t from) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, at, read_imagef(from, edge, convert_float2(at))); "
    "}\n"
    "kernel void shifts(read_write image2d_t x, int by) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(x, at + (int2)(0, by), read_imagef(x, at)); }\n";

// What a box of rows of a kernel with images touches, [0] read and [1] written,
// each argument's as all of the image's description says.
static void tell(const struct hd_program *program, const char *name,
                 const struct hdi_image *image, int by, uint64_t first,
                 uint64_t count, struct hd_footprint *found)
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    const struct hd_range range = {
        .dims = 2, .global = {WIDE, HIGH}, .local = {8, 2}};
    const struct hd_piece piece = {.first = {0, first, 0},
                                   .count = {WIDE / 8, count, 1}};
    const struct hdi_image *images[ARGS] = {NULL};
    struct hd_arg args[ARGS] = {{0}};
    struct hd_error error;
    unsigned arg_count = hd_kernel_info(kernel)->arg_count;

    for (unsigned i = 0; i < arg_count; i++) {
        bool is_image = hd_kernel_arg(kernel, i)->kind == HD_ARG_IMAGE;
        images[i] = is_image ? image : NULL;
        args[i] = is_image ? (struct hd_arg){.is = HD_IS_IMAGE}
                           : (struct hd_arg)HD_VALUE(by);
        if (hd_kernel_arg(kernel, i)->kind == HD_ARG_SAMPLER)
            args[i] = (struct hd_arg)HD_SAMPLER(HD_ADDRESS_CLAMP_TO_EDGE |
                                                HD_FILTER_NEAREST);
    }
    CHECK_OK(hdi_kernel_footprint(kernel, &range, args, arg_count, &piece,
                                  images, found, &error),
             error);
}

static int64_t end_of(const struct hd_touched *t)
{
    return t->begin + (int64_t)(t->bytes + (t->count[0] - 1) * t->stride[0] +
                                (t->count[1] - 1) * t->stride[1]);
}

// From the first texel of these rows to their last one.
static bool within(const struct hd_touched *t, const struct hdi_image *image,
                   uint64_t first, uint64_t count)
{
    return t->kind == HD_TOUCHES_ROWS &&
           t->begin == (int64_t)(first * image->row) &&
           end_of(t) == (int64_t)((first + count - 1) * image->row +
                                  WIDE * (uint64_t)image->texel_size);
}

// Of images of every layout, with and without gaps between their rows.
static void texels_are_told_in_rows(void)
{
    static const struct hdi_image images[] = {
        {.layout = HDI_LAYOUT_8888,
         .texel_size = 4,
         .component_size = 1,
         .components = 4},
        {.layout = HDI_LAYOUT_8,
         .texel_size = 1,
         .component_size = 1,
         .components = 1},
        {.layout = HDI_LAYOUT_32,
         .texel_size = 4,
         .component_size = 4,
         .components = 1,
         .number = HDI_NUMBER_FLOAT},
        {.layout = HDI_LAYOUT_4_X_32,
         .texel_size = 16,
         .component_size = 4,
         .components = 4,
         .number = HDI_NUMBER_FLOAT},
        {.layout = HDI_LAYOUT_ANY,
         .texel_size = 4,
         .component_size = 2,
         .components = 2,
         .number = HDI_NUMBER_HALF,
         .place = {0, 1, HDI_CHANNEL_ZERO, HDI_CHANNEL_ONE},
         .source = {0, 1}}};
    struct try t = try_open();
    struct hd_program *program = try_build(&t, pictures, "-cl-std=CL3.0");
    struct hd_footprint f[ARGS];

    for (size_t i = 0; i < 2 * sizeof(images) / sizeof(images[0]); i++) {
        struct hdi_image image = images[i / 2];
        image.width = WIDE;
        image.height = HIGH;
        image.depth = image.layers = 1;
        image.row = (uint64_t)image.texel_size * (WIDE + i % 2 * 3);
        image.slice = image.row * HIGH;

        tell(program, "copies", &image, 0, 2, 3, f);
        CHECK(within(&f[0].write, &image, 4, 6));
        CHECK(f[0].write.exact);
        CHECK(f[0].read.kind == HD_TOUCHES_NOTHING);
        CHECK(within(&f[1].read, &image, 4, 6));
        CHECK(f[1].write.kind == HD_TOUCHES_NOTHING);
        tell(program, "blurs", &image, 0, 2, 3, f);
        CHECK(within(&f[0].write, &image, 4, 6));
        CHECK(within(&f[1].read, &image, 3, 8));
        tell(program, "blurs", &image, 0, 0, 1, f);
        CHECK(within(&f[1].read, &image, 0, 3));
        // Rows 1 to 4, and no more than a texel beyond them.
        tell(program, "asks", &image, 0, 0, 2, f);
        CHECK(f[1].read.kind == HD_TOUCHES_ROWS);
        CHECK(f[1].read.begin >= (int64_t)image.row);
        CHECK(end_of(&f[1].read) <=
              (int64_t)(5 * image.row + (uint64_t)image.texel_size));
        // What is not understood is all.
        tell(program, "floats", &image, 0, 2, 3, f);
        CHECK(within(&f[0].write, &image, 4, 6));
        CHECK(f[1].read.kind == HD_TOUCHES_ALL ||
              within(&f[1].read, &image, 0, HIGH));
        // What is outside is not written.
        tell(program, "shifts", &image, HIGH - 2, 0, 3, f);
        CHECK(within(&f[0].read, &image, 0, 6));
        CHECK(within(&f[0].write, &image, HIGH - 2, 2));
        tell(program, "shifts", &image, HIGH, 0, 3, f);
        CHECK(f[0].write.kind == HD_TOUCHES_NOTHING);
    }
    hd_program_destroy(program);
    try_close(&t);
}

// Footprints go through a container, and are looked for in every form of a
// kernel.
static void binaries_and_checked_kernels_have_them(void)
{
    struct try t = try_open();
    const char text[] = "kernel void k(global int *p, int n) {\n"
                        "    if (get_global_id(0) < n)\n"
                        "        p[get_global_id(0)] = 1; }\n";
    const struct hd_range range = {.dims = 1, .global = {100}};
    struct hd_program *source = try_build(&t, text, NULL), *program;
    struct hd_error error;
    void *binary;
    size_t size;

    CHECK_OK(hd_program_binary(source, &binary, &size, &error), error);
    const struct hd_program_params params = {.binary = binary,
                                             .binary_size = size};
    CHECK_OK(hdi_program_create(&t.context, &params, &program, &error), error);
    struct hd_touched w = written(program, "k", 60, &range, 0);
    CHECK(are_rows(&w, 0, 240, 0, 1) && w.exact);
    const int limit = 60;
    const struct hd_arg args[] = {{.is = HD_IS_BUFFER}, HD_VALUE(limit)};
    double work = hdi_kernel_steps(hd_program_find(source, "k"), &range, args);
    CHECK(work > 0 && work == hdi_kernel_steps(hd_program_find(program, "k"),
                                               &range, args));
    hd_program_destroy(program);
    hd_program_destroy(source);
    free(binary);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const forms[] = {
            "-heddle-check", "-heddle-form=thread", "-heddle-form=coroutine"};
        program = try_build(&t, text, forms[i]);
        w = written(program, "k", 60, &range, 0);
        CHECK(are_rows(&w, 0, 240, 0, 1) && w.exact);
        hd_program_destroy(program);
    }
    try_close(&t);
}

static void bad_questions_are_refused(void)
{
    struct try t = try_open();
    struct hd_program *program =
        try_build(&t, "kernel void k(global int *p) { *p = 1; }", NULL);
    const struct hd_kernel *kernel = hd_program_find(program, "k");
    const struct hd_arg args[] = {{.is = HD_IS_BUFFER}};
    const struct hd_range range = {.dims = 1, .global = {100}, .local = {10}};
    const struct hd_range free_size = {.dims = 1, .global = {100}};
    const struct hd_range huge = {.dims = 1, .global = {UINT64_C(1) << 41}};
    const struct hd_piece box = {.first = {9}, .count = {1, 1, 1}};
    const struct hd_piece beyond = {.first = {9}, .count = {2, 1, 1}};
    struct hd_footprint f;
    struct hd_error error;

    CHECK(hd_kernel_footprint(kernel, &range, args, 0, NULL, &f, &error) ==
          HD_EINVAL);
    CHECK(hd_kernel_footprint(kernel, &free_size, args, 1, &box, &f, &error) ==
          HD_EINVAL);
    CHECK(hd_kernel_footprint(kernel, &range, args, 1, &beyond, &f, &error) ==
          HD_EINVAL);
    CHECK(hd_kernel_footprint(kernel, &huge, args, 1, NULL, &f, &error) ==
          HD_ELIMIT);
    CHECK_OK(hd_kernel_footprint(kernel, &range, args, 1, &box, &f, &error),
             error);
    CHECK(are_rows(&f.write, 0, 4, 0, 1) && f.write.exact);
    hd_program_destroy(program);
    try_close(&t);
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *program = benchmarks(&t);

    most_kernels_are_exact(program);
    boxes_have_their_rows(program);
    work_is_counted_by_turns(program);
    hd_program_destroy(program);
    try_close(&t);
    what_is_not_understood_is_never_too_small();
    texels_are_told_in_rows();
    binaries_and_checked_kernels_have_them();
    bad_questions_are_refused();
    return 0;
}
