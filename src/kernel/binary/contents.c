// What is in a binary, for people and for programs: the same facts, printed
// twice.
#include "kernel/binary/contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "kernel/binary/container.h"
#include "kernel/binary/processor.h"

// On the stack of hdi_contents_describe(), which owns `builds`.
struct contents {
    const struct hdi_capabilities *can;
    struct hdi_build *builds;
    uint32_t count;
    const struct hdi_build *best; // NULL: none runs here
};

// With the code of what it has joined, without that for checking. [bytes]
static size_t code_size(const struct hdi_build *build)
{
    size_t size = build->image_size + build->bitcode_size;

    for (uint32_t i = 0; i < build->joined_count; i++)
        size += build->joined[i].image_size;
    return size;
}

// Of what -g adds.
static size_t checked_size(const struct hdi_build *build)
{
    size_t size = build->checked ? build->checked->image_size : 0;

    for (uint32_t i = 0; i < build->joined_count; i++)
        size +=
            build->joined[i].checked ? build->joined[i].checked->image_size : 0;
    return size;
}

// Kernels are the same for each processor.
//
// So those of the first build are told for all; joined ones after its own.
// `first` is true once, for commas.
static void each_kernel(const struct contents *c,
                        void (*print)(const struct hdi_build_kernel *kernel,
                                      bool first, struct hdi_text *text),
                        struct hdi_text *text)
{
    const struct hdi_build *build = c->builds;
    bool first = true;

    for (uint32_t i = 0; i < build->kernel_count; i++, first = false)
        print(&build->kernels[i], first, text);
    for (uint32_t j = 0; j < build->joined_count; j++)
        for (uint32_t i = 0; i < build->joined[j].kernel_count;
             i++, first = false)
            print(&build->joined[j].kernels[i], first, text);
}

// For people ------------------------------------------------------------------

static void print_kernel(const struct hdi_build_kernel *kernel, bool first,
                         struct hdi_text *text)
{
    (void)first;
    hdi_text_print(text, "kernel     %s(", kernel->name);
    for (uint32_t i = 0; i < kernel->arg_count; i++)
        hdi_text_print(text, "%s%s %s", i > 0 ? ", " : "", kernel->args[i].type,
                       kernel->args[i].name);
    hdi_text_print(text, "), %s:%u\n", kernel->file, kernel->line);
}

// A line per processor, then one per kernel. What is lacking is named where it
// does not run here.
static void print_text(const struct contents *c, struct hdi_text *text)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct hdi_build *build = &c->builds[i];
        bool runs = hdi_processor_fit(c->can, build) != HDI_FIT_NONE;

        hdi_text_print(text,
                       build->bitcode ? "library    for " : "code       for ");
        hdi_processor_name(runs ? NULL : c->can, build, text);
        hdi_text_print(text, ", %zu bytes%s\n", code_size(build),
                       build->bitcode     ? ""
                       : build == c->best ? ", runs here"
                       : runs             ? ", would run here"
                                          : ", does not run here");
        if (checked_size(build) > 0)
            hdi_text_print(text,
                           "           and to name the work-item of a fault, "
                           "%zu bytes\n",
                           checked_size(build));
    }
    each_kernel(c, print_kernel, text);
}

// For programs ----------------------------------------------------------------

static void print_json_kernel(const struct hdi_build_kernel *kernel, bool first,
                              struct hdi_text *text)
{
    hdi_text_print(text, "%s{\"name\":", first ? "" : ",");
    hdi_text_json(text, kernel->name);
    hdi_text_print(text, ",\"file\":");
    hdi_text_json(text, kernel->file);
    hdi_text_print(text, ",\"line\":%u,\"arguments\":[", kernel->line);
    for (uint32_t i = 0; i < kernel->arg_count; i++) {
        hdi_text_print(text, "%s{\"name\":", i > 0 ? "," : "");
        hdi_text_json(text, kernel->args[i].name);
        hdi_text_print(text, ",\"type\":");
        hdi_text_json(text, kernel->args[i].type);
        hdi_text_print(text, "}");
    }
    hdi_text_print(text, "]}");
}

static void print_json(const struct contents *c, struct hdi_text *text)
{
    hdi_text_print(text, "{\"library\":%s,\"code\":[",
                   c->builds->bitcode ? "true" : "false");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct hdi_build *build = &c->builds[i];

        hdi_text_print(text, "%s{\"target\":", i > 0 ? "," : "");
        hdi_text_json(text, build->target);
        hdi_text_print(text, ",\"processor\":");
        hdi_text_json(text, build->cpu);
        hdi_text_print(text, ",\"features\":");
        hdi_text_json(text, build->features);
        hdi_text_print(
            text,
            ",\"bytes\":%zu,\"checked_bytes\":%zu,\"runs\":%s,\"chosen\":%s}",
            code_size(build), checked_size(build),
            hdi_processor_fit(c->can, build) != HDI_FIT_NONE ? "true" : "false",
            build == c->best ? "true" : "false");
    }
    hdi_text_print(text, "],\"kernels\":[");
    each_kernel(c, print_json_kernel, text);
    hdi_text_print(text, "]}\n");
}

// The digest of the file is checked, but not with a key: it may be anybody's.
// `text` has what was printed so far where memory runs out.
hd_status hdi_contents_describe(const struct hdi_capabilities *can,
                                const char *path, bool json,
                                struct hdi_text *text, struct hd_error *error)
{
    struct hdi_text file = {0};
    struct contents contents = {.can = can};

    hd_status status = hdi_read_file(path, HDI_CONTAINER_MAX, &file, error);
    if (status == HD_OK)
        status = hdi_container_read_all(file.data ? file.data : "", file.size,
                                        NULL, path, &contents.builds,
                                        &contents.count, NULL, error);
    hdi_text_free(&file);
    if (status != HD_OK)
        return status;
    contents.best = hdi_processor_choose(can, contents.builds, contents.count);
    if (json)
        print_json(&contents, text);
    else
        print_text(&contents, text);
    for (uint32_t i = 0; i < contents.count; i++)
        hdi_build_clear(&contents.builds[i]);
    free(contents.builds);
    return text->failed
               ? hdi_fail(error, HD_ENOMEM, "%s: no memory to read it", path)
               : HD_OK;
}
