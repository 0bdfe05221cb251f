// Two workers of a pool of their own: one writes some data and submits a job,
// the other, which waits for work, runs it and reads the data.
//
//     worker 0   write, submit ......... write, submit
//     worker 1         `--> take, read --'    `--> ...
//                  |--- a sample ---|
#include "graph/order/handover.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/pause.h"
#include "steal/worker.h"

// Other programs lengthen samples and shorten none: of the sorted ones the
// first quarter is looked at. LINES: of what a pass reads first, which lies in
// the other worker's cache.
enum {
    USUAL = 4000, // of current machines [ns]
    LEAST = 500,  // what is out of these bounds is not believed [ns]
    MAX = 20000,
    SAMPLES = 64,
    FEWEST = 6,          // samples that tell something
    PATIENCE = 20000000, // for all of them [ns]
    LINES = 16,
    WORDS = 8 // of a line
};

// `work` is first, so its address is this one's. Each side touches the rest
// only when it is its turn: `done` hands it back (release, acquire), submitting
// hands it over.
struct relay {
    struct hd_work work;
    struct hd_pool *pool;
    atomic_bool done;
    uint64_t begin, sum;
    uint64_t words[LINES * WORDS];
    uint64_t took[SAMPLES]; // [ns]
    unsigned count;
};

static void arrive(struct hd_worker *worker, struct hd_work *work,
                   hd_status status)
{
    struct relay *r = (struct relay *)(void *)work;

    (void)worker, (void)status;
    for (unsigned i = 0; i < LINES; i++)
        r->sum += r->words[i * WORDS];
    r->took[r->count++] = hdi_now() - r->begin;
    atomic_store_explicit(&r->done, true, memory_order_release);
}

// This worker does nothing else meanwhile, so the other one takes the job.
static void send(struct hd_worker *worker, void *data)
{
    struct relay *r = data;
    uint64_t end = hdi_now() + PATIENCE;

    (void)worker;
    while (r->count < SAMPLES && hdi_now() < end) {
        for (unsigned i = 0; i < LINES; i++)
            r->words[i * WORDS] = r->sum + i;
        atomic_store_explicit(&r->done, false, memory_order_relaxed);
        r->work =
            (struct hd_work){.job = {.run = hdi_run_nothing}, .done = arrive};
        r->begin = hdi_now();
        hd_submit_work(r->pool, &r->work);
        while (!atomic_load_explicit(&r->done, memory_order_acquire))
            hdi_pause();
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t within_bounds(uint64_t time)
{
    return time < LEAST ? LEAST : time > MAX ? MAX : time;
}

uint64_t hdi_handover_measure(const struct hdi_topology *topology)
{
    const struct hd_pool_params params = {.workers = 2, .unpinned = true};
    struct relay relay = {.count = 0};
    struct hd_error error;

    if (hdi_topology_machine(topology)->cores < 2 ||
        hdi_pool_create(&params, topology, &relay.pool, &error) != HD_OK)
        return 0;
    if (hdi_pool_start(relay.pool, &error) == HD_OK)
        hd_pool_run(relay.pool, send, &relay);
    hd_pool_destroy(relay.pool);
    qsort(relay.took, relay.count, sizeof(*relay.took), compare);
    return relay.count < FEWEST ? 0
                                : within_bounds(relay.took[relay.count / 4]);
}

struct hdi_feedback_key hdi_handover_key(const struct hd_graph *graph)
{
    static const char name[] = "handover";
    const char *device = graph->context.launcher->device->can.description;
    struct hdi_feedback_key key = hdi_feedback_key(device ? device : "");

    hdi_feedback_mix(&key, name, sizeof(name));
    return key;
}

// Two threads that come at the same time measure both; later ones find the
// mean. What could not be measured, as too much else runs, is tried again for
// the next graph.
uint64_t hdi_handover(const struct hd_graph *graph)
{
    const struct hdi_launcher *launcher = graph->context.launcher;
    struct hdi_feedback *feedback = graph->context.feedback;
    const struct hdi_feedback_key key = hdi_handover_key(graph);
    struct hdi_experience e;

    if (!feedback)
        return USUAL;
    if (hdi_feedback_find(feedback, &key, &e))
        return within_bounds((uint64_t)(e.time + 0.5));
    uint64_t time = hdi_handover_measure(hdi_pool_topology(launcher->pool));
    if (time == 0)
        return USUAL;
    hdi_feedback_add(feedback, &key, &(struct hdi_measure){.time = time});
    return time;
}
