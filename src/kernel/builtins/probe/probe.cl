// Loops over arrays with one builtin in each.
#include "probe.h"

#define LOOP_1(name, R, T)                                             \
    __attribute__((noinline)) void probe_##name##_##T(SIZE n, IN(T) x, \
                                                      OUT(R) r)        \
    {                                                                  \
        for (SIZE i = 0; i < n; i++)                                   \
            r[i] = name(x[i]);                                         \
    }
#define LOOP_2(name, R, T, U)                                            \
    __attribute__((noinline)) void probe_##name##_##T(SIZE n, IN(T) x,   \
                                                      IN(U) y, OUT(R) r) \
    {                                                                    \
        for (SIZE i = 0; i < n; i++)                                     \
            r[i] = name(x[i], y[i]);                                     \
    }
#define REAL_1(name, reference, single, twice) \
    LOOP_1(name, float, float) LOOP_1(name, double, double)
#define REAL_2(name, reference, single, twice) \
    LOOP_2(name, float, float, float) LOOP_2(name, double, double, double)
#define EITHER_2(name, reference) REAL_2(name, reference, 0, 0)
#define REAL_INT(name, reference, bound) \
    LOOP_2(name, float, float, int) LOOP_2(name, double, double, int)
#include "math.def"
LOOP_1(lgamma, double, double)
