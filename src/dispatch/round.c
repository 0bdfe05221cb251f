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
    d->prefers |= prefer != 0;
}

static uint64_t bit_of(uint32_t channel)
{
    return UINT64_C(1) << (channel % 64);
}

static uint64_t *of_priority(struct hdi_dispatcher *d, uint64_t *sets,
                             unsigned priority)
{
    return sets + (size_t)(priority - 1) * d->channel_words;
}

static void set_priority(struct hdi_dispatcher *d, uint32_t channel,
                         uint8_t priority)
{
    uint32_t w = channel / 64;

    if (d->priority[channel] > 0)
        of_priority(d, d->of_priority, d->priority[channel])[w] &=
            ~bit_of(channel);
    if (priority > 0)
        of_priority(d, d->of_priority, priority)[w] |= bit_of(channel);
    d->priority[channel] = priority;
}

void hdi_take_head(struct hdi_dispatcher *d, uint32_t channel)
{
    struct hdi_channel *c = &d->channel[channel];
    const struct hdi_entry *head = hdi_channel_head(c);
    struct hdi_match *match = &d->match;

    if (!head) {
        hdi_match_empty(match, channel);
        set_priority(d, channel, 0);
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
    const uint16_t *lines = hdi_match_need(match, channel, 0);
    d->outline[channel] = hdi_need_outline(need, &d->shape, lines, lines + pad);
    hdi_match_head(match, channel);
    set_priority(d, channel, need->priority);
    d->arrived[channel] = head->arrived;
    hdi_set_preference(d, channel);
}

// Bring the levels of changed modules up to date.
static void refresh(struct hdi_dispatcher *d)
{
    const struct hdi_lanes *lanes = d->match.lanes;

    for (uint32_t i = 0; i < d->changed_count; i++) {
        uint32_t m = d->changed[i];
        struct hdi_module *module = &d->modules[m];
        const uint16_t *level = module->room.level;

        hdi_module_search(module, &d->shape, d->match.lanes);
        hdi_match_module(&d->match, m);
        lanes->score(level, module->weight, d->shape.line_pad, d->score, m);
        if (d->policy.hold > 0)
            lanes->space(level, d->shape.line_share, d->shape.line_pad,
                         d->space, m);
        d->is_changed[m] = 0;
    }
    d->changed_count = 0;
}

static void set_top(struct hdi_dispatcher *d, unsigned top)
{
    unsigned urgent = d->policy.urgent, last = d->policy.priorities - 1;

    for (unsigned p = 1; p <= d->policy.priorities; p++)
        d->in_order[hdi_priority_rank(p, top)] = (uint8_t)p;
    d->ranks = (uint8_t)(urgent > 0 && urgent < last ? urgent + 1 : last + 1);
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

struct choice {
    unsigned first, end; // its rank: priorities in d->in_order
    bool ties;           // more than one of d->tied: D4 applies
};

// Of d->tied keep the heads that are preferred most.
static inline void keep_preferred(struct hdi_dispatcher *d, uint64_t now,
                                  uint32_t words)
{
    int64_t most = INT64_MIN;

    for (uint32_t w = 0; w < words; w++) {
        uint64_t kept = 0;

        for (uint64_t left = d->tied[w]; left; left &= left - 1) {
            uint32_t c = 64 * w + (uint32_t)__builtin_ctzll(left);
            uint64_t age = now - d->arrived[c];
            int64_t prefer = d->prefer[c];

            if (d->policy.patience > 0 && age > d->policy.patience)
                prefer = INT64_MAX / 2 + (int64_t)(age & (INT64_MAX / 4));
            if (prefer > most) {
                most = prefer;
                kept = 0;
                for (uint32_t i = 0; i < w; i++)
                    d->tied[i] = 0;
            }
            kept |= prefer == most ? bit_of(c) : 0;
        }
        d->tied[w] = kept;
    }
}

// The heads that go first among those of a rank that take part and were not
// passed over: those that fit somewhere and, with `kept`, also those that
// modules are kept for. False: there is none.
static inline bool first_heads(struct hdi_dispatcher *d, bool kept,
                               uint64_t now, struct choice *choice,
                               uint32_t words)
{
    uint64_t any = 0, more = 0;

    for (uint32_t w = 0; w < words; w++) {
        uint64_t in = kept ? d->match.active[w] : d->match.some[w];
        uint64_t of_rank = 0;

        for (unsigned i = choice->first; i < choice->end; i++)
            of_rank |= of_priority(d, d->of_priority, d->in_order[i])[w];
        in &= of_rank & ~d->passed[w];
        d->tied[w] = in;
        more |= (in & (in - 1)) | (any ? in : 0);
        any |= in;
    }
    choice->ties = more != 0;
    if (!choice->ties || !(d->prefers || d->policy.patience > 0))
        return any != 0;
    keep_preferred(d, now, words);
    any = more = 0;
    for (uint32_t w = 0; w < words; w++) {
        more |= (d->tied[w] & (d->tied[w] - 1)) | (any ? d->tied[w] : 0);
        any |= d->tied[w];
    }
    choice->ties = more != 0;
    return true;
}

// The tied heads that are marked for the priority they have.
static uint64_t marked(struct hdi_dispatcher *d, const struct choice *choice,
                       uint32_t w)
{
    uint64_t set = 0;

    for (unsigned i = choice->first; i < choice->end; i++)
        set |= of_priority(d, d->of_priority, d->in_order[i])[w] &
               of_priority(d, d->marks, d->in_order[i])[w];
    return set & d->tied[w];
}

// The first of a set of channels from `from` on; UINT32_MAX: none.
static uint32_t first_from(const struct hdi_dispatcher *d, const uint64_t *set,
                           uint32_t from)
{
    for (uint32_t w = from / 64; w < d->channel_words; w++, from = 64 * w) {
        uint64_t left = set[w] >> (from % 64);
        if (left)
            return from + (uint32_t)__builtin_ctzll(left);
    }
    return UINT32_MAX;
}

// One of the tied heads: in turns, or at random among those that are not marked
// or, when all are, among all. d->unmarked gets the former.
static inline uint32_t pick(struct hdi_dispatcher *d,
                            const struct choice *choice, uint32_t words)
{
    const struct hdi_lanes *lanes = d->match.lanes;
    uint64_t any = 0;

    if (!choice->ties)
        return first_from(d, d->tied, 0);
    if (!d->policy.marks) {
        uint32_t next = first_from(d, d->tied, d->turn);
        return next != UINT32_MAX ? next : first_from(d, d->tied, 0);
    }
    for (uint32_t w = 0; w < words; w++) {
        d->unmarked[w] = d->tied[w] & ~marked(d, choice, w);
        any |= d->unmarked[w];
    }
    return lanes->draw(any ? d->unmarked : d->tied, words,
                       hdi_random_next(&d->random));
}

// D4, once it is sure that `channel` goes.
static inline void mark(struct hdi_dispatcher *d, const struct choice *choice,
                        uint32_t channel, uint32_t words)
{
    uint64_t clear = 0;

    if (!choice->ties || !d->policy.marks)
        return;
    for (uint32_t w = 0; w < words; w++)
        clear |= d->unmarked[w];
    for (unsigned i = choice->first; clear == 0 && i < choice->end; i++) {
        const uint64_t *set = of_priority(d, d->of_priority, d->in_order[i]);
        uint64_t *marks = of_priority(d, d->marks, d->in_order[i]);
        for (uint32_t w = 0; w < words; w++)
            marks[w] &= ~(d->tied[w] & set[w]);
    }
    of_priority(d, d->marks, d->priority[channel])[channel / 64] |=
        bit_of(channel);
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

    while (hdi_match_some(&d->match, channel)) {
        const uint64_t *open = any_held ? open_modules(d, channel, now) : fits;
        uint32_t m = d->policy.place == HDI_PLACE_NEXT
                         ? next_module(d, open)
                         : d->match.lanes->best(open, score, d->match.words);
        if (m >= d->shape.modules)
            return false;
        const uint16_t *lines =
            hdi_match_need(&d->match, channel, d->match.turn[m]);
        if (hdi_module_take(&d->modules[m], &d->shape, d->match.lanes, lines,
                            lines + d->shape.line_pad, &d->outline[channel],
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

    for (unsigned lap = 0; lap < 2; lap++) {
        uint32_t end = lap == 0 ? d->channels : d->turn;
        uint32_t c = first_from(d, d->match.some, lap == 0 ? d->turn : 0);

        for (; c < end; c = first_from(d, d->match.some, c + 1)) {
            if (place(d, c, now, false, &module)) {
                send(d, now, c, module, decision);
                return HDI_ROUND_SENT;
            }
        }
    }
    return HDI_ROUND_STUCK;
}

static inline enum hdi_round by_priority(struct hdi_dispatcher *d, uint64_t now,
                                         struct hdi_decision *decision,
                                         uint32_t words)
{
    bool any_held = false, fits_somewhere = false;
    uint32_t module;

    turn_windows(d, now);
    for (uint32_t w = 0; w < words; w++)
        d->passed[w] = 0;
    for (unsigned rank = 0; rank < d->ranks; rank++) {
        bool kept = d->policy.hold > 0 && rank < d->policy.urgent;
        bool last = rank + 1u == d->ranks;
        struct choice choice = {.first = rank,
                                .end = last ? d->policy.priorities : rank + 1};

        while (first_heads(d, kept, now, &choice, words)) {
            uint32_t channel = pick(d, &choice, words);

            if (place(d, channel, now, any_held, &module)) {
                mark(d, &choice, channel, words);
                send(d, now, channel, module, decision);
                return HDI_ROUND_SENT;
            }
            d->passed[channel / 64] |= bit_of(channel);
            fits_somewhere |= hdi_match_some(&d->match, channel);
            if (kept) {
                for (uint32_t w = 0; !any_held && w < d->match.words; w++)
                    d->held[w] = 0;
                any_held |= hold_modules(d, channel);
            }
        }
    }
    return stuck(d, fits_somewhere);
}

// Most dispatchers have no more channels than one word: let the compiler know.
static enum hdi_round priority_round(struct hdi_dispatcher *d, uint64_t now,
                                     struct hdi_decision *decision)
{
    return d->channel_words == 1
               ? by_priority(d, now, decision, 1)
               : by_priority(d, now, decision, d->channel_words);
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
