// The one word of a group: unfinished jobs, and whether anybody waits.
//
// The group's memory may be gone as soon as the count is 0, so the job that
// makes it 0 does not touch the word again: its exchange clears the mark of the
// waiters and tells it whether there were any.
#ifndef HDI_STEAL_GROUP_H
#define HDI_STEAL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/task.h"
#include "steal/order.h"

enum {
    HDI_GROUP_WAITED = 1, // somebody sleeps, or is about to
    HDI_GROUP_JOB = 2     // one job
};

static inline uint64_t *hdi_group_word(struct hd_group *group)
{
    return &group->state_.word[0];
}

// The half that changes, for a futex.
static inline const void *hdi_group_futex(struct hd_group *group)
{
    const char *word = (const char *)hdi_group_word(group);
    return word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
}

static inline void hdi_group_enter(struct hd_group *group)
{
    __atomic_fetch_add(hdi_group_word(group), HDI_GROUP_JOB, __ATOMIC_RELAXED);
}

// True when the last job left and somebody waits. Releases what the job did to
// those who see the count at 0.
static inline bool hdi_group_leave(struct hd_group *group)
{
    uint64_t *word = hdi_group_word(group);
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    uint64_t left;

    do {
        left = old - HDI_GROUP_JOB;
        if (left < HDI_GROUP_JOB)
            left = 0;
    } while (!__atomic_compare_exchange_n(word, &old, left, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return left == 0 && (old & HDI_GROUP_WAITED);
}

static inline bool hdi_group_done(struct hd_group *group)
{
    return __atomic_load_n(hdi_group_word(group),
                           HDI_BESIDE(__ATOMIC_ACQUIRE)) < HDI_GROUP_JOB;
}

// Mark the group as waited for; the word to sleep on, or 0 when it is done.
static inline uint64_t hdi_group_mark(struct hd_group *group)
{
    uint64_t *word = hdi_group_word(group);
    uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    while (old >= HDI_GROUP_JOB && !(old & HDI_GROUP_WAITED))
        if (__atomic_compare_exchange_n(word, &old, old | HDI_GROUP_WAITED,
                                        true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_ACQUIRE))
            old |= HDI_GROUP_WAITED;
    return old >= HDI_GROUP_JOB ? old : 0;
}

#endif
