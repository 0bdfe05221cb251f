// One round, compiled with every set of lanes: which head goes, and where.
// Part of body.h.
#include "dispatch/round/state.h"

// How much there is to look at. What most dispatchers have is known to the
// compiler: see decide().
struct extent {
    uint32_t channels, channel_words, module_words, lines;
};

// Compare a module with all heads. Its runs are searched when, for all that is
// known of them, some head may fit there. False: none does.
static inline void match_module(struct hdi_dispatcher *d, uint32_t m,
                                struct extent of)
{
    struct hdi_match *match = &d->match;
    struct hdi_module *module = &d->modules[m];
    uint16_t *level = match->level + (size_t)m * of.lines;
    uint32_t stride = d->shape.units * HDI_PAGE * of.lines;
    uint32_t runs = (d->shape.count_begin + 3) / 4 * 4; // see hdi_page_place()
    const uint16_t *pages =
        match->pages + (size_t)match->turn[m] * HDI_PAGE * of.lines;

    for (uint32_t w = 0; w < of.channel_words; w++, pages += 8 * stride) {
        uint32_t left = of.channels - 64 * w, count = left < 64 ? left : 64;
        uint64_t *some = &match->some[w], now;

        now = column(level, pages, stride, of.lines, count) & match->active[w];
        if (now && module->stale) {
            search_module(module, &d->shape, level);
            // The counts are as they were.
            now &= column(level, pages, stride, runs, count);
        }
        uint64_t any =
            spread(match->fits + (size_t)64 * w * of.module_words + m / 64,
                   of.module_words, m % 64, now, count);

        // With more words another may still have one.
        uint64_t lost = of.module_words > 1 ? *some & ~any : 0;
        *some = any | lost;
        for (; lost; lost &= lost - 1)
            hdi_match_look(match, 64 * w + (uint32_t)__builtin_ctzll(lost));
    }
}

// Bring what is known of changed modules up to date.
static inline void refresh(struct hdi_dispatcher *d, struct extent of)
{
    for (uint32_t i = 0; i < d->changed_count; i++) {
        uint32_t m = d->changed[i];

        match_module(d, m, of);
        d->old_score[m / 64] |= UINT64_C(1) << (m % 64);
        d->old_space[m / 64] |= UINT64_C(1) << (m % 64);
        d->is_changed[m] = 0;
    }
    d->changed_count = 0;
}

// Scratch sets of channels. For a page of channels they are on the stack, where
// nothing else can point to them and the compiler keeps them in registers.
struct sets {
    uint64_t *passed; // found no place in this round
    uint64_t *tied;   // go first
    uint64_t *among;  // of those, who is drawn from
};

// What first_heads() finds and pick() and mark() go by.
struct choice {
    unsigned rank; // whose heads are tied
    bool ties;     // more than one of them: the marks decide
    bool all;      // all of them are marked
};

// The preferences of heads now: who has waited too long goes first. NULL: there
// are none.
// Ages are cut to INT64_MAX / 4, so a head that has waited too long is above
// all others, and the oldest of these above them.
static inline const int64_t *preferences(struct hdi_dispatcher *d, uint64_t now)
{
    uint64_t patience = d->policy.patience;

    if (patience == 0)
        return d->prefers ? d->prefer : NULL;
    for (uint32_t c = 0; c < d->channels; c++) {
        uint64_t age = now - d->arrived[c];
        d->urged[c] = age > patience
                          ? INT64_MAX / 2 + (int64_t)(age & (INT64_MAX / 4))
                          : d->prefer[c];
    }
    return d->urged;
}

// The heads that go first among those of a rank that take part and were not
// passed over: those that fit somewhere and, with `kept`, also those that
// modules are kept for. False: there is none.
static inline bool first_heads(struct hdi_dispatcher *d, bool kept,
                               const int64_t *prefer, struct choice *choice,
                               struct sets sets, struct extent of)
{
    const uint64_t *of_rank = d->of_rank + choice->rank * of.channel_words;
    const uint64_t *in = kept ? d->match.active : d->match.some;
    uint64_t any = 0, more = 0;

    for (uint32_t w = 0; w < of.channel_words; w++) {
        sets.tied[w] = in[w] & of_rank[w] & ~sets.passed[w];
        more |= (sets.tied[w] & (sets.tied[w] - 1)) | (any ? sets.tied[w] : 0);
        any |= sets.tied[w];
    }
    choice->ties = more != 0;
    if (!choice->ties || !prefer)
        return any != 0;

    int64_t most = INT64_MIN;
    for (uint32_t w = 0; w < of.channel_words; w++)
        most = largest_of(sets.tied[w], prefer + 64 * w, most);
    any = more = 0;
    for (uint32_t w = 0; w < of.channel_words; w++) {
        uint64_t tied = equal_to(sets.tied[w], prefer + 64 * w, most);
        more |= (tied & (tied - 1)) | (any ? tied : 0);
        any |= tied;
        sets.tied[w] = tied;
    }
    choice->ties = more != 0;
    return true;
}

// The first of a set of channels from `from` on; UINT32_MAX: none.
static inline uint32_t first_from(const uint64_t *set, uint32_t from,
                                  struct extent of)
{
    for (uint32_t w = from / 64; w < of.channel_words; w++, from = 64 * w) {
        uint64_t left = set[w] >> (from % 64);
        if (left)
            return from + (uint32_t)__builtin_ctzll(left);
    }
    return UINT32_MAX;
}

// One of the tied heads: in turns, or at random among those that are not marked
// or, when all are, among all.
static inline uint32_t pick(struct hdi_dispatcher *d, struct choice *choice,
                            struct sets sets, struct extent of)
{
    uint64_t any = 0;

    if (!choice->ties)
        return first_from(sets.tied, 0, of);
    if (!d->policy.marks) {
        uint32_t next = first_from(sets.tied, d->turn, of);
        return next != UINT32_MAX ? next : first_from(sets.tied, 0, of);
    }
    for (uint32_t w = 0; w < of.channel_words; w++)
        any |= sets.tied[w] & ~d->marked[w];
    choice->all = any == 0;
    for (uint32_t w = 0; w < of.channel_words; w++)
        sets.among[w] = sets.tied[w] & (any ? ~d->marked[w] : UINT64_MAX);
    return draw(sets.among, of.channel_words, hdi_random_next(&d->random));
}

// Its mark, once it is sure that `channel` goes.
static inline void mark(struct hdi_dispatcher *d, const struct choice *choice,
                        struct sets sets, uint32_t channel, struct extent of)
{
    if (!choice->ties || !d->policy.marks)
        return;
    for (uint32_t w = 0; choice->all && w < of.channel_words; w++) {
        for (unsigned p = 1; p <= d->policy.priorities; p++)
            hdi_of_priority(d, d->marks, p)[w] &=
                ~(sets.tied[w] & hdi_of_priority(d, d->of_priority, p)[w]);
        d->marked[w] &= ~sets.tied[w];
    }
    hdi_of_priority(d, d->marks, d->priority[channel])[channel / 64] |=
        hdi_bit(channel);
    d->marked[channel / 64] |= hdi_bit(channel);
}

// Bring the spaces of modules that changed since the last time up to date.
static inline void measure_spaces(struct hdi_dispatcher *d, struct extent of)
{
    for (uint32_t w = 0; w < of.module_words; w++) {
        for (; d->old_space[w]; d->old_space[w] &= d->old_space[w] - 1) {
            uint32_t m = 64 * w + (uint32_t)__builtin_ctzll(d->old_space[w]);
            space(d->match.level + (size_t)m * of.lines, d->shape.line_share,
                  of.lines, d->space, m);
        }
    }
}

// How many modules are kept for the head of `channel`: no more than the groups
// of its packet can fill.
static inline uint32_t modules_for(struct hdi_dispatcher *d, uint32_t channel)
{
    const struct hdi_channel_entry *head =
        hdi_channel_head(&d->channel[channel]);
    uint64_t fill = ((uint64_t)head->waiting * head->share + 65535) >> 16;

    return fill < d->policy.hold ? (uint32_t)fill : d->policy.hold;
}

// Make d->held the `count` emptiest modules; `from` are there.
// One at a time, each the emptiest of those that are not held yet.
static inline void hold_modules(struct hdi_dispatcher *d, uint32_t from,
                                uint32_t count, struct extent of)
{
    uint32_t words = of.module_words, rest = d->shape.modules % 64;

    for (uint32_t w = 0; from == 0 && w < words; w++)
        d->held[w] = 0;
    for (uint32_t i = from; i < count; i++) {
        for (uint32_t w = 0; w < words; w++)
            d->open[w] = ~d->held[w];
        if (rest > 0)
            d->open[words - 1] &= (UINT64_C(1) << rest) - 1;
        uint32_t m = best(d->open, d->space, d->shape.modules);
        if (m >= d->shape.modules)
            break;
        d->held[m / 64] |= UINT64_C(1) << (m % 64);
    }
}

// Make d->held those that are kept, the d->kept emptiest.
static inline void hold(struct hdi_dispatcher *d, struct extent of)
{
    if (d->held_count == d->kept)
        return;
    measure_spaces(d, of);
#ifdef __AVX512BW__
    if (d->shape.modules <= 16) { // of those where somebody fits
        uint64_t fits = any_of(d->match.fits, of.channels);
        d->held[0] = emptiest_of_row(fits, d->space, d->shape.modules, d->kept);
    } else
#endif
        hold_modules(d, d->held_count, d->kept, of);
    d->held_count = d->kept;
}

// Where the head of `channel` may go: not where a module is held, unless the
// group should have ended before those that run there.
static inline const uint64_t *open_modules(struct hdi_dispatcher *d,
                                           uint32_t channel, uint64_t now,
                                           struct extent of)
{
    const uint64_t *fits = d->match.fits + (size_t)channel * of.module_words;
    uint64_t end = now + hdi_expected_run(d, channel);

    hold(d, of);
    for (uint32_t w = 0; w < of.module_words; w++) {
        uint64_t held = fits[w] & d->held[w];

        d->open[w] = fits[w] & ~held;
        for (; d->policy.backfill && held; held &= held - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(held);
            if (end <= d->drain[64 * w + bit])
                d->open[w] |= UINT64_C(1) << bit;
        }
    }
    return d->open;
}

// Those of a page of channels for whom open_modules() has some.
static inline uint64_t open_heads(struct hdi_dispatcher *d, uint64_t now,
                                  struct extent of)
{
    hold(d, of);
#ifdef __AVX512BW__
    uint64_t held = d->policy.backfill ? d->held[0] : 0;
    __m512i fits = _mm512_loadu_si512(d->match.fits);
    __m512i run = _mm512_loadu_si512(d->expected);
    __m512i median = _mm512_set1_epi64((long long)hdi_median_get(&d->median));
    __mmask8 known = _mm512_test_epi64_mask(run, run);
    __m512i end = _mm512_add_epi64(_mm512_mask_mov_epi64(median, known, run),
                                   _mm512_set1_epi64((long long)now));
    uint64_t open =
        _mm512_test_epi64_mask(fits, _mm512_set1_epi64((long long)~d->held[0]));

    for (; held; held &= held - 1) {
        unsigned m = (unsigned)__builtin_ctzll(held);
        __m512i bit = _mm512_set1_epi64((long long)(UINT64_C(1) << m));
        open |= _mm512_mask_cmple_epu64_mask(
            _mm512_test_epi64_mask(fits, bit), end,
            _mm512_set1_epi64((long long)d->drain[m]));
    }
    return open;
#else
    uint64_t open = 0;

    for (uint32_t c = 0; c < of.channels; c++)
        open |= (uint64_t)(open_modules(d, c, now, of)[0] != 0) << c;
    return open;
#endif
}

// The first module that fits.
static inline uint32_t first_module(const uint64_t *fits, struct extent of)
{
    for (uint32_t w = 0; w < of.module_words; w++) {
        if (fits[w])
            return 64 * w + (uint32_t)__builtin_ctzll(fits[w]);
    }
    return 64 * of.module_words;
}

// The first module that fits behind the last one used, or else before it.
static inline uint32_t next_module(const struct hdi_dispatcher *d,
                                   const uint64_t *fits, struct extent of)
{
    uint32_t from = d->last_module + 1;

    for (uint32_t w = from / 64; w < of.module_words; from = 64 * ++w) {
        uint64_t left = fits[w] >> (from % 64);
        if (left)
            return from + (uint32_t)__builtin_ctzll(left);
    }
    return first_module(fits, of);
}

// The scores of modules as they are now, of those that fit at least.
static inline const int32_t *scores_now(struct hdi_dispatcher *d,
                                        const uint64_t *fits, uint64_t now,
                                        struct extent of)
{
    const struct hdi_mixture *mixture = &d->policy.mixture;

    for (uint32_t w = 0; w < of.module_words; w++) {
        uint64_t old = d->old_score[w] & fits[w];
        d->old_score[w] &= ~old;
        for (; old; old &= old - 1) {
            uint32_t m = 64 * w + (uint32_t)__builtin_ctzll(old);
            score(d->match.level + (size_t)m * of.lines, d->modules[m].weight,
                  of.lines, d->score, m);
        }
    }
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

// Which of the modules that fit; shape.modules or more if none.
static inline uint32_t choose(struct hdi_dispatcher *d, const uint64_t *fits,
                              uint64_t now, struct extent of)
{
    // As a rule the machine is full and one module fits: nothing else to know.
    bool one = of.module_words == 1 && (fits[0] & (fits[0] - 1)) == 0;

    if (d->policy.place == HDI_PLACE_NEXT)
        return next_module(d, fits, of);
    if (one || !d->scores)
        return first_module(fits, of);
    return best(fits, scores_now(d, fits, now, of), d->shape.modules);
}

// Find the head of `channel`, which fits somewhere, a module and take what it
// needs there. False: all of those are held.
// The match says what may fit; only take_all() knows. A module that refuses
// does not fit this head until one of them changes, so the loop ends.
static inline bool place(struct hdi_dispatcher *d, uint32_t channel,
                         uint64_t now, struct extent of, uint32_t *module)
{
    const uint64_t *fits = d->match.fits + (size_t)channel * of.module_words;
    struct hdi_lease *lease = &d->leases[d->free_leases[d->free_count - 1]];

    do {
        const uint64_t *open =
            d->kept > 0 ? open_modules(d, channel, now, of) : fits;
        uint32_t m = choose(d, open, now, of);
        if (m >= d->shape.modules)
            return false;
        const uint16_t *lines =
            d->match.need +
            ((size_t)channel * d->shape.units + d->match.turn[m]) * 2 *
                of.lines;
        if (take_all(&d->modules[m], &d->shape, lines, lines + of.lines,
                     &d->outline[channel], lease, of.lines)) {
            *module = m;
            return true;
        }
        hdi_match_refuse(&d->match, channel, m);
    } while (hdi_match_some(&d->match, channel));
    return false;
}

// Everything that changes by a decision is changed here and in take_all(), and
// nothing before it is sure.
static inline void send(struct hdi_dispatcher *d, uint64_t now,
                        uint32_t channel, uint32_t m,
                        struct hdi_decision *decision)
{
    struct hdi_channel *c = &d->channel[channel];
    struct hdi_module *module = &d->modules[m];
    struct hdi_channel_entry *head = hdi_channel_head(c);
    uint32_t lease = d->free_leases[--d->free_count];

    *decision = (struct hdi_decision){.channel = channel,
                                      .module = m,
                                      .lease = lease,
                                      .process = head->packet.process,
                                      .tag = head->packet.tag,
                                      .arrived = head->arrived,
                                      .group = head->next,
                                      .piece = head->piece,
                                      .pieces = head->pieces,
                                      .waves = head->packet.need.waves,
                                      .priority = head->packet.need.priority,
                                      .unit = module->first};
    if (d->policy.backfill) {
        uint64_t end = now + hdi_expected_run(d, channel);
        d->drain[m] = end > d->drain[m] ? end : d->drain[m];
    }
    d->leases[lease].module = m;
    d->origins[lease] = (struct hdi_lease_origin){
        .channel = channel,
        .split = head->pieces > 0 ? hdi_count_piece(d, channel) : 0,
        .serial = head->serial};
    module->pointer = hdi_pointer_moved(
        module->pointer, d->outline[channel].rest, d->shape.units);
    module->first =
        hdi_pointer_first(d->policy.pointer, module->pointer, d->shape.units);
    d->match.turn[m] = (uint8_t)module->first;
    hdi_touch_module(d, m);
    d->last_module = m;
    d->turn = channel + 1 == d->channels ? 0 : channel + 1;

    if (hdi_channel_pop(c))
        hdi_take_head(d, channel);
}

// One channel until it is empty.
static inline bool sticky(struct hdi_dispatcher *d, uint64_t now,
                          struct hdi_decision *decision, struct extent of)
{
    uint32_t module;

    while (!hdi_match_active(&d->match, d->sticky))
        d->sticky = d->sticky + 1 == d->channels ? 0 : d->sticky + 1;
    if (!hdi_match_some(&d->match, d->sticky) ||
        !place(d, d->sticky, now, of, &module))
        return false;
    send(d, now, d->sticky, module, decision);
    return true;
}

// Two laps: from the turn on, then from the first channel to the turn.
static inline bool robin(struct hdi_dispatcher *d, uint64_t now,
                         struct hdi_decision *decision, struct extent of)
{
    uint32_t module;

    for (unsigned lap = 0; lap < 2; lap++) {
        uint32_t end = lap == 0 ? d->channels : d->turn;
        uint32_t c = first_from(d->match.some, lap == 0 ? d->turn : 0, of);

        for (; c < end; c = first_from(d->match.some, c + 1, of)) {
            if (place(d, c, now, of, &module)) {
                send(d, now, c, module, decision);
                return true;
            }
        }
    }
    return false;
}

// Whether some of these heads are preferred alike: who of them is looked at
// first is drawn.
static inline bool any_alike(uint64_t heads, const int64_t *prefer)
{
    for (uint64_t left = heads; left & (left - 1); left &= left - 1) {
        uint64_t alike = equal_to(left, prefer, prefer[__builtin_ctzll(left)]);
        if (alike & (alike - 1))
            return true;
    }
    return false;
}

// Of a page of channels pass over at once whose turn would come before that of
// a head that may go, or of all: the result is what looking at one after the
// other would come to. Whether some of them fit somewhere.
static inline bool pass_over(struct hdi_dispatcher *d, bool kept, uint64_t now,
                             const int64_t *prefer, unsigned rank,
                             uint64_t *passed, struct extent of)
{
    uint64_t some = d->match.some[0] & d->of_rank[rank];
    uint64_t shut = kept ? d->match.active[0] & d->of_rank[rank] : some;

    if (kept && some)
        return false;
    if (!kept) {
        uint64_t open = some & open_heads(d, now, of);
        shut &= ~open;
        if (open)
            shut = above(shut, prefer, largest_of(open, prefer, INT64_MIN));
    }
    if (d->policy.marks && any_alike(shut, prefer))
        return false;
    for (uint64_t left = kept ? shut : 0; left; left &= left - 1)
        d->kept += modules_for(d, (uint32_t)__builtin_ctzll(left));
    *passed |= shut;
    return !kept && shut;
}

// A round, in the order of priorities:
//
//     for each rank of the order
//         heads of it that fit, and are not passed over
//             those preferred most -> one of them -> a module -> sent
//                                                 -> none: passed over
//         `kept`: modules are held for those that do not fit
static inline bool by_priority(struct hdi_dispatcher *d, uint64_t now,
                               struct hdi_decision *decision, struct sets sets,
                               struct extent of)
{
    bool fits_somewhere = false;
    struct hdi_random random = d->random;
    uint64_t some = 0;
    uint32_t module;

    for (uint32_t w = 0; w < of.channel_words; w++) {
        sets.passed[w] = 0;
        some |= d->match.some[w];
    }
    if (!some)
        return false;
    const int64_t *prefer = preferences(d, now);
    unsigned rank = d->policy.hold == 0 && of.channel_words == 1
                        ? first_shared(some, d->of_rank)
                        : 0;
    d->kept = d->held_count = 0;
    for (; rank < d->ranks; rank++) {
        bool kept = d->policy.hold > 0 && rank < d->policy.urgent;
        struct choice choice = {.rank = rank};

        if (of.channels == HDI_PAGE && prefer && (kept || d->kept > 0))
            fits_somewhere |=
                pass_over(d, kept, now, prefer, rank, sets.passed, of);
        while (first_heads(d, kept, prefer, &choice, sets, of)) {
            uint32_t channel = pick(d, &choice, sets, of);

            if (hdi_match_some(&d->match, channel)) {
                if (place(d, channel, now, of, &module)) {
                    mark(d, &choice, sets, channel, of);
                    send(d, now, channel, module, decision);
                    return true;
                }
                fits_somewhere |= hdi_match_some(&d->match, channel);
            }
            sets.passed[channel / 64] |= hdi_bit(channel);
            if (kept)
                d->kept += modules_for(d, channel);
        }
    }
    // A round that fails draws nothing: decisions do not depend on how often
    // was asked in vain.
    d->random = random;
    d->held_back = fits_somewhere;
    return false;
}

// A page of channels, and up to 64 modules of up to a row of lines: let the
// compiler know, for every order on its own, so that what is hot has the
// registers.
#define SMALL ((struct extent){HDI_PAGE, 1, 1, HDI_ROW})

__attribute__((flatten, noinline)) static bool sticky_small(
    struct hdi_dispatcher *d, uint64_t now, struct hdi_decision *decision)
{
    refresh(d, SMALL);
    return sticky(d, now, decision, SMALL);
}

__attribute__((flatten, noinline)) static bool robin_small(
    struct hdi_dispatcher *d, uint64_t now, struct hdi_decision *decision)
{
    refresh(d, SMALL);
    return robin(d, now, decision, SMALL);
}

__attribute__((flatten, noinline)) static bool by_priority_small(
    struct hdi_dispatcher *d, uint64_t now, struct hdi_decision *decision)
{
    uint64_t passed[1], tied[1], among[1];

    refresh(d, SMALL);
    return by_priority(d, now, decision, (struct sets){passed, tied, among},
                       SMALL);
}

// The same text with sizes that are known only when it runs.
__attribute__((noinline)) static bool decide_large(
    struct hdi_dispatcher *d, uint64_t now, struct hdi_decision *decision)
{
    struct extent of = {d->channels, d->channel_words, d->match.words,
                        d->shape.line_pad};
    struct sets sets = {d->passed, d->tied, d->among};

    refresh(d, of);
    return d->policy.order == HDI_ORDER_STICKY ? sticky(d, now, decision, of)
           : d->policy.order == HDI_ORDER_ROBIN
               ? robin(d, now, decision, of)
               : by_priority(d, now, decision, sets, of);
}

static hdi_decide *decider(const struct hdi_dispatcher *d)
{
    bool small = d->channels <= HDI_PAGE && d->match.words == 1 &&
                 d->shape.line_pad == HDI_ROW;

    return !small                                ? decide_large
           : d->policy.order == HDI_ORDER_STICKY ? sticky_small
           : d->policy.order == HDI_ORDER_ROBIN  ? robin_small
                                                 : by_priority_small;
}
