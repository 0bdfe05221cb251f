// Which module leaves go to by what they need, and who waits for what.
#include "launch/unit/modules.h"

#include <stdlib.h>

#include "tests/check.h"

enum {
    UNITS = 6, // 0 to 3 in module 0, 4 and 5 in module 1 and of class 1
    KIB = 1024,
    MODULE = 64 * KIB,
    BOTH = 3
};

static const uint32_t module_of[UNITS] = {0, 0, 0, 0, 1, 1},
                      class_of[UNITS] = {0, 0, 0, 0, 1, 1};

struct rig {
    struct hdi_port *ports;
    struct hdi_modules *modules;
};

static struct rig set_up(void)
{
    const struct hdi_capabilities can = {.units = UNITS,
                                         .in_flight = 4,
                                         .modules = module_of,
                                         .classes = class_of,
                                         .module_bytes = MODULE};
    struct hd_error error;
    struct rig r = {.ports = aligned_alloc(128, UNITS * sizeof(*r.ports))};

    memset(r.ports, 0, UNITS * sizeof(*r.ports));
    CHECK_OK(hdi_modules_create(&can, r.ports, &r.modules, &error), error);
    return r;
}

static void tear_down(struct rig *r)
{
    hdi_modules_destroy(r->modules);
    free(r->ports);
}

static bool anywhere(const void *data, unsigned unit)
{
    (void)data, (void)unit;
    return true;
}

static bool nowhere(const void *data, unsigned unit)
{
    (void)data, (void)unit;
    return false;
}

// A leaf, on its unit from when it is taken.
struct leaf {
    struct hdi_hold hold;
    unsigned unit;
};

static enum hdi_placing take(struct rig *r, const void *who, uint64_t bytes,
                             uint32_t classes, struct leaf *leaf)
{
    const struct hdi_wish wish = {
        .who = who, .bytes = bytes, .classes = classes, .may = anywhere};

    *leaf = (struct leaf){.unit = UNITS};
    enum hdi_placing placing =
        hdi_modules_take(r->modules, &wish, &leaf->unit, &leaf->hold);
    if (placing == HDI_PLACED)
        atomic_fetch_add(&r->ports[leaf->unit].held, 1);
    return placing;
}

static void end(struct rig *r, struct leaf *leaf)
{
    atomic_fetch_sub(&r->ports[leaf->unit].held, 1);
    hdi_modules_give(r->modules, &leaf->hold);
}

// Without memory, units are filled one after the other, two leaves each.
static void room_decides(void)
{
    struct rig r = set_up();
    struct leaf leaves[2 * UNITS], more;

    for (unsigned i = 0; i < 2 * UNITS; i++)
        CHECK(take(&r, &r, 0, BOTH, &leaves[i]) == HDI_PLACED);
    for (unsigned i = 0; i < UNITS; i++)
        CHECK(r.ports[i].held == 2);
    CHECK(take(&r, &r, 0, BOTH, &more) == HDI_PLACE_LATER);
    end(&r, &leaves[7]);
    CHECK(take(&r, &r, 0, BOTH, &more) == HDI_PLACED);
    CHECK(more.unit == leaves[7].unit);
    CHECK(take(&r, &r, 0, 0, &more) == HDI_PLACE_NOWHERE);
    const struct hdi_wish wish = {.classes = BOTH, .may = nowhere};
    CHECK(hdi_modules_take(r.modules, &wish, &more.unit, &more.hold) ==
          HDI_PLACE_NOWHERE);
    tear_down(&r);
}

// What does not fit beside another leaf goes to another module, or waits.
static void memory_decides(void)
{
    struct rig r = set_up();
    struct leaf large, other, third, small;

    CHECK(take(&r, &large, 48 * KIB, BOTH, &large) == HDI_PLACED);
    CHECK(take(&r, &other, 48 * KIB, BOTH, &other) == HDI_PLACED);
    CHECK(module_of[large.unit] != module_of[other.unit]);
    CHECK(take(&r, &third, 48 * KIB, BOTH, &third) == HDI_PLACE_LATER);
    hdi_modules_forget(r.modules, &third);
    // Beside the first there is room for a small one, behind its memory.
    CHECK(take(&r, &small, 16 * KIB, 1, &small) == HDI_PLACED);
    struct leaf *beside = module_of[large.unit] == 0 ? &large : &other;
    CHECK(module_of[small.unit] == 0);
    CHECK(small.hold.region >= beside->hold.region + 48 * KIB ||
          small.hold.region + 16 * KIB <= beside->hold.region);
    CHECK(small.hold.region + 16 * KIB <= MODULE);
    end(&r, &large);
    CHECK(take(&r, &third, 48 * KIB, BOTH, &third) == HDI_PLACED);
    CHECK(third.unit / 4 == large.unit / 4);
    CHECK(take(&r, &r, MODULE + 1, BOTH, &large) == HDI_PLACE_NOWHERE);
    tear_down(&r);
}

static void classes_decide(void)
{
    struct rig r = set_up();
    struct leaf leaves[5];

    for (int i = 0; i < 4; i++) {
        CHECK(take(&r, &r, KIB, 1 << 1, &leaves[i]) == HDI_PLACED);
        CHECK(class_of[leaves[i].unit] == 1);
    }
    CHECK(take(&r, &r, KIB, 1 << 1, &leaves[4]) == HDI_PLACE_LATER);
    CHECK(take(&r, &r, KIB, BOTH, &leaves[4]) == HDI_PLACED);
    CHECK(class_of[leaves[4].unit] == 0);
    tear_down(&r);
}

// Small leaves come again as soon as one has ended; a large one that can only
// be on the same units still gets its turn.
static void nobody_starves(void)
{
    enum {
        SMALL = 4
    };
    struct rig r = set_up();
    struct leaf small[SMALL], large;
    int large_ones = 0, small_ones = 0;

    for (int i = 0; i < SMALL; i++)
        CHECK(take(&r, &small[0], 16 * KIB, 1, &small[i]) == HDI_PLACED);
    for (int round = 0; round < 100; round++) {
        struct leaf *next = &small[round % SMALL];
        if (take(&r, &large, 64 * KIB, 1, &large) == HDI_PLACED) {
            large_ones++;
            end(&r, &large);
        }
        if (next->unit < UNITS)
            end(&r, next);
        small_ones += take(&r, &small[0], 16 * KIB, 1, next) == HDI_PLACED;
    }
    CHECK(large_ones >= 10 && small_ones >= 10);
    // Modules that it cannot use are not kept for it.
    CHECK(take(&r, &large, 64 * KIB, 1, &large) != HDI_PLACE_NOWHERE);
    CHECK(take(&r, &r, 64 * KIB, 1 << 1, &large) == HDI_PLACED);
    tear_down(&r);
}

// Who gives up waiting keeps nothing.
static void waiting_ends(void)
{
    struct rig r = set_up();
    struct leaf first, large, small;

    CHECK(take(&r, &first, KIB, 1, &first) == HDI_PLACED);
    CHECK(take(&r, &large, MODULE, 1, &large) == HDI_PLACE_LATER);
    CHECK(take(&r, &small, KIB, 1, &small) == HDI_PLACE_LATER);
    hdi_modules_forget(r.modules, &large);
    CHECK(take(&r, &small, KIB, 1, &small) == HDI_PLACED);
    tear_down(&r);
}

// A list has memory on each unit that helps, as far as there is some.
static void lists_share_what_is_left(void)
{
    struct rig r = set_up();
    uint32_t regions[UNITS];
    struct hdi_device_list list = {.local_bytes = 24 * KIB, .regions = regions};
    const struct hdi_wish wish = {
        .who = &list, .bytes = 24 * KIB, .classes = BOTH, .may = anywhere};
    struct leaf leaf, all;

    CHECK(take(&r, &list, 24 * KIB, BOTH, &leaf) == HDI_PLACED);
    hdi_modules_share(r.modules, &wish, &list, leaf.unit, &leaf.hold);
    CHECK(regions[leaf.unit] == leaf.hold.region);
    unsigned in[2] = {0, 0};
    for (unsigned i = 0; i < UNITS; i++) {
        in[module_of[i]] += regions[i] != HDI_NO_REGION;
        for (unsigned k = 0; k < i; k++)
            CHECK(module_of[i] != module_of[k] || regions[i] != regions[k] ||
                  regions[i] == HDI_NO_REGION);
    }
    CHECK(in[0] == 2 && in[1] == 2); // 64 KiB each
    CHECK(take(&r, &all, 64 * KIB, BOTH, &all) == HDI_PLACE_LATER);
    end(&r, &leaf);
    CHECK(take(&r, &all, 64 * KIB, 1, &all) == HDI_PLACED);
    tear_down(&r);
}

int main(void)
{
    room_decides();
    memory_decides();
    classes_decide();
    nobody_starves();
    waiting_ends();
    lists_share_what_is_left();
    return 0;
}
