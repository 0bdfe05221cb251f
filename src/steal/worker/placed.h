// Jobs that have a place: a worker, or any worker of one module.
//
// Each place has a queue of its own, which only its workers look at. A job
// whose place has no worker left, since the pool was made smaller, goes to the
// pool's inbox, for anybody. Both sides first write and then look, with a
// seq_cst fence between:
//
//     submits                      makes the pool smaller
//     -------                      ----------------------
//     push to the place's queue    say who is not wanted
//     fence                        fence
//     look: is anybody wanted?     look: are there jobs?
#ifndef HDI_STEAL_WORKER_PLACED_H
#define HDI_STEAL_WORKER_PLACED_H

#include <stdbool.h>

#include "steal/queue/inbox.h"

struct hd_group;
struct hd_job;
struct hd_pool;
struct hd_worker;

//     queues   worker 0 | worker 1 | ... | module 0 | module 1 | ...
struct hdi_placed {
    struct hdi_inbox *queues; // one per worker, then one per module
    unsigned count;
};

// False without memory.
bool hdi_placed_init(struct hdi_placed *placed, const struct hd_pool *pool);
void hdi_placed_destroy(struct hdi_placed *placed);

// A job with a place here: the oldest; the oldest of this group; whether there
// is any.
struct hd_job *hdi_placed_pop(struct hd_worker *worker);
struct hd_job *hdi_placed_pop_of(struct hd_worker *worker,
                                 const struct hd_group *group);
bool hdi_placed_offers(const struct hd_worker *worker);

// Whether there is any at all.
bool hdi_placed_waiting(const struct hd_pool *pool);

// Give jobs whose place has no worker any more to all.
void hdi_placed_release(struct hd_pool *pool);

#endif
