#include "bench/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SOURCE = 64 << 10 // [bytes]
};

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
    {"Fourier transform", "fourier", "aboL",
     ITEMS(MILLIONS(2) / REFERENCE_POINTS * REFERENCE_GROUP),
     .units = MILLIONS(2) / REFERENCE_POINTS, .reference = reference_fourier,
     .fill = FILL_ROOTS, .local_size = 4 * 8},
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
    // The fourth part of each circle of 4, 16, 64 ... roots of unity.
    float(*roots)[2] = inputs[1];
    for (int size = 1; p->fill == FILL_ROOTS && size < REFERENCE_POINTS;
         size *= 4)
        for (int k = 0; k < size; k++) {
            double angle = -2 * acos(-1) * k / (4 * size);
            roots[size + k][0] = (float)cos(angle);
            roots[size + k][1] = (float)sin(angle);
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

unsigned problem_args(const struct problem *p,
                      struct problem_arg args[PROBLEM_ARGS])
{
    static const float half = 0.5f, rate = 0.02f, spread = 0.3f;
    static const char buffers[] = "abcdop";
    unsigned count = 0;

    for (const char *c = p->args; *c; c++) {
        struct problem_arg *arg = &args[count++];
        const char *buffer = strchr(buffers, *c);
        // The stencil's depth is a number.
        if (*c == 'd' && p->depth)
            buffer = NULL;
        *arg = (struct problem_arg){.buffer = -1, .size = 4};
        if (buffer)
            arg->buffer = (int)(buffer - buffers);
        else if (*c == 'L')
            arg->size =
                (size_t)REFERENCE_GROUP * (p->local_size ? p->local_size : 4);
        else
            arg->value = *c == 'n'   ? (const void *)&p->n
                         : *c == 'w' ? &p->width
                         : *c == 'h' ? &p->height
                         : *c == 'd' ? &p->depth
                         : *c == 'k' ? (const void *)&half
                         : *c == 'r' ? &rate
                                     : &spread;
    }
    return count;
}

char *problem_read_source(void)
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
