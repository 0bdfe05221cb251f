// Memory that the processes of a machine share, of the mpi transport. All ask
// for it together, and get it together or not at all.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "transport/mpi/net.h"

enum {
    LINE = 64,       // of the cache [bytes]
    LARGE = 1 << 30, // read at a time [bytes]
    ROOM = 1 << 20   // what an implementation needs beside [bytes]
};

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

hd_status memory_share(struct hdi_net *net, uint64_t size,
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

void memory_unshare(struct hdi_net *net, struct hdi_shared *shared)
{
    // All are here before any of them holds the lock for this: what goes on
    // beside it may need others to come here.
    message_barrier(net);
    pthread_mutex_lock(&mpi(net)->lock);
    MPI_Win_free(&shared->window);
    pthread_mutex_unlock(&mpi(net)->lock);
    free(shared);
}

void *memory_reach(struct hdi_shared *shared, uint32_t node)
{
    return node < shared->count ? shared->reached[node] : NULL;
}
