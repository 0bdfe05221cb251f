// Kernels against C that does the same, on one worker and on all cores, and on
// all cores against the other implementations of OpenCL that are installed:
// eighteen that the compiler was made with (bench_kernel), or others that no
// pass was written for (bench_suite).
//
//     kernel [--quick] [CASE]...    one JSON object per line on stdout
//
// Code and C are for the processor of BENCH_CPU; other implementations always
// make code for the one at hand.
//
// With CASEs, such as "n-body", those alone.
//
// All run in turn, and medians are compared. Before that the results of one run
// of each are compared. Other implementations run in processes of their own
// (kernel_opencl.c).
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/topology.h"
#include "bench/figure.h"
#include "bench/peak_reference.h"
#include "bench/problem.h"
#include "heddle/heddle.h"

enum {
    ROUNDS = 9,
    MAX_THREADS = 64,
    SHARES = 32 // of a case's units, which threads of C take one by one
};

static const uint64_t bytes = PROBLEM_BYTES;
static const double least_time = 20; // of a measurement [ms]

static struct hd_error error;

static struct problem_bar over_c(void)
{
    return strcmp(BENCH_CPU, "native") == 0 ? problem_set.over_c
                                            : problem_set.over_c_else;
}

static struct problem_rig start(unsigned workers)
{
    const struct hd_runtime_params params = {.workers = workers,
                                             .no_cache = true};
    return problem_rig_start(&params, 0);
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
        problem_check(hdi_thread_start(crew->topology, (unsigned)i, "plain C",
                                       work, crew, &ids[i]),
                      "thread", &error);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return (figure_now() - begin) / repeats;
}

// The most that C does on all cores.
struct peaks {
    double bandwidth, arithmetic; // [GB/s], [GFLOP/s]
};

// The best of several: what the machine can do, not what it does on the
// average.
static double time_peak(struct crew *crew, const struct problem *p, int cores,
                        int rounds)
{
    double least;

    crew->problem = p;
    least = time_c(crew, cores, 1);
    for (int i = 0; i < rounds * 3; i++) {
        double time = time_c(crew, cores, 4);
        least = time < least ? time : least;
    }
    return least;
}

static void print_peak(const char *name, const char *metric, double value,
                       const char *unit)
{
    figure_print(&(struct figure){.bench = problem_set.bench,
                                  .name = name,
                                  .metric = metric,
                                  .value = value,
                                  .unit = unit});
}

static struct peaks measure_peaks(struct crew *crew, int cores, int rounds)
{
    static const struct problem triad = {.units = PROBLEM_BYTES / 4,
                                         .reference = reference_triad},
                                fma = {.units = 1 << 16,
                                       .reference = reference_multiply_add};

    for (int b = 0; b < 2; b++)
        memset((void *)(uintptr_t)crew->reference.in[b], 0, bytes);
    struct peaks peaks = {.bandwidth = (double)triad.units * PEAK_BYTES * 1e-6 /
                                       time_peak(crew, &triad, cores, rounds),
                          .arithmetic = (double)fma.units * PEAK_FLOPS * 1e-6 /
                                        time_peak(crew, &fma, cores, rounds)};
    print_peak("C's triad, all cores", "bandwidth", peaks.bandwidth, "GB/s");
    print_peak("C's multiply and add, all cores", "arithmetic",
               peaks.arithmetic, "GFLOP/s");
    return peaks;
}

// Other implementations of OpenCL ---------------------------------------------

static struct peer {
    const char *name, *platform;    // `platform`: a part of its name
    bool usual;                     // when it is missing, figures say so
    const char *vendors;            // where its platform is; NULL: as usual
    const struct problem_bar *bars; // NULL: Heddle through OpenCL, which is to
                                    // take as long as without
    pid_t pid;                      // 0: not there
    FILE *to, *from;
    void *out[2];
    double sum; // of logarithms
    int count;
} peers[] = {
    {.name = "pocl",
     .platform = "Portable Computing Language",
     .usual = true,
     .bars = &problem_set.over_pocl},
    {.name = "intel",
     .platform = "Intel(R) OpenCL",
     .bars = &problem_set.over_intel},
#ifdef VENDORS
    {.name = "heddle, through OpenCL",
     .platform = "Heddle",
     .vendors = VENDORS},
#endif
};

enum {
    PEERS = sizeof(peers) / sizeof(peers[0])
};

static const double most_through_driver = 1.03;

static void peer_stop(struct peer *peer)
{
    if (!peer->pid)
        return;
    fclose(peer->to);
    fclose(peer->from);
    waitpid(peer->pid, NULL, 0);
    free(peer->out[0]);
    free(peer->out[1]);
    peer->pid = 0;
}

static void peer_start(struct peer *peer)
{
    char program[4096], line[16] = "";
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 32);
    int to[2], from[2];
    posix_spawn_file_actions_t actions;
    extern char **environ;

    while (length > 0 && program[length - 1] != '/')
        length--;
    sprintf(program + (length > 0 ? length : 0), "%s_opencl",
            problem_set.bench);
    char *const arguments[] = {program, (char *)(uintptr_t)peer->platform,
                               NULL};
    if (access(program, X_OK) != 0)
        return;
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
        perror("bench");
        exit(1);
    }
    const char *usual = getenv("OCL_ICD_VENDORS");
    if (peer->vendors)
        setenv("OCL_ICD_VENDORS", peer->vendors, 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    bool started = posix_spawn(&peer->pid, program, &actions, NULL, arguments,
                               environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (peer->vendors && usual)
        setenv("OCL_ICD_VENDORS", usual, 1);
    else if (peer->vendors)
        unsetenv("OCL_ICD_VENDORS");
    close(to[0]);
    close(from[1]);
    peer->to = fdopen(to[1], "w");
    peer->from = fdopen(from[0], "r");
    peer->out[0] = malloc(bytes);
    peer->out[1] = malloc(bytes);
    if (!started || !peer->to || !peer->from || !peer->out[0] || !peer->out[1])
        exit(1);
    if (!fgets(line, sizeof(line), peer->from) || strcmp(line, "ready\n") != 0)
        peer_stop(peer);
}

// One run of a case, whose results are then in `out`; whether it did.
static bool peer_run(struct peer *peer, const struct problem *p)
{
    fprintf(peer->to, "run %d\n", (int)(p - problem_set.problems));
    fflush(peer->to);
    return fread(peer->out[0], bytes, 1, peer->from) == 1 &&
           fread(peer->out[1], bytes, 1, peer->from) == 1;
}

// Of the case that was run last [ms]; not a number when it failed.
static double peer_time(struct peer *peer, int repeats)
{
    char line[64];

    fprintf(peer->to, "time %d\n", repeats);
    fflush(peer->to);
    return fgets(line, sizeof(line), peer->from) ? strtod(line, NULL) : NAN;
}

// Figures ---------------------------------------------------------------------

static void compare(const struct problem *p, const void *ours, const void *c)
{
    uint64_t different = problem_count_different(p, ours, c);

    if (different) {
        fprintf(stderr, "bench %s: %s: %llu results differ\n",
                problem_set.bench, p->name, (unsigned long long)different);
        exit(1);
    }
}

static double print_ratio(const struct problem *p, const char *where,
                          double *ours, double *c, int rounds)
{
    char name[96];
    double a = figure_median(ours, rounds), b = figure_median(c, rounds);

    snprintf(name, sizeof(name), "%s, %s", p->name, where);
    figure_print(&(struct figure){.bench = problem_set.bench,
                                  .name = name,
                                  .metric = "time over C",
                                  .value = a / b,
                                  .unit = "ratio",
                                  .peer = "c",
                                  .op = over_c().worst > 0 ? "<=" : NULL,
                                  .bar = over_c().worst});
    return log(a / b);
}

// What a case moves and computes, beside the most that C does on as many cores.
static void print_rates(const struct problem *p, double ours,
                        const struct peaks *peaks)
{
    char name[96];
    struct figure figure = {.bench = problem_set.bench, .name = name};

    snprintf(name, sizeof(name), "%s, all cores", p->name);
    if (p->bytes > 0) {
        figure.metric = "bandwidth";
        figure.value = p->bytes / ours * 1e-6;
        figure.unit = "GB/s";
        figure_print(&figure);
        figure.value /= peaks->bandwidth;
        figure.unit = "ratio";
        figure.peer = "triad";
        figure_print(&figure);
        figure.peer = NULL;
    }
    if (p->flops > 0) {
        figure.metric = "arithmetic";
        figure.value = p->flops / ours * 1e-6;
        figure.unit = "GFLOP/s";
        figure_print(&figure);
        figure.value /= peaks->arithmetic;
        figure.unit = "ratio";
        figure.peer = "fma";
        figure_print(&figure);
    }
}

// `ours` and `theirs` are medians; not a number says that the peer failed.
static void print_speed(struct peer *peer, const struct problem *p, double ours,
                        double theirs)
{
    char name[96];

    snprintf(name, sizeof(name), "%s, all cores", p->name);
    const struct figure figure = {.bench = problem_set.bench,
                                  .name = name,
                                  .metric = peer->bars ? "speed over the peer"
                                                       : "the peer's time over",
                                  .value = theirs / ours,
                                  .unit = "ratio",
                                  .peer = peer->name,
                                  .op = peer->bars ? ">=" : NULL,
                                  .bar = peer->bars ? peer->bars->worst : 0};
    if (isnan(theirs)) {
        figure_skip(&figure, "it failed, or its results differ");
        return;
    }
    figure_print(&figure);
    peer->sum += log(theirs / ours);
    peer->count++;
}

static void print_means(const double sums[2], int count)
{
    struct figure figure = {.bench = problem_set.bench,
                            .metric = "time over C",
                            .unit = "ratio",
                            .peer = "c",
                            .op = over_c().mean > 0 ? "<=" : NULL,
                            .bar = over_c().mean};

    for (int i = 0; i < 2; i++) {
        figure.name =
            i ? "geometric mean, all cores" : "geometric mean, 1 worker";
        figure.value = exp(sums[i] / count);
        figure_print(&figure);
    }
    for (int i = 0; i < PEERS; i++) {
        const struct problem_bar *bars = peers[i].bars;
        figure.metric = bars ? "speed over the peer" : "the peer's time over";
        figure.bar = bars ? bars->mean : most_through_driver;
        figure.op = figure.bar <= 0 ? NULL : bars ? ">=" : "<=";
        figure.peer = peers[i].name;
        figure.value = exp(peers[i].sum / peers[i].count);
        if (peers[i].count > 0)
            figure_print(&figure);
        else if (peers[i].usual)
            figure_skip(&figure, "it or the OpenCL loader is not installed, or "
                                 "failed");
    }
}

static void measure(const struct problem *p, const struct problem_rig *one,
                    const struct problem_rig *all, struct crew *crew, int cores,
                    int rounds, const struct peaks *peaks, double sums[2])
{
    double times[4][ROUNDS], theirs[PEERS][ROUNDS];
    bool runs[PEERS] = {false};
    const struct problem_rig *both[2] = {one, all};

    crew->problem = p;
    crew->reference.n = p->n;
    crew->reference.width = p->width;
    crew->reference.height = p->height;
    crew->reference.depth = p->depth;
    void *in[PROBLEM_INPUTS],
        *out[2] = {crew->reference.out[0], crew->reference.out[1]};
    for (int b = 0; b < PROBLEM_INPUTS; b++)
        in[b] = (void *)(uintptr_t)crew->reference.in[b];
    problem_fill(p, in);
    problem_reset(p, in, out);
    if (p->in_place)
        memset(out[0], 0, bytes);
    time_c(crew, 1, 1);
    if (p->in_place) // what no work-item touched
        memcpy((char *)out[0] + p->units * REFERENCE_GROUP * 4,
               (char *)in[0] + p->units * REFERENCE_GROUP * 4,
               bytes - (uint64_t)p->units * REFERENCE_GROUP * 4);
    for (int i = 0; i < 2; i++) {
        problem_load(both[i], p, in);
        problem_run(both[i], p);
        for (int o = 0; o < 2; o++)
            compare(p, hd_buffer_host(both[i]->buffers[PROBLEM_INPUTS + o]),
                    out[o]);
    }
    for (int i = 0; i < PEERS; i++)
        runs[i] = peers[i].pid && peer_run(&peers[i], p) &&
                  !problem_count_different(p, peers[i].out[0], out[0]) &&
                  !problem_count_different(p, peers[i].out[1], out[1]);

    int repeats = 1;
    while (repeats < 1000 && time_c(crew, 1, repeats) * repeats < least_time)
        repeats *= 2;
    for (int i = 0; i < rounds; i++) {
        times[0][i] = problem_time(one, p, repeats);
        times[1][i] = time_c(crew, 1, repeats);
        times[2][i] = problem_time(all, p, repeats);
        times[3][i] = time_c(crew, cores, repeats);
        for (int k = 0; k < PEERS; k++)
            theirs[k][i] = runs[k] ? peer_time(&peers[k], repeats) : NAN;
    }
    sums[0] += print_ratio(p, "1 worker", times[0], times[1], rounds);
    sums[1] += print_ratio(p, "all cores", times[2], times[3], rounds);
    print_rates(p, figure_median(times[2], rounds), peaks);
    for (int i = 0; i < PEERS; i++)
        if (peers[i].pid)
            print_speed(&peers[i], p, figure_median(times[2], rounds),
                        figure_median(theirs[i], rounds));
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    int rounds = quick ? 5 : ROUNDS, count = 0;
    struct crew crew = {0};
    double sums[2] = {0};

    problem_check(hdi_topology_create(NULL, &crew.topology, &error), "topology",
                  &error);
    int cores = (int)hdi_topology_machine(crew.topology)->cores;
    if (cores > MAX_THREADS)
        cores = MAX_THREADS;
    for (int b = 0; b < PROBLEM_BUFFERS; b++) {
        void *memory = aligned_alloc(4096, bytes);
        if (!memory)
            return 1;
        if (b < PROBLEM_INPUTS)
            crew.reference.in[b] = memory;
        else
            crew.reference.out[b - PROBLEM_INPUTS] = memory;
    }

    double begin = figure_now();
    struct problem_rig one = start(1);
    double build = figure_now() - begin;
    struct problem_rig all = start((unsigned)cores);
    struct peaks peaks = measure_peaks(&crew, cores, rounds);
    signal(SIGPIPE, SIG_IGN); // a peer may end at any time
    for (int i = 0; i < PEERS; i++)
        peer_start(&peers[i]);
    for (int i = 0; i < problem_set.count; i++)
        if (problem_is_wanted(&problem_set.problems[i], argv + 1 + quick)) {
            measure(&problem_set.problems[i], &one, &all, &crew, cores, rounds,
                    &peaks, sums);
            count++;
        }
    print_means(sums, count);
    figure_print(&(struct figure){.bench = problem_set.bench,
                                  .name = "build, no cache",
                                  .metric = "time",
                                  .value = build,
                                  .unit = "ms"});

    for (int i = 0; i < PEERS; i++)
        peer_stop(&peers[i]);
    problem_rig_stop(&all);
    problem_rig_stop(&one);
    hdi_topology_destroy(crew.topology);
    for (int b = 0; b < PROBLEM_BUFFERS; b++)
        free(b < PROBLEM_INPUTS ? (void *)(uintptr_t)crew.reference.in[b]
                                : crew.reference.out[b - PROBLEM_INPUTS]);
    return 0;
}
