// One compiler per process. Its module is looked for beside the code that asks,
// so that a build folder, an installed library and a program that is linked
// statically each find their own.
#include "kernel/program/module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/compiler.h"
#include "kernel/program.h"
#include "tools.h"

#ifdef HDI_HAVE_COMPILER

bool hdi_has_compiler(void)
{
    return true;
}

const char *hdi_compiler_description(void)
{
    return "clang " HDI_CLANG_VERSION ", LLVM " HDI_LLVM_VERSION;
}

// The module belongs to the process, like any library: opened once, used by
// every runtime, never closed.
//
// `failure` is the text for every later call: once it could not be opened, it
// is not tried again. Both are written within `once` and constant after that.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct hdi_compiler *opened;
static char failure[512];

// Without the slash; "." where the path has none.
static void append_folder(const char *path, struct hdi_text *text)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        hdi_text_append(text, path, (size_t)(slash - path));
    else
        hdi_text_append(text, ".", 1);
}

// The folder of the library this code is in, or of the program when it is
// linked into one.
//
// `which` 0: of the library, if that is what this code is in; else of the
// running program. The address of a variable of ours tells the loader which
// object is meant.
static void append_own_folder(unsigned which, struct hdi_text *text)
{
    char program[4096];
    Dl_info self;

    if (which == 0 && dladdr(&once, &self) && self.dli_fname) {
        append_folder(self.dli_fname, text);
        return;
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    append_folder(program, text);
}

// Where the module may be, best first: beside this library or program, then
// where it is installed. False: there are no more.
//
//     0, 1    LIBRARY/heddle/, LIBRARY/../lib/heddle/
//     2, 3    the same from the program's folder
//     4       where it was installed
static bool candidate(unsigned index, struct hdi_text *path)
{
    static const char *const beside[] = {"/heddle/", "/../lib/heddle/"};

    if (index < 4) {
        append_own_folder(index / 2, path);
        hdi_text_print(path, "%s" HDI_MODULE_FILE, beside[index % 2]);
    } else if (index == 4) {
        hdi_text_print(path, HDI_MODULE_INSTALL "/" HDI_MODULE_FILE);
    }
    return index <= 4;
}

// The first that is there. True: `path` is the caller's to free.
static bool find(struct hdi_text *path, struct stat *about)
{
    for (unsigned i = 0; candidate(i, path); i++) {
        if (!path->failed && stat(path->data, about) == 0)
            return true;
        hdi_text_free(path);
    }
    hdi_text_free(path);
    return false;
}

// RTLD_LOCAL: LLVM's symbols must not meet those of another LLVM in the process
// (Mesa's, say). RTLD_NOW: a module that does not fit fails here and not in the
// middle of a build.
static void open_module(void)
{
    struct hdi_text path = {0};
    struct stat about;

    if (!find(&path, &about)) {
        snprintf(failure, sizeof(failure),
                 "the compiler module " HDI_MODULE_FILE
                 " is not beside libheddle nor in " HDI_MODULE_INSTALL
                 ": install Heddle again");
        return;
    }
    void *module = dlopen(path.data, RTLD_NOW | RTLD_LOCAL);
    const struct hdi_compiler *table =
        module ? dlsym(module, HDI_COMPILER_SYMBOL) : NULL;
    if (!table)
        snprintf(failure, sizeof(failure),
                 "the compiler module cannot be opened: %s", dlerror());
    else if (table->version != HDI_COMPILER_VERSION ||
             table->border != HDI_COMPILER_BORDER)
        snprintf(failure, sizeof(failure),
                 "the compiler module %s does not fit this libheddle, it is of "
                 "another build: build or install both together",
                 path.data);
    else
        opened = table;
    hdi_text_free(&path);
}

hd_status hdi_compiler_open(const struct hdi_compiler **compiler,
                            struct hd_error *error)
{
    pthread_once(&once, open_module);
    if (!opened)
        return hdi_fail(error, HD_ENOTSUP, "%s", failure);
    *compiler = opened;
    return HD_OK;
}

// Size and time, not contents: reading hundreds of MiB with each lookup would
// cost more than most compilations. A file that is not there is left out.
static void identify_file(const char *path, struct hdi_text *text)
{
    struct stat about;
    if (stat(path, &about) == 0)
        hdi_text_print(text, "%s %lld %lld.%ld\n", path,
                       (long long)about.st_size,
                       (long long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

// The text is a part of the cache's key: after an update of clang, LLVM's
// module or the translator nothing old is found.
void hdi_compiler_identify(struct hdi_text *text, const char *translator)
{
    struct hdi_text path = {0};
    struct stat about;

    hdi_text_print(text, "%s\n", hdi_compiler_description());
    identify_file(HDI_CLANG, text);
    if (translator)
        identify_file(translator, text);
    if (find(&path, &about))
        identify_file(path.data, text);
    hdi_text_free(&path);
}

#else

// The same functions in a build without LLVM: binaries work, and each text says
// what to install.
bool hdi_has_compiler(void)
{
    return false;
}

const char *hdi_compiler_description(void)
{
    return "no compiler: Heddle was built without " HDI_COMPILER_MISSING;
}

hd_status hdi_compiler_open(const struct hdi_compiler **compiler,
                            struct hd_error *error)
{
    (void)compiler;
    return hdi_fail(
        error, HD_ENOTSUP,
        "this build has no OpenCL C compiler: install "
        "llvm-19-dev, clang-19, binutils and libb2-dev, and build "
        "Heddle again with HEDDLE_COMPILER=ON (missing: " HDI_COMPILER_MISSING
        "); a .hdb binary needs none");
}

void hdi_compiler_identify(struct hdi_text *text, const char *translator)
{
    (void)translator;
    hdi_text_print(text, "%s\n", hdi_compiler_description());
}

#endif
