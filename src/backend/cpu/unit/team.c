// Who waits for whom, and on what:
//
//     worker     ring ------> primary core, at the bell   (asleep, futex)
//     cores      arrived ---> the last one sets the round  (round, futex)
//     threads    gate ------> OPEN, or TURNED_BACK when not all have started
//
// Each first looks for a while, then gives its core away, then sleeps.
//
// Invariant: the team is freed by the last of `holders`, so a core that hangs
// keeps all that it may still touch.
#include "backend/cpu/unit/team.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/unit/core.h"
#include "base/futex.h"
#include "base/memory.h"
#include "base/topology.h"

// Looking costs a core that nobody else wants, when units have cores of their
// own; where they share cores with others it would keep those from running.
enum {
    SPINS = 4000, // looks before giving the core away
    CROWDED_SPINS = 20,
    LATE = 32,   // looks after which a worker was not just about to submit
    YIELDS = 200 // then, before sleeping
};

// Its thread's alone, but for `shelter`, which others may interrupt.
struct core {
    _Alignas(128) struct hdi_team *team;
    uint32_t rank;
    pthread_t thread;
    struct hdi_cpu_core core;
    // Of the latest task; only its own thread has it. What does not change from
    // task to task is put there again with a new shape only.
    struct hdi_chunk chunk;
    uint64_t shaped; // as hdu_unit.shaped when it was
};

// What else there is of a chunk than what goes through the mailbox. It changes
// only when a chunk is stopped or traps, so that its line does not move for the
// others. Who first sets `trapped` to the number of a chunk writes the fault;
// both are seen with the answer. `stop` is the team's own, since a core that
// hangs may outlive the launch.
struct extra {
    _Alignas(128) atomic_int stop;
    _Atomic uint64_t trapped;
    struct hdi_fault fault;
};

struct hdi_team {
    struct hdu_unit unit; // first: the loop knows only this
    struct hdi_mailbox_region *region;
    uint32_t portion;
    uint32_t spins;
    // Of the primary core, before the bell:
    struct hdi_mailbox_patience patience;
    uint32_t vain;            // looks for the latest task
    _Atomic uint32_t holders; // cores, and the worker
    _Atomic uint32_t gate;    // futex: SHUT, OPEN or TURNED_BACK
    struct extra extra[HDI_MAILBOX_RING];
    // The barrier. Who arrives last resets `arrived` before the others go on.
    _Alignas(128) _Atomic uint32_t arrived;
    _Alignas(128) _Atomic uint32_t round; // futex
    _Atomic uint32_t sleepers;            // in the barrier
    _Alignas(
        128) _Atomic uint32_t asleep; // futex: the primary core, at the bell
    struct core cores[];
};

enum {
    SHUT,
    OPEN,
    TURNED_BACK
};

// A look was in vain. True: it is time to sleep.
// `round`: how many looks came before.
static bool waited_long(const struct hdi_team *team, uint32_t round)
{
    if (round < team->spins) {
        hdi_pause();
        return false;
    }
    if (round < team->spins + YIELDS) {
        sched_yield();
        return false;
    }
    return true;
}

// The round is read before this core counts itself: after that it may change at
// once. `arrived` may be reset relaxed: nobody adds to it before the new round
// is seen, which carries the reset.
void hdu_barrier(struct hdu_unit *unit, uint32_t rank)
{
    struct hdi_team *t = (struct hdi_team *)unit;
    (void)rank;
    if (unit->cores == 1)
        return;

    uint32_t round = atomic_load_explicit(&t->round, memory_order_relaxed);
    if (atomic_fetch_add(&t->arrived, 1) + 1 == unit->cores) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        // Both sides store and then look, in one order of all (seq_cst): either
        // the sleeper sees the new round or we see the sleeper.
        atomic_store(&t->round, round + 1);
        if (atomic_load(&t->sleepers) > 0)
            hdi_futex_wake(&t->round, INT_MAX);
        return;
    }
    for (uint32_t i = 0; atomic_load(&t->round) == round;) {
        if (!waited_long(t, i)) {
            i++;
            continue;
        }
        atomic_fetch_add(&t->sleepers, 1);
        hdi_futex_wait(&t->round, round);
        atomic_fetch_sub(&t->sleepers, 1);
    }
}

void hdu_pause(struct hdu_unit *unit, uint64_t number, uint32_t round)
{
    struct hdi_team *t = (struct hdi_team *)unit;

    if (round == 0) {
        // The worker sees the last answer first. One that came late was busy
        // with something else.
        if (t->vain < LATE)
            hdi_mailbox_learn(&t->patience, t->vain);
        hdi_mailbox_hold_off(t->patience.hold);
    }
    t->vain = round + 1;
    if (!waited_long(t, round))
        return;
    // Against hdi_team_ring(): both store, settle, and look. Ours is the dear
    // half, since ringing is frequent.
    atomic_store_explicit(&t->asleep, 1, HDI_WORD_ORDER);
    hdi_mailbox_settle();
    if (!hdu_mailbox_rang(unit->mailbox, unit->mode, number) &&
        !hdi_word_load(&unit->mailbox->given_up))
        hdi_futex_wait(&t->asleep, 1);
    atomic_store_explicit(&t->asleep, 0, HDI_WORD_ORDER);
}

// The bell was stored before; this looks whether anybody must be woken. The
// cheap half of the agreement, without a fence where the system can settle.
void hdi_team_ring(struct hdi_team *team)
{
    hdi_word_settle();
    if (atomic_load_explicit(&team->asleep, HDI_WORD_ORDER)) {
        atomic_store_explicit(&team->asleep, 0, HDI_WORD_ORDER);
        hdi_futex_wake(&team->asleep, 1);
    }
}

static uint64_t bytes_of(uint32_t units)
{
    return units == UINT32_MAX ? UINT64_MAX / 4
                               : (uint64_t)units * HDI_MEMORY_UNIT;
}

static void take_shape(struct core *core, const struct hdu_unit *unit)
{
    const struct hdi_unit_shape *shape = &unit->shape;
    struct hdi_frame *f = &core->chunk.frame;

    memcpy((char *)f->global, shape, HDI_FRAME_SHAPE_BYTES);
    core->chunk.local_bytes = bytes_of(shape->local_units);
    core->chunk.saved_bytes = bytes_of(shape->saved_units);
    core->shaped = unit->shaped;
}

// The fault is written before the part's answer is released, so who sees the
// answer sees it (hdi_team_fault()).
uint32_t hdu_run(struct hdu_unit *unit, uint32_t rank, const uint32_t first[3],
                 const uint32_t count[3])
{
    struct hdi_team *team = (struct hdi_team *)unit;
    struct core *core = &team->cores[rank];
    struct hdi_chunk *chunk = &core->chunk;
    const struct hdi_unit_task *t = &unit->task;
    uint64_t number = hdi_word_load(&unit->mailbox->started);
    struct extra *extra = &team->extra[hdi_mailbox_slot(number)];

    if (core->shaped != unit->shaped)
        take_shape(core, unit);
    chunk->entry = (const struct hdi_entry *)(uintptr_t)t->entry;
    chunk->frame.args = (const void *)(uintptr_t)t->args;
    chunk->frame.dims = t->dims;
    memcpy(chunk->frame.first, first, sizeof(chunk->frame.first));
    memcpy(chunk->frame.count, count, sizeof(chunk->frame.count));
    chunk->stop = &extra->stop;
    hd_status status = hdi_cpu_run_frame(&core->core, chunk, &chunk->frame);
    if (core->core.trapped &&
        atomic_exchange(&extra->trapped, number) != number)
        extra->fault = core->core.fault;
    return status;
}

// The slot is the worker's then. A store only if needed: the line stays where
// it is.
void hdi_team_expect(struct hdi_team *team, uint64_t number)
{
    struct extra *extra = &team->extra[hdi_mailbox_slot(number)];
    if (atomic_load_explicit(&extra->stop, memory_order_relaxed) != 0)
        atomic_store_explicit(&extra->stop, 0, memory_order_relaxed);
}

bool hdi_team_fault(const struct hdi_team *team, uint64_t number,
                    struct hdi_fault *fault)
{
    const struct extra *extra = &team->extra[hdi_mailbox_slot(number)];

    if (atomic_load(&extra->trapped) != number)
        return false;
    *fault = extra->fault;
    return true;
}

void hdi_team_stop(struct hdi_team *team, uint64_t number)
{
    if (atomic_exchange(&team->extra[hdi_mailbox_slot(number)].stop, 1) != 0)
        return; // they were told
    for (uint32_t i = 0; i < team->unit.cores; i++)
        hdi_shelter_interrupt(&team->cores[i].core.shelter);
}

static void leave(struct hdi_team *team)
{
    if (atomic_fetch_sub(&team->holders, 1) > 1)
        return;

    for (uint32_t i = 0; i < team->unit.cores; i++)
        hdi_cpu_core_free(&team->cores[i].core);
    hdi_region_give(team->region, team->portion);
    free(team);
}

// The shelter forgets the thread before it ends: a signal must not go to
// another thread that gets its number.
static void *core_main(void *data)
{
    struct core *core = data;
    struct hdi_team *team = core->team;

    while (atomic_load(&team->gate) == SHUT)
        hdi_futex_wait(&team->gate, SHUT);
    if (atomic_load(&team->gate) == OPEN)
        hdu_unit_serve(&team->unit, core->rank);
    atomic_store(&core->core.shelter.thread, 0); // it ends
    leave(team);
    return NULL;
}

static void open_gate(struct hdi_team *team, uint32_t how)
{
    atomic_store(&team->gate, how);
    hdi_futex_wake(&team->gate, INT_MAX);
}

// On failure the threads that started are turned back and joined; those that
// did not are counted out of `holders` in their place.
hd_status hdi_team_start(struct hdi_cpu_device *device, unsigned index,
                         struct hdi_team **team)
{
    unsigned cores = device->unit_cores, units = device->device.can.units;
    if (index >= units)
        return HD_ENODEV;
    struct hdi_mailbox *mailbox = hdi_region_take(device->region, index);
    if (!mailbox)
        return HD_ELIMIT;

    size_t size = hdi_round_up(
        sizeof(struct hdi_team) + cores * sizeof(struct core), 128);
    struct hdi_team *t = aligned_alloc(128, size);
    if (!t) {
        hdi_region_give(device->region, index);
        return HD_ENOMEM;
    }
    memset(t, 0, size);
    t->unit = (struct hdu_unit){
        .mailbox = mailbox, .mode = device->mode, .cores = cores};
    t->region = device->region;
    t->portion = index;
    t->spins = hdi_cpu_unit_core(device, units, index, 0) == UINT_MAX
                   ? CROWDED_SPINS
                   : SPINS;
    t->holders = cores + 1;
    for (unsigned rank = 0; rank < cores; rank++) {
        struct core *core = &t->cores[rank];
        char name[16];
        snprintf(name, sizeof(name), "unit %u.%u", index % 10000, rank % 1000);
        core->team = t;
        core->rank = rank;
        hdi_cpu_core_init(&core->core, device);
        core->core.shelter.resident = true; // no fence for every chunk
        hd_status status = hdi_thread_start(
            device->topology, hdi_cpu_unit_core(device, units, index, rank),
            name, core_main, core, &core->thread);
        if (status == HD_OK)
            continue;
        // The others must not wait in a barrier for one that will not come.
        for (unsigned i = rank; i < cores; i++)
            leave(t);
        open_gate(t, TURNED_BACK);
        for (unsigned i = 0; i < rank; i++)
            pthread_join(t->cores[i].thread, NULL);
        leave(t);
        return status;
    }
    open_gate(t, OPEN);
    *team = t;
    return HD_OK;
}

struct hdi_mailbox *hdi_team_mailbox(struct hdi_team *team)
{
    return team->unit.mailbox;
}

void hdi_team_join(struct hdi_team *team)
{
    for (uint32_t i = 0; i < team->unit.cores; i++)
        pthread_join(team->cores[i].thread, NULL);
    leave(team);
}

// Detached: the threads end by themselves, or never.
void hdi_team_abandon(struct hdi_team *team)
{
    for (uint32_t i = 0; i < team->unit.cores; i++)
        pthread_detach(team->cores[i].thread);
    leave(team);
}
