// What each rule of the kernel compiler is worth: the kernels of a set, built
// with all rules and without one of them, on one worker.
//
//     ablation [--quick] [RULE]...    one JSON object per line on stdout
//
// For each rule two figures: how many times as long the kernel takes without it
// that gains most by it ("inside", the kind it was written for), and the
// geometric mean of all others of the set ("outside"). A rule that gains less
// than 5 % outside of the kernel it was written for is hardly worth its code.
// Both programs run in turn, and the median of the ratios counts; results are
// compared too.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/problem.h"
#include "kernel/rules.h"

enum {
    ROUNDS = 7,
    SUM = 64 // a binary's end: with what holds its checksum [bytes]
};

static const char *const rules[] = {
#define NAME_OF(rule, name) name,
    HDI_RULES_ALL(NAME_OF)
#undef NAME_OF
};

static const double least_time = 4; // of a measurement [ms]

static bool is_wanted(const char *rule, char **names)
{
    bool any = *names == NULL;

    for (; *names; names++)
        any |= strcmp(rule, *names) == 0;
    return any;
}

static struct problem_rig without(const struct problem_rig *with,
                                  const char *rule)
{
    struct problem_rig rig = *with;
    struct hd_error error;
    char options[64], *source = problem_read_source();

    snprintf(options, sizeof(options), HDI_WITHOUT_OPTION "%s", rule);
    const struct hd_program_params params = {.path = KERNEL_SOURCE,
                                             .source = source,
                                             .cpus = BENCH_CPU,
                                             .options = options};
    problem_check(
        hd_program_create(with->runtime, &params, &rig.program, &error), rule,
        &error);
    free(source);
    return rig;
}

// The binary of a program from its code on; the caller frees `*all`.
static const char *code_of(const struct problem_rig *rig, void **all,
                           size_t *size)
{
    struct hd_error error;

    problem_check(hd_program_binary(rig->program, all, size, &error), "binary",
                  &error);
    const char *code = memmem(*all, *size,
                              "\x7f"
                              "ELF",
                              4);
    if (!code || *size < SUM)
        exit(1);
    *size -= (size_t)(code - (const char *)*all);
    return code;
}

static bool is_same_code(const struct problem_rig *a,
                         const struct problem_rig *b)
{
    void *all[2];
    size_t size[2];
    const char *code[2] = {code_of(a, &all[0], &size[0]),
                           code_of(b, &all[1], &size[1])};
    bool same =
        size[0] == size[1] && memcmp(code[0], code[1], size[0] - SUM) == 0;

    free(all[0]);
    free(all[1]);
    return same;
}

// The results of both, one of which has just run.
static void compare(const struct problem *p, const struct problem_rig *with,
                    const struct problem_rig *other, void *const kept[2],
                    void *const in[PROBLEM_INPUTS], const char *rule)
{
    problem_load(with, p, in);
    problem_run(with, p);
    for (int o = 0; o < 2; o++)
        memcpy(kept[o], hd_buffer_host(with->buffers[PROBLEM_INPUTS + o]),
               PROBLEM_BYTES);
    problem_load(other, p, in);
    problem_run(other, p);
    for (int o = 0; o < 2; o++)
        if (problem_count_different(
                p, hd_buffer_host(other->buffers[PROBLEM_INPUTS + o]),
                kept[o])) {
            fprintf(stderr, "bench ablation: %s differs without %s\n", p->name,
                    rule);
            exit(1);
        }
}

// How many times as long the problem takes on `other`.
static double measure(const struct problem *p, const struct problem_rig *with,
                      const struct problem_rig *other, int rounds)
{
    double ratios[ROUNDS];
    int repeats = 1;

    while (repeats < 1000 &&
           problem_time(with, p, repeats) * repeats < least_time)
        repeats *= 2;
    for (int i = 0; i < rounds; i++) {
        double time = problem_time(with, p, repeats);
        ratios[i] = problem_time(other, p, repeats) / time;
    }
    return figure_median(ratios, rounds);
}

static void print(const char *rule, const char *where, const char *kernel,
                  double gain)
{
    char name[128];

    snprintf(name, sizeof(name), "%s, %s%s%s", rule, where, *kernel ? " " : "",
             kernel);
    figure_print(&(struct figure){.bench = "ablation",
                                  .name = name,
                                  .metric = "time without over with",
                                  .value = gain,
                                  .unit = "ratio",
                                  .peer = problem_set.bench});
}

static void weigh(const char *rule, const struct problem_rig *with,
                  void *const kept[2], void *const in[PROBLEM_INPUTS],
                  int rounds)
{
    struct problem_rig other = without(with, rule);
    double most = 0, sum = 0;
    int best = 0;

    if (is_same_code(with, &other)) {
        figure_skip(&(struct figure){.bench = "ablation",
                                     .name = rule,
                                     .metric = "time without over with",
                                     .unit = "ratio",
                                     .peer = problem_set.bench},
                    "no kernel of the set has other code with it");
        hd_program_destroy(other.program);
        return;
    }
    for (int i = 0; i < problem_set.count; i++) {
        const struct problem *p = &problem_set.problems[i];
        problem_fill(p, in);
        compare(p, with, &other, kept, in, rule);
        double gain = measure(p, with, &other, rounds);
        sum += log(gain);
        if (gain > most) {
            most = gain;
            best = i;
        }
    }
    print(rule, "inside", problem_set.problems[best].name, most);
    print(rule, "outside", "",
          exp((sum - log(most)) / (problem_set.count - 1)));
    hd_program_destroy(other.program);
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const struct hd_runtime_params params = {.workers = 1};
    void *in[PROBLEM_INPUTS], *kept[2];

    for (int b = 0; b < PROBLEM_INPUTS; b++)
        in[b] = aligned_alloc(4096, PROBLEM_BYTES);
    for (int o = 0; o < 2; o++)
        kept[o] = aligned_alloc(4096, PROBLEM_BYTES);
    if (!in[0] || !in[1] || !in[2] || !in[3] || !kept[0] || !kept[1])
        return 1;
    struct problem_rig with = problem_rig_start(&params, 0);
    for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++)
        if (is_wanted(rules[r], argv + 1 + quick))
            weigh(rules[r], &with, kept, in, quick ? 3 : ROUNDS);
    problem_rig_stop(&with);
    for (int b = 0; b < PROBLEM_INPUTS; b++)
        free(in[b]);
    for (int o = 0; o < 2; o++)
        free(kept[o]);
    return 0;
}
