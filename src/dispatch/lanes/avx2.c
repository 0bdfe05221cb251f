// Dispatch's wide loops, compiled for avx2.
#define LANES_NAME   "avx2"
#define LANES_SYMBOL hdi_lanes_avx2
#include "dispatch/lanes/body.h"
