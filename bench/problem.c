#include "bench/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"

enum {
    MOST_ARGS = 12,
    MOST_SOURCE = 64 << 10 // [bytes]
};

void problem_check(hd_status status, const char *what,
                   const struct hd_error *error)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench: %s: %s: %s\n", what, hd_status_text(status),
            error->text);
    exit(1);
}

// Cases -----------------------------------------------------------------------

#define ITEMS(n)                                               \
    {                                                          \
        .dims = 1, .global = {n}, .local = { REFERENCE_GROUP } \
    }
#define PLANE(w, h, x, y)                              \
    {                                                  \
        .dims = 2, .global = {w, h}, .local = { x, y } \
    }
#define MILLIONS(m) ((m) << 20)

const struct problem problems[PROBLEMS] = {
    {"vector add", "add", "abo", ITEMS(MILLIONS(4)), .units = MILLIONS(4),
     .reference = reference_add},
    {"vector add with guard", "add_guarded", "abon", ITEMS(MILLIONS(4)),
     .n = MILLIONS(4) - 5, .units = MILLIONS(4) - 5,
     .reference = reference_add},
    {"saxpy", "saxpy", "kaon", ITEMS(MILLIONS(4)), .n = MILLIONS(4) - 5,
     .units = MILLIONS(4) - 5, .reference = reference_saxpy},
    {"saxpy, grid stride", "saxpy_strided", "kaon", ITEMS(1 << 16),
     .n = MILLIONS(4) - 5, .units = MILLIONS(4) - 5,
     .reference = reference_saxpy},
    {"Black-Scholes", "black_scholes", "abcoprsn", ITEMS(MILLIONS(1)),
     .n = MILLIONS(1) - 5, .units = MILLIONS(1) - 5,
     .reference = reference_black_scholes},
    {"n-body", "nbody", "aonL", ITEMS(4096), .n = 4096, .units = 4096,
     .reference = reference_nbody, .fill = FILL_BODIES, .local_size = 16},
    {"Mandelbrot", "mandelbrot", "owhn", PLANE(1024, 512, 32, 8), .n = 256,
     .width = 1024, .height = 512, .units = 512,
     .reference = reference_mandelbrot, .integers = true},
    {"Sobel", "sobel", "aowh", PLANE(2048, 2048, 32, 8), .width = 2048,
     .height = 2048, .units = 2048, .reference = reference_sobel},
    {"matrix product", "matmul", "abon", PLANE(512, 512, 16, 16), .n = 512,
     .units = 512, .reference = reference_matmul},
    {"reduction", "reduce", "aoL", ITEMS(MILLIONS(4)),
     .units = MILLIONS(4) / REFERENCE_GROUP, .reference = reference_reduce},
    {"histogram", "histogram", "aonL", ITEMS(1 << 16), .n = MILLIONS(4),
     .units = MILLIONS(4), .reference = reference_histogram,
     .fill = FILL_INTEGERS, .integers = true},
    {"bitonic sort", "bitonic", "oL", ITEMS(MILLIONS(1)),
     .units = MILLIONS(1) / REFERENCE_GROUP, .reference = reference_bitonic,
     .fill = FILL_INTEGERS, .in_place = true, .integers = true},
    {"transpose", "transpose", "aon", PLANE(2048, 2048, 16, 16), .n = 2048,
     .units = 2048 / 16, .reference = reference_transpose},
    {"scan", "scan", "aoL", ITEMS(MILLIONS(4)),
     .units = MILLIONS(4) / REFERENCE_GROUP, .reference = reference_scan,
     .fill = FILL_INTEGERS, .integers = true},
    {"sparse matrix by vector", "sparse", "abcdon", ITEMS(1 << 17),
     .n = (1 << 17) - 5, .units = (1 << 17) - 5, .reference = reference_sparse,
     .fill = FILL_MATRIX},
    {"stencil",
     "stencil",
     "aowhd",
     {.dims = 3, .global = {160, 160, 160}, .local = {32, 8, 1}},
     .width = 160,
     .height = 160,
     .depth = 160,
     .units = 160,
     .reference = reference_stencil},
    {"nearest centre", "nearest", "abon", ITEMS(MILLIONS(1)), .n = 32,
     .units = MILLIONS(1), .reference = reference_nearest, .integers = true},
};

static uint32_t random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

void problem_fill(const struct problem *p, void *const inputs[PROBLEM_INPUTS])
{
    uint64_t state = 42;

    for (int b = 0; b < PROBLEM_INPUTS; b++)
        for (int i = 0; i < PROBLEM_BYTES / 4; i++) {
            uint32_t number = random_number(&state);
            if (p->fill == FILL_INTEGERS)
                ((uint32_t *)inputs[b])[i] = number;
            else
                ((float *)inputs[b])[i] =
                    1.0f + (float)(number & 0xffff) / 65536.0f;
        }
    if (p->fill != FILL_MATRIX)
        return;
    // 8 to 40 in a row.
    int *begin = inputs[0], *column = inputs[1], at = 0;
    for (int row = 0; row < p->n; row++) {
        begin[row] = at;
        int count = 8 + (int)(random_number(&state) % 33);
        for (int k = 0; k < count; k++)
            column[at++] = (int)(random_number(&state) % (uint32_t)p->n);
    }
    begin[p->n] = at;
}

void problem_reset(const struct problem *p, void *const inputs[PROBLEM_INPUTS],
                   void *outputs[2])
{
    for (int o = 0; o < 2; o++)
        memset(outputs[o], 0, PROBLEM_BYTES);
    if (p->in_place)
        memcpy(outputs[0], inputs[0], PROBLEM_BYTES);
}

bool problem_is_wanted(const struct problem *p, char **names)
{
    bool wanted = *names == NULL;
    for (; *names; names++)
        wanted |= strcmp(*names, p->name) == 0;
    return wanted;
}

// Heddle ----------------------------------------------------------------------

static char *read_source(void)
{
    FILE *file = fopen(KERNEL_SOURCE, "r");
    char *text = calloc(1, MOST_SOURCE);

    if (!file || !text || fread(text, 1, MOST_SOURCE - 1, file) == 0) {
        perror(KERNEL_SOURCE);
        exit(1);
    }
    fclose(file);
    return text;
}

struct problem_rig problem_rig_start(const struct hd_runtime_params *params)
{
    struct problem_rig rig = {0};
    struct hd_error error;
    char *source = read_source();
    const struct hd_program_params text = {.path = "kernel.cl",
                                           .source = source};

    problem_check(hd_runtime_create(params, &rig.runtime, &error), "runtime",
                  &error);
    problem_check(hd_program_create(rig.runtime, &text, &rig.program, &error),
                  "build", &error);
    for (int b = 0; b < PROBLEM_BUFFERS; b++)
        problem_check(hd_buffer_create(rig.runtime, PROBLEM_BYTES,
                                       &rig.buffers[b], &error),
                      "buffer", &error);
    free(source);
    return rig;
}

void problem_rig_stop(struct problem_rig *rig)
{
    for (int b = 0; b < PROBLEM_BUFFERS; b++)
        hd_buffer_destroy(rig->buffers[b]);
    hd_program_destroy(rig->program);
    hd_runtime_destroy(rig->runtime);
}

void problem_load(const struct problem_rig *rig, const struct problem *p,
                  void *const inputs[PROBLEM_INPUTS])
{
    void *outputs[2];

    for (int b = 0; b < PROBLEM_INPUTS; b++)
        memcpy(hd_buffer_host(rig->buffers[b]), inputs[b], PROBLEM_BYTES);
    for (int o = 0; o < 2; o++)
        outputs[o] = hd_buffer_host(rig->buffers[PROBLEM_INPUTS + o]);
    problem_reset(p, inputs, outputs);
}

void problem_run(const struct problem_rig *rig, const struct problem *p)
{
    static const float half = 0.5f, rate = 0.02f, spread = 0.3f;
    static const char buffers[] = "abcdop";
    struct hd_arg args[MOST_ARGS];
    unsigned count = 0;
    struct hd_error error;

    for (const char *c = p->args; *c; c++) {
        const char *buffer = strchr(buffers, *c);
        // The stencil's depth is a number.
        if (*c == 'd' && p->depth)
            buffer = NULL;
        if (buffer)
            args[count++] =
                (struct hd_arg)HD_BUFFER(rig->buffers[buffer - buffers]);
        else if (*c == 'L')
            args[count++] = (struct hd_arg)HD_LOCAL(
                REFERENCE_GROUP * (p->local_size ? p->local_size : 4));
        else if (*c == 'k' || *c == 'r' || *c == 's')
            args[count++] = (struct hd_arg){.is = HD_IS_VALUE,
                                            .value = *c == 'k'   ? &half
                                                     : *c == 'r' ? &rate
                                                                 : &spread,
                                            .size = sizeof(float)};
        else
            args[count++] = (struct hd_arg){.is = HD_IS_VALUE,
                                            .value = *c == 'n'   ? &p->n
                                                     : *c == 'w' ? &p->width
                                                     : *c == 'h' ? &p->height
                                                                 : &p->depth,
                                            .size = sizeof(int)};
    }
    problem_check(hd_launch(rig->runtime,
                            hd_program_find(rig->program, p->kernel), &p->range,
                            args, count, &error),
                  p->name, &error);
}

double problem_time(const struct problem_rig *rig, const struct problem *p,
                    int repeats)
{
    double begin = figure_now();
    for (int i = 0; i < repeats; i++)
        problem_run(rig, p);
    return (figure_now() - begin) / repeats;
}
