// The problems on Heddle.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/problem.h"

void problem_check(hd_status status, const char *what,
                   const struct hd_error *error)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench: %s: %s: %s\n", what, hd_status_text(status),
            error->text);
    exit(1);
}

// Heddle ----------------------------------------------------------------------

struct problem_rig problem_rig_start(const struct hd_runtime_params *params,
                                     unsigned more)
{
    struct problem_rig rig = {0};
    struct hd_error error;
    char *source = problem_read_source();
    const struct hd_program_params text = {
        .path = KERNEL_SOURCE, .source = source, .cpus = BENCH_CPU};

    problem_check(hd_runtime_create(params, &rig.runtime, &error), "runtime",
                  &error);
    problem_check(hd_program_create(rig.runtime, &text, &rig.program, &error),
                  "build", &error);
    for (int b = 0; b < PROBLEM_BUFFERS; b++)
        problem_check(hd_buffer_create(rig.runtime, PROBLEM_BYTES + more,
                                       &rig.buffers[b], &error),
                      "buffer", &error);
    free(source);
    return rig;
}

void problem_rig_stop(struct problem_rig *rig)
{
    for (int b = 0; b < PROBLEM_BUFFERS; b++)
        hd_buffer_destroy(rig->buffers[b]);
    hd_program_destroy(rig->program);
    hd_runtime_destroy(rig->runtime);
}

void problem_load(const struct problem_rig *rig, const struct problem *p,
                  void *const inputs[PROBLEM_INPUTS])
{
    void *outputs[2];

    for (int b = 0; b < PROBLEM_INPUTS; b++)
        memcpy(hd_buffer_host(rig->buffers[b]), inputs[b], PROBLEM_BYTES);
    for (int o = 0; o < 2; o++)
        outputs[o] = hd_buffer_host(rig->buffers[PROBLEM_INPUTS + o]);
    problem_reset(p, inputs, outputs);
}

void problem_run(const struct problem_rig *rig, const struct problem *p)
{
    struct problem_arg plain[PROBLEM_ARGS];
    struct hd_arg args[PROBLEM_ARGS];
    unsigned count = problem_args(p, plain);
    struct hd_error error;

    for (unsigned i = 0; i < count; i++)
        if (plain[i].buffer >= 0)
            args[i] = (struct hd_arg)HD_BUFFER(rig->buffers[plain[i].buffer]);
        else if (plain[i].value)
            args[i] = (struct hd_arg){.is = HD_IS_VALUE,
                                      .value = plain[i].value,
                                      .size = plain[i].size};
        else
            args[i] = (struct hd_arg)HD_LOCAL(plain[i].size);
    problem_check(hd_launch(rig->runtime,
                            hd_program_find(rig->program, p->kernel), &p->range,
                            args, count, &error),
                  p->name, &error);
}

double problem_time(const struct problem_rig *rig, const struct problem *p,
                    int repeats)
{
    double begin = figure_now();
    for (int i = 0; i < repeats; i++)
        problem_run(rig, p);
    return (figure_now() - begin) / repeats;
}
