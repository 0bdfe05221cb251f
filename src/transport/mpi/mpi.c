// The mpi transport: opens the module of the MPI that the program was started
// with, whose nets then do the rest. There is one module per implementation,
// since their libraries are not exchangeable; none is opened in a program that
// was started without.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "transport/mpi/module.h"
#include "transport/transport.h"

extern const struct hdi_transport hdi_transport_mpi;

static const struct {
    const char *variable; // set by its launcher
    const char *name;     // of the module
    const char *title;
} implementations[] = {
    {"SMPI_GLOBAL_SIZE", "simgrid", "SimGrid"},
    {"OMPI_COMM_WORLD_SIZE", "openmpi", "Open MPI"},
    {"PMI_SIZE", "mpich", "MPICH"},
    {"MPI_LOCALNRANKS", "mpich", "MPICH"},
};

enum {
    IMPLEMENTATIONS = sizeof(implementations) / sizeof(implementations[0]),
    PATH_SIZE = 4096
};

// The folders a module may be in: beside the library this code is in, or the
// program when it is linked into one, and where a build puts it.
static bool is_beside(const char *file, const char *name, char *path)
{
    static const char *const below[] = {"heddle/", "../lib/heddle/"};
    const char *slash = strrchr(file, '/');

    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, PATH_SIZE, "%.*s%sheddle_mpi_%s.so",
                 slash ? (int)(slash - file + 1) : 2, slash ? file : "./",
                 below[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static bool locate_module(const char *name, char *path)
{
    char program[PATH_SIZE];
    Dl_info self;

    if (dladdr(&hdi_transport_mpi, &self) && self.dli_fname &&
        is_beside(self.dli_fname, name, path))
        return true;
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

    program[size > 0 ? size : 0] = '\0';
    return is_beside(program, name, path);
}

static void *open_module(const char *name)
{
    char path[PATH_SIZE];

    // Open MPI's own plug-ins need its symbols.
    return locate_module(name, path) ? dlopen(path, RTLD_NOW | RTLD_GLOBAL)
                                     : NULL;
}

static void mpi_describe(struct hdi_text *text)
{
    char path[PATH_SIZE];
    unsigned found = 0;

    for (unsigned i = 0; i < IMPLEMENTATIONS; i++) {
        bool again = i > 0 && strcmp(implementations[i].name,
                                     implementations[i - 1].name) == 0;
        if (!again && locate_module(implementations[i].name, path))
            hdi_text_print(text, found++ ? ", %s" : "programs started by %s",
                           implementations[i].title);
    }
    if (found == 0)
        hdi_text_print(text, "none: no module heddle_mpi_*.so is beside "
                             "libheddle");
}

static hd_status find_module(const struct hdi_transport **transport,
                             struct hd_error *error)
{
    const char *name = NULL;

    for (unsigned i = 0; !name && i < IMPLEMENTATIONS; i++)
        if (getenv(implementations[i].variable))
            name = implementations[i].name;
    if (!name)
        return hdi_fail(error, HD_ENODEV,
                        "the program was not started by mpirun");

    void *handle = open_module(name);
    const struct hdi_mpi_module *module =
        handle ? dlsym(handle, HDI_MPI_SYMBOL) : NULL;
    const char *why = dlerror();

    if (!module || module->version != HDI_MPI_VERSION)
        return hdi_fail(error, HD_ENOTSUP,
                        "started by mpirun, but the module heddle_mpi_%s.so %s",
                        name,
                        module ? "belongs to another version of Heddle"
                        : why  ? why
                               : "is not beside libheddle: build Heddle with "
                                 "that MPI installed");
    *transport = module->transport;
    return HD_OK;
}

static hd_status mpi_open(struct hdi_net **net, struct hd_error *error)
{
    const struct hdi_transport *module = NULL;

    HDI_TRY(find_module(&module, error));
    return module->open(net, error);
}

const struct hdi_transport hdi_transport_mpi = {
    .name = "mpi",
    .threads = true,
    .describe = mpi_describe,
    .open = mpi_open,
};
