// Results of many runs: medians over seeds, as a table or JSON lines.
#ifndef HEDDLE_SIM_TABLE_H
#define HEDDLE_SIM_TABLE_H

#include <stdio.h>

#include "sim/run.h"

// Every figure of `results` is the median over them.
void sim_table_median(const struct sim_result *results, size_t count,
                      struct sim_result *median);

void sim_table_head(FILE *file, const struct sim_machine *machine,
                    uint32_t priorities);
void sim_table_row(FILE *file, const char *policy,
                   const struct sim_machine *machine, uint32_t priorities,
                   const struct sim_result *result);

// One object on one line; `seed` NULL for medians.
void sim_table_json(FILE *file, const char *workload, const char *policy,
                    const struct sim_machine *machine, uint32_t priorities,
                    const uint64_t *seed, const struct sim_result *result);

#endif
