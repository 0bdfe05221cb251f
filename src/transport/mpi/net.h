// The parts of a module of the mpi transport: messages and shared memory. What
// they are to do is said in transport.h.
#ifndef HDI_TRANSPORT_MPI_NET_H
#define HDI_TRANSPORT_MPI_NET_H

#include <mpi.h>
#include <pthread.h>

#include "transport/transport.h"

// The lock makes one call to MPI at a time.
struct mpi_net {
    struct hdi_net net;
    MPI_Comm world, machine;
    int *on_machine; // rank of each node in `machine`, or MPI_UNDEFINED
    pthread_mutex_t lock;
    struct hdi_transfer *waiting;   // oldest first
    struct hdi_transfer *abandoned; // of which MPI still has the data
    struct hdi_transfer *spare;     // in use by nobody
    unsigned spares;
};

static inline struct mpi_net *mpi(struct hdi_net *net)
{
    return (struct mpi_net *)net;
}

// Transfers for when memory is short. False: it is, now.
bool message_open(struct mpi_net *n);

// No call to MPI: it may have ended. What was abandoned and is not over stays,
// as MPI may touch its memory yet.
void message_close(struct mpi_net *n);

// Free what was abandoned and is over. With the lock, or alone.
void message_clear(struct mpi_net *n);

hd_status message_send(struct hdi_net *net, uint32_t node, uint32_t tag,
                       const void *data, uint64_t size,
                       struct hdi_transfer **transfer);
hd_status message_receive(struct hdi_net *net, uint32_t node, uint32_t tag,
                          void *data, uint64_t capacity,
                          struct hdi_transfer **transfer);
bool message_test(struct hdi_net *net, struct hdi_transfer *transfer,
                  hd_status *status, struct hdi_message *message);
hd_status message_wait(struct hdi_net *net, struct hdi_transfer *transfer,
                       struct hdi_message *message);
void message_abandon(struct hdi_net *net, struct hdi_transfer *transfer,
                     void *memory);
hd_status message_barrier(struct hdi_net *net);

hd_status memory_share(struct hdi_net *net, uint64_t size,
                       struct hdi_shared **shared);
void memory_unshare(struct hdi_net *net, struct hdi_shared *shared);
void *memory_reach(struct hdi_shared *shared, uint32_t node);

#endif
