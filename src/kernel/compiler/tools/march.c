#include "kernel/compiler/tools/march.h"

#include <string.h>

#include "base/error.h"
#include "kernel/compiler/tools/child.h"
#include "tools.h"

// clang writes them as an attribute of every function.
static const char function[] = "void f(void) {}\n";
static const char attribute[] = "\"target-features\"=\"";

// The name becomes a word of a command line: no blanks, no slashes.
static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                              "WXYZ0123456789-._+";

// "+sse,+avx,-lwp" as "sse avx"; false: there is none.
static bool read_features(const char *code, struct hdi_text *features)
{
    const char *at = code ? strstr(code, attribute) : NULL;

    if (!at)
        return false;
    for (at += sizeof(attribute) - 1; *at && *at != '"';) {
        int length = (int)strcspn(at, ",\"");
        if (*at == '+')
            hdi_text_print(features, "%s%.*s", features->size > 0 ? " " : "",
                           length - 1, at + 1);
        at += length + (at[length] == ',');
    }
    return features->size > 0;
}

// An empty C function is compiled for that processor, and its attributes are
// read: so what is known of a processor is what this clang knows.
hd_status hdi_march_features(const struct hdi_source *source,
                             struct hdi_text *features, struct hd_error *error)
{
    struct hdi_text target = {0}, march = {0}, code = {0}, messages = {0};
    int exit_code;

    if (source->march[strspn(source->march, allowed)])
        return hdi_fail(error, HD_EINVAL, "'%s' is no name of a processor",
                        source->march);
    hdi_text_print(&target, "--target=%s", source->target);
    hdi_text_print(&march, "-march=%s", source->march);
    const char *const arguments[] = {HDI_CLANG,    "-x", "c",  target.data,
                                     march.data,   "-S", "-o", "-",
                                     "-emit-llvm", "-",  NULL};
    const struct hdi_child child = {.arguments = arguments,
                                    .input = function,
                                    .input_size = sizeof(function) - 1,
                                    .cancel = source->cancel};
    hd_status status =
        target.failed || march.failed
            ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                       source->path)
            : hdi_child_run(&child, &code, &messages, &exit_code, error);
    if (status == HD_OK &&
        (exit_code != 0 || !read_features(code.data, features)))
        status = hdi_fail(error, HD_EINVAL,
                          "no code can be made for a processor '%s': clang "
                          "says: %s",
                          source->march,
                          messages.data ? messages.data : "nothing of it");
    if (status == HD_OK && features->failed)
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          source->path);
    hdi_text_free(&target);
    hdi_text_free(&march);
    hdi_text_free(&code);
    hdi_text_free(&messages);
    return status;
}
