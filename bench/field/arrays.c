// The redistributions of moves.c by Global Arrays' GA_Copy() and the transposed
// addition by GA_Transpose() and GA_Add(), on two processes.
#include "bench/field/peer.h"

#include <ga.h>
#include <macdecls.h>

struct job {
    int a, b, c;
};

static int blocks(int n, int rows, int columns)
{
    int array = GA_Create_handle(), extent[] = {n, n}, cut[] = {rows, columns};
    int at = 0, places[4];

    for (int i = 0; i < rows; i++)
        places[at++] = i * (n / rows);
    for (int i = 0; i < columns; i++)
        places[at++] = i * (n / columns);
    GA_Set_data(array, 2, extent, C_DBL);
    GA_Set_irreg_distr(array, places, cut);
    if (!GA_Allocate(array))
        GA_Error("no memory", 1);
    GA_Zero(array);
    return array;
}

static int block_cyclic(int n)
{
    int array = GA_Create_handle(), extent[] = {n, n}, tile[] = {64, 64};
    int grid[] = {2, 1};

    GA_Set_data(array, 2, extent, C_DBL);
    GA_Set_block_cyclic_proc_grid(array, tile, grid);
    if (!GA_Allocate(array))
        GA_Error("no memory", 1);
    GA_Zero(array);
    return array;
}

static void redistribute(void *data)
{
    struct job *j = data;

    GA_Copy(j->a, j->b);
}

static void transposed_add(void *data)
{
    struct job *j = data;
    double one = 1;

    GA_Transpose(j->b, j->c);
    GA_Add(&one, j->a, &one, j->c, j->c);
}

int main(int count, char **words)
{
    bool quick = count > 1 && strcmp(words[1], "--quick") == 0;
    const char *peer = "Global Arrays";
    int rank;

    MPI_Init(&count, &words);
    GA_Initialize();
    MA_init(C_DBL, 1 << 20, 1 << 25); // what GA_Transpose() puts aside
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int n = 4096; n <= (quick ? 4096 : 8192); n *= 2) {
        struct windows w;
        struct job j = {.a = blocks(n, 2, 1)};

        open_windows(&w, (size_t)n * (size_t)n / 2, rank);
        j.b = block_cyclic(n);
        compare(peer, "block to 64 x 64 block-cyclic", n, "time over copying",
                redistribute, &j, copy_other, &w, rank);
        GA_Destroy(j.b);
        j.b = blocks(n, 1, 2);
        compare(peer, "row blocks to column blocks", n, "time over copying",
                redistribute, &j, copy_other, &w, rank);
        GA_Destroy(j.b);
        j.b = blocks(n, 2, 1);
        j.c = blocks(n, 2, 1);
        compare(peer, "A + B^T", n, "time over adding", transposed_add, &j,
                add_other, &w, rank);
        GA_Destroy(j.a);
        GA_Destroy(j.b);
        GA_Destroy(j.c);
        close_windows(&w);
    }
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
