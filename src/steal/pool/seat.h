// The seat of a caller-only pool, which has one worker and no thread: a thread
// that calls in takes the seat, works, and leaves it; others wait for it.
#ifndef HDI_STEAL_POOL_SEAT_H
#define HDI_STEAL_POOL_SEAT_H

#include <stdbool.h>

struct hd_group;
struct hd_pool;

// True: this thread is the pool's worker until hdi_seat_leave(). Acquires what
// the one before left there.
bool hdi_seat_take(struct hd_pool *pool);

// Releases it to the next; the bell wakes those who wait for the seat.
void hdi_seat_leave(struct hd_pool *pool);

// Sleep until the seat may be free, or the group (optional) done.
void hdi_seat_await(struct hd_pool *pool, struct hd_group *group);

#endif
