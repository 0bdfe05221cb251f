// What memory of a trial begins with, and what it should hold then.
#include <string.h>

#include "tests/check.h"
#include "tests/kernels/trial.h"

struct hd_buffer *trial_canvas(const struct trial *t, const struct tree *tree)
{
    return tree->rows ? t->broad : t->canvas;
}

uint32_t trial_texel(const struct tree *tree, const struct tree_launch *launch,
                     uint32_t item)
{
    uint32_t width = launch->global[0];

    return tree->rows ? item / width * TREE_BROAD + item % width : item;
}

uint32_t trial_items(const struct tree_launch *launch)
{
    return launch->global[0] * launch->global[1] * launch->global[2];
}

// Texels that nobody owns are 0.
static void begin_canvas(const struct trial *t, const struct tree *tree,
                         const struct tree_launch *launch)
{
    struct hd_buffer *buffer = trial_canvas(t, tree);
    uint32_t *canvas = hd_buffer_host(buffer);

    memset(canvas, 0, hd_buffer_size(buffer));
    for (uint32_t i = 0; i < trial_items(launch); i++)
        canvas[trial_texel(tree, launch, i)] = i + 1;
}

bool trial_same_canvas(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct tree_launch *launch,
                       const uint32_t *expected)
{
    struct hd_buffer *buffer = trial_canvas(t, tree);
    static uint32_t texels[TREE_BROAD * TREE_TALL];
    const uint32_t *canvas = hd_buffer_host(buffer);

    memset(texels, 0, sizeof(texels));
    for (uint32_t i = 0; i < trial_items(launch); i++)
        texels[trial_texel(tree, launch, i)] = expected[i];
    for (uint32_t i = 0; i < hd_buffer_size(buffer) / 4; i++)
        if (canvas[i] != texels[i]) {
            fprintf(stderr, "seed %llu, shape %u: texel %u is %u, not %u\n",
                    (unsigned long long)tree->seed, shape, i, canvas[i],
                    texels[i]);
            return false;
        }
    return true;
}

static void begin_cells(const struct trial *t,
                        uint32_t expected[][TREE_MEMBERS])
{
    struct tree_cell *cells = hd_buffer_host(t->cells);

    for (unsigned i = 0; i < MAX_ITEMS * TREE_CELLS; i++) {
        uint32_t *m = expected[i];
        for (unsigned k = 0; k < TREE_MEMBERS; k++)
            m[k] = tree_cell_start(i, k);
        cells[i] = (struct tree_cell){.a = m[0],
                                      .b = (uint8_t)m[1],
                                      .c = {(uint16_t)m[2], (uint16_t)m[3]},
                                      .s = (int8_t)m[4],
                                      .d = m[5],
                                      .f = (float)m[6],
                                      .g = m[7]};
    }
}

bool trial_same_cells(const struct trial *t, const struct tree *tree,
                      unsigned shape, uint32_t expected[][TREE_MEMBERS])
{
    const struct tree_cell *cells = hd_buffer_host(t->cells);

    for (unsigned i = 0; i < MAX_ITEMS * TREE_CELLS; i++) {
        const struct tree_cell *c = &cells[i];
        const uint32_t is[TREE_MEMBERS] = {
            c->a,           c->b,           c->c[0],        c->c[1],
            (uint32_t)c->s, (uint32_t)c->d, (uint32_t)c->f, c->g};
        for (unsigned k = 0; k < TREE_MEMBERS; k++)
            if (is[k] != expected[i][k]) {
                fprintf(stderr,
                        "seed %llu, shape %u: member %u of cell %u is %u, not "
                        "%u\n",
                        (unsigned long long)tree->seed, shape, k, i, is[k],
                        expected[i][k]);
                return false;
            }
    }
    return true;
}

static void begin_trail(const struct trial *t, const struct tree_launch *launch,
                        uint32_t *expected)
{
    for (uint32_t i = 0; i < PATTERN_PLANES * PATTERN_PLANE; i++)
        expected[i] = pattern_to(i);
    memcpy(hd_buffer_host(t->trail), expected, hd_buffer_size(t->trail));
    memcpy(hd_buffer_host(t->from), launch->from, sizeof(launch->from));
}

bool trial_same_trail(const struct trial *t, const struct tree *tree,
                      unsigned shape, const uint32_t *expected)
{
    const uint32_t *trail = hd_buffer_host(t->trail);

    for (uint32_t i = 0; i < PATTERN_PLANES * PATTERN_PLANE; i++)
        if (trail[i] != expected[i]) {
            fprintf(stderr,
                    "seed %llu, shape %u: word %d of plane %u is %u, not %u\n",
                    (unsigned long long)tree->seed, shape,
                    (int)(i % PATTERN_PLANE) - PATTERN_BEFORE,
                    i / PATTERN_PLANE, trail[i], expected[i]);
            return false;
        }
    return true;
}

void trial_begin(const struct trial *t, const struct tree *tree,
                 const struct tree_launch *launch,
                 uint32_t (*cells)[TREE_MEMBERS], uint32_t *trail)
{
    uint32_t *out = hd_buffer_host(t->out);
    struct hd_error error;

    CHECK_OK(hd_buffer_write(t->input, 0, launch->input, sizeof(launch->input),
                             &error),
             error);
    for (unsigned i = 0; i < MAX_ITEMS * TREE_RESULTS; i++)
        out[i] = 0xdeadbeefu;
    for (unsigned i = 0; i < TREE_INPUT; i++)
        ((float *)hd_buffer_host(t->floats))[i] =
            (float)TREE_FLOAT(launch->input[i]);
    memcpy(hd_buffer_host(t->sheet), launch->sheet, sizeof(launch->sheet));
    begin_canvas(t, tree, launch);
    begin_cells(t, cells);
    begin_trail(t, launch, trail);
}
