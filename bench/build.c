// What building takes, against clang -O2, which makes an object for this
// machine of the same text, and against PoCL with code for all kernels.
//
//     build [--quick] [TEXT]      one JSON object per line on stdout
//
// TEXT: only cases with that in their names. Each build is a process of its
// own, ours the command `heddle build` without a cache. Ours and clang's take
// turns and medians of the ratios count; PoCL, which may take a minute, builds
// once. CPU time is that of all threads and child processes: it says more than
// the time where others use the machine.
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/build_sources.h"
#include "bench/figure.h"
#include "tests/folder.h"
#include "tools.h"

enum {
    ROUNDS = 5,
    QUICK_ROUNDS = 3,
    PATH_LENGTH = 4352,
    MAX_CPU_TIME = 60 // of one build [s]
};

static const char *folder, *wanted;
static char here[4096]; // the folder of this program
static int rounds = ROUNDS;

struct times {
    double time, cpu; // [ms]; no numbers when the build failed
};

static double milliseconds(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static void become(char *const *arguments)
{
    const struct rlimit limit = {MAX_CPU_TIME, MAX_CPU_TIME};

    setrlimit(RLIMIT_CPU, &limit);
    setenv("HEDDLE_CACHE", "off", 1);
    setenv("POCL_CACHE_DIR", folder, 1);
    if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
        execv(arguments[0], arguments);
    _exit(127);
}

static struct times build(char *const *arguments)
{
    struct rusage used;
    int status;
    double begin = figure_now();
    pid_t pid = fork();

    if (pid == 0)
        become(arguments);
    if (pid < 0 || wait4(pid, &status, 0, &used) < 0 || status != 0)
        return (struct times){NAN, NAN};
    return (struct times){figure_now() - begin,
                          milliseconds(used.ru_utime) +
                              milliseconds(used.ru_stime)};
}

static struct times build_ours(char *source, char *output)
{
    static char word[] = "build", option[] = "-o", program[PATH_LENGTH];

    snprintf(program, sizeof(program), "%s/../bin/heddle", here);
    char *const arguments[] = {program, word, source, option, output, NULL};
    return build(arguments);
}

static struct times build_clang(char *source, char *output)
{
    static char program[] = HDI_CLANG, language[] = "-x", name[] = "cl",
                version[] = "-cl-std=CL3.0", level[] = "-O2", object[] = "-c",
                option[] = "-o";
    char *const arguments[] = {program, language, name,   version, level,
                               object,  source,   option, output,  NULL};
    return build(arguments);
}

static struct times build_pocl(char *source)
{
    static char program[PATH_LENGTH];

    snprintf(program, sizeof(program), "%s/build_pocl", here);
    char *const arguments[] = {program, source, NULL};
    return build(arguments);
}

// A bar of 0 is none.
static void print(const char *name, const char *metric, const char *unit,
                  double value, const char *peer, double bar)
{
    struct figure figure = {.bench = "build",
                            .name = name,
                            .metric = metric,
                            .value = value,
                            .unit = unit,
                            .peer = peer,
                            .op = bar > 0 ? "<=" : NULL,
                            .bar = bar};

    if (!isnan(value))
        figure_print(&figure);
    else
        figure_skip(&figure, peer ? "does not build it in a minute, or is not "
                                    "installed"
                                  : "does not build");
}

static void measure(const char *name, const char *source)
{
    double ratios[ROUNDS], cpu_ratios[ROUNDS], times[ROUNDS];
    char path[PATH_LENGTH], output[PATH_LENGTH];

    snprintf(path, sizeof(path), "%s", source);
    snprintf(output, sizeof(output), "%s/output", folder);
    for (int i = 0; i < rounds; i++) {
        struct times clang = build_clang(path, output);
        struct times ours = build_ours(path, output);
        times[i] = ours.time;
        ratios[i] = ours.time / clang.time;
        cpu_ratios[i] = ours.cpu / clang.cpu;
    }
    struct times pocl = build_pocl(path);
    double time = figure_median(times, rounds);
    print(name, "time", "ms", time, NULL, 0);
    print(name, "time, of clang's", "", figure_median(ratios, rounds),
          "clang -O2", 3);
    print(name, "CPU time, of clang's", "", figure_median(cpu_ratios, rounds),
          "clang -O2", 0);
    print(name, "time, of PoCL's", "", time / pocl.time, "pocl", 1);
}

static void forget_files(void)
{
    char command[320];

    snprintf(command, sizeof(command), "rm -rf '%s'/*", folder);
    if (system(command) != 0)
        exit(1);
}

static bool is_wanted(const char *name)
{
    return !wanted || strstr(name, wanted);
}

static void measure_written(const struct build_source *source)
{
    char path[PATH_LENGTH];

    snprintf(path, sizeof(path), "%s/source.cl", folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    source->write(file, source->count);
    if (fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    measure(source->name, path);
    forget_files();
}

// The project's own kernels.
static void measure_files(const char *pattern)
{
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = found.gl_pathv[i] + sizeof(HEDDLE_SOURCES);
        if (is_wanted(name)) {
            measure(name, found.gl_pathv[i]);
            forget_files();
        }
    }
    globfree(&found);
}

int main(int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);
    char *slash = length > 0 ? strrchr(here, '/') : NULL;

    if (!slash) {
        perror("bench build");
        return 1;
    }
    *slash = '\0';
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            rounds = QUICK_ROUNDS;
        else
            wanted = argv[i];
    folder = make_folder();
    for (int i = 0; i < build_source_count; i++)
        if (is_wanted(build_sources[i].name))
            measure_written(&build_sources[i]);
    measure_files(HEDDLE_SOURCES "/bench/*.cl");
    measure_files(HEDDLE_SOURCES "/examples/*/*.cl");
    rmdir(folder);
    return 0;
}
