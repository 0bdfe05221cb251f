// How fast a kernel is on each device, and what follows for dividing a launch.
//
// The pace of a kernel on a device is the time of a launch, or of a part of
// one, without what was copied for it, by work-item: on all units there
// together. It is measured with every launch of a runtime of several devices,
// and kept between processes by whoever made the launchers (struct hdi_lore).
#ifndef HDI_LAUNCH_MEASURE_PACE_H
#define HDI_LAUNCH_MEASURE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct hd_kernel;
struct hdi_launcher;

// What is kept of paces beyond the process. Both may be called by any thread.
struct hdi_lore {
    // [ns] of a work-item; 0: not known.
    double (*recall)(void *data, const struct hd_kernel *kernel);
    void (*note)(void *data, const struct hd_kernel *kernel, double pace);
    void *data;
};

// [ns] of a work-item; 0: it never ran there.
double hdi_pace_of(const struct hdi_launcher *launcher,
                   const struct hd_kernel *kernel);

// So many work-groups of so many work-items have taken so long [ns].
void hdi_pace_ran(struct hdi_launcher *launcher, const struct hd_kernel *kernel,
                  uint64_t groups, uint64_t group_items, uint64_t time);

// Bytes were copied to the launcher's device; how long some will take [ns].
void hdi_pace_learn_copy(struct hdi_launcher *launcher, uint64_t bytes,
                         uint64_t time);
double hdi_pace_copy(const struct hdi_launcher *launcher, uint64_t bytes);

// One device that may take a share of a launch.
struct hdi_speed {
    double item;  // of a work-item, with what is copied for it [ns]
    double fixed; // before the first, whatever its share is [ns]
    double share; // set: of all work-items, 0 to 1
};

// The shares with which all end at the same time; who would begin later than
// that gets none. Returns when that is [ns].
double hdi_pace_divide(struct hdi_speed *speeds, unsigned count,
                       uint64_t items);

#endif
