// Invariant: before a round every module on the list of changed ones, and only
// those, may have levels that are not its own; every channel's need is that of
// its head.
#include "dispatch/dispatcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

// Which packet a lease came from, to learn its run time.
struct origin {
    uint32_t channel;
    uint64_t serial;
};

struct hdi_dispatcher {
    struct hdi_shape shape;
    struct hdi_policy policy;
    struct hdi_match match;
    struct hdi_random random;
    struct hdi_median median;
    struct hdi_recent *recent;

    uint32_t channels;
    struct hdi_channel *channel;
    int64_t *prefer; // by channel: place of its head among equals
    uint8_t *tried;  // by channel: out of this round
    uint8_t *marks;  // [priority * channels + channel] (D4)
    uint32_t *ties;  // scratch

    struct hdi_module *modules;
    uint32_t *changed; // modules whose levels are old
    uint32_t changed_count;
    uint8_t *is_changed;
    int64_t *score, *space; // by module, padded
    int64_t *with_recent;   // by module: score with D14
    uint16_t *free_fits;    // scratch: fits less what is held
    uint16_t *held;

    struct hdi_lease *leases;
    struct origin *origins;
    uint32_t *free_leases;
    uint32_t free_count;

    uint64_t serial;
    uint64_t failed_rounds; // in succession (D7)
    uint64_t window_from;   // when the current period began
    uint32_t turn;          // channel a robin looks at first
    uint32_t sticky;
    uint32_t last_module;
    bool held_back; // the last round was stuck only because of a hold
    void *memory;
};

// One block of memory for everything; sizes first, addresses second.
struct arena {
    char *base; // NULL while measuring
    size_t used;
    bool overflow;
};

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

static void lay_out(struct hdi_dispatcher *d, struct arena *a,
                    uint32_t capacity, uint32_t leases)
{
    const struct hdi_shape *shape = &d->shape;
    uint64_t pad = d->match.modules_pad, channels = d->channels;
    uint64_t table = (uint64_t)shape->units * (shape->units * shape->waves + 1);

#define CARVE(pointer, count) (pointer) = carve(a, count, sizeof(*(pointer)))
    CARVE(d->match.level, pad * shape->line_pad);
    CARVE(d->match.plane, pad * shape->line_pad);
    CARVE(d->match.need, channels * shape->line_pad);
    CARVE(d->match.fits, channels * pad);
    CARVE(d->match.count, channels);
    CARVE(d->match.active, channels);
    CARVE(d->match.scratch, channels);
    CARVE(d->channel, channels);
    CARVE(d->prefer, channels);
    CARVE(d->tried, channels);
    CARVE(d->marks, channels * HDI_MAX_PRIORITIES);
    CARVE(d->ties, channels);
    CARVE(d->modules, shape->modules);
    CARVE(d->changed, shape->modules);
    CARVE(d->is_changed, shape->modules);
    CARVE(d->score, pad);
    CARVE(d->space, pad);
    CARVE(d->with_recent, pad);
    CARVE(d->free_fits, pad);
    CARVE(d->held, pad);
    CARVE(d->leases, leases);
    CARVE(d->origins, leases);
    CARVE(d->free_leases, leases);
    for (uint32_t m = 0; m < shape->modules; m++) {
        uint64_t *maps = carve(a, shape->map_words, sizeof(*maps));
        uint16_t *left = carve(
            a, (uint64_t)shape->resource_count * shape->units, sizeof(*left));
        if (a->base) {
            d->modules[m].maps = maps;
            d->modules[m].left = left;
        }
    }
    uint64_t *lease_maps =
        carve(a, (uint64_t)leases * shape->map_words, sizeof(*lease_maps));
    for (uint32_t c = 0; c < channels; c++) {
        uint16_t *split = carve(a, table, sizeof(*split));
        struct hdi_entry *entries = carve(a, capacity, sizeof(*entries));
        if (a->base) {
            hdi_split_table(split, shape->units, shape->waves);
            d->channel[c].split = split;
            d->channel[c].entries = entries;
        }
    }
    for (uint32_t i = 0; a->base && i < leases; i++)
        d->leases[i].maps = lease_maps + (size_t)i * shape->map_words;
#undef CARVE
}

static void touch(struct hdi_dispatcher *d, uint32_t module)
{
    if (!d->is_changed[module]) {
        d->is_changed[module] = 1;
        d->changed[d->changed_count++] = module;
    }
}

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
    if (policy->mixture.recent != 0 && !options->recent)
        return hdi_fail(error, HD_EINVAL,
                        "the policy weighs recent instructions, but nobody "
                        "counts them");

    uint64_t all = (uint64_t)shape->modules * shape->units * shape->waves;
    uint32_t leases = options->leases ? options->leases
                      : all < 65536   ? (uint32_t)all
                                      : 65536;
    uint32_t capacity = 4;
    while (capacity < options->packets + HDI_FRONT)
        capacity *= 2;

    struct hdi_dispatcher *d = calloc(1, sizeof(*d));
    if (!d)
        goto err_memory;
    d->shape = *shape;
    d->policy = *policy;
    d->channels = options->channels;
    d->recent = options->recent;
    d->match.lanes = hdi_lanes();
    d->match.shape = &d->shape;
    d->match.channels = d->channels;
    d->match.modules_pad = (uint32_t)hdi_round_up(shape->modules, HDI_ROW);
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
        d->free_leases[d->free_count++] = leases - 1 - i;
    for (uint32_t m = 0; m < shape->modules; m++) {
        hdi_module_clear(&d->modules[m], &d->shape);
        d->modules[m].first =
            hdi_pointer_first(policy->pointer, 0, shape->units);
        touch(d, m);
    }
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

// log2 in 1/16.
static int64_t sixteenths(uint64_t cycles)
{
    if (cycles < 2)
        return 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(cycles);
    uint64_t fraction =
        power >= 4 ? cycles >> (power - 4) & 15 : cycles << (4 - power) & 15;

    return (int64_t)(power * 16 + fraction);
}

static uint64_t expected(const struct hdi_dispatcher *d,
                         const struct hdi_entry *entry)
{
    if (entry->runs > 0)
        return entry->ran / entry->runs;
    if (entry->packet.expected > 0)
        return entry->packet.expected;
    return hdi_median_get(&d->median);
}

static void set_preference(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_policy *policy = &d->policy;
    const struct hdi_entry *head = hdi_channel_head(&d->channel[channel]);
    int64_t prefer = 0;

    if (policy->large != 0)
        prefer += policy->large * (int64_t)head->share;
    if (policy->brief != 0)
        prefer -= policy->brief * sixteenths(expected(d, head)) * 4096;
    d->prefer[channel] = prefer;
}

// The head of a channel is another than before.
static void take_head(struct hdi_dispatcher *d, uint32_t channel)
{
    struct hdi_channel *c = &d->channel[channel];
    const struct hdi_entry *head = hdi_channel_head(c);
    struct hdi_match *match = &d->match;

    if (!head) {
        hdi_match_empty(match, channel);
        return;
    }
    hdi_need_lines(&head->packet.need, &d->shape,
                   c->split + head->packet.need.waves * d->shape.units,
                   match->need + (size_t)channel * d->shape.line_pad);
    hdi_match_head(match, channel);
    set_preference(d, channel);
}

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

    struct hdi_entry entry = {
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
        take_head(dispatcher, channel);
    return HD_OK;
}

// Bring the levels of changed modules up to date.
static void refresh(struct hdi_dispatcher *d)
{
    for (uint32_t i = 0; i < d->changed_count; i++) {
        uint32_t m = d->changed[i];
        uint16_t *level = d->match.level + (size_t)m * d->shape.line_pad;

        hdi_module_levels(&d->modules[m], &d->shape, d->match.lanes, level);
        hdi_match_module(&d->match, m);
        if (d->policy.place == HDI_PLACE_SCORE)
            d->score[m] = hdi_mixture_score(&d->policy.mixture, &d->modules[m],
                                            &d->shape, level);
        if (d->policy.hold > 0)
            d->space[m] = hdi_module_space(&d->modules[m], &d->shape);
        d->is_changed[m] = 0;
    }
    d->changed_count = 0;
}

static unsigned current_top(struct hdi_dispatcher *d, uint64_t now)
{
    struct hdi_windows *windows = &d->policy.windows;

    if (d->policy.window_runs > 0 &&
        (windows->period == 0 || now - d->window_from >= windows->period)) {
        // Only a finished period is replaced, so that windows never jump.
        uint64_t shortest =
            hdi_median_get(&d->median) * d->policy.window_runs / 16;
        if (shortest == 0)
            return 1;
        hdi_windows_scale(windows, d->policy.priorities, shortest,
                          d->policy.window_lead);
        d->window_from = now;
    }
    return hdi_windows_top(windows, now - d->window_from);
}

static unsigned rank_of(const struct hdi_policy *policy, unsigned priority,
                        unsigned top)
{
    unsigned rank = hdi_priority_rank(priority, top);

    return policy->urgent > 0 && rank > policy->urgent ? policy->urgent : rank;
}

struct choice {
    unsigned rank;
    int64_t prefer;
    uint32_t channel;
    uint32_t ties; // in d->ties; more than one: D4 applies
};

// The heads that go first among those not yet tried. False: none is left.
static bool first_heads(struct hdi_dispatcher *d, unsigned top, uint64_t now,
                        struct choice *choice)
{
    const struct hdi_policy *policy = &d->policy;

    *choice = (struct choice){.rank = UINT32_MAX, .prefer = INT64_MIN};
    for (uint32_t c = 0; c < d->channels; c++) {
        if (d->tried[c])
            continue;
        const struct hdi_entry *head = hdi_channel_head(&d->channel[c]);
        unsigned rank = rank_of(policy, head->packet.need.priority, top);
        if (d->match.count[c] == 0 &&
            (policy->hold == 0 || rank >= policy->urgent))
            continue;
        if (rank > choice->rank)
            continue;
        int64_t prefer = d->prefer[c];
        uint64_t age = now - head->arrived;
        if (policy->patience > 0 && age > policy->patience)
            prefer = INT64_MAX / 2 + (int64_t)(age & (INT64_MAX / 4));
        if (rank < choice->rank || prefer > choice->prefer) {
            choice->rank = rank;
            choice->prefer = prefer;
            choice->ties = 0;
        } else if (prefer < choice->prefer) {
            continue;
        }
        d->ties[choice->ties++] = c;
    }
    return choice->ties > 0;
}

static uint8_t *marks_of(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_entry *head = hdi_channel_head(&d->channel[channel]);

    return d->marks + (size_t)(head->packet.need.priority - 1) * d->channels;
}

// One of the tied heads.
static uint32_t pick(struct hdi_dispatcher *d, const struct choice *choice)
{
    if (choice->ties == 1)
        return d->ties[0];
    if (!d->policy.marks) {
        for (uint32_t i = 0; i < choice->ties; i++) {
            if (d->ties[i] >= d->turn)
                return d->ties[i];
        }
        return d->ties[0];
    }

    uint32_t unmarked = 0;
    for (uint32_t i = 0; i < choice->ties; i++)
        unmarked += !marks_of(d, d->ties[i])[d->ties[i]];
    if (unmarked == 0 || unmarked == choice->ties)
        return d->ties[hdi_random_below(&d->random, choice->ties)];

    uint32_t which = hdi_random_below(&d->random, unmarked);
    for (uint32_t i = 0;; i++) {
        uint32_t c = d->ties[i];
        if (!marks_of(d, c)[c] && which-- == 0)
            return c;
    }
}

// D4, once it is sure that `channel` goes.
static void mark(struct hdi_dispatcher *d, const struct choice *choice,
                 uint32_t channel)
{
    bool all = true;

    if (choice->ties < 2 || !d->policy.marks)
        return;
    for (uint32_t i = 0; i < choice->ties; i++)
        all &= marks_of(d, d->ties[i])[d->ties[i]] != 0;
    if (all) {
        for (uint32_t i = 0; i < choice->ties; i++)
            marks_of(d, d->ties[i])[d->ties[i]] = 0;
    }
    marks_of(d, channel)[channel] = 1;
}

// Keep the emptiest modules that are not kept yet.
static bool hold_modules(struct hdi_dispatcher *d)
{
    bool any = false;

    for (uint32_t i = 0; i < d->policy.hold; i++) {
        for (uint32_t m = 0; m < d->shape.modules; m++)
            d->free_fits[m] = (uint16_t)~d->held[m];
        memset(d->free_fits + d->shape.modules, 0,
               (d->match.modules_pad - d->shape.modules) *
                   sizeof(*d->free_fits));
        uint32_t m =
            d->match.lanes->best(d->free_fits, d->space, d->match.modules_pad);
        if (m >= d->shape.modules)
            break;
        d->held[m] = UINT16_MAX;
        any = true;
    }
    return any;
}

static uint32_t next_module(const struct hdi_dispatcher *d,
                            const uint16_t *fits)
{
    for (uint32_t i = 1; i <= d->shape.modules; i++) {
        uint32_t m = d->last_module + i;
        if (m >= d->shape.modules)
            m -= d->shape.modules;
        if (fits[m])
            return m;
    }
    return d->match.modules_pad;
}

static const int64_t *scores_now(struct hdi_dispatcher *d, uint64_t now)
{
    const struct hdi_mixture *mixture = &d->policy.mixture;

    if (mixture->recent == 0)
        return d->score;
    for (uint32_t m = 0; m < d->shape.modules; m++) {
        uint64_t sum = hdi_recent_sum(d->recent, m, now);
        double busy = (double)sum / (double)d->recent->full;
        d->with_recent[m] =
            d->score[m] - mixture->recent * (int64_t)(busy * 65536);
    }
    return d->with_recent;
}

// Find the head of `channel` a module and take what it needs there. False: it
// fits nowhere that is not held.
static bool place(struct hdi_dispatcher *d, uint32_t channel, uint64_t now,
                  bool any_held, uint32_t *module)
{
    struct hdi_channel *c = &d->channel[channel];
    const struct hdi_need *need = &hdi_channel_head(c)->packet.need;
    const uint16_t *split = c->split + need->waves * d->shape.units;
    uint16_t *fits = d->match.fits + (size_t)channel * d->match.modules_pad;
    struct hdi_lease *lease = &d->leases[d->free_leases[d->free_count - 1]];
    const int64_t *score = scores_now(d, now);

    while (d->match.count[channel] > 0) {
        const uint16_t *open = fits;
        if (any_held) {
            for (uint32_t m = 0; m < d->match.modules_pad; m++)
                d->free_fits[m] = fits[m] & (uint16_t)~d->held[m];
            open = d->free_fits;
        }
        uint32_t m =
            d->policy.place == HDI_PLACE_NEXT
                ? next_module(d, open)
                : d->match.lanes->best(open, score, d->match.modules_pad);
        if (m >= d->shape.modules)
            return false;
        if (hdi_module_take(&d->modules[m], &d->shape, need, split, lease)) {
            *module = m;
            return true;
        }
        hdi_match_refuse(&d->match, channel, m);
    }
    return false;
}

static void send(struct hdi_dispatcher *d, uint32_t channel, uint32_t m,
                 struct hdi_decision *decision)
{
    struct hdi_channel *c = &d->channel[channel];
    struct hdi_module *module = &d->modules[m];
    struct hdi_entry *head = hdi_channel_head(c);
    uint32_t lease = d->free_leases[--d->free_count];
    uint64_t serial = head->serial;
    uint16_t waves = head->packet.need.waves;

    *decision = (struct hdi_decision){.channel = channel,
                                      .module = m,
                                      .lease = lease,
                                      .process = head->packet.process,
                                      .tag = head->packet.tag,
                                      .arrived = head->arrived,
                                      .group = head->next,
                                      .piece = head->piece,
                                      .pieces = head->pieces,
                                      .waves = waves,
                                      .priority = head->packet.need.priority,
                                      .unit = module->first};
    d->leases[lease].module = m;
    d->origins[lease] = (struct origin){.channel = channel, .serial = serial};
    module->pointer = hdi_pointer_moved(module->pointer, waves, d->shape.units);
    module->first =
        hdi_pointer_first(d->policy.pointer, module->pointer, d->shape.units);
    touch(d, m);
    d->last_module = m;
    d->turn = channel + 1 == d->channels ? 0 : channel + 1;

    hdi_channel_pop(c);
    head = hdi_channel_head(c);
    // Equal groups of one packet leave need and matches as they are.
    if (!head || head->serial != serial || head->packet.need.waves != waves)
        take_head(d, channel);
}

static enum hdi_round stuck(struct hdi_dispatcher *d, bool fits_somewhere)
{
    d->held_back = fits_somewhere;
    if (fits_somewhere)
        d->failed_rounds = 0;
    return HDI_ROUND_STUCK;
}

// One channel until it is empty.
static enum hdi_round sticky_round(struct hdi_dispatcher *d, uint64_t now,
                                   struct hdi_decision *decision)
{
    uint32_t module;

    while (!d->match.active[d->sticky])
        d->sticky = d->sticky + 1 == d->channels ? 0 : d->sticky + 1;
    if (!place(d, d->sticky, now, false, &module))
        return HDI_ROUND_STUCK;
    send(d, d->sticky, module, decision);
    return HDI_ROUND_SENT;
}

static enum hdi_round robin_round(struct hdi_dispatcher *d, uint64_t now,
                                  struct hdi_decision *decision)
{
    uint32_t module;

    for (uint32_t i = 0; i < d->channels; i++) {
        uint32_t c = d->turn + i;
        if (c >= d->channels)
            c -= d->channels;
        if (d->match.active[c] && place(d, c, now, false, &module)) {
            send(d, c, module, decision);
            return HDI_ROUND_SENT;
        }
    }
    return HDI_ROUND_STUCK;
}

static enum hdi_round priority_round(struct hdi_dispatcher *d, uint64_t now,
                                     struct hdi_decision *decision)
{
    unsigned top = current_top(d, now);
    bool any_held = false, fits_somewhere = false;
    struct choice choice;
    uint32_t module;

    for (uint32_t c = 0; c < d->channels; c++)
        d->tried[c] = !d->match.active[c];
    while (first_heads(d, top, now, &choice)) {
        uint32_t channel = pick(d, &choice);

        if (place(d, channel, now, any_held, &module)) {
            mark(d, &choice, channel);
            send(d, channel, module, decision);
            return HDI_ROUND_SENT;
        }
        d->tried[channel] = 1;
        fits_somewhere |= d->match.count[channel] > 0;
        if (d->policy.hold > 0 && choice.rank < d->policy.urgent) {
            if (!any_held)
                memset(d->held, 0, d->match.modules_pad * sizeof(*d->held));
            any_held |= hold_modules(d);
        }
    }
    return stuck(d, fits_somewhere);
}

enum hdi_round hdi_dispatcher_round(struct hdi_dispatcher *dispatcher,
                                    uint64_t now, struct hdi_decision *decision)
{
    struct hdi_dispatcher *d = dispatcher;
    bool waiting = false;

    for (uint32_t c = 0; c < d->channels && !waiting; c++)
        waiting = d->match.active[c];
    d->held_back = false;
    if (!waiting) {
        d->failed_rounds = 0;
        return HDI_ROUND_EMPTY;
    }
    if (d->free_count == 0)
        return stuck(d, true);
    refresh(d);

    enum hdi_round round =
        d->policy.order == HDI_ORDER_STICKY  ? sticky_round(d, now, decision)
        : d->policy.order == HDI_ORDER_ROBIN ? robin_round(d, now, decision)
                                             : priority_round(d, now, decision);
    if (round == HDI_ROUND_SENT)
        d->failed_rounds = 0;
    else if (!d->held_back)
        hdi_dispatcher_wait(d, 1);
    return round;
}

void hdi_dispatcher_release(struct hdi_dispatcher *dispatcher, uint32_t lease,
                            uint64_t cycles)
{
    struct hdi_dispatcher *d = dispatcher;
    const struct hdi_lease *l = &d->leases[lease];
    const struct origin *origin = &d->origins[lease];
    struct hdi_channel *c = &d->channel[origin->channel];

    hdi_module_give(&d->modules[l->module], &d->shape,
                    c->split + l->need.waves * d->shape.units, l);
    touch(d, l->module);
    d->free_leases[d->free_count++] = lease;
    if (cycles == 0)
        return;

    hdi_median_add(&d->median, cycles);
    struct hdi_entry *head = hdi_channel_head(c);
    if (d->policy.brief != 0 && head && head->serial == origin->serial) {
        head->ran += cycles;
        head->runs++;
        set_preference(d, origin->channel);
    }
}

// The head to split: the first in the base order, the lowest channel among
// equals.
static bool split_one(struct hdi_dispatcher *d)
{
    uint32_t chosen = d->channels;

    for (uint32_t c = 0; c < d->channels; c++) {
        if (!hdi_channel_can_split(&d->channel[c], d->policy.split_waves))
            continue;
        if (chosen == d->channels ||
            hdi_channel_head(&d->channel[c])->packet.need.priority <
                hdi_channel_head(&d->channel[chosen])->packet.need.priority)
            chosen = c;
    }
    if (chosen == d->channels)
        return false;
    hdi_channel_split(&d->channel[chosen], d->policy.split_waves,
                      (uint8_t)d->policy.priorities);
    take_head(d, chosen);
    return true;
}

bool hdi_dispatcher_wait(struct hdi_dispatcher *dispatcher, uint64_t rounds)
{
    struct hdi_dispatcher *d = dispatcher;

    if (d->held_back)
        return false;
    if (__builtin_add_overflow(d->failed_rounds, rounds, &d->failed_rounds))
        d->failed_rounds = UINT64_MAX;
    if (d->policy.split_after == 0 ||
        d->failed_rounds <= d->policy.split_after || !split_one(d))
        return false;
    d->failed_rounds = 0;
    return true;
}

uint64_t hdi_dispatcher_patience(const struct hdi_dispatcher *dispatcher)
{
    const struct hdi_dispatcher *d = dispatcher;

    if (d->policy.split_after == 0 || d->held_back)
        return UINT64_MAX;
    for (uint32_t c = 0; c < d->channels; c++) {
        if (hdi_channel_can_split(&d->channel[c], d->policy.split_waves))
            return d->failed_rounds > d->policy.split_after
                       ? 1
                       : d->policy.split_after + 1 - d->failed_rounds;
    }
    return UINT64_MAX;
}

uint64_t hdi_dispatcher_next(const struct hdi_dispatcher *dispatcher,
                             uint64_t now)
{
    const struct hdi_dispatcher *d = dispatcher;

    // Another order only matters to heads that would fit.
    if (!d->held_back || d->free_count == 0)
        return UINT64_MAX;
    uint64_t next = hdi_windows_next(&d->policy.windows, now - d->window_from);
    return next == UINT64_MAX ? next : d->window_from + next;
}

uint64_t hdi_dispatcher_waiting(const struct hdi_dispatcher *dispatcher,
                                uint32_t channel)
{
    return dispatcher->channel[channel].waiting;
}

uint64_t hdi_dispatcher_median(const struct hdi_dispatcher *dispatcher)
{
    return hdi_median_get(&dispatcher->median);
}

struct hdi_module *hdi_dispatcher_module(struct hdi_dispatcher *dispatcher,
                                         uint32_t module)
{
    return &dispatcher->modules[module];
}

const struct hdi_shape *hdi_dispatcher_shape(
    const struct hdi_dispatcher *dispatcher)
{
    return &dispatcher->shape;
}
