// What launches at the broker need of modules: bandwidth, cache and local
// memory, and which module is chosen by them.
#include <stddef.h>

#include "tests/launch/bidders.h"

// Bandwidth and cache ---------------------------------------------------------

// Beside a launch that takes most of the bandwidth goes one that needs none,
// though another has the higher priority; that one goes when nothing else
// waits.
static void bandwidth_is_shared(bool rule)
{
    static const struct hdi_box one = {.count = {1, 1, 1}};
    const struct hdi_broker_rules rules = {.no_bandwidth = !rule};
    struct rig rig = set_up_with(2, "pack:1 l3:1 core:2 pu:1", &rules);
    struct fake stream = make(&rig, HD_PRIORITY_NORMAL, one, 1);
    struct fake busy = make(&rig, HD_PRIORITY_NORMAL, one, 1);
    struct fake other = make(&rig, HD_PRIORITY_HIGH, one, 1);
    struct fake computes = make(&rig, HD_PRIORITY_LOW, one, 1);

    hdi_broker_enter(rig.broker); // nobody is alone
    hdi_broker_know(rig.broker, 10);
    stream.bid.demand = other.bid.demand =
        (struct hdi_demand){.data = UINT64_MAX, .traffic = 1, .rate = 8};
    stream.held = busy.held = true;
    give_and_begin(&stream);
    give_and_begin(&busy);
    give(&other);
    give(&computes);
    computes.rival = &other;
    atomic_store(&busy.held, false);
    await(&computes);
    CHECK(computes.rival_done == (rule ? 0 : 1));
    await(&other); // the stream holds its bandwidth still
    atomic_store(&stream.held, false);
    await(&stream);
    await(&busy);
    every_group_ran_once(&stream);
    every_group_ran_once(&busy);
    every_group_ran_once(&other);
    every_group_ran_once(&computes);
    tear_down(&rig);
}

enum {
    CACHES = 8, // modules, of one core each
    SHARERS = 4
};

// Launches that share caches of 1,000,000 bytes, and which of them ran last in
// each module.
struct sharing {
    struct rig rig;
    struct fake blockers[CACHES];
    unsigned modules;
    struct sharer {
        struct fake fake;
        struct sharing *all;
    } sharers[SHARERS];
    unsigned count;
    atomic_uint last[CACHES];    // sharer + 1
    atomic_uint changes[CACHES]; // how often another went than before
    atomic_uint begun;           // sharers
    atomic_uint ended;           // sharers without groups when the third began
};

static void run_sharer(struct hd_worker *worker, struct hdi_grant *grant,
                       struct hdi_box *box)
{
    struct sharer *s = (struct sharer *)(void *)fake_of(grant->bid);
    struct sharing *all = s->all;
    unsigned module = hd_pool_module(all->rig.pool, hd_worker_index(worker));
    unsigned me = (unsigned)(s - all->sharers) + 1;

    unsigned last = atomic_exchange(&all->last[module], me);
    if (last != 0 && last != me)
        atomic_fetch_add(&all->changes[module], 1);
    if (atomic_load(&s->fake.done) == 0 &&
        atomic_fetch_add(&all->begun, 1) == 2)
        for (unsigned i = 0; i < all->count; i++)
            if (atomic_load(&all->sharers[i].fake.done) ==
                hdi_box_groups(&all->sharers[i].fake.box))
                atomic_fetch_add(&all->ended, 1);
    run(worker, grant, box);
}

// Every worker is held until share() is called.
static void set_up_sharing(struct sharing *s, unsigned modules,
                           const struct hdi_broker_rules *rules)
{
    static const struct hdi_box one = {.count = {1, 1, 1}};

    *s = (struct sharing){.modules = modules};
    s->rig = set_up_with(modules,
                         modules == 1 ? "pack:1 l3:1(size=1000000) core:1 pu:1"
                                      : "pack:1 l3:8(size=1000000) core:1 pu:1",
                         rules);
    hdi_broker_enter(s->rig.broker); // nobody is alone
    for (unsigned i = 0; i < modules; i++) {
        s->blockers[i] = make(&s->rig, HD_PRIORITY_NORMAL, one, 1);
        s->blockers[i].held = true;
        give_and_begin(&s->blockers[i]);
    }
}

static struct fake *add_sharer(struct sharing *s, enum hd_priority priority,
                               uint64_t data)
{
    static const struct hdi_bidder bids = {.run = run_sharer, .piece = piece};
    struct sharer *sharer = &s->sharers[s->count++];

    sharer->fake =
        make(&s->rig, priority, (struct hdi_box){.count = {200, 1, 1}}, 1);
    sharer->all = s;
    sharer->fake.bid.bidder = &bids;
    sharer->fake.bid.demand.data = data;
    sharer->fake.length = 2000;
    give(&sharer->fake);
    return &sharer->fake;
}

static void share(struct sharing *s)
{
    for (unsigned i = 0; i < s->modules; i++)
        atomic_store(&s->blockers[i].held, false);
    for (unsigned i = 0; i < s->modules; i++) {
        await(&s->blockers[i]);
        every_group_ran_once(&s->blockers[i]);
    }
    for (unsigned i = 0; i < s->count; i++) {
        await(&s->sharers[i].fake);
        every_group_ran_once(&s->sharers[i].fake);
    }
    tear_down(&s->rig);
}

static unsigned most_changes(struct sharing *s)
{
    unsigned most = 0;

    for (unsigned m = 0; m < s->modules; m++)
        if (atomic_load(&s->changes[m]) > most)
            most = atomic_load(&s->changes[m]);
    return most;
}

static unsigned count_changes(unsigned modules,
                              const struct hdi_broker_rules *rules,
                              uint64_t data)
{
    struct sharing s;

    set_up_sharing(&s, modules, rules);
    add_sharer(&s, HD_PRIORITY_NORMAL, data);
    add_sharer(&s, HD_PRIORITY_NORMAL, data);
    share(&s);
    return most_changes(&s);
}

// Of two launches whose data do not fit a module's cache together one goes on
// there until it is out of work: they do not take turns from piece to piece, as
// they do without the rule, where both fit, and when their time is over.
static void launches_stay_in_a_cache(void)
{
    static const struct hdi_broker_rules on = {.tenure = UINT64_MAX},
                                         off = {.no_cache = true},
                                         brief = {.tenure = 1};

    for (unsigned modules = 1; modules <= CACHES; modules += CACHES - 1) {
        unsigned without = 0, fitting = 0, over = 0;

        // Others that run here make pieces longer, and turns then end.
        for (int i = 0; i < 5; i++) {
            CHECK(count_changes(modules, &on, 700000) <= 1);
            without += count_changes(modules, &off, 700000);
            fitting += count_changes(modules, &on, 400000);
            over += count_changes(modules, &brief, 700000);
        }
        CHECK(without > 20);
        CHECK(fitting > 20);
        CHECK(over > 20);
    }
}

// Two fit, the third waits until one of them is out of work.
static void the_third_waits(bool rule)
{
    const struct hdi_broker_rules rules = {.tenure = UINT64_MAX,
                                           .no_cache = !rule};
    unsigned ended = 0;

    for (int i = 0; i < 5; i++) {
        struct sharing s;
        set_up_sharing(&s, 1, &rules);
        for (int k = 0; k < 3; k++)
            add_sharer(&s, HD_PRIORITY_NORMAL, 400000);
        share(&s);
        ended += atomic_load(&s.ended);
    }
    CHECK(rule ? ended >= 5 : ended < 5);
}

// A higher priority is not kept out by those that are there.
static void priorities_pass(void)
{
    const struct hdi_broker_rules rules = {.tenure = UINT64_MAX};
    struct sharing s;

    set_up_sharing(&s, 1, &rules);
    struct fake *normal = add_sharer(&s, HD_PRIORITY_NORMAL, 700000);
    normal->held = true;
    atomic_store(&s.blockers[0].held, false);
    while (atomic_load(&normal->worker) < 0)
        sched_yield();
    struct fake *high = add_sharer(&s, HD_PRIORITY_HIGH, 700000);
    high->rival = normal;
    atomic_store(&normal->held, false);
    share(&s);
    CHECK(high->rival_done < 200);
}

// Where a piece goes ----------------------------------------------------------

enum {
    MODULES = 3,
    CORES = 3 // of a module
};

struct crowd {
    struct rig rig;
    struct fake fakes[MODULES * CORES]; // one per worker
    struct fake next;
};

static unsigned module_of(const struct crowd *crowd, const struct fake *f)
{
    return hd_pool_module(crowd->rig.pool, (unsigned)atomic_load(&f->worker));
}

static void let_go(struct crowd *crowd, struct fake *f)
{
    atomic_store(&f->held, false);
    await(f);
    every_group_ran_once(f);
    while (
        !hdi_pool_is_parked(crowd->rig.pool, (unsigned)atomic_load(&f->worker)))
        sched_yield();
}

// All are at work but two of `crowded`, whose local memory somebody has, and
// one of `roomy`, where all of it is free.
static void make_crowd(struct crowd *crowd, unsigned *crowded, unsigned *roomy)
{
    static const struct hdi_box one = {.count = {1, 1, 1}};
    bool found = false;

    crowd->rig = set_up(MODULES * CORES, "pack:1 l3:3 core:3 pu:1");
    hdi_broker_enter(crowd->rig.broker); // nobody is alone
    for (int i = 0; i < MODULES * CORES; i++) {
        struct fake *f = &crowd->fakes[i];
        *f = make(&crowd->rig, HD_PRIORITY_NORMAL, one, 1);
        f->held = true;
        f->bid.local = i == 0 ? UINT64_C(1) << 40 : 0;
        give_and_begin(f);
    }
    *crowded = module_of(crowd, &crowd->fakes[0]);
    *roomy = (*crowded + 1) % MODULES;
    for (int i = 1; i < MODULES * CORES; i++) {
        struct fake *f = &crowd->fakes[i];
        bool in_roomy = module_of(crowd, f) == *roomy;
        if (module_of(crowd, f) == *crowded || (in_roomy && !found))
            let_go(crowd, f);
        found |= in_roomy;
    }
    crowd->next = make(&crowd->rig, HD_PRIORITY_NORMAL, one, 1);
}

static void end_crowd(struct crowd *crowd)
{
    await(&crowd->next);
    every_group_ran_once(&crowd->next);
    for (int i = 0; i < MODULES * CORES; i++)
        if (atomic_load(&crowd->fakes[i].held))
            let_go(crowd, &crowd->fakes[i]);
    tear_down(&crowd->rig);
}

static uint64_t called_to_all(const struct crowd *crowd)
{
    uint64_t sum = 0;

    for (uint32_t m = 0; m < MODULES; m++)
        sum += hdi_broker_called(crowd->rig.broker, m);
    return sum;
}

// Of modules that sleep: weights of slots and memory say which is woken.
static void weights_choose_the_module(void)
{
    static const struct {
        uint32_t slot, local;
        uint64_t need; // of local memory
        bool to_roomy;
    } cases[] = {
        {2000, 1, 0, false},
        {1, 1000, 0, true},
        {2000, 1, 1, true}, // there is none where more is left
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct crowd crowd;
        unsigned crowded, roomy;

        make_crowd(&crowd, &crowded, &roomy);
        CHECK(called_to_all(&crowd) == 0); // nobody has calibrated
        hdi_broker_weigh(crowd.rig.broker, cases[i].slot, cases[i].local);
        crowd.next.bid.local = cases[i].need;
        give_and_begin(&crowd.next);
        unsigned chosen = cases[i].to_roomy ? roomy : crowded;
        CHECK(hdi_broker_called(crowd.rig.broker, chosen) == 1);
        CHECK(called_to_all(&crowd) == 1);
        CHECK(module_of(&crowd, &crowd.next) == chosen);
        end_crowd(&crowd);
    }
}

int main(void)
{
    bandwidth_is_shared(true);
    bandwidth_is_shared(false);
    launches_stay_in_a_cache();
    the_third_waits(true);
    the_third_waits(false);
    priorities_pass();
    weights_choose_the_module();
    return 0;
}
