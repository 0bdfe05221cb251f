// What there is in a program: saved, and told.
#include "kernel/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "kernel/binary/container.h"
#include "kernel/binary/digest.h"
#include "kernel/program/state.h"

// Saving ----------------------------------------------------------------------

// The array is a shallow copy, so that checked builds can be hung into it
// without a change of the program, which is read-only. The first `build_count`
// builds of `checked` are in the same order, as they are made from the same
// list of processors. On failure `binary` is empty.
static hd_status write_binary(const struct hd_program *program,
                              struct hdi_text *binary, struct hd_error *error)
{
    if (!hdi_digest_is_there())
        return hdi_fail(error, HD_ENOTSUP,
                        "Heddle binaries need libb2: install libb2-dev and "
                        "build Heddle again");
    struct hdi_build *builds = malloc(program->build_count * sizeof(*builds));
    for (uint32_t i = 0; builds && i < program->build_count; i++) {
        builds[i] = program->builds[i];
        if (program->shows)
            builds[i].checked = &program->checked->builds[i];
    }
    bool ok = builds && hdi_container_write(builds, program->build_count, NULL,
                                            NULL, binary);
    free(builds);
    if (ok)
        return HD_OK;
    hdi_text_free(binary);
    return hdi_fail(error, HD_ENOMEM, "no memory to write a binary");
}

// The file is written when all of it is there. `error` begins with the path.
hd_status hd_program_save(const struct hd_program *program, const char *path,
                          struct hd_error *error)
{
    struct hdi_text binary = {0};
    hd_status status = write_binary(program, &binary, error);

    if (status != HD_OK) {
        hdi_prefix_error(error, "%s", path);
        return status;
    }
    status = hdi_write_file(path, binary.data, binary.size, error);
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

// Of the image, in words of 8 bytes; up to seven bytes at its end are left out.
// Programs that are taken for one by that cost a wrong guess of a time, never a
// wrong result.
uint64_t hdi_program_content(const struct hd_program *program)
{
    const struct hdi_build *build = program->build;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a, of 8 bytes each

    if (!build || !build->image_size)
        return 0;
    for (size_t i = 0; i + 8 <= build->image_size; i += 8) {
        uint64_t word;
        memcpy(&word, build->image + i, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t hdi_program_variables(const struct hd_program *program)
{
    uint64_t bytes = program->build->variable_bytes;

    for (uint32_t i = 0; i < program->build->joined_count; i++)
        bytes += program->build->joined[i].variable_bytes;
    return bytes;
}

bool hd_program_was_cached(const struct hd_program *program)
{
    return program->was_cached;
}

unsigned hd_program_kernel_count(const struct hd_program *program)
{
    return program->kernel_count;
}

const struct hd_kernel *hd_program_kernel(const struct hd_program *program,
                                          unsigned index)
{
    return index < program->kernel_count ? &program->kernels[index] : NULL;
}

// Linear: programs have few kernels, and callers keep what they found.
const struct hd_kernel *hd_program_find(const struct hd_program *program,
                                        const char *name)
{
    for (uint32_t i = 0; i < program->kernel_count; i++)
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

const struct hdi_device *hdi_kernel_device(const struct hd_kernel *kernel)
{
    return kernel->program->context.device;
}

// By the type alone: `const` may be cast away, which is undefined, and an
// image's access is the first word of its type.
bool hdi_kernel_may_write(const struct hd_kernel_arg *arg)
{
    if (arg->kind == HD_ARG_IMAGE)
        return strncmp(arg->type, "read_only", 9) != 0;
    return arg->kind == HD_ARG_GLOBAL && !arg->pointee_const;
}
