// Telling workers and threads that something has come. The order is that of
// idle.h: who tells has written before, fences, and then looks who sleeps.
#include <limits.h>

#include "base/futex.h"
#include "steal/worker/state.h"

void hdi_pool_poke(struct hd_pool *pool)
{
    hdi_fence(memory_order_seq_cst); // against answer()'s
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        hdi_stack_ask(&pool->workers[i].stack);
    hdi_gangs_tell(&pool->gangs);
    for (struct hdi_listener *l = pool->listeners; l; l = l->next)
        l->tell(l->data);
}

void hdi_pool_tell(struct hd_pool *pool, unsigned near)
{
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    if (hdi_idle_searching(&pool->idle[HDI_ANYTHING]) <= 0)
        hdi_idle_wake_one(&pool->idle[HDI_ANYTHING], near);
    hdi_pool_ring(pool);
}

void hdi_pool_ring(struct hd_pool *pool)
{
    hdi_fence(memory_order_seq_cst); // against who waits for the bell
    if (atomic_load_explicit(&pool->bell_waiters,
                             HDI_BESIDE(memory_order_relaxed)) == 0)
        return;
    atomic_fetch_add_explicit(&pool->bell, 1, memory_order_seq_cst);
    hdi_futex_wake(&pool->bell, INT_MAX);
}

// The word before the wake: who is about to sleep sees it, or is woken.
void hdi_worker_want(struct hd_worker *worker)
{
    atomic_store_explicit(&worker->wanted, 1, memory_order_seq_cst);
    hdi_futex_wake(&worker->wanted, INT_MAX);
}

void hdi_pool_call_all(struct hd_pool *pool)
{
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        hdi_worker_want(&pool->workers[i]);
}
