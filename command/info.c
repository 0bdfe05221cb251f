// heddle info: what this machine offers and what is built in.
#include <stdio.h>

#include "commands.h"
#include "failure.h"
#include "start.h"

static int info(const struct options *given)
{
    struct hd_runtime *runtime;
    struct hd_error error = {0};

    hd_status status =
        start_runtime((struct hd_runtime_params){0}, &runtime, &error);
    if (status != HD_OK)
        return report_failure(status, &error);
    // A stream that fails is noticed, and named, at the end of main().
    hd_runtime_describe(runtime, stdout, option_given(given, "--json"));
    hd_runtime_destroy(runtime);
    return EXIT_DONE;
}

static const struct option options[] = {
    {"--json", NULL, "print one JSON object", OPTION_FLAG, false},
    {0},
};

const struct command info_command = {
    .name = "info",
    .summary = "show what this machine offers and what is built in",
    .about = "Show what this machine offers and what is built in.\n",
    .options = options,
    .run = info,
};
