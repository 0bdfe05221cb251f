// Allocation problems as MiniMalloc reads and writes them: a table in CSV with
// the columns id, lower, upper, size, in any order; the answer adds the column
// offset.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/plan/placement.h"
#include "plan/lines.h"
#include "plan/plan.h"

enum column {
    ID,
    LOWER,
    UPPER,
    SIZE,
    COLUMNS
};

static const char *const column_names[COLUMNS] = {"id", "lower", "upper",
                                                  "size"};

enum {
    MAX_COLUMNS = 32,
    MAX_LIVES = 1 << 20
};

struct problem {
    struct hdi_life *lives;
    const char **ids; // in the text of the file
    uint32_t count, capacity;
    unsigned columns;
    int column[MAX_COLUMNS]; // of the file: enum column, or COLUMNS
};

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory for the allocations");
}

static hd_status read_head(struct lines *lines, struct problem *p)
{
    unsigned found = 0;

    if (!lines_next(lines))
        return lines_fail(lines, "no allocations in it");
    for (char *word; (word = lines_word(lines, ","));) {
        int is = 0;
        if (p->columns == MAX_COLUMNS)
            return lines_fail(lines, "more than %d columns", MAX_COLUMNS);
        while (is < COLUMNS && strcmp(word, column_names[is]) != 0)
            is++;
        if (is < COLUMNS && found & (1U << is))
            return lines_fail(lines, "two columns '%s'", word);
        found |= 1U << is;
        p->column[p->columns++] = is;
    }
    for (int i = 0; i < COLUMNS; i++)
        if (!(found & (1U << i)))
            return lines_fail(lines,
                              "no column '%s'; there must be id, lower, "
                              "upper and size",
                              column_names[i]);
    return HD_OK;
}

static bool make_room(struct problem *p)
{
    if (p->count < p->capacity)
        return true;

    uint32_t capacity = p->capacity ? 2 * p->capacity : 256;
    struct hdi_life *lives = realloc(p->lives, capacity * sizeof(*lives));
    if (!lives)
        return false;
    p->lives = lives;
    const char **ids = realloc(p->ids, capacity * sizeof(*ids));
    if (!ids)
        return false;
    p->ids = ids;
    p->capacity = capacity;
    return true;
}

static hd_status read_life(struct lines *lines, struct problem *p)
{
    uint64_t number[COLUMNS] = {0};
    const char *id = "";

    if (p->count == MAX_LIVES)
        return lines_fail(lines, "more than %d allocations", MAX_LIVES);
    if (!make_room(p))
        return no_memory(lines->error);
    for (unsigned i = 0; i < p->columns; i++) {
        int is = p->column[i];
        if (is != ID && is != COLUMNS) {
            HDI_TRY(lines_number(lines, ",", column_names[is], INT64_MAX,
                                 &number[is]));
            continue;
        }
        const char *word = lines_word(lines, ",");
        if (!word)
            return lines_fail(lines, "%u columns, not %u", i, p->columns);
        if (is == ID)
            id = word;
    }
    const char *rest = lines_word(lines, ",");
    if (rest)
        return lines_fail(lines, "more than %u columns", p->columns);
    if (number[LOWER] >= number[UPPER])
        return lines_fail(lines,
                          "'%.40s' ends at %" PRIu64
                          ", not after its beginning at %" PRIu64,
                          id, number[UPPER], number[LOWER]);
    p->ids[p->count] = id;
    p->lives[p->count++] =
        (struct hdi_life){number[LOWER], number[UPPER], number[SIZE]};
    return HD_OK;
}

static hd_status read_problem(struct lines *lines, struct problem *p)
{
    HDI_TRY(read_head(lines, p));
    while (lines_next(lines))
        HDI_TRY(read_life(lines, p));
    return HD_OK;
}

static void print(const struct problem *p,
                  const struct hdi_placement *placement,
                  const struct plan_params *params, FILE *file)
{
    if (params->json)
        fprintf(file, "{\"allocations\":[");
    else
        fprintf(file, "id,lower,upper,size,offset\n");
    for (uint32_t i = 0; i < p->count; i++)
        if (params->json) {
            struct hdi_text id = {0};
            hdi_text_json(&id, p->ids[i]);
            fprintf(file,
                    "%s\n{\"id\":%s,\"lower\":%" PRIu64 ",\"upper\":%" PRIu64
                    ",\"size\":%" PRIu64 ",\"offset\":%" PRIu64 "}",
                    i ? "," : "", id.data ? id.data : "null", p->lives[i].lower,
                    p->lives[i].upper, p->lives[i].size, placement->offset[i]);
            hdi_text_free(&id);
        } else {
            fprintf(file,
                    "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                    p->ids[i], p->lives[i].lower, p->lives[i].upper,
                    p->lives[i].size, placement->offset[i]);
        }
    if (params->json)
        fprintf(file,
                "],\n\"height\":%" PRIu64 ",\"bound\":%" PRIu64
                ",\"greedy\":%" PRIu64 "}\n",
                placement->height, placement->bound, placement->greedy);
    else
        fprintf(stderr,
                "height %" PRIu64 " bytes; at most %" PRIu64
                " live at one time; greedy orders alone %" PRIu64 "\n",
                placement->height, placement->bound, placement->greedy);
}

static hd_status place(const struct plan_params *params,
                       const struct problem *p, FILE *file,
                       struct hd_error *error)
{
    struct hdi_placement_params how = {.capacity = params->capacity,
                                       .time = params->time};
    struct hdi_placement result;

    hd_status status =
        hdi_placement_make(p->lives, p->count, &how, &result, error);
    if (status == HD_OK) {
        status = hdi_placement_check(p->lives, p->count, &result, error);
        if (status != HD_OK)
            hdi_prefix_error(error, "the placement is wrong");
        else if (params->capacity && result.bound > params->capacity)
            status = hdi_fail(error, HD_EGRAPH,
                              "%" PRIu64 " bytes live at one time, more than "
                              "the capacity of %" PRIu64,
                              result.bound, params->capacity);
        else if (params->capacity && result.height > params->capacity)
            status = hdi_fail(error, HD_EGRAPH,
                              "no placement within %" PRIu64 " bytes was "
                              "found, %" PRIu64 " is the least; try a longer "
                              "--time",
                              params->capacity, result.height);
        else
            print(p, &result, params, file);
        hdi_placement_free(&result);
    }
    if (status != HD_OK)
        hdi_prefix_error(error, "%s", params->path);
    return status;
}

hd_status plan_placement(const struct plan_params *params, FILE *file,
                         struct hd_error *error)
{
    struct problem problem = {0};
    struct lines lines;

    hd_status status = lines_open(&lines, params->path, error);
    if (status == HD_OK)
        status = read_problem(&lines, &problem);
    if (status == HD_OK)
        status = place(params, &problem, file, error);
    lines_close(&lines);
    free(problem.lives);
    free(problem.ids);
    return status;
}
