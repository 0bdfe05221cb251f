// Sleeping on a word of memory (Linux futexes).
#ifndef HDI_BASE_FUTEX_H
#define HDI_BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Sleep while the word is `value`; may return early.
// The system compares and goes to sleep in one step, so a waker that changes
// the word first and wakes then is never missed. Private: no other process may
// sleep on it.
static inline void hdi_futex_wait(const void *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

// The same, for less than a second at most [ns].
static inline void hdi_futex_wait_for(const void *word, uint32_t value,
                                      long time)
{
    const struct timespec limit = {.tv_nsec = time};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0);
}

// Wake up to `count` sleepers; return how many there were. Only the address
// counts: the memory may be gone.
static inline long hdi_futex_wake(const void *word, int count)
{
    return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#endif
