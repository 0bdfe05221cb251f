#include "tests/dispatch/model.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/dispatch/state.h"

// What a group of this packet should take: as its like did, else as said, else
// as most do.
static uint64_t expected_run(const struct model *m, const struct waiting *head)
{
    if (head->runs > 0)
        return head->ran / head->runs;
    return head->expected > 0 ? head->expected : hdi_median_get(&m->median);
}

// log2 in sixteenths, straight between powers of two.
static int64_t sixteenths(uint64_t cycles)
{
    uint64_t power = 0;

    if (cycles < 2)
        return 0;
    while (cycles >> power > 1)
        power++;
    return (int64_t)(16 * power + (cycles * 16 >> power) - 16);
}

// Of equal rank the larger head, by its share of a module, goes first, less
// what it takes longer.
static void set_preference(struct model *m, uint32_t channel)
{
    const struct waiting *head = &m->queue[channel][0];

    m->prefer[channel] =
        head->prefer + m->policy.large * (int64_t)head->share -
        m->policy.brief * sixteenths(expected_run(m, head)) * 4096;
}

static bool completes(struct model *m, const struct taken *t)
{
    uint32_t i = 0;

    if (t->pieces == 0)
        return true;
    while (i < m->partly_count &&
           (m->partly[i].tag != t->tag || m->partly[i].group != t->group))
        i++;
    CHECK(i < MODEL_EVENTS);
    if (i == m->partly_count)
        m->partly[m->partly_count++] = (struct partly){t->tag, t->group, 0};
    return ++m->partly[i].ended == t->pieces;
}

bool model_release(struct model *m, uint32_t lease, uint64_t cycles)
{
    struct taken *t = &m->taken[lease];
    struct waiting *head = &m->queue[t->channel][0];

    CHECK(t->out);
    model_apply(m, t, true);
    t->out = false;
    m->lease_count--;
    bool complete = completes(m, t);
    if (cycles == 0)
        return complete;
    hdi_median_add(&m->median, cycles);
    if ((m->policy.brief != 0 || m->policy.backfill) &&
        m->length[t->channel] > 0 && head->tag == t->tag) {
        head->ran += cycles;
        head->runs++;
        set_preference(m, t->channel);
    }
    return complete;
}

static void new_head(struct model *m, uint32_t channel)
{
    memset(m->refused[channel], 0, sizeof(m->refused[channel]));
    if (m->length[channel] > 0)
        set_preference(m, channel);
}

void model_submit(struct model *m, uint32_t channel,
                  const struct hdi_packet *packet, uint64_t now)
{
    m->queue[channel][m->length[channel]++] =
        (struct waiting){.need = packet->need,
                         .prefer = packet->prefer,
                         .expected = packet->expected,
                         .share = hdi_need_share(&packet->need, m->shape),
                         .groups = packet->groups,
                         .tag = packet->tag,
                         .arrived = now,
                         .process = packet->process};
    if (m->length[channel] == 1)
        new_head(m, channel);
}

static void pop(struct model *m, uint32_t channel)
{
    struct waiting *head = &m->queue[channel][0], old = *head;

    head->first_group += head->pieces == 0;
    head->piece += head->pieces > 0;
    if (--head->groups == 0) {
        m->length[channel]--;
        memmove(head, head + 1, m->length[channel] * sizeof(*head));
        if (m->length[channel] == 0 || head->tag != old.tag ||
            head->need.waves != old.need.waves)
            new_head(m, channel);
    }
}

// Nothing has fitted for too long: split a head.
static bool split(struct model *m)
{
    uint32_t chosen = m->channels, waves = m->policy.split_waves;

    for (uint32_t c = 0; c < m->channels; c++) {
        const struct hdi_need *need = &m->queue[c][0].need;
        if (m->length[c] > 0 && need->independent && need->waves > waves &&
            (chosen == m->channels ||
             need->priority < m->queue[chosen][0].need.priority))
            chosen = c;
    }
    if (chosen == m->channels)
        return false;

    struct waiting *head = &m->queue[chosen][0], whole = *head;
    uint32_t full = whole.need.waves / waves, rest = whole.need.waves % waves;
    uint32_t pieces = full + (rest > 0), more = 1 + (rest > 0);
    bool gone = whole.groups == 1; // nothing is left of the packet
    memmove(head + more, head + gone,
            (m->length[chosen] - gone) * sizeof(*head));
    m->length[chosen] += more - gone;
    if (!gone) {
        head[more] = whole;
        head[more].groups--;
        head[more].first_group++;
    }
    head[0] = whole;
    head[0].need.priority = (uint8_t)m->policy.priorities;
    head[0].pieces = pieces;
    head[0].piece = 0;
    head[1 - (rest == 0)] = head[0];
    if (rest > 0) {
        head[1].need.waves = (uint16_t)rest;
        head[1].groups = 1;
        head[1].piece = full;
    }
    head[0].need.waves = (uint16_t)waves;
    head[0].groups = full;
    new_head(m, chosen);
    return true;
}

// What a line counts for in the score, 65536 per part of the mixture: what is
// left, less best fit.
static double worth_of(const struct model *m, const struct hdi_module *module,
                       const struct hdi_line *line)
{
    const struct hdi_mixture *mixture = &m->policy.mixture;
    const struct hdi_module_resource *r = &m->shape->resources[line->resource];
    bool is_run = line->kind == HDI_LINE_RUN;
    double worth = 0;

    if (is_run == (mixture->by_run && r->contiguous))
        worth += mixture->left * m->shape->energy_scale *
                 module->energy[line->resource];
    if (!is_run)
        worth -= mixture->tight * 65536.0 /
                 (r->blocks * model_holders(m, line->resource));
    return worth;
}

void model_check_weights(const struct model *m, const struct hdi_dispatcher *d)
{
    double most = 0, scale = 0;

    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < m->shape->modules; i++)
            for (uint32_t l = 0; l < m->shape->line_count; l++) {
                const struct hdi_module *module = hdi_dispatcher_module(d, i);
                double worth = worth_of(m, module, &m->shape->lines[l]);
                double size = worth < 0 ? -worth : worth;
                if (round == 0 && size > most) {
                    most = size;
                    scale = module->weight[l] / worth;
                }
                double off = module->weight[l] - worth * scale;
                CHECK(round == 0 || most < 1e-6 || (off > -3 && off < 3));
            }
}

static int64_t score(const struct model *m, uint32_t module,
                     const struct hdi_dispatcher *d)
{
    const int32_t *weight = hdi_dispatcher_module(d, module)->weight;
    int64_t sum = 0;

    for (uint32_t l = 0; l < m->shape->line_count; l++) {
        const struct hdi_line *line = &m->shape->lines[l];
        uint32_t r = line->resource;
        int64_t level = line->kind == HDI_LINE_RUN
                            ? model_longest_run(&m->shape->resources[r],
                                                m->free[module][r][line->unit])
                            : m->left[module][r][line->unit];
        sum += level * weight[l];
    }
    return sum;
}

// The weighted sum of what was executed in the window, slot by slot.
static uint64_t executed_lately(const struct model *m, uint32_t module,
                                uint64_t now)
{
    uint64_t length = m->recent->window / m->recent->slots, sum = 0;

    for (uint32_t i = 0; i < m->executed_count; i++) {
        const struct executed *e = &m->executed[i];
        if (e->module == module &&
            e->time / length + m->recent->slots > now / length)
            sum += e->weight;
    }
    return sum;
}

static int64_t score_now(const struct model *m, uint32_t module,
                         const struct hdi_dispatcher *d, uint64_t now)
{
    const struct hdi_mixture *mixture = &m->policy.mixture;

    if (mixture->recent == 0)
        return score(m, module, d);
    double scale =
        hdi_mixture_scale(mixture, m->shape, hdi_dispatcher_module(d, 0));
    double busy =
        (double)executed_lately(m, module, now) / (double)m->recent->full;
    return hdi_score((double)score(m, module, d) -
                     mixture->recent * busy * 65536 * scale);
}

static uint32_t best_module(const struct model *m,
                            const struct hdi_dispatcher *d, const bool *fits,
                            uint64_t now)
{
    uint32_t modules = m->shape->modules, best = modules;
    int64_t most = 0;

    for (uint32_t i = 1; i <= modules; i++) {
        uint32_t next = (m->last_module + i) % modules;
        if (m->policy.place == HDI_PLACE_NEXT && fits[next])
            return next;
    }
    for (uint32_t module = 0; module < modules; module++) {
        if (!fits[module])
            continue;
        int64_t worth = score_now(m, module, d, now);
        if (best < modules && worth <= most)
            continue;
        best = module;
        most = worth;
    }
    return best;
}

// Where the head of `channel` goes, of the modules it seems to fit; what does
// not fit after all is remembered. False: nowhere.
static bool place(struct model *m, const struct hdi_dispatcher *d,
                  uint32_t channel, uint64_t now, struct taken *t)
{
    uint64_t end = now + expected_run(m, &m->queue[channel][0]);
    bool fits[MODEL_MODULES];
    uint32_t module;

    // Backfill: what has ended by then delays nobody.
    for (uint32_t i = 0; i < m->shape->modules; i++)
        fits[i] = model_seems_to_fit(m, channel, i) &&
                  (!m->held[i] || (m->policy.backfill && end <= m->drain[i]));
    while ((module = best_module(m, d, fits, now)) < m->shape->modules) {
        if (model_commit(m, channel, module, t))
            return true;
        fits[module] = false;
        m->refused[channel][module] = true;
    }
    return false;
}

static bool is_candidate(const struct model *m, uint32_t channel)
{
    bool any = false;

    for (uint32_t module = 0;
         m->length[channel] > 0 && module < m->shape->modules; module++)
        any |= model_seems_to_fit(m, channel, module);
    return any;
}

// Windows y : y - 1 : ... : 1, whose shortest is so many median run times,
// are made when a period is over.
static void follow_median(struct model *m, uint64_t now)
{
    struct hdi_windows *windows = &m->policy.windows;
    uint64_t shortest = hdi_median_get(&m->median) * m->policy.window_runs / 16;

    if (shortest == 0 ||
        (windows->period > 0 && now < m->window_from + windows->period))
        return;
    windows->period = 0;
    for (unsigned t = 1; t <= m->policy.priorities; t++) {
        uint64_t parts = m->policy.priorities - t + 1;
        windows->length[t - 1] =
            shortest * parts * (t == 1 ? m->policy.window_lead : 1);
        windows->period += windows->length[t - 1];
    }
    m->window_from = now;
}

static unsigned rank_of(const struct model *m, uint32_t channel, uint64_t now)
{
    const struct hdi_windows *windows = &m->policy.windows;
    unsigned priority = m->queue[channel][0].need.priority, top = 1;

    if (windows->period > 0) {
        uint64_t at = (now - m->window_from) % windows->period;
        for (top = 1; at >= windows->length[top - 1]; top++)
            at -= windows->length[top - 1];
    }
    unsigned rank = priority == top  ? 0
                    : priority < top ? priority
                                     : priority - 1;
    return m->policy.urgent > 0 && rank > m->policy.urgent ? m->policy.urgent
                                                           : rank;
}

// An urgent head takes part although it fits nowhere where modules are held.
static bool holds(const struct model *m, uint32_t channel, uint64_t now)
{
    return m->policy.hold > 0 && m->length[channel] > 0 &&
           rank_of(m, channel, now) < m->policy.urgent;
}

// Of all resources and units: how much of a whole module is free.
static uint64_t space_of(const struct model *m, uint32_t module)
{
    uint64_t sum = 0;

    for (uint32_t r = 0; r < m->shape->resource_count; r++)
        for (uint32_t unit = 0; unit < model_holders(m, r); unit++)
            sum += (UINT64_C(1) << 32) /
                   ((uint64_t)m->shape->resources[r].blocks *
                    model_holders(m, r)) *
                   m->left[module][r][unit];
    return sum >> 16;
}

// The emptiest modules, no more than the packet can fill, are kept.
static void hold(struct model *m, uint32_t channel)
{
    const struct waiting *head = &m->queue[channel][0];
    uint64_t fill = ((uint64_t)head->groups * head->share + 65535) / 65536;

    for (uint32_t i = 0; i < m->policy.hold && i < fill; i++) {
        uint32_t emptiest = m->shape->modules;
        for (uint32_t module = 0; module < m->shape->modules; module++)
            if (!m->held[module] &&
                (emptiest == m->shape->modules ||
                 space_of(m, module) > space_of(m, emptiest)))
                emptiest = module;
        if (emptiest < m->shape->modules)
            m->held[emptiest] = true;
    }
}

// Whether it is marked for the priority of its head.
static bool *mark_of(struct model *m, uint32_t channel)
{
    return &m->marks[m->queue[channel][0].need.priority][channel];
}

// Who has waited for longer than patience goes first, oldest first.
static int64_t preference(const struct model *m, uint32_t channel, uint64_t now)
{
    uint64_t age = now - m->queue[channel][0].arrived;
    bool overdue = m->policy.patience > 0 && age > m->policy.patience;

    return overdue ? INT64_MAX / 2 + (int64_t)age : m->prefer[channel];
}

// The next channel, of those not tried.
static uint32_t choose(struct model *m, const bool *tried, uint64_t now,
                       uint32_t *ties, uint32_t *count)
{
    unsigned best = UINT32_MAX;
    int64_t most = 0;
    uint32_t unmarked = 0;

    *count = 0;
    for (uint32_t c = 0; c < m->channels; c++) {
        if (tried[c] || !(is_candidate(m, c) || holds(m, c, now)) ||
            rank_of(m, c, now) > best)
            continue;
        int64_t prefer = preference(m, c, now);
        if (rank_of(m, c, now) == best && prefer < most)
            continue;
        if (rank_of(m, c, now) < best || prefer > most)
            *count = 0;
        best = rank_of(m, c, now);
        most = prefer;
        ties[(*count)++] = c;
    }
    if (*count == 0)
        return m->channels;
    if (*count == 1)
        return ties[0];
    if (!m->policy.marks) {
        for (uint32_t i = 0; i < *count; i++)
            if (ties[i] >= m->turn)
                return ties[i];
        return ties[0];
    }
    for (uint32_t i = 0; i < *count; i++)
        unmarked += !*mark_of(m, ties[i]);
    if (unmarked == 0)
        return ties[hdi_random_below(&m->random, *count)];
    uint32_t which = hdi_random_below(&m->random, unmarked);
    for (uint32_t i = 0;; i++)
        if (!*mark_of(m, ties[i]) && which-- == 0)
            return ties[i];
}

static void mark(struct model *m, uint32_t channel, const uint32_t *ties,
                 uint32_t count)
{
    bool all = true;

    if (count < 2 || !m->policy.marks)
        return;
    for (uint32_t i = 0; i < count; i++)
        all &= *mark_of(m, ties[i]);
    for (uint32_t i = 0; all && i < count; i++)
        *mark_of(m, ties[i]) = false;
    *mark_of(m, channel) = true;
}

static void send(struct model *m, uint32_t channel,
                 const struct hdi_decision *decision, const struct taken *t,
                 uint64_t now)
{
    const struct waiting *head = &m->queue[channel][0];
    uint32_t module = t->module;

    CHECK(decision->channel == channel && decision->module == module);
    CHECK(decision->lease < MODEL_LEASES && !m->taken[decision->lease].out);
    CHECK(decision->tag == head->tag);
    CHECK(decision->process == head->process);
    CHECK(decision->arrived == head->arrived);
    CHECK(decision->group == head->first_group);
    CHECK(decision->piece == head->piece && decision->pieces == head->pieces);
    CHECK(decision->waves == head->need.waves);
    CHECK(decision->priority == head->need.priority);
    CHECK(decision->unit == model_first_unit(m, module));
    m->taken[decision->lease] = *t;
    m->taken[decision->lease].channel = channel;
    m->taken[decision->lease].tag = head->tag;
    m->taken[decision->lease].group = head->first_group;
    m->taken[decision->lease].pieces = head->pieces;
    uint64_t end = now + expected_run(m, head);
    if (end > m->drain[module])
        m->drain[module] = end;
    m->lease_count++;
    m->pointer[module] =
        (m->pointer[module] + head->need.waves) % m->shape->units;
    m->last_module = module;
    m->turn = (channel + 1) % m->channels;
    model_apply(m, t, false);
    pop(m, channel);
}

void model_check_round(struct model *m, const struct hdi_dispatcher *d,
                       uint64_t now, enum hdi_round round,
                       const struct hdi_decision *decision)
{
    struct hdi_random random = m->random;
    uint32_t ties[MODEL_CHANNELS], count = 0, channel = m->channels,
                                   waiting = 0;
    bool tried[MODEL_CHANNELS] = {false}, found = false, fits_somewhere = false;
    struct taken t = {0};

    for (uint32_t c = 0; c < m->channels; c++)
        waiting += m->length[c];
    if (waiting == 0) {
        CHECK(round == HDI_ROUND_EMPTY);
        m->failed = 0;
        return;
    }
    if (m->lease_count == m->lease_most) {
        CHECK(round == HDI_ROUND_STUCK);
        m->failed = 0;
        return;
    }
    memset(m->held, 0, sizeof(m->held));
    if (m->policy.order == HDI_ORDER_STICKY) {
        while (m->length[m->sticky] == 0)
            m->sticky = (m->sticky + 1) % m->channels;
        channel = m->sticky;
        found = place(m, d, channel, now, &t);
    }
    for (uint32_t i = 0;
         m->policy.order == HDI_ORDER_ROBIN && !found && i < m->channels; i++) {
        channel = (m->turn + i) % m->channels;
        found = is_candidate(m, channel) && place(m, d, channel, now, &t);
    }
    if (m->policy.order == HDI_ORDER_PRIORITY)
        follow_median(m, now);
    while (m->policy.order == HDI_ORDER_PRIORITY && !found) {
        channel = choose(m, tried, now, ties, &count);
        if (channel == m->channels)
            break;
        found = place(m, d, channel, now, &t);
        tried[channel] = true;
        if (!found) {
            fits_somewhere |= is_candidate(m, channel);
            if (holds(m, channel, now))
                hold(m, channel);
        }
    }
    CHECK(found == (round == HDI_ROUND_SENT));
    if (found) {
        mark(m, channel, ties, count);
        send(m, channel, decision, &t, now);
        m->failed = 0;
        return;
    }
    CHECK(round == HDI_ROUND_STUCK);
    m->random = random;   // a round that fails draws nothing
    if (fits_somewhere) { // only a hold is in the way
        m->failed = 0;
        return;
    }
    if (m->policy.split_after > 0 && ++m->failed > m->policy.split_after &&
        split(m))
        m->failed = 0;
}

void model_check_books(const struct model *m, const struct hdi_dispatcher *d)
{
    for (uint32_t module = 0; module < m->shape->modules; module++)
        for (uint32_t r = 0; r < m->shape->resource_count; r++) {
            uint32_t left = 0;
            for (uint32_t unit = 0; unit < model_holders(m, r); unit++)
                left += m->left[module][r][unit];
            CHECK(hdi_module_left(hdi_dispatcher_module(d, module), m->shape,
                                  r) == left);
        }
}

struct model *model_create(const struct hdi_shape *shape,
                           const struct hdi_dispatcher_options *options)
{
    struct model *m = calloc(1, sizeof(*m));

    CHECK(m);
    m->shape = shape;
    m->recent = options->recent;
    m->policy = options->policy;
    m->channels = options->channels;
    m->last_module = shape->modules - 1;
    m->lease_most = options->leases
                        ? options->leases
                        : shape->modules * shape->units * shape->waves;
    hdi_random_seed(&m->random, options->seed);
    memset(m->free, true, sizeof(m->free));
    for (uint32_t module = 0; module < shape->modules; module++)
        for (uint32_t r = 0; r < shape->resource_count; r++)
            for (uint32_t unit = 0; unit < model_holders(m, r); unit++)
                m->left[module][r][unit] = shape->resources[r].blocks;
    return m;
}

void model_destroy(struct model *m)
{
    free(m);
}

void model_offer(struct model *m, uint32_t module, uint32_t resource,
                 uint32_t unit, int32_t blocks)
{
    m->left[module][resource][unit] += (uint32_t)blocks;
    for (uint32_t c = 0; c < m->channels; c++)
        m->refused[c][module] = false;
}

void model_execute(struct model *m, uint32_t module, uint64_t now,
                   uint64_t weight)
{
    CHECK(m->executed_count < MODEL_EVENTS);
    m->executed[m->executed_count++] = (struct executed){module, now, weight};
}

uint32_t model_length(const struct model *m, uint32_t channel)
{
    return m->length[channel];
}

uint32_t model_left(const struct model *m, uint32_t module, uint32_t resource,
                    uint32_t unit)
{
    return m->left[module][resource][unit];
}

bool model_runs(const struct model *m, uint32_t lease)
{
    return m->taken[lease].out;
}
