// Ending a launch before all of its work-groups have run: it failed, was
// cancelled, or takes too long.
//
// A leaf looks before it starts. One that runs is found through the slot of its
// worker: hdi_stop_poke() makes its unit leave the kernel. Only the watchdog,
// for launches with a time limit, is a thread of its own, started with the
// first of these.
#ifndef HDI_LAUNCH_FAULT_STOP_H
#define HDI_LAUNCH_FAULT_STOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "heddle/status.h"

struct hd_group;
struct hd_pool;
struct hdi_launcher;

// What may end a launch. It lasts as long as the launch.
struct hdi_stop {
    atomic_int status;         // why it ends, the first reason; HD_OK: not yet
    const atomic_bool *cancel; // optional
    const struct hd_group *group; // optional
    const struct hd_pool *pool;
    uint64_t deadline;     // [ns]; 0: none
    struct hdi_stop *next; // with the watchdog
};

// A worker and the launch whose leaf it runs. Whoever wants to touch that
// launch counts himself in `looks` first; the worker, on its way out, takes
// `running` away and waits until nobody looks.
//
//     worker                          poke
//     running = stop   (seq_cst)      looks++          (seq_cst)
//     looks at its reasons            stop = running
//     ... leaf ...                    if it is to end: interrupt the unit
//     running = before                looks--
//     waits until looks is 0
//
// So the launch is there while somebody looks at it.
struct hdi_stop_slot {
    _Alignas(128) _Atomic(struct hdi_stop *) running;
    atomic_uint looks;
};

// All but `process` is under the lock.
struct hdi_watchdog {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    _Atomic pid_t process; // that the thread is in; 0: there is none
    bool leaves;
    struct hdi_stop *stops; // launches with a deadline
};

// Give the reason; true when it is the first.
bool hdi_stop_set(struct hdi_stop *stop, hd_status status);

// True when the launch is to end: it has a reason, or one is found now.
bool hdi_stop_check(struct hdi_stop *stop);

// Returns what the worker ran before, for hdi_slot_leave().
struct hdi_stop *hdi_slot_enter(struct hdi_stop_slot *slot,
                                struct hdi_stop *stop);
void hdi_slot_leave(struct hdi_stop_slot *slot, struct hdi_stop *before);

// Let every worker that runs a leaf of a launch that is to end leave it. From
// any thread or signal handler; never blocks.
void hdi_stop_poke(struct hdi_launcher *launcher);

bool hdi_watchdog_init(struct hdi_watchdog *watchdog);
void hdi_watchdog_destroy(struct hdi_watchdog *watchdog);

// Watch over a launch with a deadline. HD_ELIMIT: there is no thread for it.
hd_status hdi_watchdog_add(struct hdi_launcher *launcher,
                           struct hdi_stop *stop);
void hdi_watchdog_remove(struct hdi_launcher *launcher, struct hdi_stop *stop);

#endif
