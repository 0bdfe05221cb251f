// Which node should be called what, so that most elements stay where they are.
#include <stdlib.h>

#include "base/error.h"
#include "field/plan/plan.h"

// What of map's node q is on node p now: size[p * nodes + q] [elements].
// A plan without strides or shifts: the maps' grids are the same.
static hd_status count_sizes(const struct hd_map *from,
                             const struct hd_map *map, int64_t *size,
                             struct hd_error *error)
{
    struct hdi_affine affine = {{0}, {0}, {0}};
    struct hdi_moves moves = {0};
    struct hdi_move_plan *plan;
    hd_status status = HD_OK;

    for (unsigned i = 0; i < map->grid.rank; i++) {
        affine.axis[i] = i;
        affine.step[i] = 1;
    }
    HDI_TRY(hdi_plan_create(from, map, &affine, &plan, error));
    for (uint32_t q = 0; status == HD_OK && q < map->nodes; q++) {
        moves.count = 0;
        if (!hdi_plan_to(plan, q, &moves))
            status = hdi_fail(error, HD_ENOMEM, "no memory for a plan");
        for (size_t m = 0; status == HD_OK && m < moves.count; m++)
            if (moves.list[m].from < map->nodes)
                size[(size_t)moves.list[m].from * map->nodes + q] +=
                    moves.list[m].size;
    }
    free(moves.list);
    hdi_plan_destroy(plan);
    return status;
}

// Rows and columns are paired so that the sum of size[row][column] is largest:
// the Hungarian method with shortest augmenting paths (Jonker and Volgenant,
// Computing 38, 1987), in cubic time. Numbers count from 1, 0 is none.
// Invariant between rows: `row_of` pairs as many columns as rows were taken, at
// the least cost for these; the prices prove it (no pair costs less than its
// prices, those that are paired cost as much).
struct pairing {
    int64_t *row_price, *column_price, *least;
    size_t *row_of, *before;
    bool *done;
};

// Take in one more row: Dijkstra's algorithm over columns, from the row on, by
// costs less prices, which are not negative; it ends at a column that has no
// row. Column 0 is where the new row waits.
static void pair_row(size_t n, const int64_t *size, size_t row,
                     struct pairing *p)
{
    size_t column = 0;

    p->row_of[0] = row;
    for (size_t c = 0; c <= n; c++) {
        p->least[c] = INT64_MAX;
        p->done[c] = false;
    }
    do {
        size_t r = p->row_of[column], next = 0;
        int64_t shortest = INT64_MAX;

        p->done[column] = true;
        for (size_t c = 1; c <= n; c++) {
            if (p->done[c])
                continue;
            int64_t length = -size[(r - 1) * n + c - 1] - p->row_price[r] -
                             p->column_price[c];

            if (length < p->least[c]) {
                p->least[c] = length;
                p->before[c] = column;
            }
            if (p->least[c] < shortest) {
                shortest = p->least[c];
                next = c;
            }
        }
        for (size_t c = 0; c <= n; c++)
            if (p->done[c]) {
                p->row_price[p->row_of[c]] += shortest;
                p->column_price[c] -= shortest;
            } else {
                p->least[c] -= shortest;
            }
        column = next;
    } while (p->row_of[column] != 0);

    // Along the path back every column changes its row.
    while (column) {
        size_t next = p->before[column];

        p->row_of[column] = p->row_of[next];
        column = next;
    }
}

static bool pair_all(size_t n, const int64_t *size, uint32_t *to)
{
    struct pairing p = {
        calloc(n + 1, sizeof(int64_t)), calloc(n + 1, sizeof(int64_t)),
        calloc(n + 1, sizeof(int64_t)), calloc(n + 1, sizeof(size_t)),
        calloc(n + 1, sizeof(size_t)),  calloc(n + 1, sizeof(bool))};
    bool room = p.row_price && p.column_price && p.least && p.row_of &&
                p.before && p.done;

    for (size_t row = 1; room && row <= n; row++)
        pair_row(n, size, row, &p);
    for (size_t c = 1; room && c <= n; c++)
        to[c - 1] = (uint32_t)(p.row_of[c] - 1);
    free(p.row_price);
    free(p.column_price);
    free(p.least);
    free(p.row_of);
    free(p.before);
    free(p.done);
    return room;
}

// Needs nodes^2 sizes and nodes^3 steps: for some thousand nodes at most.
hd_status hd_map_best_labels(const struct hd_map *from,
                             const struct hd_map *map, uint32_t *to,
                             struct hd_error *error)
{
    size_t n = map->nodes;
    int64_t *size = calloc(n * n, sizeof(*size));
    if (!size)
        return hdi_fail(error, HD_ENOMEM, "no memory to assign %zu nodes", n);

    hd_status status = count_sizes(from, map, size, error);
    if (status == HD_OK && !pair_all(n, size, to))
        status = hdi_fail(error, HD_ENOMEM, "no memory to assign nodes");
    free(size);
    return status;
}
