// `heddle graph --stg` and `--allocations`: the planners of the graph layer on
// problems in public formats.
#ifndef COMMAND_PLAN_PLAN_H
#define COMMAND_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/status.h"

struct plan_params {
    const char *path;
    uint64_t processors; // of a schedule
    uint64_t capacity;   // of a placement [bytes]; 0: the least
    uint64_t time;       // [ns]
    bool json;
};

// Read, plan, check, print. HD_ENOENT, HD_EIO, HD_EPROGRAM (a file that is
// wrong, with its line), HD_EGRAPH (a cycle; no placement was found),
// HD_ENOMEM.
hd_status plan_schedule(const struct plan_params *params, FILE *file,
                        struct hd_error *error);
hd_status plan_placement(const struct plan_params *params, FILE *file,
                         struct hd_error *error);

#endif
