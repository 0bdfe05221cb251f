// The rules of the rounds, one claim each.
#include "dispatch/policies/policy.h"
#include "dispatch/round/state.h"

#include "tests/check.h"

static struct hd_error error;

static struct hdi_module_resource *add(struct hdi_shape *shape,
                                       const char *name, uint32_t blocks,
                                       bool shared, bool contiguous)
{
    struct hdi_module_resource *r = &shape->resources[shape->resource_count++];

    *r = (struct hdi_module_resource){.blocks = blocks,
                                      .shared = shared,
                                      .contiguous = contiguous,
                                      .energy = 1};
    snprintf(r->name, sizeof(r->name), "%s", name);
    return r;
}

// Registers (first class, per unit), slots (second class), shared memory.
static struct hdi_shape machine(uint32_t modules)
{
    struct hdi_shape shape = {.modules = modules, .units = 4, .waves = 16};

    add(&shape, "registers", 128, false, true);
    add(&shape, "slots", 16, false, false);
    add(&shape, "memory", 128, true, true);
    CHECK_OK(hdi_shape_init(&shape, &error), error);
    return shape;
}

static struct hdi_packet packet(uint16_t waves, uint16_t registers,
                                uint16_t memory, uint8_t priority)
{
    return (struct hdi_packet){.need = {.waves = waves,
                                        .priority = priority,
                                        .amount = {registers, 1, memory}},
                               .groups = 1};
}

static struct hdi_policy no_windows(void)
{
    struct hdi_policy policy = hdi_policy_plain();

    policy.window_runs = 0;
    return policy;
}

static struct hdi_dispatcher *start(const struct hdi_shape *shape,
                                    uint32_t channels, struct hdi_policy policy)
{
    struct hdi_dispatcher *d;
    struct hdi_dispatcher_options options = {
        .channels = channels, .packets = 64, .seed = 7, .policy = policy};

    CHECK_OK(hdi_dispatcher_create(shape, &options, &d, &error), error);
    return d;
}

static void submit(struct hdi_dispatcher *d, uint32_t channel,
                   struct hdi_packet p)
{
    CHECK_OK(hdi_dispatcher_submit(d, channel, &p, 0, &error), error);
}

static void a_stuck_high_head_blocks_nobody(void)
{
    struct hdi_shape shape = machine(1);
    struct hdi_dispatcher *d = start(&shape, 2, no_windows());
    struct hdi_decision decision;

    submit(d, 0, packet(4, 100, 0, 1));
    submit(d, 0, packet(4, 100, 0, 1)); // never beside the first
    submit(d, 1, packet(4, 8, 0, 4));
    CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
    CHECK(decision.channel == 0);
    uint32_t lease = decision.lease;
    CHECK(hdi_dispatcher_round(d, 1, &decision) == HDI_ROUND_SENT);
    CHECK(decision.channel == 1);
    CHECK(hdi_dispatcher_round(d, 2, &decision) == HDI_ROUND_STUCK);
    hdi_dispatcher_release(d, lease, 10);
    CHECK(hdi_dispatcher_round(d, 3, &decision) == HDI_ROUND_SENT);
    CHECK(decision.channel == 0);
    CHECK(hdi_dispatcher_round(d, 4, &decision) == HDI_ROUND_EMPTY);
    hdi_dispatcher_destroy(d);
}

// What fits is noted in words of 64 modules.
static void many_modules_are_all_taken(void)
{
    enum {
        MODULES = 150
    };
    struct hdi_shape shape = machine(MODULES);
    struct hdi_dispatcher *d = start(&shape, 2, no_windows());
    struct hdi_packet whole = packet(4, 128, 0, 2);
    struct hdi_decision decision;
    bool taken[MODULES] = {false};

    whole.groups = MODULES + 1;
    submit(d, 1, whole);
    for (unsigned i = 0; i < MODULES; i++) {
        CHECK(hdi_dispatcher_round(d, i, &decision) == HDI_ROUND_SENT);
        CHECK(!taken[decision.module]);
        taken[decision.module] = true;
    }
    CHECK(hdi_dispatcher_round(d, MODULES, &decision) == HDI_ROUND_STUCK);
    hdi_dispatcher_destroy(d);
}

static void only_heads_take_part(void)
{
    struct hdi_shape shape = machine(1);
    struct hdi_dispatcher *d = start(&shape, 1, no_windows());
    struct hdi_decision decision;

    submit(d, 0, packet(4, 100, 0, 2));
    submit(d, 0, packet(4, 100, 0, 2));
    submit(d, 0, packet(1, 1, 0, 1)); // would fit, but is not the head
    CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
    CHECK(hdi_dispatcher_round(d, 1, &decision) == HDI_ROUND_STUCK);
    hdi_dispatcher_destroy(d);
}

// Ties: within a turn of marks nobody goes twice, and a sole highest head
// changes no mark.
static void equals_take_marked_turns(void)
{
    enum {
        CHANNELS = 5,
        TURNS = 200
    };
    struct hdi_shape shape = machine(64);
    struct hdi_dispatcher *d = start(&shape, CHANNELS, no_windows());
    struct hdi_packet tiny = packet(1, 1, 0, 2);
    unsigned order_seen = 0, first = CHANNELS;

    tiny.groups = 1000;
    for (uint32_t c = 0; c < CHANNELS; c++)
        submit(d, c, tiny);
    // The first turn of CHANNELS marks all; every later one chooses a first at
    // random among all marked, then the CHANNELS - 1 unmarked ones.
    for (unsigned turn = 0; turn < TURNS; turn++) {
        unsigned seen = 0;
        for (unsigned i = 0; i < CHANNELS; i++) {
            struct hdi_decision decision;
            CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
            CHECK(!(seen >> decision.channel & 1));
            seen |= 1u << decision.channel;
            if (i == 0) {
                order_seen += first != CHANNELS && first != decision.channel;
                first = decision.channel;
            }
            hdi_dispatcher_release(d, decision.lease, 0);
        }
    }
    CHECK(order_seen > TURNS / 2); // the order is not always the same
    hdi_dispatcher_destroy(d);
}

static void windows_rotate_the_order(void)
{
    struct hdi_shape shape = machine(4);
    struct hdi_policy policy = no_windows();
    uint64_t length[] = {40, 30, 20, 10};
    struct hdi_decision decision;

    CHECK_OK(hdi_windows_init(&policy.windows, 4, length, &error), error);
    struct hdi_dispatcher *d = start(&shape, 4, policy);
    for (uint8_t c = 0; c < 4; c++) {
        struct hdi_packet p = packet(1, 1, 0, (uint8_t)(c + 1));
        p.groups = 1000;
        submit(d, c, p);
    }
    for (uint64_t now = 0; now < 300; now++) {
        uint64_t at = now % 100;
        unsigned top = at < 40 ? 0 : at < 70 ? 1 : at < 90 ? 2 : 3;
        CHECK(hdi_dispatcher_round(d, now, &decision) == HDI_ROUND_SENT);
        CHECK(decision.channel == top);
        hdi_dispatcher_release(d, decision.lease, 0);
    }
    CHECK(hdi_windows_next(&policy.windows, 0) == 40);
    CHECK(hdi_windows_next(&policy.windows, 95) == 100);
    length[2] = 30;
    CHECK_FAILS(hdi_windows_init(&policy.windows, 4, length, &error), HD_EINVAL,
                error, "priority 3");
    CHECK(hdi_priority_rank(1, 3) == 1 && hdi_priority_rank(2, 3) == 2 &&
          hdi_priority_rank(3, 3) == 0 && hdi_priority_rank(4, 3) == 3);
    hdi_dispatcher_destroy(d);
}

static void a_stuck_independent_head_is_split(void)
{
    struct hdi_shape shape = machine(1);
    struct hdi_dispatcher *d = start(&shape, 2, no_windows());
    struct hdi_packet wide = packet(6, 100, 0, 1);
    struct hdi_decision decision;
    uint32_t leases[3];

    // Three of four units are taken: no room for six waves, room for one.
    for (unsigned i = 0; i < 3; i++) {
        submit(d, 1, packet(1, 128, 0, 1));
        CHECK(hdi_dispatcher_round(d, i, &decision) == HDI_ROUND_SENT);
        leases[i] = decision.lease;
    }
    wide.need.amount[0] = 60; // two waves per unit at most
    wide.need.independent = true;
    wide.groups = 2;
    wide.tag = 99;
    submit(d, 0, wide);
    CHECK(hdi_dispatcher_round(d, 10, &decision) == HDI_ROUND_STUCK);
    CHECK(hdi_dispatcher_patience(d) == 256);
    CHECK(!hdi_dispatcher_wait(d, 255));
    CHECK(hdi_dispatcher_waiting(d, 0) == 2);
    CHECK(hdi_dispatcher_wait(d, 1));
    CHECK(hdi_dispatcher_waiting(d, 0) == 7); // six pieces, one whole group

    unsigned sent = 0, free = 3, first = 0;
    for (uint64_t now = 300; sent < 7; now++) {
        enum hdi_round round = hdi_dispatcher_round(d, now, &decision);
        if (round == HDI_ROUND_STUCK) {
            CHECK(free > 0);
            hdi_dispatcher_release(d, leases[--free], 0);
            continue;
        }
        CHECK(round == HDI_ROUND_SENT && decision.tag == 99);
        CHECK(decision.group == (sent == 6));
        if (sent < 6) {
            CHECK(decision.waves == 1 && decision.priority == 4);
            CHECK(decision.piece == sent && decision.pieces == 6);
            // The group is complete when all six have ended, the first last.
            if (sent == 0)
                first = decision.lease;
            else
                CHECK(!hdi_dispatcher_release(d, decision.lease, 0));
        } else {
            CHECK(decision.waves == 6 && decision.pieces == 0);
            CHECK(hdi_dispatcher_release(d, decision.lease, 0));
        }
        sent++;
    }
    CHECK(hdi_dispatcher_release(d, first, 0));
    hdi_dispatcher_destroy(d);
}

static void related_heads_are_never_split(void)
{
    struct hdi_shape shape = machine(1);
    struct hdi_dispatcher *d = start(&shape, 1, no_windows());
    struct hdi_decision decision;

    submit(d, 0, packet(4, 128, 0, 1));
    submit(d, 0, packet(4, 128, 0, 1));
    CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
    CHECK(hdi_dispatcher_round(d, 1, &decision) == HDI_ROUND_STUCK);
    CHECK(!hdi_dispatcher_wait(d, UINT64_MAX));
    CHECK(hdi_dispatcher_patience(d) == UINT64_MAX);
    hdi_dispatcher_destroy(d);
}

static void impossible_needs_are_refused(void)
{
    struct hdi_shape shape = machine(2);
    struct hdi_dispatcher *d = start(&shape, 1, no_windows());
    struct hdi_packet p = packet(4, 129, 0, 1);

    CHECK_FAILS(hdi_dispatcher_submit(d, 0, &p, 0, &error), HD_ELIMIT, error,
                "'registers'");
    p = packet(5, 100, 0, 1); // two waves on one unit
    CHECK_FAILS(hdi_dispatcher_submit(d, 0, &p, 0, &error), HD_ELIMIT, error,
                "'registers'");
    p = packet(1, 1, 129, 1);
    CHECK_FAILS(hdi_dispatcher_submit(d, 0, &p, 0, &error), HD_ELIMIT, error,
                "'memory'");
    p = packet(65, 1, 0, 1);
    CHECK_FAILS(hdi_dispatcher_submit(d, 0, &p, 0, &error), HD_ELIMIT, error,
                "65 waves");
    p = packet(1, 1, 0, 5);
    CHECK_FAILS(hdi_dispatcher_submit(d, 0, &p, 0, &error), HD_EINVAL, error,
                "priority 5");
    p = packet(1, 1, 0, 1);
    for (unsigned i = 0; i < 64; i++)
        submit(d, 0, p);
    CHECK_FAILS(hdi_dispatcher_submit(d, 0, &p, 0, &error), HD_ELIMIT, error,
                "full");
    hdi_dispatcher_destroy(d);
}

// Over many groups every unit of a module gets the same number of waves.
static void waves_are_even_over_units(enum hdi_pointer pointer)
{
    struct hdi_shape shape = machine(1);
    struct hdi_policy policy = no_windows();
    uint64_t waves[4] = {0};
    struct hdi_random random;
    struct hdi_decision decision;

    hdi_random_seed(&random, 3);
    policy.pointer = pointer;
    struct hdi_dispatcher *d = start(&shape, 1, policy);
    for (unsigned i = 0; i < 1000000; i++) {
        submit(d, 0,
               packet((uint16_t)(1 + hdi_random_below(&random, 16)), 1, 0, 1));
        CHECK(hdi_dispatcher_round(d, i, &decision) == HDI_ROUND_SENT);
        if (i == 0)
            CHECK(decision.unit == (pointer == HDI_POINTER_TAIL));
        for (unsigned w = 0; w < decision.waves; w++)
            waves[(decision.unit + w) % 4]++;
        hdi_dispatcher_release(d, decision.lease, 0);
    }
    for (unsigned a = 0; a < 4; a++) {
        for (unsigned b = 0; b < 4; b++)
            CHECK(waves[a] <= waves[b] + 1);
    }
    hdi_dispatcher_destroy(d);
}

static void module_follows_the_mixture(void)
{
    struct hdi_shape shape = machine(3);
    struct hdi_decision decision;

    for (int tight = 0; tight < 2; tight++) {
        struct hdi_policy policy = no_windows();
        policy.mixture = tight ? (struct hdi_mixture){.tight = 1}
                               : (struct hdi_mixture){.left = 1};
        struct hdi_dispatcher *d = start(&shape, 1, policy);
        // Fill to different levels, one after the other.
        for (unsigned i = 0; i < 6; i++) {
            submit(d, 0, packet(4, 20, 0, 1));
            CHECK(hdi_dispatcher_round(d, i, &decision) == HDI_ROUND_SENT);
            CHECK(decision.module == (tight ? 0 : i % 3));
        }
        hdi_dispatcher_destroy(d);
    }

    // What is left, by calibrated weights: registers of module 1 cost more
    // energy.
    struct hdi_dispatcher *d = start(&shape, 1, no_windows());
    uint32_t heavy[] = {5, 1, 1};
    hdi_dispatcher_weigh(d, 1, heavy);
    submit(d, 0, packet(4, 20, 0, 1));
    CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
    CHECK(decision.module == 1);
    hdi_dispatcher_destroy(d);

    // What was done: the module that did least lately.
    struct hdi_recent recent;
    CHECK_OK(hdi_recent_create(&recent, 3, 1024, 1024, 1024, &error), error);
    struct hdi_policy policy = no_windows();
    policy.mixture = (struct hdi_mixture){.recent = 1};
    struct hdi_dispatcher_options options = {
        .channels = 1, .packets = 8, .policy = policy, .recent = &recent};
    CHECK_OK(hdi_dispatcher_create(&shape, &options, &d, &error), error);
    hdi_recent_add(&recent, 0, 100, 50);
    hdi_recent_add(&recent, 1, 100, 20);
    hdi_recent_add(&recent, 2, 600, 30);
    submit(d, 0, packet(1, 1, 0, 1));
    submit(d, 0, packet(1, 1, 0, 1));
    CHECK(hdi_dispatcher_round(d, 700, &decision) == HDI_ROUND_SENT);
    CHECK(decision.module == 1);
    CHECK(hdi_recent_sum(&recent, 0, 1123) == 50);
    CHECK(hdi_recent_sum(&recent, 0, 1124) == 0); // left the window
    CHECK(hdi_dispatcher_round(d, 1124, &decision) == HDI_ROUND_SENT);
    CHECK(decision.module == 0);
    hdi_dispatcher_destroy(d);
    hdi_recent_destroy(&recent);
}

// The cached match must always say what a fresh look at the modules says, and
// everything taken must come back: random machines, needs and searches.
static void random_rounds_keep_the_books(void)
{
    struct hdi_random random;
    uint16_t shifts[2048];

    hdi_random_seed(&random, 11);
    for (unsigned trial = 0; trial < 60; trial++) {
        struct hdi_shape shape = {.modules = 1 + hdi_random_below(&random, 40),
                                  .units = 1 + hdi_random_below(&random, 6),
                                  .waves = 8};
        unsigned count = 1 + hdi_random_below(&random, 5);
        for (unsigned r = 0; r < count; r++) {
            static const uint32_t sizes[] = {16, 48, 128, 192, 1024, 4096};
            char name[] = "r0";
            name[1] = (char)('0' + r);
            struct hdi_module_resource *resource = add(
                &shape, name, sizes[hdi_random_below(&random, 6)],
                hdi_random_below(&random, 2), hdi_random_below(&random, 3) > 0);
            resource->together = hdi_random_below(&random, 2);
            unsigned search = hdi_random_below(&random, 3);
            if (resource->contiguous && search == 1) {
                resource->search = HDI_SEARCH_GROUPED;
                resource->group = 1u << hdi_random_below(&random, 4);
            } else if (resource->contiguous && search == 2 &&
                       resource->blocks <= 2048) {
                resource->search = HDI_SEARCH_SAMPLED;
                resource->shift_count = 0;
                for (uint32_t s = 0; s < resource->blocks; s += 1 + s / 16)
                    shifts[resource->shift_count++] = (uint16_t)s;
                resource->shifts = shifts;
            }
        }
        CHECK_OK(hdi_shape_init(&shape, &error), error);

        enum {
            CHANNELS = 7,
            RUNNING = 4000
        };
        struct hdi_policy policy =
            trial % 2 ? hdi_policy_balanced() : hdi_policy_plain();
        policy.pointer = trial % 3 ? HDI_POINTER_HEAD : HDI_POINTER_TAIL;
        struct hdi_dispatcher *d = start(&shape, CHANNELS, policy);
        static uint32_t running[RUNNING];
        unsigned live = 0;
        uint64_t sent = 0, wanted = 0;
        for (uint64_t now = 0; now < 4000; now++) {
            struct hdi_packet p =
                packet((uint16_t)(1 + hdi_random_below(
                                          &random, shape.units * shape.waves)),
                       0, 0, (uint8_t)(1 + hdi_random_below(&random, 4)));
            for (unsigned r = 0; r < count; r++)
                p.need.amount[r] = (uint16_t)hdi_random_below(
                    &random, shape.resources[r].blocks / 4 + 1);
            p.groups = 1 + hdi_random_below(&random, 3);
            p.need.independent = hdi_random_below(&random, 2);
            uint32_t channel = hdi_random_below(&random, CHANNELS);
            if (hdi_dispatcher_submit(d, channel, &p, now, &error) == HD_OK)
                wanted += p.groups;

            struct hdi_decision decision;
            enum hdi_round round = hdi_dispatcher_round(d, now, &decision);
            if (round == HDI_ROUND_SENT) {
                if (decision.pieces == 0 || decision.piece == 0)
                    sent++;
                CHECK(live < RUNNING);
                running[live++] = decision.lease;
            }
            while (live > 0 && (round == HDI_ROUND_STUCK ||
                                hdi_random_below(&random, 3) == 0)) {
                unsigned i = hdi_random_below(&random, live);
                hdi_dispatcher_release(d, running[i],
                                       1 + hdi_random_below(&random, 100));
                running[i] = running[--live];
                round = HDI_ROUND_SENT;
            }
        }
        // Drain: everything submitted is sent, then everything is free again.
        for (uint64_t now = 4000;; now++) {
            struct hdi_decision decision;
            enum hdi_round round = hdi_dispatcher_round(d, now, &decision);
            if (round == HDI_ROUND_EMPTY)
                break;
            if (round == HDI_ROUND_SENT) {
                if (decision.pieces == 0 || decision.piece == 0)
                    sent++;
                running[live++] = decision.lease;
            } else {
                CHECK(live > 0);
                hdi_dispatcher_release(d, running[--live], 5);
            }
        }
        CHECK(sent == wanted);
        while (live > 0)
            hdi_dispatcher_release(d, running[--live], 5);
        for (uint32_t m = 0; m < shape.modules; m++) {
            const struct hdi_module *module = hdi_dispatcher_module(d, m);
            for (uint32_t r = 0; r < count; r++)
                CHECK(hdi_module_left(module, &shape, r) ==
                      shape.resources[r].blocks * hdi_holders(&shape, r));
            for (uint32_t r = 0; r < count; r++) {
                for (uint32_t q = 0; q < hdi_holders(&shape, r); q++) {
                    const struct hdi_map_place *at = &shape.maps[r][q];
                    unsigned bits = 0;
                    if (!shape.resources[r].contiguous)
                        continue;
                    for (unsigned w = 0;
                         w < hdi_map_words(shape.resources[r].blocks); w++)
                        bits += (unsigned)__builtin_popcountll(
                            module->room.maps[at->first + w * at->stride]);
                    CHECK(bits == shape.resources[r].blocks);
                }
            }
        }
        hdi_dispatcher_destroy(d);
    }
}

static void equal_seeds_give_equal_decisions(void)
{
    struct hdi_shape shape = machine(8);
    uint64_t sums[2];

    for (int run = 0; run < 2; run++) {
        struct hdi_dispatcher *d = start(&shape, 8, hdi_policy_plain());
        struct hdi_packet p = packet(3, 9, 2, 2);
        struct hdi_decision decision;
        p.groups = 50;
        for (uint32_t c = 0; c < 8; c++)
            submit(d, c, p);
        sums[run] = 0;
        for (unsigned i = 0; i < 60; i++) {
            if (hdi_dispatcher_round(d, i, &decision) == HDI_ROUND_SENT)
                sums[run] =
                    sums[run] * 31 + decision.channel * 8 + decision.module;
        }
        hdi_dispatcher_destroy(d);
    }
    CHECK(sums[0] == sums[1]);
}

// Many groups of many sizes, two channels alike, on a machine that is full as a
// rule.
static uint64_t sum_of_decisions(const struct hdi_simd *lanes,
                                 struct hdi_policy policy, uint32_t modules,
                                 uint32_t channels)
{
    struct hdi_shape shape = machine(modules);
    struct hdi_dispatcher *d = start(&shape, channels, policy);
    struct hdi_decision decision;
    uint64_t sum = 0;
    uint32_t lease[4096], oldest = 0, newest = 0;

    d->match.lanes = lanes;
    d->decide = lanes->decider(d);
    for (uint32_t c = 0; c < 8; c++) {
        uint16_t size = (uint16_t)(c / 2);
        struct hdi_packet p =
            packet((uint16_t)(1 + 10 * size), (uint16_t)(4 + 2 * size),
                   (uint16_t)(20 * size), 1 + c % 4);
        p.groups = 400;
        submit(d, c, p);
    }
    for (uint64_t now = 0; now < 4000; now++) {
        bool sent = hdi_dispatcher_round(d, now, &decision) == HDI_ROUND_SENT;
        if (sent) {
            lease[newest++] = decision.lease;
            sum = sum * 31 + decision.channel * 1024 + decision.module;
        } else if (oldest < newest) {
            hdi_dispatcher_release(d, lease[oldest++], 100);
        }
    }
    CHECK(newest > 1000);
    hdi_dispatcher_destroy(d);
    return sum;
}

// All instruction sets, and a page of channels as more than a page.
static void all_forms_decide_alike(void)
{
    const struct hdi_policy policies[] = {hdi_policy_plain(),
                                          hdi_policy_balanced()};
    const struct hdi_simd *lanes;

    for (unsigned p = 0; p < 2; p++) {
        for (uint32_t modules = 5; modules < 100; modules += 35) {
            uint64_t first =
                sum_of_decisions(hdi_lanes(), policies[p], modules, 9);
            for (unsigned i = 0; (lanes = hdi_lanes_at(i)); i++) {
                CHECK(sum_of_decisions(lanes, policies[p], modules, 8) ==
                      first);
                CHECK(sum_of_decisions(lanes, policies[p], modules, 9) ==
                      first);
            }
        }
    }
}

static void an_urgent_head_keeps_a_module(void)
{
    struct hdi_shape shape = machine(2);
    struct hdi_policy policy = hdi_policy_balanced();
    struct hdi_decision decision;
    uint32_t leases[2];

    policy.window_runs = 0;
    struct hdi_dispatcher *d = start(&shape, 2, policy);
    // Both modules partly taken; the urgent head needs a whole one.
    for (unsigned i = 0; i < 2; i++) {
        submit(d, 1, packet(4, i ? 90 : 80, 0, 4));
        CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
        leases[i] = decision.lease;
    }
    submit(d, 0, packet(4, 128, 0, 1));
    struct hdi_packet small = packet(4, 10, 0, 4);
    small.groups = 100;
    submit(d, 1, small);
    unsigned sent = 0;
    for (; hdi_dispatcher_round(d, 1, &decision) == HDI_ROUND_SENT; sent++)
        CHECK(decision.module == 1); // module 0 has more left: it is kept
    CHECK(sent == 3);
    hdi_dispatcher_release(d, leases[0], 0);
    CHECK(hdi_dispatcher_round(d, 2, &decision) == HDI_ROUND_SENT);
    CHECK(decision.channel == 0 && decision.module == 0);
    hdi_dispatcher_destroy(d);
}

// However long groups run, a period is less than 2^63 cycles.
static void long_runs_make_no_endless_period(void)
{
    static const uint64_t runs[] = {1, 1 << 20, UINT64_C(1) << 58,
                                    UINT64_C(1) << 61, UINT64_MAX};
    struct hdi_windows windows = {.period = 0};

    CHECK(!hdi_windows_scale(&windows, 4, 0, 32, 1) && windows.period == 0);
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
        for (unsigned priorities = 1; priorities <= 8; priorities++)
            for (unsigned lead = 1; lead <= 1000; lead *= 10) {
                uint64_t left = INT64_MAX, sum = 0;
                CHECK(
                    hdi_windows_scale(&windows, priorities, runs[i], 32, lead));
                for (unsigned p = 0; p < priorities; p++) {
                    CHECK(windows.length[p] > 0 && windows.length[p] <= left);
                    CHECK(p == 0 || windows.length[p] < windows.length[p - 1]);
                    left -= windows.length[p];
                    sum += windows.length[p];
                }
                CHECK(windows.period == sum);
                CHECK(i > 1 || windows.length[priorities - 1] ==
                                   2 * runs[i] * (priorities > 1 ? 1 : lead));
            }
}

// Nothing else happens, but time has come.
static void an_overdue_head_ends_a_hold(void)
{
    struct hdi_shape shape = machine(1);
    struct hdi_policy policy = no_windows();
    struct hdi_packet late = packet(4, 60, 0, 1);
    struct hdi_decision decision;

    policy.urgent = 1;
    policy.hold = 1;
    policy.large = 1;
    policy.patience = 100;
    struct hdi_dispatcher *d = start(&shape, 3, policy);
    submit(d, 0, packet(4, 100, 0, 1));
    CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
    submit(d, 1, packet(4, 8, 0, 1));
    CHECK_OK(hdi_dispatcher_submit(d, 2, &late, 50, &error), error);
    // The large one fits nowhere and keeps the module from the small one.
    CHECK(hdi_dispatcher_round(d, 60, &decision) == HDI_ROUND_STUCK);
    CHECK(hdi_dispatcher_next(d, 60) == 101);
    CHECK(hdi_dispatcher_round(d, 100, &decision) == HDI_ROUND_STUCK);
    CHECK(hdi_dispatcher_round(d, 101, &decision) == HDI_ROUND_SENT);
    CHECK(decision.channel == 1);
    hdi_dispatcher_destroy(d);
}

// A head that waits may need less, or more, than before.
static void needs_of_heads_can_change(void)
{
    struct hdi_shape shape = machine(2);
    struct hdi_dispatcher *d = start(&shape, 2, no_windows());
    struct hdi_decision decision;

    CHECK(hdi_dispatcher_head(d, 0) == NULL);
    hdi_dispatcher_amend(d, 0, 2, 1); // nobody
    for (int i = 0; i < 2; i++) {
        submit(d, 0, packet(4, 8, 100, 1));
        CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
    }
    submit(d, 0, packet(4, 8, 100, 1));
    CHECK(hdi_dispatcher_head(d, 0)->need.amount[2] == 100);
    CHECK(hdi_dispatcher_round(d, 1, &decision) == HDI_ROUND_STUCK);
    hdi_dispatcher_amend(d, 0, 2, 28);
    hdi_dispatcher_amend(d, 0, 2, 29);
    CHECK(hdi_dispatcher_round(d, 2, &decision) == HDI_ROUND_STUCK);
    hdi_dispatcher_amend(d, 0, 2, 28);
    CHECK(hdi_dispatcher_round(d, 3, &decision) == HDI_ROUND_SENT);
    hdi_dispatcher_release(d, decision.lease, 1);
    submit(d, 1, packet(4, 8, 28, 1)); // it gave back what it took
    CHECK(hdi_dispatcher_round(d, 4, &decision) == HDI_ROUND_SENT);
    hdi_dispatcher_destroy(d);
}

// What waits can be taken back; what has gone says which blocks it has.
static void packets_are_withdrawn(void)
{
    struct hdi_shape shape = machine(1);
    struct hdi_dispatcher *d = start(&shape, 2, no_windows());
    struct hdi_decision first, second, third;

    submit(d, 0, packet(1, 0, 100, 1));
    CHECK(hdi_dispatcher_round(d, 0, &first) == HDI_ROUND_SENT);
    CHECK(hdi_dispatcher_block(d, first.lease, 2, 0) == 0);
    CHECK(hdi_dispatcher_block(d, first.lease, 0, 0) == UINT32_MAX);
    submit(d, 0, packet(1, 0, 60, 1));
    submit(d, 0, packet(1, 0, 61, 1));
    CHECK(hdi_dispatcher_round(d, 1, &second) == HDI_ROUND_STUCK);
    hdi_dispatcher_withdraw(d, 0);
    CHECK(hdi_dispatcher_waiting(d, 0) == 0);
    CHECK(hdi_dispatcher_round(d, 2, &second) == HDI_ROUND_EMPTY);
    submit(d, 0, packet(1, 0, 10, 1));
    CHECK(hdi_dispatcher_round(d, 3, &second) == HDI_ROUND_SENT);
    CHECK(hdi_dispatcher_block(d, second.lease, 2, 0) == 100);
    hdi_dispatcher_release(d, first.lease, 0);
    submit(d, 1, packet(1, 0, 64, 1));
    CHECK(hdi_dispatcher_round(d, 4, &third) == HDI_ROUND_SENT);
    CHECK(third.channel == 1);
    CHECK(hdi_dispatcher_block(d, third.lease, 2, 0) + 64 <= 100);
    hdi_dispatcher_destroy(d);
}

static void the_median_is_near(void)
{
    static struct hdi_median median;
    for (uint64_t i = 1; i <= 10001; i++)
        hdi_median_add(&median, i * i);
    double truth = 5001.0 * 5001.0;
    double got = (double)hdi_median_get(&median);
    CHECK(got > truth * 15 / 16 && got < truth * 17 / 16);
    hdi_median_add(&median, UINT64_MAX);
}

int main(void)
{
    a_stuck_high_head_blocks_nobody();
    many_modules_are_all_taken();
    only_heads_take_part();
    equals_take_marked_turns();
    windows_rotate_the_order();
    a_stuck_independent_head_is_split();
    related_heads_are_never_split();
    impossible_needs_are_refused();
    waves_are_even_over_units(HDI_POINTER_HEAD);
    waves_are_even_over_units(HDI_POINTER_TAIL);
    module_follows_the_mixture();
    random_rounds_keep_the_books();
    equal_seeds_give_equal_decisions();
    all_forms_decide_alike();
    an_urgent_head_keeps_a_module();
    long_runs_make_no_endless_period();
    an_overdue_head_ends_a_hold();
    needs_of_heads_can_change();
    packets_are_withdrawn();
    the_median_is_near();
    return 0;
}
