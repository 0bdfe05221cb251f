// Files of the standard task graph set (Tobita and Kasahara, 2002): the number
// of tasks, then a line per task, a first and a last one without cost among
// them: number, cost, how many it follows, those. What comes after '#' tells
// how the graph was made.
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "graph/plan/schedule.h"
#include "plan/lines.h"
#include "plan/plan.h"

static const uint64_t most_tasks = 1 << 20;
static const uint64_t most_cost = UINT64_C(1) << 40;

struct problem {
    uint32_t count;
    uint64_t *cost;
    uint32_t *first, *successors;
    uint32_t *from, *to; // of each edge
    uint32_t edges, capacity;
};

static void problem_free(struct problem *p)
{
    free(p->cost);
    free(p->first);
    free(p->successors);
    free(p->from);
    free(p->to);
}

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory for the task graph");
}

static bool add_edge(struct problem *p, uint32_t from, uint32_t to)
{
    if (p->edges == p->capacity) {
        uint32_t capacity = p->capacity ? 2 * p->capacity : 256;
        uint32_t *a = realloc(p->from, capacity * sizeof(*a));
        if (!a)
            return false;
        p->from = a;
        uint32_t *b = realloc(p->to, capacity * sizeof(*b));
        if (!b)
            return false;
        p->to = b;
        p->capacity = capacity;
    }
    p->from[p->edges] = from;
    p->to[p->edges++] = to;
    return true;
}

static hd_status read_task(struct lines *lines, struct problem *p,
                           uint64_t most)
{
    uint64_t number, before, from;

    HDI_TRY(lines_number(lines, "", "task", most, &number));
    if (number != p->count)
        return lines_fail(lines, "task %" PRIu64 " where task %u should stand",
                          number, p->count);
    HDI_TRY(lines_number(lines, "", "cost", most_cost, &p->cost[number]));
    HDI_TRY(lines_number(lines, "", "number of tasks", most, &before));
    for (uint64_t i = 0; i < before; i++) {
        HDI_TRY(lines_number(lines, "", "task", most, &from));
        if (from == number)
            return lines_fail(lines, "task %" PRIu64 " follows itself", number);
        if (!add_edge(p, (uint32_t)from, (uint32_t)number))
            return no_memory(lines->error);
    }
    const char *rest = lines_word(lines, "");
    if (rest)
        return lines_fail(lines, "'%.40s' is left over at the end of the line",
                          rest);
    p->count++;
    return HD_OK;
}

// A file that says N has N + 2 tasks, the first and the last to tie the others
// together; without these two it is taken as well.
static hd_status read_tasks(struct lines *lines, struct problem *p)
{
    uint64_t said;

    if (!lines_next(lines))
        return lines_fail(lines, "no task graph in it");
    HDI_TRY(lines_number(lines, "", "number of tasks", most_tasks, &said));
    p->cost = calloc(said + 2, sizeof(*p->cost));
    if (!p->cost)
        return no_memory(lines->error);
    while (lines_next(lines)) {
        if (p->count == said + 2)
            return lines_fail(lines, "more than the %" PRIu64 " tasks it says",
                              said);
        HDI_TRY(read_task(lines, p, said + 1));
    }
    if (p->count != said && p->count != said + 2)
        return lines_fail(lines, "%u tasks, where the first line says %" PRIu64,
                          p->count, said);
    for (uint32_t i = 0; i < p->edges; i++)
        if (p->from[i] >= p->count)
            return lines_fail(lines, "there is no task %u", p->from[i]);
    return HD_OK;
}

static hd_status index_edges(struct problem *p, struct hd_error *error)
{
    p->first = calloc(p->count + (size_t)2, sizeof(*p->first));
    p->successors = malloc((p->edges + (size_t)1) * sizeof(*p->successors));
    if (!p->first || !p->successors)
        return no_memory(error);
    for (uint32_t i = 0; i < p->edges; i++)
        p->first[p->from[i] + 2]++;
    for (uint32_t i = 2; i <= p->count + 1; i++)
        p->first[i] += p->first[i - 1];
    for (uint32_t i = 0; i < p->edges; i++)
        p->successors[p->first[p->from[i] + 1]++] = p->to[i];
    return HD_OK;
}

static void print_text(const struct problem *p,
                       const struct hdi_schedule *schedule, uint64_t processors,
                       FILE *file)
{
    fprintf(file, "%8s %9s %12s %12s\n", "task", "processor", "start", "end");
    for (uint32_t i = 0; i < p->count; i++)
        fprintf(file, "%8u %9u %12" PRIu64 " %12" PRIu64 "\n", i,
                schedule->processor[i], schedule->start[i],
                schedule->start[i] + p->cost[i]);
    fprintf(file,
            "makespan %" PRIu64 " on %" PRIu64 " processors\n"
            "at least %" PRIu64 ": critical path %" PRIu64
            ", work over processors %" PRIu64 "\n"
            "list order alone %" PRIu64 "\n",
            schedule->makespan, processors, schedule->bound,
            schedule->critical_path, schedule->area, schedule->list_makespan);
}

static void print_json(const struct problem *p,
                       const struct hdi_schedule *schedule, uint64_t processors,
                       FILE *file)
{
    fprintf(file, "{\"tasks\":[");
    for (uint32_t i = 0; i < p->count; i++)
        fprintf(file,
                "%s\n{\"task\":%u,\"processor\":%u,\"start\":%" PRIu64
                ",\"end\":%" PRIu64 "}",
                i ? "," : "", i, schedule->processor[i], schedule->start[i],
                schedule->start[i] + p->cost[i]);
    fprintf(file,
            "],\n\"processors\":%" PRIu64 ",\"makespan\":%" PRIu64
            ",\"bound\":%" PRIu64 ",\"critical_path\":%" PRIu64
            ",\"area\":%" PRIu64 ",\"list_makespan\":%" PRIu64 "}\n",
            processors, schedule->makespan, schedule->bound,
            schedule->critical_path, schedule->area, schedule->list_makespan);
}

static hd_status schedule(const struct plan_params *params,
                          const struct problem *p, FILE *file,
                          struct hd_error *error)
{
    struct hdi_tasks tasks = {p->count, p->cost, p->first, p->successors};
    struct hdi_schedule_params how = {
        .processors = (uint32_t)params->processors, .time = params->time};
    struct hdi_schedule result;

    hd_status status = hdi_schedule_make(&tasks, &how, &result, error);
    if (status != HD_OK) {
        hdi_prefix_error(error, "%s", params->path);
        return status;
    }
    status = hdi_schedule_check(&tasks, how.processors, &result, error);
    if (status != HD_OK)
        hdi_prefix_error(error, "%s: the schedule is wrong", params->path);
    else if (params->json)
        print_json(p, &result, params->processors, file);
    else
        print_text(p, &result, params->processors, file);
    hdi_schedule_free(&result);
    return status;
}

hd_status plan_schedule(const struct plan_params *params, FILE *file,
                        struct hd_error *error)
{
    struct problem problem = {0};
    struct lines lines;

    hd_status status = lines_open(&lines, params->path, error);
    if (status == HD_OK)
        status = read_tasks(&lines, &problem);
    if (status == HD_OK)
        status = index_edges(&problem, error);
    if (status == HD_OK)
        status = schedule(params, &problem, file, error);
    lines_close(&lines);
    problem_free(&problem);
    return status;
}
