// heddle sim: the dispatch of work-groups to modules, simulated.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "commands.h"
#include "sim/csv.h"
#include "sim/policy.h"
#include "sim/sweep.h"
#include "sim/table.h"
#include "sim/timeline.h"

enum {
    SEEDS = 100000,
    JOBS_LIMIT = 4096
};

// What was asked for.
struct job {
    const struct options *given;
    const char *workload, *machine, *timeline, *output;
    uint64_t first_seed, last_seed, cycles, limit, jobs;
    double load;
    bool json;
    struct sim_csv csv;
};

static bool number(const char *text, uint64_t low, uint64_t high,
                   uint64_t *value)
{
    char *end;

    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-' || errno || n < low || n > high)
        return false;
    *value = n;
    return true;
}

static bool real(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && !*end && *value > 0 && *value < 1e15;
}

static bool seeds(const char *text, struct job *o)
{
    const char *dash = strchr(text, '-');
    char first[32];

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, "-"), text);
    return number(first, 0, UINT32_MAX, &o->first_seed) &&
           number(dash ? dash + 1 : text, o->first_seed, UINT32_MAX,
                  &o->last_seed) &&
           o->last_seed - o->first_seed < SEEDS;
}

__attribute__((format(printf, 1, 2))) static int complain(const char *format,
                                                          ...)
{
    va_list args;

    fputs("heddle sim: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; see heddle sim --help\n", stderr);
    return EXIT_USAGE;
}

static bool take_number(const struct job *job, const char *name, uint64_t high,
                        uint64_t *value)
{
    const char *text = option_value(job->given, name);

    return !text || number(text, 1, high, value);
}

static bool take_real(const struct job *job, const char *name, double *value)
{
    const char *text = option_value(job->given, name);

    return !text || real(text, value);
}

// The option whose value cannot be, or NULL.
static const char *take_values(struct job *job)
{
    const char *range = option_value(job->given, "--seeds");
    const char *seed = option_value(job->given, "--seed");

    if (seed && !seeds(seed, job))
        return "--seed";
    if (range && !seeds(range, job))
        return "--seeds";
    if (!take_number(job, "--cycles", SIM_CYCLES_LIMIT, &job->cycles))
        return "--cycles";
    if (!take_number(job, "--jobs", JOBS_LIMIT, &job->jobs))
        return "--jobs";
    if (!take_number(job, "--timeline-limit", UINT32_MAX, &job->limit))
        return "--timeline-limit";
    if (!take_real(job, "--load", &job->load))
        return "--load";
    if (!take_real(job, "--time-scale", &job->csv.cycles))
        return "--time-scale";
    return NULL;
}

// Read the command line; the exit code when it is wrong.
static int read_job(const struct options *given, struct job *job)
{
    const struct given *need = NULL;
    struct hd_error error;

    *job = (struct job){.given = given,
                        .workload = given->operand,
                        .machine = option_value(given, "--machine"),
                        .timeline = option_value(given, "--timeline"),
                        .output = option_value(given, "-o"),
                        .json = option_given(given, "--json"),
                        .first_seed = 1,
                        .last_seed = 1,
                        .limit = 200000,
                        .csv = {.cycles = 1,
                                .arrival = option_value(given, "--arrival"),
                                .duration = option_value(given, "--duration"),
                                .channel = option_value(given, "--channel"),
                                .priority = option_value(given, "--priority"),
                                .waves = option_value(given, "--waves"),
                                .groups = option_value(given, "--groups")}};
    const char *wrong = take_values(job);
    if (wrong)
        return complain("%s %s: not a value it can have", wrong,
                        option_value(given, wrong));
    while ((need = option_next(given, "--need", need)) != NULL)
        if (sim_csv_need(&job->csv, need->value, &error) != HD_OK)
            return complain("--need %s: %s", need->value, error.text);
    if (!job->workload && !option_given(given, "--csv"))
        return complain("no WORKLOAD given");
    if (job->workload && option_given(given, "--csv"))
        return complain("a WORKLOAD is simulated, --csv makes one: give one of "
                        "the two");
    if (option_given(given, "--seed") && option_given(given, "--seeds"))
        return complain("--seed and --seeds exclude each other");
    if (job->timeline && (option_count(given, "--policy") > 1 ||
                          job->first_seed != job->last_seed))
        return complain("a timeline is of one policy and one seed");
    return EXIT_DONE;
}

static hd_status convert(const struct job *o, struct hd_error *error)
{
    FILE *out = o->output ? fopen(o->output, "wb") : stdout;

    if (!out)
        return hdi_fail(error, HD_EIO, "%s: %s", o->output, strerror(errno));
    hd_status status =
        sim_csv_convert(&o->csv, option_value(o->given, "--csv"), out, error);
    bool closed = out == stdout ? fflush(out) == 0 : fclose(out) == 0;
    if (status == HD_OK && !closed)
        status = hdi_fail(error, HD_EIO, "%s: %s",
                          o->output ? o->output : "output", strerror(errno));
    return status;
}

// The file that a workload's `machine` names, next to the workload.
static hd_status machine_of(const char *workload, char *path, size_t size,
                            struct hd_error *error)
{
    struct sim_text text;
    bool more, found = false;

    HDI_TRY(sim_text_open(&text, workload, error));
    hd_status status;
    while ((status = sim_text_statement(&text, &more)) == HD_OK && more &&
           !found) {
        if (!sim_text_is(&text, "machine"))
            continue;
        const char *name = sim_text_word(&text),
                   *slash = strrchr(workload, '/');
        int folder =
            name && name[0] != '/' && slash ? (int)(slash - workload) + 1 : 0;
        int length =
            snprintf(path, size, "%.*s%s", folder, workload, name ? name : "");
        found = name != NULL && length > 0 && (size_t)length < size;
    }
    sim_text_close(&text);
    if (status == HD_OK && !found)
        status =
            hdi_fail(error, HD_EINVAL,
                     "%s: names no machine; give one with --machine", workload);
    return status;
}

// One seed, with its timeline.
static hd_status trace(const struct job *o, const struct sim_sweep *sweep,
                       struct sim_result *result, struct hd_error *error)
{
    struct sim_timeline timeline;
    struct sim_kernels kernels;
    struct sim_run run = {.machine = sweep->machine,
                          .workload = sweep->workload,
                          .kernels = &kernels,
                          .policy = sweep->policy,
                          .seed = sweep->first_seed,
                          .timeline = &timeline,
                          .progress = sweep->progress};

    HDI_TRY(sim_workload_kernels(sweep->workload, sweep->machine, run.seed,
                                 &kernels, error));
    hd_status status = sim_timeline_init(
        &timeline, sweep->machine->shape.modules, o->limit, error);
    if (status == HD_OK) {
        status = sim_run(&run, result, error);
        if (status == HD_OK)
            status = sim_timeline_write(&timeline, o->timeline, error);
        else
            sim_timeline_free(&timeline);
    }
    sim_kernels_free(&kernels);
    return status;
}

static hd_status run_policy(const struct job *o, const char *name,
                            const struct sim_machine *machine,
                            const struct sim_workload *workload,
                            struct sim_result *results, struct hd_error *error)
{
    struct sim_sweep sweep = {.machine = machine,
                              .workload = workload,
                              .first_seed = o->first_seed,
                              .count =
                                  (uint32_t)(o->last_seed - o->first_seed) + 1,
                              .jobs = (uint32_t)o->jobs,
                              .progress = isatty(2)};
    struct sim_result median;

    HDI_TRY(sim_policy_parse(name, &sweep.policy, error));
    HDI_TRY(o->timeline ? trace(o, &sweep, results, error)
                        : sim_sweep(&sweep, results, error));
    for (uint32_t i = 0; o->json && i < sweep.count; i++) {
        uint64_t seed = o->first_seed + i;
        sim_table_json(stdout, workload->name, name, machine,
                       workload->priorities, &seed, &results[i]);
    }
    sim_table_median(results, sweep.count, &median);
    if (o->json && sweep.count > 1)
        sim_table_json(stdout, workload->name, name, machine,
                       workload->priorities, NULL, &median);
    else if (!o->json)
        sim_table_row(stdout, name, machine, workload->priorities, &median);
    return HD_OK;
}

static hd_status simulate(const struct job *o, struct hd_error *error)
{
    char path[4096];
    struct sim_machine machine;
    struct sim_workload workload;

    if (!o->machine)
        HDI_TRY(machine_of(o->workload, path, sizeof(path), error));
    HDI_TRY(sim_machine_open(&machine, o->machine ? o->machine : path, error));
    hd_status status =
        sim_workload_open(&workload, &machine, o->workload, error);
    if (status != HD_OK)
        goto err_machine;
    if (o->cycles)
        workload.cycles = o->cycles;
    if (o->load > 0)
        workload.load = o->load;

    struct sim_result *results =
        calloc((size_t)(o->last_seed - o->first_seed) + 1, sizeof(*results));
    if (!results)
        status = hdi_fail(error, HD_ENOMEM, "no memory for the results");
    if (status == HD_OK && !o->json) {
        printf("%s on %s, %llu cycles, seeds %llu to %llu: medians; waits in "
               "cycles\n",
               workload.name, machine.name, (unsigned long long)workload.cycles,
               (unsigned long long)o->first_seed,
               (unsigned long long)o->last_seed);
        sim_table_head(stdout, &machine, workload.priorities);
    }
    if (status == HD_OK && !option_given(o->given, "--policy"))
        status = run_policy(o, "balanced", &machine, &workload, results, error);
    for (const struct given *one = NULL;
         status == HD_OK &&
         (one = option_next(o->given, "--policy", one)) != NULL;)
        status = run_policy(o, one->value, &machine, &workload, results, error);
    if (status == HD_OK && fflush(stdout) != 0)
        status = hdi_fail(error, HD_EIO, "output: %s", strerror(errno));
    free(results);
    sim_workload_close(&workload);
err_machine:
    sim_machine_close(&machine);
    return status;
}

static int sim(const struct options *given)
{
    struct hd_error error;
    struct job job;
    int code = read_job(given, &job);

    if (code != EXIT_DONE)
        return code;
    hd_status status = option_given(given, "--csv") ? convert(&job, &error)
                                                    : simulate(&job, &error);
    if (status == HD_OK)
        return EXIT_DONE;
    fprintf(stderr, "heddle sim: %s\n", error.text);
    return EXIT_FAILED;
}

static const struct command_option options[] = {
    {"--machine", "FILE", "simulate this machine, not the workload's",
     OPTION_TEXT, false},
    {"--policy", "NAME[,OPTION=N]", "dispatch so; \"balanced\" by default",
     OPTION_TEXT, true},
    {"--seed", "N", "seed of what is random; 1 by default", OPTION_TEXT, false},
    {"--seeds", "FIRST-LAST", "each of these seeds, and their medians",
     OPTION_TEXT, false},
    {"--cycles", "N", "so many cycles, not the workload's", OPTION_TEXT, false},
    {"--load", "X", "generate that much, 1 being what the machine can do",
     OPTION_TEXT, false},
    {"--jobs", "N", "seeds that run at the same time", OPTION_TEXT, false},
    {"--json", NULL, "print one JSON object per seed", OPTION_FLAG, false},
    {"--timeline", "FILE", "write what ran as Chrome trace JSON", OPTION_TEXT,
     false},
    {"--timeline-limit", "GROUPS", "of so many groups; 200000 by default",
     OPTION_TEXT, false},
    {"--csv", "FILE", "make a workload of a recording, simulate nothing",
     OPTION_TEXT, false},
    {"--arrival", "COLUMN", "with --csv: when a row came", OPTION_TEXT, false},
    {"--duration", "COLUMN", "with --csv: how long it ran", OPTION_TEXT, false},
    {"--channel", "COLUMN", "with --csv: its channel", OPTION_TEXT, false},
    {"--priority", "COLUMN", "with --csv: its priority", OPTION_TEXT, false},
    {"--waves", "COLUMN", "with --csv: waves of a group", OPTION_TEXT, false},
    {"--groups", "COLUMN", "with --csv: groups of it", OPTION_TEXT, false},
    {"--need", "RESOURCE=COLUMN[*SCALE]",
     "with --csv: blocks of a resource a group needs", OPTION_TEXT, true},
    {"--time-scale", "CYCLES", "with --csv: cycles of one unit of its time",
     OPTION_TEXT, false},
    {"-o", "WORKLOAD", "with --csv: write to a file, not to standard output",
     OPTION_TEXT, false},
    {0},
};

const struct command sim_command = {
    .name = "sim",
    .operand = "WORKLOAD",
    .optional = true,
    .ends_at_once = true,
    .summary = "simulate the dispatch of work-groups to modules",
    .about = sim_policy_help,
    .list = sim_policy_list,
    .options = options,
    .run = sim,
};
