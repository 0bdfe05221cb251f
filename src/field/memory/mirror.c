#include "field/memory/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launch/measure/pace.h"
#include "launch/memory/buffer.h"

// Of others at most so many entries, of some 150 bytes each: kernels may touch
// other parts each time. With more all go, and are copied again.
enum {
    PARTS = 1 << 14
};

// A memory block of the node's own, or a part of one of another's.
// Invariant: an own block is there, home or both.
struct block {
    struct block *next; // in its bucket
    struct hd_grid box; // [ordinals]
    bool own;
    bool there; // it is valid on the device
    bool home;  // own: it is valid in the process's memory
};

// One for each field and device here.
struct hdi_mirror {
    struct hdi_launcher *launcher;
    pthread_mutex_t lock; // of all below
    char *memory;         // on the device; NULL: there is none yet
    uint64_t begin, size; // of the whole array [bytes]
    struct block **bucket;
    size_t buckets, count;
    size_t others;    // of `count`
    uint64_t version; // of the field, that these are of
    // Of the same device, without blocks: see hdi_mirror_part(). The node's.
    struct hdi_mirror *apart;
};

struct hdi_mirror *hdi_mirror_of(const struct hd_field *field, uint32_t node)
{
    return field->mirrors && hd_cluster_has(field->cluster, node)
               ? field->mirrors[node - hdi_cluster_first(field->cluster)]
               : NULL;
}

// With the lock, or when nobody else has the field. The memory stays: the next
// kernel needs it again.
static void forget(struct hdi_mirror *m)
{
    for (size_t i = 0; i < m->buckets; i++)
        for (struct block *b = m->bucket[i], *next; b; b = next) {
            next = b->next;
            free(b);
        }
    free(m->bucket);
    m->bucket = NULL;
    m->buckets = m->count = m->others = 0;
}

static void free_memory(struct hdi_mirror *m)
{
    struct hdi_device *device = m->launcher->device;

    if (!m->memory)
        return;
    device->backend->free(device, m->memory, m->size);
    atomic_fetch_sub_explicit(&m->launcher->memory, m->size,
                              memory_order_relaxed);
    m->memory = NULL;
}

bool hdi_mirrors_make(struct hd_field *field)
{
    const struct hdi_domains *domains = &field->cluster->domains;

    if (!domains->devices)
        return true;
    field->mirrors = calloc(domains->count, sizeof(struct hdi_mirror *));
    for (uint32_t n = 0; field->mirrors && n < domains->count; n++) {
        struct hdi_launcher *launcher = domains->domain[n].launcher;

        if (!launcher)
            continue;
        struct hdi_mirror *m = calloc(1, sizeof(*m));
        if (!m)
            return false;
        m->launcher = launcher;
        pthread_mutex_init(&m->lock, NULL);
        field->mirrors[n] = m;
    }
    return field->mirrors != NULL;
}

void hdi_mirrors_free(struct hd_field *field)
{
    for (uint32_t n = 0; field->mirrors && n < field->cluster->here; n++) {
        struct hdi_mirror *m = field->mirrors[n];

        if (!m)
            continue;
        forget(m);
        free_memory(m);
        if (m->apart)
            free_memory(m->apart);
        free(m->apart);
        pthread_mutex_destroy(&m->lock);
        free(m);
    }
    free(field->mirrors);
}

// Blocks ----------------------------------------------------------------------

static size_t bucket_of(const struct hdi_mirror *m, const struct hd_grid *box)
{
    uint64_t h = 0;

    for (unsigned i = 0; i < box->rank; i++)
        h = hdi_mix(h, (uint64_t)box->offset[i]);
    return h & (m->buckets - 1);
}

static bool is_box(const struct hd_grid *a, const struct hd_grid *b)
{
    return hd_grid_encloses(a, b) && hd_grid_encloses(b, a);
}

// By its whole box: parts of others' blocks may begin at the same corner.
static struct block *find(const struct hdi_mirror *m, const struct hd_grid *box)
{
    struct block *b = m->buckets ? m->bucket[bucket_of(m, box)] : NULL;

    while (b && !is_box(&b->box, box))
        b = b->next;
    return b;
}

static bool grow_table(struct hdi_mirror *m)
{
    struct hdi_mirror grown = {.buckets = m->buckets ? 2 * m->buckets : 16};

    grown.bucket = calloc(grown.buckets, sizeof(struct block *));
    if (!grown.bucket)
        return false;
    for (size_t i = 0; i < m->buckets; i++)
        for (struct block *b = m->bucket[i], *next; b; b = next) {
            struct block **first = &grown.bucket[bucket_of(&grown, &b->box)];

            next = b->next;
            b->next = *first;
            *first = b;
        }
    free(m->bucket);
    m->bucket = grown.bucket;
    m->buckets = grown.buckets;
    return true;
}

// The entry of a box; NULL when memory is short.
static struct block *enter(struct hdi_mirror *m, const struct hd_grid *box,
                           bool own)
{
    struct block *b = find(m, box);

    if (b)
        return b;
    if (m->count >= m->buckets && !grow_table(m))
        return NULL;
    b = malloc(sizeof(*b));
    if (!b)
        return NULL;
    struct block **first = &m->bucket[bucket_of(m, box)];
    *b = (struct block){.next = *first, .box = *box, .own = own, .home = own};
    *first = b;
    m->count++;
    m->others += !own;
    return b;
}

// The entries of others' parts go; what is in the device's memory stays, as
// anything.
static void drop_others(struct hdi_mirror *m)
{
    for (size_t i = 0; i < m->buckets; i++)
        for (struct block **link = &m->bucket[i], *b; (b = *link);) {
            if (b->own) {
                link = &b->next;
                continue;
            }
            *link = b->next;
            m->count--;
            free(b);
        }
    m->others = 0;
}

bool hdi_mirror_block(const struct hd_field *field, const int64_t *ordinals,
                      struct hd_grid *block, uint32_t *owner)
{
    struct hdi_spot spot;

    if (!hdi_map_spot(field->map, ordinals, &spot))
        return false;
    *block = spot.box;
    *owner = spot.node;
    hdi_map_block_of(field->map, ordinals, field->map->memory, block);
    return true;
}

// Memory ----------------------------------------------------------------------

static hd_status starve(const struct hdi_mirror *m, uint64_t size,
                        struct hd_error *error)
{
    return hdi_fail(
        error, HD_ENOMEM, "no memory for %llu bytes of a field on %s",
        (unsigned long long)size, m->launcher->device->can.description);
}

// With the lock.
//
//     whole array   |......[ begin ... begin + size )..........|
//
// The part grows to hold the box, and never shrinks; what is between comes
// along. Old memory goes only after its content was copied, so both must fit
// for a while.
static hd_status make_room(const struct hd_field *field, struct hdi_mirror *m,
                           const struct hd_grid *box, struct hd_error *error)
{
    struct hdi_device *device = m->launcher->device;
    int64_t step[HD_MAX_RANK], first = 0, last = 0;
    void *memory;

    hdi_grid_steps(&field->map->grid, step);
    for (unsigned i = 0; i < box->rank; i++) {
        first += box->offset[i] * step[i];
        last += (box->offset[i] + box->extent[i] - 1) * step[i];
    }
    uint64_t begin = (uint64_t)first * field->element;
    uint64_t end = ((uint64_t)last + 1) * field->element;
    if (m->memory) {
        if (begin >= m->begin && end <= m->begin + m->size)
            return HD_OK;
        begin = begin < m->begin ? begin : m->begin;
        end = end > m->begin + m->size ? end : m->begin + m->size;
    }
    if (device->backend->alloc(device, end - begin, &memory) != HD_OK)
        return starve(m, end - begin, error);
    if (m->memory &&
        device->backend->copy(device, (char *)memory + (m->begin - begin),
                              m->memory, m->size) != HD_OK) {
        device->backend->free(device, memory, end - begin);
        return hdi_fail(error, HD_EIO, "a copy on %s failed",
                        device->can.description);
    }
    free_memory(m);
    hdi_buffer_count(m->launcher, end - begin);
    m->memory = memory;
    m->begin = begin;
    m->size = end - begin;
    return HD_OK;
}

// Copy a box, rows of which are rows in the window, to or from the device.
// One copy for each run that is contiguous on both sides, since a copy over a
// bus costs some microseconds whatever its size: `axis` is the first axis that
// is part of a run.
static hd_status copy_rows(const struct hd_field *field, struct hdi_mirror *m,
                           const struct hdi_window *window,
                           const struct hd_grid *box, bool up)
{
    struct hdi_device *device = m->launcher->device;
    const struct hd_grid *grid = &field->map->grid;
    int64_t step[HD_MAX_RANK], at[HD_MAX_RANK] = {0};
    unsigned axis = box->rank - 1;
    int64_t run = box->extent[axis], size = (int64_t)field->element;

    hdi_grid_steps(grid, step);
    for (; axis > 0 && box->extent[axis] == grid->extent[axis] &&
           (box->extent[axis - 1] == 1 ||
            window->step[axis - 1] == step[axis - 1]);
         axis--)
        run *= box->extent[axis - 1];
    for (;;) {
        int64_t there = 0, here = 0;

        for (unsigned i = 0; i < box->rank; i++) {
            there += (box->offset[i] + at[i]) * step[i];
            here += (box->offset[i] + at[i] - window->box.offset[i]) *
                    window->step[i];
        }
        char *of = m->memory + (there * size - (int64_t)m->begin);
        char *host = window->data + here * size;
        HDI_TRY(device->backend->copy(device, up ? of : host, up ? host : of,
                                      (uint64_t)(run * size)));
        unsigned i = axis;
        while (i > 0 && ++at[i - 1] == box->extent[i - 1])
            at[--i] = 0;
        if (i == 0)
            return HD_OK;
    }
}

// The same from or to any window. With the lock, and room.
// Rows with gaps are made dense on the host first: one copy for each element
// would cost more by orders of magnitude. How long it took is learnt, for those
// who weigh copies (launch/measure/pace.h).
static hd_status copy_box(const struct hd_field *field, struct hdi_mirror *m,
                          const struct hdi_window *window,
                          const struct hd_grid *box, bool up,
                          struct hd_error *error)
{
    struct hdi_window dense = {.box = *box};
    uint64_t size = (uint64_t)hd_grid_size(box) * field->element;
    bool rows =
        window->step[box->rank - 1] == 1 || box->extent[box->rank - 1] == 1;
    uint64_t begin = hdi_now();
    hd_status status;

    if (rows) {
        status = copy_rows(field, m, window, box, up);
    } else {
        hdi_grid_steps(box, dense.step);
        dense.data = malloc(size);
        if (!dense.data)
            return starve(m, size, error);
        if (up)
            hdi_window_copy(&dense, window, box, field->element);
        status = copy_rows(field, m, &dense, box, up);
        if (!up && status == HD_OK)
            hdi_window_copy(window, &dense, box, field->element);
        free(dense.data);
    }
    if (status != HD_OK)
        return hdi_fail(
            error, status, "a copy %s %s failed: %s", up ? "to" : "from",
            m->launcher->device->can.description, hd_status_text(status));
    hdi_pace_learn_copy(up ? m->launcher : field->cluster->domains.launcher,
                        size, hdi_now() - begin);
    return HD_OK;
}

char *hdi_mirror_array(const struct hd_field *field, uint32_t node)
{
    const struct hdi_mirror *m = hdi_mirror_of(field, node);

    return m->memory - m->begin;
}

// Own blocks ------------------------------------------------------------------

// With the lock.
// Without `fill` the kernel writes all of the block, and nothing is copied.
static hd_status bring_own(struct hd_field *field, struct hdi_mirror *m,
                           const struct hd_grid *block, bool fill,
                           struct hd_error *error)
{
    struct hdi_window window;

    HDI_TRY(make_room(field, m, block, error));
    struct block *b = enter(m, block, true);
    if (!b || !hdi_window_of_segment(field, block->offset, &window))
        return hdi_fail(error, HD_ENOMEM, "no memory for a field's blocks");
    if (!b->there && fill)
        HDI_TRY(copy_box(field, m, &window, block, true, error));
    b->there = true;
    return HD_OK;
}

// Where the box is less than its memory block, the rest is filled from the
// process's memory.
hd_status hdi_mirror_open(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, bool whole,
                          struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);
    struct hd_grid block;
    uint32_t owner;

    hdi_mirror_block(field, box->offset, &block, &owner);
    pthread_mutex_lock(&m->lock);
    hd_status status =
        bring_own(field, m, &block, !whole || !is_box(&block, box), error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

// hdi_mirror_open() has made the entry.
void hdi_mirror_wrote(struct hd_field *field, uint32_t node,
                      const struct hd_grid *box)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);
    struct hd_grid block;
    uint32_t owner;

    hdi_mirror_block(field, box->offset, &block, &owner);
    pthread_mutex_lock(&m->lock);
    find(m, &block)->home = false;
    pthread_mutex_unlock(&m->lock);
}

// Where the block is now: if the device has it, a copy in the process's memory
// would be out of date.
hd_status hdi_mirror_put(struct hd_field *field, uint32_t node,
                         const struct hd_grid *box,
                         const struct hdi_window *from, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);
    struct hd_grid block;
    struct hdi_window home;
    uint32_t owner;
    hd_status status = HD_OK;

    hdi_mirror_block(field, box->offset, &block, &owner);
    pthread_mutex_lock(&m->lock);
    struct block *b = find(m, &block);
    if (b && b->there) {
        status = copy_box(field, m, from, box, true, error);
        b->home = false;
    } else if (hdi_window_of_segment(field, box->offset, &home)) {
        hdi_window_copy(&home, from, box, field->element);
    } else {
        status = hdi_fail(error, HD_ENOMEM, "no memory for a result");
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

// With the lock.
// The device keeps its copy, which stays valid.
static hd_status bring_home(struct hd_field *field, struct hdi_mirror *m,
                            struct block *b, struct hd_error *error)
{
    struct hdi_window home;

    if (!b->own || b->home || !b->there)
        return HD_OK;
    if (!hdi_window_of_segment(field, b->box.offset, &home))
        return hdi_fail(error, HD_ENOMEM, "no memory for a field's blocks");
    HDI_TRY(copy_box(field, m, &home, &b->box, false, error));
    b->home = true;
    return HD_OK;
}

hd_status hdi_mirror_home(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);
    hd_status status = HD_OK;
    struct hd_grid block;
    uint32_t owner;

    hdi_mirror_block(field, box->offset, &block, &owner);
    pthread_mutex_lock(&m->lock);
    struct block *b = find(m, &block);
    if (b)
        status = bring_home(field, m, b, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

hd_status hdi_mirror_home_all(struct hd_field *field, uint32_t node,
                              struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);
    hd_status status = HD_OK;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->buckets; i++)
        for (struct block *b = m->bucket[i]; b && status == HD_OK; b = b->next)
            status = bring_home(field, m, b, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

void hdi_mirror_forget(struct hd_field *field, uint32_t node)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    forget(m);
    pthread_mutex_unlock(&m->lock);
}

hd_status hdi_mirrors_home(struct hd_field *field, struct hd_error *error)
{
    uint32_t first = hdi_cluster_first(field->cluster);

    for (uint32_t n = 0; field->mirrors && n < field->cluster->here; n++)
        if (field->mirrors[n])
            HDI_TRY(hdi_mirror_home_all(field, first + n, error));
    return HD_OK;
}

void hdi_mirrors_forget(struct hd_field *field)
{
    uint32_t first = hdi_cluster_first(field->cluster);

    for (uint32_t n = 0; field->mirrors && n < field->cluster->here; n++)
        if (field->mirrors[n])
            hdi_mirror_forget(field, first + n);
}

// Apart -----------------------------------------------------------------------

// Copy a box from one mirror to another of the same device, by way of the host:
// rare, where work-groups and blocks do not fit.
static hd_status copy_over(const struct hd_field *field, struct hdi_mirror *to,
                           struct hdi_mirror *from, const struct hd_grid *box,
                           struct hd_error *error)
{
    struct hdi_window dense = {.box = *box};

    hdi_grid_steps(box, dense.step);
    dense.data = malloc((size_t)hd_grid_size(box) * field->element);
    hd_status status = dense.data
                           ? copy_box(field, from, &dense, box, false, error)
                           : hdi_fail(error, HD_ENOMEM, "no memory for a task");
    if (status == HD_OK)
        status = copy_box(field, to, &dense, box, true, error);
    free(dense.data);
    return status;
}

// `apart` is the node's thread's alone, so its room needs no lock.
hd_status hdi_mirror_part(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box,
                          const struct hd_grid *written, bool fill,
                          char **array, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    if (!m->apart) {
        m->apart = calloc(1, sizeof(*m->apart));
        if (!m->apart)
            return hdi_fail(error, HD_ENOMEM, "no memory for a task");
        m->apart->launcher = m->launcher;
    }
    HDI_TRY(make_room(field, m->apart, written, error));
    *array = m->apart->memory - m->apart->begin;
    if (!fill)
        return HD_OK;
    pthread_mutex_lock(&m->lock);
    hd_status status = copy_over(field, m->apart, m, box, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

hd_status hdi_mirror_join(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    hd_status status = copy_over(field, m, m->apart, box, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

// Others' ---------------------------------------------------------------------

hd_status hdi_mirror_room(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    hd_status status = make_room(field, m, box, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

hd_status hdi_mirror_load(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box,
                          const struct hdi_window *from, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    hd_status status = copy_box(field, m, from, box, true, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

hd_status hdi_mirror_get(struct hd_field *field, uint32_t node,
                         const struct hd_grid *box, const struct hdi_window *to,
                         struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    hd_status status = copy_box(field, m, to, box, false, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

hd_status hdi_mirror_own(struct hd_field *field, uint32_t node,
                         const struct hd_grid *block, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    hd_status status = bring_own(field, m, block, true, error);
    pthread_mutex_unlock(&m->lock);
    return status;
}

// All of others that is there is of one version. Nothing else is expected until
// this part has been filled: the node's thread does both.
hd_status hdi_mirror_expect(struct hd_field *field, uint32_t node,
                            const struct hd_grid *part, bool *there,
                            struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    if (m->version != field->version || (m->others >= PARTS && !find(m, part)))
        drop_others(m);
    m->version = field->version;
    struct block *b = enter(m, part, false);
    *there = b && b->there;
    hd_status status =
        b ? make_room(field, m, part, error)
          : hdi_fail(error, HD_ENOMEM, "no memory for a field's blocks");
    pthread_mutex_unlock(&m->lock);
    return status;
}

hd_status hdi_mirror_fill(struct hd_field *field, uint32_t node,
                          const struct hd_grid *part,
                          const struct hdi_window *from, struct hd_error *error)
{
    struct hdi_mirror *m = hdi_mirror_of(field, node);

    pthread_mutex_lock(&m->lock);
    hd_status status = copy_box(field, m, from, part, true, error);
    if (status == HD_OK)
        find(m, part)->there = true;
    pthread_mutex_unlock(&m->lock);
    return status;
}
