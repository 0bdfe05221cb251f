#include "steal/pool/seat.h"

#include "base/futex.h"
#include "steal/group.h"
#include "steal/worker/state.h"

bool hdi_seat_take(struct hd_pool *pool)
{
    uintptr_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(
        &pool->threads[0], &nobody, (uintptr_t)pthread_self(),
        memory_order_seq_cst, memory_order_relaxed);
}

static bool seat_is_free(struct hd_pool *pool)
{
    return atomic_load_explicit(&pool->threads[0],
                                HDI_BESIDE(memory_order_relaxed)) == 0;
}

void hdi_seat_leave(struct hd_pool *pool)
{
    atomic_store_explicit(&pool->threads[0], 0,
                          HDI_BESIDE(memory_order_release));
    hdi_pool_ring(pool);
}

void hdi_seat_await(struct hd_pool *pool, struct hd_group *group)
{
    atomic_fetch_add_explicit(&pool->bell_waiters, 1, memory_order_seq_cst);
    uint32_t bell = atomic_load_explicit(&pool->bell, memory_order_seq_cst);
    hdi_fence(memory_order_seq_cst); // against hdi_pool_ring()'s
    if (!seat_is_free(pool) && !(group && hdi_group_mark(group) == 0))
        hdi_futex_wait(&pool->bell, bell);
    atomic_fetch_sub_explicit(&pool->bell_waiters, 1, memory_order_seq_cst);
}
