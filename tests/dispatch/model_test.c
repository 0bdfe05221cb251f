// Every decision of the dispatcher against the literal model, over random
// machines, needs and policies, several processes in a channel, and resources
// that come and go.
#include "tests/check.h"
#include "tests/dispatch/model.h"

enum {
    FEW = 6, // channels and modules as a rule
    MACHINES = 60
};

static struct hd_error error;
static struct hdi_random random_state;

static uint32_t below(uint32_t n)
{
    return hdi_random_below(&random_state, n);
}

static const uint16_t shifts[] = {0, 1, 2, 3, 5, 7, 11, 15, 31, 63, 127};

static struct hdi_shape random_shape(void)
{
    uint32_t modules = below(12) ? 1 + below(FEW) : MODEL_MODULES - below(3);
    struct hdi_shape shape = {.modules = modules,
                              .units = 1 + below(below(4) ? 4 : MODEL_UNITS),
                              .waves = 1 + below(8),
                              .resource_count = 1 + below(MODEL_RESOURCES)};

    for (uint32_t r = 0; r < shape.resource_count; r++) {
        struct hdi_module_resource *resource = &shape.resources[r];
        *resource =
            (struct hdi_module_resource){.blocks = 1 + below(MODEL_BLOCKS),
                                         .shared = below(4) == 0,
                                         .contiguous = below(4) > 0,
                                         .group = 1,
                                         .energy = below(5)};
        snprintf(resource->name, sizeof(resource->name), "resource %u", r);
        if (below(3) == 0)
            resource->blocks = 4 * (1 + below(MODEL_BLOCKS / 4));
        if (!resource->contiguous)
            continue;
        resource->together = !resource->shared && below(3) == 0;
        if (resource->blocks % 4 == 0 && below(2) == 0) {
            resource->search = HDI_SEARCH_GROUPED;
            resource->group = 4;
        } else if (below(4) == 0) {
            resource->search = HDI_SEARCH_SAMPLED;
            resource->shifts = shifts;
            while (resource->shift_count < sizeof(shifts) / sizeof(*shifts) &&
                   shifts[resource->shift_count] < resource->blocks)
                resource->shift_count++;
        }
    }
    CHECK_OK(hdi_shape_init(&shape, &error), error);
    return shape;
}

static struct hdi_policy random_policy(void)
{
    struct hdi_policy policy = {
        .order = (enum hdi_order)(below(2) ? 0 : below(3)),
        .place = below(4) == 0 ? HDI_PLACE_NEXT : HDI_PLACE_SCORE,
        .mixture = {.left = (int32_t)below(3),
                    .tight = (int32_t)below(3),
                    .recent = below(3) == 0 ? 1 + (int32_t)below(3) : 0,
                    .by_run = below(2) == 0},
        .pointer = below(2) ? HDI_POINTER_HEAD : HDI_POINTER_TAIL,
        .priorities = 2 + below(HDI_MAX_PRIORITIES - 1),
        .marks = below(4) > 0,
        .urgent = below(3),
        .large = (int32_t)below(2),
        .brief = below(3) == 0 ? (int32_t)below(100) : 0,
        .hold = below(2) ? below(4) : 0,
        .backfill = below(2) == 0,
        .patience = below(2) ? 1 + below(200) : 0,
        .split_after = below(2) ? 1 + below(4) : 0,
        .split_waves = (uint16_t)(1 + below(3))};
    static const uint64_t lengths[] = {90, 50, 20, 10, 5, 4, 3, 1};

    if (below(3) == 0) {
        policy.window_runs = 1 + below(40);
        policy.window_lead = 1 + below(3);
    } else if (below(2) == 0)
        CHECK_OK(hdi_windows_init(&policy.windows, policy.priorities, lengths,
                                  &error),
                 error);
    return policy;
}

// Small ones as a rule; some fill a module. False: no module can take it.
static bool random_packet(const struct hdi_shape *shape, unsigned priorities,
                          struct hdi_packet *packet)
{
    *packet = (struct hdi_packet){
        .need = {.waves = (uint16_t)(1 + below(shape->units * shape->waves)),
                 .priority = (uint8_t)(1 + below(priorities)),
                 .independent = below(2) == 0},
        .process = below(3),
        .prefer = below(4) == 0 ? (int64_t)below(3) - 1 : 0,
        .expected = below(4) == 0 ? below(300) : 0,
        .groups = 1 + below(6)};
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        uint32_t blocks = shape->resources[r].blocks;
        packet->need.amount[r] =
            (uint16_t)below(below(3) == 0 ? blocks + 1 : blocks / 8 + 2);
    }
    return hdi_need_check(&packet->need, shape, priorities, &error) == HD_OK;
}

struct pair {
    struct hdi_shape shape;
    struct hdi_recent recent;
    struct hdi_dispatcher_options options;
    struct model *m;
    struct hdi_dispatcher *d;
    uint64_t packets;
    uint64_t stuck_until; // no group goes before, by itself
};

static void make(struct pair *p, uint64_t seed)
{
    uint32_t window = 32u << below(3);
    uint32_t all;

    *p = (struct pair){.shape = random_shape()};
    all = p->shape.modules * p->shape.units * p->shape.waves;
    p->options = (struct hdi_dispatcher_options){
        .channels = 1 + below(seed % 8 ? FEW : MODEL_CHANNELS),
        .packets = MODEL_QUEUE / 2,
        .leases =
            all > MODEL_LEASES || below(4) == 0 ? 1 + below(MODEL_LEASES) : 0,
        .seed = seed,
        .policy = random_policy(),
        .recent = &p->recent};
    CHECK_OK(hdi_recent_create(&p->recent, p->shape.modules, window,
                               below(2) ? window : 8, 1 + below(1000), &error),
             error);
    CHECK_OK(hdi_dispatcher_create(&p->shape, &p->options, &p->d, &error),
             error);
    p->m = model_create(&p->shape, &p->options);
}

static void submit_something(struct pair *p, uint64_t now)
{
    struct hdi_packet packet;
    uint32_t channel = below(p->options.channels);

    if (model_length(p->m, channel) >= MODEL_QUEUE / 2 - 3 ||
        !random_packet(&p->shape, p->options.policy.priorities, &packet))
        return;
    packet.tag = p->packets++;
    model_submit(p->m, channel, &packet, now);
    CHECK_OK(hdi_dispatcher_submit(p->d, channel, &packet, now, &error), error);
    p->stuck_until = 0;
}

static void execute_something(struct pair *p, uint64_t now)
{
    uint32_t module = below(p->shape.modules);
    uint64_t weight = below(500);

    model_execute(p->m, module, now, weight);
    hdi_recent_add(&p->recent, module, now, weight);
}

// Blocks of a second-class resource leave, or come back.
static void offer_something(struct pair *p)
{
    uint32_t r = below(p->shape.resource_count);
    uint32_t modules = p->shape.modules;
    uint32_t module = below(2) ? modules - 1 : below(modules);
    uint32_t unit = below(hdi_holders(&p->shape, r));
    uint32_t left = model_left(p->m, module, r, unit);
    uint32_t blocks = p->shape.resources[r].blocks;

    if (p->shape.resources[r].contiguous)
        return;
    bool leave = left > 0 && below(2);
    int32_t more = leave ? -(int32_t)(1 + below(left)) : (int32_t)below(3);
    if (left + (uint32_t)more > blocks)
        return;
    model_offer(p->m, module, r, unit, more);
    hdi_dispatcher_offer(p->d, module, r, unit, more);
    p->stuck_until = 0;
}

static void weigh_something(struct pair *p)
{
    uint32_t energy[MODEL_RESOURCES];

    for (uint32_t r = 0; r < MODEL_RESOURCES; r++)
        energy[r] = below(6);
    hdi_dispatcher_weigh(p->d, below(p->shape.modules), energy);
    model_check_weights(p->m, p->d);
}

static unsigned incomplete; // releases of pieces before the last

static void release_something(struct pair *p)
{
    for (uint32_t lease = 0; lease < MODEL_LEASES; lease++)
        if (model_runs(p->m, lease) && below(12) == 0) {
            uint64_t cycles = below(100);
            bool complete = model_release(p->m, lease, cycles);
            CHECK(hdi_dispatcher_release(p->d, lease, cycles) == complete);
            incomplete += !complete;
            p->stuck_until = 0;
        }
}

static void compare(uint64_t seed)
{
    struct pair p;
    uint64_t now = 0;

    make(&p, seed);
    unsigned steps = p.shape.modules > FEW ? MODEL_EVENTS / 5 : MODEL_EVENTS;
    model_check_weights(p.m, p.d);
    for (unsigned step = 0; step < steps; step++) {
        struct hdi_decision decision;

        bool quiet = below(4) == 0; // only time passes
        if (!quiet && below(2) == 0)
            submit_something(&p, now);
        if (below(2) == 0)
            execute_something(&p, now);
        if (!quiet && below(6) == 0)
            offer_something(&p);
        if (below(40) == 0)
            weigh_something(&p);
        enum hdi_round round = hdi_dispatcher_round(p.d, now, &decision);
        model_check_round(p.m, p.d, now, round, &decision);
        CHECK(round != HDI_ROUND_SENT || now >= p.stuck_until);
        p.stuck_until =
            round == HDI_ROUND_STUCK ? hdi_dispatcher_next(p.d, now) : 0;
        if (!quiet)
            release_something(&p);
        model_check_books(p.m, p.d);
        now += below(30) + (round == HDI_ROUND_STUCK);
    }
    hdi_dispatcher_destroy(p.d);
    hdi_recent_destroy(&p.recent);
    free(p.m);
}

int main(void)
{
    hdi_random_seed(&random_state, 20);
    for (uint64_t machine = 0; machine < MACHINES; machine++)
        compare(machine);
    CHECK(incomplete > 100); // groups were split
    return 0;
}
