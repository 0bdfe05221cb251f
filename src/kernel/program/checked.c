#include "kernel/program/checked.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "kernel/program/load.h"
#include "kernel/program/parts.h"
#include "kernel/rules.h"

// Texts are kept although most programs never fault: a fault can be explained
// only by building the kernel again, and by then the caller's texts are gone.
// Options of the runtime are added here, since the context is not kept.
hd_status hdi_program_keep(const struct hdi_program_context *context,
                           const struct hd_program_params *params,
                           const struct hdi_parts *parts,
                           struct hd_program *program, struct hd_error *error)
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

// Of a program that is checked anyway, or made for a debugger, nothing more is
// wanted.
bool hdi_wants_checked(const struct hdi_parts *parts)
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
hd_status hdi_program_add_checked(const struct hdi_program_context *context,
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

// What its finished binaries hold; NULL: nothing.
//
// A program of the checked builds alone, which stay owned by the builds that
// carry them: it has no builds of its own. NULL is not remembered: it is tried
// again with the next fault, and costs little.
static struct hd_program *load_carried(const struct hd_program *program)
{
    uint32_t count;
    const struct hdi_build **list =
        hdi_list_builds(program->build, true, &count);
    struct hd_program *made =
        list && count > 0 ? hdi_program_start(&program->context) : NULL;
    struct hd_error error;

    if (made) {
        made->runs = program->runs;
        if (hdi_load_builds(&program->context, list, count, made, &error) !=
            HD_OK) {
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
