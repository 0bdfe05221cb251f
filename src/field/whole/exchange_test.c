// What all processes give each other arrives, whatever its sizes are. Started
// by mpirun, with any number of processes.
#include "field/whole/exchange.h"

#include <stdlib.h>

#include "tests/check.h"

static struct hd_error error;

// How many bytes process `from` gives process `to`, and what they are.
static uint64_t size_of(unsigned round, uint32_t from, uint32_t to)
{
    return round == 0 ? 0 : (from * 7 + to * 5 + round * 3) % (5 * round);
}

static char byte_of(uint32_t from, uint32_t to, uint64_t i)
{
    return (char)(from * 31 + to * 17 + i * 3 + 1);
}

static void all_arrives(struct hd_cluster *cluster, unsigned round)
{
    uint32_t count = cluster->net->count, me = cluster->net->node;
    uint64_t *size = calloc(2 * count, sizeof(*size)), *sizes = size + count;
    uint64_t all = 0, place = 0;

    for (uint32_t p = 0; p < count; p++)
        all += size[p] = size_of(round, me, p);
    char *data = malloc(all + 1), *received;
    CHECK(size && data);
    for (uint32_t p = 0; p < count; p++)
        for (uint64_t i = 0; i < size[p]; i++)
            data[place++] = byte_of(me, p, i);
    CHECK_OK(
        hdi_cluster_exchange(cluster, data, size, &received, sizes, &error),
        error);
    place = 0;
    for (uint32_t p = 0; p < count; p++) {
        CHECK(sizes[p] == size_of(round, p, me));
        for (uint64_t i = 0; i < sizes[p]; i++)
            CHECK(received[place++] == byte_of(p, me, i));
    }
    free(received);
    free(data);
    free(size);
}

int main(void)
{
    struct hd_cluster *cluster;

    CHECK_OK(hd_cluster_join(NULL, &cluster, &error), error);
    for (unsigned round = 0; round < 20; round++)
        all_arrives(cluster, round);
    hd_cluster_leave(cluster);
    return 0;
}
