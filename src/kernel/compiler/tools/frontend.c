#include "kernel/compiler/tools/frontend.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/compiler/tools/child.h"
#include "kernel/opencl.h"
#include "tools.h"

// So that arguments fit an array; more are an error.
enum {
    MAX_OPTIONS = 256 // of the user
};

#define ADDED(name, major) ",+" name

static const char *const fixed[] = {
    HDI_CLANG, "-x", "cl", "--target=spir64-unknown-unknown",
    // -O3 without its passes: below that clang marks functions and loops as not
    // to be optimised.
    "-O3", "-Xclang", "-disable-llvm-passes", "-cl-kernel-arg-info",
    // Else clang takes off what a file's name and the current folder share.
    "-gline-tables-only", "-fdebug-compilation-dir=/", "-emit-llvm", "-c", "-o",
    "-", "-MMD", "-MT", "x", "-MF", "/proc/self/fd/3",
    // What clang leaves to the device.
    "-D__OPENCL_VERSION__=300", "-DFP_FAST_FMA=1", "-DFP_FAST_FMAF=1",
    // Sub-groups in versions before 3.0 too: the extension that brought them
    // asks for progress independent of each other, and is not there.
    "-D__opencl_c_subgroups=1",
    // What the builtins have, not what a SPIR device might have.
    "-Xclang",
    "-cl-ext=-all" HDI_OPENCL_EXTENSIONS(ADDED) HDI_OPENCL_FEATURES(ADDED)};

// What kernels may call that is no part of OpenCL C.
// A hd_appends is what backend/appends.h says. Its count grows beyond the room
// by as many work-items as ask at the same time, and not by all that ask.
static const char declarations[] =
    "__attribute__((convergent)) void hd_grid_barrier(void);\n"
    "typedef struct {\n"
    "    uint count, room, reserved[2];\n"
    "    struct { uint command, first[3], count[3], reserved; } at[];\n"
    "} hd_appends;\n"
    "#if __OPENCL_C_VERSION__ >= 120\n" // before, nothing is static
    "static inline __attribute__((unused)) void hd_append(\n"
    "    global hd_appends *to, uint command, uint3 first, uint3 count)\n"
    "{\n"
    "    if (*(volatile global uint *)&to->count > to->room) return;\n"
    "    uint i = atomic_inc((volatile global uint *)&to->count);\n"
    "    if (i >= to->room) return;\n"
    "    to->at[i].command = command;\n"
    "    to->at[i].first[0] = first.x; to->at[i].first[1] = first.y;\n"
    "    to->at[i].first[2] = first.z; to->at[i].count[0] = count.x;\n"
    "    to->at[i].count[1] = count.y; to->at[i].count[2] = count.z;\n"
    "}\n"
    "#endif\n";

// The text with its name in front, so that messages carry the user's file.
static void add_text(const struct hdi_part *part, struct hdi_text *text)
{
    hdi_text_append(text, declarations, sizeof(declarations) - 1);
    hdi_text_append(text, "#line 1 ", 8);
    hdi_text_json(text, part->path);
    hdi_text_append(text, "\n", 1);
    hdi_text_append(text, part->data, part->size);
}

static bool is_default_version_needed(const struct hdi_part *part)
{
    for (const char *const *o = part->options; *o; o++)
        if (strncmp(*o, "-cl-std=", 8) == 0)
            return false;
    return true;
}

// What clang says is the error when it fails, and goes to `log` in any case:
// warnings are wanted too. Options that mean something to Heddle alone, or
// nothing, are not passed on.
static hd_status run(const struct hdi_part *part, const atomic_bool *cancel,
                     const char *beside, int dependency_file,
                     struct hdi_text *text, struct hdi_text *bitcode,
                     struct hdi_text *log, struct hd_error *error)
{
    const size_t fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    const char *arguments[sizeof(fixed) / sizeof(fixed[0]) + MAX_OPTIONS + 8];
    size_t n = fixed_count;

    memcpy(arguments, fixed, sizeof(fixed));
    // OpenCL: without -cl-std, the newest 1.x the device has.
    if (is_default_version_needed(part))
        arguments[n++] = "-cl-std=CL1.2";
    // The checker names variables.
    if (hdi_options_have(part->options, "-heddle-check"))
        arguments[n++] = "-fno-discard-value-names";
    arguments[n++] = "-iquote";
    arguments[n++] = beside;
    for (const char *const *o = part->options; *o; o++) {
        if (n >= fixed_count + MAX_OPTIONS)
            return hdi_fail(error, HD_ELIMIT, "%s: more than %d build options",
                            part->path, MAX_OPTIONS);
        // Line tables are always there, and -g gives no more yet; aliasing is
        // strict since OpenCL 1.2; no sub-groups are independent anyway.
        if (strcmp(*o, "-g") != 0 && strcmp(*o, "-cl-strict-aliasing") != 0 &&
            strcmp(*o, "-cl-no-subgroup-ifp") != 0 &&
            strncmp(*o, "-heddle-", 8) != 0)
            arguments[n++] = *o;
    }
    if (hdi_options_have(part->options, "-heddle-debug"))
        arguments[n++] = "-g";
    arguments[n++] = "-";
    arguments[n] = NULL;

    struct hdi_text messages = {0};
    int exit_code;
    const struct hdi_child child = {.arguments = arguments,
                                    .input = text->data,
                                    .input_size = text->size,
                                    .files = &dependency_file,
                                    .file_count = 1,
                                    .cancel = cancel};
    hd_status status =
        hdi_child_run(&child, bitcode, &messages, &exit_code, error);
    if (status == HD_OK && exit_code != 0)
        status =
            messages.size > 0
                ? hdi_fail_text(error, HD_EBUILD, messages.data, messages.size)
                : hdi_fail(error, HD_EBUILD, "%s: clang failed with %d",
                           part->path, exit_code);
    if (log)
        hdi_text_append(log, messages.data, messages.size);
    hdi_text_free(&messages);
    return status;
}

// Includes with quotes are looked for beside the file, though clang reads it
// from a pipe: hence -iquote, with the folder of its path.
hd_status hdi_frontend_run(const struct hdi_part *part,
                           const atomic_bool *cancel, struct hdi_text *bitcode,
                           struct hdi_text *dependencies, struct hdi_text *log,
                           struct hd_error *error)
{
    hd_status status = HD_ENOMEM;
    struct hdi_text text = {0};
    int dependency_file = -1;
    const char *slash = strrchr(part->path, '/');
    char *beside =
        slash ? strndup(part->path, (size_t)(slash - part->path)) : strdup(".");

    add_text(part, &text);
    dependency_file = hdi_memory_file("heddle-dependencies", NULL, 0);
    if (!beside || text.failed || dependency_file < 0) {
        hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", part->path);
        goto err_free;
    }
    status = run(part, cancel, *beside ? beside : "/", dependency_file, &text,
                 bitcode, log, error);
    if (status == HD_OK &&
        hdi_memory_file_read(dependency_file, dependencies) != HD_OK)
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory for dependencies",
                          part->path);
err_free:
    if (dependency_file >= 0)
        close(dependency_file);
    hdi_text_free(&text);
    free(beside);
    return status;
}
