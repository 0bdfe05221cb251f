#include "launch/broker/broker.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "steal/worker.h"
#include "tests/check.h"

static struct hd_error error;

enum {
    UNITS = 1,
    HELD = 2,    // by a unit: one runs, one waits
    HIGHEST = 60 // pile of pieces on one worker
};

struct fake;

// A unit on a thread of its own, which returns what was lent to it.
struct unit {
    struct hdi_broker *broker;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        struct fake *fake;
        struct hdi_grant *grant;
        struct hdi_box box;
    } leaves[HELD];
    unsigned count;
    bool stop;
};

// A launch whose groups only count.
struct fake {
    struct hdi_bid bid;
    struct hdi_broker *broker;
    struct hd_pool *pool;
    struct hdi_box box;
    uint64_t piece;  // [work-groups]
    uint64_t length; // of a group [ns]
    atomic_uint *visits;
    atomic_uint done;               // groups
    _Atomic uint64_t time, longest; // of its pieces [ns]
    struct fake *rival;
    unsigned rival_done;                 // groups, when this one had finished
    uint64_t rival_time;                 // [ns]
    atomic_uint *running, *most_running; // pieces at a time; optional
    atomic_int worker;                   // of its latest piece; -1: none began
    atomic_bool held;                    // its pieces last until it is not
    struct unit *unit;                   // that runs them; NULL: the worker
};

static struct fake *fake_of(const struct hdi_bid *bid)
{
    return (struct fake *)((char *)(uintptr_t)bid - offsetof(struct fake, bid));
}

static void spin(uint64_t time)
{
    for (uint64_t begin = hdi_now(); hdi_now() - begin < time;)
        ;
}

static void visit(struct fake *f, const struct hdi_box *b)
{
    const uint32_t *all = f->box.count;

    for (uint32_t z = b->first[2]; z < b->first[2] + b->count[2]; z++)
        for (uint32_t y = b->first[1]; y < b->first[1] + b->count[1]; y++)
            for (uint32_t x = b->first[0]; x < b->first[0] + b->count[0]; x++) {
                spin(f->length);
                atomic_fetch_add(
                    &f->visits[((size_t)z * all[1] + y) * all[0] + x], 1);
                if (atomic_fetch_add(&f->done, 1) + 1 ==
                        hdi_box_groups(&f->box) &&
                    f->rival) {
                    f->rival_done = atomic_load(&f->rival->done);
                    f->rival_time = atomic_load(&f->rival->time);
                }
            }
}

static void run_box(struct fake *f, const struct hdi_box *box)
{
    if (f->running) {
        unsigned now = atomic_fetch_add(f->running, 1) + 1;
        unsigned most = atomic_load(f->most_running);
        while (now > most &&
               !atomic_compare_exchange_weak(f->most_running, &most, now))
            ;
    }
    while (atomic_load(&f->held))
        sched_yield();
    uint64_t begin = hdi_now();
    visit(f, box);
    uint64_t time = hdi_now() - begin;
    atomic_fetch_add(&f->time, time);
    if (time > atomic_load(&f->longest))
        atomic_store(&f->longest, time);
    if (f->running)
        atomic_fetch_sub(f->running, 1);
}

// Return when it has room for more.
static void lend(struct unit *unit, struct fake *f, struct hdi_grant *grant,
                 const struct hdi_box *box)
{
    hdi_broker_lend(grant);
    pthread_mutex_lock(&unit->lock);
    CHECK(unit->count < HELD);
    unit->leaves[unit->count].fake = f;
    unit->leaves[unit->count].grant = grant;
    unit->leaves[unit->count].box = *box;
    unit->count++;
    pthread_cond_broadcast(&unit->changed);
    while (unit->count == HELD)
        pthread_cond_wait(&unit->changed, &unit->lock);
    pthread_mutex_unlock(&unit->lock);
}

static void *run_unit(void *data)
{
    struct unit *unit = data;

    pthread_mutex_lock(&unit->lock);
    for (;;) {
        while (unit->count == 0 && !unit->stop)
            pthread_cond_wait(&unit->changed, &unit->lock);
        if (unit->count == 0)
            break;
        pthread_mutex_unlock(&unit->lock);
        uint64_t begin = hdi_now();
        run_box(unit->leaves[0].fake, &unit->leaves[0].box);
        hdi_broker_return(unit->broker, unit->leaves[0].grant,
                          hdi_now() - begin);
        pthread_mutex_lock(&unit->lock);
        unit->count--;
        memmove(unit->leaves, unit->leaves + 1,
                unit->count * sizeof(*unit->leaves));
        pthread_cond_broadcast(&unit->changed);
    }
    pthread_mutex_unlock(&unit->lock);
    return NULL;
}

static void start_unit(struct unit *unit, struct hdi_broker *broker)
{
    *unit = (struct unit){.broker = broker};
    pthread_mutex_init(&unit->lock, NULL);
    pthread_cond_init(&unit->changed, NULL);
    CHECK(pthread_create(&unit->thread, NULL, run_unit, unit) == 0);
}

static void stop_unit(struct unit *unit)
{
    pthread_mutex_lock(&unit->lock);
    unit->stop = true;
    pthread_cond_broadcast(&unit->changed);
    pthread_mutex_unlock(&unit->lock);
    pthread_join(unit->thread, NULL);
    pthread_cond_destroy(&unit->changed);
    pthread_mutex_destroy(&unit->lock);
}

// As launches do: divide, and give away when others come.
static void divide(struct fake *f, struct hdi_box *box)
{
    while (hdi_box_groups(box) > f->piece) {
        if (hdi_broker_is_asked(f->broker) &&
            hdi_broker_give(f->broker, &f->bid, box))
            return;
        struct hdi_box half = hdi_box_halve(box);
        divide(f, &half);
    }
    run_box(f, box);
}

static void run(struct hd_worker *worker, struct hdi_grant *grant,
                struct hdi_box *box)
{
    struct fake *f = fake_of(grant->bid);

    atomic_store(&f->worker, (int)hd_worker_index(worker));
    if (f->unit)
        lend(f->unit, f, grant, box);
    else if (grant->alone)
        divide(f, box);
    else
        run_box(f, box);
}

static uint64_t piece(const struct hdi_bid *bid)
{
    return fake_of(bid)->piece;
}

static const struct hdi_bidder bidder = {.run = run, .piece = piece};

struct rig {
    struct hd_pool *pool;
    struct hdi_broker *broker;
};

static struct rig set_up_with(unsigned workers, const char *topology,
                              const struct hdi_broker_rules *rules)
{
    struct hd_pool_params params = {.workers = workers, .topology = topology};
    struct rig rig;

    CHECK_OK(hd_pool_create(&params, &rig.pool, &error), error);
    CHECK_OK(hdi_broker_create(rig.pool, UNITS, rules, &rig.broker, &error),
             error);
    return rig;
}

static struct rig set_up(unsigned workers, const char *topology)
{
    return set_up_with(workers, topology, NULL);
}

static void tear_down(struct rig *rig)
{
    hd_pool_destroy(rig->pool);
    hdi_broker_destroy(rig->broker);
}

static struct fake make(const struct rig *rig, enum hd_priority priority,
                        struct hdi_box box, uint64_t pieces)
{
    struct fake f = {.bid = {.bidder = &bidder, .priority = priority},
                     .broker = rig->broker,
                     .pool = rig->pool,
                     .box = box,
                     .piece = pieces,
                     .worker = -1};

    f.visits = calloc(hdi_box_groups(&box), sizeof(*f.visits));
    CHECK(f.visits);
    return f;
}

static void every_group_ran_once(struct fake *f)
{
    for (uint64_t i = 0; i < hdi_box_groups(&f->box); i++)
        CHECK(atomic_load(&f->visits[i]) == 1);
    free(f->visits);
}

static void give(struct fake *f)
{
    hdi_broker_enter(f->broker);
    CHECK(hdi_broker_give(f->broker, &f->bid, &f->box));
}

static void give_and_begin(struct fake *f)
{
    give(f);
    while (atomic_load(&f->worker) < 0)
        sched_yield();
}

static void await(struct fake *f)
{
    hdi_broker_wait(f->broker, &f->bid, NULL);
    hdi_broker_leave(f->broker, &f->bid);
}

// Every group exactly once
// ------------------------------------------------------

enum {
    CALLERS = 6,
    LAUNCHES = 60
};

struct caller {
    struct rig *rig;
    unsigned seed;
    bool inside;
    pthread_t thread;
};

static void call_inside(struct hd_worker *worker, void *data)
{
    struct fake *f = data;
    struct hdi_box box = f->box;

    divide(f, &box);
    hdi_broker_wait(f->broker, &f->bid, worker);
}

static void *launch_many(void *data)
{
    struct caller *c = data;

    for (unsigned i = 0; i < LAUNCHES; i++) {
        struct hdi_box box = {.count = {1 + (unsigned)rand_r(&c->seed) % 30,
                                        1 + (unsigned)rand_r(&c->seed) % 7,
                                        1 + (unsigned)rand_r(&c->seed) % 3}};
        struct fake f = make(c->rig, (enum hd_priority)(i % 3), box,
                             1 + (unsigned)rand_r(&c->seed) % 9);
        f.bid.local = (uint64_t)(unsigned)rand_r(&c->seed) << (i % 10);
        f.length = 200;
        if (c->inside) {
            hdi_broker_enter(f.broker);
            hd_pool_run(f.pool, call_inside, &f);
            hdi_broker_leave(f.broker, &f.bid);
        } else {
            give(&f);
            await(&f);
        }
        every_group_ran_once(&f);
    }
    return NULL;
}

static void groups_run_once(struct rig rig)
{
    struct caller callers[CALLERS];

    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] =
            (struct caller){.rig = &rig, .seed = i + 1, .inside = i % 2};
        CHECK(pthread_create(&callers[i].thread, NULL, launch_many,
                             &callers[i]) == 0);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    tear_down(&rig);
}

static void more_launches_than_places(void)
{
    enum {
        MANY = 600
    };
    struct rig rig = set_up(2, NULL);
    struct fake *fakes = calloc(MANY, sizeof(*fakes));

    for (unsigned i = 0; i < MANY; i++) {
        fakes[i] = make(&rig, (enum hd_priority)(i % 3),
                        (struct hdi_box){.count = {3, 1, 1}}, 1);
        give(&fakes[i]);
    }
    for (unsigned i = 0; i < MANY; i++) {
        await(&fakes[i]);
        every_group_ran_once(&fakes[i]);
    }
    free(fakes);
    tear_down(&rig);
}

// Who goes first
// ------------------------------------------------------------------

static void a_high_priority_overtakes(void)
{
    struct rig rig = set_up(1, NULL);
    struct hdi_box long_one = {.count = {2000, 1, 1}};
    struct hdi_box short_one = {.count = {20, 1, 1}};
    struct fake low = make(&rig, HD_PRIORITY_LOW, long_one, 1);
    struct fake high = make(&rig, HD_PRIORITY_HIGH, short_one, 1);

    low.length = high.length = 10000;
    high.rival = &low;
    give(&low); // alone: it has the worker all for itself
    while (atomic_load(&low.done) < 100)
        ;
    give(&high);
    int before = (int)atomic_load(&low.done);
    await(&high);
    CHECK((int)high.rival_done - before < 1000);
    await(&low);
    every_group_ran_once(&low);
    every_group_ran_once(&high);
    tear_down(&rig);
}

// When the one had finished, the other had had as much time, or all it wanted.
static void had_its_share(const struct fake *one, const struct fake *other)
{
    uint64_t longest =
        atomic_load(&one->longest) + atomic_load(&other->longest);

    CHECK(one->rival_done == hdi_box_groups(&other->box) ||
          one->rival_time * 4 / 3 + 2 * longest > atomic_load(&one->time));
}

// Shares are of time, not of pieces, whoever runs them.
static void equals_share_the_time(bool on_unit)
{
    struct rig rig = set_up(1, NULL);
    struct hdi_box many = {.count = {1600, 1, 1}}, few = {.count = {100, 1, 1}};
    struct fake brief = make(&rig, HD_PRIORITY_NORMAL, many, 1);
    struct fake slow = make(&rig, HD_PRIORITY_NORMAL, few, 1);
    struct unit unit;

    start_unit(&unit, rig.broker);
    brief.unit = slow.unit = on_unit ? &unit : NULL;
    brief.length = 10000;
    slow.length = 160000;
    slow.rival = &brief;
    brief.rival = &slow;
    give(&brief);
    give(&slow);
    await(&brief);
    await(&slow);
    had_its_share(&slow, &brief);
    had_its_share(&brief, &slow);
    every_group_ran_once(&brief);
    every_group_ran_once(&slow);
    stop_unit(&unit);
    tear_down(&rig);
}

// A piece keeps what it has until the unit has ended it, not until the worker
// has handed it over.
static void a_lease_lasts_as_long_as_its_piece(void)
{
    static const struct hdi_box one = {.count = {1, 1, 1}};
    struct rig rig = set_up(1, NULL);
    struct fake lent = make(&rig, HD_PRIORITY_NORMAL, one, 1);
    struct fake large = make(&rig, HD_PRIORITY_HIGH, one, 1);
    struct fake small = make(&rig, HD_PRIORITY_LOW, one, 1);
    struct unit unit;

    start_unit(&unit, rig.broker);
    hdi_broker_enter(rig.broker); // nobody is alone
    lent.unit = &unit;
    lent.held = true;
    lent.bid.local = large.bid.local = UINT64_C(1) << 40;
    give_and_begin(&lent);
    give(&large);
    give(&small);
    await(&small);
    CHECK(atomic_load(&large.worker) < 0); // there is no memory for it
    atomic_store(&lent.held, false);
    await(&lent);
    await(&large);
    every_group_ran_once(&lent);
    every_group_ran_once(&large);
    every_group_ran_once(&small);
    stop_unit(&unit);
    tear_down(&rig);
}

// Groups that need all local memory run one at a time in each module.
static void local_memory_is_shared(void)
{
    struct rig rig = set_up(4, "pack:1 l3:2 core:2 pu:1");
    atomic_uint running = 0, most = 0;
    struct fake fakes[3];

    hdi_broker_enter(rig.broker); // nobody is alone
    for (unsigned i = 0; i < 3; i++) {
        fakes[i] = make(&rig, HD_PRIORITY_NORMAL,
                        (struct hdi_box){.count = {100, 1, 1}}, 1);
        fakes[i].bid.local = UINT64_C(1) << 40;
        fakes[i].length = 5000;
        fakes[i].running = &running;
        fakes[i].most_running = &most;
    }
    for (unsigned i = 0; i < 3; i++)
        give(&fakes[i]);
    for (unsigned i = 0; i < 3; i++) {
        await(&fakes[i]);
        every_group_ran_once(&fakes[i]);
    }
    CHECK(atomic_load(&most) <= 2);
    tear_down(&rig);
}

// Bandwidth and cache
// ----------------------------------------------------------

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
    unsigned fewest = UINT_MAX, most = 0;

    for (int i = 0; i < 5; i++) {
        unsigned with = count_changes(true, 700000);
        unsigned without = count_changes(false, 700000);
        unsigned fits = count_changes(true, 400000);
        fewest = with < fewest ? with : fewest;
        most = without > most ? without : most;
        most = fits < most ? fits : most;
    }
    CHECK(fewest <= 4);
    CHECK(most > 20);
}

// Where a piece goes
// -----------------------------------------------------------

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

// Waiting for memory
// -----------------------------------------------------------

// A launch on a worker, and a job that keeps the other worker meanwhile.
struct inside {
    struct hd_job launch, block;
    struct hd_group group;
    struct fake *fake;
    atomic_bool blocks, free;
};

static void launch_inside(struct hd_worker *worker, struct hd_job *job)
{
    struct inside *i =
        (struct inside *)((char *)job - offsetof(struct inside, launch));

    give(i->fake);
    hdi_broker_wait(i->fake->broker, &i->fake->bid, worker);
}

static void block(struct hd_worker *worker, struct hd_job *job)
{
    struct inside *i =
        (struct inside *)((char *)job - offsetof(struct inside, block));

    (void)worker;
    atomic_store(&i->blocks, true);
    while (!atomic_load(&i->free))
        sched_yield();
}

// Begin the launch on a worker of two, which runs its piece itself.
static void begin_inside(struct inside *i, struct rig *rig, struct fake *fake)
{
    memset(i, 0, sizeof(*i));
    hd_group_init(&i->group);
    i->fake = fake;
    i->block = (struct hd_job){.run = block, .group = &i->group};
    i->launch = (struct hd_job){.run = launch_inside, .group = &i->group};
    hd_submit(rig->pool, &i->block);
    while (!atomic_load(&i->blocks))
        sched_yield();
    hd_submit(rig->pool, &i->launch);
    while (atomic_load(&fake->worker) < 0)
        sched_yield();
    atomic_store(&i->free, true);
}

// A server that finds no memory left goes idle, and its worker to sleep. Who
// ends the piece that has the memory calls one again: a server that has used up
// its turn and takes nothing more, or a launch on a worker that leaves.
static void who_found_no_memory_is_called_again(bool on_worker)
{
    static const struct hdi_box one = {.count = {1, 1, 1}};
    struct rig rig = set_up(2, "pack:1 l3:1 core:2 pu:1");

    hdi_broker_enter(rig.broker); // nobody is alone
    for (int round = 0; round < 10; round++) {
        struct fake holder = make(&rig, HD_PRIORITY_NORMAL, one, 1);
        struct fake next = make(&rig, HD_PRIORITY_NORMAL, one, 1);
        struct inside inside;

        holder.bid.local = next.bid.local = UINT64_C(1) << 40;
        holder.held = true;
        if (on_worker)
            begin_inside(&inside, &rig, &holder);
        else
            give_and_begin(&holder);
        give(&next);
        spin(2000000); // ten turns
        while (!hdi_pool_is_parked(rig.pool,
                                   1 - (unsigned)atomic_load(&holder.worker)))
            sched_yield();
        CHECK(atomic_load(&next.worker) < 0);
        atomic_store(&holder.held, false);
        uint64_t begin = hdi_now();
        while (atomic_load(&next.done) == 0) {
            CHECK(hdi_now() - begin < UINT64_C(20000000000));
            sched_yield();
        }
        await(&next);
        if (on_worker)
            hd_group_wait(rig.pool, &inside.group);
        await(&holder);
        every_group_ran_once(&holder);
        every_group_ran_once(&next);
    }
    tear_down(&rig);
}

// A piece that forks and joins may have other tasks on top of it, which launch,
// and so on: what these want is held by pieces that wait for them.
struct nested {
    struct fake fake;
    struct nested *above; // or NULL
};

static void run_nested(struct hd_worker *worker, struct hdi_grant *grant,
                       struct hdi_box *box)
{
    struct nested *n = (struct nested *)(void *)fake_of(grant->bid);
    struct nested *above = n->above;

    n->above = NULL; // of its first piece
    if (above) {
        give(&above->fake);
        hdi_broker_wait(n->fake.broker, &above->fake.bid, worker);
        hdi_broker_leave(n->fake.broker, &above->fake.bid);
    }
    run_box(&n->fake, box);
}

static void what_lies_below_a_waiter_is_not_waited_for(unsigned depth,
                                                       uint64_t local)
{
    static const struct hdi_bidder nests = {.run = run_nested, .piece = piece};
    struct rig rig = set_up(1, NULL);
    struct nested pile[HIGHEST];

    for (unsigned i = 0; i < depth; i++) {
        pile[i].fake = make(&rig, HD_PRIORITY_NORMAL,
                            (struct hdi_box){.count = {10, 1, 1}}, 1);
        pile[i].fake.bid.bidder = &nests;
        pile[i].fake.bid.local = local;
        pile[i].above = i + 1 < depth ? &pile[i + 1] : NULL;
    }
    give(&pile[0].fake);
    await(&pile[0].fake);
    for (unsigned i = 0; i < depth; i++)
        every_group_ran_once(&pile[i].fake);
    tear_down(&rig);
}

// What somebody waits for runs also in a pool that was cancelled.
static void a_cancelled_pool_keeps_nobody_waiting(void)
{
    struct rig rig = set_up(2, NULL);
    struct fake f = make(&rig, HD_PRIORITY_NORMAL,
                         (struct hdi_box){.count = {50, 1, 1}}, 2);

    hd_pool_cancel(rig.pool);
    give(&f);
    await(&f);
    every_group_ran_once(&f);
    tear_down(&rig);
}

int main(void)
{
    groups_run_once(set_up(1, NULL));
    groups_run_once(set_up(2, NULL));
    groups_run_once(set_up(4, "pack:1 l3:2 core:2 pu:1"));
    more_launches_than_places();
    a_high_priority_overtakes();
    equals_share_the_time(false);
    equals_share_the_time(true);
    a_lease_lasts_as_long_as_its_piece();
    local_memory_is_shared();
    bandwidth_is_shared(true);
    bandwidth_is_shared(false);
    launches_stay_in_the_cache();
    weights_choose_the_module();
    who_found_no_memory_is_called_again(false);
    who_found_no_memory_is_called_again(true);
    what_lies_below_a_waiter_is_not_waited_for(2, UINT64_C(1) << 40);
    what_lies_below_a_waiter_is_not_waited_for(HIGHEST, 0);
    a_cancelled_pool_keeps_nobody_waiting();
    return 0;
}
