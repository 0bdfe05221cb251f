// The validator: it shares nothing with the planner but the data.
#include <stdlib.h>

#include "base/error.h"
#include "graph/plan/placement.h"

hd_status hdi_placement_check(const struct hdi_life *lives, uint32_t count,
                              const struct hdi_placement *placement,
                              struct hd_error *error)
{
    if (placement->count != count)
        return hdi_fail(error, HD_EGRAPH, "%u of %u lives are placed",
                        placement->count, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end = placement->offset[i] + lives[i].size;
        if (end > placement->height)
            return hdi_fail(error, HD_EGRAPH,
                            "life %u ends at byte %llu, above the height %llu",
                            i, (unsigned long long)end,
                            (unsigned long long)placement->height);
        for (uint32_t k = 0; k < i; k++) {
            bool meet = lives[i].lower < lives[k].upper &&
                        lives[k].lower < lives[i].upper;
            bool share =
                placement->offset[i] < placement->offset[k] + lives[k].size &&
                placement->offset[k] < end;
            if (meet && share)
                return hdi_fail(error, HD_EGRAPH,
                                "lives %u and %u share bytes at the same time",
                                k, i);
        }
    }
    return HD_OK;
}
