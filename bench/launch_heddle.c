#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/launch_child.h"
#include "heddle/heddle.h"

enum {
    SIDE = 256 // of a matrix
};

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_buffer *buffer;
static struct hd_error error;

static void check(hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "launch_heddle: %s\n", error.text);
    exit(1);
}

static void build(const char *source, const char *folder)
{
    const struct hd_runtime_params params = {.cache = folder};
    const struct hd_program_params text = {.path = source};

    check(hd_runtime_create(&params, &runtime, &error));
    check(hd_program_create(runtime, &text, &program, &error));
}

static void run(const char *kernel, long groups, int size)
{
    const struct hd_kernel *k = hd_program_find(program, kernel);
    const struct hd_range range = {.dims = 1,
                                   .global = {(uint64_t)groups * size},
                                   .local = {(uint32_t)size}};
    unsigned count = hd_kernel_info(k)->arg_count;

    if (!buffer)
        check(hd_buffer_create(runtime, 1 << 20, &buffer, &error));
    struct hd_arg arg = HD_BUFFER(buffer);
    check(hd_launch(runtime, k, &range, &arg, count, &error));
}

static void batch(const char *kernel, int count, bool in_order)
{
    const struct hd_kernel *k = hd_program_find(program, kernel);
    const struct hd_range range = {.dims = 1, .global = {64}, .local = {64}};
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_group group;
    hd_event last = 0;

    hd_group_init(&group);
    for (int i = 0; i < count; i++) {
        hd_event before = last;
        struct hd_start start = {0};
        if (in_order) {
            start.after = &before;
            start.after_count = 1;
        } else {
            start.group = &group;
        }
        check(hd_launch_start(runtime, &start, k, &range, NULL, 0, &last,
                              &error));
        hd_event_release(pool, before);
    }
    if (in_order)
        check(hd_event_wait(pool, &last, 1, HD_FOREVER, &error));
    else
        hd_group_wait(pool, &group);
    hd_event_release(pool, last);
}

static void multiply(void)
{
    const struct hd_range range = {
        .dims = 2, .global = {SIDE, SIDE}, .local = {16, 16}};
    struct hd_buffer *b[3];
    int side = SIDE;

    for (int i = 0; i < 3; i++)
        check(hd_buffer_create(runtime, SIDE * SIDE * sizeof(float), &b[i],
                               &error));
    const struct hd_arg args[] = {HD_BUFFER(b[0]), HD_BUFFER(b[1]),
                                  HD_BUFFER(b[2]), HD_VALUE(side)};
    check(hd_launch(runtime, hd_program_find(program, "product"), &range, args,
                    4, &error));
}

const struct implementation implementation = {build, run, batch, multiply};
