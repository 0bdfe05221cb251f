#include "sim/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

hd_status sim_timeline_init(struct sim_timeline *timeline, uint32_t modules,
                            uint64_t limit, struct hd_error *error)
{
    *timeline = (struct sim_timeline){.limit = limit, .modules = modules};
    timeline->busy = calloc(modules, SIM_ROWS);
    if (!timeline->busy)
        return hdi_fail(error, HD_ENOMEM, "no memory for the timeline");
    hdi_text_print(&timeline->text, "{\"traceEvents\":[\n");
    for (uint32_t m = 0; m < modules; m++)
        hdi_text_print(&timeline->text,
                       "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\","
                       "\"args\":{\"name\":\"module %u\"}},\n",
                       m + 1, m);
    return HD_OK;
}

int sim_timeline_begin(struct sim_timeline *timeline, uint32_t module)
{
    uint8_t *busy = timeline->busy + (size_t)module * SIM_ROWS;

    if (timeline->shown == timeline->limit) {
        timeline->left_out++;
        return -1;
    }
    for (int row = 0; row < SIM_ROWS; row++) {
        if (!busy[row]) {
            busy[row] = 1;
            timeline->shown++;
            return row;
        }
    }
    timeline->left_out++;
    return -1;
}

void sim_timeline_end(struct sim_timeline *timeline, int row,
                      const struct hdi_decision *decision, uint64_t begin,
                      uint64_t end)
{
    if (row < 0)
        return;
    timeline->busy[(size_t)decision->module * SIM_ROWS + (size_t)row] = 0;
    hdi_text_print(&timeline->text,
                   "{\"ph\":\"X\",\"pid\":%u,\"tid\":%d,\"ts\":%" PRIu64
                   ",\"dur\":%" PRIu64 ",\"name\":\"kernel %" PRIu64
                   "\",\"args\":{\"channel\":%u,\"priority\":%u,\"group\":%u,"
                   "\"waves\":%u,\"waited\":%" PRIu64 "}},\n",
                   decision->module + 1, row, begin, end - begin, decision->tag,
                   decision->channel, decision->priority, decision->group,
                   decision->waves, begin - decision->arrived);
}

void sim_timeline_waiting(struct sim_timeline *timeline, uint32_t channel,
                          uint64_t now, uint64_t groups)
{
    hdi_text_print(&timeline->text,
                   "{\"ph\":\"C\",\"pid\":0,\"ts\":%" PRIu64
                   ",\"name\":\"channel %u\",\"args\":{\"waiting\":%" PRIu64
                   "}},\n",
                   now, channel, groups);
}

hd_status sim_timeline_write(struct sim_timeline *timeline, const char *path,
                             struct hd_error *error)
{
    hd_status status = HD_OK;

    hdi_text_print(&timeline->text,
                   "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\","
                   "\"args\":{\"name\":\"channels\"}}\n],"
                   "\"otherData\":{\"unit\":\"1 us is 1 cycle\","
                   "\"groups left out\":%" PRIu64 "}}\n",
                   timeline->left_out);
    FILE *file = timeline->text.failed ? NULL : fopen(path, "wb");
    if (timeline->text.failed) {
        status = hdi_fail(error, HD_ENOMEM, "no memory for the timeline");
    } else if (!file) {
        status = hdi_fail(error, HD_EIO, "%s: %s", path, strerror(errno));
    } else {
        size_t size = timeline->text.size;
        bool done = fwrite(timeline->text.data, 1, size, file) == size;
        done = fclose(file) == 0 && done;
        if (!done)
            status = hdi_fail(error, HD_EIO, "%s: %s", path, strerror(errno));
    }
    sim_timeline_free(timeline);
    return status;
}

void sim_timeline_free(struct sim_timeline *timeline)
{
    hdi_text_free(&timeline->text);
    free(timeline->busy);
    *timeline = (struct sim_timeline){0};
}
