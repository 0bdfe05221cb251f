// Invariant: of a range that is being copied, nobody reads the target until the
// lock is free again, and `places` says where it is valid only then.
#include "launch/memory/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launch/measure/pace.h"
#include "launch/memory/places.h"

// Small enough for a core's cache, large enough for a bus.
// Memory of the host is pinned when it was copied all of it OFTEN times, as
// that takes as long as some copies: what a program copies once is not worth
// it.
enum {
    BOUNCE =
        64 * 1024, // through host memory, where two devices need it [bytes]
    OFTEN = 4
};

// One per root that was ever used on another device, and freed with it. `lock`
// guards all of it, and copies are made with it: a launch that needs bytes
// waits for who brings them.
struct hdi_spread {
    pthread_mutex_t lock;
    struct hdi_places places;
    struct {
        struct hdi_launcher *launcher;
        void *address;
        uint64_t copied; // from and to the host's memory [bytes]
        bool pinned;     // that, for copies of this device
    } on[HDI_PLACES];    // by the launcher's number; home's is not there
};

// Copying ---------------------------------------------------------------------

static bool is_host(const struct hdi_device *device)
{
    return !device || device->can.host_memory;
}

// Between memories neither of which the other's device can reach.
static hd_status bounce(struct hdi_device *to, void *to_at,
                        struct hdi_device *from, const void *from_at,
                        uint64_t size)
{
    void *between = malloc(BOUNCE);
    hd_status status = between ? HD_OK : HD_ENOMEM;

    for (uint64_t done = 0; done < size && status == HD_OK; done += BOUNCE) {
        uint64_t now = size - done < BOUNCE ? size - done : BOUNCE;
        status = from->backend->copy(from, between,
                                     (const char *)from_at + done, now);
        if (status == HD_OK)
            status = to->backend->copy(to, (char *)to_at + done, between, now);
    }
    free(between);
    return status;
}

hd_status hdi_copy_between(struct hdi_device *to, void *to_at,
                           struct hdi_device *from, const void *from_at,
                           uint64_t size)
{
    if (is_host(to) && is_host(from)) {
        memcpy(to_at, from_at, size);
        return HD_OK;
    }
    if (is_host(to))
        return from->backend->copy(from, to_at, from_at, size);
    if (is_host(from) || from == to)
        return to->backend->copy(to, to_at, from_at, size);
    return bounce(to, to_at, from, from_at, size);
}

// One buffer ------------------------------------------------------------------

static struct hdi_spread *spread_of(const struct hd_buffer *root)
{
    return atomic_load_explicit(&root->spread, memory_order_acquire);
}

// Under the buffer's lock, or two launches would make one each. Release: who
// finds it without the lock sees it whole.
static struct hdi_spread *make(struct hd_buffer *root)
{
    pthread_mutex_lock(&root->lock);
    struct hdi_spread *s = spread_of(root);
    if (!s && (s = calloc(1, sizeof(*s)))) {
        if (hdi_places_init(&s->places, root->size, root->launcher->number)) {
            pthread_mutex_init(&s->lock, NULL);
            atomic_store_explicit(&root->spread, s, memory_order_release);
        } else {
            free(s);
            s = NULL;
        }
    }
    pthread_mutex_unlock(&root->lock);
    return s;
}

void hdi_spread_destroy(struct hd_buffer *root)
{
    struct hdi_spread *s = spread_of(root);

    if (!s)
        return;
    for (unsigned i = 0; i < HDI_PLACES; i++) {
        struct hdi_launcher *launcher = s->on[i].launcher;
        if (!launcher)
            continue;
        if (s->on[i].pinned)
            launcher->device->backend->unpin(launcher->device, root->address,
                                             root->size);
        launcher->device->backend->free(launcher->device, s->on[i].address,
                                        root->size);
        atomic_fetch_sub_explicit(&launcher->memory, root->size,
                                  memory_order_relaxed);
    }
    hdi_places_destroy(&s->places);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct hdi_launcher *launcher_at(const struct hd_buffer *root,
                                        const struct hdi_spread *s,
                                        unsigned place)
{
    return place == root->launcher->number ? root->launcher
                                           : s->on[place].launcher;
}

static struct hdi_device *device_at(const struct hd_buffer *root,
                                    const struct hdi_spread *s, unsigned place)
{
    return launcher_at(root, s, place)->device;
}

static char *memory_at(const struct hd_buffer *root, const struct hdi_spread *s,
                       unsigned place)
{
    return place == root->launcher->number ? root->address
                                           : s->on[place].address;
}

// With the lock. The memory is there afterwards.
static hd_status settle(const struct hd_buffer *root, struct hdi_spread *s,
                        struct hdi_launcher *launcher)
{
    struct hdi_device *device = launcher->device;
    unsigned place = launcher->number;
    void *address;

    if (place == root->launcher->number || s->on[place].launcher)
        return HD_OK;
    HDI_TRY(device->backend->alloc(device, root->size, &address));
    s->on[place].launcher = launcher;
    s->on[place].address = address;
    hdi_buffer_count(launcher, root->size);
    return HD_OK;
}

// From home if it is valid there, else from the first place.
static unsigned choose_source(const struct hd_buffer *root, uint64_t valid)
{
    unsigned home = root->launcher->number;

    return valid >> home & 1 ? home : (unsigned)__builtin_ctzll(valid);
}

// With the lock. Tried once: at the copy that makes it so many.
static void count_copy(const struct hd_buffer *root, struct hdi_spread *s,
                       unsigned to, unsigned from, uint64_t size)
{
    unsigned home = root->launcher->number, away = to == home ? from : to;
    struct hdi_device *device = device_at(root, s, away);
    uint64_t often = OFTEN * root->size, before = s->on[away].copied;

    if (!is_host(root->launcher->device) || is_host(device) ||
        (to != home && from != home))
        return;
    s->on[away].copied += size;
    if (device->backend->pin && before < often && before + size >= often)
        s->on[away].pinned =
            device->backend->pin(device, root->address, root->size);
}

// With the lock.
// Stretch by stretch: one version may be valid in another place than the next.
// When a copy fails the target counts as not valid, so it is tried again later.
static hd_status fetch(const struct hd_buffer *root, struct hdi_spread *s,
                       unsigned place, uint64_t begin, uint64_t end)
{
    struct hdi_stretch missing;

    while (hdi_places_missing(&s->places, begin, end, place, &missing)) {
        unsigned from = choose_source(root, missing.valid);
        uint64_t begin_time = hdi_now();
        HDI_TRY(hdi_copy_between(device_at(root, s, place),
                                 memory_at(root, s, place) + missing.begin,
                                 device_at(root, s, from),
                                 memory_at(root, s, from) + missing.begin,
                                 missing.end - missing.begin));
        hdi_pace_learn_copy(launcher_at(root, s, place),
                            missing.end - missing.begin,
                            hdi_now() - begin_time);
        count_copy(root, s, place, from, missing.end - missing.begin);
        if (!hdi_places_copied(&s->places, missing.begin, missing.end,
                               missing.version, place))
            return HD_ENOMEM;
        begin = missing.end;
    }
    return HD_OK;
}

// At home, and never used elsewhere, this is one load.
hd_status hdi_spread_use(struct hd_buffer *root, struct hdi_launcher *launcher,
                         uint64_t begin, uint64_t end, enum hdi_use use,
                         char **address, struct hd_error *error)
{
    bool at_home = root->launcher == launcher;
    struct hdi_spread *s = spread_of(root);

    if (at_home && address)
        *address = root->address;
    if (at_home && !s)
        return HD_OK;
    if (!s && !(s = make(root)))
        return hdi_fail(error, HD_ENOMEM, "no memory for a buffer's places");

    pthread_mutex_lock(&s->lock);
    hd_status status = settle(root, s, launcher);
    if (status == HD_OK && use != HDI_USE_OVERWRITE)
        status = fetch(root, s, launcher->number, begin, end);
    if (status == HD_OK && use != HDI_USE_READ && begin < end &&
        hdi_places_write(&s->places, begin, end, launcher->number) == 0)
        status = HD_ENOMEM;
    if (status == HD_OK && address)
        *address = memory_at(root, s, launcher->number);
    pthread_mutex_unlock(&s->lock);
    if (status != HD_OK)
        return hdi_fail(error, status, "a buffer cannot be brought to %s: %s",
                        launcher->device->can.description,
                        hd_status_text(status));
    return HD_OK;
}

hd_status hdi_spread_use_home(const struct hd_buffer *buffer, uint64_t offset,
                              uint64_t size, enum hdi_use use,
                              struct hd_error *error)
{
    struct hd_buffer *root = hdi_buffer_root(buffer);
    uint64_t begin = hdi_buffer_begin(buffer) + offset;

    if (!spread_of(root))
        return HD_OK;
    return hdi_spread_use(root, root->launcher, begin, begin + size, use, NULL,
                          error);
}

uint64_t hdi_spread_missing(const struct hd_buffer *root,
                            const struct hdi_launcher *launcher, uint64_t begin,
                            uint64_t end)
{
    struct hdi_spread *s = spread_of(root);
    struct hdi_stretch missing;
    uint64_t bytes = 0;

    if (!s)
        return launcher == root->launcher ? 0 : end - begin;
    pthread_mutex_lock(&s->lock);
    while (hdi_places_missing(&s->places, begin, end, launcher->number,
                              &missing)) {
        bytes += missing.end - missing.begin;
        begin = missing.end;
    }
    pthread_mutex_unlock(&s->lock);
    return bytes;
}
