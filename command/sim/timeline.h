// A run as Chrome trace JSON, which Perfetto opens: one process per module, its
// groups on as many rows as run at a time, one counter per channel. A cycle is
// shown as a microsecond.
#ifndef HEDDLE_SIM_TIMELINE_H
#define HEDDLE_SIM_TIMELINE_H

#include "base/text.h"
#include "dispatch/dispatcher.h"

enum {
    SIM_ROWS = 1024
}; // of a module

struct sim_timeline {
    struct hdi_text text;
    uint64_t limit; // groups shown
    uint64_t shown, left_out;
    uint32_t modules;
    uint8_t *busy; // [module * SIM_ROWS + row]
};

hd_status sim_timeline_init(struct sim_timeline *timeline, uint32_t modules,
                            uint64_t limit, struct hd_error *error);

// A group began; the row it is shown on, or -1.
int sim_timeline_begin(struct sim_timeline *timeline, uint32_t module);
void sim_timeline_end(struct sim_timeline *timeline, int row,
                      const struct hdi_decision *decision, uint64_t begin,
                      uint64_t end);
void sim_timeline_waiting(struct sim_timeline *timeline, uint32_t channel,
                          uint64_t now, uint64_t groups);

// Finish and write; the timeline is freed either way.
hd_status sim_timeline_write(struct sim_timeline *timeline, const char *path,
                             struct hd_error *error);
void sim_timeline_free(struct sim_timeline *timeline);

#endif
