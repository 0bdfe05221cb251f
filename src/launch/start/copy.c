// Copies and fills that are started: rows of bytes between two layouts.
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "launch/memory/buffer.h"
#include "launch/memory/seal.h"
#include "launch/memory/spread.h"
#include "launch/start/start.h"
#include "steal/event.h"
#include "steal/worker.h"

// STEP: what a cancelled copy still does, some 0.4 ms at 10 GB/s. BLOCK: stays
// in a core's cache.
enum {
    STEP = 4 << 20,    // copied between two looks whether to go on [bytes]
    BLOCK = 64 * 1024, // of a pattern again and again [bytes]
    MAX_PATTERN = 128, // [bytes]
    PATIENCE = 200,    // looks at a copy that is under way, before naps
    NAP = 20000        // between looks then [ns]
};

// Memory and how it is laid out.
struct side {
    struct hd_buffer *buffer; // held; NULL: host memory
    char *at;
    uint64_t size;       // from the first byte to the last
    uint64_t row, slice; // from one to the next [bytes]
};

// In the room of its event.
struct copy {
    struct side to, from;
    struct hd_extent extent;
    // Of one that the device makes meanwhile:
    struct hdi_event *event;
    struct hdi_device *device;
    struct hdi_device_copy move;
    struct hd_work work;
    unsigned looks; // that found nothing new
    uint64_t begin; // [ns]
};

// The same. The pattern is copied: the caller's may be gone.
struct fill {
    struct hd_buffer *to; // held
    uint64_t offset, size;
    unsigned pattern_size;
    unsigned char pattern[MAX_PATTERN];
};

// Checking --------------------------------------------------------------------

// All counts are 1 at least.
static struct hd_extent complete(const struct hd_extent *e)
{
    if (e->bytes == 0)
        return (struct hd_extent){0, 1, 1};
    return (struct hd_extent){e->bytes, e->rows ? e->rows : 1,
                              e->slices ? e->slices : 1};
}

// The pitches, and how far the last byte is from the first, +1.
// All sums and products are checked: pitches come from the application.
static hd_status lay_out(const struct hd_layout *given,
                         const struct hd_extent *e, const char *what,
                         struct hd_layout *layout, uint64_t *size,
                         struct hd_error *error)
{
    uint64_t rows, all_rows, slices;

    *layout = given ? *given : (struct hd_layout){0};
    if (layout->row_pitch == 0)
        layout->row_pitch = e->bytes;
    bool fits = !__builtin_mul_overflow(layout->row_pitch, e->rows, &all_rows);
    if (fits && layout->slice_pitch == 0)
        layout->slice_pitch = all_rows;
    if (layout->row_pitch < e->bytes && e->rows > 1)
        return hdi_fail(error, HD_EINVAL,
                        "rows of %" PRIu64 " bytes %s are %" PRIu64
                        " bytes from each other",
                        e->bytes, what, layout->row_pitch);
    if (fits && layout->slice_pitch < all_rows && e->slices > 1)
        return hdi_fail(error, HD_EINVAL,
                        "slices of %" PRIu64 " bytes %s are %" PRIu64
                        " bytes from each other",
                        all_rows, what, layout->slice_pitch);
    fits =
        fits &&
        !__builtin_mul_overflow(layout->row_pitch, e->rows - 1, &rows) &&
        !__builtin_mul_overflow(layout->slice_pitch, e->slices - 1, &slices) &&
        !__builtin_add_overflow(rows, slices, size) &&
        !__builtin_add_overflow(*size, e->bytes, size);
    if (!fits)
        return hdi_fail(error, HD_EINVAL, "a copy of more than 2^64 bytes %s",
                        what);
    return HD_OK;
}

static hd_status make_side(const struct hdi_side *given,
                           const struct hd_extent *extent, const char *what,
                           struct side *side, uint64_t *size,
                           struct hd_error *error)
{
    struct hd_layout layout;

    HDI_TRY(lay_out(given->layout, extent, what, &layout, size, error));
    if (given->buffer)
        HDI_TRY(hdi_buffer_check(given->buffer, layout.offset, *size, error));
    else if (!given->memory && *size > 0)
        return hdi_fail(error, HD_EINVAL, "a copy %s NULL", what);
    char *memory = given->buffer ? given->buffer->address : given->memory;
    *side = (struct side){given->buffer, memory + layout.offset, *size,
                          layout.row_pitch, layout.slice_pitch};
    return HD_OK;
}

// Of parts with the same pitches in one memory. They may lie between each
// other's rows: that is no overlap (OpenCL 3.0, appendix D).
static bool rows_overlap(const struct copy *c, uint64_t apart)
{
    const struct hd_extent *e = &c->extent;
    uint64_t row = c->to.row, slice = c->to.slice;
    uint64_t slices = e->slices > 1 ? apart / slice : 0;
    uint64_t rest = e->slices > 1 ? apart % slice : apart;

    // The later part begins `slices` slices and `rest` bytes behind. So begins
    // the next slice of the earlier one, seen from its end.
    for (int next = 0; next < 2; next++, slices++) {
        if (slices >= e->slices)
            return false;
        uint64_t ahead = next ? slice - rest : rest;
        uint64_t rows = e->rows > 1 ? ahead / row : 0;
        uint64_t bytes = e->rows > 1 ? ahead % row : ahead;
        if (rows < e->rows && bytes < e->bytes)
            return true;
        if (e->rows > 1 && rows + 1 < e->rows && row - bytes < e->bytes)
            return true;
        if (e->slices == 1)
            return false;
    }
    return false;
}

// Cheap first: ranges that do not meet. Parts with other pitches that do meet
// count as overlapping, without looking closer.
static bool overlap(const struct copy *c, uint64_t to_size, uint64_t from_size)
{
    uintptr_t to = (uintptr_t)c->to.at, from = (uintptr_t)c->from.at;

    if (to_size == 0 || from_size == 0 || to + to_size <= from ||
        from + from_size <= to)
        return false;
    bool same = (c->extent.rows == 1 || c->to.row == c->from.row) &&
                (c->extent.slices == 1 || c->to.slice == c->from.slice);
    return !same || rows_overlap(c, to > from ? to - from : from - to);
}

// Copying ---------------------------------------------------------------------

static struct hdi_device *device_of(const struct side *side)
{
    return side->buffer ? side->buffer->launcher->device : NULL;
}

static bool is_host(const struct hdi_device *device)
{
    return !device || device->can.host_memory;
}

static hd_status copy_bytes(const struct copy *c, void *to, const void *from,
                            uint64_t size)
{
    return hdi_copy_between(device_of(&c->to), to, device_of(&c->from), from,
                            size);
}

// Rows that lie one behind the other on both sides are one row.
static struct copy flatten(const struct copy *copy)
{
    struct copy c = *copy;
    struct hd_extent *e = &c.extent;

    if (e->rows > 1 && c.to.row == e->bytes && c.from.row == e->bytes &&
        (e->slices == 1 || (c.to.slice == e->bytes * e->rows &&
                            c.from.slice == e->bytes * e->rows))) {
        e->bytes *= e->rows * e->slices;
        e->rows = e->slices = 1;
    }
    return c;
}

static bool goes_on(const struct hdi_event *event)
{
    return !hdi_pool_cancelled(event->pool, &event->group);
}

// Row by row, and long rows in steps, so that it can be cancelled.
static hd_status copy_all(const struct hdi_event *event, const struct copy *c)
{
    uint64_t since = 0;

    for (uint64_t z = 0; z < c->extent.slices; z++)
        for (uint64_t y = 0; y < c->extent.rows; y++) {
            char *to = c->to.at + z * c->to.slice + y * c->to.row;
            const char *from = c->from.at + z * c->from.slice + y * c->from.row;
            for (uint64_t x = 0, now; x < c->extent.bytes; x += now) {
                now = c->extent.bytes - x < STEP ? c->extent.bytes - x : STEP;
                if (since >= STEP) {
                    if (!goes_on(event))
                        return HD_ECANCELED;
                    since = 0;
                }
                since += now;
                hd_status status = copy_bytes(c, to + x, from + x, now);
                if (status != HD_OK)
                    return status;
            }
        }
    return HD_OK;
}

static void explain(struct hd_error *error, hd_status status, const char *what,
                    const struct hd_buffer *buffer)
{
    if (status != HD_OK)
        hdi_fail(error, status, "a %s on %s: %s", what,
                 buffer->launcher->device->can.description,
                 hd_status_text(status));
    error->status = status;
}

static void count(struct hd_worker *worker, struct hdi_event *event,
                  uint64_t begin)
{
    hdi_cost_add(&event->cost, begin, hdi_now(), 0, hd_worker_index(worker));
}

// Both sides are valid at home when it runs.
static hd_status settle(const struct side *side, enum hdi_use use,
                        struct hd_error *error)
{
    if (!side->buffer)
        return HD_OK;
    return hdi_spread_use_home(
        side->buffer, (uint64_t)(side->at - (char *)side->buffer->address),
        side->size, use, error);
}

static void end(struct hd_worker *worker, const struct copy *copy,
                hd_status status, struct hd_error *error)
{
    if (copy->to.buffer)
        hdi_seal_restore(copy->to.buffer);
    count(worker, copy->event, copy->begin);
    explain(error, status, "copy",
            copy->to.buffer ? copy->to.buffer : copy->from.buffer);
}

// The device that makes it while the worker does something else; NULL: none
// does.
static struct hdi_device *mover_of(const struct copy *c)
{
    struct hdi_device *to = device_of(&c->to), *from = device_of(&c->from);
    struct hdi_device *device = is_host(to) ? from : to;

    return !is_host(device) && device->backend->move &&
                   (is_host(to) || is_host(from) || to == from)
               ? device
               : NULL;
}

// Whether it has ended. One that is cancelled ends with what is under way.
static bool go_on(struct copy *copy)
{
    struct hdi_device_copy *m = &copy->move;
    uint64_t ended = m->ended;

    if (!goes_on(copy->event))
        m->size = m->begun;
    bool has_ended = copy->device->backend->move(copy->device, m);
    if (has_ended && m->status == HD_OK && m->ended < copy->extent.bytes)
        m->status = HD_ECANCELED;
    copy->looks = m->ended > ended ? 0 : copy->looks + 1;
    return has_ended;
}

// One look. It submits itself again with the lowest priority, so all other work
// of the pool comes before the next.
static void look(struct hd_worker *worker, struct hd_work *work,
                 hd_status status)
{
    struct copy *copy =
        (struct copy *)(void *)((char *)work - offsetof(struct copy, work));
    struct hdi_event *event = copy->event;
    struct hd_error error = {.status = HD_OK};

    (void)status;
    if (go_on(copy)) {
        end(worker, copy, copy->move.status, &error);
        hdi_event_end(event, error.status,
                      error.status != HD_OK ? error.text : NULL);
        return;
    }
    if (copy->looks < PATIENCE)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    hd_submit_work(event->pool, work);
}

// A copy of rows leaves the bytes between them, so the target counts as
// written, not overwritten.
static bool run_copy(struct hd_worker *worker, struct hdi_event *event,
                     struct hd_error *error)
{
    struct copy *copy = event->room;

    *copy = flatten(copy);
    bool whole = copy->extent.rows == 1 && copy->extent.slices == 1;
    copy->begin = hdi_now();
    copy->event = event;
    if (settle(&copy->from, HDI_USE_READ, error) != HD_OK ||
        settle(&copy->to, whole ? HDI_USE_OVERWRITE : HDI_USE_WRITE, error) !=
            HD_OK)
        return true;
    if (copy->to.buffer)
        hdi_seal_lift(copy->to.buffer);
    hd_publish(worker);
    copy->device = whole ? mover_of(copy) : NULL;
    if (!copy->device) {
        end(worker, copy, copy_all(event, copy), error);
        return true;
    }
    copy->move = (struct hdi_device_copy){
        .to = copy->to.at, .from = copy->from.at, .size = copy->extent.bytes};
    if (go_on(copy)) {
        end(worker, copy, copy->move.status, error);
        return true;
    }
    copy->work = (struct hd_work){.job = {.run = hdi_run_nothing},
                                  .done = look,
                                  .priority = HD_PRIORITY_LOW};
    hd_submit_work(event->pool, &copy->work);
    return false;
}

static void drop_copy(struct hdi_event *event)
{
    const struct copy *copy = event->room;

    hd_buffer_destroy(copy->to.buffer);
    hd_buffer_destroy(copy->from.buffer);
}

static const struct hdi_event_kind copies = {.run = run_copy,
                                             .drop = drop_copy};

// A record with room, or NULL.
static struct hdi_event *take(struct hd_pool *pool,
                              const struct hd_start *start,
                              const struct hdi_event_kind *kind, size_t size,
                              hd_status *status, struct hd_error *error)
{
    struct hdi_event *event = NULL;

    *status = start ? hdi_event_check(pool, start, error) : HD_OK;
    if (*status == HD_OK)
        *status = hdi_event_take(pool, kind, &event, error);
    if (*status != HD_OK)
        return NULL;
    if (hdi_event_room(event, size))
        return event;
    hdi_event_give_back(event);
    *status = hdi_fail(error, HD_ENOMEM, "no memory for a copy");
    return NULL;
}

hd_status hdi_copy_start(struct hd_pool *pool, const struct hd_start *start,
                         const struct hdi_side *to, const struct hdi_side *from,
                         const struct hd_extent *extent, hd_event *handle,
                         struct hd_error *error)
{
    struct copy copy = {.extent = complete(extent)};
    uint64_t to_size = 0, from_size = 0;
    hd_status status;

    HDI_TRY(make_side(to, &copy.extent, "to", &copy.to, &to_size, error));
    HDI_TRY(
        make_side(from, &copy.extent, "from", &copy.from, &from_size, error));
    if (overlap(&copy, to_size, from_size))
        return hdi_fail(error, HD_EINVAL,
                        "a copy to memory that it copies from");
    struct hdi_event *event =
        take(pool, start, &copies, sizeof(copy), &status, error);
    if (!event)
        return status;
    if (copy.to.buffer)
        hdi_buffer_hold(copy.to.buffer);
    if (copy.from.buffer)
        hdi_buffer_hold(copy.from.buffer);
    atomic_store_explicit(&event->bytes,
                          2 * copy.extent.bytes * copy.extent.rows *
                              copy.extent.slices,
                          memory_order_relaxed);
    *(struct copy *)event->room = copy;
    return hdi_event_start(event, start, handle, error);
}

// Filling ---------------------------------------------------------------------

// Patterns one behind the other; returns how many bytes of whole ones.
// Doubles what is there, so a block takes few calls.
static uint64_t repeat(const struct fill *f, char *to, uint64_t most)
{
    uint64_t size = f->size < most ? f->size : most - most % f->pattern_size;

    if (f->pattern_size == 1) {
        memset(to, f->pattern[0], size);
        return size;
    }
    memcpy(to, f->pattern, f->pattern_size);
    for (uint64_t done = f->pattern_size; done < size; done *= 2)
        memcpy(to + done, to, done < size - done ? done : size - done);
    return size;
}

// The first block is the source of all others, and stays in the cache.
static hd_status fill_host(const struct hdi_event *event, const struct fill *f)
{
    char *to = (char *)f->to->address + f->offset;
    uint64_t first = repeat(f, to, BLOCK);

    for (uint64_t done = first; done < f->size; done += first) {
        uint64_t now = f->size - done < first ? f->size - done : first;
        if (done / STEP != (done - first) / STEP && !goes_on(event))
            return HD_ECANCELED;
        memcpy(to + done, to, now);
    }
    return HD_OK;
}

static hd_status fill_device(const struct hdi_event *event,
                             const struct fill *f)
{
    struct hdi_device *device = f->to->launcher->device;
    char *to = (char *)f->to->address + f->offset;
    char *block = malloc(BLOCK);
    hd_status status = block ? HD_OK : HD_ENOMEM;
    uint64_t size = block ? repeat(f, block, BLOCK) : 0;

    for (uint64_t done = 0; done < f->size && status == HD_OK; done += size) {
        uint64_t now = f->size - done < size ? f->size - done : size;
        status = goes_on(event)
                     ? device->backend->copy(device, to + done, block, now)
                     : HD_ECANCELED;
    }
    free(block);
    return status;
}

static bool run_fill(struct hd_worker *worker, struct hdi_event *event,
                     struct hd_error *error)
{
    const struct fill *f = event->room;
    uint64_t begin = hdi_now();

    if (hdi_spread_use_home(f->to, f->offset, f->size, HDI_USE_OVERWRITE,
                            error) != HD_OK)
        return true;
    hdi_seal_lift(f->to);
    hd_publish(worker);
    hd_status status = f->size == 0 ? HD_OK
                       : is_host(f->to->launcher->device)
                           ? fill_host(event, f)
                           : fill_device(event, f);
    hdi_seal_restore(f->to);
    count(worker, event, begin);
    explain(error, status, "fill", f->to);
    return true;
}

static void drop_fill(struct hdi_event *event)
{
    hd_buffer_destroy(((const struct fill *)event->room)->to);
}

static const struct hdi_event_kind fills = {.run = run_fill, .drop = drop_fill};

hd_status hdi_fill_start(struct hd_pool *pool, const struct hd_start *start,
                         struct hd_buffer *to, uint64_t offset, uint64_t size,
                         const void *pattern, unsigned pattern_size,
                         hd_event *handle, struct hd_error *error)
{
    hd_status status;

    if (pattern_size == 0 || pattern_size > MAX_PATTERN ||
        size % pattern_size != 0)
        return hdi_fail(error, HD_EINVAL,
                        "%" PRIu64 " bytes cannot be filled with a pattern of "
                        "%u bytes: 1 to %d, which divide them",
                        size, pattern_size, MAX_PATTERN);
    HDI_TRY(hdi_buffer_check(to, offset, size, error));
    struct hdi_event *event =
        take(pool, start, &fills, sizeof(struct fill), &status, error);
    if (!event)
        return status;
    hdi_buffer_hold(to);
    struct fill *f = event->room;
    *f = (struct fill){
        .to = to, .offset = offset, .size = size, .pattern_size = pattern_size};
    memcpy(f->pattern, pattern, pattern_size);
    atomic_store_explicit(&event->bytes, size, memory_order_relaxed);
    return hdi_event_start(event, start, handle, error);
}
