#include "kernel/program/load.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/rules.h"

// What outlives the call of the context is kept.
//
// The trace, the options and the flag to cancel are the caller's, and are not.
struct hd_program *hdi_program_start(const struct hdi_program_context *context)
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
hd_status hdi_load_builds(const struct hdi_program_context *context,
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

const struct hdi_build **hdi_list_builds(const struct hdi_build *build,
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
hd_status hdi_program_load(const struct hdi_program_context *context,
                           struct hd_program *program, struct hd_error *error)
{
    uint32_t count;

    if (program->build->bitcode)
        return HD_OK;
    const struct hdi_build **list =
        hdi_list_builds(program->build, false, &count);
    if (!list)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");
    hd_status status = hdi_load_builds(context, list, count, program, error);
    free(list);
    return status;
}
