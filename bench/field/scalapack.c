// The redistributions of moves.c by ScaLAPACK's pdgemr2d() and the transposed
// addition by its pdtran(), on two processes.
#include "bench/field/peer.h"

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void descinit_(int *description, const int *m, const int *n, const int *mb,
               const int *nb, const int *row, const int *column,
               const int *context, const int *leading, int *info);
int numroc_(const int *n, const int *nb, const int *process, const int *source,
            const int *processes);
void pdgemr2d_(const int *m, const int *n, const double *a, const int *ia,
               const int *ja, const int *desca, double *b, const int *ib,
               const int *jb, const int *descb, const int *context);
void pdtran_(const int *m, const int *n, const double *alpha, const double *a,
             const int *ia, const int *ja, const int *desca, const double *beta,
             double *c, const int *ic, const int *jc, const int *descc);

struct layout {
    int context, description[9];
};

struct job {
    int n;
    struct layout from, to;
    double *a, *b, *c;
};

// Columns are contiguous, so rows here are columns of ours.
static struct layout lay(int n, int rows, int columns, int mb, int nb, int rank)
{
    struct layout l;
    int zero = 0, info, row = rank / columns;
    int leading = numroc_(&n, &mb, &row, &zero, &rows);

    Cblacs_get(-1, 0, &l.context);
    Cblacs_gridinit(&l.context, "R", rows, columns);
    leading = leading > 1 ? leading : 1;
    descinit_(l.description, &n, &n, &mb, &nb, &zero, &zero, &l.context,
              &leading, &info);
    return l;
}

static void redistribute(void *data)
{
    struct job *j = data;
    int one = 1;

    pdgemr2d_(&j->n, &j->n, j->a, &one, &one, j->from.description, j->b, &one,
              &one, j->to.description, &j->from.context);
}

static void transposed_add(void *data)
{
    struct job *j = data;
    int one = 1;
    double factor = 1;
    size_t size = (size_t)j->n * (size_t)j->n / 2 * sizeof(double);

    memcpy(j->c, j->a, size);
    pdtran_(&j->n, &j->n, &factor, j->b, &one, &one, j->to.description, &factor,
            j->c, &one, &one, j->to.description);
}

int main(int count, char **words)
{
    bool quick = count > 1 && strcmp(words[1], "--quick") == 0;
    int rank;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int n = 4096; n <= (quick ? 4096 : 8192); n *= 2) {
        struct windows w;
        open_windows(&w, (size_t)n * (size_t)n / 2, rank);
        struct job j = {.n = n, .a = w.mine[0], .b = w.mine[1], .c = w.mine[2]};
        const char *peer = "ScaLAPACK";

        j.from = lay(n, 1, 2, n, n / 2, rank);
        j.to = lay(n, 1, 2, 64, 64, rank);
        compare(peer, "block to 64 x 64 block-cyclic", n, "time over copying",
                redistribute, &j, copy_other, &w, rank);
        compare(peer, "A + B^T", n, "time over adding", transposed_add, &j,
                add_other, &w, rank);
        j.to = lay(n, 2, 1, n / 2, n, rank);
        compare(peer, "row blocks to column blocks", n, "time over copying",
                redistribute, &j, copy_other, &w, rank);
        close_windows(&w);
    }
    MPI_Finalize();
    return 0;
}
