// The energy that the processors have used, from the counters of the system's
// powercap tree (Intel RAPL, and what else shows itself there as a package).
#ifndef HDI_LAUNCH_MEASURE_METER_H
#define HDI_LAUNCH_MEASURE_METER_H

#include <stdbool.h>

// Packages of the largest machines, and some more.
enum {
    HDI_METER_ZONES = 16
};

struct hdi_meter {
    unsigned zones; // packages
    struct {
        char path[512];
        double range; // the counter begins again at 0 behind it [uJ]
        double last;  // [uJ]
    } zone[HDI_METER_ZONES];
    double sum; // since it was opened [pJ]
};

// False when no package's counter can be read. $HEDDLE_POWERCAP names another
// tree than /sys/class/powercap, except to programs with another user's rights.
bool hdi_meter_open(struct hdi_meter *meter);

// Energy since the meter was opened [pJ]. It must be read at least once per
// range of the counter: within a minute, at the usual 65 kJ and a thousand
// watts.
double hdi_meter_read(struct hdi_meter *meter);

// Energy since a reading [pJ].
static inline double hdi_meter_since(struct hdi_meter *meter, double before)
{
    return hdi_meter_read(meter) - before;
}

#endif
