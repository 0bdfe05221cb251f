#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "target.h"

// Times of the stages, in the order they happen: one list for both forms.
struct stage {
    const char *name; // for people
    const char *key;  // for JSON
    uint64_t time;    // [ns]
};

enum {
    STAGES = 7
};

static void stages(const struct report *report, struct stage list[STAGES])
{
    const struct session *session = report->session;
    const struct stage all[STAGES] = {
        {"start", "start", session->start_time},
        {"read images", "decode", session->decode_time},
        {"generate", "generate", session->generate_time},
        {"build kernels", "build", report->build_time},
        {"run", "run", report->run_time},
        {"write images", "encode", report->encode_time},
        {"total", "total", report->total_time}};

    memcpy(list, all, sizeof(all));
}

hd_status report_count(struct hd_runtime *runtime, struct counts **counts,
                       struct hd_error *error)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    unsigned workers = hd_pool_workers(pool), units = hd_runtime_units(runtime);
    struct counts *c = calloc(1, sizeof(*c) + workers * sizeof(*c->workers) +
                                     units * sizeof(*c->units));
    if (!c)
        return fail(error, HD_ENOMEM, "out of memory");

    c->worker_count = workers;
    c->unit_count = units;
    c->workers = (struct hd_worker_counters *)(c + 1);
    c->units = (struct hd_unit_counters *)(c->workers + workers);
    for (unsigned i = 0; i < workers; i++)
        hd_pool_counters(pool, i, &c->workers[i]);
    for (unsigned i = 0; i < units; i++) {
        hd_status status = hd_unit_counters(runtime, i, &c->units[i], error);
        if (status != HD_OK) {
            free(c);
            return status;
        }
    }
    *counts = c;
    return HD_OK;
}

// What worker or unit `i` did in the run.
static struct hd_worker_counters worker_of(const struct report *report,
                                           unsigned i)
{
    const struct hd_worker_counters *a = &report->before->workers[i];
    const struct hd_worker_counters *b = &report->after->workers[i];

    return (struct hd_worker_counters){
        .tasks = b->tasks - a->tasks,
        .stolen = b->stolen - a->stolen,
        .failed = b->failed - a->failed,
        .parks = b->parks - a->parks,
        .parked = b->parked - a->parked,
        .leaves = b->leaves - a->leaves,
        .groups = b->groups - a->groups,
        .busy = b->busy - a->busy,
    };
}

static struct hd_unit_counters unit_of(const struct report *report, unsigned i)
{
    const struct hd_unit_counters *a = &report->before->units[i];
    struct hd_unit_counters unit = report->after->units[i];

    unit.leaves -= a->leaves;
    unit.groups -= a->groups;
    unit.busy -= a->busy;
    for (unsigned j = 0; j < HD_TRIP_BUCKETS; j++)
        unit.trips[j] -= a->trips[j];
    return unit;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static double milli(uint64_t time)
{
    return (double)time / 1e6;
}

static double mebi(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

// Of the time that workers and units had.
static double busy_percent(const struct report *report)
{
    unsigned workers = report->after->worker_count;
    unsigned units = report->after->unit_count;
    uint64_t busy = 0;

    for (unsigned i = 0; i < workers; i++)
        busy += worker_of(report, i).busy;
    for (unsigned i = 0; i < units; i++)
        busy += unit_of(report, i).busy;
    return percent(busy, report->run_time * (workers + units));
}

// For people ------------------------------------------------------------------

static void pass_table(const struct report *report, FILE *file)
{
    const struct hd_graph *graph = report->session->graph;
    struct hd_pass_info pass;
    int width = 4;

    for (unsigned i = 0; hd_graph_pass_info(graph, i, &pass); i++)
        if ((int)strlen(pass.name) > width)
            width = (int)strlen(pass.name);

    fprintf(file, "%4s %-*s %10s %10s %8s %12s %11s %8s\n", "pass", width,
            "name", "start ms", "time ms", "of run", "work-items", "moved MiB",
            "GB/s");
    for (unsigned i = 0; hd_graph_pass_info(graph, i, &pass); i++) {
        uint64_t time = pass.end - pass.begin;
        fprintf(file,
                "%4u %-*s %10.3f %10.3f %7.1f%% %12" PRIu64 " %10.3f%s %8.2f\n",
                i + 1, width, pass.name, milli(pass.begin), milli(time),
                percent(time, report->run_time), pass.work_items,
                mebi(pass.bytes), pass.counted ? " " : "~",
                time > 0 ? (double)pass.bytes / (double)time : 0);
    }
}

// By all passes: what was counted, and what had to be estimated.
static void traffic(const struct hd_graph *graph, FILE *file)
{
    uint64_t counted = 0, estimated = 0;
    struct hd_pass_info pass;

    for (unsigned i = 0; hd_graph_pass_info(graph, i, &pass); i++)
        *(pass.counted ? &counted : &estimated) += pass.bytes;
    fprintf(file,
            "traffic: %.1f MiB counted by the hardware, ~%.1f MiB estimated "
            "from resources\n",
            mebi(counted), mebi(estimated));
}

static void worker_table(const struct report *report, FILE *file)
{
    fprintf(file, "%6s %10s %8s %8s %8s %10s %8s %10s %10s %8s\n", "worker",
            "tasks", "stolen", "failed", "parks", "parked ms", "leaves",
            "groups", "busy ms", "of run");
    for (unsigned i = 0; i < report->after->worker_count; i++) {
        struct hd_worker_counters c = worker_of(report, i);
        fprintf(file,
                "%6u %10" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64
                " %10.3f %8" PRIu64 " %10" PRIu64 " %10.3f %7.1f%%\n",
                i, c.tasks, c.stolen, c.failed, c.parks, milli(c.parked),
                c.leaves, c.groups, milli(c.busy),
                percent(c.busy, report->run_time));
    }
}

// The histogram of round trips is a list of those that happened.
static void unit_table(const struct report *report, FILE *file)
{
    if (report->after->unit_count == 0)
        return;
    fprintf(file, "\n%6s %6s %8s %10s %10s %8s  %s\n", "unit", "worker",
            "leaves", "groups", "busy ms", "of run", "round trips");
    for (unsigned i = 0; i < report->after->unit_count; i++) {
        struct hd_unit_counters c = unit_of(report, i);
        fprintf(file, "%6u %6u %8" PRIu64 " %10" PRIu64 " %10.3f %7.1f%% ", i,
                c.worker, c.leaves, c.groups, milli(c.busy),
                percent(c.busy, report->run_time));
        for (unsigned j = 0; j < HD_TRIP_BUCKETS; j++)
            if (c.trips[j] > 0)
                fprintf(file, " %" PRIu64 " of %.1f us", c.trips[j],
                        (double)(UINT64_C(1) << j) / 1e3);
        fputc('\n', file);
    }
}

static void scheduler(const struct hd_graph *graph, FILE *file)
{
    static const char *const names[] = {"nobody", "the host",
                                        "units of the device",
                                        "the device's queue of launches"};
    struct hd_graph_statistics stats;

    hd_graph_stats(graph, &stats);
    fprintf(file, "passes started by %s%s%s\n", names[stats.by],
            *stats.not_by_device ? ", since " : "", stats.not_by_device);
    if (stats.appended > 0)
        fprintf(file, "dispatches appended by kernels: %u\n", stats.appended);
    fprintf(file,
            "passes took %.3f ms, predicted %.3f (all work %.3f, the longest "
            "chain %.3f)\n",
            milli(stats.makespan), milli(stats.predicted), milli(stats.area),
            milli(stats.critical_path));
}

void report_text(const struct report *report, bool tables, FILE *file)
{
    const struct session *session = report->session;
    unsigned passes = hd_graph_pass_count(session->graph);
    struct stage list[STAGES];

    if (tables) {
        pass_table(report, file);
        fputc('\n', file);
        worker_table(report, file);
        unit_table(report, file);
        fputc('\n', file);
        scheduler(session->graph, file);
        traffic(session->graph, file);
    }
    fprintf(file,
            "%s: %u pass%s in %.1f ms on %u worker%s, %.0f%% busy\n"
            "memory: %.1f MiB of resources, %.1f MiB of buffers at most\n",
            report->given->operand, passes, passes == 1 ? "" : "es",
            milli(report->run_time), report->after->worker_count,
            report->after->worker_count == 1 ? "" : "s", busy_percent(report),
            mebi(hd_graph_peak_memory(session->graph)),
            mebi(hd_runtime_peak_memory(session->runtime)));
    stages(report, list);
    unsigned cached;
    unsigned programs = hd_graph_program_count(session->graph, &cached);
    if (programs > 0)
        fprintf(file, "kernels: %u program%s, %u of them from the cache\n",
                programs, programs == 1 ? "" : "s", cached);
    fprintf(file, "time [ms]:");
    for (int i = 0; i < STAGES; i++)
        fprintf(file, "%s %s %.1f", i > 0 ? "," : "", list[i].name,
                milli(list[i].time));
    fputc('\n', file);
    for (const struct given *one = NULL;
         (one = option_next(report->given, "--out", one)) != NULL;)
        fprintf(file, "wrote %s to %s\n", one->name,
                target_is_output(one->value) ? "standard output" : one->value);
}

// For programs ----------------------------------------------------------------

static void json_string(const char *text, FILE *file)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void json_pair(const char *key, const char *text, FILE *file)
{
    fprintf(file, "\"%s\":", key);
    json_string(text, file);
}

static void json_workers(const struct report *report, FILE *file)
{
    fputs("],\"workers\":[", file);
    for (unsigned i = 0; i < report->after->worker_count; i++) {
        struct hd_worker_counters c = worker_of(report, i);
        fprintf(file,
                "%s{\"tasks\":%" PRIu64 ",\"stolen\":%" PRIu64
                ",\"failed\":%" PRIu64 ",\"parks\":%" PRIu64
                ",\"parked\":%" PRIu64 ",\"leaves\":%" PRIu64
                ",\"groups\":%" PRIu64 ",\"busy\":%" PRIu64 "}",
                i > 0 ? "," : "", c.tasks, c.stolen, c.failed, c.parks,
                c.parked, c.leaves, c.groups, c.busy);
    }
    fputc(']', file);
}

// `trips` as in struct hd_unit_counters, up to the longest that happened.
static void json_units(const struct report *report, FILE *file)
{
    fputs(",\"units\":[", file);
    for (unsigned i = 0; i < report->after->unit_count; i++) {
        struct hd_unit_counters c = unit_of(report, i);
        unsigned end = HD_TRIP_BUCKETS;
        fprintf(file,
                "%s{\"worker\":%u,\"module\":%u,\"leaves\":%" PRIu64
                ",\"groups\":%" PRIu64 ",\"busy\":%" PRIu64 ",\"trips\":[",
                i > 0 ? "," : "", c.worker, c.module, c.leaves, c.groups,
                c.busy);
        while (end > 0 && c.trips[end - 1] == 0)
            end--;
        for (unsigned j = 0; j < end; j++)
            fprintf(file, "%s%" PRIu64, j > 0 ? "," : "", c.trips[j]);
        fputs("]}", file);
    }
    fputc(']', file);
}

void report_json(const struct report *report, FILE *file)
{
    const struct session *session = report->session;
    struct stage list[STAGES];
    struct hd_pass_info pass;
    unsigned cached;
    unsigned programs = hd_graph_program_count(session->graph, &cached);
    struct hd_graph_statistics stats;

    hd_graph_stats(session->graph, &stats);
    fputc('{', file);
    json_pair("program", report->given->operand, file);
    fprintf(file, ",\"times\":{\"unit\":\"ns\"");
    stages(report, list);
    for (int i = 0; i < STAGES; i++)
        fprintf(file, ",\"%s\":%" PRIu64, list[i].key, list[i].time);
    fprintf(file,
            "},\"schedule\":{\"unit\":\"ns\",\"makespan\":%" PRIu64
            ",\"predicted\":%" PRIu64 ",\"area\":%" PRIu64
            ",\"critical_path\":%" PRIu64
            "},\"memory\":{\"unit\":\"bytes\",\"resources\":%" PRIu64
            ",\"buffers\":%" PRIu64
            "},\"programs\":{\"count\":%u,\"cached\":%u},\"passes\":[",
            stats.makespan, stats.predicted, stats.area, stats.critical_path,
            hd_graph_peak_memory(session->graph),
            hd_runtime_peak_memory(session->runtime), programs, cached);
    for (unsigned i = 0; hd_graph_pass_info(session->graph, i, &pass); i++) {
        fputs(i > 0 ? ",{" : "{", file);
        json_pair("name", pass.name, file);
        fputc(',', file);
        json_pair("where", pass.where ? pass.where : "", file);
        fprintf(file,
                ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64
                ",\"work_items\":%" PRIu64 ",\"bytes\":%" PRIu64
                ",\"counted\":%s}",
                pass.begin, pass.end, pass.work_items, pass.bytes,
                pass.counted ? "true" : "false");
    }
    json_workers(report, file);
    json_units(report, file);
    fputs(",\"outputs\":[", file);
    const char *comma = "";
    for (const struct given *one = NULL;
         (one = option_next(report->given, "--out", one)) != NULL;) {
        fprintf(file, "%s{", comma);
        json_pair("name", one->name, file);
        fputc(',', file);
        json_pair("file", one->value, file);
        fputc('}', file);
        comma = ",";
    }
    fputs("]}\n", file);
}
