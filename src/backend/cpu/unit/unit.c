// A unit as the worker sees it: itself, or a team behind a mailbox with a
// watchdog.
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/unit/core.h"
#include "backend/cpu/unit/team.h"
#include "base/clock.h"

enum {
    LOOKS_PER_TIME = 16 // vain looks between two at the clock
};

struct cpu_unit {
    struct hdi_unit unit;
    struct hdi_team *team; // NULL: on the caller
    // On the caller:
    struct hdi_cpu_core core;
    uint64_t done; // [chunks]
    hd_status status;
    // A team:
    struct hdi_mailbox_end end;
    uint32_t parts[HDI_MAILBOX_RING];          // of the latest chunks
    const atomic_int *stops[HDI_MAILBOX_RING]; // what tells them to stop
    uint64_t timeout;                          // [ns]; 0: none
    uint64_t since; // the clock saw it stand still; 0: not yet
    unsigned looks; // in vain
    bool giving_up, lost;
    uint64_t last;      // giving up: the last chunk it started
    uint64_t cancelled; // lost: submitted since
};

hd_status hdi_cpu_unit_open(struct hdi_device *device, unsigned index,
                            struct hdi_unit **unit)
{
    struct hdi_cpu_device *d = (struct hdi_cpu_device *)device;
    struct cpu_unit *u = calloc(1, sizeof(*u));
    if (!u)
        return HD_ENOMEM;

    u->unit.device = device;
    if (!d->region || index == HDI_UNIT_ON_CALLER) {
        hdi_cpu_core_init(&u->core, d);
    } else {
        hd_status status = hdi_team_start(d, index, &u->team);
        if (status != HD_OK) {
            free(u);
            return status;
        }
        u->timeout = d->timeout;
        hdi_mailbox_open(&u->end, hdi_team_mailbox(u->team), d->mode,
                         d->unit_cores);
    }
    *unit = &u->unit;
    return HD_OK;
}

static bool team_submit(struct cpu_unit *u, const struct hdi_unit_task *task,
                        const struct hdi_unit_shape *shape,
                        const atomic_int *stop)
{
    if (u->end.submitted - u->end.done >= HDI_MAILBOX_RING &&
        u->end.submitted - hdi_mailbox_done(&u->end) >= HDI_MAILBOX_RING)
        return false;
    hdi_team_expect(u->team, u->end.submitted + 1);
    u->stops[hdi_mailbox_slot(u->end.submitted + 1)] = stop;
    if (!hdi_mailbox_submit(&u->end, task, shape))
        return false;
    u->parts[hdi_mailbox_slot(u->end.submitted)] =
        task->opcode == HDI_OP_RUN ? hdu_parts(task->count, u->end.cores) : 0;
    hdi_team_ring(u->team);
    return true;
}

void hdi_cpu_unit_close(struct hdi_unit *unit)
{
    struct cpu_unit *u = (struct cpu_unit *)unit;

    if (u->team) {
        struct hdi_unit_task leave = {.opcode = HDI_OP_DISCONNECT};
        while (!u->giving_up && !u->lost &&
               !team_submit(u, &leave, NULL, NULL)) {
            hdi_cpu_done(unit);
            sched_yield();
        }
        while (hdi_cpu_done(unit) < hdi_cpu_submitted(unit))
            sched_yield();
        if (u->lost)
            hdi_team_abandon(u->team);
        else
            hdi_team_join(u->team);
    }
    hdi_cpu_core_free(&u->core);
    free(u);
}

static uint32_t memory_units(uint64_t bytes)
{
    uint64_t units = bytes / HDI_MEMORY_UNIT + (bytes % HDI_MEMORY_UNIT != 0);
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

static void run_here(struct cpu_unit *u, const struct hdi_chunk *chunk)
{
    u->status = hdi_cpu_run(&u->core, chunk);
    u->done++;
}

bool hdi_cpu_submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    struct cpu_unit *u = (struct cpu_unit *)unit;

    if (!u->team) {
        run_here(u, chunk);
        return true;
    }
    if (u->lost) {
        u->cancelled++;
        return true;
    }
    if (u->giving_up)
        return false;
    const struct hdi_frame *f = &chunk->frame;
    struct hdi_unit_task task = {
        .args = (uint64_t)(uintptr_t)f->args,
        .entry = (uint64_t)(uintptr_t)chunk->entry,
        .opcode = HDI_OP_RUN,
        .dims = (uint16_t)f->dims,
    };
    memcpy(task.first, f->first, sizeof(task.first));
    memcpy(task.count, f->count, sizeof(task.count));
    uint32_t local = memory_units(chunk->local_bytes),
             saved = memory_units(chunk->saved_bytes);
    if (hdi_mailbox_is_shaped(&u->end, f, local, saved))
        return team_submit(u, &task, NULL, chunk->stop);
    struct hdi_unit_shape shape = hdi_mailbox_shape(f, local, saved);
    return team_submit(u, &task, &shape, chunk->stop);
}

uint64_t hdi_cpu_submitted(const struct hdi_unit *unit)
{
    const struct cpu_unit *u = (const struct cpu_unit *)unit;
    return u->team ? u->end.submitted + u->cancelled : u->done;
}

// The unit did not answer. Once it has stood still for too long it is given up:
// it will start nothing more, so that what it has not started is ours again.
// Should it have gone on to another chunk just then, that one gets its time
// too.
static void watch(struct cpu_unit *u)
{
    if (++u->looks % LOOKS_PER_TIME != 0)
        return;
    uint64_t now = hdi_now();
    if (u->since == 0) {
        u->since = now;
        return;
    }
    if (now - u->since < u->timeout)
        return;
    if (!u->giving_up) {
        u->giving_up = true;
        u->last = hdi_mailbox_give_up(&u->end);
        hdi_team_ring(u->team);
        u->since = now;
        // Still in the one that we waited for, or not even there?
        u->lost = u->last <= u->end.done + 1;
        return;
    }
    u->lost = true;
}

uint64_t hdi_cpu_done(struct hdi_unit *unit)
{
    struct cpu_unit *u = (struct cpu_unit *)unit;
    if (!u->team)
        return u->done;
    if (u->lost)
        return hdi_cpu_submitted(unit);

    uint64_t before = u->end.done, done = hdi_mailbox_done(&u->end);
    if (done != before || done == u->end.submitted)
        u->since = 0;
    else if (u->timeout > 0)
        watch(u);
    if (u->giving_up && done >= u->last)
        u->lost = true;
    return u->lost ? hdi_cpu_submitted(unit) : done;
}

hd_status hdi_cpu_status(const struct hdi_unit *unit, uint64_t chunk)
{
    const struct cpu_unit *u = (const struct cpu_unit *)unit;
    uint32_t part;

    if (!u->team)
        return u->status; // one at a time, so this is the last
    if (u->lost && chunk > u->end.done)
        return chunk <= u->last ? HD_ETIMEOUT : HD_ECANCELED;
    return (hd_status)hdi_mailbox_result(
        &u->end, chunk, u->parts[hdi_mailbox_slot(chunk)], &part);
}

void hdi_cpu_explain(const struct hdi_unit *unit, uint64_t chunk, char *text,
                     size_t size)
{
    const struct cpu_unit *u = (const struct cpu_unit *)unit;
    size_t used = 0;

    if (size > 0)
        *text = '\0';
    if (!u->team) {
        if (u->status == HD_ECHECK)
            snprintf(text, size, "%s%s", u->core.findings,
                     u->core.fibers.message);
        else if (u->status != HD_OK)
            snprintf(text, size, "%s", u->core.fibers.message);
        return;
    }
    if (u->lost && chunk > u->end.done)
        return;
    uint32_t parts = u->parts[hdi_mailbox_slot(chunk)];
    for (uint32_t i = 0; i < parts && used < size; i++) {
        uint32_t code = hdi_mailbox_code(&u->end, chunk, i);
        if (code == 0)
            continue;
        int n = snprintf(
            text + used, size - used, "%spart %" PRIu32 " of %" PRIu32 ": %s",
            used ? ", " : "", i + 1, parts, hd_status_text((hd_status)code));
        used += n > 0 ? (size_t)n : size;
    }
}

bool hdi_cpu_fault(const struct hdi_unit *unit, uint64_t chunk,
                   struct hdi_fault *fault)
{
    const struct cpu_unit *u = (const struct cpu_unit *)unit;

    if (u->team)
        return hdi_team_fault(u->team, chunk, fault);
    *fault = u->core.fault;
    return u->core.trapped;
}

void hdi_cpu_interrupt(struct hdi_unit *unit)
{
    struct cpu_unit *u = (struct cpu_unit *)unit;

    if (!u->team) {
        hdi_shelter_interrupt(&u->core.shelter);
        return;
    }
    // What a lost unit had is over: the launches may be gone, and their words.
    for (uint64_t n = u->end.done + 1; !u->lost && n <= u->end.submitted; n++) {
        const atomic_int *stop = u->stops[hdi_mailbox_slot(n)];
        if (stop && atomic_load(stop) != 0)
            hdi_team_stop(u->team, n);
    }
}
