// Large kernels: their results against C in double precision, and their times
// beside those of the same kernels in CUDA C, as nvcc compiles them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/check.h"
#include "tests/cuda/figures/bare.h"

enum {
    SAMPLES = 7, // results that are computed in C, of each kernel
    ROUNDS = 7,  // of which the fastest counts
    POINTS = 512 // of a transform
};

// `out` is what a kernel has left; the error of one of its results.
struct arrays {
    const float *in, *table;
    uint64_t items; // of the launch
    uint32_t n;
};

struct large {
    const char *name;
    double (*check)(const struct arrays *a, const float *out, uint64_t sample);
    // On a GPU, and on the fake driver.
    uint64_t items[2], in[2], table[2], out[2]; // the last three: floats
    uint32_t n[2];
    bool square; // work-groups of 16 by 16, of 256 else
    double most; // error
};

static double error_of(double is, double right, double scale)
{
    return fabs(is - right) / (scale + 1e-30);
}

static double check_copy(const struct arrays *a, const float *out, uint64_t s)
{
    uint64_t i = s * 7919 % (4 * a->items);
    return error_of((double)out[i], (double)a->in[i], 1);
}

static double check_stencil(const struct arrays *a, const float *out,
                            uint64_t s)
{
    uint64_t i = s == 0 ? 0 : s * 7919 % a->items, x = i % a->n, y = i / a->n;
    double sum = (double)a->in[i];

    sum += x > 0 ? (double)a->in[i - 1] : 0;
    sum += x + 1 < a->n ? (double)a->in[i + 1] : 0;
    sum += y > 0 ? (double)a->in[i - a->n] : 0;
    sum += y + 1 < a->items / a->n ? (double)a->in[i + a->n] : 0;
    return error_of((double)out[i], 0.2 * sum, 1);
}

static double check_reduction(const struct arrays *a, const float *out,
                              uint64_t s)
{
    uint64_t g = s * 7 % (a->items / 256), count = 256 * (uint64_t)a->n;
    double sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += (double)a->in[g * count + i];
    return error_of((double)out[g], sum, sum);
}

static double check_scan(const struct arrays *a, const float *out, uint64_t s)
{
    uint64_t i = s * 7919 % a->items;
    double sum = 0;

    for (uint64_t k = i / 256 * 256; k <= i; k++)
        sum += (double)a->in[k];
    return error_of((double)out[i], sum, sum);
}

static double check_fft(const struct arrays *a, const float *out, uint64_t s)
{
    uint64_t g = s * 3 % (a->items / 256), k = s * 77 % POINTS;
    const float *x = a->in + g * 2 * POINTS, *y = out + g * 2 * POINTS;
    double re = 0, im = 0;

    for (uint64_t i = 0; i < POINTS; i++) {
        double angle = -2 * M_PI * (double)(i * k % POINTS) / POINTS;
        double c = cos(angle), d = sin(angle);
        re += (double)x[2 * i] * c - (double)x[2 * i + 1] * d;
        im += (double)x[2 * i] * d + (double)x[2 * i + 1] * c;
    }
    // Of what goes in: sums of 512 numbers about 1.
    double first = error_of((double)y[2 * k], re, POINTS);
    double second = error_of((double)y[2 * k + 1], im, POINTS);
    return first > second ? first : second;
}

static double check_bodies(const struct arrays *a, const float *out, uint64_t s)
{
    uint64_t i = s * 7919 % a->items;
    double pull[3] = {0}, size = 0, worst = 0;

    for (uint64_t k = 0; k < a->n; k++) {
        double d[3], square = 0.01;
        for (int c = 0; c < 3; c++) {
            d[c] = (double)a->in[4 * k + (uint64_t)c] -
                   (double)a->in[4 * i + (uint64_t)c];
            square += d[c] * d[c];
        }
        double by = (double)a->in[4 * k + 3] / (square * sqrt(square));
        for (int c = 0; c < 3; c++)
            pull[c] += d[c] * by;
        size += by;
    }
    for (int c = 0; c < 3; c++)
        worst = fmax(worst,
                     error_of((double)out[4 * i + (uint64_t)c], pull[c], size));
    return worst;
}

static double check_matmul(const struct arrays *a, const float *out, uint64_t s)
{
    uint64_t row = s * 31 % a->n, column = s * 57 % a->n;
    double sum = 0;

    for (uint64_t k = 0; k < a->n; k++)
        sum +=
            (double)a->in[row * a->n + k] * (double)a->table[k * a->n + column];
    return error_of((double)out[row * a->n + column], sum, sum);
}

#define M (UINT64_C(1) << 20)
static const struct large kernels[] = {
    {.name = "copy",
     .check = check_copy,
     .items = {16 * M, 512},
     .in = {64 * M, 2048},
     .out = {64 * M, 2048}},
    {.name = "stencil",
     .check = check_stencil,
     .items = {64 * M, 1024},
     .in = {64 * M, 1024},
     .out = {64 * M, 1024},
     .n = {8192, 64},
     .most = 1e-6},
    {.name = "reduction",
     .check = check_reduction,
     .items = {2 * M, 512},
     .in = {64 * M, 2048},
     .out = {8192, 2},
     .n = {32, 4},
     .most = 1e-5},
    {.name = "scan",
     .check = check_scan,
     .items = {32 * M, 512},
     .in = {32 * M, 512},
     .out = {32 * M, 512},
     .most = 1e-5},
    {.name = "fft",
     .check = check_fft,
     .items = {16 * M, 512},
     .in = {64 * M, 2048},
     .table = {POINTS, POINTS},
     .out = {64 * M, 2048},
     .most = 1e-6},
    {.name = "bodies",
     .check = check_bodies,
     .items = {65536, 512},
     .in = {4 * 65536, 2048},
     .out = {4 * 65536, 2048},
     .n = {65536, 512},
     .most = 1e-4},
    {.name = "matmul",
     .check = check_matmul,
     .items = {4 * M, 1024},
     .in = {4 * M, 1024},
     .table = {4 * M, 1024},
     .out = {4 * M, 1024},
     .n = {2048, 32},
     .square = true,
     .most = 1e-5},
};

enum {
    KERNELS = sizeof(kernels) / sizeof(kernels[0])
};

// On the GPU, and what goes in on the host.
struct memory {
    void *out, *in, *table;
    float *host_in, *host_table, *seen;
};

struct bench {
    struct machine m;
    struct bare bare;
    cuda_module peers; // NULL: there are none
    const char *why;
    double product; // of speeds
    unsigned count;
};

static void fill(float *to, uint64_t count, uint32_t seed)
{
    uint32_t x = seed;

    for (uint64_t i = 0; i < count; i++) {
        x = x * 1664525u + 1013904223u;
        to[i] = (float)(x >> 8) / (1 << 24) + 0.25f;
    }
}

static void *give(struct machine *m, const float *from, uint64_t count)
{
    uint64_t bytes = count * sizeof(float);
    void *memory;

    CHECK(m->backend->alloc(m->device, bytes, &memory) == HD_OK);
    if (from)
        CHECK(m->backend->copy(m->device, memory, from, bytes) == HD_OK);
    return memory;
}

static struct memory make(struct machine *m, const struct large *k)
{
    struct memory a = {.host_in = malloc(k->in[m->fake] * sizeof(float)),
                       .host_table =
                           malloc((k->table[m->fake] + 1) * sizeof(float)),
                       .seen = malloc(k->out[m->fake] * sizeof(float))};

    CHECK(a.host_in && a.host_table && a.seen);
    fill(a.host_in, k->in[m->fake], 1);
    fill(a.host_table, k->table[m->fake], 2);
    if (k->check == check_fft)
        for (int i = 0; i < POINTS / 2; i++) {
            a.host_table[2 * i] = (float)cos(2 * M_PI * i / POINTS);
            a.host_table[2 * i + 1] = (float)-sin(2 * M_PI * i / POINTS);
        }
    a.in = give(m, a.host_in, k->in[m->fake]);
    a.table = give(m, a.host_table, k->table[m->fake] + 1);
    a.out = give(m, NULL, k->out[m->fake]);
    return a;
}

static void drop(struct machine *m, const struct large *k, struct memory *a)
{
    m->backend->free(m->device, a->out, k->out[m->fake] * sizeof(float));
    m->backend->free(m->device, a->in, k->in[m->fake] * sizeof(float));
    m->backend->free(m->device, a->table,
                     (k->table[m->fake] + 1) * sizeof(float));
    free(a->host_in);
    free(a->host_table);
    free(a->seen);
}

static struct hdi_chunk chunk_of(const struct machine *m, const struct large *k,
                                 const void *args)
{
    uint32_t items = (uint32_t)k->items[m->fake];
    struct hdi_chunk c = machine_chunk(m, k->name, items, args);
    struct hdi_frame *f = &c.frame;

    f->local_size[0] = 256;
    f->group_count[0] = f->count[0] = items / 256;
    if (k->square) {
        f->dims = 2;
        for (int d = 0; d < 2; d++) {
            f->global[d] = k->n[m->fake];
            f->local_size[d] = 16;
            f->group_count[d] = f->count[d] = k->n[m->fake] / 16;
        }
    }
    return c;
}

static void check(struct bench *b, const struct large *k, struct memory *a,
                  const char *whose)
{
    struct machine *m = &b->m;
    const struct arrays arrays = {a->host_in, a->host_table, k->items[m->fake],
                                  k->n[m->fake]};
    double worst = 0;
    char name[64];

    CHECK(m->backend->copy(m->device, a->seen, a->out,
                           k->out[m->fake] * sizeof(float)) == HD_OK);
    for (uint64_t s = 0; s < SAMPLES; s++)
        worst = fmax(worst, k->check(&arrays, a->seen, s));
    snprintf(name, sizeof(name), "%s %s", whose, k->name);
    figure(m, name, "error", worst, "ratio", "c, double", k->most, true);
    CHECK(worst <= k->most);
}

static cuda_function find_peer(struct bench *b, const struct large *k)
{
    cuda_function function;

    CHECK(b->bare.gpu->driver->ModuleGetFunction(&function, b->peers,
                                                 k->name) == 0);
    return function;
}

static void launch_peer(struct bench *b, cuda_function function,
                        const struct hdi_chunk *c, struct memory *a, uint32_t n)
{
    void *parameters[] = {&a->out, &a->in, &a->table, &n};

    CHECK(b->bare.gpu->driver->LaunchKernel(
              function, c->frame.count[0], c->frame.count[1], 1,
              c->frame.local_size[0], c->frame.local_size[1], 1, 0,
              b->bare.streams[0], parameters, NULL) == 0);
}

// Both in turn, after once each to warm up: how much faster ours is.
static void compare(struct bench *b, const struct large *k,
                    const struct hdi_chunk *c, struct memory *a)
{
    cuda_function function = find_peer(b, k);
    double ours = 1e18, theirs = 1e18;

    for (int i = -1; i < (b->m.fake ? 1 : ROUNDS); i++) {
        uint64_t begin = hdi_now();
        bare_launch(&b->bare, 0, c);
        bare_wait(&b->bare, 0);
        double time = (double)(hdi_now() - begin);
        ours = i >= 0 && time < ours ? time : ours;
        begin = hdi_now();
        launch_peer(b, function, c, a, k->n[b->m.fake]);
        bare_wait(&b->bare, 0);
        time = (double)(hdi_now() - begin);
        theirs = i >= 0 && time < theirs ? time : theirs;
    }
    check(b, k, a, "nvcc");
    figure(&b->m, k->name, "time", ours / 1e3, "us", NULL, 0, false);
    figure(&b->m, k->name, "speed", theirs / ours, "ratio", "nvcc, CUDA C",
           0.85, false);
    b->product *= theirs / ours;
    b->count++;
}

static void run(struct bench *b, const struct large *k)
{
    _Alignas(16) unsigned char args[64] = {0};
    const struct hd_kernel *kernel = hd_program_find(b->m.program, k->name);
    struct memory a = make(&b->m, k);
    uint32_t n = k->n[b->m.fake];
    const void *values[] = {&a.out, &a.in, &a.table, &n};

    CHECK(kernel && kernel->info.arg_count == 4);
    for (unsigned i = 0; i < 4; i++)
        memcpy(args + kernel->args[i].offset, values[i], i < 3 ? 8 : 4);
    struct hdi_chunk c = chunk_of(&b->m, k, args);
    bare_launch(&b->bare, 0, &c);
    bare_wait(&b->bare, 0);
    check(b, k, &a, "large");
    if (b->peers)
        compare(b, k, &c, &a);
    else
        skip_figure(k->name, b->why);
    drop(&b->m, k, &a);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;

    if (!file)
        return NULL;
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static void load_peers(struct bench *b, const char *path)
{
    char *text = path ? read_text(path) : NULL, messages[1024] = "";
    int options[] = {CUDA_OPTION_ERROR_TEXT, CUDA_OPTION_ERROR_TEXT_SIZE};
    void *values[] = {messages, (void *)(uintptr_t)sizeof(messages)};

    if (path && !text)
        b->why = "the code of nvcc cannot be read";
    if (text && b->bare.gpu->driver->ModuleLoadDataEx(&b->peers, text, 2,
                                                      options, values) != 0) {
        fprintf(stderr, "%s: %s\n", path, messages);
        b->peers = NULL;
        b->why = "the driver does not take the code of nvcc";
    }
    free(text);
}

void measure_large(const char *binary, const char *peer, const char *why)
{
    struct bench b = {.why = why, .product = 1};

    machine_open(&b.m, binary, 0, false);
    bare_open(&b.bare, &b.m);
    load_peers(&b, peer);
    for (int i = 0; i < KERNELS; i++)
        run(&b, &kernels[i]);
    if (b.peers) {
        figure(&b.m, "large kernels", "speed", pow(b.product, 1.0 / b.count),
               "ratio", "nvcc, CUDA C", 0.95, false);
        b.bare.gpu->driver->ModuleUnload(b.peers);
    } else {
        skip_figure("large kernels", b.why);
    }
    bare_close(&b.bare);
    machine_close(&b.m);
}
