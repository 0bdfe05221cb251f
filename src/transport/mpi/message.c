// Messages of the mpi transport. One is taken only when it is there: receives
// wait in a list, in the order in which they were asked for, and whoever looks
// at any transfer takes what has come for all of them. So a message that is too
// long is known before it is taken, and nothing waits inside of MPI with the
// lock held.
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pause.h"
#include "transport/mpi/net.h"

enum {
    LARGE = 1 << 30, // messages above consist of blocks [bytes]
    BLOCK = 1 << 20, // [bytes]
    PAUSES = 2000,   // looks before the processor is given to others
    YIELDS = 2000,   // and before it is left for a while
    NAP = 20000,     // [ns]
    SPARES = 64      // transfers for when memory is short, at most
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

static void free_transfers(struct hdi_transfer *list)
{
    for (struct hdi_transfer *t = list, *next; t; t = next) {
        next = t->next;
        free(t);
    }
}

void message_close(struct mpi_net *n)
{
    free_transfers(n->spare);
    free_transfers(n->waiting); // they were abandoned
}

bool message_open(struct mpi_net *n)
{
    for (; n->spares < SPARES; n->spares++) {
        struct hdi_transfer *t = calloc(1, sizeof(*t));

        if (!t)
            return false;
        t->next = n->spare;
        n->spare = t;
    }
    return true;
}

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

void message_clear(struct mpi_net *n)
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
void message_abandon(struct hdi_net *net, struct hdi_transfer *transfer,
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
    message_clear(n);
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

hd_status message_send(struct hdi_net *net, uint32_t node, uint32_t tag,
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

hd_status message_receive(struct hdi_net *net, uint32_t node, uint32_t tag,
                          void *data, uint64_t capacity,
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

bool message_test(struct hdi_net *net, struct hdi_transfer *transfer,
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

hd_status message_wait(struct hdi_net *net, struct hdi_transfer *transfer,
                       struct hdi_message *message)
{
    hd_status status;

    for (unsigned looks = 0; !message_test(net, transfer, &status, message);
         looks++)
        pass_time(looks);
    return status;
}

#ifdef HDI_SIMULATED

// A simulator has no threads that could be held up, and looks cost it time.
hd_status message_barrier(struct hdi_net *net)
{
    return MPI_Barrier(mpi(net)->world) == MPI_SUCCESS ? HD_OK : HD_EPEER;
}

#else

hd_status message_barrier(struct hdi_net *net)
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
