// heddle graph: generate and print, run nothing.
#include <stdio.h>

#include "commands.h"
#include "failure.h"
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

static int graph(const struct options *given)
{
    struct hd_error error = {0};
    struct session session;
    const char *path = option_value(given, "-o");

    if (option_given(given, "--dot") && option_given(given, "--json")) {
        fprintf(stderr, "heddle graph: --dot and --json exclude each other; "
                        "see heddle graph --help\n");
        return EXIT_USAGE;
    }
    if (!path)
        path = "-";
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

static const struct option options[] = {
    SESSION_OPTIONS,
    {"--dot", NULL, "for Graphviz, the default", OPTION_FLAG, false},
    {"--json", NULL, "as one JSON object", OPTION_FLAG, false},
    {"-o", "FILE", "write to FILE, not to standard output", OPTION_TEXT, false},
    {0},
};

const struct command graph_command = {
    .name = "graph",
    .operand = "PROGRAM.lua",
    .summary = "print the graph that a program generates",
    .about = "Print the graph that a program generates. Nothing is built or "
             "run.\n",
    .options = options,
    .run = graph,
};
