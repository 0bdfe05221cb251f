#include "heddle/task.h"
#include "tests/check.h"
HD_TASK(uint64_t, fib, int, n)
{
    if (n < 2)
        return (uint64_t)n;
    hd_spawn(worker, fib, n - 1);
    uint64_t b = hd_call(worker, fib, n - 2);
    return hd_join(worker, fib) + b;
}
static void run(struct hd_worker *worker, void *data)
{
    *(uint64_t *)data = hd_call(worker, fib, 32);
}
int main(void)
{
    struct hd_error error;
    for (unsigned w = 1; w <= 8; w++) {
        struct hd_pool_params p = {.workers = w};
        struct hd_pool *pool;
        CHECK_OK(hd_pool_create(&p, &pool, &error), error);
        uint64_t r = 0;
        for (int i = 0; i < 5; i++) {
            hd_pool_run(pool, run, &r);
            CHECK(r == 2178309);
        }
        for (unsigned i = 0; i < w; i++) {
            struct hd_worker_counters c;
            hd_pool_counters(pool, i, &c);
            printf("%u: tasks %lu stolen %lu failed %lu parks %lu\n", i,
                   c.tasks, c.stolen, c.failed, c.parks);
        }
        hd_pool_destroy(pool);
    }
    return 0;
}
