// Invariant: frames [0, count) have bases that do not fall.
#include "steal/worker/scope.h"

#include "base/memory.h"

enum {
    BYTES = HDI_MAX_FRAMES * sizeof(struct hdi_scope_frame)
};

bool hdi_scopes_init(struct hdi_scopes *scopes)
{
    scopes->frames = hdi_map(BYTES); // touched when used
    atomic_init(&scopes->count, 0);
    return scopes->frames != NULL;
}

void hdi_scopes_destroy(struct hdi_scopes *scopes)
{
    if (scopes->frames)
        hdi_unmap(scopes->frames, BYTES);
}

static uint32_t count_of(const struct hdi_scopes *scopes)
{
    return atomic_load_explicit(&scopes->count, memory_order_relaxed);
}

// Thieves read frames while the owner adds more: `count` releases a frame to
// hdi_scopes_of().
bool hdi_scopes_enter(struct hdi_scopes *scopes, uint32_t base,
                      struct hd_group *group)
{
    uint32_t n = count_of(scopes);

    if (n == HDI_MAX_FRAMES)
        return false;
    atomic_store_explicit(&scopes->frames[n].base, base, memory_order_relaxed);
    atomic_store_explicit(&scopes->frames[n].group, group,
                          memory_order_relaxed);
    atomic_store_explicit(&scopes->count, n + 1, memory_order_release);
    return true;
}

void hdi_scopes_leave(struct hdi_scopes *scopes)
{
    // Nobody asks for what this frame covered. Release: a later count must
    // carry the frames below like an earlier one.
    atomic_store_explicit(&scopes->count, count_of(scopes) - 1,
                          memory_order_release);
}

struct hd_group *hdi_scopes_now(const struct hdi_scopes *scopes)
{
    uint32_t n = count_of(scopes);
    return n == 0 ? NULL
                  : atomic_load_explicit(&scopes->frames[n - 1].group,
                                         memory_order_relaxed);
}

uint32_t hdi_scopes_base(const struct hdi_scopes *scopes)
{
    uint32_t n = count_of(scopes);
    return n == 0 ? 0
                  : atomic_load_explicit(&scopes->frames[n - 1].base,
                                         memory_order_relaxed);
}

// The record was taken, so its frame cannot be left before it is joined: what
// is found stays true.
struct hd_group *hdi_scopes_of(const struct hdi_scopes *scopes, uint32_t record)
{
    uint32_t n = atomic_load_explicit(&scopes->count, memory_order_acquire);

    while (n-- > 0)
        if (atomic_load_explicit(&scopes->frames[n].base,
                                 memory_order_relaxed) <= record)
            return atomic_load_explicit(&scopes->frames[n].group,
                                        memory_order_relaxed);
    return NULL;
}
