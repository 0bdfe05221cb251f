#include "kernel/compiler/tools/linker.h"

#include "base/error.h"
#include "kernel/compiler/tools/child.h"
#include "tools.h"

// One archive on standard input, not one file per kernel: a program may have
// more of these than a process may open.
static const char *const arguments[] = {
    HDI_LD, "-shared", "--hash-style=gnu", "--build-id=none", "-z",
    "noexecstack",
    // Standard output, which is a memory file: ld writes to and fro in it.
    "-o", "/proc/self/fd/1", "--whole-archive", "/proc/self/fd/0", NULL};

// The format that System V and GNU share (ar(5)): a line for each member, whose
// data begin at even offsets.
// All members have one name: --whole-archive takes each of them all the same.
void hdi_linker_add(struct hdi_text *archive, const void *object, size_t size)
{
    if (archive->size == 0)
        hdi_text_print(archive, "!<arch>\n");
    hdi_text_print(archive, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", "kernel.o/", 0,
                   0, 0, 0644, size);
    hdi_text_append(archive, object, size);
    if (size % 2)
        hdi_text_append(archive, "\n", 1);
}

// Is not cancelled: it is short beside the compilation.
hd_status hdi_linker_run(const struct hdi_text *archive, struct hdi_text *image,
                         struct hd_error *error)
{
    struct hdi_text messages = {0};
    int exit_code;
    const struct hdi_child child = {.arguments = arguments,
                                    .input = archive->data,
                                    .input_size = archive->size};
    hd_status status =
        archive->failed
            ? hdi_fail(error, HD_ENOMEM, "no memory to link kernels")
            : hdi_child_run(&child, image, &messages, &exit_code, error);
    if (status == HD_OK && exit_code != 0)
        status = hdi_fail(error, HD_EBUILD, "linking kernels failed (%d): %s",
                          exit_code, messages.data ? messages.data : "");
    hdi_text_free(&messages);
    return status;
}
