// What a dispatcher is inside: for books.c, which makes it and keeps its
// books, and round.c, which decides.
//
// How a group gets to a module, and who keeps what on the way up to date:
//
//     submit  ->  channel      a ring of packets; only its head takes part
//                   |          hdi_take_head(): need, outline, priority,
//                   v          preference, and the modules it fits (match.fits)
//     round   ->  head         first rank of the order, best preference
//                   |
//                   v
//               module         best score; its levels go down, so that it is
//                   |          `changed`
//                   v
//     release ->  lease        levels go up again, `changed`
//
// A new head is compared with all modules at once; a changed module with all
// heads, at the start of the next round. Everything belongs to whoever calls,
// one at a time: there are no locks.
//
// Invariant: before a round every module on the list of changed ones, and only
// those, may have levels that are not its own; every channel's need is that of
// its head.
#ifndef HDI_DISPATCH_ROUND_STATE_H
#define HDI_DISPATCH_ROUND_STATE_H

#include "dispatch/dispatcher.h"

// Which packet a lease came from, to learn its run time.
struct hdi_lease_origin {
    uint32_t channel;
    uint32_t split; // 1 + place of its split group; 0: a whole group
    uint64_t serial;
};

struct hdi_dispatcher {
    struct hdi_shape shape;
    struct hdi_policy policy;
    struct hdi_match match;
    hdi_decide *decide;
    struct hdi_random random;
    struct hdi_median median;
    struct hdi_recent *recent;

    uint32_t channels, channel_words;
    struct hdi_channel *channel;
    uint8_t *priority;           // by channel: of its head
    struct hdi_outline *outline; // by channel: of its head
    uint64_t *arrived;           // by channel: its head [cycles]
    int64_t *prefer;             // by channel: place of its head among equals
    int64_t *urged;              // scratch: the same, with patience
    uint64_t *expected; // by channel: run time of its head; 0: the median's
    // Sets of channels, a bit each, of channel_words words.
    uint64_t *of_priority; // by priority: whose head has it
    uint64_t *of_rank;     // by rank of the current order, likewise
    uint64_t *marks;       // by priority
    uint64_t *marked;      // whose head is marked for the priority it has
    uint64_t *divisible;   // whose head may be split
    uint64_t *passed;      // scratch
    uint64_t *tied;        // scratch
    uint64_t *among;       // scratch

    struct hdi_module *modules;
    uint32_t *changed; // modules whose levels are old
    uint32_t changed_count;
    uint8_t *is_changed;
    double score_scale;     // see hdi_mixture_scale()
    bool scores;            // else all modules have the same
    int32_t *score, *space; // by module, padded
    // A bit per module: not measured since it changed.
    uint64_t *old_score, *old_space;
    int32_t *with_recent; // by module: score by what was done
    uint64_t *open;       // scratch: a bit per module
    uint64_t *held;       // a bit per module: kept for urgent heads
    uint32_t held_count;  // of those, the emptiest
    uint32_t kept;        // that many are to be kept in this round
    uint64_t *drain; // by module: when its groups should have ended [cycles]

    // Split groups of which a piece was sent and not all have ended. Each has a
    // piece that runs, or is the front of its channel.
    uint32_t *pieces_left; // by place: pieces that have not ended
    uint32_t *free_splits;
    uint32_t free_split_count;
    uint32_t *splitting; // by channel: place of the split group at its front

    struct hdi_lease *leases;
    struct hdi_lease_origin *origins;
    uint32_t *free_leases;
    uint32_t free_count;

    uint64_t serial;
    uint64_t failed_rounds; // in succession
    uint64_t endurance;     // of those, before a head is split
    unsigned top;           // of the order, until `top_until` [cycles]
    uint8_t rank[HDI_MAX_PRIORITIES + 1]; // of a priority in that order
    uint8_t ranks; // of that order; all that is left has the last one
    uint64_t top_until;
    uint64_t window_from; // when the current period began
    uint32_t turn;        // channel a robin looks at first
    uint32_t sticky;
    uint32_t last_module;
    bool prefers;   // some head ever had a preference other than 0
    bool has_split; // since the last round
    bool held_back; // the last round was stuck only because of a hold
    void *memory;
};

static inline void hdi_touch_module(struct hdi_dispatcher *d, uint32_t module)
{
    if (!d->is_changed[module]) {
        d->is_changed[module] = 1;
        d->changed[d->changed_count++] = module;
    }
}

static inline uint64_t hdi_bit(uint32_t channel)
{
    return UINT64_C(1) << (channel % 64);
}

static inline uint64_t *hdi_of_priority(struct hdi_dispatcher *d,
                                        uint64_t *sets, unsigned priority)
{
    return sets + (size_t)(priority - 1) * d->channel_words;
}

static inline bool hdi_any_channel(const struct hdi_dispatcher *d,
                                   const uint64_t *set)
{
    uint64_t any = set[0];

    for (uint32_t w = 1; w < d->channel_words; w++)
        any |= set[w];
    return any != 0;
}

// The head of a channel is another than before.
void hdi_take_head(struct hdi_dispatcher *d, uint32_t channel);

// A piece, the head, is about to be sent; what its origin keeps of it.
uint32_t hdi_count_piece(struct hdi_dispatcher *d, uint32_t channel);

// The head's expected run time changed.
void hdi_set_preference(struct hdi_dispatcher *d, uint32_t channel);

// Expected run time of a head's groups: measured, else told, else the median of
// all [cycles].
static inline uint64_t hdi_expected_run(const struct hdi_dispatcher *d,
                                        uint32_t channel)
{
    uint64_t expected = d->expected[channel];
    uint64_t median = hdi_median_get(&d->median); // no branch: a guess

    return expected > 0 ? expected : median;
}

#endif
