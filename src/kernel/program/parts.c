//     .cl, a source text        --> list, HDI_PART_TEXT
//     SPIR-V, by its magic      --> list, HDI_PART_SPIRV (a copy, swapped)
//     a binary with bitcode     --> list, HDI_PART_LIBRARY
//     a binary with code        --> finished
#include "kernel/program/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/binary/container.h"
#include "kernel/program/options.h"
#include "kernel/program/spirv.h"

// One per part: the file if it was read from one, the words of a SPIR-V module,
// its options, and a library's build. Only some are filled.
struct hdi_part_held {
    struct hdi_text file, words;
    struct hdi_options options;
    struct hdi_build library;
};

// By name, so that a damaged binary is told as one and not compiled as a text.
static bool names_binary(const char *path)
{
    size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".hdb") == 0;
}

// Options of the program, of the part and of the runtime, in that order.
//
// The last of two that contradict each other counts, so the runtime has the
// last word.
static hd_status read_options(const struct hdi_program_context *context,
                              const struct hd_program_params *params,
                              const char *own, struct hdi_options *options,
                              struct hd_error *error)
{
    struct hdi_text words = {0};

    hdi_text_print(&words, "%s %s %s", params->options ? params->options : "",
                   own ? own : "", context->options ? context->options : "");
    hd_status status =
        words.failed ? hdi_fail(error, HD_ENOMEM, "no memory for build options")
                     : hdi_options_parse(words.data, options, error);
    hdi_text_free(&words);
    return status;
}

// A finished binary, or a library that becomes `part`.
//
// `held` is the last that was taken, that of this part. A build that was put
// into `finished` is freed from there, also where it is refused.
static hd_status read_binary(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             struct hdi_part part, struct hdi_parts *parts,
                             struct hd_error *error)
{
    struct hdi_part_held *held = &parts->held[parts->held_count - 1];
    struct hdi_build build;

    HDI_TRY(hdi_container_read(part.data, part.size, NULL,
                               &context->device->can, part.path, &build, NULL,
                               error));
    if (build.bitcode) {
        held->library = build;
        part.kind = HDI_PART_LIBRARY;
        part.data = build.bitcode;
        part.size = build.bitcode_size;
        parts->list[parts->count++] = part;
        return HD_OK;
    }
    parts->finished[parts->finished_count++] = build;
    if (!params->library && !params->cpus)
        return HD_OK;
    return hdi_fail(error, HD_EINVAL,
                    "%s: finished code cannot become part of %s: give its "
                    "sources",
                    part.path,
                    params->library ? "a library" : "a program for named CPUs");
}

// The translator is looked for once, with the first module. `words` is a copy,
// since bytes are swapped and constants set in it.
static hd_status read_spirv(struct hdi_part part, struct hdi_parts *parts,
                            struct hd_error *error)
{
    struct hdi_text *words = &parts->held[parts->held_count - 1].words;

    HDI_TRY(hdi_spirv_read(part.data, part.size, part.path, words, error));
    HDI_TRY(hdi_spirv_specialise(words, part.options, part.path, error));
    if (!parts->translator.data) {
        hd_status status = hdi_spirv_find_translator(&parts->translator, error);
        if (status != HD_OK) {
            hdi_prefix_error(error, "%s", part.path);
            return status;
        }
    }
    part.kind = HDI_PART_SPIRV;
    part.data = words->data;
    part.size = words->size;
    parts->list[parts->count++] = part;
    return HD_OK;
}

static void skip_mark(struct hdi_part *part)
{
    size_t mark = hdi_text_mark(part->data, part->size);

    part->data += mark;
    part->size -= mark;
}

//     name for messages   the path, else "the binary" or "program.cl"
//     options             its own between those of program and runtime
//     bytes               memory that was given, else the file
//     kind                by what the bytes are; a source text is never SPIR-V
//
// `given` is written before the kind is known to fit; it counts only with the
// element of the list.
static hd_status read_part(const struct hdi_program_context *context,
                           const struct hd_program_params *params,
                           const struct hd_program_part *from,
                           struct hdi_parts *parts, struct hd_error *error)
{
    struct hdi_part_held *held = &parts->held[parts->held_count++];
    struct hdi_part part = {.path = from->path};

    if (!from->source && !from->path && !from->binary)
        return hdi_fail(error, HD_EINVAL,
                        "a program needs a path, a source text or a binary");
    if (!part.path)
        part.path = from->binary ? "the binary" : "program.cl";
    if (parts->held_count == 1)
        parts->path = part.path;
    HDI_TRY(
        read_options(context, params, from->options, &held->options, error));
    part.options = held->options.words;

    bool is_binary = from->binary != NULL;
    if (is_binary) {
        part.data = from->binary;
        part.size = from->binary_size;
    } else if (from->source) {
        part.data = from->source;
        part.size = strlen(from->source);
    } else {
        HDI_TRY(
            hdi_read_file(from->path, HDI_CONTAINER_MAX, &held->file, error));
        part.data = held->file.data ? held->file.data : "";
        part.size = held->file.size;
        is_binary =
            names_binary(from->path) || hdi_container_is(part.data, part.size);
    }
    bool is_spirv = !from->source && hdi_spirv_is(part.data, part.size);
    parts->given[parts->count] =
        (struct hdi_part_given){part.path, part.data, part.size,
                                !is_spirv && !is_binary, from->options};
    if (is_spirv)
        return read_spirv(part, parts, error);
    if (is_binary)
        return read_binary(context, params, part, parts, error);
    skip_mark(&part);
    parts->list[parts->count++] = part;
    return HD_OK;
}

// A constant that nothing can take is a mistake, and would be ignored silently.
// Modules look at their own.
static hd_status check_specialisations(const struct hdi_parts *parts,
                                       struct hd_error *error)
{
    for (const char *const *o = parts->options; *o; o++)
        if (!parts->translator.data && hdi_is_specialisation(*o))
            return hdi_fail(error, HD_EINVAL,
                            "build option '%s': no part of the program is a "
                            "SPIR-V module",
                            *o);
    return HD_OK;
}

// `parts` is filled as far as it goes; the caller frees it after an error. A
// program is one text or a list, not both, so that no order has to be
// explained.
static hd_status read_all(const struct hdi_program_context *context,
                          const struct hd_program_params *params,
                          struct hdi_parts *parts, struct hd_error *error)
{
    const struct hd_program_part only = {.path = params->path,
                                         .source = params->source,
                                         .binary = params->binary,
                                         .binary_size = params->binary_size};
    const struct hd_program_part *from = params->parts ? params->parts : &only;
    size_t count = params->parts ? params->part_count : 1;

    if (params->parts && (params->path || params->source || params->binary))
        return hdi_fail(error, HD_EINVAL,
                        "a program has parts, or is one path, source text or "
                        "binary, not both");
    if (count == 0)
        return hdi_fail(error, HD_EINVAL, "a program has one part at least");
    // The last is for the options of the whole.
    parts->held = calloc(count + 1, sizeof(*parts->held));
    parts->list = calloc(count, sizeof(*parts->list));
    parts->given = calloc(count, sizeof(*parts->given));
    parts->finished = calloc(count, sizeof(*parts->finished));
    if (!parts->held || !parts->list || !parts->given || !parts->finished)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    for (size_t i = 0; i < count; i++)
        HDI_TRY(read_part(context, params, &from[i], parts, error));

    struct hdi_part_held *whole = &parts->held[parts->held_count++];
    HDI_TRY(read_options(context, params, NULL, &whole->options, error));
    parts->options = whole->options.words;
    return check_specialisations(parts, error);
}

// Freed here after an error, so that callers need not.
hd_status hdi_parts_read(const struct hdi_program_context *context,
                         const struct hd_program_params *params,
                         struct hdi_parts *parts, struct hd_error *error)
{
    *parts = (struct hdi_parts){0};
    hd_status status = read_all(context, params, parts, error);

    if (status != HD_OK)
        hdi_parts_free(parts);
    return status;
}

void hdi_parts_free(struct hdi_parts *parts)
{
    for (size_t i = 0; i < parts->held_count; i++) {
        hdi_text_free(&parts->held[i].file);
        hdi_text_free(&parts->held[i].words);
        hdi_options_free(&parts->held[i].options);
        hdi_build_clear(&parts->held[i].library);
    }
    for (uint32_t i = 0; i < parts->finished_count; i++)
        hdi_build_clear(&parts->finished[i]);
    hdi_text_free(&parts->translator);
    free(parts->held);
    free(parts->list);
    free(parts->given);
    free(parts->finished);
    *parts = (struct hdi_parts){0};
}
