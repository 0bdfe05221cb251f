// The self transport: one compute node that only talks to itself. It is the
// shortest correct transport; start a new one from it.
//
// Invariant, under the lock: for one tag, `waiting` holds sends no receive has
// met or receives no send has met, never both, oldest first.
#include "transport/transport.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

extern const struct hdi_transport hdi_transport_self;

struct hdi_transfer {
    struct hdi_transfer *next;
    bool receives, done, abandoned;
    uint32_t tag;
    void *data;       // where to; a send only reads it
    const void *from; // of a send
    uint64_t size;    // of a send: bytes; of a receive: capacity, then bytes
    hd_status status;
};

struct self_net {
    struct hdi_net net;
    pthread_mutex_t lock;
    pthread_cond_t met; // some transfer is done
    struct hdi_transfer *waiting;
};

static struct self_net *self(struct hdi_net *net)
{
    return (struct self_net *)net;
}

static hd_status self_open(struct hdi_net **net, struct hd_error *error)
{
    struct self_net *n = calloc(1, sizeof(*n));
    if (!n)
        return hdi_fail(error, HD_ENOMEM, "no memory for the network");

    n->net = (struct hdi_net){&hdi_transport_self, 0, 1};
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->met, NULL);
    *net = &n->net;
    return HD_OK;
}

static void self_close(struct hdi_net *net)
{
    // Receives that were abandoned.
    for (struct hdi_transfer *t = self(net)->waiting, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    pthread_cond_destroy(&self(net)->met);
    pthread_mutex_destroy(&self(net)->lock);
    free(net);
}

static void deliver(const struct hdi_transfer *send,
                    struct hdi_transfer *receive)
{
    if (send->size > receive->size) {
        receive->status = HD_ELIMIT;
    } else {
        if (send->size > 0)
            memcpy(receive->data, send->from, send->size);
        receive->status = HD_OK;
    }
    receive->size = send->size;
}

// Meet the oldest transfer of the other kind with the same tag, or wait for it.
static void match(struct self_net *net, struct hdi_transfer *transfer)
{
    struct hdi_transfer **link = &net->waiting;

    pthread_mutex_lock(&net->lock);
    while (*link && ((*link)->tag != transfer->tag ||
                     (*link)->receives == transfer->receives))
        link = &(*link)->next;
    struct hdi_transfer *other = *link;
    if (other) {
        *link = other->next;
        deliver(other->receives ? transfer : other,
                other->receives ? other : transfer);
        other->done = transfer->done = true;
        if (other->abandoned)
            free(other);
        pthread_cond_broadcast(&net->met);
    } else {
        *link = transfer; // the end of the list
    }
    pthread_mutex_unlock(&net->lock);
}

static hd_status start(struct hdi_net *net, struct hdi_transfer content,
                       struct hdi_transfer **transfer)
{
    struct hdi_transfer *t = malloc(sizeof(*t));
    if (!t)
        return HD_ENOMEM;

    *t = content;
    match(self(net), t);
    *transfer = t;
    return HD_OK;
}

static hd_status self_send(struct hdi_net *net, uint32_t node, uint32_t tag,
                           const void *data, uint64_t size,
                           struct hdi_transfer **transfer)
{
    if (node != 0)
        return HD_EINVAL;
    return start(net,
                 (struct hdi_transfer){.tag = tag, .from = data, .size = size},
                 transfer);
}

static hd_status self_receive(struct hdi_net *net, uint32_t node, uint32_t tag,
                              void *data, uint64_t capacity,
                              struct hdi_transfer **transfer)
{
    if (node != 0 && node != HDI_ANY_NODE)
        return HD_EINVAL;
    return start(
        net,
        (struct hdi_transfer){
            .receives = true, .tag = tag, .data = data, .size = capacity},
        transfer);
}

static hd_status finish(struct hdi_transfer *transfer,
                        struct hdi_message *message)
{
    hd_status status = transfer->status;

    if (message)
        *message = (struct hdi_message){0, transfer->size};
    free(transfer);
    return status;
}

static bool self_test(struct hdi_net *net, struct hdi_transfer *transfer,
                      hd_status *status, struct hdi_message *message)
{
    pthread_mutex_lock(&self(net)->lock);
    bool done = transfer->done;
    pthread_mutex_unlock(&self(net)->lock);
    if (done)
        *status = finish(transfer, message);
    return done;
}

static hd_status self_wait(struct hdi_net *net, struct hdi_transfer *transfer,
                           struct hdi_message *message)
{
    struct self_net *n = self(net);

    pthread_mutex_lock(&n->lock);
    while (!transfer->done)
        pthread_cond_wait(&n->met, &n->lock);
    pthread_mutex_unlock(&n->lock);
    return finish(transfer, message);
}

// A receive stays for its message, which then is lost. A send that nobody has
// met is taken back: its data may go.
static void self_abandon(struct hdi_net *net, struct hdi_transfer *transfer,
                         void *memory)
{
    struct self_net *n = self(net);
    struct hdi_transfer **link = &n->waiting;

    pthread_mutex_lock(&n->lock);
    while (*link && *link != transfer)
        link = &(*link)->next;
    bool stays = *link && transfer->receives;
    if (stays) {
        transfer->abandoned = true;
        transfer->size = 0;
    } else if (*link) {
        *link = transfer->next;
    }
    pthread_mutex_unlock(&n->lock);
    if (!stays)
        free(transfer);
    free(memory);
}

static hd_status self_barrier(struct hdi_net *net)
{
    (void)net;
    return HD_OK;
}

struct hdi_shared {
    void *memory;
    uint64_t size;
};

static hd_status self_share(struct hdi_net *net, uint64_t size,
                            struct hdi_shared **shared)
{
    struct hdi_shared *s = malloc(sizeof(*s));

    (void)net;
    if (!s)
        return HD_ENOMEM;
    s->size = size;
    s->memory = size <= SIZE_MAX ? hdi_map(size) : NULL;
    if (!s->memory) {
        free(s);
        return HD_ENOMEM;
    }
    *shared = s;
    return HD_OK;
}

static void self_unshare(struct hdi_net *net, struct hdi_shared *shared)
{
    (void)net;
    hdi_unmap(shared->memory, shared->size);
    free(shared);
}

static void *self_reach(struct hdi_shared *shared, uint32_t node)
{
    return node == 0 ? shared->memory : NULL;
}

static void self_describe(struct hdi_text *text)
{
    hdi_text_print(text, "one process, and nodes within it");
}

const struct hdi_transport hdi_transport_self = {
    .name = "self",
    .threads = true,
    .describe = self_describe,
    .open = self_open,
    .close = self_close,
    .send = self_send,
    .receive = self_receive,
    .test = self_test,
    .wait = self_wait,
    .abandon = self_abandon,
    .barrier = self_barrier,
    .share = self_share,
    .unshare = self_unshare,
    .reach = self_reach,
};
