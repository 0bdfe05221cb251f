#include "bench/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SOURCE = 64 << 10 // [bytes]
};

static uint32_t random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// The fourth part of each circle of 4, 16, 64 ... roots of unity.
static void fill_roots(float (*roots)[2])
{
    for (int size = 1; size < REFERENCE_POINTS; size *= 4)
        for (int k = 0; k < size; k++) {
            double angle = -2 * acos(-1) * k / (4 * size);
            roots[size + k][0] = (float)cos(angle);
            roots[size + k][1] = (float)sin(angle);
        }
}

// 8 to 40 in a row.
static void fill_matrix(const struct problem *p, int *begin, int *column,
                        uint64_t *state)
{
    int at = 0;

    for (int row = 0; row < p->n; row++) {
        begin[row] = at;
        int count = 8 + (int)(random_number(state) % 33);
        for (int k = 0; k < count; k++)
            column[at++] = (int)(random_number(state) % (uint32_t)p->n);
    }
    begin[p->n] = at;
}

// Near the cell; some of a mesh with borders are -1 or -2.
static int neighbour(int cell, const struct problem *p, uint32_t number)
{
    int other = cell + (int)(number % 1024) - 512;

    if (p->height && (number >> 20) % 16 == 0)
        return -1 - (int)(number >> 10 & 1);
    return other < 0 ? 0 : other >= p->n ? p->n - 1 : other;
}

void problem_fill(const struct problem *p, void *const inputs[PROBLEM_INPUTS])
{
    uint64_t state = 42;

    for (int b = 0; b < PROBLEM_INPUTS; b++)
        for (int i = 0; i < PROBLEM_BYTES / 4; i++) {
            uint32_t number = random_number(&state);
            if (p->fill == FILL_INTEGERS)
                ((uint32_t *)inputs[b])[i] = number;
            else if (p->fill >= FILL_DOUBLES && i < PROBLEM_BYTES / 8)
                ((double *)inputs[b])[i] = 1.0 + number / 2147483648.0;
            else if (p->fill >= FILL_DOUBLES)
                break;
            else
                ((float *)inputs[b])[i] =
                    1.0f + (float)(number &
                                   (p->fill == FILL_COARSE ? 0xff80 : 0xffff)) /
                               65536.0f;
        }
    if (p->fill == FILL_ROOTS)
        fill_roots(inputs[1]);
    if (p->fill == FILL_MATRIX)
        fill_matrix(p, inputs[0], inputs[1], &state);
    for (int i = 0; p->fill == FILL_MESH && i < PROBLEM_BYTES / 4; i++)
        ((int *)inputs[0])[i] = neighbour(i % p->n, p, random_number(&state));
    for (int i = 0; p->fill == FILL_PREDECESSORS && i < PROBLEM_BYTES / 4; i++)
        ((int *)inputs[1])[i] = i > 0 ? i - 1 : 0;
    for (int k = 0; k < REFERENCE_POINTS / 2; k++) {
        double angle = -2 * acos(-1) * k / (REFERENCE_POINTS / 2);
        double *wide = (double *)inputs[1] + 2 * k;
        float *narrow = (float *)inputs[1] + 2 * k;
        if (p->fill == FILL_CIRCLE_DOUBLES) {
            wide[0] = cos(angle);
            wide[1] = sin(angle);
        } else if (p->fill == FILL_CIRCLE) {
            narrow[0] = (float)cos(angle);
            narrow[1] = (float)sin(angle);
        }
    }
    for (int i = 0; p->fill == FILL_RISING && i < p->n; i++)
        ((double *)inputs[0])[i] = 1.0 + (double)i / p->n;
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
    char *text = calloc(1, MAX_SOURCE);

    if (!file || !text || fread(text, 1, MAX_SOURCE - 1, file) == 0) {
        perror(KERNEL_SOURCE);
        exit(1);
    }
    fclose(file);
    return text;
}

uint64_t problem_count_different(const struct problem *p, const void *ours,
                                 const void *c)
{
    const uint32_t *a = ours, *b = c;
    const float *x = ours, *y = c;
    const double *u = ours, *v = c;
    uint64_t different = 0;

    switch (p->result) {
    case RESULT_FLOATS:
        for (uint64_t i = 0; i < PROBLEM_BYTES / 4; i++)
            different += !(fabsf(x[i] - y[i]) <= 1e-3f + 1e-3f * fabsf(y[i]));
        break;
    case RESULT_DOUBLES:
        for (uint64_t i = 0; i < PROBLEM_BYTES / 8; i++)
            different += !(fabs(u[i] - v[i]) <= 1e-9 + 1e-9 * fabs(v[i]));
        break;
    default:
        for (uint64_t i = 0; i < PROBLEM_BYTES / 4; i++)
            different += a[i] != b[i];
    }
    return different;
}
