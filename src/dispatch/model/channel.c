// Invariant: entries head .. head + count - 1 (as ring places) each have
// waiting > 0. Pieces are never split again, so at most one split group, two
// entries, stands before what was submitted.
#include "dispatch/model/channel.h"

static struct hdi_channel_entry *entry_at(struct hdi_channel *channel,
                                          uint32_t place)
{
    return &channel->entries[place & (channel->capacity - 1)];
}

bool hdi_channel_push(struct hdi_channel *channel,
                      const struct hdi_channel_entry *entry)
{
    if (channel->count >= channel->room)
        return false;
    *entry_at(channel, channel->head + channel->count) = *entry;
    channel->count++;
    channel->waiting += entry->waiting;
    return true;
}

// The head group, of 10 waves, in pieces of 4:
//
//     before   | 10 waves           | the other groups ...
//     after    | 4 waves, 2 waiting | 2 waves, 1 waiting | the other groups ...
//                pieces 0 and 1       piece 2
//
// It takes two places more at most: those that HDI_FRONT keeps.
bool hdi_channel_split(struct hdi_channel *channel, uint16_t waves,
                       uint8_t lowest)
{
    if (!hdi_channel_can_split(channel, waves))
        return false;

    struct hdi_channel_entry whole = *hdi_channel_head(channel);
    uint16_t all = whole.packet.need.waves, last = all % waves;

    (void)hdi_channel_pop(channel);
    whole.packet.need.priority = lowest;
    whole.packet.need.independent = false;
    whole.pieces = (uint32_t)(all + waves - 1) / waves;
    if (last > 0) {
        struct hdi_channel_entry rest = whole;
        rest.packet.need.waves = last;
        rest.piece = whole.pieces - 1;
        rest.waiting = 1;
        *entry_at(channel, --channel->head) = rest;
        channel->count++;
    }
    whole.packet.need.waves = waves;
    whole.piece = 0;
    whole.waiting = all / waves;
    *entry_at(channel, --channel->head) = whole;
    channel->count++;
    channel->waiting += whole.pieces;
    return true;
}
