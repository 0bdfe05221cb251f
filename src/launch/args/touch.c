#include "launch/args/touch.h"

#include <stdlib.h>

#include "base/error.h"
#include "kernel/program.h"
#include "launch/box.h"
#include "launch/memory/image.h"
#include "launch/memory/spread.h"

// Each is looked for among the stretches of its buffer.
enum {
    MAX_ROWS = 4096 // of a footprint that are looked at by themselves
};

// What of a buffer a launch uses, in one way.
// Made anew for each argument and each way of using it.
struct use {
    struct hd_buffer *root;
    struct hdi_launcher *launcher;
    uint64_t begin, size; // of the buffer in its root
    enum hdi_use use;
    uint64_t *missing; // only count the bytes that are not there; optional
};

// What reaches beyond the buffer is cut off: a footprint may be too large.
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
        *u->missing += hdi_spread_missing(u->root, u->launcher,
                                          u->begin + first, u->begin + end);
        return HD_OK;
    }
    return hdi_spread_use(u->root, u->launcher, u->begin + first,
                          u->begin + end, u->use, NULL, error);
}

// Row by row, unless there are many: others may write what lies between.
// From the innermost axis on, rows that touch each other, or are too many,
// become one.
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
                         const struct hdi_bound *b)
{
    return (struct use){.root = hdi_buffer_root(b->buffer),
                        .launcher = launcher,
                        .begin = hdi_buffer_begin(b->buffer),
                        .size = b->buffer->size,
                        .use = HDI_USE_READ};
}

// All that is written, and nothing of it read.
static bool is_overwritten(const struct hd_footprint *footprint)
{
    return footprint->read.kind == HD_TOUCHES_NOTHING && footprint->write.exact;
}

// Reads before writes: a write makes a new version, which the old bytes
// elsewhere are no source for any more. The last call moves nothing, and gives
// the address.
static hd_status bring(struct hdi_launcher *launcher,
                       const struct hd_footprint *footprint,
                       struct hdi_bound *b, struct hd_error *error)
{
    struct use u = use_of(launcher, b);
    bool unread = is_overwritten(footprint);
    char *address;

    HDI_TRY(use_touched(&u, &footprint->read, error));
    u.use = unread ? HDI_USE_OVERWRITE : HDI_USE_WRITE;
    HDI_TRY(use_touched(&u, &footprint->write, error));
    HDI_TRY(
        hdi_spread_use(u.root, launcher, 0, 0, HDI_USE_READ, &address, error));
    if (u.root->launcher == launcher)
        return HD_OK;
    b->address = address + u.begin + b->offset;
    b->away = true;
    b->seals = false;
    return b->image ? hdi_image_describe(b->image, launcher, b->address,
                                         &b->shown, error)
                    : HD_OK;
}

// Footprints of all arguments, and room to say what these are.
// Tables of the kernel's arguments; zeroed where there is no memory, so
// that end_telling() may be called in any case.
struct tell {
    unsigned count;
    struct hd_footprint *footprints;
    struct hd_arg *args;
    const struct hdi_image **images; // what those are that are some
};

static bool begin_telling(struct tell *t, unsigned count)
{
    *t = (struct tell){
        .count = count,
        .footprints = calloc(count + 1, sizeof(*t->footprints)),
        .args = calloc(count + 1, sizeof(*t->args)),
        .images = calloc(count + 1, sizeof(*t->images)),
    };
    return t->footprints && t->args && t->images;
}

static void end_telling(struct tell *t)
{
    free(t->footprints);
    free(t->args);
    free(t->images);
}

// Where it cannot be told, everything.
static void tell(const struct tell *t, const struct hd_kernel *kernel,
                 const struct hdi_plan *plan, const struct hdi_box *part,
                 const struct hdi_bound *bound)
{
    static const struct hd_touched all = {.kind = HD_TOUCHES_ALL};
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
    hdi_bound_give(bound, t->count, t->args);
    for (unsigned i = 0; i < t->count; i++)
        t->images[i] = bound[i].image ? &bound[i].image->shown : NULL;
    if (hdi_kernel_footprint(kernel, &range, t->args, t->count, &piece,
                             t->images, t->footprints, &error) != HD_OK)
        for (unsigned i = 0; i < t->count; i++)
            t->footprints[i] = (struct hd_footprint){all, all};
    for (unsigned i = 0; i < t->count; i++)
        if (bound[i].image) {
            struct hd_footprint *f = &t->footprints[i];
            f->read = hdi_image_touched(bound[i].image, &f->read);
            f->write = hdi_image_touched(bound[i].image, &f->write);
        }
}

// Then nothing of them is elsewhere.
static bool are_all_at_home(const struct hdi_launcher *launcher,
                            const struct hdi_bound *bound, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct hd_buffer *root =
            bound[i].buffer ? hdi_buffer_root(bound[i].buffer) : NULL;
        if (root && (root->launcher != launcher ||
                     atomic_load_explicit(&root->spread, memory_order_acquire)))
            return false;
    }
    return true;
}

hd_status hdi_touch_bring(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hdi_plan *plan,
                          const struct hdi_box *part, struct hdi_bound *bound,
                          struct hd_error *error)
{
    struct tell t;
    hd_status status = HD_OK;

    if (are_all_at_home(launcher, bound, kernel->info.arg_count))
        return HD_OK;
    if (!begin_telling(&t, kernel->info.arg_count))
        status = hdi_fail(error, HD_ENOMEM,
                          "kernel '%s': no memory for its arguments",
                          kernel->info.name);
    else
        tell(&t, kernel, plan, part, bound);
    for (unsigned i = 0; i < t.count && status == HD_OK; i++)
        if (bound[i].buffer)
            status = bring(launcher, &t.footprints[i], &bound[i], error);
    end_telling(&t);
    return status;
}

uint64_t hdi_touch_missing(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_plan *plan,
                           const struct hdi_box *part,
                           const struct hdi_bound *bound)
{
    uint64_t missing = 0;
    struct hd_error error;
    struct tell t;

    if (begin_telling(&t, kernel->info.arg_count))
        tell(&t, kernel, plan, part, bound);
    else
        t.count = 0;
    for (unsigned i = 0; i < t.count; i++) {
        if (!bound[i].buffer)
            continue;
        struct use u = use_of(launcher, &bound[i]);
        u.missing = &missing;
        use_touched(&u, &t.footprints[i].read, &error);
        if (!is_overwritten(&t.footprints[i]))
            use_touched(&u, &t.footprints[i].write, &error);
    }
    end_telling(&t);
    return missing;
}

// Bytes from begin to end, of the root.
// The smallest range that holds what is touched; without a root: nothing.
struct span {
    const struct hd_buffer *root;
    int64_t begin, end;
};

// Gaps between rows count as touched here: two parts may seem to overlap that
// do not, which keeps a launch whole and never spoils a result.
static struct span span_of(const struct hdi_bound *b,
                           const struct hd_touched *t)
{
    struct span s = {0};

    if (!b->buffer || t->kind == HD_TOUCHES_NOTHING)
        return s;
    s.root = hdi_buffer_root(b->buffer);
    s.begin = (int64_t)hdi_buffer_begin(b->buffer);
    if (t->kind == HD_TOUCHES_ALL) {
        s.end = s.begin + (int64_t)b->buffer->size;
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

// Every pair of arguments, since two may be the same memory.
bool hdi_touch_is_apart(const struct hd_kernel *kernel,
                        const struct hdi_plan *plan, const struct hdi_box *one,
                        const struct hdi_box *other,
                        const struct hdi_bound *bound)
{
    unsigned count = kernel->info.arg_count;
    struct tell a, b;
    bool good = begin_telling(&a, count);
    bool apart = begin_telling(&b, count) && good;

    if (apart) {
        tell(&a, kernel, plan, one, bound);
        tell(&b, kernel, plan, other, bound);
    }
    for (unsigned i = 0; i < count && apart; i++) {
        struct span writes = span_of(&bound[i], &a.footprints[i].write);
        struct span reads = span_of(&bound[i], &a.footprints[i].read);
        for (unsigned k = 0; k < count && apart; k++) {
            struct span written = span_of(&bound[k], &b.footprints[k].write);
            struct span read = span_of(&bound[k], &b.footprints[k].read);
            apart = !overlap(&writes, &written) && !overlap(&writes, &read) &&
                    !overlap(&reads, &written);
        }
    }
    end_telling(&a);
    end_telling(&b);
    return apart;
}
