// One round: which head goes, and where (D2 to D4, D6).
#include <string.h>

#include "dispatch/dispatcher_state.h"

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

uint64_t hdi_expected_run(const struct hdi_dispatcher *d,
                          const struct hdi_entry *entry)
{
    if (entry->runs > 0)
        return entry->ran / entry->runs;
    if (entry->packet.expected > 0)
        return entry->packet.expected;
    return hdi_median_get(&d->median);
}

void hdi_set_preference(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_policy *policy = &d->policy;
    const struct hdi_entry *head = hdi_channel_head(&d->channel[channel]);
    int64_t prefer = head->packet.prefer;

    if (policy->large != 0)
        prefer += policy->large * (int64_t)head->share;
    if (policy->brief != 0)
        prefer -= policy->brief * sixteenths(hdi_expected_run(d, head)) * 4096;
    d->prefer[channel] = prefer;
}

void hdi_take_head(struct hdi_dispatcher *d, uint32_t channel)
{
    struct hdi_channel *c = &d->channel[channel];
    const struct hdi_entry *head = hdi_channel_head(c);
    struct hdi_match *match = &d->match;

    if (!head) {
        hdi_match_empty(match, channel);
        return;
    }
    const struct hdi_need *need = &head->packet.need;
    uint32_t units = d->shape.units, pad = d->shape.line_pad;
    const uint16_t *split = c->split + need->waves * units;
    for (uint32_t turn = 0; turn < units; turn++) {
        uint16_t *lines = hdi_match_need(match, channel, turn);
        if (turn > 0 && need->waves % units == 0)
            memcpy(lines, hdi_match_need(match, channel, 0),
                   2 * pad * sizeof(*lines)); // an even split does not turn
        else
            hdi_need_lines(need, &d->shape, split, turn, lines, lines + pad);
    }
    d->resources[channel] = hdi_need_resources(need);
    hdi_match_head(match, channel);
    d->priority[channel] = head->packet.need.priority;
    d->arrived[channel] = head->arrived;
    hdi_set_preference(d, channel);
}

// Bring the levels of changed modules up to date.
static void refresh(struct hdi_dispatcher *d)
{
    for (uint32_t i = 0; i < d->changed_count; i++) {
        uint32_t m = d->changed[i];
        struct hdi_module *module = &d->modules[m];

        hdi_module_search(module, &d->shape, d->match.lanes);
        hdi_match_module(&d->match, m);
        d->score[m] = d->match.lanes->score(module->level, module->weight,
                                            d->shape.line_pad);
        if (d->policy.hold > 0)
            d->space[m] = hdi_module_space(module, &d->shape);
        d->is_changed[m] = 0;
    }
    d->changed_count = 0;
}

enum {
    OUT = UINT8_MAX
}; // worse than any rank

static void set_top(struct hdi_dispatcher *d, unsigned top)
{
    unsigned urgent = d->policy.urgent;

    for (unsigned p = 1; p <= HDI_MAX_PRIORITIES; p++) {
        unsigned rank = hdi_priority_rank(p, top);
        d->rank_of[p] = (uint8_t)(urgent > 0 && rank > urgent ? urgent : rank);
    }
}

// Bring the order of priorities up to date; looked at once per window.
static void turn_windows(struct hdi_dispatcher *d, uint64_t now)
{
    struct hdi_windows *windows = &d->policy.windows;

    if (now < d->top_until)
        return;
    if (d->policy.window_runs > 0 &&
        (windows->period == 0 || now - d->window_from >= windows->period)) {
        // Only a finished period is replaced, so that windows never jump.
        uint64_t shortest =
            hdi_median_get(&d->median) * d->policy.window_runs / 16;
        if (shortest == 0) {
            set_top(d, 1);
            return;
        }
        hdi_windows_scale(windows, d->policy.priorities, shortest,
                          d->policy.window_lead);
        d->window_from = now;
    }
    uint64_t next = hdi_windows_next(windows, now - d->window_from);
    set_top(d, hdi_windows_top(windows, now - d->window_from));
    d->top_until = next == UINT64_MAX ? next : d->window_from + next;
}

// Who takes part in this round: heads that fit somewhere, and urgent ones that
// modules are kept for.
// Returns the best rank among them.
static uint8_t rank_heads(struct hdi_dispatcher *d)
{
    unsigned kept = d->policy.hold > 0 ? d->policy.urgent : 0;
    uint8_t best = OUT;

    for (uint32_t c = 0; c < d->channels; c++) {
        uint8_t rank = d->rank_of[d->priority[c]];
        bool in = d->match.count[c] > 0 ||
                  (rank < kept && hdi_match_active(&d->match, c));
        rank = in ? rank : OUT;
        best = rank < best ? rank : best;
        d->rank[c] = rank;
    }
    return best;
}

static uint8_t best_rank(const struct hdi_dispatcher *d)
{
    uint8_t best = OUT;

    for (uint32_t c = 0; c < d->channels; c++)
        best = d->rank[c] < best ? d->rank[c] : best;
    return best;
}

struct choice {
    unsigned rank;
    int64_t prefer;
    uint32_t channel;
    uint32_t ties; // in d->ties; more than one: D4 applies
};

// How much the head of a channel is preferred to others of its rank.
static int64_t preference(const struct hdi_dispatcher *d, uint32_t channel,
                          uint64_t now)
{
    uint64_t age = now - d->arrived[channel];

    if (d->policy.patience > 0 && age > d->policy.patience)
        return INT64_MAX / 2 + (int64_t)(age & (INT64_MAX / 4));
    return d->prefer[channel];
}

// The heads that go first among those of the best rank.
static void first_heads(struct hdi_dispatcher *d, uint8_t rank, uint64_t now,
                        struct choice *choice)
{
    *choice = (struct choice){.rank = rank, .prefer = INT64_MIN};
    for (uint32_t c = 0; c < d->channels; c++) {
        if (d->rank[c] != rank)
            continue;
        int64_t prefer = preference(d, c, now);
        if (prefer < choice->prefer)
            continue;
        if (prefer > choice->prefer)
            choice->ties = 0;
        choice->prefer = prefer;
        d->ties[choice->ties++] = c;
    }
}

static uint8_t *marks_of(struct hdi_dispatcher *d, uint32_t channel)
{
    return d->marks + (size_t)(d->priority[channel] - 1) * d->channels;
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

// Keep the emptiest modules that are not kept yet for the head of `channel`: no
// more than the groups of its packet can fill.
static bool hold_modules(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_entry *head = hdi_channel_head(&d->channel[channel]);
    uint64_t fill = ((uint64_t)head->waiting * head->share + 65535) >> 16;
    uint32_t words = d->match.words, rest = d->shape.modules % 64;
    bool any = false;

    for (uint32_t i = 0; i < d->policy.hold && i < fill; i++) {
        for (uint32_t w = 0; w < words; w++)
            d->open[w] = ~d->held[w];
        if (rest > 0)
            d->open[words - 1] &= (UINT64_C(1) << rest) - 1;
        uint32_t m = d->match.lanes->best(d->open, d->space, words);
        if (m >= d->shape.modules)
            break;
        d->held[m / 64] |= UINT64_C(1) << (m % 64);
        any = true;
    }
    return any;
}

// Where the head of `channel` may go: not where a module is held, unless the
// group should have ended before those that run there.
static const uint64_t *open_modules(struct hdi_dispatcher *d, uint32_t channel,
                                    uint64_t now)
{
    const uint64_t *fits = d->match.fits + (size_t)channel * d->match.words;
    const struct hdi_entry *head = hdi_channel_head(&d->channel[channel]);
    uint64_t end = now + hdi_expected_run(d, head);

    for (uint32_t w = 0; w < d->match.words; w++) {
        uint64_t held = d->held[w] & fits[w];

        d->open[w] = fits[w] & ~d->held[w];
        for (; d->policy.backfill && held; held &= held - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(held);
            if (end <= d->drain[64 * w + bit])
                d->open[w] |= UINT64_C(1) << bit;
        }
    }
    return d->open;
}

static uint32_t next_module(const struct hdi_dispatcher *d,
                            const uint64_t *fits)
{
    uint32_t none = 64 * d->match.words, first = none;

    for (uint32_t w = 0; w < d->match.words; w++) {
        for (uint64_t left = fits[w]; left; left &= left - 1) {
            uint32_t m = 64 * w + (uint32_t)__builtin_ctzll(left);
            if (m > d->last_module)
                return m;
            if (first == none)
                first = m;
        }
    }
    return first;
}

static const int32_t *scores_now(struct hdi_dispatcher *d, uint64_t now)
{
    const struct hdi_mixture *mixture = &d->policy.mixture;

    if (mixture->recent == 0)
        return d->score;
    for (uint32_t m = 0; m < d->shape.modules; m++) {
        uint64_t sum = hdi_recent_sum(d->recent, m, now);
        double busy = (double)sum / (double)d->recent->full;
        d->with_recent[m] = hdi_score(d->score[m] - mixture->recent * busy *
                                                        65536 * d->score_scale);
    }
    return d->with_recent;
}

// Find the head of `channel` a module and take what it needs there. False: it
// fits nowhere that is not held.
static bool place(struct hdi_dispatcher *d, uint32_t channel, uint64_t now,
                  bool any_held, uint32_t *module)
{
    const uint64_t *fits = d->match.fits + (size_t)channel * d->match.words;
    struct hdi_lease *lease = &d->leases[d->free_leases[d->free_count - 1]];
    const int32_t *score = scores_now(d, now);

    while (d->match.count[channel] > 0) {
        const uint64_t *open = any_held ? open_modules(d, channel, now) : fits;
        uint32_t m = d->policy.place == HDI_PLACE_NEXT
                         ? next_module(d, open)
                         : d->match.lanes->best(open, score, d->match.words);
        if (m >= d->shape.modules)
            return false;
        const uint16_t *lines =
            hdi_match_need(&d->match, channel, d->match.turn[m]);
        if (hdi_module_take(&d->modules[m], &d->shape, d->match.lanes, lines,
                            lines + d->shape.line_pad, d->resources[channel],
                            lease)) {
            *module = m;
            return true;
        }
        hdi_match_refuse(&d->match, channel, m);
    }
    return false;
}

static void send(struct hdi_dispatcher *d, uint64_t now, uint32_t channel,
                 uint32_t m, struct hdi_decision *decision)
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
    if (d->policy.backfill) {
        uint64_t end = now + hdi_expected_run(d, head);
        d->drain[m] = end > d->drain[m] ? end : d->drain[m];
    }
    d->leases[lease].module = m;
    d->origins[lease] =
        (struct hdi_origin){.channel = channel, .serial = serial};
    module->pointer = hdi_pointer_moved(module->pointer, waves, d->shape.units);
    module->first =
        hdi_pointer_first(d->policy.pointer, module->pointer, d->shape.units);
    d->match.turn[m] = (uint8_t)module->first;
    hdi_touch_module(d, m);
    d->last_module = m;
    d->turn = channel + 1 == d->channels ? 0 : channel + 1;

    hdi_channel_pop(c);
    head = hdi_channel_head(c);
    // Equal groups of one packet leave need and matches as they are.
    if (!head || head->serial != serial || head->packet.need.waves != waves)
        hdi_take_head(d, channel);
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

    while (!hdi_match_active(&d->match, d->sticky))
        d->sticky = d->sticky + 1 == d->channels ? 0 : d->sticky + 1;
    if (!place(d, d->sticky, now, false, &module))
        return HDI_ROUND_STUCK;
    send(d, now, d->sticky, module, decision);
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
        if (d->match.count[c] > 0 && place(d, c, now, false, &module)) {
            send(d, now, c, module, decision);
            return HDI_ROUND_SENT;
        }
    }
    return HDI_ROUND_STUCK;
}

static enum hdi_round priority_round(struct hdi_dispatcher *d, uint64_t now,
                                     struct hdi_decision *decision)
{
    bool any_held = false, fits_somewhere = false;
    struct choice choice;
    uint32_t module;

    turn_windows(d, now);
    for (uint8_t rank = rank_heads(d); rank != OUT; rank = best_rank(d)) {
        first_heads(d, rank, now, &choice);
        uint32_t channel = pick(d, &choice);

        if (place(d, channel, now, any_held, &module)) {
            mark(d, &choice, channel);
            send(d, now, channel, module, decision);
            return HDI_ROUND_SENT;
        }
        d->rank[channel] = OUT;
        fits_somewhere |= d->match.count[channel] > 0;
        if (d->policy.hold > 0 && choice.rank < d->policy.urgent) {
            if (!any_held)
                memset(d->held, 0, d->match.words * sizeof(*d->held));
            any_held |= hold_modules(d, channel);
        }
    }
    return stuck(d, fits_somewhere);
}

enum hdi_round hdi_dispatcher_round(struct hdi_dispatcher *dispatcher,
                                    uint64_t now, struct hdi_decision *decision)
{
    struct hdi_dispatcher *d = dispatcher;
    bool waiting = false;

    for (uint32_t w = 0; w <= (d->channels - 1) / 64; w++)
        waiting |= d->match.active[w] != 0;
    d->held_back = false;
    d->has_split = false;
    if (!waiting) {
        d->failed_rounds = 0;
        return HDI_ROUND_EMPTY;
    }
    if (d->free_count == 0)
        return stuck(d, true);
    refresh(d);

    struct hdi_random random = d->random;
    enum hdi_round round =
        d->policy.order == HDI_ORDER_STICKY  ? sticky_round(d, now, decision)
        : d->policy.order == HDI_ORDER_ROBIN ? robin_round(d, now, decision)
                                             : priority_round(d, now, decision);
    // A round that fails draws nothing: decisions do not depend on how often
    // was asked in vain.
    if (round != HDI_ROUND_SENT)
        d->random = random;
    if (round == HDI_ROUND_SENT)
        d->failed_rounds = 0;
    else if (!d->held_back)
        hdi_dispatcher_wait(d, 1);
    return round;
}
