// A chunk as launches of the driver's: they have each of its work-groups once,
// of the right size, and each grid is one that the driver takes.
#include <string.h>

#include "backend/cuda/launch/boxes.h"
#include "tests/check.h"

// What was visited, and the chunk it is of.
struct seen {
    const struct hdi_frame *frame;
    uint64_t groups, items; // in all launches
    unsigned launches;
};

static cuda_result look(void *data, const struct cuda_box *box)
{
    static const uint32_t most[3] = {INT32_MAX, 65535, 65535};
    const struct hdi_device_launch *launch = box->parameter;
    struct seen *s = data;
    const struct hdi_frame *f = s->frame;
    uint64_t groups = 1, items = 1;

    for (int d = 0; d < 3; d++) {
        CHECK(box->grid[d] > 0 && box->grid[d] <= most[d]);
        CHECK(launch->first[d] >= f->first[d]);
        CHECK((uint64_t)launch->first[d] + box->grid[d] <=
              (uint64_t)f->first[d] + f->count[d]);
        CHECK(launch->size[d] == box->block[d]);
        groups *= box->grid[d];
        items *= (uint64_t)box->grid[d] * box->block[d];
    }
    s->groups += groups;
    s->items += items;
    s->launches++;
    return 0;
}

// All work-groups of a range. Launches do not overlap if they have as many
// work-groups and work-items as there are and none is outside.
static unsigned launches_of(const uint64_t global[3], const uint32_t local[3])
{
    const struct hdi_entry entry = {.args_bytes = 0};
    struct hdi_chunk chunk = {.entry = &entry, .frame = {.dims = 3}};
    struct hdi_frame *f = &chunk.frame;
    struct seen seen = {.frame = f};
    uint64_t groups = 1, items = 1;

    for (int d = 0; d < 3; d++) {
        f->global[d] = global[d];
        f->local_size[d] = local[d];
        f->group_count[d] = (uint32_t)((global[d] + local[d] - 1) / local[d]);
        f->count[d] = f->group_count[d];
        groups *= f->count[d];
        items *= global[d];
    }
    CHECK(cuda_each_box(&chunk, 0, look, &seen) == 0);
    CHECK(seen.groups == groups && seen.items == items);
    return seen.launches;
}

static cuda_result refuse(void *data, const struct cuda_box *box)
{
    (void)box;
    return ++*(unsigned *)data == 2 ? CUDA_OUT_OF_MEMORY : 0;
}

static void the_first_failure_ends_it(void)
{
    const struct hdi_entry entry = {.args_bytes = 0};
    const struct hdi_chunk chunk = {.entry = &entry,
                                    .frame = {.dims = 2,
                                              .global = {65536, 200000, 1},
                                              .local_size = {1, 1, 1},
                                              .group_count = {65536, 200000, 1},
                                              .count = {65536, 200000, 1}}};
    unsigned visits = 0;

    CHECK(cuda_each_box(&chunk, 0, refuse, &visits) == CUDA_OUT_OF_MEMORY);
    CHECK(visits == 2);
}

int main(void)
{
    const uint32_t one[3] = {1, 1, 1}, box[3] = {4, 4, 4};

    CHECK(launches_of((const uint64_t[3]){100, 1, 1}, one) == 1);
    CHECK(launches_of((const uint64_t[3]){10, 9, 7}, box) == 8);
    CHECK(launches_of((const uint64_t[3]){1, 65535, 65536}, one) == 2);
    CHECK(launches_of((const uint64_t[3]){3, 131071, 1}, one) == 3);
    CHECK(launches_of((const uint64_t[3]){INT32_MAX, 1, 1}, one) == 1);
    CHECK(launches_of((const uint64_t[3]){UINT32_MAX, 1, 1}, one) == 3);
    CHECK(launches_of((const uint64_t[3]){1, 1, UINT32_MAX}, one) == 65537);
    the_first_failure_ends_it();
    return 0;
}
