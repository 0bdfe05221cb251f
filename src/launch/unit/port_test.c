// How long leaves took that a unit has finished, on a unit that is none.
#include "launch/unit/port.h"

#include "tests/check.h"

struct fake {
    struct hdi_unit unit; // first
    uint64_t done;
};

static bool submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    (void)unit, (void)chunk;
    return true;
}

static uint64_t done(struct hdi_unit *unit)
{
    return ((struct fake *)(void *)unit)->done;
}

static hd_status status(const struct hdi_unit *unit, uint64_t chunk)
{
    (void)unit, (void)chunk;
    return HD_OK;
}

static const struct hdi_backend backend = {
    .submit = submit, .done = done, .status = status};

// Those found finished together share the time as they were expected to take
// it, one after the other.
static void leaves_found_together_share_the_time(void)
{
    static const uint64_t expected[] = {4000, 1000, 0, 5000};
    static const uint64_t parts[] = {4000, 1000, 1, 5000}; // 0: not known
    struct hdi_device device = {.backend = &backend, .can = {.in_flight = 8}};
    struct fake fake = {.done = 0};
    struct hdi_port port = {.unit = &fake.unit, .open = true};
    const struct hdi_chunk chunk = {.entry = NULL};
    struct hdi_finished f;
    uint64_t begin = 1000, last = begin, all = 0;

    for (int i = 0; i < 4; i++) {
        struct hdi_leaf leaf = {.begin = begin, .expected = expected[i]};
        CHECK(hdi_port_submit(&port, &device, &chunk, &leaf));
    }
    CHECK(!hdi_port_take(&port, &device, &f));
    fake.done = 3;
    uint64_t times[4];
    for (int i = 0; i < 4; i++) {
        CHECK(hdi_port_take(&port, &device, &f));
        CHECK(f.leaf.expected == expected[i] && f.begin == last);
        times[i] = f.end - f.begin;
        last = f.end;
        all += i < 3 ? times[i] : 0;
        fake.done += i == 2;
    }
    // The clock goes on while they are taken, but has come from far.
    for (int i = 0; i < 3; i++) {
        double share = (double)times[i] / (double)all * 5001;
        CHECK(share > 0.999 * (double)parts[i] - 0.01);
        CHECK(share < 1.001 * (double)parts[i] + 0.01);
    }
    CHECK(!hdi_port_take(&port, &device, &f));
}

int main(void)
{
    leaves_found_together_share_the_time();
    return 0;
}
