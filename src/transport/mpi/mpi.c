// The mpi transport: hands everything to the module of the MPI that the program
// was started with. There is one module per implementation, since their
// libraries are not exchangeable; none is opened in a program that was started
// without.
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

struct mpi_net {
    struct hdi_net net;
    const struct hdi_transport *module;
    struct hdi_net *inner;
};

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

static struct mpi_net *mpi(struct hdi_net *net)
{
    return (struct mpi_net *)net;
}

static hd_status mpi_open(struct hdi_net **net, struct hd_error *error)
{
    const struct hdi_transport *module = NULL;

    HDI_TRY(find_module(&module, error));
    struct mpi_net *n = calloc(1, sizeof(*n));
    if (!n)
        return hdi_fail(error, HD_ENOMEM, "no memory for the network");

    hd_status status = module->open(&n->inner, error);
    if (status != HD_OK) {
        free(n);
        return status;
    }
    n->module = module;
    n->net =
        (struct hdi_net){&hdi_transport_mpi, n->inner->node, n->inner->count};
    *net = &n->net;
    return HD_OK;
}

static void mpi_close(struct hdi_net *net)
{
    mpi(net)->module->close(mpi(net)->inner);
    free(net);
}

static hd_status mpi_send(struct hdi_net *net, uint32_t node, uint32_t tag,
                          const void *data, uint64_t size,
                          struct hdi_transfer **transfer)
{
    return mpi(net)->module->send(mpi(net)->inner, node, tag, data, size,
                                  transfer);
}

static hd_status mpi_receive(struct hdi_net *net, uint32_t node, uint32_t tag,
                             void *data, uint64_t capacity,
                             struct hdi_transfer **transfer)
{
    return mpi(net)->module->receive(mpi(net)->inner, node, tag, data, capacity,
                                     transfer);
}

static bool mpi_test(struct hdi_net *net, struct hdi_transfer *transfer,
                     hd_status *status, struct hdi_message *message)
{
    return mpi(net)->module->test(mpi(net)->inner, transfer, status, message);
}

static hd_status mpi_wait(struct hdi_net *net, struct hdi_transfer *transfer,
                          struct hdi_message *message)
{
    return mpi(net)->module->wait(mpi(net)->inner, transfer, message);
}

static hd_status mpi_barrier(struct hdi_net *net)
{
    return mpi(net)->module->barrier(mpi(net)->inner);
}

// The modules' memory begins with their transport.
struct hdi_shared {
    const struct hdi_transport *module;
};

static hd_status mpi_share(struct hdi_net *net, uint64_t size,
                           struct hdi_shared **shared)
{
    return mpi(net)->module->share(mpi(net)->inner, size, shared);
}

static void mpi_unshare(struct hdi_net *net, struct hdi_shared *shared)
{
    shared->module->unshare(mpi(net)->inner, shared);
}

static void *mpi_reach(struct hdi_shared *shared, uint32_t node)
{
    return shared->module->reach(shared, node);
}

const struct hdi_transport hdi_transport_mpi = {
    .name = "mpi",
    .threads = true,
    .describe = mpi_describe,
    .open = mpi_open,
    .close = mpi_close,
    .send = mpi_send,
    .receive = mpi_receive,
    .test = mpi_test,
    .wait = mpi_wait,
    .barrier = mpi_barrier,
    .share = mpi_share,
    .unshare = mpi_unshare,
    .reach = mpi_reach,
};
