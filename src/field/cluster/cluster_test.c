// A cluster whose network does less than it should.
#include "field/cluster/cluster.h"

#include "tests/check.h"

static hd_status lost(struct hdi_net *net, uint64_t size,
                      struct hdi_shared **shared)
{
    (void)net;
    (void)size;
    (void)shared;
    return HD_EPEER;
}

static hd_status full(struct hdi_net *net, uint64_t size,
                      struct hdi_shared **shared)
{
    (void)net;
    (void)size;
    (void)shared;
    return HD_ENOMEM;
}

static hd_status share(hd_status (*how)(struct hdi_net *, uint64_t,
                                        struct hdi_shared **),
                       struct hd_error *error)
{
    const struct hdi_transport transport = {.name = "test", .share = how};
    struct hdi_net net = {.transport = &transport, .count = 1};
    struct hd_cluster cluster = {.transport = &transport, .net = &net};
    struct hdi_shared *shared;

    cluster.lanes[0].cluster = &cluster;
    return hdi_cluster_share(&cluster, "a test", 64, &shared, error);
}

// Also when no process says that it has none.
static void memory_that_is_not_shared_is_an_error(void)
{
    struct hd_error error;

    CHECK_FAILS(share(full, &error), HD_ENOMEM, error, "no memory for 64");
    CHECK_FAILS(share(lost, &error), HD_EPEER, error, "cannot share 64 bytes");
}

int main(void)
{
    memory_that_is_not_shared_is_an_error();
    return 0;
}
