// Invariant: of a range that is being copied, nobody reads the target until the
// lock is free again, and `places` says where it is valid only then.
#include "launch/memory/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launch/measure/pace.h"
#include "launch/memory/image.h"
#include "launch/memory/places.h"

enum {
    BOUNCE =
        64 * 1024,  // through host memory, where two devices need it [bytes]
    MAX_ROWS = 4096 // of a footprint that are looked at by themselves
};

struct hdi_spread {
    pthread_mutex_t lock;
    struct hdi_places places;
    struct {
        struct hdi_launcher *launcher;
        void *address;
    } on[HDI_PLACES]; // by the launcher's number; home's is not there
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
static bool settle(const struct hd_buffer *root, struct hdi_spread *s,
                   struct hdi_launcher *launcher)
{
    struct hdi_device *device = launcher->device;
    unsigned place = launcher->number;
    void *address;

    if (place == root->launcher->number || s->on[place].launcher)
        return true;
    if (device->backend->alloc(device, root->size, &address) != HD_OK)
        return false;
    s->on[place].launcher = launcher;
    s->on[place].address = address;
    hdi_buffer_count(launcher, root->size);
    return true;
}

// From home if it is valid there, else from the first place.
static unsigned choose_source(const struct hd_buffer *root, uint64_t valid)
{
    unsigned home = root->launcher->number;

    return valid >> home & 1 ? home : (unsigned)__builtin_ctzll(valid);
}

// With the lock.
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
        if (!hdi_places_copied(&s->places, missing.begin, missing.end,
                               missing.version, place))
            return HD_ENOMEM;
        begin = missing.end;
    }
    return HD_OK;
}

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
    hd_status status = settle(root, s, launcher) ? HD_OK : HD_ENOMEM;
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

static uint64_t offset_in_root(const struct hd_buffer *buffer)
{
    return buffer->root ? (uint64_t)((const char *)buffer->address -
                                     (const char *)buffer->root->address)
                        : 0;
}

hd_status hdi_spread_use_home(const struct hd_buffer *buffer, uint64_t offset,
                              uint64_t size, enum hdi_use use,
                              struct hd_error *error)
{
    struct hd_buffer *root =
        hdi_buffer_root((struct hd_buffer *)(uintptr_t)buffer);
    uint64_t begin = offset_in_root(buffer) + offset;

    if (!spread_of(root))
        return HD_OK;
    return hdi_spread_use(root, root->launcher, begin, begin + size, use, NULL,
                          error);
}

// Launches --------------------------------------------------------------------

// What of a buffer a launch uses, in one way.
struct use {
    struct hd_buffer *root;
    struct hdi_launcher *launcher;
    uint64_t begin, size; // of the buffer in its root
    enum hdi_use use;
    uint64_t *missing; // only count the bytes that are not there; optional
};

static uint64_t count_missing(const struct use *u, uint64_t begin, uint64_t end)
{
    struct hdi_spread *s = spread_of(u->root);
    struct hdi_stretch missing;
    uint64_t bytes = 0;

    if (!s)
        return u->launcher == u->root->launcher ? 0 : end - begin;
    pthread_mutex_lock(&s->lock);
    while (hdi_places_missing(&s->places, begin, end, u->launcher->number,
                              &missing)) {
        bytes += missing.end - missing.begin;
        begin = missing.end;
    }
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

static hd_status use_range(const struct use *u, int64_t begin, uint64_t bytes,
                           struct hd_error *error)
{
    uint64_t first = begin < 0 ? 0 : (uint64_t)begin;
    uint64_t end =
        begin < 0 && bytes < (uint64_t)-begin ? 0 : (uint64_t)begin + bytes;

    end = end < u->size ? end : u->size;
    if (first >= end)
        return HD_OK;
    if (u->missing) {
        *u->missing += count_missing(u, u->begin + first, u->begin + end);
        return HD_OK;
    }
    return hdi_spread_use(u->root, u->launcher, u->begin + first,
                          u->begin + end, u->use, NULL, error);
}

// Row by row, unless there are many: others may write what lies between.
static hd_status use_touched(const struct use *u, const struct hd_touched *t,
                             struct hd_error *error)
{
    uint64_t count[2] = {t->count[0], t->count[1]}, bytes = t->bytes;

    if (t->kind == HD_TOUCHES_NOTHING)
        return HD_OK;
    if (t->kind == HD_TOUCHES_ALL)
        return use_range(u, 0, u->size, error);
    for (int i = 0; i < 2; i++)
        if (t->stride[i] <= bytes || t->count[0] * t->count[1] > MAX_ROWS) {
            bytes += (count[i] - 1) * t->stride[i];
            count[i] = 1;
        } else {
            break;
        }
    for (uint64_t z = 0; z < count[1]; z++)
        for (uint64_t y = 0; y < count[0]; y++)
            HDI_TRY(use_range(
                u, t->begin + (int64_t)(z * t->stride[1] + y * t->stride[0]),
                bytes, error));
    return HD_OK;
}

static struct use use_of(struct hdi_launcher *launcher,
                         const struct hd_arg *arg)
{
    struct hd_buffer *buffer = (struct hd_buffer *)(uintptr_t)arg->buffer;

    return (struct use){.root = hdi_buffer_root(buffer),
                        .launcher = launcher,
                        .begin = offset_in_root(buffer),
                        .size = buffer->size,
                        .use = HDI_USE_READ};
}

// All that is written, and nothing of it read.
static bool is_overwritten(const struct hd_footprint *footprint)
{
    return footprint->read.kind == HD_TOUCHES_NOTHING && footprint->write.exact;
}

static hd_status bring(struct hdi_launcher *launcher,
                       const struct hd_footprint *footprint, struct hd_arg *arg,
                       struct hd_buffer *twin, struct hd_error *error)
{
    const struct hd_buffer *buffer = arg->buffer;
    struct use u = use_of(launcher, arg);
    bool unread = is_overwritten(footprint);
    char *address;

    HDI_TRY(use_touched(&u, &footprint->read, error));
    u.use = unread ? HDI_USE_OVERWRITE : HDI_USE_WRITE;
    HDI_TRY(use_touched(&u, &footprint->write, error));
    HDI_TRY(
        hdi_spread_use(u.root, launcher, 0, 0, HDI_USE_READ, &address, error));
    if (u.root->launcher == launcher)
        return HD_OK;
    *twin = (struct hd_buffer){.launcher = launcher,
                               .address = address + u.begin,
                               .size = buffer->size,
                               .borrowed = true,
                               .lock = PTHREAD_MUTEX_INITIALIZER};
    arg->buffer = twin;
    return HD_OK;
}

// Where it cannot be told, everything.
static void find_footprints(const struct hd_kernel *kernel,
                            const struct hdi_plan *plan,
                            const struct hdi_box *part,
                            const struct hd_arg *args, unsigned arg_count,
                            struct hd_footprint *footprints)
{
    struct hd_range range = {.dims = plan->frame.dims};
    struct hd_piece piece;
    struct hd_error error;

    for (unsigned d = 0; d < 3; d++) {
        range.global[d] = plan->frame.global[d];
        range.local[d] = plan->frame.local_size[d];
        range.offset[d] = plan->frame.offset[d];
        piece.first[d] = part ? part->first[d] : 0;
        piece.count[d] = part ? part->count[d] : plan->frame.group_count[d];
    }
    if (hd_kernel_footprint(kernel, &range, args, arg_count, &piece, footprints,
                            &error) == HD_OK)
        return;
    static const struct hd_touched all = {.kind = HD_TOUCHES_ALL};
    for (unsigned i = 0; i < arg_count; i++)
        footprints[i] = (struct hd_footprint){all, all};
}

hd_status hdi_spread_begin(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_plan *plan,
                           const struct hdi_box *part,
                           const struct hd_arg *args, unsigned arg_count,
                           struct hdi_spread_args *spread,
                           struct hd_error *error)
{
    struct hdi_spread_args s = {
        .args = malloc((arg_count + 1) * sizeof(*s.args)),
        .twins = calloc(arg_count + 1, sizeof(*s.twins))};
    struct hd_footprint *footprints =
        calloc(arg_count + 1, sizeof(*footprints));
    hd_status status = HD_OK;

    if (!s.args || !s.twins || !footprints)
        status = hdi_fail(error, HD_ENOMEM,
                          "kernel '%s': no memory for its arguments",
                          kernel->info.name);
    else
        find_footprints(kernel, plan, part, args, arg_count, footprints);
    for (unsigned i = 0; i < arg_count && status == HD_OK; i++) {
        s.args[i] = args[i];
        if (args[i].is == HD_IS_BUFFER && args[i].buffer)
            status =
                bring(launcher, &footprints[i], &s.args[i], &s.twins[i], error);
        else if (args[i].is == HD_IS_IMAGE)
            status = hdi_spread_use_home(
                args[i].image->params.buffer, args[i].image->params.offset,
                args[i].image->size, HDI_USE_WRITE, error);
    }
    free(footprints);
    if (status != HD_OK) {
        hdi_spread_end(&s);
        return status;
    }
    *spread = s;
    return HD_OK;
}

uint64_t hdi_spread_missing(struct hdi_launcher *launcher,
                            const struct hd_kernel *kernel,
                            const struct hdi_plan *plan,
                            const struct hdi_box *part,
                            const struct hd_arg *args, unsigned arg_count)
{
    struct hd_footprint *footprints =
        calloc(arg_count + 1, sizeof(*footprints));
    uint64_t missing = 0;
    struct hd_error error;

    if (!footprints)
        return 0;
    find_footprints(kernel, plan, part, args, arg_count, footprints);
    for (unsigned i = 0; i < arg_count; i++) {
        if (args[i].is != HD_IS_BUFFER || !args[i].buffer)
            continue;
        struct use u = use_of(launcher, &args[i]);
        u.missing = &missing;
        use_touched(&u, &footprints[i].read, &error);
        if (!is_overwritten(&footprints[i]))
            use_touched(&u, &footprints[i].write, &error);
    }
    free(footprints);
    return missing;
}

// Bytes from begin to end, of the root.
struct span {
    const struct hd_buffer *root;
    int64_t begin, end;
};

static struct span span_of(const struct hd_arg *arg, const struct hd_touched *t)
{
    struct span s = {0};

    if (arg->is != HD_IS_BUFFER || !arg->buffer ||
        t->kind == HD_TOUCHES_NOTHING)
        return s;
    s.root = hdi_buffer_root((struct hd_buffer *)(uintptr_t)arg->buffer);
    s.begin = (int64_t)offset_in_root(arg->buffer);
    if (t->kind == HD_TOUCHES_ALL) {
        s.end = s.begin + (int64_t)arg->buffer->size;
        return s;
    }
    s.begin += t->begin;
    s.end = s.begin + (int64_t)(t->bytes + (t->count[0] - 1) * t->stride[0] +
                                (t->count[1] - 1) * t->stride[1]);
    return s;
}

static bool overlap(const struct span *a, const struct span *b)
{
    return a->root && a->root == b->root && a->begin < b->end &&
           b->begin < a->end;
}

bool hdi_spread_is_apart(const struct hd_kernel *kernel,
                         const struct hdi_plan *plan, const struct hdi_box *one,
                         const struct hdi_box *other, const struct hd_arg *args,
                         unsigned arg_count)
{
    struct hd_footprint *a = calloc(2 * arg_count + 1, sizeof(*a));
    struct hd_footprint *b = a + arg_count;
    bool apart = a != NULL;

    if (!a)
        return false;
    find_footprints(kernel, plan, one, args, arg_count, a);
    find_footprints(kernel, plan, other, args, arg_count, b);
    for (unsigned i = 0; i < arg_count && apart; i++) {
        struct span writes = span_of(&args[i], &a[i].write);
        struct span reads = span_of(&args[i], &a[i].read);
        for (unsigned k = 0; k < arg_count && apart; k++) {
            struct span written = span_of(&args[k], &b[k].write);
            struct span read = span_of(&args[k], &b[k].read);
            apart = !overlap(&writes, &written) && !overlap(&writes, &read) &&
                    !overlap(&reads, &written);
        }
    }
    free(a);
    return apart;
}

void hdi_spread_end(struct hdi_spread_args *spread)
{
    free(spread->args);
    free(spread->twins);
}
