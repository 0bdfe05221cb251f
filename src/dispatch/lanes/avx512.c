// Dispatch's wide loops, compiled for avx512.
#define LANES_NAME   "avx512"
#define LANES_SYMBOL hdi_lanes_avx512
#include "dispatch/lanes/body.h"
