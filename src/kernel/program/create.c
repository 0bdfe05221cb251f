// From the parts of a program to kernels that can be launched.
//
//     hdi_program_create()   once per device; the first must succeed
//       create()
//         compile.h          hdi_parts_read(), then per named processor the
//                            cache or the compiler; with -g once more, for
//                            checking (checked.h); finished binaries are joined
//         load.h             each image on the device, its kernels found
//
// Invariant: whatever fails, hd_program_destroy() undoes what is there: each
// field is filled when what it stands for is owned.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "kernel/program/compile.h"
#include "kernel/program/load.h"

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
    struct hd_program *made = hdi_program_start(context);
    if (!made)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");

    hd_status status = hdi_program_build(context, params, made, error);
    if (status == HD_OK)
        status = hdi_program_load(context, made, error);
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
