// heddle graph: generate and print, run nothing.
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "failure.h"
#include "plan/plan.h"
#include "session.h"
#include "target.h"

// What print() passes through target_write().
struct printing {
    const struct hd_graph *graph;
    enum hd_graph_format format;
};

static hd_status print(void *data, FILE *file, struct hd_error *error)
{
    const struct printing *printing = data;
    hd_status status = hd_graph_print(printing->graph, printing->format, file);

    return status == HD_OK ? HD_OK
                           : fail(error, status, "cannot print the graph: %s",
                                  hd_status_text(status));
}

static int complain(const char *what)
{
    fprintf(stderr, "heddle graph: %s; see heddle graph --help\n", what);
    return EXIT_USAGE;
}

static hd_status write_schedule(void *data, FILE *file, struct hd_error *error)
{
    return plan_schedule(data, file, error);
}

static hd_status write_placement(void *data, FILE *file, struct hd_error *error)
{
    return plan_placement(data, file, error);
}

// A number of bytes; 0 when it is none.
static uint64_t read_capacity(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);

    return *text >= '1' && *text <= '9' && !*end && value <= INT64_MAX ? value
                                                                       : 0;
}

// A problem from a file instead of a program.
static int plan(const struct options *given, const char *path)
{
    const char *stg = option_value(given, "--stg");
    const char *allocations = option_value(given, "--allocations");
    const char *capacity = option_value(given, "--capacity");
    struct plan_params params = {
        .path = stg ? stg : allocations,
        .processors = option_number(given, "--procs", 0),
        .capacity = capacity ? read_capacity(capacity) : 0,
        .time =
            option_number(given, "--time", stg ? 10 : 1000) * UINT64_C(1000000),
        .json = option_given(given, "--json")};
    struct hd_error error = {0};

    if (stg && allocations)
        return complain("--stg and --allocations exclude each other");
    if (given->operand || option_count(given, "--in") ||
        option_count(given, "--set") || option_given(given, "--dot"))
        return complain("a problem from a file takes no program, nothing for "
                        "one, and no --dot");
    if (stg && !params.processors)
        return complain("--stg takes --procs N");
    if (capacity && !params.capacity)
        return complain("--capacity takes a number of bytes");
    if (stg ? capacity != NULL : params.processors != 0)
        return complain("--procs is for --stg, --capacity for --allocations");

    hd_status status = target_check(path, &error);
    if (status == HD_OK)
        status = target_write(path, stg ? write_schedule : write_placement,
                              &params, &error);
    return status == HD_OK ? EXIT_DONE : report_failure(status, &error);
}

static int graph(const struct options *given)
{
    struct hd_error error = {0};
    struct session session;
    const char *path = option_value(given, "-o");

    if (option_given(given, "--dot") && option_given(given, "--json"))
        return complain("--dot and --json exclude each other");
    if (!path)
        path = "-";
    if (option_given(given, "--stg") || option_given(given, "--allocations"))
        return plan(given, path);
    if (!given->operand)
        return complain("no PROGRAM.lua given");
    if (option_given(given, "--procs") || option_given(given, "--capacity") ||
        option_given(given, "--time"))
        return complain("--procs, --capacity and --time are for --stg and "
                        "--allocations");
    hd_status status = target_check(path, &error);
    if (status != HD_OK)
        return report_failure(status, &error);

    status =
        session_open(&session, given,
                     &(struct hd_runtime_params){.caller_only = true}, &error);
    if (status == HD_OK) {
        struct printing printing = {session.graph, option_given(given, "--json")
                                                       ? HD_GRAPH_JSON
                                                       : HD_GRAPH_DOT};
        status = target_write(path, print, &printing, &error);
    }
    session_close(&session);
    return status == HD_OK ? EXIT_DONE : report_failure(status, &error);
}

static const struct command_option options[] = {
    SESSION_OPTIONS,
    {"--dot", NULL, "for Graphviz, the default", OPTION_FLAG, false},
    {"--json", NULL, "as one JSON object", OPTION_FLAG, false},
    {"-o", "FILE", "write to FILE, not to standard output", OPTION_TEXT, false},
    {"--stg", "FILE", "schedule a task graph of the standard task graph set",
     OPTION_TEXT, false},
    {"--procs", "N", "on N processors", OPTION_NUMBER, false},
    {"--allocations", "FILE.csv",
     "place allocations (columns id,lower,upper,size) in memory", OPTION_TEXT,
     false},
    {"--capacity", "BYTES", "in so many bytes; otherwise in as few as found",
     OPTION_TEXT, false},
    {"--time", "MS", "search so long, if needed (10; --allocations: 1000)",
     OPTION_NUMBER, false},
    {0},
};

const struct command graph_command = {
    .name = "graph",
    .operand = "PROGRAM.lua",
    .optional = true,
    .summary = "print the graph that a program generates",
    .about = "Print the graph that a program generates. Nothing is built or "
             "run. Or solve\na scheduling or placement problem from a file "
             "with the planners that graphs use.\n",
    .options = options,
    .run = graph,
};
