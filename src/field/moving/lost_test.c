// What is left of calls whose other process does not answer: nothing that a
// message might be written to, and events that end. The network is one between
// two processes, the other of which says what this one says, or nothing.
#include <pthread.h>
#include <sched.h>

#include "field/cluster/cluster.h"
#include "heddle/task.h"
#include "tests/check.h"

enum {
    ROOM = 4096 // transfers
};

struct hdi_transfer {
    bool receives, over;
    bool stays; // it was given up without its memory, which must stay
    uint32_t tag;
    void *data;
    uint64_t size;
};

static struct {
    pthread_mutex_t lock;
    struct hdi_transfer made[ROOM];
    unsigned count;
    uint32_t silent;      // nothing comes with this tag
    char said[HDI_SMALL]; // by this process, last
} network = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct hd_error error;
static struct hd_cluster *cluster;
static struct hd_pool *pool;

static hd_status begin(struct hdi_transfer what, struct hdi_transfer **transfer)
{
    pthread_mutex_lock(&network.lock);
    CHECK(network.count < ROOM);
    *transfer = &network.made[network.count++];
    **transfer = what;
    if (!what.receives && what.size <= HDI_SMALL && what.size > 0)
        memcpy(network.said, what.data, what.size);
    pthread_mutex_unlock(&network.lock);
    return HD_OK;
}

static hd_status send(struct hdi_net *net, uint32_t node, uint32_t tag,
                      const void *data, uint64_t size,
                      struct hdi_transfer **transfer)
{
    (void)net;
    CHECK(node == 1);
    return begin((struct hdi_transfer){.tag = tag,
                                       .data = (void *)(uintptr_t)data,
                                       .size = size},
                 transfer);
}

static hd_status receive(struct hdi_net *net, uint32_t node, uint32_t tag,
                         void *data, uint64_t capacity,
                         struct hdi_transfer **transfer)
{
    (void)net;
    CHECK(node == 1);
    return begin(
        (struct hdi_transfer){
            .receives = true, .tag = tag, .data = data, .size = capacity},
        transfer);
}

static bool test(struct hdi_net *net, struct hdi_transfer *transfer,
                 hd_status *status, struct hdi_message *message)
{
    (void)net;
    pthread_mutex_lock(&network.lock);
    bool over = !transfer->receives || transfer->tag != network.silent;
    if (over && transfer->receives)
        memcpy(transfer->data, network.said,
               transfer->size < HDI_SMALL ? transfer->size : HDI_SMALL);
    transfer->over = over;
    pthread_mutex_unlock(&network.lock);
    *status = HD_OK;
    if (message)
        *message = (struct hdi_message){1, transfer->size};
    return over;
}

static void abandon(struct hdi_net *net, struct hdi_transfer *transfer,
                    void *memory)
{
    (void)net;
    pthread_mutex_lock(&network.lock);
    CHECK(!transfer->over);
    CHECK(!memory || memory == transfer->data);
    transfer->stays = !memory && transfer->size > HDI_SMALL;
    transfer->over = true;
    pthread_mutex_unlock(&network.lock);
    free(memory);
}

// What the other process says now is written to where it is waited for: that
// must be nowhere.
static void nothing_is_waited_for(void)
{
    unsigned waiting = 0;

    pthread_mutex_lock(&network.lock);
    for (unsigned i = 0; i < network.count; i++) {
        struct hdi_transfer *t = &network.made[i];

        if (t->receives && (t->stays || !t->over))
            memset(t->data, 0xff, t->size);
        waiting += !t->over;
    }
    CHECK(waiting == 0);
    network.count = 0;
    pthread_mutex_unlock(&network.lock);
}

static void fails(hd_status status)
{
    CHECK(status == HD_EPEER);
    CHECK(strstr(error.text, "process 1 has not answered"));
    nothing_is_waited_for();
}

static void fall_silent(uint32_t tag)
{
    pthread_mutex_lock(&network.lock);
    network.silent = tag;
    pthread_mutex_unlock(&network.lock);
}

static void calls_that_block(struct hd_field *to, const struct hd_view *view)
{
    fall_silent(hdi_call_tag(cluster->calls));
    fails(hd_cluster_meet(cluster, &error));
    fall_silent(hdi_call_tag(cluster->calls));
    fails(hd_field_assign(to, view, &error));
    fall_silent(HDI_TAG_MOVE);
    fails(hd_field_assign(to, view, &error));
    fall_silent(0);
    CHECK_OK(hd_field_assign(to, view, &error), error);
    CHECK(cluster->scratch == 0);
}

// Until what was begun is over.
static void wait_for_nothing(void)
{
    for (bool waiting = true; waiting; sched_yield()) {
        pthread_mutex_lock(&network.lock);
        waiting = network.count == 0;
        for (unsigned i = 0; i < network.count; i++)
            waiting = waiting || !network.made[i].over;
        pthread_mutex_unlock(&network.lock);
    }
}

// Start one that comes after a gate, which opens at once, or when the other
// process counts as lost.
static void start(struct hd_field *to, const struct hd_view *view, bool open)
{
    hd_event gate, event;

    CHECK_OK(hd_event_create(pool, &gate, &error), error);
    struct hd_start after = {.after = &gate, .after_count = 1};
    CHECK_OK(hd_field_assign_start(pool, &after, to, view, &event, &error),
             error);
    if (!open) {
        wait_for_nothing();
        CHECK(hd_event_state(pool, event) == HD_EVENT_WAITS);
    }
    CHECK_OK(hd_event_end(pool, gate, HD_OK, NULL, &error), error);
    fails(hd_event_wait(pool, &event, 1, HD_FOREVER, &error));
    hd_event_release(pool, gate);
    hd_event_release(pool, event);
}

static void calls_that_are_started(struct hd_field *to,
                                   const struct hd_view *view)
{
    struct hd_start bad = {.after_count = 1};
    hd_event event;

    for (unsigned open = 0; open < 2; open++) {
        fall_silent(hdi_call_tag(cluster->calls));
        start(to, view, open);
    }
    fall_silent(HDI_TAG_STARTED + 2 * (uint32_t)cluster->calls + 1); // elements
    start(to, view, true);
    fall_silent(hdi_call_tag(cluster->calls));
    fails(hd_field_assign_start(pool, &bad, to, view, &event, &error));
    fall_silent(0);
    CHECK(cluster->scratch == 0);
}

static void take_first(void *value, const void *element, void *data)
{
    (void)data;
    memcpy(value, element, 1);
}

// What is too large to be copied keeps its memory, whether the other process
// counts as lost or does something else.
static void large_values_stay(const struct hd_map *map)
{
    static char neutral[2 * HDI_SMALL], result[2 * HDI_SMALL];
    const struct hd_error why = {HD_EINVAL, "process 1 calls something else"};
    struct hd_field *field;

    CHECK_OK(hd_field_create(cluster, sizeof(neutral), map, &field, &error),
             error);
    fall_silent(HDI_TAG_AGREE);
    fails(hd_field_reduce(field, take_first, NULL, neutral, result, &error));
    hdi_cluster_part(cluster, &why);
    CHECK_FAILS(
        hd_field_reduce(field, take_first, NULL, neutral, result, &error),
        HD_EPEER, error, why.text);
    nothing_is_waited_for();
    fall_silent(0);
    hd_field_destroy(field);
}

int main(void)
{
    struct hd_pool_params workers = {.workers = 2};
    struct hd_cluster_params params = {.transport = "self", .timeout = 5000000};
    struct hdi_net two = {.count = 2}, *one;
    struct hd_map *rows, *columns;
    struct hd_field *from, *to;

    CHECK_OK(hd_pool_create(&workers, &pool, &error), error);
    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    struct hdi_transport late = *cluster->transport;
    late.send = send;
    late.receive = receive;
    late.test = test;
    late.abandon = abandon;
    one = cluster->net;
    cluster->net = &two;
    cluster->transport = &late;
    cluster->nodes = 2;
    CHECK_OK(hd_map_parse("64x64 rows block nodes 2", &rows, &error), error);
    CHECK_OK(hd_map_parse("64x64 columns block nodes 2", &columns, &error),
             error);
    CHECK_OK(hd_field_create(cluster, 8, rows, &from, &error), error);
    CHECK_OK(hd_field_create(cluster, 8, columns, &to, &error), error);
    struct hd_view view = hd_view_field(from);
    calls_that_block(to, &view);
    calls_that_are_started(to, &view);
    large_values_stay(rows);
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(rows);
    hd_map_destroy(columns);
    cluster->net = one;
    hd_cluster_leave(cluster);
    hd_pool_destroy(pool);
    return 0;
}
