// Invariant: before each round a module has as many slots left as its units
// that the leaf may be on have room; leases do not count there.
#include "launch/unit/modules.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "dispatch/dispatcher.h"

// SLOT_WEIGHT: a free slot counts as much as an eighth of a module's memory.
// BLOCKS: more make every decision longer. IN_LINE: who finds it full asks
// again with the next leaf.
enum {
    SLOTS = 0, // resources of a module
    LOCAL = 1,
    RESOURCES = 2,
    ENOUGH = 2,        // leaves on a unit: one to run and one behind it
    SLOT_WEIGHT = 16,  // in blocks of local memory
    BLOCKS = 128,      // of local memory, at most
    LEAST_BLOCK = 128, // [bytes]
    IN_LINE = 16,      // launches that wait; others ask again
    LEASES = 4         // of a unit: leaves, and help with a list
};

// All but what capabilities and ports say is under the lock. `kept` means
// something while somebody is in line.
struct hdi_modules {
    pthread_mutex_t lock;
    const struct hdi_port *ports;
    const uint32_t *module_of, *classes; // of each unit
    unsigned units, in_flight;
    uint64_t bytes; // local memory of a module
    uint32_t block; // of it [bytes]
    struct hdi_shape *shape;
    struct hdi_dispatcher *dispatcher;
    uint16_t *room; // of each module, for the leaf at hand
    bool *has_any;  // whether a unit of it may have the leaf, when it has room
    const void *line[IN_LINE];
    unsigned waiting; // in line
    uint32_t kept;    // module, for the first in line; or no module's number
};

// Making ----------------------------------------------------------------------

// One channel and one packet: a decision is made at once, or the packet is
// taken back. Slots are taken away at first; decide() offers what units have.
static hd_status make_dispatcher(struct hdi_modules *m, uint64_t bytes,
                                 struct hd_error *error)
{
    struct hdi_shape *shape = m->shape;
    uint32_t slots = m->units * ENOUGH;

    shape->units = 1;
    shape->waves = slots;
    shape->resource_count = RESOURCES;
    shape->resources[SLOTS] = (struct hdi_module_resource){
        .name = "slots", .blocks = slots, .energy = SLOT_WEIGHT};
    shape->resources[LOCAL] =
        (struct hdi_module_resource){.name = "local memory",
                                     .blocks = (uint32_t)(bytes / m->block),
                                     .shared = true,
                                     .contiguous = true,
                                     .group = 1,
                                     .energy = 1};
    const struct hdi_dispatcher_options options = {
        .channels = 1,
        .packets = 1,
        .leases = m->units * LEASES,
        .seed = 1,
        .policy = {.order = HDI_ORDER_PRIORITY,
                   .mixture = {.left = 1},
                   .priorities = 1}};
    HDI_TRY(hdi_shape_init(shape, error));
    HDI_TRY(hdi_dispatcher_create(shape, &options, &m->dispatcher, error));
    for (uint32_t i = 0; i < shape->modules; i++)
        hdi_dispatcher_offer(m->dispatcher, i, SLOTS, 0, -(int32_t)slots);
    return HD_OK;
}

hd_status hdi_modules_create(const struct hdi_capabilities *can,
                             const struct hdi_port *ports,
                             struct hdi_modules **modules,
                             struct hd_error *error)
{
    hd_status status = HD_OK;

    *modules = NULL;
    if (can->module_bytes == 0)
        return HD_OK;
    struct hdi_modules *m = calloc(1, sizeof(*m));
    if (!m)
        return hdi_fail(error, HD_ENOMEM, "no memory for modules of units");
    pthread_mutex_init(&m->lock, NULL);
    m->ports = ports;
    m->module_of = can->modules;
    m->classes = can->classes;
    m->units = can->units;
    m->in_flight = can->in_flight;
    m->bytes = can->module_bytes;
    m->block = (uint32_t)hdi_round_up((can->module_bytes + BLOCKS - 1) / BLOCKS,
                                      LEAST_BLOCK);
    m->shape = calloc(1, sizeof(*m->shape));
    if (m->shape) {
        for (unsigned i = 0; i < m->units; i++)
            if (m->module_of[i] >= m->shape->modules)
                m->shape->modules = m->module_of[i] + 1;
        m->kept = m->shape->modules;
        m->room = calloc(m->shape->modules, sizeof(*m->room));
        m->has_any = calloc(m->shape->modules, sizeof(*m->has_any));
    }
    status = m->shape && m->room && m->has_any
                 ? make_dispatcher(m, can->module_bytes, error)
                 : hdi_fail(error, HD_ENOMEM, "no memory for modules of units");
    if (status != HD_OK) {
        hdi_modules_destroy(m);
        return status;
    }
    *modules = m;
    return HD_OK;
}

void hdi_modules_destroy(struct hdi_modules *m)
{
    if (!m)
        return;
    hdi_dispatcher_destroy(m->dispatcher);
    free(m->shape);
    free(m->room);
    free(m->has_any);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

// Units -----------------------------------------------------------------------

static unsigned held_by(const struct hdi_modules *m, unsigned unit)
{
    return atomic_load_explicit(&m->ports[unit].held, memory_order_relaxed);
}

static bool may_be_on(const struct hdi_modules *m, const struct hdi_wish *wish,
                      unsigned unit)
{
    unsigned class = m->classes ? m->classes[unit] : 0;

    return wish->classes >> class & 1 && wish->may(wish->data, unit);
}

static unsigned room_on(const struct hdi_modules *m, unsigned unit)
{
    unsigned most = m->in_flight < ENOUGH ? m->in_flight : ENOUGH;
    unsigned held = held_by(m, unit);

    return held < most ? most - held : 0;
}

static bool is_kept(const struct hdi_modules *m, uint32_t module)
{
    return m->waiting > 0 && m->kept == module && module < m->shape->modules;
}

// Whether there is a unit that the leaf may be on, now or later.
// Fills `room` and `has_any`, for decide() and keep().
static bool look_for_room(struct hdi_modules *m, const struct hdi_wish *wish)
{
    bool any = false;

    for (uint32_t i = 0; i < m->shape->modules; i++) {
        m->room[i] = 0;
        m->has_any[i] = false;
    }
    for (unsigned i = 0; i < m->units; i++) {
        if (!may_be_on(m, wish, i))
            continue;
        m->room[m->module_of[i]] += (uint16_t)room_on(m, i);
        m->has_any[m->module_of[i]] = any = true;
    }
    if (m->line[0] != wish->who && is_kept(m, m->kept))
        m->room[m->kept] = 0;
    return any && wish->bytes <= m->bytes / m->block * m->block;
}

static unsigned choose_unit(const struct hdi_modules *m,
                            const struct hdi_wish *wish, uint32_t module)
{
    unsigned best = m->units;

    for (unsigned i = 0; i < m->units; i++)
        if (m->module_of[i] == module && room_on(m, i) > 0 &&
            may_be_on(m, wish, i) &&
            (best == m->units || held_by(m, i) < held_by(m, best)))
            best = i;
    return best;
}

// The line --------------------------------------------------------------------

static uint32_t left_in(const struct hdi_modules *m, uint32_t module,
                        uint32_t resource)
{
    return hdi_module_left(hdi_dispatcher_module(m->dispatcher, module),
                           m->shape, resource);
}

static void forget(struct hdi_modules *m, const void *who)
{
    unsigned left = 0;

    if (m->waiting > 0 && m->line[0] == who)
        m->kept = m->shape->modules; // the next in line chooses
    for (unsigned i = 0; i < m->waiting; i++)
        if (m->line[i] != who)
            m->line[left++] = m->line[i];
    m->waiting = left;
}

// The first in line keeps the module where it is soonest that there is enough,
// which it may use.
static void keep(struct hdi_modules *m)
{
    uint32_t best = m->shape->modules;

    if (m->kept < m->shape->modules && m->has_any[m->kept])
        return;
    for (uint32_t i = 0; i < m->shape->modules; i++)
        if (m->has_any[i] && (best == m->shape->modules ||
                              left_in(m, i, LOCAL) > left_in(m, best, LOCAL)))
            best = i;
    m->kept = best;
}

// There was a unit, but not the memory.
static void stand_in_line(struct hdi_modules *m, const void *who)
{
    unsigned place = 0;

    while (place < m->waiting && m->line[place] != who)
        place++;
    if (place == IN_LINE)
        return;
    if (place == m->waiting)
        m->line[m->waiting++] = who;
    if (place == 0)
        keep(m);
}

// Taking and giving -----------------------------------------------------------

// With the lock; `room` says where there are slots.
// The slots of the books are set to what units have, each time: units end
// leaves without telling the books.
static bool decide(struct hdi_modules *m, uint64_t bytes, struct hdi_hold *hold,
                   uint32_t *module)
{
    struct hdi_packet packet = {.need = {.waves = 1, .priority = 1},
                                .groups = 1};
    struct hdi_decision decision;
    uint64_t now = hdi_now();

    packet.need.amount[SLOTS] = 1;
    packet.need.amount[LOCAL] = (uint16_t)((bytes + m->block - 1) / m->block);
    for (uint32_t i = 0; i < m->shape->modules; i++) {
        int32_t more = (int32_t)m->room[i] - (int32_t)left_in(m, i, SLOTS);
        if (more != 0)
            hdi_dispatcher_offer(m->dispatcher, i, SLOTS, 0, more);
    }
    if (hdi_dispatcher_submit(m->dispatcher, 0, &packet, now, NULL) != HD_OK)
        return false;
    if (hdi_dispatcher_round(m->dispatcher, now, &decision) != HDI_ROUND_SENT) {
        hdi_dispatcher_withdraw(m->dispatcher, 0);
        return false;
    }
    uint32_t first = bytes > 0 ? hdi_dispatcher_block(m->dispatcher,
                                                      decision.lease, LOCAL, 0)
                               : 0;
    *module = decision.module;
    *hold = (struct hdi_hold){.lease = decision.lease + 1,
                              .region = first * m->block};
    return true;
}

static void release(struct hdi_modules *m, struct hdi_hold *hold)
{
    hdi_dispatcher_release(m->dispatcher, hold->lease - 1, 0);
    for (unsigned i = 0; i < hold->helper_count; i++)
        hdi_dispatcher_release(m->dispatcher, hold->helpers[i] - 1, 0);
    free(hold->helpers);
    *hold = (struct hdi_hold){.region = HDI_NO_REGION};
}

enum hdi_placing hdi_modules_take(struct hdi_modules *m,
                                  const struct hdi_wish *wish, unsigned *unit,
                                  struct hdi_hold *hold)
{
    enum hdi_placing placing = HDI_PLACE_LATER;
    uint32_t module;
    bool any = false;

    pthread_mutex_lock(&m->lock);
    if (!look_for_room(m, wish)) {
        placing = HDI_PLACE_NOWHERE;
        forget(m, wish->who);
    } else if (decide(m, wish->bytes, hold, &module)) {
        *unit = choose_unit(m, wish, module);
        if (*unit < m->units) {
            placing = HDI_PLACED;
            forget(m, wish->who);
        } else { // somebody was faster
            release(m, hold);
        }
    } else {
        for (uint32_t i = 0; i < m->shape->modules; i++)
            any = any || m->room[i] > 0;
        if (any)
            stand_in_line(m, wish->who);
    }
    pthread_mutex_unlock(&m->lock);
    return placing;
}

// Help that there is no memory for is left out: then that unit does not help.
void hdi_modules_share(struct hdi_modules *m, const struct hdi_wish *wish,
                       struct hdi_device_list *list, unsigned unit,
                       struct hdi_hold *hold)
{
    uint32_t module;

    if (!list->regions)
        return;
    hold->helpers = calloc(m->units, sizeof(*hold->helpers));
    pthread_mutex_lock(&m->lock);
    for (unsigned i = 0; i < m->units; i++) {
        struct hdi_hold help = {.region = HDI_NO_REGION};
        for (uint32_t k = 0; k < m->shape->modules; k++)
            m->room[k] = k == m->module_of[i];
        if (i == unit)
            help.region = hold->region;
        else if (hold->helpers && !is_kept(m, m->module_of[i]) &&
                 may_be_on(m, wish, i) &&
                 decide(m, wish->bytes, &help, &module))
            hold->helpers[hold->helper_count++] = help.lease;
        list->regions[i] = help.region;
    }
    pthread_mutex_unlock(&m->lock);
}

void hdi_modules_give(struct hdi_modules *m, struct hdi_hold *hold)
{
    if (hold->lease == 0)
        return;
    pthread_mutex_lock(&m->lock);
    release(m, hold);
    pthread_mutex_unlock(&m->lock);
}

void hdi_modules_forget(struct hdi_modules *m, const void *who)
{
    pthread_mutex_lock(&m->lock);
    forget(m, who);
    pthread_mutex_unlock(&m->lock);
}
