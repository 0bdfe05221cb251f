// Copies between global and local memory by the whole work-group: each
// work-item copies its share at once, and to wait is to meet.
#include "collective.h"

#define COPY_STRIDED(T, TO, FROM, to_step, from_step)                       \
    GROUP event_t async_work_group_strided_copy(                            \
        TO T *to, const FROM T *from, size_t n, size_t step, event_t event) \
    {                                                                       \
        size_t items =                                                      \
            get_local_size(0) * get_local_size(1) * get_local_size(2);      \
        for (size_t i = get_local_linear_id(); i < n; i += items)           \
            to[i * (to_step)] = from[i * (from_step)];                      \
        return event;                                                       \
    }
#define COPY(T, TO, FROM)                                             \
    GROUP event_t async_work_group_copy(TO T *to, const FROM T *from, \
                                        size_t n, event_t event)      \
    {                                                                 \
        return async_work_group_strided_copy(to, from, n, 1, event);  \
    }
#define COPIES(T)                                 \
    COPY_STRIDED(T, local, global, 1, step)       \
    COPY_STRIDED(T, global, local, step, 1)       \
    COPY(T, local, global)                        \
    COPY(T, global, local)                        \
    FN void prefetch(const global T *p, size_t n) \
    {                                             \
        (void)p;                                  \
        (void)n;                                  \
    }
#define COPIES_N(n, T)                              COPIES(T##n)
#define COPIES_OF(T)                                COPIES(T) WIDTHS(COPIES_N, T)
#define COPIES_OF_INTEGER(T, U, S, BITS, LOW, HIGH) COPIES_OF(T)
INTEGERS(COPIES_OF_INTEGER)
COPIES_OF(half)
COPIES_OF(float)
COPIES_OF(double)

#define WAIT(A)                                              \
    GROUP void wait_group_events(int n, A event_t *e)        \
    {                                                        \
        (void)n;                                             \
        (void)e;                                             \
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    }
WAIT(private)
WAIT(__generic)
