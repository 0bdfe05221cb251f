// Building, compiling and linking programs.
//
// All three go the same way, in the thread of the caller; there is no thread
// for builds, and a callback is called before the function returns:
//
//     check()    what is wrong with the arguments
//     begin()    `builds` is set: others are refused, the status is IN_PROGRESS
//     make(), compile() or link_parts()    without the lock: it takes long
//     finish()   the new build, its log and its status appear together
//
// Invariant: who has set `builds` calls finish(), whatever fails between.
#include "icd/program/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "icd/object/info.h"
#include "runtime/runtime.h"

// What applications give to hear of the end.
typedef void(CL_CALLBACK *notify_fn)(cl_program program, void *data);

bool hdi_cl_program_has(const struct _cl_program *program,
                        const struct _cl_device_id *device)
{
    for (unsigned i = 0; i < program->device_count; i++)
        if (program->devices[i] == device)
            return true;
    return false;
}

// Kept as the text of a build option, in bits: the type is known only when the
// module is read (kernel/program/spirv.c), and a decimal number would lose bits
// of a float.
cl_int hdi_cl_keep_constant(struct _cl_program *program, cl_uint id,
                            size_t size, const void *value)
{
    cl_ulong bits = 0;
    char *text = NULL;

    memcpy(&bits, value, size);
    if (asprintf(&text, "bits:0x%llx", (unsigned long long)bits) < 0)
        return CL_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(&program->lock);
    struct hdi_cl_constant *c = program->constants;
    unsigned i = 0;
    while (i < program->constant_count && c[i].id != id)
        i++;
    if (i == program->constant_count) {
        c = realloc(c, (i + 1) * sizeof(*c));
        if (c) {
            program->constants = c;
            program->constant_count++;
            c[i] = (struct hdi_cl_constant){.id = id};
        }
    }
    if (c) {
        free(c[i].value);
        c[i].value = text;
    }
    pthread_mutex_unlock(&program->lock);
    if (!c)
        free(text);
    return c ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

// One build at a time, and none while kernels are there. What was built for
// other sides is built again with it.
//
// CL_INVALID_OPERATION: another build runs, or a kernel is there. Options and
// log are the new build's from here on, so that a query during the build does
// not see the old ones. `sides` only ever grows: a program that was built for
// one device first and then for another has code for both.
static cl_int begin(struct _cl_program *program, unsigned sides,
                    const char *options)
{
    char *kept = strdup(options ? options : "");
    cl_int status = CL_SUCCESS;

    if (!kept)
        return CL_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(&program->lock);
    if (program->builds || atomic_load(&program->kernels) > 0) {
        status = CL_INVALID_OPERATION;
        free(kept);
    } else {
        program->builds = true;
        program->status = CL_BUILD_IN_PROGRESS;
        program->sides |= sides;
        free(program->options);
        program->options = kept;
        free(program->log);
        program->log = NULL;
    }
    pthread_mutex_unlock(&program->lock);
    return status;
}

// Which work-groups the options ask for: before 2.0 they all have one size.
//
// Binaries and SPIR-V say nothing here and are taken for not uniform: an error
// that is not told beats a launch that is refused. The option is looked for as
// text; it cannot stand within another of those that are allowed, but may
// within the value of a -D.
static bool is_uniform(const struct _cl_program *program)
{
    const char *version =
        program->options ? strstr(program->options, "-cl-std=CL") : NULL;

    if (!program->source)
        return false;
    if (program->options &&
        strstr(program->options, "-cl-uniform-work-group-size"))
        return true;
    return !version || version[10] < '2';
}

// All that the compiler said, and what else was wrong with a program that was
// not made. NULL: no memory.
//
// `said` is what the front end printed, `error` what the runtime decided; where
// one is the start of the other it is not told twice.
static char *write_log(const struct hd_program *made, const char *said,
                       const struct hd_error *error)
{
    struct hdi_text log = {0};
    size_t line = strcspn(error->text, "\n");

    hdi_text_print(&log, "%s", said ? said : "");
    // An error of the compiler is the beginning of what it said.
    if (!made && !(said && memmem(said, strlen(said), error->text, line)))
        hdi_text_print(&log, "%s\n", error->text);
    if (!log.failed)
        return log.data ? log.data : strdup("");
    hdi_text_free(&log);
    return NULL;
}

// `said` is freed; `error` is looked at where nothing was made. `uniform`: its
// work-groups are all of one size.
//
// Takes over `made`, which is NULL where the build failed. The new build is
// prepared before the lock is taken, and replaces the old one with it: kernels
// that are created meanwhile are of one or the other. Returns `status`, that of
// the build so far; without memory for what was made the program counts as not
// built, and CL_OUT_OF_HOST_MEMORY says so.
static cl_int finish(struct _cl_program *program, struct hd_program *made,
                     cl_program_binary_type type, bool uniform, char *said,
                     const struct hd_error *error, cl_int status)
{
    struct hdi_cl_built *built = made ? calloc(1, sizeof(*built)) : NULL;

    if (made && !built) {
        hd_program_destroy(made);
        status = CL_OUT_OF_HOST_MEMORY;
    }
    if (built) {
        atomic_init(&built->users, 1);
        pthread_mutex_init(&built->lock, NULL);
        built->program = made;
        built->uniform = uniform;
    }
    pthread_mutex_lock(&program->lock);
    hdi_cl_built_release(program->built);
    program->built = built;
    program->type = built ? type : CL_PROGRAM_BINARY_TYPE_NONE;
    program->status = built ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
    program->log = write_log(made, said, error);
    program->builds = false;
    pthread_mutex_unlock(&program->lock);
    free(said);
    return status;
}

// Which code of OpenCL an error of the runtime is, where `other` is that of a
// program that is wrong.
//
// Bad options are told apart from a bad program by the words "build option" in
// the text: every text of kernel/program/options.c has them.
static cl_int code_of(const struct hd_error *error, cl_int options,
                      cl_int other)
{
    switch (error->status) {
    case HD_OK:
        return CL_SUCCESS;
    case HD_ENOMEM:
        return CL_OUT_OF_HOST_MEMORY;
    case HD_EINVAL:
        return strstr(error->text, "build option") ? options : other;
    case HD_EFORMAT:
        return CL_INVALID_BINARY;
    case HD_ENOTSUP:
        return hdi_has_compiler() ? CL_INVALID_BINARY
                                  : CL_COMPILER_NOT_AVAILABLE;
    default:
        return other;
    }
}

// A list of devices is either there or empty, never one of both; data without a
// callback is an error.
static cl_int check(cl_program program, cl_uint count,
                    const cl_device_id *devices, notify_fn notify, void *data)
{
    if (!hdi_cl_is(HDI_CL_PROGRAM, program))
        return CL_INVALID_PROGRAM;
    if ((count == 0) != !devices || (!notify && data))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_DEVICE, devices[i]) ||
            !hdi_cl_program_has(program, devices[i]))
            return CL_INVALID_DEVICE;
    return CL_SUCCESS;
}

// The sides of these devices, as bits.
static unsigned sides_of(cl_uint count, struct _cl_device_id *const *devices)
{
    unsigned sides = 0;

    for (cl_uint i = 0; i < count; i++)
        sides |= 1u << devices[i]->side;
    return sides;
}

// What `params` say for one side becomes a part of `*made`, which is NULL
// before the first.
//
// The first side becomes `*made`; others are added to it and go with it. On
// failure `*made` is as it was. HD_ENODEV: the GPU was lost since the program
// was made.
static hd_status add_side(unsigned side, const struct hd_program_params *params,
                          struct hd_program **made, struct hd_error *error)
{
    const struct hd_runtime *runtime = hdi_cl_runtime(hdi_cl_root_device());
    struct hd_program *one;

    if (side >= runtime->device_count)
        return hdi_fail(error, HD_ENODEV, "the GPU is not there any more");
    struct hdi_program_context context = hdi_runtime_programs(runtime, side);
    HDI_TRY(hdi_program_create(&context, params, &one, error));
    if (*made)
        hdi_program_add(*made, one);
    else
        *made = one;
    return HD_OK;
}

// The options, and what was set of constants, which may be set by another
// thread during a build: the lock is taken.
//
// False: no memory. `text` is the caller's to free in any case.
static bool full_options(struct _cl_program *program, struct hdi_text *text)
{
    pthread_mutex_lock(&program->lock);
    hdi_text_print(text, "%s", program->options);
    for (unsigned i = 0; i < program->constant_count; i++)
        hdi_text_print(text, " -heddle-spec=%u=%s", program->constants[i].id,
                       program->constants[i].value);
    pthread_mutex_unlock(&program->lock);
    return !text->failed;
}

// On all sides that it is being built for.
//
// `*made` holds all sides or, on failure, none: a program that has code for one
// of its devices only would be refused later, at a launch, where nobody expects
// it. `library`: it is to be linked. `more`, optional, comes behind the
// options. `*log` collects what the front end says of each side.
//
// `error` is filled with "no memory" first, for the paths that leave it alone.
static hd_status make(struct _cl_program *program, bool library,
                      const char *more, struct hd_program **made, char **log,
                      struct hd_error *error)
{
    hd_status status = HD_OK;
    struct hdi_text options = {0};
    struct hd_program_part part = {.path = "program.cl"};

    error->status = HD_ENOMEM;
    strcpy(error->text, "no memory to build a program");
    bool ok = full_options(program, &options);
    if (more)
        hdi_text_print(&options, " %s", more);
    if (!ok || options.failed) {
        hdi_text_free(&options);
        return HD_ENOMEM;
    }
    const struct hd_program_params params = {.parts = &part,
                                             .part_count = 1,
                                             .options = options.data,
                                             .library = library,
                                             .log = log};
    for (unsigned side = 0; side < HDI_CL_SIDES && status == HD_OK; side++) {
        if (!(program->sides >> side & 1))
            continue;
        if (program->source) {
            part.source = program->source;
        } else if (program->il) {
            part.path = "the SPIR-V module";
            part.binary = program->il;
            part.binary_size = program->il_size;
        } else {
            part.path = "the binary";
            part.binary = program->binaries[side].data;
            part.binary_size = program->binaries[side].size;
        }
        status = add_side(side, &params, made, error);
    }
    if (status != HD_OK) {
        hd_program_destroy(*made);
        *made = NULL;
    }
    error->status = status;
    hdi_text_free(&options);
    return status;
}

// For each of the sides; a program that clLinkProgram() made has none.
static bool has_binaries(const struct _cl_program *program, unsigned sides)
{
    for (unsigned side = 0; side < HDI_CL_SIDES; side++)
        if (sides >> side & 1 && !program->binaries[side].data)
            return false;
    return true;
}

// Without a list it is built for all of its devices. Whatever comes out, status
// and log are kept in the program, and the callback is called once.
CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program program,
                                               cl_uint count,
                                               const cl_device_id *devices,
                                               const char *options,
                                               notify_fn notify, void *data)
{
    struct hd_program *made = NULL;
    struct hd_error error = {.status = HD_OK};
    char *log = NULL;
    cl_int status = check(program, count, devices, notify, data);

    if (status != CL_SUCCESS)
        return status;
    unsigned sides = count > 0
                         ? sides_of(count, devices)
                         : sides_of(program->device_count, program->devices);
    if (!program->source && !program->il && !has_binaries(program, sides))
        return CL_INVALID_OPERATION; // it was linked
    if ((status = begin(program, sides, options)) != CL_SUCCESS)
        return status;
    if (make(program, false, NULL, &made, &log, &error) != HD_OK)
        made = NULL;
    status = finish(
        program, made, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, is_uniform(program),
        log, &error,
        code_of(&error, CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE));
    if (notify)
        notify(program, data);
    return status;
}

// Without begin(): nobody else has the program yet. Its status is
// CL_BUILD_SUCCESS after this, though nobody called a build: it was built where
// the binary was made.
cl_int hdi_cl_load_library(struct _cl_program *program)
{
    struct hd_program *made = NULL;
    struct hd_error error;

    program->options = strdup("");
    program->sides = sides_of(program->device_count, program->devices);
    if (!program->options)
        return CL_OUT_OF_HOST_MEMORY;
    if (make(program, true, NULL, &made, NULL, &error) != HD_OK)
        made = NULL;
    return finish(program, made, program->given, is_uniform(program), NULL,
                  &error,
                  code_of(&error, CL_INVALID_BINARY, CL_INVALID_BINARY));
}

// Headers ---------------------------------------------------------------------
//
// Given as programs with names; the front end finds them as files of a folder
// that is there for one compilation.

// Names come from the application and become paths under our folder: an
// absolute one, or one with "..", would leave it. 1,024 keeps the whole path
// below the 2,048 of write_header().
static bool is_name(const char *name)
{
    return name && *name && *name != '/' && !strstr(name, "..") &&
           strlen(name) < 1024;
}

// Make the folders of the path.
//
// `from` is where the part of the path begins that is ours to make. A folder
// that is there is no error: two headers may share it.
static bool make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!ok)
            return false;
    }
    return true;
}

// Readable for this user alone: the source of a program is nobody else's.
static bool write_header(const char *folder, const char *name,
                         const char *source)
{
    char path[2048];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

    if (n < 0 || (size_t)n >= sizeof(path) ||
        !make_folders(path, strlen(folder) + 1))
        return false;
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool ok = hdi_write_all(file, source, strlen(source));
    return close(file) == 0 && ok;
}

// Remove the file, and the folders of its name that are empty then.
static void remove_header(const char *folder, const char *name)
{
    char path[2048];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

    if (n < 0 || (size_t)n >= sizeof(path))
        return;
    unlink(path);
    for (char *slash; (slash = strrchr(path, '/')) > path + strlen(folder);) {
        *slash = '\0';
        rmdir(path);
    }
}

// The path goes into an option in double quotes, hence no quotes and no
// backslashes in it. A program with another user's rights takes no path from
// its caller (secure_getenv).
static const char *temporary(void)
{
    const char *folder = secure_getenv("TMPDIR");
    return folder && *folder == '/' && !strpbrk(folder, "\"\\") ? folder
                                                                : "/tmp";
}

// With headers: a folder with a random name, the headers in it, one compilation
// with -I, and all of it removed again, whatever failed. `written` counts also
// the header that failed, since a part of it may be there.
static hd_status compile(struct _cl_program *program, cl_uint count,
                         const cl_program *headers, const char **names,
                         struct hd_program **made, char **log,
                         struct hd_error *error)
{
    char folder[1024], option[1100];
    bool ok = true;
    cl_uint written = 0;

    if (count == 0)
        return make(program, true, NULL, made, log, error);
    snprintf(folder, sizeof(folder), "%s/heddle-headers-XXXXXX", temporary());
    if (!mkdtemp(folder)) {
        error->status = HD_EIO;
        snprintf(error->text, sizeof(error->text),
                 "no folder for headers can be made in %s: %s", temporary(),
                 strerror(errno));
        return HD_EIO;
    }
    for (; ok && written < count; written++)
        ok = write_header(folder, names[written], headers[written]->source);
    snprintf(option, sizeof(option), "-I \"%s\"", folder);
    hd_status status = HD_EIO;
    if (ok) {
        status = make(program, true, option, made, log, error);
    } else {
        error->status = HD_EIO;
        snprintf(error->text, sizeof(error->text),
                 "header '%s' cannot be written in %s: %s", names[written - 1],
                 folder, strerror(errno));
    }
    while (written > 0)
        remove_header(folder, names[--written]);
    rmdir(folder);
    return status;
}

// Headers are looked at before anything begins; they are only read. Programs of
// binaries cannot be compiled.
CL_API_ENTRY cl_int CL_API_CALL clCompileProgram(
    cl_program program, cl_uint count, const cl_device_id *devices,
    const char *options, cl_uint header_count, const cl_program *headers,
    const char **names, notify_fn notify, void *data)
{
    struct hd_program *made = NULL;
    struct hd_error error = {.status = HD_OK};
    char *log = NULL;
    cl_int status = check(program, count, devices, notify, data);

    if (status != CL_SUCCESS)
        return status;
    if ((header_count == 0) != !headers || (header_count == 0) != !names)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < header_count; i++)
        if (!hdi_cl_is(HDI_CL_PROGRAM, headers[i]) || !headers[i]->source)
            return CL_INVALID_PROGRAM;
    for (cl_uint i = 0; i < header_count; i++)
        if (!is_name(names[i]))
            return CL_INVALID_VALUE;
    if (!program->source && !program->il)
        return CL_INVALID_OPERATION;
    unsigned sides = count > 0
                         ? sides_of(count, devices)
                         : sides_of(program->device_count, program->devices);
    if ((status = begin(program, sides, options)) != CL_SUCCESS)
        return status;
    if (compile(program, header_count, headers, names, &made, &log, &error) !=
        HD_OK)
        made = NULL;
    status = finish(program, made, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
                    is_uniform(program), log, &error,
                    code_of(&error, CL_INVALID_COMPILER_OPTIONS,
                            CL_COMPILE_PROGRAM_FAILURE));
    if (notify)
        notify(program, data);
    return status;
}

// Linking ---------------------------------------------------------------------
//
// A linked program is a new object. What it is made of goes through binaries,
// once per side, so that the parts may be compiled again, or go, right after.

// Cut a word out of the options; whether it was there.
//
// It becomes blanks, which the parser of options skips: these two options are
// the linker's own and unknown there.
static bool take_word(char *options, const char *word)
{
    char *at = strstr(options, word);

    if (!at)
        return false;
    memset(at, ' ', strlen(word));
    return true;
}

// `uniform`: whether the work-groups of all of them are of one size. A program
// may have been compiled again, or in vain, since it was checked.
//
// Each program is locked only while its binary is taken. All binaries that were
// taken are freed, also after a failure: `parts` is zeroed, and free(NULL) is
// nothing.
static hd_status link_parts(unsigned side, cl_uint count,
                            const cl_program *programs, const char *options,
                            bool library, bool *uniform,
                            struct hd_program **made, char **log,
                            struct hd_error *error)
{
    struct hd_program_part *parts = calloc(count, sizeof(*parts));
    hd_status status = parts ? HD_OK : HD_ENOMEM;

    error->status = HD_ENOMEM;
    strcpy(error->text, "no memory to link a program");
    *uniform = true;
    for (cl_uint i = 0; status == HD_OK && i < count; i++) {
        void *binary;
        struct _cl_program *p = programs[i];
        pthread_mutex_lock(&p->lock);
        const struct hd_program *one =
            p->built ? hdi_cl_built_program(p->built, side) : NULL;
        status =
            one ? hd_program_binary(one, &binary, &parts[i].binary_size, error)
                : hdi_fail(error, HD_EINVAL,
                           "program %u of those to link is not compiled "
                           "for a device, or no longer",
                           i + 1);
        *uniform = *uniform && p->built && p->built->uniform;
        pthread_mutex_unlock(&p->lock);
        if (status == HD_OK)
            parts[i].binary = binary;
    }
    if (status == HD_OK) {
        struct hd_program_params params = {.parts = parts,
                                           .part_count = count,
                                           .options = options,
                                           .library = library,
                                           .log = log};
        status = add_side(side, &params, made, error);
    }
    for (cl_uint i = 0; parts && i < count; i++)
        free((void *)(uintptr_t)parts[i].binary);
    free(parts);
    error->status = status;
    return status;
}

// A look only: link_parts() finds out again, with the lock.
static bool can_be_linked(struct _cl_program *program)
{
    pthread_mutex_lock(&program->lock);
    bool can = program->built &&
               (program->type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT ||
                program->type == CL_PROGRAM_BINARY_TYPE_LIBRARY);
    pthread_mutex_unlock(&program->lock);
    return can;
}

// Whether all of them can be linked comes last, since it takes their locks.
static cl_int check_link(cl_context context, cl_uint count,
                         const cl_device_id *devices, cl_uint program_count,
                         const cl_program *programs, notify_fn notify,
                         void *data)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    if ((count == 0) != !devices || program_count == 0 || !programs ||
        (!notify && data))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < program_count; i++)
        if (!hdi_cl_is(HDI_CL_PROGRAM, programs[i]))
            return CL_INVALID_PROGRAM;
    for (cl_uint i = 0; i < program_count; i++)
        if (programs[i]->context != context)
            return CL_INVALID_CONTEXT;
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_DEVICE, devices[i]) ||
            !hdi_cl_context_has(context, devices[i]))
            return CL_INVALID_DEVICE;
    for (cl_uint i = 0; i < program_count; i++)
        if (!can_be_linked(programs[i]))
            return CL_INVALID_OPERATION;
    return CL_SUCCESS;
}

// A program is returned also where linking fails, for its log; NULL only where
// arguments are wrong or memory is short. begin() cannot refuse for another
// reason here: nobody else has the program. A failure on one side drops the
// sides before it, as in make().
CL_API_ENTRY cl_program CL_API_CALL clLinkProgram(
    cl_context context, cl_uint count, const cl_device_id *devices,
    const char *options, cl_uint program_count, const cl_program *programs,
    notify_fn notify, void *data, cl_int *error_ret)
{
    struct hd_program *made = NULL;
    struct hd_error error = {.status = HD_OK};
    char *log = NULL;
    cl_int status = check_link(context, count, devices, program_count, programs,
                               notify, data);

    if (status != CL_SUCCESS)
        return hdi_cl_none(error_ret, status);
    struct _cl_program *program =
        count > 0 ? hdi_cl_program_create(context, count, devices, error_ret)
                  : hdi_cl_program_create(context, context->device_count,
                                          context->devices, error_ret);
    char *words = strdup(options ? options : "");
    unsigned sides =
        program ? sides_of(program->device_count, program->devices) : 0;
    if (!program || !words || begin(program, sides, options) != CL_SUCCESS) {
        free(words);
        if (program)
            hdi_cl_object_release(program);
        return hdi_cl_none(error_ret, CL_OUT_OF_HOST_MEMORY);
    }
    bool library = take_word(words, "-create-library");
    take_word(words, "-enable-link-options");
    bool uniform = true;
    hd_status linked = HD_OK;
    for (unsigned side = 0; side < HDI_CL_SIDES && linked == HD_OK; side++)
        if (sides >> side & 1)
            linked = link_parts(side, program_count, programs, words, library,
                                &uniform, &made, &log, &error);
    if (linked != HD_OK) {
        hd_program_destroy(made);
        made = NULL;
    }
    free(words);
    status = finish(
        program, made,
        library ? CL_PROGRAM_BINARY_TYPE_LIBRARY
                : CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
        uniform, log, &error,
        code_of(&error, CL_INVALID_LINKER_OPTIONS, CL_LINK_PROGRAM_FAILURE));
    if (notify)
        notify(program, data);
    if (error_ret)
        *error_ret = status;
    return program;
}
