// The command line of the simulator.
#include "sim/sim.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/csv.h"
#include "sim/policy.h"
#include "sim/sweep.h"
#include "sim/table.h"
#include "sim/timeline.h"

static const char usage[] =
    "usage: heddle sim WORKLOAD [--machine FILE] [--policy "
    "NAME[,OPTION=N]]...\n"
    "                  [--seed N | --seeds FIRST-LAST] [--cycles N] [--load "
    "X]\n"
    "                  [--jobs N] [--json]\n"
    "                  [--timeline FILE [--timeline-limit GROUPS]]\n"
    "       heddle sim --csv FILE --arrival COLUMN --duration COLUMN\n"
    "                  [--channel COLUMN] [--priority COLUMN] [--waves "
    "COLUMN]\n"
    "                  [--groups COLUMN] [--need RESOURCE=COLUMN[*SCALE]]...\n"
    "                  [--time-scale CYCLES] [-o WORKLOAD]\n"
    "Simulate the dispatch of work-groups to modules, or make a workload of a\n"
    "recording. A machine may also be named in the workload file.\n\n";

enum {
    POLICIES = 64,
    SEEDS = 100000,
    JOBS_LIMIT = 4096
};

struct options {
    const char *workload, *machine, *timeline, *csv_path, *output;
    const char *policy[POLICIES];
    unsigned policy_count;
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

static bool seeds(const char *text, struct options *o)
{
    const char *dash = strchr(text, '-');
    char first[32];

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, "-"), text);
    return number(first, 0, UINT32_MAX, &o->first_seed) &&
           number(dash ? dash + 1 : text, o->first_seed, UINT32_MAX,
                  &o->last_seed) &&
           o->last_seed - o->first_seed < SEEDS;
}

enum letter {
    MACHINE = 256,
    POLICY,
    SEED,
    CYCLES,
    LOAD,
    JOBS,
    JSON,
    TIMELINE,
    LIMIT,
    CSV,
    ARRIVAL,
    DURATION,
    CHANNEL,
    PRIORITY,
    WAVES,
    GROUPS,
    NEED,
    SCALE
};

static const struct option longs[] = {
    {"machine", required_argument, NULL, MACHINE},
    {"policy", required_argument, NULL, POLICY},
    {"seed", required_argument, NULL, SEED},
    {"seeds", required_argument, NULL, SEED},
    {"cycles", required_argument, NULL, CYCLES},
    {"load", required_argument, NULL, LOAD},
    {"jobs", required_argument, NULL, JOBS},
    {"json", no_argument, NULL, JSON},
    {"timeline", required_argument, NULL, TIMELINE},
    {"timeline-limit", required_argument, NULL, LIMIT},
    {"csv", required_argument, NULL, CSV},
    {"arrival", required_argument, NULL, ARRIVAL},
    {"duration", required_argument, NULL, DURATION},
    {"channel", required_argument, NULL, CHANNEL},
    {"priority", required_argument, NULL, PRIORITY},
    {"waves", required_argument, NULL, WAVES},
    {"groups", required_argument, NULL, GROUPS},
    {"need", required_argument, NULL, NEED},
    {"time-scale", required_argument, NULL, SCALE},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {0}};

// False: the value cannot be.
static bool take(int option, const char *value, struct options *o,
                 struct hd_error *error)
{
    switch (option) {
    case MACHINE:
        o->machine = value;
        return true;
    case POLICY:
        if (o->policy_count == POLICIES)
            return false;
        o->policy[o->policy_count++] = value;
        return true;
    case SEED:
        return seeds(value, o);
    case CYCLES:
        return number(value, 1, SIM_CYCLES_LIMIT, &o->cycles);
    case LOAD:
        return real(value, &o->load);
    case JOBS:
        return number(value, 1, JOBS_LIMIT, &o->jobs);
    case JSON:
        o->json = true;
        return true;
    case TIMELINE:
        o->timeline = value;
        return true;
    case LIMIT:
        return number(value, 1, UINT32_MAX, &o->limit);
    case CSV:
        o->csv_path = value;
        return true;
    case ARRIVAL:
        o->csv.arrival = value;
        return true;
    case DURATION:
        o->csv.duration = value;
        return true;
    case CHANNEL:
        o->csv.channel = value;
        return true;
    case PRIORITY:
        o->csv.priority = value;
        return true;
    case WAVES:
        o->csv.waves = value;
        return true;
    case GROUPS:
        o->csv.groups = value;
        return true;
    case NEED:
        return sim_csv_need(&o->csv, value, error) == HD_OK;
    case SCALE:
        return real(value, &o->csv.cycles);
    case 'o':
        o->output = value;
        return true;
    default:
        return false;
    }
}

// 0 to go on, else an exit status + 1.
static int parse(int argc, char **argv, struct options *o)
{
    struct hd_error error = {.text = ""};
    int option, index = 0;

    optind = 0; // another command may have parsed before
    while ((option = getopt_long(argc, argv, "o:h", longs, &index)) != -1) {
        if (option == 'h') {
            printf("%s%s", usage, sim_policy_help);
            return 1;
        }
        if (option == '?') {
            fprintf(stderr, "%s", usage);
            return 3;
        }
        if (!take(option, optarg, o, &error)) {
            fprintf(stderr, "%s: --%s %s: %s\n", argv[0],
                    option == 'o' ? "output" : longs[index].name,
                    optarg ? optarg : "",
                    error.text[0] ? error.text : "not a value it can have");
            return 3;
        }
    }
    if (optind < argc)
        o->workload = argv[optind++];
    if (optind < argc || !o->workload == !o->csv_path) {
        fprintf(stderr, "%s", usage);
        return 3;
    }
    if (o->timeline && (o->policy_count > 1 || o->first_seed != o->last_seed)) {
        fprintf(stderr, "%s: a timeline is of one policy and one seed\n",
                argv[0]);
        return 3;
    }
    if (o->policy_count == 0)
        o->policy[o->policy_count++] = "balanced";
    return 0;
}

static hd_status convert(const struct options *o, struct hd_error *error)
{
    FILE *out = o->output ? fopen(o->output, "wb") : stdout;

    if (!out)
        return hdi_fail(error, HD_EIO, "%s: %s", o->output, strerror(errno));
    hd_status status = sim_csv_convert(&o->csv, o->csv_path, out, error);
    bool closed = out == stdout ? fflush(out) == 0 : fclose(out) == 0;
    if (status == HD_OK && !closed)
        status = hdi_fail(error, HD_EIO, "%s: %s",
                          o->output ? o->output : "output", strerror(errno));
    return status;
}

// The file a workload's line "machine FILE" names, next to the workload.
static hd_status machine_of(const char *workload, char *path, size_t size,
                            struct hd_error *error)
{
    struct sim_text text;
    bool more, found = false;

    HDI_TRY(sim_text_open(&text, workload, error));
    hd_status status;
    while ((status = sim_text_line(&text, &more)) == HD_OK && more && !found) {
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
static hd_status trace(const struct options *o, const struct sim_sweep *sweep,
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

static hd_status run_policy(const struct options *o, const char *name,
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

static hd_status simulate(const struct options *o, struct hd_error *error)
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
    for (unsigned i = 0; status == HD_OK && i < o->policy_count; i++)
        status =
            run_policy(o, o->policy[i], &machine, &workload, results, error);
    if (status == HD_OK && fflush(stdout) != 0)
        status = hdi_fail(error, HD_EIO, "output: %s", strerror(errno));
    free(results);
    sim_workload_close(&workload);
err_machine:
    sim_machine_close(&machine);
    return status;
}

int sim_main(int argc, char **argv)
{
    struct options o = {
        .first_seed = 1, .last_seed = 1, .limit = 200000, .csv.cycles = 1};
    struct hd_error error;
    int stop = parse(argc, argv, &o);

    if (stop)
        return stop - 1;
    hd_status status = o.csv_path ? convert(&o, &error) : simulate(&o, &error);
    if (status == HD_OK)
        return 0;
    fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return 1;
}
