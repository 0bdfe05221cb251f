// A recorded workload: rows of a CSV file become the kernels of a workload
// file. Columns are named on the command line.
#ifndef HEDDLE_SIM_CSV_H
#define HEDDLE_SIM_CSV_H

#include <stdio.h>

#include "sim/text.h"

enum {
    SIM_CSV_NEEDS = 16,
    SIM_CSV_COLUMNS = 256
};

struct sim_csv {
    const char *arrival, *duration;                  // columns, required
    const char *channel, *priority, *waves, *groups; // optional
    double cycles; // of one unit of time of the file
    unsigned need_count;
    struct {
        char resource[32], column[64];
        double scale; // blocks per unit of the column
    } needs[SIM_CSV_NEEDS];
};

// "resource=column" or "resource=column*scale".
hd_status sim_csv_need(struct sim_csv *csv, const char *text,
                       struct hd_error *error);

hd_status sim_csv_convert(const struct sim_csv *csv, const char *path,
                          FILE *out, struct hd_error *error);

#endif
