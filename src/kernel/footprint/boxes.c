// From a form to rows: each variable of it is an axis, with a stride (its
// multiple) and a count (its range). Axes are sorted by stride, and those that
// continue what is there are merged, until two levels of rows are left.
//
//     4 * x + 4096 * y, x < 1024, y < 16, 4 bytes
//     run 4 --(4 x 1024)--> run 4096 --(4096 x 16)--> run 65536
#include "kernel/footprint/boxes.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/footprint/form.h"

// As many as ids along three axes and loops as a rule give. More: anything.
enum {
    MAX_AXES = 12 // of one access
};

static const int64_t most_unknown = INT64_C(1) << 30; // that says anything

// The byte behind the last one.
static hdi_wide end_of(const struct hdi_footprint_box *box)
{
    hdi_wide end = (hdi_wide)box->begin + (hdi_wide)box->run;
    for (unsigned i = 0; i < HDI_BOX_LEVELS; i++)
        end += (hdi_wide)box->stride[i] * (hdi_wide)(box->count[i] - 1);
    return end;
}

// One row.
static bool is_dense(const struct hdi_footprint_box *box)
{
    return box->count[0] == 1 && box->count[1] == 1;
}

// The lower level is used up: the upper one takes its place.
static void drop_level(struct hdi_footprint_box *box)
{
    box->stride[0] = box->count[1] > 1 ? box->stride[1] : 0;
    box->count[0] = box->count[1];
    box->stride[1] = 0;
    box->count[1] = 1;
}

// Rows that touch are one, and rows of rows that lie as rows do are rows.
//
// For every box that was made or changed, so that equal sets of bytes tend to
// be equal boxes, which unite() needs. `exact` stays as it is: no byte is
// added.
static void tidy(struct hdi_footprint_box *box)
{
    for (unsigned i = 0; i < HDI_BOX_LEVELS; i++) {
        if (box->count[0] > 1 && box->stride[0] <= box->run) {
            box->run += box->stride[0] * (box->count[0] - 1);
            box->count[0] = 1;
        }
        if (box->count[0] == 1)
            drop_level(box);
    }
    if (box->count[1] > 1 && box->stride[1] % box->stride[0] == 0 &&
        box->stride[1] / box->stride[0] <= box->count[0]) {
        box->count[0] += box->stride[1] / box->stride[0] * (box->count[1] - 1);
        box->stride[1] = 0;
        box->count[1] = 1;
    }
}

// By stride, the smallest first.
static int compare_axes(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

// What an access touches. False: anything.
//
// False also where a value that is not known may be nearly anything: 2^30 of
// them say no more than "all" does.
//
// In the loop each axis finds one of four places: it lengthens the run,
// continues the rows on top, becomes a level of its own, or, when both levels
// are taken, pushes the lowest into the run, gaps and all, which is not exact
// any more. If in the end rows overlap, the whole extent is taken.
bool hdi_box_make(const struct hdi_evaluation *e, const struct hdi_form *at,
                  uint32_t size, bool exact, struct hdi_footprint_box *box)
{
    uint64_t axes[MAX_AXES][2]; // stride, count
    unsigned n = 0;
    int64_t lo, hi;

    if (!at->known || at->wild || !hdi_form_bounds(e, at, &lo, &hi))
        return false;
    *box = (struct hdi_footprint_box){.exact = exact && at->lo == at->hi,
                                      .begin = lo,
                                      .run = size + (uint64_t)(at->hi - at->lo),
                                      .count = {1, 1}};
    for (unsigned v = 0; v < VARIABLES; v++) {
        if (at->k[v] == 0 || e->lo[v] == e->hi[v])
            continue;
        if (e->open[v] || n == MAX_AXES ||
            (v >= V_FREE && e->hi[v] - e->lo[v] >= most_unknown))
            return false;
        box->exact &= v < V_FREE;
        axes[n][0] = (uint64_t)(at->k[v] < 0 ? -at->k[v] : at->k[v]);
        axes[n++][1] = (uint64_t)(e->hi[v] - e->lo[v]) + 1;
    }
    qsort(axes, n, sizeof(axes[0]), compare_axes);
    unsigned levels = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t stride = axes[i][0], count = axes[i][1];
        unsigned top = levels - 1;
        if (levels == 0 && stride <= box->run) {
            box->run += stride * (count - 1);
        } else if (levels > 0 && stride % box->stride[top] == 0 &&
                   stride / box->stride[top] <= box->count[top]) {
            box->count[top] += stride / box->stride[top] * (count - 1);
        } else if (levels < HDI_BOX_LEVELS) {
            box->stride[levels] = stride;
            box->count[levels++] = count;
        } else {
            // Fill the gaps within the innermost rows.
            box->run += box->stride[0] * (box->count[0] - 1);
            box->exact = false;
            box->stride[0] = box->stride[1];
            box->count[0] = box->count[1];
            box->stride[1] = stride;
            box->count[1] = count;
        }
    }
    // Rows that overlap without being multiples of each other.
    uint64_t extent = box->run;
    for (unsigned i = 0; i < levels; i++) {
        if (box->stride[i] < extent) {
            int64_t begin = box->begin;
            uint64_t run = (uint64_t)(end_of(box) - begin);
            *box = (struct hdi_footprint_box){
                .begin = begin, .run = run, .count = {1, 1}};
            return true;
        }
        extent += box->stride[i] * (box->count[i] - 1);
    }
    tidy(box);
    return true;
}

// The two as one. False: bytes that neither has would be in it.
//
// Each case is one way in which two boxes are one without a byte more: one
// within the other; the same; side by side or overlapping in the rows'
// direction; two rows at a distance as two of a level; one row that goes on a
// level; the same grid, shifted by whole strides. Where both have bytes in
// common, exactness needs only one of them if that has all.
static bool unite(const struct hdi_footprint_box *a,
                  const struct hdi_footprint_box *b,
                  struct hdi_footprint_box *all)
{
    if (a->begin > b->begin) {
        const struct hdi_footprint_box *c = a;
        a = b;
        b = c;
    }
    *all = *a;
    all->exact &= b->exact;
    uint64_t apart = (uint64_t)(b->begin - a->begin);
    bool alike = memcmp(a->stride, b->stride, sizeof(a->stride)) == 0 &&
                 memcmp(a->count, b->count, sizeof(a->count)) == 0;

    if (is_dense(a) && end_of(b) <= end_of(a)) {
        all->exact = a->exact;
        return true;
    }
    if (alike && a->run == b->run && apart == 0) {
        all->exact = a->exact || b->exact;
        return true;
    }
    if (alike && apart <= a->run) {
        uint64_t run = apart + b->run > a->run ? apart + b->run : a->run;
        if (!is_dense(a) && run > a->stride[0])
            return false;
        all->run = run;
        tidy(all);
        return true;
    }
    if (a->run != b->run || apart == 0)
        return false;
    if (is_dense(a) && is_dense(b)) {
        all->stride[0] = apart;
        all->count[0] = 2;
        return apart >= a->run;
    }
    if (is_dense(b) && a->count[1] == 1 &&
        apart == a->stride[0] * a->count[0]) {
        all->count[0]++;
        tidy(all);
        return true;
    }
    for (unsigned i = 0; i < HDI_BOX_LEVELS; i++) {
        unsigned other = 1 - i;
        if (a->stride[i] == 0 || a->stride[i] != b->stride[i] ||
            a->stride[other] != b->stride[other] ||
            a->count[other] != b->count[other] || apart % a->stride[i] != 0)
            continue;
        uint64_t moved = apart / a->stride[i];
        if (moved > a->count[i])
            continue;
        uint64_t count = moved + b->count[i];
        all->count[i] = count > a->count[i] ? count : a->count[i];
        if (i == 0 && a->count[1] > 1 &&
            all->count[0] * a->stride[0] > a->stride[1])
            continue;
        tidy(all);
        return true;
    }
    return false;
}

// The least in one piece that has both.
static struct hdi_footprint_box around(const struct hdi_footprint_box *a,
                                       const struct hdi_footprint_box *b)
{
    hdi_wide end = end_of(a) > end_of(b) ? end_of(a) : end_of(b);
    int64_t begin = a->begin < b->begin ? a->begin : b->begin;

    return (struct hdi_footprint_box){
        .begin = begin, .run = (uint64_t)(end - begin), .count = {1, 1}};
}

// Rows with all that shifted rows have: those of a neighbourhood.
//
//     b is a, shifted by whole strides and a little: each level gets the
//     counts of both, each row the bytes of both
//
// False: not the same grid, or rows would overlap. The result is never exact.
static bool cover(const struct hdi_footprint_box *a,
                  const struct hdi_footprint_box *b,
                  struct hdi_footprint_box *all)
{
    const struct hdi_footprint_box *more = is_dense(a) ? b : a;
    int64_t apart = b->begin - a->begin;
    int64_t shift[HDI_BOX_LEVELS] = {0, 0};

    if (memcmp(a->stride, b->stride, sizeof(a->stride)) != 0 ||
        more->stride[0] == 0)
        return false;
    for (unsigned i = HDI_BOX_LEVELS; i-- > 0;) {
        int64_t stride = (int64_t)more->stride[i];
        if (stride == 0)
            continue;
        shift[i] = hdi_divide_down(apart, stride);
        if (apart - shift[i] * stride + (int64_t)b->run > stride)
            shift[i]++;
        apart -= shift[i] * stride;
    }
    *all = (struct hdi_footprint_box){.count = {1, 1}};
    int64_t first = apart < 0 ? apart : 0;
    int64_t last = apart + (int64_t)b->run > (int64_t)a->run
                       ? apart + (int64_t)b->run
                       : (int64_t)a->run;
    all->begin = a->begin + first;
    all->run = (uint64_t)(last - first);
    uint64_t extent = all->run;
    for (unsigned i = 0; i < HDI_BOX_LEVELS; i++) {
        int64_t to = shift[i] + (int64_t)b->count[i];
        first = shift[i] < 0 ? shift[i] : 0;
        last = to > (int64_t)a->count[i] ? to : (int64_t)a->count[i];
        all->stride[i] = more->stride[i];
        all->count[i] = (uint64_t)(last - first);
        all->begin += first * (int64_t)more->stride[i];
        if (all->count[i] > 1 && all->stride[i] < extent)
            return false;
        extent += all->stride[i] * (all->count[i] - 1);
    }
    tidy(all);
    return true;
}

// One pair at a time; the caller goes on until there is none. Each time the
// list becomes shorter, so that it ends.
static bool unite_some(struct hdi_footprint_boxes *boxes, bool exactly)
{
    for (unsigned i = 0; i < boxes->count; i++)
        for (unsigned j = i + 1; j < boxes->count; j++) {
            struct hdi_footprint_box box;
            if (!(exactly ? unite(&boxes->list[i], &boxes->list[j], &box)
                          : cover(&boxes->list[i], &boxes->list[j], &box)))
                continue;
            boxes->list[i] = box;
            boxes->list[j] = boxes->list[--boxes->count];
            return true;
        }
    return false;
}

// A full list loses the shape of its first box, not its bytes.
void hdi_boxes_add(struct hdi_footprint_boxes *boxes,
                   const struct hdi_footprint_box *box)
{
    if (boxes->count == HDI_MAX_BOXES)
        boxes->list[0] = around(&boxes->list[0], box);
    else
        boxes->list[boxes->count++] = *box;
    while (unite_some(boxes, true))
        ;
}

// First what neighbourhoods are made of becomes common rows, then what is left
// one extent.
struct hd_touched hdi_boxes_touched(struct hdi_footprint_boxes *boxes,
                                    uint64_t offset)
{
    if (boxes->all)
        return (struct hd_touched){.kind = HD_TOUCHES_ALL};
    if (boxes->count == 0)
        return (struct hd_touched){.kind = HD_TOUCHES_NOTHING, .exact = true};
    while (unite_some(boxes, false))
        ;
    struct hdi_footprint_box box = boxes->list[0];
    for (unsigned i = 1; i < boxes->count; i++)
        box = around(&box, &boxes->list[i]);
    struct hd_touched t = {.kind = HD_TOUCHES_ROWS,
                           .exact = box.exact,
                           .begin = box.begin + (int64_t)offset,
                           .bytes = box.run};
    for (unsigned i = 0; i < HDI_BOX_LEVELS; i++) {
        t.stride[i] = box.stride[i];
        t.count[i] = box.count[i];
    }
    return t;
}
