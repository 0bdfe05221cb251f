// heddle build: compile files of kernels ahead of time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "failure.h"
#include "heddle/kernel.h"
#include "interrupt.h"
#include "progress.h"
#include "start.h"
#include "target.h"

static const struct command_option options[] = {
    {"-o", "FILE", "write the binary to FILE", OPTION_TEXT, false},
    {"--library", NULL,
     "make a library: functions and kernels that a later build\nlinks",
     OPTION_FLAG, false},
    {"--cpu", "NAME,...",
     "make code for processors of these names, as clang has\n"
     "them, not for this one alone; this one is \"native\";\n"
     "or for NVIDIA GPUs: sm_70, sm_75, sm_80, sm_86, sm_89,\n"
     "sm_90, and newer ones as well",
     OPTION_TEXT, false},
    {"--explain", NULL,
     "print how each kernel became code; writes a binary\nonly with -o",
     OPTION_FLAG, false},
    {"-D", "NAME[=VALUE]", "define a macro, NAME(X) one with parameters",
     OPTION_WORD, true},
    {"-I", "FOLDER", "look there for #include files", OPTION_WORD, true},
    {"-cl-*", NULL, "an option of OpenCL C (-cl-std=CL1.2, ...)", OPTION_WORD,
     true},
    {"-heddle-*", NULL,
     "an option of Heddle's compiler: -heddle-form=loops,\n"
     "-heddle-form=thread, -heddle-form=coroutine,\n"
     "-heddle-budget=N (of work on one kernel),\n"
     "-heddle-kernel=NAME (make that one alone),\n"
     "-heddle-spec=ID=VALUE (SPIR-V)",
     OPTION_WORD, true},
    {"-w", NULL, "no warnings", OPTION_WORD, false},
    {"-Werror", NULL, "warnings are errors", OPTION_WORD, false},
    {"-g", NULL,
     "have faults of kernels out of the binary name the\nwork-item: its code "
     "is there a second time, checked",
     OPTION_WORD, false},
    {0},
};

// One word of the options text, so that blanks and quotes stay part of it.
static void put_word(const char *word, FILE *file)
{
    fputc('"', file);
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            fputc('\\', file);
        fputc(*word, file);
    }
    fputs("\" ", file);
}

// Join the options that the compiler gets into one text, NULL without memory.
static char *compiler_options(const struct options *given)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    for (unsigned i = 0; i < given->count; i++) {
        const struct given *one = &given->list[i];
        if (one->option->kind != OPTION_WORD)
            continue;
        // A value may hang on its option or stand alone; alone always works.
        put_word(one->value ? one->option->name : one->word, file);
        if (one->value)
            put_word(one->value, file);
    }
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

// "path/blur.cl" becomes "blur.hdb", in the current folder as compilers do it.
static char *binary_name(const char *path)
{
    static const char ending[] = ".hdb";
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    char *name = malloc(length + sizeof(ending));

    if (name) {
        memcpy(name, base, length);
        memcpy(name + length, ending, sizeof(ending));
    }
    return name;
}

static void explain(const struct hd_kernel *kernel)
{
    const struct hd_kernel_info *info = hd_kernel_info(kernel);

    printf("%s:%u: %s(", info->file, info->line, info->name);
    for (unsigned i = 0; i < info->arg_count; i++) {
        const struct hd_kernel_arg *arg = hd_kernel_arg(kernel, i);
        printf("%s%s %s", i > 0 ? ", " : "", arg->type, arg->name);
    }
    printf(")\n");
    for (const char *line = info->explanation; line && *line;) {
        int length = (int)strcspn(line, "\n");
        printf("  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static hd_status create(struct hd_runtime *runtime,
                        const struct hd_program_params *params,
                        struct hd_program **program, struct hd_error *error)
{
    progress_stage("building kernels");
    hd_status status = hd_program_create(runtime, params, program, error);
    progress_erase();
    return status;
}

// The kernels for each of several processors; what was just built comes out of
// the cache.
static hd_status explain_each(struct hd_runtime *runtime,
                              struct hd_program_params params,
                              struct hd_error *error)
{
    char *names = strdup(params.cpus), *rest = names;
    hd_status status = HD_OK;

    if (!names)
        return fail(error, HD_ENOMEM, "out of memory");
    for (char *name; status == HD_OK && (name = strsep(&rest, ","));) {
        struct hd_program *program;
        params.cpus = name;
        status = create(runtime, &params, &program, error);
        if (status != HD_OK)
            break;
        printf("for %s:\n", name);
        for (unsigned i = 0; i < hd_program_kernel_count(program); i++)
            explain(hd_program_kernel(program, i));
        hd_program_destroy(program);
    }
    free(names);
    return status;
}

static hd_status write_binary(void *data, FILE *file, struct hd_error *error)
{
    void *binary;
    size_t size;
    hd_status status = hd_program_binary(data, &binary, &size, error);

    if (status != HD_OK)
        return status;
    fwrite(binary, 1, size, file);
    free(binary);
    return HD_OK;
}

// Compile, save, explain. `name` is NULL when nothing is to be written.
static hd_status compile(struct hd_runtime *runtime,
                         const struct options *given,
                         const struct hd_program_params *params,
                         const char *name, struct hd_error *error)
{
    struct hd_program *program;
    hd_status status = create(runtime, params, &program, error);

    if (status != HD_OK)
        return status;
    if (name)
        status = target_write(name, write_binary, program, error);
    if (status == HD_OK && option_given(given, "--explain")) {
        if (params->cpus && strchr(params->cpus, ','))
            status = explain_each(runtime, *params, error);
        else
            for (unsigned i = 0; i < hd_program_kernel_count(program); i++)
                explain(hd_program_kernel(program, i));
    }
    hd_program_destroy(program);
    return status;
}

static hd_status compile_parts(struct hd_runtime *runtime,
                               const struct options *given,
                               const char *compiler_text, const char *name,
                               struct hd_error *error)
{
    struct hd_program_part *parts =
        calloc(given->operand_count, sizeof(*parts));
    const struct hd_program_params params = {
        .options = compiler_text,
        .parts = parts,
        .part_count = given->operand_count,
        .library = option_given(given, "--library"),
        .cpus = option_value(given, "--cpu")};

    if (!parts)
        return fail(error, HD_ENOMEM, "out of memory");
    for (unsigned i = 0; i < given->operand_count; i++)
        parts[i].path = given->operands[i];
    hd_status status = compile(runtime, given, &params, name, error);
    free(parts);
    return status;
}

// A binary must not take the place of what it is made of.
static hd_status check_name(const struct options *given, const char *name,
                            struct hd_error *error)
{
    for (unsigned i = 0; i < given->operand_count; i++)
        if (strcmp(given->operands[i], name) == 0)
            return fail(error, HD_EINVAL,
                        "%s would be written over: give another name with -o",
                        name);
    return target_check(name, error);
}

static int build(const struct options *given)
{
    struct hd_error error = {0};
    const char *wanted = option_value(given, "-o");
    char *name = NULL;
    char *text = compiler_options(given);
    bool writes = wanted || !option_given(given, "--explain");
    struct hd_runtime *runtime = NULL;
    hd_status status = HD_OK;

    if (writes)
        name = wanted ? strdup(wanted) : binary_name(given->operand);
    if (!text || (writes && !name))
        status = fail(&error, HD_ENOMEM, "out of memory");
    if (status == HD_OK && name)
        status = check_name(given, name, &error);
    if (status == HD_OK)
        status = start_runtime((struct hd_runtime_params){.caller_only = true},
                               &runtime, &error);
    interrupt_runtime(runtime);
    if (status == HD_OK)
        status = compile_parts(runtime, given, text, name, &error);

    interrupt_runtime(NULL);
    hd_runtime_destroy(runtime);
    free(name);
    free(text);
    return status == HD_OK ? EXIT_DONE : report_failure(status, &error);
}

const struct command build_command = {
    .name = "build",
    .operand = "KERNEL.cl",
    .many = true,
    .summary = "compile kernels ahead of time",
    .about = "Compile files of OpenCL C kernels into a binary that runs "
             "without a compiler.\nSeveral files, and libraries and binaries "
             "built before, are linked into one.\nWithout -o it is written to "
             "the current folder, named after the first with the\nending "
             ".hdb.\n",
    .options = options,
    .run = build,
};
