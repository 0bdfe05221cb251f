#include "sim/table.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/text.h"

// Every figure of a result that is a double, by its place.
static size_t list_doubles(size_t *place, size_t room)
{
    size_t n = 0;

#define PLACE(member)                                         \
    do {                                                      \
        if (n < room)                                         \
            place[n++] = offsetof(struct sim_result, member); \
    } while (0)
#define PLACE_WAIT(member)  \
    do {                    \
        PLACE(member.mean); \
        PLACE(member.p50);  \
        PLACE(member.p99);  \
        PLACE(member.max);  \
    } while (0)
    PLACE(throughput);
    for (size_t r = 0; r < HDI_MAX_RESOURCES; r++)
        place[n++] = offsetof(struct sim_result, used) + r * sizeof(double);
    PLACE_WAIT(wait);
    size_t wait = offsetof(struct sim_result, wait);
    size_t first = offsetof(struct sim_result, by_priority);
    for (size_t p = 0; p <= HDI_MAX_PRIORITIES; p++) {
        for (size_t i = 0; i < 4; i++)
            place[n + i] = place[n - 4 * (p + 1) + i] - wait + first +
                           p * sizeof(struct sim_wait);
        n += 4;
    }
    PLACE(unit_imbalance);
    PLACE(module_imbalance);
    PLACE(heat_mean);
    PLACE(heat_max);
    PLACE(seconds);
#undef PLACE_WAIT
#undef PLACE
    return n;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 ? values[count / 2]
                     : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void sim_table_median(const struct sim_result *results, size_t count,
                      struct sim_result *median)
{
    size_t place[128], places = list_doubles(place, 128);
    double *values = calloc(count, sizeof(*values));

    *median = results[0];
    if (!values)
        return;
    for (size_t i = 0; i < places; i++) {
        for (size_t k = 0; k < count; k++)
            values[k] = *(const double *)((const char *)&results[k] + place[i]);
        *(double *)((char *)median + place[i]) = median_of(values, count);
    }
    free(values);
    // Whole numbers stay whole: their mean.
    uint64_t decisions = 0, rounds = 0, splits = 0, completed = 0;
    for (size_t k = 0; k < count; k++) {
        decisions += results[k].decisions;
        rounds += results[k].rounds;
        splits += results[k].splits;
        completed += results[k].completed;
    }
    median->decisions = decisions / count;
    median->rounds = rounds / count;
    median->splits = splits / count;
    median->completed = completed / count;
}

void sim_table_head(FILE *file, const struct sim_machine *machine,
                    uint32_t priorities)
{
    fprintf(file, "%-24s %7s %9s %9s %9s %9s", "policy", "work", "wait mean",
            "p50", "p99", "max");
    for (uint32_t p = 1; p <= priorities; p++)
        fprintf(file, "   p%u mean    p%u p99    p%u max", p, p, p);
    for (uint32_t r = 0; r < machine->shape.resource_count; r++)
        fprintf(file, " %8.8s", machine->shape.resources[r].name);
    fprintf(file, "  units modules   heat  M dec/s\n");
}

void sim_table_row(FILE *file, const char *policy,
                   const struct sim_machine *machine, uint32_t priorities,
                   const struct sim_result *result)
{
    const struct sim_wait *w = &result->wait;

    fprintf(file, "%-24s %7.4f %9.0f %9.0f %9.0f %9.0f", policy,
            result->throughput, w->mean, w->p50, w->p99, w->max);
    for (uint32_t p = 1; p <= priorities; p++) {
        w = &result->by_priority[p];
        fprintf(file, " %9.0f %9.0f %9.0f", w->mean, w->p99, w->max);
    }
    for (uint32_t r = 0; r < machine->shape.resource_count; r++)
        fprintf(file, " %7.1f%%", 100 * result->used[r]);
    fprintf(file, " %6.4f %7.3f %6.3f %8.2f\n", result->unit_imbalance,
            result->module_imbalance, result->heat_mean,
            result->seconds > 0
                ? (double)result->decisions / result->seconds / 1e6
                : 0);
}

static void json_wait(struct hdi_text *text, const struct sim_wait *wait)
{
    hdi_text_print(text,
                   "{\"groups\":%" PRIu64 ",\"mean\":%.10g,\"p50\":%.10g,"
                   "\"p99\":%.10g,\"max\":%.10g}",
                   wait->groups, wait->mean, wait->p50, wait->p99, wait->max);
}

void sim_table_json(FILE *file, const char *workload, const char *policy,
                    const struct sim_machine *machine, uint32_t priorities,
                    const uint64_t *seed, const struct sim_result *result)
{
    struct hdi_text text = {0};

    hdi_text_print(&text, "{\"workload\":");
    hdi_text_json(&text, workload);
    hdi_text_print(&text, ",\"machine\":");
    hdi_text_json(&text, machine->name);
    hdi_text_print(&text, ",\"policy\":");
    hdi_text_json(&text, policy);
    if (seed)
        hdi_text_print(&text, ",\"seed\":%" PRIu64, *seed);
    else
        hdi_text_print(&text, ",\"seed\":\"median\"");
    hdi_text_print(&text,
                   ",\"cycles\":%" PRIu64 ",\"decisions\":%" PRIu64
                   ",\"rounds\":%" PRIu64 ",\"splits\":%" PRIu64
                   ",\"completed\":%" PRIu64 ",\"throughput\":%.10g,\"wait\":",
                   result->cycles, result->decisions, result->rounds,
                   result->splits, result->completed, result->throughput);
    json_wait(&text, &result->wait);
    hdi_text_print(&text, ",\"priority\":[");
    for (uint32_t p = 1; p <= priorities; p++) {
        hdi_text_print(&text, "%s", p > 1 ? "," : "");
        json_wait(&text, &result->by_priority[p]);
    }
    hdi_text_print(&text, "],\"used\":{");
    for (uint32_t r = 0; r < machine->shape.resource_count; r++) {
        hdi_text_print(&text, "%s", r > 0 ? "," : "");
        hdi_text_json(&text, machine->shape.resources[r].name);
        hdi_text_print(&text, ":%.6g", result->used[r]);
    }
    hdi_text_print(&text,
                   "},\"unit_imbalance\":%.8g,\"module_imbalance\":%.8g,"
                   "\"heat_spread_mean\":%.6g,\"heat_spread_max\":%.6g,"
                   "\"seconds\":%.6g}\n",
                   result->unit_imbalance, result->module_imbalance,
                   result->heat_mean, result->heat_max, result->seconds);
    if (!text.failed)
        fwrite(text.data, 1, text.size, file);
    hdi_text_free(&text);
}
