// Rows may come in any order; the earliest arrival becomes cycle 0. Numbers are
// rounded to whole cycles and, upwards, to whole blocks.
#include "sim/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/workload.h"

enum {
    ARRIVAL,
    DURATION,
    CHANNEL,
    PRIORITY,
    WAVES,
    GROUPS,
    FIXED
};

hd_status sim_csv_need(struct sim_csv *csv, const char *text,
                       struct hd_error *error)
{
    const char *equals = strchr(text, '=');
    const char *star = equals ? strrchr(equals, '*') : NULL;
    size_t name = equals ? (size_t)(equals - text) : 0;
    size_t column = !equals ? 0
                    : star  ? (size_t)(star - equals) - 1
                            : strlen(equals + 1);

    if (csv->need_count == SIM_CSV_NEEDS)
        return hdi_fail(error, HD_EINVAL, "more than %d needs", SIM_CSV_NEEDS);
    if (name == 0 || name >= sizeof(csv->needs->resource) || column == 0 ||
        column >= sizeof(csv->needs->column))
        return hdi_fail(error, HD_EINVAL,
                        "'%s' is not resource=column or resource=column*scale",
                        text);
    double scale = 1;
    if (star) {
        char *end;
        scale = strtod(star + 1, &end);
        if (end == star + 1 || *end || !(scale > 0) || !isfinite(scale))
            return hdi_fail(error, HD_EINVAL, "'%s' is not a scale", star + 1);
    }
    unsigned n = csv->need_count;
    memcpy(csv->needs[n].resource, text, name);
    csv->needs[n].resource[name] = '\0';
    memcpy(csv->needs[n].column, equals + 1, column);
    csv->needs[n].column[column] = '\0';
    csv->needs[n].scale = scale;
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(csv->needs[i].resource, csv->needs[n].resource) == 0)
            return hdi_fail(error, HD_EINVAL, "resource '%s' is given twice",
                            csv->needs[n].resource);
    }
    csv->need_count++;
    return HD_OK;
}

struct row {
    double value[FIXED + SIM_CSV_NEEDS];
};

// Cut a record at its commas, in place; quotes may hold commas, a doubled quote
// is one.
static unsigned cut(char *line, char **field, unsigned room)
{
    unsigned count = 0;

    for (char *at = line;;) {
        char *to = at;
        if (count < room)
            field[count] = at;
        count++;
        bool quoted = *at == '"';
        if (quoted)
            at++;
        while (*at && (quoted || *at != ',')) {
            if (quoted && *at == '"') {
                if (at[1] != '"') {
                    quoted = false;
                    at++;
                    continue;
                }
                at++;
            }
            *to++ = *at++;
        }
        bool more = *at == ',';
        *to = '\0';
        if (!more)
            return count;
        at++;
    }
}

static char *next_line(struct sim_text *text)
{
    while (*text->next) {
        char *line = text->next, *end = strchr(line, '\n');
        text->line++;
        text->next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (*line)
            return line;
    }
    return NULL;
}

static hd_status find_columns(const struct sim_csv *csv, struct sim_text *text,
                              int *column)
{
    const char *wanted[FIXED + SIM_CSV_NEEDS] = {csv->arrival, csv->duration,
                                                 csv->channel, csv->priority,
                                                 csv->waves,   csv->groups};
    char *field[SIM_CSV_COLUMNS], *head = next_line(text);

    if (!head)
        return sim_text_fail(text, "no line with the names of the columns");
    unsigned count = cut(head, field, SIM_CSV_COLUMNS);
    if (count > SIM_CSV_COLUMNS)
        return sim_text_fail(text, "more than %d columns", SIM_CSV_COLUMNS);
    for (unsigned i = 0; i < csv->need_count; i++)
        wanted[FIXED + i] = csv->needs[i].column;
    for (unsigned i = 0; i < FIXED + csv->need_count; i++) {
        column[i] = -1;
        for (unsigned c = 0; wanted[i] && c < count; c++) {
            if (strcmp(field[c], wanted[i]) != 0)
                continue;
            if (column[i] >= 0)
                return sim_text_fail(text, "columns %d and %u are both '%s'",
                                     column[i] + 1, c + 1, wanted[i]);
            column[i] = (int)c;
        }
        if (wanted[i] && column[i] < 0)
            return sim_text_fail(text, "no column '%s'", wanted[i]);
    }
    return HD_OK;
}

static hd_status read_row(const struct sim_csv *csv, struct sim_text *text,
                          char *line, const int *column, struct row *row)
{
    static const double otherwise[FIXED] = {0, 0, 0, 1, 1, 1};
    static const double low[FIXED] = {-1e15, 0, 0, 1, 1, 1};
    static const double high[FIXED] = {
        1e15, 1e15, SIM_CHANNELS - 1, HDI_MAX_PRIORITIES, 65535, 1e6};
    char *field[SIM_CSV_COLUMNS];
    unsigned count = cut(line, field, SIM_CSV_COLUMNS);

    for (unsigned i = 0; i < FIXED + csv->need_count; i++) {
        if (column[i] < 0) {
            row->value[i] = otherwise[i];
            continue;
        }
        if ((unsigned)column[i] >= count)
            return sim_text_fail(text, "%u fields; column %d is missing", count,
                                 column[i] + 1);
        char *end, *word = field[column[i]];
        double value = strtod(word, &end);
        while (*end == ' ')
            end++;
        if (end == word || *end || !isfinite(value))
            return sim_text_fail(text, "column %d: '%.40s' is not a number",
                                 column[i] + 1, word);
        double least = i < FIXED ? low[i] : 0, most = i < FIXED ? high[i] : 1e9;
        if (value < least || value > most)
            return sim_text_fail(text, "column %d: %g is not within %g to %g",
                                 column[i] + 1, value, least, most);
        row->value[i] = value;
    }
    return HD_OK;
}

// A text as Lua writes it.
static void write_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            fprintf(out, "\\%03d", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void write_row(const struct sim_csv *csv, const struct row *row,
                      double first, FILE *out)
{
    const double *v = row->value;

    fprintf(out,
            "kernel { %.0f, at = %.0f, priority = %.0f, groups = %.0f, "
            "waves = %.0f, run = %.0f",
            floor(v[CHANNEL]), floor((v[ARRIVAL] - first) * csv->cycles),
            floor(v[PRIORITY]), floor(v[GROUPS]), floor(v[WAVES]),
            fmax(1, floor(v[DURATION] * csv->cycles)));
    for (unsigned i = 0; i < csv->need_count; i++) {
        fputs(", [", out);
        write_text(csv->needs[i].resource, out);
        fprintf(out, "] = %.0f", ceil(v[FIXED + i] * csv->needs[i].scale));
    }
    fputs(" }\n", out);
}

hd_status sim_csv_convert(const struct sim_csv *csv, const char *path,
                          FILE *out, struct hd_error *error)
{
    struct sim_text text;
    struct row *rows = NULL;
    size_t count = 0, room = 0;
    int column[FIXED + SIM_CSV_NEEDS];
    double first = INFINITY, last = 0;

    if (!csv->arrival || !csv->duration)
        return hdi_fail(error, HD_EINVAL,
                        "%s: name the columns of arrival and duration", path);
    HDI_TRY(sim_text_open(&text, path, error));
    hd_status status = find_columns(csv, &text, column);
    char *line;
    while (status == HD_OK && (line = next_line(&text))) {
        if (count == room) {
            room = room ? 2 * room : 256;
            struct row *larger = realloc(rows, room * sizeof(*rows));
            if (!larger) {
                status = hdi_fail(error, HD_ENOMEM, "%s: no memory", path);
                break;
            }
            rows = larger;
        }
        status = read_row(csv, &text, line, column, &rows[count]);
        if (status != HD_OK)
            break;
        first = fmin(first, rows[count].value[ARRIVAL]);
        last = fmax(last,
                    rows[count].value[ARRIVAL] + rows[count].value[DURATION]);
        count++;
    }
    if (status == HD_OK && count == 0)
        status = sim_text_fail(&text, "no rows");
    if (status == HD_OK &&
        !((last - first) * csv->cycles < (double)(SIM_CYCLES_LIMIT / 2)))
        status = sim_text_fail(&text, "more than 2^60 cycles");
    if (status == HD_OK) {
        fprintf(out, "cycles = %.0f\n",
                2 * ceil((last - first) * csv->cycles) + 1);
        for (size_t i = 0; i < count; i++)
            write_row(csv, &rows[i], first, out);
        if (ferror(out))
            status = hdi_fail(error, HD_EIO, "the workload cannot be written");
    }
    free(rows);
    sim_text_close(&text);
    return status;
}
