// Weights of nodes, by what their tasks took.
#include "field/forall/run.h"

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

int main(void)
{
    weights_say_who_is_fast();
    return 0;
}
