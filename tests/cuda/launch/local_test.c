// Launches whose work-groups have much local memory, at the same time on the
// tiles of a GPU: what fits a module runs there, beside others or after them;
// what fits none is launched on a stream; and everything is computed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    UNITS = 8, // five lean, three fat: a module each
    GROUP = 32,
    N = 8 * GROUP,
    LAUNCHES = 4
};

static const char source[] =
    "kernel void mirror(global int *x, local int *tile, int words) {\n"
    "    int l = get_local_id(0), n = get_local_size(0);\n"
    "    for (int i = l; i < words; i += n)\n"
    "        tile[i] = x[get_global_id(0) - l + i % n] + i / n;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    x[get_global_id(0)] = tile[words - 1 - l];\n"
    "}\n";

static struct hd_error error;

struct rig {
    struct hd_runtime *runtime;
    struct hd_program *program;
};

static struct rig set_up(void)
{
    const struct hd_runtime_params params = {
        .device = "gpu", .units = UNITS, .unit_cores = GROUP, .workers = 2};
    const struct hd_program_params program = {.path = "local.cl",
                                              .source = source};
    struct rig r;

    CHECK_OK(hd_runtime_create(&params, &r.runtime, &error), error);
    CHECK_OK(hd_program_create(r.runtime, &program, &r.program, &error), error);
    return r;
}

static void tear_down(struct rig *r)
{
    hd_program_destroy(r->program);
    hd_runtime_destroy(r->runtime);
}

struct launch {
    struct hd_buffer *buffer;
    hd_event event;
    int added; // to every element, by all launches
};

static void start(struct rig *r, struct launch *l, uint64_t bytes)
{
    int words = (int)(bytes / 4 / GROUP * GROUP);
    const struct hd_arg args[] = {HD_BUFFER(l->buffer), HD_LOCAL(bytes),
                                  HD_VALUE(words)};
    const struct hd_range range = {.dims = 1, .global = {N}, .local = {GROUP}};

    CHECK_OK(hd_launch_start(r->runtime, NULL,
                             hd_program_find(r->program, "mirror"), &range,
                             args, 3, &l->event, &error),
             error);
    l->added += words / GROUP - 1;
}

static void finish(struct rig *r, struct launch *l)
{
    struct hd_pool *pool = hd_runtime_pool(r->runtime);

    CHECK_OK(hd_event_wait(pool, &l->event, 1, HD_FOREVER, &error), error);
    CHECK_OK(hd_event_status(pool, l->event, &error), error);
    hd_event_release(pool, l->event);
}

// The first launch brings its buffer, and the executor.
static void make(struct rig *r, struct launch *l)
{
    static int zeros[N];

    *l = (struct launch){.added = 0};
    CHECK_OK(hd_buffer_create(r->runtime, sizeof(zeros), &l->buffer, &error),
             error);
    CHECK_OK(hd_buffer_write(l->buffer, 0, zeros, sizeof(zeros), &error),
             error);
    start(r, l, 256);
    finish(r, l);
}

static void check(struct launch *l)
{
    int seen[N];

    CHECK_OK(hd_buffer_read(l->buffer, 0, seen, sizeof(seen), &error), error);
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == l->added);
    hd_buffer_destroy(l->buffer);
}

static uint64_t groups_in(struct rig *r, unsigned module)
{
    uint64_t groups = 0;

    for (unsigned i = 0; i < UNITS; i++) {
        struct hd_unit_counters c;
        CHECK_OK(hd_unit_counters(r->runtime, i, &c, &error), error);
        groups += c.module == module ? c.groups : 0;
    }
    return groups;
}

// Started together. `launched`: some run on no tile.
static void all_are_computed(const uint64_t bytes[LAUNCHES], bool launched)
{
    struct rig r = set_up();
    struct launch l[LAUNCHES];

    for (int i = 0; i < LAUNCHES; i++)
        make(&r, &l[i]);
    uint64_t before = fake_cuda()->launches();
    for (int i = 0; i < LAUNCHES; i++)
        start(&r, &l[i], bytes[i]);
    for (int i = 0; i < LAUNCHES; i++)
        finish(&r, &l[i]);
    CHECK((fake_cuda()->launches() > before) == launched);
    CHECK(groups_in(&r, 0) + groups_in(&r, 1) ==
          2 * LAUNCHES * (uint64_t)(N / GROUP));
    for (int i = 0; i < LAUNCHES; i++)
        check(&l[i]);
    tear_down(&r);
}

int main(void)
{
    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    // A module has 114 KiB.
    all_are_computed((const uint64_t[]){8192, 8192, 8192, 8192}, false);
    all_are_computed((const uint64_t[]){100 << 10, 1024, 70 << 10, 40 << 10},
                     false);
    all_are_computed((const uint64_t[]){120 << 10, 1024, 114 << 10, 16384},
                     true);
    const char *report = fake_cuda()->report();
    printf("%s", report);
    CHECK(*report == '\0');
    return 0;
}
