// Kernels against C that does the same, on one worker and on all cores.
//
//     kernel [--quick] [CASE]...    one JSON object per line on stdout
//
// With CASEs, such as "n-body", those alone.
//
// Heddle and C run in turn, and medians are compared. Before that the results
// of one run of each are compared.
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/topology.h"
#include "bench/figure.h"
#include "bench/kernel_reference.h"
#include "heddle/heddle.h"

enum {
    ROUNDS = 9,
    MAX_THREADS = 64,
    INPUTS = 4,
    BUFFERS = 6, // inputs a, b, c, d and outputs o, p
    MOST_ARGS = 12,
    SHARES = 32 // of a case's units, which threads of C take one by one
};

static const uint64_t bytes = 16 << 20; // of a buffer
static const double least_time = 20;    // of a measurement [ms]

static struct hd_error error;

static void check(hd_status status, const char *what)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench kernel: %s: %s: %s\n", what, hd_status_text(status),
            error.text);
    exit(1);
}

// Cases -----------------------------------------------------------------------

enum fill {
    FILL_FLOATS, // between 1 and 2
    FILL_BODIES,
    FILL_INTEGERS,
    FILL_MATRIX // sparse: begin, column, value, x
};

struct problem {
    const char *name, *kernel;
    // a to f as buffers, n, w, h, d: numbers; k: 0.5; r, s: rate and spread; L:
    // local memory, a float or `local_size` bytes per work-item.
    const char *args;
    struct hd_range range;
    int n, width, height, depth;
    long units; // of the reference
    reference_run *reference;
    enum fill fill;
    unsigned local_size;
    bool in_place; // the output begins as a copy of the first input
    bool integers; // of the result: all but one in a hundred are equal
};

#define ITEMS(n)                                               \
    {                                                          \
        .dims = 1, .global = {n}, .local = { REFERENCE_GROUP } \
    }
#define PLANE(w, h, x, y)                              \
    {                                                  \
        .dims = 2, .global = {w, h}, .local = { x, y } \
    }
#define MILLIONS(m) ((m) << 20)

static const struct problem problems[] = {
    {"vector add", "add", "abo", ITEMS(MILLIONS(4)), .units = MILLIONS(4),
     .reference = reference_add},
    {"vector add with guard", "add_guarded", "abon", ITEMS(MILLIONS(4)),
     .n = MILLIONS(4) - 5, .units = MILLIONS(4) - 5,
     .reference = reference_add},
    {"saxpy", "saxpy", "kaon", ITEMS(MILLIONS(4)), .n = MILLIONS(4) - 5,
     .units = MILLIONS(4) - 5, .reference = reference_saxpy},
    {"saxpy, grid stride", "saxpy_strided", "kaon", ITEMS(1 << 16),
     .n = MILLIONS(4) - 5, .units = MILLIONS(4) - 5,
     .reference = reference_saxpy},
    {"Black-Scholes", "black_scholes", "abcoprsn", ITEMS(MILLIONS(1)),
     .n = MILLIONS(1) - 5, .units = MILLIONS(1) - 5,
     .reference = reference_black_scholes},
    {"n-body", "nbody", "aonL", ITEMS(4096), .n = 4096, .units = 4096,
     .reference = reference_nbody, .fill = FILL_BODIES, .local_size = 16},
    {"Mandelbrot", "mandelbrot", "owhn", PLANE(1024, 512, 32, 8), .n = 256,
     .width = 1024, .height = 512, .units = 512,
     .reference = reference_mandelbrot, .integers = true},
    {"Sobel", "sobel", "aowh", PLANE(2048, 2048, 32, 8), .width = 2048,
     .height = 2048, .units = 2048, .reference = reference_sobel},
    {"matrix product", "matmul", "abon", PLANE(512, 512, 16, 16), .n = 512,
     .units = 512, .reference = reference_matmul},
    {"reduction", "reduce", "aoL", ITEMS(MILLIONS(4)),
     .units = MILLIONS(4) / REFERENCE_GROUP, .reference = reference_reduce},
    {"histogram", "histogram", "aonL", ITEMS(1 << 16), .n = MILLIONS(4),
     .units = MILLIONS(4), .reference = reference_histogram,
     .fill = FILL_INTEGERS, .integers = true},
    {"bitonic sort", "bitonic", "oL", ITEMS(MILLIONS(1)),
     .units = MILLIONS(1) / REFERENCE_GROUP, .reference = reference_bitonic,
     .fill = FILL_INTEGERS, .in_place = true, .integers = true},
    {"transpose", "transpose", "aon", PLANE(2048, 2048, 16, 16), .n = 2048,
     .units = 2048 / 16, .reference = reference_transpose},
    {"scan", "scan", "aoL", ITEMS(MILLIONS(4)),
     .units = MILLIONS(4) / REFERENCE_GROUP, .reference = reference_scan,
     .fill = FILL_INTEGERS, .integers = true},
    {"sparse matrix by vector", "sparse", "abcdon", ITEMS(1 << 17),
     .n = (1 << 17) - 5, .units = (1 << 17) - 5, .reference = reference_sparse,
     .fill = FILL_MATRIX},
    {"stencil",
     "stencil",
     "aowhd",
     {.dims = 3, .global = {160, 160, 160}, .local = {32, 8, 1}},
     .width = 160,
     .height = 160,
     .depth = 160,
     .units = 160,
     .reference = reference_stencil},
    {"nearest centre", "nearest", "abon", ITEMS(MILLIONS(1)), .n = 32,
     .units = MILLIONS(1), .reference = reference_nearest, .integers = true},
};

static uint32_t random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void fill(const struct problem *p, void *const inputs[INPUTS])
{
    uint64_t state = 42;

    for (int b = 0; b < INPUTS; b++)
        for (uint64_t i = 0; i < bytes / 4; i++) {
            uint32_t number = random_number(&state);
            if (p->fill == FILL_INTEGERS)
                ((uint32_t *)inputs[b])[i] = number;
            else
                ((float *)inputs[b])[i] =
                    1.0f + (float)(number & 0xffff) / 65536.0f;
        }
    if (p->fill != FILL_MATRIX)
        return;
    // 8 to 40 in a row.
    int *begin = inputs[0], *column = inputs[1], at = 0;
    for (int row = 0; row < p->n; row++) {
        begin[row] = at;
        int count = 8 + (int)(random_number(&state) % 33);
        for (int k = 0; k < count; k++)
            column[at++] = (int)(random_number(&state) % (uint32_t)p->n);
    }
    begin[p->n] = at;
}

// Heddle ----------------------------------------------------------------------

struct ours {
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffers[BUFFERS];
};

static struct ours start(unsigned workers, const char *source)
{
    struct ours ours = {0};
    struct hd_runtime_params params = {.workers = workers, .no_cache = true};
    struct hd_program_params text = {.path = "kernel.cl", .source = source};

    check(hd_runtime_create(&params, &ours.runtime, &error), "runtime");
    check(hd_program_create(ours.runtime, &text, &ours.program, &error),
          "build");
    for (int b = 0; b < BUFFERS; b++)
        check(hd_buffer_create(ours.runtime, bytes, &ours.buffers[b], &error),
              "buffer");
    return ours;
}

static void stop(struct ours *ours)
{
    for (int b = 0; b < BUFFERS; b++)
        hd_buffer_destroy(ours->buffers[b]);
    hd_program_destroy(ours->program);
    hd_runtime_destroy(ours->runtime);
}

static void run_ours(const struct ours *ours, const struct problem *p)
{
    static const float half = 0.5f, rate = 0.02f, spread = 0.3f;
    static const char buffers[] = "abcdop";
    struct hd_arg args[MOST_ARGS];
    unsigned count = 0;

    for (const char *c = p->args; *c; c++) {
        const char *buffer = strchr(buffers, *c);
        // The stencil's depth is a number.
        if (*c == 'd' && p->depth)
            buffer = NULL;
        if (buffer)
            args[count++] =
                (struct hd_arg)HD_BUFFER(ours->buffers[buffer - buffers]);
        else if (*c == 'L')
            args[count++] = (struct hd_arg)HD_LOCAL(
                REFERENCE_GROUP * (p->local_size ? p->local_size : 4));
        else if (*c == 'k' || *c == 'r' || *c == 's')
            args[count++] = (struct hd_arg){.is = HD_IS_VALUE,
                                            .value = *c == 'k'   ? &half
                                                     : *c == 'r' ? &rate
                                                                 : &spread,
                                            .size = sizeof(float)};
        else
            args[count++] = (struct hd_arg){.is = HD_IS_VALUE,
                                            .value = *c == 'n'   ? &p->n
                                                     : *c == 'w' ? &p->width
                                                     : *c == 'h' ? &p->height
                                                                 : &p->depth,
                                            .size = sizeof(int)};
    }
    check(hd_launch(ours->runtime, hd_program_find(ours->program, p->kernel),
                    &p->range, args, count, &error),
          p->name);
}

static double time_ours(const struct ours *ours, const struct problem *p,
                        int repeats)
{
    double begin = figure_now();
    for (int i = 0; i < repeats; i++)
        run_ours(ours, p);
    return (figure_now() - begin) / repeats;
}

// Plain C ---------------------------------------------------------------------

struct crew {
    struct hdi_topology *topology;
    const struct problem *problem;
    struct reference reference;
    int threads, repeats;
    atomic_long next[2]; // share nobody has taken yet, of alternate repeats
    atomic_int arrived, round;
};

static void meet(struct crew *crew)
{
    int round = atomic_load(&crew->round);

    if (atomic_fetch_add(&crew->arrived, 1) + 1 == crew->threads) {
        atomic_store(&crew->arrived, 0);
        atomic_store(&crew->round, round + 1);
    } else {
        while (atomic_load(&crew->round) == round)
            ;
    }
}

static void *work(void *data)
{
    struct crew *crew = data;
    const struct problem *p = crew->problem;
    // Whole vectors of units, where there are many.
    long step = (p->units / SHARES + 255) / 256 * 256;
    if (p->units < 65536)
        step = p->units / SHARES > 4 ? p->units / SHARES / 4 * 4 : 4;
    if (p->units == 4096)
        step = 128;

    for (int i = 0; i < crew->repeats; i++) {
        atomic_long *next = &crew->next[i % 2];
        long begin;
        meet(crew);
        atomic_store(&crew->next[(i + 1) % 2], 0);
        while ((begin = atomic_fetch_add(next, step)) < p->units)
            p->reference(&crew->reference, begin,
                         begin + step < p->units ? begin + step : p->units);
        meet(crew);
    }
    return NULL;
}

static double time_c(struct crew *crew, int threads, int repeats)
{
    pthread_t ids[MAX_THREADS];

    crew->threads = threads;
    crew->repeats = repeats;
    atomic_store(&crew->next[0], 0);
    double begin = figure_now();
    for (int i = 0; i < threads; i++)
        check(hdi_thread_start(crew->topology, (unsigned)i, "plain C", work,
                               crew, &ids[i]),
              "thread");
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return (figure_now() - begin) / repeats;
}

// Figures ---------------------------------------------------------------------

static void compare(const struct problem *p, const void *ours, const void *c)
{
    const uint32_t *a = ours, *b = c;
    const float *x = ours, *y = c;
    uint64_t different = 0;

    for (uint64_t i = 0; i < bytes / 4; i++)
        if (p->integers)
            different += a[i] != b[i];
        else
            different += !(fabsf(x[i] - y[i]) <= 1e-3f + 1e-3f * fabsf(y[i]));
    // Rounding decides whether a point leaves the Mandelbrot set now or later.
    if (different > (p->integers ? bytes / 4 / 100 : 0)) {
        fprintf(stderr, "bench kernel: %s: %llu results differ\n", p->name,
                (unsigned long long)different);
        exit(1);
    }
}

static double print_ratio(const struct problem *p, const char *where,
                          double *ours, double *c, int rounds)
{
    char name[96];
    double a = figure_median(ours, rounds), b = figure_median(c, rounds);

    snprintf(name, sizeof(name), "%s, %s", p->name, where);
    figure_print(&(struct figure){.bench = "kernel",
                                  .name = name,
                                  .metric = "time over C",
                                  .value = a / b,
                                  .unit = "ratio",
                                  .peer = "c",
                                  .op = "<=",
                                  .bar = 2});
    return log(a / b);
}

static void reset(const struct problem *p, void *const in[INPUTS], void *out[2])
{
    for (int o = 0; o < 2; o++)
        memset(out[o], 0, bytes);
    if (p->in_place)
        memcpy(out[0], in[0], bytes);
}

static void measure(const struct problem *p, const struct ours *one,
                    const struct ours *all, struct crew *crew, int cores,
                    int rounds, double sums[2])
{
    double times[4][ROUNDS];
    const struct ours *both[2] = {one, all};

    crew->problem = p;
    crew->reference.n = p->n;
    crew->reference.width = p->width;
    crew->reference.height = p->height;
    crew->reference.depth = p->depth;
    void *in[INPUTS],
        *out[2] = {crew->reference.out[0], crew->reference.out[1]};
    for (int b = 0; b < INPUTS; b++)
        in[b] = (void *)(uintptr_t)crew->reference.in[b];
    fill(p, in);
    reset(p, in, out);
    if (p->in_place)
        memset(out[0], 0, bytes);
    time_c(crew, 1, 1);
    if (p->in_place) // what no work-item touched
        memcpy((char *)out[0] + p->units * REFERENCE_GROUP * 4,
               (char *)in[0] + p->units * REFERENCE_GROUP * 4,
               bytes - (uint64_t)p->units * REFERENCE_GROUP * 4);
    for (int i = 0; i < 2; i++) {
        void *mine[2];
        for (int b = 0; b < INPUTS; b++)
            memcpy(hd_buffer_host(both[i]->buffers[b]), in[b], bytes);
        for (int o = 0; o < 2; o++)
            mine[o] = hd_buffer_host(both[i]->buffers[INPUTS + o]);
        reset(p, in, mine);
        run_ours(both[i], p);
        compare(p, mine[0], out[0]);
        compare(p, mine[1], out[1]);
    }

    int repeats = 1;
    while (repeats < 1000 && time_c(crew, 1, repeats) * repeats < least_time)
        repeats *= 2;
    for (int i = 0; i < rounds; i++) {
        times[0][i] = time_ours(one, p, repeats);
        times[1][i] = time_c(crew, 1, repeats);
        times[2][i] = time_ours(all, p, repeats);
        times[3][i] = time_c(crew, cores, repeats);
    }
    sums[0] += print_ratio(p, "1 worker", times[0], times[1], rounds);
    sums[1] += print_ratio(p, "all cores", times[2], times[3], rounds);
}

static char *read_source(void)
{
    FILE *file = fopen(KERNEL_SOURCE, "r");
    char *text = calloc(1, 64 << 10);

    if (!file || !text || fread(text, 1, (64 << 10) - 1, file) == 0) {
        perror(KERNEL_SOURCE);
        exit(1);
    }
    fclose(file);
    return text;
}

static bool is_wanted(const struct problem *p, char **names)
{
    bool wanted = *names == NULL;
    for (; *names; names++)
        wanted |= strcmp(*names, p->name) == 0;
    return wanted;
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    int rounds = quick ? 5 : ROUNDS, count = 0;
    const int most = sizeof(problems) / sizeof(problems[0]);
    struct crew crew = {0};
    double sums[2] = {0};

    check(hdi_topology_create(NULL, &crew.topology, &error), "topology");
    int cores = (int)hdi_topology_machine(crew.topology)->cores;
    if (cores > MAX_THREADS)
        cores = MAX_THREADS;
    for (int b = 0; b < BUFFERS; b++) {
        void *memory = aligned_alloc(4096, bytes);
        if (!memory)
            return 1;
        if (b < INPUTS)
            crew.reference.in[b] = memory;
        else
            crew.reference.out[b - INPUTS] = memory;
    }

    char *source = read_source();
    double begin = figure_now();
    struct ours one = start(1, source);
    double build = figure_now() - begin;
    struct ours all = start((unsigned)cores, source);
    for (int i = 0; i < most; i++)
        if (is_wanted(&problems[i], argv + 1 + quick)) {
            measure(&problems[i], &one, &all, &crew, cores, rounds, sums);
            count++;
        }
    for (int i = 0; i < 2; i++)
        figure_print(&(struct figure){.bench = "kernel",
                                      .name = i ? "geometric mean, all cores"
                                                : "geometric mean, 1 worker",
                                      .metric = "time over C",
                                      .value = exp(sums[i] / count),
                                      .unit = "ratio",
                                      .peer = "c",
                                      .op = "<=",
                                      .bar = 1.3});
    figure_print(&(struct figure){.bench = "kernel",
                                  .name = "build 17 kernels, no cache",
                                  .metric = "time",
                                  .value = build,
                                  .unit = "ms",
                                  .op = "<=",
                                  .bar = 500});

    stop(&all);
    stop(&one);
    hdi_topology_destroy(crew.topology);
    for (int b = 0; b < BUFFERS; b++)
        free(b < INPUTS ? (void *)(uintptr_t)crew.reference.in[b]
                        : crew.reference.out[b - INPUTS]);
    free(source);
    return 0;
}
