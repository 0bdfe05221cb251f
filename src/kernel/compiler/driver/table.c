// The compiler module as libheddle sees it.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler.h"
#include "kernel/compiler/driver/crew.h"
#include "kernel/compiler/driver/merger.h"
#include "kernel/compiler/driver/ptx.h"
#include "kernel/compiler/tools/child.h"
#include "kernel/compiler/tools/frontend.h"
#include "kernel/compiler/tools/linker.h"
#include "kernel/compiler/tools/march.h"
#include "kernel/compiler/tools/translator.h"
#include "tools.h"

// The only symbol that leaves the module (compiler.h); libheddle finds it by
// its name.
extern const struct hdi_compiler hdi_compiler_table;

static hd_status fail_memory(const struct hdi_source *source,
                             struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", source->path);
}

// "x: a.h dir/b\ c.h \" to the names; the source itself came by a pipe.
// In the form that make understands: blanks and # in names have a backslash
// before them, $ is doubled, a backslash ends a line that goes on. On failure
// the names so far are the build's.
static bool read_files(const char *rule, struct hdi_build *build)
{
    size_t most = build->file_count + 1;

    for (const char *c = rule; *c; c++)
        most += *c == ' ';
    char **files = realloc(build->files, most * sizeof(*build->files));
    if (!files)
        return false;
    build->files = files;

    const char *c = strchr(rule, ':');
    for (c = c ? c + 1 : rule; *c;) {
        if (*c == ' ' || *c == '\n' || (c[0] == '\\' && c[1] == '\n')) {
            c++;
            continue;
        }
        struct hdi_text name = {0};
        for (; *c && *c != ' ' && *c != '\n'; c++) {
            if ((c[0] == '\\' && (c[1] == ' ' || c[1] == '#')) ||
                (c[0] == '$' && c[1] == '$'))
                c++;
            else if (c[0] == '\\' && c[1] == '\n')
                break;
            hdi_text_append(&name, c, 1);
        }
        if (name.failed || !name.data) {
            hdi_text_free(&name);
            return false;
        }
        if (strcmp(name.data, "-") == 0 || strcmp(name.data, "<stdin>") == 0)
            hdi_text_free(&name);
        else
            build->files[build->file_count++] = name.data;
    }
    return true;
}

// One part to bitcode; the names of files it includes are added to the build's.
static hd_status translate(const struct hdi_source *source,
                           const struct hdi_part *part, struct hdi_build *build,
                           struct hdi_text *bitcode, struct hd_error *error)
{
    struct hdi_text dependencies = {0};
    hd_status status = HD_OK;

    if (part->kind == HDI_PART_LIBRARY) {
        hdi_text_append(bitcode, part->data, part->size);
        return bitcode->failed ? fail_memory(source, error) : HD_OK;
    }
    if (part->kind == HDI_PART_SPIRV)
        return hdi_translator_run(source, part, bitcode, error);
    status = hdi_frontend_run(part, source->cancel, bitcode, &dependencies,
                              source->log, error);
    if (status == HD_OK &&
        !read_files(dependencies.data ? dependencies.data : "", build))
        status = fail_memory(source, error);
    hdi_text_free(&dependencies);
    return status;
}

// All parts, as one.
static hd_status translate_all(const struct hdi_source *source,
                               struct hdi_build *build,
                               struct hdi_text *bitcode, struct hd_error *error)
{
    hd_status status = HD_OK;

    if (source->part_count == 1)
        return translate(source, source->parts, build, bitcode, error);
    struct hdi_text *bitcodes = calloc(source->part_count, sizeof(*bitcodes));
    if (!bitcodes)
        return fail_memory(source, error);
    for (size_t i = 0; i < source->part_count && status == HD_OK; i++)
        status =
            translate(source, &source->parts[i], build, &bitcodes[i], error);
    if (status == HD_OK)
        status = hdi_merger_run(source, bitcodes, bitcode, error);
    for (size_t i = 0; i < source->part_count; i++)
        hdi_text_free(&bitcodes[i]);
    free(bitcodes);
    return status;
}

// A library is for no processor: it is compiled with the program it becomes
// part of, so its target is "".
static hd_status make_library(const struct hdi_source *source,
                              struct hdi_build *build, struct hd_error *error)
{
    struct hdi_text bitcode = {0};
    struct hdi_build made = {
        .target = strdup(""), .cpu = strdup(""), .features = strdup("")};

    hd_status status = made.target && made.cpu && made.features
                           ? HD_OK
                           : fail_memory(source, error);
    if (status == HD_OK)
        status = translate_all(source, &made, &bitcode, error);
    if (status != HD_OK) {
        hdi_text_free(&bitcode);
        hdi_build_clear(&made);
        return status;
    }
    made.bitcode = bitcode.data;
    made.bitcode_size = bitcode.size;
    *build = made;
    return HD_OK;
}

// What code is made for.
// With -march the features are written down, and the code runs wherever they
// are there; without, they are those of the processor at hand, and a build that
// is kept is for that one alone (build.h).
static hd_status choose_processor(const struct hdi_source *source,
                                  struct hdi_build *made,
                                  struct hd_error *error)
{
    struct hdi_text features = {0};

    if (source->march) {
        hd_status status = hdi_march_features(source, &features, error);
        if (status != HD_OK) {
            hdi_text_free(&features);
            return status;
        }
    }
    made->target = strdup(source->target);
    made->cpu = strdup(source->march ? source->march : source->cpu);
    made->features = source->march ? features.data : strdup("");
    return made->target && made->cpu && made->features
               ? HD_OK
               : fail_memory(source, error);
}

// The same for a GPU: one text of PTX, in which kernels share what they call.
static hd_status make_device_program(const struct hdi_source *source,
                                     struct hdi_build *build,
                                     struct hd_error *error)
{
    struct hdi_text bitcode = {0}, image = {0};
    struct hdi_build made = {0};

    hd_status status = hdi_ptx_choose(source, &made, error);
    if (status == HD_OK)
        status = translate_all(source, &made, &bitcode, error);
    if (status == HD_OK)
        status = hdi_ptx_make(source, &bitcode, &made, &image, error);
    hdi_text_free(&bitcode);
    if (status != HD_OK) {
        hdi_text_free(&image);
        hdi_build_clear(&made);
        return status;
    }
    made.image = image.data;
    made.image_size = image.size;
    *build = made;
    return HD_OK;
}

// The crew starts before the front end, so that LLVM gets ready meanwhile, and
// ends before the linker runs: its threads read `made` and `bitcode`. Undone in
// reverse; `build` is written last.
static hd_status make_program(const struct hdi_source *source,
                              struct hdi_build *build, struct hd_error *error)
{
    struct hdi_text bitcode = {0}, archive = {0}, image = {0};
    struct hdi_crew *crew = NULL;
    struct hdi_build made = {0};

    hd_status status = choose_processor(source, &made, error);
    if (status == HD_OK)
        status = hdi_crew_start(source, &made, &crew, error);
    if (status == HD_OK)
        status = translate_all(source, &made, &bitcode, error);
    if (status == HD_OK)
        status = hdi_crew_compile(crew, &bitcode, &made, &archive, error);
    if (crew)
        hdi_crew_end(crew);
    if (status == HD_OK)
        status = hdi_linker_run(&archive, &image, error);
    hdi_text_free(&archive);
    hdi_text_free(&bitcode);
    if (status != HD_OK) {
        hdi_text_free(&image);
        hdi_build_clear(&made);
        return status;
    }
    made.image = image.data;
    made.image_size = image.size;
    *build = made;
    return HD_OK;
}

static hd_status make(const struct hdi_source *source, struct hdi_build *build,
                      struct hd_error *error)
{
    if (source->library)
        return make_library(source, build, error);
    return hdi_ptx_is_wanted(source) ? make_device_program(source, build, error)
                                     : make_program(source, build, error);
}

__attribute__((visibility("default")))
const struct hdi_compiler hdi_compiler_table = {
    .version = HDI_COMPILER_VERSION,
    .border = HDI_COMPILER_BORDER,
    .build = make,
};
