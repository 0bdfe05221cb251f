// Every event ends once, after all it comes after, with the right error: random
// graphs of events started by several threads and by the calls themselves,
// ended by others, cancelled, waited for, and their handles looked at late.
//
//     event_stress [EVENTS [SEED]]     at least so many events; 150,000
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "heddle/event.h"
#include "heddle/task.h"
#include "tests/check.h"

enum {
    NODES = 600, // of a batch
    MAX_INPUTS = 12,
    THREADS = 3
};

enum kind {
    CALL,
    MARKER,
    USERS,
    STARTER, // a call that starts one more, and waits for it now and then
    KINDS
};

struct node {
    struct batch *batch;
    enum kind kind;
    bool fails, anyway, waits;
    unsigned input_count, inputs[MAX_INPUTS];
    hd_event event, inner;
    atomic_uint ran, told;
};

struct batch {
    struct hd_pool *pool;
    uint64_t seed;
    bool cancels, keeps;
    struct hd_group group;
    atomic_uint started; // so many nodes have events
    atomic_uint extra;   // calls started by calls that have run
    struct node nodes[NODES];
};

static uint64_t mix(uint64_t x) // splitmix64
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = mix(*state);
    return (unsigned)((*state >> 16) % below);
}

// What it comes after has run, or will not.
static void check_inputs(const struct node *node)
{
    const struct batch *b = node->batch;

    for (unsigned i = 0; i < node->input_count; i++) {
        const struct node *input = &b->nodes[node->inputs[i]];
        CHECK(hd_event_state(b->pool, input->event) == HD_EVENT_ENDED);
    }
}

static hd_status run_extra(struct hd_worker *worker, void *data,
                           struct hd_error *error)
{
    struct node *node = data;

    (void)worker, (void)error;
    CHECK(atomic_load(&node->ran) == 1);
    atomic_fetch_add(&node->batch->extra, 1);
    return HD_OK;
}

static hd_status run_node(struct hd_worker *worker, void *data,
                          struct hd_error *error)
{
    struct node *node = data;
    struct batch *b = node->batch;

    (void)worker;
    check_inputs(node);
    CHECK(atomic_fetch_add(&node->ran, 1) == 0);
    if (node->kind == STARTER) {
        struct hd_start start = {.group = &b->group};
        struct hd_call call = {.function = run_extra, .data = node};
        CHECK_OK(hd_call_start(b->pool, &start, &call, &node->inner, error),
                 *error);
        if (node->waits)
            hd_event_wait(b->pool, &node->inner, 1, HD_FOREVER, error);
        hd_event_release(b->pool, node->inner);
        error->status = HD_OK;
    }
    if (!node->fails)
        return HD_OK;
    snprintf(error->text, sizeof(error->text), "node %td", node - b->nodes);
    return HD_EIO;
}

static void tell(struct hd_worker *worker, hd_status status, void *data)
{
    (void)worker, (void)status;
    CHECK(atomic_fetch_add(&((struct node *)data)->told, 1) == 0);
}

static void start_node(struct batch *b, unsigned number, uint64_t *seed)
{
    struct node *node = &b->nodes[number];
    hd_event after[MAX_INPUTS];
    struct hd_error error;

    node->batch = b;
    node->kind = (enum kind)draw(seed, KINDS);
    node->fails = draw(seed, 40) == 0;
    node->anyway = draw(seed, 3) == 0;
    node->waits = draw(seed, 8) == 0;
    node->input_count =
        number > 0 && node->kind != USERS ? draw(seed, MAX_INPUTS + 1) : 0;
    for (unsigned i = 0; i < node->input_count; i++) {
        unsigned back = 1 + draw(seed, draw(seed, 4) ? 8 : 300);
        node->inputs[i] = number > back ? number - back : draw(seed, number);
        after[i] = b->nodes[node->inputs[i]].event;
    }
    struct hd_start start = {.after = after,
                             .after_count = node->input_count,
                             .anyway = node->anyway,
                             .priority = (enum hd_priority)draw(seed, 3),
                             .group = &b->group};
    struct hd_call call = {.function = run_node, .data = node};
    if (node->kind == USERS)
        CHECK_OK(hd_event_create(b->pool, &node->event, &error), error);
    else if (node->kind == MARKER)
        CHECK_OK(hd_marker_start(b->pool, &start, &node->event, &error), error);
    else
        CHECK_OK(hd_call_start(b->pool, &start, &call, &node->event, &error),
                 error);
    if (draw(seed, 4) == 0)
        CHECK_OK(hd_event_on_end(b->pool, node->event, tell, node, &error),
                 error);
    else
        atomic_store(&node->told, 1);
    atomic_store_explicit(&b->started, number + 1, memory_order_release);
}

// Ends the users' events behind the one that starts, and looks around.
static void *end_some(void *data)
{
    struct batch *b = data;
    uint64_t seed = b->seed ^ 0x55;
    struct hd_error error;

    for (unsigned at = 0; at < NODES;) {
        unsigned started =
            atomic_load_explicit(&b->started, memory_order_acquire);
        if (at == started) {
            sched_yield();
            continue;
        }
        struct node *node = &b->nodes[at++];
        unsigned other = draw(&seed, started);
        struct hd_event_info info;
        if (b->keeps)
            hd_event_info(b->pool, b->nodes[other].event, &info);
        hd_event_state(b->pool, b->nodes[other].event);
        if (b->cancels && draw(&seed, 30) == 0)
            hd_event_cancel(b->pool, b->nodes[other].event);
        if (node->kind != USERS)
            continue;
        hd_status status = hd_event_end(
            b->pool, node->event, node->fails ? HD_EIO : HD_OK, NULL, &error);
        CHECK(status == HD_OK || b->cancels);
    }
    return NULL;
}

static hd_status expected(const hd_status *ends, const struct node *node)
{
    bool before = false;

    for (unsigned i = 0; i < node->input_count; i++)
        before |= ends[node->inputs[i]] != HD_OK;
    if (before && !node->anyway)
        return HD_EIO;
    return node->fails && node->kind != MARKER ? HD_EIO : HD_OK;
}

static void check_batch(struct batch *b)
{
    static _Thread_local hd_status ends[NODES];
    struct hd_error error;

    for (unsigned i = 0; i < NODES; i++) {
        struct node *node = &b->nodes[i];
        CHECK(hd_event_state(b->pool, node->event) == HD_EVENT_ENDED);
        if (b->cancels)
            continue;
        ends[i] = expected(ends, node);
        bool runs = node->kind == CALL || node->kind == STARTER;
        bool before = false;
        for (unsigned k = 0; k < node->input_count; k++)
            before |= ends[node->inputs[k]] != HD_OK;
        CHECK(hd_event_status(b->pool, node->event, &error) == ends[i]);
        CHECK(atomic_load(&node->ran) == (runs && (!before || node->anyway)));
    }
}

static void *run_batches(void *data)
{
    struct batch *b = data;
    struct hd_error error;
    uint64_t seed = b->seed;
    pthread_t ender;
    hd_event all[NODES];

    CHECK(pthread_create(&ender, NULL, end_some, b) == 0);
    for (unsigned i = 0; i < NODES; i++)
        start_node(b, i, &seed);
    for (unsigned i = 0; i < NODES; i++)
        all[i] = b->nodes[i].event;
    while (hd_event_wait(b->pool, all, NODES,
                         draw(&seed, 2) ? 100000 : HD_FOREVER,
                         &error) == HD_ETIMEOUT)
        ;
    CHECK(pthread_join(ender, NULL) == 0);
    hd_group_wait(b->pool, &b->group);
    check_batch(b);
    for (unsigned i = 0; i < NODES; i++) {
        hd_event_release(b->pool, all[i]);
        hd_event_state(b->pool, all[i]);
        while (atomic_load(&b->nodes[i].told) ==
               0) // its callback is on its way
            sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 0) : 150000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    static struct batch batches[THREADS];

    for (unsigned long done = 0; done < wanted;) {
        struct hd_pool_params params = {.workers = 1 + draw(&seed, 4),
                                        .events = draw(&seed, 2) ? 512 : 0};
        struct hd_error error;
        struct hd_pool *pool;
        CHECK_OK(hd_pool_create(&params, &pool, &error), error);
        for (int round = 0; round < 4; round++) {
            pthread_t threads[THREADS];
            for (int i = 0; i < THREADS; i++) {
                memset(&batches[i], 0, sizeof(batches[i]));
                batches[i].pool = pool;
                batches[i].seed = mix(seed++);
                batches[i].cancels = draw(&seed, 3) == 0;
                batches[i].keeps = draw(&seed, 2);
                hd_group_init(&batches[i].group);
                CHECK(pthread_create(&threads[i], NULL, run_batches,
                                     &batches[i]) == 0);
            }
            for (int i = 0; i < THREADS; i++)
                CHECK(pthread_join(threads[i], NULL) == 0);
            done += THREADS * NODES;
        }
        hd_pool_destroy(pool);
    }
    return 0;
}
