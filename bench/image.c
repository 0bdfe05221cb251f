// read_imagef with linear filtering against samplers written by hand, on one
// worker.
//
//     image [--quick]      one JSON object per line on stdout
//
// Heddle and C run in turn. Of the hand-written samplers for a format the
// faster one counts. Before that the pictures are compared.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/image_reference.h"
#include "heddle/heddle.h"

enum {
    ROUNDS = 21,
    SIZE = 1024 // of the picture and of the result [texels]
};

static const float cosine = 0.8f, sine = 0.35f;
static struct hd_error error;

static void check(hd_status status, const char *what)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench image: %s: %s: %s\n", what, hd_status_text(status),
            error.text);
    exit(1);
}

static const struct problem {
    const char *name;
    enum hd_channel_order order;
    enum hd_channel_type type;
    image_reference *references[2];
} problems[] = {
    {"RGBA, 8 bits", HD_RGBA, HD_UNORM_INT8, {image_bytes_wide, image_bytes}},
    {"RGBA, float", HD_RGBA, HD_FLOAT, {image_floats_wide, image_floats}},
    {"R, float", HD_R, HD_FLOAT, {image_float_wide, image_float_wide}},
};

struct ours {
    struct hd_runtime *runtime;
    const struct hd_kernel *kernel;
    struct hd_image *image;
    struct hd_buffer *to;
};

static double time_ours(const struct ours *o)
{
    const struct hd_range range = {.dims = 2, .global = {SIZE, SIZE}};
    const struct hd_arg args[] = {HD_IMAGE(o->image), HD_BUFFER(o->to),
                                  HD_VALUE(cosine), HD_VALUE(sine)};

    double begin = figure_now();
    check(hd_launch(o->runtime, o->kernel, &range, args, 4, &error), "launch");
    return figure_now() - begin;
}

static double time_c(image_reference *reference, const void *from, float *to)
{
    double begin = figure_now();
    reference(from, to, SIZE, cosine, sine);
    return figure_now() - begin;
}

static void fill(const struct problem *p, void *texels, uint64_t bytes)
{
    uint32_t state = 7;

    for (uint64_t i = 0; i < bytes / 4; i++) {
        state = state * 1664525 + 1013904223;
        if (p->type == HD_FLOAT)
            ((float *)texels)[i] = (float)(state >> 8) / 0x1p24f;
        else
            ((uint32_t *)texels)[i] = state ^ state >> 15;
    }
}

static void compare(const struct problem *p, const float *ours, const float *c)
{
    for (int i = 0; i < SIZE * SIZE; i++)
        if (!(fabsf(ours[i] - c[i]) <= 1e-3f)) {
            fprintf(stderr, "bench image: %s: pixel %d is %g, not %g\n",
                    p->name, i, (double)ours[i], (double)c[i]);
            exit(1);
        }
}

static void measure(struct ours *o, const struct problem *p, float *c_picture,
                    int rounds)
{
    double ours[ROUNDS], c[2][ROUNDS];
    const struct hd_image_params params = {.kind = HD_IMAGE_2D,
                                           .order = p->order,
                                           .type = p->type,
                                           .width = SIZE,
                                           .height = SIZE};

    check(hd_image_create(o->runtime, &params, &o->image, &error), "image");
    struct hd_buffer *memory = hd_image_params(o->image)->buffer;
    void *texels = hd_buffer_host(memory);
    fill(p, texels, hd_buffer_size(memory));
    for (int r = 0; r < 2; r++) {
        time_ours(o);
        time_c(p->references[r], texels, c_picture);
        compare(p, hd_buffer_host(o->to), c_picture);
    }
    for (int i = 0; i < rounds; i++) {
        ours[i] = time_ours(o);
        for (int r = 0; r < 2; r++)
            c[r][i] = time_c(p->references[r], texels, c_picture);
    }
    hd_image_destroy(o->image);

    double wide = figure_median(c[0], rounds),
           one = figure_median(c[1], rounds);
    figure_print(&(struct figure){.bench = "image",
                                  .name = p->name,
                                  .metric = "linear filter over C",
                                  .value = figure_median(ours, rounds) /
                                           (wide < one ? wide : one),
                                  .unit = "ratio",
                                  .peer = "c",
                                  .op = "<=",
                                  .bar = 1.3});
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 9 : ROUNDS;
    struct hd_runtime_params params = {.workers = 1, .no_cache = true};
    const struct hd_program_params text = {.path = IMAGE_SOURCE};
    struct ours o;
    struct hd_program *program;
    float *picture = malloc(sizeof(float) * SIZE * SIZE);

    if (!picture)
        return 1;
    check(hd_runtime_create(&params, &o.runtime, &error), "runtime");
    hd_status status = hd_program_create(o.runtime, &text, &program, &error);
    if (status == HD_ENOTSUP) {
        for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
            figure_skip(&(struct figure){.bench = "image",
                                         .name = problems[i].name,
                                         .metric = "linear filter over C"},
                        "no compiler for kernels");
        free(picture);
        hd_runtime_destroy(o.runtime);
        return 0;
    }
    check(status, "build");
    o.kernel = hd_program_find(program, "turn");
    check(
        hd_buffer_create(o.runtime, sizeof(float) * SIZE * SIZE, &o.to, &error),
        "buffer");
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
        measure(&o, &problems[i], picture, rounds);
    hd_buffer_destroy(o.to);
    hd_program_destroy(program);
    hd_runtime_destroy(o.runtime);
    free(picture);
    return 0;
}
