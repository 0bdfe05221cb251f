// What ran, for people or as JSON.
#ifndef COMMAND_REPORT_H
#define COMMAND_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/task.h"
#include "session.h"

struct report {
    const struct options *given;
    const struct session *session;
    uint64_t build_time, run_time, encode_time, total_time; // [ns]
    unsigned worker_count;
    struct hd_worker_counters *before, *after; // the run, one per worker
};

// Take the counters of all workers.
//
// Errors: HD_ENOMEM
hd_status report_count(const struct hd_runtime *runtime, unsigned *count,
                       struct hd_worker_counters **counters,
                       struct hd_error *error);

// A few lines; with `tables` also one line per pass and per worker.
void report_text(const struct report *report, bool tables, FILE *file);
void report_json(const struct report *report, FILE *file);

#endif
