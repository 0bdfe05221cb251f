// Weights of nodes, by what their tasks took.
#include <time.h>

#include "field/forall/run.h"
#include "field/forall/runner.h"
#include "heddle/task.h"

#include "tests/check.h"

static struct hd_error error;

// As if tasks had taken so long.
static void weights_say_who_is_fast(void)
{
    struct hd_cluster_params params = {.nodes = 4};
    struct hd_cluster *c;
    uint32_t weights[4] = {0};

    CHECK_OK(hd_cluster_join(&params, &c, &error), error);
    CHECK_OK(hd_cluster_weights(c, weights, &error), error);
    for (unsigned n = 0; n < 4; n++)
        CHECK(weights[n] == 100); // nobody knows better
    static const uint64_t mean[] = {1000, 2000, 0, 1000000};
    for (uint32_t n = 0; n < 4; n++) {
        atomic_store(&hdi_lane_slot(&c->lanes[0], n)->mean, mean[n]);
        atomic_store(&hdi_lane_slot(&c->lanes[0], n)->width, 1);
    }
    CHECK_OK(hd_cluster_weights(c, weights, &error), error);
    CHECK(weights[0] == 100 && weights[1] == 50);
    CHECK(weights[2] == 100 && weights[3] == 1);
    atomic_store(&hdi_lane_slot(&c->lanes[0], 1)->width,
                 4); // four tasks at a time
    CHECK_OK(hd_cluster_weights(c, weights, &error), error);
    CHECK(weights[0] == 50 && weights[1] == 100);
    hd_cluster_leave(c);
}

// As if each had been done by one node in half the time of the other.
static hd_status compute(void *data, struct hdi_lane *lane, hd_status before,
                         struct hd_error *why)
{
    const uint32_t *fast = data;

    (void)before;
    (void)why;
    for (uint32_t n = 0; n < 2; n++) {
        atomic_store(&hdi_lane_slot(lane, n)->mean, n == *fast ? 1000 : 2000);
        atomic_store(&hdi_lane_slot(lane, n)->width, 1);
    }
    return HD_OK;
}

static hd_status nothing(struct hd_task *task, const struct hd_tile *output,
                         const struct hd_tile *inputs, void *data,
                         struct hd_error *why)
{
    struct timespec nap = {.tv_nsec = hd_task_owner(task) ? 1000000 : 50000000};

    (void)output;
    (void)inputs;
    (void)data;
    (void)why;
    nanosleep(&nap, NULL);
    return HD_OK;
}

static void the_last_one_counts_that_was_started(void)
{
    const struct hd_pool_params workers = {.workers = 1};
    struct hd_cluster_params params = {.nodes = 2};
    struct hd_cluster *c;
    struct hd_pool *pool;
    struct hd_map *map;
    uint32_t weights[2];

    CHECK_OK(hd_pool_create(&workers, &pool, &error), error);
    CHECK_OK(hd_cluster_join(&params, &c, &error), error);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t fast = i % 2;
        hd_event event;

        const struct hdi_forall_job job = {
            .call = "a test", .function = compute, .data = &fast};

        CHECK_OK(hdi_forall_start(c, pool, NULL, &job, HD_OK, &event, &error),
                 error);
        CHECK_OK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), error);
        CHECK_OK(hd_cluster_weights(c, weights, &error), error);
        CHECK(weights[fast] == 100 && weights[1 - fast] == 50);
    }

    struct hd_forall forall = {.function = nothing, .stay = true};
    CHECK_OK(hd_map_parse("2 nodes 2", &map, &error), error);
    CHECK_OK(hd_field_create(c, 1, map, &forall.output, &error), error);
    // With load beside, the short one may last as long as the other.
    for (int tries = 0; tries == 0 || (tries < 100 && weights[0] >= 50);
         tries++) {
        CHECK_OK(hd_forall(&forall, &error), error);
        CHECK_OK(hd_cluster_weights(c, weights, &error), error);
    }
    CHECK(weights[0] < 50 && weights[1] == 100);
    hd_field_destroy(forall.output);
    hd_map_destroy(map);
    hd_cluster_leave(c);
    hd_pool_destroy(pool);
}

// Tags of answers, by node, end before those of what is started.
static void nodes_of_a_process_have_tags(void)
{
    struct hd_cluster_params params = {.nodes = HDI_MAX_HERE + 1};
    struct hd_cluster *c;
    struct hdi_lane lane = {.cluster =
                                &(struct hd_cluster){.here = HDI_MAX_HERE}};

    CHECK_FAILS(hd_cluster_join(&params, &c, &error), HD_ELIMIT, error,
                "a process has at most");
    CHECK(hdi_lane_tag(&lane, HDI_TAG_REPLY + 2 * HDI_MAX_HERE) <
          HDI_TAG_STARTED);
}

int main(void)
{
    weights_say_who_is_fast();
    the_last_one_counts_that_was_started();
    nodes_of_a_process_have_tags();
    return 0;
}
