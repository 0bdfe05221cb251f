// Launches that share the workers: every group runs once, in what order, and
// nobody waits for what never comes.
#include <stddef.h>

#include "tests/launch/bidders.h"

// Every group exactly once ----------------------------------------------------

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

// Who goes first --------------------------------------------------------------

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

// Waiting for memory ----------------------------------------------------------

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
    who_found_no_memory_is_called_again(false);
    who_found_no_memory_is_called_again(true);
    what_lies_below_a_waiter_is_not_waited_for(2, UINT64_C(1) << 40);
    what_lies_below_a_waiter_is_not_waited_for(HIGHEST, 0);
    a_cancelled_pool_keeps_nobody_waiting();
    return 0;
}
