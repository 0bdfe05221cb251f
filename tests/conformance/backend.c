// What every backend must do. Built once, run once per backend folder: argv[1]
// names the backend; argv[2] is how many units of its own threads to open it
// with, argv[3] how many cores each has, and argv[4] may say "doorbell". Skips
// when the hardware is not there. Code is compiled by the kernel layer; what
// needs it is left out, and said so, without a compiler.
#include "backend/backend.h"

#include <pthread.h>

#include "base/topology.h"
#include "kernel/program.h"
#include "kernel/program/state.h"
#include "tests/check.h"

static void members_are_set(const struct hdi_backend *b)
{
    CHECK(b->name && b->open && b->close);
    CHECK(b->alloc && b->free && b->copy && b->view);
    CHECK(b->end_view && b->seal);
    CHECK(b->load && b->unload && b->find);
    CHECK(b->unit_open && b->unit_close && b->submit);
    CHECK(b->submitted && b->done && b->status && b->explain);
}

static void capabilities_make_sense(const struct hdi_device *d)
{
    CHECK(d->can.description && d->can.target && d->can.cpu);
    CHECK(d->can.units >= 1 && d->can.in_flight >= 1);
    CHECK(d->can.group_items >= 1);
    CHECK(d->can.local_bytes >= 16 * 1024);
}

static void there_are_no_endless_devices(const struct hdi_backend *b,
                                         const struct hdi_topology *topology)
{
    struct hdi_device *device;
    struct hd_error error;

    CHECK_FAILS(b->open(topology, 1000, NULL, &device, &error), HD_ENODEV,
                error, "");
}

static void copy_round_trips(const struct hdi_backend *b, struct hdi_device *d)
{
    const char in[] = "warp and weft";
    char out[sizeof(in)] = "";
    void *memory;

    CHECK(b->alloc(d, sizeof(in), &memory) == HD_OK);
    CHECK(b->copy(d, memory, in, sizeof(in)) == HD_OK);
    CHECK(b->copy(d, out, memory, sizeof(in)) == HD_OK);
    CHECK(strcmp(in, out) == 0);
    b->free(d, memory, sizeof(in));
}

static void memory_is_zeroed_and_aligned(const struct hdi_backend *b,
                                         struct hdi_device *d)
{
    enum {
        SIZE = 100001
    };
    char *zeros = calloc(1, SIZE), *ones = malloc(SIZE);

    CHECK(zeros && ones);
    memset(ones, 1, SIZE);
    for (int round = 0; round < 4; round++) {
        void *memory;
        char *seen = malloc(SIZE);
        CHECK(seen && b->alloc(d, SIZE, &memory) == HD_OK);
        CHECK((uintptr_t)memory % 128 == 0);
        CHECK(b->copy(d, seen, memory, SIZE) == HD_OK);
        CHECK(memcmp(seen, zeros, SIZE) == 0);
        CHECK(b->copy(d, memory, ones, SIZE) == HD_OK);
        b->free(d, memory, SIZE);
        free(seen);
    }
    free(zeros);
    free(ones);
}

static void sealed_memory_is_read(const struct hdi_backend *b,
                                  struct hdi_device *d)
{
    const char in[] = "shed";
    char out[sizeof(in)] = "";
    void *memory;

    CHECK(b->alloc(d, 100001, &memory) == HD_OK);
    for (int round = 0; round < 3; round++) {
        char *at = (char *)memory + round * 40000;
        CHECK(b->copy(d, at, in, sizeof(in) - 1) == HD_OK);
        b->seal(d, memory, 100001, true);
        CHECK(b->copy(d, out, at, sizeof(in) - 1) == HD_OK);
        CHECK(strcmp(in, out) == 0);
        b->seal(d, memory, 100001, false);
    }
    b->free(d, memory, 100001);
}

static void views_show_memory(const struct hdi_backend *b, struct hdi_device *d)
{
    static const uint64_t sizes[] = {1, 5000, 30 << 20};

    for (int i = 0; i < 3; i++) {
        const char in = (char)(i + 1);
        char out = 0;
        void *memory;
        CHECK(b->alloc(d, sizes[i], &memory) == HD_OK);
        char *view = b->view(d, memory, sizes[i]);
        CHECK(view != memory);
        CHECK(b->copy(d, (char *)memory + sizes[i] - 1, &in, 1) == HD_OK);
        if (view) {
            CHECK(b->copy(d, &out, view + sizes[i] - 1, 1) == HD_OK);
            CHECK(out == in);
            b->end_view(d, view, sizes[i]);
        }
        b->free(d, memory, sizes[i]);
    }
}

static void too_much_memory_fails(const struct hdi_backend *b,
                                  struct hdi_device *d)
{
    void *memory;
    CHECK(b->alloc(d, UINT64_MAX / 2, &memory) == HD_ENOMEM);
}

enum {
    ITEMS = 1000,
    GROUP = 16,
    GROUPS = (ITEMS + GROUP - 1) / GROUP
};

static const char source[] =
    "kernel void count(global int *out, int step, local int *tile)\n"
    "{\n"
    "    tile[get_local_id(0)] = (int)get_global_id(0) * step;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] += tile[get_local_size(0) - 1 - "
    "get_local_id(0)];\n"
    "}\n";

struct launch {
    const struct hdi_backend *backend;
    struct hdi_device *device;
    const struct hd_kernel *kernel;
    void *out;
    unsigned unit;
};

// One unit, on a thread of its own, runs the launch in chunks of three groups.
static void *run_all_groups(void *data)
{
    struct launch *l = data;
    struct hdi_unit *unit;
    _Alignas(16) unsigned char args[64] = {0};
    int step = 3;
    uint64_t tile = 0, chunks = 0;

    memcpy(args + l->kernel->args[0].offset, &l->out, 8);
    memcpy(args + l->kernel->args[1].offset, &step, 4);
    memcpy(args + l->kernel->args[2].offset, &tile, 8);
    CHECK(l->kernel->args_size <= sizeof(args));
    CHECK(l->backend->unit_open(l->device, l->unit, &unit) == HD_OK);
    CHECK(unit->device == l->device && l->backend->done(unit) == 0);
    for (uint32_t first = 0; first < GROUPS; first += 3) {
        uint32_t count = GROUPS - first < 3 ? GROUPS - first : 3;
        struct hdi_chunk chunk = {
            .entry = l->kernel->entry,
            .frame =
                {
                    .args = args,
                    .global = {ITEMS, 1, 1},
                    .local_size = {GROUP, 1, 1},
                    .group_count = {GROUPS, 1, 1},
                    .first = {first, 0, 0},
                    .count = {count, 1, 1},
                    .dims = 1,
                },
            .local_bytes = GROUP * sizeof(int),
            .saved_bytes = (uint64_t)l->kernel->info.saved_bytes * GROUP,
        };
        while (!l->backend->submit(unit, &chunk))
            ;
        chunks++;
        CHECK(l->backend->submitted(unit) == chunks);
        CHECK(l->backend->done(unit) + l->device->can.in_flight >= chunks);
        if (l->device->can.on_caller)
            CHECK(l->backend->done(unit) == chunks);
    }
    while (l->backend->done(unit) < chunks)
        ;
    CHECK(l->backend->status(unit, chunks) == HD_OK);
    l->backend->unit_close(unit);
    return NULL;
}

static void every_group_runs(const struct hdi_backend *b, struct hdi_device *d)
{
    struct hdi_program_context context = {.device = d};
    struct hd_program_params params = {.path = "count.cl", .source = source};
    struct hd_program *program;
    struct hd_error error;
    hd_status status = hdi_program_create(&context, &params, &program, &error);

    if (status == HD_ENOTSUP) {
        printf("without running code: %s\n", error.text);
        return;
    }
    CHECK_OK(status, error);

    enum {
        THREADS = 2
    };
    void *out;
    static int seen[ITEMS];
    pthread_t threads[THREADS];
    struct launch launches[THREADS];

    CHECK(hd_program_kernel_count(program) == 1);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(b->alloc(d, sizeof(seen), &out) == HD_OK);
        launches[i] =
            (struct launch){b, d, hd_program_find(program, "count"), out, i};
        CHECK(launches[i].kernel && launches[i].kernel->entry);
        // Asking again takes no memory.
        CHECK(b->find(program->codes[0], "count") == launches[i].kernel->entry);
        CHECK(pthread_create(&threads[i], NULL, run_all_groups, &launches[i]) ==
              0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(b->copy(d, seen, launches[i].out, sizeof(seen)) == HD_OK);
        for (int item = 0; item < ITEMS && !d->can.discards; item++) {
            int group = item / GROUP;
            int size =
                ITEMS - group * GROUP < GROUP ? ITEMS - group * GROUP : GROUP;
            int mirrored = group * GROUP + size - 1 - item % GROUP;
            CHECK(seen[item] == 3 * mirrored);
        }
        b->free(d, launches[i].out, sizeof(seen));
    }
    hd_program_destroy(program);
}

int main(int argc, char **argv)
{
    struct hdi_topology *topology;
    struct hdi_device *device;
    struct hdi_device_params params = {0};
    struct hd_error error;

    CHECK(argc >= 2);
    if (argc > 2)
        params.units = (unsigned)atoi(argv[2]);
    if (argc > 3)
        params.unit_cores = (unsigned)atoi(argv[3]);
    params.doorbell = argc > 4 && strcmp(argv[4], "doorbell") == 0;
    const struct hdi_backend *b = hdi_backend_find(argv[1]);
    CHECK(b && strcmp(b->name, argv[1]) == 0);
    members_are_set(b);
    CHECK_OK(hdi_topology_create(NULL, &topology, &error), error);

    hd_status status = b->open(topology, 0, &params, &device, &error);
    if (status == HD_ENODEV)
        SKIP(error.text);
    CHECK_OK(status, error);
    CHECK(device->backend == b);
    capabilities_make_sense(device);
    there_are_no_endless_devices(b, topology);
    copy_round_trips(b, device);
    memory_is_zeroed_and_aligned(b, device);
    views_show_memory(b, device);
    sealed_memory_is_read(b, device);
    too_much_memory_fails(b, device);
    every_group_runs(b, device);
    b->close(device);
    hdi_topology_destroy(topology);
    return 0;
}
