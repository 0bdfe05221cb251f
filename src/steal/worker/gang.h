// Gangs: work that starts on several workers at the same time.
//
// The gangs that wait stand in line. Only for the first are workers kept, so
// two gangs never each hold what the other needs. A worker is kept only while
// it has begun nothing (it stands in its main loop): nobody waits for what lies
// on its stack, what lies in its queue can be stolen, and whoever still works
// comes free without it. So the first gang starts in the end.
//
// One lock guards everything, and one condition tells of every change; a worker
// that finds no gang waiting pays a load. tests/models/gang.pml checks it.
#ifndef HDI_STEAL_WORKER_GANG_H
#define HDI_STEAL_WORKER_GANG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/order.h"
#include "heddle/task.h"

struct hdi_waiting_gang;

struct hdi_gangs {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hdi_waiting_gang *first, **last; // under the lock
    atomic_uint waiting;                    // written under the lock
};

void hdi_gangs_init(struct hdi_gangs *gangs);
void hdi_gangs_destroy(struct hdi_gangs *gangs);

// Whether the first gang that waits has a place for this worker.
bool hdi_gangs_want(struct hd_worker *worker);

// Take the place, wait for the others, run as a member. On a worker that has
// begun nothing.
void hdi_gangs_attend(struct hd_worker *worker);

// Something was cancelled, or the pool has another size: those who wait look.
void hdi_gangs_tell(struct hdi_gangs *gangs);

#endif
