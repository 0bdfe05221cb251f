// Dispatch: decisions per second, longest-run searches against a bit-by-bit
// scan, and the standard workload against its bars. JSON lines on stdout.
//
//     bench_dispatch [--quick] [--json] [--case runs|decisions|units|standard|
//                    cores]
//                    [EXAMPLES]
//
// EXAMPLES is the folder of standard.machine and standard-*.workload.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/maps/runs.h"
#include "dispatch/policies/policy.h"
#include "sim/policy.h"
#include "sim/sweep.h"

static bool quick;
static const char *examples = HEDDLE_EXAMPLES;

static void report(const char *name, const char *metric, double value,
                   const char *unit, const char *peer, const char *op,
                   double bar)
{
    printf("{\"bench\":\"dispatch\",\"case\":\"%s\",\"metric\":\"%s\","
           "\"value\":%.6g,\"unit\":\"%s\"",
           name, metric, value, unit);
    if (peer)
        printf(",\"peer\":\"%s\"", peer);
    if (op) {
        bool holds = op[0] == '<' ? value <= bar : value >= bar;
        printf(",\"op\":\"%s\",\"bar\":%g,\"holds\":%s", op, bar,
               holds ? "true" : "false");
    }
    printf("}\n");
    fflush(stdout);
}

static void stop(const struct hd_error *error)
{
    fprintf(stderr, "bench dispatch: %s\n", error->text);
    exit(1);
}

// Time of this thread alone, so that a busy machine does not count [ns].
static uint64_t cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 ? values[count / 2]
                     : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// Longest runs.

enum {
    MAPS = 4096,
    MAX_WORDS = 16,
    REPEATS = 41
};

static uint64_t maps[MAPS * MAX_WORDS];  // one after the other
static uint64_t lanes_of_maps[MAPS * 2]; // eight together
static volatile uint64_t sink;

struct density {
    const char *name;
    unsigned longest, percent;
};

static const struct density densities[] = {
    {"fragmented", 6, 50}, {"mixed", 24, 50}, {"free", 24, 80}};

static void fill(unsigned words, const struct density *density)
{
    struct hdi_random random;

    hdi_random_seed(&random, words);
    memset(maps, 0, sizeof(maps));
    for (unsigned m = 0; m < MAPS; m++) {
        uint64_t *map = maps + m * words;
        for (unsigned at = 0; at < words * 64;) {
            unsigned length = 1 + hdi_random_below(&random, density->longest);
            if (length > words * 64 - at)
                length = words * 64 - at;
            if (hdi_random_below(&random, 100) < density->percent)
                hdi_map_set_blocks(map, at, length);
            at += length;
        }
        if (words == 2) {
            lanes_of_maps[m / 8 * 16 + m % 8] = map[0];
            lanes_of_maps[m / 8 * 16 + 8 + m % 8] = map[1];
        }
    }
}

static uint64_t all_by_scan(unsigned words)
{
    uint64_t sum = 0;

    for (unsigned m = 0; m < MAPS; m++)
        sum += hdi_run_scan(maps + m * words, words * 64);
    return sum;
}

static uint64_t all_one_by_one(unsigned words)
{
    unsigned (*run)(const uint64_t *, unsigned) = hdi_lanes()->run;
    uint64_t sum = 0;

    for (unsigned m = 0; m < MAPS; m++)
        sum += run(maps + m * words, words);
    return sum;
}

static uint64_t all_batched(unsigned words)
{
    const struct hdi_simd *lanes = hdi_lanes();
    uint64_t sum = 0;

    (void)words;
    for (unsigned m = 0; m < MAPS; m += 8) {
        uint16_t found[8];
        lanes->runs(lanes_of_maps + m * 2, 1, found);
        for (unsigned i = 0; i < 8; i++)
            sum += found[i];
    }
    return sum;
}

static void compare(const char *name, const struct density *density,
                    uint64_t (*fast)(unsigned), unsigned words, double bar)
{
    double ratios[REPEATS], best_fast = INFINITY, best_scan = INFINITY;
    char text[64];

    for (unsigned i = 0; i < REPEATS; i++) {
        uint64_t t0 = cpu_time(), a = all_by_scan(words), t1 = cpu_time();
        uint64_t b = fast(words), t2 = cpu_time();
        if (a != b) {
            fprintf(stderr, "bench dispatch: %s: wrong runs\n", name);
            exit(1);
        }
        sink = b;
        ratios[i] = (double)(t1 - t0) / (double)(t2 - t1);
        best_fast = fmin(best_fast, (double)(t2 - t1) / MAPS);
        best_scan = fmin(best_scan, (double)(t1 - t0) / MAPS);
    }
    snprintf(text, sizeof(text), "%s, %s", name, density->name);
    report(text, "time of a bit-by-bit scan", best_scan, "ns", NULL, NULL, 0);
    report(text, "time", best_fast, "ns", NULL, NULL, 0);
    report(text, "throughput over a bit-by-bit scan", median(ratios, REPEATS),
           "ratio", "scan", ">=", bar);
}

static void longest_runs(void)
{
    for (unsigned d = 0; d < 3; d++) {
        fill(2, &densities[d]);
        compare("128 bits one by one", &densities[d], all_one_by_one, 2, 10);
        compare("128 bits batched", &densities[d], all_batched, 2, 25);
        fill(16, &densities[d]);
        compare("1024 bits", &densities[d], all_one_by_one, 16, 15);
    }
}

// Decisions.

static void open_machine(struct sim_machine *machine)
{
    struct hd_error error;
    char path[4096];

    snprintf(path, sizeof(path), "%s/standard.machine", examples);
    if (sim_machine_open(machine, path, &error) != HD_OK)
        stop(&error);
}

static void open_workload(struct sim_workload *workload,
                          const struct sim_machine *machine, const char *load)
{
    struct hd_error error;
    char path[4096];

    snprintf(path, sizeof(path), "%s/standard-%s.workload", examples, load);
    if (sim_workload_open(workload, machine, path, &error) != HD_OK)
        stop(&error);
}

// Steady: the machine is filled until nothing fits, then a quarter of its
// groups end; from then on every decision is followed by the end of the oldest
// group. Full: a group ends only when nothing fits, so that most rounds fail.
// Each decision pays for its submission, its rounds and its release.
static double decisions_per_second(const struct hdi_shape *shape,
                                   const struct sim_kernels *kernels,
                                   struct hdi_policy policy, bool full,
                                   unsigned count)
{
    struct hdi_dispatcher_options options = {
        .channels = 8, .packets = 4, .seed = 1, .policy = policy};
    struct hdi_dispatcher *d;
    struct hd_error error;
    enum {
        RING = 1 << 14
    };
    static uint32_t ring[RING];
    uint32_t oldest = 0, newest = 0, next[8], most = 0;
    uint64_t now = 0, started = 0;
    uint32_t empty = 0xff; // channels, as bits
    const unsigned warm = 20000;

    options.policy.priorities = 4;
    if (hdi_dispatcher_create(shape, &options, &d, &error) != HD_OK)
        stop(&error);
    for (uint32_t c = 0; c < 8; c++)
        next[c] = c * 37;
    for (unsigned sent = 0; sent < count + warm; now++) {
        struct hdi_decision decision;

        for (; empty; empty &= empty - 1) {
            uint32_t c = (uint32_t)__builtin_ctz(empty);
            const struct sim_kernel *kernel =
                &kernels->kernel[next[c]++ % kernels->count];
            struct hdi_packet packet = {.need = kernel->need,
                                        .groups = kernel->groups};
            packet.need.priority = (uint8_t)(1 + c % 4);
            if (hdi_dispatcher_submit(d, c, &packet, now, &error) != HD_OK)
                stop(&error);
        }
        bool went = hdi_dispatcher_round(d, now, &decision) == HDI_ROUND_SENT;
        if (went) {
            ring[newest++ % RING] = decision.lease;
            if (hdi_dispatcher_waiting(d, decision.channel) == 0)
                empty = 1u << decision.channel;
            if (++sent == warm)
                started = cpu_time();
        } else if (most == 0) {
            most = (newest - oldest) / 4 * 3;
        }
        while (oldest != newest &&
               (full ? !went : most > 0 && (newest - oldest > most || !went))) {
            hdi_dispatcher_release(d, ring[oldest++ % RING], 1000);
            went = true;
        }
    }
    double seconds = (double)(cpu_time() - started) * 1e-9;
    hdi_dispatcher_destroy(d);
    return count / seconds;
}

static void decisions(void)
{
    struct sim_machine machine;
    struct sim_workload workload;
    struct sim_kernels kernels;
    struct hd_error error;
    static const char *const policies[] = {"plain", "balanced", "robin"};

    open_machine(&machine);
    open_workload(&workload, &machine, "1.3");
    if (sim_workload_kernels(&workload, &machine, 1, &kernels, &error) != HD_OK)
        stop(&error);
    machine.shape.modules = 64;
    if (hdi_shape_init(&machine.shape, &error) != HD_OK)
        stop(&error);
    for (unsigned i = 0; i < 6; i++) {
        struct hdi_policy policy;
        double rates[9];
        char name[80];
        bool full = i % 2;

        if (sim_policy_parse(policies[i / 2], &policy, &error) != HD_OK)
            stop(&error);
        for (unsigned k = 0; k < 9; k++)
            rates[k] = decisions_per_second(&machine.shape, &kernels, policy,
                                            full, quick ? 200000 : 1000000);
        snprintf(name, sizeof(name), "8 heads, 64 modules x 4 units, %s, %s",
                 policies[i / 2], full ? "full" : "steady");
        report(name, "decisions per second and core", median(rates, 9) / 1e6,
               "million/s", NULL, full ? NULL : ">=", 5);
    }
    sim_kernels_free(&kernels);
    sim_workload_close(&workload);
    sim_machine_close(&machine);
}

// Even waves over the units of one module, 10^6 groups.
static void waves_over_units(void)
{
    struct sim_machine machine;
    struct sim_workload workload;
    struct sim_kernels kernels;
    struct hd_error error;
    struct hdi_dispatcher *d;
    uint64_t waves[HDI_MAX_UNITS] = {0}, low = UINT64_MAX, high = 0;
    unsigned groups = 0;

    open_machine(&machine);
    open_workload(&workload, &machine, "1.3");
    if (sim_workload_kernels(&workload, &machine, 1, &kernels, &error) != HD_OK)
        stop(&error);
    machine.shape.modules = 1;
    if (hdi_shape_init(&machine.shape, &error) != HD_OK)
        stop(&error);
    struct hdi_dispatcher_options options = {
        .channels = 1, .packets = 4, .seed = 1, .policy = hdi_policy_plain()};
    if (hdi_dispatcher_create(&machine.shape, &options, &d, &error) != HD_OK)
        stop(&error);
    for (unsigned k = 0; groups < 1000000; k++) {
        struct hdi_packet packet = {
            .need = kernels.kernel[k % kernels.count].need, .groups = 1};
        struct hdi_decision decision;
        if (hdi_dispatcher_submit(d, 0, &packet, k, &error) != HD_OK)
            stop(&error);
        if (hdi_dispatcher_round(d, k, &decision) != HDI_ROUND_SENT)
            exit(1);
        for (unsigned w = 0; w < decision.waves; w++)
            waves[(decision.unit + w) % machine.shape.units]++;
        hdi_dispatcher_release(d, decision.lease, 1);
        groups++;
    }
    for (unsigned q = 0; q < machine.shape.units; q++) {
        low = waves[q] < low ? waves[q] : low;
        high = waves[q] > high ? waves[q] : high;
    }
    report("waves over the units of a module, 10^6 groups",
           "largest over smallest", (double)high / (double)low, "ratio", NULL,
           "<=", 1.001);
    hdi_dispatcher_destroy(d);
    sim_kernels_free(&kernels);
    sim_workload_close(&workload);
    sim_machine_close(&machine);
}

// The standard workload.

enum {
    SEEDS = 20,
    LOADS = 2,
    POLICIES = 4
};

static const char *const loads[LOADS] = {"0.7", "1.3"};
static const char *const policies[POLICIES] = {"sticky", "robin", "plain",
                                               "balanced"};
static struct sim_result results[LOADS][POLICIES][SEEDS];

static void simulate_all(void)
{
    struct sim_machine machine;
    struct hd_error error;

    open_machine(&machine);
    for (unsigned l = 0; l < LOADS; l++) {
        struct sim_workload workload;

        open_workload(&workload, &machine, loads[l]);
        for (unsigned s = 0; s < SEEDS; s++) {
            struct sim_kernels kernels;

            if (isatty(2))
                fprintf(stderr, "\rstandard workload, load %s, seed %2u",
                        loads[l], s + 1);
            if (sim_workload_kernels(&workload, &machine, s + 1, &kernels,
                                     &error) != HD_OK)
                stop(&error);
            for (unsigned p = 0; p < POLICIES; p++) {
                struct sim_run run = {.machine = &machine,
                                      .workload = &workload,
                                      .kernels = &kernels,
                                      .seed = s + 1};
                if (sim_policy_parse(policies[p], &run.policy, &error) !=
                        HD_OK ||
                    sim_run(&run, &results[l][p][s], &error) != HD_OK)
                    stop(&error);
            }
            sim_kernels_free(&kernels);
        }
        sim_workload_close(&workload);
    }
    if (isatty(2))
        fprintf(stderr, "\r%60s\r", "");
    sim_machine_close(&machine);
}

// All seeds at once, one run on every core; the time that passes counts.
static void simulate_on_all_cores(void)
{
    struct sim_machine machine;
    struct sim_workload workload;
    struct hd_error error;

    open_machine(&machine);
    open_workload(&workload, &machine, "1.3");
    for (unsigned p = 0; p < POLICIES; p++) {
        struct sim_sweep sweep = {.machine = &machine,
                                  .workload = &workload,
                                  .first_seed = 1,
                                  .count = SEEDS};
        struct sim_result all[SEEDS];
        uint64_t decided = 0, started = hdi_now();
        char name[64];

        if (sim_policy_parse(policies[p], &sweep.policy, &error) != HD_OK ||
            sim_sweep(&sweep, all, &error) != HD_OK)
            stop(&error);
        double seconds = (double)(hdi_now() - started) * 1e-9;
        for (unsigned s = 0; s < SEEDS; s++)
            decided += all[s].decisions;
        snprintf(name, sizeof(name), "simulator, load 1.3, %s, all cores",
                 policies[p]);
        report(name, "simulated decisions per second, with making the work",
               (double)decided / seconds / 1e6, "million/s", NULL, NULL, 0);
    }
    sim_workload_close(&workload);
    sim_machine_close(&machine);
}

static double mean_wait(const struct sim_result *r)
{
    return r->wait.mean;
}

static double high_wait(const struct sim_result *r)
{
    return r->by_priority[1].mean;
}

static double low_longest(const struct sim_result *r)
{
    return r->by_priority[4].max;
}

static double throughput(const struct sim_result *r)
{
    return r->throughput;
}

static double ratio(double (*figure)(const struct sim_result *), unsigned load,
                    unsigned policy, unsigned peer)
{
    double ratios[SEEDS];

    for (unsigned s = 0; s < SEEDS; s++)
        ratios[s] =
            figure(&results[load][policy][s]) / figure(&results[load][peer][s]);
    return median(ratios, SEEDS);
}

static void standard_workload(void)
{
    simulate_all();
    // The bars are for the balanced policy; the plain one is for comparison.
    for (unsigned p = 2; p < POLICIES; p++) {
        const char *op[] = {"<=", ">="};
        bool bars = p == 3;
        char name[64];
        const char *at_most = bars ? op[0] : NULL;
        const char *at_least = bars ? op[1] : NULL;

        snprintf(name, sizeof(name), "load 0.7, %s", policies[p]);
        report(name, "mean wait", ratio(mean_wait, 0, p, 0), "ratio",
               "sticky round robin", at_most, 0.35);
        report(name, "high-priority mean wait", ratio(high_wait, 0, p, 1),
               "ratio", "round robin with first fit", at_most, 0.5);
        snprintf(name, sizeof(name), "load 1.3, %s", policies[p]);
        report(name, "throughput", ratio(throughput, 1, p, 0), "ratio",
               "sticky round robin", at_least, 1.15);
        report(name, "throughput", ratio(throughput, 1, p, 1), "ratio",
               "round robin with first fit", at_least, 1.0);
        report(name, "high-priority mean wait", ratio(high_wait, 1, p, 1),
               "ratio", "round robin with first fit", at_most, 0.1);
        report(name, "low-priority longest wait", ratio(low_longest, 1, p, 1),
               "ratio", "round robin with first fit", at_most, 1.2);
    }
    for (unsigned p = 0; p < POLICIES; p++) {
        double rates[SEEDS];
        char name[64];

        for (unsigned s = 0; s < SEEDS; s++)
            rates[s] = (double)results[1][p][s].decisions /
                       results[1][p][s].seconds / 1e6;
        snprintf(name, sizeof(name), "simulator, load 1.3, %s", policies[p]);
        report(name, "simulated decisions per second", median(rates, SEEDS),
               "million/s", NULL, ">=", 5);
        // A round that sends nothing has decided too, but that is not the bar.
        for (unsigned s = 0; s < SEEDS; s++)
            rates[s] = (double)results[1][p][s].rounds /
                       results[1][p][s].seconds / 1e6;
        report(name, "simulated rounds per second", median(rates, SEEDS),
               "million/s", NULL, NULL, 0);
    }
    simulate_on_all_cores();
}

// What rules are worth where modules are cores that share a cache ------------

static double mean_of_all(const struct sim_result *r)
{
    return r->wait.mean;
}

static double most_of_lowest(const struct sim_result *r)
{
    return r->by_priority[3].max;
}

static double work_not_done(const struct sim_result *r)
{
    return 1 / r->throughput;
}

static const struct {
    const char *rule, *metric, *with, *without;
    double (*figure)(const struct sim_result *);
} rules[] = {
    {"matching all heads", "time for the same work", "plain",
     "plain,order=sticky", work_not_done},
    {"windows", "longest wait of the lowest priority", "plain",
     "plain,windows=0", most_of_lowest},
    {"splitting", "mean wait", "plain", "plain,split=0", mean_of_all},
    {"placement by what is left", "mean wait", "plain", "plain,place=next",
     mean_of_all},
    {"placement where it is tightest", "mean wait", "bestfit",
     "bestfit,place=next", mean_of_all},
};

static void open_cores(struct sim_machine *machine,
                       struct sim_workload *workload)
{
    struct hd_error error;
    char path[4096];

    snprintf(path, sizeof(path), "%s/cores.machine", examples);
    if (sim_machine_open(machine, path, &error) != HD_OK)
        stop(&error);
    snprintf(path, sizeof(path), "%s/cores.workload", examples);
    if (sim_workload_open(workload, machine, path, &error) != HD_OK)
        stop(&error);
}

// Both policies have the same kernels.
static void cores(void)
{
    struct sim_machine machine;
    struct sim_workload workload;
    struct hd_error error;
    uint32_t count = quick ? 5 : SEEDS;

    open_cores(&machine, &workload);
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        const char *const texts[] = {rules[i].with, rules[i].without};
        struct sim_result both[2][SEEDS];
        double ratios[SEEDS];
        char name[64];

        for (int k = 0; k < 2; k++) {
            struct sim_sweep sweep = {.machine = &machine,
                                      .workload = &workload,
                                      .first_seed = 1,
                                      .count = count};
            if (sim_policy_parse(texts[k], &sweep.policy, &error) != HD_OK ||
                sim_sweep(&sweep, both[k], &error) != HD_OK)
                stop(&error);
        }
        for (uint32_t s = 0; s < count; s++)
            ratios[s] =
                rules[i].figure(&both[0][s]) / rules[i].figure(&both[1][s]);
        snprintf(name, sizeof(name), "8 modules of 8 cores, %s", rules[i].rule);
        report(name, rules[i].metric, median(ratios, count), "ratio",
               "without the rule", "<=", 1);
    }
    sim_workload_close(&workload);
    sim_machine_close(&machine);
}

static const struct {
    const char *name;
    void (*measure)(void);
} cases[] = {{"runs", longest_runs},
             {"decisions", decisions},
             {"units", waves_over_units},
             {"standard", standard_workload},
             {"cores", cores}};

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool found = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--case") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--json") != 0)
            examples = argv[i];
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (!only || strcmp(only, cases[i].name) == 0) {
            cases[i].measure();
            found = true;
        }
    }
    if (!found)
        fprintf(stderr, "bench dispatch: no case '%s'\n", only);
    return found ? 0 : 2;
}
