// For tests: launches of one kernel on two buffers, with what it says of a
// fault, on every kind of threads.
#ifndef HDI_TESTS_LAUNCH_STRAY_H
#define HDI_TESTS_LAUNCH_STRAY_H

#include "tests/launch/rig.h"

// The first lines of every source.
#define STRAY_KERNELS                                                    \
    "kernel void store(global int *a, global int *b, long at)\n"         \
    "{\n"                                                                \
    "    b[get_global_id(0)] = 1;\n"                                     \
    "    if (get_global_id(0) == 100)\n"                                 \
    "        a[at] = 1;\n" /* line 5 */                                  \
    "}\n"                                                                \
    "kernel void load(global int *a, global int *b, long at)\n"          \
    "{\n"                                                                \
    "    b[get_global_id(0)] = a[at + get_global_id(0)];\n" /* line 9 */ \
    "}\n"                                                                \
    "kernel void fine(global int *a, global int *b, long at)\n"          \
    "{\n"                                                                \
    "    b[get_global_id(0)] = (int)get_global_id(0);\n"                 \
    "}\n"

enum {
    ITEMS = 256,
    GROUP = 64,
    KIB = 1024
};

static const struct hd_range range = {
    .dims = 1, .global = {ITEMS}, .local = {GROUP}};

// A kernel on two buffers of 64 KiB of zeros.
struct pair {
    struct hd_buffer *a, *b;
};

static inline struct pair make_pair(struct rig *rig)
{
    struct pair pair;

    CHECK_OK(hdi_buffer_create(rig->launcher, 64 * KIB, &pair.a, &error),
             error);
    CHECK_OK(hdi_buffer_create(rig->launcher, 64 * KIB, &pair.b, &error),
             error);
    return pair;
}

static inline void free_pair(struct pair *pair)
{
    hd_buffer_destroy(pair->a);
    hd_buffer_destroy(pair->b);
}

static inline hd_status launch_with(struct rig *rig, const struct pair *pair,
                                    const char *name, int64_t at,
                                    const struct hdi_terms *terms)
{
    const struct hd_kernel *kernel = hd_program_find(rig->program, name);
    struct hd_arg args[] = {HD_BUFFER(pair->a), HD_BUFFER(pair->b),
                            HD_VALUE(at), HD_LOCAL(256)};

    CHECK(kernel);
    return hdi_launch_with(
        rig->launcher,
        &(struct hdi_request){kernel, &range, args, kernel->info.arg_count},
        terms, &error);
}

static inline hd_status launch(struct rig *rig, const struct pair *pair,
                               const char *name, int64_t at)
{
    return launch_with(rig, pair, name, at, &(struct hdi_terms){0});
}

static inline void everything_goes_on(struct rig *rig, const struct pair *pair)
{
    memset(hd_buffer_host(pair->b), 0, 64 * KIB);
    CHECK_OK(launch(rig, pair, "fine", 0), error);
    for (int i = 0; i < ITEMS; i++)
        CHECK(((int *)hd_buffer_host(pair->b))[i] == i);
}

// One stray access and what is said of it.
static inline void check_fault(struct rig *rig, const struct pair *pair,
                               const char *name, int64_t at,
                               const char *const *says)
{
    CHECK_FAILS(launch(rig, pair, name, at), HD_EFAULT, error, name);
    for (; *says; says++)
        if (!strstr(error.text, *says)) {
            fprintf(stderr, "'%s' is not in '%s'\n", *says, error.text);
            exit(1);
        }
}

#define FAULT(rig, pair, name, at, ...) \
    check_fault(rig, pair, name, at, (const char *const[]){__VA_ARGS__, NULL})

struct kind {
    struct hd_pool_params pool;
    struct hdi_device_params device;
};

static inline void on_every_kind(const char *source,
                                 void (*test)(struct rig *rig,
                                              const struct kind *kind))
{
    static const struct kind kinds[] = {
        {.pool = {.workers = 2}},
        {.pool = {.workers = 1, .caller_only = true}},
        {.pool = {.workers = 2}, .device = {.units = 2}},
        {.pool = {.workers = 1}, .device = {.units = 1, .unit_cores = 2}},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct rig rig = rig_set_up(kinds[i].pool, kinds[i].device, source);
        test(&rig, &kinds[i]);
        rig_tear_down(&rig);
    }
}

#endif
