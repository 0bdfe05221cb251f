// A queue of work-groups waiting for dispatch: first in, first out,
// only the head takes part.
//
// A packet holds equal groups of one process; a channel may carry several
// processes. Room is fixed when the channel is made: a full channel refuses.
#ifndef HDI_DISPATCH_MODEL_CHANNEL_H
#define HDI_DISPATCH_MODEL_CHANNEL_H

#include "dispatch/model/need.h"

// By value: nothing of the submitter's is kept but `tag` and `prefer`.
struct hdi_packet {
    struct hdi_need need;
    uint32_t groups;
    uint32_t process;
    uint64_t tag;      // the submitter's own; comes back with every decision
    uint64_t expected; // run time of a group [cycles]; 0: not known
    int64_t prefer;    // the submitter's own: of equals the largest goes first
};

// One packet, or the pieces of one of its groups.
struct hdi_channel_entry {
    struct hdi_packet packet;
    uint64_t arrived;   // [cycles]
    uint64_t serial;    // of the submission
    uint32_t next;      // group that is the head; of pieces: the split group
    uint32_t waiting;   // groups, or pieces, not yet sent
    uint32_t piece;     // index of the next piece
    uint32_t pieces;    // 0: not split
    uint32_t share;     // hdi_need_share()
    uint64_t ran, runs; // measured [cycles] and how often
    uint64_t mean;      // of those
};

enum {
    HDI_FRONT = 2 // places kept for the pieces of one split head
};

// The ring of entries:
//
//     entries   ... | pieces | pieces | packet | packet | free | free ...
//                     head                                ^ head + count
struct hdi_channel {
    struct hdi_channel_entry *entries; // ring
    uint32_t capacity; // power of two, more than room + HDI_FRONT
    uint32_t room;     // packets
    uint32_t head, count;
    uint64_t waiting;      // groups and pieces
    const uint16_t *split; // its copy of the table
};

static inline struct hdi_channel_entry *hdi_channel_head(
    struct hdi_channel *channel)
{
    return channel->count == 0
               ? (struct hdi_channel_entry *)0
               : &channel->entries[channel->head & (channel->capacity - 1)];
}

// False when it is full.
bool hdi_channel_push(struct hdi_channel *channel,
                      const struct hdi_channel_entry *entry);

// The head group has been sent. True when another entry, or none, is the head;
// equal groups of one need the same.
static inline bool hdi_channel_pop(struct hdi_channel *channel)
{
    struct hdi_channel_entry *head =
        &channel->entries[channel->head & (channel->capacity - 1)];

    channel->waiting--;
    if (--head->waiting == 0) {
        channel->head++;
        channel->count--;
        return true;
    }
    if (head->pieces > 0)
        head->piece++;
    else
        head->next++;
    return false;
}

// Replace the head group by pieces of at most `waves` waves and priority
// `lowest`, at the front and in order. False when it is not independent or
// no larger than a piece.
bool hdi_channel_split(struct hdi_channel *channel, uint16_t waves,
                       uint8_t lowest);

static inline bool hdi_channel_can_split(struct hdi_channel *channel,
                                         uint16_t waves)
{
    const struct hdi_channel_entry *head = hdi_channel_head(channel);

    return head && head->packet.need.independent &&
           head->packet.need.waves > waves;
}

#endif
