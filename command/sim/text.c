#include "sim/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "sim/statements.h"

hd_status sim_text_from(struct sim_text *text, const char *name,
                        const char *data, size_t size, struct hd_error *error)
{
    size_t mark = hdi_text_mark(data, size);

    data += mark;
    size -= mark;
    const char *zero = memchr(data, '\0', size);
    if (zero) {
        unsigned line = 1;
        for (const char *c = data; c < zero; c++)
            line += *c == '\n';
        return hdi_fail(error, HD_EFORMAT, "%s:%u: not a text: byte %zu is 0",
                        name, line, (size_t)(zero - data));
    }

    char *copy = malloc(size + 1);
    if (!copy)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory for %zu bytes", name,
                        size);
    memcpy(copy, data, size);
    copy[size] = '\0';
    *text = (struct sim_text){
        .path = name, .data = copy, .next = copy, .error = error};
    return HD_OK;
}

hd_status sim_text_open(struct sim_text *text, const char *path,
                        struct hd_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return hdi_fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO, "%s: %s",
                        path, strerror(errno));

    size_t size = 0, capacity = 1 << 16;
    char *data = malloc(capacity);
    hd_status status = HD_OK;
    while (data) {
        size += fread(data + size, 1, capacity - size, file);
        if (size < capacity)
            break;
        if (capacity >= SIM_FILE_LIMIT) {
            status = hdi_fail(error, HD_ELIMIT, "%s: larger than %d MiB", path,
                              SIM_FILE_LIMIT >> 20);
            break;
        }
        char *larger = realloc(data, capacity *= 2);
        if (!larger)
            free(data);
        data = larger;
    }
    if (!data)
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to read it", path);
    else if (status == HD_OK && ferror(file))
        status = hdi_fail(error, HD_EIO, "%s: %s", path, strerror(errno));
    fclose(file);
    if (status == HD_OK)
        status = sim_text_from(text, path, data, size, error);
    free(data);
    return status;
}

void sim_text_close(struct sim_text *text)
{
    free(text->data);
    free(text->statement);
    free(text->words);
    text->data = text->words = NULL;
    text->statement = NULL;
}

hd_status sim_text_fail(struct sim_text *text, const char *format, ...)
{
    char reason[512];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    for (char *c = reason; *c; c++)
        *c = *c == 127 || (unsigned char)*c < ' ' ? '?' : *c;
    return hdi_fail(text->error, HD_EFORMAT, "%s:%u: %s", text->path,
                    text->line ? text->line : 1, reason);
}

hd_status sim_text_statement(struct sim_text *text, bool *more)
{
    if (!text->is_read) {
        HDI_TRY(sim_statements_read(text));
        text->is_read = true;
    }
    *more = text->statement_at < text->statement_count;
    if (!*more)
        return HD_OK;
    const struct sim_statement *statement =
        &text->statement[text->statement_at++];
    const char *word = text->words + statement->first;
    text->line = statement->line;
    text->count = statement->count;
    text->used = 0;
    memset(text->key, 0, sizeof(text->key));
    for (unsigned i = 0; i < text->count; i++) {
        text->depth[i] = (unsigned char)*word;
        text->word[i] = word + 1;
        word += strlen(word + 1) + 2;
    }
    return HD_OK;
}

const char *sim_text_word(struct sim_text *text)
{
    return text->used < text->count ? text->word[text->used++] : NULL;
}

bool sim_text_is(struct sim_text *text, const char *word)
{
    if (text->used >= text->count || strcmp(text->word[text->used], word) != 0)
        return false;
    text->used++;
    return true;
}

hd_status sim_text_once(struct sim_text *text, bool named)
{
    const char *word = text->word[0];
    const char *name = named && text->count > 1 ? text->word[1] : "";
    unsigned i = 0;

    while (i < text->once_count && (strcmp(text->once[i].word, word) ||
                                    strcmp(text->once[i].name, name)))
        i++;
    if (i < text->once_count)
        return sim_text_fail(text, "'%s%s%s' is given twice, first on line %u",
                             word, *name ? " " : "", name, text->once[i].line);
    if (i == SIM_STATEMENTS)
        return sim_text_fail(text, "more than %d statements", SIM_STATEMENTS);
    text->once[i].word = word;
    text->once[i].name = name;
    text->once[i].line = text->line;
    text->once_count++;
    return HD_OK;
}

hd_status sim_text_key(struct sim_text *text, const char **key)
{
    unsigned at = text->used;

    for (unsigned i = 0; i < at; i++) {
        if (text->key[i] && strcmp(text->word[i], text->word[at]) == 0)
            return sim_text_fail(text, "'%s' is given twice in this statement",
                                 text->word[at]);
    }
    text->key[at] = true;
    *key = sim_text_word(text);
    return HD_OK;
}

hd_status sim_text_number(struct sim_text *text, const char *what, uint64_t low,
                          uint64_t high, uint64_t *value)
{
    const char *word = sim_text_word(text);
    char *end;

    if (!word)
        return sim_text_fail(text, "%s is missing", what);
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    if (!isdigit((unsigned char)word[0]) || *end != '\0')
        return sim_text_fail(text, "%s: '%s' is not a whole number", what,
                             word);
    if (errno == ERANGE || number < low || number > high)
        return sim_text_fail(text, "%s: %s is not within %llu to %llu", what,
                             word, (unsigned long long)low,
                             (unsigned long long)high);
    *value = number;
    return HD_OK;
}

hd_status sim_text_real(struct sim_text *text, const char *what, double low,
                        double high, double *value)
{
    const char *word = sim_text_word(text);
    char *end;

    if (!word)
        return sim_text_fail(text, "%s is missing", what);
    double number = strtod(word, &end);
    if (end == word || *end != '\0' || isnan(number))
        return sim_text_fail(text, "%s: '%s' is not a number", what, word);
    if (number < low || number > high)
        return sim_text_fail(text, "%s: %s is not within %g to %g", what, word,
                             low, high);
    *value = number;
    return HD_OK;
}

hd_status sim_text_name(struct sim_text *text, const char *what, char *name,
                        size_t size)
{
    const char *word = sim_text_word(text);

    if (!word || !*word)
        return sim_text_fail(text, "the name of the %s is missing", what);
    if (strlen(word) >= size)
        return sim_text_fail(text,
                             "the name '%.40s' is longer than %zu "
                             "characters",
                             word, size - 1);
    memcpy(name, word, strlen(word) + 1);
    return HD_OK;
}

hd_status sim_text_end(struct sim_text *text)
{
    const char *word = sim_text_word(text);

    return word ? sim_text_fail(text, "'%s' is one word too many", word)
                : HD_OK;
}
