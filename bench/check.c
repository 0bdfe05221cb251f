// What it costs to run kernels checked, and between guard pages.
//
//     check [--quick] [CASE]...    one JSON object per line on stdout
//
// Plain, guarded and checked runs of the kernels of bench_kernel come in turn,
// on one worker; the medians of their ratios are told. Guarded buffers end with
// a page, and begin where their size leaves them: once as the kernels have
// them, and once of sizes by which vectors straddle lines of the cache.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/problem.h"

enum {
    MORE = 16, // as badly aligned as a float4 allows [bytes]
    ROUNDS = 21,
    QUICK_ROUNDS = 5
};

static const double least_time = 5; // of a plain measurement [ms]

enum way {
    PLAIN,
    GUARDED,
    STRADDLING,
    CHECKED,
    WAYS
};

static const struct figure figures[WAYS] = {
    [GUARDED] = {.bench = "check",
                 .metric = "time between guard pages",
                 .unit = "ratio",
                 .peer = "plain",
                 .op = "<=",
                 .bar = 1.05},
    [STRADDLING] = {.bench = "check",
                    .metric = "time between guard pages, straddling lines",
                    .unit = "ratio",
                    .peer = "plain"},
    [CHECKED] = {.bench = "check",
                 .metric = "time checked",
                 .unit = "ratio",
                 .peer = "plain",
                 .op = "<=",
                 .bar = 10},
};

static void print(enum way way, const char *name, double value)
{
    struct figure figure = figures[way];
    figure.name = name;
    figure.value = value;
    figure_print(&figure);
}

// `ratios`: the medians, of guarded and checked over plain runs.
static void measure(const struct problem_rig rigs[WAYS],
                    const struct problem *p, void *const inputs[PROBLEM_INPUTS],
                    int rounds, double ratios[WAYS])
{
    double samples[WAYS][ROUNDS];
    int repeats = 1;

    problem_fill(p, inputs);
    for (int w = 0; w < WAYS; w++) {
        problem_load(&rigs[w], p, inputs);
        problem_run(&rigs[w], p);
    }
    while (repeats < 1000 &&
           problem_time(&rigs[PLAIN], p, repeats) * repeats < least_time)
        repeats *= 2;
    for (int i = 0; i < rounds; i++) {
        double plain = problem_time(&rigs[PLAIN], p, repeats);
        for (int w = GUARDED; w <= STRADDLING; w++)
            samples[w][i] = problem_time(&rigs[w], p, repeats) / plain;
        samples[CHECKED][i] = problem_time(&rigs[CHECKED], p, 1) / plain;
    }
    for (int w = GUARDED; w < WAYS; w++) {
        ratios[w] = figure_median(samples[w], rounds);
        print((enum way)w, p->name, ratios[w]);
    }
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    static const struct hd_runtime_params params[WAYS] = {
        [PLAIN] = {.workers = 1, .no_cache = true},
        [GUARDED] = {.workers = 1, .no_cache = true, .guard = true},
        [STRADDLING] = {.workers = 1, .no_cache = true, .guard = true},
        [CHECKED] = {.workers = 1,
                     .no_cache = true,
                     .build_options = "-heddle-check"},
    };
    struct problem_rig rigs[WAYS];
    void *inputs[PROBLEM_INPUTS];
    double sums[WAYS] = {0}, ratios[WAYS];
    int count = 0;

    for (int b = 0; b < PROBLEM_INPUTS; b++)
        if (!(inputs[b] = malloc(PROBLEM_BYTES)))
            return 1;
    for (int w = 0; w < WAYS; w++)
        rigs[w] = problem_rig_start(&params[w], w == STRADDLING ? MORE : 0);
    for (int i = 0; i < problem_set.count; i++) {
        if (!problem_is_wanted(&problem_set.problems[i], argv + 1 + quick))
            continue;
        measure(rigs, &problem_set.problems[i], inputs,
                quick ? QUICK_ROUNDS : ROUNDS, ratios);
        for (int w = GUARDED; w < WAYS; w++)
            sums[w] += log(ratios[w]);
        count++;
    }
    for (int w = GUARDED; w < WAYS && count > 0; w++)
        print((enum way)w, "geometric mean", exp(sums[w] / count));
    for (int w = 0; w < WAYS; w++)
        problem_rig_stop(&rigs[w]);
    for (int b = 0; b < PROBLEM_INPUTS; b++)
        free(inputs[b]);
    return 0;
}
