// heddle run: decode the inputs, generate the graph, build its kernels, run it,
// encode the outputs.
//
// Everything that can be found wrong is found before something is computed:
// unwritable targets before the inputs are read, names of outputs before the
// kernels are built.
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "commands.h"
#include "failure.h"
#include "image.h"
#include "interrupt.h"
#include "page/page.h"
#include "progress.h"
#include "report.h"
#include "session.h"
#include "stopwatch.h"
#include "target.h"

static const struct command_option options[] = {
    SESSION_OPTIONS,
    {"--out", "NAME=FILE",
     "write output NAME: as an array when FILE ends in .npy or\n.npz, as bytes "
     "when it "
     "ends in .raw or .bin, as JPEG when it ends in\n.jpg or .jpeg, else as "
     "PNG; '-' is standard output",
     OPTION_PAIR, true},
    {"--device", "cpu|gpu|all|null", "where kernels run; the cores by default",
     OPTION_CHOICE, false},
    {"--workers", "N", "threads; one per core by default", OPTION_NUMBER,
     false},
    {"--cores", "LIST",
     "the processors to run on, such as 0-3,8; all that this\nprocess may use "
     "by default",
     OPTION_TEXT, false},
    {"--units", "N",
     "threads of their own that run kernels for the\nworkers; none by default",
     OPTION_NUMBER, false},
    {"--mailbox", "ring|doorbell",
     "how a unit gets work: up to eight pieces at a time\n(by default), or one",
     OPTION_CHOICE, false},
    {"--goal", "time|memory",
     "what the scheduler aims at: the least time, or little\nmemory; time, "
     "until memory runs short, by default",
     OPTION_CHOICE, false},
    {"--working-set", "KIB",
     "keep what is alive within so many KiB, those of a cache\nfor instance, "
     "as far as can be",
     OPTION_NUMBER, false},
    {"--scheduler", "host|units|launches",
     "who starts a pass when others have ended: workers (by\ndefault), the "
     "units of a GPU, or the driver's queue",
     OPTION_CHOICE, false},
    {"--checkpoint", "DIR",
     "save fields there while it runs, so that --resume can\ngo on",
     OPTION_TEXT, false},
    {"--every", "S", "seconds between checkpoints; 60 by default", OPTION_TEXT,
     false},
    {"--resume", NULL, "go on from the last checkpoint, on any number of nodes",
     OPTION_FLAG, false},
    {"--check", NULL,
     "look at every access of kernels to memory, and say\nwhat is wrong",
     OPTION_FLAG, false},
    {"--guard", NULL,
     "end each buffer where inaccessible memory begins: an\naccess past it is "
     "an error",
     OPTION_FLAG, false},
    {"--form", "loops|thread|coroutine",
     "how kernels run; loops where they can be by default", OPTION_CHOICE,
     false},
    {"--debug", NULL,
     "build kernels for gdb (share/heddle-gdb.py); one thread\n"
     "unless --workers says more",
     OPTION_FLAG, false},
    {"--time-limit", "MS",
     "stop a kernel that runs longer than so many\nmilliseconds", OPTION_NUMBER,
     false},
    {"--trace", "FILE", "write a Chrome trace, for Perfetto", OPTION_TEXT,
     false},
    {"--report", "FILE.html",
     "write the run as a web page: timeline, memory, graph,\npasses",
     OPTION_TEXT, false},
    {"--dot", "FILE", "write the graph with its times, for Graphviz",
     OPTION_TEXT, false},
    {"--stats", NULL, "print what every pass and worker did", OPTION_FLAG,
     false},
    {"--json", NULL, "print the same as one JSON object", OPTION_FLAG, false},
    {0},
};

// Options whose value, or the value's second half, is a file to write.
static const char *const writing[] = {"--out", "--trace", "--report", "--dot"};

enum {
    WRITING = sizeof(writing) / sizeof(*writing)
};

static bool writes_file(const struct given *one)
{
    for (int i = 0; i < WRITING; i++)
        if (strcmp(one->option->name, writing[i]) == 0)
            return true;
    return false;
}

// Look at all targets; no two may be the same.
static hd_status check_targets(const struct options *given, bool *to_output,
                               struct hd_error *error)
{
    *to_output = false;
    for (unsigned i = 0; i < given->count; i++) {
        const struct given *one = &given->list[i];
        if (!writes_file(one))
            continue;
        for (const struct given *other = given->list; other < one; other++)
            if (writes_file(other) && strcmp(other->value, one->value) == 0)
                return fail(error, HD_EINVAL,
                            "%s would be written twice, by %s and by %s",
                            one->value, other->option->name, one->option->name);
        *to_output |= target_is_output(one->value);
        hd_status status = target_check(one->value, error);
        if (status != HD_OK)
            return status;
    }
    return HD_OK;
}

// Find an output of the graph by name.
static bool find_output(const struct hd_graph *graph, const char *name,
                        struct hd_graph_result *result)
{
    for (unsigned i = 0; hd_graph_result(graph, i, result); i++)
        if (strcmp(result->name, name) == 0)
            return true;
    return false;
}

static hd_status unknown_output(const struct hd_graph *graph,
                                const struct options *given, const char *name,
                                struct hd_error *error)
{
    struct hd_graph_result result;
    char names[1024] = "";
    size_t length = 0;

    for (unsigned i = 0; hd_graph_result(graph, i, &result); i++) {
        int more = snprintf(names + length, sizeof(names) - length, "%s'%s'",
                            i > 0 ? ", " : "", result.name);
        length += (size_t)more;
        if (length >= sizeof(names))
            break;
    }
    if (length == 0)
        return fail(error, HD_ENOENT, "%s has no output '%s'; it declares none",
                    given->operand, name);
    return fail(error, HD_ENOENT, "%s has no output '%s'; it has %s",
                given->operand, name, names);
}

// Check what was asked for against what the program declares.
static hd_status check_outputs(const struct hd_graph *graph,
                               const struct options *given,
                               struct hd_error *error)
{
    struct hd_graph_result result;

    for (const struct given *one = NULL;
         (one = option_next(given, "--out", one)) != NULL;) {
        if (!find_output(graph, one->name, &result))
            return unknown_output(graph, given, one->name, error);
        if (array_is_one(one->value))
            continue;
        hd_status status =
            image_check(one->name, &result.shape, one->value, error);
        if (status != HD_OK)
            return status;
    }
    return HD_OK;
}

// Say which outputs nobody asked for.
static void note_unused(const struct hd_graph *graph,
                        const struct options *given)
{
    struct hd_graph_result result;

    for (unsigned i = 0; hd_graph_result(graph, i, &result); i++) {
        const struct given *one = NULL;
        while ((one = option_next(given, "--out", one)) != NULL)
            if (strcmp(one->name, result.name) == 0)
                break;
        if (!one)
            fprintf(stderr,
                    "heddle: note: output '%s' is not written; "
                    "ask for it with --out %s=FILE\n",
                    result.name, result.name);
    }
}

static hd_status write_outputs(const struct hd_graph *graph,
                               const struct options *given,
                               struct hd_error *error)
{
    struct hd_graph_result result;

    for (const struct given *one = NULL;
         (one = option_next(given, "--out", one)) != NULL;) {
        progress_stage("writing outputs");
        if (!find_output(graph, one->name, &result))
            return unknown_output(graph, given, one->name, error);
        hd_status status =
            array_is_one(one->value)
                ? array_write(one->value, &result.shape, result.buffer, error)
                : image_write(one->value, &result.shape, result.buffer, error);
        if (status != HD_OK)
            return status;
    }
    progress_erase();
    return HD_OK;
}

static hd_status print_graph(void *data, FILE *file, struct hd_error *error)
{
    hd_status status = hd_graph_print(data, HD_GRAPH_DOT, file);

    return status == HD_OK ? HD_OK
                           : fail(error, status, "cannot print the graph: %s",
                                  hd_status_text(status));
}

static hd_status print_trace(void *data, FILE *file, struct hd_error *error)
{
    return hd_graph_trace_write(data, file, error);
}

static hd_status print_page(void *data, FILE *file, struct hd_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *trace = open_memstream(&text, &size);

    if (!trace)
        return fail(error, HD_ENOMEM, "no memory for the report");
    hd_status status = hd_graph_trace_write(data, trace, error);
    if (fclose(trace) != 0 && status == HD_OK)
        status = fail(error, HD_ENOMEM, "no memory for the report");
    if (status == HD_OK)
        page_write(text, size, file);
    free(text);
    return status;
}

// 0: none was named.
static enum hd_graph_scheduler named_scheduler(const struct options *given)
{
    const char *name = option_value(given, "--scheduler");

    return !name                           ? HD_GRAPH_BY_ANY
           : strcmp(name, "units") == 0    ? HD_GRAPH_BY_UNITS
           : strcmp(name, "launches") == 0 ? HD_GRAPH_BY_LAUNCHES
                                           : HD_GRAPH_BY_HOST;
}

static hd_status set_policy(struct hd_graph *graph, const struct options *given,
                            struct hd_error *error)
{
    const char *goal = option_value(given, "--goal");
    const struct hd_graph_policy policy = {
        .goal = !goal                         ? HD_GRAPH_AUTO
                : strcmp(goal, "memory") == 0 ? HD_GRAPH_MEMORY
                                              : HD_GRAPH_TIME,
        .working_set = option_number(given, "--working-set", 0) * 1024ull,
        .by = named_scheduler(given)};

    return goal || policy.working_set > 0 || policy.by != HD_GRAPH_BY_ANY
               ? hd_graph_set_policy(graph, &policy, error)
               : HD_OK;
}

// Of a program that looked at results passes have run while it was generated:
// what is told is of all of them.
static void count_all(struct report *report, uint64_t makespan)
{
    struct counts *c = report->before;

    report->run_time = makespan;
    memset(c->workers, 0, c->worker_count * sizeof(*c->workers));
    memset(c->units, 0, c->unit_count * sizeof(*c->units));
}

// Everything between the generated graph and the written outputs.
static hd_status compute(struct report *report, struct hd_error *error)
{
    const struct options *given = report->given;
    struct hd_runtime *runtime = report->session->runtime;
    struct hd_graph *graph = report->session->graph;
    const struct hd_graph_run_params params = {.progress = progress_pass};
    struct hd_graph_statistics stats;
    uint64_t mark = now();

    hd_status status = check_outputs(graph, given, error);
    if (status != HD_OK)
        return status;

    status = set_policy(graph, given, error);
    if (status != HD_OK)
        return status;
    progress_stage("building kernels");
    status = hd_graph_prepare(graph, error);
    if (status != HD_OK)
        return status;
    report->build_time = lap(&mark);
    hd_graph_stats(graph, &stats);
    bool has_run = stats.makespan > 0;

    status = report_count(runtime, &report->before, error);
    if (status != HD_OK)
        return status;
    progress_stage("running");
    lap(&mark);
    status = hd_graph_run(graph, &params, error);
    if (status != HD_OK)
        return status;
    report->run_time = lap(&mark);
    progress_erase();
    status = report_count(runtime, &report->after, error);
    if (status != HD_OK)
        return status;
    hd_graph_stats(graph, &stats);
    if (has_run)
        count_all(report, stats.makespan);

    lap(&mark);
    if (session_writes(report->session)) {
        note_unused(graph, given);
        status = write_outputs(graph, given, error);
    }
    report->encode_time = lap(&mark);
    return status;
}

// Build options for every kernel of the run; NULL: none.
static const char *build_options(const struct options *given)
{
    const char *form = option_value(given, "--form");

    if (option_given(given, "--debug"))
        return "-heddle-debug";
    if (option_given(given, "--check"))
        return "-heddle-check";
    if (!form)
        return NULL;
    return strcmp(form, "thread") == 0      ? "-heddle-form=thread"
           : strcmp(form, "coroutine") == 0 ? "-heddle-form=coroutine"
                                            : "-heddle-form=loops";
}

static hd_status check_checkpoint(const struct options *given,
                                  struct hd_error *error)
{
    const char *every = option_value(given, "--every");
    char *end = NULL;

    if (!option_given(given, "--checkpoint") &&
        (every || option_given(given, "--resume")))
        return fail(error, HD_EINVAL,
                    "--every and --resume are for --checkpoint DIR");
    if (every && !(strtod(every, &end) >= 0 && strtod(every, NULL) < 1e9 &&
                   end != every && *end == '\0'))
        return fail(error, HD_EINVAL, "--every takes seconds, not '%s'", every);
    return HD_OK;
}

static int run(const struct options *given)
{
    struct hd_error error = {0};
    const char *trace = option_value(given, "--trace");
    const char *page = option_value(given, "--report");
    const char *dot = option_value(given, "--dot");
    struct session session;
    struct report report = {.given = given, .session = &session};
    uint64_t start = now();
    bool to_output;

    hd_status status = check_targets(given, &to_output, &error);
    if (status != HD_OK)
        return report_failure(status, &error);

    status = check_checkpoint(given, &error);
    if (status != HD_OK)
        return report_failure(status, &error);

    const char *mailbox = option_value(given, "--mailbox");
    const char *nodes = option_value(given, "--nodes");
    const char *device = option_value(given, "--device");

    if (!device && nodes && strstr(nodes, "gpu"))
        device = "cpu,gpu";
    const struct hd_runtime_params params = {
        .cores = option_value(given, "--cores"),
        .workers = option_number(given, "--workers",
                                 option_given(given, "--debug") ? 1 : 0),
        .units = option_number(given, "--units", 0),
        .unit_doorbell = mailbox && strcmp(mailbox, "doorbell") == 0,
        .time_limit = option_number(given, "--time-limit", 0) * 1000000ull,
        .device = device,
        .trace = trace || page || dot, // who ran what
        .guard = option_given(given, "--guard"),
        .build_options = build_options(given)};
    status = session_open(&session, given, &params, &error);
    if (status == HD_OK)
        status = compute(&report, &error);
    bool writes = session_writes(&session);
    if (status == HD_OK && dot && writes)
        status = target_write(dot, print_graph, session.graph, &error);
    int code = status == HD_OK ? EXIT_DONE : report_failure(status, &error);

    // Trace and report of a run that failed show how far it came.
    if (trace && session.graph && writes) {
        status = target_write(trace, print_trace, session.graph, &error);
        if (status != HD_OK && code == EXIT_DONE)
            code = report_failure(status, &error);
    }
    if (page && session.graph && writes) {
        status = target_write(page, print_page, session.graph, &error);
        if (status != HD_OK && code == EXIT_DONE)
            code = report_failure(status, &error);
    }
    if (code == EXIT_DONE && writes) {
        // Standard output is the image's when one goes there.
        FILE *file = to_output ? stderr : stdout;
        report.total_time = now() - start;
        if (option_given(given, "--json"))
            report_json(&report, file);
        else
            report_text(&report, option_given(given, "--stats"), file);
    }
    free(report.before);
    free(report.after);
    session_close(&session);
    return code;
}

const struct command run_command = {
    .name = "run",
    .operand = "PROGRAM.lua",
    .summary = "run a graph program on images and arrays",
    .about = "Run a graph program: read its inputs, generate its graph, build "
             "the kernels, run\nthem and write its outputs.\n",
    .options = options,
    .run = run,
};
