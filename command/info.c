// heddle info: what this machine offers and what is built in.
#include <stdio.h>

#include "commands.h"
#include "failure.h"
#include "heddle/field.h"
#include "start.h"
#include "target.h"

// What describe() passes through target_write().
struct describing {
    const struct hd_runtime *runtime;
    const char *binary; // to be described instead; or NULL
    bool json, calibrate, again;
};

static hd_status describe(void *data, FILE *file, struct hd_error *error)
{
    const struct describing *describing = data;

    if (describing->binary)
        return hd_runtime_describe_binary(describing->runtime,
                                          describing->binary, file,
                                          describing->json, error);
    if (describing->calibrate)
        return hd_runtime_calibrate(describing->runtime, file,
                                    describing->again, error);
    hd_status status =
        hd_runtime_describe(describing->runtime, file, describing->json);

    return status == HD_OK
               ? HD_OK
               : fail(error, status, "cannot describe the machine: %s",
                      hd_status_text(status));
}

// `heddle info --map`: no runtime is needed.
struct drawing {
    const struct hd_map *map;
    bool svg;
};

static hd_status draw(void *data, FILE *file, struct hd_error *error)
{
    const struct drawing *drawing = data;

    return drawing->svg ? hd_map_draw_svg(drawing->map, file, error)
                        : hd_map_draw(drawing->map, file, error);
}

static int show_map(const char *words, bool svg)
{
    struct drawing drawing = {.svg = svg};
    struct hd_error error = {0};
    struct hd_map *map;
    hd_status status = hd_map_parse(words, &map, &error);

    if (status != HD_OK)
        return report_failure(status, &error);
    drawing.map = map;
    status = target_write("-", draw, &drawing, &error);
    hd_map_destroy(map);
    return status == HD_OK ? EXIT_DONE : report_failure(status, &error);
}

static int info(const struct options *given)
{
    const char *map = option_value(given, "--map");
    bool svg = option_given(given, "--svg");
    struct describing describing = {.binary = given->operand,
                                    .json = option_given(given, "--json"),
                                    .calibrate =
                                        option_given(given, "--calibrate"),
                                    .again = option_given(given, "--again")};
    struct hd_runtime *runtime;
    struct hd_error error = {0};

    if (describing.again && !describing.calibrate) {
        fprintf(stderr, "heddle info: --again belongs to --calibrate\n");
        return EXIT_USAGE;
    }
    if (describing.binary && describing.calibrate) {
        fprintf(stderr, "heddle info: --calibrate is about this machine, not "
                        "about a binary\n");
        return EXIT_USAGE;
    }
    if (svg && !map) {
        fprintf(stderr, "heddle info: --svg belongs to --map\n");
        return EXIT_USAGE;
    }
    if (map && (describing.binary || describing.json || describing.calibrate)) {
        fprintf(stderr, "heddle info: --map is about neither this machine nor "
                        "a binary\n");
        return EXIT_USAGE;
    }
    if (map)
        return show_map(map, svg);
    hd_status status = start_runtime(
        (struct hd_runtime_params){.caller_only = describing.binary != NULL},
        &runtime, &error);
    if (status != HD_OK)
        return report_failure(status, &error);
    describing.runtime = runtime;
    status = target_write("-", describe, &describing, &error);
    hd_runtime_destroy(runtime);
    return status == HD_OK ? EXIT_DONE : report_failure(status, &error);
}

static const struct command_option options[] = {
    {"--json", NULL, "print one JSON object", OPTION_FLAG, false},
    {"--calibrate", NULL,
     "measure what resources cost here, print a machine file of heddle sim",
     OPTION_FLAG, false},
    {"--again", NULL, "with --calibrate: even if it was measured before",
     OPTION_FLAG, false},
    {"--map", "WORDS",
     "instead, draw who owns what under a resource map of fields,\n"
     "such as \"6x6 tiles 2x2 cyclic nodes 4\"",
     OPTION_TEXT, false},
    {"--svg", NULL, "with --map: as an SVG image", OPTION_FLAG, false},
    {0},
};

const struct command info_command = {
    .name = "info",
    .operand = "BINARY.hdb",
    .optional = true,
    .summary = "show what this machine offers, or what is in a binary",
    .about = "Show what this machine offers and what is built in; with a "
             "binary, what is in\nthat: for which processors it has code, and "
             "its kernels.\n",
    .options = options,
    .run = info,
};
