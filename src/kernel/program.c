#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/cache.h"
#include "kernel/compiler.h"
#include "kernel/container.h"
#include "kernel/module.h"
#include "kernel/options.h"
#include "kernel/program.h"

struct hd_program {
    struct hdi_build build;
    struct hdi_code *code;
    const struct hdi_backend *backend;
    struct hd_kernel *kernels;
    struct hdi_kernel_arg *args; // of all kernels
    bool was_cached;
    // What it was made of; no text: a binary, or there was no memory.
    struct hdi_program_context context;
    struct hdi_text path, text, options;
    pthread_mutex_t lock; // of the rest
    bool tried;
    struct hd_program *checked; // the same built for checking, or NULL
};

// Reading ---------------------------------------------------------------------

static hd_status read_file(const char *path, struct hdi_text *text,
                           struct hd_error *error)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return hdi_fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO, "%s: %s",
                        path, strerror(errno));

    char block[16384];
    size_t n;
    while ((n = fread(block, 1, sizeof(block), file)) > 0 &&
           text->size <= HDI_CONTAINER_MOST)
        hdi_text_append(text, block, n);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return hdi_fail(error, HD_EIO, "%s: %s", path, strerror(failed));
    if (text->failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to read it", path);
    if (text->size > HDI_CONTAINER_MOST)
        return hdi_fail(error, HD_ELIMIT, "%s: larger than %d bytes", path,
                        HDI_CONTAINER_MOST);
    return HD_OK;
}

static bool names_binary(const char *path)
{
    size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".hdb") == 0;
}

// Compiling -------------------------------------------------------------------

static struct hdi_cache_key key_of(const struct hdi_source *source,
                                   const struct hdi_text *about)
{
    // Every span is preceded by its size, so that no two lists run together.
    return hdi_cache_key((struct hdi_span[]){{about->data, about->size},
                                             {source->text, source->size}},
                         2);
}

static bool describe_source(const struct hdi_source *source,
                            struct hdi_text *about)
{
    hdi_text_print(about, "frame %d\n", HDI_FRAME_VERSION);
    hdi_compiler_identify(about);
    hdi_text_json(about, source->path);
    hdi_text_json(about, source->target);
    hdi_text_json(about, source->cpu);
    for (const char *const *o = source->options; *o; o++)
        hdi_text_json(about, *o);
    return !about->failed;
}

static hd_status compile(const struct hdi_source *source,
                         struct hdi_build *build, struct hd_error *error)
{
    const struct hdi_compiler *compiler;

    HDI_TRY(hdi_compiler_open(&compiler, error));
    return compiler->build(source, build, error);
}

static hd_status build_source(const struct hdi_program_context *context,
                              const struct hdi_source *source,
                              struct hd_program *program,
                              struct hd_error *error)
{
    struct hdi_text about = {0};
    struct timespec began;

    if (!context->cache)
        return compile(source, &program->build, error);
    if (!describe_source(source, &about)) {
        hdi_text_free(&about);
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        source->path);
    }
    struct hdi_cache_key key = key_of(source, &about);
    hdi_text_free(&about);

    program->was_cached = hdi_cache_find(context->cache, &key, source->target,
                                         source->cpu, &program->build);
    if (program->was_cached)
        return HD_OK;
    clock_gettime(CLOCK_REALTIME, &began);
    HDI_TRY(compile(source, &program->build, error));
    hdi_cache_keep(context->cache, &key, &program->build, began);
    return HD_OK;
}

static void keep_source(const struct hdi_program_context *context,
                        const struct hdi_source *source,
                        struct hd_program *program)
{
    program->context = *context;
    program->context.trace = NULL;
    program->context.options = "-heddle-check";
    program->context.cancel = NULL;
    hdi_text_print(&program->path, "%s", source->path);
    hdi_text_append(&program->text, source->text, source->size);
    hdi_text_append(&program->text, "", 1);
}

static bool has_source(const struct hd_program *program)
{
    return program->text.data && !program->text.failed &&
           !program->path.failed && !program->options.failed;
}

static hd_status build(const struct hdi_program_context *context,
                       const struct hd_program_params *params,
                       struct hd_program *program, struct hd_error *error)
{
    const struct hdi_capabilities *can = &context->device->can;
    struct hdi_options options;
    struct hdi_text *words = &program->options, file = {0};
    hd_status status;

    if (!params->source && !params->path && !params->binary)
        return hdi_fail(error, HD_EINVAL,
                        "a program needs a path, a source text or a binary");
    hdi_text_print(words, "%s %s", params->options ? params->options : "",
                   context->options ? context->options : "");
    status = words->failed
                 ? hdi_fail(error, HD_ENOMEM, "no memory for build options")
                 : hdi_options_parse(words->data, &options, error);
    if (status != HD_OK)
        return status;
    struct hdi_source source = {
        .path = params->path ? params->path : "program.cl",
        .text = params->source,
        .size = params->source ? strlen(params->source) : 0,
        .options = options.words,
        .target = can->target,
        .cpu = can->cpu,
        .cancel = context->cancel,
    };

    bool is_binary = params->binary != NULL;
    if (is_binary) {
        source.text = params->binary;
        source.size = params->binary_size;
    } else if (!params->source) {
        status = read_file(params->path, &file, error);
        if (status != HD_OK)
            goto err_free;
        source.text = file.data ? file.data : "";
        source.size = file.size;
        is_binary = names_binary(params->path) ||
                    hdi_container_is(source.text, source.size);
    }
    if (is_binary) {
        program->was_cached = true;
        status = hdi_container_read(source.text, source.size, NULL, can->target,
                                    can->cpu,
                                    params->path ? params->path : "the binary",
                                    &program->build, NULL, error);
    } else {
        status = build_source(context, &source, program, error);
        keep_source(context, &source, program);
    }
err_free:
    hdi_text_free(&file);
    hdi_options_free(&options);
    return status;
}

// Loading ---------------------------------------------------------------------

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
                      .pointee_const = arg->pointee_const},
            .offset = arg->offset};
    }
    kernel->info =
        (struct hd_kernel_info){.name = from->name,
                                .file = from->file,
                                .line = from->line,
                                .arg_count = from->arg_count,
                                .local_bytes = from->local_bytes,
                                .saved_bytes = from->saved_bytes,
                                .barriers = from->barriers,
                                .form = (enum hd_kernel_form)from->form,
                                .explanation = from->explanation};
    memcpy(kernel->info.required_local, from->required_local,
           sizeof(from->required_local));
    memcpy(kernel->info.hinted_local, from->hinted_local,
           sizeof(from->hinted_local));
    kernel->args = args;
    kernel->args_size = from->args_size;
    kernel->program = program;
    atomic_init(&kernel->item_time, 0);
}

// NULL: the kernel is checked in thread form alone.
static const struct hdi_entry *find_screen(struct hd_program *program,
                                           const char *kernel)
{
    const struct hdi_entry *entry = NULL;
    struct hdi_text name = {0};

    hdi_text_print(&name, "%s.screen", kernel);
    if (!name.failed)
        entry = program->backend->find(program->code, name.data);
    hdi_text_free(&name);
    return entry;
}

static hd_status load(const struct hdi_program_context *context,
                      struct hd_program *program, struct hd_error *error)
{
    const struct hdi_build *build = &program->build;
    size_t args = 0;

    HDI_TRY(program->backend->load(context->device, build->image,
                                   build->image_size, &program->code, error));
    for (uint32_t i = 0; i < build->kernel_count; i++)
        args += build->kernels[i].arg_count;
    program->kernels =
        calloc(build->kernel_count + 1, sizeof(*program->kernels));
    program->args = calloc(args + 1, sizeof(*program->args));
    if (!program->kernels || !program->args)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");

    args = 0;
    for (uint32_t i = 0; i < build->kernel_count; i++) {
        struct hd_kernel *kernel = &program->kernels[i];
        fill_kernel(program, &build->kernels[i], program->args + args, kernel);
        args += build->kernels[i].arg_count;
        errno = 0;
        kernel->entry =
            program->backend->find(program->code, kernel->info.name);
        if (!kernel->entry && errno == ENOMEM)
            return hdi_fail(error, HD_ENOMEM, "no memory for a program");
        if (!kernel->entry)
            return hdi_fail(error, HD_EFORMAT,
                            "the code holds no kernel named '%s'",
                            kernel->info.name);
        if (kernel->info.form == HD_FORM_CHECKED)
            kernel->screen = find_screen(program, kernel->info.name);
        if (context->trace)
            kernel->trace_name =
                hdi_trace_name(context->trace, kernel->info.name);
    }
    return HD_OK;
}

hd_status hdi_program_create(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             struct hd_program **program,
                             struct hd_error *error)
{
    uint64_t begin = hdi_now();
    struct hd_program *made = calloc(1, sizeof(*made));
    if (!made)
        return hdi_fail(error, HD_ENOMEM, "no memory for a program");

    made->backend = context->device->backend;
    pthread_mutex_init(&made->lock, NULL);
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
                      hdi_trace_name(context->trace, params->path),
                      made->build.kernel_count);
    *program = made;
    return HD_OK;
}

void hd_program_destroy(struct hd_program *program)
{
    if (!program)
        return;
    hd_program_destroy(program->checked);
    pthread_mutex_destroy(&program->lock);
    hdi_text_free(&program->options);
    hdi_text_free(&program->text);
    hdi_text_free(&program->path);
    if (program->code)
        program->backend->unload(program->code);
    free(program->kernels);
    free(program->args);
    hdi_build_clear(&program->build);
    free(program);
}

// Checking
// ----------------------------------------------------------------------

const struct hd_kernel *hdi_kernel_checked(const struct hd_kernel *kernel)
{
    struct hd_program *p = (struct hd_program *)kernel->program;

    if (!has_source(p))
        return NULL;
    pthread_mutex_lock(&p->lock);
    if (!p->tried) {
        const struct hd_program_params params = {
            .path = p->path.data,
            .source = p->text.data,
            .options = p->options.data,
        };
        struct hd_error error;
        if (hdi_program_create(&p->context, &params, &p->checked, &error) !=
            HD_OK)
            p->checked = NULL;
        p->tried = true;
    }
    pthread_mutex_unlock(&p->lock);
    return p->checked ? hd_program_find(p->checked, kernel->info.name) : NULL;
}

// Saving ----------------------------------------------------------------------

// Write beside `path`, then rename: the file is there whole or not at all.
static hd_status write_file(const char *path, const struct hdi_text *data,
                            struct hd_error *error)
{
    struct hdi_text temporary = {0};
    hdi_text_print(&temporary, "%s.XXXXXX", path);
    if (temporary.failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to write it", path);

    hd_status status = HD_OK;
    int file = mkostemp(temporary.data, O_CLOEXEC);
    if (file < 0) {
        status = hdi_fail(error, HD_EIO, "%s: %s", path, strerror(errno));
        goto err_free;
    }
    mode_t mask = umask(0);
    umask(mask);
    bool ok = hdi_write_all(file, data->data, data->size) &&
              fchmod(file, 0666 & ~mask) == 0 && fsync(file) == 0;
    int failed = errno;
    ok = close(file) == 0 && ok;
    if (ok && rename(temporary.data, path) != 0) {
        ok = false;
        failed = errno;
    }
    if (!ok) {
        unlink(temporary.data);
        status = hdi_fail(error, HD_EIO, "%s: %s", path, strerror(failed));
    }
err_free:
    hdi_text_free(&temporary);
    return status;
}

static hd_status write_binary(const struct hd_program *program,
                              struct hdi_text *binary, struct hd_error *error)
{
    if (!hdi_digest_is_there())
        return hdi_fail(error, HD_ENOTSUP,
                        "Heddle binaries need libb2: install libb2-dev and "
                        "build Heddle again");
    if (!hdi_container_write(&program->build, NULL, NULL, binary)) {
        hdi_text_free(binary);
        return hdi_fail(error, HD_ENOMEM, "no memory to write a binary");
    }
    return HD_OK;
}

hd_status hd_program_save(const struct hd_program *program, const char *path,
                          struct hd_error *error)
{
    struct hdi_text binary = {0};
    hd_status status = write_binary(program, &binary, error);

    if (status != HD_OK) {
        hdi_prefix_error(error, "%s", path);
        return status;
    }
    status = write_file(path, &binary, error);
    hdi_text_free(&binary);
    return status;
}

hd_status hd_program_binary(const struct hd_program *program, void **binary,
                            size_t *size, struct hd_error *error)
{
    struct hdi_text text = {0};

    HDI_TRY(write_binary(program, &text, error));
    *binary = text.data;
    *size = text.size;
    return HD_OK;
}

// Looking ---------------------------------------------------------------------

bool hd_program_was_cached(const struct hd_program *program)
{
    return program->was_cached;
}

unsigned hd_program_kernel_count(const struct hd_program *program)
{
    return program->build.kernel_count;
}

const struct hd_kernel *hd_program_kernel(const struct hd_program *program,
                                          unsigned index)
{
    return index < program->build.kernel_count ? &program->kernels[index]
                                               : NULL;
}

const struct hd_kernel *hd_program_find(const struct hd_program *program,
                                        const char *name)
{
    for (uint32_t i = 0; i < program->build.kernel_count; i++)
        if (strcmp(program->kernels[i].info.name, name) == 0)
            return &program->kernels[i];
    return NULL;
}

const struct hd_kernel_info *hd_kernel_info(const struct hd_kernel *kernel)
{
    return &kernel->info;
}

const struct hd_kernel_arg *hd_kernel_arg(const struct hd_kernel *kernel,
                                          unsigned index)
{
    return index < kernel->info.arg_count ? &kernel->args[index].shown : NULL;
}
