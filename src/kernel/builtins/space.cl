// What a generic pointer points to. An address tells: local and private memory
// lie within bounds that the work-group compiler knows (compiler/memory.h), all
// else is global.
#include "vector.h"

#define KEPT __attribute__((always_inline))

__attribute__((const)) ulong hdu_memory(uint which);

INNER bool is_local(const __generic void *p)
{
    return (ulong)p - hdu_memory(0) < hdu_memory(1);
}

INNER bool is_private(const __generic void *p)
{
    ulong stack = hdu_memory(4);
    return (ulong)p - hdu_memory(2) < hdu_memory(3) |
           (ulong)p - stack < hdu_memory(5) - stack;
}

// Called so by the compiler for to_global() and the others.
KEPT global void *__to_global(__generic void *p)
{
    return (is_local(p) | is_private(p)) ? 0 : (global void *)p;
}

KEPT local void *__to_local(__generic void *p)
{
    return is_local(p) ? (local void *)p : 0;
}

KEPT private void *__to_private(__generic void *p)
{
    return is_private(p) ? (private void *)p : 0;
}

#define GET_FENCE(POINTER)                            \
    FN cl_mem_fence_flags get_fence(POINTER p)  \
    {                                                 \
        return is_local(p)     ? CLK_LOCAL_MEM_FENCE  \
               : is_private(p) ? 0                    \
                               : CLK_GLOBAL_MEM_FENCE; \
    }
GET_FENCE(__generic void *)
GET_FENCE(const __generic void *)
