// What ran, for people or as JSON.
#ifndef COMMAND_REPORT_H
#define COMMAND_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/task.h"
#include "heddle/unit.h"
#include "session.h"

struct report {
    const struct options *given;
    const struct session *session;
    uint64_t build_time, run_time, encode_time, total_time; // [ns]
    struct counts *before, *after;                          // the run
};

// What all workers and units have done so far.
struct counts {
    unsigned worker_count, unit_count;
    struct hd_worker_counters *workers;
    struct hd_unit_counters *units;
};

// Take them; free with free().
//
// Errors: HD_ENOMEM
hd_status report_count(struct hd_runtime *runtime, struct counts **counts,
                       struct hd_error *error);

// A few lines; with `tables` also one line per pass and per worker.
void report_text(const struct report *report, bool tables, FILE *file);
void report_json(const struct report *report, FILE *file);

#endif
