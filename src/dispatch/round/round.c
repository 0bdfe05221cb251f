// One round: which head goes, and where.
#include <string.h>

#include "dispatch/round/state.h"

// log2 in 1/16: the power of two, and the four bits below the leading one.
// Preferences weigh run times by their ratio; a difference in cycles would let
// the longest packet outweigh all others.
static int64_t sixteenths(uint64_t cycles)
{
    if (cycles < 2)
        return 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(cycles);
    uint64_t fraction =
        power >= 4 ? cycles >> (power - 4) & 15 : cycles << (4 - power) & 15;

    return (int64_t)(power * 16 + fraction);
}

// A whole module (65536) weighs with `large` as much as twice the run time (16
// x 4096) does with `brief`.
void hdi_set_preference(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_policy *policy = &d->policy;
    const struct hdi_channel_entry *head =
        hdi_channel_head(&d->channel[channel]);
    int64_t prefer = head->packet.prefer;

    d->expected[channel] = head->runs > 0 ? head->mean : head->packet.expected;
    if (policy->large != 0)
        prefer += policy->large * (int64_t)head->share;
    if (policy->brief != 0)
        prefer -=
            policy->brief * sixteenths(hdi_expected_run(d, channel)) * 4096;
    if (policy->prefer)
        prefer += policy->prefer(
            &(struct hdi_head){.packet = &head->packet,
                               .share = head->share,
                               .arrived = head->arrived,
                               .expected = hdi_expected_run(d, channel)});
    d->prefer[channel] = prefer;
    d->prefers |= prefer != 0;
}

// A channel is in the sets of its head's priority, and of that one's rank, and
// in no other; priority 0: in none. A channel that was marked for a priority is
// so again when a head of that priority comes.
static void set_priority(struct hdi_dispatcher *d, uint32_t channel,
                         uint8_t priority)
{
    uint32_t w = channel / 64, old = d->priority[channel];
    uint64_t bit = hdi_bit(channel);

    if (old > 0) {
        hdi_of_priority(d, d->of_priority, old)[w] &= ~bit;
        d->of_rank[d->rank[old] * d->channel_words + w] &= ~bit;
        d->marked[w] &= ~bit;
    }
    if (priority > 0) {
        hdi_of_priority(d, d->of_priority, priority)[w] |= bit;
        d->of_rank[d->rank[priority] * d->channel_words + w] |= bit;
        d->marked[w] |= hdi_of_priority(d, d->marks, priority)[w] & bit;
    }
    d->priority[channel] = priority;
}

// Everything that rounds want to know of a head is made here, once, since a
// head stays for many rounds: what it asks of each line, for every unit at
// which a module's split may begin; where it fits as far as is known. A module
// whose runs have not been searched since they changed (stale) may only seem to
// fit: the next round looks at it again.
void hdi_take_head(struct hdi_dispatcher *d, uint32_t channel)
{
    struct hdi_channel *c = &d->channel[channel];
    const struct hdi_channel_entry *head = hdi_channel_head(c);
    struct hdi_match *match = &d->match;

    d->divisible[channel / 64] &= ~hdi_bit(channel);
    if (!head) {
        hdi_match_empty(match, channel);
        set_priority(d, channel, 0);
        return;
    }
    if (hdi_channel_can_split(c, d->policy.split_waves))
        d->divisible[channel / 64] |= hdi_bit(channel);
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
    const uint64_t *fits = match->fits + (size_t)channel * match->words;
    for (uint32_t w = 0; w < match->words; w++) {
        for (uint64_t left = fits[w]; left; left &= left - 1) {
            uint32_t m = 64 * w + (uint32_t)__builtin_ctzll(left);
            if (d->modules[m].stale) // it may only seem to fit
                hdi_touch_module(d, m);
        }
    }
    set_priority(d, channel, need->priority);
    d->arrived[channel] = head->arrived;
    hdi_set_preference(d, channel);
}

// A new order of priorities, which begins with `top`. The first `urgent` of it
// have a rank each, all others share the last, so that a round looks at no more
// ranks than the policy tells apart.
static void set_top(struct hdi_dispatcher *d, unsigned top)
{
    unsigned urgent = d->policy.urgent, last = d->policy.priorities - 1;
    uint32_t words = d->channel_words;

    last = urgent > 0 && urgent < last ? urgent : last;
    d->ranks = (uint8_t)(last + 1);
    memset(d->of_rank, 0, HDI_MAX_PRIORITIES * words * sizeof(*d->of_rank));
    for (unsigned p = 1; p <= d->policy.priorities; p++) {
        unsigned rank = hdi_priority_rank(p, top);

        d->rank[p] = (uint8_t)(rank < last ? rank : last);
        for (uint32_t w = 0; w < words; w++)
            d->of_rank[d->rank[p] * words + w] |=
                hdi_of_priority(d, d->of_priority, p)[w];
    }
}

// Bring the order of priorities up to date; looked at once per window, so it
// does not belong into every round.
// Without a run time there are no windows yet: priority 1 is on top.
__attribute__((noinline)) static void turn_windows(struct hdi_dispatcher *d,
                                                   uint64_t now)
{
    struct hdi_windows *windows = &d->policy.windows;

    if (d->policy.window_runs > 0 &&
        (windows->period == 0 || now - d->window_from >= windows->period)) {
        // Only a finished period is replaced, so that windows never jump.
        if (!hdi_windows_scale(windows, d->policy.priorities,
                               hdi_median_get(&d->median),
                               d->policy.window_runs, d->policy.window_lead)) {
            set_top(d, 1);
            return;
        }
        d->window_from = now;
    }
    uint64_t next = hdi_windows_next(windows, now - d->window_from);
    set_top(d, hdi_windows_top(windows, now - d->window_from));
    d->top_until = next == UINT64_MAX ? next : d->window_from + next;
}

// A round sent nothing though there are heads. See hdi_dispatcher_wait() for
// what counts as a failure.
static enum hdi_round stuck(struct hdi_dispatcher *d)
{
    if (d->held_back)
        d->failed_rounds = 0;
    else if (d->failed_rounds < d->endurance)
        d->failed_rounds++;
    else
        hdi_dispatcher_wait(d, 1);
    return HDI_ROUND_STUCK;
}

// The order of what is looked at is that of cost: no heads, no lease, then the
// windows, then the search (lanes/round.h).
enum hdi_round hdi_dispatcher_round(struct hdi_dispatcher *dispatcher,
                                    uint64_t now, struct hdi_decision *decision)
{
    struct hdi_dispatcher *d = dispatcher;

    d->held_back = false;
    d->has_split = false;
    if (!hdi_any_channel(d, d->match.active)) {
        d->failed_rounds = 0;
        return HDI_ROUND_EMPTY;
    }
    if (d->free_count == 0) {
        d->held_back = true;
        return stuck(d);
    }
    if (d->policy.order == HDI_ORDER_PRIORITY && now >= d->top_until)
        turn_windows(d, now);

    if (!d->decide(d, now, decision))
        return stuck(d);
    d->failed_rounds = 0;
    return HDI_ROUND_SENT;
}
