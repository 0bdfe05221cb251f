// The Cholesky factor of a symmetric positive definite matrix whose blocks are
// dealt over the nodes as ScaLAPACK deals them (Golub and Van Loan, Matrix
// Computations, 4.2), right-looking: a column of blocks is solved, then all
// blocks to the right of it are updated with it. Writes the factor for NumPy.
//
//     cholesky SIZE BLOCK FILE.npy
//     mpirun -n 4 cholesky 2048 64 factor.npy
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/agile.h"

enum {
    MAX_BLOCK = 128
};

struct step {
    int64_t block, k; // rows of a block; which column of blocks this is about
};

// Element (i, j), the same as in the test.
static void element(void *data, const int64_t *index, void *value)
{
    int64_t i = index[0], j = index[1], size = *(const int64_t *)data;

    *(double *)value =
        (double)((i * j + i + j) % 97) / 97 + (i == j ? (double)size : 0);
}

static double *at(const struct hd_tile *tile, int64_t i, int64_t j)
{
    return (double *)tile->data + i * tile->step[0] + j * tile->step[1];
}

// Get the block that begins at an index, wherever it is; NULL when that fails.
static const struct hd_tile *bring(struct hd_access *access,
                                   struct hd_task *task, unsigned input,
                                   int64_t row, int64_t column)
{
    hd_access_begin(access, task, input);
    return hd_access_at_2(access, row, column, sizeof(double)) ? &access->tile
                                                               : NULL;
}

// The lower factor of a block, dense. Returns false when there is none.
static bool factor(const struct hd_tile *from, double *to, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = *at(from, i, j);

            for (int64_t k = 0; k < j; k++)
                sum -= to[i * n + k] * to[j * n + k];
            if (i == j && sum <= 0)
                return false;
            to[i * n + j] = i == j ? sqrt(sum) : sum / to[j * n + j];
        }
    return true;
}

// A block of the column: X with X L^T = A, where L is the diagonal's factor.
static hd_status solve(struct hd_task *task, const struct hd_tile *out,
                       const struct hd_tile *in, void *data,
                       struct hd_error *error)
{
    const struct step *s = data;
    int64_t row = out->grid.offset[0], rows = out->grid.extent[0];
    int64_t begin = s->k * s->block;
    struct hd_access access;
    double *l = NULL;

    (void)in;
    if (row < begin)
        return HD_OK;
    const struct hd_tile *diagonal = bring(&access, task, 0, begin, begin);
    if (!diagonal)
        return access.status;
    int64_t n = diagonal->grid.extent[0];
    l = calloc((size_t)(n * n), sizeof(*l));
    if (!l) {
        snprintf(error->text, sizeof(error->text), "no memory for a block");
        return HD_ENOMEM;
    }
    if (!factor(diagonal, l, n)) {
        snprintf(error->text, sizeof(error->text),
                 "the matrix is not positive definite: see rows from %" PRId64,
                 begin);
        free(l);
        return HD_EINVAL;
    }
    const struct hd_tile *a = bring(&access, task, 0, row, begin);
    for (int64_t i = 0; a && i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = *at(a, i, j);

            for (int64_t k = 0; k < j; k++)
                sum -= *at(out, i, k) * l[j * n + k];
            *at(out, i, j) = row > begin ? sum / l[j * n + j]
                             : i < j     ? 0
                                         : l[i * n + j];
        }
    free(l);
    return a ? HD_OK : access.status;
}

// A block of the matrix: those of the column take what was solved, those behind
// it lose the product of two of the column's, those above the diagonal are 0.
static hd_status update(struct hd_task *task, const struct hd_tile *out,
                        const struct hd_tile *in, void *data,
                        struct hd_error *error)
{
    const struct step *s = data;
    int64_t row = out->grid.offset[0], column = out->grid.offset[1];
    int64_t rows = out->grid.extent[0], columns = out->grid.extent[1];
    int64_t begin = s->k * s->block;
    struct hd_access first, second;

    (void)in;
    (void)error;
    if (column < begin || row < begin)
        return HD_OK;
    if (row < column) {
        for (int64_t i = 0; i < rows; i++)
            memset(at(out, i, 0), 0, (size_t)columns * sizeof(double));
        return HD_OK;
    }
    const struct hd_tile *x = bring(&first, task, 0, row, 0);
    if (!x)
        return first.status;
    if (column == begin) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(at(out, i, 0), at(x, i, 0),
                   (size_t)columns * sizeof(double));
        return HD_OK;
    }
    const struct hd_tile *y = bring(&second, task, 0, column, 0);
    if (!y)
        return second.status;

    // The other factor's rows are turned, so that the inner loop is of one
    // direction.
    double turned[MAX_BLOCK][MAX_BLOCK];
    int64_t inner = s->block;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < inner; k++)
            turned[k][j] = *at(y, j, k);
    for (int64_t i = 0; i < rows; i++) {
        double *to = at(out, i, 0);

        for (int64_t k = 0; k < inner; k++) {
            double factor = *at(x, i, k);

            for (int64_t j = 0; j < columns; j++)
                to[j] -= factor * turned[k][j];
        }
    }
    return HD_OK;
}

static hd_status run(struct hd_cluster *cluster, int64_t size, int64_t block,
                     const char *file, struct hd_error *error)
{
    unsigned nodes = hd_cluster_nodes(cluster), across = 1;
    struct hd_map *map = NULL, *rows = NULL;
    struct hd_field *matrix = NULL, *column = NULL;
    struct hd_view view;
    char words[256];

    for (unsigned i = 1; i * i <= nodes; i++)
        if (nodes % i == 0)
            across = i;
    snprintf(words, sizeof(words),
             "%" PRId64 "x%" PRId64 " tiles %" PRId64 "x%" PRId64
             " mesh %ux%u memory %" PRId64 "x%" PRId64 " tasks %" PRId64
             "x%" PRId64,
             size, size, block, block, nodes / across, across, block, block,
             block, block);
    hd_status status = hd_map_parse(words, &map, error);
    snprintf(words, sizeof(words),
             "%" PRId64 "x%" PRId64 " tiles %" PRId64 "x%" PRId64
             " cyclic nodes %u",
             size, block, block, block, nodes);
    if (status == HD_OK)
        status = hd_map_parse(words, &rows, error);
    if (status == HD_OK)
        status = hd_view_function(hd_map_grid(map), sizeof(double), element,
                                  &size, &view, error);
    if (status == HD_OK)
        status = hd_agile(cluster, &view, map, &matrix, error);
    if (status == HD_OK)
        status = hd_field_create(cluster, sizeof(double), rows, &column, error);
    for (int64_t k = 0; status == HD_OK && k < size / block; k++) {
        struct step step = {block, k};
        struct hd_input of_matrix = {.view = hd_view_field(matrix),
                                     .touched = true};
        struct hd_input of_column = {.view = hd_view_field(column),
                                     .touched = true};
        // What is read has other indices than what is written.
        struct hd_forall solving = {.output = column,
                                    .inputs = &of_matrix,
                                    .input_count = 1,
                                    .function = solve,
                                    .data = &step};
        struct hd_forall updating = {.output = matrix,
                                     .inputs = &of_column,
                                     .input_count = 1,
                                     .function = update,
                                     .data = &step,
                                     .update = true};

        status = hd_forall(&solving, error);
        if (status == HD_OK)
            status = hd_forall(&updating, error);
    }
    if (status == HD_OK)
        status = hd_field_save(matrix, file, "<f8", &(uint64_t){0}, error);
    hd_field_destroy(matrix);
    hd_field_destroy(column);
    hd_map_destroy(map);
    hd_map_destroy(rows);
    return status;
}

int main(int count, char **words)
{
    struct hd_error error = {0};
    struct hd_cluster *cluster;
    int64_t size = count > 1 ? atoll(words[1]) : 0;
    int64_t block = count > 2 ? atoll(words[2]) : 0;

    if (count != 4 || block < 1 || block > MAX_BLOCK || size < block ||
        size % block != 0) {
        fprintf(stderr,
                "usage: cholesky SIZE BLOCK FILE.npy\n"
                "SIZE is a multiple of BLOCK, which is at most %d\n",
                MAX_BLOCK);
        return 2;
    }
    hd_status status = hd_cluster_join(NULL, &cluster, &error);
    if (status == HD_OK) {
        status = run(cluster, size, block, words[3], &error);
        if (status == HD_OK && hd_cluster_process(cluster) == 0)
            printf("factor of %" PRId64 " x %" PRId64 " on %u nodes: %s\n",
                   size, size, hd_cluster_nodes(cluster), words[3]);
        hd_cluster_leave(cluster);
    }
    if (status != HD_OK)
        fprintf(stderr, "cholesky: %s\n", error.text);
    return status != HD_OK;
}
