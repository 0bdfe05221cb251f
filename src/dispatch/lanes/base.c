// Dispatch's wide loops, portable.
#define LANES_NAME   "base"
#define LANES_SYMBOL hdi_lanes_base
#include "dispatch/lanes/body.h"
