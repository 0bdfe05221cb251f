// How urgent a job, a launch or a pass is against others at the same time.
#ifndef HEDDLE_PRIORITY_H
#define HEDDLE_PRIORITY_H

/// All zero is the normal one.
enum hd_priority {
    HD_PRIORITY_NORMAL, // jobs: as hd_submit()
    HD_PRIORITY_HIGH,   // before all others; jobs in the order of submission
    HD_PRIORITY_LOW     // when nothing else is to be had, or after long
};

#endif
