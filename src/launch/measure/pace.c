#include "launch/measure/pace.h"

#include "kernel/program.h"
#include "launch/launch.h"

enum {
    UNIT = 1024,          // hdi_learned.pace counts in 1/1024 ns
    MEGABYTE = 1 << 20,   // copies are timed by,
    FIRST_COPY = 100000,  // before any was [ns]
    LEAST_COPY = 64 << 10 // smaller ones say nothing [bytes]
};

// What this process has measured, else what an earlier one has.
double hdi_pace_of(const struct hdi_launcher *launcher,
                   const struct hd_kernel *kernel)
{
    uint64_t pace =
        atomic_load_explicit(&kernel->learned->pace, memory_order_relaxed);

    if (pace > 0)
        return (double)pace / UNIT;
    return launcher->lore ? launcher->lore->recall(launcher->lore->data, kernel)
                          : 0;
}

// A moving mean over some four launches. Two threads may write it at a time;
// one sample is lost then, and nothing else.
void hdi_pace_ran(struct hdi_launcher *launcher, const struct hd_kernel *kernel,
                  uint64_t groups, uint64_t group_items, uint64_t time)
{
    struct hdi_learned *k = kernel->learned;

    atomic_fetch_add_explicit(&launcher->ran, groups, memory_order_relaxed);
    double old = hdi_pace_of(launcher, kernel);
    double sample = (double)time / ((double)groups * (double)group_items);
    double now = old == 0 ? sample : (3 * old + sample) / 4;
    uint64_t pace = (uint64_t)(now * UNIT);
    atomic_store_explicit(&k->pace, pace ? pace : 1, memory_order_relaxed);
    // Not each time: it takes as long as a short launch.
    uint64_t noted = atomic_load_explicit(&k->noted, memory_order_relaxed);
    if (!launcher->lore || (pace > noted / 8 * 7 && pace < noted / 8 * 9))
        return;
    atomic_store_explicit(&k->noted, pace, memory_order_relaxed);
    launcher->lore->note(launcher->lore->data, kernel, now);
}

void hdi_pace_learn_copy(struct hdi_launcher *launcher, uint64_t bytes,
                         uint64_t time)
{
    atomic_fetch_add_explicit(&launcher->brought, bytes, memory_order_relaxed);
    if (bytes < LEAST_COPY)
        return;
    uint64_t old =
        atomic_load_explicit(&launcher->bringing, memory_order_relaxed);
    uint64_t sample = (uint64_t)((double)time * MEGABYTE / (double)bytes);
    uint64_t now = old == 0 ? sample : (3 * old + sample) / 4;
    atomic_store_explicit(&launcher->bringing, now ? now : 1,
                          memory_order_relaxed);
}

// In proportion to the bytes.
double hdi_pace_copy(const struct hdi_launcher *launcher, uint64_t bytes)
{
    uint64_t time =
        atomic_load_explicit(&launcher->bringing, memory_order_relaxed);

    return (double)bytes * (double)(time ? time : FIRST_COPY) / MEGABYTE;
}

// All work is done at T when sum((T - fixed) / item) = items.
static double end_of(const struct hdi_speed *speeds, unsigned count,
                     uint64_t items)
{
    double work = (double)items, rate = 0;

    for (unsigned i = 0; i < count; i++)
        if (speeds[i].share > 0) {
            work += speeds[i].fixed / speeds[i].item;
            rate += 1 / speeds[i].item;
        }
    return work / rate;
}

// Leaving out who would begin too late changes the end, so it is tried again;
// at most once for each device.
double hdi_pace_divide(struct hdi_speed *speeds, unsigned count, uint64_t items)
{
    double end;
    bool again;

    for (unsigned i = 0; i < count; i++)
        speeds[i].share = 1;
    do {
        end = end_of(speeds, count, items);
        again = false;
        for (unsigned i = 0; i < count; i++)
            if (speeds[i].share > 0 && speeds[i].fixed >= end) {
                speeds[i].share = 0;
                again = true;
            }
    } while (again);
    for (unsigned i = 0; i < count; i++)
        if (speeds[i].share > 0)
            speeds[i].share =
                (end - speeds[i].fixed) / speeds[i].item / (double)items;
    return end;
}
