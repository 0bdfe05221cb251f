// What kernels are said to touch, against what they do.
#include <string.h>

#include "tests/check.h"
#include "tests/kernels/trial.h"

enum {
    MAX_WORDS = 32768 // of memory that is hidden
};

bool trial_touches(const struct hd_touched *t, uint64_t byte)
{
    if (t->kind != HD_TOUCHES_ROWS)
        return t->kind == HD_TOUCHES_ALL;
    for (uint64_t i = 0; i < t->count[1]; i++)
        for (uint64_t j = 0; j < t->count[0]; j++) {
            int64_t begin = t->begin + (int64_t)(i * t->stride[1]) +
                            (int64_t)(j * t->stride[0]);
            if ((int64_t)byte >= begin &&
                (int64_t)byte < begin + (int64_t)t->bytes)
                return true;
        }
    return false;
}

// The words that are partly in it.
static void mark(const struct hd_touched *t, bool *words, uint64_t count)
{
    const uint64_t rows = t->kind == HD_TOUCHES_ROWS ? t->count[1] : 0;

    if (t->kind == HD_TOUCHES_ALL)
        memset(words, true, count);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < t->count[0]; j++) {
            int64_t begin = t->begin + (int64_t)(i * t->stride[1]) +
                            (int64_t)(j * t->stride[0]);
            int64_t end = begin + (int64_t)t->bytes;
            int64_t w = begin < 0 ? 0 : begin / 4;
            for (; 4 * w < end && w < (int64_t)count; w++)
                words[w] = true;
        }
}

void trial_find_footprints(const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct given *given,
                           const struct hd_piece *piece,
                           struct hd_footprint found[MAX_ARGS])
{
    struct hd_error error;

    CHECK_OK(hdi_kernel_footprint(kernel, range, given->args, given->count,
                                  piece, given->images, found, &error),
             error);
}

void trial_hide(struct hd_buffer *buffer, const struct given *given,
                const struct hd_footprint *found)
{
    uint32_t *words = hd_buffer_host(buffer);
    const uint64_t count = hd_buffer_size(buffer) / 4;
    static bool is_read[MAX_WORDS];

    CHECK(count <= MAX_WORDS);
    memset(is_read, 0, sizeof(is_read));
    for (unsigned i = 0; i < given->count; i++)
        if (given->of[i] == buffer)
            mark(&found[i].read, is_read, count);
    for (uint64_t w = 0; w < count; w++)
        if (!is_read[w])
            words[w] ^= 0x5a5a5a5a;
}

bool trial_same_writes(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct hd_footprint *all)
{
    const uint32_t *out = hd_buffer_host(t->out);
    const struct tree_cell *cells = hd_buffer_host(t->cells);
    const uint32_t *trail = hd_buffer_host(t->trail);
    static bool is_written[PATTERN_PLANES * PATTERN_PLANE];

    memset(is_written, 0, sizeof(is_written));
    mark(&all[TRAIL].write, is_written, PATTERN_PLANES * PATTERN_PLANE);
    for (unsigned i = 0; i < PATTERN_PLANES * PATTERN_PLANE; i++)
        if (trail[i] != pattern_to(i) && !is_written[i]) {
            fprintf(stderr,
                    "seed %llu, shape %u: word %u of planes is written, which "
                    "is not in the footprint\n",
                    (unsigned long long)tree->seed, shape, i);
            return false;
        }
    for (unsigned i = 0; i < MAX_ITEMS * TREE_RESULTS; i++)
        if (out[i] != 0xdeadbeefu && !trial_touches(&all[0].write, 4 * i)) {
            fprintf(stderr,
                    "seed %llu, shape %u: result %u is written, which is not "
                    "in the footprint\n",
                    (unsigned long long)tree->seed, shape, i);
            return false;
        }
    for (unsigned i = 0; i < MAX_ITEMS * TREE_CELLS; i++)
        if (cells[i].a != tree_cell_start(i, 0) &&
            !trial_touches(&all[CELLS].write, i * sizeof(*cells))) {
            fprintf(stderr,
                    "seed %llu, shape %u: cell %u is written, which is not in "
                    "the footprint\n",
                    (unsigned long long)tree->seed, shape, i);
            return false;
        }
    return true;
}

struct hd_piece trial_group(const struct tree_launch *launch, uint32_t item)
{
    const uint32_t *n = launch->global;
    const uint32_t at[3] = {item % n[0], item / n[0] % n[1],
                            item / n[0] / n[1]};
    struct hd_piece piece;

    for (unsigned d = 0; d < 3; d++) {
        piece.first[d] = at[d] / launch->local[d];
        piece.count[d] = 1;
    }
    return piece;
}

bool trial_same_groups(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct hd_kernel *kernel,
                       const struct hd_range *range, const struct given *given,
                       const struct tree_launch *launch)
{
    const uint32_t *out = hd_buffer_host(t->out);
    const uint32_t items = trial_items(launch);
    struct hd_footprint found[MAX_ARGS];

    for (uint32_t i = 0; i < items; i += (items + 1) / 2) {
        struct hd_piece piece = trial_group(launch, i);
        trial_find_footprints(kernel, range, given, &piece, found);
        for (uint32_t r = i * TREE_RESULTS; r < (i + 1) * TREE_RESULTS; r++)
            if (out[r] != 0xdeadbeefu &&
                !trial_touches(&found[0].write, 4 * r)) {
                fprintf(stderr,
                        "seed %llu, shape %u: result %u is written, which is "
                        "not in the footprint of its work-group\n",
                        (unsigned long long)tree->seed, shape, r);
                return false;
            }
    }
    return true;
}

void trial_count_told(struct trial *t, const struct given *g,
                      const struct hd_footprint *all)
{
    for (unsigned i = 0; i < g->count; i++) {
        bool rows = all[i].read.kind == HD_TOUCHES_ROWS ||
                    all[i].write.kind == HD_TOUCHES_ROWS;
        bool whole = all[i].read.kind == HD_TOUCHES_ALL ||
                     all[i].write.kind == HD_TOUCHES_ALL;
        t->told += rows;
        t->untold += whole;
        t->told_texels += g->images[i] && rows;
        t->untold_texels += g->images[i] && whole;
    }
}
