// Records of events, for this folder: taking and giving back, holding, causes.
#ifndef HDI_STEAL_EVENT_RECORD_H
#define HDI_STEAL_EVENT_RECORD_H

#include "base/expect.h"
#include "steal/event.h"

enum {
    // References of a record: what starts it (a job in a queue, or the events
    // before it), its end, and each that holds or looks at it.
    HDI_START = 1,
    HDI_END = 1,
    HDI_USER = 1
};

// Lower half of `head`: a link, which is a record's index and which of its
// links, with this bit if it gives an order alone; or one of the two below.
#define HDI_LOOSE  UINT32_C(0x80000000)
#define HDI_NOBODY UINT32_C(0xfffffffe)
#define HDI_CLOSED UINT32_C(0xffffffff)

enum {
#define X(name, text) HDI_IS_##name,
    HD_STATUS_MAP(X)
#undef X
    HDI_STATUS_COUNT
};

struct hdi_cause {
    atomic_uint references; // 0: of all, never freed
    hd_status status;
    const char *text;
};

// `text` NULL or "": that of the status. Never NULL.
struct hdi_cause *hdi_cause_make(hd_status status, const char *text);
void hdi_cause_release(struct hdi_cause *cause);

// Both may be NULL: nothing.
void hdi_cause_tell(const struct hdi_cause *cause, struct hd_error *error);

// The first cause stays. The caller's reference goes with it.
void hdi_record_fail(struct hdi_event *e, struct hdi_cause *cause);

// As the one before it has failed, or not (NULL).
void hdi_record_inherit(struct hdi_event *e, struct hdi_cause *cause);
void hdi_record_forget(struct hdi_event *e);

// One that nobody else has, or NULL; may wait or run something first. And back.
struct hdi_event *hdi_record_take(struct hd_pool *pool);
void hdi_record_recycle(struct hdi_event *e);

// The record that the handle names, of whatever generation; NULL: none.
struct hdi_event *hdi_record_find(struct hd_pool *pool, hd_event event);

// Hold the record if it is of this generation still and anybody holds it.
struct hdi_event *hdi_record_hold(struct hd_pool *pool, hd_event event);
void hdi_record_let_go(struct hdi_event *e, uint32_t references);

// The same on a worker, which may keep the record for a while; NULL: anywhere.
void hdi_record_let_go_on(struct hd_worker *worker, struct hdi_event *e,
                          uint32_t references);

// From here on it can be found by its handle.
void hdi_record_begin(struct hdi_event *e, uint32_t waiting,
                      uint32_t references);

// End one whose phase the caller has changed; `drops` references of it go.
void hdi_event_finish(struct hdi_event *e, uint32_t drops);

// This thread will soon fill a record, or run it: a small launch uses so much.
static inline void hdi_record_expect(const struct hdi_event *e)
{
    hdi_expect((const char *)e, offsetof(struct hdi_event, own_room) + 512);
}

static inline struct hdi_cause *hdi_record_cause(struct hdi_event *e)
{
    return atomic_load_explicit(&e->cause, memory_order_acquire);
}

static inline uint64_t hdi_record_word(uint32_t generation, uint32_t low)
{
    return (uint64_t)generation << 32 | low;
}

static inline uint32_t hdi_record_generation(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static inline uint32_t hdi_record_low(uint64_t word)
{
    return (uint32_t)word;
}

static inline struct hdi_event *hdi_record(const struct hdi_events *events,
                                           uint32_t index)
{
    return &events->segments[index / HDI_EVENT_SEGMENT]
                            [index % HDI_EVENT_SEGMENT];
}

static inline void hdi_record_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline uint64_t hdi_record_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline bool hdi_record_change(struct hdi_event *e,
                                     enum hd_event_state from,
                                     enum hd_event_state to)
{
    unsigned char old = (unsigned char)from;
    return atomic_compare_exchange_strong_explicit(
        &e->phase, &old, (unsigned char)to, memory_order_acq_rel,
        memory_order_relaxed);
}

#endif
