#include "plan/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

enum {
    MAX_FILE = 256 << 20, // [bytes]
    MAX_COMPLAINT = 200
};

hd_status lines_open(struct lines *lines, const char *path,
                     struct hd_error *error)
{
    *lines = (struct lines){.path = path, .error = error};
    HDI_TRY(hdi_read_file(path, MAX_FILE, &lines->text, error));
    if (lines->text.failed)
        return hdi_fail(error, HD_ENOMEM, "no memory to read %s", path);
    if (lines->text.size && memchr(lines->text.data, '\0', lines->text.size))
        return hdi_fail(error, HD_EPROGRAM, "%s: it is no text file", path);
    lines->next = lines->text.data;
    if (lines->next)
        lines->next += hdi_text_mark(lines->next, lines->text.size);
    return HD_OK;
}

void lines_close(struct lines *lines)
{
    hdi_text_free(&lines->text);
}

bool lines_next(struct lines *lines)
{
    while (lines->next && *lines->next) {
        lines->at = lines->next;
        lines->line++;
        char *end = strchr(lines->at, '\n');
        lines->next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        char *first = lines->at + strspn(lines->at, " \t\r");
        if (*first && *first != '#')
            return true;
    }
    return false;
}

char *lines_word(struct lines *lines, const char *separators)
{
    char *word = lines->at + strspn(lines->at, " \t\r");
    if (!*word)
        return NULL;

    char *end = word;
    while (*end && !strchr(" \t\r", *end) && !strchr(separators, *end))
        end++;
    char *rest = end + strspn(end, " \t\r");
    if (*rest && strchr(separators, *rest))
        rest++;
    lines->at = rest;
    *end = '\0';
    return word;
}

hd_status lines_number(struct lines *lines, const char *separators,
                       const char *what, uint64_t most, uint64_t *number)
{
    const char *word = lines_word(lines, separators);
    char *end;
    if (!word)
        return lines_fail(lines, "the line ends where %s should stand", what);

    errno = 0;
    unsigned long long value = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno || value > most)
        return lines_fail(lines, "'%.40s' is no %s from 0 to %llu", word, what,
                          (unsigned long long)most);
    *number = value;
    return HD_OK;
}

hd_status lines_fail(struct lines *lines, const char *format, ...)
{
    char text[MAX_COMPLAINT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return hdi_fail(lines->error, HD_EPROGRAM, "%s:%u: %s", lines->path,
                    lines->line, text);
}
