#include "field/whole/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

// The receive is opened first, so that two processes that swap do not wait for
// each other. Waits for both, also after a failure of one.
hd_status hdi_cluster_swap(struct hd_cluster *cluster, uint32_t to,
                           const void *data, uint64_t size, uint32_t from,
                           void *buffer, uint64_t room, struct hd_error *error)
{
    const struct hdi_transport *t = cluster->transport;
    struct hdi_transfer *send, *receive;
    hd_status status =
        t->receive(cluster->net, from, HDI_TAG_AGREE, buffer, room, &receive);

    if (status == HD_OK) {
        status = t->send(cluster->net, to, HDI_TAG_AGREE, data, size, &send);
        if (status != HD_OK)
            hdi_cluster_abandon(cluster, &receive, NULL);
    }
    if (status != HD_OK)
        return hdi_fail(error, status, "values cannot be exchanged");
    status = hdi_cluster_wait(cluster, receive, from, error);
    bool lost = status == HD_EPEER;
    hd_status sent = hdi_cluster_wait(cluster, send, to, lost ? NULL : error);
    return lost || sent == HD_OK ? status : sent;
}

// What a process holds on the way: parcel d is for the process d after it, and
// in the end the one that the process d before it gave. Where memory is short
// all become empty, so that the others do not wait for them.
// Invariant: `bytes` holds sum of `size` bytes, parcel by parcel.
struct parcels {
    char *bytes;           // one after another
    uint64_t *size;        // of each
    uint64_t *sent, *come; // room for the sizes of a message
    uint32_t count;
    bool lost;  // memory was short
    bool stays; // messages with `sent` and `come` may be under way for good
};

static uint64_t sum_of(const uint64_t *size, uint32_t count)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += size[i];
    return sum;
}

// Take the parcels out whose number has `bit`: `*count` of them.
// The caller's to free; NULL when memory is short, but `*count` is right.
static char *pack(struct parcels *p, uint32_t bit, uint32_t *count)
{
    uint64_t size = 0;

    *count = 0;
    for (uint32_t d = 0; d < p->count; d++)
        if (d & bit)
            size += p->sent[(*count)++] = p->size[d];
    char *out = malloc(size + 1), *to = out;
    if (!out)
        return NULL;

    const char *from = p->bytes;
    for (uint32_t d = 0; d < p->count; from += p->size[d++])
        if (d & bit) {
            memcpy(to, from, p->size[d]);
            to += p->size[d];
        }
    return out;
}

// Put those that have come in their places.
// False leaves the parcels as they were.
static bool unpack(struct parcels *p, uint32_t bit, const char *in,
                   uint32_t count)
{
    uint64_t size = sum_of(p->size, p->count) - sum_of(p->sent, count) +
                    sum_of(p->come, count);
    char *bytes = malloc(size + 1), *to = bytes;
    if (!bytes)
        return false;

    const char *from = p->bytes;
    for (uint32_t d = 0, k = 0; d < p->count; d++) {
        uint64_t had = p->size[d];

        if (d & bit) {
            p->size[d] = p->come[k++];
            memcpy(to, in, p->size[d]);
            in += p->size[d];
        } else {
            memcpy(to, from, had);
        }
        to += p->size[d];
        from += had;
    }
    free(p->bytes);
    p->bytes = bytes;
    return true;
}

static void lose(struct parcels *p)
{
    p->lost = true;
    memset(p->size, 0, p->count * sizeof(*p->size));
}

// Give the parcels whose number has `bit` to the process that far behind this
// one.
// Two swaps, sizes first: who receives must know how much memory it needs.
// Without memory it still takes part, with empty parcels, or the other would
// wait.
static hd_status pass(struct hd_cluster *cluster, struct parcels *p,
                      uint32_t bit, struct hd_error *error)
{
    uint32_t me = cluster->net->node, count;
    uint32_t to = (uint32_t)(((uint64_t)me + bit) % p->count);
    uint32_t from = (me + p->count - bit) % p->count;
    char *out = pack(p, bit, &count);

    if (!out) {
        lose(p);
        memset(p->sent, 0, count * sizeof(*p->sent));
    }
    hd_status status =
        hdi_cluster_swap(cluster, to, p->sent, count * sizeof(*p->sent), from,
                         p->come, count * sizeof(*p->come), error);
    if (status == HD_OK) {
        uint64_t size = sum_of(p->come, count);
        char *in = malloc(size + 1), none;

        // Without memory it is received all the same, and lost.
        status = hdi_cluster_swap(cluster, to, out ? out : &none,
                                  sum_of(p->sent, count), from, in ? in : &none,
                                  in ? size : 0, error);
        if (!in && status == HD_ELIMIT)
            status = HD_OK;
        if (status == HD_OK && (!in || !unpack(p, bit, in, count)))
            lose(p);
        if (status != HD_EPEER)
            free(in);
    }
    p->stays = status == HD_EPEER;
    if (!p->stays)
        free(out);
    return status;
}

// Begin with what is for the others, by how far they are.
// Turned around, so that what is for oneself comes first, parcel 0.
static void set_out(struct parcels *p, const char *data, const uint64_t *size,
                    uint32_t me)
{
    uint64_t before = sum_of(size, me), all = sum_of(size, p->count);

    memcpy(p->bytes, data + before, all - before);
    memcpy(p->bytes + all - before, data, before);
    memcpy(p->size, size + me, (p->count - me) * sizeof(*size));
    memcpy(p->size + p->count - me, size, me * sizeof(*size));
}

// End with what came from them, in their order: parcel d is that of process
// me - d, so they are in the opposite one, from parcel `me` on.
static void settle(const struct parcels *p, uint32_t me, char *received,
                   uint64_t *sizes)
{
    const char *end = p->bytes + sum_of(p->size, me + 1);

    for (uint32_t s = 0; s < p->count; s++) {
        uint32_t d = (uint32_t)(((uint64_t)me + p->count - s) % p->count);

        if (s == me + 1)
            end = p->bytes + sum_of(p->size, p->count);
        end -= p->size[d];
        sizes[s] = p->size[d];
        memcpy(received, end, p->size[d]);
        received += p->size[d];
    }
}

// Each parcel goes the way that the binary digits of its distance say (Bruck
// and others, IEEE Transactions on Parallel and Distributed Systems 8(11),
// 1997).
hd_status hdi_cluster_exchange(struct hd_cluster *cluster, const char *data,
                               const uint64_t *size, char **received,
                               uint64_t *sizes, struct hd_error *error)
{
    uint32_t count = cluster->net->count, me = cluster->net->node;
    struct parcels p = {.count = count,
                        .bytes = malloc(sum_of(size, count) + 1),
                        .size = malloc(count * sizeof(*size)),
                        .sent = malloc(count * sizeof(*size)),
                        .come = malloc(count * sizeof(*size))};
    hd_status status =
        p.bytes && p.size && p.sent && p.come
            ? HD_OK
            : hdi_fail(error, HD_ENOMEM, "no memory to exchange values");

    *received = NULL;
    status = hdi_cluster_agree(cluster, "exchange", 0, status, error);
    if (status == HD_OK) {
        set_out(&p, data, size, me);
        for (uint64_t bit = 1; status == HD_OK && bit < count; bit *= 2)
            status = pass(cluster, &p, (uint32_t)bit, error);
        *received = malloc(sum_of(p.size, count) + 1);
        if (status == HD_OK && (p.lost || !*received))
            status = hdi_fail(error, HD_ENOMEM, "no memory to exchange values");
        status = hdi_cluster_agree(cluster, "exchange: end", 0, status, error);
        if (status == HD_OK)
            settle(&p, me, *received, sizes);
    }
    if (status != HD_OK) {
        free(*received);
        *received = NULL;
    }
    free(p.bytes);
    free(p.size);
    if (!p.stays) {
        free(p.sent);
        free(p.come);
    }
    return status;
}
