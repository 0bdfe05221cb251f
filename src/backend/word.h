// Words of memory that two processors share, on either side of a bus.
//
// Loads and stores are relaxed and never torn; order comes from the fences
// alone, and nothing here is a read-modify-write. The same three forms of the
// same code:
//
//     host       C11: relaxed atomics, atomic_thread_fence
//     sanitized  ThreadSanitizer does not model fences: they are left out and
//                the accesses themselves are sequentially consistent
//     nvptx64    inline assembly at system scope: clang 19 cannot select C11
//                acquire and release there
#ifndef HDI_BACKEND_WORD_H
#define HDI_BACKEND_WORD_H

#include <stdint.h>

#if defined(__NVPTX__)

typedef uint64_t hdi_word;

static inline uint64_t hdi_word_load(const hdi_word *word)
{
    uint64_t value;
    __asm__ __volatile__("ld.relaxed.sys.u64 %0, [%1];"
                         : "=l"(value)
                         : "l"(word)
                         : "memory");
    return value;
}

static inline void hdi_word_store(hdi_word *word, uint64_t value)
{
    __asm__ __volatile__("st.relaxed.sys.u64 [%0], %1;"
                         :
                         : "l"(word), "l"(value)
                         : "memory");
}

#define HDI_WORD_FENCE(name, instruction)                       \
    static inline void hdi_word_##name(void)                    \
    {                                                           \
        __asm__ __volatile__(instruction ".sys;" ::: "memory"); \
    }
HDI_WORD_FENCE(acquire, "fence.acq_rel")
HDI_WORD_FENCE(release, "fence.acq_rel")
HDI_WORD_FENCE(settle, "fence.sc")
#undef HDI_WORD_FENCE

static inline void hdi_word_claim(const hdi_word *word)
{
    (void)word; // stores are posted over the bus: no line is fetched for them
}

#else

#include <stdatomic.h>

#if defined(__SANITIZE_THREAD__)
#define HDI_WORD_ORDER memory_order_seq_cst
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HDI_WORD_ORDER memory_order_seq_cst
#endif
#endif
#ifdef HDI_WORD_ORDER
#define HDI_WORD_FENCE(order) ((void)0)
#else
#define HDI_WORD_ORDER        memory_order_relaxed
#define HDI_WORD_FENCE(order) atomic_thread_fence(order)
#endif

typedef _Atomic uint64_t hdi_word;

static inline uint64_t hdi_word_load(const hdi_word *word)
{
    return atomic_load_explicit(word, HDI_WORD_ORDER);
}

static inline void hdi_word_store(hdi_word *word, uint64_t value)
{
    atomic_store_explicit(word, value, HDI_WORD_ORDER);
}

// After a load that saw something: what was stored before that is seen too.
static inline void hdi_word_acquire(void)
{
    HDI_WORD_FENCE(memory_order_acquire);
}

// Before a store that says something: what was stored earlier is seen with it.
static inline void hdi_word_release(void)
{
    HDI_WORD_FENCE(memory_order_release);
}

// Between a store and a load, against hdi_mailbox_settle() on the other side,
// which does the rest: at least one side sees the other's store. Nothing but
// order for the compiler here, since it is passed for every task.
static inline void hdi_word_settle(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

// A hint, without order: this side stores there soon, and the other has read
// what it stored last. The line is fetched meanwhile.
static inline void hdi_word_claim(const hdi_word *word)
{
#if defined(__x86_64__)
    // The compiler's own is a plain read where it may not rely on this one,
    // which does nothing on a processor that lacks it.
    __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)word));
#else
    __builtin_prefetch((const void *)word, 1);
#endif
}

#endif

#endif
