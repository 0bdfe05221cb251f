// Invariants: while boxes are there, a server is submitted or running, a worker
// that waits serves, or a lease is out whose end calls a server. A bid has a
// packet of one group in a channel, or stands in line for one, as long as it
// has boxes. Only the worker that asks has a free slot, so what is decided is
// for its module.
#include "launch/broker/broker.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/topology.h"
#include "dispatch/dispatcher.h"
#include "launch/broker/tenancy.h"
#include "steal/worker.h"

// CHANNELS: launches beyond that share one, or stand in line. TURN: longer
// keeps other work of the pool waiting, shorter spends more on asking. NESTED:
// a worker that waits in a piece serves others on top of it.
enum {
    CHANNELS = 16,
    PACKETS = 16,  // of one channel
    TURN = 200000, // a server's, before other work of the pool [ns]
    SLOTS = 0,     // resources of a module
    LOCAL = 1,     //
    BANDWIDTH = 2,
    LOCAL_BLOCKS = 1024,
    LOCAL_BLOCK = 4096, // at least [bytes]
    BANDWIDTH_BLOCKS = 1024,
    CACHE = 3,
    RESOURCES = 4,
    PRIORITIES = 3,
    PAUSES = 100,       // about 5 us, what sleeping and waking costs
    PATIENCE = 5000000, // a worker waits for memory, long against pieces [ns]
    // A launch keeps its share of a module's cache that long: ten times what it
    // takes to fill a cache of 32 MB [ns].
    TENURE = 20000000,
    FIRST_BOXES = 16,
    NESTED = 66 // pieces on one worker, a few more than joins go deep
};

// The median piece takes 100 us: the shortest window is then 0.8 ms, and the
// highest priority has 24 of 27 parts of the time when all are waiting.
enum {
    WINDOW_RUNS = 8 * 16,
    WINDOW_LEAD = 8
};

#define ANYBODY UINT_MAX

// In hdi_bid.pending: a thread outside sleeps.
#define ASLEEP (UINT32_C(1) << 31)

// One per worker, so that all may serve. Either in the list of those idle, or
// submitted, or running.
struct server {
    struct hd_work work;
    struct hdi_broker *broker;
    struct server *next; // idle
    unsigned near;       // a worker of the module it is called to, or ANYBODY
};

// The workers of a module, for the choice between modules.
// Under the broker's lock.
struct module {
    uint64_t parked; // as last looked
    unsigned first;  // of these
    uint64_t called; // servers it was chosen for
    struct hdi_bandwidth bandwidth;
};

// All below `lock` is under it. Lock order: it is the innermost; nothing is
// submitted to the pool while it is held.
struct hdi_broker {
    // Launches that want workers. Written with a full fence by those that come,
    // read by those that run, each time they divide; that is when it matters.
    _Alignas(64) atomic_uint active;

    _Alignas(64) pthread_mutex_t lock;
    struct hd_pool *pool;
    struct hdi_dispatcher *dispatcher;
    struct hdi_shape *shape;
    uint32_t weights[RESOURCES]; // calibrated; 0: not
    struct module *modules;
    struct hdi_broker_rules rules;
    uint64_t block; // of local memory [bytes]
    struct hdi_tenancy cache;
    uint64_t boxes;                   // of all bids
    uint64_t given;                   // boxes, so far
    struct hdi_bid *line, **line_end; // without a place in a channel
    int64_t floor[PRIORITIES]; // a newcomer has been served that long [ns]
    struct server *servers, *idle;
    unsigned server_count;
    struct hdi_grant *grants; // under way, by lease
};

// Making ----------------------------------------------------------------------

static void serve(struct hd_worker *worker, struct hd_work *work,
                  hd_status status);

static uint64_t cache_bytes(const struct hdi_machine *machine)
{
    if (machine->l3_bytes > 0)
        return machine->l3_bytes;
    return machine->l2_bytes > 0 ? machine->l2_bytes : 1 << 20;
}

// What was made when it fails stays the broker's, for hdi_broker_destroy().
// Slots are taken away from all modules at first: a worker that asks brings its
// own.
static hd_status make_dispatcher(struct hdi_broker *b, unsigned units,
                                 struct hd_error *error)
{
    const struct hdi_machine *machine =
        hdi_topology_machine(hdi_pool_topology(b->pool));
    uint32_t slots = hd_pool_workers(b->pool) + HD_MAX_SPARE_THREADS;
    // A piece may lie on top of others; on a unit one runs, one waits.
    uint32_t leases = slots * NESTED + 2 * units;
    struct hdi_shape *shape = calloc(1, sizeof(*shape));
    b->shape = shape;
    b->modules = calloc(machine->cache_groups, sizeof(*b->modules));
    b->grants = calloc(leases, sizeof(*b->grants));
    if (!shape || !b->modules || !b->grants)
        return hdi_fail(error, HD_ENOMEM, "no memory for a broker");

    b->cache = (struct hdi_tenancy){
        .resource = CACHE,
        .channels = CHANNELS,
        .modules = machine->cache_groups,
        .size = cache_bytes(machine),
        .tenure = b->rules.tenure ? b->rules.tenure : TENURE,
        .off = b->rules.no_cache,
        .module = calloc(machine->cache_groups, sizeof(*b->cache.module))};
    if (!b->cache.module)
        return hdi_fail(error, HD_ENOMEM, "no memory for a broker");
    b->block = hdi_round_up(b->cache.size / LOCAL_BLOCKS, LOCAL_BLOCK);
    shape->modules = machine->cache_groups;
    shape->units = 1;
    shape->waves = slots;
    shape->resource_count = RESOURCES;
    shape->resources[SLOTS] =
        (struct hdi_module_resource){.name = "worker slots", .blocks = slots};
    shape->resources[LOCAL] =
        (struct hdi_module_resource){.name = "local memory",
                                     .blocks = LOCAL_BLOCKS,
                                     .shared = true,
                                     .energy = 1};
    shape->resources[BANDWIDTH] = (struct hdi_module_resource){
        .name = "memory bandwidth", .blocks = BANDWIDTH_BLOCKS, .shared = true};
    shape->resources[CACHE] = (struct hdi_module_resource){
        .name = "cache", .blocks = HDI_TENANCY_BLOCKS, .shared = true};
    struct hdi_dispatcher_options options = {
        .channels = CHANNELS,
        .packets = PACKETS,
        .leases = leases,
        .seed = 1,
        .policy = {.order = b->rules.no_matching ? HDI_ORDER_STICKY
                                                 : HDI_ORDER_PRIORITY,
                   .mixture = {.left = 1},
                   .priorities = PRIORITIES,
                   .marks = true,
                   .window_runs = b->rules.no_windows ? 0 : WINDOW_RUNS,
                   .window_lead = b->rules.no_windows ? 0 : WINDOW_LEAD}};
    hd_status status = hdi_shape_init(shape, error);
    if (status == HD_OK)
        status = hdi_dispatcher_create(shape, &options, &b->dispatcher, error);
    b->cache.dispatcher = b->dispatcher;
    for (uint32_t m = 0; status == HD_OK && m < shape->modules; m++)
        hdi_dispatcher_offer(b->dispatcher, m, SLOTS, 0, -(int32_t)slots);
    return status;
}

hd_status hdi_broker_create(struct hd_pool *pool, unsigned units,
                            const struct hdi_broker_rules *rules,
                            struct hdi_broker **broker, struct hd_error *error)
{
    struct hdi_broker *b =
        aligned_alloc(64, hdi_round_up(sizeof(struct hdi_broker), 64));
    if (!b)
        return hdi_fail(error, HD_ENOMEM, "no memory for a broker");

    *b = (struct hdi_broker){.pool = pool,
                             .server_count = hd_pool_workers(pool)};
    b->line_end = &b->line;
    if (rules)
        b->rules = *rules;
    pthread_mutex_init(&b->lock, NULL);
    b->servers = calloc(b->server_count, sizeof(*b->servers));
    hd_status status = HD_OK;
    if (!b->servers)
        status = hdi_fail(error, HD_ENOMEM, "no memory for a broker");
    if (status == HD_OK)
        status = make_dispatcher(b, units, error);
    if (status != HD_OK) {
        hdi_broker_destroy(b);
        return status;
    }
    for (unsigned i = 0; i < b->server_count; i++) {
        b->servers[i] = (struct server){
            .work = {.job = {.run = hdi_run_nothing}, .done = serve},
            .broker = b,
            .next = b->idle};
        b->idle = &b->servers[i];
    }
    *broker = b;
    return HD_OK;
}

void hdi_broker_destroy(struct hdi_broker *broker)
{
    if (!broker)
        return;
    hdi_dispatcher_destroy(broker->dispatcher);
    free(broker->shape);
    free(broker->modules);
    free(broker->cache.module);
    free(broker->grants);
    free(broker->servers);
    pthread_mutex_destroy(&broker->lock);
    free(broker);
}

void hdi_broker_weigh(struct hdi_broker *broker, uint32_t slot, uint32_t local)
{
    pthread_mutex_lock(&broker->lock);
    broker->weights[SLOTS] = slot;
    broker->weights[LOCAL] = local;
    for (uint32_t m = 0; m < broker->shape->modules; m++)
        hdi_dispatcher_weigh(broker->dispatcher, m, broker->weights);
    pthread_mutex_unlock(&broker->lock);
}

void hdi_broker_know(struct hdi_broker *broker, double bandwidth)
{
    pthread_mutex_lock(&broker->lock);
    for (uint32_t m = 0; m < broker->shape->modules; m++)
        broker->modules[m].bandwidth.most = bandwidth;
    pthread_mutex_unlock(&broker->lock);
}

// Servers ---------------------------------------------------------------------

static void count_parked(struct hdi_broker *b)
{
    for (uint32_t m = 0; m < b->shape->modules; m++)
        b->modules[m].parked = 0;
    for (unsigned i = hd_pool_workers(b->pool); i-- > 0;) {
        struct module *module = &b->modules[hd_pool_module(b->pool, i)];
        if (!hdi_pool_is_parked(b->pool, i))
            continue;
        module->parked++;
        module->first = i;
    }
}

// Of the modules with sleeping workers and `local` blocks of memory the
// one where the most is left, by calibrated weight. Who sleeps may change
// meanwhile: this says who is woken, not who may take.
static unsigned choose_near(struct hdi_broker *b, uint64_t local)
{
    struct module *best = NULL;
    uint64_t most = 0;

    count_parked(b);
    for (uint32_t m = 0; m < b->shape->modules; m++) {
        struct module *module = &b->modules[m];
        uint64_t blocks = hdi_module_left(
            hdi_dispatcher_module(b->dispatcher, m), b->shape, LOCAL);
        uint64_t left =
            b->weights[SLOTS] * module->parked + b->weights[LOCAL] * blocks;
        if (module->parked > 0 && blocks >= local && (!best || left > most)) {
            best = module;
            most = left;
        }
    }
    if (!best)
        return ANYBODY;
    best->called++;
    return best->first;
}

static bool is_weighed(const struct hdi_broker *b)
{
    return b->weights[SLOTS] > 0 && b->shape->modules > 1;
}

// A server to submit when the lock is released, or NULL; for a piece that needs
// `local` blocks, as far as is known.
// With the lock. NULL also where all servers are on their way: one of them
// comes.
static struct server *call_server(struct hdi_broker *b, uint64_t local)
{
    struct server *server = b->boxes > 0 ? b->idle : NULL;

    if (!server)
        return NULL;
    b->idle = server->next;
    server->near = is_weighed(b) ? choose_near(b, local) : ANYBODY;
    return server;
}

static void submit_server(struct server *server, enum hd_priority priority)
{
    if (!server)
        return;
    server->work.priority = priority;
    if (server->near == ANYBODY)
        hd_submit_work(server->broker->pool, &server->work);
    else
        hdi_submit_near(server->broker->pool, &server->work, server->near);
}

// Bids ------------------------------------------------------------------------

// The one with the fewest packets, of one group each. False: all are full.
static bool choose_channel(const struct hdi_broker *b, struct hdi_bid *bid)
{
    uint64_t least = hdi_dispatcher_waiting(b->dispatcher, bid->channel);

    for (uint32_t c = 0; least > 0 && c < CHANNELS; c++) {
        uint64_t waiting = hdi_dispatcher_waiting(b->dispatcher, c);
        if (waiting < least) {
            least = waiting;
            bid->channel = c;
        }
    }
    return least < PACKETS;
}

// What needs more than a module has gets all of it.
static uint16_t local_blocks(const struct hdi_broker *b,
                             const struct hdi_bid *bid)
{
    uint64_t blocks = (bid->local + b->block - 1) / b->block;

    return (uint16_t)(blocks < LOCAL_BLOCKS ? blocks : LOCAL_BLOCKS);
}

// A packet is matched with all modules: where it is scarcest decides.
static uint16_t bandwidth_blocks(const struct hdi_broker *b,
                                 const struct hdi_bid *bid)
{
    uint16_t most = 0;

    for (uint32_t m = 0; !b->rules.no_bandwidth && m < b->shape->modules; m++) {
        uint16_t blocks = hdi_demand_blocks(
            &bid->demand, &b->modules[m].bandwidth, BANDWIDTH_BLOCKS);
        if (blocks > most)
            most = blocks;
    }
    return most;
}

// Put the bid's packet into a channel. False: all are full.
// `prefer` lets the launch with the least time so far go first among equals.
static bool queue(struct hdi_broker *b, struct hdi_bid *bid, uint64_t now)
{
    struct hdi_packet packet = {
        .need = {.waves = 1, .priority = hdi_bid_level(bid)},
        .groups = 1,
        .tag = (uintptr_t)bid,
        .prefer = -bid->served};

    bid->bandwidth = bandwidth_blocks(b, bid);
    packet.need.amount[SLOTS] = 1;
    packet.need.amount[LOCAL] = local_blocks(b, bid);
    packet.need.amount[BANDWIDTH] = bid->bandwidth;
    return choose_channel(b, bid) &&
           hdi_dispatcher_submit(b->dispatcher, bid->channel, &packet, now,
                                 NULL) == HD_OK;
}

static void line_up(struct hdi_broker *b, struct hdi_bid *bid)
{
    bid->behind = NULL;
    *b->line_end = bid;
    b->line_end = &bid->behind;
}

// First come, first served, while places in channels are free.
static void queue_line(struct hdi_broker *b, uint64_t now)
{
    while (b->line && queue(b, b->line, now)) {
        b->line = b->line->behind;
        if (!b->line)
            b->line_end = &b->line;
    }
}

static void offer_bid(struct hdi_broker *b, struct hdi_bid *bid, uint64_t now)
{
    bid->queued = true;
    if (b->line || !queue(b, bid, now))
        line_up(b, bid);
}

static bool make_room(struct hdi_bid *bid)
{
    if (bid->count < bid->room)
        return true;
    uint32_t room = bid->room ? 2 * bid->room : FIRST_BOXES;
    struct hdi_box *boxes = realloc(bid->boxes, room * sizeof(*boxes));
    if (!boxes)
        return false;
    bid->boxes = boxes;
    bid->room = room;
    return true;
}

// Relaxed: the launch itself adds here, or somebody who holds one of its
// pieces, so `pending` is not 0 meanwhile or nobody waits yet.
static bool add_box(struct hdi_broker *b, struct hdi_bid *bid,
                    const struct hdi_box *box)
{
    if (!make_room(bid))
        return false;
    bid->boxes[bid->count++] = *box;
    b->boxes++;
    atomic_fetch_add_explicit(&bid->pending, 1, memory_order_relaxed);
    return true;
}

void hdi_broker_enter(struct hdi_broker *broker)
{
    atomic_fetch_add_explicit(&broker->active, 1, memory_order_seq_cst);
}

void hdi_broker_leave(struct hdi_broker *broker, struct hdi_bid *bid)
{
    atomic_fetch_sub_explicit(&broker->active, 1, memory_order_seq_cst);
    if (bid->counted) {
        pthread_mutex_lock(&broker->lock);
        hdi_tenancy_leave(&broker->cache, bid);
        pthread_mutex_unlock(&broker->lock);
    }
    free(bid->boxes);
}

bool hdi_broker_is_asked(const struct hdi_broker *broker)
{
    return atomic_load_explicit(&broker->active, memory_order_relaxed) > 1;
}

// The first that is given of it says what it needs.
static void look_at(struct hdi_broker *b, struct hdi_bid *bid)
{
    if (bid->known)
        return;
    bid->known = true;
    if (bid->bidder->demand)
        bid->bidder->demand(bid, b->cache.size);
    hdi_tenancy_enter(&b->cache, bid);
}

// A newcomer begins with the time of who is served now, or it would have all
// turns until it had caught up with those that are long there. One server is
// called for each box; it calls the next when it begins.
bool hdi_broker_give(struct hdi_broker *broker, struct hdi_bid *bid,
                     const struct hdi_box *box)
{
    pthread_mutex_lock(&broker->lock);
    look_at(broker, bid);
    bool given = add_box(broker, bid, box);
    broker->given += given;
    if (given && !bid->queued) {
        int64_t floor = broker->floor[hdi_bid_level(bid) - 1];
        if (bid->served < floor)
            bid->served = floor;
        offer_bid(broker, bid, hdi_now());
    }
    struct server *server = call_server(broker, local_blocks(broker, bid));
    pthread_mutex_unlock(&broker->lock);
    submit_server(server, HD_PRIORITY_NORMAL);
    return given;
}

uint64_t hdi_broker_given(struct hdi_broker *broker)
{
    pthread_mutex_lock(&broker->lock);
    uint64_t given = broker->given;
    pthread_mutex_unlock(&broker->lock);
    return given;
}

uint64_t hdi_broker_called(struct hdi_broker *broker, uint32_t module)
{
    pthread_mutex_lock(&broker->lock);
    uint64_t called = broker->modules[module].called;
    pthread_mutex_unlock(&broker->lock);
    return called;
}

// Serving ---------------------------------------------------------------------

// The next groups of the bid: alone the largest box, else a small one.
// Halved down to the size of a piece; the other halves go back to the bid, so
// the boxes of a bid stay few and large.
static struct hdi_box take_box(struct hdi_broker *b, struct hdi_bid *bid,
                               bool alone)
{
    struct hdi_box box;

    b->boxes--;
    if (alone) {
        box = bid->boxes[0];
        bid->boxes[0] = bid->boxes[--bid->count];
        return box;
    }
    uint64_t groups = bid->bidder->piece(bid);
    box = bid->boxes[--bid->count];
    while (hdi_box_groups(&box) > groups && make_room(bid)) {
        struct hdi_box half = hdi_box_halve(&box);
        add_box(b, bid, &box);
        box = half;
    }
    return box;
}

static void offer(struct hdi_broker *b, uint32_t module, uint32_t resource,
                  int32_t blocks)
{
    if (blocks != 0)
        hdi_dispatcher_offer(b->dispatcher, module, resource, 0, blocks);
}

// A round for a worker of this module, with so much more of its resources than
// is left; when nothing was sent that is taken away again.
static enum hdi_round ask(struct hdi_broker *b, uint32_t module,
                          const int32_t more[RESOURCES], uint64_t now,
                          struct hdi_decision *decision)
{
    for (uint32_t r = 0; r < RESOURCES; r++)
        offer(b, module, r, more[r]);
    enum hdi_round round = hdi_dispatcher_round(b->dispatcher, now, decision);
    for (uint32_t r = 0; round != HDI_ROUND_SENT && r < RESOURCES; r++)
        offer(b, module, r, -more[r]);
    return round;
}

// With the lock. NULL: nothing, for a worker of this module, which has `extra`
// blocks of memory besides what is left. Where all that waits wants more
// bandwidth or cache than is left it gets it: a worker that does nothing moves
// nothing.
// The dispatcher decides; what was only lent to the round (`more`) is taken
// away again as far as the packet did not need it, and what it did need is kept
// in the grant until finish().
static struct hdi_grant *take(struct hdi_broker *b, uint32_t module,
                              int32_t extra, struct hdi_box *box)
{
    uint64_t now = hdi_now();
    struct hdi_decision decision;
    int32_t more[RESOURCES] = {[SLOTS] = 1, [LOCAL] = extra};

    if (b->boxes == 0)
        return NULL;
    hdi_tenancy_amend(&b->cache, module, now);
    enum hdi_round round = ask(b, module, more, now, &decision);
    if (round == HDI_ROUND_STUCK && b->cache.amended) {
        more[CACHE] = HDI_TENANCY_BLOCKS;
        round = ask(b, module, more, now, &decision);
    }
    if (round == HDI_ROUND_STUCK && b->modules[module].bandwidth.most > 0) {
        more[BANDWIDTH] = BANDWIDTH_BLOCKS;
        round = ask(b, module, more, now, &decision);
    }
    if (round != HDI_ROUND_SENT)
        return NULL;
    struct hdi_bid *bid = (struct hdi_bid *)(uintptr_t)decision.tag;
    struct hdi_grant *grant = &b->grants[decision.lease];
    int64_t *floor = &b->floor[hdi_bid_level(bid) - 1];
    int32_t kept = extra ? local_blocks(b, bid) : 0;
    int32_t wide = more[BANDWIDTH] ? bid->bandwidth : 0;
    // Whose data are in the cache has its blocks, its pieces have none.
    int32_t cache = hdi_tenancy_need(&b->cache, module, bid);
    offer(b, module, LOCAL, kept - extra);
    offer(b, module, BANDWIDTH, wide - more[BANDWIDTH]);
    offer(b, module, CACHE, cache - more[CACHE]);
    hdi_tenancy_settle(&b->cache, module, bid, now);
    *grant = (struct hdi_grant){.bid = bid,
                                .lease = decision.lease,
                                .module = module,
                                .charged = bid->expected,
                                .extra = kept,
                                .wide = wide,
                                .cache = cache,
                                .alone = !hdi_broker_is_asked(b),
                                .parts = 1};
    *box = take_box(b, bid, grant->alone);
    grant->groups = hdi_box_groups(box);
    *floor = bid->served > *floor ? bid->served : *floor;
    bid->served += grant->charged;
    bid->queued = false;
    if (bid->count > 0)
        offer_bid(b, bid, now);
    queue_line(b, now);
    return grant;
}

// With the lock. The bid may be gone afterwards.
// In the reverse order of take(). The time that was expected was charged when
// the piece began, so that two pieces of one launch do not both count as free;
// now the difference is added.
static void finish(struct hdi_broker *b, struct hdi_grant *grant)
{
    struct hdi_bid *bid = grant->bid;
    uint64_t time = atomic_load_explicit(&grant->time, memory_order_relaxed);

    hdi_dispatcher_release(b->dispatcher, grant->lease,
                           grant->alone ? 0 : time);
    hdi_dispatcher_offer(b->dispatcher, grant->module, SLOTS, 0, -1);
    offer(b, grant->module, LOCAL, -grant->extra);
    offer(b, grant->module, BANDWIDTH, -grant->wide);
    offer(b, grant->module, CACHE, -grant->cache);
    if (!grant->alone)
        hdi_demand_learn(&bid->demand, &b->modules[grant->module].bandwidth,
                         grant->groups, time, hdi_now());
    bid->served += (int64_t)time - grant->charged;
    bid->expected = grant->alone ? 0 : (int64_t)time;
    // One word says both, because the bid may be gone when it has changed.
    if (atomic_fetch_sub_explicit(&bid->pending, 1, memory_order_acq_rel) ==
        (ASLEEP | 1))
        hdi_futex_wake(&bid->pending, 1);
}

// Whether it was the last.
// Acquire and release: the last one sees the times of all.
static bool end_part(struct hdi_grant *grant, uint64_t time)
{
    atomic_fetch_add_explicit(&grant->time, time, memory_order_relaxed);
    return atomic_fetch_sub_explicit(&grant->parts, 1, memory_order_acq_rel) ==
           1;
}

// Relaxed: the caller has a part itself, so the count is not 0.
void hdi_broker_lend(struct hdi_grant *grant)
{
    atomic_store_explicit(&grant->lent, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&grant->parts, 1, memory_order_relaxed);
}

void hdi_broker_return(struct hdi_broker *broker, struct hdi_grant *grant,
                       uint64_t time)
{
    if (!end_part(grant, time))
        return;
    pthread_mutex_lock(&broker->lock);
    finish(broker, grant);
    struct server *server = call_server(broker, 0);
    pthread_mutex_unlock(&broker->lock);
    submit_server(server, HD_PRIORITY_NORMAL);
}

// Run what the broker decides until `until` [ns] or until it has nothing more
// for this worker, at least once if it has. With the lock, which is let go
// while something runs: who found nothing is idle, for all to see, before
// anything else ends (tests/models/broker.pml).
static bool run_pieces(struct hdi_broker *b, struct hd_worker *worker,
                       int32_t extra, uint64_t until)
{
    uint32_t module = hd_pool_module(b->pool, hd_worker_index(worker));
    struct hdi_grant *grant;
    struct hdi_box box;
    bool any = false;

    for (uint64_t now = 0;
         !(any && now >= until) && (grant = take(b, module, extra, &box));
         any = true) {
        struct server *server = call_server(b, 0);
        pthread_mutex_unlock(&b->lock);

        submit_server(server, HD_PRIORITY_NORMAL);
        uint64_t begin = hdi_now();
        grant->bid->bidder->run(worker, grant, &box);
        now = hdi_now();

        pthread_mutex_lock(&b->lock);
        // Of what was lent the units' time counts, not this worker's.
        if (end_part(grant, grant->lent ? 0 : now - begin))
            finish(b, grant);
    }
    return any;
}

// When its turn is over and boxes are left, a server goes to the end of the
// pool's low work, so that other work comes between.
static void serve(struct hd_worker *worker, struct hd_work *work,
                  hd_status status)
{
    struct server *server = (struct server *)(void *)work;
    struct hdi_broker *b = server->broker;

    (void)status;
    pthread_mutex_lock(&b->lock);
    bool any = run_pieces(b, worker, 0, hdi_now() + TURN);
    server->next = b->idle;
    b->idle = server;
    // Who found nothing that fits is called again when something has ended.
    struct server *next = any ? call_server(b, 0) : NULL;
    pthread_mutex_unlock(&b->lock);
    submit_server(next, HD_PRIORITY_LOW);
}

static uint32_t pending_of(const struct hdi_bid *bid)
{
    return atomic_load_explicit(&bid->pending, memory_order_acquire) & ~ASLEEP;
}

// ASLEEP and the count are one word: whoever brings the count to 0 sees whether
// somebody sleeps, and the sleeper whether it is 0 already.
static void sleep_outside(struct hdi_bid *bid)
{
    uint32_t word;

    for (unsigned i = 0; i < PAUSES && pending_of(bid) > 0; i++)
        hdi_pause();
    word =
        atomic_fetch_or_explicit(&bid->pending, ASLEEP, memory_order_acquire) |
        ASLEEP;
    while (word != ASLEEP) {
        hdi_futex_wait(&bid->pending, word);
        word = atomic_load_explicit(&bid->pending, memory_order_acquire);
    }
}

// A worker runs pieces of any launch meanwhile, its own among them. At last it
// calls a server: it was one of those who served, and boxes may be left.
void hdi_broker_wait(struct hdi_broker *broker, struct hdi_bid *bid,
                     struct hd_worker *worker)
{
    bool (*collect)(struct hd_worker *, struct hdi_bid *) =
        bid->bidder->collect;
    uint64_t since = hdi_now();
    int32_t extra = 0;
    bool any = false;

    while (pending_of(bid) > 0) {
        if (!worker) {
            sleep_outside(bid);
            continue;
        }
        pthread_mutex_lock(&broker->lock);
        bool ran = run_pieces(broker, worker, extra, 0);
        pthread_mutex_unlock(&broker->lock);
        if (ran || (collect && collect(worker, bid)) || hdi_worker_help(worker))
            since = hdi_now();
        // The piece that has the memory may lie below this wait, or wait for
        // one that does: rather more than fits a cache than nothing ever.
        else if (hdi_now() - since > PATIENCE)
            extra = LOCAL_BLOCKS;
        any |= ran;
    }
    if (!any)
        return;
    pthread_mutex_lock(&broker->lock);
    struct server *server = call_server(broker, 0);
    pthread_mutex_unlock(&broker->lock);
    submit_server(server, HD_PRIORITY_NORMAL);
}
