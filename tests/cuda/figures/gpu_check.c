// Checks a real GPU (or the fake driver's) with code made ahead:
//
//     gpu_check GPU_CHECK.hdb LARGE.hdb [LARGE.ptx]
//
// the binaries of gpu_check.cl and large.cl, and what nvcc made of large.cu.
// Results are compared with C in double precision; then figures.c, forms.c,
// large.c and together.c measure. JSON lines on stdout, a table on stderr;
// scripts/gpu_check carries it to machines that have nothing but a driver.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/topology.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"
#include "tests/cuda/figures/figures.h"

enum {
    ITEMS = 64 * 1024,
    FEW = 2048, // on the fake driver
    TRIPS = 2000,
    FEW_TRIPS = 50
};

static float x[ITEMS], y[ITEMS], seen[ITEMS];
static int bins[64], seen_bins[64];

void machine_open(struct machine *m, const char *binary, unsigned units,
                  bool doorbell)
{
    const struct hdi_device_params params = {
        .units = units, .unit_cores = GROUP, .doorbell = doorbell};
    const struct hd_program_params program = {.path = binary};
    struct hd_error error;
    struct hdi_program_context context = {0};

    *m = (struct machine){.backend = hdi_backend_find("cuda"),
                          .unit_count = units ? units : 1,
                          .fake = fake_cuda() != NULL};
    m->items = m->fake ? FEW : ITEMS;
    m->trips = m->fake ? FEW_TRIPS : TRIPS;
    CHECK_OK(hdi_topology_create(NULL, &m->topology, &error), error);
    hd_status status =
        m->backend->open(m->topology, 0, &params, &m->device, &error);
    if (status == HD_ENODEV)
        SKIP(error.text);
    CHECK_OK(status, error);
    context.device = m->device;
    CHECK_OK(hdi_program_create(&context, &program, &m->program, &error),
             error);
    for (unsigned i = 0; i < m->unit_count; i++)
        CHECK(m->backend->unit_open(m->device, i, &m->units[i]) == HD_OK);
}

void machine_close(struct machine *m)
{
    for (unsigned i = 0; i < m->unit_count; i++)
        m->backend->unit_close(m->units[i]);
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

struct hdi_chunk machine_chunk(const struct machine *m, const char *name,
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

void machine_run(struct machine *m, const struct hdi_chunk *chunk)
{
    char text[512] = "";

    while (!m->backend->submit(m->units[0], chunk))
        ;
    uint64_t number = m->backend->submitted(m->units[0]);
    while (m->backend->done(m->units[0]) < number)
        ;
    m->backend->explain(m->units[0], number, text, sizeof(text));
    if (m->backend->status(m->units[0], number) != HD_OK)
        fprintf(stderr, "%s\n", text);
    CHECK(m->backend->status(m->units[0], number) == HD_OK);
}

// The largest error against C, in units of `scale`.
static void compare(const struct machine *m, const char *mode,
                    const char *kernel, double error, double bar)
{
    char name[64];

    snprintf(name, sizeof(name), "%s %s", mode, kernel);
    figure(m, name, "error", error, "ratio", "c, double", bar, true);
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
    struct hdi_chunk c = machine_chunk(m, "saxpy", m->items, args);
    machine_run(m, &c);
    CHECK(m->backend->copy(m->device, seen, on_y, bytes) == HD_OK);
    for (uint32_t i = 0; i < m->items; i++)
        worst =
            worse(worst, (double)seen[i], 2.5 * (double)x[i] + (double)y[i]);
    compare(m, mode, "saxpy", worst, 1e-6);

    c = machine_chunk(m, "sums", m->items, args);
    machine_run(m, &c);
    CHECK(m->backend->copy(m->device, seen, on_y, bytes) == HD_OK);
    worst = 0;
    for (uint32_t g = 0; g < m->items / GROUP; g++) {
        double sum = 0;
        for (uint32_t i = 0; i < GROUP; i++)
            sum += (double)x[g * GROUP + i];
        worst = worse(worst, (double)seen[g], sum);
    }
    compare(m, mode, "sums", worst, 1e-6);

    c = machine_chunk(m, "functions", m->items, args);
    machine_run(m, &c);
    CHECK(m->backend->copy(m->device, seen, on_y, bytes) == HD_OK);
    worst = 0;
    for (uint32_t i = 0; i < m->items; i++) {
        double v = (double)x[i];
        worst = worse(worst, (double)seen[i],
                      exp(sin(v)) + sqrt(fabs(v)) + pow(fabs(v), 1.5));
    }
    compare(m, mode, "functions", worst, 2e-6);

    memcpy(args, &on_bins, 8);
    c = machine_chunk(m, "count", m->items, args);
    machine_run(m, &c);
    CHECK(m->backend->copy(m->device, seen_bins, on_bins, sizeof(bins)) ==
          HD_OK);
    int right[64] = {0}, wrong = 0;
    for (uint32_t i = 0; i < m->items; i++)
        right[(int)(fabsf(x[i]) * 16) & 63]++;
    for (int i = 0; i < 64; i++)
        wrong += right[i] != seen_bins[i];
    compare(m, mode, "count", wrong, 0);
    m->backend->free(m->device, on_bins, sizeof(bins));
    m->backend->free(m->device, on_y, bytes);
    m->backend->free(m->device, on_x, bytes);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned units;
        bool doorbell;
    } modes[] = {
        {"launch", 0, false}, {"ring", 2, false}, {"doorbell", 2, true}};

    CHECK(argc == 3 || argc == 4);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct machine m;
        machine_open(&m, argv[1], modes[i].units, modes[i].doorbell);
        if (i == 0)
            fprintf(stderr, "%s\n", m.device->can.description);
        check_results(&m, modes[i].name);
        fprintf(stderr, "%-10s results right\n", modes[i].name);
        machine_close(&m);
    }
    measure_forms(argv[1]);
    measure(argv[1]);
    measure_large(argv[2], argc == 4 ? argv[3] : NULL,
                  "there was no nvcc when this was packed");
    measure_together(argv[1]);
    return 0;
}
