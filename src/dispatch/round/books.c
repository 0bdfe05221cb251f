// A dispatcher's life and its books: what waits, what runs, what was learnt.
#include "dispatch/round/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

// One block of memory for everything: laid out twice by the same function, once
// without memory, to add up the sizes, and once to give out the addresses. So
// size and addresses cannot disagree.
// Lives while a dispatcher is made.
struct arena {
    char *base; // NULL while measuring
    size_t used;
    bool overflow;
};

// Each array begins a cache line, as lanes load whole ones.
// NULL while measuring, and when the sum overflows, which `overflow` remembers.
static void *carve(struct arena *arena, uint64_t count, uint64_t size)
{
    uint64_t bytes;

    arena->used = hdi_round_up(arena->used, 64);
    void *at = arena->base ? arena->base + arena->used : NULL;
    if (!hdi_multiply(count, size, &bytes) ||
        bytes > SIZE_MAX / 2 - arena->used) {
        arena->overflow = true;
        return NULL;
    }
    arena->used += bytes;
    return at;
}

// First the tables of the dispatcher, then those of each module, lease and
// channel.
static void lay_out(struct hdi_dispatcher *d, struct arena *a,
                    uint32_t capacity, uint32_t leases)
{
    const struct hdi_shape *shape = &d->shape;
    uint64_t pad = 64 * (uint64_t)d->match.words, channels = d->channels;
    uint64_t words = d->channel_words;
    uint64_t table = (uint64_t)shape->units * (shape->units * shape->waves + 1);

#define CARVE(pointer, count) (pointer) = carve(a, count, sizeof(*(pointer)))
    CARVE(d->match.level, pad * shape->line_pad);
    CARVE(d->priority, channels);
    CARVE(d->arrived, channels);
    CARVE(d->match.need, channels * shape->units * 2 * shape->line_pad);
    CARVE(d->match.pages,
          hdi_round_up(channels, HDI_PAGE) * shape->units * shape->line_pad);
    CARVE(d->match.turn, shape->modules);
    CARVE(d->outline, channels);
    CARVE(d->match.fits, hdi_round_up(channels, 8) * d->match.words);
    CARVE(d->match.some, words);
    CARVE(d->match.active, words);
    CARVE(d->of_priority, HDI_MAX_PRIORITIES * words);
    CARVE(d->of_rank, HDI_MAX_PRIORITIES * words);
    CARVE(d->marks, HDI_MAX_PRIORITIES * words);
    CARVE(d->marked, words);
    CARVE(d->divisible, words);
    CARVE(d->passed, words);
    CARVE(d->tied, words);
    CARVE(d->among, words);
    CARVE(d->channel, channels);
    CARVE(d->prefer, hdi_round_up(channels, 8));
    CARVE(d->urged, hdi_round_up(channels, 8));
    CARVE(d->expected, hdi_round_up(channels, 8));
    CARVE(d->modules, shape->modules);
    CARVE(d->changed, shape->modules);
    CARVE(d->is_changed, shape->modules);
    CARVE(d->score, pad);
    CARVE(d->space, pad);
    CARVE(d->old_score, d->match.words);
    CARVE(d->old_space, d->match.words);
    CARVE(d->with_recent, pad);
    CARVE(d->open, d->match.words);
    CARVE(d->drain, shape->modules);
    CARVE(d->held, d->match.words);
    CARVE(d->leases, leases);
    CARVE(d->origins, leases);
    CARVE(d->free_leases, leases);
    CARVE(d->pieces_left, (uint64_t)leases + channels);
    CARVE(d->free_splits, (uint64_t)leases + channels);
    CARVE(d->splitting, channels);
    for (uint32_t m = 0; m < shape->modules; m++) {
        uint64_t *maps = carve(a, shape->map_words, sizeof(*maps));
        int32_t *weight = carve(a, shape->line_pad, sizeof(*weight));
        if (a->base) {
            d->modules[m].weight = weight;
            d->modules[m].room = (struct hdi_room){
                .maps = maps,
                .level = d->match.level + (size_t)m * shape->line_pad,
                .words = shape->map_words,
                .counts = shape->count_begin,
                .lines = shape->line_pad};
        }
    }
    uint64_t *lease_maps =
        carve(a, (uint64_t)leases * shape->map_words, sizeof(*lease_maps));
    for (uint32_t c = 0; c < channels; c++) {
        uint16_t *split = carve(a, table, sizeof(*split));
        struct hdi_channel_entry *entries =
            carve(a, capacity, sizeof(*entries));
        if (a->base) {
            hdi_split_table(split, shape->units, shape->waves);
            d->channel[c].split = split;
            d->channel[c].entries = entries;
        }
    }
    uint16_t *lease_lines =
        carve(a, (uint64_t)leases * shape->line_pad, sizeof(*lease_lines));
    for (uint32_t i = 0; a->base && i < leases; i++) {
        d->leases[i].maps = lease_maps + (size_t)i * shape->map_words;
        d->leases[i].lines = lease_lines + (size_t)i * shape->line_pad;
    }
#undef CARVE
}

// All scores have the same scale, so new weights of one module touch all.
static void weigh_all(struct hdi_dispatcher *d)
{
    const struct hdi_mixture *mixture = &d->policy.mixture;

    d->scores = mixture->left > 0 || mixture->tight > 0 || mixture->recent > 0;
    d->score_scale = hdi_mixture_scale(mixture, &d->shape, d->modules);
    for (uint32_t m = 0; m < d->shape.modules; m++) {
        hdi_mixture_weigh(mixture, d->score_scale, &d->shape, &d->modules[m]);
        hdi_touch_module(d, m);
    }
}

// Everything that can be refused is refused first; then there are two
// allocations, of the dispatcher and of its block.
hd_status hdi_dispatcher_create(const struct hdi_shape *shape,
                                const struct hdi_dispatcher_options *options,
                                struct hdi_dispatcher **dispatcher,
                                struct hd_error *error)
{
    const struct hdi_policy *policy = &options->policy;

    if (options->channels == 0 || options->channels > 65536)
        return hdi_fail(error, HD_EINVAL,
                        "%u channels; 1 to 65536 are possible",
                        options->channels);
    if (options->packets == 0 || options->packets > 1u << 30)
        return hdi_fail(error, HD_EINVAL,
                        "room for %u packets in a channel; 1 to 2^30 are "
                        "possible",
                        options->packets);
    if (policy->priorities == 0 || policy->priorities > HDI_MAX_PRIORITIES)
        return hdi_fail(error, HD_EINVAL, "%u priorities; 1 to %d are possible",
                        policy->priorities, HDI_MAX_PRIORITIES);
    if (policy->windows.period > 0 &&
        policy->windows.priorities != policy->priorities)
        return hdi_fail(error, HD_EINVAL, "%u windows for %u priorities",
                        policy->windows.priorities, policy->priorities);
    if (policy->split_after > 0 && policy->split_waves == 0)
        return hdi_fail(error, HD_EINVAL, "pieces of no waves");
    const struct hdi_mixture *mixture = &policy->mixture;
    if (mixture->left < 0 || mixture->left > HDI_MIXTURE_LIMIT ||
        mixture->recent < 0 || mixture->recent > HDI_MIXTURE_LIMIT ||
        mixture->tight < 0 || mixture->tight > HDI_MIXTURE_LIMIT)
        return hdi_fail(error, HD_EINVAL,
                        "a part of the mixture is not within 0 to %d",
                        HDI_MIXTURE_LIMIT);
    if (mixture->recent != 0 && !options->recent)
        return hdi_fail(error, HD_EINVAL,
                        "the policy weighs recent instructions, but nobody "
                        "counts them");

    // A group has a wave at least, so no more can run at a time.
    uint64_t all = (uint64_t)shape->modules * shape->units * shape->waves;
    uint32_t leases = options->leases ? options->leases
                      : all < 65536   ? (uint32_t)all
                                      : 65536;
    uint32_t capacity = 4; // places of a ring are taken by a mask
    while (capacity < options->packets + HDI_FRONT)
        capacity *= 2;

    struct hdi_dispatcher *d = calloc(1, sizeof(*d));
    if (!d)
        goto err_memory;
    d->shape = *shape;
    d->policy = *policy;
    d->channels = options->channels;
    d->channel_words = (d->channels + 63) / 64;
    d->recent = options->recent;
    d->endurance = policy->split_after ? policy->split_after : UINT64_MAX;
    d->match.lanes = hdi_lanes();
    d->match.shape = &d->shape;
    d->match.channels = d->channels;
    d->match.words = (shape->modules + 63) / 64;
    d->decide = d->match.lanes->decider(d);
    hdi_random_seed(&d->random, options->seed);

    struct arena arena = {0};
    lay_out(d, &arena, capacity, leases);
    if (arena.overflow)
        goto err_free;
    size_t size = hdi_round_up(arena.used + 64, 64);
    d->memory = aligned_alloc(64, size);
    if (!d->memory)
        goto err_free;
    memset(d->memory, 0, size);
    arena = (struct arena){.base = d->memory};
    lay_out(d, &arena, capacity, leases);

    for (uint32_t c = 0; c < d->channels; c++) {
        d->channel[c].capacity = capacity;
        d->channel[c].room = options->packets;
    }
    for (uint32_t i = 0; i < leases; i++)
        d->free_leases[d->free_count++] = leases - 1 - i; // 0 is on top
    // A split group keeps a lease, or it is the front of a channel.
    for (uint32_t i = 0; i < leases + d->channels; i++)
        d->free_splits[d->free_split_count++] = i;
    // All modules are new to the first round.
    for (uint32_t m = 0; m < shape->modules; m++) {
        hdi_module_clear(&d->modules[m], &d->shape);
        d->modules[m].first =
            hdi_pointer_first(policy->pointer, 0, shape->units);
        d->match.turn[m] = (uint8_t)d->modules[m].first;
        hdi_touch_module(d, m);
    }
    weigh_all(d);
    d->last_module = shape->modules - 1;
    *dispatcher = d;
    return HD_OK;

err_free:
    free(d);
err_memory:
    return hdi_fail(error, HD_ENOMEM,
                    "no memory for a dispatcher of %u channels and %u modules",
                    options->channels, shape->modules);
}

void hdi_dispatcher_destroy(struct hdi_dispatcher *dispatcher)
{
    if (!dispatcher)
        return;
    free(dispatcher->memory);
    free(dispatcher);
}

// A packet without groups is accepted and forgotten. Only a packet that becomes
// the head is looked at now.
hd_status hdi_dispatcher_submit(struct hdi_dispatcher *dispatcher,
                                uint32_t channel,
                                const struct hdi_packet *packet, uint64_t now,
                                struct hd_error *error)
{
    if (channel >= dispatcher->channels)
        return hdi_fail(error, HD_EINVAL, "channel %u; there are %u", channel,
                        dispatcher->channels);
    hd_status status = hdi_need_check(&packet->need, &dispatcher->shape,
                                      dispatcher->policy.priorities, error);
    if (status != HD_OK)
        return status;
    if (packet->groups == 0)
        return HD_OK;

    struct hdi_channel_entry entry = {
        .packet = *packet,
        .arrived = now,
        .serial = ++dispatcher->serial,
        .waiting = packet->groups,
        .share = hdi_need_share(&packet->need, &dispatcher->shape)};
    struct hdi_channel *c = &dispatcher->channel[channel];
    if (!hdi_channel_push(c, &entry))
        return hdi_fail(error, HD_ELIMIT,
                        "channel %u is full (%u packets): submit again when "
                        "some have gone",
                        channel, c->room);
    if (c->count == 1)
        hdi_take_head(dispatcher, channel);
    return HD_OK;
}

void hdi_dispatcher_withdraw(struct hdi_dispatcher *dispatcher,
                             uint32_t channel)
{
    struct hdi_channel *c = &dispatcher->channel[channel];

    c->head += c->count;
    c->count = 0;
    c->waiting = 0;
    hdi_take_head(dispatcher, channel);
}

// The pieces of one group are sent in succession from the front of a channel,
// but end in any order, long after other groups have come to the front. So
// their count lies at a place of its own, which each of their leases names:
//
//     first piece sent     a place is taken, count = pieces
//     a piece ends         count - 1
//     count == 0           the group is complete, the place is free
uint32_t hdi_count_piece(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_channel_entry *head =
        hdi_channel_head(&d->channel[channel]);

    if (head->piece == 0) {
        d->splitting[channel] = d->free_splits[--d->free_split_count];
        d->pieces_left[d->splitting[channel]] = head->pieces;
    }
    return d->splitting[channel] + 1;
}

// A piece has ended; whether its group has.
static bool end_piece(struct hdi_dispatcher *d, uint32_t split)
{
    if (--d->pieces_left[split] > 0)
        return false;
    d->free_splits[d->free_split_count++] = split;
    return true;
}

// What the lease had is the module's again; the next round compares the module
// with all heads. The time it ran is learnt for all groups, as a median, and
// for the packet, as a mean, while that is the head still: its other groups are
// alike, and nobody asks for the estimate of one that has gone.
bool hdi_dispatcher_release(struct hdi_dispatcher *dispatcher, uint32_t lease,
                            uint64_t cycles)
{
    struct hdi_dispatcher *d = dispatcher;
    const struct hdi_lease *l = &d->leases[lease];
    const struct hdi_lease_origin *origin = &d->origins[lease];
    struct hdi_channel *c = &d->channel[origin->channel];

    hdi_module_give(&d->modules[l->module], d->match.lanes, l);
    hdi_touch_module(d, l->module);
    d->free_leases[d->free_count++] = lease;
    bool complete = origin->split == 0 || end_piece(d, origin->split - 1);
    if (cycles == 0)
        return complete;

    hdi_median_add(&d->median, cycles);
    struct hdi_channel_entry *head = hdi_channel_head(c);
    bool learns =
        d->policy.brief != 0 || d->policy.backfill || d->policy.prefer;
    if (learns && head && head->serial == origin->serial) {
        head->ran += cycles;
        head->runs++;
        head->mean = head->ran / head->runs;
        hdi_set_preference(d, origin->channel);
    }
    return complete;
}

uint32_t hdi_dispatcher_block(const struct hdi_dispatcher *dispatcher,
                              uint32_t lease, uint32_t resource, uint32_t unit)
{
    const struct hdi_shape *shape = &dispatcher->shape;
    const struct hdi_map_place *map = &shape->maps[resource][unit];
    uint32_t words = (shape->resources[resource].blocks + 63) / 64;

    for (uint32_t k = 0; k < words; k++) {
        uint64_t bits =
            dispatcher->leases[lease].maps[map->first + k * map->stride];
        if (bits)
            return 64 * k + (uint32_t)__builtin_ctzll(bits);
    }
    return UINT32_MAX;
}

// The head to split: the first in the base order, the lowest channel among
// equals.
static bool split_one(struct hdi_dispatcher *d)
{
    uint32_t chosen = d->channels;

    for (uint32_t w = 0; w < d->channel_words; w++) {
        for (uint64_t left = d->divisible[w]; left; left &= left - 1) {
            uint32_t c = 64 * w + (uint32_t)__builtin_ctzll(left);
            if (chosen == d->channels || d->priority[c] < d->priority[chosen])
                chosen = c;
        }
    }
    if (chosen == d->channels)
        return false;
    hdi_channel_split(&d->channel[chosen], d->policy.split_waves,
                      (uint8_t)d->policy.priorities);
    hdi_take_head(d, chosen);
    return true;
}

// Failed rounds in succession, counted up to `endurance`; one more splits a
// head, and counting begins again. Rounds in which something was held back (a
// place kept for urgent heads, no lease left) do not count: pieces would not
// have gone either.
bool hdi_dispatcher_wait(struct hdi_dispatcher *dispatcher, uint64_t rounds)
{
    struct hdi_dispatcher *d = dispatcher;

    if (d->held_back)
        return false;
    if (__builtin_add_overflow(d->failed_rounds, rounds, &d->failed_rounds))
        d->failed_rounds = UINT64_MAX;
    if (d->failed_rounds <= d->endurance || !split_one(d))
        return false;
    d->failed_rounds = 0;
    d->has_split = true;
    return true;
}

// So a simulator may skip rounds in which nothing changes.
uint64_t hdi_dispatcher_patience(const struct hdi_dispatcher *dispatcher)
{
    const struct hdi_dispatcher *d = dispatcher;

    if (d->policy.split_after == 0 || d->held_back ||
        !hdi_any_channel(d, d->divisible))
        return UINT64_MAX;
    return d->failed_rounds > d->endurance
               ? 1
               : d->endurance + 1 - d->failed_rounds;
}

// The same, in cycles: it may skip to the one that is named.
uint64_t hdi_dispatcher_next(const struct hdi_dispatcher *dispatcher,
                             uint64_t now)
{
    const struct hdi_dispatcher *d = dispatcher;
    uint64_t next = UINT64_MAX;

    if (d->has_split)
        return now + 1; // the pieces have not been looked at yet
    // Another order only matters to heads that would fit; but windows that
    // follow the run times are made anew when a period ends.
    if (d->policy.windows.period > 0 &&
        (d->held_back || d->policy.window_runs > 0))
        next = d->top_until > now ? d->top_until : now + 1;
    for (uint32_t c = 0;
         d->held_back && d->policy.patience > 0 && c < d->channels; c++) {
        uint64_t overdue = d->arrived[c] + d->policy.patience + 1;
        if (hdi_match_active(&d->match, c) && overdue > now && overdue < next)
            next = overdue;
    }
    return next;
}

uint64_t hdi_dispatcher_waiting(const struct hdi_dispatcher *dispatcher,
                                uint32_t channel)
{
    return dispatcher->channel[channel].waiting;
}

const struct hdi_packet *hdi_dispatcher_head(
    const struct hdi_dispatcher *dispatcher, uint32_t channel)
{
    const struct hdi_channel_entry *head =
        hdi_channel_head(&dispatcher->channel[channel]);

    return head ? &head->packet : NULL;
}

// Taken like a new head, since it may fit elsewhere now.
void hdi_dispatcher_amend(struct hdi_dispatcher *dispatcher, uint32_t channel,
                          uint32_t resource, uint16_t blocks)
{
    struct hdi_channel_entry *head =
        hdi_channel_head(&dispatcher->channel[channel]);

    if (!head || head->packet.need.amount[resource] == blocks)
        return;
    head->packet.need.amount[resource] = blocks;
    head->share = hdi_need_share(&head->packet.need, &dispatcher->shape);
    hdi_take_head(dispatcher, channel);
}

// For resources that something else has a hand in, as other work on the
// machine: the dispatcher keeps no account of what was offered.
void hdi_dispatcher_offer(struct hdi_dispatcher *dispatcher, uint32_t module,
                          uint32_t resource, uint32_t unit, int32_t blocks)
{
    uint32_t line = dispatcher->shape.count_line[resource] + unit;
    uint16_t *level = &dispatcher->modules[module].room.level[line];

    *level = (uint16_t)(*level + blocks); // fewer: wraps around and back
    hdi_touch_module(dispatcher, module);
}

void hdi_dispatcher_weigh(struct hdi_dispatcher *dispatcher, uint32_t module,
                          const uint32_t *energy)
{
    struct hdi_module *m = &dispatcher->modules[module];

    memcpy(m->energy, energy,
           dispatcher->shape.resource_count * sizeof(*energy));
    weigh_all(dispatcher);
}

const struct hdi_module *hdi_dispatcher_module(
    const struct hdi_dispatcher *dispatcher, uint32_t module)
{
    return &dispatcher->modules[module];
}
