// The words of a group. The first: unfinished jobs, and whether anybody waits.
// The second: whether it is cancelled, and the first error; then where the
// error's text goes, and the group around this one.
//
// The group's memory may be gone as soon as the count is 0, so the job that
// makes it 0 does not touch the word again: its exchange clears the mark of the
// waiters and tells it whether there were any.
#ifndef HDI_STEAL_GROUP_H
#define HDI_STEAL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"
#include "heddle/task.h"

//     word 0    jobs * 2 | waited         HDI_GROUP_JOB, HDI_GROUP_WAITED
//     word 1    status << 8 | cancelled   set once, never cleared
//     word 2    struct hd_error *         NULL: no text is wanted
//     word 3    struct hd_group *         around it; NULL: none
enum {
    HDI_GROUP_WAITED = 1, // somebody sleeps, or is about to
    HDI_GROUP_JOB = 2     // one job
};

enum {
    HDI_GROUP_CANCELLED = 1, // of the second word
    HDI_GROUP_STATUS = 8     // the first error's bits begin here
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

// Relaxed: whoever submits a job holds the group, and the job itself is
// released by the queue it goes to.
static inline void hdi_group_enter(struct hd_group *group)
{
    __atomic_fetch_add(hdi_group_word(group), HDI_GROUP_JOB, __ATOMIC_RELAXED);
}

// True when the last of these jobs was the group's last and somebody waits.
// Releases what they did to those who see the count at 0.
static inline bool hdi_group_leave(struct hd_group *group, unsigned jobs)
{
    uint64_t *word = hdi_group_word(group);
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    uint64_t left;

    do {
        left = old - (uint64_t)jobs * HDI_GROUP_JOB;
        if (left < HDI_GROUP_JOB)
            left = 0;
    } while (!__atomic_compare_exchange_n(word, &old, left, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return left == 0 && (old & HDI_GROUP_WAITED);
}

// Acquire, for the release in hdi_group_leave(): what the jobs did is seen.
static inline bool hdi_group_done(struct hd_group *group)
{
    return __atomic_load_n(hdi_group_word(group),
                           HDI_BESIDE(__ATOMIC_ACQUIRE)) < HDI_GROUP_JOB;
}

// Mark the group as waited for; the word to sleep on, or 0 when it is done.
// In one step with the look at the count: the job that makes it 0 then sees the
// mark, or the mark is not set at all.
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

static inline uint64_t hdi_group_fate(const struct hd_group *group)
{
    return __atomic_load_n(&group->state_.word[1],
                           HDI_BESIDE(__ATOMIC_RELAXED));
}

static inline struct hd_error *hdi_group_error(const struct hd_group *group)
{
    return (struct hd_error *)(uintptr_t)group->state_.word[2];
}

static inline struct hd_group *hdi_group_parent(const struct hd_group *group)
{
    return (struct hd_group *)(uintptr_t)__atomic_load_n(&group->state_.word[3],
                                                         __ATOMIC_RELAXED);
}

// Whether it or a group around it is cancelled. NULL is not.
// The parents stay as long as a scope is open in them. Chains are as long as
// scopes are deep.
static inline bool hdi_group_cancelled(const struct hd_group *group)
{
    for (; group; group = hdi_group_parent(group))
        if (hdi_group_fate(group) & HDI_GROUP_CANCELLED)
            return true;
    return false;
}

// Cancel it for this error. True for the first.
static inline bool hdi_group_fail(struct hd_group *group, hd_status status)
{
    uint64_t *word = &group->state_.word[1];
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    do {
        if (old >> HDI_GROUP_STATUS)
            return false;
    } while (!__atomic_compare_exchange_n(
        word, &old,
        old | HDI_GROUP_CANCELLED | (uint64_t)status << HDI_GROUP_STATUS, true,
        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return true;
}

#endif
