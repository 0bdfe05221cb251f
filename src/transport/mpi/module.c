// A module of the mpi transport, compiled once per MPI implementation.
//
// A lock makes one call to MPI at a time. A message is taken only when it is
// there: receives wait in a list, in the order in which they were asked for,
// and whoever looks at any transfer takes what has come for all of them. So a
// message that is too long is known before it is taken, and nothing waits
// inside of MPI with the lock held.
//
// MPI starts once in a process, with the first net, and ends with the process.
// A process that ends without closing its nets ends all: the others would wait
// for it.
#include "transport/mpi/module.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pause.h"

enum {
    LARGE = 1 << 30, // messages above consist of blocks [bytes]
    BLOCK = 1 << 20, // [bytes]
    PAUSES = 2000,   // looks before the processor is given to others
    YIELDS = 2000,   // and before it is left for a while
    NAP = 20000,     // [ns]
    LINE = 64,       // of the cache [bytes]
    ROOM = 1 << 20,  // what an implementation needs beside [bytes]
    SPARES = 64      // transfers for when memory is short
};

// Small data goes through `room`, so that MPI never has an address that may be
// gone when a transfer was abandoned.
struct hdi_transfer {
    struct hdi_transfer *next; // of receives that no message has come for, or
                               // of what was abandoned
    bool receives, matched, done, abandoned;
    hd_status status;
    uint32_t node, tag;
    void *data;
    uint64_t size; // of a receive: room, then bytes
    void *refused; // a message that was too long
    void *memory;  // of the data of one that was abandoned
    MPI_Request request;
    bool small;
    char room[HDI_SMALL];
};

struct mpi_net {
    struct hdi_net net;
    MPI_Comm world, machine;
    int *on_machine; // rank of each node in `machine`, or MPI_UNDEFINED
    pthread_mutex_t lock;
    struct hdi_transfer *waiting;   // oldest first
    struct hdi_transfer *abandoned; // of which MPI still has the data
    struct hdi_transfer *spare;     // in use by nobody, SPARES at most
    unsigned spares;
};

static struct mpi_net *mpi(struct hdi_net *net)
{
    return (struct mpi_net *)net;
}

// Starting and ending ---------------------------------------------------------

#ifndef HDI_SIMULATED

// The process's, as MPI itself is.
static struct {
    pthread_mutex_t lock;
    bool started;
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
static void free_abandoned(struct mpi_net *n);

static void free_transfers(struct hdi_transfer *list)
{
    for (struct hdi_transfer *t = list, *next; t; t = next) {
        next = t->next;
        free(t);
    }
}

// What was abandoned and is not over stays: MPI may touch its memory yet.
static void free_net(struct mpi_net *n)
{
    if (!n)
        return;
    free_transfers(n->spare);
    free_transfers(n->waiting); // they were abandoned
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
    bool room = n->on_machine != NULL;
    for (; room && n->spares < SPARES; n->spares++) {
        struct hdi_transfer *t = calloc(1, sizeof(*t));

        room = t != NULL;
        if (room) {
            t->next = n->spare;
            n->spare = t;
        }
    }
    if (room)
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

    free_abandoned(n);
    MPI_Comm_free(&n->machine);
    MPI_Comm_free(&n->world);
    stop_mpi();
    pthread_mutex_destroy(&n->lock);
    free_net(n);
}

// Messages --------------------------------------------------------------------

// A message that cannot start for lack of memory would leave the other process
// waiting for it, so there are spare transfers. NULL when these are in use,
// too.
static struct hdi_transfer *make_transfer(struct mpi_net *n)
{
    struct hdi_transfer *t = malloc(sizeof(*t));

    if (t)
        return t;
    pthread_mutex_lock(&n->lock);
    t = n->spare;
    if (t) {
        n->spare = t->next;
        n->spares--;
    }
    pthread_mutex_unlock(&n->lock);
    return t;
}

static void free_transfer(struct mpi_net *n, struct hdi_transfer *t)
{
    pthread_mutex_lock(&n->lock);
    if (n->spares < SPARES) {
        n->spares++;
        t->next = n->spare;
        n->spare = t;
        t = NULL;
    }
    pthread_mutex_unlock(&n->lock);
    free(t);
}

// The type and number of elements of a message, which is counted in an int.
static int type_of(uint64_t size, MPI_Datatype *type)
{
    if (size <= LARGE) {
        *type = MPI_BYTE;
        return (int)size;
    }

    MPI_Datatype block;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    int lengths[2] = {(int)(size / BLOCK), (int)(size % BLOCK)};
    MPI_Aint places[2] = {0, (MPI_Aint)(size / BLOCK * BLOCK)};
    MPI_Datatype types[2] = {block, MPI_BYTE};
    MPI_Type_create_struct(2, lengths, places, types, type);
    MPI_Type_commit(type);
    MPI_Type_free(&block);
    return 1;
}

static void free_type(MPI_Datatype *type)
{
    if (*type != MPI_BYTE)
        MPI_Type_free(type);
}

static uint64_t size_of(const MPI_Status *status)
{
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
#ifndef HDI_SIMULATED
    if (count == MPI_UNDEFINED) {
        MPI_Count large;

        MPI_Get_elements_x(status, MPI_BYTE, &large);
        return (uint64_t)large;
    }
#endif
    return (uint64_t)count;
}

static void take(struct mpi_net *n, struct hdi_transfer *t,
                 const MPI_Status *found)
{
    uint64_t size = size_of(found);
    MPI_Datatype type;
    void *data = t->small ? t->room : t->data;

    t->matched = true;
    t->node = (uint32_t)found->MPI_SOURCE;
    t->status = HD_OK;
    uint64_t taken = size;

    if (size > t->size) {
        t->status = HD_ELIMIT;
        t->refused = malloc(size);
        if (t->refused)
            data = t->refused;
        else // MPI cuts it off and calls that an error
            taken = t->size;
    }
    t->size = size;
    int count = type_of(taken, &type);
    if (MPI_Irecv(data, count, type, (int)t->node, (int)t->tag, n->world,
                  &t->request) != MPI_SUCCESS) {
        t->status = HD_EPEER;
        t->done = true;
    }
    free_type(&type);
}

// Whether a message may be for either of two receives.
static bool meet(const struct hdi_transfer *a, const struct hdi_transfer *b)
{
    return a->tag == b->tag && (a->node == b->node || a->node == HDI_ANY_NODE ||
                                b->node == HDI_ANY_NODE);
}

// Whether a message for `t` might belong to a receive before it.
static bool is_behind(const struct mpi_net *n, const struct hdi_transfer *t)
{
    const struct hdi_transfer *o = n->waiting;

    while (o != t && !meet(o, t))
        o = o->next;
    return o != t;
}

// Take what has come for a receive that waits, and for those before it that it
// is behind. Others are not looked at: there may be many. The lock is held.
static void take_up_to(struct mpi_net *n, struct hdi_transfer *last)
{
    struct hdi_transfer **link = &n->waiting;
    bool more = true;

    while (more) {
        struct hdi_transfer *t = *link;
        MPI_Status found;
        int there = 0;

        more = t != last;
        if (meet(t, last) && !is_behind(n, t) &&
            MPI_Iprobe(t->node == HDI_ANY_NODE ? MPI_ANY_SOURCE : (int)t->node,
                       (int)t->tag, n->world, &there, &found) != MPI_SUCCESS) {
            t->status = HD_EPEER;
            t->done = t->matched = true;
        }
        if (there)
            take(n, t, &found);
        if (!t->matched) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        if (t->abandoned) {
            t->next = n->abandoned;
            n->abandoned = t;
        }
    }
}

// Whether a transfer is over; then it is marked as done. The lock is held.
static bool is_over(struct hdi_transfer *t)
{
    int done = 0;

    if (!t->matched || t->done)
        return t->done;
    if (MPI_Test(&t->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        if (t->status == HD_OK)
            t->status = HD_EPEER;
        done = 1;
    }
    t->done = done;
    return done;
}

// Free what was abandoned and is over. The lock is held.
static void free_abandoned(struct mpi_net *n)
{
    struct hdi_transfer **link = &n->abandoned;

    while (*link) {
        struct hdi_transfer *t = *link;

        if (!is_over(t)) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        free(t->memory);
        free(t->refused);
        free(t);
    }
}

// Of a receive that no message has come for MPI knows nothing yet.
static void module_abandon(struct hdi_net *net, struct hdi_transfer *transfer,
                           void *memory)
{
    struct mpi_net *n = mpi(net);

    pthread_mutex_lock(&n->lock);
    bool stays = transfer->matched;
    transfer->abandoned = true;
    if (stays) {
        transfer->memory = memory;
        transfer->next = n->abandoned;
        n->abandoned = transfer;
    } else {
        transfer->small = true;
        transfer->size = sizeof(transfer->room);
    }
    free_abandoned(n);
    pthread_mutex_unlock(&n->lock);
    if (!stays)
        free(memory);
}

// All but its room, which need not be cleared.
static void begin_transfer(struct hdi_transfer *t, uint64_t size)
{
    memset(t, 0, offsetof(struct hdi_transfer, room));
    t->size = size;
    t->small = size <= sizeof(t->room);
}

static hd_status module_send(struct hdi_net *net, uint32_t node, uint32_t tag,
                             const void *data, uint64_t size,
                             struct hdi_transfer **transfer)
{
    struct mpi_net *n = mpi(net);
    MPI_Datatype type;

    if (node >= net->count || tag > INT_MAX)
        return HD_EINVAL;
    struct hdi_transfer *t = make_transfer(n);
    if (!t)
        return HD_ENOMEM;

    begin_transfer(t, size);
    t->matched = true;
    t->node = node;
    t->tag = tag;
    if (t->small && size > 0)
        memcpy(t->room, data, size);
    pthread_mutex_lock(&n->lock);
    int count = type_of(size, &type);
    int result = MPI_Isend(t->small ? t->room : data, count, type, (int)node,
                           (int)tag, n->world, &t->request);
    free_type(&type);
    pthread_mutex_unlock(&n->lock);
    if (result != MPI_SUCCESS) {
        free_transfer(n, t);
        return HD_EPEER;
    }
    *transfer = t;
    return HD_OK;
}

static hd_status module_receive(struct hdi_net *net, uint32_t node,
                                uint32_t tag, void *data, uint64_t capacity,
                                struct hdi_transfer **transfer)
{
    struct mpi_net *n = mpi(net);

    if ((node >= net->count && node != HDI_ANY_NODE) || tag > INT_MAX)
        return HD_EINVAL;
    struct hdi_transfer *t = make_transfer(n);
    if (!t)
        return HD_ENOMEM;

    begin_transfer(t, capacity);
    t->receives = true;
    t->node = node;
    t->tag = tag;
    t->data = data;
    pthread_mutex_lock(&n->lock);
    struct hdi_transfer **link = &n->waiting;
    while (*link)
        link = &(*link)->next;
    *link = t;
    pthread_mutex_unlock(&n->lock);
    *transfer = t;
    return HD_OK;
}

static bool module_test(struct hdi_net *net, struct hdi_transfer *transfer,
                        hd_status *status, struct hdi_message *message)
{
    struct mpi_net *n = mpi(net);

    pthread_mutex_lock(&n->lock);
    if (!transfer->matched)
        take_up_to(n, transfer);
    bool done = is_over(transfer);
    pthread_mutex_unlock(&n->lock);
    if (!done)
        return false;
    if (transfer->receives && transfer->small && transfer->status == HD_OK &&
        transfer->size > 0)
        memcpy(transfer->data, transfer->room, transfer->size);
    *status = transfer->status;
    if (message)
        *message = (struct hdi_message){transfer->node, transfer->size};
    free(transfer->refused);
    free_transfer(n, transfer);
    return true;
}

static void pass_time(unsigned looks)
{
    if (looks < PAUSES)
        hdi_pause();
    else if (looks < PAUSES + YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
}

static hd_status module_wait(struct hdi_net *net, struct hdi_transfer *transfer,
                             struct hdi_message *message)
{
    hd_status status;

    for (unsigned looks = 0; !module_test(net, transfer, &status, message);
         looks++)
        pass_time(looks);
    return status;
}

#ifdef HDI_SIMULATED

// A simulator has no threads that could be held up, and looks cost it time.
static hd_status module_barrier(struct hdi_net *net)
{
    return MPI_Barrier(mpi(net)->world) == MPI_SUCCESS ? HD_OK : HD_EPEER;
}

#else

static hd_status module_barrier(struct hdi_net *net)
{
    struct mpi_net *n = mpi(net);
    MPI_Request request;
    int done = 0;

    pthread_mutex_lock(&n->lock);
    int result = MPI_Ibarrier(n->world, &request);
    pthread_mutex_unlock(&n->lock);
    for (unsigned looks = 0; result == MPI_SUCCESS && !done; looks++) {
        pass_time(looks);
        pthread_mutex_lock(&n->lock);
        result = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&n->lock);
    }
    return result == MPI_SUCCESS ? HD_OK : HD_EPEER;
}

#endif

// Memory ----------------------------------------------------------------------

struct hdi_shared {
    MPI_Win window;
    uint32_t count;
    void *reached[]; // of each node
};

// Whether all nodes of a group of processes have succeeded.
static bool all_have(MPI_Comm comm, bool mine)
{
    int one = mine, all = 0;

    return MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_LAND, comm) ==
               MPI_SUCCESS &&
           all;
}

// Where a node's memory begins; nodes must not begin on one cache line, and an
// implementation may align to less.
static void *find_memory(const struct mpi_net *n, MPI_Win window, uint32_t node)
{
    MPI_Aint size;
    int unit;
    void *memory;

    if (n->on_machine[node] == MPI_UNDEFINED ||
        MPI_Win_shared_query(window, n->on_machine[node], &size, &unit,
                             &memory) != MPI_SUCCESS)
        return NULL;
    return (char *)memory + (LINE - (uintptr_t)memory % LINE) % LINE;
}

#ifdef HDI_SIMULATED

static bool has_disk(uint64_t size)
{
    (void)size;
    return true;
}

#else

// Where the files are that shared memory is of.
static char folder[4096] = "/dev/shm";

static void find_folder(void)
{
#ifdef OPEN_MPI
    int index, count, provided;
    MPI_T_cvar_handle handle;

    if (MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
        return;
    if (MPI_T_cvar_get_index("osc_sm_backing_directory", &index) ==
            MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        if (count <= (int)sizeof(folder))
            MPI_T_cvar_read(handle, folder);
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
#endif
}

// Whether there is room for a file of shared memory. As Open MPI has it: a disk
// without a limit tells a size of 0, and counts as full.
static bool has_disk(uint64_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct statvfs disk;

    pthread_once(&once, find_folder);
    return statvfs(folder, &disk) != 0 || size / disk.f_frsize < disk.f_bavail;
}

#endif

// Whether this process has room for the memory of all of its machine. Asked
// before MPI is: where one process cannot map it, or there is no disk for its
// file, Open MPI leaves the others waiting for it, and MPICH says nothing. For
// one process alone neither makes a file.
static bool has_room(const struct mpi_net *n, uint64_t size)
{
    uint64_t all = 0;
    int processes;

    if (MPI_Comm_size(n->machine, &processes) != MPI_SUCCESS ||
        MPI_Allreduce(&size, &all, 1, MPI_UINT64_T, MPI_SUM, n->machine) !=
            MPI_SUCCESS ||
        all < size || all > SIZE_MAX - ROOM ||
        (processes > 1 && !has_disk(all + ROOM)))
        return false;
    void *memory = mmap(NULL, all + ROOM, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory != MAP_FAILED && munmap(memory, all + ROOM) == 0;
}

// Set memory to zero, by a system call: where the disk is full it fails, a
// store would end the process (SIGBUS).
static bool zero(char *memory, uint64_t size)
{
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    ssize_t came = file < 0 ? -1 : 0;

    for (uint64_t at = 0; came >= 0 && at < size; at += (uint64_t)came) {
        came = read(file, memory + at, size - at < LARGE ? size - at : LARGE);
        if (came < 0 && errno == EINTR)
            came = 0;
        else if (came == 0)
            came = -1;
    }
    if (file >= 0)
        close(file);
    return came >= 0;
}

static hd_status module_share(struct hdi_net *net, uint64_t size,
                              struct hdi_shared **shared)
{
    struct mpi_net *n = mpi(net);
    struct hdi_shared *s =
        malloc(sizeof(*s) + net->count * sizeof(s->reached[0]));
    bool fits = s && size <= INT64_MAX - 2 * LINE;
    void *memory;

    pthread_mutex_lock(&n->lock);
    bool done = all_have(n->world, fits);
    if (done) {
        fits = has_room(n, size + 2 * LINE);
        done = all_have(n->world, fits);
    }
    if (done) {
        int result = MPI_Win_allocate_shared(
            (MPI_Aint)((size + 2 * LINE) / LINE * LINE), 1, MPI_INFO_NULL,
            n->machine, &memory, &s->window);

        memory =
            result == MPI_SUCCESS ? find_memory(n, s->window, net->node) : NULL;
        fits = memory && zero(memory, size);
        if (!all_have(n->world, fits)) {
            if (result == MPI_SUCCESS)
                MPI_Win_free(&s->window);
            done = false;
        }
    }
    for (uint32_t i = 0; done && i < net->count; i++)
        s->reached[i] = find_memory(n, s->window, i);
    pthread_mutex_unlock(&n->lock);
    if (!done) {
        free(s);
        return fits ? HD_EPEER : HD_ENOMEM;
    }
    s->count = net->count;
    *shared = s;
    return HD_OK;
}

static void module_unshare(struct hdi_net *net, struct hdi_shared *shared)
{
    // All are here before any of them holds the lock for this: what goes on
    // beside it may need others to come here.
    module_barrier(net);
    pthread_mutex_lock(&mpi(net)->lock);
    MPI_Win_free(&shared->window);
    pthread_mutex_unlock(&mpi(net)->lock);
    free(shared);
}

static void *module_reach(struct hdi_shared *shared, uint32_t node)
{
    return node < shared->count ? shared->reached[node] : NULL;
}

static const struct hdi_transport transport = {
    .name = "mpi",
    .threads = true,
    .open = module_open,
    .close = module_close,
    .send = module_send,
    .receive = module_receive,
    .test = module_test,
    .wait = module_wait,
    .abandon = module_abandon,
    .barrier = module_barrier,
    .share = module_share,
    .unshare = module_unshare,
    .reach = module_reach,
};

extern HD_API const struct hdi_mpi_module hdi_mpi_module;
const struct hdi_mpi_module hdi_mpi_module = {HDI_MPI_VERSION, &transport};
