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

struct turns {
    struct fake fake;
    struct turns **last; // who ran before
    unsigned *changes;
};

static void run_turn(struct hd_worker *worker, struct hdi_grant *grant,
                     struct hdi_box *box)
{
    struct turns *t = (struct turns *)(void *)fake_of(grant->bid);

    *t->changes += *t->last != t;
    *t->last = t;
    run(worker, grant, box);
}

// Of two launches whose data do not fit the cache together one stays for a
// while: they do not take turns from piece to piece. Returns how often another
// went than before.
static unsigned count_changes(bool rule, uint64_t data)
{
    static const struct hdi_bidder bids = {.run = run_turn, .piece = piece};
    const struct hdi_broker_rules rules = {.no_tenure = !rule};
    struct rig rig =
        set_up_with(1, "pack:1 l3:1(size=1000000) core:1 pu:1", &rules);
    struct turns turns[2], *last = NULL;
    unsigned changes = 0;

    hdi_broker_enter(rig.broker); // nobody is alone
    for (int i = 0; i < 2; i++) {
        turns[i] = (struct turns){
            .fake = make(&rig, HD_PRIORITY_NORMAL,
                         (struct hdi_box){.count = {200, 1, 1}}, 1),
            .last = &last,
            .changes = &changes};
        turns[i].fake.bid.bidder = &bids;
        turns[i].fake.bid.demand.data = data;
        turns[i].fake.length = 2000;
    }
    give(&turns[0].fake);
    give(&turns[1].fake);
    for (int i = 0; i < 2; i++) {
        await(&turns[i].fake);
        every_group_ran_once(&turns[i].fake);
    }
    tear_down(&rig);
    return changes;
}

static void launches_stay_in_the_cache(void)
{
    // Others that run here make pieces longer, and turns then end.
    unsigned fewest = UINT_MAX, most = 0, most_fitting = 0;

    for (int i = 0; i < 5; i++) {
        unsigned with = count_changes(true, 700000);
        unsigned without = count_changes(false, 700000);
        unsigned fits = count_changes(true, 400000);
        fewest = with < fewest ? with : fewest;
        most = without > most ? without : most;
        most_fitting = fits > most_fitting ? fits : most_fitting;
    }
    CHECK(fewest <= 4);
    CHECK(most > 20 && most_fitting > 20);
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
    launches_stay_in_the_cache();
    weights_choose_the_module();
    return 0;
}
