// From the parts of a program to kernels that can be launched.
//
//     hdi_program_create()   once per device; the first must succeed
//       create()
//         build()            hdi_parts_read(), then per named processor the
//                            cache or the compiler; with -g once more, for
//                            checking; finished binaries are joined
//         load()             each image on the device, its kernels found
//
// Invariant: whatever fails, hd_program_destroy() undoes what is there: each
// field is filled when what it stands for is owned.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/binary/cache.h"
#include "kernel/binary/container.h"
#include "kernel/binary/processor.h"
#include "kernel/compiler.h"
#include "kernel/program.h"
#include "kernel/program/module.h"
#include "kernel/program/parts.h"
#include "kernel/program/state.h"
#include "kernel/rules.h"

// Compiling -------------------------------------------------------------------

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

// Processors that were named --------------------------------------------------

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

// Texts are kept although most programs never fault: a fault can be explained
// only by building the kernel again, and by then the caller's texts are gone.
// Options of the runtime are added here, since the context is not kept.
static hd_status keep(const struct hdi_program_context *context,
                      const struct hd_program_params *params,
                      const struct hdi_parts *parts, struct hd_program *program,
                      struct hd_error *error)
{
    bool failed;

    hdi_text_print(&program->options, "%s %s",
                   params->options ? params->options : "",
                   context->options ? context->options : "");
    failed = program->options.failed;
    program->kept = calloc(parts->count, sizeof(*program->kept));
    program->kept_count = program->kept ? parts->count : 0;
    failed |= !program->kept;
    for (size_t i = 0; i < program->kept_count; i++) {
        const struct hdi_part_given *given = &parts->given[i];
        struct kept *kept = &program->kept[i];
        kept->is_text = given->is_text;
        hdi_text_print(&kept->path, "%s", given->path);
        hdi_text_append(&kept->data, given->data, given->size);
        hdi_text_append(&kept->data, "", 1);
        hdi_text_print(&kept->options, "%s",
                       given->options ? given->options : "");
        failed |=
            kept->path.failed || kept->data.failed || kept->options.failed;
    }
    return failed ? hdi_fail(error, HD_ENOMEM, "no memory for a program")
                  : HD_OK;
}

// Build what was kept again, for checking: all kernels, or one. The search for
// a fault runs one work-item after another, so nothing is screened in loops.
//
// Through hdi_program_create(), so through the cache as well. Form "thread"
// runs one work-item after another on one thread, so that the first access out
// of bounds is the one that is told. Other devices are left out: the search
// runs on the processor.
static hd_status build_checked(const struct hd_program *program,
                               const char *kernel, const char *cpus,
                               const atomic_bool *cancel,
                               struct hd_program **checked,
                               struct hd_error *error)
{
    struct hdi_program_context context = program->context;
    struct hd_program_part *parts = calloc(program->kept_count, sizeof(*parts));
    char *log = NULL; // has been given to the application
    const struct hd_program_params params = {.parts = parts,
                                             .part_count =
                                                 (unsigned)program->kept_count,
                                             .options = program->options.data,
                                             .log = &log,
                                             .cpus = cpus};

    if (!parts)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    for (size_t i = 0; i < program->kept_count; i++) {
        const struct kept *kept = &program->kept[i];
        parts[i] = (struct hd_program_part){.path = kept->path.data,
                                            .options = kept->options.data};
        if (kept->is_text) {
            parts[i].source = kept->data.data;
        } else {
            parts[i].binary = kept->data.data;
            parts[i].binary_size = kept->data.size - 1;
        }
    }
    struct hdi_text options = {0};
    hdi_text_print(&options, "-heddle-check -heddle-form=thread");
    if (kernel)
        hdi_text_print(&options, " " HDI_KERNEL_OPTION "%s", kernel);
    context.options = options.data;
    context.other_count = 0;
    context.cancel = cancel;
    hd_status status =
        options.failed ? hdi_fail(error, HD_ENOMEM, "no memory for a program")
                       : hdi_program_create(&context, &params, checked, error);
    hdi_text_free(&options);
    free(log);
    free(parts);
    return status;
}

// Whether faults are to name work-items where the source is not at hand.
//
// Of a program that is checked anyway, or made for a debugger, nothing more is
// wanted.
static bool wants_checked(const struct hdi_parts *parts)
{
    bool wants = hdi_options_have(parts->options, "-g");

    for (size_t i = 0; i < parts->count; i++)
        wants = wants || hdi_options_have(parts->list[i].options, "-g");
    return wants && !hdi_options_have(parts->options, "-heddle-check") &&
           !hdi_options_have(parts->options, "-heddle-debug");
}

// Some kernels cannot be checked, which is no reason not to build them.
//
// HD_ECANCELED and HD_ENOMEM end the whole build; anything else is a warning,
// and the program is as good as without -g.
static hd_status add_checked(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             const char *path, struct hd_program *program,
                             struct hd_error *error)
{
    struct hd_error why;
    hd_status status = build_checked(program, NULL, params->cpus,
                                     context->cancel, &program->checked, &why);

    program->shows = status == HD_OK;
    if (status == HD_ECANCELED || status == HD_ENOMEM)
        return hdi_fail(error, status, "%s", why.text);
    if (status != HD_OK)
        hdi_warn("%s: -g: faults will not name work-items: %s", path, why.text);
    return HD_OK;
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
            HDI_TRY(keep(context, params, parts, program, error));
        if (!params->library && wants_checked(parts))
            HDI_TRY(add_checked(context, params, parts->path, program, error));
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

static hd_status build(const struct hdi_program_context *context,
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

// Loading ---------------------------------------------------------------------

// Plain pointers into the build, which lives as long as the program.
static void fill_kernel(struct hd_program *program,
                        const struct hdi_build_kernel *from,
                        struct hdi_kernel_arg *args, struct hd_kernel *kernel)
{
    for (uint32_t i = 0; i < from->arg_count; i++) {
        const struct hdi_build_arg *arg = &from->args[i];
        args[i] = (struct hdi_kernel_arg){
            .shown = {.name = arg->name,
                      .type = arg->type,
                      .kind = (enum hd_arg_kind)arg->kind,
                      .size = arg->size,
                      .pointee_const = arg->pointee_const,
                      .qualifiers = arg->qualifiers},
            .offset = arg->offset};
        args[i].writes = hdi_kernel_may_write(&args[i].shown);
    }
    kernel->info =
        (struct hd_kernel_info){.name = from->name,
                                .file = from->file,
                                .line = from->line,
                                .arg_count = from->arg_count,
                                .hinted_type = from->hinted_type,
                                .local_bytes = from->local_bytes,
                                .saved_bytes = from->saved_bytes,
                                .barriers = from->barriers,
                                .form = (enum hd_kernel_form)from->form,
                                .suits = (enum hd_suits)from->suits,
                                .explanation = from->explanation};
    memcpy(kernel->info.required_local, from->required_local,
           sizeof(from->required_local));
    memcpy(kernel->info.hinted_local, from->hinted_local,
           sizeof(from->hinted_local));
    kernel->args = args;
    kernel->args_size = from->args_size;
    kernel->axis = from->axis;
    kernel->together = from->together;
    kernel->footprint = &from->footprint;
    kernel->program = program;
    kernel->keeps = from->footprint.known & HDI_FOOTPRINT_KEEPS;
}

// NULL: the kernel is checked in thread form alone.
//
// The screened form of a checked kernel lies beside it, under its name with
// ".screen" behind.
static const struct hdi_entry *find_screen(const struct hd_program *program,
                                           struct hdi_code *code,
                                           const char *kernel)
{
    const struct hdi_entry *entry = NULL;
    struct hdi_text name = {0};

    hdi_text_print(&name, "%s.screen", kernel);
    if (!name.failed)
        entry = program->backend->find(code, name.data);
    hdi_text_free(&name);
    return entry;
}

// A backend says by errno that memory ran out; no other value is looked at.
// HD_EFORMAT: image and description do not belong together, as in a binary that
// somebody has put together.
static hd_status find_code(const struct hdi_program_context *context,
                           struct hdi_code *code, struct hd_kernel *kernel,
                           struct hd_error *error)
{
    const struct hd_program *program = kernel->program;

    errno = 0;
    kernel->entry = program->backend->find(code, kernel->info.name);
    if (!kernel->entry && errno == ENOMEM)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    if (!kernel->entry)
        return hdi_fail(error, HD_EFORMAT,
                        "the code holds no kernel named '%s'",
                        kernel->info.name);
    if (kernel->info.form == HD_FORM_CHECKED)
        kernel->screen = find_screen(program, code, kernel->info.name);
    if (context->trace)
        kernel->trace_name = hdi_trace_name(context->trace, kernel->info.name);
    return HD_OK;
}

// Load one image, and fill in its kernels; they and their arguments follow
// those that are there.
//
// `codes` counts only what was loaded, for the undo. Two kernels of one name
// are refused here and not by the linker, since images are loaded one by one.
static hd_status load_build(const struct hdi_program_context *context,
                            const struct hdi_build *build,
                            struct hd_program *program, size_t *arg_count,
                            struct hd_error *error)
{
    struct hdi_code **code = &program->codes[program->code_count];

    if (program->runs) {
        HDI_TRY(program->backend->load(context->device, build->image,
                                       build->image_size, code, error));
        program->code_count++;
    }
    for (uint32_t i = 0; i < build->kernel_count; i++) {
        const struct hdi_build_kernel *from = &build->kernels[i];
        const struct hd_kernel *same = hd_program_find(program, from->name);
        if (same)
            return hdi_fail(error, HD_EINVAL,
                            "kernel '%s' of %s:%u and of %s:%u cannot be in "
                            "one program: rename one",
                            from->name, same->info.file, same->info.line,
                            from->file, from->line);
        struct hd_kernel *kernel = &program->kernels[program->kernel_count];
        kernel->learned = &program->learned[program->kernel_count++];
        fill_kernel(program, from, program->args + *arg_count, kernel);
        *arg_count += from->arg_count;
        if (program->runs)
            HDI_TRY(find_code(context, *code, kernel, error));
    }
    return HD_OK;
}

static size_t count_args(const struct hdi_build *build)
{
    size_t count = 0;
    for (uint32_t i = 0; i < build->kernel_count; i++)
        count += build->kernels[i].arg_count;
    return count;
}

// `learned` is apart from the kernels and aligned by lines of the cache:
// launches write it, while kernels are read by everybody. One element more is
// asked for, since a program may have no kernels.
static hd_status load_all(const struct hdi_program_context *context,
                          const struct hdi_build *const *builds, uint32_t count,
                          struct hd_program *program, struct hd_error *error)
{
    size_t args = 0, kernels = 0;

    for (uint32_t i = 0; i < count; i++) {
        args += count_args(builds[i]);
        kernels += builds[i]->kernel_count;
    }
    program->kernels = calloc(kernels + 1, sizeof(*program->kernels));
    program->args = calloc(args + 1, sizeof(*program->args));
    program->codes = calloc(count, sizeof(*program->codes));
    program->learned = aligned_alloc(_Alignof(struct hdi_learned),
                                     (kernels + 1) * sizeof(*program->learned));
    if (!program->kernels || !program->args || !program->codes ||
        !program->learned)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    memset(program->learned, 0, (kernels + 1) * sizeof(*program->learned));

    args = 0;
    for (uint32_t i = 0; i < count; i++)
        HDI_TRY(load_build(context, builds[i], program, &args, error));
    return HD_OK;
}

// The build that kernels are of and those it has joined; or what they hold for
// checking, as far as they do. NULL: no memory.
static const struct hdi_build **list_builds(const struct hdi_build *build,
                                            bool checked, uint32_t *count)
{
    const struct hdi_build **list =
        calloc(build->joined_count + 1, sizeof(struct hdi_build *));

    *count = 0;
    for (uint32_t i = 0; list && i <= build->joined_count; i++) {
        const struct hdi_build *one = i == 0 ? build : &build->joined[i - 1];
        if (!checked || one->checked)
            list[(*count)++] = checked ? one->checked : one;
    }
    return list;
}

// A library has nothing to load.
static hd_status load(const struct hdi_program_context *context,
                      struct hd_program *program, struct hd_error *error)
{
    uint32_t count;

    if (program->build->bitcode)
        return HD_OK;
    const struct hdi_build **list = list_builds(program->build, false, &count);
    if (!list)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    hd_status status = load_all(context, list, count, program, error);
    free(list);
    return status;
}

// What outlives the call of the context is kept. NULL: no memory.
//
// The trace, the options and the flag to cancel are the caller's, and are not.
static struct hd_program *start(const struct hdi_program_context *context)
{
    struct hd_program *made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;

    made->backend = context->device->backend;
    made->context = (struct hdi_program_context){.device = context->device,
                                                 .cache = context->cache};
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

static const char *first_path(const struct hd_program_params *params)
{
    return params->parts ? params->parts[0].path : params->path;
}

// For one device. The time from here to the end is what the trace shows as the
// build.
static hd_status create(const struct hdi_program_context *context,
                        const struct hd_program_params *params,
                        struct hd_program **program, struct hd_error *error)
{
    uint64_t begin = hdi_now();
    struct hd_program *made = start(context);
    if (!made)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");

    hd_status status = build(context, params, made, error);
    if (status == HD_OK)
        status = load(context, made, error);
    if (status != HD_OK) {
        if (params->what)
            hdi_prefix_error(error, "%s", params->what);
        hd_program_destroy(made);
        return status;
    }
    hdi_trace_outside(context->trace, HDI_EVENT_build, begin,
                      hdi_trace_name(context->trace, first_path(params)),
                      made->kernel_count);
    *program = made;
    return HD_OK;
}

// What is touched is the same wherever it runs, but not always looked for.
void hdi_program_add(struct hd_program *program, struct hd_program *other)
{
    for (uint32_t i = 0; i < other->kernel_count; i++) {
        struct hd_kernel *k = &other->kernels[i];
        const struct hd_kernel *same = hd_program_find(program, k->info.name);
        if (same && !(k->footprint->known & HDI_FOOTPRINT_KNOWN))
            k->footprint = same->footprint;
    }
    other->others = program->others;
    program->others = other;
}

// That another device gets no code is no error but a message: a launch there
// says so. From the last to the first, since each is put in front of the list:
// then it is in the order of the devices.
hd_status hdi_program_create(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             struct hd_program **program,
                             struct hd_error *error)
{
    struct hdi_program_context other = *context;
    struct hd_error why;

    HDI_TRY(create(context, params, program, error));
    other.others = NULL;
    other.other_count = 0;
    for (unsigned i = context->other_count; i-- > 0;) {
        struct hd_program *made;
        other.device = context->others[i];
        if (create(&other, params, &made, &why) == HD_OK)
            hdi_program_add(*program, made);
        else
            hdi_info("no code for %s: %s", other.device->can.description,
                     why.text);
    }
    return HD_OK;
}

// Relaxed: who holds has it already. Pairs with nothing.
void hdi_program_hold(struct hd_program *program)
{
    atomic_fetch_add_explicit(&program->held, 1, memory_order_relaxed);
}

// True: somebody else has it still.
//
// `held` counts owners beyond the first, so that a program that nobody else
// holds costs one load. The exchange releases what this owner did with the
// program, and who finds 0 acquires it before the end.
static bool let_go(struct hd_program *program)
{
    uint32_t held = atomic_load_explicit(&program->held, memory_order_acquire);

    while (held > 0)
        if (atomic_compare_exchange_weak_explicit(
                &program->held, &held, held - 1, memory_order_acq_rel,
                memory_order_acquire))
            return true;
    return false;
}

// Programs that hang on it first: checked ones use the texts that are kept here
// no more, but code of the same device. Images are unloaded from the last to
// the first, then what points into builds goes, then the builds.
void hd_program_destroy(struct hd_program *program)
{
    if (!program || let_go(program))
        return;
    hd_program_destroy(program->others);
    hd_program_destroy(program->carried);
    hd_program_destroy(program->checked);
    for (uint32_t i = 0; program->again && i < program->build->kernel_count;
         i++)
        hd_program_destroy(program->again[i].made);
    free(program->again);
    pthread_mutex_destroy(&program->lock);
    for (size_t i = 0; i < program->kept_count; i++) {
        hdi_text_free(&program->kept[i].path);
        hdi_text_free(&program->kept[i].data);
        hdi_text_free(&program->kept[i].options);
    }
    free(program->kept);
    hdi_text_free(&program->options);
    while (program->code_count > 0)
        program->backend->unload(program->codes[--program->code_count]);
    free(program->codes);
    free(program->kernels);
    free(program->args);
    free(program->learned);
    for (uint32_t i = 0; i < program->build_count; i++)
        hdi_build_clear(&program->builds[i]);
    free(program->builds);
    free(program);
}

// Checking --------------------------------------------------------------------

// What its finished binaries hold; NULL: nothing.
//
// A program of the checked builds alone, which stay owned by the builds that
// carry them: it has no builds of its own. NULL is not remembered: it is tried
// again with the next fault, and costs little.
static struct hd_program *load_carried(const struct hd_program *program)
{
    uint32_t count;
    const struct hdi_build **list = list_builds(program->build, true, &count);
    struct hd_program *made =
        list && count > 0 ? start(&program->context) : NULL;
    struct hd_error error;

    if (made) {
        made->runs = program->runs;
        if (load_all(&program->context, list, count, made, &error) != HD_OK) {
            hd_program_destroy(made);
            made = NULL;
        }
    }
    free(list);
    return made;
}

// A kernel of what was kept; NULL: it cannot be built so.
//
// The lock is held, also while it compiles: two threads that fault in one
// kernel do not compile it twice. One kernel alone is built, since a program
// may have hundreds.
static const struct hd_program *make_again(struct hd_program *p,
                                           const struct hd_kernel *kernel)
{
    struct hd_error error;

    if (!p->again)
        p->again = calloc(p->build->kernel_count, sizeof(*p->again));
    if (!p->again)
        return NULL;
    struct hdi_again *again = &p->again[kernel - p->kernels];
    if (!again->tried)
        build_checked(p, kernel->info.name, NULL, NULL, &again->made, &error);
    again->tried = true;
    return again->made;
}

// Kernels of what was kept come first in `kernels`, those of finished binaries
// behind them: by its place a kernel tells where it is from. With -g it is
// there already and the lock is held for a moment only.
const struct hd_kernel *hdi_kernel_checked(const struct hd_kernel *kernel,
                                           const char **why)
{
    struct hd_program *p = kernel->program;
    bool is_kept =
        p->kept_count > 0 && kernel < p->kernels + p->build->kernel_count;
    const struct hd_program *from = is_kept ? p->checked : NULL;

    pthread_mutex_lock(&p->lock);
    if (is_kept && !from)
        from = make_again(p, kernel);
    else if (!is_kept && !p->carried)
        p->carried = load_carried(p);
    if (!is_kept)
        from = p->carried;
    pthread_mutex_unlock(&p->lock);
    *why = is_kept ? "the work-item is not named, since the kernel cannot be "
                     "built for checking"
                   : "the work-item is not named, since the binary has no "
                     "checked code of the kernel: build it with -g, which "
                     "warns where there can be none";
    return from ? hd_program_find(from, kernel->info.name) : NULL;
}

// Other devices ---------------------------------------------------------------

const struct hd_program *hdi_program_on(const struct hd_program *program,
                                        const struct hdi_device *device)
{
    while (program && program->context.device != device)
        program = program->others;
    return program;
}

// By name, since the order of kernels may differ between devices.
const struct hd_kernel *hdi_kernel_on(const struct hd_kernel *kernel,
                                      const struct hdi_device *device)
{
    const struct hd_program *p = hdi_program_on(kernel->program, device);

    if (p == kernel->program)
        return kernel;
    return p ? hd_program_find(p, kernel->info.name) : NULL;
}
