// Clocks of the device, of the group and of the sub-group: all are the core's.
#include "vector.h"

#define CLOCK(of)                                     \
    FN ulong clock_read_##of(void)                    \
    {                                                 \
        return __builtin_readcyclecounter();          \
    }                                                 \
    FN uint2 clock_read_hilo_##of(void)               \
    {                                                 \
        ulong now = __builtin_readcyclecounter();     \
        return (uint2)((uint)now, (uint)(now >> 32)); \
    }
CLOCK(device)
CLOCK(work_group)
CLOCK(sub_group)
