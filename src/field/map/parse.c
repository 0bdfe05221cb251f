// Maps from words. Every word is one entry of a table: how its value is read.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/field.h"

// Far above what a person writes; they bound what a text from outside can make
// us allocate.
enum {
    MAX_WORD = 1 << 20, // [characters]
    MAX_LIST = 1 << 20  // numbers in a list
};

// What hd_map_parse() holds while it reads. The params point to the tables
// below, which are freed when the map is made: hd_map_create() copies what it
// keeps.
struct parsing {
    const char *at; // what is left
    char *word;     // the one at hand
    struct hd_map_params params;
    bool has_deal;
    int64_t *splits[HD_MAX_RANK];
    uint32_t *weights, *owners;
    struct hd_half_space shape[4];
    struct hd_error *error;
};

static hd_status wrong(struct parsing *p, const char *what)
{
    return hdi_fail(p->error, HD_EINVAL, "map: '%s': %s", p->word, what);
}

// Get the next word; an empty one at the end.
static hd_status next_word(struct parsing *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    size_t length = strcspn(p->at, " \t\r\n");

    if (length > MAX_WORD)
        return hdi_fail(p->error, HD_ELIMIT, "map: a word is too long");
    char *word = realloc(p->word, length + 1);
    if (!word)
        return hdi_fail(p->error, HD_ENOMEM, "no memory for a map");
    memcpy(word, p->at, length);
    word[length] = '\0';
    p->word = word;
    p->at += length;
    return HD_OK;
}

static hd_status number(struct parsing *p, const char **text, int64_t *value)
{
    char *end;

    errno = 0;
    long long n = strtoll(*text, &end, 10);
    if (end == *text || errno != 0)
        return wrong(p, "a whole number was expected");
    *text = end;
    *value = n;
    return HD_OK;
}

// Numbers with 'x' between them, one per axis.
static hd_status per_axis(struct parsing *p, const char **text, int64_t *values,
                          unsigned *count)
{
    *count = 0;
    for (;; (*text)++) {
        if (*count == HD_MAX_RANK)
            return wrong(p, "too many axes");
        HDI_TRY(number(p, text, &values[(*count)++]));
        if (**text != 'x')
            return HD_OK;
    }
}

// In the params 0 means that nothing was said: who writes a word says
// something.
static hd_status one_per_axis(struct parsing *p, int64_t *values)
{
    const char *text = p->word;
    unsigned count;

    HDI_TRY(per_axis(p, &text, values, &count));
    if (*text || count != p->params.grid.rank)
        return wrong(p, "one number per axis, with 'x' between, was expected");
    for (unsigned i = 0; i < count; i++)
        if (values[i] < 1)
            return wrong(p, "each number must be 1 or more");
    return HD_OK;
}

// Numbers with commas between them, up to what is none of both.
// The list is the caller's on success; on failure nothing is left. A list
// longer than MAX_LIST is refused as if memory were short.
static hd_status list(struct parsing *p, const char **text, int64_t **values,
                      size_t *count)
{
    hd_status status = HD_OK;
    size_t room = 0;

    *values = NULL;
    for (*count = 0;; (*text)++) {
        if (*count == room) {
            int64_t *more = NULL;

            room = room ? 2 * room : 16;
            if (room <= MAX_LIST)
                more = realloc(*values, room * sizeof(*more));
            if (!more) {
                status = hdi_fail(p->error, HD_ENOMEM, "map: list too long");
                break;
            }
            *values = more;
        }
        status = number(p, text, &(*values)[*count]);
        if (status != HD_OK)
            break;
        (*count)++;
        if (**text != ',')
            return HD_OK;
    }
    free(*values);
    *values = NULL;
    return status;
}

// The second list of a kind replaces the first, which is freed here.
static hd_status node_list(struct parsing *p, uint32_t **nodes, size_t *count)
{
    const char *text = p->word;
    int64_t *values;

    HDI_TRY(list(p, &text, &values, count));
    free(*nodes);
    *nodes = malloc(*count * sizeof(**nodes));
    hd_status status = *text ? wrong(p, "not a list of numbers") : HD_OK;
    if (!*nodes)
        status = hdi_fail(p->error, HD_ENOMEM, "no memory for a map");
    for (size_t i = 0; status == HD_OK && i < *count; i++) {
        if (values[i] < 0 || values[i] > INT32_MAX)
            status = wrong(p, "a number is out of range");
        (*nodes)[i] = (uint32_t)values[i];
    }
    free(values);
    return status;
}

static hd_status take_grid(struct parsing *p)
{
    const char *text = p->word;
    unsigned count;

    HDI_TRY(per_axis(p, &text, p->params.grid.extent, &count));
    p->params.grid.rank = count;
    if (*text == '@') {
        text++;
        HDI_TRY(per_axis(p, &text, p->params.grid.offset, &count));
    }
    if (*text || count != p->params.grid.rank)
        return wrong(p, "extents with 'x' between, as in 6x6 or 8x8@0x8, "
                        "were expected");
    return HD_OK;
}

static hd_status take_splits(struct parsing *p)
{
    const char *text = p->word;
    unsigned axis = 0;

    for (;; axis++, text++) {
        if (axis == p->params.grid.rank)
            return wrong(p, "more lists of split points than axes");
        struct hd_tiles *tiles = &p->params.tiles[axis];
        size_t count = 0;

        free(p->splits[axis]);
        p->splits[axis] = NULL;
        if (*text == '-')
            text++;
        else
            HDI_TRY(list(p, &text, &p->splits[axis], &count));
        *tiles = (struct hd_tiles){.splits = p->splits[axis],
                                   .split_count = (unsigned)count};
        if (*text != '/')
            break;
    }
    if (*text || axis + 1 != p->params.grid.rank)
        return wrong(p, "one list of split points per axis, with '/' between, "
                        "was expected; '-' for none");
    return HD_OK;
}

static hd_status take_tiles(struct parsing *p)
{
    int64_t extents[HD_MAX_RANK] = {0};

    HDI_TRY(one_per_axis(p, extents));
    for (unsigned i = 0; i < p->params.grid.rank; i++)
        p->params.tiles[i].extent = extents[i];
    return HD_OK;
}

static hd_status take_mesh(struct parsing *p)
{
    int64_t nodes[HD_MAX_RANK] = {0};

    HDI_TRY(one_per_axis(p, nodes));
    for (unsigned i = 0; i < p->params.grid.rank; i++) {
        if (nodes[i] > INT32_MAX)
            return wrong(p, "a mesh has too many nodes along an axis");
        p->params.mesh[i] = (unsigned)nodes[i];
    }
    return HD_OK;
}

// An axis that is none becomes HD_MAX_RANK, which hd_map_create() refuses with
// a better message.
static hd_status take_order(struct parsing *p)
{
    const char *text = p->word;
    int64_t *axes;
    size_t count;

    HDI_TRY(list(p, &text, &axes, &count));
    hd_status status =
        *text || count != p->params.grid.rank
            ? wrong(p, "all axes, with commas between, were expected")
            : HD_OK;
    for (unsigned i = 0; status == HD_OK && i < count; i++)
        p->params.order[i] = axes[i] < 0 || axes[i] > HD_MAX_RANK
                                 ? HD_MAX_RANK
                                 : (unsigned)axes[i];
    free(axes);
    return status;
}

static hd_status take_nodes(struct parsing *p)
{
    const char *text = p->word;
    int64_t nodes = 0;

    HDI_TRY(number(p, &text, &nodes));
    if (*text || nodes < 1 || nodes > INT32_MAX)
        return wrong(p, "a number of nodes, 1 or more, was expected");
    p->params.nodes = (unsigned)nodes;
    return HD_OK;
}

static hd_status take_weights(struct parsing *p)
{
    size_t count;

    HDI_TRY(node_list(p, &p->weights, &count));
    if (p->params.nodes && p->params.nodes != count)
        return wrong(p, "one weight per node was expected");
    p->params.nodes = (unsigned)count;
    p->params.weights = p->weights;
    return HD_OK;
}

static hd_status take_owners(struct parsing *p)
{
    size_t count;

    HDI_TRY(node_list(p, &p->owners, &count));
    p->params.owners = p->owners;
    p->params.owner_count = count;
    return HD_OK;
}

static hd_status take_stride(struct parsing *p)
{
    return one_per_axis(p, p->params.stride);
}

static hd_status take_memory(struct parsing *p)
{
    return one_per_axis(p, p->params.memory_block);
}

static hd_status take_tasks(struct parsing *p)
{
    return one_per_axis(p, p->params.task_block);
}

// sign * (row - column) <= most
// A half-space: the corners of a matrix are cut off with one, a band is two.
static hd_status diagonal(struct parsing *p, int64_t sign, int64_t most)
{
    if (p->params.grid.rank != 2)
        return wrong(p, "is a shape of matrices, whose grid has two axes");
    if (p->params.shape_count == 4)
        return wrong(p, "too many shapes");
    p->params.shape = p->shape;
    p->shape[p->params.shape_count++] =
        (struct hd_half_space){{sign, -sign}, most};
    return HD_OK;
}

static hd_status take_band(struct parsing *p)
{
    const char *text = p->word;
    int64_t width = 0;

    HDI_TRY(number(p, &text, &width));
    if (*text || width < 0)
        return wrong(p, "a width, 0 or more, was expected");
    HDI_TRY(diagonal(p, 1, width));
    return diagonal(p, -1, width);
}

// Words that have a value; those without are in take_word().
static const struct keyword {
    const char *name;
    hd_status (*take)(struct parsing *p);
} keywords[] = {
    {"tiles", take_tiles},   {"splits", take_splits}, {"mesh", take_mesh},
    {"order", take_order},   {"nodes", take_nodes},   {"weights", take_weights},
    {"owners", take_owners}, {"stride", take_stride}, {"memory", take_memory},
    {"tasks", take_tasks},   {"band", take_band},
};

static hd_status take_word(struct parsing *p)
{
    struct hd_map_params *params = &p->params;

    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (strcmp(p->word, keywords[i].name) == 0) {
            HDI_TRY(next_word(p));
            if (!*p->word)
                return hdi_fail(p->error, HD_EINVAL,
                                "map: a value is missing after '%s'",
                                keywords[i].name);
            return keywords[i].take(p);
        }
    if (strcmp(p->word, "rows") == 0)
        return HD_OK;
    if (strcmp(p->word, "columns") == 0) {
        for (unsigned i = 0; i < params->grid.rank; i++)
            params->order[i] = params->grid.rank - 1 - i;
        return HD_OK;
    }
    if (strcmp(p->word, "block") == 0 || strcmp(p->word, "cyclic") == 0) {
        params->deal = *p->word == 'c' ? HD_DEAL_CYCLIC : HD_DEAL_BLOCK;
        p->has_deal = true;
        return HD_OK;
    }
    if (strcmp(p->word, "lower") == 0)
        return diagonal(p, -1, 0); // column <= row
    if (strcmp(p->word, "upper") == 0)
        return diagonal(p, 1, 0); // row <= column
    return wrong(p, "is no word of a map; known are rows, columns, block, "
                    "cyclic, tiles, splits, mesh, order, nodes, weights, "
                    "owners, stride, memory, tasks, lower, upper and band");
}

static hd_status take_words(struct parsing *p)
{
    HDI_TRY(next_word(p));
    if (!*p->word)
        return hdi_fail(p->error, HD_EINVAL,
                        "map: it begins with the extents, as in 6x6");
    HDI_TRY(take_grid(p));
    for (;;) {
        HDI_TRY(next_word(p));
        if (!*p->word)
            break;
        HDI_TRY(take_word(p));
    }

    // Tiles on a mesh are dealt in turn, as ScaLAPACK does, axes in blocks.
    for (unsigned i = 0; i < p->params.grid.rank; i++) {
        bool tiled = p->params.tiles[i].extent || p->params.tiles[i].splits;

        p->params.mesh_deal[i] = p->has_deal ? p->params.deal
                                 : tiled     ? HD_DEAL_CYCLIC
                                             : HD_DEAL_BLOCK;
    }
    return HD_OK;
}

// Whatever happened, everything that was collected is freed here, in one place.
hd_status hd_map_parse(const char *text, struct hd_map **map,
                       struct hd_error *error)
{
    struct parsing p = {.at = text, .error = error};
    hd_status status = take_words(&p);

    if (status == HD_OK)
        status = hd_map_create(&p.params, map, error);
    for (unsigned i = 0; i < HD_MAX_RANK; i++)
        free(p.splits[i]);
    free(p.weights);
    free(p.owners);
    free(p.word);
    return status;
}
