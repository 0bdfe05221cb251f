// A module of the mpi transport, compiled once per MPI implementation: starting
// and ending.
//
// MPI starts once in a process, with the first net, and ends with the process.
// A process that ends without closing its nets ends all: the others would wait
// for it.
#include "transport/mpi/module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "transport/mpi/net.h"

#ifndef HDI_SIMULATED

// The process's, as MPI itself is.
static struct {
    pthread_mutex_t lock;
    unsigned nets;
    int number; // as its nets say
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void end_mpi(void)
{
    int finalized = 0;

    MPI_Finalized(&finalized);
    if (finalized)
        return;
    if (process.nets == 0) {
        MPI_Finalize();
        return;
    }
    fprintf(stderr,
            "heddle: process %d has ended without leaving its cluster; the "
            "program ends on all\n",
            process.number);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hd_status start_mpi(struct hd_error *error)
{
    int initialized = 0, provided = MPI_THREAD_SINGLE;
    hd_status status = HD_OK;

    pthread_mutex_lock(&process.lock);
    MPI_Initialized(&initialized);
    if (initialized) {
        MPI_Query_thread(&provided);
    } else {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
        atexit(end_mpi);
    }
    if (provided < MPI_THREAD_SERIALIZED)
        status = hdi_fail(error, HD_ENOTSUP,
                          "this MPI, or how it was started, allows no calls "
                          "from threads");
    else
        process.nets++;
    pthread_mutex_unlock(&process.lock);
    return status;
}

static void stop_mpi(void)
{
    pthread_mutex_lock(&process.lock);
    process.nets--;
    pthread_mutex_unlock(&process.lock);
}

#else

// Many ranks live in one process, each of which starts and ends.
static hd_status start_mpi(struct hd_error *error)
{
    int initialized = 0;

    (void)error;
    MPI_Initialized(&initialized);
    if (!initialized)
        MPI_Init(NULL, NULL);
    return HD_OK;
}

static void stop_mpi(void)
{
    // Left to the simulator: a rank may open another net.
}

#endif

// The processes of this machine; with HEDDLE_MACHINE, of those only the ones
// that say the same name.
static void split_machine(struct mpi_net *n)
{
    const char *name = getenv("HEDDLE_MACHINE");
    unsigned color = 2166136261u; // FNV-1a
    MPI_Comm shared;

    MPI_Comm_split_type(n->world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &shared);
    for (; name && *name; name++)
        color = (color ^ (unsigned char)*name) * 16777619u;
    MPI_Comm_split(shared, (int)(color & INT_MAX), 0, &n->machine);
    MPI_Comm_free(&shared);
    MPI_Comm_set_errhandler(n->machine, MPI_ERRORS_RETURN);
}

// Number the processes so that those of a machine follow each other, machines
// by their first rank: launchers may deal ranks to machines in turn, and nodes
// with neighbouring numbers exchange most.
static void order_by_machine(struct mpi_net *n)
{
    int rank, first;
    MPI_Comm ordered;

    MPI_Comm_rank(n->world, &rank);
    MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, n->machine);
    MPI_Comm_split(n->world, 0, first, &ordered);
    MPI_Comm_free(&n->world);
    n->world = ordered;
    MPI_Comm_set_errhandler(n->world, MPI_ERRORS_RETURN);
}

// Which nodes are on this machine; `ranks` is room for those of all.
static void find_machine(struct mpi_net *n, int *ranks)
{
    MPI_Group all, near;

    MPI_Comm_group(n->world, &all);
    MPI_Comm_group(n->machine, &near);
    for (uint32_t i = 0; i < n->net.count; i++)
        ranks[i] = (int)i;
    MPI_Group_translate_ranks(all, (int)n->net.count, ranks, near,
                              n->on_machine);
    MPI_Group_free(&all);
    MPI_Group_free(&near);
}

// The standard asks for 15 bits of a tag; all implementations known have more.
static hd_status check_tags(struct hd_error *error)
{
    int *most, given = 0;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &given);
    if (!given || *most >= HDI_MAX_TAG)
        return HD_OK;
    return hdi_fail(error, HD_ENOTSUP,
                    "this MPI has tags up to %d only, not %d", *most,
                    HDI_MAX_TAG);
}

static const struct hdi_transport transport;

static void free_net(struct mpi_net *n)
{
    if (!n)
        return;
    message_close(n);
    free(n->on_machine);
    free(n);
}

// All that takes memory, or NULL.
static struct mpi_net *make_net(void)
{
    int rank, count;
    struct mpi_net *n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    n->net = (struct hdi_net){&transport, (uint32_t)rank, (uint32_t)count};
    n->on_machine = malloc((size_t)count * sizeof(*n->on_machine));
    if (n->on_machine && message_open(n))
        return n;
    free_net(n);
    return NULL;
}

// Memory first: where it is short, all learn it before they go on together.
static hd_status module_open(struct hdi_net **net, struct hd_error *error)
{
    int rank;

    HDI_TRY(start_mpi(error));
    hd_status status = check_tags(error);
    if (status != HD_OK) {
        stop_mpi();
        return status;
    }
    struct mpi_net *n = make_net();
    int *ranks = n ? malloc(n->net.count * sizeof(*ranks)) : NULL;
    int without;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ranks)
        rank = INT_MAX;
    MPI_Allreduce(&rank, &without, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (without < INT_MAX) {
        status = hdi_fail(error, HD_ENOMEM,
                          "process %d has no memory for the network", without);
        free(ranks);
        free_net(n);
        stop_mpi();
        return status;
    }
    pthread_mutex_init(&n->lock, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &n->world);
    split_machine(n);
    order_by_machine(n);
    MPI_Comm_rank(n->world, &rank);
    n->net.node = (uint32_t)rank;
    find_machine(n, ranks);
    free(ranks);
#ifndef HDI_SIMULATED
    process.number = rank;
#endif
    *net = &n->net;
    return HD_OK;
}

static void module_close(struct hdi_net *net)
{
    struct mpi_net *n = mpi(net);

    message_clear(n);
    MPI_Comm_free(&n->machine);
    MPI_Comm_free(&n->world);
    stop_mpi();
    pthread_mutex_destroy(&n->lock);
    free_net(n);
}

static const struct hdi_transport transport = {
    .name = "mpi",
    .threads = true,
    .open = module_open,
    .close = module_close,
    .send = message_send,
    .receive = message_receive,
    .test = message_test,
    .wait = message_wait,
    .abandon = message_abandon,
    .barrier = message_barrier,
    .share = memory_share,
    .unshare = memory_unshare,
    .reach = memory_reach,
};

extern HD_API const struct hdi_mpi_module hdi_mpi_module;
const struct hdi_mpi_module hdi_mpi_module = {HDI_MPI_VERSION, &transport};
