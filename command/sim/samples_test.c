// A sampled search tests the lengths that are needed, and few others.
#include "sim/samples.h"

#include "dispatch/maps/runs.h"
#include "tests/check.h"

static void samples_keep_what_is_needed(void)
{
    uint16_t shifts[128];
    unsigned count = sim_samples_choose(128, NULL, 0, shifts);

    CHECK(count < 64 && shifts[0] == 0);
    uint64_t needed[129] = {0};
    needed[4] = 50, needed[8] = 30, needed[12] = 10, needed[64] = 9;
    needed[7] = 1; // rare: left out
    count = sim_samples_choose(128, needed, 0.05, shifts);
    unsigned kept = 0, step = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned length = shifts[i] + 1u;
        kept += length == 4 || length == 8 || length == 12 || length == 64;
        CHECK(length != 7);
        if (i > 0) {
            unsigned now = shifts[i] - shifts[i - 1];
            CHECK(now >= step && (now & (now - 1)) == 0);
            step = now;
        }
    }
    CHECK(kept == 4);
    CHECK(hdi_run_sampled(70, shifts, count) >= 64);
    CHECK(hdi_run_sampled(3, shifts, count) == 0);
}

int main(void)
{
    samples_keep_what_is_needed();
    return 0;
}
