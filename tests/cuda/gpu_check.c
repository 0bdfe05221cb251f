// Checks a real GPU (or the fake driver's) with code made ahead: argv[1] is the
// binary of gpu_check.cl. Results are compared with C in double precision, and
// a launch's way there and back is timed. JSON lines on stdout, words on
// stderr; scripts/gpu_check carries it to machines that have nothing but a
// driver.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/topology.h"
#include "kernel/program.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    GROUP = 64,
    ITEMS = 64 * 1024,
    FEW = 2048, // on the fake driver
    TRIPS = 2000,
    FEW_TRIPS = 50
};

struct machine {
    struct hdi_topology *topology;
    const struct hdi_backend *backend;
    struct hdi_device *device;
    struct hdi_unit *unit;
    struct hd_program *program;
    uint32_t items;
    int trips;
};

static float x[ITEMS], y[ITEMS], seen[ITEMS];
static int bins[64], seen_bins[64];

static bool open_machine(struct machine *m, const char *binary, unsigned units,
                         bool doorbell)
{
    const struct hdi_device_params params = {
        .units = units, .unit_cores = GROUP, .doorbell = doorbell};
    const struct hd_program_params program = {.path = binary};
    struct hd_error error;
    struct hdi_program_context context = {0};

    *m = (struct machine){.backend = hdi_backend_find("cuda"),
                          .items = fake_cuda() ? FEW : ITEMS,
                          .trips = fake_cuda() ? FEW_TRIPS : TRIPS};
    CHECK_OK(hdi_topology_create(NULL, &m->topology, &error), error);
    hd_status status =
        m->backend->open(m->topology, 0, &params, &m->device, &error);
    if (status == HD_ENODEV)
        SKIP(error.text);
    CHECK_OK(status, error);
    context.device = m->device;
    CHECK_OK(hdi_program_create(&context, &program, &m->program, &error),
             error);
    CHECK(m->backend->unit_open(m->device, 0, &m->unit) == HD_OK);
    return true;
}

static void close_machine(struct machine *m)
{
    m->backend->unit_close(m->unit);
    hd_program_destroy(m->program);
    m->backend->close(m->device);
    hdi_topology_destroy(m->topology);
}

static void *give(struct machine *m, const void *from, size_t size)
{
    void *memory;
    CHECK(m->backend->alloc(m->device, size, &memory) == HD_OK);
    CHECK(m->backend->copy(m->device, memory, from, size) == HD_OK);
    return memory;
}

static struct hdi_chunk chunk_of(const struct machine *m, const char *name,
                                 uint32_t items, const void *args)
{
    const struct hd_kernel *k = hd_program_find(m->program, name);

    CHECK(k && k->entry);
    return (struct hdi_chunk){.entry = k->entry,
                              .frame = {.args = args,
                                        .global = {items, 1, 1},
                                        .local_size = {GROUP, 1, 1},
                                        .group_count = {items / GROUP, 1, 1},
                                        .count = {items / GROUP, 1, 1},
                                        .dims = 1},
                              .local_bytes = k->info.local_bytes};
}

static void run(struct machine *m, const struct hdi_chunk *chunk)
{
    char text[512] = "";

    while (!m->backend->submit(m->unit, chunk))
        ;
    uint64_t number = m->backend->submitted(m->unit);
    while (m->backend->done(m->unit) < number)
        ;
    m->backend->explain(m->unit, number, text, sizeof(text));
    if (m->backend->status(m->unit, number) != HD_OK)
        fprintf(stderr, "%s\n", text);
    CHECK(m->backend->status(m->unit, number) == HD_OK);
}

// The largest error against C, in units of `scale`.
static void compare(const char *mode, const char *kernel, double error,
                    double bar)
{
    printf("{\"bench\":\"gpu\",\"case\":\"%s %s\",\"metric\":\"error\","
           "\"value\":%.3g,\"unit\":\"ratio\",\"peer\":\"c, double\","
           "\"op\":\"<=\",\"bar\":%.3g,\"holds\":%s}\n",
           mode, kernel, error, bar, error <= bar ? "true" : "false");
    CHECK(error <= bar);
}

static double worse(double worst, double is, double right)
{
    double error = fabs(is - right) / (fabs(right) + 1e-30);
    return error > worst ? error : worst;
}

static void check_results(struct machine *m, const char *mode)
{
    _Alignas(16) unsigned char args[64] = {0};
    size_t bytes = m->items * sizeof(float);
    float a = 2.5f;
    double worst = 0;

    for (uint32_t i = 0; i < m->items; i++) {
        x[i] = (float)(i % 1000) * 0.01f + 0.125f;
        y[i] = (float)(i % 77);
    }
    void *on_x = give(m, x, bytes), *on_y = give(m, y, bytes),
         *on_bins = give(m, bins, sizeof(bins));
    memcpy(args, &on_y, 8);
    memcpy(args + 8, &on_x, 8);
    memcpy(args + 16, &a, 4);
    struct hdi_chunk c = chunk_of(m, "saxpy", m->items, args);
    run(m, &c);
    CHECK(m->backend->copy(m->device, seen, on_y, bytes) == HD_OK);
    for (uint32_t i = 0; i < m->items; i++)
        worst =
            worse(worst, (double)seen[i], 2.5 * (double)x[i] + (double)y[i]);
    compare(mode, "saxpy", worst, 1e-6);

    c = chunk_of(m, "sums", m->items, args);
    run(m, &c);
    CHECK(m->backend->copy(m->device, seen, on_y, bytes) == HD_OK);
    worst = 0;
    for (uint32_t g = 0; g < m->items / GROUP; g++) {
        double sum = 0;
        for (uint32_t i = 0; i < GROUP; i++)
            sum += (double)x[g * GROUP + i];
        worst = worse(worst, (double)seen[g], sum);
    }
    compare(mode, "sums", worst, 1e-6);

    c = chunk_of(m, "functions", m->items, args);
    run(m, &c);
    CHECK(m->backend->copy(m->device, seen, on_y, bytes) == HD_OK);
    worst = 0;
    for (uint32_t i = 0; i < m->items; i++) {
        double v = (double)x[i];
        worst = worse(worst, (double)seen[i],
                      exp(sin(v)) + sqrt(fabs(v)) + pow(fabs(v), 1.5));
    }
    compare(mode, "functions", worst, 2e-6);

    memcpy(args, &on_bins, 8);
    c = chunk_of(m, "count", m->items, args);
    run(m, &c);
    CHECK(m->backend->copy(m->device, seen_bins, on_bins, sizeof(bins)) ==
          HD_OK);
    int right[64] = {0}, wrong = 0;
    for (uint32_t i = 0; i < m->items; i++)
        right[(int)(fabsf(x[i]) * 16) & 63]++;
    for (int i = 0; i < 64; i++)
        wrong += right[i] != seen_bins[i];
    compare(mode, "count", wrong, 0);
    m->backend->free(m->device, on_bins, sizeof(bins));
    m->backend->free(m->device, on_y, bytes);
    m->backend->free(m->device, on_x, bytes);
}

static int by_time(const void *a, const void *b)
{
    uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return p < q ? -1 : p > q;
}

// One work-group, there and back; the median [ns].
static double time_trip(struct machine *m)
{
    static uint64_t times[TRIPS];
    _Alignas(16) unsigned char args[64] = {0};
    const struct hdi_chunk c = chunk_of(m, "empty", GROUP, args);

    run(m, &c);
    for (int i = 0; i < m->trips; i++) {
        uint64_t begin = hdi_now();
        run(m, &c);
        times[i] = hdi_now() - begin;
    }
    qsort(times, (size_t)m->trips, sizeof(*times), by_time);
    return (double)times[m->trips / 2];
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned units;
        bool doorbell;
    } modes[] = {
        {"launch", 0, false}, {"ring", 2, false}, {"doorbell", 2, true}};
    double launch = 0;

    CHECK(argc == 2);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct machine m;
        open_machine(&m, argv[1], modes[i].units, modes[i].doorbell);
        if (i == 0)
            fprintf(stderr, "%s\n", m.device->can.description);
        check_results(&m, modes[i].name);
        double trip = time_trip(&m);
        if (i == 0)
            launch = trip;
        printf("{\"bench\":\"gpu\",\"case\":\"%s round trip\",\"metric\":"
               "\"time\",\"value\":%.0f,\"unit\":\"ns\"}\n",
               modes[i].name, trip);
        if (i > 0)
            printf("{\"bench\":\"gpu\",\"case\":\"%s round trip\",\"metric\":"
                   "\"speed over a launch\",\"value\":%.2f,\"unit\":\"ratio\","
                   "\"peer\":\"cuLaunchKernel\",\"op\":\">=\",\"bar\":3,"
                   "\"holds\":%s}\n",
                   modes[i].name, launch / trip,
                   launch / trip >= 3 ? "true" : "false");
        fprintf(stderr, "%-10s results right, %.0f ns there and back\n",
                modes[i].name, trip);
        close_machine(&m);
    }
    return 0;
}
