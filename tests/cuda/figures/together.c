// One divisible launch on CPU and GPU together, beside each alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/figures/figures.h"

enum {
    CPU = 1, // bits of devices
    GPU = 2,
    ITEMS = 1 << 22,
    FEW_ITEMS = 2048,
    STEPS = 4096,
    FEW_STEPS = 16,
    ROUNDS = 12 // in which they are learnt, too
};

struct bench {
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffer;
    uint32_t items, steps, *seen;
    int rounds;
};

static struct hd_error error;

// Once, from the numbers 0, 1 and so on [ns].
static double time_once(struct bench *b, uint64_t devices)
{
    const struct hd_launch_params params = {.devices = devices};
    const struct hd_range range = {
        .dims = 1, .global = {b->items}, .local = {GROUP}};
    const struct hd_arg args[] = {HD_BUFFER(b->buffer), HD_VALUE(b->steps)};

    for (uint32_t i = 0; i < b->items; i++)
        b->seen[i] = i;
    CHECK_OK(hd_buffer_write(b->buffer, 0, b->seen, b->items * sizeof(*b->seen),
                             &error),
             error);
    uint64_t begin = hdi_now();
    CHECK_OK(hd_launch_with(b->runtime, &params,
                            hd_program_find(b->program, "busy"), &range, args,
                            2, &error),
             error);
    return (double)(hdi_now() - begin);
}

static void check(struct bench *b)
{
    CHECK_OK(hd_buffer_read(b->buffer, 0, b->seen, b->items * sizeof(*b->seen),
                            &error),
             error);
    for (uint32_t i = 0; i < b->items; i += i % 5 + 1) {
        uint32_t right = i;
        for (uint32_t n = 0; n < b->steps; n++)
            right = right * 1664525u + 1013904223u;
        CHECK(b->seen[i] == right);
    }
}

static double fastest(struct bench *b, uint64_t devices)
{
    double least = 1e18;

    for (int i = 0; i < b->rounds; i++) {
        double time = time_once(b, devices);
        least = time < least ? time : least;
    }
    check(b);
    return least;
}

void measure_together(const char *binary)
{
    const struct hd_runtime_params params = {.device = "all"};
    const struct hd_program_params program = {.path = binary};
    struct machine m; // only for the table
    struct bench b = {.rounds = ROUNDS};

    machine_open(&m, binary, 0, false);
    b.items = m.fake ? FEW_ITEMS : ITEMS;
    b.steps = m.fake ? FEW_STEPS : STEPS;
    b.rounds = m.fake ? 3 : ROUNDS;
    b.seen = malloc(b.items * sizeof(*b.seen));
    CHECK(b.seen);
    CHECK_OK(hd_runtime_create(&params, &b.runtime, &error), error);
    CHECK_OK(hd_program_create(b.runtime, &program, &b.program, &error), error);
    CHECK_OK(hd_buffer_create(b.runtime, b.items * sizeof(*b.seen), &b.buffer,
                              &error),
             error);
    double cpu = fastest(&b, CPU), gpu = fastest(&b, GPU);
    double both = fastest(&b, CPU | GPU);
    figure(&m, "CPU and GPU together", "time", both / 1e3, "us", NULL, 0,
           false);
    figure(&m, "CPU and GPU together", "speed", 1 / both / (1 / cpu + 1 / gpu),
           "ratio", "the sum of both alone", 0.95, false);
    figure(&m, "CPU alone", "time", cpu / 1e3, "us", NULL, 0, false);
    figure(&m, "GPU alone", "time", gpu / 1e3, "us", NULL, 0, false);
    hd_buffer_destroy(b.buffer);
    hd_program_destroy(b.program);
    hd_runtime_destroy(b.runtime);
    free(b.seen);
    machine_close(&m);
}
