#include "kernel/compiler/linker.h"

#include <stdio.h>

#include "base/error.h"
#include "kernel/compiler/child.h"
#include "tools.h"

static const char *const fixed[] = {
    HDI_LD, "-shared", "--hash-style=gnu", "--build-id=none", "-z",
    "noexecstack",
    // Standard output, which is a memory file: ld writes to and fro in it.
    "-o", "/proc/self/fd/1"};

hd_status hdi_linker_run(const int *files, size_t count, struct hdi_text *image,
                         struct hd_error *error)
{
    const size_t fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    const char
        *arguments[sizeof(fixed) / sizeof(fixed[0]) + HDI_CHILD_FILES + 1];
    char paths[HDI_CHILD_FILES][32];

    if (count > HDI_CHILD_FILES)
        return hdi_fail(error, HD_ELIMIT, "more than %d kernels in one program",
                        HDI_CHILD_FILES);
    for (size_t i = 0; i < fixed_count; i++)
        arguments[i] = fixed[i];
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%zu",
                 HDI_CHILD_FIRST + i);
        arguments[fixed_count + i] = paths[i];
    }
    arguments[fixed_count + count] = NULL;

    struct hdi_text messages = {0};
    int exit_code;
    const struct hdi_child child = {
        .arguments = arguments, .files = files, .file_count = count};
    hd_status status =
        hdi_child_run(&child, image, &messages, &exit_code, error);
    if (status == HD_OK && exit_code != 0)
        status = hdi_fail(error, HD_EBUILD, "linking kernels failed (%d): %s",
                          exit_code, messages.data ? messages.data : "");
    hdi_text_free(&messages);
    return status;
}
