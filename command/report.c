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

hd_status report_count(const struct hd_runtime *runtime, unsigned *count,
                       struct hd_worker_counters **counters,
                       struct hd_error *error)
{
    // The pool is only looked at; the API has one function for both uses.
    struct hd_pool *pool = hd_runtime_pool((struct hd_runtime *)runtime);
    unsigned workers = hd_pool_workers(pool);
    struct hd_worker_counters *list = calloc(workers + 1, sizeof(*list));

    if (!list)
        return fail(error, HD_ENOMEM, "out of memory");
    for (unsigned i = 0; i < workers; i++)
        hd_pool_counters(pool, i, &list[i]);
    *count = workers;
    *counters = list;
    return HD_OK;
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

static uint64_t busy_time(const struct report *report)
{
    uint64_t busy = 0;

    for (unsigned i = 0; i < report->worker_count; i++)
        busy += report->after[i].busy - report->before[i].busy;
    return busy;
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

    fprintf(file, "%4s %-*s %10s %10s %8s %12s\n", "pass", width, "name",
            "start ms", "time ms", "of run", "work-items");
    for (unsigned i = 0; hd_graph_pass_info(graph, i, &pass); i++)
        fprintf(
            file, "%4u %-*s %10.3f %10.3f %7.1f%% %12" PRIu64 "\n", i + 1,
            width, pass.name, milli(pass.begin), milli(pass.end - pass.begin),
            percent(pass.end - pass.begin, report->run_time), pass.work_items);
}

static void worker_table(const struct report *report, FILE *file)
{
    fprintf(file, "%6s %10s %10s %10s %10s %8s\n", "worker", "tasks", "stolen",
            "groups", "busy ms", "of run");
    for (unsigned i = 0; i < report->worker_count; i++) {
        const struct hd_worker_counters *before = &report->before[i];
        const struct hd_worker_counters *after = &report->after[i];
        fprintf(
            file,
            "%6u %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10.3f %7.1f%%\n", i,
            after->tasks - before->tasks, after->stolen - before->stolen,
            after->groups - before->groups, milli(after->busy - before->busy),
            percent(after->busy - before->busy, report->run_time));
    }
}

void report_text(const struct report *report, bool tables, FILE *file)
{
    const struct session *session = report->session;
    struct stage list[STAGES];

    if (tables) {
        pass_table(report, file);
        fputc('\n', file);
        worker_table(report, file);
        fputc('\n', file);
    }
    fprintf(file,
            "%s: %u passes in %.1f ms on %u worker%s, %.0f%% busy\n"
            "memory: %.1f MiB of resources, %.1f MiB of buffers at most\n",
            report->given->operand, hd_graph_pass_count(session->graph),
            milli(report->run_time), report->worker_count,
            report->worker_count == 1 ? "" : "s",
            percent(busy_time(report), report->run_time * report->worker_count),
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

void report_json(const struct report *report, FILE *file)
{
    const struct session *session = report->session;
    struct stage list[STAGES];
    struct hd_pass_info pass;
    unsigned cached;
    unsigned programs = hd_graph_program_count(session->graph, &cached);

    fputc('{', file);
    json_pair("program", report->given->operand, file);
    fprintf(file, ",\"times\":{\"unit\":\"ns\"");
    stages(report, list);
    for (int i = 0; i < STAGES; i++)
        fprintf(file, ",\"%s\":%" PRIu64, list[i].key, list[i].time);
    fprintf(file,
            "},\"memory\":{\"unit\":\"bytes\",\"resources\":%" PRIu64
            ",\"buffers\":%" PRIu64
            "},\"programs\":{\"count\":%u,\"cached\":%u},\"passes\":[",
            hd_graph_peak_memory(session->graph),
            hd_runtime_peak_memory(session->runtime), programs, cached);
    for (unsigned i = 0; hd_graph_pass_info(session->graph, i, &pass); i++) {
        fputs(i > 0 ? ",{" : "{", file);
        json_pair("name", pass.name, file);
        fputc(',', file);
        json_pair("where", pass.where ? pass.where : "", file);
        fprintf(file,
                ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64
                ",\"work_items\":%" PRIu64 "}",
                pass.begin, pass.end, pass.work_items);
    }
    fputs("],\"workers\":[", file);
    for (unsigned i = 0; i < report->worker_count; i++) {
        const struct hd_worker_counters *before = &report->before[i];
        const struct hd_worker_counters *after = &report->after[i];
        fprintf(file,
                "%s{\"tasks\":%" PRIu64 ",\"stolen\":%" PRIu64
                ",\"groups\":%" PRIu64 ",\"busy\":%" PRIu64 "}",
                i > 0 ? "," : "", after->tasks - before->tasks,
                after->stolen - before->stolen, after->groups - before->groups,
                after->busy - before->busy);
    }
    fputs("],\"outputs\":[", file);
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
