// For tests: compile a text and run its kernels on one unit of the cpu backend,
// without the layers above. With HEDDLE_TRY=cuda the same tests run on the fake
// driver of tests/cuda, whose kernels may be given memory of the host.
#ifndef HDI_TESTS_KERNEL_TRY_H
#define HDI_TESTS_KERNEL_TRY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/topology.h"
#include "kernel/program.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

struct
try {
    struct hdi_topology *topology;
    const struct hdi_backend *backend;
    struct hdi_device *device;
    struct hdi_unit *unit;
    struct hdi_program_context context;
    uint32_t split[3]; // work-groups of a chunk; 0: all
    bool backwards;    // the last chunk first
    const char *form;  // build option of every program; NULL: none
};

// Work-items of the largest work-group.
#define TRY_MAX_ITEMS (getenv("HEDDLE_TRY") ? 1024 : 1200)

// Open the device, or skip the test where there is no compiler. `params` may be
// NULL.
static inline struct try try_open_with(const struct hdi_device_params *params)
{
    struct hd_error error;
    const char *name = getenv("HEDDLE_TRY");
    struct try t = {.backend = hdi_backend_find(name ? name : "cpu")};
    const struct fake_cuda *fake = fake_cuda();

    if (strncmp(hdi_compiler_description(), "no compiler", 11) == 0)
        SKIP(hdi_compiler_description());
    CHECK(t.backend);
    CHECK_OK(hdi_topology_create(NULL, &t.topology, &error), error);
    CHECK_OK(t.backend->open(t.topology, 0, params, &t.device, &error), error);
    CHECK(t.backend->unit_open(t.device, 0, &t.unit) == HD_OK);
    if (fake)
        fake->any_address(true);
    t.context.device = t.device;
    return t;
}

static inline struct try try_open(void)
{
    return try_open_with(NULL);
}

static inline void try_close(struct try *t)
{
    t->backend->unit_close(t->unit);
    t->backend->close(t->device);
    hdi_topology_destroy(t->topology);
}

static inline struct hd_program *try_build(struct try *t, const char *source,
                                           const char *options)
{
    struct hd_error error;
    struct hd_program *program;
    char all[1024];
    const struct hd_program_params params = {
        .path = "test.cl", .source = source, .options = all};

    CHECK(snprintf(all, sizeof(all), "%s %s",
                   t->form && t->device->can.on_caller ? t->form : "",
                   options ? options : "") < (int)sizeof(all));

    CHECK_OK(hdi_program_create(&t->context, &params, &program, &error), error);
    return program;
}

// An argument: bytes of a value or a pointer, or the size of local memory.
struct try_arg {
    const void *value;
    size_t size;
};

#define TRY_VALUE(variable)           \
    (struct try_arg)                  \
    {                                 \
        &(variable), sizeof(variable) \
    }
#define TRY_LOCAL(bytes) \
    (struct try_arg)     \
    {                    \
        NULL, (bytes)    \
    }

struct try_range {
    unsigned dims;
    uint64_t global[3];
    uint32_t local[3];
    uint64_t offset[3];
};

// Every chunk of `dims` dimensions.
static inline void try_submit(struct try *t, struct hdi_chunk *chunk,
                              unsigned dims)
{
    if (dims == 0) {
        uint64_t before = t->backend->done(t->unit);
        CHECK(t->backend->submit(t->unit, chunk));
        while (t->backend->done(t->unit) < before + 1)
            CHECK(!t->device->can.on_caller);
        char text[512] = "";
        t->backend->explain(t->unit, before + 1, text, sizeof(text));
        if (*text)
            fprintf(stderr, "%s\n", text);
        CHECK(t->backend->status(t->unit, before + 1) == HD_OK);
        return;
    }
    unsigned d = dims - 1;
    uint32_t groups = chunk->frame.group_count[d];
    uint32_t step = t->split[d] ? t->split[d] : groups;
    uint32_t parts = groups / step + (groups % step != 0);
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t first = (t->backwards ? parts - 1 - i : i) * step;
        chunk->frame.first[d] = first;
        chunk->frame.count[d] = groups - first < step ? groups - first : step;
        try_submit(t, chunk, d);
    }
}

static inline void try_run(struct try *t, const struct hd_program *program,
                           const char *name, struct try_range range,
                           const struct try_arg *args, unsigned arg_count)
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    CHECK(kernel);
    CHECK(kernel->info.arg_count == arg_count);

    char *packed = calloc(1, kernel->args_size + 64);
    uint64_t local = kernel->info.local_bytes, items = 1;
    CHECK(packed);
    for (unsigned i = 0; i < arg_count; i++) {
        char *to = packed + kernel->args[i].offset;
        if (kernel->args[i].shown.kind == HD_ARG_LOCAL) {
            CHECK(!args[i].value);
            memcpy(to, &local, sizeof(local));
            local += (args[i].size + 127) / 128 * 128;
        } else {
            CHECK(args[i].value);
            memcpy(to, args[i].value, args[i].size);
        }
    }

    struct hdi_chunk chunk = {.entry = kernel->entry, .local_bytes = local};
    chunk.frame.args = packed;
    chunk.frame.dims = range.dims;
    for (int d = 0; d < 3; d++) {
        uint64_t global = range.global[d] ? range.global[d] : 1;
        uint32_t size = range.local[d] ? range.local[d] : 1;
        chunk.frame.global[d] = global;
        chunk.frame.offset[d] = range.offset[d];
        chunk.frame.local_size[d] = size;
        chunk.frame.group_count[d] = (uint32_t)((global + size - 1) / size);
        items *= size;
    }
    chunk.saved_bytes = items * kernel->info.saved_bytes;
    try_submit(t, &chunk, 3);
    free(packed);
}

#define TRY_RUN(try, program, name, range, ...)                         \
    try_run(try, program, name, range, (struct try_arg[]){__VA_ARGS__}, \
            sizeof((struct try_arg[]){__VA_ARGS__}) / sizeof(struct try_arg))

#endif
