// Moving along a route: direct copies from memory that is reached, messages of
// limited size for the rest.
//
// In step k every process sends to the k-th process behind it and receives from
// the k-th before it. A few steps are under way at a time, each with two
// messages in either direction. Whichever step is the earliest under way
// anywhere, both of its processes are at it, so it goes on: nothing is stuck.
// So a process without memory goes through all steps too: it sends messages
// without bytes, and takes others' without looking.
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "field/moving/moving.h"

enum {
    STEPS = HDI_MOVING_STEPS,
    IN_FLIGHT = HDI_MOVING_IN_FLIGHT
};

// Keep the first failure, and go on.
static void note(struct hdi_moving *m, hd_status status, const char *text,
                 uint32_t process)
{
    if (m->status == HD_OK)
        m->status = hdi_fail(m->error, status, text, process);
}

// The first move of a sorted list that is with a node, or with one behind it.
static size_t first_with(const struct hdi_moves *moves, bool sends,
                         uint32_t node)
{
    size_t low = 0, high = moves->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct hdi_move *move = &moves->list[middle];

        if ((sends ? move->to : move->from) < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The moves between two processes go by target node, then source node, on both
// sides: find the one to go on with.
// Lists of moves are sorted by nodes (plan.h), so those of one pair lie
// together and are found by bisection, once for each pair.
static const struct hdi_move *next_move(struct hdi_moving *m,
                                        struct hdi_moving_stream *s)
{
    uint32_t here = m->cluster->here;

    for (; s->pair < (uint64_t)here * here; s->pair++, s->found = false) {
        uint32_t target = (uint32_t)(s->pair / here);
        uint32_t source = (uint32_t)(s->pair % here);
        uint32_t other = s->peer * here + (s->sends ? target : source);
        const struct hdi_moves *moves = &s->moves[s->sends ? source : target];

        if (!s->found)
            s->at = first_with(moves, s->sends, other);
        s->found = true;
        if (s->at < moves->count &&
            (s->sends ? moves->list[s->at].to : moves->list[s->at].from) ==
                other)
            return &moves->list[s->at];
    }
    return NULL;
}

// Both sides cut moves by the same `piece`, so the n-th message of a stream is
// the same part for sender and receiver, and no message says what it is.
static bool next_part(struct hdi_moving *m, struct hdi_moving_stream *s,
                      const struct hdi_move **move,
                      struct hdi_part_of_move *part)
{
    unsigned rank = m->target->map->grid.rank;

    for (;;) {
        *move = next_move(m, s);
        if (!*move)
            return false;
        if (!s->inside)
            s->part = (struct hdi_part_of_move){{0}, {0}};
        s->inside = hdi_move_next(*move, rank, (int64_t)(m->piece / m->element),
                                  &s->part);
        if (s->inside) {
            *part = s->part;
            return true;
        }
        s->at++;
    }
}

// Without memory a message is still sent or received, empty: the other side
// counts messages.
static hd_status start(struct hdi_moving *m, struct hdi_moving_stream *s,
                       struct hdi_stream_message *msg)
{
    const struct hdi_transport *transport = m->cluster->transport;
    const struct hdi_store *store;

    if (s->ended || !next_part(m, s, &msg->move, &msg->part)) {
        s->ended = true;
        return HD_OK;
    }
    msg->size = (uint64_t)hdi_part_size(&msg->part, m->target->map->grid.rank) *
                m->element;
    if (!msg->data)
        msg->data = hdi_cluster_scratch(m->cluster, m->piece);
    msg->broken = !msg->data;
    if (s->sends && !msg->broken) {
        char *memory = hdi_field_memory(m->source, msg->move->from, &store);

        msg->broken =
            !memory || !hdi_move_pack(m->route->plan, msg->move, &msg->part,
                                      m->element, store, memory, msg->data);
    }
    if (msg->broken) {
        note(m, HD_ENOMEM, "no memory for messages with process %" PRIu32,
             s->peer);
        msg->size = 0;
    }
    // Without bytes the address does not matter.
    void *data = msg->data ? msg->data : m;
    return s->sends ? transport->send(m->cluster->net, s->peer, m->tag, data,
                                      msg->size, &msg->transfer)
                    : transport->receive(m->cluster->net, s->peer, m->tag, data,
                                         msg->size, &msg->transfer);
}

// A size that differs is that of a sender without memory: nothing else sends
// other sizes.
static void finish(struct hdi_moving *m, struct hdi_moving_stream *s,
                   struct hdi_stream_message *msg, uint64_t size)
{
    const struct hdi_store *store;

    if (s->sends || msg->broken)
        return;
    if (size != msg->size) {
        note(m, HD_ENOMEM, "process %" PRIu32 " had no memory for messages",
             s->peer);
        return;
    }
    char *memory = hdi_field_memory(m->target, msg->move->to, &store);
    if (!memory || !hdi_move_unpack(m->route->plan, msg->move, &msg->part,
                                    m->element, store, msg->data, memory))
        note(m, HD_ENOMEM, "no memory for messages with process %" PRIu32,
             s->peer);
    hdi_cluster_count(m->cluster, &(struct hd_cluster_counters){
                                      .received = msg->size, .messages = 1});
}

// Start what can be and finish what is done. `*busy`: something is under way;
// `*moved`: something happened.
// First what has ended, in order, then new ones in the free slots: so a slot is
// filled as soon as it is free.
static hd_status advance(struct hdi_moving *m, struct hdi_moving_stream *s,
                         bool *busy, bool *moved)
{
    const struct hdi_transport *transport = m->cluster->transport;

    for (;;) {
        struct hdi_stream_message *msg = &s->message[s->oldest];
        struct hdi_message came = {0, 0};
        hd_status status;

        if (!msg->transfer)
            break;
        if (!transport->test(m->cluster->net, msg->transfer, &status, &came)) {
            *busy = true;
            break;
        }
        msg->transfer = NULL;
        if (status != HD_OK && !msg->broken)
            return hdi_fail(m->error, status,
                            "a message with process %" PRIu32 " failed: %s",
                            s->peer, hd_status_text(status));
        finish(m, s, msg, came.size);
        s->oldest = (s->oldest + 1) % IN_FLIGHT;
        *moved = true;
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        struct hdi_stream_message *msg =
            &s->message[(s->oldest + i) % IN_FLIGHT];

        if (msg->transfer)
            continue;
        HDI_TRY(start(m, s, msg));
        if (!msg->transfer)
            break;
        *busy = *moved = true;
    }
    return HD_OK;
}

// Buffers of the step before in this slot are used again.
static void begin_stream(struct hdi_moving *m, struct hdi_moving_stream *s,
                         uint32_t step, bool sends)
{
    uint32_t count = m->cluster->net->count, me = m->cluster->net->node;

    s->peer = sends ? (me + step) % count : (me + count - step) % count;
    s->sends = sends;
    // What is reached is copied, not sent.
    s->ended = hdi_field_reaches(m->source, s->peer * m->cluster->here);
    s->inside = s->found = false;
    s->pair = 0;
    s->moves = sends ? m->route->from : m->route->to;
}

// A slot whose step is over takes the next step in the next call.
bool hdi_moving_step(struct hdi_moving *m, bool *moved, hd_status *status)
{
    uint32_t count = m->cluster->net->count;
    bool any = false;

    *status = HD_OK;
    for (unsigned k = 0; k < STEPS; k++) {
        bool busy = false;

        if (!m->running[k] && m->next < count) {
            m->running[k] = m->next++;
            begin_stream(m, &m->stream[k][0], m->running[k], true);
            begin_stream(m, &m->stream[k][1], m->running[k], false);
        }
        if (!m->running[k])
            continue;
        *status = advance(m, &m->stream[k][1], &busy, moved);
        if (*status == HD_OK)
            *status = advance(m, &m->stream[k][0], &busy, moved);
        if (*status != HD_OK)
            return true;
        if (!busy)
            m->running[k] = 0;
        any = true;
    }
    *status = m->status;
    return !any;
}

uint32_t hdi_moving_peer(const struct hdi_moving *m)
{
    unsigned earliest = 0;

    for (unsigned k = 1; k < STEPS; k++)
        if (m->running[k] &&
            (!m->running[earliest] || m->running[k] < m->running[earliest]))
            earliest = k;
    return m->stream[earliest][1].peer;
}

// Begins with the nodes behind this one so that not all read from the same.
// `n` counts nodes here from 0. What is not reached comes by messages; it is
// counted here all the same, since `moved` means both.
hd_status hdi_moving_copy(const struct hdi_moving *m, uint32_t n,
                          struct hd_error *error)
{
    uint32_t first = hdi_cluster_first(m->cluster);
    const struct hdi_moves *moves = &m->route->to[n];
    struct hd_cluster_counters counted = {0};
    hd_status status = HD_OK;
    size_t begin = 0;

    while (begin < moves->count && moves->list[begin].from <= first + n)
        begin++;
    for (size_t i = 0; status == HD_OK && i < moves->count; i++) {
        const struct hdi_move *move = &moves->list[(begin + i) % moves->count];
        const struct hdi_store *from, *to;

        if (move->from != move->to)
            counted.moved += (uint64_t)move->size * m->element;
        if (!hdi_field_reaches(m->source, move->from))
            continue;
        const char *source = hdi_field_memory(m->source, move->from, &from);
        char *target = hdi_field_memory(m->target, move->to, &to);
        if (source && target)
            hdi_move_copy(m->route->plan, move, m->element, from, source, to,
                          target);
        else
            status = hdi_fail(error, HD_ENOMEM,
                              "no memory to find what process %" PRIu32 " has",
                              hdi_cluster_process_of(m->cluster, move->from));
    }
    hdi_cluster_count(m->cluster, &counted);
    return status;
}

void hdi_moving_begin(struct hdi_moving *m, struct hd_field *target,
                      struct hd_field *source, const struct hdi_route *route,
                      uint32_t tag, struct hd_error *error)
{
    uint64_t piece = target->cluster->piece;

    *m = (struct hdi_moving){.target = target,
                             .source = source,
                             .route = route,
                             .cluster = target->cluster,
                             .tag = tag,
                             .element = target->element,
                             .piece = piece > target->element ? piece
                                                              : target->element,
                             .next = 1,
                             .error = error};
}

void hdi_moving_end(struct hdi_moving *m)
{
    for (unsigned k = 0; k < STEPS; k++)
        for (unsigned d = 0; d < 2; d++)
            for (unsigned i = 0; i < IN_FLIGHT; i++) {
                struct hdi_stream_message *msg = &m->stream[k][d].message[i];

                hdi_cluster_scratch_done(m->cluster, msg->data, m->piece);
                hdi_cluster_abandon(m->cluster, &msg->transfer, msg->data);
            }
}
