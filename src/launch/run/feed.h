// Launches on units of their own threads that no worker waits for.
//
// A launch that was started and runs on units is divided as units have room, by
// whoever looks after it: a tender, a job of the pool that takes away what
// units have finished, gives them more, and submits itself again behind all
// other work as long as anything is under way. So a launch holds no worker,
// however long.
#ifndef HDI_LAUNCH_RUN_FEED_H
#define HDI_LAUNCH_RUN_FEED_H

#include "launch/run/flight.h"

// Of a launcher.
// One per launcher with units. All but `idle`, which the tender alone has, is
// under the lock.
struct hdi_feed {
    pthread_mutex_t lock;
    struct hdi_flight *first, **last; // with something to give, oldest first
    unsigned under_way;               // launches
    bool tended;                      // the tender is submitted or runs
    unsigned idle;                    // turns that it found nothing in
    struct hd_work tender;
    struct hdi_launcher *launcher;
};

// NULL without memory.
struct hdi_feed *hdi_feed_create(struct hdi_launcher *launcher);
void hdi_feed_destroy(struct hdi_feed *feed); // NULL is allowed

// Whether units are for this launch, as it stands.
bool hdi_feed_wants(const struct hdi_flight *launch);

// Start it. When its last leaf has ended, `finish` is called, once, on a
// worker; it may be before this returns.
void hdi_feed_start(struct hd_worker *worker, struct hdi_flight *launch,
                    void (*finish)(struct hd_worker *worker,
                                   struct hdi_flight *launch));

// A leaf of it has ended; the launch may be gone afterwards.
void hdi_feed_leave(struct hd_worker *worker, struct hdi_flight *launch);

#endif
