// Memory orders that ThreadSanitizer can follow.
//
// Where a protocol needs a fence, the accesses beside it are relaxed. GCC and
// Clang do not model fences in ThreadSanitizer, so there the fence is left out
// and the accesses themselves carry the order that HDI_BESIDE() names. The
// fence form is the one that is model-checked (tests/models).
#ifndef HDI_BASE_ORDER_H
#define HDI_BASE_ORDER_H

#include <stdatomic.h>

#include "base/pause.h"

#if defined(__SANITIZE_THREAD__)
#define HDI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HDI_TSAN 1
#endif
#endif

#ifdef HDI_TSAN
#define HDI_BESIDE(order) memory_order_seq_cst
#define hdi_fence(order)  ((void)0)
#else
#define HDI_BESIDE(order) order
#define hdi_fence(order)  atomic_thread_fence(order)
#endif

#endif
