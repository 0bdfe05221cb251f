// What is written on one device is read on all, whoever asks, and the memory of
// all goes with the buffer.
#include "launch/memory/spread.h"

#include "backend/backend.h"
#include "tests/launch/rig.h"

enum {
    SIZE = 5000,
    DEVICES = 3
};

static unsigned seed = 1;

static unsigned draw(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

struct many {
    struct rig rig;
    struct hdi_device *devices[DEVICES];
    struct hdi_launcher *launchers[DEVICES];
};

// The CPU, and devices that run nothing but have memory.
static struct many open_all(void)
{
    struct many m = {.rig = rig_set_up((struct hd_pool_params){.workers = 1},
                                       (struct hdi_device_params){0}, NULL)};

    m.devices[0] = m.rig.device;
    m.launchers[0] = m.rig.launcher;
    for (unsigned i = 1; i < DEVICES; i++) {
        CHECK_OK(hdi_backend_find("null")->open(m.rig.topology, 0, NULL,
                                                &m.devices[i], &error),
                 error);
        CHECK_OK(hdi_launcher_create(m.rig.pool, m.devices[i], NULL,
                                     &m.launchers[i], &error),
                 error);
        m.launchers[i]->number = i;
    }
    for (unsigned i = 0; i < DEVICES; i++)
        m.launchers[i]->peers = DEVICES;
    return m;
}

static void close_all(struct many *m)
{
    for (unsigned i = 1; i < DEVICES; i++) {
        CHECK(atomic_load(&m->launchers[i]->memory) == 0);
    }
    struct hdi_launcher *launchers[DEVICES];
    struct hdi_device *devices[DEVICES];
    memcpy(launchers, m->launchers, sizeof(launchers));
    memcpy(devices, m->devices, sizeof(devices));
    rig_tear_down(&m->rig);
    for (unsigned i = 1; i < DEVICES; i++) {
        hdi_launcher_destroy(launchers[i]);
        devices[i]->backend->close(devices[i]);
    }
}

static void bytes_are_found_wherever_they_were_written(void)
{
    struct many m = open_all();
    static unsigned char expected[SIZE], bytes[SIZE];
    struct hd_buffer *b, *part;

    CHECK_OK(hdi_buffer_create(m.rig.launcher, SIZE, &b, &error), error);
    CHECK_OK(hd_buffer_sub(b, 1000, 2000, &part, &error), error);
    for (int round = 0; round < 5000; round++) {
        uint64_t x = draw(SIZE + 1), y = draw(SIZE + 1);
        uint64_t begin = x < y ? x : y, end = x < y ? y : x;
        struct hdi_launcher *at = m.launchers[draw(DEVICES)];
        unsigned char value = (unsigned char)draw(256);
        char *address;
        switch (draw(5)) {
        case 0:   // all of it
        case 1: { // some of it
            bool all = draw(2);
            CHECK_OK(hdi_spread_use(b, at, begin, end,
                                    all ? HDI_USE_OVERWRITE : HDI_USE_WRITE,
                                    &address, &error),
                     error);
            for (uint64_t i = begin; i < end; i++)
                if (all || draw(2))
                    address[i] = (char)(expected[i] = value);
            break;
        }
        case 2:
            CHECK_OK(hdi_spread_use(b, at, begin, end, HDI_USE_READ, &address,
                                    &error),
                     error);
            CHECK(memcmp(address + begin, expected + begin, end - begin) == 0);
            break;
        case 3:
            CHECK_OK(hd_buffer_read(b, begin, bytes, end - begin, &error),
                     error);
            CHECK(memcmp(bytes, expected + begin, end - begin) == 0);
            CHECK_OK(hd_buffer_read(part, 500, bytes, 1000, &error), error);
            CHECK(memcmp(bytes, expected + 1500, 1000) == 0);
            break;
        default:
            memset(bytes, value, SIZE);
            memset(expected + 1010, value, 990);
            CHECK_OK(hd_buffer_write(part, 10, bytes, 990, &error), error);
            break;
        }
    }
    CHECK(memcmp(hd_buffer_host(b), expected, SIZE) == 0);
    CHECK(atomic_load(&m.launchers[1]->memory) == SIZE);
    hd_buffer_destroy(b);
    CHECK(atomic_load(&m.launchers[1]->memory) == SIZE);
    hd_buffer_destroy(part);
    close_all(&m);
}

int main(void)
{
    bytes_are_found_wherever_they_were_written();
    return 0;
}
