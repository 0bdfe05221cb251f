// What it costs to start a program, to build kernels and to launch them, each
// in a new process and against PoCL.
//
//     launch [--quick]      one JSON object per line on stdout
//
// Heddle and the peer are programs beside this one: launch_heddle and
// launch_pocl, of launch_child.c.
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figure.h"
#include "tests/folder.h"

enum {
    PATH_LENGTH = 320,
    ROUNDS = 9,
    NUMBERS = 4 // most that a child prints
};

static const char *const names[] = {"heddle", "pocl"};
static const char *folder;
static char here[4096]; // the folder of this program

static void forget_cache(void)
{
    char command[320];
    snprintf(command, sizeof(command), "rm -rf '%s'/*", folder);
    if (system(command) != 0)
        exit(1);
}

// Run a child, and read the numbers it prints; how many.
static int ask(const char *name, const char *mode, const char *source,
               double numbers[NUMBERS])
{
    char program[sizeof(here) + 32], line[256] = "";
    char cache[PATH_LENGTH];
    int ends[2], status;
    posix_spawn_file_actions_t actions;
    pid_t pid;

    snprintf(program, sizeof(program), "%s/launch_%s", here, name);
    snprintf(cache, sizeof(cache), "%s/%s", folder, name);
    char *const arguments[] = {program, (char *)(uintptr_t)mode,
                               (char *)(uintptr_t)source, cache, NULL};
    extern char **environ;
    mkdir(cache, 0700);
    if (access(program, X_OK) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    bool ok =
        posix_spawn(&pid, program, &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    ok = ok && output && fgets(line, sizeof(line), output);
    if (output)
        fclose(output);
    if (!ok || waitpid(pid, &status, 0) < 0 || status != 0)
        return 0;

    int count = 0;
    for (char *at = line, *end; count < NUMBERS; at = end, count++) {
        numbers[count] = strtod(at, &end);
        if (end == at)
            break;
    }
    return count;
}

// Median time from before the process to the time it prints [ms]; no number
// when it fails.
static double time_start(const char *name, const char *mode, const char *source,
                         bool cold, int rounds)
{
    double times[ROUNDS], numbers[NUMBERS];

    if (!cold && ask(name, mode, source, numbers) != 1)
        return NAN;
    for (int i = 0; i < rounds; i++) {
        if (cold)
            forget_cache();
        double begin = figure_now();
        if (ask(name, mode, source, numbers) != 1)
            return NAN;
        times[i] = numbers[0] - begin;
    }
    return figure_median(times, rounds);
}

// Ours with its bar, then the peer's. A bar of 0 is none.
static void print(const char *name, const char *unit, double bar, double ours,
                  double peer)
{
    struct figure figure = {.bench = "launch",
                            .name = name,
                            .metric = "time",
                            .value = ours,
                            .unit = unit,
                            .op = bar > 0 ? "<=" : NULL,
                            .bar = bar};
    if (!isnan(ours))
        figure_print(&figure);
    else
        figure_skip(&figure, "launch_heddle failed");
    figure.metric = "time of the peer";
    figure.value = peer;
    figure.peer = names[1];
    figure.op = NULL;
    if (!isnan(peer))
        figure_print(&figure);
    else
        figure_skip(&figure,
                    "PoCL or the OpenCL loader is not installed, or failed");
}

static void measure_starts(int rounds)
{
    static const struct {
        const char *name, *mode, *source;
        double bar; // [ms]
        bool cold;
    } cases[] = {
        {"17 kernels, empty cache", "start", LAUNCH_SOURCE, 500, true},
        {"17 kernels, filled cache", "start", LAUNCH_SOURCE, 10, false},
        {"first tiled product, empty cache", "first", PRODUCT_SOURCE, 600,
         true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double times[2];
        for (int who = 0; who < 2; who++)
            times[who] = time_start(names[who], cases[i].mode, cases[i].source,
                                    cases[i].cold, rounds);
        print(cases[i].name, "ms", cases[i].bar, times[0], times[1]);
    }
}

// A kernel of so many lines, with a barrier after each hundred.
static bool write_long(const char *path, int lines)
{
    static const char *const forms[] = {
        "x = x * %d.25f + y;",
        "y = y - x * z;",
        "if (x > %d) z += y;",
        "z = fmin(z, a[i + %d]);",
        "b[i + n * %d] = z;",
        "y = y * y + %d;",
        "x = z > y ? x + y : x - %d;",
        "for (int j = 0; j < n; j++) z = mad(x, y, z + %d);"};
    FILE *file = fopen(path, "w");

    if (!file)
        return false;
    fputs("kernel void long_one(global const float *a, global float *b,\n"
          "local float *t, int n) {\n"
          "int i = get_global_id(0), l = get_local_id(0);\n"
          "float x = a[i], y = a[i + n], z = 0.5f;\n",
          file);
    for (int line = 5; line < lines; line++) {
        int form = line % 64 == 7 ? 7 : line % 7;
        if (line % 100 < 4)
            fputs(line % 100 == 0   ? "t[l] = z;"
                  : line % 100 == 2 ? "z += t[l ^ 1];"
                                    : "barrier(CLK_LOCAL_MEM_FENCE);",
                  file);
        else
            fprintf(file, forms[form], line % 13);
        fputs("\n", file);
    }
    fputs("b[i] = x + y + z; }\n", file);
    return fclose(file) == 0;
}

static void measure_long(int rounds)
{
    char path[PATH_LENGTH], name[64];

    snprintf(path, sizeof(path), "%s.cl", folder);
    for (int lines = 5000; lines <= 10000; lines *= 2) {
        if (!write_long(path, lines)) {
            perror(path);
            exit(1);
        }
        double time = time_start(names[0], "start", path, true, rounds);
        snprintf(name, sizeof(name), "kernel of %d lines, empty cache", lines);
        struct figure figure = {.bench = "launch",
                                .name = name,
                                .metric = "time",
                                .value = time,
                                .unit = "ms"};
        if (!isnan(time))
            figure_print(&figure);
        else
            figure_skip(&figure, "launch_heddle failed");
    }
    unlink(path);
}

static void measure_launches(void)
{
    static const struct {
        const char *name, *unit;
        double bar;
    } cases[NUMBERS] = {
        {"empty launch, back to back", "us", 5},
        {"empty launch, after 10 ms idle", "us", 0},
        {"work-group of 16384, empty", "ns", 1.5},
        {"work-group of 16384, one store", "ns", 1.5},
    };
    double times[2][NUMBERS];

    for (int who = 0; who < 2; who++)
        if (ask(names[who], "launch", LAUNCH_SOURCE, times[who]) != NUMBERS)
            for (int i = 0; i < NUMBERS; i++)
                times[who][i] = NAN;
    for (int i = 0; i < NUMBERS; i++)
        print(cases[i].name, cases[i].unit, cases[i].bar, times[0][i],
              times[1][i]);
}

static void print_ratio(const char *name, double ours, double peer)
{
    struct figure figure = {.bench = "launch",
                            .name = name,
                            .metric = "time, of the peer's",
                            .value = ours / peer,
                            .unit = "",
                            .peer = names[1],
                            .op = "<=",
                            .bar = 0.2};
    if (!isnan(figure.value))
        figure_print(&figure);
    else
        figure_skip(&figure,
                    "PoCL or the OpenCL loader is not installed, or failed");
}

static void measure_batches(void)
{
    static const char *const cases[] = {
        "empty launch, 1,000 in flight, in order",
        "empty launch, 1,000 in flight, in any order"};
    double times[2][NUMBERS];

    for (int who = 0; who < 2; who++)
        if (ask(names[who], "batch", LAUNCH_SOURCE, times[who]) != 2)
            times[who][0] = times[who][1] = NAN;
    for (int i = 0; i < 2; i++) {
        print(cases[i], "us", 0, times[0][i], times[1][i]);
        print_ratio(cases[i], times[0][i], times[1][i]);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 3 : ROUNDS;
    ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);
    char *slash = length > 0 ? strrchr(here, '/') : NULL;

    if (!slash) {
        perror("bench launch");
        return 1;
    }
    *slash = '\0';
    folder = make_folder();
    measure_starts(rounds);
    measure_long(3);
    measure_launches();
    measure_batches();
    forget_cache();
    rmdir(folder);
    return 0;
}
