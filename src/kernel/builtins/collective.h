// What functions that a group or a sub-group calls together share.
#ifndef HDI_BUILTINS_COLLECTIVE_H
#define HDI_BUILTINS_COLLECTIVE_H

#include "vector.h"

#define GROUP __attribute__((overloadable, always_inline, convergent))

__attribute__((overloadable, convergent)) void barrier(cl_mem_fence_flags);
__attribute__((overloadable, const)) size_t get_local_linear_id(void);
__attribute__((overloadable, const)) size_t get_local_size(uint);
__attribute__((overloadable, const)) size_t get_enqueued_local_size(uint);

#endif
