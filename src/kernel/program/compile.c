#include "kernel/program/compile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "kernel/binary/cache.h"
#include "kernel/binary/processor.h"
#include "kernel/compiler.h"
#include "kernel/program/checked.h"
#include "kernel/program/module.h"
#include "kernel/program/parts.h"

// Every text is preceded by its size, and lists by theirs, so that no two run
// together.
//
// Everything the code depends on but the parts' bytes, which find_key() adds,
// and included files, which the entry lists. What is left out here would give a
// program the code of another.
static bool describe_source(const struct hdi_source *source,
                            struct hdi_text *about)
{
    hdi_text_print(about, "frame %d\n", HDI_FRAME_VERSION);
    hdi_compiler_identify(about, source->translator);
    hdi_text_json(about, source->target);
    hdi_text_json(about, source->cpu);
    hdi_text_json(about, source->march ? source->march : "");
    for (const char *const *o = source->options; *o; o++)
        hdi_text_json(about, *o);
    hdi_text_print(about, "%s %zu\n", source->library ? "library" : "program",
                   source->part_count);
    for (size_t i = 0; i < source->part_count; i++) {
        const struct hdi_part *part = &source->parts[i];
        hdi_text_json(about, part->path);
        for (const char *const *o = part->options; *o; o++)
            hdi_text_json(about, *o);
        hdi_text_print(about, "%d %zu\n", (int)part->kind, part->size);
    }
    return !about->failed;
}

// False: no memory.
static bool find_key(const struct hdi_source *source, struct hdi_cache_key *key)
{
    struct hdi_text about = {0};
    struct hdi_bytes *spans = calloc(source->part_count + 1, sizeof(*spans));
    bool ok = describe_source(source, &about) && spans;

    if (ok) {
        spans[0] = (struct hdi_bytes){about.data, about.size};
        for (size_t i = 0; i < source->part_count; i++)
            spans[i + 1] = (struct hdi_bytes){source->parts[i].data,
                                              source->parts[i].size};
        *key = hdi_cache_key(spans, source->part_count + 1);
    }
    free(spans);
    hdi_text_free(&about);
    return ok;
}

// The log is copied into the build, so that it comes out of the cache with it.
static hd_status compile(const struct hdi_source *source,
                         struct hdi_build *build, struct hd_error *error)
{
    const struct hdi_compiler *compiler;

    HDI_TRY(hdi_compiler_open(&compiler, error));
    HDI_TRY(compiler->build(source, build, error));
    build->log = strdup(source->log->data ? source->log->data : "");
    return HD_OK;
}

// `began` is taken before the compiler reads anything: files that change from
// then on make the build unfit to be kept.
static hd_status build_source(const struct hdi_program_context *context,
                              const struct hdi_source *source,
                              struct hdi_build *build, bool *was_cached,
                              struct hd_error *error)
{
    struct hdi_cache_key key;
    struct timespec began;

    *was_cached = false;
    if (!context->cache)
        return compile(source, build, error);
    if (!find_key(source, &key))
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        source->path);
    *was_cached = hdi_cache_find(context->cache, &key, build);
    if (*was_cached)
        return HD_OK;
    clock_gettime(CLOCK_REALTIME, &began);
    HDI_TRY(compile(source, build, error));
    hdi_cache_keep(context->cache, &key, build, began);
    return HD_OK;
}

// The next of names with commas between, in place; NULL: there are no more.
//
// An empty name was refused by check_names().
static char *next_name(char **rest)
{
    char *name = *rest;
    char *comma = name ? strchr(name, ',') : NULL;

    if (comma)
        *comma = '\0';
    *rest = comma ? comma + 1 : NULL;
    return name;
}

// Before anything is read. Names themselves are clang's to know; here it is
// only found that each is there once, and that there is something to choose: on
// a device without a list of instruction sets, code is for the one at hand.
static hd_status check_names(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             struct hd_error *error)
{
    for (const char *at = params->cpus, *end; at; at = *end ? end + 1 : NULL) {
        size_t size = strcspn(at, ",");

        end = at + size;
        if (size == 0)
            return hdi_fail(error, HD_EINVAL,
                            "'%s' is no list of processors, such as "
                            "'x86-64-v3,skylake-avx512'",
                            params->cpus);
        for (const char *other = params->cpus; other < at;
             other += strcspn(other, ",") + 1)
            if (strcspn(other, ",") == size && memcmp(other, at, size) == 0)
                return hdi_fail(error, HD_EINVAL,
                                "the processor '%.*s' is named twice",
                                (int)size, at);
    }
    if (params->cpus && params->library)
        return hdi_fail(error, HD_EINVAL,
                        "a library is for every processor: name none for it");
    if (params->cpus && !context->device->can.features &&
        strcmp(params->cpus, "native") != 0)
        return hdi_fail(error, HD_ENOTSUP,
                        "on this kind of processor code is made for the one at "
                        "hand alone, not for '%s'",
                        params->cpus);
    return HD_OK;
}

// The source for each processor.
//
// `build_count` counts a build also where it has failed: what is in it is
// cleared with the program. The program counts as cached if all of its builds
// are.
static hd_status build_all(const struct hdi_program_context *context,
                           const struct hd_program_params *params,
                           struct hdi_source *source,
                           struct hd_program *program, struct hd_error *error)
{
    char *names = strdup(params->cpus ? params->cpus : "native"), *rest = names;
    hd_status status = HD_OK;

    if (!names)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    program->was_cached = true;
    for (char *name; status == HD_OK && (name = next_name(&rest));
         program->build_count++) {
        bool was_cached;
        source->march = strcmp(name, "native") == 0 ? NULL : name;
        status = build_source(context, source,
                              &program->builds[program->build_count],
                              &was_cached, error);
        program->was_cached &= was_cached;
    }
    free(names);
    return status;
}

// What the front end said goes to who asks for it, else to the log.
//
// `said` is empty after this where it was handed over. From the cache nothing
// was said now: what was said then is told again, so that a warning does not
// vanish with the second run.
static void tell(const struct hd_program_params *params,
                 const struct hd_program *program, struct hdi_text *said)
{
    const char *kept = program->builds[0].log;

    if (!params->log && said->size > 0)
        hdi_warn("%s", said->data);
    if (params->log && said->size == 0 && kept)
        hdi_text_print(said, "%s", kept);
    if (params->log) {
        free(*params->log);
        *params->log = said->data;
        *said = (struct hdi_text){0};
    }
}

// Join `from`, which is left empty, and what it has joined itself.
//
// Moved, not copied. The new ones come behind those that are there, what `from`
// had joined before it itself. On failure nothing has changed.
static hd_status join(struct hdi_build *build, struct hdi_build *from,
                      struct hd_error *error)
{
    uint32_t count = build->joined_count + 1 + from->joined_count;
    struct hdi_build *joined =
        realloc(build->joined, count * sizeof(*build->joined));

    if (!joined)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    build->joined = joined;
    for (uint32_t i = 0; i < from->joined_count; i++)
        joined[build->joined_count++] = from->joined[i];
    free(from->joined);
    from->joined = NULL;
    from->joined_count = 0;
    joined[build->joined_count++] = *from;
    *from = (struct hdi_build){0};
    return HD_OK;
}

// Sources make one build per processor, and finished binaries are joined to the
// first; without sources the first binary is the build. The build that fits
// best becomes the program's. That none fits is no error: the program can be
// saved and looked at, and a launch says why it cannot run.
static hd_status build_parts(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             struct hdi_parts *parts,
                             struct hd_program *program, struct hd_error *error)
{
    struct hdi_source source = {
        .path = parts->path,
        .parts = parts->list,
        .part_count = parts->count,
        .options = parts->options,
        .target = context->device->can.target,
        .cpu = context->device->can.cpu,
        .translator = parts->translator.data,
        .cancel = context->cancel,
        .library = params->library,
    };
    uint32_t first = 0, most = 1;

    for (const char *c = params->cpus; c && *c; c++)
        most += *c == ',';
    program->builds = calloc(most, sizeof(*program->builds));
    if (!program->builds)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    if (parts->count > 0) {
        struct hdi_text said = {0};
        source.log = &said;
        hd_status status = build_all(context, params, &source, program, error);
        tell(params, program, &said);
        hdi_text_free(&said);
        if (status != HD_OK)
            return status;
        if (!params->library)
            HDI_TRY(hdi_program_keep(context, params, parts, program, error));
        if (!params->library && hdi_wants_checked(parts))
            HDI_TRY(hdi_program_add_checked(context, params, parts->path,
                                            program, error));
    } else {
        program->was_cached = true;
        program->builds[program->build_count++] = parts->finished[first];
        parts->finished[first++] = (struct hdi_build){0};
        tell(params, program, &(struct hdi_text){0});
    }
    // There are none beside names of processors.
    for (uint32_t i = first; i < parts->finished_count; i++)
        HDI_TRY(join(program->builds, &parts->finished[i], error));
    program->build = hdi_processor_choose(
        &context->device->can, program->builds, program->build_count);
    program->runs = program->build != NULL;
    if (!program->runs)
        program->build = program->builds;
    return HD_OK;
}

hd_status hdi_program_build(const struct hdi_program_context *context,
                            const struct hd_program_params *params,
                            struct hd_program *program, struct hd_error *error)
{
    struct hdi_parts parts;

    HDI_TRY(check_names(context, params, error));
    HDI_TRY(hdi_parts_read(context, params, &parts, error));
    hd_status status = build_parts(context, params, &parts, program, error);
    hdi_parts_free(&parts);
    return status;
}
