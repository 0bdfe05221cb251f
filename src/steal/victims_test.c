// Victims are tried near first, each exactly once.
#include "steal/victims.h"

#include "tests/check.h"

static void near_first_on(const char *machine, unsigned workers)
{
    struct hd_error error;
    struct hdi_topology *t;

    CHECK_OK(hdi_topology_create(machine, &t, &error), error);
    unsigned cores = hdi_topology_machine(t)->cores;
    for (unsigned self = 0; self < workers; self++) {
        struct hdi_victims v;
        unsigned char seen[1024] = {0};
        unsigned last = 0;

        CHECK(hdi_victims_init(&v, t, workers, self));
        CHECK(v.end[HDI_VICTIM_LEVELS - 1] == workers - 1);
        for (unsigned i = 0; i < workers - 1; i++) {
            unsigned far =
                hdi_topology_distance(t, self % cores, v.order[i] % cores);
            CHECK(v.order[i] != self && v.order[i] < workers);
            CHECK(!seen[v.order[i]]);
            CHECK(far >= last);
            CHECK(i < v.end[far] && (far == 0 || i >= v.end[far - 1]));
            seen[v.order[i]] = 1;
            last = far;
        }
        hdi_victims_destroy(&v);
    }
    hdi_topology_destroy(t);
}

int main(void)
{
    near_first_on("pack:8 l3:2 core:8 pu:1", 128);
    near_first_on("pack:2 l3:2 l2:2 core:2 pu:2", 16);
    near_first_on("pack:1 core:2 pu:1", 7); // more workers than cores
    near_first_on(NULL, 1);
    return 0;
}
