// The contract between Heddle and a kind of network.
//
// A transport is one folder that defines one `const struct hdi_transport`, its
// only global symbol. It carries messages between the compute nodes of one
// program, numbered 0 to count - 1. It holds no global state: a simulated
// cluster has a thousand nodes in one process.
//
// open() may give a net of another transport, that of a module. So a transport
// in the list has the members before close(), and that of a net all others.
//
// Messages from one node to another with the same tag arrive in the order they
// were sent. Nothing blocks but wait() and barrier(). A node may send to
// itself. The other node waits for a message that did not start, so between
// processes a few dozen at a time start even where memory is short.
//
// Who may call at the same time: anything but open, close and barrier, from any
// thread, when `threads` is set; else one call at a time per net.
#ifndef HDI_TRANSPORT_TRANSPORT_H
#define HDI_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

struct hdi_text;
struct hdi_transport;

// A transport's own structure begins with this.
struct hdi_net {
    const struct hdi_transport *transport;
    uint32_t node, count; // this node; all nodes
};

struct hdi_transfer; // a message under way, defined by the transport
struct hdi_shared;   // memory that others may reach, the same

#define HDI_ANY_NODE UINT32_MAX
#define HDI_MAX_TAG  ((1 << 22) - 1) // of a message
#define HDI_SMALL    512             // see abandon() [bytes]

struct hdi_message {
    uint32_t node; // whom it came from
    uint64_t size; // [bytes]
};

struct hdi_transport {
    const char *name; // "self"; also the folder
    bool threads;     // see above

    // Write a few words for the user: what may be reached with it here. Asked
    // of those that hdi_transports() gives.
    void (*describe)(struct hdi_text *text);

    // HD_ENODEV when the program was not started with this network. All nodes
    // open it together, and fail together where one has no memory.
    hd_status (*open)(struct hdi_net **net, struct hd_error *error);
    // Every message must have been received and every transfer waited for, or
    // abandoned.
    void (*close)(struct hdi_net *net);

    // Start to send; `data` stays the transport's until the transfer is done.
    hd_status (*send)(struct hdi_net *net, uint32_t node, uint32_t tag,
                      const void *data, uint64_t size,
                      struct hdi_transfer **transfer);

    // Start to receive from `node`, or HDI_ANY_NODE, up to `capacity` [bytes].
    // A longer message fails with HD_ELIMIT and is lost to this receive only.
    hd_status (*receive)(struct hdi_net *net, uint32_t node, uint32_t tag,
                         void *data, uint64_t capacity,
                         struct hdi_transfer **transfer);

    // Done yet? When it returns true the transfer is freed and `*status` and,
    // for a receive, `*message` are set. `message` may be NULL.
    bool (*test)(struct hdi_net *net, struct hdi_transfer *transfer,
                 hd_status *status, struct hdi_message *message);

    // Block until test() would be true. HD_EPEER when the other node is lost.
    hd_status (*wait)(struct hdi_net *net, struct hdi_transfer *transfer,
                      struct hdi_message *message);

    // Give a transfer up: what is sent may come or not, and what comes for a
    // receive is taken in its turn, and lost. `memory`, from malloc(), is what
    // the data lies in; it is freed when no message can touch it. NULL: the
    // data stays as long as the net, or is of at most HDI_SMALL bytes; then it
    // is touched no more when this returns.
    void (*abandon)(struct hdi_net *net, struct hdi_transfer *transfer,
                    void *memory);

    // All nodes have entered it when it returns.
    hd_status (*barrier)(struct hdi_net *net);

    // Get `size` [bytes], which may differ between nodes and be 0, of zeroed
    // memory that other nodes of the same machine reach as well; C11 atomics
    // work in it. All nodes call it, and give it back, in the same order.
    // It fails on all nodes when one has none, there with HD_ENOMEM, on others
    // with HD_EPEER.
    hd_status (*share)(struct hdi_net *net, uint64_t size,
                       struct hdi_shared **shared);
    void (*unshare)(struct hdi_net *net, struct hdi_shared *shared);

    // The address here of another node's memory, or this one's; NULL when it is
    // on another machine.
    void *(*reach)(struct hdi_shared *shared, uint32_t node);
};

// The transports of this build, in folder order. Never NULL.
const struct hdi_transport *const *hdi_transports(size_t *count);

#endif
